"""U_1 and U_2: sums of rho_e(t) over nodes and over ordered pairs of distinct nodes, and their derivatives.

t(i, j) = a_i + b_j + e, where e depends on the value of the edge between i and j, and is 0 without one.

Pair by pair: for each i first all j without an edge, then a run of neighbors for each value, so that every
pair costs one step whether it carries an edge or not. By sorting, for large graphs and relu or ramp, in
O(n log n + |E|) per channel: all pairs are summed as if there were no edges, those of a node with itself are
subtracted, and those with an edge are corrected.
"""

from __future__ import annotations

import numpy as np

from grnf._utils.jit import compiled, inner
from grnf.engine.coefficients import Coefficients
from grnf.engine.counting import integers_below
from grnf.engine.projection import Gradients, Tape, finish_tape, finish_tile, start_tape, start_tile
from grnf.engine.rows import (
    RAMP,
    RELU,
    ActivationCode,
    activate,
    activate_with_derivative,
    add_derivative,
    add_heads,
    empty_rows,
    evaluate,
    project,
)
from grnf.engine.schedule import GRAPHS, NODES, TILE
from grnf.engine.sorting import pair_masses, pair_sums, pair_sums_of_columns, transpose
from grnf.engine.statistics import Neighbors, Statistics, equal_rows
from grnf.typing import BoolArray, FloatArray, IntArray


@inner
def _sum_sparse_rows(
    rho: ActivationCode,
    X: FloatArray,
    matrix: FloatArray,
    constant: FloatArray,
    weight: FloatArray,
    U: FloatArray,
) -> bool:
    """U += sum_i weight_i rho(constant + X_i @ matrix) if rows of X have two entries that are not 0.

    As with one label and a degree. Two rows at a time, none of them stored. Returns False, with nothing done,
    for rows with more entries and for activations other than relu and ramp.
    """
    if len(rho) != RELU and len(rho) != RAMP:
        return False
    column, value = np.zeros(2 * len(X) + 2, np.int64), np.zeros(2 * len(X) + 2, X.dtype)
    for i in range(len(X)):
        used = 0
        for f in range(X.shape[1]):
            if X[i, f] != 0:
                if used == 2:
                    return False
                column[2 * i + used], value[2 * i + used] = f, X[i, f]
                used += 1
    zero, top = X.dtype.type(0), X.dtype.type(1 if len(rho) == RAMP else np.inf)
    for i in range(0, len(X), 2):
        w0, w1 = weight[i], weight[i + 1] if i + 1 < len(X) else zero
        x0, x1, y0, y1 = value[2 * i], value[2 * i + 1], value[2 * i + 2], value[2 * i + 3]
        a0, a1 = matrix[column[2 * i]], matrix[column[2 * i + 1]]
        b0, b1 = matrix[column[2 * i + 2]], matrix[column[2 * i + 3]]
        for h in range(len(U)):
            low = min(max(constant[h] + (x0 * a0[h] + x1 * a1[h]), zero), top)
            high = min(max(constant[h] + (y0 * b0[h] + y1 * b1[h]), zero), top)
            U[h] = (U[h] + w0 * low) + w1 * high
    return True


@inner
def _sum_rows(
    rho: ActivationCode, t: FloatArray, constant: FloatArray, weight: FloatArray, U: FloatArray
) -> None:
    """U += sum_i weight_i rho(t_i + constant). The rows of t are overwritten."""
    zero, one = t.dtype.type(0), t.dtype.type(1)
    for i in range(len(weight)):
        w = weight[i]
        if len(rho) == RELU:
            for h in range(len(U)):
                U[h] += w * max(t[i, h] + constant[h], zero)
        elif len(rho) == RAMP:
            for h in range(len(U)):
                U[h] += w * min(max(t[i, h] + constant[h], zero), one)
        else:
            for h in range(len(U)):
                t[i, h] += constant[h]
            activate(rho, t[i])
            for h in range(len(U)):
                U[h] += w * t[i, h]


