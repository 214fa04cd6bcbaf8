"""Whether graphs are isomorphic: yes, no (both for sure) or undecided, by certificates of single graphs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from grnf._utils.rules import Int, OneOf, checked
from grnf.graphs import Graph, GraphBatch
from grnf.symmetry.encoded import EncodedGraphs, encoded
from grnf.symmetry.pendant_trees import without_pendant_trees
from grnf.symmetry.trees import MOST_DEPTH, SearchResult, search_parts
from grnf.typing import BoolArray, IntArray, Keys

Verdict: TypeAlias = Literal["isomorphic", "different", "undecided"]

NODES_PER_LEVEL = 20_000
"""Nodes that a level of the tree of a connected part of a graph may have."""

BUDGET = 10**9
"""Work (levels squared, times nodes) that a test of equal leaves may be: a few seconds."""


@dataclass(frozen=True)
class Certificate:
    """Invariants of a graph up to isomorphism. It stands for the graph wherever it is kept.

    Attributes
    ----------
    value : int
        A hash that does not depend on the numbering of the nodes: graphs with different values are different.
    finished : bool
        Whether the tree was finished: then `form` does not depend on the numbering either.
    form : bytes
        The whole graph with its nodes in the order found: graphs with equal forms are isomorphic.
    order : array of int
        That order: node order[i] stands at place i.
    clear : bool
        Whether no two different entries of the graph have one hash of 64 bits. If two have, nothing rests on
        the value.

    Examples
    --------
    >>> path = Graph(3, [(0, 1), (1, 2)])
    >>> first, second = certificates([path, path.permuted([1, 2, 0])])
    >>> first.compare(second), first.value == second.value
    ('isomorphic', True)
    """

    value: int
    finished: bool
    form: bytes
    order: IntArray
    clear: bool = True

    def compare(self, other: Certificate) -> Verdict:
        """Tell whether the graph is isomorphic to another one. Both need the same `depth` and `limit`.

        Parameters
        ----------
        other : Certificate

        Returns
        -------
        "isomorphic", "different" or "undecided"
        """
        if self.form == other.form:
            return "isomorphic"
        if not (self.clear and other.clear):
            return "undecided"
        differ = self.value != other.value or (self.finished and other.finished)
        return "different" if differ else "undecided"


@dataclass(frozen=True, eq=False)
class NodeCodes:
    """Codes of the nodes of a batch of graphs, and which graphs have a finished tree."""

    codes: Keys
    finished: BoolArray


def certificates(
    graphs: GraphBatch | Iterable[Graph], *, depth: int | None = None, limit: int = NODES_PER_LEVEL
) -> list[Certificate]:
    """Return the certificate of each graph.

    Nodes are distinguished by attributes and neighbors until that ends. Then each node of the first of the
    largest cells is individualized in turn, and so on. Where all leaves below are the same graph, by
    automorphisms that are checked arc by arc, one of them is enough.

    Parameters
    ----------
    graphs : GraphBatch or iterable of Graph
    depth : int, optional
        Levels that are looked at in full, by default as many as it takes.
    limit : int
        Nodes that a level may have. A level of more is not begun, whatever the numbering of the nodes.

    Returns
    -------
    list of Certificate

    Examples
    --------
    >>> hexagon = Graph(6, [(i, (i + 1) % 6) for i in range(6)])
    >>> triangles = Graph(6, [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)])
    >>> one, two, other = certificates([hexagon, hexagon.permuted([3, 1, 4, 0, 5, 2]), triangles])
    >>> one.compare(two), one.compare(other)
    ('isomorphic', 'different')
    """
    batch = graphs if isinstance(graphs, GraphBatch) else GraphBatch.from_graphs(list(graphs))
    arrays, found = encoded(batch), []
    for index, result in enumerate(_search(arrays, depth, limit, every=False)):
        clear, form = bool(arrays.clear[index]), arrays.form(index, result.order)
        found.append(Certificate(result.value, result.finished and clear, form, result.order, clear))
    return found


def compare_graphs(
    one: Graph, other: Graph, *, depth: int | None = None, limit: int = NODES_PER_LEVEL
) -> Verdict:
    """Tell whether two graphs are isomorphic, attributes and directions included.

    Answers other than "undecided" are certain. They are the same graph if their tensors A are equal up to
    the order of the nodes, so a directed graph with equal edges both ways is the undirected one, and
    repeated edges are their sum. For many graphs, make `certificates` once and compare those.

    Parameters
    ----------
    one, other : Graph
    depth : int, optional
    limit : int
        As in `certificates`.

    Returns
    -------
    "isomorphic", "different" or "undecided"

    Examples
    --------
    >>> compare_graphs(Graph(2, [(0, 1)], [[1.0], [2.0]]), Graph(2, [(1, 0)], [[2.0], [1.0]]))
    'isomorphic'
    >>> compare_graphs(Graph(2, [(0, 1)], [[1.0], [2.0]]), Graph(2, [(0, 1)], [[1.0], [1.0]]))
    'different'
    """
    first, second = (certificates([graph], depth=depth, limit=limit)[0] for graph in (one, other))
    return first.compare(second)


def node_codes(batch: GraphBatch, *, depth: int | None = None, limit: int = NODES_PER_LEVEL) -> NodeCodes:
    """Return a code of each node: equal for nodes that an isomorphism could map to each other.

    If the tree of a graph is finished, other nodes have other codes, except for collisions of 64 bits.

    Parameters
    ----------
    batch : GraphBatch
    depth : int, optional
    limit : int
        As in `certificates`.

    Returns
    -------
    NodeCodes
        With `codes` of the nodes, and `finished` for each graph.

    Examples
    --------
    >>> path = GraphBatch.from_graphs([Graph(3, [(0, 1), (1, 2)])])
    >>> codes = node_codes(path).codes
    >>> bool(codes[0] == codes[2]), bool(codes[0] == codes[1])
    (True, False)
    """
    results = _search(encoded(batch), depth, limit, every=True)
    codes = np.concatenate([np.empty(0, np.uint64), *(one.codes for one in results)])
    return NodeCodes(codes, np.array([one.finished for one in results], np.bool_))


def _search(graphs: EncodedGraphs, depth: int | None, limit: int, every: bool) -> list[SearchResult]:
    """Search all graphs, without the trees that hang on them."""
    depth = checked(depth, "depth", Int(0), OneOf(None))
    cores = without_pendant_trees(graphs.stacked)
    levels = MOST_DEPTH if depth is None else depth
    each = range(len(graphs.clear))
    return cores.restored([search_parts(cores.rest.graph(i), levels, limit, BUDGET, every) for i in each])
