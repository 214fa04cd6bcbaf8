"""Weights of features by kernel-target alignment over a chi-square ball, exactly.

Given scores v_m >= 0, maximise sum_m q_m v_m over q >= 0 with sum q = 1 and (1/M) sum_m (M q_m)^2 - 1 <= rho.
The last condition is |q|^2 <= (1 + rho) / M, so the solution is q = (v - tau)_+ / sum (v - tau)_+ : as tau
falls from the largest score to minus infinity, |q|^2 falls from 1 over the number of largest scores to 1 / M.
With the scores sorted and the s largest in the support, |q|^2 = 1 / s + S / (s^2 (mean - tau)^2), S being
their sum of squared deviations from their mean. That gives tau for each s; the right s is the one whose tau
lies below its smallest score and not below the next one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import type_of_target

from grnf.typing import FloatArray

__all__ = ["aligned_weights", "sparse_weights", "target_matrix"]


def aligned_weights(scores: npt.ArrayLike, radius: float) -> FloatArray:
    """Return the weights q of largest alignment within a chi-square ball around the uniform law.

    Parameters
    ----------
    scores : array-like, shape (M,)
    radius : float
        rho > 0.

    Examples
    --------
    >>> aligned_weights([3.0, 2.0, 1.0, 0.0], 0.8).round(3)
    array([0.575, 0.333, 0.092, 0.   ])
    """
    v = _checked_scores(scores)
    M, largest = len(v), v.max()
    limit = (1 + radius) / M
    top = v == largest
    if top.sum() * limit >= 1:  # the largest scores alone are within the ball
        return np.asarray(top / top.sum())
    ordered = np.sort(v)[::-1]
    sizes, means, deviations = _prefixes(ordered)
    with np.errstate(divide="ignore", invalid="ignore"):
        tau = means - np.sqrt(deviations / (limit - 1 / sizes)) / sizes
    inside = (limit * sizes > 1) & (tau < ordered) & (tau >= np.append(ordered[1:], -np.inf))
    # rounding may leave none: then the sizes around the jump give the same weights to rounding
    s = int(np.argmax(inside)) if inside.any() else int(np.argmin(np.where(limit * sizes > 1, tau, np.inf)))
    return _weights(v, tau[s])


def sparse_weights(scores: npt.ArrayLike, n_kept: int) -> tuple[FloatArray, float]:
    """Return the solution in the smallest ball for which at most `n_kept` weights are not 0, and its radius.

    Its threshold tau is the largest score that is not kept; if all are kept tau is 0, so that the weights are
    proportional to the scores.

    Examples
    --------
    >>> weights, radius = sparse_weights([3.0, 2.0, 1.0, 0.0], 2)
    >>> weights.round(3), round(radius, 3)
    (array([0.667, 0.333, 0.   , 0.   ]), 1.222)
    """
    v = _checked_scores(scores)
    M = len(v)
    tau = np.sort(v)[::-1][n_kept] if n_kept < M else min(0.0, v.min())
    if v.max() > tau:
        weights = _weights(v, tau)
    else:  # more scores than are kept share the largest value: the first of them
        weights = np.zeros(M)
        weights[np.flatnonzero(v == tau)[:n_kept]] = 1
        weights /= weights.sum()
    return weights, float(M * np.square(weights).sum() - 1)


def target_matrix(y: Any, task: str, n_samples: int, rows: Any = slice(None)) -> FloatArray:
    """Return the labels as centred columns Y, so that the kernel of the target is Y Y^T: shape (n, columns).

    Classes become one column each, divided by the root of the class's size so that small classes count as
    much as large ones; numbers are standardised. Of the `n_samples` labels only `rows` are used: those of the
    samples that can be used.

    Examples
    --------
    >>> target_matrix([0.5, 1.5], "regression", 2)
    array([[-1.],
           [ 1.]])
    """
    if task not in ("auto", "classification", "regression"):
        raise ValueError(f"task must be 'auto', 'classification' or 'regression'; got {task!r}")
    if y is None:
        raise ValueError("ReweightedGRNF needs labels: fit(X, y)")
    labels = np.asarray(y)
    if labels.ndim not in (1, 2) or len(labels) != n_samples:
        raise ValueError(f"y must have one label per graph: {n_samples} graphs, y of shape {labels.shape}")
    labels = labels[rows]
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise ValueError(f"y holds NaN or infinity at {np.argwhere(~np.isfinite(labels))[0].tolist()}")
    if task == "auto":
        task = "regression" if type_of_target(labels).startswith("continuous") else "classification"
    if task == "classification":
        classes, codes = np.unique(column_or_1d(labels), return_inverse=True)
        if len(classes) < 2:
            raise ValueError(f"y has one class only, {classes[0]!r}: there is nothing to align with")
        one_hot = codes[:, np.newaxis] == np.arange(len(classes))
        columns = one_hot / np.sqrt(one_hot.sum(axis=0))
        return np.asarray(columns - columns.mean(axis=0))
    try:
        values = labels.astype(np.float64).reshape(len(labels), -1)
    except ValueError:
        raise ValueError("y must hold numbers for a regression") from None
    spread = values.std(axis=0)
    if not spread.any():
        raise ValueError("y is constant: there is nothing to align with")
    return np.asarray((values - values.mean(axis=0)) / np.where(spread > 0, spread, 1.0))


def _checked_scores(scores: npt.ArrayLike) -> FloatArray:
    v = np.asarray(scores, dtype=np.float64)
    if v.ndim != 1 or len(v) == 0 or not np.isfinite(v).all():
        raise ValueError(f"scores must be finite numbers, shape (M,); got shape {v.shape}")
    # only ratios of scores matter; in units of the largest their squares neither overflow nor vanish
    largest = np.abs(v).max(initial=0.0)
    return v / largest if largest > 0 else v


def _prefixes(ordered: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return 1 .. M, the means of the s first numbers, and their sums of squared deviations."""
    sizes = np.arange(1, len(ordered) + 1, dtype=np.float64)
    shifted = ordered - ordered[0]  # sums of squares lose less when the numbers are close to 0
    sums, squares = np.cumsum(shifted), np.cumsum(shifted**2)
    return sizes, ordered[0] + sums / sizes, np.maximum(squares - sums**2 / sizes, 0)


def _weights(v: FloatArray, tau: float) -> FloatArray:
    above = np.maximum(v - tau, 0)
    return np.asarray(above / above.sum())
