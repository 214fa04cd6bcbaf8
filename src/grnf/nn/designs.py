"""The block form, read from the side of the graph: the columns that theta_F multiplies.

`grnf.basis.block_map` turns theta_F into coefficients of the statistics. It is linear, so it may as well be
applied to the statistics: on tuples of distinct nodes v_1 .. v_B

    t(v) = sum_p X_p[v_p] . W_p + sum_{p < q} Q_pq[v_p, v_q] . W_pq

where each column of a design X_p or Q_pq is a combination of statistics (or 1, for the bias), and each row
of W a sum of theta. Columns that are 0 or equal are left out: most of those of node channels, since their
free sums are empty.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from grnf.basis import block_map, block_statistics, n_blocks
from grnf.basis.partitions import Partition
from grnf.nn.layout import Statistics
from grnf.typing import FloatArray

__all__ = ["Part", "block_parts", "edge_design", "node_design", "weights"]


@dataclass(frozen=True, eq=False)
class Part:
    """Columns of one design, for node channels or for edge channels.

    `powers` are the coefficients of u^0, u^1, u^2, shape (3, statistics, columns), `members` 0 or 1, shape
    (columns, terms of theta); both flat, as plain numbers, which `torch.compile` takes as constants.
    """

    powers: list[float]
    members: list[float]
    n_statistics: int
    n_columns: int


@dataclass(frozen=True, eq=False)
class BlockParts:
    """All designs of one partition pi: (node channels, edge channels) of slots, then of pairs of slots."""

    B: int
    columns: tuple[int, ...]
    nodes: tuple[tuple[Part, Part], ...]
    edges: tuple[Part, ...]


@lru_cache(maxsize=64)
def block_parts(pi: Partition, basis: str) -> BlockParts:
    """Return the designs of the tuples that comply with pi."""
    mapping, B = block_map(pi, basis), n_blocks(pi)
    row = {statistic: i for i, statistic in enumerate(block_statistics(B))}

    def rows(*statistics: tuple[str, int, int]) -> FloatArray:
        return mapping.matrices[:, [row[statistic] for statistic in statistics]]

    totals = rows(("d", 0, 0), ("S", 0, 0))
    nodes = []
    for p in range(B):
        own = rows(("A", p, p), ("R", p, 0), ("C", p, 0))
        shared = totals if p == 0 else np.zeros_like(totals)  # what all tuples share rides on slot 1
        on_nodes = np.stack([own.sum(axis=1), shared.sum(axis=1)], axis=1)  # D = R = C and d = S there
        nodes.append((_distinct(on_nodes), _distinct(np.concatenate([own, shared], axis=1))))
    edges = [_distinct(rows(("A", p, q), ("A", q, p))) for p in range(B) for q in range(p + 1, B)]
    return BlockParts(B, tuple(mapping.columns.tolist()), tuple(nodes), tuple(edges))


def _distinct(powers: FloatArray) -> Part:
    """Keep the columns that are not 0, equal ones once."""
    flat = powers.reshape(-1, powers.shape[2]).T
    found: dict[bytes, list[int]] = {}
    for column, values in enumerate(flat + 0.0):  # + 0.0: no negative zeros
        if values.any():
            found.setdefault(values.tobytes(), []).append(column)
    members = np.zeros((len(found), len(flat)))
    for r, columns in enumerate(found.values()):
        members[r, columns] = 1.0
    first = [columns[0] for columns in found.values()]
    kept = powers[:, :, first]
    return Part(kept.ravel().tolist(), members.ravel().tolist(), kept.shape[1], len(first))


def weights(theta: Tensor, parts: tuple[Part | None, Part], node_channels: int) -> Tensor:
    """Return W, shape (columns of the design, F_h x features), from theta_F of shape (m, terms, F_h, F)."""
    found = []
    for part, channels in zip(parts, (slice(None, node_channels), slice(node_channels, None)), strict=True):
        if part is not None and part.n_columns:
            members = _tensor(part.members, theta).view(part.n_columns, -1)
            some = torch.einsum("rc,mchf->rfhm", members, theta[..., channels])
            found.append(some.reshape(some.shape[0] * some.shape[1], some.shape[2] * some.shape[3]))
    if not found:
        return theta.new_zeros(0, theta.shape[0] * theta.shape[2])
    return torch.cat(found)


def node_design(s: Statistics, parts: tuple[Part, Part], *, constant: bool) -> Tensor:
    """Return X_p, shape (N, columns): those of node channels, of edge channels, and ones for the bias."""
    graph_of = s.layout.graph_of
    u = _powers(s.u)[graph_of]
    on_nodes = torch.stack([s.x, s.node_totals[graph_of]], dim=1)
    on_edges = torch.cat([s.sums, s.edge_totals[graph_of]], dim=1)
    columns = [_combined(u, parts[0], on_nodes), _combined(u, parts[1], on_edges)]
    return torch.cat([*columns, u[:, :1]] if constant else columns, dim=1)


def edge_design(s: Statistics, part: Part) -> Tensor:
    """Return Q_pq, shape (2 P, columns): for each pair v_p = i, v_q = j, then for each v_p = j, v_q = i."""
    u = _powers(s.u)[s.layout.graph_of[s.layout.pairs[:, 0].clamp(min=0)]]
    there = s.pairs.transpose(0, 1)
    return torch.cat([_combined(u, part, there), _combined(u, part, there.flip(1))])


def _combined(u: Tensor, part: Part, values: Tensor) -> Tensor:
    """Return sum_s (c_0 + c_1 u + c_2 u^2)_s values_s, shape (rows, columns x channels)."""
    shape = part.n_statistics, part.n_columns
    coefficient = (u @ _tensor(part.powers, u).view(3, shape[0] * shape[1])).view(len(u), *shape)
    return torch.einsum("nsr,nsf->nrf", coefficient, values).reshape(len(values), shape[1] * values.shape[2])


def _powers(u: Tensor) -> Tensor:
    return torch.stack([torch.ones_like(u), u, u * u], dim=1)


def _tensor(values: list[float], like: Tensor) -> Tensor:
    return torch.tensor(values, dtype=like.dtype, device=like.device)
