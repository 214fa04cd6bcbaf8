"""U_2 = sum over ordered pairs of distinct nodes of rho_e( t(v_1, v_2) ), pair by pair.

t(i, j) = a_i + b_j + e, where e depends on the value of the edge between i and j, and is 0 without one. For
each i first all j without an edge, then a run of neighbours for each value: every pair costs one step whether
it carries an edge or not.
"""

from __future__ import annotations

import numpy as np

from grnf.engine.coefficients import Coefficients
from grnf.engine.jit import compiled
from grnf.engine.neighbours import Neighbours
from grnf.engine.rows import RAMP, RELU, activate, add_heads, evaluate, project
from grnf.engine.statistics import Statistics
from grnf.typing import FloatArray, IntArray

__all__ = ["u2"]


@compiled
def u2(
    s: Statistics,
    near: Neighbours,
    c: Coefficients,
    code: int,
    tile: int,
    scale: FloatArray,
    graphs: IntArray,
    out: FloatArray,
) -> None:
    """out[g, feature] += head u^2 U_2 for these graphs; scale[g] = u. Graphs of one size stand in a row."""
    H, dtype = len(c.bias), c.bias.dtype
    largest = 0
    for g in graphs:
        largest = max(largest, s.node_ptr[g + 1] - s.node_ptr[g])
    for start in range(0, H, tile):
        stop = min(start + tile, H)
        a = np.empty((largest, stop - start), dtype)
        b = np.empty((largest, stop - start), dtype)
        constant = np.empty((1, stop - start), dtype)
        zeros = np.zeros(stop - start, dtype)
        U, scratch = np.empty(stop - start, np.float64), np.empty((2, stop - start), dtype)
        known = np.nan
        for g in graphs:
            if s.sizes[g] < 2:
                continue
            if scale[g] != known:
                known = scale[g]
                first_nodes = evaluate(c.nodes[:, 0], known, start, stop)
                second_nodes = evaluate(c.nodes[:, 1], known, start, stop)
                if code == RELU:
                    second_nodes = -second_nodes
                pairs = evaluate(c.pairs[:, 0], known, start, stop)
                totals = evaluate(c.totals, known, start, stop)
            first, count = s.node_ptr[g], s.node_ptr[g + 1] - s.node_ptr[g]
            project(s.totals, g, len(constant), totals, c.bias[start:stop], constant)
            project(s.nodes, first, count, first_nodes, constant[0], a)
            project(s.nodes, first, count, second_nodes, zeros, b)
            n_values = near.value_ptr[g + 1] - near.value_ptr[g]
            edge = np.empty((n_values, stop - start), dtype)
            project(near.values, near.value_ptr[g], n_values, pairs, zeros, edge)
            U[:] = 0
            _add_pairs(code, a, b, s.node_weight[first : first + count], near, first, edge, zeros, scratch, U)
            add_heads(U, known * known, c.head, c.segments, start, out[g])


@compiled
def _add_pairs(
    code: int,
    a: FloatArray,
    b: FloatArray,
    weight: FloatArray,
    near: Neighbours,
    first: int,
    edge: FloatArray,
    zeros: FloatArray,
    scratch: FloatArray,
    U: FloatArray,
) -> None:
    """U += sum over ordered pairs of rho(a_i + b_j + e(i, j)). For the ReLU b holds -b_j.

    relu(a_i + e + b_j) = max(a_i + e, -b_j) + b_j takes one operation less in the loop over pairs.
    """
    n, width = len(weight), len(U)
    partial, row = scratch[0], scratch[1]
    everyone = np.arange(n)
    free = np.empty((n, n), a.dtype)  # numbers of pairs without an edge
    others = a.dtype.type(weight.sum() - 1)
    for i in range(n):
        for j in range(n):
            free[i, j] = weight[i] * weight[j]
        free[i, i] -= weight[i]
        for entry in range(near.ptr[first + i], near.ptr[first + i + 1]):
            free[i, near.node[entry]] -= near.weight[entry]
    for i in range(0, n, 2):
        if code == RELU:
            k = min(i + 1, n - 1)
            once = a.dtype.type(k - i)  # 0 where there is no second row
            w0, w1 = -weight[i] * others, -once * weight[k] * others
            for h in range(width):
                partial[h] = w0 * b[i, h] + w1 * b[k, h]
            _add_rows_relu(a, b, free, i, partial)
        else:
            partial[:] = 0
        for k in range(i, min(i + 2, n)):
            if code != RELU:
                _add_run(code, a[k], zeros, b, everyone, free[k], row, partial)
            entry, last = near.ptr[first + k], near.ptr[first + k + 1]
            while entry < last:
                end = entry + 1
                while end < last and near.value[end] == near.value[entry]:
                    end += 1
                e = edge[near.value[entry]]
                _add_run(code, a[k], e, b, near.node[entry:end], near.weight[entry:end], row, partial)
                entry = end
        for h in range(width):
            U[h] += partial[h]


