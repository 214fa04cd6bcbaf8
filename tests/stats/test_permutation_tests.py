"""The two-sample test: definition, level, power, and what it does about bad input."""

import itertools
import json
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grnf import GRNF, Graph, GraphBatch, stats
from grnf.datasets import make_delaunay, make_sbm
from grnf.errors import GraphError, GrnfWarning
from grnf.io import RawGraph
from grnf.stats import GraphDescriptor
from grnf.stats.descriptor import SCALE_OF_SIZES, patterns
from grnf.stats.permutation_tests import (
    Divisions,
    energy_distance,
    permutation_test,
    pooled_statistics,
    smallest_possible,
)
from grnf.stats.pooling import PooledRows, pooled_rows

AXES_ONLY = SimpleNamespace(axes_only_={"z"})
two_sample_test = partial(stats.two_sample_test, random_state=0)
k_sample_test = partial(stats.k_sample_test, random_state=0)


def vectors(n, seed, shift=0.0, width=4):
    return np.random.default_rng(seed).normal(shift, size=(n, width))


def by_hand(X, Y, between):
    """Energy distance (or minus MMD^2) by its definition, all pairs counted."""
    means = [np.mean([between(a, b) for a in A for b in B]) for A, B in ((X, Y), (X, X), (Y, Y))]
    return 2 * means[0] - means[1] - means[2]


@given(st.integers(1, 7), st.integers(1, 7), st.integers(0, 10**6))
def test_statistics_are_their_definitions(m, n, seed):
    X, Y = vectors(m, seed), vectors(n, seed + 1)
    both = np.concatenate([X, Y])
    rows = PooledRows(both, both[:, :2], (1, 2))
    weights = np.repeat([1 / m, -1 / n], [m, n])[np.newaxis, :, np.newaxis]
    energy, _ = pooled_statistics(rows, "energy", weights)
    for value, width in zip(energy[:, 0], (4, 1, 2), strict=True):
        far = by_hand(X[:, :width], Y[:, :width], lambda a, b: np.linalg.norm(a - b))
        assert value == pytest.approx(far, abs=1e-9)
    linear, _ = pooled_statistics(rows, "linear", weights)
    shift = (X.mean(axis=0) - Y.mean(axis=0)) ** 2
    assert linear[:, 0] == pytest.approx([shift.sum(), shift[0], shift[:2].sum()], abs=1e-12)
    mmd, _ = pooled_statistics(rows, "mmd", weights)
    apart = [((a - b) ** 2).sum() for a, b in itertools.combinations(both, 2)]
    for value, width in zip(mmd[:3, 0], (0.5, 1, 2), strict=True):
        scale = -0.5 / (width**2 * np.median(apart))
        assert value == pytest.approx(
            -by_hand(X, Y, lambda a, b, s=scale: np.exp(s * ((a - b) ** 2).sum())), abs=1e-9
        )


def test_blocks_in_single_precision_change_nothing(monkeypatch):
    rows = pooled_rows(vectors(90, 0, width=20))
    weights = next(Divisions((40, 50), 20, 0).weights())
    whole, _ = pooled_statistics(rows, "energy", weights)
    monkeypatch.setattr("grnf.stats.permutation_tests.TILE", 7)
    assert pooled_statistics(rows, "energy", weights)[0] == pytest.approx(whole, abs=1e-12)
    monkeypatch.setattr("grnf.stats.permutation_tests.SINGLE_PRECISION", 10)
    assert pooled_statistics(rows, "energy", weights)[0] == pytest.approx(whole, abs=1e-6)


def test_three_samples_are_sums_over_pairs():
    sizes, Z = (4, 5, 6), vectors(15, 3)
    rows = PooledRows(Z, Z[:, :0], ())
    divisions = Divisions(sizes, 3, 0)
    T, _ = pooled_statistics(
        PooledRows(Z[divisions.order], Z[:, :0], ()), "energy", next(divisions.weights())
    )
    parts = np.split(Z, np.cumsum(sizes)[:-1])
    total = sum(
        len(A) * len(B) / len(rows.coordinates) * by_hand(A, B, lambda a, b: np.linalg.norm(a - b))
        for A, B in itertools.combinations(parts, 2)
    )
    assert T[0, 0] == pytest.approx(total)


def test_shuffles_of_pairs_swap_partners():
    divisions = Divisions((6, 6), 200, 0, paired=True)
    ways = next(divisions.weights())[0] > 0
    partner = divisions.order % 6
    for pair in range(6):
        members = ways[partner == pair]
        assert (members.sum(axis=0) == 1).all()
        assert 60 < members[0].sum() < 141
    assert (ways[:, 0] == (divisions.labels == 0)).all()


