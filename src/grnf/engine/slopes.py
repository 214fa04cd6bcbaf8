"""Sums over nodes, pairs and triples of rows that are multiplied out, and their derivatives.

For learning by gradients: rows a_i (and b_j, c_k), one entry per hidden channel, and rows e that pairs with
an edge add, in; the sums U of each graph out, or from the derivatives of U those of the rows. Graph g has
the nodes ptr[g] .. ptr[g + 1] - 1; `pairs` lists i < j, sorted; row p of e belongs to (i, j), row len(pairs)
+ p to (j, i).
"""

from __future__ import annotations

import numpy as np

from grnf.engine.jit import compiled
from grnf.engine.rows import RAMP, RELU, SIGMOID, TANH, activate
from grnf.typing import FloatArray, IntArray

__all__ = [
    "edge_slopes",
    "edge_sums",
    "node_slopes",
    "node_sums",
    "pair_slopes",
    "pair_sums",
    "slope",
]


@compiled
def slope(code: int, row: FloatArray) -> None:
    """Set row = rho'(x), given row = rho(x): every activation has a derivative of that kind."""
    zero, one = row.dtype.type(0), row.dtype.type(1)
    if code == RELU:
        for h in range(len(row)):
            row[h] = one if row[h] > zero else zero
    elif code == RAMP:
        for h in range(len(row)):
            row[h] = one if zero < row[h] < one else zero
    elif code == SIGMOID:
        for h in range(len(row)):
            row[h] = row[h] * (one - row[h])
    elif code == TANH:
        for h in range(len(row)):
            row[h] = one - row[h] * row[h]
    else:
        row[:] = one


@compiled
def node_sums(code: int, a: FloatArray, ptr: IntArray, U: FloatArray) -> None:
    """U[g] += sum_i rho(a_i). Overwrites a."""
    for g in range(len(ptr) - 1):
        for i in range(ptr[g], ptr[g + 1]):
            activate(code, a[i])
            for h in range(a.shape[1]):
                U[g, h] += a[i, h]


@compiled
def node_slopes(code: int, a: FloatArray, ptr: IntArray, dU: FloatArray) -> None:
    """a_i = dU[g] rho'(a_i)."""
    for g in range(len(ptr) - 1):
        for i in range(ptr[g], ptr[g + 1]):
            activate(code, a[i])
            slope(code, a[i])
            for h in range(a.shape[1]):
                a[i, h] *= dU[g, h]


@compiled
def pair_sums(
    code: int, a: FloatArray, b: FloatArray, ptr: IntArray, graphs: IntArray, U: FloatArray
) -> None:
    """U[g] += sum_{i != j} rho(a_i + b_j) for these graphs, as if there were no edges."""
    width = a.shape[1]
    row, partial = np.empty(width, a.dtype), np.empty(width, a.dtype)
    for g in graphs:
        for i in range(ptr[g], ptr[g + 1]):
            partial[:] = 0
            if code == RELU:
                _add_relu_pairs(a[i], b, ptr[g], i, partial)
                _add_relu_pairs(a[i], b, i + 1, ptr[g + 1], partial)
            else:
                for j in range(ptr[g], ptr[g + 1]):
                    if j != i:
                        for h in range(width):
                            row[h] = a[i, h] + b[j, h]
                        activate(code, row)
                        for h in range(width):
                            partial[h] += row[h]
            for h in range(width):
                U[g, h] += partial[h]


@compiled
def _add_relu_pairs(x: FloatArray, b: FloatArray, start: int, stop: int, partial: FloatArray) -> None:
    """Partial += sum of relu(x + b_j) for start <= j < stop, four j at a time."""
    zero = x.dtype.type(0)
    whole = start + (stop - start) // 4 * 4
    for j in range(start, whole, 4):
        for h in range(len(x)):
            low = (partial[h] + max(x[h] + b[j, h], zero)) + max(x[h] + b[j + 1, h], zero)
            low = low + max(x[h] + b[j + 2, h], zero)
            partial[h] = low + max(x[h] + b[j + 3, h], zero)
    for j in range(whole, stop):
        for h in range(len(x)):
            partial[h] += max(x[h] + b[j, h], zero)


