"""E[U . U'] of two graphs in closed form: a sum over pairs of types of tuples.

On the tuples that comply with a partition, t(v) = theta . f(v) with independent normal theta, so
E[rho_e(t(v)) rho_e(t(v'))] depends on |f(v)|^2, |f(v')|^2 and f(v) . f(v') only. The vector f(v) is a sum of
*atoms*: one per slot, for the class of its node, and one per pair of slots, for the value of the edge between
them. Inner products of atoms are a matrix product, and inner products of tuples are sums of those. Tuples of
one type have the same f, so each type counts as often as it occurs. Slots of both tuples may be permuted
together, so one of the two tuples runs over one representative of each orbit of types.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, permutations
from typing import NamedTuple

import numpy as np

from grnf._utils.arrays import offsets
from grnf._utils.jit import compiled, inner
from grnf.basis import set_partitions
from grnf.basis.partitions import Partition, n_slots
from grnf.basis.slot_form import slot_map, slot_statistics
from grnf.engine.plan import Engine
from grnf.engine.schedule import Piece
from grnf.engine.statistics import Neighbors, Statistics, folded, neighbors
from grnf.engine.tuple_types import list_types
from grnf.errors import OrderTooLargeError
from grnf.graphs import GraphBatch
from grnf.typing import BoolArray, FloatArray, IntArray

KEPT_ENTRIES = 2**24
"""Entries of a block, and of blocks that are kept for the next rows: 128 MB, less if graphs are small."""
MOST_TYPES = 200_000
"""Types of tuples that a graph may have."""

GRAM_ENTRIES = 2**21
"""Entries of the inner products of atoms that are held at once."""

HALF_PI = math.pi / 2

# asin(x) = x (A0 + A1 x^2 + ..) to 2e-17 for |x| <= 1/2: the polynomial in x^2 at 13 Chebyshev nodes.
ARCSINE = (
    1.0, 0.1666666666666494118, 0.075000000003852016734, 0.044642856805998938418, 0.030381959697685138233,
    0.022371749733164054133, 0.017359779641349980067, 0.013884842826402080755, 0.01217013859239172629,
    0.0065293020047365692817, 0.019513468251252168004, -0.016187392271599133212, 0.031879621400812839426,
)  # fmt: skip
A0, A1, A2, A3, A4, A5, A6, A7, A8, A9, A10, A11, A12 = ARCSINE


# ---- types of tuples


class GraphTypes(NamedTuple):
    """The types of the tuples of B nodes of a graph of `size` nodes.

    `nodes` has a row [x | D | R | C] for each class of equal nodes, `values` a row [A_ij | A_ji] for each
    value of an edge, the first 0 for pairs without one, `totals` is [sum x | sum D | sum R]. A row of `types`
    is the class of each slot, then the value of each pair of slots p < q, and `counts` the ordered tuples of
    distinct nodes of that type. `orbits` is 0, or for one of the types that are permutations of each other
    their number.
    """

    size: int
    nodes: FloatArray
    values: FloatArray
    totals: FloatArray
    types: IntArray
    counts: FloatArray
    orbits: FloatArray


def graph_types(
    engine: Engine, batch: GraphBatch, B: int, max_types: int = MOST_TYPES, orbits: bool = True
) -> Iterator[tuple[int, GraphTypes]]:
    """Yield the types of tuples of B nodes of each graph, with the position of the graph.

    Without `orbits` they are not looked for, and all are 1.
    """
    for directed in (False, True):
        (members,) = np.nonzero(batch.directed == directed)
        for start in range(0, len(members), 512):
            piece = Piece(members[start : start + 512], directed)
            s = folded(engine.statistics(batch, piece))
            near = neighbors(s)
            _, classes, beside, of = engine._classes(s, near, twins=True)
            first = 0
            while B > 1 and first < len(piece.members):
                most = np.full(len(piece.members), max_types)
                lists = list_types(of, s.sizes, B, most, False, first, MOST_TYPES)
                for item in range(len(lists.done)):
                    g = first + item
                    if not lists.done[item]:
                        raise OrderTooLargeError(
                            f"graph {piece.members[g]} has more than {max_types:,} types of tuples of {B} "
                            "nodes, too many for a closed form. Use lower orders, or an estimate"
                        )
                    own = slice(lists.ptr[item], lists.ptr[item + 1])
                    symbols = lists.symbols[lists.symbol_ptr[item] : lists.symbol_ptr[item + 1]]
                    types = _decoded(B, lists.bits[item], lists.prefix[own], symbols[lists.last[own]])
                    yield (
                        int(piece.members[g]),
                        _gathered(s, classes, beside, g, types, lists.counts[own], orbits),
                    )
                first += len(lists.done)
            for g in range(len(piece.members) if B == 1 else 0):
                own = slice(of.node_ptr[g], of.node_ptr[g + 1])
                n_classes = int(of.n_classes[g])
                counts = np.bincount(of.classes[own], weights=of.size[own], minlength=n_classes)
                types = np.arange(n_classes)[:, np.newaxis]
                yield int(piece.members[g]), _gathered(s, classes, beside, g, types, counts, False)


def _decoded(B: int, bits: IntArray, prefix: IntArray, symbols: IntArray) -> IntArray:
    """Return the class of each slot and the value of each pair of slots of types written as numbers."""
    class_bits, value_bits = int(bits[0]), int(bits[1])
    pairs = {pair: B + place for place, pair in enumerate(combinations(range(B), 2))}
    types = np.empty((len(prefix), B + len(pairs)), np.int64)
    rest = symbols
    for q in range(B - 1, -1, -1):
        for p in range(q):
            types[:, pairs[p, q]] = rest & ((1 << value_bits) - 1)
            rest = rest >> value_bits
        types[:, q] = rest & ((1 << class_bits) - 1)
        rest = prefix if q == B - 1 else rest >> class_bits
    return types


def _gathered(
    s: Statistics,
    classes: Statistics,
    near: Neighbors,
    g: int,
    types: IntArray,
    counts: IntArray,
    orbits: bool,
) -> GraphTypes:
    nodes = classes.nodes[classes.node_ptr[g] : classes.node_ptr[g + 1]]
    values = near.values[near.value_ptr[g] : near.value_ptr[g + 1]]
    F = values.shape[1] // 2 if s.directed else values.shape[1]
    if not s.directed:
        nodes, values = np.hstack([nodes, nodes[:, nodes.shape[1] - F :]]), np.hstack([values, values])
    values = np.vstack([np.zeros((1, 2 * F)), values])
    sizes = _orbits(types, values) if orbits else np.ones(len(types))
    return GraphTypes(
        int(s.sizes[g]), nodes, values, s.totals[g], types, np.asarray(counts, np.float64), sizes
    )


def _orbits(types: IntArray, values: FloatArray) -> FloatArray:
    """Return the size of the orbit of each type under permutations of slots, 0 but for one of each orbit."""
    B = round((math.isqrt(8 * types.shape[1] + 1) - 1) / 2)
    if B == 1 or not len(types):
        return np.ones(len(types))
    F = values.shape[1] // 2
    _, number = np.unique(np.vstack([values, np.roll(values, F, axis=1)]), axis=0, return_inverse=True)
    number = number.ravel()
    there, back = number[: len(values)], number[len(values) :]
    pairs = {pair: B + place for place, pair in enumerate(combinations(range(B), 2))}
    radix = 1 + int(max(types[:, :B].max(), number.max()))
    exact = radix ** types.shape[1] < 2**62
    written = []
    for order in permutations(range(B)):
        columns = [types[:, slot] for slot in order]
        for p, q in pairs:
            one, two = order[p], order[q]
            swap = one > two
            columns.append((back if swap else there)[types[:, pairs[min(one, two), max(one, two)]]])
        rows = np.stack(columns, axis=1)
        written.append(rows if not exact else rows @ radix ** np.arange(rows.shape[1])[::-1])
    if not exact:
        _, numbers = np.unique(np.concatenate(written), axis=0, return_inverse=True)
        written = list(numbers.ravel().reshape(len(written), -1))
    table = np.sort(np.stack(written), axis=0)
    distinct = 1 + (np.diff(table, axis=0) != 0).sum(axis=0)
    return np.where(written[0] == table[0], distinct, 0).astype(np.float64)


# ---- coordinates of f(v)


class Coordinates(NamedTuple):
    """How f depends on the statistics of a tuple, for the partitions with B slots that share it.

    `node` and `edge` have shape (3, kinds, columns): the coefficients of u^0, u^1, u^2, u = 1/n, of each kind
    of statistic. Kinds of node channels are x of each slot, then their total, of edge channels D, R and C of
    each slot, A_pq and A_qp of each pair p < q, then d and S. Equal columns are one, times the root of their
    number. Columns of zeros are left out. `symmetric` if a permutation of the slots of both tuples changes
    nothing, which in the overlapping basis takes blocks of equal size.
    """

    slots: int
    node: FloatArray
    edge: FloatArray
    symmetric: bool


def partition_groups(k: int, basis: str) -> list[tuple[int, Coordinates]]:
    """Return the partitions of k indices as groups with the same second moments: (how many, coordinates)."""
    groups: dict[tuple[int, bytes, bytes], list[Coordinates]] = {}
    for pi in set_partitions(k):
        own = coordinates(pi, basis)
        groups.setdefault((own.slots, own.node.tobytes(), own.edge.tobytes()), []).append(own)
    return [(len(same), same[0]) for same in groups.values()]


def coordinates(pi: Partition, basis: str) -> Coordinates:
    """Return how f depends on the statistics of the tuples that comply with a partition."""
    B, by_basis = n_slots(pi), slot_map(pi, basis)
    row = {statistic: place for place, statistic in enumerate(slot_statistics(B))}

    def kind(*parts: tuple[str, int, int]) -> FloatArray:
        return np.asarray(by_basis.matrices[:, [row[part] for part in parts]].sum(axis=1))

    slots = range(B)
    node = [kind(("A", p, p), ("R", p, 0), ("C", p, 0)) for p in slots]
    edge = [kind(part) for p in slots for part in (("A", p, p), ("R", p, 0), ("C", p, 0))]
    for p, q in combinations(slots, 2):
        edge += [kind(("A", p, q)), kind(("A", q, p))]
    node.append(kind(("d", 0, 0), ("S", 0, 0)))
    edge += [kind(("d", 0, 0)), kind(("S", 0, 0))]
    sizes = {pi.count(slot) for slot in slots}
    symmetric = basis == "indicator" or len(sizes) == 1
    return Coordinates(B, _merged(np.stack(node, axis=1)), _merged(np.stack(edge, axis=1)), symmetric)


def _merged(matrices: FloatArray) -> FloatArray:
    """Join equal columns of shape (3, kinds, columns), and leave out those of zeros, in a fixed order."""
    flat, counts = np.unique(matrices.reshape(-1, matrices.shape[2]), axis=1, return_counts=True)
    flat, counts = flat[:, flat.any(axis=0)], counts[flat.any(axis=0)]
    return np.ascontiguousarray((flat * np.sqrt(counts)).reshape(3, matrices.shape[1], -1))


# ---- atoms of a block of graphs


class Side(NamedTuple):
    """Some graphs as atoms and types. `used` marks the columns of atoms that are not 0.

    `factors` are what inner products are multiplied with. `totals` counts the tuples of each graph.
    """

    atoms: FloatArray
    used: BoolArray
    atom_ptr: IntArray
    type_ptr: IntArray
    types: IntArray
    weights: FloatArray
    orbits: FloatArray
    factors: FloatArray
    totals: FloatArray


def _side(
    graphs: Sequence[GraphTypes],
    node_width: int,
    form: Coordinates,
    normalize: bool,
    moments: Moments,
    variance: float,
) -> Side:
    atoms = [_atoms(g, node_width, form, normalize) for g in graphs]
    types = [g.types + _starts(form.slots, len(g.nodes), len(g.values)) for g in graphs]
    counts = [g.counts * _scale(g, normalize) ** form.slots for g in graphs]
    squares = variance * np.concatenate(
        [_squares(own, index) for own, index in zip(atoms, types, strict=True)]
    )
    joined = np.concatenate(atoms)
    return Side(
        joined,
        np.asarray(joined.any(axis=0)),
        offsets(np.array([len(own) for own in atoms])),
        offsets(np.array([len(own) for own in types])),
        np.ascontiguousarray(np.concatenate(types).T),
        moments.type_weights(np.concatenate(counts), squares),
        np.concatenate([g.orbits if form.symmetric else np.ones(len(g.orbits)) for g in graphs]),
        moments.factors(squares),
        np.array([own.sum() for own in counts]),
    )


def type_vectors(
    g: GraphTypes, node_width: int, form: Coordinates, normalize: bool
) -> tuple[FloatArray, FloatArray]:
    """Return f of each type of a graph, one per row, and how often it counts."""
    atoms, out = _atoms(g, node_width, form, normalize), 0.0
    for column in (g.types + _starts(form.slots, len(g.nodes), len(g.values))).T:
        out = out + atoms[column]
    return np.asarray(out), g.counts * _scale(g, normalize) ** form.slots


def _scale(g: GraphTypes, normalize: bool) -> float:
    return 1 / max(g.size, 1) if normalize else 1.0


def _starts(B: int, n_classes: int, n_values: int) -> IntArray:
    """Return at which atom the classes of each slot and the values of each pair of slots start."""
    pairs = np.arange(B * (B - 1) // 2)
    return np.concatenate([np.arange(B) * n_classes, B * n_classes + pairs * n_values])


def _atoms(g: GraphTypes, node_width: int, form: Coordinates, normalize: bool) -> FloatArray:
    """Return the atoms of a graph, one per row. The last column is the bias."""
    B, u = form.slots, _scale(g, normalize)
    node, edge = (matrix[0] + u * matrix[1] + u * u * matrix[2] for matrix in (form.node, form.edge))
    F = (g.nodes.shape[1] - node_width) // 3
    x, D, R, C = np.split(g.nodes, [node_width, node_width + F, node_width + 2 * F], axis=1)
    there, back = g.values[:, :F], g.values[:, F:]
    n_classes, n_values = len(g.nodes), len(g.values)
    n_atoms = B * n_classes + B * (B - 1) // 2 * n_values
    of_nodes = np.zeros((n_atoms, node_width, node.shape[1]))
    of_edges = np.zeros((n_atoms, F, edge.shape[1]))
    bias = np.zeros((n_atoms, 1))
    for p in range(B):
        own = slice(p * n_classes, (p + 1) * n_classes)
        of_nodes[own] = np.multiply.outer(x, node[p])
        of_edges[own] = sum(np.multiply.outer(part, edge[3 * p + i]) for i, part in enumerate((D, R, C)))
    for place in range(B * (B - 1) // 2):
        start = B * n_classes + place * n_values
        kinds = edge[3 * B + 2 * place :]
        of_edges[start : start + n_values] = np.multiply.outer(there, kinds[0])
        of_edges[start : start + n_values] += np.multiply.outer(back, kinds[1])
    total_x, d, S = np.split(g.totals, [node_width, node_width + F])
    shared = slice(
        0, n_classes
    )  # every tuple has one atom of the first slot: what all tuples share goes there
    of_nodes[shared] += np.multiply.outer(total_x, node[B])
    of_edges[shared] += np.multiply.outer(d, edge[-2]) + np.multiply.outer(S, edge[-1])
    bias[shared] = 1
    widths = [math.prod(part.shape[1:]) for part in (of_nodes, of_edges)]
    return np.hstack([of_nodes.reshape(n_atoms, widths[0]), of_edges.reshape(n_atoms, widths[1]), bias])


@compiled
def _squares(atoms: FloatArray, types: IntArray) -> FloatArray:
    """Return |f|^2 of each type."""
    out = np.zeros(len(types))
    row = np.zeros(atoms.shape[1])
    for t in range(len(types)):
        row[:] = 0
        for j in range(types.shape[1]):
            atom = atoms[types[t, j]]
            for c in range(len(row)):
                row[c] += atom[c]
        total = 0.0
        for c in range(len(row)):
            total += row[c] * row[c]
        out[t] = total
    return out


# ---- sums over pairs of types


LINEAR, ARC_COSINE, ARCSINES = range(3)
"""Closed forms of E[rho(x) rho(y)], see `Moments`."""


@dataclass(frozen=True)
class Moments:
    """E[rho(x) rho(y)] of normal x, y with covariance e, in the form that the kernels take.

    The identity is LINEAR: e. The relu is ARC_COSINE: |x| |y| (sin t + (pi - t) cos t) / (2 pi) with
    cos t = e / (|x| |y|). Mixtures of erf(a x) are ARCSINES: shift + factor sum_ab w_a w_b asin(e f_a f_b),
    f_a = a / sqrt(1/2 + a^2 |x|^2).
    """

    kind: int
    nodes: tuple[float, ...] = (1.0,)
    weights: tuple[float, ...] = (1.0,)
    shift: float = 0.0
    factor: float = 1.0

    def factors(self, squares: FloatArray) -> FloatArray:
        """Return what e is multiplied with, given |x|^2: one array per node of the mixture."""
        a = np.expand_dims(np.array(self.nodes), tuple(range(1, 1 + np.ndim(squares))))
        if self.kind == ARCSINES:
            return np.asarray(a / np.sqrt(0.5 + a * a * squares))
        return np.asarray(a / np.sqrt(squares) if self.kind == ARC_COSINE else a * np.ones_like(squares))

    def type_weights(self, weights: FloatArray, squares: FloatArray) -> FloatArray:
        """Return the weights of types, with the factors that depend on one type alone."""
        return weights * np.sqrt(squares / (2 * math.pi)) if self.kind == ARC_COSINE else weights


def second_moments(
    rows: Sequence[GraphTypes],
    columns: Sequence[GraphTypes] | None = None,
    *,
    node_width: int,
    form: Coordinates,
    moments: Moments,
    variance: float,
    normalize: bool,
) -> FloatArray:
    """Return sum_vv' E[rho(t(v)) rho(t(v'))] of pairs of graphs, for one partition and one hidden channel.

    Without columns, of all pairs of rows. `node_width`: channels of nodes, which come first in the
    statistics. `form`: the partition, `variance`: that of theta.
    """
    others = rows if columns is None else columns
    out = np.zeros((len(rows), len(others)))

    width = node_width * form.node.shape[-1] + rows[0].values.shape[1] * form.edge.shape[-1] if rows else 1
    most = min(math.isqrt(GRAM_ENTRIES), KEPT_ENTRIES // max(width, 1))

    @lru_cache(maxsize=max(2, min(64, KEPT_ENTRIES // max(most * width, 1))))
    def side(block: range, of_columns: bool) -> Side:
        graphs = columns if of_columns and columns is not None else rows
        return _side([graphs[g] for g in block], node_width, form, normalize, moments, variance)

    for one in _blocks(rows, form.slots, most):
        for two in _blocks(others, form.slots, most):
            if columns is None and two.start < one.start:
                continue
            part = _block(side(one, False), side(two, columns is not None), moments, variance)
            out[one.start : one.stop, two.start : two.stop] = part
            if columns is None and two.start > one.start:
                out[two.start : two.stop, one.start : one.stop] = part.T
    return out


def _blocks(types: Sequence[GraphTypes], B: int, most: int) -> list[range]:
    """Cut the graphs into blocks of at most so many atoms, or one graph."""
    blocks, start, atoms = [], 0, 0
    for place, g in enumerate(types):
        own = B * len(g.nodes) + B * (B - 1) // 2 * len(g.values)
        if place > start and atoms + own > most:
            blocks.append(range(start, place))
            start, atoms = place, 0
        atoms += own
    return [*blocks, range(start, len(types))] if types else []


def _block(one: Side, two: Side, moments: Moments, variance: float) -> FloatArray:
    out = np.zeros((len(one.totals), len(two.totals)))
    common = one.used & two.used  # most categories occur in few graphs
    some = common if 2 * np.count_nonzero(common) < len(common) else slice(None)
    gram = variance * (one.atoms[:, some] @ two.atoms[:, some].T)
    _sum_types(moments.kind, gram, one, two, np.array(moments.weights), out)
    if moments.kind == ARCSINES:
        out = moments.shift * np.outer(one.totals, two.totals) + moments.factor * out
    return out


@compiled
def _sum_types(
    kind: int,
    gram: FloatArray,
    one: Side,
    two: Side,
    mixture: FloatArray,
    out: FloatArray,
) -> None:
    """Add up w w' E[rho rho'] over all types of `two` and one of each orbit of types of `one`."""
    slots, n_atoms, n_types = len(one.types), 0, 0
    for g in range(len(one.atom_ptr) - 1):
        n_atoms = max(n_atoms, one.atom_ptr[g + 1] - one.atom_ptr[g])
    for h in range(len(two.type_ptr) - 1):
        n_types = max(n_types, two.type_ptr[h + 1] - two.type_ptr[h])
    half, e = np.empty((n_atoms, n_types)), np.empty(n_types)
    for g in range(len(out)):
        for h in range(out.shape[1]):
            start, stop = two.type_ptr[h], two.type_ptr[h + 1]
            row, weights, factors = e[: stop - start], two.weights[start:stop], two.factors[:, start:stop]
            _half_products(gram, one, g, two, h, half)
            for t in range(one.type_ptr[g], one.type_ptr[g + 1]):
                if one.orbits[t] == 0:
                    continue
                for i in range(len(row)):
                    row[i] = half[one.types[0, t], i]
                for j in range(1, slots):
                    atom = half[one.types[j, t]]
                    for i in range(len(row)):
                        row[i] += atom[i]
                total = _sum_row(kind, row, one.factors[:, t], factors, weights, mixture)
                out[g, h] += one.orbits[t] * one.weights[t] * total


@inner
def _half_products(gram: FloatArray, one: Side, g: int, two: Side, h: int, half: FloatArray) -> None:
    """Set half[a, t] to the inner product of atom a of graph g with type t of graph h."""
    slots, first, start = len(two.types), two.atom_ptr[h], two.type_ptr[h]
    for a in range(one.atom_ptr[g + 1] - one.atom_ptr[g]):
        products, target = gram[one.atom_ptr[g] + a], half[a]
        for t in range(two.type_ptr[h + 1] - start):
            total = products[first + two.types[0, start + t]]
            for j in range(1, slots):
                total += products[first + two.types[j, start + t]]
            target[t] = total


@inner
def _sum_row(
    kind: int, e: FloatArray, own: FloatArray, factors: FloatArray, weights: FloatArray, mixture: FloatArray
) -> float:
    """Return sum_i w_i E[rho rho'] of a type with many others, given their inner products e_i."""
    total = 0.0
    if kind == LINEAR:
        for i in range(len(e)):
            total += weights[i] * e[i]
    elif kind == ARC_COSINE:
        total = _arc_cosine_products(e, own[0], factors[0], weights)
    else:
        for a in range(len(mixture)):
            for b in range(len(mixture)):
                total += mixture[a] * mixture[b] * _arcsines(e, own[a], factors[b], weights)
    return total


@inner
def _arc_cosine_products(e: FloatArray, factor: float, factors: FloatArray, weights: FloatArray) -> float:
    """Return sum_i w_i (sin t + (pi - t) cos t), cos t = e_i f f_i. e is overwritten."""
    s0 = s1 = s2 = s3 = 0.0  # a single sum would not be vectorized
    for i in range(len(e)):
        c = min(max(e[i] * (factor * factors[i]), -1.0), 1.0)
        e[i] = weights[i] * (math.sqrt((1 - c) * (1 + c)) + (math.pi - arccosine(c)) * c)
    whole = len(e) // 4 * 4
    for i in range(0, whole, 4):
        s0 += e[i]
        s1 += e[i + 1]
        s2 += e[i + 2]
        s3 += e[i + 3]
    for i in range(whole, len(e)):
        s0 += e[i]
    return (s0 + s1) + (s2 + s3)


@inner
def _arcsines(e: FloatArray, factor: float, factors: FloatArray, weights: FloatArray) -> float:
    """Return sum_i w_i asin(e_i f f_i)."""
    total = 0.0
    for i in range(len(e)):
        x = min(max(e[i] * (factor * factors[i]), -1.0), 1.0)
        total += weights[i] * (HALF_PI - arccosine(x))
    return total


@inner
def arccosine(c: float) -> float:
    """acos(c) to rounding, without branches, so that loops over it are vectorized."""
    y = abs(c)
    large = y > 0.5
    z = 0.5 * (1 - y) if large else y * y
    s = math.sqrt(z) if large else y
    p = A12
    p = p * z + A11
    p = p * z + A10
    p = p * z + A9
    p = p * z + A8
    p = p * z + A7
    p = p * z + A6
    p = p * z + A5
    p = p * z + A4
    p = p * z + A3
    p = p * z + A2
    p = p * z + A1
    p = p * z + A0
    r = s * p
    angle = 2 * r if large else HALF_PI - r
    return math.pi - angle if c < 0 else angle
