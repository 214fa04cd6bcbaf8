"""Synthetic datasets of the paper: stochastic block model and Delaunay triangulations, two classes each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.spatial import Delaunay

from grnf._utils.rules import Int, checked
from grnf.graphs import Graph, GraphBatch
from grnf.symmetry import certificates
from grnf.typing import FloatArray, IntArray


def make_sbm(
    n_graphs: int = 600, *, n_nodes: int = 12, random_state: Any = None
) -> tuple[list[Graph], IntArray]:
    """Draw graphs of a stochastic block model: one community (class 0) or two (class 1).

    Class 0 joins any two nodes with probability 0.4. Class 1 has two communities of half the nodes: 0.8
    within and 0.1 between, so that both classes have about as many edges.

    Parameters
    ----------
    n_graphs : int, default=600
        Half of them (rounded up) of class 0.
    n_nodes : int, default=12
    random_state : None, int or numpy Generator

    Returns
    -------
    graphs : list of Graph
        No attributes. Classes alternate.
    y : array of int, shape (n_graphs,)

    Examples
    --------
    >>> graphs, y = make_sbm(4, random_state=0)
    >>> graphs[0], y
    (Graph(n_nodes=12, n_edges=25, node_width=0, edge_width=0, undirected), array([0, 1, 0, 1]))
    """
    community = np.arange(n_nodes) >= n_nodes // 2
    same = np.equal.outer(community, community)
    probabilities = (np.full((n_nodes, n_nodes), 0.4), np.where(same, 0.8, 0.1))

    def one(label: int, generator: np.random.Generator) -> Graph:
        joined = np.triu(generator.random((n_nodes, n_nodes)) < probabilities[label], k=1)
        return Graph(n_nodes, np.argwhere(joined))

    return _draw(n_graphs, one, np.random.default_rng(random_state))


def make_delaunay(
    n_graphs: int = 600,
    *,
    n_nodes: int = 12,
    noise: float = 1.0,
    separation: float = 1.5,
    random_state: Any = None,
) -> tuple[list[Graph], IntArray]:
    """Draw Delaunay triangulations of noisy seed points, the coordinates as node attributes.

    The seed points of class 0 are uniform in a square of side 10. Those of class 1 are the same, each moved
    by `separation` in a random direction. Every graph adds fresh Gaussian noise to the seed points of its
    class and triangulates them.

    Parameters
    ----------
    n_graphs : int, default=600
        Half of them (rounded up) of class 0.
    n_nodes : int, default=12
    noise : float, default=1.0
        Standard deviation of the noise on each coordinate.
    separation : float, default=1.5
        How far the seed points of the two classes lie apart.
    random_state : None, int or numpy Generator

    Returns
    -------
    graphs : list of Graph
        Classes alternate.
    y : array of int, shape (n_graphs,)

    Examples
    --------
    >>> graphs, y = make_delaunay(4, random_state=0)
    >>> graphs[0].node_attr.shape
    (12, 2)
    """
    n_nodes = checked(n_nodes, "n_nodes", Int(4), "A triangulation needs so many")
    generator = np.random.default_rng(random_state)
    first = generator.uniform(0, 10, size=(n_nodes, 2))
    angle = generator.uniform(0, 2 * np.pi, size=n_nodes)
    second = first + separation * np.column_stack([np.cos(angle), np.sin(angle)])

    def one(label: int, generator: np.random.Generator) -> Graph:
        points = (first, second)[label] + noise * generator.standard_normal((n_nodes, 2))
        return Graph(n_nodes, _triangulation(points), points)

    return _draw(n_graphs, one, generator)


def _draw(
    n_graphs: int, one: Callable[[int, np.random.Generator], Graph], generator: np.random.Generator
) -> tuple[list[Graph], IntArray]:
    y = np.arange(checked(n_graphs, "n_graphs", Int(1)), dtype=np.int64) % 2
    return [one(int(label), generator) for label in y], y


def _triangulation(points: FloatArray) -> IntArray:
    """Return the edges of the Delaunay triangulation, each once."""
    triangles = np.asarray(Delaunay(points).simplices)
    sides = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]])
    return np.unique(np.sort(sides, axis=1), axis=0).astype(np.int64)


CHUNK = 2**13
"""Graphs that are compared at a time."""


def all_graphs(n_nodes: int, *, connected: bool = False) -> list[Graph]:
    """Make all graphs (simple, undirected) of so many nodes, one of each kind.

    Each comes from a graph with a node less by a new node with any neighbors. Of a connected graph some node
    can be removed without disconnecting it.

    Parameters
    ----------
    n_nodes : int
    connected : bool, default=False
        Only connected graphs.

    Returns
    -------
    list of Graph

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
        for graph, certificate in zip(graphs, certificates(GraphBatch.from_graphs(graphs)), strict=True):
            kept.setdefault(certificate.form, graph)
    return list(kept.values())


def _grown(graph: Graph, subset: int) -> IntArray:
    """Return the edges with a new node, which neighbors the nodes of a set of bits."""
    new = [(v, graph.n_nodes) for v in range(graph.n_nodes) if subset >> v & 1]
    return np.concatenate([graph.edges, np.array(new, dtype=np.int64).reshape(-1, 2)])
