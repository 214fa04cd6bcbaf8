"""Drawings of graphs for the page of a map, and figures of what differs between two graphs.

Molecules are drawn with coordinates of RDKit, symbols, hydrogens, charges and bond orders. In other graphs
each pair of nodes is joined by a spring as long as the shortest path between them (Kamada and Kawai), and the
energy is lowered by majorization (Gansner, Koren and North 2004), from a start by classical scaling. Nothing
is drawn at random. networkx has the same energy with a general optimizer, about six times as slow for graphs
of 12 nodes (`benchmarks/map.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components, shortest_path

from grnf._utils.arrays import offsets
from grnf._utils.files import atomic_write
from grnf.edits.comparison import OPERATIONS, Comparison
from grnf.errors import GraphError
from grnf.io.from_molecules import molecule_of_raw, quiet_rdkit
from grnf.io.raw import RawGraph
from grnf.maps.figures import new_figure
from grnf.maps.point_columns import sort_key
from grnf.typing import FloatArray, IntArray

MOLECULE, DIRECTED, TOO_LARGE, THINNED = 1, 2, 4, 8
"""Flags of a drawing."""

MOST_EDGES = 800
"""Edges of a graph that are drawn; of more, an even choice."""

NO_KIND = 255
LEVELS = 15
SIDE, STEP = 65_535, 16
"""Coordinates are whole numbers up to 65,535, rounded to 16: finer than a pixel, and they pack better."""

MARK_COLORS = {"change": "#e69f00", "remove": "#d55e00", "add": "#56b4e9"}
PALE = "#d9d9d9"
"""Colors of what differs between two graphs, and of the rest."""

ORDERS = {"SINGLE": 1, "DOUBLE": 2, "TRIPLE": 3, "AROMATIC": 4}
SUBSCRIPTS = {1: "", 2: "₂", 3: "₃", 4: "₄"}
BYTES = {
    "flags": 1, "n_nodes": 2, "n_edges": 2, "x": 2, "y": 2, "kind": 1, "source": 2, "target": 2, "value": 1
}  # fmt: skip
"""Bytes of the numbers in the columns of `Drawings`, in the order in which the page reads them."""


LARGEST = 1_000
"""Nodes of a graph up to which it is drawn."""

MAJORIZED = 150
"""Nodes up to which the energy is lowered; larger graphs stay where the scaling puts them."""

PIVOTS = 50
STEPS = 25


@dataclass(frozen=True, eq=False)
class Drawings:
    """Drawings of many graphs, one after the other.

    `flags`, `n_nodes` and `n_edges` have an entry for each graph. Both numbers are 0 for a graph that is too
    large. `x`, `y` and `kind` (255 for none) have an entry for each node, and `kinds` the names of kinds.
    `source`, `target` (numbers in their graph) and `value` have an entry for each edge. The value is the
    order of a bond (4: aromatic) or a level of the edge's number, 1 to 15, or 0 if there is none.
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
        ranges = [(start, stop), (nodes[start], nodes[stop]), (edges[start], edges[stop])]
        return [getattr(self, name)[slice(*ranges[at // 3])] for at, name in enumerate(BYTES)]

    def joined(self, others: Drawings) -> Drawings:
        """Return these and other drawings, whose kinds get new numbers."""
        kinds = list(dict.fromkeys([*self.kinds, *others.kinds]))[:NO_KIND]
        number = {name: code for code, name in enumerate(kinds)}
        table = np.full(NO_KIND + 1, NO_KIND, np.uint8)
        for code, name in enumerate(others.kinds):
            table[code] = number.get(name, NO_KIND)
        others = replace(others, kind=table[others.kind])
        arrays = {name: np.concatenate([getattr(self, name), getattr(others, name)]) for name in BYTES}
        return Drawings(**arrays, kinds=kinds)


def draw_graphs(graphs: Sequence[RawGraph], positions: str | None = None) -> Drawings:
    """Draw graphs: molecules by RDKit, others by springs, or at the positions of a node column."""
    names = [node_kinds(graph) for graph in graphs]
    seen = Counter(name for own in names for name in own if name is not None)
    kinds = sorted((name for name, _ in seen.most_common(NO_KIND)), key=sort_key)
    code: dict[str | None, int] = {name: number for number, name in enumerate(kinds)}
    low, high = _range_of_values(graphs)
    drawn = []
    for index, (graph, own) in enumerate(zip(graphs, names, strict=True)):
        where = None if positions is None else _given_positions(graph, positions, index)
        drawn.append(_drawing(graph, [code.get(name, NO_KIND) for name in own], where, low, high))
    arrays = {}
    for at, (name, width) in enumerate(BYTES.items()):
        column, kind = [one[at] for one in drawn], f"u{width}"
        parts = np.array(column, kind) if at < 3 else np.concatenate([np.empty(0, kind), *column])
        arrays[name] = parts.astype(kind)
    return Drawings(**arrays, kinds=kinds)


def _drawing(
    graph: RawGraph, kinds: list[int], where: FloatArray | None, low: float, high: float
) -> list[Any]:
    """Return the columns of one graph, in the order of `Drawings`."""
    molecule = is_molecule(graph)
    flags = MOLECULE * molecule | DIRECTED * graph.directed
    if graph.n_nodes > LARGEST:
        return [flags | TOO_LARGE, 0, 0, *([] for _ in range(6))]
    edges = np.asarray(graph.edges, dtype=np.int64).reshape(-1, 2)
    values = _bond_orders(graph) if molecule else _levels(graph, low, high)
    mol = drawn_molecule(graph) if where is None else None
    if mol is not None:
        where = mol.GetConformer().GetPositions()[:, :2]
    x, y = _packed(spring_positions(graph.n_nodes, edges) if where is None else where)
    if len(edges) > MOST_EDGES:
        kept = np.linspace(0, len(edges) - 1, MOST_EDGES).astype(np.int64)
        edges, values, flags = edges[kept], values[kept], flags | THINNED
    return [flags, graph.n_nodes, len(edges), x, y, kinds, edges[:, 0], edges[:, 1], values]


def _given_positions(graph: RawGraph, column: str, index: int) -> FloatArray:
    if column not in graph.node_columns:
        reason = f"no node column {column!r} with positions. Available: {list(graph.node_columns)}"
        raise GraphError(reason, index=index, where="graphs")
    given = np.asarray(graph.node_columns[column])
    if given.dtype.kind not in "iuf" or given.ndim != 2 or given.shape[1] < 2:
        reason = f"positions must be two numbers per node, but {column!r} has shape {given.shape}"
        raise GraphError(f"{reason} and type {given.dtype}", index=index, where="graphs")
    return np.nan_to_num(given[:, :2].astype(np.float64))


def _packed(where: FloatArray) -> tuple[npt.NDArray[np.uint16], npt.NDArray[np.uint16]]:
    """Scale positions to whole numbers, with one scale for both directions."""
    if not len(where):
        return np.empty(0, np.uint16), np.empty(0, np.uint16)
    sides = np.ptp(where, axis=0)
    unit = (SIDE - SIDE % STEP) / max(float(sides.max()), 1e-12)
    whole = np.round((where - where.min(axis=0)) * unit / STEP) * STEP
    return whole[:, 0].astype(np.uint16), whole[:, 1].astype(np.uint16)


def node_kinds(graph: RawGraph) -> Sequence[str | None]:
    """Return the kind of each node: its atom label, or its category."""
    if is_molecule(graph):
        return _atom_labels(graph)
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
    if array.dtype.kind not in "biuf" or not len(array):
        return False
    return bool(((array == 0) | (array == 1)).all() and (array.sum(axis=1) == 1).all())


def _values_of(graph: RawGraph) -> FloatArray | None:
    """Return the number that each edge has: its weight, or the first column of single numbers."""
    columns = graph.edge_columns
    for name in ["weight"] if "weight" in columns else columns:
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


def is_molecule(graph: RawGraph) -> bool:
    """Return whether nodes have element symbols and edges bond types, as in molecules from RDKit."""
    if "symbol" not in graph.node_columns or graph.directed or not graph.n_nodes:
        return False
    return "type" in graph.edge_columns or not len(graph.edges)


def _atom_labels(graph: RawGraph) -> list[str]:
    """Return the label of each atom: its symbol, the hydrogens if it is not carbon, and its charge."""
    charges, hydrogens = (_numbers(graph, name) for name in ("charge", "hydrogens"))
    labels = []
    for symbol, charge, count in zip(
        np.asarray(graph.node_columns["symbol"]).tolist(), charges, hydrogens, strict=True
    ):
        label = "?" if symbol is None else str(symbol)[:12]
        if label != "C" and count in SUBSCRIPTS:
            label += "H" + SUBSCRIPTS[int(count)]
        if charge and charge == charge:
            size = "" if abs(charge) == 1 else f"{abs(charge):g}"
            label += size + ("⁺" if charge > 0 else "⁻")
        labels.append(label)
    return labels


def _numbers(graph: RawGraph, name: str) -> list[float]:
    """Return a column of numbers, zeros if there is none."""
    values = np.asarray(graph.node_columns.get(name))
    is_number = values.ndim == 1 and values.dtype.kind in "biuf"
    return values.tolist() if is_number else [0.0] * graph.n_nodes


def _bond_orders(graph: RawGraph) -> npt.NDArray[np.uint8]:
    """Return 1, 2, 3 for bonds of that order and 4 for aromatic ones, or 1 for any other."""
    types = np.asarray(graph.edge_columns.get("type", [])).tolist()
    return np.array([ORDERS.get(kind, 1) for kind in types], np.uint8)


def drawn_molecule(graph: RawGraph) -> Any:
    """Return RDKit's molecule of a graph with coordinates, or None if there is no RDKit or no molecule."""
    if not is_molecule(graph) or find_spec("rdkit") is None:
        return None
    with quiet_rdkit("") as chem:
        from rdkit.Chem import rdDepictor

        try:
            mol = _from_smiles(chem, graph) or molecule_of_raw(graph)
            rdDepictor.Compute2DCoords(mol)
        except (GraphError, RuntimeError, ValueError):
            return None
    return mol


def _from_smiles(chem: Any, graph: RawGraph) -> Any:
    """Return the molecule of the SMILES that goes with a graph, if it has the same atoms and bonds."""
    smiles = graph.graph_columns.get("smiles")
    mol = chem.MolFromSmiles(smiles) if isinstance(smiles, str) else None
    if mol is None or mol.GetNumAtoms() != graph.n_nodes or mol.GetNumBonds() != len(graph.edges):
        return None
    bonds = [(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()) for bond in mol.GetBonds()]
    symbols = [atom.GetSymbol() for atom in mol.GetAtoms()]
    same = symbols == np.asarray(graph.node_columns["symbol"]).tolist() and bonds == [
        tuple(edge) for edge in np.asarray(graph.edges).tolist()
    ]
    return mol if same else None


def spring_positions(n_nodes: int, edges: IntArray) -> FloatArray:
    """Return positions of nodes, shape (n_nodes, 2). Components are put side by side."""
    edges = np.asarray(edges, dtype=np.int64).reshape(-1, 2)
    if n_nodes <= 1:
        return np.zeros((n_nodes, 2))
    shape = (n_nodes, n_nodes)
    adjacency = coo_array((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=shape).tocsr()
    count, label = connected_components(adjacency, directed=False)
    if count == 1:
        return _connected(adjacency)
    parts = []
    for part in range(count):
        members = np.flatnonzero(label == part)
        parts.append((members, _connected(adjacency[members][:, members])))
    return _side_by_side(n_nodes, parts)


def _connected(adjacency: Any) -> FloatArray:
    n = adjacency.shape[0]
    if n == 1:
        return np.zeros((1, 2))
    if n > MAJORIZED:
        pivots = np.linspace(0, n - 1, min(PIVOTS, n)).astype(np.int64)
        D = shortest_path(adjacency, directed=False, unweighted=True, indices=pivots).T
        return _scaled(D)
    D = shortest_path(adjacency, directed=False, unweighted=True)
    return _majorized(D, _scaled(D))


def _scaled(D: FloatArray) -> FloatArray:
    """Return the classical scaling of distances between all nodes and some."""
    squares = np.square(D)
    centered = squares - squares.mean(axis=0) - squares.mean(axis=1, keepdims=True) + squares.mean()
    _, axes = np.linalg.eigh(centered.T @ centered)
    X = centered @ axes[:, :-3:-1]
    length = np.sqrt(np.square(X).sum() / max(np.square(D).mean() * len(D), 1e-12))
    if X.shape[1] < 2:  # two nodes at one pivot
        X = np.column_stack([X, np.zeros(len(X))])
    return np.asarray(X / max(length, 1e-12) + _spread(len(D)))


def _spread(n: int) -> FloatArray:
    """Return small steps by the golden angle, so that no two nodes have the same position."""
    turn = 2.399963 * np.arange(n)
    length = 0.02 * np.sqrt(np.arange(n) + 1)[:, np.newaxis]
    return np.asarray(length * np.column_stack([np.cos(turn), np.sin(turn)]))


def _majorized(D: FloatArray, X: FloatArray) -> FloatArray:
    """Lower sum over pairs of (|x - x'| - d)^2 / d^2, which each step does."""
    n = len(D)
    weights = np.zeros_like(D)
    np.divide(1, np.square(D), out=weights, where=D > 0)
    laplacian = np.diag(weights.sum(axis=1)) - weights
    inverse = np.linalg.inv(laplacian + 1 / n) - 1 / n
    pull = weights * D
    for _ in range(STEPS):
        gaps = X[:, np.newaxis] - X
        far = np.sqrt(np.einsum("ijk,ijk->ij", gaps, gaps))
        np.maximum(far, 1e-9, out=far)
        B = -pull / far
        np.fill_diagonal(B, 0)
        np.fill_diagonal(B, -B.sum(axis=1))
        X = inverse @ (B @ X)
    return np.asarray(X)


def _side_by_side(n_nodes: int, parts: list[tuple[IntArray, FloatArray]]) -> FloatArray:
    """Put parts into rows, the largest first, about as wide as high."""
    positions = np.zeros((n_nodes, 2))
    boxes = [(members, own - own.min(axis=0), np.ptp(own, axis=0) + 1.0) for members, own in parts]
    boxes.sort(key=lambda box: -float(box[2][1]))
    wide = max(np.sqrt(sum(float(box[2].prod()) for box in boxes)), max(float(box[2][0]) for box in boxes))
    x = y = row = 0.0
    for members, own, size in boxes:
        if x > 0 and x + size[0] > wide * 1.05:
            x, y, row = 0.0, y + row, 0.0
        positions[members] = own + np.array([x, y])
        x, row = x + float(size[0]), max(row, float(size[1]))
    return positions


def draw_comparison(path: Path, graphs: Sequence[RawGraph], result: Comparison, names: Sequence[str]) -> None:
    """Write a figure of two graphs in one orientation: what differs is marked, the rest is pale."""
    figure, axes = new_figure(10, 5.4, columns=2)
    pair = molecule_pair(graphs, result)
    if pair is None:
        _draw_networks(axes, graphs, result)
    else:
        from matplotlib.image import imread
        from rdkit.Chem.Draw import rdMolDraw2D
    for side, (axis, name) in enumerate(zip(axes, names, strict=True)):
        if pair is not None:
            canvas = rdMolDraw2D.MolDraw2DCairo(900, 800)
            axis.imshow(imread(BytesIO(draw_molecule(canvas, pair[side], result.marks(side))), format="png"))
        axis.set_title(name if len(name) <= 60 else f"{name[:57]}...", parse_math=False)
        axis.set_aspect("equal")
        axis.set_axis_off()
    from matplotlib import rc_context
    from matplotlib.lines import Line2D

    style: dict[str, Any] = {"marker": "o", "linestyle": "", "markersize": 9}
    used = [kind for kind in MARK_COLORS if any(edit.operation == kind for edit in result.edits)]
    handles = [Line2D([], [], color=MARK_COLORS[kind], label=OPERATIONS[kind], **style) for kind in used]
    figure.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False)
    figure.suptitle(result.summary() + "\n", fontsize=11)
    kind = path.suffix.lower().removeprefix(".")
    undated: dict[str, Any] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}  # the same bytes again
    page = BytesIO()  # matplotlib ends with an error of its own if a disk is full while it writes PDF
    with rc_context({"svg.hashsalt": "grnf"}):
        figure.savefig(page, format=kind, dpi=150, metadata=undated.get(kind))
    with atomic_write(path, "wb") as file:
        file.write(page.getvalue())


def _draw_networks(axes: Sequence[Any], graphs: Sequence[RawGraph], result: Comparison) -> None:
    """Draw both graphs at the positions of their union, so that nodes that correspond are at one place."""
    from matplotlib.collections import LineCollection

    g, h = graphs
    union = result.mapping.copy()
    places = np.full(h.n_nodes, -1)
    places[union[union >= 0]] = np.flatnonzero(union >= 0)
    added = np.flatnonzero(places < 0)
    places[added] = g.n_nodes + np.arange(len(added))
    edges = [np.asarray(graph.edges, np.int64).reshape(-1, 2) for graph in graphs]
    positions = spring_positions(g.n_nodes + len(added), np.vstack([edges[0], places[edges[1]]]))
    for side, (axis, graph) in enumerate(zip(axes, graphs, strict=True)):
        marks, own = result.marks(side), positions[places] if side else positions[: g.n_nodes]
        kinds = [marks.get((i, j), marks.get((j, i), "")) for i, j in edges[side].tolist()]
        for kind, color in {"": PALE, **MARK_COLORS}.items():  # what is marked is drawn over the rest
            some = [edge for edge, own_kind in zip(edges[side], kinds, strict=True) if own_kind == kind]
            width = 4.0 if kind else 1.5
            axis.add_collection(LineCollection([own[edge] for edge in some], colors=color, linewidths=width))
        colors = [MARK_COLORS[marks[i,]] if (i,) in marks else PALE for i in range(graph.n_nodes)]
        size = float(np.clip(6000 / max(graph.n_nodes, 1), 30, 260))
        axis.scatter(*own.T, c=colors, s=size, edgecolors="0.6", zorder=2)
        if graph.n_nodes <= 60:
            for node, position in enumerate(own):
                axis.annotate(str(node), position, ha="center", va="center", fontsize=8, zorder=3)
        low, high = positions.min(axis=0, initial=0) - 0.6, positions.max(axis=0, initial=0) + 0.6
        axis.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
        axis.grid(False)


def molecule_pair(graphs: Sequence[RawGraph], result: Comparison) -> list[Any] | None:
    """Return both molecules with coordinates, the second turned onto the first, or None if RDKit has none."""
    molecules = [drawn_molecule(graph) for graph in graphs]
    if None in molecules:
        return None
    from rdkit.Geometry import Point3D

    first, second = (molecule.GetConformer() for molecule in molecules)
    kept = np.flatnonzero(result.mapping >= 0)
    turned = aligned(second.GetPositions()[:, :2], first.GetPositions()[kept, :2], result.mapping[kept])
    for atom, (x, y) in enumerate(turned.tolist()):
        second.SetAtomPosition(atom, Point3D(x, y, 0.0))
    return molecules


def aligned(points: FloatArray, targets: FloatArray, chosen: IntArray) -> FloatArray:
    """Turn, mirror and shift points so that the chosen ones are as near as possible to their targets."""
    if len(chosen) < 2:
        return points
    own, center = points[chosen], targets.mean(axis=0)
    U, _, V = np.linalg.svd((own - own.mean(axis=0)).T @ (targets - center))
    return np.asarray((points - own.mean(axis=0)) @ U @ V + center)


def draw_molecule(canvas: Any, molecule: Any, marks: Mapping[tuple[int, ...], str]) -> Any:
    """Draw a molecule by RDKit, with marks and the numbers of marked atoms. Return its text."""
    from rdkit.Chem.Draw import rdMolDraw2D

    colors = {nodes: _rgb(kind) for nodes, kind in marks.items()}
    atoms = {nodes[0]: color for nodes, color in colors.items() if len(nodes) == 1}
    bonds = {
        molecule.GetBondBetweenAtoms(*nodes).GetIdx(): color
        for nodes, color in colors.items()
        if len(nodes) == 2
    }
    for atom in atoms:
        molecule.GetAtomWithIdx(atom).SetProp("atomNote", str(atom))
    canvas.drawOptions().prepareMolsBeforeDrawing = False
    canvas.DrawMolecule(
        rdMolDraw2D.PrepareMolForDrawing(molecule, kekulize=False, addChiralHs=False),
        highlightAtoms=list(atoms),
        highlightAtomColors=atoms,
        highlightBonds=list(bonds),
        highlightBondColors=bonds,
    )
    canvas.FinishDrawing()
    return canvas.GetDrawingText()


def _rgb(kind: str) -> tuple[float, ...]:
    return tuple(part / 255 for part in bytes.fromhex(MARK_COLORS[kind][1:]))
