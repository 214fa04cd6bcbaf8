"""Second moments in closed form, the exact distance and kernel, and quasi-Monte Carlo estimates."""

import itertools

import numpy as np
import pytest

from grnf import GRNF, Graph, GraphBatch
from grnf.activations import get_activation
from grnf.basis import set_partitions
from grnf.basis.partitions import n_slots
from grnf.datasets import all_graphs, make_sbm
from grnf.errors import GraphError
from grnf.features.psi import equivariant
from grnf.law import Gaussian, ParameterLaw, ScaleMixture, ShiftedPoisson
from grnf.law.parameters import OrderDraw, n_parameters
from grnf.metric import exact_distance, exact_distances, exact_kernel, marginal_distance
from grnf.metric.exact import ExactMetric
from grnf.metric.marginal import gaussian_product
from grnf.metric.quasi import quasi_distances
from random_graphs import cycle, random_graph, two_triangles

CLOSED = ["relu", "erf", "tanh", "sigmoid", "identity"]


def vectors_by_definition(graph, k, basis, normalize):
    """f(v) of all tuples, since the map is linear in theta, and the partitions that they comply with."""
    A = graph.tensor(True)
    size = n_parameters(k, A.shape[2], 1)
    rows = [
        equivariant(A, OrderDraw(k, np.array([0]), unit[np.newaxis], A.shape[2], 1), basis, normalize).ravel()
        for unit in np.eye(size)
    ]
    tuples = itertools.product(range(len(A)), repeat=k)
    patterns = [tuple(list(dict.fromkeys(v)).index(node) for node in v) for v in tuples]
    return np.array(rows).T, patterns


def moments_by_definition(g, h, k, basis, normalize, second_moment):
    """E[U . U'] of one hidden channel: the sum over partitions and pairs of tuples."""
    (f, patterns), (f2, patterns2) = (vectors_by_definition(x, k, basis, normalize) for x in (g, h))
    K, total = second_moment(f, f2), 0.0
    for pi in set_partitions(k):
        rows, columns = [p == pi for p in patterns], [p == pi for p in patterns2]
        scale = (g.n_nodes * h.n_nodes) ** -float(n_slots(pi)) if normalize else 1.0
        total += scale * K[np.ix_(rows, columns)].sum()
    return total


def moments(graphs, k, **settings):
    metric = ExactMetric(ParameterLaw({k: 1.0}, hidden_channels=1), max_order=k, **settings)
    ((_, e, c1, _),) = metric.covariances(GraphBatch.from_graphs(graphs), None)
    np.testing.assert_allclose(np.diagonal(e), c1)
    return e - 1


@pytest.mark.slow
@pytest.mark.parametrize("basis", ["indicator", "overlapping"])
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_second_moments_are_those_of_the_definition(k, directed, basis):
    generator = np.random.default_rng(k)
    activations = CLOSED if k < 3 else ["relu", "erf"]
    for widths, normalize in (((0, 0), True), ((2, 1), False)):
        graphs = [random_graph(generator, n, *widths, directed, 0.4) for n in (3, 4, 1)]
        for name in activations:
            rho = get_activation(name)
            found = moments(graphs, k, hidden_activation=rho, basis=basis, normalize=normalize)

            def second_moment(f, f2, name=name):
                c1, c2 = np.square(f).sum(axis=1)[:, np.newaxis], np.square(f2).sum(axis=1)
                return gaussian_product(name, *np.broadcast_arrays(c1, c2), f @ f2.T)

            for i, j in ((0, 0), (0, 1), (1, 2)):
                expected = moments_by_definition(graphs[i], graphs[j], k, basis, normalize, second_moment)
                assert found[i, j] == pytest.approx(expected, rel=1e-12, abs=1e-14)


