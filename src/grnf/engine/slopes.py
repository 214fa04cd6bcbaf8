"""Sums over nodes, pairs and triples of rows that are multiplied out, and their derivatives.

For learning by gradients: rows a_i (and b_j, c_k), one entry per hidden channel, and rows e that pairs with an
edge add, in; the sums U of each graph out, or from the derivatives of U those of the rows. Graph g has the nodes
ptr[g] .. ptr[g + 1] - 1; `pairs` lists i < j, sorted; row p of e belongs to (i, j), row len(pairs) + p to (j, i).
"""

from __future__ import annotations

import numpy as np

from grnf.engine.jit import kernel
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


@kernel
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


@kernel
def node_sums(code: int, a: FloatArray, ptr: IntArray, U: FloatArray) -> None:
    """U[g] += sum_i rho(a_i). Overwrites a."""
    for g in range(len(ptr) - 1):
        for i in range(ptr[g], ptr[g + 1]):
            activate(code, a[i])
            for h in range(a.shape[1]):
                U[g, h] += a[i, h]


@kernel
def node_slopes(code: int, a: FloatArray, ptr: IntArray, dU: FloatArray) -> None:
    """a_i = dU[g] rho'(a_i)."""
    for g in range(len(ptr) - 1):
        for i in range(ptr[g], ptr[g + 1]):
            activate(code, a[i])
            slope(code, a[i])
            for h in range(a.shape[1]):
                a[i, h] *= dU[g, h]


@kernel
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


@kernel
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


@kernel
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
    zero = a.dtype.type(0)
    row, partial = np.empty(width, a.dtype), np.empty(width, a.dtype)
    for g in graphs:
        for i in range(ptr[g], ptr[g + 1]):
            partial[:] = 0
            for j in range(ptr[g], ptr[g + 1]):
                if j == i:
                    continue
                if code == RELU:
                    for h in range(width):
                        v = dU[g, h] if a[i, h] + b[j, h] > zero else zero
                        partial[h] += v
                        db[j, h] += v
                else:
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


@kernel
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
    width = a.shape[1]
    without, row = np.empty(width, a.dtype), np.empty(width, a.dtype)
    for place in range(2 * len(pairs)):
        i, j = _ends(pairs, place)
        for h in range(width):
            without[h] = a[i, h] + b[j, h]
            row[h] = without[h] + e[place, h]
        activate(code, without)
        activate(code, row)
        g = graph_of[i]
        for h in range(width):
            U[g, h] += row[h] - without[h]


@kernel
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
    width = a.shape[1]
    without, row = np.empty(width, a.dtype), np.empty(width, a.dtype)
    for place in range(2 * len(pairs)):
        i, j = _ends(pairs, place)
        for h in range(width):
            without[h] = a[i, h] + b[j, h]
            row[h] = without[h] + e[place, h]
        activate(code, without)
        slope(code, without)
        activate(code, row)
        slope(code, row)
        g = graph_of[i]
        for h in range(width):
            e[place, h] = dU[g, h] * row[h]
            v = dU[g, h] * (row[h] - without[h])
            da[i, h] += v
            db[j, h] += v


@kernel
def _ends(pairs: IntArray, place: int) -> tuple[int, int]:
    if place < len(pairs):
        return pairs[place, 0], pairs[place, 1]
    return pairs[place - len(pairs), 1], pairs[place - len(pairs), 0]
