"""Closed walks inside sets of nodes, compiled."""

from __future__ import annotations

from typing import Any

import numpy as np

from grnf._utils.jit import compiled
from grnf.typing import FloatArray

__all__ = ["closed_walks"]


@compiled
def closed_walks(A: Any, u: Any, v: Any, both: bool, steps: int) -> FloatArray:
    """Count closed walks of 2, 3, .. steps among the neighbours of both u[i] and v[i], or of one only.

    Neither u[i] nor v[i] counts as one of those nodes. With u = v and `both` these are the neighbours of a
    node.
    """
    n = A.shape[0]
    counts = np.zeros((len(u), steps - 1))
    members = np.empty(n, np.int64)
    for i in range(len(u)):
        size = 0
        for w in range(n):
            if w != u[i] and w != v[i]:
                one, other = A[u[i], w] > 0, A[v[i], w] > 0
                if (one and other) if both else (one != other):
                    members[size] = w
                    size += 1
        step = np.empty((size, size))
        for p in range(size):
            for q in range(size):
                step[p, q] = A[members[p], members[q]]
        low, high = step, step
        for t in range(2, steps + 1):  # tr P^(s + t) needs P^s and P^t only
            if t % 2 == 1:
                low, high = high, product(high, step)
            else:
                low = high
            for p in range(size):
                for q in range(size):
                    counts[i, t - 2] += low[p, q] * high[q, p]
    return counts


@compiled
def product(one: Any, sparse: Any) -> Any:
    """Multiply by a matrix of zeros and ones from the right."""
    size = one.shape[0]
    found = np.zeros((size, size))
    for q in range(size):
        for r in range(size):
            if sparse[q, r] != 0:
                for p in range(size):
                    found[r, p] += one[q, p]
    return found