@pytest.mark.parametrize("permutations", [1023, 1024, 2500])
def test_shuffles_come_in_pieces(permutations):
    pieces = list(Divisions((3, 4), permutations, 0).weights())
    assert sum(piece.shape[2] for piece in pieces) == permutations + 1
    for piece in pieces:
        assert np.abs(piece.sum(axis=1)).max() < 1e-12


@pytest.mark.parametrize(
    "options",
    [{}, {"statistic": "mmd"}, {"statistic": "linear"}, {"paired": True}, {"descriptor": AXES_ONLY}],
    ids=str,
)
def test_level(options):
    """Skewed vectors that vary along few axes, small and unequal samples: 400 tests at 20 %."""
    random = np.random.default_rng(1)
    rejected = []
    for number in range(400):
        Z = random.exponential(size=(18, 3)) @ random.normal(size=(3, 6))
        m = 9 if "paired" in options else 7
        result, *_ = permutation_test({"z": Z}, (m, 18 - m), n_resamples=19, seed=number, **options)
        rejected.append(result.pvalue <= 0.2)
    assert abs(np.mean(rejected) - 0.2) < 3.5 * np.sqrt(0.2 * 0.8 / 400)


def triangles(n, seed):
    """Rings of triangles, and the same degrees without triangles: what orders 1 and 2 cannot tell apart."""
    random = np.random.default_rng(seed)
    with_, without = [], []
    for _ in range(n):
        k = int(random.integers(3, 7))
        with_.append(Graph(3 * k, [(3 * t + i, 3 * t + (i + 1) % 3) for t in range(k) for i in range(3)]))
        without.append(Graph(3 * k, [(i, (i + 1) % (3 * k)) for i in range(3 * k)]))
    return with_, without


def test_power_where_degrees_are_equal():
    result = two_sample_test(*triangles(12, 0), n_components=64)
    assert result.pvalue == 0.001
    same = two_sample_test(triangles(12, 1)[0], triangles(12, 2)[0], n_components=64)
    assert same.pvalue > 0.01


def test_size_alone_is_found():
    """A graph twice over has the means of the graph: nothing but its size differs."""
    graphs = make_sbm(40, random_state=0)[0]
    twice = [Graph(24, np.concatenate([g.edges, g.edges + 12])) for g in graphs[20:]]
    result = two_sample_test(graphs[:20], twice, n_components=64)
    assert result.pvalue == 0.001
    assert [one.pvalue for one in result.views if one.view == "size"] == [0.001]


def test_attributes_alone_are_found():
    graphs, _ = make_delaunay(60, random_state=0)
    moved = [Graph(g.n_nodes, g.edges, g.node_attr + 1.5) for g in graphs[30:]]
    assert two_sample_test(graphs[:30], moved, n_components=64).pvalue == 0.001
    names = [RawGraph(2, np.array([[0, 1]]), {"a": np.array(list(text), object)}) for text in ("CO", "CN")]
    result = two_sample_test([names[0]] * 10, [names[0]] * 3 + [names[1]] * 7, n_components=64)
    assert result.pvalue < 0.05
    assert {one.view for one in result.views} == {"plain", "roles", "size", "patterns", "around"}


def test_result():
    graphs, y = make_sbm(60, random_state=0)
    one, two = ([g for g, label in zip(graphs, y, strict=True) if label == side] for side in (0, 1))
    result = two_sample_test(one, two, n_components=64, n_resamples=99)
    assert result.pvalue == 0.01
    assert result.sizes == (30, 30)
    effect = result.effect
    assert effect.low <= effect.value <= effect.high
    assert 0 < effect.feature_error < effect.value
    assert 0 < effect.share < 1
    assert len(result.witnesses_x) == len(result.witnesses_y) == 5
    scores = [witness.score for witness in result.witnesses_x]
    assert scores == sorted(scores, reverse=True)
    assert scores[0] > 0
    stored = json.loads(json.dumps(result.to_dict()))
    assert stored["protocol"]["descriptor"]["n_components"] == 64
    assert stored["protocol"]["sizes"] == [30, 30]
    assert "p = 0.01 (99 permutations)" in str(result)
    again = two_sample_test(one, two, n_components=64, n_resamples=99)
    assert again.to_dict() == result.to_dict()


