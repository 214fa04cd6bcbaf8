"""Random walks: how likely is a walker to be back where it began."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np

from grnf.graphs import GraphBatch
from grnf.lifts.base import DIRECTION, NodeLift
from grnf.lifts.dense import dense_blocks
from grnf.rules import Int, Table
from grnf.typing import FloatArray

__all__ = ["RandomWalk"]

BLOCK = 256
"""Walks that are followed at a time in a graph too large for a dense matrix."""


class RandomWalk(NodeLift):
    """Adds the probabilities that a random walk is back at its node after 1, 2, .. steps.

    A step goes along a random edge, repeated edges counting each time; a walker without an edge is lost.

    Parameters
    ----------
    steps : int, default=4
    direction : "any", "out" or "in", default="any"
        Which arcs of directed graphs a walker may take.

    Examples
    --------
    >>> from grnf import Graph
    >>> RandomWalk(3).fit_transform([Graph(3, [(0, 1), (1, 2), (2, 0)])]).node_attr[0]
    array([0.  , 0.5 , 0.25])
    """

    _rules: ClassVar[Table] = {"steps": [Int(1)], "direction": [DIRECTION]}

    def __init__(self, steps: int = 4, *, direction: Literal["any", "out", "in"] = "any") -> None:
        self.steps = steps
        self.direction = direction

    def _columns(self, batch: GraphBatch) -> FloatArray:
        columns = np.zeros((batch.node_ptr[-1], self.steps))
        A: Any
        for rows, A in dense_blocks(batch, direction=self.direction):
            scale = 1 / np.maximum(A.sum(axis=1), 1)
            if not isinstance(A, np.ndarray):
                columns[rows] = self._by_blocks(A.multiply(scale[:, np.newaxis]).tocsr())
            else:
                columns[rows] = self._dense(scale[:, np.newaxis] * A)
        return columns

    def _dense(self, step: Any) -> FloatArray:
        """Return the diagonals of the powers; diag(P^(s+t)) needs P^s and P^t only."""
        columns = np.empty((len(step), self.steps))
        low = power = step
        for t in range(1, self.steps + 1):
            if t == 1:
                columns[:, 0] = np.diag(step)
            elif t % 2 == 0:
                columns[:, t - 1] = (power * power.T).sum(axis=1)
            else:
                low, power = power, power @ step
                columns[:, t - 1] = (low * power.T).sum(axis=1)
        return columns

    def _by_blocks(self, step: Any) -> FloatArray:
        size = step.shape[0]
        columns = np.empty((size, self.steps))
        for start in range(0, size, BLOCK):
            nodes = np.arange(start, min(start + BLOCK, size))
            walkers = np.zeros((size, len(nodes)))
            walkers[nodes, nodes - start] = 1
            for t in range(self.steps):
                walkers = step @ walkers
                columns[nodes, t] = walkers[nodes, nodes - start]
        return columns
