"""Whether two graphs are the same but for the numbering of their nodes, with all attributes and directions.

One function, `compare_raw`, with three answers. Colours are refined first (1-WL from exact values of any
kind): graphs whose colours differ are different, and where all nodes have colours of their own one numbering
is left to try. What remains goes to the trees of `grnf.symmetry`; beyond their limit it is undecided.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from grnf.graphs import Graph
from grnf.io.raw import RawGraph
from grnf.symmetry import LIMIT, Answer, compare_graphs

__all__ = ["compare_raw"]

Arcs = dict[tuple[int, int], Hashable]


def compare_raw(g: RawGraph, h: RawGraph, *, limit: int = LIMIT) -> Answer:
    """Return whether two graphs are isomorphic: equal columns of nodes, arcs and values of arcs.

    An undirected edge is a pair of arcs; parallel arcs are equal if their values are, in any order. Of graphs
    as tensors, which sum parallel arcs, see `grnf.symmetry.compare_graphs`; `limit` is the one there.

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
        return "isomorphic"
    if len(set(one)) == g.n_nodes:
        return "different"
    return _by_trees(first, one, second, two, limit)


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


def _by_trees(first: Arcs, one: list[int], second: Arcs, two: list[int], limit: int) -> Answer:
    """Ask `symmetry`, with colours of nodes and values of arcs as numbers that both graphs share."""
    codes: dict[Hashable, int] = {}

    def made(arcs: Arcs, colours: list[int]) -> Graph:
        values = [codes.setdefault(value, len(codes)) for value in arcs.values()]
        nodes, edges = (np.array(entries, np.float64)[:, np.newaxis] for entries in (colours, values))
        return Graph(len(colours), list(arcs), nodes, edges, directed=True)

    return compare_graphs(made(first, one), made(second, two), limit=limit)
