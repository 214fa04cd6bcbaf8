"""From drawn parameters to what the loops read, the hidden channels of U_B by number of slots B; and back.

Each feature of order k has, for every partition of its k output indices into B slots, F_h hidden channels
in U_B. Coefficients are polynomials in u (1/n, or 1 without normalisation): arrays start with an axis of 3.
They are linear in theta, so derivatives go back through the same table of places.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from grnf.basis import n_slots, set_partitions, slot_map, slot_statistics
from grnf.basis.partitions import Partition
from grnf.law import OrderDraw
from grnf.typing import FloatArray, IntArray

__all__ = ["Channels", "Coefficients", "channels", "hidden_channels", "theta_slopes"]


class Coefficients(NamedTuple):
    """The H hidden channels of U_B; the columns match those of `Statistics`.

    Shapes: nodes (3, B, node columns, H); pairs (3, B (B - 1) / 2, pair columns, H), for slots p < q in
    lexicographic order; totals (3, 1, total columns, H); bias, head (H,). A row (start, stop, column) of
    `segments` says that channels start .. stop - 1 belong to the features column, column + 1, ..., where
    features are numbered in the order of their groups.
    """

    nodes: FloatArray
    pairs: FloatArray
    totals: FloatArray
    bias: FloatArray
    head: FloatArray
    segments: IntArray

    def zeros(self) -> Coefficients:
        """Return as many zeros, for derivatives to be added to."""
        numbers = {name: np.zeros_like(getattr(self, name)) for name in self._fields if name != "segments"}
        return self._replace(**numbers)


@dataclass(frozen=True, eq=False)
class Channels:
    """The channels of some features, ready for the engine: in its own order, which `columns` tells."""

    by_slots: dict[int, Coefficients]
    columns: IntArray
    bias: FloatArray


class _Place(NamedTuple):
    """Columns of an array of `Coefficients`, and the row of the slot map whose coefficients they have."""

    array: str
    slot: int
    columns: slice
    row: int
    channels: slice


def channels(
    groups: tuple[OrderDraw, ...], *, node_width: int, directed: bool, basis: str, dtype: Any
) -> Channels:
    """Bring drawn parameters, gathered by order, into the form that the loops read."""
    found: dict[int, list[Coefficients]] = {}
    column = 0
    for group in groups:
        for index, (_, B) in enumerate(_partitions(group.k)):
            part = _of_partition(group, index, column, node_width, directed, basis)
            found.setdefault(B, []).append(part)
        column += len(group.features)
    return Channels(
        {B: _joined(found[B], dtype) for B in sorted(found)},
        np.concatenate([group.features for group in groups]),
        np.concatenate([group.invariant_bias for group in groups]),
    )


def hidden_channels(groups: tuple[OrderDraw, ...], given: Channels) -> Channels:
    """Make every hidden channel a feature of its own, with head 1, so that its sum U stands by itself.

    The place of hidden channel f of partition number i of feature m, in the group of order k, is
    m Bell(k) F_h + i F_h + f after all earlier groups: the layout of `OrderDraw.invariant`.
    """
    places: dict[int, list[IntArray]] = {B: [] for B in given.by_slots}
    base = 0
    for group in groups:
        layout = base + np.arange(group.invariant.size).reshape(group.invariant.shape)  # m, partition, f
        for index, (_, B) in enumerate(_partitions(group.k)):
            places[B].append(layout[:, index].T.reshape(-1))
        base += layout.size
    single, start = {}, 0
    for B, c in given.by_slots.items():
        H = len(c.bias)
        single[B] = c._replace(head=np.ones_like(c.head), segments=np.array([(0, H, start)], dtype=np.int64))
        start += H
    columns = np.concatenate([np.concatenate(places[B]) for B in given.by_slots])
    return Channels(single, columns, np.zeros(len(columns)))


def theta_slopes(
    groups: tuple[OrderDraw, ...],
    slopes: dict[int, Coefficients],
    *,
    node_width: int,
    directed: bool,
    basis: str,
) -> list[FloatArray]:
    """Return the derivatives of each group's `theta` from those of its channels; of theta_0 it is 0 here."""
    starts = dict.fromkeys(slopes, 0)
    found: list[FloatArray] = []
    for group in groups:
        d = np.zeros(group.theta.shape)
        out = OrderDraw(group.k, group.features, d, group.channels, group.hidden_channels)  # views of d
        m, F_h = len(group.features), group.hidden_channels
        for index, (pi, B) in enumerate(_partitions(group.k)):
            mapping = slot_map(pi, basis)
            own = slice(starts[B], starts[B] + m * F_h)
            starts[B] += m * F_h
            form = np.zeros((3, mapping.matrices.shape[1], group.channels, m * F_h))
            for place in _places(B, node_width, group.channels, directed):
                source = getattr(slopes[B], place.array)[:, place.slot, place.columns, own]
                form[:, place.row, place.channels] += source
            theta = np.einsum(
                "usc,usfhm->mchf", mapping.matrices, form.reshape(*form.shape[:3], F_h, m), optimize=True
            )
            out.equivariant[:, mapping.columns] += theta
            out.equivariant_bias[:, index] += slopes[B].bias[own].reshape(F_h, m).T
            out.invariant[:, index] += slopes[B].head[own].reshape(F_h, m).T
        found.append(d)
    return found


