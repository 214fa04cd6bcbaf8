"""Whether two graphs are the same but for the numbering of their nodes, with all attributes and directions.

One function, `compare_graphs`, with three answers. Colours are refined first (1-WL from exact values, not
hashes): graphs whose colours differ are different, and where all nodes have colours of their own one
numbering is left to try. What remains goes to VF2 of networkx (extra `io`), within the same colours, for so
many steps at most; beyond them it is undecided.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping
from typing import Any, Literal

import numpy as np

from grnf.io.raw import RawGraph

__all__ = ["Answer", "compare_graphs"]

Answer = Literal["same", "different", "undecided"]
Arcs = dict[tuple[int, int], Hashable]
STEPS = 100_000
"""Pairs of nodes that VF2 may try."""

LARGEST = 2_000
"""Nodes up to which VF2, which is recursive, is asked."""


def compare_graphs(g: RawGraph, h: RawGraph, *, steps: int = STEPS) -> Answer:
    """Return whether two graphs are isomorphic: equal columns of nodes, arcs and values of arcs.

    An undirected edge is a pair of arcs; parallel arcs are equal if their values are, in any order.

    Examples
    --------
    >>> from grnf import Graph
    >>> from grnf.io import to_raw
    >>> path = Graph(3, [(0, 1), (1, 2)])
    >>> compare_graphs(to_raw(path), to_raw(path.permuted([2, 0, 1])))
    'same'
    >>> compare_graphs(to_raw(path), to_raw(Graph(3, [(0, 1), (1, 2), (2, 0)])))
    'different'
    """
    if g.n_nodes != h.n_nodes or (g.directed == h.directed and len(g.edges) != len(h.edges)):
        return "different"
    first, second = _arcs(g), _arcs(h)
    if len(first) != len(second):
        return "different"
    colours = _refined(_labels(g.node_columns, g.n_nodes), first, _labels(h.node_columns, h.n_nodes), second)
    if colours is None:
        return "different"
    one, two = colours
    if _fits(_order(first, one), first, _order(second, two), second):
        return "same"
    if len(set(one)) == g.n_nodes:
        return "different"
    if g.n_nodes > LARGEST:
        return "undecided"
    return _vf2(first, one, second, two, steps)


def _order(arcs: Arcs, colours: list[int]) -> list[int]:
    """Return the nodes by colour, those of one colour that have equal neighbours side by side.

    A guess at a numbering, which needs no proof: it is tried. Cliques, stars and the like need no other.
    """
    least = list(range(len(colours)))
    for i, j in arcs:
        least[i] = min(least[i], j)
    return sorted(range(len(colours)), key=lambda node: (colours[node], least[node], node))


def _fits(nodes: list[int], first: Arcs, others: list[int], second: Arcs) -> bool:
    """Whether putting one node for the other keeps all arcs and their values; there are equally many."""
    image = dict(zip(nodes, others, strict=True))
    return all(second.get((image[i], image[j])) == value for (i, j), value in first.items())


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


def _arcs(graph: RawGraph) -> Arcs:
    """Return the values of each arc; those of parallel ones sorted."""
    values: dict[tuple[int, int], list[Hashable]] = {}
    edges = np.asarray(graph.edges).reshape(-1, 2).tolist()
    for (i, j), label in zip(edges, _labels(graph.edge_columns, len(edges)), strict=True):
        values.setdefault((i, j), []).append(label)
        if not graph.directed and i != j:
            values.setdefault((j, i), []).append(label)
    return {arc: tuple(sorted(labels, key=repr)) for arc, labels in values.items()}


def _refined(
    a: list[Hashable], first: Arcs, b: list[Hashable], second: Arcs
) -> tuple[list[int], list[int]] | None:
    """Return stable colours of the nodes of both graphs; None if they tell the graphs apart."""
    neighbours = _neighbours(first, len(a)), _neighbours(second, len(b))
    labels, n_colours = (a, b), 0
    while True:
        codes: dict[Hashable, int] = {}
        one, two = ([codes.setdefault(label, len(codes)) for label in some] for some in labels)
        if Counter(one) != Counter(two):
            return None
        if len(codes) == n_colours:
            return one, two
        n_colours = len(codes)
        labels = _next(one, neighbours[0]), _next(two, neighbours[1])


def _neighbours(arcs: Arcs, n: int) -> list[list[tuple[Hashable, int]]]:
    """Return for each node what leads where: (direction and value, node)."""
    found: list[list[tuple[Hashable, int]]] = [[] for _ in range(n)]
    for (i, j), value in arcs.items():
        found[i].append((("out", value), j))
        found[j].append((("in", value), i))
    return found


def _next(colours: list[int], neighbours: list[list[tuple[Hashable, int]]]) -> list[Hashable]:
    return [
        (own, frozenset(Counter((value, colours[other]) for value, other in around).items()))
        for own, around in zip(colours, neighbours, strict=True)
    ]


class _TooLongError(Exception):
    """VF2 has tried enough."""


def _vf2(first: Arcs, one: list[int], second: Arcs, two: list[int], steps: int) -> Answer:
    try:
        import networkx as nx  # type: ignore[import-untyped, unused-ignore]
        from networkx.algorithms.isomorphism import (  # type: ignore[import-untyped, unused-ignore]
            DiGraphMatcher,
        )
    except ImportError:
        raise ImportError("to confirm copies networkx is needed: pip install 'grnf[io]'") from None

    class Matcher(DiGraphMatcher):  # type: ignore[misc, unused-ignore]
        left = steps

        def semantic_feasibility(self, node: Any, other: Any) -> bool:
            self.left -= 1
            if self.left < 0:
                raise _TooLongError
            return bool(super().semantic_feasibility(node, other))

    def made(arcs: Arcs, colours: list[int]) -> Any:
        graph = nx.DiGraph()
        graph.add_nodes_from((node, {"colour": colour}) for node, colour in enumerate(colours))
        graph.add_edges_from((i, j, {"value": value}) for (i, j), value in arcs.items())
        return graph

    matcher = Matcher(
        made(first, one),
        made(second, two),
        node_match=lambda a, b: a["colour"] == b["colour"],
        edge_match=lambda a, b: a["value"] == b["value"],
    )
    try:
        return "same" if matcher.is_isomorphic() else "different"
    except _TooLongError:
        return "undecided"
    finally:
        matcher.reset_recursion_limit()