@compiled
def _add_node_sums(
    s: Statistics,
    c: Coefficients,
    rho: ActivationCode,
    tile: int,
    scale: FloatArray,
    graphs: tuple[int, int],
    sums: FloatArray,
    out: FloatArray,
) -> None:
    """out[g, feature] += head u U_1 for some graphs, scale[g] = u. `sums` is scratch."""
    # not 0 and 1 themselves: each would be compiled as a type of its own
    dtype, zero, one = c.bias.dtype, tile - tile, tile // tile
    for start in range(0, len(c.bias), tile):
        stop = min(start + tile, len(c.bias))
        width = stop - start
        t, constant = empty_rows(NODES + zero, width, c.bias), empty_rows(one, width, c.bias)
        zeros, partial = np.zeros(width, dtype), np.zeros(width, dtype)
        shared, U, known = c.bias[start:stop], sums[:width], np.nan
        for g in range(graphs[0], graphs[1]):
            if scale[g] != known:
                known = scale[g]
                nodes = evaluate(c.nodes, zero, known, start, stop)
                totals = evaluate(c.totals, zero, known, start, stop)
            project(s.totals, g, one, totals, shared, constant)
            U[:] = 0
            for first in range(s.node_ptr[g], s.node_ptr[g + 1], NODES):
                last = min(first + NODES, s.node_ptr[g + 1])
                weight = s.node_weight[first:last]
                partial[:] = 0
                if not _sum_sparse_rows(rho, s.nodes[first:last], nodes, constant[0], weight, partial):
                    project(s.nodes, first, last - first, nodes, zeros, t)
                    _sum_rows(rho, t, constant[0], weight, partial)
                for h in range(width):
                    U[h] += partial[h]
            add_heads(U, known, c.head, c.segments, start, out[g])


@compiled
def node_sum_gradients(
    s: Statistics,
    near: Neighbors,
    c: Coefficients,
    rho: ActivationCode,
    tile: int,
    scale: FloatArray,
    graphs: IntArray,
    d_out: FloatArray,
    out: Gradients,
) -> None:
    """Add the derivatives of u U_1 of these graphs, given those of all features, d_out[g]."""
    derivative = np.empty(tile, c.bias.dtype)
    for start in range(0, len(c.bias), tile):
        part = start_tile(c, start, min(start + tile, len(c.bias)))
        partial = np.zeros(len(part.matrices.bias), c.bias.dtype)
        for g in graphs:
            weight = s.node_weight[s.node_ptr[g] : s.node_ptr[g + 1]]
            tape = start_tape(part, s, near, c, scale[g], g, d_out, out)
            dU = tape.dU
            for i in range(len(weight)):
                row, d, w = tape.nodes[0, i], tape.d_nodes[0, i], weight[i]
                activate_with_derivative(rho, row, derivative[: len(row)])
                for h in range(len(row)):
                    partial[h] += w * row[h]
                    d[h] = w * derivative[h] * dU[h]
                if (i + 1) % NODES == 0 or i + 1 == len(weight):
                    for h in range(len(row)):
                        tape.U[h] += partial[h]
                        partial[h] = 0
            finish_tape(part, s, near, c, g, tape, d_out, out)
        finish_tile(part, out)


def node_and_pair_sums(
    s: Statistics,
    near: Neighbors | None,
    c1: Coefficients,
    c2: Coefficients | None,
    rho: ActivationCode,
    left_out: BoolArray,
    tile: int,
    scale: FloatArray,
    bias: FloatArray,
    out: FloatArray,
) -> None:
    """out[g, feature] = bias + head u U_1 + head u^2 U_2, scale[g] = u. Graphs of equal size are consecutive.

    U_2 of some graphs is left out, and of all of them if it has no channels.
    """
    sums = np.empty(TILE)
    for first in range(0, len(scale), GRAPHS):  # so few that their sums stay in the cache
        graphs = first, min(first + GRAPHS, len(scale))
        out[graphs[0] : graphs[1]] = bias
        _add_node_sums(s, c1, rho, TILE, scale, graphs, sums, out)
        if c2 is not None and near is not None:
            _add_pair_sums(s, near, c2, rho, left_out, tile, scale, graphs, sums, out)


