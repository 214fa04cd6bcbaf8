"""The definition against plain loops, hidden sums against the definition, and heads on top of them."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings

from grnf import GRNF, Graph
from grnf.activations import get_activation
from grnf.basis import indicator_tensor, set_partitions
from grnf.basis.partitions import complies, n_slots
from grnf.datasets import make_sbm
from grnf.features import HiddenSums, psi, psi_of_graph
from grnf.features.psi import equivariant
from grnf.law import Gaussian, ParameterLaw
from grnf.law.parameters import Draw
from grnf.metric import distance
from random_graphs import graphs, random_graph

SETTINGS = {
    "orders": {1: 0.4, 2: 0.4, 3: 0.2},
    "hidden_channels": 2,
    "dtype": "float64",
    "random_state": 0,
}


def sums_by_definition(graph, w, hidden_activation, normalize):
    """For each partition of the k indices, the sum of rho_e(F(A)) over the tuples that comply with it."""
    T = get_activation(hidden_activation)(equivariant(graph.tensor(), w, "indicator", normalize))
    n = graph.n_nodes
    return np.concatenate(
        [
            T[indicator_tensor(gamma, n)].sum(axis=0)
            * (n ** -float(n_slots(gamma)) if normalize and n else 1)
            for gamma in set_partitions(w.k)
        ]
    )


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("hidden_activation", ["relu", "erf"])
def test_hidden_sums_are_those_of_the_definition(hidden_activation, normalize):
    generator = np.random.default_rng(1)
    some = [random_graph(generator, n, 1, 1, directed=n % 2 == 1) for n in (0, 1, 2, 5, 6)]
    grnf = GRNF(12, **SETTINGS, hidden_activation=hidden_activation, normalize=normalize).fit(some)
    U = grnf.hidden_sums(some)
    draw = grnf.random_weights_
    assert sorted(np.concatenate([group.features for group in U.groups])) == list(range(12))
    for group in U.groups:
        for place, m in enumerate(group.features):
            w = draw.feature(m)
            assert w.k == group.k
            for row, graph in enumerate(some):
                expected = sums_by_definition(graph, w, hidden_activation, normalize)
                np.testing.assert_allclose(group.sums[row, place], expected, rtol=1e-10, atol=1e-12)
    theta = {m: draw.feature(m) for m in range(12)}
    null = grnf.hidden_sums([Graph(1, [], [[0.0]], np.empty((0, 1)))])
    for group, other in zip(U.groups, null.groups, strict=True):
        np.testing.assert_allclose(group.null, other.sums[0], rtol=1e-12, atol=1e-14)
    Z = GRNF(12, **SETTINGS, hidden_activation=hidden_activation, normalize=normalize, center=False)
    Z = Z.fit_transform(some) * math.sqrt(12)
    for group in U.groups:
        for place, m in enumerate(group.features):
            pre = theta[m].invariant_bias[0] + group.sums[:, place] @ theta[m].invariant[0].reshape(-1)
            np.testing.assert_allclose(np.tanh(pre), Z[:, m], rtol=1e-9, atol=1e-12)


def test_hidden_sums_come_in_blocks():
    some, _ = make_sbm(300, random_state=0)
    whole, small = (GRNF(1024, random_state=0, max_memory=m).fit(some) for m in ("1GB", "4MB"))
    blocks = list(small.hidden_sums_chunks(some))
    assert len(blocks) > 4
    U, V = whole.hidden_sums(some), HiddenSums.joined(blocks)
    for a, b in zip(U.groups, V.groups, strict=True):
        np.testing.assert_array_equal(a.features, b.features)
        np.testing.assert_allclose(a.sums, b.sums, rtol=1e-5, atol=1e-6)


@settings(max_examples=25)
@given(graphs())
def test_heads_are_features_of_the_same_hidden_draw(graph):
    grnf = GRNF(24, **SETTINGS, heads=4, center=False).fit([graph])
    z = grnf.transform([graph])[0] * math.sqrt(24)
    draw = grnf.random_weights_
    for r in range(4):
        expected = [psi_of_graph(graph, one_feature(draw, m, r), normalize=True)[0] for m in range(6)]
        np.testing.assert_allclose(z[r::4], expected, rtol=1e-9, atol=1e-11)


def one_feature(draw, m, r):
    w = draw.feature(m, r)
    return Draw(0, np.array([w.k]), (w.take(np.array([0]), np.array([0])),))


def test_first_head_is_the_plain_map_and_more_features_extend_fewer():
    some, _ = make_sbm(5, random_state=0)
    plain = GRNF(64, dtype="float64", random_state=1).fit_transform(some) * math.sqrt(64)
    heads = GRNF(256, heads=4, dtype="float64", random_state=1).fit_transform(some) * math.sqrt(256)
    longer = GRNF(1024, heads=4, dtype="float64", random_state=1).fit_transform(some) * math.sqrt(1024)
    np.testing.assert_allclose(heads[:, ::4], plain, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(longer[:, :256], heads, rtol=1e-10, atol=1e-12)
    two = GRNF(256, heads=4, dtype="float64", random_state=1, n_jobs=2).fit_transform(some) * math.sqrt(256)
    np.testing.assert_allclose(two, heads, rtol=1e-10, atol=1e-12)


# Statistics: one long draw with heads, cut into many estimates.

R, N_HIDDEN = 8, 2**15


@pytest.fixture(scope="module")
def pair():
    return make_sbm(2, random_state=4)[0]


def terms_of(pair, n_components, **more):
    z1, z2 = GRNF(n_components, dtype="float64", **more).fit_transform(pair)
    return n_components * np.square(z1 - z2)


@pytest.fixture(scope="module")
def terms(pair):
    return terms_of(pair, R * N_HIDDEN, heads=R, random_state=0).reshape(N_HIDDEN, R)


@pytest.fixture(scope="module")
def plain(pair):
    return terms_of(pair, 2**17, random_state=7)


def test_heads_are_unbiased(terms, plain):
    means = terms.mean(axis=1)
    error = math.sqrt(means.var() / len(means) + plain.var() / len(plain))
    assert abs(means.mean() - plain.mean()) < 4 * error
    assert error < 0.05 * plain.mean()


def test_heads_shrink_the_error(terms):
    """Means over 8 heads have much less variance than single features, and less than means over 2."""
    variance = {r: terms[:, :r].mean(axis=1).var() for r in (1, 2, 8)}
    assert variance[8] < variance[2] < variance[1]
    assert variance[8] < 0.4 * variance[1]


def test_intervals_with_heads_cover_and_those_that_ignore_them_do_not(terms):
    M, truth = 512, terms.mean()
    stretches = terms.reshape(-1, M)
    covered = {"bernstein": 0, "clt": 0, "ignorant": 0}
    for stretch in stretches:
        z = np.sqrt(stretch / M)
        for name, heads, method in (
            ("bernstein", R, "bernstein"),
            ("clt", R, "clt"),
            ("ignorant", 1, "clt"),
        ):
            low, high = distance(np.zeros(M), z, heads=heads).squared_interval(0.9, method)
            covered[name] += low <= truth <= high
    share = {name: count / len(stretches) for name, count in covered.items()}
    assert share["bernstein"] >= 0.9
    assert share["ignorant"] < 0.82 < share["clt"]  # 64 skewed terms: a little less than 0.9


def test_stratified_orders_are_unbiased_and_not_worse(pair):
    some = {"orders": {1: 0.5, 2: 0.5}, "hidden_channels": 2, "random_state": 3}
    iid, spread = (terms_of(pair, 2**17, **some, stratified=s) for s in (False, True))
    error = math.sqrt((iid.var() + spread.var()) / 2**17)
    assert abs(iid.mean() - spread.mean()) < 4 * error
    variances = [x.reshape(-1, 64).mean(axis=1).var() for x in (iid, spread)]
    noise = variances[0] * math.sqrt(2 / (2**17 / 64)) * 3  # heavy tails: three times the Gaussian error
    assert variances[1] < variances[0] + noise


def test_importance_sampling_with_heads_is_unbiased(pair):
    target = ParameterLaw({1: 1.0}, hidden_channels=1)
    proposal = ParameterLaw({1: 1.0}, Gaussian(1.2), hidden_channels=1)
    base = {"orders": target, "hidden_channels": 1}
    one = terms_of(pair, 2**16, **base, random_state=0)
    two = (
        terms_of(pair, 2**17, **base, proposal=proposal, heads=4, random_state=1).reshape(-1, 4).mean(axis=1)
    )
    error = math.sqrt(one.var() / len(one) + two.var() / len(two))
    assert abs(one.mean() - two.mean()) < 4 * error
    assert error < 0.1 * one.mean()


def psi_by_loops(A, w, rho_e, rho_i, normalize):
    n, k, F_h = len(A), w.k, w.hidden_channels
    u = 1 / n if normalize and n else 1.0
    total = w.invariant_bias[0]
    for i in product(range(n), repeat=k):
        hidden = np.zeros(F_h)
        for j in product(range(n), repeat=2):
            for gamma, theta in zip(set_partitions(k + 2), w.equivariant[0], strict=True):
                if complies(i + j, gamma):
                    free = len(set(gamma)) - len(set(gamma[:k]))
                    hidden += u**free * theta @ A[j]
        for gamma, bias, head in zip(set_partitions(k), w.equivariant_bias[0], w.invariant[0], strict=True):
            if complies(i, gamma):
                total += u ** len(set(gamma)) * head @ rho_e(hidden + bias)
    return rho_i(total)


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("n", [0, 1, 2, 3])
@pytest.mark.parametrize("k", [1, 2])
def test_definition_equals_loops(k, n, normalize):
    graph = random_graph(np.random.default_rng(n), n, node_width=1, edge_width=1, directed=True)
    A = graph.tensor()
    draw = ParameterLaw({k: 1.0}, hidden_channels=2).sample(3, channels=3, seed=k)
    for m in range(3):
        w = draw.feature(m)
        expected = psi_by_loops(A, w, lambda x: np.maximum(x, 0), np.tanh, normalize)
        assert psi(A, w, normalize=normalize) == pytest.approx(expected, abs=1e-12)


def test_feature_out_of_range():
    with pytest.raises(IndexError):
        ParameterLaw({1: 1.0}).sample(2, channels=1, seed=0).feature(2)
