"""What is different between two graphs: a correspondence of nodes, the edits, bounds on the edit distance."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from grnf._utils.rules import Real, checked
from grnf.edits.branch_and_bound import Search, branch_gains, improve, neighbor_lists, uniform_gains
from grnf.edits.edit_problem import DenseProblem, EditProblem, edit_problem
from grnf.edits.propagation import histogram_bound, propagated_mapping
from grnf.graphs import Graph
from grnf.io.encode import AttributeEncoder
from grnf.io.objects import to_raw
from grnf.io.raw import RawGraph
from grnf.metric.estimate import DistanceEstimate
from grnf.metric.exact import exact_distance
from grnf.symmetry import certificates
from grnf.typing import IntArray

__all__ = ["Comparison", "Edit", "compare", "solve"]

DENSE_NODES = 1_000
"""Nodes of each graph up to which matrices of nodes by nodes are made."""

DENSE_LABELS = 4_000_000
"""Pairs of edge labels up to which a table of their costs is made."""

EXACT_NODES = 100
"""Nodes of each graph up to which the exact search runs."""

DISTANCE_NODES = 500
"""Nodes of each graph up to which d is computed without sampling."""

RESTARTS = 200
"""Restarts of the upper bound for graphs of up to 30 nodes; fewer for larger ones, by their work."""

VISITS = 200
"""Nodes of the tree between two looks at the clock."""

SHOWN = 20
"""Edits that the text of a comparison lists."""


@dataclass(frozen=True)
class Edit:
    """One edit.

    Attributes
    ----------
    item : "node" or "edge"
    operation : "change", "remove" or "add"
    first, second : tuple of int
        The node, or the two ends of the edge, in the first and in the second graph; empty for none.
    before, after : dict
        Its attributes in both graphs.
    cost : float
    directed : bool
    """

    item: str
    operation: str
    first: tuple[int, ...]
    second: tuple[int, ...]
    before: Mapping[str, Any]
    after: Mapping[str, Any]
    cost: float
    directed: bool = False

    def __str__(self) -> str:
        name = ("->" if self.directed else "-").join(map(str, self.first or self.second))
        if self.operation == "change":
            names = sorted({*self.before, *self.after})
            changes = [
                f"{key} {_text(self.before.get(key))} -> {_text(self.after.get(key))}"
                for key in names
                if self.before.get(key) != self.after.get(key)
            ]
            return f"{self.item} {name}: {', '.join(changes) or 'substituted'}"
        attributes = self.before if self.operation == "remove" else self.after
        listed = ", ".join(f"{key} {_text(value)}" for key, value in attributes.items())
        verb = "removed" if self.operation == "remove" else "added"
        return f"{self.item} {name} {verb}{f' ({listed})' if listed else ''}"

    def record(self) -> dict[str, Any]:
        """Return the edit as the row of a table."""
        return {
            "item": self.item,
            "operation": self.operation,
            "first": "-".join(map(str, self.first)),
            "second": "-".join(map(str, self.second)),
            "cost": self.cost,
            "text": str(self),
        }


def _text(value: Any) -> str:
    if isinstance(value, tuple):
        return f"({', '.join(map(_text, value))})"
    return f"{value:g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True, eq=False)
class Comparison:
    """The result of `grnf.compare`.

    Attributes
    ----------
    distance : DistanceEstimate
        The distance d of the graphs, exact (`distance.exact`) for graphs of up to 500 nodes.
    mapping : array of int, shape (n_nodes,)
        The node of the second graph for each node of the first; -1 for a node that is removed.
    edits : tuple of Edit
        What turns the first graph into the second. Their costs sum to `upper_bound`.
    lower_bound, upper_bound : float
        Bounds on the graph edit distance.
    exact : bool
        Whether the bounds are equal, so that they are the graph edit distance.
    """

    distance: DistanceEstimate
    mapping: IntArray
    edits: tuple[Edit, ...]
    lower_bound: float
    upper_bound: float
    exact: bool

    def __str__(self) -> str:
        lines = [self.summary()]
        lines += [str(edit) for edit in self.edits[:SHOWN]]
        if len(self.edits) > SHOWN:
            rest = Counter(f"{edit.item}: {edit.operation}" for edit in self.edits[SHOWN:])
            lines.append(f"and {sum(rest.values()):,} more edits ({_counts(rest)})")
        return "\n".join(lines)

    def summary(self) -> str:
        """Return the distances and the number of edits in one line."""
        bounds = f"{self.lower_bound:g} to {self.upper_bound:g}"
        cost = f"{self.upper_bound:g} (exact)" if self.exact else f"{bounds} (not exact)"
        counts = _counts(Counter(f"{edit.item}: {edit.operation}" for edit in self.edits))
        edits = f"{len(self.edits):,} edits" + (f" ({counts})" if self.edits else "")
        return f"edit distance {cost}, {edits}, d = {self.distance.value:.4g}"

    def to_dict(self) -> dict[str, Any]:
        """Return the result as values that JSON can hold."""
        return {
            "distance": self.distance.value,
            "distance_exact": self.distance.exact,
            "lower_bound": self.lower_bound,
            "upper_bound": self.upper_bound,
            "exact": self.exact,
            "mapping": self.mapping.tolist(),
            "edits": [edit.record() for edit in self.edits],
        }

    def marks(self, n_second: int) -> tuple[Any, Any]:
        """Return the nodes of both graphs that an edit touches, as arrays of bool."""
        marked = np.zeros(len(self.mapping), bool), np.zeros(n_second, bool)
        for edit in self.edits:
            for nodes, ends in zip(marked, (edit.first, edit.second), strict=True):
                nodes[list(ends)] = True
        return marked


def _counts(counter: Counter[str]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in sorted(counter.items()))


def compare(
    g: Any,
    h: Any,
    *,
    costs: Mapping[str, Any] | None = None,
    attributes: Sequence[str] | None = None,
    tolerance: float = 1e-9,
    time_limit: float = 1.0,
    transformer: Any = None,
) -> Comparison:
    """Find what is different between two graphs: a correspondence of nodes, edits, bounds, distance.

    The graph edit distance is the smallest total cost of edits that turn g into h. By default each insertion,
    deletion and substitution of unequal attributes costs 1, as in ``networkx.graph_edit_distance`` with
    equality as `node_match` and `edge_match`. The bounds are valid for all costs. If they are not equal,
    graphs of up to 100 nodes are searched exactly until `time_limit`.

    Parameters
    ----------
    g, h : graphs of any kind
        If only one of them is directed, an undirected edge of the other is one edge in each direction.
    costs : mapping, optional
        Costs by name: ``node_substitution``, ``node_deletion``, ``node_insertion`` and the same for ``edge``.
        A cost is a number (of unequal attributes, for substitution), a function of one or two
        dictionaries of attributes, or a table. A table of substitutions is
        ``{attribute: {value: {other: cost}}}`` and one of deletions ``{attribute: {value: cost}}``. Costs of
        several attributes are added. Pairs of values that are not listed cost 1, equal ones 0.
    attributes : sequence of str, optional
        Names of the attributes to compare; by default all. In molecules from RDKit, attributes that follow
        from the others (such as hydrogens) are left out by default.
    tolerance : float, default=1e-9
        Numbers that differ by less (relative, for numbers above 1) are equal.
    time_limit : float, default=1.0
        Seconds of the exact search; 0 for bounds only.
    transformer : GRNF, optional
        Estimates the distance d. By default d is computed without sampling
        (`grnf.metric.exact.exact_distance`) up to 500 nodes, and estimated by GRNF for larger graphs.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> from grnf import Graph, compare
    >>> path, paw = Graph(3, [(0, 1), (1, 2)]), Graph(4, [(0, 1), (1, 2), (2, 0), (2, 3)])
    >>> result = compare(path, paw)
    >>> print(result)
    edit distance 3 (exact), 3 edits (edge: add 2, node: add 1), d = 0.04837
    node 3 added
    edge 0-2 added
    edge 2-3 added
    >>> result.mapping, result.lower_bound, result.upper_bound
    (array([0, 1, 2]), 3.0, 3.0)
    """
    checked(tolerance, "tolerance", Real(0))
    checked(time_limit, "time_limit", Real(0))
    one, other = to_raw(g), to_raw(h)
    problem = edit_problem(one, other, costs, tolerance, attributes)
    mapping, lower, upper = solve(problem, time_limit)
    exact = upper - lower <= 1e-9 * max(1.0, upper)
    edits = tuple(_edits(problem, mapping))
    distance = _distance(one, other, transformer)
    return Comparison(distance, mapping, edits, upper if exact else lower, upper, exact)


def solve(problem: EditProblem, time_limit: float) -> tuple[IntArray, float, float]:
    """Return a correspondence, and a lower and an upper bound; equal ones if the search was finished."""
    start = time.monotonic()
    n, m = problem.g.n_nodes, problem.h.n_nodes
    labels = [len(np.unique(side.bundles)) for side in (problem.g, problem.h)]
    if max(n, m) > DENSE_NODES or labels[0] * labels[1] > DENSE_LABELS:
        mapping = _isomorphism(problem)
        mapping = propagated_mapping(problem) if mapping is None else mapping
        return mapping, histogram_bound(problem), problem.cost(mapping)
    dense = problem.dense()
    if n > m:  # the tree of the search has a level for each node of the first graph
        dense = replace(
            dense, node_gain=dense.node_gain.T, first=dense.second, second=dense.first, edge_gain=dense.edge_gain.T
        )
    images, lower, upper = _bounds(dense)
    if upper > lower and lower <= 1e-9 and n == m:
        found = _isomorphism(problem)
        if found is not None and problem.cost(found) < upper:
            return found, 0.0, problem.cost(found)
    if upper > lower + 1e-9 and time_limit > 0 and max(n, m) <= EXACT_NODES:
        search = Search(dense, images, upper)
        finished = False
        while not finished and time.monotonic() < start + time_limit:
            finished = search.run(VISITS)
        images, upper = search.mapping, search.best
        lower = upper if finished else max(lower, _rounded_up(search.lower_bound, dense.step))
    if n > m:
        inverse = np.full(n, -1)
        inverse[images[images >= 0]] = np.flatnonzero(images >= 0)
        images = inverse
    return images, lower, upper


def _bounds(dense: DenseProblem) -> tuple[IntArray, float, float]:
    """Return a correspondence and both bounds, by assignment and by improvement."""
    n, m = dense.node_gain.shape
    near1, near2 = neighbor_lists(dense.first), neighbor_lists(dense.second)
    arrays = np.ascontiguousarray(dense.node_gain), dense.first, dense.second
    gain = np.ascontiguousarray(dense.edge_gain)
    gains = branch_gains(*arrays, near1, near2, gain, uniform_gains(gain))
    rows, columns = linear_sum_assignment(np.minimum(gains, 0.0))
    lower = _rounded_up(dense.total + float(np.minimum(gains[rows, columns], 0.0).sum()), dense.step)
    images = np.full(n, -1)
    images[rows] = np.where(gains[rows, columns] < 0, columns, -1)
    upper = dense.total + _change(dense, images)
    if n and m and upper > lower:
        restarts = int(RESTARTS * min(1.0, 30**3 / (n * m * max(near1.shape[1], 1) * 8)))
        upper += improve(images, restarts, *arrays, near1, gain, lower - upper)
    return images, max(lower, 0.0), upper


def _change(dense: DenseProblem, images: IntArray) -> float:
    """Return the gain of a correspondence."""
    mapped = np.flatnonzero(images >= 0)
    to = images[mapped]
    edges = dense.edge_gain[dense.first[np.ix_(mapped, mapped)], dense.second[np.ix_(to, to)]]
    return float(dense.node_gain[mapped, to].sum() + edges.sum() / 2)


def _rounded_up(bound: float, step: float) -> float:
    return bound if step == 0 else step * math.ceil(bound / step - 1e-6)


def _isomorphism(problem: EditProblem) -> IntArray | None:
    """Return an isomorphism of the graphs with their attributes, if they have one that is found."""
    g, h = problem.g, problem.h
    if g.n_nodes != h.n_nodes or sorted(g.nodes) != sorted(h.nodes) or sorted(g.edges) != sorted(h.edges):
        return None
    one, other = certificates(
        [
            Graph(
                side.n_nodes,
                side.pairs,
                side.nodes[:, np.newaxis].astype(np.float64),
                side.bundles[:, np.newaxis].astype(np.float64),
                directed=problem.directed,
            )
            for side in (g, h)
        ]
    )
    if one.compare(other) != "isomorphic":
        return None
    mapping = np.empty(g.n_nodes, np.int64)
    mapping[one.order] = other.order
    return mapping


def _edits(problem: EditProblem, mapping: IntArray) -> Iterator[Edit]:
    """Yield the edits of a correspondence: nodes before edges, changes before removals and additions."""
    g, h, nodes, edges = problem.g, problem.h, problem.nodes, problem.edges
    made: list[Edit] = []

    def add(item: str, first: tuple[int, ...], second: tuple[int, ...], one: int | None, other: int | None) -> None:
        kind, directed = (nodes, False) if item == "node" else (edges, problem.directed)
        before = {} if one is None else kind.labels[one]
        after = {} if other is None else kind.labels[other]
        if one is not None and other is not None:
            operation, cost = "change", kind.of_substitution(np.array([one]), np.array([other]))[0]
        elif one is not None:
            operation, cost = "remove", kind.of_one(kind.deletion, np.array([one]))[0]
        else:
            operation, cost = "add", kind.of_one(kind.insertion, np.array([other]))[0]
        if cost > 0 or operation != "change":
            made.append(Edit(item, operation, first, second, before, after, float(cost), directed))

    hit = np.zeros(h.n_nodes, bool)
    for i, x in enumerate(mapping.tolist()):
        if x < 0:
            add("node", (i,), (), int(g.nodes[i]), None)
        else:
            hit[x] = True
            add("node", (i,), (x,), int(g.nodes[i]), int(h.nodes[x]))
    for x in np.flatnonzero(~hit).tolist():
        add("node", (), (x,), None, int(h.nodes[x]))
    rows = problem.image_rows(mapping)
    met: dict[int, int] = {int(row): at for at, row in enumerate(rows.tolist()) if row >= 0}
    pairs, ends = [tuple(pair) for pair in g.pairs.tolist()], [tuple(pair) for pair in h.pairs.tolist()]
    for at, row in [*enumerate(rows.tolist()), *((-1, row) for row in range(len(ends)) if row not in met)]:
        own, theirs = g.edges[at] if at >= 0 else (), h.edges[row] if row >= 0 else ()
        matched = dict(edges.matched(own, theirs)[1])
        image = tuple(mapping[list(pairs[at])].tolist()) if at >= 0 and row >= 0 else ()
        for place, code in enumerate(own):
            to = matched.get(place)
            add("edge", pairs[at], () if to is None else image, code, None if to is None else theirs[to])
        for place, code in enumerate(theirs):
            if place not in matched.values():
                add("edge", (), ends[row], None, code)
    order = {"change": 0, "remove": 1, "add": 2}
    yield from sorted(made, key=lambda edit: (edit.item == "edge", order[edit.operation]))


def _distance(g: RawGraph, h: RawGraph, transformer: Any) -> DistanceEstimate:
    """Return d: by the transformer, without sampling, or by GRNF with its default settings."""
    if transformer is None and max(g.n_nodes, h.n_nodes) <= DISTANCE_NODES:
        encoder = AttributeEncoder(handle_missing="zero").fit([g, h])
        return exact_distance(*encoder.transform([g, h]))
    if transformer is None:
        from grnf.estimators import GRNF

        transformer = GRNF(random_state=0, handle_missing="zero").fit([g, h])
    estimate: DistanceEstimate = transformer.distance(g, h)
    return estimate
