"""U_B of some hidden channels and its derivatives on any device, by tables of bounded size.

The same functions as in `grnf.nn.loops`, in operations of torch alone; graphs of like size are treated
together.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import torch
from torch import Tensor

from grnf.engine.rows import RAMP, RELU
from grnf.nn import sorting
from grnf.nn.layout import Layout
from grnf.nn.rho import rho, slope

__all__ = ["numbers", "slopes_of", "sums_of"]

TABLE_ENTRIES = 2**24
"""Entries of a table of tuples x channels."""

SORTED_FROM = 384


class Places(NamedTuple):
    """A layout, with its sizes as plain numbers."""

    layout: Layout
    sizes: list[int]
    starts: list[int]


def numbers(layout: Layout) -> Places:
    """Return the layout with its sizes as plain numbers."""
    starts = layout.ptr.tolist()
    return Places(layout, [after - start for start, after in pairwise(starts)], starts)


def sums_of(code: int, rows: list[Tensor], edges: list[Tensor], at: Places) -> Tensor:
    """Return U_B, shape (graphs, h), of rows (N, h) for each slot and (2 P, h) for each pair of slots."""
    U = rows[0].new_zeros(len(at.sizes), rows[0].shape[1])
    graph_of = at.layout.graph_of
    if len(rows) == 1:
        return U.index_add_(0, graph_of, rho(code, rows[0]))
    if len(rows) == 2:
        for nodes, mask, graphs in _buckets(code, at, rows[0]):
            for t, valid, _ in _pair_tables(rows[0], rows[1], nodes, mask):
                U.index_add_(0, graphs, (rho(code, t) * valid).sum((1, 2)))
        for g, some in _large(code, at):
            U[g] = sorting.pair_sums(code, rows[0][some], rows[1][some]).to(U.dtype)
        i, j = _ends(at)
        without = rows[0][i] + rows[1][j]
        return U.index_add_(0, graph_of[i], rho(code, without + edges[0]) - rho(code, without))
    for g, some in _graphs(at, 3):
        tables = _triple_tables(rows, edges, at, g, some)
        for t, valid, _ in _triples(*tables):
            U[g] += (rho(code, t) * valid).sum((0, 1, 2))
    return U


def slopes_of(
    code: int, rows: list[Tensor], edges: list[Tensor], at: Places, dU: Tensor
) -> tuple[list[Tensor], list[Tensor]]:
    """Return the derivatives of rows and edges, given that of U_B."""
    graph_of = at.layout.graph_of
    if len(rows) == 1:
        return [slope(code, rho(code, rows[0])) * dU[graph_of]], edges
    found = [torch.zeros_like(row) for row in rows]
    if len(rows) == 2:
        for nodes, mask, graphs in _buckets(code, at, rows[0]):
            for t, valid, some in _pair_tables(rows[0], rows[1], nodes, mask):
                d = slope(code, rho(code, t)) * valid * dU[graphs][:, None, None]
                found[0].index_add_(0, nodes[:, some].flatten(), d.sum(2).flatten(0, 1))
                found[1].index_add_(0, nodes.flatten(), d.sum(1).flatten(0, 1))
        for g, part in _large(code, at):
            found[0][part], found[1][part] = sorting.pair_slopes(code, rows[0][part], rows[1][part], dU[g])
        i, j = _ends(at)
        without = rows[0][i] + rows[1][j]
        with_edge = slope(code, rho(code, without + edges[0]))
        d = dU[graph_of[i]]
        change = d * (with_edge - slope(code, rho(code, without)))
        found[0].index_add_(0, i, change)
        found[1].index_add_(0, j, change)
        return found, [d * with_edge]
    return _triple_slopes(code, rows, edges, at, dU, found)


def _triple_slopes(
    code: int, rows: list[Tensor], edges: list[Tensor], at: Places, dU: Tensor, found: list[Tensor]
) -> tuple[list[Tensor], list[Tensor]]:
    found_e = [torch.zeros_like(edge) for edge in edges]
    for g, part in _graphs(at, 3):
        tables = _triple_tables(rows, edges, at, g, part)
        d_tables = [torch.zeros_like(table) for table in tables]
        for t, valid, some in _triples(*tables):
            d = slope(code, rho(code, t)) * valid * dU[g]
            d_tables[0][some] += d.sum(2)
            d_tables[1][some] += d.sum(1)
            d_tables[2] += d.sum(0)
        found[0][part], found[1][part] = d_tables[0].sum(1), d_tables[0].sum(0)
        found[2][part] = d_tables[1].sum(0)
        place, i, j = _edges_of(at, part)
        for d_edge, d_table in zip(found_e, d_tables, strict=True):
            d_edge[place] = d_table[i, j]
    return found, found_e


def _graphs(at: Places, least: int) -> Iterator[tuple[int, slice]]:
    for g, size in enumerate(at.sizes):
        if size >= least:
            yield g, slice(at.starts[g], at.starts[g + 1])


def _large(code: int, at: Places) -> list[tuple[int, slice]]:
    return list(_graphs(at, SORTED_FROM)) if code in (RELU, RAMP) else []


def _buckets(code: int, at: Places, like: Tensor) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """Yield graphs of like size: nodes (graphs, largest size), which of them are there, and the graphs."""
    large = {g for g, _ in _large(code, at)}
    small = sorted((size, g) for g, size in enumerate(at.sizes) if size >= 2 and g not in large)
    while small:
        most = max(8, small[0][0] * 5 // 4)
        room = max(1, TABLE_ENTRIES // (most * most * like.shape[1]))
        count = min(room, sum(size <= most for size, _ in small))
        members, small = small[:count], small[count:]
        graphs = torch.tensor([g for _, g in members], device=like.device)
        offsets = torch.arange(members[-1][0], device=like.device)
        sizes = at.layout.ptr[graphs + 1] - at.layout.ptr[graphs]
        mask = offsets < sizes[:, None]
        yield torch.where(mask, at.layout.ptr[graphs][:, None] + offsets, 0), mask, graphs


def _pair_tables(a: Tensor, b: Tensor, nodes: Tensor, mask: Tensor) -> Iterator[tuple[Tensor, Tensor, slice]]:
    """Yield a_i + b_j, shape (graphs, some i, all j, h), with 1 where i and j are two nodes of the graph."""
    n = nodes.shape[1]
    different = ~torch.eye(n, dtype=torch.bool, device=nodes.device)
    step = max(1, TABLE_ENTRIES // (nodes.numel() * a.shape[1]))
    for start in range(0, n, step):
        some = slice(start, start + step)
        valid = mask[:, some, None] & mask[:, None] & different[some]
        yield a[nodes[:, some]][:, :, None] + b[nodes][:, None], valid[..., None].to(a.dtype), some


def _ends(at: Places) -> tuple[Tensor, Tensor]:
    pairs = at.layout.pairs
    return torch.cat([pairs[:, 0], pairs[:, 1]]), torch.cat([pairs[:, 1], pairs[:, 0]])


def _edges_of(at: Places, nodes: slice) -> tuple[Tensor, Tensor, Tensor]:
    """Return the rows of edges of one graph, and their ends in its own numbering."""
    i, j = _ends(at)
    place = ((i >= nodes.start) & (i < nodes.stop)).nonzero()[:, 0]
    return place, i[place] - nodes.start, j[place] - nodes.start


def _triple_tables(rows: list[Tensor], edges: list[Tensor], at: Places, g: int, nodes: slice) -> list[Tensor]:
    """Return T_12, T_13, T_23 of `grnf.engine.slopes3`, each of shape (n, n, h)."""
    a, b, c = (row[nodes] for row in rows)
    n = at.sizes[g]
    tables = [a[:, None] + b, c.expand(n, n, -1).clone(), c.new_zeros(n, n, c.shape[1])]
    place, i, j = _edges_of(at, nodes)
    for table, edge in zip(tables, edges, strict=True):
        table[i, j] += edge[place]
    return tables


def _triples(T12: Tensor, T13: Tensor, T23: Tensor) -> Iterator[tuple[Tensor, Tensor, slice]]:
    """Yield t, shape (some i, n, n, h), with 1 where i, j and k are distinct."""
    n = len(T12)
    different = ~torch.eye(n, dtype=torch.bool, device=T12.device)
    step = max(1, TABLE_ENTRIES // T12.numel() // n)
    for start in range(0, n, step):
        some = slice(start, start + step)
        valid = different[some, :, None] & different[some, None] & different
        yield T12[some, :, None] + T13[some, None] + T23, valid[..., None].to(T12.dtype), some
