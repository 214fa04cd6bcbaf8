"""From drawn parameters to what the kernels read, the hidden channels of U_B by number of slots B, and back.

Each feature of order k has, for every partition of its k output indices into B slots, F_h hidden channels
in U_B. Coefficients are polynomials in u (1/n, or 1 without normalization): arrays start with an axis of 3.
They are linear in theta, so derivatives go back through the same table of places.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from grnf.basis import set_partitions
from grnf.basis.partitions import Partition, n_slots
from grnf.basis.slot_form import slot_map, slot_statistics
from grnf.law.parameters import OrderDraw
from grnf.typing import FloatArray, IntArray


class Coefficients(NamedTuple):
    """The H hidden channels of U_B. The columns match those of `Statistics`.

    Shapes: nodes (3, B, node columns, H), pairs (3, B (B - 1) / 2, pair columns, H), for slots p < q in
    lexicographic order, totals (3, 1, total columns, H), bias and head (H,). A row (start, stop, column) of
    `segments` means that channels start .. stop - 1 belong to the features column, column + 1, ... Features
    are numbered in the order of their groups.
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
    """Bring drawn parameters, gathered by order, into the form that the kernels read.

    Channels of the same order and partition are consecutive. Channel f m_k + m is hidden channel f of
    feature m.
    """
    parts: dict[int, list[tuple[OrderDraw, int, int]]] = {}
    column = 0
    for group in groups:
        for index, (_, B) in enumerate(_partitions(group.k)):
            parts.setdefault(B, []).append((group, index, column))
        column += len(group.features)
    return Channels(
        {B: _of_slots(B, parts[B], node_width, directed, basis, dtype) for B in sorted(parts)},
        np.concatenate([group.features for group in groups]),
        np.concatenate([group.invariant_bias for group in groups]),
    )


def hidden_channels(groups: tuple[OrderDraw, ...], given: Channels) -> Channels:
    """Make every hidden channel a feature of its own, with head 1, so that its sum U is a result.

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


def theta_gradients(
    groups: tuple[OrderDraw, ...],
    gradients: dict[int, Coefficients],
    *,
    node_width: int,
    directed: bool,
    basis: str,
) -> list[FloatArray]:
    """Return the derivatives of each group's `theta` from those of its channels. Of theta_0 it is 0 here."""
    starts = dict.fromkeys(gradients, 0)
    result: list[FloatArray] = []
    for group in groups:
        d = np.zeros(group.theta.shape)
        out = OrderDraw(group.k, group.features, d, group.channels, group.hidden_channels)  # views of d
        m, F_h = len(group.features), group.hidden_channels
        theta = np.zeros((out.equivariant.shape[1], group.channels, F_h, m))
        for index, (pi, B) in enumerate(_partitions(group.k)):
            own = slice(starts[B], starts[B] + m * F_h)
            starts[B] += m * F_h
            for place, channels, basis_elements, factors in _terms(
                pi, node_width, group.channels, directed, basis
            ):
                array, power, slot, columns = place
                source = getattr(gradients[B], array)[power, slot, columns, own].reshape(-1, F_h, m)
                for element, factor in zip(basis_elements, factors, strict=True):
                    theta[element, channels] += factor * source
            out.equivariant_bias[:, index] += gradients[B].bias[own].reshape(F_h, m).T
            out.invariant[:, index] += gradients[B].head[own].reshape(F_h, m).T
        out.equivariant[:] = theta.transpose(3, 0, 2, 1)
        result.append(d)
    return result


