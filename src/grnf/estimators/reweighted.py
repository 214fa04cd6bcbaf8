"""P fitted to a task: features drawn from a proposal, with weights that align their kernel with a target.

Sinha and Duchi, "Learning Kernels with Random Features", NIPS 2016: among all distributions on M drawn
features within a chi-square ball around the proposal, take the one whose kernel is most aligned with the
target.

Given scores v_m >= 0, maximize sum_m q_m v_m over q >= 0 with sum q = 1 and (1/M) sum_m (M q_m)^2 - 1 <= rho.
The solution is sparse, q = (v - tau)_+ / sum (v - tau)_+, with the threshold tau at which M |q|^2 = 1 + rho.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted

from grnf._utils.rules import Int, OneOf, Real, checked, param
from grnf._utils.running import no_progress, progress
from grnf.collection import Collection
from grnf.engine import Schedule
from grnf.errors import invalid
from grnf.estimators.transformer import FeatureTransformer, Settings, schedule_of
from grnf.features import Embedder, FeatureMap
from grnf.graphs import GraphBatch
from grnf.typing import FloatArray, IntArray

TASK = OneOf("auto", "classification", "regression")


@dataclass(eq=False, repr=False)
class ReweightedGRNF(FeatureTransformer):
    """Graph Random Neural Features with P fitted to labels: z(g) = [sqrt(p_m) psi(g; w_m)].

    `fit` draws `n_candidates` features from a proposal and scores how far each is aligned with the labels. It
    gives weights p_m to the best `n_components` of them: those that maximize the alignment of the kernel
    sum_m p_m xi_m xi_m' with the kernel of the labels, over all distributions within a chi-square ball around
    the uniform one on the candidates. `transform` evaluates the kept features alone.

    Each feature is scored alone, so features that resemble each other are kept together. If the best-aligned
    ones are alike (IMDB-BINARY), as many random features are more varied and do better: use `GRNF`. Fitting
    pays off if few of many channels matter. Compare both by ``cross_val_score``.

    `distance` and `kernel` are exact for the distribution with mass p_m at w_m: their standard error is 0.

    Parameters
    ----------
    n_components : int, default=128
        M', the largest number of features to keep.
    n_candidates : int, default=8192
        M, the number of features drawn and scored.
    radius : float, optional
        rho, of the ball D(p || uniform) = (1/M) sum_m (M p_m)^2 - 1 <= rho. None: the smallest ball whose
        solution has at most `n_components` features. With a number, the smallest weights beyond
        `n_components` are dropped and the others rescaled.
    task : "auto", "classification" or "regression", default="auto"
        Type of `y`; "auto": regression for numbers with fractions.
    orders : tuple, dict from order to probability, or distribution, default=(2/3, 1/3)
        P-bar, the proposal from which candidates are drawn, as in `GRNF`.
    hidden_channels : int, default=4
    hidden_activation, activation, basis, dtype, handle_unknown, handle_missing, on_error : str
    stratified, adjacency_channel, normalize, center : bool
    random_state : int, numpy Generator or RandomState, optional
    n_jobs : int, optional
    max_memory : int or str, default="1GB"
        As in `GRNF`, like all above.

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

    n_components: int = param(128, Int(1))
    _: KW_ONLY
    n_candidates: int = param(8192, Int(1))
    radius: float | None = param(None, Real(), OneOf(None))
    task: Literal["auto", "classification", "regression"] = param("auto", TASK)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def _theorem_1(self) -> tuple[bool, str]:
        check_is_fitted(self)
        return False, "a distribution on finitely many features does not give a metric"

    def _exact_metric(self) -> None:
        """Return None, since the distribution is finite, and all of its features are used."""

    def _precision(self) -> dict[str, Any]:
        return {"exact": True, "largest_term": math.inf}

    def _fit(self, settings: Settings, fitted: Settings, samples: Collection | None, y: Any) -> None:
        seed = fitted["seed"]
        if samples is None:
            chosen, weights = self._restored(fitted)
        else:
            chosen, weights = self._learned(settings, samples, y, seed)
        features = self._feature_map(settings, len(chosen), seed, chosen=chosen, weights=weights)
        self._fix(features, settings)
        self.chosen_, self.weights_ = chosen, weights

    def _learned(
        self, settings: Settings, samples: Collection, y: Any, seed: int
    ) -> tuple[IntArray, FloatArray]:
        """Return the candidates to keep, ascending, and their weights."""
        keep, n_candidates, radius = (settings[name] for name in ("n_components", "n_candidates", "radius"))
        if n_candidates < keep:
            found = f"{n_candidates} candidates, {keep} to keep"
            raise invalid("n_candidates", "be at least n_components", found)
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
    """Return the weights q of largest alignment within a chi-square ball around the uniform distribution."""
    v = _checked_scores(scores)
    top = v == v.max()
    if top.sum() * (1 + radius) >= len(v):  # the largest scores alone are within the ball
        return np.asarray(top / top.sum())

    def excess(tau: float) -> float:
        return float(len(v) * np.square(_weights(v, tau)).sum() - 1 - radius)

    low = high = float(v[~top].max())
    while excess(low) > 0:
        low = high - 2 * (v.max() - low)
    return _weights(v, brentq(excess, low, high, xtol=1e-300) if low < high else high)


