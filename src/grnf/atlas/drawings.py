"""Graphs as they are drawn on a map: places of nodes in two bytes each, kinds of nodes, values of edges."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from grnf._utils.arrays import offsets
from grnf.atlas.columns import in_order
from grnf.atlas.molecules import bond_orders, is_molecule, labels_of_atoms, molecule_places
from grnf.atlas.springs import LARGEST, spring_places
from grnf.errors import GraphError
from grnf.io.raw import RawGraph
from grnf.typing import FloatArray, IntArray

__all__ = ["Drawings", "draw_graphs"]

MOLECULE, DIRECTED, TOO_LARGE, THINNED = 1, 2, 4, 8
"""Flags of a drawing."""

MOST_EDGES = 800
"""Edges of a graph that are drawn; of more, an even choice."""

NO_KIND = 255
LEVELS = 15
SIDE, STEP = 65_535, 16
"""Places are whole numbers up to 65,535, rounded to 16: finer than a pixel, and they pack better."""


@dataclass(frozen=True, eq=False)
class Drawings:
    """Pictures of many graphs, one below the other.

    Parameters
    ----------
    flags : array of uint8, shape (n_graphs,)
    n_nodes, n_edges : arrays of uint16, shape (n_graphs,)
        What is drawn; both 0 for a graph that is too large.
    x, y : arrays of uint16
        Places of nodes.
    kind : array of uint8
        Number of each node's kind, 255 for none.
    source, target : arrays of uint16
        Ends of edges, in the numbers of their graph.
    value : array of uint8
        Order of a bond (4: aromatic), or level of the value of an edge, 1 to 15; 0 where there is none.
    kinds : list of str
        What the kinds are called.
    """

    flags: npt.NDArray[np.uint8]
    n_nodes: npt.NDArray[np.uint16]
    n_edges: npt.NDArray[np.uint16]
    x: npt.NDArray[np.uint16]
    y: npt.NDArray[np.uint16]
    kind: npt.NDArray[np.uint8]
    source: npt.NDArray[np.uint16]
    target: npt.NDArray[np.uint16]
    value: npt.NDArray[np.uint8]
    kinds: list[str]

    def __len__(self) -> int:
        return len(self.flags)

    def block(self, start: int, stop: int) -> list[npt.NDArray[Any]]:
        """Return the arrays of some graphs, in the order in which the page reads them."""
        nodes, edges = offsets(self.n_nodes), offsets(self.n_edges)
        of_nodes, of_edges = slice(nodes[start], nodes[stop]), slice(edges[start], edges[stop])
        heads = [column[start:stop] for column in (self.flags, self.n_nodes, self.n_edges)]
        rows = [column[of_nodes] for column in (self.x, self.y, self.kind)]
        return heads + rows + [column[of_edges] for column in (self.source, self.target, self.value)]

    def and_more(self, others: Drawings) -> Drawings:
        """Return these and others, whose kinds get new numbers."""
        kinds = self.kinds + [name for name in others.kinds if name not in self.kinds]
        kinds = kinds[:NO_KIND]
        number = {name: code for code, name in enumerate(kinds)}
        table = np.full(NO_KIND + 1, NO_KIND, np.uint8)
        for code, name in enumerate(others.kinds):
            table[code] = number.get(name, NO_KIND)
        arrays = {
            field.name: np.concatenate([getattr(self, field.name), getattr(others, field.name)])
            for field in fields(self)
            if field.name not in ("kinds", "kind")
        }
        return Drawings(**arrays, kind=np.concatenate([self.kind, table[others.kind]]), kinds=kinds)


def draw_graphs(graphs: Sequence[RawGraph], places: str | None = None) -> Drawings:
    """Draw graphs: molecules as RDKit does, others by springs, or where a column of nodes says.

    Parameters
    ----------
    graphs : sequence of RawGraph
    places : str, optional
        Column of nodes, of two numbers at least, that says where they are.

    Examples
    --------
    >>> drawn = draw_graphs([RawGraph(2, np.array([[0, 1]]))])
    >>> drawn.n_nodes, drawn.x.dtype
    (array([2], dtype=uint16), dtype('uint16'))
    """
    names = [_kinds_of(graph) for graph in graphs]
    seen: Counter[str] = Counter()
    for own in names:
        seen.update(name for name in own if name is not None)
    kinds = sorted((name for name, _ in seen.most_common(NO_KIND)), key=in_order)
    code = {name: number for number, name in enumerate(kinds)}
    low, high = _range_of_values(graphs)
    drawn = [
        _drawing(graph, [code.get(n, NO_KIND) if n is not None else NO_KIND for n in own], places, low, high)
        for graph, own in zip(graphs, names, strict=True)
    ]
    types = (np.uint8, np.uint16, np.uint16, np.uint16, np.uint16, np.uint8, np.uint16, np.uint16, np.uint8)
    columns: list[Any] = list(zip(*drawn, strict=True)) or [()] * len(types)
    arrays: list[Any] = [np.array(column, kind) for column, kind in zip(columns[:3], types, strict=False)]
    arrays += [
        np.concatenate([np.empty(0, kind), *column]).astype(kind)
        for column, kind in zip(columns[3:], types[3:], strict=True)
    ]
    titles = [field.name for field in fields(Drawings)][:-1]
    return Drawings(**dict(zip(titles, arrays, strict=True)), kinds=kinds)


def _drawing(graph: RawGraph, kinds: list[int], places: str | None, low: float, high: float) -> list[Any]:
    """Return the columns of one graph, in the order of `Drawings`."""
    molecule = is_molecule(graph)
    flags = MOLECULE * molecule | DIRECTED * graph.directed
    if graph.n_nodes > LARGEST:
        return [flags | TOO_LARGE, 0, 0, *([] for _ in range(6))]
    edges = np.asarray(graph.edges, dtype=np.int64).reshape(-1, 2)
    values = bond_orders(graph) if molecule else _levels(graph, low, high)
    where = _places(graph, edges, molecule, places)
    if len(edges) > MOST_EDGES:
        kept = np.linspace(0, len(edges) - 1, MOST_EDGES).astype(np.int64)
        edges, values, flags = edges[kept], values[kept], flags | THINNED
    x, y = _packed_places(where)
    return [flags, graph.n_nodes, len(edges), x, y, kinds, edges[:, 0], edges[:, 1], values]


def _places(graph: RawGraph, edges: IntArray, molecule: bool, column: str | None) -> FloatArray:
    if column is not None:
        if column not in graph.node_columns:
            raise GraphError(
                f"graph {graph.graph_id}: no node column {column!r} that says where nodes are; there are "
                f"{list(graph.node_columns)}"
            )
        given = np.asarray(graph.node_columns[column])
        if given.dtype.kind not in "iuf" or given.ndim != 2 or given.shape[1] < 2:
            raise GraphError(
                f"graph {graph.graph_id}: the node column {column!r} has shape {given.shape} and type "
                f"{given.dtype}; places want two numbers for each node"
            )
        return np.nan_to_num(given[:, :2].astype(np.float64))
    if molecule:
        found = molecule_places(graph)
        if found is not None:
            return found
    return spring_places(graph.n_nodes, edges)


def _packed_places(where: FloatArray) -> tuple[npt.NDArray[np.uint16], npt.NDArray[np.uint16]]:
    """Bring places into whole numbers, one scale for both directions; the longer side lies flat."""
    if not len(where):
        return np.empty(0, np.uint16), np.empty(0, np.uint16)
    sides = np.ptp(where, axis=0)
    unit = (SIDE - SIDE % STEP) / max(float(sides.max()), 1e-12)
    whole = np.round((where - where.min(axis=0)) * unit / STEP) * STEP
    return whole[:, 0].astype(np.uint16), whole[:, 1].astype(np.uint16)


def _kinds_of(graph: RawGraph) -> Sequence[str | None]:
    """Return what each node is: its atom, or its category."""
    if is_molecule(graph):
        return labels_of_atoms(graph)
    for values in graph.node_columns.values():
        array = np.asarray(values)
        if array.ndim == 1 and array.dtype.kind in "OUSb":
            return [None if value is None else str(value)[:60] for value in array.tolist()]
        if array.ndim == 1 and array.dtype.kind in "iu":
            return [str(value) for value in array.tolist()]
        if array.ndim == 2 and array.shape[1] > 1 and _is_one_hot(array):
            return [str(value) for value in array.argmax(axis=1).tolist()]
    return [None] * graph.n_nodes


def _is_one_hot(array: npt.NDArray[Any]) -> bool:
    if array.dtype.kind not in "biuf":
        return False
    return bool(((array == 0) | (array == 1)).all() and (array.sum(axis=1) == 1).all() and len(array))


def _values_of(graph: RawGraph) -> FloatArray | None:
    """Return the number that each edge has: its weight, or the first column of single numbers."""
    columns = graph.edge_columns
    names = ["weight"] if "weight" in columns else list(columns)
    for name in names:
        array = np.asarray(columns[name])
        if array.ndim == 2 and array.shape[1] == 1:
            array = array[:, 0]
        if array.ndim == 1 and array.dtype.kind in "iuf":
            return np.abs(array.astype(np.float64))
    return None


def _range_of_values(graphs: Iterable[RawGraph]) -> tuple[float, float]:
    """Return the smallest and largest value of all edges."""
    low, high = np.inf, -np.inf
    for graph in graphs:
        values = None if is_molecule(graph) else _values_of(graph)
        if values is not None and np.isfinite(values).any():
            low, high = min(low, float(np.nanmin(values))), max(high, float(np.nanmax(values)))
    return low, high


def _levels(graph: RawGraph, low: float, high: float) -> npt.NDArray[np.uint8]:
    values = _values_of(graph)
    if values is None or not high > low:
        return np.zeros(len(np.asarray(graph.edges).reshape(-1, 2)), np.uint8)
    levels = 1 + (LEVELS - 1) * (values - low) / (high - low)
    return np.where(np.isfinite(levels), np.round(np.nan_to_num(levels)), 0).astype(np.uint8)
