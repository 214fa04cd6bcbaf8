"""Two graphs as codes, and the costs of editing one into the other.

A correspondence f maps nodes of g to different nodes of h; the others are deleted or inserted. With
everything deleted and inserted as the origin, its cost is

    total + sum_i node_gain[i, f(i)] + sum_{i < j} edge_gain[e(i, j), e'(f(i), f(j))],

in which e and e' are codes of what connects two nodes, in both directions. Edge gains are at most 0: an edge
is substituted only if that is cheaper than to delete and to insert it. Self-loops belong to their node.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from scipy.optimize import linear_sum_assignment

from grnf.errors import GraphError
from grnf.io.raw import RawGraph, is_missing
from grnf.typing import FloatArray, IntArray

__all__ = ["COSTS", "CodedGraph", "DenseProblem", "EditProblem", "ItemCosts", "edit_problem", "problem_of_codes"]

Attributes: TypeAlias = Mapping[Any, Any]
Cost: TypeAlias = "float | Callable[..., float]"

COSTS = tuple(
    f"{item}_{operation}" for item in ("node", "edge") for operation in ("substitution", "deletion", "insertion")
)
"""Names of costs."""

DERIVED = {"aromatic", "hydrogens", "degree", "hybridization"}, {"conjugated", "ring"}
"""Attributes of atoms and bonds that follow from the symbols, charges and bond types of a molecule."""


@dataclass(frozen=True, eq=False)
class ItemCosts:
    """Costs of nodes, or of edges, by the codes of their attributes."""

    labels: Sequence[Attributes]
    substitution: Cost = 1.0
    deletion: Cost = 1.0
    insertion: Cost = 1.0

    def of_substitution(self, one: IntArray, other: IntArray) -> FloatArray:
        """Return the costs of substituting codes by codes of the same shape, or of one that broadcasts."""
        if not callable(self.substitution):
            return np.where(np.not_equal(one, other), float(self.substitution), 0.0)
        one, other = np.broadcast_arrays(one, other)
        function, labels = self.substitution, self.labels
        known: dict[tuple[int, int], float] = {}
        values = np.empty(one.size)
        for at, pair in enumerate(zip(one.ravel().tolist(), other.ravel().tolist(), strict=True)):
            if pair not in known:
                known[pair] = _checked_cost(function(labels[pair[0]], labels[pair[1]]))
            values[at] = known[pair]
        return values.reshape(one.shape)

    def of_one(self, rule: Cost, codes: IntArray) -> FloatArray:
        """Return the costs of deleting or inserting codes."""
        if not callable(rule):
            return np.full(np.shape(codes), float(rule))
        return np.array([_checked_cost(rule(self.labels[code])) for code in np.ravel(codes).tolist()], float)

    def matched(self, one: Sequence[int], other: Sequence[int]) -> tuple[float, list[tuple[int, int]]]:
        """Match parallel edges: return the cost, and the pairs of positions that are substituted."""
        first, second = np.array(one, np.int64), np.array(other, np.int64)
        deleted, inserted = self.of_one(self.deletion, first), self.of_one(self.insertion, second)
        apart = deleted[:, np.newaxis] + inserted
        gain = np.minimum(self.of_substitution(first[:, np.newaxis], second[np.newaxis]) - apart, 0.0)
        rows, columns = linear_sum_assignment(gain)
        pairs = [(int(i), int(x)) for i, x in zip(rows, columns, strict=True) if gain[i, x] < 0]
        return float(deleted.sum() + inserted.sum() + sum(gain[pair] for pair in pairs)), pairs


def _checked_cost(value: Any) -> float:
    value = float(value)
    if not 0 <= value < math.inf:
        raise ValueError(f"an edit cost must be a finite number >= 0, got {value}")
    return value


@dataclass(frozen=True, eq=False)
class CodedGraph:
    """A graph whose attributes are codes: one for each node, and several for each pair of connected nodes.

    Undirected graphs list a pair once, the smaller node first. `edges` are the codes of its parallel edges,
    sorted. `bundles` numbers different ones, from 1.
    """

    nodes: IntArray
    pairs: IntArray
    edges: list[tuple[int, ...]]
    bundles: IntArray

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return len(self.nodes)

    def keys(self) -> IntArray:
        """Return a number for each pair, in increasing order."""
        return np.asarray(self.pairs[:, 0] * max(self.n_nodes, 1) + self.pairs[:, 1])


@dataclass(frozen=True, eq=False)
class DenseProblem:
    """The problem as matrices; codes of pairs are 0 for nodes that are not connected."""

    total: float
    node_gain: FloatArray
    first: IntArray
    second: IntArray
    edge_gain: FloatArray
    step: float
    """All costs are multiples of it; 0 if they are not multiples of 1 or 1/2."""


@dataclass(frozen=True, eq=False)
class EditProblem:
    """Two graphs and the costs of edits."""

    g: CodedGraph
    h: CodedGraph
    nodes: ItemCosts
    edges: ItemCosts
    directed: bool

    def image_rows(self, mapping: IntArray) -> IntArray:
        """Return the row of the pair of h onto which each pair of g is mapped, -1 for none."""
        ends = np.append(mapping, -1)[self.g.pairs].reshape(-1, 2)
        if not self.directed:
            ends = np.sort(ends, axis=1)
        keys = self.h.keys()
        wanted = ends[:, 0] * max(self.h.n_nodes, 1) + ends[:, 1]
        rows = np.minimum(np.searchsorted(keys, wanted), max(len(keys) - 1, 0))
        hit = (ends >= 0).all(axis=1) & (len(keys) > 0)
        hit[hit] = keys[rows[hit]] == wanted[hit]
        return np.where(hit, rows, -1)

    def bundle_costs(self) -> tuple[FloatArray, FloatArray]:
        """Return the costs of deleting each pair of g and of inserting each pair of h, with all its edges."""
        parts = []
        for side, rule in ((self.g, self.edges.deletion), (self.h, self.edges.insertion)):
            codes = np.array([code for edges in side.edges for code in edges], np.int64)
            owner = np.repeat(np.arange(len(side.edges)), [len(edges) for edges in side.edges])
            parts.append(np.bincount(owner, self.edges.of_one(rule, codes), minlength=len(side.edges)))
        return parts[0], parts[1]

    def total(self) -> float:
        """Return the cost of deleting all of g and inserting all of h."""
        deleted = self.nodes.of_one(self.nodes.deletion, self.g.nodes).sum()
        inserted = self.nodes.of_one(self.nodes.insertion, self.h.nodes).sum()
        return float(deleted + inserted + sum(part.sum() for part in self.bundle_costs()))

    def cost(self, mapping: IntArray) -> float:
        """Return the cost of a correspondence: the node of h for each node of g, or -1."""
        mapped = np.flatnonzero(mapping >= 0)
        one, other = self.g.nodes[mapped], self.h.nodes[mapping[mapped]]
        saved = self.nodes.of_substitution(one, other).sum()
        saved -= self.nodes.of_one(self.nodes.deletion, one).sum()
        saved -= self.nodes.of_one(self.nodes.insertion, other).sum()
        rows = self.image_rows(mapping)
        deleted, inserted = self.bundle_costs()
        known: dict[tuple[int, int], float] = {}
        for at in np.flatnonzero(rows >= 0).tolist():
            pair = int(self.g.bundles[at]), int(self.h.bundles[rows[at]])
            if pair not in known:
                known[pair], _ = self.edges.matched(self.g.edges[at], self.h.edges[rows[at]])
            saved += known[pair] - deleted[at] - inserted[rows[at]]
        return self.total() + float(saved)

    def dense(self) -> DenseProblem:
        """Return the problem as matrices of nodes by nodes."""
        g, h = self.g, self.h
        node_gain = self.nodes.of_substitution(g.nodes[:, np.newaxis], h.nodes[np.newaxis])
        node_gain = node_gain - self.nodes.of_one(self.nodes.deletion, g.nodes)[:, np.newaxis]
        node_gain -= self.nodes.of_one(self.nodes.insertion, h.nodes)
        gain = self._bundle_gains()
        matrices, loops = [], []
        for side in (g, h):
            matrix = np.zeros((side.n_nodes, side.n_nodes), np.int64)
            matrix[side.pairs[:, 0], side.pairs[:, 1]] = side.bundles
            loops.append(np.diagonal(matrix).copy())
            np.fill_diagonal(matrix, 0)
            matrices.append(matrix if self.directed else matrix + matrix.T)
        node_gain += gain[loops[0][:, np.newaxis], loops[1]]
        if self.directed:
            matrices, gain = _both_directions(matrices, gain)
        total = self.total()
        parts = np.concatenate([[total], node_gain.ravel(), gain.ravel()])
        step = next((step for step in (1.0, 0.5) if np.allclose(parts / step, np.round(parts / step))), 0.0)
        return DenseProblem(total, node_gain, matrices[0], matrices[1], gain, step)

    def _bundle_gains(self) -> FloatArray:
        """Return the gains of edges by the numbers of bundles, 0 for number 0."""
        one, other = (dict(zip(side.bundles.tolist(), side.edges, strict=True)) for side in (self.g, self.h))
        size = max([*one, *other, 0]) + 1
        gain = np.zeros((size, size))
        singles = [[key for key, edges in bundles.items() if len(edges) == 1] for bundles in (one, other)]
        if all(singles):
            first, second = (
                np.array([bundles[key][0] for key in keys], np.int64)
                for bundles, keys in zip((one, other), singles, strict=True)
            )
            apart = self.edges.of_one(self.edges.deletion, first)[:, np.newaxis]
            apart = apart + self.edges.of_one(self.edges.insertion, second)
            together = self.edges.of_substitution(first[:, np.newaxis], second[np.newaxis])
            gain[np.ix_(*singles)] = np.minimum(together - apart, 0.0)
        for i, edges in one.items():
            for x, others in other.items():
                if len(edges) > 1 or len(others) > 1:
                    apart = self.edges.matched(edges, ())[0] + self.edges.matched((), others)[0]
                    gain[i, x] = self.edges.matched(edges, others)[0] - apart
        return gain


def _both_directions(matrices: list[IntArray], gain: FloatArray) -> tuple[list[IntArray], FloatArray]:
    """Return codes of what connects i and j in both directions, and their gains."""
    coded, tables = [], []
    for matrix in matrices:
        both = np.stack([matrix, matrix.T], axis=-1).reshape(-1, 2)
        table, codes = np.unique(np.vstack([np.zeros((1, 2), np.int64), both]), axis=0, return_inverse=True)
        coded.append(codes.ravel()[1:].reshape(matrix.shape))
        tables.append(table)
    one, other = tables
    both_gains = gain[one[:, :1], other[:, 0]] + gain[one[:, 1:], other[:, 1]]
    return coded, both_gains


def edit_problem(
    g: RawGraph,
    h: RawGraph,
    costs: Mapping[str, Any] | None = None,
    tolerance: float = 1e-9,
    attributes: Sequence[str] | None = None,
) -> EditProblem:
    """Return the problem of editing g into h; parameters are those of `grnf.compare`."""
    rules = dict(costs or {})
    unknown = sorted(set(rules) - set(COSTS))
    if unknown:
        raise ValueError(f"costs: no cost {unknown[0]!r}. Available: {', '.join(COSTS)}")
    directed = g.directed or h.directed
    items = []
    for item, derived in zip(("node", "edge"), DERIVED, strict=True):
        columns = [getattr(graph, f"{item}_columns") for graph in (g, h)]
        names = _compared_names(columns, attributes, derived)
        counts = [graph.n_nodes if item == "node" else len(_edges(graph)) for graph in (g, h)]
        items.append(_coded(columns, names, counts, tolerance))
    (node_codes, node_labels), (edge_codes, edge_labels) = items
    parts = []
    for graph, codes in zip((g, h), edge_codes, strict=True):
        edges, numbers = _edges(graph), codes
        if directed and not graph.directed:  # an undirected edge is one in each direction
            turned = np.flatnonzero(edges[:, 0] != edges[:, 1])
            edges, numbers = np.vstack([edges, edges[turned, ::-1]]), np.append(codes, codes[turned])
        parts.append((edges, numbers))
    kinds = [
        ItemCosts(labels, *(_rule(rules.get(name, 1.0), name) for name in COSTS if name.startswith(item)))
        for item, labels in (("node", node_labels), ("edge", edge_labels))
    ]
    return problem_of_codes(node_codes, parts, kinds[0], kinds[1], directed)


def problem_of_codes(
    node_codes: Sequence[IntArray],
    edges: Sequence[tuple[IntArray, IntArray]],
    node_costs: ItemCosts,
    edge_costs: ItemCosts,
    directed: bool,
) -> EditProblem:
    """Return the problem of two graphs with codes of nodes, and ends and codes of edges."""
    numbers: dict[tuple[int, ...], int] = {}
    sides = []
    for codes, (ends, own) in zip(node_codes, edges, strict=True):
        ends = ends if directed else np.sort(ends, axis=1)
        order = np.lexsort((own, ends[:, 1], ends[:, 0]))
        bundles: dict[tuple[int, int], list[int]] = {}
        for (i, j), code in zip(ends[order].tolist(), own[order].tolist(), strict=True):
            bundles.setdefault((i, j), []).append(code)
        groups = [tuple(group) for group in bundles.values()]
        bundle = np.array([numbers.setdefault(group, len(numbers) + 1) for group in groups], np.int64)
        sides.append(CodedGraph(codes, np.array(list(bundles), np.int64).reshape(-1, 2), groups, bundle))
    return EditProblem(sides[0], sides[1], node_costs, edge_costs, directed)


def _edges(graph: RawGraph) -> IntArray:
    return np.asarray(graph.edges, dtype=np.int64).reshape(-1, 2)


def _compared_names(
    columns: list[Mapping[str, Any]], attributes: Sequence[str] | None, derived: set[str]
) -> list[str]:
    """Return the names of the attributes that count; those derived from others do not, in molecules."""
    names = sorted({name for each in columns for name in each})
    if attributes is not None:
        return [name for name in names if name in attributes]
    molecules = all(derived <= set(each) or not each for each in columns)
    return [name for name in names if not (molecules and name in derived)]


def _coded(
    columns: list[Mapping[str, Any]], names: list[str], counts: list[int], tolerance: float
) -> tuple[list[IntArray], list[dict[str, Any]]]:
    """Return the codes of the nodes (edges) of both graphs, and the attributes of each code."""
    rows: list[dict[str, Any]] = [{} for _ in range(sum(counts))]
    for name in names:
        values: list[Any] = []
        for each, count in zip(columns, counts, strict=True):
            values += _plain(each[name]) if name in each else [None] * count
        for row, value in zip(rows, _snapped(values, tolerance), strict=True):
            if value is not None:
                row[name] = value
    numbers: dict[Hashable, int] = {}
    codes = [numbers.setdefault(tuple(row.items()), len(numbers)) for row in rows]
    labels = [dict(key) for key in numbers]  # type: ignore[call-overload]
    return np.split(np.array(codes, np.int64), counts[:1]), labels


def _plain(values: Any) -> list[Any]:
    """Return values as numbers, tuples of numbers or categories; None if one is missing."""
    array = np.asarray(values)
    if array.dtype.kind in "biuf":
        if array.ndim == 2 and array.shape[1] == 1:
            array = array[:, 0]
        numbers = array.astype(np.float64) + 0.0  # 1, 1.0 and True are the same number, and so are 0 and -0
        known = np.where(np.isnan(numbers), None, numbers.astype(object))  # type: ignore[call-overload]
        return [tuple(value) if isinstance(value, list) else value for value in known.tolist()]
    plain = [tuple(value) if isinstance(value, list) else value for value in array.tolist()]
    return [None if is_missing(value) else value for value in plain]


def _snapped(values: list[Any], tolerance: float) -> list[Any]:
    """Return values in which numbers that differ by at most the tolerance are the same number."""
    flat = [x for value in values for x in (value if isinstance(value, tuple) else (value,))]
    known = sorted({x for x in flat if isinstance(x, float)})
    close: dict[Any, Any] = {}
    for before, x in zip([None, *known], known, strict=False):
        near = before is not None and x - before <= tolerance * max(1.0, abs(x))
        close[x] = close[before] if near else x
    return [
        tuple(close.get(x, x) for x in value) if isinstance(value, tuple) else close.get(value, value)
        for value in values
    ]


def _rule(given: Any, name: str) -> Cost:
    """Return a cost as a number or a function; a table becomes a function."""
    if callable(given):
        return given  # type: ignore[no-any-return]
    if not isinstance(given, Mapping):
        try:
            return _checked_cost(given)
        except (TypeError, ValueError):
            raise ValueError(f"costs: {name} must be a number >= 0, a function or a table, got {given!r}") from None
    for attribute, entries in given.items():
        if not isinstance(entries, Mapping):
            raise GraphError(
                f"costs: the table {name} must be a mapping for each attribute, got {entries!r} for {attribute!r}"
            )
    if name.endswith("substitution"):
        return lambda one, other: sum(
            _entry(entries, one.get(attribute), other.get(attribute)) for attribute, entries in given.items()
        )
    return lambda one: sum(_found(entries, one.get(attribute), 1.0) for attribute, entries in given.items())


def _entry(entries: Mapping[Any, Any], one: Any, other: Any) -> float:
    """Return the cost of a pair of values, in either order; 0 for equal ones, and 1 for others."""
    if one == other:
        return 0.0
    for first, second in ((one, other), (other, one)):
        row = _found(entries, first, {})
        cost = _found(row, second, None)
        if cost is not None:
            return float(cost)
    return 1.0


def _found(entries: Mapping[Any, Any], value: Any, default: Any) -> Any:
    """Return the entry of a value, or of its text, as keys of JSON files are text."""
    if value in entries:
        return entries[value]
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return entries.get(text, default)
