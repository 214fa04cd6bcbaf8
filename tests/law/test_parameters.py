"""Parameters of features: shapes, laws, channels by key, and importance weights."""

import math
import os

import numpy as np
import pytest
from scipy.stats import norm

from grnf import GRNF, Graph, OrderTooLargeError
from grnf._utils.random import draw_seed
from grnf.basis import bell
from grnf.law import Gaussian, ParameterLaw, ScaleMixture, ShiftedPoisson, importance_weights
from grnf.law.parameters import n_parameters
from grnf.law.weights import effective_sample_size, hidden_weights

LAW = ParameterLaw({1: 0.5, 2: 0.3, 3: 0.2}, hidden_channels=2)


def rows(draw):
    """All coefficients of a draw in the order of its features."""
    result = [None] * len(draw)
    for group in draw.groups:
        for m, theta in zip(group.features, group.theta, strict=True):
            result[m] = theta
    return result


def assert_same(first, second):
    assert len(first) == len(second)
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a, b)


def test_shapes_are_those_of_the_paper():
    draw = LAW.sample(50, channels=3, seed=0)
    np.testing.assert_array_equal(draw.orders, LAW.orders_of(50, seed=0))
    assert sorted(np.concatenate([group.features for group in draw.groups])) == list(range(50))
    for group in draw.groups:
        m, k = len(group.features), group.k
        assert (draw.orders[group.features] == k).all()
        assert group.equivariant.shape == (m, bell(k + 2), 2, 3)
        assert group.equivariant_bias.shape == group.invariant.shape == (m, bell(k), 2)
        assert group.invariant_bias.shape == (m,)
        parts = [group.equivariant, group.equivariant_bias, group.invariant, group.invariant_bias]
        together = np.hstack([part.reshape(m, -1) for part in parts])
        np.testing.assert_array_equal(together, group.theta)  # every coefficient is used exactly once
        assert group.theta.shape[1] == n_parameters(k, 3, 2)


@pytest.mark.parametrize("step", [1, 7, 64, 100])
def test_any_chunk_can_be_drawn_alone(step):
    whole = rows(LAW.sample(200, channels=2, seed=5))
    parts = [
        row
        for start in range(0, 200, step)
        for row in rows(LAW.sample(min(step, 200 - start), channels=2, seed=5, start=start))
    ]
    assert_same(parts, whole)


def test_the_law_of_the_draw():
    law = ParameterLaw({1: 2 / 3, 2: 1 / 3}, Gaussian(1.5))
    draw = law.sample(20_000, channels=1, seed=0)
    assert np.mean(draw.orders == 1) == pytest.approx(2 / 3, abs=4 * np.sqrt(2 / 9 / 20_000))
    for group in draw.groups:
        count = group.theta.size
        assert group.theta.mean() == pytest.approx(0, abs=4 * 1.5 / np.sqrt(count))
        assert group.theta.std() == pytest.approx(1.5, abs=4 * 1.5 / np.sqrt(2 * count))
        correlation = np.corrcoef(group.theta.T) - np.eye(group.theta.shape[1])
        assert np.abs(correlation).max() < 6 / np.sqrt(len(group.theta))


def test_log_density():
    law = ParameterLaw({1: 0.25, 2: 0.75}, Gaussian(0.5), hidden_channels=1)
    draw = law.sample(10, channels=1, seed=0)
    expected = [
        np.log({1: 0.25, 2: 0.75}[k]) + norm.logpdf(theta, scale=0.5).sum()
        for k, theta in zip(draw.orders, rows(draw), strict=True)
    ]
    np.testing.assert_allclose(law.log_density(draw), expected, rtol=1e-12)
    assert (ParameterLaw({3: 1.0}, hidden_channels=1).log_density(draw) == -np.inf).all()


