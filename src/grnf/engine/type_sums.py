"""U_B by types of tuples, for any B >= 3 and rho_e, and its derivative: see `tuple_types`.

The last slot of a type adds a row that is made before, the slots before it a row that is made once for all
types that begin alike, so a type costs a sum, rho_e and a product for each channel.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from grnf._utils.jit import compiled, inlined, inner
from grnf.engine.coefficients import Coefficients
from grnf.engine.projection import (
    Gradients,
    Tape,
    finish_tape,
    finish_tile,
    matrices,
    projection_of,
    start_tape,
    start_tile,
)
from grnf.engine.rows import RAMP, RELU, ActivationCode, activate, activate_with_derivative, add_heads
from grnf.engine.schedule import TYPES_TILE, fitting_tile
from grnf.engine.statistics import Neighbors, Statistics
from grnf.engine.triple_types import Form
from grnf.engine.tuple_types import TypeLists, read
from grnf.typing import FloatArray, IntArray

TYPES_SUMMED = 64
"""Types that are summed in the precision of the arithmetic before the sum goes on in double precision."""


class _Typed(NamedTuple):
    """The types of a graph: what they begin with, the number of their last slot's row, how many there are."""

    form: Form
    prefix: IntArray
    last: IntArray
    counts: FloatArray
    symbols: IntArray


@compiled
def type_sums(
    s: Statistics,
    near: Neighbors,
    types: TypeLists,
    c: Coefficients,
    rho: ActivationCode,
    scale: FloatArray,
    first: int,
    out: FloatArray,
) -> None:
    """out[g, feature] += head u^B U_B for graphs first, .. whose types are listed, scale[g] = u.

    `s` has one row per class of equal nodes. Graphs of equal size are consecutive and share coefficients.
    """
    known, known_u, known_start = matrices(c, 0.0, first - first, first - first), np.nan, -1
    for item in range(len(types.done)):
        if types.ptr[item] == types.ptr[item + 1]:
            continue
        g, typed = first + item, _typed(types, item, c)
        step = fitting_tile(TYPES_TILE, len(typed.symbols), c.bias.itemsize)
        for start in range(0, len(c.bias), step):
            stop = min(start + step, len(c.bias))
            if known_u != scale[g] or known_start != start or len(known.bias) != stop - start:
                known, known_u, known_start = matrices(c, scale[g], start, stop), scale[g], start
            nodes, edges = projection_of(s, near, known, g)
            U = np.zeros(stop - start, np.float64)
            _add_types(rho, typed, nodes, edges, U)
            add_heads(U, scale[g] ** c.nodes.shape[1], c.head, c.segments, start, out[g])


@compiled
def type_sum_gradients(
    s: Statistics,
    near: Neighbors,
    types: TypeLists,
    c: Coefficients,
    rho: ActivationCode,
    scale: FloatArray,
    first: int,
    d_out: FloatArray,
    out: Gradients,
) -> None:
    """Add the derivatives of u^B U_B by the coefficients, for graphs first, .. whose types are listed."""
    for item in range(len(types.done)):
        if types.ptr[item] == types.ptr[item + 1]:
            continue
        g, typed = first + item, _typed(types, item, c)
        step = fitting_tile(TYPES_TILE, 2 * len(typed.symbols), c.bias.itemsize)
        for start in range(0, len(c.bias), step):
            part = start_tile(c, start, min(start + step, len(c.bias)))
            tape = start_tape(part, s, near, c, scale[g], g, d_out, out)
            _add_type_gradients(rho, typed, tape)
            finish_tape(part, s, near, c, g, tape, d_out, out)
            finish_tile(part, out)


