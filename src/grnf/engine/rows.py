"""Kernels for rows of hidden channels, of which all sums are made.

A row has one entry per hidden channel of a tile. The loop over it is the innermost one and runs in vector
registers. Activations are switched outside of it. Their codes: see `grnf.activations`.
"""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np

from grnf._utils.jit import compiled, inner
from grnf.engine.schedule import SMALL_PRODUCT
from grnf.typing import BoolArray, FloatArray, IntArray

RELU, RAMP, SIGMOID, TANH, ERF = 1, 2, 3, 4, 5

ActivationCode: TypeAlias = tuple[int, ...]
"""How a kernel gets its activation: a tuple as long as its code. The length is known when the kernel is
compiled, so the branches of other activations are not compiled for it."""

DENSE = 6
"""Entries of a row that are not 0, on average, from which the product of matrices is faster."""

LOG2_E = 1.4426950408889634
LN2_HIGH, LN2_LOW = 0.693147180369123816490, 1.90821492927058770002e-10
ROOT_4_OVER_PI = 1.1283791670955126
ROUND = 6755399441055744.0  # 1.5 * 2^52: adding it rounds to an integer, kept in the low bits


@inner
def evaluate(coefficient: FloatArray, slot: int, u: float, start: int, stop: int) -> FloatArray:
    """Return c_0 + c_1 u + c_2 u^2 of a slot on channels start .. stop - 1, shape (rows, channels).

    `coefficient` has shape (3, slots, rows, H).
    """
    out = np.empty((coefficient.shape[2], stop - start), coefficient.dtype)
    set_evaluated(coefficient, slot, u, start, out)
    return out


@inner
def set_evaluated(coefficient: FloatArray, slot: int, u: float, start: int, out: FloatArray) -> None:
    """Do the same into an existing array, on as many channels as it has."""
    v = out.dtype.type(u)
    for r in range(len(out)):
        for h in range(out.shape[1]):
            at = np.uint64(start + h)  # an index that might be negative would not vectorize
            c0, c1, c2 = coefficient[0, slot, r, at], coefficient[1, slot, r, at], coefficient[2, slot, r, at]
            out[r, h] = c0 + v * (c1 + v * c2)


@inner
def project(
    X: FloatArray, first: int, count: int, matrix: FloatArray, constant: FloatArray, out: FloatArray
) -> None:
    """Set out[i] = constant + X[first + i] @ matrix for i < count.

    If most entries of X are 0, the others alone are multiplied, so that one-hot labels are a look-up. Four
    at a time, so that a row of out is read and written once for four products. Otherwise BLAS does it,
    without the columns that are 0: their number, which other graphs decide, would change the rounding.
    """
    width, columns = matrix.shape[1], matrix.shape[0]
    used, present = 0, np.zeros(columns, np.bool_)
    for i in range(first, first + count):
        for column in range(columns):
            if X[i, column] != 0:
                used += 1
                present[column] = True
    if count > 1 and used > DENSE * count:
        _dense_product(X[first : first + count], present, matrix, out)
        if constant.any():
            for i in range(count):
                for h in range(width):
                    out[i, h] += constant[h]
        return
    zero = matrix.dtype.type(0)
    for i in range(count):
        row, target = X[first + i], out[i]
        r0 = _next_used(row, columns - columns)  # not 0, which would be compiled as a type of its own
        r1 = _next_used(row, r0 + 1)
        x0, x1 = row[r0] if r0 < columns else zero, row[r1] if r1 < columns else zero
        m0, m1 = matrix[min(r0, columns - 1)], matrix[min(r1, columns - 1)]
        for h in range(width):
            target[h] = constant[h] + (x0 * m0[h] + x1 * m1[h])
        r0 = _next_used(row, r1 + 1)
        while r0 < columns:
            r1 = _next_used(row, r0 + 1)
            r2 = _next_used(row, r1 + 1)
            r3 = _next_used(row, r2 + 1)
            x0, x1 = row[r0], row[r1] if r1 < columns else zero
            x2, x3 = row[r2] if r2 < columns else zero, row[r3] if r3 < columns else zero
            m0, m1, m2 = matrix[r0], matrix[min(r1, columns - 1)], matrix[min(r2, columns - 1)]
            m3 = matrix[min(r3, columns - 1)]
            for h in range(width):
                low = (target[h] + x0 * m0[h]) + x1 * m1[h]
                target[h] = low + (x2 * m2[h] + x3 * m3[h])
            r0 = _next_used(row, r3 + 1)


@inner
def add_transposed_product(X: FloatArray, first: int, count: int, rows: FloatArray, out: FloatArray) -> None:
    """Add X[first : first + count].T @ rows to out: `project` on the way back.

    Eight rows at a time, without the columns of X that are 0 in all of them.
    """
    x, last = np.zeros(8, X.dtype), count - 1
    for i in range(0, count, 8):
        r0, r1, r2, r3 = rows[i], rows[min(i + 1, last)], rows[min(i + 2, last)], rows[min(i + 3, last)]
        r4, r5, r6 = rows[min(i + 4, last)], rows[min(i + 5, last)], rows[min(i + 6, last)]
        r7 = rows[min(i + 7, last)]
        for column in range(len(out)):
            used = False
            for place in range(8):
                x[place] = X[first + i + place, column] if i + place < count else 0
                used |= x[place] != 0
            if not used:
                continue
            x0, x1, x2, x3, x4, x5, x6, x7 = x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7]
            target = out[column]
            for h in range(len(target)):
                low = ((target[h] + x0 * r0[h]) + x1 * r1[h]) + (x2 * r2[h] + x3 * r3[h])
                target[h] = low + ((x4 * r4[h] + x5 * r5[h]) + (x6 * r6[h] + x7 * r7[h]))