@pytest.mark.slow
@pytest.mark.parametrize("name", CLOSED)
def test_second_moments_are_means_over_a_million_draws(name):
    """The definition with sampled theta: no Gaussian integral is involved."""
    generator, rho = np.random.default_rng(1), get_activation(name)
    g, h = (random_graph(generator, n, 1, 0, density=0.5) for n in (2, 3))

    def sampled(f, f2):
        total = np.zeros((len(f), len(f2)))
        for _ in range(50):
            theta = generator.normal(size=(f.shape[1], 20_000))
            total += rho(f @ theta) @ rho(f2 @ theta).T
        return total / 10**6

    expected = moments_by_definition(g, h, 2, "indicator", True, sampled)
    found = moments([g, h], 2, hidden_activation=rho)[0, 1]
    assert found == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize(
    ("sizes", "zeros", "step"),
    [((1, 2, 3, 4, 5), (13, 0, 0, 0, 0), 1), pytest.param((6,), (90, 16, 0, 0), 8, marks=pytest.mark.slow)],
)
def test_order_k_separates_all_graphs_that_the_definition_separates(sizes, zeros, step):
    """Theorem 1 with relu: at orders 3 and above only isomorphic graphs are at distance 0."""
    graphs = [graph for n in sizes for graph in all_graphs(n)]
    generator = np.random.default_rng(0)
    permuted = [graph.permuted(generator.permutation(graph.n_nodes)) for graph in graphs]
    assert len(graphs) == (156 if sizes == (6,) else 52)
    for k, expected in enumerate(zeros, start=1):
        D = exact_distances(graphs, orders={k: 1.0}, max_order=k)
        assert (D[np.triu_indices(len(graphs), 1)] == 0).sum() == expected
        copies = exact_distances(graphs[::step], permuted[::step], orders={k: 1.0}, max_order=k)
        assert not np.diagonal(copies).any()
        pairs = itertools.combinations(range(40), 3)
        assert all(D[i, j] <= D[i, m] + D[m, j] + 1e-12 for i, m, j in pairs)


def test_pairs_at_distance_0_have_equal_hidden_sums():
    """The definition at order 1: distance 0 if and only if U agrees for random theta."""
    graphs = all_graphs(5)
    U = GRNF(16, orders={1: 1.0}, normalize=False, dtype="float64", random_state=0).fit(graphs)
    (sums,) = (group.sums for group in U.hidden_sums(graphs).groups)
    same = (np.abs(sums[:, np.newaxis] - sums).max(axis=(2, 3))) < 1e-9
    D = exact_distances(graphs, orders={1: 1.0}, normalize=False)
    np.testing.assert_array_equal(D == 0, same)


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("basis", ["indicator", "overlapping"])
def test_isomorphic_graphs_are_at_distance_0_and_grams_are_positive(basis, normalize):
    generator = np.random.default_rng(0)
    graphs = [random_graph(generator, n, 2, 1, n % 2 == 0, 0.4) for n in (1, 3, 4, 5, 6)]
    permuted = [graph.permuted(generator.permutation(graph.n_nodes)) for graph in graphs]
    settings = {"basis": basis, "normalize": normalize, "orders": {1: 0.5, 2: 0.3, 3: 0.2}}
    D = exact_distances(graphs, permuted, **settings)
    assert not np.diagonal(D).any()
    assert (D[~np.eye(5, dtype=bool)] > 0).all()
    K = exact_kernel([*graphs, *permuted], **settings)
    assert np.linalg.eigvalsh(K).min() > -1e-12 * np.abs(K).max()
    np.testing.assert_allclose(exact_kernel(graphs, permuted, **settings), K[:5, 5:], rtol=1e-10, atol=1e-13)
    squares = np.diagonal(K)[:5, np.newaxis] + np.diagonal(K)[:5] - 2 * K[:5, :5]
    np.testing.assert_allclose(squares, exact_distances(graphs, **settings) ** 2, atol=1e-11 * K.max())


