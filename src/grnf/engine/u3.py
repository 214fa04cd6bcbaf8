"""U_3 = sum over ordered triples of distinct nodes of rho_e( t(v_1, v_2, v_3) ), triple by triple."""

from __future__ import annotations

import numpy as np

from grnf.engine.coefficients import Coefficients
from grnf.engine.jit import kernel
from grnf.engine.neighbours import Neighbours
from grnf.engine.rows import RELU, activate, add_heads, evaluate, project
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
    """U += sum over triples of rho(a_i + b_j + c_k + e_12(i, j) + e_13(i, k) + e_23(j, k)).

    For the ReLU as max(-base, x) + base, with base for what i and j add and x for the rest: one operation
    less per triple. The sum runs over all k, and those that are i or j are taken away.
    """
    n, width = nodes.shape[1], nodes.shape[2]
    last = np.empty((n, n, width), nodes.dtype)  # c_k + e_23(j, k)
    second, third = np.zeros((n, width), nodes.dtype), np.zeros((n, width), nodes.dtype)  # e_12, e_13 of i
    base, row = np.empty(width, nodes.dtype), np.empty(width, nodes.dtype)
    partial = np.zeros(width, nodes.dtype)
    others = nodes.dtype.type(n - 2)
    for j in range(n):
        last[j] = nodes[2]
        for entry in range(near.ptr[first + j], near.ptr[first + j + 1]):
            last[j, near.node[entry]] += edges[2, near.value[entry]]
    for i in range(n):
        for entry in range(near.ptr[first + i], near.ptr[first + i + 1]):
            second[near.node[entry]] = edges[0, near.value[entry]]
            third[near.node[entry]] = edges[1, near.value[entry]]
        for j in range(n):
            if j != i and code == RELU:
                for h in range(width):
                    t = nodes[0, i, h] + nodes[1, j, h] + second[j, h]
                    partial[h] += others * t
                    base[h] = -t
                _add_last_relu(base, last[j], third, i, j, partial)
            elif j != i:
                for h in range(width):
                    base[h] = nodes[0, i, h] + nodes[1, j, h] + second[j, h]
                _add_last(code, base, last[j], third, i, j, row, partial)
            if j % 16 == 15 or j + 1 == n:  # short sums in single precision, long ones in double
                for h in range(width):
                    U[h] += partial[h]
                partial[:] = 0
        for entry in range(near.ptr[first + i], near.ptr[first + i + 1]):
            second[near.node[entry]] = 0
            third[near.node[entry]] = 0


@kernel
def _add_last_relu(
    base: FloatArray, last: FloatArray, third: FloatArray, i: int, j: int, partial: FloatArray
) -> None:
    """Add the sum of max(base, last_k + third_k) over all k but i and j to partial, four k at a time."""
    n, width = len(last), len(base)
    for k in range(0, n - n % 4, 4):
        for h in range(width):
            x = base[h]
            low = (partial[h] + max(x, last[k, h] + third[k, h])) + max(x, last[k + 1, h] + third[k + 1, h])
            low = low + max(x, last[k + 2, h] + third[k + 2, h])
            partial[h] = low + max(x, last[k + 3, h] + third[k + 3, h])
    for k in range(n - n % 4, n):
        for h in range(width):
            partial[h] += max(base[h], last[k, h] + third[k, h])
    for h in range(width):
        x = base[h]
        partial[h] -= max(x, last[i, h] + third[i, h]) + max(x, last[j, h] + third[j, h])


@kernel
def _add_last(
    code: int,
    base: FloatArray,
    last: FloatArray,
    third: FloatArray,
    i: int,
    j: int,
    row: FloatArray,
    partial: FloatArray,
) -> None:
    """Add the sum of rho(base + last_k + third_k) over all k but i and j to partial. `row` is scratch."""
    for k in range(len(last)):
        if k != i and k != j:
            for h in range(len(base)):
                row[h] = base[h] + (last[k, h] + third[k, h])
            activate(code, row)
            for h in range(len(base)):
                partial[h] += row[h]
