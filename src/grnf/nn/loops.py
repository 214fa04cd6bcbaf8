"""U_B of some hidden channels and its derivatives, on the processor, by the compiled loops of the engine."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from grnf.engine import slopes, slopes3
from grnf.engine.rows import RAMP, RELU
from grnf.nn import sorting
from grnf.nn.layout import Layout
from grnf.typing import FloatArray, IntArray

__all__ = ["SORTED_FROM", "Numbers", "numbers", "slopes_of", "sums_of"]

SORTED_FROM = 1024
"""Nodes from which sorting beats the loop over pairs, forward and backward together."""

TABLE_BYTES = 2**22
"""Memory of the tables of U_3."""


class Numbers(NamedTuple):
    """A layout as numpy arrays without padding; `pair_ptr` says which pairs belong to which graph."""

    ptr: IntArray
    graph_of: IntArray
    pairs: IntArray
    pair_ptr: IntArray

    def split(self, code: int) -> tuple[IntArray, list[int]]:
        """Return the graphs whose pairs are looped over, and those whose rows are sorted."""
        large = (np.diff(self.ptr) >= SORTED_FROM) & (code in (RELU, RAMP))
        return np.flatnonzero(~large), np.flatnonzero(large).tolist()


def numbers(layout: Layout) -> Numbers:
    """Return the layout as arrays."""
    ptr, graph_of, pairs = (part.cpu().numpy() for part in layout)
    pairs = np.ascontiguousarray(pairs[pairs[:, 0] >= 0])
    return Numbers(ptr, graph_of, pairs, np.searchsorted(pairs[:, 0], ptr))


def sums_of(code: int, rows: list[Tensor], edges: list[Tensor], at: Numbers) -> Tensor:
    """Return U_B, shape (graphs, h), of rows (N, h) for each slot and (2 P, h) for each pair of slots.

    The rows of U_1 are overwritten.
    """
    U = np.zeros((len(at.ptr) - 1, rows[0].shape[1]))
    arrays, e = [row.numpy() for row in rows], [edge.numpy() for edge in edges]
    a, b = arrays[0], arrays[-1]
    if len(rows) == 1:
        slopes.node_sums(code, a, at.ptr, U)
    elif len(rows) == 2:
        small, large = at.split(code)
        slopes.pair_sums(code, a, b, at.ptr, small, U)
        for g in large:
            some = slice(int(at.ptr[g]), int(at.ptr[g + 1]))
            U[g] += sorting.pair_sums(code, rows[0][some], rows[1][some]).numpy()
        slopes.edge_sums(code, a, b, e[0], at.pairs, at.graph_of, U)
    else:
        for g, columns in _tables(at, rows[0]):
            part, edge, pairs = _of_graph(arrays, e, at, g, columns)
            slopes3.triple_sums(code, part, edge, pairs, at.ptr[g], U[g, columns])
    return torch.from_numpy(U)


def slopes_of(
    code: int, rows: list[Tensor], edges: list[Tensor], at: Numbers, dU: Tensor
) -> tuple[list[Tensor], list[Tensor]]:
    """Return the derivatives of rows and edges, given that of U_B. The given rows are overwritten."""
    arrays, e, d = [row.numpy() for row in rows], [edge.numpy() for edge in edges], dU.contiguous().numpy()
    a, b = arrays[0], arrays[-1]
    if len(rows) == 1:
        slopes.node_slopes(code, a, at.ptr, d)
        return rows, edges
    if len(rows) == 2:
        small, large = at.split(code)
        found = [torch.zeros_like(row) for row in rows]
        da, db = (part.numpy() for part in found)
        slopes.pair_slopes(code, a, b, at.ptr, small, d, da, db)
        for g in large:
            some = slice(int(at.ptr[g]), int(at.ptr[g + 1]))
            for part, values in zip(
                found, sorting.pair_slopes(code, rows[0][some], rows[1][some], dU[g]), strict=True
            ):
                part[some] = values
        slopes.edge_slopes(code, a, b, e[0], at.pairs, at.graph_of, d, da, db)
        return found, edges
    found, found_e = [torch.zeros_like(row) for row in rows], [torch.zeros_like(edge) for edge in edges]
    for g, columns in _tables(at, rows[0]):
        table, edge, pairs = _of_graph(arrays, e, at, g, columns)
        slopes3.triple_slopes(code, table, edge, pairs, at.ptr[g], np.ascontiguousarray(d[g, columns]))
        nodes, both = slice(at.ptr[g], at.ptr[g + 1]), _both(at, g)
        for s in range(3):
            found[s].numpy()[nodes, columns] = table[s]
            found_e[s].numpy()[both, columns] = edge[s]
    return found, found_e


def _tables(at: Numbers, like: Tensor) -> list[tuple[int, slice]]:
    """Return graphs of 3 nodes or more, with as many channels at a time as their tables have room for."""
    found = []
    width, size = like.shape[1], like.element_size()
    for g in np.flatnonzero(np.diff(at.ptr) >= 3).tolist():
        n = int(at.ptr[g + 1] - at.ptr[g])
        step = max(1, min(width, TABLE_BYTES // (6 * n * n * size)))
        found += [(g, slice(start, min(start + step, width))) for start in range(0, width, step)]
    return found


def _both(at: Numbers, g: int) -> IntArray:
    """Return the rows of edges of one graph, there and back."""
    there = np.arange(at.pair_ptr[g], at.pair_ptr[g + 1])
    return np.concatenate([there, there + len(at.pairs)])


def _of_graph(
    rows: list[FloatArray], edges: list[FloatArray], at: Numbers, g: int, columns: slice
) -> tuple[FloatArray, FloatArray, IntArray]:
    """Return rows (3, n, channels) and edges (3, 2 x pairs, channels) of one graph, and its pairs."""
    nodes, both = slice(at.ptr[g], at.ptr[g + 1]), _both(at, g)
    return (
        np.stack([np.ascontiguousarray(row[nodes, columns]) for row in rows]),
        np.stack([np.ascontiguousarray(edge[both, columns]) for edge in edges]),
        at.pairs[at.pair_ptr[g] : at.pair_ptr[g + 1]],
    )
