"""What is different between two graphs: a correspondence of nodes, the edits, bounds on the edit distance."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from grnf.edits.branch_and_bound import solve
from grnf.edits.edit_problem import EditProblem, edit_problem
from grnf.errors import OrderTooLargeError, invalid
from grnf.estimators import GRNF
from grnf.graphs import check_graphs
from grnf.io.encode import AttributeEncoder
from grnf.io.objects import to_raw
from grnf.io.raw import RawGraph
from grnf.law.parameters import parameter_law
from grnf.metric.estimate import DistanceEstimate
from grnf.metric.exact import AFFORDABLE_TYPES, ExactMetric
from grnf.typing import IntArray

ITEMS = ("node", "edge")
OPERATIONS = {"change": "changed", "remove": "removed", "add": "added"}

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

    Examples
    --------
    >>> import grnf
    >>> (edit,) = grnf.compare("CCO", "CCN").edits
    >>> edit.operation, edit.first, edit.before["symbol"], edit.after["symbol"]
    ('change', (2,), 'O', 'N')
    >>> edit.record()["text"]
    'node 2: symbol O -> N'
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
        return f"{self.item} {name} {OPERATIONS[self.operation]}{f' ({listed})' if listed else ''}"

    def record(self) -> dict[str, Any]:
        """Return the edit as the row of a table.

        Returns
        -------
        dict
        """
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
        The distance of the graphs: `grnf.metric.exact_distance` (then `distance.exact`) if they have up to
        3,000 types of pairs of nodes, otherwise d_P estimated by `GRNF`, which is close to it but not equal.
    mapping : array of int, shape (n_nodes,)
        The node of the second graph for each node of the first; -1 for a node that is removed.
    edits : tuple of Edit
        What turns the first graph into the second. Their costs sum to `upper_bound`.
    lower_bound, upper_bound : float
        Bounds on the graph edit distance.
    exact : bool
        Whether the bounds are equal, so that they are the graph edit distance.

    Examples
    --------
    >>> import grnf
    >>> comparison = grnf.compare("CCO", "CCN")
    >>> print(comparison.summary())
    edit distance 1 (exact): 1 node changed. d = 0.266
    >>> comparison.to_dict()["edits"][0]["text"]
    'node 2: symbol O -> N'
    >>> comparison.marks(1)  # in the second graph
    {(2,): 'change'}
    """

    distance: DistanceEstimate
    mapping: IntArray
    edits: tuple[Edit, ...]
    lower_bound: float
    upper_bound: float
    exact: bool

    def __str__(self) -> str:
        lines = [self.summary(), *map(str, self.edits[:SHOWN])]
        if len(self.edits) > SHOWN:
            lines.append(f"and {_counts(self.edits[SHOWN:])} more")
        return "\n".join(lines)

    def summary(self) -> str:
        """Return the distances and the numbers of edits in one line.

        Returns
        -------
        str
        """
        bounds = f"between {self.lower_bound:g} and {self.upper_bound:g}"
        cost = f"{self.upper_bound:g} (exact)" if self.exact else bounds
        return f"edit distance {cost}: {_counts(self.edits)}. d = {self.distance:.4g}"

    def to_dict(self) -> dict[str, Any]:
        """Return the result as values that JSON can hold.

        Returns
        -------
        dict
        """
        return {
            "distance": self.distance.value,
            "distance_exact": self.distance.exact,
            "lower_bound": self.lower_bound,
            "upper_bound": self.upper_bound,
            "exact": self.exact,
            "mapping": self.mapping.tolist(),
            "edits": [edit.record() for edit in self.edits],
        }

    def marks(self, side: int) -> dict[tuple[int, ...], str]:
        """Return the operation on each node (i,) and edge (i, j) of the first (0) or second (1) graph.

        Parameters
        ----------
        side : 0 or 1
            The first or the second graph.

        Returns
        -------
        dict from tuple to "change", "remove" or "add"
        """
        ends = [(edit.second if side else edit.first, edit.operation) for edit in self.edits]
        return {nodes: operation for nodes, operation in ends if nodes}


def _counts(edits: Iterable[Edit]) -> str:
    """Return the numbers of edits in words, such as "1 node changed, 2 edges added"."""
    counts = Counter((ITEMS.index(edit.item), edit.item, edit.operation) for edit in edits)
    parts = [
        f"{count:,} {item}{'s' if count > 1 else ''} {OPERATIONS[operation]}"
        for (_, item, operation), count in sorted(counts.items())
    ]
    return ", ".join(parts) or "no edits"