@compiled
def _add_pair_sums(
    s: Statistics,
    near: Neighbors,
    c: Coefficients,
    rho: ActivationCode,
    left_out: BoolArray,
    tile: int,
    scale: FloatArray,
    graphs: tuple[int, int],
    sums: FloatArray,
    out: FloatArray,
) -> None:
    """out[g, feature] += head u^2 U_2 for some graphs, scale[g] = u. `sums` is scratch."""
    # not 0 and 1 themselves: each would be compiled as a type of its own
    dtype, zero, one = c.bias.dtype, tile - tile, tile // tile
    largest = zero
    for g in range(graphs[0], graphs[1]):
        if not left_out[g]:
            largest = max(largest, s.node_ptr[g + 1] - s.node_ptr[g])
    for start in range(0, len(c.bias), tile):
        stop = min(start + tile, len(c.bias))
        width = stop - start
        a, b = empty_rows(largest, width, c.bias), empty_rows(largest, width, c.bias)
        constant, scratch = empty_rows(one, width, c.bias), empty_rows(one + one, width, c.bias)
        zeros, shared, U, known = np.zeros(width, dtype), c.bias[start:stop], sums[:width], np.nan
        for g in range(graphs[0], graphs[1]):
            if left_out[g]:
                continue
            if scale[g] != known:
                known = scale[g]
                first_nodes = evaluate(c.nodes, zero, known, start, stop)
                second_nodes = evaluate(c.nodes, one, known, start, stop)
                if len(rho) == RELU:
                    for f in range(len(second_nodes)):
                        for h in range(width):
                            second_nodes[f, h] = -second_nodes[f, h]
                pairs = evaluate(c.pairs, zero, known, start, stop)
                totals = evaluate(c.totals, zero, known, start, stop)
            first, count = s.node_ptr[g], s.node_ptr[g + 1] - s.node_ptr[g]
            project(s.totals, g, one, totals, shared, constant)
            project(s.nodes, first, count, first_nodes, constant[0], a)
            project(s.nodes, first, count, second_nodes, zeros, b)
            n_values = near.value_ptr[g + 1] - near.value_ptr[g]
            edge = empty_rows(n_values, width, c.bias)
            project(near.values, near.value_ptr[g], n_values, pairs, zeros, edge)
            U[:] = 0
            _add_pairs(rho, a, b, s.node_weight[first : first + count], near, first, edge, zeros, scratch, U)
            add_heads(U, known * known, c.head, c.segments, start, out[g])


@inner
def _add_pairs(
    rho: ActivationCode,
    a: FloatArray,
    b: FloatArray,
    weight: FloatArray,
    near: Neighbors,
    first: int,
    edge: FloatArray,
    zeros: FloatArray,
    scratch: FloatArray,
    U: FloatArray,
) -> None:
    """U += sum over ordered pairs of rho(a_i + b_j + e(i, j)). For the ReLU b holds -b_j.

    relu(a_i + e + b_j) = max(a_i + e, -b_j) + b_j takes one operation less in the kernel over pairs.
    """
    n, width = len(weight), len(U)
    partial, row = scratch[0], scratch[1]
    everyone = integers_below(n)
    free = _pairs_without_edge(weight, near, first)
    total = 0.0
    for i in range(n):
        total += weight[i]
    others = a.dtype.type(total - 1)
    for i in range(0, n, 2):
        if len(rho) == RELU:
            k = min(i + 1, n - 1)
            once = a.dtype.type(k - i)  # 0 if there is no second row
            w0, w1 = -weight[i] * others, -once * weight[k] * others
            for h in range(width):
                partial[h] = w0 * b[i, h] + w1 * b[k, h]
            _add_rows_relu(a, b, free, i, partial)
        else:
            partial[:] = 0
        for k in range(i, min(i + 2, n)):
            if len(rho) != RELU:
                _add_run(rho, a[k], zeros, b, everyone, free[k], row, partial)
            entry, last = near.ptr[first + k], near.ptr[first + k + 1]
            while entry < last:
                end = entry + 1
                while end < last and near.value[end] == near.value[entry]:
                    end += 1
                e, js, ws = edge[near.value[entry]], near.node[entry:end], near.weight[entry:end]
                _add_run(rho, a[k], e, b, js, ws, row, partial)
                entry = end
        for h in range(width):
            U[h] += partial[h]


@inner
def _pairs_without_edge(weight: FloatArray, near: Neighbors, first: int) -> FloatArray:
    """Return how many ordered pairs without an edge each pair of rows stands for."""
    n = len(weight)
    free = np.empty((n, n), weight.dtype)
    for i in range(n):
        for j in range(n):
            free[i, j] = weight[i] * weight[j]
        free[i, i] -= weight[i]
        for entry in range(near.ptr[first + i], near.ptr[first + i + 1]):
            free[i, near.node[entry]] -= near.weight[entry]
    return free


@inner
def _add_rows_relu(a: FloatArray, b: FloatArray, weight: FloatArray, i: int, partial: FloatArray) -> None:
    """Partial += sum_j w_kj max(a_k, b_j) for k = i, i + 1: two rows of a against four of b at a time."""
    n, k = len(weight), min(i + 1, len(weight) - 1)
    once = weight.dtype.type(k - i)  # 0 if there is no second row
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


