"""Where graphs, nodes and pairs stand in a batch, and the statistics of A, as tensors with gradients.

The same numbers as in `grnf.engine.statistics`: x, and D, R, C of the edge channels, for each node; A_ij and
A_ji for each pair of nodes i < j with an arc; their sums for each graph. Shapes do not depend on values, so
that the whole is one graph for `torch.compile`: there the pairs are padded to the number of arcs.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from grnf.nn.inputs import Inputs

__all__ = ["Layout", "Statistics", "statistics"]


class Layout(NamedTuple):
    """Integers only. Nodes are sorted by graph: graph g has the nodes ptr[g] .. ptr[g + 1] - 1.

    `pairs` has rows i < j, sorted; rows of padding are -1 and stand last.
    """

    ptr: Tensor
    graph_of: Tensor
    pairs: Tensor


class Statistics(NamedTuple):
    """What the block form is linear in.

    Shapes: x (N, node channels), sums (N, 3, edge channels) with D, R, C, pairs (2, P, edge channels) with
    A_ij and A_ji, totals of nodes (G, node channels) and of edges (G, 2, edge channels) with d, S; u (G,) is
    1 / n, or 1 without normalisation.
    """

    layout: Layout
    x: Tensor
    sums: Tensor
    pairs: Tensor
    node_totals: Tensor
    edge_totals: Tensor
    u: Tensor


def statistics(inputs: Inputs, *, adjacency: bool, normalize: bool) -> Statistics:
    """Compute the statistics; `adjacency` puts the channel of ones before the attributes of edges."""
    x, arcs, values, batch, n_graphs = inputs
    n = len(x)
    if adjacency:
        values = torch.cat([values.new_ones(len(values), 1), values], dim=1)
    if torch.compiler.is_compiling() or bool((batch[1:] < batch[:-1]).any()):
        batch, order = torch.sort(batch, stable=True)
        position = torch.empty_like(order).scatter_(0, order, torch.arange(n, device=order.device))
        x, arcs = x[order], position[arcs]
    source, target = arcs
    empty = x.new_zeros(n, values.shape[1])
    loops = torch.where((source == target)[:, None], values, 0.0)
    sums = torch.stack(
        [
            empty.index_add(0, source, loops),
            empty.index_add(0, source, values),
            empty.index_add(0, target, values),
        ],
        dim=1,
    )
    ptr = torch.searchsorted(batch, torch.arange(n_graphs + 1, device=batch.device))
    pairs, place = _pairs(arcs, n)
    size = len(pairs)
    row = torch.where(source < target, place, place + size)
    kept = source != target
    if not torch.compiler.is_compiling():
        row, values = row[kept], values[kept]
    else:  # loops get a row of zeros to add to, if there is any row at all
        row, values = torch.where(kept, row, 0), torch.where(kept[:, None], values, 0.0)
    found = x.new_zeros(2 * size, values.shape[1]).index_add(0, row, values)
    sizes = (ptr[1:] - ptr[:-1]).to(x.dtype)
    return Statistics(
        Layout(ptr, batch, pairs),
        x,
        sums,
        found.view(2, size, found.shape[1]),
        x.new_zeros(n_graphs, x.shape[1]).index_add(0, batch, x),
        x.new_zeros(n_graphs, 2, sums.shape[2]).index_add(0, batch, sums[:, :2]),
        1.0 / sizes.clamp(min=1.0) if normalize else torch.ones_like(sizes),
    )


def _pairs(arcs: Tensor, n: int) -> tuple[Tensor, Tensor]:
    """Return the pairs i < j that have an arc, sorted, and the place of each arc's pair among them."""
    low, high = torch.minimum(arcs[0], arcs[1]), torch.maximum(arcs[0], arcs[1])
    loop = low == high
    keys, order = torch.sort(torch.where(loop, n * n, low * n + high))
    first = torch.ones_like(keys)
    first[1:] = (keys[1:] != keys[:-1]).long()
    rank = torch.cumsum(first, 0) - 1
    place = torch.empty_like(rank).scatter_(0, order, rank)
    pairs = keys.new_full((len(keys), 2), -1)
    ends = torch.where(loop[:, None], -1, torch.stack([low, high], dim=1))
    pairs = pairs.index_copy(0, place, ends) if torch.compiler.is_compiling() else _placed(pairs, place, ends)
    return pairs, place


def _placed(pairs: Tensor, place: Tensor, ends: Tensor) -> Tensor:
    """Put the ends in place, and leave the padding out."""
    pairs[place] = ends
    return pairs[: int((pairs[:, 0] >= 0).sum())]