def _of_partition(
    group: OrderDraw, index: int, column: int, node_width: int, directed: bool, basis: str
) -> Coefficients:
    """Return the channels of one partition of the output indices, for all features of one order.

    Channel f m_k + m is the hidden channel f of feature m: features run fastest.
    """
    (pi, B), m = _partitions(group.k)[index], len(group.features)
    mapping, H = slot_map(pi, basis), m * group.hidden_channels
    theta = group.equivariant[:, mapping.columns]  # m, columns, F_h, F
    node, edge = node_width, group.channels - node_width
    arrays = {
        "nodes": np.zeros((3, B, node + (3 if directed else 2) * edge, H)),
        "pairs": np.zeros((3, B * (B - 1) // 2, (2 if directed else 1) * edge, H)),
        "totals": np.zeros((3, 1, node + 2 * edge, H)),
    }
    for channels in (slice(0, node), slice(node, group.channels)):
        wanted: dict[tuple[str, int, int, int], FloatArray] = {}
        for place in _places(B, node_width, group.channels, directed):
            if place.channels == channels:
                key = place.array, place.slot, place.columns.start, place.columns.stop
                wanted[key] = wanted.get(key, 0.0) + mapping.matrices[:, place.row]  # what goes together
        own = theta[:, :, :, channels]
        flat = own.transpose(1, 3, 2, 0).reshape(own.shape[1], -1)  # columns, (F, F_h, m)
        found = np.concatenate(list(wanted.values())) @ flat
        for (array, slot, start, stop), form in zip(
            wanted, found.reshape(len(wanted), 3, own.shape[3], H), strict=True
        ):
            arrays[array][:, slot, start:stop] = form
    return Coefficients(
        **arrays,
        bias=group.equivariant_bias[:, index].T.reshape(-1),
        head=group.invariant[:, index].T.reshape(-1),
        segments=np.array(
            [(f * m, (f + 1) * m, column) for f in range(group.hidden_channels)], dtype=np.int64
        ),
    )


@cache
def _partitions(k: int) -> tuple[tuple[Partition, int], ...]:
    """Return the partitions of k output indices, each with its number of slots."""
    return tuple((pi, n_slots(pi)) for pi in set_partitions(k))


@lru_cache(maxsize=256)
def _places(B: int, node_width: int, channels: int, directed: bool) -> tuple[_Place, ...]:
    """Return where the coefficients of every statistic go; those that multiply equal numbers go together.

    On node channels D = R = C = x and d = S, and A vanishes off the diagonal; on undirected graphs R = C and
    A_ij = A_ji.
    """
    row = {statistic: i for i, statistic in enumerate(slot_statistics(B))}
    node, edge, F = slice(0, node_width), slice(node_width, channels), channels - node_width
    first, second, third = (slice(node_width + i * F, channels + i * F) for i in range(3))
    found = []
    for p in range(B):
        D, R, C = row["A", p, p], row["R", p, 0], row["C", p, 0]
        found += [_Place("nodes", p, node, statistic, node) for statistic in (D, R, C)]
        found += [_Place("nodes", p, first, D, edge), _Place("nodes", p, second, R, edge)]
        found += [_Place("nodes", p, third if directed else second, C, edge)]
    there = slice(0, F)
    back = slice(F, 2 * F) if directed else there
    for slot, (p, q) in enumerate(combinations(range(B), 2)):
        found += [_Place("pairs", slot, there, row["A", p, q], edge)]
        found += [_Place("pairs", slot, back, row["A", q, p], edge)]
    for statistic, columns in ((row["d", 0, 0], first), (row["S", 0, 0], second)):
        found += [_Place("totals", 0, node, statistic, node), _Place("totals", 0, columns, statistic, edge)]
    return tuple(found)


def _joined(parts: list[Coefficients], dtype: Any) -> Coefficients:
    """Put the channels of several orders and partitions side by side."""

    def join(name: str) -> FloatArray:
        arrays = [getattr(part, name) for part in parts]
        return np.ascontiguousarray(np.concatenate(arrays, axis=-1), dtype=dtype)

    shifts = np.cumsum([0, *(len(part.bias) for part in parts)])
    segments = [part.segments + np.array([s, s, 0]) for part, s in zip(parts, shifts[:-1], strict=True)]
    return Coefficients(
        join("nodes"), join("pairs"), join("totals"), join("bias"), join("head"), np.concatenate(segments)
    )