@inner
def _add_run(
    rho: ActivationCode,
    a: FloatArray,
    e: FloatArray,
    b: FloatArray,
    js: IntArray,
    ws: FloatArray,
    row: FloatArray,
    partial: FloatArray,
) -> None:
    """Partial += sum over the run of w_j rho(a + e + b_j), for the ReLU max(a + e, b_j). `row` is scratch."""
    width, count = len(partial), len(js)
    zero, one = a.dtype.type(0), a.dtype.type(1)
    item = 0
    if len(rho) == RELU:
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
        if len(rho) == RELU:
            for h in range(width):
                x = a[h] + e[h]
                partial[h] = (partial[h] + w0 * max(x, b[j0, h])) + w1 * max(x, b[j1, h])
        elif len(rho) == RAMP:
            for h in range(width):
                x = a[h] + e[h]
                first = w0 * min(max(x + b[j0, h], zero), one)
                partial[h] = (partial[h] + first) + w1 * min(max(x + b[j1, h], zero), one)
        else:
            for j, w in ((j0, w0), (j1, w1)):
                if w != 0:
                    for h in range(width):
                        row[h] = a[h] + e[h] + b[j, h]
                    activate(rho, row)
                    for h in range(width):
                        partial[h] += w * row[h]


@compiled
def pair_sum_gradients(
    s: Statistics,
    near: Neighbors,
    c: Coefficients,
    rho: ActivationCode,
    tile: int,
    scale: FloatArray,
    graphs: IntArray,
    d_out: FloatArray,
    out: Gradients,
) -> None:
    """Add the derivatives of u^2 U_2 of these graphs, given those of all features, d_out[g]."""
    for start in range(0, len(c.bias), tile):
        part = start_tile(c, start, min(start + tile, len(c.bias)))
        for g in graphs:
            if s.sizes[g] < 2:
                continue
            weight = s.node_weight[s.node_ptr[g] : s.node_ptr[g + 1]]
            tape = start_tape(part, s, near, c, scale[g], g, d_out, out)
            if len(rho) == RELU:
                _add_relu_gradients(near, s.node_ptr[g], weight, tape)
            else:
                _add_pair_gradients(rho, near, s.node_ptr[g], weight, tape)
            finish_tape(part, s, near, c, g, tape, d_out, out)
        finish_tile(part, out)


@inner
def _add_relu_gradients(near: Neighbors, first: int, weight: FloatArray, tape: Tape) -> None:
    """Add U_2 of the ReLU and the derivatives of its rows.

    Since relu(t) = t relu'(t), both follow from the number of pairs with t > 0 that each row is in.
    """
    a, b, da, db = tape.nodes[0], tape.nodes[1], tape.d_nodes[0], tape.d_nodes[1]
    zero = a.dtype.type(0)
    free = _pairs_without_edge(weight, near, first)
    for i in range(0, len(weight), 2):
        _count_rows(a, b, free, i, da, db)
    for i in range(len(weight)):
        for entry in range(near.ptr[first + i], near.ptr[first + i + 1]):
            j, value, w = near.node[entry], near.value[entry], near.weight[entry]
            edge, d_edge = tape.edges[0, value], tape.d_edges[0, value]
            for h in range(len(edge)):
                count = w if a[i, h] + b[j, h] + edge[h] > zero else zero
                da[i, h] += count
                db[j, h] += count
                d_edge[h] += count
    partial = np.zeros(len(tape.U), a.dtype)
    for rows, d_rows in ((a, da), (b, db), (tape.edges[0], tape.d_edges[0])):
        for i in range(len(rows)):
            row, d = rows[i], d_rows[i]
            for h in range(len(partial)):
                partial[h] += row[h] * d[h]
                d[h] *= tape.dU[h]
    for h in range(len(partial)):
        tape.U[h] += partial[h]


