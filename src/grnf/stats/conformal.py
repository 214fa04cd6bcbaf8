"""Ranks that are p-values: of graphs beside held-out ones, and of the graphs of a stream one after the other.

Scores of graphs that come from one law, made by a function that does not know which graph is which, are
exchangeable: each is as likely as any other to be the largest. So a rank is a p-value, for any score and any
number of graphs.
"""

from __future__ import annotations

import numpy as np

from grnf._utils.jit import compiled
from grnf.errors import GraphError
from grnf.typing import FloatArray

__all__ = ["conformal_p_values", "online_p_values", "rounded_scores"]

STEPS = 2.0**20
"""Scores are compared in steps of so many to their typical size: equal graphs have equal scores, whatever
the rounding of the sums that they came from."""


def rounded_scores(scores: FloatArray, scale: FloatArray | float = 1.0) -> FloatArray:
    """Return scores in units of `scale`, rounded, so that those which differ by rounding errors are equal.

    Examples
    --------
    >>> bool(rounded_scores(np.array(1.0)) == rounded_scores(np.array(1.0 + 1e-9)))
    True
    """
    size = np.where(np.asarray(scale) > 0, scale, 1.0)
    return np.asarray(np.round(np.asarray(scores, dtype=np.float64) / size * STEPS) / STEPS)


def conformal_p_values(calibration: FloatArray, scores: FloatArray) -> FloatArray:
    """Return (1 + #{s_i >= s}) / (1 + n) for each score s among n scores of held-out normal graphs.

    The chance that a normal graph has a p-value of at most u is at most u, whatever the law of the scores.

    Parameters
    ----------
    calibration : array, shape (n,)
        Scores of normal graphs that had no part in the making of the score; large ones are strange.
    scores : array, shape (m,)

    Examples
    --------
    >>> conformal_p_values(np.array([1.0, 2.0, 3.0]), np.array([0.5, 3.0, 9.0]))
    array([1.  , 0.5 , 0.25])
    """
    ordered = np.sort(np.asarray(calibration, dtype=np.float64))
    if not len(ordered):
        raise GraphError("no held-out scores: a p-value needs at least one normal graph to compare with")
    at_least = len(ordered) - np.searchsorted(ordered, scores, side="left")
    return np.asarray((1 + at_least) / (1 + len(ordered)))


def online_p_values(
    calibration: FloatArray, scores: FloatArray, ties: FloatArray, earlier: int = 0
) -> FloatArray:
    """Return the rank of each score among all before it, ties broken by given random numbers.

    p_t = (#{s_i > s_t} + u_t #{s_i = s_t}) / (n + t) over the n held-out scores and s_1 .. s_t. As long as
    all are exchangeable, p_1, p_2, ... are independent and uniform: exactly, for any law and any n. Small
    ones belong to large scores.

    Parameters
    ----------
    calibration : array, shape (n, J)
        Held-out scores of J kinds.
    scores : array, shape (m, J)
        s_1 .. s_m, those that were answered for before too.
    ties : array, shape (m - earlier,)
        u_t, uniform on (0, 1).
    earlier : int, default=0
        Scores at the head that were answered for before.

    Returns
    -------
    array, shape (m - earlier, J)

    Examples
    --------
    >>> online_p_values(np.array([[1.0], [2.0]]), np.array([[3.0], [0.0]]), np.array([0.5, 0.5]))
    array([[0.16666667],
           [0.875     ]])
    """
    above, equal = _counts(np.ascontiguousarray(calibration), np.ascontiguousarray(scores), earlier)
    counted = len(calibration) + 1.0 + np.arange(earlier, len(scores))
    return np.asarray((above + ties[:, None] * equal) / counted[:, None])


@compiled
def _counts(known, scores, earlier):  # type: ignore[no-untyped-def]
    """Count the scores that are larger than each new one, and those equal to it, itself among them."""
    above = np.zeros((len(scores) - earlier, scores.shape[1]))
    equal = np.ones((len(scores) - earlier, scores.shape[1]))
    for t in range(earlier, len(scores)):
        for i in range(len(known)):
            for kind in range(scores.shape[1]):
                above[t - earlier, kind] += known[i, kind] > scores[t, kind]
                equal[t - earlier, kind] += known[i, kind] == scores[t, kind]
        for i in range(t):
            for kind in range(scores.shape[1]):
                above[t - earlier, kind] += scores[i, kind] > scores[t, kind]
                equal[t - earlier, kind] += scores[i, kind] == scores[t, kind]
    return above, equal
