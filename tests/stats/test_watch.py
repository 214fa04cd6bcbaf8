"""Watchers: weights that sum to one, and p-values that are uniform whatever direction was chosen."""

import numpy as np
import pytest
from scipy.stats import kstest, spearmanr

from grnf.stats.conformal import online_p_values
from grnf.stats.stream_scores import STRANGE, Scores
from grnf.stats.watch import WAYS, Bank


def bank(seed, n=12, d=3, whole=True):
    calibration = np.random.default_rng([seed, 0]).normal(size=(n, len(STRANGE) + d))
    return Bank(calibration, seed, whole, calibration[:0])


def test_directions_have_uniform_p_values():
    """Chosen by the graphs before, judged by those after: exact, with a dozen held-out graphs."""
    found = []
    for seed in range(500):
        watched = bank(seed)
        rows = np.random.default_rng([seed, 1]).standard_t(3, size=(12, watched.calibration.shape[1]))
        watched.advance(rows)
        (watcher,) = [w for w in watched.watchers if (w.start, w.stop) == (8, 40)]
        ties = np.random.default_rng([seed, 2]).random(4)
        cauchy = np.random.default_rng([seed, 3]).standard_t(3, size=watched.calibration.shape)
        known = watcher.scores(cauchy)  # held-out graphs of the same law
        found.append(online_p_values(known, watcher.scores(rows[8:]), ties))
    p = np.array(found)
    for way in range(len(WAYS)):
        for t in range(4):
            assert kstest(p[:, t, way], "uniform").pvalue > 1e-3
        assert spearmanr(p[:, 0, way], p[:, 1, way]).pvalue > 1e-3


@pytest.mark.parametrize("whole", [True, False])
def test_weights_sum_to_what_may_enter(whole):
    """To 1 at most over the whole stream, or to 1 for each graph."""
    n, watched, entered = 2600, bank(0, whole=whole), 0.0
    watched.count, watched.rows = n, np.zeros((n, watched.calibration.shape[1]))
    for watcher in watched._starting(0, 0):
        entering = np.exp(watched._entering(watcher, watcher.start, min(watcher.stop, n))).sum()
        capital = np.exp(watcher.log_held).sum(axis=1) + entering
        entered += (np.exp(watcher.log_weights) * capital).sum()
    most = 1 if whole else n
    assert 0.4 * most < entered <= most * (1 + 1e-9)


def test_rows_that_are_not_needed_are_forgotten():
    watched = bank(0)
    for _ in range(12):
        watched.advance(np.zeros((256, watched.calibration.shape[1])))
    assert len(watched.rows) <= 2 * 1024
    assert len(watched.watchers) < 60


def test_scores_tell_what_lies_outside_the_axes():
    generator = np.random.default_rng(0)
    Z = np.column_stack([generator.normal(size=(100, 2)), np.zeros((100, 2))])
    scores = Scores.learnt(Z, n_axes=8, n_neighbors=3)
    assert scores.n_axes == 2
    row = scores(np.array([[0.0, 0.0, 3.0, 4.0]]))[0]
    rest = STRANGE.index("rest")
    assert row[rest] * scores.units[rest] == pytest.approx(5, rel=1e-5) or row[rest] == pytest.approx(
        5, rel=1e-5
    )
    assert abs(row[len(STRANGE) :]).max() < 1
    again = Scores.restored(scores.arrays(), 3)
    assert np.array_equal(again(Z), scores(Z))
