import math

import numpy as np
import pytest
from scipy.integrate import dblquad
from scipy.special import erf

from grnf import GRNF, Graph, null_graph
from grnf.activations import ACTIVATIONS
from grnf.datasets import make_sbm
from grnf.law import Gaussian, ParameterLaw, ScaleMixture
from grnf.metric import marginal_distance, marginal_kernel, pairwise_distances, pairwise_kernels
from grnf.metric.marginal import MOMENTS, NODES, WEIGHTS, gaussian_product

COVARIANCES = [(1.0, 1.0, 0.5), (0.3, 2.0, -0.6), (4.0, 5.0, 4.4), (40.0, 60.0, 48.0), (1e-3, 1e-3, 9e-4)]


def test_tanh_is_a_mixture_of_erf_for_every_argument():
    x = np.concatenate([np.linspace(0, 10, 100_001), np.geomspace(10, 1e6, 1000)])
    assert np.abs(np.tanh(x) - erf(np.outer(x, NODES)) @ WEIGHTS).max() < 2e-7
    assert sum(WEIGHTS) == pytest.approx(1, abs=1e-10)


@pytest.mark.parametrize("activation", sorted(MOMENTS))
@pytest.mark.parametrize(("c1", "c2", "e"), COVARIANCES)
def test_products_are_the_integrals(activation, c1, c2, e):
    rho = ACTIVATIONS[activation]
    a, correlation = math.sqrt(c1), e / math.sqrt(c1 * c2)
    b, rest = math.sqrt(c2), math.sqrt(1 - correlation**2)

    def integrand(v, u):
        density = math.exp(-0.5 * (u * u + v * v)) / (2 * math.pi)
        return float(rho(a * u)) * float(rho(b * (correlation * u + rest * v))) * density

    # the corner of relu lies on a line through the origin: halves and quarters are smooth enough
    expected = sum(
        dblquad(integrand, *u, lambda u: -9, lambda u: 9, epsabs=1e-8, epsrel=1e-8)[0]
        for u in ((-9, 0), (0, 9))
    )
    found = float(gaussian_product(activation, np.array(c1), np.array(c2), np.array(e)))
    assert found == pytest.approx(expected, abs=1e-6 * max(1.0, math.sqrt(c1 * c2)))


def test_there_is_no_integral_for_the_ramp():
    with pytest.raises(ValueError, match=r"activation must be one of .* for a Gaussian integral, got 'ramp'"):
        gaussian_product("ramp", np.ones(1), np.ones(1), np.ones(1))


@pytest.fixture(scope="module")
def graphs():
    return make_sbm(12, random_state=1)[0]


@pytest.mark.parametrize("activation", ["tanh", "sigmoid", "erf", "relu", "identity"])
def test_many_heads_converge_to_the_marginal(graphs, activation):
    """8 hidden draws with 4096 heads each against the same 8 draws with the heads integrated out."""
    settings = {"activation": activation, "dtype": "float64", "random_state": 0}
    heads = GRNF(8 * 4096, heads=4096, **settings).fit(graphs)
    Z = heads.transform(graphs)
    U = GRNF(8, **settings).fit(graphs).hidden_sums(graphs)
    for exact, found, products in (
        (marginal_kernel(U, activation=activation), pairwise_kernels(Z), Z[:, np.newaxis] * Z),
        (
            marginal_distance(U, activation=activation) ** 2,
            pairwise_distances(Z) ** 2,
            np.square(Z[:, np.newaxis] - Z),
        ),
    ):
        terms = products.reshape(12, 12, 8, 4096) * 4096
        error = np.sqrt(terms.var(axis=3).sum(axis=2) / 4096)
        assert (np.abs(exact - found) <= 5 * error + 1e-12).all()
        assert (error[0, 1:] < 0.1 * np.abs(found[0, 1:])).all()


def test_marginal_is_unbiased_and_more_precise(graphs):
    """The mean of the marginal terms is that of the plain ones, their variance a fraction."""
    pair = [graphs[0], graphs[1]]
    long = GRNF(2**17, dtype="float64", random_state=999).fit(pair)
    z1, z2 = long.transform(pair)
    plain = 2**17 * np.square(z1 - z2)
    U = GRNF(2**13, dtype="float64", random_state=1).fit(pair).hidden_sums(pair)
    D, error = marginal_distance(U, return_error=True)
    total = math.hypot(plain.std() / math.sqrt(2**17), error[0, 1])
    assert abs(D[0, 1] ** 2 - plain.mean()) < 4 * total
    assert total < 0.05 * plain.mean()
    assert 2**13 * error[0, 1] ** 2 < 0.4 * plain.var()  # of one term


