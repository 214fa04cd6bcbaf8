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
from grnf.engine.rows import evaluate, project, set_evaluated
from grnf.engine.statistics import Neighbors, Statistics
from grnf.typing import FloatArray

__all__ = ["Gradients", "Matrices", "Tape", "finish_tape", "matrices", "projection_of", "start_tape", "terms"]


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
    dtype, width = c.bias.dtype, stop - start
    result = Matrices(
        np.empty((c.nodes.shape[1], c.nodes.shape[2], width), dtype),
        np.empty((c.pairs.shape[1], c.pairs.shape[2], width), dtype),
        np.empty((c.totals.shape[1], c.totals.shape[2], width), dtype),
        c.bias[start:stop],
    )
    for p in range(len(result.nodes)):
        set_evaluated(c.nodes, p, u, start, result.nodes[p])
    for p in range(len(result.pairs)):
        set_evaluated(c.pairs, p, u, start, result.pairs[p])
    for p in range(len(result.totals)):
        set_evaluated(c.totals, p, u, start, result.totals[p])
    return result


@inner
def projection_of(s: Statistics, near: Neighbors, m: Matrices, g: int) -> tuple[FloatArray, FloatArray]:
    """Return the rows of a graph."""
    dtype, width = m.bias.dtype, len(m.bias)
    first, n = s.node_ptr[g], s.node_ptr[g + 1] - s.node_ptr[g]
    n_values = near.value_ptr[g + 1] - near.value_ptr[g]
    nodes = np.empty((len(m.nodes), n, width), dtype)
    edges = np.empty((len(m.pairs), n_values, width), dtype)
    constant, zeros = np.empty((1, width), dtype), np.zeros(width, dtype)
    project(s.totals, g, len(constant), m.totals[0], m.bias, constant)
    for p in range(len(nodes)):
        project(s.nodes, first, n, m.nodes[p], constant[0], nodes[p])
        constant[:] = 0
    for p in range(len(edges)):
        project(near.values, near.value_ptr[g], n_values, m.pairs[p], zeros, edges[p])
    return nodes, edges


@compiled
def start_tape(
    s: Statistics,
    near: Neighbors,
    c: Coefficients,
    u: float,
    g: int,
    start: int,
    stop: int,
    d_out: FloatArray,
) -> Tape:
    """Return the rows of a tile, given the derivatives of the sums of all features, one row per graph."""
    nodes, edges = terms(s, near, c, u, g, start, stop)
    dU, scale = np.zeros(stop - start, c.bias.dtype), u ** len(nodes)
    for segment in range(len(c.segments)):
        first, last, column = c.segments[segment]
        for h in range(max(first, start), min(last, stop)):
            dU[h - start] = scale * c.head[h] * d_out[g, column + h - first]
    return Tape(nodes, edges, np.zeros(stop - start), dU, np.zeros_like(nodes), np.zeros_like(edges))


@compiled
def finish_tape(
    s: Statistics,
    near: Neighbors,
    c: Coefficients,
    u: float,
    g: int,
    start: int,
    tape: Tape,
    d_out: FloatArray,
    out: Gradients,
) -> None:
    """Add the derivatives of coefficients and statistics from those of a tile's rows: `terms` transposed."""
    stop, scale = start + len(tape.U), u ** len(tape.nodes)
    nodes = slice(s.node_ptr[g], s.node_ptr[g + 1])
    values = slice(near.value_ptr[g], near.value_ptr[g + 1])
    shared = np.zeros(stop - start, c.bias.dtype)
    for i in range(tape.d_nodes.shape[1]):
        for h in range(len(shared)):
            shared[h] += tape.d_nodes[0, i, h]
    if out.of_coefficients:
        d = out.coefficients
        for segment in range(len(c.segments)):
            first, last, column = c.segments[segment]
            for h in range(max(first, start), min(last, stop)):
                d.head[h] += scale * tape.U[h - start] * d_out[g, column + h - first]
        for h in range(len(shared)):
            d.bias[start + h] += shared[h]
        for p in range(len(tape.d_nodes)):
            _add_powers(d.nodes, p, u, start, np.dot(s.nodes[nodes].T, tape.d_nodes[p]))
        for p in range(len(tape.d_edges)):
            _add_powers(d.pairs, p, u, start, np.dot(near.values[values].T, tape.d_edges[p]))
        _add_powers(d.totals, 0, u, start, np.outer(s.totals[g], shared))
    if out.of_statistics:
        for p in range(len(tape.d_nodes)):
            out.nodes[nodes] += np.dot(tape.d_nodes[p], evaluate(c.nodes, p, u, start, stop).T)
        for p in range(len(tape.d_edges)):
            out.values[values] += np.dot(tape.d_edges[p], evaluate(c.pairs, p, u, start, stop).T)
        out.totals[g] += np.dot(evaluate(c.totals, 0, u, start, stop), shared)


@compiled
def _add_powers(d: FloatArray, p: int, u: float, start: int, matrix: FloatArray) -> None:
    """Add the derivatives of the coefficients of u^0, u^1, u^2."""
    power = matrix.dtype.type(1)
    for q in range(3):
        for r in range(matrix.shape[0]):
            row, source = d[q, p, r, start : start + matrix.shape[1]], matrix[r]
            for h in range(len(row)):
                row[h] += power * source[h]
        power *= matrix.dtype.type(u)
