"""The projection of a graph: what each node adds in each slot, and each edge between slots, and back.

t(v_1 .. v_B) = sum_p nodes[p, v_p] + sum_{p < q} edges[pq, value of the edge between v_p and v_q], for a tile
of hidden channels. What all tuples share rides on slot 1. The sums of every B begin here. Their derivatives
end here.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from grnf._utils.jit import compiled, inner
from grnf.engine.coefficients import Coefficients
from grnf.engine.rows import add_transposed_product, empty_rows, project, set_evaluated
from grnf.engine.statistics import Neighbors, Statistics
from grnf.typing import FloatArray


class Matrices(NamedTuple):
    """The coefficients of a tile of channels for a known u: one matrix for each slot, pair of slots, 1."""

    nodes: FloatArray
    pairs: FloatArray
    totals: FloatArray
    bias: FloatArray


class Gradients(NamedTuple):
    """The derivatives of the statistics and of the coefficients, to which kernels add.

    Shapes as `Statistics.nodes`, `Neighbors.values`, `Statistics.totals`. `of_statistics` and
    `of_coefficients` select what is computed.
    """

    nodes: FloatArray
    values: FloatArray
    totals: FloatArray
    coefficients: Coefficients
    of_statistics: bool
    of_coefficients: bool


class Tile(NamedTuple):
    """Channels from `start` on, for graphs with the same u: coefficients, and the sums of their derivatives.

    u is one number, NaN before the first graph.
    """

    start: int
    u: FloatArray
    matrices: Matrices
    derivatives: Matrices


class Tape(NamedTuple):
    """A tile of a graph on its way back: rows, the sum U, its derivative, and those of the rows."""

    nodes: FloatArray
    edges: FloatArray
    U: FloatArray
    dU: FloatArray  # noqa: N815 as in the formulas
    d_nodes: FloatArray
    d_edges: FloatArray


@compiled
def terms(
    s: Statistics, near: Neighbors, c: Coefficients, u: float, g: int, start: int, stop: int
) -> tuple[FloatArray, FloatArray]:
    """Return the rows of nodes, shape (B, n, channels), and of edges, (B (B - 1) / 2, values, channels)."""
    return projection_of(s, near, matrices(c, u, start, stop), g)


@inner
def matrices(c: Coefficients, u: float, start: int, stop: int) -> Matrices:
    """Return the coefficients of a tile for graphs of equal size."""
    result = _zeros(c, stop - start)
    _set_matrices(c, u, start, result)
    return result


@inner
def _zeros(c: Coefficients, width: int) -> Matrices:
    """Return coefficients of so many channels, all 0."""
    return Matrices(
        _zero_rows(c.nodes.shape[1], c.nodes.shape[2], width, c.bias),
        _zero_rows(c.pairs.shape[1], c.pairs.shape[2], width, c.bias),
        _zero_rows(c.totals.shape[1], c.totals.shape[2], width, c.bias),
        np.zeros(width, c.bias.dtype),
    )


@inner
def _zero_rows(slots: int, count: int, width: int, like: FloatArray) -> FloatArray:
    """Return so many rows for each slot, all 0."""
    rows = empty_rows(slots * count, width, like)
    rows[:] = 0
    return rows.reshape(slots, count, width)


@inner
def _set_matrices(c: Coefficients, u: float, start: int, out: Matrices) -> None:
    """Set the coefficients of the channels from `start` on to those for graphs of equal size."""
    for of, to in ((c.nodes, out.nodes), (c.pairs, out.pairs), (c.totals, out.totals)):
        for p in range(len(to)):
            set_evaluated(of, p, u, start, to[p])
    for h in range(len(out.bias)):
        out.bias[h] = c.bias[start + h]


@inner
def projection_of(s: Statistics, near: Neighbors, m: Matrices, g: int) -> tuple[FloatArray, FloatArray]:
    """Return the rows of a graph."""
    width = len(m.bias)
    first, n = s.node_ptr[g], s.node_ptr[g + 1] - s.node_ptr[g]
    n_values = near.value_ptr[g + 1] - near.value_ptr[g]
    nodes = empty_rows(len(m.nodes) * n, width, m.bias).reshape(len(m.nodes), n, width)
    edges = empty_rows(len(m.pairs) * n_values, width, m.bias).reshape(len(m.pairs), n_values, width)
    constant, zeros = np.empty((1, width), m.bias.dtype), np.zeros(width, m.bias.dtype)
    project(s.totals, g, len(constant), m.totals[0], m.bias, constant)
    for p in range(len(nodes)):
        project(s.nodes, first, n, m.nodes[p], constant[0], nodes[p])
        constant[:] = 0
    for p in range(len(edges)):
        project(near.values, near.value_ptr[g], n_values, m.pairs[p], zeros, edges[p])
    return nodes, edges


@compiled
def start_tile(c: Coefficients, start: int, stop: int) -> Tile:
    """Allocate the coefficients of some channels and their derivatives."""
    return Tile(start, np.full(1, np.nan), _zeros(c, stop - start), _zeros(c, stop - start))


@compiled
def finish_tile(tile: Tile, out: Gradients) -> None:
    """Add the derivatives of the coefficients of u^0, u^1, u^2, and set those of the tile to 0."""
    if not out.of_coefficients or np.isnan(tile.u[0]):
        return
    d, total, start = tile.derivatives, out.coefficients, tile.start
    for p in range(len(d.nodes)):
        _add_powers(total.nodes, p, tile.u[0], start, d.nodes[p])
    for p in range(len(d.pairs)):
        _add_powers(total.pairs, p, tile.u[0], start, d.pairs[p])
    for p in range(len(d.totals)):
        _add_powers(total.totals, p, tile.u[0], start, d.totals[p])
    for h in range(len(d.bias)):
        total.bias[start + h] += d.bias[h]
        d.bias[h] = 0


@inner
def _add_powers(out: FloatArray, p: int, u: float, start: int, matrix: FloatArray) -> None:
    """Add a matrix times 1, u and u^2, and set it to 0."""
    power = matrix.dtype.type(1)
    for q in range(3):
        for r in range(matrix.shape[0]):
            row, source = out[q, p, r, start : start + matrix.shape[1]], matrix[r]
            for h in range(len(row)):
                row[h] += power * source[h]
        power *= matrix.dtype.type(u)
    matrix[:] = 0


@compiled
def start_tape(
    tile: Tile,
    s: Statistics,
    near: Neighbors,
    c: Coefficients,
    u: float,
    g: int,
    d_out: FloatArray,
    out: Gradients,
) -> Tape:
    """Return the rows of a graph, given the derivatives of the sums of all features, one row per graph."""
    if tile.u[0] != u:
        finish_tile(tile, out)
        _set_matrices(c, u, tile.start, tile.matrices)
        tile.u[0] = u
    nodes, edges = projection_of(s, near, tile.matrices, g)
    start, stop = tile.start, tile.start + nodes.shape[2]
    dU, scale = np.zeros(stop - start, c.bias.dtype), u ** len(nodes)
    for segment in range(len(c.segments)):
        first, last, column = c.segments[segment]
        for h in range(max(first, start), min(last, stop)):
            dU[h - start] = scale * c.head[h] * d_out[g, column + h - first]
    d_nodes = _zero_rows(nodes.shape[0], nodes.shape[1], stop - start, c.bias)
    d_edges = _zero_rows(edges.shape[0], edges.shape[1], stop - start, c.bias)
    return Tape(nodes, edges, np.zeros(stop - start), dU, d_nodes, d_edges)


@compiled
def finish_tape(
    tile: Tile,
    s: Statistics,
    near: Neighbors,
    c: Coefficients,
    g: int,
    tape: Tape,
    d_out: FloatArray,
    out: Gradients,
) -> None:
    """Add the derivatives of coefficients and statistics from those of a graph's rows: `terms` transposed."""
    start, stop, scale = tile.start, tile.start + len(tape.U), tile.u[0] ** len(tape.nodes)
    first_node, n = s.node_ptr[g], s.node_ptr[g + 1] - s.node_ptr[g]
    first_value, n_values = near.value_ptr[g], near.value_ptr[g + 1] - near.value_ptr[g]
    shared = np.zeros((1, stop - start), c.bias.dtype)
    for i in range(n):
        for h in range(stop - start):
            shared[0, h] += tape.d_nodes[0, i, h]
    if out.of_coefficients:
        d = tile.derivatives
        for segment in range(len(c.segments)):
            first, last, column = c.segments[segment]
            for h in range(max(first, start), min(last, stop)):
                out.coefficients.head[h] += scale * tape.U[h - start] * d_out[g, column + h - first]
        for h in range(stop - start):
            d.bias[h] += shared[0, h]
        for p in range(len(tape.d_nodes)):
            add_transposed_product(s.nodes, first_node, n, tape.d_nodes[p], d.nodes[p])
        for p in range(len(tape.d_edges)):
            add_transposed_product(near.values, first_value, n_values, tape.d_edges[p], d.pairs[p])
        add_transposed_product(s.totals, g, len(shared), shared, d.totals[0])
    if out.of_statistics:
        m = tile.matrices
        for p in range(len(tape.d_nodes)):
            out.nodes[first_node : first_node + n] += np.dot(tape.d_nodes[p], m.nodes[p].T)
        for p in range(len(tape.d_edges)):
            out.values[first_value : first_value + n_values] += np.dot(tape.d_edges[p], m.pairs[p].T)
        out.totals[g] += np.dot(m.totals[0], shared[0])
