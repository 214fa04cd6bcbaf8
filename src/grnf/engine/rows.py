"""Kernels for rows of hidden channels, of which all sums are made.

A row has one entry per hidden channel of a tile. The loop over it is the innermost one and runs in vector
registers. Activations are switched outside of it. Their codes: see `grnf.activations`.
"""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np

from grnf._utils.jit import compiled, inlined, inner
from grnf.engine.counting import integers_below
from grnf.typing import FloatArray, IntArray

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
def empty_rows(count: int, width: int, like: FloatArray) -> FloatArray:
    """Return an array of rows that starts at a cache line: vectors that cross one take twice the time."""
    step = 64 // like.itemsize
    flat = np.empty(count * width + step, like.dtype)
    start = -(flat.ctypes.data // like.itemsize) % step
    return flat[start : start + count * width].reshape(count, width)


@inner
def evaluate(coefficient: FloatArray, slot: int, u: float, start: int, stop: int) -> FloatArray:
    """Return c_0 + c_1 u + c_2 u^2 of a slot on channels start .. stop - 1, shape (rows, channels).

    `coefficient` has shape (3, slots, rows, H).
    """
    out = empty_rows(coefficient.shape[2], stop - start, coefficient)
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
    at a time, so that a row of out is read and written once for four products.
    """
    width, columns = matrix.shape[1], matrix.shape[0]
    used = _dense_columns(X, first, count)
    if len(used):
        for i in range(count):
            for h in range(width):
                out[i, h] = constant[h]
        factors = np.zeros((_rounded(count), _rounded(len(used))), X.dtype)
        for i in range(count):
            for k in range(len(used)):
                factors[i, k] = X[first + i, used[k]]
        _add_product(factors, used, matrix, integers_below(count), out)
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
    """Add X[first : first + count].T @ rows to out: `project` on the way back."""
    used = _dense_columns(X, first, count)
    if len(used):
        factors = np.zeros((_rounded(len(used)), _rounded(count)), X.dtype)
        for i in range(count):
            for k in range(len(used)):
                factors[k, i] = X[first + i, used[k]]
        _add_product(factors, integers_below(count), rows, used, out)
        return
    for i in range(count):
        for column in range(len(out)):
            x = X[first + i, column]
            if x != 0:
                for h in range(out.shape[1]):
                    out[column, h] += x * rows[i, h]


@inner
def _dense_columns(X: FloatArray, first: int, count: int) -> IntArray:
    """Return the columns of some rows that are not 0, or none of them if most entries are 0."""
    entries = 0
    for i in range(first, first + count):
        for column in range(X.shape[1]):
            entries += X[i, column] != 0
    if count < 4 or entries <= DENSE * count:
        return integers_below(0)
    present = np.zeros(X.shape[1], np.bool_)
    for i in range(first, first + count):
        for column in range(X.shape[1]):
            present[column] |= X[i, column] != 0
    return np.nonzero(present)[0]


@inlined
def _rounded(count: int) -> int:
    """Return the next multiple of 4."""
    return (count + 3) // 4 * 4


@inner
def _add_product(
    factors: FloatArray, inputs: IntArray, rows: FloatArray, outputs: IntArray, out: FloatArray
) -> None:
    """out[outputs[i]] += sum_k factors[i, k] rows[inputs[k]], four by four: 16 products of 12 numbers.

    There are at least four different outputs. Factors beyond inputs and outputs are 0. Terms are added one by
    one: those that are 0, which other graphs decide, do not change the rounding.
    """
    p, q = len(outputs), len(inputs)
    for i in range(0, p, 4):
        o0, o1, o2, o3 = outputs[i], outputs[(i + 1) % p], outputs[(i + 2) % p], outputs[(i + 3) % p]
        for k in range(0, q, 4):
            r0, r1, r2, r3 = inputs[k], inputs[(k + 1) % q], inputs[(k + 2) % q], inputs[(k + 3) % q]
            a0, a1, a2, a3 = factors[i, k], factors[i, k + 1], factors[i, k + 2], factors[i, k + 3]
            i1, i2, i3 = i + 1, i + 2, i + 3
            b0, b1, b2, b3 = factors[i1, k], factors[i1, k + 1], factors[i1, k + 2], factors[i1, k + 3]
            c0, c1, c2, c3 = factors[i2, k], factors[i2, k + 1], factors[i2, k + 2], factors[i2, k + 3]
            d0, d1, d2, d3 = factors[i3, k], factors[i3, k + 1], factors[i3, k + 2], factors[i3, k + 3]
            for h in range(out.shape[1]):
                x0, x1, x2, x3 = rows[r0, h], rows[r1, h], rows[r2, h], rows[r3, h]
                out[o0, h] = (((out[o0, h] + a0 * x0) + a1 * x1) + a2 * x2) + a3 * x3
                out[o1, h] = (((out[o1, h] + b0 * x0) + b1 * x1) + b2 * x2) + b3 * x3
                out[o2, h] = (((out[o2, h] + c0 * x0) + c1 * x1) + c2 * x2) + c3 * x3
                out[o3, h] = (((out[o3, h] + d0 * x0) + d1 * x1) + d2 * x2) + d3 * x3


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