@inner
def _count_rows(
    a: FloatArray, b: FloatArray, weight: FloatArray, i: int, da: FloatArray, db: FloatArray
) -> None:
    """Add w_kj if a_k + b_j > 0 to da_k and db_j for k = i, i + 1: two rows against four at a time."""
    n, zero = len(weight), weight.dtype.type(0)
    k = (i + 1) % n  # another row: a loop that might write to one row twice is not vectorized
    once = weight.dtype.type(k > i)  # 0 if there is no second row
    j = 0
    while j + 4 <= n:
        w0, w1, w2, w3 = weight[i, j], weight[i, j + 1], weight[i, j + 2], weight[i, j + 3]
        v0, v1 = once * weight[k, j], once * weight[k, j + 1]
        v2, v3 = once * weight[k, j + 2], once * weight[k, j + 3]
        for h in range(a.shape[1]):
            x, y = a[i, h], a[k, h]
            b0, b1, b2, b3 = b[j, h], b[j + 1, h], b[j + 2, h], b[j + 3, h]
            c0, c1 = w0 if x + b0 > zero else zero, w1 if x + b1 > zero else zero
            c2, c3 = w2 if x + b2 > zero else zero, w3 if x + b3 > zero else zero
            e0, e1 = v0 if y + b0 > zero else zero, v1 if y + b1 > zero else zero
            e2, e3 = v2 if y + b2 > zero else zero, v3 if y + b3 > zero else zero
            da[i, h] += (c0 + c1) + (c2 + c3)
            da[k, h] += (e0 + e1) + (e2 + e3)
            db[j, h] += c0 + e0
            db[j + 1, h] += c1 + e1
            db[j + 2, h] += c2 + e2
            db[j + 3, h] += c3 + e3
        j += 4
    while j < n:
        w0, v0 = weight[i, j], once * weight[k, j]
        for h in range(a.shape[1]):
            c0, e0 = w0 if a[i, h] + b[j, h] > zero else zero, v0 if a[k, h] + b[j, h] > zero else zero
            da[i, h] += c0
            da[k, h] += e0
            db[j, h] += c0 + e0
        j += 1


@compiled
def _add_pair_gradients(
    rho: ActivationCode, near: Neighbors, first: int, weight: FloatArray, tape: Tape, corrects: bool = False
) -> None:
    """Add U_2 and the derivatives of its rows: pairs without an edge, then those with one.

    Where it `corrects`, all pairs are there as if there were no edges: then those of a node with itself and
    those with an edge are taken away first.
    """
    n, width = len(weight), len(tape.U)
    a, b, db = tape.nodes[0], tape.nodes[1], tape.d_nodes[1]
    row, derivative = np.empty(width, a.dtype), np.empty(width, a.dtype)
    partial, none = np.zeros(width, a.dtype), np.zeros(width, a.dtype)
    free = np.zeros(n, a.dtype)  # numbers of pairs without an edge
    for i in range(n):
        da = tape.d_nodes[0, i]
        if corrects:
            add_derivative(rho, -weight[i], a[i], b[i], none, tape.dU, row, derivative, partial, da, db[i])
        else:
            for j in range(n):
                free[j] = weight[i] * weight[j]
            free[i] -= weight[i]
            for entry in range(near.ptr[first + i], near.ptr[first + i + 1]):
                free[near.node[entry]] -= near.weight[entry]
            for j in range(n):
                if free[j] != 0:
                    add_derivative(
                        rho, free[j], a[i], b[j], none, tape.dU, row, derivative, partial, da, db[j]
                    )
        for entry in range(near.ptr[first + i], near.ptr[first + i + 1]):
            j, value, w = near.node[entry], near.value[entry], near.weight[entry]
            edge, d_edge = tape.edges[0, value], tape.d_edges[0, value]
            if corrects:
                add_derivative(rho, -w, a[i], b[j], none, tape.dU, row, derivative, partial, da, db[j])
            add_derivative(rho, w, a[i], b[j], edge, tape.dU, row, derivative, partial, da, db[j])
            for h in range(width):
                d_edge[h] += derivative[h]
        for h in range(width):
            tape.U[h] += partial[h]
            partial[h] = 0


def sorted_pair_sums(
    s: Statistics,
    c: Coefficients,
    rho: ActivationCode,
    tile: int,
    scale: FloatArray,
    graph: int,
    out: FloatArray,
) -> None:
    """out[graph, feature] += head u^2 U_2 for one graph, scale[graph] = u."""
    weight = s.node_weight[s.node_ptr[graph] : s.node_ptr[graph + 1]]
    ab, columns = np.empty((0, 0), c.bias.dtype), np.empty((0, 0), c.bias.dtype)
    for start in range(0, len(c.bias), tile):
        stop = min(start + tile, len(c.bias))
        if ab.shape[1] != 2 * (stop - start):  # kept from tile to tile: fresh memory is slow
            ab = np.empty((len(weight), 2 * (stop - start)), c.bias.dtype)
            columns = np.empty(ab.shape[::-1], c.bias.dtype)
        pairs = _tile(s, c, scale[graph], graph, start, ab)
        transpose(ab, columns)
        U = pair_sums_of_columns(rho, columns, weight)
        _correct(rho, s, graph, ab, pairs, U)
        add_heads(U, scale[graph] ** 2, c.head, c.segments, start, out[graph])


