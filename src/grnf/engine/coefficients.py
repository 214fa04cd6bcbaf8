"""From drawn parameters to what the primitives read: the hidden channels of U_B, block form, by B.

Each feature of order k has, for every partition of its k output indices into B blocks, F_h hidden channels
in U_B. Coefficients are polynomials in u (1/n, or 1 without normalisation): arrays start with an axis of 3.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from grnf.basis import slot_map, slot_statistics, n_slots, set_partitions
from grnf.law import Draw, OrderDraw
from grnf.typing import FloatArray, IntArray

__all__ = ["Coefficients", "coefficients", "single_channels"]


class Coefficients(NamedTuple):
    """The H hidden channels of U_B; the columns match those of `Statistics`.

    Shapes: nodes (3, B, node columns, H); pairs (3, B (B - 1) / 2, pair columns, H), for slots p < q in
    lexicographic order; totals (3, total columns, H); bias, head (H,). A row (start, stop, column) of
    `segments` says that channels start .. stop - 1 belong to the features column, column + 1, ..., where
    features are numbered in the order of `Draw.groups`.
    """

    nodes: FloatArray
    pairs: FloatArray
    totals: FloatArray
    bias: FloatArray
    head: FloatArray
    segments: IntArray


def coefficients(
    draw: Draw, *, node_width: int, directed: bool, basis: str, dtype: type[np.floating[Any]]
) -> dict[int, Coefficients]:
    """Return the hidden channels of a draw, by number of blocks B."""
    parts: dict[int, list[Coefficients]] = {}
    column = 0
    for group in draw.groups:
        for index, pi in enumerate(set_partitions(group.k)):
            part = _channels(group, index, column, node_width, directed, basis)
            parts.setdefault(n_slots(pi), []).append(part)
        column += len(group.features)
    return {B: _joined(parts[B], dtype) for B in sorted(parts)}


def single_channels(
    draw: Draw, by_blocks: dict[int, Coefficients]
) -> tuple[dict[int, Coefficients], IntArray]:
    """Make every hidden channel a feature of its own, with head 1; return also where each of them belongs.

    The place of hidden channel f of partition number i of feature m, in the group of order k, is
    m Bell(k) F_h + i F_h + f after all earlier groups: the layout of `OrderDraw.invariant`.
    """
    places: dict[int, list[IntArray]] = {B: [] for B in by_blocks}
    base = 0
    for group in draw.groups:
        m, F_h = len(group.features), group.hidden_channels
        layout = base + np.arange(group.invariant.size).reshape(group.invariant.shape)  # m, partition, f
        for index, pi in enumerate(set_partitions(group.k)):
            places[n_slots(pi)].append(layout[:, index].T.reshape(F_h * m))
        base += layout.size
    single, start = {}, 0
    for B, c in by_blocks.items():
        H = len(c.bias)
        single[B] = c._replace(head=np.ones_like(c.head), segments=np.array([(0, H, start)], dtype=np.int64))
        start += H
    return single, np.concatenate([np.concatenate(places[B]) for B in by_blocks])


def _joined(parts: list[Coefficients], dtype: type[np.floating[Any]]) -> Coefficients:
    """Put the channels of several orders and partitions side by side."""

    def join(name: str) -> FloatArray:
        arrays = [getattr(part, name) for part in parts]
        return np.ascontiguousarray(np.concatenate(arrays, axis=-1), dtype=dtype)

    shifts = np.cumsum([0, *(len(part.bias) for part in parts)])
    segments = [part.segments + np.array([s, s, 0]) for part, s in zip(parts, shifts[:-1], strict=True)]
    return Coefficients(
        join("nodes"), join("pairs"), join("totals"), join("bias"), join("head"), np.concatenate(segments)
    )


def _channels(
    group: OrderDraw, index: int, column: int, node_width: int, directed: bool, basis: str
) -> Coefficients:
    """Return the channels of one partition of the output indices, for all features of one order.

    Channel f m_k + m is the hidden channel f of feature m: features run fastest.
    """
    pi, m = set_partitions(group.k)[index], len(group.features)
    B = n_slots(pi)
    mapping = slot_map(pi, basis)
    theta = group.equivariant[:, mapping.columns]  # m, columns, F_h, F
    block = np.einsum("usc,mchf->usfhm", mapping.matrices, theta, optimize=True)
    block = block.reshape(*block.shape[:3], -1)  # u, statistic, F, H
    row = {statistic: i for i, statistic in enumerate(slot_statistics(B))}

    def of(name: str, p: int = 0, q: int = 0) -> FloatArray:
        return np.asarray(block[:, row[name, p, q]])

    slots = [(p, q) for p in range(B) for q in range(p + 1, B)]
    nodes = [_node_columns(of, p, node_width, directed) for p in range(B)]
    pairs = [_pair_columns(of, p, q, node_width, directed) for p, q in slots]
    d, S = of("d"), of("S")
    totals = np.concatenate([(d + S)[:, :node_width], d[:, node_width:], S[:, node_width:]], axis=1)
    n_pair_columns = (2 if directed else 1) * (group.channels - node_width)
    return Coefficients(
        np.stack(nodes, axis=1),
        np.stack(pairs, axis=1) if pairs else np.empty((3, 0, n_pair_columns, block.shape[-1])),
        totals,
        group.equivariant_bias[:, index].T.reshape(-1),
        group.invariant[:, index].T.reshape(-1),
        np.array([(f * m, (f + 1) * m, column) for f in range(group.hidden_channels)], dtype=np.int64),
    )


def _node_columns(of: Callable[..., FloatArray], p: int, node_width: int, directed: bool) -> FloatArray:
    """Merge what multiplies equal numbers: D = R = C on node channels, R = C on undirected graphs."""
    D, R, C = of("A", p, p), of("R", p), of("C", p)
    node = (D + R + C)[:, :node_width]
    edge = [D, R, C] if directed else [D, R + C]
    return np.concatenate([node, *(part[:, node_width:] for part in edge)], axis=1)


def _pair_columns(
    of: Callable[..., FloatArray], p: int, q: int, node_width: int, directed: bool
) -> FloatArray:
    """Node channels vanish off the diagonal, so only edge channels are left."""
    there, back = of("A", p, q)[:, node_width:], of("A", q, p)[:, node_width:]
    return np.concatenate([there, back], axis=1) if directed else there + back
