"""Whether two graphs are isomorphic, with all attributes and directions: `compare_raw`.

Values of nodes and arcs of any kind become numbers, equal for equal values; the certificates of
`grnf.symmetry` do the rest.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any

import numpy as np

from grnf.graphs import Graph
from grnf.io.raw import RawGraph
from grnf.symmetry import LIMIT, Answer, Certificate, certificates

__all__ = ["compare_raw", "raw_certificates"]


def compare_raw(g: RawGraph, h: RawGraph, *, limit: int = LIMIT) -> Answer:
    """Return whether two graphs are isomorphic: equal columns of nodes, arcs and values of arcs.

    An undirected edge is a pair of arcs; parallel arcs are equal if their values are, in any order. For
    graphs as tensors, which sum parallel arcs, see `grnf.symmetry.compare_graphs`; `limit` is the one there.

    Examples
    --------
    >>> from grnf import Graph
    >>> from grnf.io import to_raw
    >>> path = Graph(3, [(0, 1), (1, 2)])
    >>> compare_raw(to_raw(path), to_raw(path.permuted([2, 0, 1])))
    'isomorphic'
    >>> compare_raw(to_raw(path), to_raw(Graph(3, [(0, 1), (1, 2), (2, 0)])))
    'different'
    """
    if g.n_nodes != h.n_nodes:
        return "different"
    first, second = raw_certificates([g, h], limit=limit)
    return first.compare(second)


def raw_certificates(graphs: Iterable[RawGraph], *, limit: int = LIMIT) -> list[Certificate]:
    """Return certificates of graphs with attributes of any kind, to be compared with each other only."""
    codes: dict[Hashable, int] = {}

    def coded(values: Iterable[Hashable]) -> Any:
        numbers = [codes.setdefault(value, len(codes) + 1) for value in values]
        return np.array(numbers, np.float64)[:, np.newaxis]

    found = []
    for graph in graphs:
        arcs = _arcs(graph)
        nodes = coded(_labels(graph.node_columns, graph.n_nodes))
        found.append(Graph(graph.n_nodes, list(arcs), nodes, coded(arcs.values()), directed=True))
    return certificates(found, limit=limit)


def _labels(columns: Mapping[str, Any], count: int) -> list[Hashable]:
    """Return the values of each node or edge under their names, as something to compare."""
    lists = [(name, _plain(columns[name])) for name in sorted(columns)]
    return [tuple((name, values[item]) for name, values in lists) for item in range(count)]


def _plain(values: Any) -> list[Hashable]:
    array = np.asarray(values)
    if array.dtype.kind in "biuf":
        array = array.astype(np.float64) + 0.0  # 1, 1.0 and True are one number, and so are 0 and -0
        array = np.where(np.isnan(array), np.inf, array)  # NaN marks a missing value, which equals another
    return [tuple(value) if isinstance(value, list) else value for value in array.tolist()]


def _arcs(graph: RawGraph) -> dict[tuple[int, int], Hashable]:
    """Return the values of each arc; those of parallel ones sorted."""
    values: dict[tuple[int, int], list[Hashable]] = {}
    edges = np.asarray(graph.edges).reshape(-1, 2).tolist()
    for (i, j), label in zip(edges, _labels(graph.edge_columns, len(edges)), strict=True):
        values.setdefault((i, j), []).append(label)
        if not graph.directed and i != j:
            values.setdefault((j, i), []).append(label)
    return {arc: tuple(sorted(labels, key=repr)) for arc, labels in values.items()}
