"""z(g): invariance, what it can and cannot tell apart, and the statistics of the estimates it gives."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grnf import GRNF, Graph, GraphError, null_graph
from grnf.datasets import make_sbm
from grnf.engine import Schedule
from grnf.law import Gaussian, ParameterLaw, ShiftedPoisson
from grnf.metric import distance, kernel_estimate, pairwise_distances, pairwise_kernels, truncation_bias
from grnf.metric.bounds import failure_probability
from optional import require
from random_graphs import cycle, graphs, random_graph, two_triangles

nx = require("networkx")

SMALL = {"n_components": 24, "hidden_channels": 2, "dtype": "float64", "random_state": 0}


@given(graphs(), st.randoms(use_true_random=False), st.booleans(), st.sampled_from(["relu", "sigmoid"]))
def test_any_permutation_of_the_nodes_gives_the_same_vector(graph, random, normalize, activation):
    order = list(range(graph.n_nodes))
    random.shuffle(order)
    grnf = GRNF(**SMALL, orders={1: 0.4, 2: 0.4, 3: 0.2}, normalize=normalize, hidden_activation=activation)
    z, permuted = grnf.fit_transform([graph, graph.permuted(order)])
    np.testing.assert_allclose(permuted, z, rtol=1e-12, atol=1e-13)


@given(graphs(), graphs(max_width=0))
def test_a_row_does_not_depend_on_its_company(graph, other):
    grnf = GRNF(**SMALL).fit([graph])
    alone = grnf.transform([graph])[0]
    copies = [graph.permuted(np.arange(graph.n_nodes)), graph, graph]
    if (other.node_width, other.edge_width) == (graph.node_width, graph.edge_width):
        copies += [other, graph]
    rows = grnf.transform(copies)
    for row, member in zip(rows, copies, strict=True):
        if member is graph:
            np.testing.assert_allclose(row, alone, rtol=1e-12, atol=1e-14)


def test_six_cycle_and_two_triangles_need_order_three():
    pair = [cycle(6), two_triangles()]
    for orders, apart in (({1: 0.5, 2: 0.5}, False), ({3: 1.0}, True), ({1: 0.5, 2: 0.3, 3: 0.2}, True)):
        z1, z2 = GRNF(64, orders=orders, dtype="float64", random_state=0).fit_transform(pair)
        assert (distance(z1, z2).value > 1e-3) == apart
        assert apart or distance(z1, z2).value < 1e-14


@pytest.mark.parametrize("largest", [4, 5])
@pytest.mark.parametrize("normalize", [False, True])
def test_all_graphs_with_up_to_five_nodes_are_apart(normalize, largest):
    every = [Graph(len(g), list(g.edges)) for g in nx.graph_atlas_g() if len(g) <= 5]
    assert len(every) == 1 + 1 + 2 + 4 + 11 + 34
    law = ShiftedPoisson(2.0).restricted_to(range(1, largest + 1))
    grnf = GRNF(
        96, orders=law, hidden_activation="ramp", normalize=normalize, dtype="float64", random_state=0
    )
    D = pairwise_distances(grnf.fit_transform(every))
    D[np.diag_indices(len(D))] = np.inf
    assert D.min() > 1e-4


def test_one_attribute_one_edge_one_direction_each_changes_the_vector():
    base = Graph(3, [(0, 1), (1, 2)], [0.0, 1.0, 2.0], [0.0, 5.0], directed=True)
    changed = [
        Graph(3, [(0, 1), (1, 2)], [0.0, 1.0, 2.1], [0.0, 5.0], directed=True),
        Graph(3, [(0, 1), (1, 2)], [0.0, 1.0, 2.0], [0.1, 5.0], directed=True),
        Graph(3, [(0, 1), (2, 1)], [0.0, 1.0, 2.0], [0.0, 5.0], directed=True),
        Graph(3, [(1, 2)], [0.0, 1.0, 2.0], [5.0], directed=True),  # an edge with attribute 0 is an edge
        Graph(4, [(0, 1), (1, 2)], [0.0, 1.0, 2.0, 0.0], [0.0, 5.0], directed=True),
    ]
    D = pairwise_distances(GRNF(64, random_state=0).fit_transform([base, *changed]))
    assert D[0, 1:].min() > 1e-3


def test_literal_tensor_does_not_see_an_edge_with_attribute_zero():
    pair = [Graph(6, cycle(6).edges, None, np.zeros((6, 1))), Graph(6, [])]
    for adjacency_channel in (True, False):
        z1, z2 = GRNF(32, adjacency_channel=adjacency_channel, random_state=0).fit_transform(pair)
        assert (distance(z1, z2).value > 1e-3) == adjacency_channel


def test_centring_subtracts_the_null_graph():
    some = [cycle(5), cycle(4), null_graph()]
    centred, plain = (GRNF(**SMALL, center=c).fit_transform(some) for c in (True, False))
    np.testing.assert_allclose(centred, plain - plain[2], atol=1e-15)
    assert not centred[2].any()
    np.testing.assert_allclose(pairwise_distances(centred), pairwise_distances(plain), atol=1e-14)


def test_prefix_property_of_the_vectors():
    some = [cycle(5), two_triangles()]
    few, many = (GRNF(M, random_state=3, dtype="float64").fit_transform(some) for M in (512, 10_000))
    np.testing.assert_allclose(
        math.sqrt(10_000) * many[:, :512], math.sqrt(512) * few, rtol=1e-12, atol=1e-13
    )


def test_overflow_is_an_error_not_a_nan():
    small, large, huge = (Graph(2, [(0, 1)], [x, x]) for x in (0.0, 1e30, 1e38))
    grnf = GRNF(32, random_state=0).fit([small])
    assert np.isfinite(grnf.transform([large])).all()
    with pytest.raises(GraphError, match="its features overflow float32") as caught:
        grnf.transform([small, huge])
    assert (caught.value.where, caught.value.index) == ("X", 1)
    assert "dtype='float64'" in caught.value.cure


# Statistics. One long sequence of terms (psi(g1) - psi(g2))^2 serves all tests: cut into pieces of M, it
# is many independent estimates of one distance.

N_TERMS = 2**18


@pytest.fixture(scope="module")
def pair():
    (g1, g2), _ = make_sbm(2, random_state=4)
    return [g1, g2]


def terms_of(pair, n_components, **settings):
    z1, z2 = GRNF(n_components, dtype="float64", **settings).fit_transform(pair)
    return n_components * np.square(z1 - z2)


@pytest.fixture(scope="module")
def terms(pair):
    return terms_of(pair, N_TERMS, random_state=0)


def assert_equal_means(a, b):
    error = math.sqrt(a.var() / len(a) + b.var() / len(b))
    assert abs(a.mean() - b.mean()) < 4 * error
    assert error < 0.1 * a.mean()  # the test has the power to fail


def test_estimates_are_unbiased(pair, terms):
    """Short embeddings with many seeds agree in the mean with one long embedding."""
    few = np.concatenate([terms_of(pair, 64, random_state=seed) for seed in range(1000, 1400)])
    assert_equal_means(few, terms)


def test_error_shrinks_like_one_over_the_root_of_the_dimension(terms):
    sizes = 2 ** np.arange(5, 12)
    errors = [math.sqrt(np.mean((terms.reshape(-1, M).mean(axis=1) - terms.mean()) ** 2)) for M in sizes]
    slope = np.polyfit(np.log(sizes), np.log(errors), 1)[0]
    assert slope == pytest.approx(-0.5, abs=0.1)


@pytest.mark.parametrize("delta", [0.05, 0.2])
def test_intervals_cover(terms, delta):
    M, truth = 512, terms.mean()
    covered = {"betting": 0, "bernstein": 0, "clt": 0}
    stretches = terms.reshape(-1, M)
    for stretch in stretches:
        estimate = distance(np.zeros(M), np.sqrt(stretch / M))
        for method in covered:
            low, high = estimate.squared_interval(1 - delta, method)
            covered[method] += low <= truth <= high
    share = {method: count / len(stretches) for method, count in covered.items()}
    assert min(share["betting"], share["bernstein"]) >= 1 - delta
    # skewed terms: the normal interval covers a little less than it says
    assert share["clt"] == pytest.approx(1 - delta, abs=0.07)


@pytest.mark.parametrize("delta", [0.05, 0.2])
def test_kernel_intervals_cover(pair, delta):
    M, n = 512, 2**17
    z1, z2 = GRNF(n, dtype="float64", random_state=1).fit_transform(pair) * math.sqrt(n / M)
    truth = M * np.mean(z1 * z2)
    covered = {"betting": 0, "bernstein": 0, "hoeffding": 0, "clt": 0}
    for x, y in zip(z1.reshape(-1, M), z2.reshape(-1, M), strict=True):
        estimate = kernel_estimate(x, y)
        for method in covered:
            low, high = estimate.interval(1 - delta, method)
            covered[method] += low <= truth <= high
    share = {method: count / (n // M) for method, count in covered.items()}
    assert min(share["betting"], share["bernstein"], share["hoeffding"]) >= 1 - delta
    assert share["clt"] == pytest.approx(1 - delta, abs=0.07)


@pytest.mark.parametrize("uncentred", [False, True])
def test_the_kernel_of_two_graphs(pair, uncentred):
    plain = GRNF(64, random_state=3).fit(pair)
    estimate = GRNF(64, random_state=3, center=not uncentred).fit(pair).kernel(*pair)
    z1, z2 = plain.transform(pair)
    assert estimate.value == pytest.approx(float(z1 @ z2), rel=1e-5)
    assert estimate.largest_term == plain.largest_term_
    heads = GRNF(64, random_state=3, heads=4).fit(pair).kernel(*pair)
    assert heads.n_components == 16


@pytest.mark.parametrize("bound", ["chebyshev", "hoeffding"])
def test_theorem_2(terms, bound):
    for M in (32, 256, 2048):
        errors = np.abs(terms.reshape(-1, M).mean(axis=1) - terms.mean())
        for eps in (0.05, 0.2, 0.5, 1.0):
            assert np.mean(errors >= eps) <= failure_probability(M, eps, bound=bound)


def test_weighted_map_is_unbiased_under_another_law_of_the_order(pair, terms):
    weighted = terms_of(pair, 2**16, proposal={1: 0.3, 2: 0.7}, random_state=1)
    assert_equal_means(weighted, terms)


def test_weighted_map_is_unbiased_under_another_scale(pair):
    target = ParameterLaw({1: 1.0}, hidden_channels=1)
    proposal = ParameterLaw({1: 1.0}, Gaussian(1.3), hidden_channels=1)
    plain = terms_of(pair, 2**17, orders=target, hidden_channels=1, random_state=0)
    weighted = terms_of(pair, 2**17, orders=target, proposal=proposal, hidden_channels=1, random_state=1)
    assert_equal_means(weighted, plain)
    unweighted = terms_of(pair, 2**17, orders=proposal, hidden_channels=1, random_state=1)
    assert abs(unweighted.mean() - plain.mean()) > 8 * plain.std() / math.sqrt(len(plain))


def test_bounded_order_inequality():
    pair = [cycle(6), two_triangles()]
    target = ShiftedPoisson(0.5)
    estimates = {}
    for largest in (2, 3, 4):
        kept = range(1, largest + 1)
        estimates[largest] = terms_of(
            pair, 2**12, orders=target, proposal=target.restricted_to(kept), random_state=0
        )
    best = estimates[4]
    error = 4 * best.std() / math.sqrt(len(best))
    means = {largest: values.mean() for largest, values in estimates.items()}
    assert means[2] < 1e-20  # orders 1 and 2 see no difference at all
    for smaller, larger in pairwise(means):
        assert means[smaller] <= means[larger] + error
    for largest, mean in means.items():
        bias = truncation_bias(target, range(1, largest + 1))
        assert means[4] - bias - error <= mean <= means[4] + error


@pytest.mark.parametrize(
    ("settings", "guaranteed", "reason"),
    [
        ({"orders": ShiftedPoisson(0.5), "hidden_activation": "ramp"}, True, "Theorem 1"),
        (
            {"orders": ShiftedPoisson(0.5), "hidden_activation": "sigmoid", "normalize": False},
            True,
            "Theorem 1",
        ),
        ({"orders": ShiftedPoisson(0.5)}, True, "a difference of shifts of relu is squashing"),
        (
            {"orders": ShiftedPoisson(0.5), "hidden_activation": "identity"},
            False,
            "neither squashing nor relu",
        ),
        ({"hidden_activation": "ramp"}, False, "does not reach every order"),
        (
            {
                "orders": ShiftedPoisson(0.5),
                "proposal": ShiftedPoisson(0.5).restricted_to({1, 2}),
                "hidden_activation": "ramp",
            },
            False,
            "the proposal distribution",
        ),
        (
            {"orders": ShiftedPoisson(0.5), "hidden_activation": "ramp", "adjacency_channel": False},
            False,
            "attributes are 0 does not count",
        ),
    ],
)
def test_guarantee_of_theorem_1(settings, guaranteed, reason):
    grnf = GRNF(8, **settings).fit([Graph(2, [(0, 1)], None, [[0.0]])])
    assert grnf.metric_guaranteed_ is guaranteed
    assert reason in grnf.metric_reason_


def test_a_million_features_in_chunks(pair):
    """The parameters of 10^6 features would take some 500 MB; the chunks that are drawn take 32."""
    law = ParameterLaw({1: 2 / 3, 2: 1 / 3})
    chunks = Schedule().chunks(law, 10**6, seed=0, channels=1, heads=1, n_graphs=2)
    assert sum(size for _, size in chunks) == 10**6
    draw = law.sample(chunks[0][1], channels=1, seed=0)
    assert sum(group.theta.size for group in draw.groups) < 5_000_000
    z1, z2 = GRNF(10**6, random_state=0).fit_transform(pair)
    assert distance(z1, z2).interval(0.01)[0] > 0


def test_metric_axioms_and_positive_semi_definite_kernel():
    generator = np.random.default_rng(0)
    some = [random_graph(generator, int(n), 2) for n in generator.integers(0, 8, 30)]
    Z = GRNF(256, random_state=0, dtype="float64").fit_transform(some)
    D = pairwise_distances(Z)
    np.testing.assert_array_equal(np.diag(D), 0)
    np.testing.assert_allclose(D, D.T, atol=1e-15)
    through = D[:, np.newaxis, :] + D[np.newaxis, :, :]  # d(i, k) + d(j, k)
    assert (through.min(axis=2) >= D - 1e-12).all()
    K = pairwise_kernels(Z)
    assert np.linalg.eigvalsh(K).min() > -1e-12 * np.trace(K)