def test_the_variance_of_sums_is_that_of_finitely_many_channels():
    """E[(H - H')^2] is exact for every F_h: with an identity the distance of GRNF estimates it."""
    graphs = make_sbm(4, random_state=0)[0]
    grnf = GRNF(2**15, activation="identity", dtype="float64", random_state=0).fit(graphs)
    D = exact_distances(graphs, activation="identity")
    for i, j in ((0, 1), (0, 2)):
        estimate = grnf.distance(graphs[i], graphs[j])
        assert abs(estimate.squared - D[i, j] ** 2) < 4 * estimate.standard_error


@pytest.mark.slow
def test_many_hidden_channels_converge_to_the_exact_distance():
    g, h = make_sbm(2, random_state=0)[0]
    estimates = []
    for hidden_channels in (4, 64):
        grnf = GRNF(4096, hidden_channels=hidden_channels, random_state=0).fit([g, h])
        U = grnf.hidden_sums([g, h])
        law = ParameterLaw({1: 2 / 3, 2: 1 / 3}, Gaussian(), hidden_channels)
        exact = ExactMetric(law).squared_distances(GraphBatch.from_graphs([g, h]))[0, 1]
        estimates.append(marginal_distance(U)[0, 1] ** 2 / exact)
    assert abs(estimates[1] - 1) < 0.05 < abs(estimates[0] - 1)


def test_settings():
    g, h = cycle(6), two_triangles()
    assert exact_distance(g, h).value == 0
    estimate = exact_distance(g, h, orders=ShiftedPoisson(0.5))
    assert estimate.exact
    assert estimate.value > 0
    metric = ExactMetric(ParameterLaw(ShiftedPoisson(0.5)), max_order=2)
    assert metric.truncation == pytest.approx(4 * (1 - ShiftedPoisson(0.5).mass([1, 2])))
    X, Y = GraphBatch.from_graphs([g]), GraphBatch.from_graphs([cycle(5)])
    mixture = ExactMetric(ParameterLaw({1: 1.0}, ScaleMixture({1.0: 0.25, 3.0: 0.75})))
    parts = [ExactMetric(ParameterLaw({1: 1.0}, Gaussian(scale))) for scale in (1.0, 3.0)]
    one, three = (part.squared_distances(X, Y) for part in parts)
    np.testing.assert_allclose(mixture.squared_distances(X, Y), 0.25 * one + 0.75 * three)
    for settings, match in (
        ({"hidden_activation": "ramp"}, "hidden_activation must be one of"),
        ({"activation": "ramp"}, "activation must be one of"),
        ({"orders": {5: 1.0}}, "max_order must reach an order"),
    ):
        with pytest.raises(ValueError, match=match):
            exact_distance(g, h, **settings)


def test_categories_of_both_sides_are_matched():
    grnf = GRNF(64, random_state=0)
    nx = pytest.importorskip("networkx")
    one, two = nx.path_graph(3), nx.path_graph(3)
    nx.set_node_attributes(one, dict(enumerate("CCO")), "symbol")
    nx.set_node_attributes(two, dict(enumerate("CNO")), "symbol")
    batches = [grnf.fit([one, two])._batch([graph]) for graph in (one, two)]
    metric = ExactMetric(ParameterLaw({1: 1.0}))
    both = metric.squared_distances(grnf._batch([one, two]))[0, 1]
    assert metric.squared_distances(*batches)[0, 0] == pytest.approx(both)
    assert both > 0