@inner
def _dense_product(X: FloatArray, present: BoolArray, matrix: FloatArray, out: FloatArray) -> None:
    """Set the first rows of out to X @ matrix, of the columns of X that are present."""
    count, rows, used = len(X), X, 0
    for column in range(len(present)):
        used += present[column]
    if used < len(present):
        rows, chosen = np.empty((count, used), X.dtype), np.empty((used, matrix.shape[1]), X.dtype)
        place = 0
        for column in range(len(present)):
            if present[column]:
                for i in range(count):
                    rows[i, place] = X[i, column]
                for h in range(matrix.shape[1]):
                    chosen[place, h] = matrix[column, h]
                place += 1
        matrix = chosen
    step = SMALL_PRODUCT // matrix.size // 4 * 4
    if step < 16:
        step = count
    for i in range(0, count, step):
        last = min(i + step, count)
        np.dot(rows[i:last], matrix, out[i:last])


@inner
def _next_used(row: FloatArray, start: int) -> int:
    """Return the first place from `start` on whose entry is not 0, or the length of the row."""
    while start < len(row) and row[start] == 0:
        start += 1
    return start


@inner
def activate(rho: ActivationCode, row: FloatArray) -> None:
    """Set row = rho(row)."""
    zero, one = row.dtype.type(0), row.dtype.type(1)
    if len(rho) == RELU:
        for h in range(len(row)):
            row[h] = max(row[h], zero)
    elif len(rho) == RAMP:
        for h in range(len(row)):
            row[h] = min(max(row[h], zero), one)
    elif len(rho) == SIGMOID:
        for h in range(len(row)):
            row[h] = 1.0 / (1.0 + _exp(-np.float64(row[h])))
    elif len(rho) == TANH:
        for h in range(len(row)):
            row[h] = 1.0 - 2.0 / (1.0 + _exp(2.0 * np.float64(row[h])))
    elif len(rho) == ERF:
        for h in range(len(row)):
            row[h] = math.erf(np.float64(row[h]))


@inner
def activate_with_derivative(rho: ActivationCode, row: FloatArray, derivative: FloatArray) -> None:
    """Set row = rho(row) and derivative = rho'(row)."""
    zero, one = row.dtype.type(0), row.dtype.type(1)
    if len(rho) == ERF:
        for h in range(len(row)):
            x = np.float64(row[h])
            derivative[h] = ROOT_4_OVER_PI * _exp(-x * x)
    activate(rho, row)
    if len(rho) == RELU:
        for h in range(len(row)):
            derivative[h] = one if row[h] > zero else zero
    elif len(rho) == RAMP:
        for h in range(len(row)):
            derivative[h] = one if zero < row[h] < one else zero
    elif len(rho) == SIGMOID:
        for h in range(len(row)):
            derivative[h] = row[h] * (one - row[h])
    elif len(rho) == TANH:
        for h in range(len(row)):
            derivative[h] = one - row[h] * row[h]
    elif len(rho) != ERF:
        derivative[:] = one


@inner
def add_derivative(
    rho: ActivationCode,
    w: float,
    a: FloatArray,
    b: FloatArray,
    e: FloatArray,
    dU: FloatArray,
    row: FloatArray,
    derivative: FloatArray,
    partial: FloatArray,
    da: FloatArray,
    db: FloatArray,
) -> None:
    """Add w rho(a + b + e) to partial, and its derivative to da, db and `derivative`."""
    for h in range(len(a)):
        row[h] = a[h] + b[h] + e[h]
    activate_with_derivative(rho, row, derivative)
    for h in range(len(a)):
        derivative[h] *= w * dU[h]
        partial[h] += w * row[h]
        da[h] += derivative[h]
        db[h] += derivative[h]


@inner
def _exp(x: float) -> float:
    """e^x to 1e-15, in steps that vectorize (the library call does not).

    x = k ln 2 + r with |r| <= ln 2 / 2. The series gives e^r, and writing k into the exponent 2^k.
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


@compiled
def add_heads(
    U: FloatArray, factor: float, head: FloatArray, segments: IntArray, start: int, out: FloatArray
) -> None:
    """Add factor * head . U to the feature that each channel of the tile belongs to."""
    for segment in range(len(segments)):
        first, last, column = segments[segment, 0], segments[segment, 1], segments[segment, 2]
        low, high = max(first, start), min(last, start + len(U))
        for h in range(high - low):  # indices that might be negative would not vectorize
            at = np.uint64(low + h)
            out[np.uint64(column - first + low + h)] += factor * head[at] * U[np.uint64(low - start + h)]
