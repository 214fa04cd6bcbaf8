"""Ranks as p-values: uniform under the null, also with ties, and independent one of the other."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, false_discovery_control, kstest, spearmanr

from grnf import GraphError
from grnf.stats.conformal import conformal_p_values, online_p_values, rounded_scores

few_numbers = st.lists(st.integers(0, 5), min_size=1, max_size=12)


@given(few_numbers, few_numbers)
def test_p_values_are_counts(calibration, scores):
    p = conformal_p_values(np.array(calibration, float), np.array(scores, float))
    for score, found in zip(scores, p, strict=True):
        assert found == (1 + sum(other >= score for other in calibration)) / (1 + len(calibration))


@given(few_numbers, few_numbers, st.integers(0, 12))
def test_online_p_values_are_ranks(calibration, scores, earlier):
    earlier = min(earlier, len(scores))
    ties = np.linspace(0.1, 0.9, len(scores))
    columns = np.array([calibration, calibration[::-1]], float).T, np.array([scores, scores[::-1]], float).T
    p = online_p_values(*columns, ties[earlier:], earlier)
    assert p.shape == (len(scores) - earlier, 2)
    for t in range(earlier, len(scores)):
        known = calibration + scores[: t + 1]
        above, equal = sum(s > scores[t] for s in known), sum(s == scores[t] for s in known)
        assert p[t - earlier, 0] == pytest.approx((above + ties[t] * equal) / len(known))


@pytest.mark.parametrize("levels", [None, 3, 1])
def test_online_p_values_are_uniform_and_independent(levels):
    """With continuous scores, with three values, and with one value only."""
    generator = np.random.default_rng(0)
    p = []
    for _ in range(1500):
        scores = (
            generator.normal(size=9) if levels is None else generator.integers(levels, size=9).astype(float)
        )
        p.append(online_p_values(scores[:5, None], scores[5:, None], generator.random(4))[:, 0])
    p = np.array(p)
    for t in range(4):
        assert kstest(p[:, t], "uniform").pvalue > 1e-3
    for t in range(1, 4):
        assert spearmanr(p[:, t - 1], p[:, t]).pvalue > 1e-3


def test_p_values_of_normal_graphs_keep_their_level():
    generator = np.random.default_rng(1)
    small = 0
    for _ in range(2000):
        scores = generator.integers(50, size=40)  # ties
        small += int(conformal_p_values(scores[:39], scores[39:])[0] <= 0.1)
    assert binomtest(small, 2000, 0.1, alternative="greater").pvalue > 1e-3
    assert small > 100


def test_the_false_discovery_rate_is_kept():
    """Shared held-out scores make p-values depend on each other; the rate holds all the same."""
    generator = np.random.default_rng(2)
    shares, found = [], 0
    for _ in range(400):
        held_out, normal = generator.normal(size=200), generator.normal(size=80)
        strange = generator.normal(loc=4, size=20)
        p = conformal_p_values(held_out, np.append(normal, strange))
        chosen = false_discovery_control(p) <= 0.2 * (1 + 1e-12)
        shares.append(chosen[:80].sum() / max(chosen.sum(), 1))
        found += chosen[80:].sum()
    assert np.mean(shares) <= 0.2 * 0.8 + 3 * np.std(shares) / 20  # 80 of 100 are normal
    assert np.mean(shares) > 0.1
    assert found > 0.8 * 400 * 20


def test_edges():
    with pytest.raises(GraphError, match="no held-out scores"):
        conformal_p_values(np.array([]), np.array([1.0]))
    assert rounded_scores(np.array([1.0, 1.0 + 1e-12]), 0.0).tolist() == [1.0, 1.0]