@pytest.mark.parametrize("activation", ["tanh", "erf"])
@pytest.mark.parametrize("hidden", ["relu", "sigmoid", "tanh"])
def test_quasi_monte_carlo_estimates_the_distance_of_finitely_many_channels(hidden, activation):
    graphs = GraphBatch.from_graphs(make_sbm(3, random_state=0)[0])
    law = ParameterLaw({1: 0.5, 2: 0.5})
    metric = ExactMetric(law, get_activation(hidden), get_activation(activation))
    found = quasi_distances(metric, graphs, n_hidden=256, seed=1)
    settings = {"orders": law, "hidden_activation": hidden, "activation": activation, "dtype": "float64"}
    U = GRNF(2**15, random_state=0, **settings).fit(graphs).hidden_sums(graphs)
    D, error = marginal_distance(U, activation=activation, return_error=True)
    deviation = np.abs(found.values - D**2) / np.hypot(found.standard_errors, error).clip(1e-12)
    assert deviation[np.triu_indices(3, 1)].max() < 4
    assert (found.standard_errors < 0.1 * found.values + 1e-12).all()
    assert (metric.lipschitz_bounds(graphs)[np.triu_indices(3, 1)] >= D[np.triu_indices(3, 1)] ** 2).all()
    pairs = quasi_distances(metric, graphs.take([0]), graphs.take([1, 2]), n_hidden=256, seed=1)
    np.testing.assert_allclose(pairs.values[0], found.values[0, 1:], rtol=0.1)


@pytest.mark.slow
def test_quasi_monte_carlo_has_a_fraction_of_the_variance():
    """1,024 hidden samples, 24 seeds: errors are as claimed; a tenth of the variance of i.i.d. samples."""
    graphs = GraphBatch.from_graphs(make_sbm(2, random_state=3)[0])
    metric = ExactMetric(ParameterLaw({1: 2 / 3, 2: 1 / 3}))
    estimates = [quasi_distances(metric, graphs, seed=seed) for seed in range(24)]
    seen = np.std([found.values[0, 1] for found in estimates], ddof=1)
    claimed = np.sqrt(np.mean([found.standard_errors[0, 1] ** 2 for found in estimates]))
    assert 0.5 < claimed / seen < 2
    U = GRNF(1024, random_state=0).fit(graphs).hidden_sums(graphs)
    _, error = marginal_distance(U, return_error=True)
    assert seen**2 < 0.1 * error[0, 1] ** 2


def test_quasi_monte_carlo_takes_the_indicator_basis():
    metric = ExactMetric(ParameterLaw({1: 1.0}), basis="overlapping")
    with pytest.raises(ValueError, match="basis must be 'indicator'"):
        quasi_distances(metric, GraphBatch.from_graphs(make_sbm(2, random_state=0)[0]))


def test_too_many_types_are_an_error():
    generator = np.random.default_rng(0)
    graph = Graph(100, [(0, 1)], generator.normal(size=(100, 1)))
    with pytest.raises(ValueError, match="too many for a closed form"):
        exact_distance(graph, graph, orders={3: 1.0})


def test_blocks_that_are_not_kept_are_computed_again(monkeypatch):
    """Many categories make blocks large, so that fewer of them are kept: values stay the same."""
    graphs = all_graphs(5)
    expected = exact_kernel(graphs)
    monkeypatch.setattr("grnf.engine.moments.GRAM_ENTRIES", 400)
    monkeypatch.setattr("grnf.engine.moments.KEPT_ENTRIES", 1)
    np.testing.assert_allclose(exact_kernel(graphs), expected, rtol=1e-12)


def test_memory_is_bounded(monkeypatch):
    """Each category is a channel of a dense table."""
    monkeypatch.setattr("grnf.metric.exact.MOST_ENTRIES", 200)
    graph = Graph(10, [(0, 1)], np.eye(10, 18))
    metric, batch = ExactMetric(ParameterLaw({1: 1.0})), GraphBatch.from_graphs([graph])
    with pytest.raises(GraphError, match=r"10 nodes with 21 attribute channels .* need up to") as caught:
        metric.kernel(batch)
    assert "fewer graphs" in caught.value.cure
    grnf = GRNF(64, random_state=0).fit([graph])
    assert grnf.distance(graph, Graph(10, [], np.eye(10, 18))).interval()[1] > 0  # by betting alone
