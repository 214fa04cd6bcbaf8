"""Two graphs as codes of their attributes, and the costs of editing one into the other.

A correspondence f maps nodes of g to different nodes of h. The others are deleted or inserted. Relative to
deleting g and inserting h, its cost is

    total + sum_i node_gain[i, f(i)] + sum_{i < j} edge_gain[e(i, j), e'(f(i), f(j))],

in which e and e' are codes of what connects two nodes, in both directions. Edge gains are at most 0: an edge
is substituted only if that is cheaper than to delete and to insert it. Self-loops belong to their node.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import chain
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy.optimize import linear_sum_assignment

from grnf.errors import invalid
from grnf.io.raw import RawGraph, is_missing
from grnf.typing import FloatArray, IntArray

Attributes: TypeAlias = Mapping[Any, Any]
Cost: TypeAlias = float | Callable[..., float]

COSTS = tuple(
    f"{item}_{operation}"
    for item in ("node", "edge")
    for operation in ("substitution", "deletion", "insertion")
)
"""Names of costs."""

MISSING = 1e300
"""The number of a missing value, which differs from all others."""

DERIVED = {"aromatic", "hydrogens", "degree", "hybridization"}, {"conjugated", "ring"}
"""Attributes of atoms and bonds that follow from the symbols, charges and bond types of a molecule."""


@dataclass(frozen=True, eq=False)
class ItemCosts:
    """Costs of nodes, or of edges, by the codes of their attributes.

    A substitution that is a number is the cost of unequal attributes: `values` (a row per code) that
    differ by more than the tolerance of their column, relative to numbers above 1.
    """

    labels: Sequence[Attributes]
    substitution: Cost = 1.0
    deletion: Cost = 1.0
    insertion: Cost = 1.0
    values: FloatArray = field(default_factory=lambda: np.zeros((1, 0)))
    tolerances: FloatArray = field(default_factory=lambda: np.zeros(0))

    def substituted(self, one: IntArray, other: IntArray) -> FloatArray:
        """Return the costs of substituting codes by codes. Both shapes are broadcast."""
        one, other = np.broadcast_arrays(one, other)
        if not callable(self.substitution):
            unequal = np.zeros(one.shape, bool)
            for column, tolerance in zip(self.values.T, self.tolerances, strict=True):
                x, y = column[one], column[other]
                unequal |= np.abs(x - y) > tolerance * np.maximum(1.0, np.maximum(np.abs(x), np.abs(y)))
            return np.where(unequal, float(self.substitution), 0.0)
        rule, labels = self.substitution, self.labels
        cost = cache(lambda i, j: _checked_cost(rule(labels[i], labels[j])))
        pairs = zip(one.ravel().tolist(), other.ravel().tolist(), strict=True)
        return np.array([cost(i, j) for i, j in pairs], float).reshape(one.shape)

    def single(self, rule: Cost, codes: IntArray) -> FloatArray:
        """Return the costs of deleting or inserting codes."""
        if not callable(rule):
            return np.full(len(codes), float(rule))
        return np.array([_checked_cost(rule(self.labels[code])) for code in codes.tolist()], float)

    def gains(self, one: IntArray, other: IntArray) -> FloatArray:
        """Return the costs of substituting each code by each other, less those of deletion and insertion."""
        deleted, inserted = self.single(self.deletion, one), self.single(self.insertion, other)
        return self.substituted(one[:, np.newaxis], other[np.newaxis]) - deleted[:, np.newaxis] - inserted

    def matched(self, one: Sequence[int], other: Sequence[int]) -> tuple[float, dict[int, int]]:
        """Match parallel edges: return their gain, and the positions of those that are substituted."""
        gains = np.minimum(self.gains(np.array(one, np.int64), np.array(other, np.int64)), 0.0)
        rows, columns = linear_sum_assignment(gains)
        pairs = {int(i): int(x) for i, x in zip(rows, columns, strict=True) if gains[i, x] < 0}
        return float(gains[rows, columns].sum()), pairs


def _checked_cost(value: Any) -> float:
    cost = float(value)
    if not 0 <= cost < math.inf:
        raise invalid("an edit cost", "be a finite number >= 0", str(cost))
    return cost


@dataclass(frozen=True, eq=False)
class CodedGraph:
    """A graph whose attributes are codes: one for each node, and those of all edges of a pair of nodes.

    Undirected graphs list a pair once, the smaller node first. The codes of parallel edges are sorted.
    """

    nodes: IntArray
    edges: dict[tuple[int, int], tuple[int, ...]]

    @classmethod
    def of(cls, nodes: IntArray, ends: IntArray, codes: IntArray, directed: bool) -> CodedGraph:
        """Collect the codes of edges by the pairs of their ends."""
        ends = ends if directed else np.sort(ends, axis=1)
        order = np.lexsort((codes, ends[:, 1], ends[:, 0]))
        edges: dict[tuple[int, int], tuple[int, ...]] = {}
        for i, j, code in zip(*ends[order].T.tolist(), codes[order].tolist(), strict=True):
            edges[i, j] = (*edges.get((i, j), ()), code)
        return cls(nodes, edges)

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return len(self.nodes)

    @property
    def edge_codes(self) -> IntArray:
        """The codes of all edges."""
        return np.fromiter(chain.from_iterable(self.edges.values()), np.int64)

    def pairs(self) -> IntArray:
        """Return the connected pairs of nodes, shape (n_pairs, 2)."""
        return np.array(list(self.edges), np.int64).reshape(-1, 2)


class DenseProblem(NamedTuple):
    """The problem as matrices, for kernels. Codes of pairs are 0 for nodes that are not connected.

    All costs are multiples of `step`. It is 0 if they are not multiples of 1 or 1/2. `near1` and `near2` have
    for each node the number of its neighbors and the neighbors. `uniform` is (1, a, b) if edge gains are a
    for equal codes and b >= a for others, else zeros.
    """

    total: float
    node_gain: FloatArray
    first: IntArray
    second: IntArray
    edge_gain: FloatArray
    step: float
    near1: IntArray
    near2: IntArray
    uniform: FloatArray

    @classmethod
    def of(
        cls,
        total: float,
        node_gain: FloatArray,
        first: IntArray,
        second: IntArray,
        edge_gain: FloatArray,
        step: float,
    ) -> DenseProblem:
        """Return the problem with lists of neighbors."""
        inside, uniform = edge_gain[1:, 1:], np.zeros(3)
        if inside.size:
            equal, other = inside[0, 0], inside[0, -1]
            expected = np.where(np.eye(len(inside), dtype=bool), equal, other)
            if equal <= other and (inside == expected).all():
                uniform[:] = 1.0, equal, other
        gains = np.ascontiguousarray(node_gain), np.ascontiguousarray(edge_gain)
        near = _neighbor_lists(first), _neighbor_lists(second)
        return cls(total, gains[0], first, second, gains[1], step, *near, uniform)

    def turned(self) -> DenseProblem:
        """Return the problem of editing the second graph into the first."""
        codes = self.second, self.first
        return DenseProblem.of(self.total, self.node_gain.T, *codes, self.edge_gain.T, self.step)


def _neighbor_lists(codes: IntArray) -> IntArray:
    degrees = np.count_nonzero(codes, axis=1)
    lists = np.zeros((len(codes), 1 + int(degrees.max(initial=0))), np.int64)
    lists[:, 0] = degrees
    rows, columns = np.nonzero(codes)
    lists[rows, 1 + np.arange(len(rows)) - np.repeat(np.cumsum(degrees) - degrees, degrees)] = columns
    return lists


@dataclass(frozen=True, eq=False)
class EditProblem:
    """Two graphs and the costs of edits."""

    g: CodedGraph
    h: CodedGraph
    nodes: ItemCosts
    edges: ItemCosts
    directed: bool

    def bundles(self) -> tuple[list[tuple[int, ...]], list[IntArray]]:
        """Return the different tuples of parallel edges, and for both graphs their numbers, from 1."""
        numbers: dict[tuple[int, ...], int] = {}
        coded = [
            np.array([numbers.setdefault(codes, len(numbers) + 1) for codes in side.edges.values()], np.int64)
            for side in (self.g, self.h)
        ]
        return list(numbers), coded

    def dense(self) -> DenseProblem:
        """Return the problem as matrices of nodes by nodes."""
        bundles, numbers = self.bundles()
        edge_gain, node_gain = self._bundle_gains(bundles), self.nodes.gains(self.g.nodes, self.h.nodes)
        matrices = []
        for side, own in zip((self.g, self.h), numbers, strict=True):
            matrix = np.zeros((side.n_nodes, side.n_nodes), np.int64)
            matrix[tuple(side.pairs().T)] = own
            matrices.append(matrix)
        node_gain += edge_gain[np.diagonal(matrices[0])[:, np.newaxis], np.diagonal(matrices[1])]
        for matrix in matrices:
            np.fill_diagonal(matrix, 0)
        if self.directed:
            matrices, edge_gain = _both_directions(matrices, edge_gain)
        else:
            matrices = [matrix + matrix.T for matrix in matrices]
        total = math.fsum(
            costs.single(rule, codes).sum()
            for costs, one, other in (
                (self.nodes, self.g.nodes, self.h.nodes),
                (self.edges, self.g.edge_codes, self.h.edge_codes),
            )
            for rule, codes in ((costs.deletion, one), (costs.insertion, other))
        )
        parts = np.concatenate([[total], node_gain.ravel(), edge_gain.ravel()])
        step = next((step for step in (1.0, 0.5) if np.allclose(parts / step, np.round(parts / step))), 0.0)
        return DenseProblem.of(total, node_gain, matrices[0], matrices[1], edge_gain, step)

    def _bundle_gains(self, bundles: list[tuple[int, ...]]) -> FloatArray:
        """Return the gains of tuples of parallel edges by their numbers, 0 for number 0."""
        gains = np.zeros((len(bundles) + 1, len(bundles) + 1))
        codes = np.array([codes[0] for codes in bundles], np.int64)
        gains[1:, 1:] = np.minimum(self.edges.gains(codes, codes), 0.0)
        for at, one in enumerate(bundles, start=1):
            if len(one) > 1:
                for to, other in enumerate(bundles, start=1):
                    gains[at, to] = self.edges.matched(one, other)[0]
                    gains[to, at] = self.edges.matched(other, one)[0]
        return gains


def _both_directions(matrices: list[IntArray], gain: FloatArray) -> tuple[list[IntArray], FloatArray]:
    """Return codes of what connects i and j in both directions, and their gains."""
    both = [np.stack([matrix, matrix.T], axis=-1).reshape(-1, 2) for matrix in matrices]
    table, codes = np.unique(np.vstack([np.zeros((1, 2), np.int64), *both]), axis=0, return_inverse=True)
    parts = np.split(codes.ravel()[1:], [matrices[0].size])
    gains = gain[table[:, :1], table[:, 0]] + gain[table[:, 1:], table[:, 1]]
    return [part.reshape(matrix.shape) for part, matrix in zip(parts, matrices, strict=True)], gains


def edit_problem(
    g: RawGraph,
    h: RawGraph,
    costs: Mapping[str, Any] | None = None,
    tolerance: float = 1e-9,
    attributes: Sequence[str] | None = None,
) -> EditProblem:
    """Return the problem of editing g into h. Parameters are those of `grnf.compare`."""
    rules = dict(costs or {})
    unknown = sorted(set(rules) - set(COSTS))
    if unknown:
        raise invalid("costs", f"have keys among {', '.join(COSTS)}", repr(unknown[0]))
    directed = g.directed or h.directed
    ends = [np.asarray(graph.edges, dtype=np.int64).reshape(-1, 2) for graph in (g, h)]
    items, codes = [], []
    for item, derived in zip(("node", "edge"), DERIVED, strict=True):
        columns = [getattr(graph, f"{item}_columns") for graph in (g, h)]
        counts = [g.n_nodes, h.n_nodes] if item == "node" else [len(ends[0]), len(ends[1])]
        names = _compared_names(columns, attributes, derived)
        own, labels, values, tolerances = _coded(columns, names, counts, tolerance)
        substitution, deletion, insertion = (
            _rule(rules.get(name, 1.0), name) for name in COSTS if name.startswith(item)
        )
        items.append(ItemCosts(labels, substitution, deletion, insertion, values, tolerances))
        codes.append(np.split(own, counts[:1]))
    sides = []
    for graph, nodes, own, pairs in zip((g, h), *codes, ends, strict=True):
        if directed and not graph.directed:  # an undirected edge is one in each direction
            back = np.flatnonzero(pairs[:, 0] != pairs[:, 1])
            pairs, own = np.vstack([pairs, pairs[back, ::-1]]), np.append(own, own[back])
        sides.append(CodedGraph.of(nodes, pairs, own, directed))
    return EditProblem(sides[0], sides[1], items[0], items[1], directed)


def _compared_names(
    columns: list[Mapping[str, Any]], attributes: Sequence[str] | None, derived: set[str]
) -> list[str]:
    """Return the attributes to compare. In molecules, those that follow from others are left out."""
    names = list(dict.fromkeys(name for each in columns for name in each))
    if attributes is not None:
        return [name for name in names if name in attributes]
    molecules = all(derived <= set(each) or not each for each in columns)
    return [name for name in names if not (molecules and name in derived)]


def _coded(
    columns: list[Mapping[str, Any]], names: list[str], counts: list[int], tolerance: float
) -> tuple[IntArray, list[dict[str, Any]], FloatArray, FloatArray]:
    """Return a code per node (edge) of both graphs, and the attributes, numbers and tolerances of codes."""
    parts, tolerances, listed = [np.zeros((sum(counts), 0))], [], {}
    for name in names:
        arrays = [
            np.asarray(each[name]) if name in each else np.full(n, None)
            for each, n in zip(columns, counts, strict=True)
        ]
        values = listed[name] = [_value(entry) for array in arrays for entry in array.tolist()]
        present = [value for value in values if value is not None]
        shapes = {len(value) if isinstance(value, tuple) else 0 for value in present}
        is_number = len(shapes) == 1 and all(
            isinstance(x, float)
            for value in present
            for x in (value if isinstance(value, tuple) else [value])
        )
        if is_number:
            absent = np.full(max(shapes.pop(), 1), np.nan)
            numbers = np.array([np.atleast_1d(absent if value is None else value) for value in values])
            numbers = np.nan_to_num(numbers, nan=MISSING, posinf=10 * MISSING, neginf=-10 * MISSING)
        else:
            seen: dict[Any, int] = {}
            numbers = np.array([[seen.setdefault(value, len(seen))] for value in values], float).reshape(
                -1, 1
            )
        parts.append(numbers)
        tolerances += [tolerance if is_number else 0.0] * numbers.shape[1]
    table, first, codes = np.unique(np.hstack(parts), axis=0, return_index=True, return_inverse=True)
    labels = [
        {name: values[row] for name, values in listed.items() if values[row] is not None}
        for row in first.tolist()
    ]
    return codes.ravel(), labels, table, np.array(tolerances)


def _value(entry: Any) -> Any:
    """Return a number as float, a vector as tuple, a category unchanged, or None if it is missing."""
    if isinstance(entry, list):
        entry = tuple(float(x) if isinstance(x, int | float) else x for x in entry)
        return entry[0] if len(entry) == 1 else entry
    if isinstance(entry, int | float):
        entry = float(entry)
    return None if is_missing(entry) else entry


def _rule(given: Any, name: str) -> Cost:
    """Return a cost as a number or a function. A table becomes a function."""
    if callable(given):
        return given  # type: ignore[no-any-return]
    if not isinstance(given, Mapping):
        try:
            return _checked_cost(given)
        except (TypeError, ValueError):
            requirement = "be a number >= 0, a function or a table"
            raise invalid(f"costs[{name!r}]", requirement, repr(given)) from None
    for attribute, entries in given.items():
        if not isinstance(entries, Mapping):
            requirement = "have a table for each attribute"
            raise invalid(f"costs[{name!r}]", requirement, f"{entries!r} for {attribute!r}")
    if name.endswith("substitution"):
        return lambda one, other: sum(
            _pair_cost(entries, one.get(attribute), other.get(attribute))
            for attribute, entries in given.items()
        )
    return lambda one: sum(_entry(entries, one.get(attribute), 1.0) for attribute, entries in given.items())


def _pair_cost(entries: Mapping[Any, Any], one: Any, other: Any) -> float:
    """Return the cost of a pair of values, in either order. It is 0 for equal ones and 1 for others."""
    if one == other:
        return 0.0
    reverse = _entry(_entry(entries, other, {}), one, 1.0)
    return float(_entry(_entry(entries, one, {}), other, reverse))


def _entry(entries: Mapping[Any, Any], value: Any, default: Any) -> Any:
    """Return the entry of a value, or of its text, since keys of JSON files are text."""
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return entries.get(value, entries.get(text, default))