@compiled
def _tile(s: Statistics, c: Coefficients, u: float, g: int, start: int, ab: FloatArray) -> FloatArray:
    """Write rows [a_i | b_i] of some channels to ab. Return the coefficients of edges."""
    width = ab.shape[1] // 2
    stop = start + width
    shared, constant = np.empty((1, width), c.bias.dtype), np.zeros(2 * width, c.bias.dtype)
    both = np.empty((c.nodes.shape[2], 2 * width), c.bias.dtype)
    both[:, :width] = evaluate(c.nodes, 0, u, start, stop)
    both[:, width:] = evaluate(c.nodes, 1, u, start, stop)
    project(s.totals, g, len(shared), evaluate(c.totals, 0, u, start, stop), c.bias[start:stop], shared)
    constant[:width] = shared[0]
    project(s.nodes, s.node_ptr[g], len(ab), both, constant, ab)
    return evaluate(c.pairs, 0, u, start, stop)


@compiled
def _correct(
    rho: ActivationCode, s: Statistics, g: int, ab: FloatArray, pairs: FloatArray, U: FloatArray
) -> None:
    """U += sum over edges of rho(a_i + b_j + e) - rho(a_i + b_j), less sum_i rho(a_i + b_i).

    A pair {i, j} is met once, for both of its orders, so that far rows are fetched once.
    """
    width, columns = len(U), s.pairs.shape[1]
    half = columns // 2 if s.directed else 0
    zeros, values = np.zeros(width, ab.dtype), np.zeros((2, columns), ab.dtype)
    edge, partial = np.zeros((2, width), ab.dtype), np.zeros(width, ab.dtype)
    zero, top = ab.dtype.type(0), ab.dtype.type(1 if len(rho) == RAMP else np.inf)
    for i in range(len(ab)):
        mine = ab[i]
        a, b = mine[:width], mine[width:]
        for h in range(width):
            partial[h] = a[h] + b[h]
        activate(rho, partial)
        for h in range(width):
            U[h] -= s.node_weight[s.node_ptr[g] + i] * partial[h]
    partial[:] = 0
    last = known = np.int64(-1)
    for pair in range(s.pair_ptr[g], s.pair_ptr[g + 1]):
        i = s.pair_nodes[pair, 0]
        if i != last:  # short sums in single precision, long ones in double
            last = i
            for h in range(width):
                U[h] += partial[h]
            partial[:] = 0
        if known < 0 or not equal_rows(s.pairs[pair], s.pairs[known], 0):
            known = np.int64(pair)
            for f in range(columns):
                values[0, f], values[1, f] = s.pairs[pair, f], s.pairs[pair, (f + half) % columns]
            project(values, 0, 2, pairs, zeros, edge)
        w, mine, other = s.pair_weight[pair], ab[i], ab[s.pair_nodes[pair, 1]]
        a, b, c, d = mine[:width], mine[width:], other[:width], other[width:]
        for h in range(width):
            x, y = a[h] + d[h], c[h] + b[h]
            there = min(max(x + edge[0, h], zero), top) - min(max(x, zero), top)
            back = min(max(y + edge[1, h], zero), top) - min(max(y, zero), top)
            partial[h] += w * (there + back)
    for h in range(width):
        U[h] += partial[h]


def sorted_pair_sum_gradients(
    s: Statistics,
    near: Neighbors,
    c: Coefficients,
    rho: ActivationCode,
    tile: int,
    scale: FloatArray,
    graph: int,
    d_out: FloatArray,
    out: Gradients,
) -> None:
    """Add the derivatives of u^2 U_2 of a graph, given those of all features, d_out[graph]."""
    weight = s.node_weight[s.node_ptr[graph] : s.node_ptr[graph + 1]]
    for start in range(0, len(c.bias), tile):
        part = start_tile(c, start, min(start + tile, len(c.bias)))
        tape = start_tape(part, s, near, c, scale[graph], graph, d_out, out)
        tape.U[:] += pair_sums(rho, tape.nodes[0], tape.nodes[1], weight)
        masses = pair_masses(rho, tape.nodes[0], tape.nodes[1], weight)
        for d, mass in zip(tape.d_nodes, masses, strict=True):
            d += weight[:, np.newaxis] * mass * tape.dU
        _add_pair_gradients(rho, near, s.node_ptr[graph], weight, tape, corrects=True)
        finish_tape(part, s, near, c, graph, tape, d_out, out)
        finish_tile(part, out)