def test_witnesses_are_the_odd_ones():
    X, Y = vectors(40, 0), vectors(40, 1)
    Y[7] += 8
    Y[9] += 8
    result = two_sample_test(
        X, Y, n_witnesses=2, axes=(), n_resamples=19, ids=(list(range(40)), list("y" * 40))
    )
    assert {witness.index for witness in result.witnesses_y} == {7, 9}
    assert result.witnesses_y[0].id == "y"
    shifted = two_sample_test(
        X, np.concatenate([X[:30], X[30:] + 9]), n_witnesses=10, axes=(), n_resamples=19
    )
    assert {witness.index for witness in shifted.witnesses_y} <= set(range(30, 40))


def test_effect_by_definition_and_its_bars():
    X, Y = vectors(30, 0), vectors(25, 1, shift=0.5)
    effect = two_sample_test(X, Y, n_resamples=19).effect

    def mean(A, B, drop):
        return np.mean([np.linalg.norm(a - b) for i, a in enumerate(A) for j, b in enumerate(B)
                        if not drop or i != j])  # fmt: skip

    wanted = 2 * mean(X, Y, False) - mean(X, X, True) - mean(Y, Y, True)
    assert effect.value == pytest.approx(wanted)
    covered = 0
    for seed in range(60):
        bars = two_sample_test(vectors(30, seed), vectors(30, seed + 100, 1.0), n_resamples=1 + 18).effect
        covered += bars.low <= 1.115 <= bars.high
    assert covered >= 50  # 95 % of 60 is 57; 50 or fewer has probability 1e-4


def test_unbiased_in_resamples():
    D = np.abs(np.subtract.outer(np.arange(6.0), np.arange(6.0)))
    twice = energy_distance(D, np.array([[2.0], [0.0], [1.0]]), np.ones((3, 1)))[0]
    far = (2 * (3 + 4 + 5) + (1 + 2 + 3)) / 9
    assert twice == pytest.approx(2 * far - 2.0 - 4 / 3)  # the copy of graph 0 is no pair of its own


# ---- equal and constant collections


def test_equal_collections_have_p_1():
    graphs = make_sbm(20, random_state=0)[0]
    for options in ({}, {"statistic": "mmd"}, {"statistic": "linear"}, {"paired": True}):
        assert two_sample_test(graphs, graphs, n_components=32, n_resamples=99, **options).pvalue == 1
    other = [graph.permuted(np.random.default_rng(0).permutation(12)) for graph in graphs[::-1]]
    assert two_sample_test(graphs, other, n_components=32, n_resamples=99).pvalue == 1


def test_constant_collections():
    path = Graph(5, [(0, 1), (1, 2), (2, 3), (3, 4)])
    random = np.random.default_rng(0)
    copies = [path.permuted(random.permutation(5)) for _ in range(20)]
    result = two_sample_test(copies[:10], copies[10:], n_components=32)
    assert result.pvalue == 1
    assert result.effect.value == pytest.approx(0, abs=1e-5)
    ring = Graph(5, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)])
    assert two_sample_test(copies[:10], [ring] * 10, n_components=32).pvalue == 0.001
    assert two_sample_test(np.ones((5, 3)), np.ones((6, 3))).pvalue == 1
    assert two_sample_test(1e6 + vectors(30, 0), 1e6 + vectors(30, 1, shift=2.0)).pvalue == 0.001


# ---- bad input


def test_few_graphs_are_told():
    graphs = make_sbm(8, random_state=0)[0]
    with pytest.warns(GrnfWarning, match="no p-value below 1 is possible"):
        assert two_sample_test(graphs[:1], graphs[1:2], n_components=16).pvalue == 1
    with pytest.warns(GrnfWarning, match=r"with 2 and 2 graphs .* below 0.33"):
        two_sample_test(graphs[:2], graphs[2:4], n_components=16)
    assert smallest_possible([4, 4], 10**6) == pytest.approx(2 / 70)
    assert smallest_possible([6, 6], 999, paired=True) == pytest.approx(2 / 64)