def test_importance_weights_are_ratios_of_densities():
    target = ParameterLaw({1: 0.25, 2: 0.75}, hidden_channels=1)
    proposal = ParameterLaw({1: 0.5, 2: 0.5}, Gaussian(1.2), hidden_channels=1)
    draw = proposal.sample(100, channels=1, seed=0)
    ratio = np.exp(target.log_density(draw) - proposal.log_density(draw))
    np.testing.assert_allclose(importance_weights(target, proposal, draw), ratio, rtol=1e-10)
    assert (importance_weights(proposal, proposal, draw) == 1).all()
    poisson = ShiftedPoisson(0.5)
    bounded = ParameterLaw(poisson.restricted_to({1, 2}))
    weights = importance_weights(ParameterLaw(poisson), bounded, bounded.sample(20, channels=1, seed=0))
    np.testing.assert_allclose(weights, poisson.mass({1, 2}), rtol=1e-14)


class Always(ShiftedPoisson):
    """A distribution of the user's own, with the settings of a known one."""


@pytest.mark.parametrize("save", [GRNF.to_json, lambda grnf: grnf.save(os.devnull)])
@pytest.mark.parametrize(
    "orders",
    [
        Always(1.0),
        Always(1.0).restricted_to({1, 2}),
        ParameterLaw({1: 1.0}, type("Wide", (Gaussian,), {})(2.0)),
        type("Mine", (ParameterLaw,), {})({1: 1.0}),
    ],
)
def test_distributions_that_cannot_be_loaded_are_not_saved(orders, save):
    proposal = {1: 1.0} if not isinstance(orders, ParameterLaw) else None
    grnf = GRNF(4, orders=orders, proposal=proposal, random_state=0).fit([Graph(2, [(0, 1)])])
    with pytest.raises(ValueError, match=r"(Always|Wide|Mine) cannot be saved.*pickle"):
        save(grnf)


def test_orders_beyond_memory_are_refused_with_the_remedy():
    with pytest.raises(OrderTooLargeError, match=r"order 12, drawn from .*restricted_to"):
        ParameterLaw({12: 1.0}).sample(1, channels=1, seed=0)


def test_seeds_from_every_kind_of_random_state():
    assert draw_seed(np.int64(5)) == 5
    assert draw_seed(np.random.default_rng(0)) == draw_seed(np.random.default_rng(0))
    assert draw_seed(np.random.RandomState(0)) == draw_seed(np.random.RandomState(0))
    assert draw_seed(None) != draw_seed(None)
    for bad in (-1, "seed", 1.5, True):
        with pytest.raises(ValueError, match="random_state must be"):
            draw_seed(bad)


@pytest.mark.parametrize("scale", [0, -1.0, np.inf, "1"])
def test_bad_scales_are_refused(scale):
    with pytest.raises(ValueError, match="scale must be a positive number"):
        Gaussian(scale)


def test_chosen_features_are_those_of_the_sequence():
    whole = rows(LAW.sample(300, channels=2, seed=5))
    chosen = np.array([0, 3, 63, 64, 130, 299])
    draw = LAW.select(chosen, channels=2, seed=5)
    assert_same(rows(draw), [whole[m] for m in chosen])
    np.testing.assert_array_equal(draw.orders, LAW.orders_of(300, seed=5)[chosen])


def test_more_heads_change_nothing_but_the_number_of_heads():
    plain, few, many = (LAW.sample(100, channels=2, seed=5, heads=R) for R in (1, 3, 5))
    assert_same(rows(plain), rows(many))
    assert (plain.n_heads, few.n_heads, many.n_heads) == (1, 3, 5)
    for one, three, five in zip(plain.groups, few.groups, many.groups, strict=True):
        np.testing.assert_array_equal(one.heads[:, 0], five.heads[:, 0])
        np.testing.assert_array_equal(three.heads, five.heads[:, :3])
        shape = (len(one.features), bell(one.k) * 2 + 1)
        np.testing.assert_array_equal(
            one.heads[:, 0], np.column_stack([one.invariant.reshape(shape[0], -1), one.invariant_bias])
        )
        assert five.heads.shape == (shape[0], 5, shape[1])


def test_heads_can_be_drawn_in_any_stretch_and_are_independent():
    whole = LAW.sample(2000, channels=1, seed=5, heads=3)
    part = LAW.sample(70, channels=1, seed=5, start=100, heads=3)
    for m in (0, 31, 69):
        for r in range(3):
            np.testing.assert_array_equal(part.feature(m, r).theta, whole.feature(100 + m, r).theta)
    heads = whole.groups[0].heads.reshape(len(whole.groups[0].features), -1)
    correlation = np.corrcoef(heads.T) - np.eye(heads.shape[1])
    assert np.abs(correlation).max() < 5 / np.sqrt(len(heads))