def compare(
    g: Any,
    h: Any,
    *,
    costs: Mapping[str, Any] | None = None,
    attributes: Sequence[str] | None = None,
    tolerance: float = 1e-9,
    time_limit: float = 1.0,
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
        A cost is a number (of unequal attributes, for substitution), a function of the
        attributes (one dictionary, or two for substitution), or a table. A table of substitutions is
        ``{attribute: {value: {other: cost}}}`` and one of deletions ``{attribute: {value: cost}}``. Costs of
        several attributes are added. Pairs of values that are not listed cost 1, equal ones 0.
    attributes : sequence of str, optional
        Names of the attributes to compare. By default all. In molecules from RDKit, attributes that follow
        from the others (such as hydrogens) are left out by default.
    tolerance : float, default=1e-9
        Numbers that differ by less (relative, for numbers above 1) are equal.
    time_limit : float, default=1.0
        Seconds of the exact search, or 0 for bounds only.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> from grnf import Graph, compare
    >>> path, paw = Graph(3, [(0, 1), (1, 2)]), Graph(4, [(0, 1), (1, 2), (2, 0), (2, 3)])
    >>> result = compare(path, paw)
    >>> print(result)
    edit distance 3 (exact): 1 node added, 2 edges added. d = 0.1059
    node 3 added
    edge 0-2 added
    edge 2-3 added
    >>> result.mapping, result.lower_bound, result.upper_bound
    (array([0, 1, 2]), 3.0, 3.0)
    """
    for name, value in (("tolerance", tolerance), ("time_limit", time_limit)):
        if not value >= 0:
            raise invalid(name, "be a number >= 0", repr(value))
    one, other = to_raw(g), to_raw(h)
    problem = edit_problem(one, other, costs, tolerance, attributes)
    mapping, lower, finished = solve(problem, time_limit)
    edits = list_edits(problem, mapping)
    upper = math.fsum(edit.cost for edit in edits)
    exact = finished or upper <= lower + 1e-9 * max(1.0, upper)
    return Comparison(_distance(one, other), mapping, edits, upper if exact else lower, upper, exact)


def correspondence(g: RawGraph, h: RawGraph) -> IntArray:
    """Return the mapping of `compare` without search: about a millisecond for graphs of 15 nodes."""
    return solve(edit_problem(g, h), 0.0, effort=0)[0]


def list_edits(problem: EditProblem, mapping: IntArray) -> tuple[Edit, ...]:
    """Return the edits of a correspondence: nodes before edges, changes before removals and additions."""
    g, h, images = problem.g, problem.h, mapping.tolist()
    edits = []
    for i, x in enumerate(images):
        second, code = ((), None) if x < 0 else ((x,), h.nodes[x])
        edits.append(_edit(problem, "node", (i,), second, g.nodes[i], code))
    for x in sorted(set(range(h.n_nodes)) - set(images)):
        edits.append(_edit(problem, "node", (), (x,), None, h.nodes[x]))
    left = dict(h.edges)
    for pair, own in g.edges.items():
        ends = tuple(images[end] for end in pair)
        image = ends if problem.directed or ends[0] <= ends[1] else ends[::-1]
        others = left.pop(image, ())
        _, matched = problem.edges.matched(own, others) if others else (0.0, {})
        for at, code in enumerate(own):
            second, to = (ends, others[matched[at]]) if at in matched else ((), None)
            edits.append(_edit(problem, "edge", pair, second, code, to))
        for at in sorted(set(range(len(others))) - set(matched.values())):
            edits.append(_edit(problem, "edge", (), image, None, others[at]))
    for image, others in left.items():
        edits += [_edit(problem, "edge", (), image, None, code) for code in others]
    kept = [edit for edit in edits if edit.cost > 0 or edit.operation != "change"]
    return tuple(sorted(kept, key=lambda edit: (ITEMS.index(edit.item), [*OPERATIONS].index(edit.operation))))


def _edit(
    problem: EditProblem, item: str, first: tuple[int, ...], second: tuple[int, ...], code: Any, other: Any
) -> Edit:
    """Return the edit of nodes or edges by their codes, None for one that does not exist."""
    costs, directed = (problem.nodes, False) if item == "node" else (problem.edges, problem.directed)
    before, after = ({} if each is None else costs.labels[each] for each in (code, other))
    if other is None:
        operation, cost = "remove", costs.single(costs.deletion, np.array([code]))
    elif code is None:
        operation, cost = "add", costs.single(costs.insertion, np.array([other]))
    else:
        operation, cost = "change", costs.substituted(np.array([code]), np.array([other]))
    return Edit(item, operation, first, second, before, after, float(cost[0]), directed)


def _distance(g: RawGraph, h: RawGraph) -> DistanceEstimate:
    """Return d: without sampling for few types of pairs, otherwise by GRNF with default settings."""
    encoder = AttributeEncoder(handle_missing="zero").fit([g, h])
    one, other = encoder.encode(g), encoder.encode(h)
    metric = ExactMetric(parameter_law({1: 2 / 3, 2: 1 / 3}, 4, "orders"), max_types=AFFORDABLE_TYPES)
    try:
        squared = metric.squared_distances(check_graphs([one]), check_graphs([other]))
    except OrderTooLargeError:
        return GRNF(random_state=0, handle_missing="zero").fit([g, h]).distance(g, h)
    return DistanceEstimate(float(squared[0, 0]), 0.0, 1, math.inf, exact=True)
