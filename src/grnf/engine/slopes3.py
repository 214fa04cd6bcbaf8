"""U_3 of rows that are multiplied out, and its derivatives: see `grnf.engine.slopes`.

Of one graph at a time, with tables of n^2 rows: T_12[i, j] = a_i + b_j + e_12(i, j), T_13[i, k] = c_k +
e_13(i, k) and T_23[j, k] = e_23(j, k), so that t = T_12[i, j] + T_13[i, k] + T_23[j, k].
"""

from __future__ import annotations

import numpy as np

from grnf.engine.jit import compiled
from grnf.engine.rows import RELU, activate
from grnf.engine.slopes import slope
from grnf.typing import FloatArray, IntArray

__all__ = ["triple_slopes", "triple_sums"]


@compiled
def triple_sums(
    code: int, rows: FloatArray, e: FloatArray, pairs: IntArray, first: int, U: FloatArray
) -> None:
    """U += sum over distinct i, j, k of rho(t), for one graph.

    Shapes: rows (3, n, width), e (3, 2 x pairs, width), pairs in the numbering of the batch, where the graph
    begins with node `first`.
    """
    n, width = rows.shape[1], rows.shape[2]
    T = _tables(rows, e, pairs, first)
    row, partial = np.empty(width, rows.dtype), np.empty(width, rows.dtype)
    zero = rows.dtype.type(0)
    for i in range(n):
        for j in range(n):
            if j == i:
                continue
            partial[:] = 0
            for k in range(n):
                if k in (i, j):
                    continue
                if code == RELU:
                    for h in range(width):
                        partial[h] += max(T[0, i, j, h] + T[1, i, k, h] + T[2, j, k, h], zero)
                else:
                    for h in range(width):
                        row[h] = T[0, i, j, h] + T[1, i, k, h] + T[2, j, k, h]
                    activate(code, row)
                    for h in range(width):
                        partial[h] += row[h]
            for h in range(width):
                U[h] += partial[h]


@compiled
def triple_slopes(
    code: int,
    rows: FloatArray,
    e: FloatArray,
    pairs: IntArray,
    first: int,
    dU: FloatArray,
) -> None:
    """Overwrite rows and e with the derivatives, given the derivative dU of U."""
    n, width = rows.shape[1], rows.shape[2]
    T = _tables(rows, e, pairs, first)
    dT = np.zeros_like(T)
    row, partial = np.empty(width, rows.dtype), np.empty(width, rows.dtype)
    zero = rows.dtype.type(0)
    for i in range(n):
        for j in range(n):
            if j == i:
                continue
            partial[:] = 0
            for k in range(n):
                if k in (i, j):
                    continue
                if code == RELU:
                    for h in range(width):
                        t = T[0, i, j, h] + T[1, i, k, h] + T[2, j, k, h]
                        row[h] = dU[h] if t > zero else zero
                else:
                    for h in range(width):
                        row[h] = T[0, i, j, h] + T[1, i, k, h] + T[2, j, k, h]
                    activate(code, row)
                    slope(code, row)
                    for h in range(width):
                        row[h] *= dU[h]
                for h in range(width):
                    partial[h] += row[h]
                    dT[1, i, k, h] += row[h]
                    dT[2, j, k, h] += row[h]
            dT[0, i, j] = partial
    _reduce(dT, pairs, first, rows, e)


@compiled
def _reduce(dT: FloatArray, pairs: IntArray, first: int, rows: FloatArray, e: FloatArray) -> None:
    """Set rows and e to what the derivatives of the tables add up to."""
    n, width = rows.shape[1], rows.shape[2]
    rows[:] = 0
    for i in range(n):
        for j in range(n):
            for h in range(width):
                rows[0, i, h] += dT[0, i, j, h]
                rows[1, j, h] += dT[0, i, j, h]
                rows[2, j, h] += dT[1, i, j, h]
    for place in range(len(pairs)):
        i, j = pairs[place, 0] - first, pairs[place, 1] - first
        for s in range(3):
            e[s, place] = dT[s, i, j]
            e[s, len(pairs) + place] = dT[s, j, i]


@compiled
def _tables(rows: FloatArray, e: FloatArray, pairs: IntArray, first: int) -> FloatArray:
    n, width = rows.shape[1], rows.shape[2]
    T = np.zeros((3, n, n, width), rows.dtype)
    for i in range(n):
        for j in range(n):
            for h in range(width):
                T[0, i, j, h] = rows[0, i, h] + rows[1, j, h]
                T[1, i, j, h] = rows[2, j, h]
    for place in range(len(pairs)):
        i, j = pairs[place, 0] - first, pairs[place, 1] - first
        for s in range(3):
            for h in range(width):
                T[s, i, j, h] += e[s, place, h]
                T[s, j, i, h] += e[s, len(pairs) + place, h]
    return T
