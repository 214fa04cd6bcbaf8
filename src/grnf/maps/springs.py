"""Positions of nodes in the plane by springs: Euclidean distances close to those in the graph.

Each pair of nodes is joined by a spring as long as the shortest path between them (Kamada and Kawai), and the
energy is lowered by majorization (Gansner, Koren and North 2004), from a start by classical scaling. Nothing
is drawn at random. networkx has the same energy with a general optimizer, about six times as slow for graphs
of 12 nodes (`benchmarks/map.py`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components, shortest_path

from grnf.typing import FloatArray, IntArray

__all__ = ["LARGEST", "spring_positions"]

LARGEST = 1_000
"""Nodes of a graph up to which it is drawn."""

MAJORIZED = 150
"""Nodes up to which the energy is lowered; larger graphs stay where the scaling puts them."""

PIVOTS = 50
STEPS = 25


def spring_positions(n_nodes: int, edges: IntArray) -> FloatArray:
    """Return positions of nodes, shape (n_nodes, 2); components are put side by side.

    Examples
    --------
    >>> path = spring_positions(3, np.array([[0, 1], [1, 2]]))
    >>> np.round(np.linalg.norm(path[[1, 2, 2]] - path[[0, 1, 0]], axis=1), 2)
    array([1., 1., 2.])
    """
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