def test_different_attributes_are_named():
    plain, wide = [Graph(2, [(0, 1)])] * 4, [Graph(2, [(0, 1)], np.ones((2, 3)))] * 4
    with pytest.raises(GraphError, match=r"attributes of nodes differ: X has nothing, Y has x \(width 3\)"):
        two_sample_test(plain, wide)
    edges = [Graph(2, [(0, 1)], None, np.ones((1, 2)))] * 4
    with pytest.raises(GraphError, match="attributes of edges differ"):
        two_sample_test(edges, plain)
    named = [RawGraph(2, np.array([[0, 1]]), {name: np.ones(2)}) for name in ("mass", "charge")]
    with pytest.raises(GraphError, match=r"X has mass \(width 1\), Y has charge"):
        two_sample_test([named[0]] * 4, [named[1]] * 4)
    lonely = [Graph(2, [], None, np.empty((0, 2)))] * 4  # without edges nothing is known of their columns
    assert two_sample_test(edges, lonely, n_components=16, n_resamples=99).pvalue < 0.1
    with pytest.raises(GraphError, match=r"Y\[1\]"):
        two_sample_test(plain, [plain[0], object()])


SBM, OTHER_SBM = make_sbm(12, random_state=0)[0], make_sbm(12, random_state=1)[0]
V = vectors(5, 1)


@pytest.mark.parametrize(
    ("X", "Y", "options", "message"),
    [
        (SBM, [], {}, "Y is empty: it must contain at least one graph"),
        (np.zeros((0, 3)), V, {}, "X is empty: at least one graph"),
        (V, vectors(5, 0, width=5), {}, "X has vectors of length 4 and Y of length 5"),
        (V, np.where(np.arange(5)[:, None] == 3, np.nan, V), {}, r"Y\[3\]: the vector holds NaN"),
        ([Graph(2, [])], V, {}, "X holds graphs and Y vectors"),
        ({"a": V, "b": V}, {"a": V, "b": V[:4]}, {}, r"Y: 4 vectors in view 'b', 5 in the first"),
        (V, vectors(6, 1), {"paired": True}, "as many graphs in Y as in X"),
        (V, V, {"ids": (["a", "b"], list("abcde"))}, "X: 2 ids for 5 graphs"),
        (SBM, OTHER_SBM, {"statistic": "t"}, "statistic must be 'energy'"),
        (SBM, OTHER_SBM, {"n_resamples": 0}, "n_resamples must be an integer >= 1"),
        (SBM, OTHER_SBM, {"axes": (0,)}, "axes must be an integer >= 1"),
        (SBM, OTHER_SBM, {"views": 3}, "views must be 'auto', a transformer"),
        (SBM, OTHER_SBM, {"views": {}}, "views must be 'auto', .*, got {}"),
    ],
)
def test_what_is_refused(X, Y, options, message):
    with pytest.raises(ValueError, match=message):
        two_sample_test(X, Y, **options)
    with pytest.raises(GraphError, match="at least two samples"):
        k_sample_test([X])


# ---- descriptor


def test_descriptor():
    graphs = make_sbm(10, random_state=0)[0]
    descriptor = GraphDescriptor(16, random_state=0)
    first = descriptor(graphs)
    assert first.shape == (10, 36)
    assert np.array_equal(descriptor(graphs[3:5]), first[3:5])
    own = GraphDescriptor(views={"a": GRNF(8, random_state=0), "b": GRNF(4, random_state=1)})
    assert own(graphs).shape == (10, 12)
    assert "GRNF" in own.protocol()["views"]["a"]
    batch = GraphBatch.from_graphs(graphs)
    assert two_sample_test(batch[:5], batch[5:], views=GRNF(8, random_state=0)).pvalue > 0.01


def test_expensive_orders_are_left_out():
    graph = make_delaunay(1, n_nodes=400, random_state=0)[0][0]
    with pytest.warns(GrnfWarning, match="order"):
        descriptor = GraphDescriptor(512, random_state=0).fit([graph])
    assert descriptor.views_["plain"][-1].orders_.max() == 2


def test_patterns_are_counted_and_seen():
    """Pairs of edges that meet and triangles, with direction, repetition and self-loops ignored."""
    kite = [(0, 1), (1, 2), (2, 0), (2, 3)]
    odd = Graph(4, [*kite, (1, 0), (3, 3), (0, 1)], directed=True)
    found = np.expm1(patterns(GraphBatch.from_graphs([Graph(4, kite), odd, Graph(0, [])])) / SCALE_OF_SIZES)
    np.testing.assert_allclose(found, [[5, 1], [5, 1], [0, 0]], atol=1e-9)
    ring = Graph(6, [(i, (i + 1) % 6) for i in range(6)])
    triangles = Graph(6, [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)])
    result = two_sample_test([ring] * 8, [triangles] * 8, n_components=32)
    assert min(one.pvalue for one in result.views if one.view == "patterns") < 0.01
