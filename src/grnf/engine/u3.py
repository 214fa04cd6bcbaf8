"""U_3 = sum over ordered triples of distinct nodes of rho_e( t(v_1, v_2, v_3) ), triple by triple."""

from __future__ import annotations

import numpy as np

from grnf.engine.coefficients import Coefficients
from grnf.engine.jit import kernel
from grnf.engine.neighbours import Neighbours
from grnf.engine.rows import RAMP, RELU, activate, add_heads, evaluate, project
from grnf.engine.statistics import Statistics
from grnf.typing import FloatArray, IntArray

__all__ = ["triple_terms", "u3"]


@kernel
def u3(
    s: Statistics,
    near: Neighbours,
    c: Coefficients,
    code: int,
    tile: int,
    scale: FloatArray,
    graphs: IntArray,
    out: FloatArray,
) -> None:
    """out[g, feature] += head u^3 U_3 for these graphs, their nodes not grouped; scale[g] = u."""
    H = len(c.bias)
    for start in range(0, H, tile):
        stop = min(start + tile, H)
        U = np.empty(stop - start, np.float64)
        for g in graphs:
            if s.sizes[g] < 3:
                continue
            nodes, edges = triple_terms(s, near, c, scale[g], g, start, stop)
            U[:] = 0
            _add_triples(code, near, s.node_ptr[g], nodes, edges, U)
            add_heads(U, scale[g] ** 3, c.head, c.segments, start, out[g])


@kernel
def triple_terms(
    s: Statistics, near: Neighbours, c: Coefficients, u: float, g: int, start: int, stop: int
) -> tuple[FloatArray, FloatArray]:
    """Return what nodes add in slots 1, 2, 3: (3, n, channels); and what the values of edges add between
    slots (1, 2), (1, 3), (2, 3): (3, values, channels). What all triples share rides on slot 1.
    """  # noqa: D205
    dtype, width = c.bias.dtype, stop - start
    first, n, n_values = s.node_ptr[g], s.sizes[g], near.value_ptr[g + 1] - near.value_ptr[g]
    nodes, edges = np.empty((3, n, width), dtype), np.empty((3, n_values, width), dtype)
    constant, zeros = np.empty((1, width), dtype), np.zeros(width, dtype)
    project(s.totals, g, 1, evaluate(c.totals, u, start, stop), c.bias[start:stop], constant)
    for p in range(3):
        project(s.nodes, first, n, evaluate(c.nodes[:, p], u, start, stop), constant[0], nodes[p])
        constant[:] = 0
        coefficient = evaluate(c.pairs[:, p], u, start, stop)
        project(near.values, near.value_ptr[g], n_values, coefficient, zeros, edges[p])
    return nodes, edges


@kernel
def _add_triples(
    code: int, near: Neighbours, first: int, nodes: FloatArray, edges: FloatArray, U: FloatArray
) -> None:
    """U += sum over triples of rho(a_i + b_j + c_k + e_12(i, j) + e_13(i, k) + e_23(j, k))."""
    n, width = nodes.shape[1], nodes.shape[2]
    last = np.empty((n, n, width), nodes.dtype)  # c_k + e_23(j, k)
    third = np.zeros((n, width), nodes.dtype)  # e_13(i, k) of the present i
    base, second = np.empty(width, nodes.dtype), np.zeros((n, width), nodes.dtype)  # second: e_12(i, j)
    partial, row = np.empty(width, nodes.dtype), np.empty(width, nodes.dtype)
    for j in range(n):
        last[j] = nodes[2]
        for entry in range(near.ptr[first + j], near.ptr[first + j + 1]):
            last[j, near.node[entry]] += edges[2, near.value[entry]]
    for i in range(n):
        for entry in range(near.ptr[first + i], near.ptr[first + i + 1]):
            second[near.node[entry]] = edges[0, near.value[entry]]
            third[near.node[entry]] = edges[1, near.value[entry]]
        for j in range(n):
            if j == i:
                continue
            for h in range(width):
                base[h] = nodes[0, i, h] + nodes[1, j, h] + second[j, h]
            partial[:] = 0
            low, high = min(i, j), max(i, j)
            for k, stop in ((0, low), (low + 1, high), (high + 1, n)):
                _add_last(code, base, last[j], third, k, stop, row, partial)
            for h in range(width):
                U[h] += partial[h]
        for entry in range(near.ptr[first + i], near.ptr[first + i + 1]):
            second[near.node[entry]] = 0
            third[near.node[entry]] = 0


@kernel
def _add_last(
    code: int,
    base: FloatArray,
    last: FloatArray,
    third: FloatArray,
    k: int,
    stop: int,
    row: FloatArray,
    partial: FloatArray,
) -> None:
    """Partial += sum of rho(base + last_k + third_k) for k .. stop - 1, four at a time. `row` is scratch."""
    width = len(base)
    zero, one = base.dtype.type(0), base.dtype.type(1)
    if code != RELU and code != RAMP:
        for q in range(k, stop):
            for h in range(width):
                row[h] = base[h] + last[q, h] + third[q, h]
            activate(code, row)
            for h in range(width):
                partial[h] += row[h]
        return
    while k + 4 <= stop:
        if code == RELU:
            for h in range(width):
                x = base[h]
                t0, t1 = x + (last[k, h] + third[k, h]), x + (last[k + 1, h] + third[k + 1, h])
                t2, t3 = x + (last[k + 2, h] + third[k + 2, h]), x + (last[k + 3, h] + third[k + 3, h])
                low = (partial[h] + max(t0, zero)) + max(t1, zero)
                partial[h] = (low + max(t2, zero)) + max(t3, zero)
        else:
            for h in range(width):
                x = base[h]
                t0, t1 = x + (last[k, h] + third[k, h]), x + (last[k + 1, h] + third[k + 1, h])
                t2, t3 = x + (last[k + 2, h] + third[k + 2, h]), x + (last[k + 3, h] + third[k + 3, h])
                low = (partial[h] + min(max(t0, zero), one)) + min(max(t1, zero), one)
                partial[h] = (low + min(max(t2, zero), one)) + min(max(t3, zero), one)
        k += 4
    while k < stop:
        for h in range(width):
            t0 = max(base[h] + (last[k, h] + third[k, h]), zero)
            partial[h] += t0 if code == RELU else min(t0, one)
        k += 1
