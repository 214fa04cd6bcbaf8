"""Loops over rows of hidden channels, which every primitive is made of.

A row has one entry per hidden channel of a tile; the loop over it is the innermost one and runs in vector
registers. Activations are switched outside of it. Their codes: see `grnf.activations`.
"""

from __future__ import annotations

import math

import numpy as np

from grnf.engine.jit import kernel
from grnf.typing import FloatArray, IntArray

__all__ = ["RAMP", "RELU", "activate", "add_heads", "evaluate", "place_columns", "place_rows", "project"]

RELU, RAMP, SIGMOID, TANH, ERF = 1, 2, 3, 4, 5

DENSE = 6
"""Entries of a row that are not 0, on average, from which the product of matrices is faster."""

LOG2_E = 1.4426950408889634
LN2_HIGH, LN2_LOW = 0.693147180369123816490, 1.90821492927058770002e-10
ROUND = 6755399441055744.0  # 1.5 * 2^52: adding it rounds to an integer, kept in the low bits


@kernel
def evaluate(coefficient: FloatArray, u: float, start: int, stop: int) -> FloatArray:
    """Return c_0 + c_1 u + c_2 u^2 on channels start .. stop - 1; coefficient has shape (3, rows, H)."""
    out = np.empty((coefficient.shape[1], stop - start), coefficient.dtype)
    v = out.dtype.type(u)
    for r in range(coefficient.shape[1]):
        for h in range(stop - start):
            high = coefficient[1, r, start + h] + v * coefficient[2, r, start + h]
            out[r, h] = coefficient[0, r, start + h] + v * high
    return out


@kernel
def project(
    X: FloatArray, first: int, count: int, matrix: FloatArray, constant: FloatArray, out: FloatArray
) -> None:
    """Set out[i] = constant + X[first + i] @ matrix for i < count.

    Where most entries of X are 0 the others alone are multiplied, so that one-hot labels are a look-up; four
    at a time, so that a row of out is read and written once for four products. Otherwise BLAS does it.
    """
    width, columns = matrix.shape[1], matrix.shape[0]
    used = 0
    for i in range(first, first + count):
        for column in range(columns):
            used += X[i, column] != 0
    if used > DENSE * count:
        np.dot(X[first : first + count], matrix, out[:count])
        for i in range(count):
            for h in range(width):
                out[i, h] += constant[h]
        return
    r = np.zeros(columns + 4, np.int64)
    x = np.zeros(columns + 4, matrix.dtype)
    for i in range(count):
        used = 0
        for column in range(columns):
            if X[first + i, column] != 0:
                r[used], x[used] = column, X[first + i, column]
                used += 1
        x[used : used + 4] = 0
        r0, r1, x0, x1 = r[0], r[1], x[0], x[1]
        for h in range(width):
            out[i, h] = constant[h] + (x0 * matrix[r0, h] + x1 * matrix[r1, h])
        for done in range(2, used, 4):
            r0, r1, r2, r3 = r[done], r[done + 1], r[done + 2], r[done + 3]
            x0, x1, x2, x3 = x[done], x[done + 1], x[done + 2], x[done + 3]
            for h in range(width):
                low = (out[i, h] + x0 * matrix[r0, h]) + x1 * matrix[r1, h]
                out[i, h] = low + (x2 * matrix[r2, h] + x3 * matrix[r3, h])


@kernel
def activate(code: int, row: FloatArray) -> None:
    """Set row = rho(row)."""
    zero, one = row.dtype.type(0), row.dtype.type(1)
    if code == RELU:
        for h in range(len(row)):
            row[h] = max(row[h], zero)
    elif code == RAMP:
        for h in range(len(row)):
            row[h] = min(max(row[h], zero), one)
    elif code == SIGMOID:
        for h in range(len(row)):
            row[h] = 1.0 / (1.0 + _exp(-np.float64(row[h])))
    elif code == TANH:
        for h in range(len(row)):
            row[h] = 1.0 - 2.0 / (1.0 + _exp(2.0 * np.float64(row[h])))
    elif code == ERF:
        for h in range(len(row)):
            row[h] = math.erf(np.float64(row[h]))


@kernel
def _exp(x: float) -> float:
    """e^x to 1e-15, in steps that vectorise (the library call does not).

    x = k ln 2 + r with |r| <= ln 2 / 2; e^r by its series; 2^k by writing k into the exponent.
    """
    x = min(max(x, -700.0), 700.0)
    shifted = x * LOG2_E + ROUND
    k = shifted - ROUND
    r = (x - k * LN2_HIGH) - k * LN2_LOW
    p = 1.6059043836821613e-10  # 1 / 13!
    p = p * r + 2.08767569878681e-09
    p = p * r + 2.505210838544172e-08
    p = p * r + 2.755731922398589e-07
    p = p * r + 2.7557319223985893e-06
    p = p * r + 2.48015873015873e-05
    p = p * r + 1.984126984126984e-04
    p = p * r + 1.388888888888889e-03
    p = p * r + 8.333333333333333e-03
    p = p * r + 4.1666666666666664e-02
    p = p * r + 1.6666666666666666e-01
    p = p * r + 0.5
    p = p * r + 1.0
    p = p * r + 1.0
    power = (np.float64(shifted).view(np.int64) + 1023) << 52
    return p * np.int64(power).view(np.float64)


@kernel
def add_heads(
    U: FloatArray, factor: float, head: FloatArray, segments: IntArray, start: int, out: FloatArray
) -> None:
    """Add factor * head . U to the feature that each channel of the tile belongs to."""
    for segment in range(len(segments)):
        first, last, column = segments[segment]
        for h in range(max(first, start), min(last, start + len(U))):
            out[column + h - first] += factor * head[h] * U[h - start]


@kernel
def place_columns(values: FloatArray, columns: IntArray, out: FloatArray) -> None:
    """Set out[:, columns] = values; numpy would hold the interpreter lock."""
    for i in range(len(values)):
        for j in range(len(columns)):
            out[i, columns[j]] = values[i, j]


@kernel
def place_rows(values: FloatArray, rows: IntArray, out: FloatArray) -> None:
    """Set out[rows] = values; numpy would hold the interpreter lock."""
    for i in range(len(rows)):
        for j in range(values.shape[1]):
            out[rows[i], j] = values[i, j]
