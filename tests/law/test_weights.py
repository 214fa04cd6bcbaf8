import math

import numpy as np
import pytest

from grnf.law import (
    Gaussian,
    ParameterLaw,
    ScaleMixture,
    effective_sample_size,
    hidden_weights,
    importance_weights,
)

TARGET = ParameterLaw({1: 0.25, 2: 0.75}, hidden_channels=1)
PROPOSAL = ParameterLaw({1: 0.5, 2: 0.5}, ScaleMixture({1.0: 0.5, 1.4: 0.5}), hidden_channels=1)


def test_each_head_has_the_weight_of_its_own_feature():
    draw = PROPOSAL.sample(80, channels=1, seed=0, heads=3)
    weights = importance_weights(TARGET, PROPOSAL, draw).reshape(80, 3)
    for m in range(80):
        for r in range(3):
            w = draw.feature(m, r)
            p, p_bar = (law.coefficients.log_density(w.theta)[0] for law in (TARGET, PROPOSAL))
            ratio = TARGET.orders.probability(w.k) / PROPOSAL.orders.probability(w.k)
            assert weights[m, r] == pytest.approx(ratio * math.exp(p - p_bar), rel=1e-10)


def test_hidden_weights_are_the_mean_of_the_weights_over_heads():
    """E[p / p-bar | k, theta_F] under the proposal is the ratio of the densities of (k, theta_F)."""
    proposal = ParameterLaw({1: 0.5, 2: 0.5}, Gaussian(1.2), hidden_channels=1)
    draw = proposal.sample(20, channels=1, seed=0, heads=4000)
    weights = importance_weights(TARGET, proposal, draw).reshape(20, 4000)
    error = weights.std(axis=1) / math.sqrt(4000)
    hidden = hidden_weights(TARGET, proposal, draw)
    assert (np.abs(weights.mean(axis=1) - hidden) < 4.5 * error).all()
    assert (error < 0.05 * hidden).all()


def test_weights_have_mean_one():
    weights = importance_weights(TARGET, PROPOSAL, PROPOSAL.sample(20_000, channels=1, seed=0))
    assert weights.mean() == pytest.approx(1, abs=4 * weights.std() / math.sqrt(20_000))
    assert weights.std() > 0.3


def test_effective_sample_size():
    assert effective_sample_size(np.full(7, 1e-200)) == pytest.approx(7)
    assert effective_sample_size(np.array([3.0, 1.0])) == pytest.approx(16 / 10)
    assert effective_sample_size(np.zeros(3)) == 0
