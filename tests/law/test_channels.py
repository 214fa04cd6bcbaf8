"""Coefficients by the key of a channel: the same wherever it occurs, independent of those of others."""

import numpy as np
import pytest

from grnf.law import Gaussian, ParameterLaw

LAW = ParameterLaw({1: 0.5, 2: 0.3, 3: 0.2}, hidden_channels=2)
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
