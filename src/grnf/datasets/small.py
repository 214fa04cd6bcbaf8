"""All graphs of a few nodes, each once."""

from __future__ import annotations

import numpy as np

from grnf._utils.rules import Int, checked
from grnf.graphs import Graph, GraphBatch
from grnf.symmetry import certificates
from grnf.typing import IntArray

__all__ = ["all_graphs"]

CHUNK = 2**13
"""Graphs that are compared at a time."""


def all_graphs(n_nodes: int, *, connected: bool = False) -> list[Graph]:
    """Make all graphs (simple, undirected) of so many nodes, one of each kind.

    Each comes from a graph of one node less by a new node with any neighbours; of a connected graph some node
    can be left out without parting it.

    Examples
    --------
    >>> [len(all_graphs(n)) for n in range(6)]
    [1, 1, 2, 4, 11, 34]
    >>> [len(all_graphs(n, connected=True)) for n in range(1, 6)]
    [1, 1, 2, 6, 21]
    """
    checked(n_nodes, "n_nodes", Int(0))
    if n_nodes == 0:
        return [] if connected else [Graph(0, [])]
    if n_nodes == 1:
        return [Graph(1, [])]
    kept: dict[bytes, Graph] = {}
    grown = [
        _grown(graph, subset)
        for graph in all_graphs(n_nodes - 1, connected=connected)
        for subset in range(int(connected), 2 ** (n_nodes - 1))
    ]
    for start in range(0, len(grown), CHUNK):
        graphs = [Graph(n_nodes, edges) for edges in grown[start : start + CHUNK]]
        for graph, found in zip(graphs, certificates(GraphBatch.from_graphs(graphs)), strict=True):
            kept.setdefault(found.form, graph)
    return list(kept.values())


def _grown(graph: Graph, subset: int) -> IntArray:
    """Return the edges with a new node, which neighbours the nodes of a set of bits."""
    new = [(v, graph.n_nodes) for v in range(graph.n_nodes) if subset >> v & 1]
    return np.concatenate([graph.edges, np.array(new, dtype=np.int64).reshape(-1, 2)])
