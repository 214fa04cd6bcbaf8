"""Laws of orders and of coefficients."""

import math

import numpy as np
import pytest
from scipy.stats import norm, poisson

from grnf.law import (
    Categorical,
    CoefficientLaw,
    Gaussian,
    OrderLaw,
    ParameterLaw,
    ScaleMixture,
    ShiftedPoisson,
)
from grnf.law.distributions import as_order_law
from grnf.law.weights import largest_ratio


def test_categorical():
    law = Categorical({1: 2 / 3, 2: 1 / 3, 5: 0.0})
    assert law.probability(1) == 2 / 3
    assert law.probability(5) == law.probability(7) == 0.0
    assert law.mass({2, 5}) == pytest.approx(1 / 3)
    assert not law.full_support


def test_shifted_poisson_is_poisson_shifted():
    law = ShiftedPoisson(0.7)
    for k in range(1, 12):
        assert law.probability(k) == pytest.approx(poisson.pmf(k - 1, 0.7), rel=1e-12)
    assert law.probability(0) == 0.0
    assert law.full_support


def test_restricted_law_is_the_conditional_law():
    law = ShiftedPoisson(0.5)
    some = law.restricted_to({1, 3})
    assert some.probability(2) == 0.0
    assert some.probability(1) == pytest.approx(law.probability(1) / law.mass({1, 3}))
    assert some.mass({1, 3}) == pytest.approx(1.0)
    assert not some.full_support
    assert repr(law.restricted_to({1, 2})) == "ShiftedPoisson(0.5) on k in {1, 2}, mass 0.910"


@pytest.mark.parametrize("law", [Categorical({1: 0.2, 4: 0.8}), ShiftedPoisson(1.5)])
def test_quantile_inverts_the_distribution_function(law):
    u = np.random.default_rng(0).random(20_000)
    orders = law.quantile(u)
    for k in range(1, 8):
        p = law.probability(k)
        assert np.mean(orders == k) == pytest.approx(p, abs=4 * np.sqrt(p * (1 - p) / len(u)) + 1e-12)
    assert (np.diff(law.quantile(np.sort(u))) >= 0).all()


def test_quantile_at_the_ends():
    law = Categorical({1: 2 / 3, 2: 1 / 3})
    assert law.quantile(np.array([0.0, 1 - 1e-17, np.nextafter(1, 0)])).tolist() == [1, 2, 2]
    assert law.quantile(np.array([])).tolist() == []


@pytest.mark.parametrize(
    "law",
    [
        Categorical({1: 0.5, 2: 0.5}),
        ShiftedPoisson(0.3),
        ShiftedPoisson(0.3).restricted_to({2, 3}),
        Gaussian(0.5),
        ScaleMixture({0.5: 0.25, 2.0: 0.75}),
        ParameterLaw({1: 1.0}, ScaleMixture({0.5: 0.25, 2.0: 0.75}), stratified=True),
    ],
)
def test_config_round_trip(law):
    kind = next(base for base in (OrderLaw, CoefficientLaw, ParameterLaw) if isinstance(law, base))
    assert vars(kind.from_config(law.to_config())) == vars(law)


BAD_MIXTURES = [{}, {1.0: 0.5}, {1.0: -0.5, 2.0: 1.5}, {0.0: 1.0}, {math.inf: 1.0}, [1.0]]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Categorical({}), "must be a dict"),
        (lambda: Categorical({0: 1.0}), "an order of the law must be an integer >= 1, got 0"),
        (lambda: Categorical({1.5: 1.0}), "must be an integer >= 1, got 1.5"),
        (lambda: Categorical({True: 1.0}), "must be an integer >= 1, got True"),
        (lambda: Categorical({1: 0.5}), "sum to 1, got .* which sum to 0.5"),
        (lambda: Categorical({1: -0.5, 2: 1.5}), ">= 0"),
        (lambda: Categorical({1: np.nan}), "must be finite"),
        (lambda: ShiftedPoisson(0), r"rate must lie in \(0, 100\)"),
        (lambda: ShiftedPoisson("x"), "rate must be a real number"),
        (lambda: Categorical({1: 1.0}).restricted_to({2}), "positive probability"),
        (lambda: Categorical({1: 1.0}).restricted_to([]), "integers >= 1"),
        (lambda: as_order_law(2), r"write \{k: 1.0\}"),
        (lambda: OrderLaw.from_config({"law": "zipf"}), "unknown order distribution"),
        *((lambda bad=bad: ScaleMixture(bad), "probabilities|scale") for bad in BAD_MIXTURES),
        (lambda: CoefficientLaw.from_config({"law": "cauchy"}), "unknown coefficient distribution: 'cauchy'"),
    ],
)
def test_bad_laws_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_density_of_a_mixture():
    law = ScaleMixture({0.5: 0.3, 2.0: 0.7})
    theta = np.random.default_rng(0).normal(size=(5, 4))
    expected = sum(p * norm.pdf(theta, scale=scale).prod(axis=1) for scale, p in ((0.5, 0.3), (2.0, 0.7)))
    np.testing.assert_allclose(law.log_density(theta), np.log(expected), rtol=1e-12)
    np.testing.assert_allclose(
        Gaussian(2.0).log_density(theta), norm.logpdf(theta, scale=2).sum(axis=1), rtol=1e-12
    )


def test_each_feature_has_one_scale():
    law = ParameterLaw({1: 0.5, 2: 0.5}, ScaleMixture({0.01: 0.25, 1.0: 0.75}), hidden_channels=4)
    draw = law.sample(4000, channels=2, seed=0, heads=2)
    scales = np.empty(4000)
    for group in draw.groups:
        scales[group.features] = group.theta.std(axis=1)
        small = scales[group.features] < 0.1
        assert (scales[group.features][small] < 0.02).all()
        assert (np.abs(group.heads[small]) < 0.1).all()  # the heads have the scale of their hidden draw
    assert np.mean(scales < 0.1) == pytest.approx(0.25, abs=4 * math.sqrt(0.25 * 0.75 / 4000))


def test_a_mixture_of_one_scale_is_the_gaussian_bit_for_bit():
    one, other = (
        ParameterLaw({1: 0.5, 2: 0.5}, c).sample(70, channels=1, seed=1)
        for c in (Gaussian(1.5), ScaleMixture({1.5: 1.0}))
    )
    for a, b in zip(one.groups, other.groups, strict=True):
        np.testing.assert_array_equal(a.theta, b.theta)
    assert Gaussian(1.5) == ScaleMixture({1.5: 1.0})


def test_largest_ratio_bounds_the_ratio():
    target, proposal = Gaussian(1.0), ScaleMixture({1.0: 0.2, 3.0: 0.8})
    theta = np.random.default_rng(0).normal(size=(2000, 10)) * np.geomspace(1e-3, 10, 2000)[:, np.newaxis]
    ratio = np.exp(target.log_density(theta) - proposal.log_density(theta))
    laws = [ParameterLaw({1: 1.0}, law) for law in (target, proposal, Gaussian(2.0))]
    assert ratio.max() <= largest_ratio(*laws[:2]) == pytest.approx(5.0)
    assert ratio.max() > 4.9
    assert largest_ratio(laws[2], laws[1]) == math.inf
