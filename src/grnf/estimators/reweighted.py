"""P fitted to a task: features drawn from a proposal, and weights p_m that align their kernel with a target.

Sinha and Duchi, "Learning Kernels with Random Features", NIPS 2016: among all laws on M drawn features within
a chi-square ball around the proposal, take the one whose kernel is most aligned with the target. The
solution is exact and sparse.

Given scores v_m >= 0, maximise sum_m q_m v_m over q >= 0 with sum q = 1 and (1/M) sum_m (M q_m)^2 - 1 <= rho.
The last condition is |q|^2 <= (1 + rho) / M, so the solution is q = (v - tau)_+ / sum (v - tau)_+ : as tau
falls from the largest score to minus infinity, |q|^2 falls from 1 over the number of largest scores to 1 / M.
With the scores sorted and the s largest in the support, |q|^2 = 1 / s + S / (s^2 (mean - tau)^2), S being
their sum of squared deviations from their mean. That gives tau for each s; the right s is the one whose tau
lies below its smallest score and not below the next one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted

from grnf._utils.rules import Int, OneOf, Real, Table
from grnf._utils.running import no_progress, progress
from grnf.activations import Activation
from grnf.collection import Collection
from grnf.engine import Schedule
from grnf.estimators.transformer import GraphTransformer, Settings, schedule_of
from grnf.features import Embedder, FeatureMap
from grnf.graphs import GraphBatch
from grnf.law.parameters import Law
from grnf.typing import FloatArray, IntArray, Missing, OnError, Unseen

__all__ = ["ReweightedGRNF", "aligned_weights", "sparse_weights", "target_matrix"]


class ReweightedGRNF(GraphTransformer):
    """Graph Random Neural Features with a law P fitted to labels: z(g) = [ sqrt(p_m) psi(g; w_m) ].

    `fit` draws `n_candidates` features from a proposal, scores each by how far it is aligned with the labels,
    and gives weights p_m to the best `n_components` of them: those that maximise the alignment of the kernel
    sum_m p_m xi_m xi_m' with the kernel of the labels, over all laws within a chi-square ball around the
    uniform law on the candidates. `transform` evaluates the kept features alone.

    When not to use it: each feature is scored alone, so features that resemble each other are kept together.
    Where the best-aligned ones are alike (IMDB-BINARY: density and size say most), as many features drawn at
    random tell more, being more varied; there take `GRNF`. It pays where few of many channels matter. The
    guide to learning has a table of both cases; ``cross_val_score`` of either tells for your data.

    The vectors are those of the fitted law itself: |z(g1) - z(g2)|^2 *is* d_P^2 and products *are* kappa_P
    for the law with mass p_m at w_m, so `distance` and `kernel` are exact: their standard error is 0. (With a
    `radius` of your own, `dropped_` says what mass the features that were not kept had.)

    Parameters
    ----------
    n_components : int, default=128
        M', the largest number of features to keep.
    n_candidates : int, default=8192
        M, the number of features drawn and scored.
    radius : float, optional
        rho, of the ball D(p || uniform) = (1/M) sum_m (M p_m)^2 - 1 <= rho. None takes the smallest ball
        whose solution has no more than `n_components` features, so that nothing need be dropped. With a
        number, the smallest weights beyond `n_components` are dropped and the others rescaled.
    task : "auto", "classification" or "regression", default="auto"
        How to read `y`; "auto" takes real numbers with fractions as a regression.
    orders : tuple, dict from order to probability, or law, default=(2/3, 1/3)
        P-bar, the proposal from which candidates are drawn, as in `GRNF`.
    stratified, hidden_channels, hidden_activation, activation, basis, adjacency_channel, normalize, center
        As in `GRNF`.
    dtype, random_state, n_jobs, unseen, missing, on_error, max_memory
        As in `GRNF`.

    Attributes
    ----------
    chosen_ : array of int, shape (n_components_,)
        Which candidates are kept, ascending.
    weights_ : array, shape (n_components_,)
        p_m of the kept features; they sum to 1.
    scores_ : array, shape (n_candidates,)
        Alignment of each candidate with the labels (absent from a loaded transformer).
    radius_ : float
        rho.
    dropped_ : float
        Mass of the features that were dropped, 0 if `radius` is None.
    n_components_ : int
        Number of features kept.
    proposal_law_ : ParameterLaw
        P-bar.
    orders_, random_weights_ : array of int, grnf.law.Draw
        The hidden order of each kept feature, and the parameters of all of them, as in `GRNF`.

    Examples
    --------
    >>> from grnf import ReweightedGRNF
    >>> from grnf.datasets import make_delaunay
    >>> graphs, y = make_delaunay(60, random_state=0)
    >>> grnf = ReweightedGRNF(16, n_candidates=512, random_state=0).fit(graphs, y)
    >>> grnf.transform(graphs).shape, round(float(grnf.weights_.sum()), 9)
    ((60, 16), 1.0)
    """

    chosen_: Any
    weights_: FloatArray

    _rules: ClassVar[Table] = {
        **GraphTransformer._rules,
        "n_components": [Int(1)],
        "n_candidates": [Int(1)],
        "radius": [Real(), OneOf(None)],
        "task": [OneOf("auto", "classification", "regression")],
    }

    def __init__(
        self,
        n_components: int = 128,
        *,
        n_candidates: int = 8192,
        radius: float | None = None,
        task: Literal["auto", "classification", "regression"] = "auto",
        orders: Law = (2 / 3, 1 / 3),
        stratified: bool = False,
        hidden_channels: int = 4,
        hidden_activation: str | Activation = "relu",
        activation: str | Activation = "tanh",
        basis: str = "indicator",
        adjacency_channel: bool = True,
        normalize: bool = True,
        center: bool = True,
        dtype: str = "float32",
        random_state: Any = None,
        n_jobs: int | None = None,
        unseen: Unseen = "open",
        missing: Missing = "error",
        on_error: OnError = "raise",
        max_memory: int | str = "1GB",
    ) -> None:
        self.n_components = n_components
        self.n_candidates = n_candidates
        self.radius = radius
        self.task = task
        self.orders = orders
        self.stratified = stratified
        self.hidden_channels = hidden_channels
        self.hidden_activation = hidden_activation
        self.activation = activation
        self.basis = basis
        self.adjacency_channel = adjacency_channel
        self.normalize = normalize
        self.center = center
        self.dtype = dtype
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.unseen = unseen
        self.missing = missing
        self.on_error = on_error
        self.max_memory = max_memory

    def fit(self, X: Any, y: Any) -> Self:
        """Draw candidates, score them on labelled graphs, and fix the best ones with their weights.

        Parameters
        ----------
        X : collection of graphs, as in `GRNF.fit`
        y : array-like, one label or number per graph; shape (n, targets) for several numbers each
        """
        self._fit_samples(X, y)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def _theorem_1(self) -> tuple[bool, str]:
        check_is_fitted(self)
        return False, "a law on finitely many features is no metric"

    def _precision(self) -> dict[str, Any]:
        return {"exact": True, "largest_term": math.inf}

    def _fit(self, settings: Settings, fitted: Settings, samples: Collection | None, y: Any) -> None:
        seed = fitted["seed"]
        if samples is None:
            chosen, weights = self._restored(fitted)
        else:
            chosen, weights = self._learnt(settings, samples, y, seed)
        features = self._feature_map(settings, len(chosen), seed, chosen=chosen, weights=weights)
        self._fix(features, settings, fitted)
        self.chosen_, self.weights_ = chosen, weights

    def _learnt(
        self, settings: Settings, samples: Collection, y: Any, seed: int
    ) -> tuple[IntArray, FloatArray]:
        """Return the candidates to keep, ascending, and their weights."""
        keep, n_candidates, radius = (settings[name] for name in ("n_components", "n_candidates", "radius"))
        if n_candidates < keep:
            raise ValueError(
                f"n_candidates must be at least n_components; got {n_candidates} candidates, {keep} to keep"
            )
        target = target_matrix(y, self.task, samples.n_rows, samples.rows)
        candidates = replace(self._feature_map(settings, n_candidates, seed), center=False)
        scores = np.concatenate(list(_scores(candidates, schedule_of(settings), samples.batch, target)))
        if radius is None:
            weights, radius = sparse_weights(scores, keep)
        else:
            weights = aligned_weights(scores, radius)
        best = np.sort(np.argsort(-weights, kind="stable")[: min(keep, np.count_nonzero(weights))])
        kept = weights[best].sum()
        self.scores_, self.radius_, self.dropped_ = scores, radius, float(max(0.0, 1 - kept))
        return best, weights[best] / kept

    def _fitted_state(self) -> dict[str, Any]:
        return {
            **super()._fitted_state(),
            "chosen": self.chosen_.tolist(),
            "weights": self.weights_.tolist(),
            "radius": self.radius_,
            "dropped": self.dropped_,
        }

    def _restored(self, fitted: Settings) -> tuple[IntArray, FloatArray]:
        """Return the features and weights that were saved."""
        chosen, weights = np.array(fitted["chosen"], np.int64), np.array(fitted["weights"], np.float64)
        self.radius_, self.dropped_ = float(fitted["radius"]), float(fitted["dropped"])
        if chosen.ndim != 1 or chosen.shape != weights.shape or not len(chosen) or chosen[0] < 0:
            raise ValueError("the saved features and weights do not match")
        if (np.diff(chosen) <= 0).any() or not (weights >= 0).all():
            raise ValueError("the saved features must ascend, their weights must be >= 0")
        return chosen, weights


def _scores(
    candidates: FeatureMap, schedule: Schedule, batch: GraphBatch, target: FloatArray
) -> Iterator[FloatArray]:
    """Yield sum_c (sum_i Y_ic psi_m(g_i))^2 of some candidates at a time, within the memory."""
    n, M = len(batch), candidates.n_components
    step = max(64, schedule.max_memory // (32 * n) // 64 * 64)
    with progress(n * M, f"scoring {M} features on {n} graphs") as advance:
        for start in range(0, M, step):
            chosen = np.arange(start, min(start + step, M))
            some = replace(candidates, n_components=len(chosen), chosen=chosen)
            with no_progress():
                psi = Embedder(some, schedule)(batch)
            yield np.square(target.T @ psi.astype(np.float64)).sum(axis=0) * len(chosen)
            advance(n * len(chosen))


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