def _of_slots(
    B: int,
    parts: list[tuple[OrderDraw, int, int]],
    node_width: int,
    directed: bool,
    basis: str,
    dtype: Any,
) -> Coefficients:
    """Return the channels of U_B. A part is a group, one of its partitions, and its first feature."""
    node, edge = node_width, parts[0][0].channels - node_width
    H = sum(len(group.features) * group.hidden_channels for group, _, _ in parts)
    result = Coefficients(
        nodes=np.zeros((3, B, node + (3 if directed else 2) * edge, H), dtype),
        pairs=np.zeros((3, B * (B - 1) // 2, (2 if directed else 1) * edge, H), dtype),
        totals=np.zeros((3, 1, node + 2 * edge, H), dtype),
        bias=np.empty(H, dtype),
        head=np.empty(H, dtype),
        segments=np.empty((0, 3), np.int64),
    )
    segments, start = [], 0
    for group, index, column in parts:
        m, F_h = len(group.features), group.hidden_channels
        stop = start + m * F_h
        theta = group.equivariant.transpose(1, 3, 2, 0)  # basis, F, F_h, m
        pi, _ = _partitions(group.k)[index]
        for place, channels, basis_elements, factors in _terms(
            pi, node_width, group.channels, directed, basis
        ):
            array, power, slot, columns = place
            out = getattr(result, array)[power, slot, columns, start:stop].reshape(-1, F_h, m)
            if len(factors) == 1:  # without a copy: there may be very many channels
                np.multiply(theta[basis_elements[0], channels], factors[0], out=out, casting="same_kind")
            else:
                out[:] = np.tensordot(factors, theta[basis_elements, channels], 1)
        result.bias[start:stop] = group.equivariant_bias[:, index].T.reshape(-1)
        result.head[start:stop] = group.invariant[:, index].T.reshape(-1)
        segments += [(start + f * m, start + (f + 1) * m, column) for f in range(F_h)]
        start = stop
    return result._replace(segments=np.array(segments, dtype=np.int64))


class _Term(NamedTuple):
    """A block of coefficients, as a sum of theta of some basis elements with these factors.

    The place is an array of `Coefficients`, a power of u, a slot and columns.
    """

    place: tuple[str, int, int, slice]
    channels: slice
    basis_elements: IntArray
    factors: FloatArray


@lru_cache(maxsize=4096)
def _terms(pi: Partition, node_width: int, channels: int, directed: bool, basis: str) -> tuple[_Term, ...]:
    """Return the blocks of coefficients that are not 0, on the tuples that comply with pi."""
    mapping = slot_map(pi, basis)
    factors: dict[tuple[str, int, int, int, int], tuple[FloatArray, _Place]] = {}
    for place in _places(n_slots(pi), node_width, channels, directed):
        for power in range(3):
            key = (place.array, power, place.slot, place.columns.start, place.columns.stop)
            values = mapping.matrices[power, place.row]
            if key in factors:  # what multiplies equal numbers goes together
                values = values + factors[key][0]
            factors[key] = values, place
    result = []
    for (array, power, slot, _, _), (values, place) in factors.items():
        (used,) = np.nonzero(values)
        if len(used):
            where = array, power, slot, place.columns
            result.append(_Term(where, place.channels, mapping.columns[used], values[used]))
    return tuple(result)


@cache
def _partitions(k: int) -> tuple[tuple[Partition, int], ...]:
    """Return the partitions of k output indices, each with its number of slots."""
    return tuple((pi, n_slots(pi)) for pi in set_partitions(k))


@lru_cache(maxsize=256)
def _places(B: int, node_width: int, channels: int, directed: bool) -> tuple[_Place, ...]:
    """Return where the coefficients of every statistic go. Those that multiply equal numbers go together.

    On node channels D = R = C = x and d = S, and A vanishes off the diagonal. On undirected graphs R = C and
    A_ij = A_ji.
    """
    row = {statistic: i for i, statistic in enumerate(slot_statistics(B))}
    node, edge, F = slice(0, node_width), slice(node_width, channels), channels - node_width
    first, second, third = (slice(node_width + i * F, channels + i * F) for i in range(3))
    result = []
    for p in range(B):
        D, R, C = row["A", p, p], row["R", p, 0], row["C", p, 0]
        result += [_Place("nodes", p, node, statistic, node) for statistic in (D, R, C)]
        result += [_Place("nodes", p, first, D, edge), _Place("nodes", p, second, R, edge)]
        result += [_Place("nodes", p, third if directed else second, C, edge)]
    there = slice(0, F)
    back = slice(F, 2 * F) if directed else there
    for slot, (p, q) in enumerate(combinations(range(B), 2)):
        result += [_Place("pairs", slot, there, row["A", p, q], edge)]
        result += [_Place("pairs", slot, back, row["A", q, p], edge)]
    for statistic, columns in ((row["d", 0, 0], first), (row["S", 0, 0], second)):
        result += [_Place("totals", 0, node, statistic, node), _Place("totals", 0, columns, statistic, edge)]
    return tuple(result)