def sparse_weights(scores: npt.ArrayLike, n_kept: int) -> tuple[FloatArray, float]:
    """Return the solution in the smallest ball for which at most `n_kept` weights are not 0, and its radius.

    Its threshold tau is the largest score that is not kept. If all are kept, tau is 0.
    """
    v = _checked_scores(scores)
    M = len(v)
    tau = np.sort(v)[::-1][n_kept] if n_kept < M else min(0.0, v.min())
    if v.max() > tau:
        weights = _weights(v, tau)
    else:  # more scores than are kept have the largest value: keep the first of them
        weights = np.zeros(M)
        weights[np.flatnonzero(v == tau)[:n_kept]] = 1
        weights /= weights.sum()
    return weights, float(M * np.square(weights).sum() - 1)


def target_matrix(y: Any, task: str, n_samples: int, rows: Any = slice(None)) -> FloatArray:
    """Return the labels as centered columns Y, so that the kernel of the target is Y Y^T: shape (n, columns).

    Classes become one column each, divided by the root of the size of the class, so that all classes have
    equal weight. Numbers are standardized. Only the labels of `rows` are used.
    """
    task = checked(task, "task", TASK)
    labels = np.asarray(y)
    if y is None or labels.ndim not in (1, 2) or len(labels) != n_samples:
        found = "None" if y is None else f"shape {labels.shape}"
        raise invalid("y", f"have one label for each of {n_samples} graphs", found)
    labels = labels[rows]
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        place = np.argwhere(~np.isfinite(labels))[0].tolist()
        raise invalid("y", "be finite numbers", f"NaN or infinity at {place}")
    if task == "auto":
        task = "regression" if type_of_target(labels).startswith("continuous") else "classification"
    if task == "classification":
        classes, codes = np.unique(column_or_1d(labels), return_inverse=True)
        if len(classes) < 2:
            raise invalid("y", "have at least two classes", f"only {classes.tolist()}")
        one_hot = codes[:, np.newaxis] == np.arange(len(classes))
        columns = one_hot / np.sqrt(one_hot.sum(axis=0))
        return np.asarray(columns - columns.mean(axis=0))
    try:
        values = labels.astype(np.float64).reshape(len(labels), -1)
    except ValueError:
        raise invalid("y", "have numbers for a regression", f"{labels.ravel()[0]!r}") from None
    spread = values.std(axis=0)
    if not spread.any():
        raise invalid("y", "have different numbers", "a constant")
    return np.asarray((values - values.mean(axis=0)) / np.where(spread > 0, spread, 1.0))


def _checked_scores(scores: npt.ArrayLike) -> FloatArray:
    v = np.asarray(scores, dtype=np.float64)
    if v.ndim != 1 or len(v) == 0 or not np.isfinite(v).all():
        raise invalid("scores", "be finite numbers, shape (M,)", f"shape {v.shape}")
    # only ratios of scores matter. In units of the largest their squares neither overflow nor vanish
    largest = np.abs(v).max(initial=0.0)
    return v / largest if largest > 0 else v


def _weights(v: FloatArray, tau: float) -> FloatArray:
    above = np.maximum(v - tau, 0)
    return np.asarray(above / above.sum())
