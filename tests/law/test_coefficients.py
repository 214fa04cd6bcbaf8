import math

import numpy as np
import pytest
from scipy.stats import norm

from grnf.law import CoefficientLaw, Gaussian, ParameterLaw, ScaleMixture


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
    assert ratio.max() <= proposal.largest_ratio(target) == pytest.approx(5.0)
    assert ratio.max() > 4.9
    assert proposal.largest_ratio(Gaussian(2.0)) == math.inf


def test_config_round_trip():
    for law in (Gaussian(0.5), ScaleMixture({0.5: 0.25, 2.0: 0.75})):
        assert CoefficientLaw.from_config(law.to_config()) == law
    stratified = ParameterLaw({1: 1.0}, ScaleMixture({0.5: 0.25, 2.0: 0.75}), stratified=True)
    assert repr(ParameterLaw.from_config(stratified.to_config())) == repr(stratified)
    with pytest.raises(ValueError, match="unknown law of the coefficients: 'cauchy'"):
        CoefficientLaw.from_config({"law": "cauchy"})


@pytest.mark.parametrize("bad", [{}, {1.0: 0.5}, {1.0: -0.5, 2.0: 1.5}, {0.0: 1.0}, {math.inf: 1.0}, [1.0]])
def test_bad_mixtures_are_refused(bad):
    with pytest.raises(ValueError, match=r"probabilities|scale"):
        ScaleMixture(bad)