def test_error_bars_come_from_the_terms(graphs):
    U = GRNF(64, dtype="float64", random_state=0).fit(graphs).hidden_sums(graphs)
    K, error = marginal_kernel(U, return_error=True)
    terms = []
    for m in range(64):
        group = next(g for g in U.groups if m in g.features)
        place = int(np.flatnonzero(group.features == m)[0])
        one = type(U)(
            (type(group)(group.k, np.array([0]), group.sums[:, [place]], group.null[[place]]),),
            np.ones(1),
            1.0,
        )
        terms.append(marginal_kernel(one))
    np.testing.assert_allclose(K, np.mean(terms, axis=0), rtol=1e-10)
    np.testing.assert_allclose(error, np.std(terms, axis=0, ddof=1) / 8, rtol=1e-6)


@pytest.mark.parametrize("activation", sorted(MOMENTS))
def test_gram_matrices_are_positive_and_centred(graphs, activation):
    some = [*graphs, null_graph(), Graph(0, [])]
    grnf = GRNF(128, activation=activation, dtype="float64", random_state=0).fit(some)
    U = grnf.hidden_sums(some)
    K, D = marginal_kernel(U, activation=activation), marginal_distance(U, activation=activation)
    assert np.abs(K[12]).max() < 1e-12 * max(1.0, np.abs(K).max())  # the null graph
    np.testing.assert_allclose(K, K.T, atol=1e-13 * np.abs(K).max())
    assert np.linalg.eigvalsh(K).min() > -1e-12 * np.trace(K)
    squares = np.diag(K)[:, np.newaxis] + np.diag(K) - 2 * K
    np.testing.assert_allclose(D**2, squares, atol=1e-12 * np.trace(K))
    assert (np.diag(D) == 0).all()
    np.testing.assert_allclose(grnf.marginal_kernel(some), K, rtol=1e-9, atol=1e-14)
    np.testing.assert_allclose(grnf.marginal_kernel(some[:3], some), K[:3], rtol=1e-9, atol=1e-14)


def test_memory_changes_nothing(graphs):
    many = graphs * 30
    few, much = (GRNF(2048, random_state=0, max_memory=m).fit(many) for m in ("2MB", "1GB"))
    assert len(list(few.hidden_sums_chunks(many))) > 4
    np.testing.assert_allclose(
        few.marginal_kernel(many, graphs[:2]), much.marginal_kernel(many, graphs[:2]), rtol=1e-4
    )


def test_distance_of_two_graphs_has_intervals_that_cover(graphs):
    truth = GRNF(2**13, random_state=5).fit(graphs).distance(graphs[0], graphs[3], precision="marginal")
    covered = 0
    for seed in range(60):
        estimate = (
            GRNF(128, random_state=seed).fit(graphs).distance(graphs[0], graphs[3], precision="marginal")
        )
        assert estimate.n_components == 128
        low, high = estimate.interval(0.9, "clt")
        covered += low <= truth.value <= high
        low, high = estimate.interval(0.9)
        assert low <= truth.value <= high
    assert covered / 60 > 0.8


def test_importance_weights_of_the_hidden_draw_alone(graphs):
    target = ParameterLaw({1: 1.0}, hidden_channels=1)
    proposal = ParameterLaw({1: 1.0}, ScaleMixture({1.0: 0.5, 1.5: 0.5}), hidden_channels=1)
    base = {"orders": target, "hidden_channels": 1, "dtype": "float64"}
    plain = GRNF(2**13, **base, random_state=0).fit(graphs).distance(*graphs[:2], precision="marginal")
    weighted = (
        GRNF(2**13, **base, proposal=proposal, random_state=1)
        .fit(graphs)
        .distance(*graphs[:2], precision="marginal")
    )
    error = math.hypot(plain.standard_error, weighted.standard_error)
    assert abs(plain.squared - weighted.squared) < 4 * error
    assert error < 0.1 * plain.squared
    assert weighted.largest_term == pytest.approx(8.0)
    scaled = ParameterLaw({1: 1.0}, Gaussian(2.0))
    U = GRNF(8, orders=scaled, random_state=0).fit(graphs).hidden_sums(graphs)
    assert U.scale == 2.0
    mixed = GRNF(8, orders=ParameterLaw({1: 1.0}, ScaleMixture({1.0: 0.5, 2.0: 0.5}))).fit(graphs)
    with pytest.raises(ValueError, match="theta_H must be Gaussian with a single scale"):
        mixed.marginal_kernel(graphs)


def test_sums_of_different_transformers_are_refused(graphs):
    one, two = (GRNF(M, random_state=0).fit(graphs).hidden_sums(graphs) for M in (8, 16))
    with pytest.raises(ValueError, match="hidden sums of the same transformer"):
        marginal_kernel(one, two)