STRATIFIED = ParameterLaw({1: 0.5, 2: 0.3, 3: 0.2}, hidden_channels=1, stratified=True)


def test_stratified_orders_are_spread_evenly():
    orders = STRATIFIED.orders_of(64 * 50, seed=0)
    for k, p in {1: 0.5, 2: 0.3, 3: 0.2}.items():
        counts = (orders.reshape(50, 64) == k).sum(axis=1)
        assert (np.abs(counts - 64 * p) < 2).all()
        assert (np.abs((orders.reshape(50, 64)[:, :16] == k).sum(axis=1) - 16 * p) < 2).all()
    np.testing.assert_array_equal(orders, STRATIFIED.sample(3200, channels=1, seed=0).orders)
    np.testing.assert_array_equal(orders[:512], STRATIFIED.orders_of(512, seed=0))


def test_each_stratified_feature_alone_has_the_law():
    """Feature m over many seeds: no place in a block prefers an order."""
    orders = np.array([STRATIFIED.orders_of(64, seed=seed) for seed in range(1500)])
    for k, p in {1: 0.5, 2: 0.3, 3: 0.2}.items():
        shares = (orders == k).mean(axis=0)
        assert np.abs(shares - p).max() < 4.5 * np.sqrt(p * (1 - p) / 1500)


KEYS = np.array([7, 2**64 - 1, 0, 123456789012345678], dtype=np.uint64)


def test_a_channel_has_the_same_coefficients_whatever_stands_beside_it():
    together = LAW.sample(150, channels=KEYS, seed=3)
    for place, key in enumerate(KEYS):
        alone = LAW.sample(150, channels=np.array([key], np.uint64), seed=3)
        for whole, part in zip(together.groups, alone.groups, strict=True):
            np.testing.assert_array_equal(whole.equivariant[..., place], part.equivariant[..., 0])
            np.testing.assert_array_equal(whole.equivariant_bias, part.equivariant_bias)
            np.testing.assert_array_equal(whole.heads, part.heads)


def test_without_channels_there_are_biases_and_heads():
    draw = LAW.sample(70, channels=np.empty(0, np.uint64), seed=3)
    for group, other in zip(draw.groups, LAW.sample(70, channels=KEYS, seed=3).groups, strict=True):
        np.testing.assert_array_equal(group.invariant, other.invariant)
        assert group.equivariant.shape[-1] == 0


def test_a_number_of_channels_stands_for_the_first_keys():
    first, second = (
        LAW.sample(9, channels=2, seed=1),
        LAW.sample(9, channels=np.arange(2, dtype=np.uint64), seed=1),
    )
    for one, other in zip(first.groups, second.groups, strict=True):
        np.testing.assert_array_equal(one.theta, other.theta)


@pytest.mark.parametrize("pair", [(0, 1), (1, 2), (2, 3)])
def test_channels_are_independent_gaussians(pair):
    draw = ParameterLaw({1: 1.0}, Gaussian(2.0), hidden_channels=1).sample(20_000, channels=KEYS, seed=0)
    theta = draw.groups[0].equivariant[:, :, 0]  # feature, basis element, channel
    one, other = theta[..., pair[0]].reshape(-1), theta[..., pair[1]].reshape(-1)
    assert one.std() == pytest.approx(2.0, abs=4 * 2.0 / np.sqrt(2 * one.size))
    assert abs(np.corrcoef(one, other)[0, 1]) < 4 / np.sqrt(one.size)
    fourth = np.mean((one / 2.0) ** 4)
    assert fourth == pytest.approx(3.0, abs=4 * np.sqrt(96 / one.size))


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


def test_effective_sample_size():
    assert effective_sample_size(np.full(7, 1e-200)) == pytest.approx(7)
    assert effective_sample_size(np.array([3.0, 1.0])) == pytest.approx(16 / 10)
    assert effective_sample_size(np.zeros(3)) == 0