@compiled
def _add_rows_relu(a: FloatArray, b: FloatArray, weight: FloatArray, i: int, partial: FloatArray) -> None:
    """Partial += sum_j w_kj max(a_k, b_j) for k = i, i + 1: two rows of a against four of b at a time."""
    n, k = len(weight), min(i + 1, len(weight) - 1)
    once = weight.dtype.type(k - i)  # 0 where there is no second row
    j = 0
    while j + 4 <= n:
        w0, w1, w2, w3 = weight[i, j], weight[i, j + 1], weight[i, j + 2], weight[i, j + 3]
        v0, v1 = once * weight[k, j], once * weight[k, j + 1]
        v2, v3 = once * weight[k, j + 2], once * weight[k, j + 3]
        for h in range(len(partial)):
            x, y = a[i, h], a[k, h]
            b0, b1, b2, b3 = b[j, h], b[j + 1, h], b[j + 2, h], b[j + 3, h]
            low = ((partial[h] + w0 * max(x, b0)) + w1 * max(x, b1)) + w2 * max(x, b2)
            high = ((low + w3 * max(x, b3)) + v0 * max(y, b0)) + v1 * max(y, b1)
            partial[h] = (high + v2 * max(y, b2)) + v3 * max(y, b3)
        j += 4
    while j < n:
        w0, v0 = weight[i, j], once * weight[k, j]
        for h in range(len(partial)):
            b0 = b[j, h]
            partial[h] = (partial[h] + w0 * max(a[i, h], b0)) + v0 * max(a[k, h], b0)
        j += 1


@compiled
def _add_run(
    code: int,
    a: FloatArray,
    e: FloatArray,
    b: FloatArray,
    js: IntArray,
    ws: FloatArray,
    row: FloatArray,
    partial: FloatArray,
) -> None:
    """Partial += sum over the run of w_j rho(a + e + b_j); for the ReLU max(a + e, b_j). `row` is scratch."""
    width, count = len(partial), len(js)
    zero, one = a.dtype.type(0), a.dtype.type(1)
    item = 0
    if code == RELU:
        while item + 4 <= count:
            j0, j1, j2, j3 = js[item], js[item + 1], js[item + 2], js[item + 3]
            w0, w1, w2, w3 = ws[item], ws[item + 1], ws[item + 2], ws[item + 3]
            for h in range(width):
                x = a[h] + e[h]
                low = (partial[h] + w0 * max(x, b[j0, h])) + w1 * max(x, b[j1, h])
                partial[h] = (low + w2 * max(x, b[j2, h])) + w3 * max(x, b[j3, h])
            item += 4
    while item < count:
        j0, w0 = js[item], ws[item]
        j1, w1 = (js[item + 1], ws[item + 1]) if item + 1 < count else (j0, zero)
        item += 2
        if w0 == 0 and w1 == 0:
            continue
        if code == RELU:
            for h in range(width):
                x = a[h] + e[h]
                partial[h] = (partial[h] + w0 * max(x, b[j0, h])) + w1 * max(x, b[j1, h])
        elif code == RAMP:
            for h in range(width):
                x = a[h] + e[h]
                first = w0 * min(max(x + b[j0, h], zero), one)
                partial[h] = (partial[h] + first) + w1 * min(max(x + b[j1, h], zero), one)
        else:
            for j, w in ((j0, w0), (j1, w1)):
                if w != 0:
                    for h in range(width):
                        row[h] = a[h] + e[h] + b[j, h]
                    activate(code, row)
                    for h in range(width):
                        partial[h] += w * row[h]