@compiled
def pair_slopes(
    code: int,
    a: FloatArray,
    b: FloatArray,
    ptr: IntArray,
    graphs: IntArray,
    dU: FloatArray,
    da: FloatArray,
    db: FloatArray,
) -> None:
    """Add the derivatives of `pair_sums` to da and db."""
    width = a.shape[1]
    row, partial = np.empty(width, a.dtype), np.empty(width, a.dtype)
    for g in graphs:
        for i in range(ptr[g], ptr[g + 1]):
            partial[:] = 0
            if code == RELU:
                _add_relu_slopes(a[i], b, ptr[g], i, dU[g], partial, db)
                _add_relu_slopes(a[i], b, i + 1, ptr[g + 1], dU[g], partial, db)
            else:
                for j in range(ptr[g], ptr[g + 1]):
                    if j == i:
                        continue
                    for h in range(width):
                        row[h] = a[i, h] + b[j, h]
                    activate(code, row)
                    slope(code, row)
                    for h in range(width):
                        v = dU[g, h] * row[h]
                        partial[h] += v
                        db[j, h] += v
            for h in range(width):
                da[i, h] += partial[h]


@compiled
def _add_relu_slopes(
    x: FloatArray,
    b: FloatArray,
    start: int,
    stop: int,
    d: FloatArray,
    partial: FloatArray,
    db: FloatArray,
) -> None:
    """Add d where x + b_j > 0 to partial and to db_j, for start <= j < stop, four j at a time."""
    zero = x.dtype.type(0)
    whole = start + (stop - start) // 4 * 4
    for j in range(start, whole, 4):
        for h in range(len(x)):
            v0 = d[h] if x[h] + b[j, h] > zero else zero
            v1 = d[h] if x[h] + b[j + 1, h] > zero else zero
            v2 = d[h] if x[h] + b[j + 2, h] > zero else zero
            v3 = d[h] if x[h] + b[j + 3, h] > zero else zero
            db[j, h] += v0
            db[j + 1, h] += v1
            db[j + 2, h] += v2
            db[j + 3, h] += v3
            partial[h] += (v0 + v1) + (v2 + v3)
    for j in range(whole, stop):
        for h in range(len(x)):
            v = d[h] if x[h] + b[j, h] > zero else zero
            db[j, h] += v
            partial[h] += v


@compiled
def edge_sums(
    code: int,
    a: FloatArray,
    b: FloatArray,
    e: FloatArray,
    pairs: IntArray,
    graph_of: IntArray,
    U: FloatArray,
) -> None:
    """U[g] += sum over edges, in both directions, of rho(a_i + b_j + e) - rho(a_i + b_j)."""
    width, zero = a.shape[1], a.dtype.type(0)
    without, row = np.empty(width, a.dtype), np.empty(width, a.dtype)
    partial = np.zeros(width, a.dtype)  # short sums in single precision, long ones in double
    for place in range(2 * len(pairs)):
        i, j = _ends(pairs, place)
        if code == RELU:
            for h in range(width):
                t = a[i, h] + b[j, h]
                partial[h] += max(t + e[place, h], zero) - max(t, zero)
        else:
            for h in range(width):
                without[h] = a[i, h] + b[j, h]
                row[h] = without[h] + e[place, h]
            activate(code, without)
            activate(code, row)
            for h in range(width):
                partial[h] += row[h] - without[h]
        g, after = graph_of[i], -1
        if place % 16 < 15 and place + 1 < 2 * len(pairs):
            after = graph_of[_ends(pairs, place + 1)[0]]
        if after != g:
            for h in range(width):
                U[g, h] += partial[h]
            partial[:] = 0


@compiled
def edge_slopes(
    code: int,
    a: FloatArray,
    b: FloatArray,
    e: FloatArray,
    pairs: IntArray,
    graph_of: IntArray,
    dU: FloatArray,
    da: FloatArray,
    db: FloatArray,
) -> None:
    """Add the derivatives of `edge_sums` to da and db; overwrites e with its own."""
    width, zero = a.shape[1], a.dtype.type(0)
    without, row = np.empty(width, a.dtype), np.empty(width, a.dtype)
    for place in range(2 * len(pairs)):
        i, j = _ends(pairs, place)
        g = graph_of[i]
        if code == RELU:
            for h in range(width):
                t = a[i, h] + b[j, h]
                v = dU[g, h] if t + e[place, h] > zero else zero
                e[place, h] = v
                v -= dU[g, h] if t > zero else zero
                da[i, h] += v
                db[j, h] += v
            continue
        for h in range(width):
            without[h] = a[i, h] + b[j, h]
            row[h] = without[h] + e[place, h]
        activate(code, without)
        slope(code, without)
        activate(code, row)
        slope(code, row)
        for h in range(width):
            e[place, h] = dU[g, h] * row[h]
            v = dU[g, h] * (row[h] - without[h])
            da[i, h] += v
            db[j, h] += v


@compiled
def _ends(pairs: IntArray, place: int) -> tuple[int, int]:
    if place < len(pairs):
        return pairs[place, 0], pairs[place, 1]
    return pairs[place - len(pairs), 1], pairs[place - len(pairs), 0]