@inner
def _typed(types: TypeLists, item: int, c: Coefficients) -> _Typed:
    """Return the types of a graph."""
    own = slice(types.ptr[item], types.ptr[item + 1])
    counts = np.empty(types.ptr[item + 1] - types.ptr[item], c.bias.dtype)
    for place in range(len(counts)):
        counts[place] = types.counts[types.ptr[item] + place]
    symbols = types.symbols[types.symbol_ptr[item] : types.symbol_ptr[item + 1]]
    form = Form(c.nodes.shape[1], types.bits[item, 0], types.bits[item, 1])
    return _Typed(form, types.prefix[own], types.last[own], counts, symbols)


@inlined
def slot_of(p: int, q: int, B: int) -> int:
    """Return the number of the pair of slots p < q, in lexicographic order."""
    return p * B - p * (p + 1) // 2 + q - p - 1


@inner
def _last_rows(typed: _Typed, nodes: FloatArray, edges: FloatArray) -> FloatArray:
    """Return what the last slot adds: its node, and its edges to the slots before."""
    B, bits = len(nodes), typed.form.value_bits
    rows = np.empty((len(typed.symbols), nodes.shape[2]), nodes.dtype)
    for place in range(len(rows)):
        symbol, row = typed.symbols[place], rows[place]
        node = nodes[B - 1, symbol >> ((B - 1) * bits)]
        for h in range(len(row)):
            row[h] = node[h]
        for p in range(B - 1):
            value = symbol >> (p * bits) & ((1 << bits) - 1)
            if value:
                edge = edges[slot_of(p, B - 1, B), value - 1]
                for h in range(len(row)):
                    row[h] += edge[h]
    return rows


@inner
def _set_prefix(
    form: Form,
    prefix: int,
    nodes: FloatArray,
    edges: FloatArray,
    classes: IntArray,
    values: IntArray,
    row: FloatArray,
) -> None:
    """Set row to what all slots but the last add, classes and values to what they are."""
    B = len(nodes)
    read(Form(B - 1, form.class_bits, form.value_bits), prefix, classes, values)
    node = nodes[0, classes[0]]
    for q in range(1, B - 1):
        before, node = (node if q == 1 else row), nodes[q, classes[q]]
        if values[0, q]:
            edge = edges[slot_of(0, q, B), values[0, q] - 1]
            for h in range(len(row)):
                row[h] = (before[h] + node[h]) + edge[h]
        else:
            for h in range(len(row)):
                row[h] = before[h] + node[h]
        for p in range(1, q):
            if values[p, q]:
                edge = edges[slot_of(p, q, B), values[p, q] - 1]
                for h in range(len(row)):
                    row[h] += edge[h]


@inner
def _add_types(
    rho: ActivationCode, typed: _Typed, nodes: FloatArray, edges: FloatArray, U: FloatArray
) -> None:
    """U += sum over types of count rho(prefix + last), those with one prefix together."""
    B, width, n_types = len(nodes), len(U), len(typed.prefix)
    rows = _last_rows(typed, nodes, edges)
    classes, values = np.zeros(B, np.int64), np.zeros((B, B), np.int64)
    base, row, partial = (
        np.zeros(width, nodes.dtype),
        np.zeros(width, nodes.dtype),
        np.zeros(width, nodes.dtype),
    )
    first = summed = 0
    while first < n_types:
        end = first + 1
        while end < n_types and typed.prefix[end] == typed.prefix[first]:
            end += 1
        _set_prefix(typed.form, typed.prefix[first], nodes, edges, classes, values, base)
        add_run(rho, base, rows, typed.last[first:end], typed.counts[first:end], row, partial)
        summed += end - first
        if summed >= TYPES_SUMMED or end == n_types:
            summed = 0
            for h in range(width):
                U[h] += partial[h]
                partial[h] = 0
        first = end


@inner
def add_run(
    rho: ActivationCode,
    base: FloatArray,
    rows: FloatArray,
    last: IntArray,
    count: FloatArray,
    row: FloatArray,
    partial: FloatArray,
) -> None:
    """Partial += sum over the run of count rho(base + rows[last]). `row` is scratch."""
    width, n_types, item = len(partial), len(last), 0
    zero, top = base.dtype.type(0), base.dtype.type(1 if len(rho) == RAMP else np.inf)
    if len(rho) == RELU or len(rho) == RAMP:
        while item + 4 <= n_types:
            w0, w1, w2, w3 = count[item], count[item + 1], count[item + 2], count[item + 3]
            r0, r1, r2, r3 = (
                rows[last[item]],
                rows[last[item + 1]],
                rows[last[item + 2]],
                rows[last[item + 3]],
            )
            for h in range(width):
                x = base[h]
                if len(rho) == RELU:
                    low = (partial[h] + w0 * max(x + r0[h], zero)) + w1 * max(x + r1[h], zero)
                    partial[h] = (low + w2 * max(x + r2[h], zero)) + w3 * max(x + r3[h], zero)
                else:
                    low = partial[h] + w0 * min(max(x + r0[h], zero), top)
                    low = (low + w1 * min(max(x + r1[h], zero), top)) + w2 * min(max(x + r2[h], zero), top)
                    partial[h] = low + w3 * min(max(x + r3[h], zero), top)
            item += 4
        if item + 2 <= n_types and len(rho) == RELU:
            w0, w1, r0, r1 = count[item], count[item + 1], rows[last[item]], rows[last[item + 1]]
            for h in range(width):
                x = base[h]
                partial[h] = (partial[h] + w0 * max(x + r0[h], zero)) + w1 * max(x + r1[h], zero)
            item += 2
    while item < n_types:
        source, w = rows[last[item]], count[item]
        if len(rho) == RELU:
            for h in range(width):
                partial[h] += w * max(base[h] + source[h], zero)
        elif w != 0:
            for h in range(width):
                row[h] = base[h] + source[h]
            activate(rho, row)
            for h in range(width):
                partial[h] += w * row[h]
        item += 1


@inner
def _add_type_gradients(rho: ActivationCode, typed: _Typed, tape: Tape) -> None:
    """Add U_B and the derivatives of its rows. Those of types with one prefix are added up on the way."""
    B, width, bits = len(tape.nodes), len(tape.U), typed.form.value_bits
    rows = _last_rows(typed, tape.nodes, tape.edges)
    d_rows = np.zeros_like(rows)
    classes, values = np.zeros(B, np.int64), np.zeros((B, B), np.int64)
    base, row = np.zeros(width, rows.dtype), np.zeros(width, rows.dtype)
    derivative, back = np.zeros(width, rows.dtype), np.zeros(width, rows.dtype)
    for place in range(len(typed.prefix)):
        if place == 0 or typed.prefix[place] != typed.prefix[place - 1]:
            _set_prefix(typed.form, typed.prefix[place], tape.nodes, tape.edges, classes, values, base)
        source, d_source, w = rows[typed.last[place]], d_rows[typed.last[place]], typed.counts[place]
        for h in range(width):
            row[h] = base[h] + source[h]
        activate_with_derivative(rho, row, derivative)
        for h in range(width):
            tape.U[h] += w * row[h]
            d = w * derivative[h] * tape.dU[h]
            d_source[h] += d
            back[h] += d
        if place + 1 == len(typed.prefix) or typed.prefix[place + 1] != typed.prefix[place]:
            for q in range(B - 1):
                tape.d_nodes[q, classes[q]] += back
                for p in range(q):
                    if values[p, q]:
                        tape.d_edges[slot_of(p, q, B), values[p, q] - 1] += back
            back[:] = 0
    for place in range(len(rows)):
        symbol = typed.symbols[place]
        tape.d_nodes[B - 1, symbol >> ((B - 1) * bits)] += d_rows[place]
        for p in range(B - 1):
            value = symbol >> (p * bits) & ((1 << bits) - 1)
            if value:
                tape.d_edges[slot_of(p, B - 1, B), value - 1] += d_rows[place]
