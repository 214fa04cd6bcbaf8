"""Kernel models that choose their own settings: support vector classification and kernel ridge regression.

With squared distances D_v between vectors and D_l between sets of Weisfeiler-Lehman (WL) labels, both in
units of their median, the kernel is exp(-gamma (w D_l + (1 - w) D_v)). Without labels w is 0. The weight w,
then gamma, then C are chosen on held-out samples, each by a walk along its grid that starts at a default and
stops as soon as the score no longer improves. Beyond `MOST_ROWS` samples, ridge regression on the kernel with
a subset (Nystroem) serves classes too. `model_` and the log state which model was fitted.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import combinations, pairwise
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.linalg import cho_factor, cho_solve
from scipy.special import softmax
from scipy.stats import rankdata
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone, is_classifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import check_scoring, roc_auc_score
from sklearn.model_selection import (
    KFold,
    ShuffleSplit,
    StratifiedKFold,
    StratifiedShuffleSplit,
    check_cv,
    train_test_split,
)
from sklearn.svm import SVC
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array, check_is_fitted

from grnf._utils.arrays import offsets
from grnf.estimators.histograms import LabelSets, SetsKernel
from grnf.typing import FloatArray, IntArray

__all__ = ["GRIDS", "KernelClassifier", "KernelInput", "KernelRegressor"]

GRIDS: dict[str, tuple[float, ...]] = {
    "wl_weight": (0.5, 1.0, 0.0),
    "gamma": (0.03, 0.1, 0.3, 1.0, 3.0, 10.0),
    "C": (0.1, 1.0, 10.0, 100.0, 1e3, 1e4),
}
"""Values that are tried by default."""
START = {"wl_weight": 0.5, "gamma": 0.3, "C": 10.0}
"""Where the search starts."""

MOST_ROWS = 8_000
"""Samples up to which the whole kernel matrix is used."""
LANDMARKS, MOST_LANDMARKS, ROWS_PER_LANDMARK = 2_000, 4_000, 8
"""Size of the subset for more samples: at least, at most, and the samples for each landmark in between."""
BALANCED = 1.5
"""Classes are balanced if the largest has at most so many times the samples of the smallest."""
FOR_SEARCH = 4_000
"""Samples used to choose settings."""
FOLDS = ((300, 5), (2_000, 3))
"""Samples up to which this many folds are used; beyond, a hold-out of a fifth."""
FOR_SCALE = 500
"""Samples whose distances give the median."""
ROWS_AT_ONCE = 2_000

logger = logging.getLogger(__name__)

Settings: TypeAlias = dict[str, float]
HeldOut: TypeAlias = list[tuple[FloatArray, Any]]
"""Outputs for held-out samples, with their targets."""


class KernelInput(NamedTuple):
    """Samples of a kernel model: vectors, and sets of WL labels if there are any."""

    vectors: FloatArray
    sets: LabelSets | None = None

    def take(self, rows: IntArray) -> KernelInput:
        """Return some of the samples."""
        return KernelInput(self.vectors[rows], None if self.sets is None else self.sets.take(rows))


class _KernelModel(BaseEstimator):  # type: ignore[misc]
    """What classification and regression share."""

    _solver: Callable[[bool], Any]
    _targets: Callable[[Any], FloatArray]
    _score: Callable[[FloatArray, Any], float]

    def __init__(
        self,
        views: Sequence[int] | None = None,
        *,
        wl_weight: Any = None,
        gamma: Any = None,
        C: Any = None,
        cv: Any = None,
        scoring: Any = None,
        random_state: Any = None,
    ) -> None:
        self.views = views
        self.wl_weight = wl_weight
        self.gamma = gamma
        self.C = C
        self.cv = cv
        self.scoring = scoring
        self.random_state = random_state

    def _fit(self, X: KernelInput | FloatArray, y: Any) -> HeldOut:
        """Choose and fit; return the outputs for samples that were held out for the choice."""
        X = _as_input(X)
        n, width = X.vectors.shape
        widths = [width] if self.views is None else [int(part) for part in self.views]
        if sum(widths) != width:
            raise ValueError(f"views must add up to the {width} columns of X, got {widths}")
        few = n <= MOST_ROWS
        kept = np.arange(n) if few else self._landmarks(y)
        self.model_ = "exact" if few else f"{len(kept):,} landmarks"
        logger.info("%s: %s of %d samples", type(self).__name__, self.model_, n)
        self.distances_ = Distances(X if few else X.take(kept), widths)
        parts = self.distances_.own()
        chosen = self._subset(y[kept], FOR_SEARCH) if len(kept) > FOR_SEARCH else np.arange(len(kept))
        small: tuple[Any, ...] = parts
        if len(chosen) < len(kept):
            small = tuple(None if part is None else part[np.ix_(chosen, chosen)] for part in parts)
        solve = self._solver(few)
        search = Search(small, y[kept][chosen], self._splits(y[kept][chosen]), solve, self._score)
        with config_context(assume_finite=True, skip_parameter_validation=True):  # all is checked
            best = self._chosen(search)
        self.kernel_ = best["wl_weight"], best["gamma"]
        K = kernel_matrix(*parts, *self.kernel_)
        if few:
            self.solution_ = solve(K, y, best["C"])
            self.support_ = self.solution_.support
            self.distances_.restrict(self.support_)
        else:
            self.solution_, self.support_ = self._nystroem(X, y, K, best["C"]), kept
        return search.outputs.get(tuple(best.values()), [])

    def fixed(self) -> Self:
        """Return an unfitted model with the settings of this fitted one, which chooses nothing."""
        return clone(self).set_params(**getattr(self, "best_params_", {}), cv=[])  # type: ignore[no-any-return]

    def _chosen(self, search: Search) -> Settings:
        """Choose the weight of the WL kernel, then gamma, then C."""
        grids = {name: _grid(getattr(self, name), name) for name in GRIDS}
        grids |= {name: sorted(grids[name]) for name in ("gamma", "C")}
        if search.parts[0] is None:
            grids["wl_weight"] = [0.0]
        best = {
            name: START[name] if START[name] in grid else grid[len(grid) // 2] for name, grid in grids.items()
        }
        if search.splits:
            for value in grids["wl_weight"]:
                best = search.better(best, {**best, "wl_weight": value})
            for name in ("gamma", "C"):
                best = search.climb(best, name, grids[name])
            names = [name for name in best if name != "wl_weight" or search.parts[0] is not None]
            self.cv_results_ = search.results(names)
            self.best_index_ = list(search.scores).index(tuple(best.values()))
            self.best_score_ = search.mean(best)
            self.best_params_ = {name: best[name] for name in names}
        return best

    def _nystroem(self, X: KernelInput, y: Any, K: FloatArray, C: float) -> _Ridge:
        """Fit on all samples by their kernel with the landmarks."""
        targets = self._targets(y)
        gram = (K / C).astype(np.float64)
        right = np.zeros((len(K), targets.shape[1]))
        for rows in _pieces(len(y)):
            block = kernel_matrix(*self.distances_(X.take(rows)), *self.kernel_).astype(np.float64)
            gram += block.T @ block
            right += block.T @ targets[rows]
        gram[np.diag_indices_from(gram)] += 1e-6 * np.trace(gram) / len(gram)  # single precision of K
        return _Ridge(cho_solve(cho_factor(gram, overwrite_a=True), right))

    def _output(self, X: KernelInput | FloatArray) -> FloatArray:
        check_is_fitted(self)
        X = _as_input(X)
        parts = [
            self.solution_.output(kernel_matrix(*self.distances_(X.take(rows)), *self.kernel_), self.support_)
            for rows in _pieces(len(X.vectors))
        ]
        return np.concatenate(parts)

    def _landmarks(self, y: Any) -> IntArray:
        """Return a random subset; if ranks are scored, rare classes fill up to half of it."""
        count = int(np.clip(len(y) // ROWS_PER_LANDMARK, LANDMARKS, MOST_LANDMARKS))
        if not is_classifier(self) or self.scoring_ != "roc_auc":
            return self._subset(y, count)
        sizes = np.bincount(y)
        rare = np.flatnonzero(np.isin(y, np.flatnonzero(2 * len(sizes) * sizes < len(y))))
        random = check_random_state(self.random_state)
        rare = random.permutation(rare)[: count // 2]
        others = np.setdiff1d(np.arange(len(y)), rare)
        chosen = random.choice(others, count - len(rare), replace=False)
        return np.asarray(np.sort(np.concatenate([rare, chosen])))

    def _subset(self, y: Any, count: int) -> IntArray:
        """Return a random subset of the rows, with the same share of every class."""
        stratify = is_classifier(self) and np.bincount(y).min() >= 2 and len(np.unique(y)) <= count // 2
        rows, _ = train_test_split(
            np.arange(len(y)),
            train_size=count,
            stratify=y if stratify else None,
            random_state=self.random_state,
        )
        return np.sort(rows)

    def _splits(self, y: Any) -> list[Any]:
        classify = is_classifier(self)
        if self.cv is not None:
            return list(check_cv(self.cv, y, classifier=classify).split(y, y))
        folds = next((count for most, count in FOLDS if len(y) <= most), None)
        counts = np.sort(np.bincount(y))[::-1] if classify else np.full(2, len(y))
        if counts[1] < 2:  # a training part may have one class only
            return []
        if folds is None:
            kind = StratifiedShuffleSplit if classify and counts[-1] >= 5 else ShuffleSplit
            return list(kind(1, test_size=0.2, random_state=self.random_state).split(y, y))
        splitter = StratifiedKFold if classify else KFold
        with warnings.catch_warnings():  # a rare class may be missing from a fold, which does no harm
            warnings.filterwarnings("ignore", "The least populated class")
            made = splitter(min(folds, int(counts[1])), shuffle=True, random_state=self.random_state)
            return list(made.split(y, y))

    def _ridge(self, K: FloatArray, y: Any, C: float) -> _Ridge:
        K = K.astype(np.float64)
        K[np.diag_indices_from(K)] += 1 / C
        return _Ridge(cho_solve(cho_factor(K, overwrite_a=True), self._targets(y)))


class KernelClassifier(ClassifierMixin, _KernelModel):  # type: ignore[misc]
    """Support vector classification with the kernel of this module.

    Probabilities are calibrated on the samples that were held out to choose the settings.

    Parameters
    ----------
    views : sequence of int, optional
        Widths of the views whose columns make up the vectors. All views have equal weight. None: one view.
    wl_weight, gamma, C : float or sequence of float, optional
        One value, or those to choose from. gamma is in units of 1 / median squared distance.
        `wl_weight` is w, from 0 to 1.
    cv : int, splitter or iterable of (train, test), optional
        How to choose. None: 5 folds, 3 for more than 300 samples, a hold-out of a fifth for more than 2,000.
    scoring : str or callable, optional
        Scorer of scikit-learn to choose by. None: ROC-AUC, or accuracy if classes are balanced. With several
        classes, ROC-AUC is the one-versus-rest mean.
    random_state : int, optional
        Seed of the folds.

    Attributes
    ----------
    classes_ : array
    scoring_ : str or callable
        Score that chose.
    model_ : str
        "exact", or the number of landmarks.
    best_params_, best_score_, best_index_, cv_results_
        What was chosen and all that was tried, as in `GridSearchCV`; absent if there is too little data.
    """

    def fit(self, X: KernelInput | FloatArray, y: Any) -> Self:
        """Choose the settings, then fit on all samples."""
        self.classes_, labels = np.unique(np.asarray(y), return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"y must have at least two classes, got only {self.classes_.tolist()}")
        sizes = np.bincount(labels)
        balanced = sizes.max() <= BALANCED * sizes.min()
        self.scoring_ = self.scoring or ("accuracy" if balanced else "roc_auc")
        held_out = self._fit(X, labels)
        self.calibration_ = None
        targets = np.concatenate([target for _, target in held_out] or [np.empty(0)])
        shapes = {output.shape[1:] for output, _ in held_out}
        if len(np.unique(targets)) == len(self.classes_) and len(shapes) == 1:
            values = np.concatenate([output for output, _ in held_out]).reshape(len(targets), -1)
            shares = sizes / np.bincount(targets)  # landmarks may have more of the rare classes
            weights = shares[targets] / shares[targets].mean()
            self.calibration_ = LogisticRegression(max_iter=1000).fit(values, targets, weights)
        return self

    def decision_function(self, X: KernelInput | FloatArray) -> FloatArray:
        """Return one number per sample (two classes) or one per sample and class."""
        return self._output(X)

    def predict(self, X: KernelInput | FloatArray) -> npt.NDArray[Any]:
        """Return the class of each sample."""
        return np.asarray(self.classes_[_votes(self._output(X))])

    def predict_proba(self, X: KernelInput | FloatArray) -> FloatArray:
        """Return the probability of each class."""
        output = self._output(X)
        if self.calibration_ is not None:
            return np.asarray(self.calibration_.predict_proba(output.reshape(len(output), -1)))
        return _softmax(output)

    def _solver(self, few: bool) -> Callable[[FloatArray, Any, float], Any]:
        return partial(_SupportVectors, n_classes=len(self.classes_)) if few else self._ridge

    def _targets(self, y: Any) -> FloatArray:
        one_hot = np.where(y[:, np.newaxis] == np.arange(len(self.classes_)), 1.0, -1.0)
        return one_hot[:, 1:] if len(self.classes_) == 2 else one_hot

    def _score(self, output: FloatArray, y: Any) -> float:
        if self.scoring_ == "roc_auc":
            return rank_score(output, y)
        if self.scoring_ == "accuracy":
            return float(np.mean(_votes(output) == y))
        return float(check_scoring(self, self.scoring_)(_ClassOutputs(len(self.classes_)), output, y))


class KernelRegressor(RegressorMixin, _KernelModel):  # type: ignore[misc]
    """Kernel ridge regression with the kernel of this module and the penalty 1 / C.

    Parameters
    ----------
    views, wl_weight, gamma, C, cv, random_state
        As in `KernelClassifier`.
    scoring : str or callable, optional
        Scorer of scikit-learn to choose by. None: squared error.
    """

    def fit(self, X: KernelInput | FloatArray, y: Any) -> Self:
        """Choose the settings, then fit on all samples."""
        target = np.asarray(y, dtype=np.float64)
        if target.ndim != 1 or not np.isfinite(target).all():
            raise ValueError(f"y must be one finite number per sample, got shape {target.shape}")
        self.y_mean_, self.y_scale_ = float(target.mean()), float(target.std()) or 1.0
        self._fit(X, (target - self.y_mean_) / self.y_scale_)
        return self

    def predict(self, X: KernelInput | FloatArray) -> FloatArray:
        """Return the estimate for each sample."""
        return self._output(X) * self.y_scale_ + self.y_mean_

    def _solver(self, few: bool) -> Callable[[FloatArray, Any, float], Any]:  # noqa: ARG002
        return self._ridge

    def _targets(self, y: Any) -> FloatArray:
        return np.asarray(y, dtype=np.float64)[:, np.newaxis]

    def _score(self, output: FloatArray, y: Any) -> float:
        if self.scoring is None:
            return -float(np.mean((output - y) ** 2))
        output, y = (values * self.y_scale_ + self.y_mean_ for values in (output, y))
        return float(check_scoring(self, self.scoring)(_NumberOutputs(), output, y))


class _ClassOutputs(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier for scorers whose samples are decisions already."""

    def __init__(self, n_classes: int) -> None:
        self.classes_ = np.arange(n_classes)

    def decision_function(self, X: FloatArray) -> FloatArray:
        """Return the samples."""
        return X

    def predict(self, X: FloatArray) -> npt.NDArray[np.intp]:
        """Return the class of each decision."""
        return _votes(X)

    def predict_proba(self, X: FloatArray) -> FloatArray:
        """Return probabilities without calibration."""
        return _softmax(X)


class _NumberOutputs(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """A regressor for scorers whose samples are predictions already."""

    def predict(self, X: FloatArray) -> FloatArray:
        """Return the samples."""
        return X


class Distances:
    """Squared distances of samples to the training samples, by WL labels and by vectors, in units of medians.

    The distance by labels is the mean of 1 - K over the kernels of the sets, each in units of its median.
    """

    def __init__(self, X: KernelInput, widths: Sequence[int]) -> None:
        self.mean, self.factor = _column_scale(X.vectors, widths)
        self.rows = (X.vectors - self.mean) * self.factor
        self.labels = None if X.sets is None else SetsKernel(X.sets)
        self.medians: list[float] = []

    def own(self) -> tuple[FloatArray | None, FloatArray]:
        """Return the distances between the training samples, and learn the medians from them."""
        by_labels = None
        if self.labels is not None:
            kernels, n = self.labels(), len(self.rows)
            some = np.unique(np.linspace(0, n - 1, min(n, FOR_SCALE)).astype(int))
            self.medians = [float(_median(1 - K[np.ix_(some, some)])) or 1.0 for K in kernels]
            by_labels = self._mean(kernels)
        return by_labels, squared_distances(self.rows, self.rows)

    def __call__(self, X: KernelInput) -> tuple[FloatArray | None, FloatArray]:
        """Return the distances of some samples to the training samples, one row each."""
        # double precision: the same predictions on every processor, with large coefficients too
        rows = ((X.vectors - self.mean) * self.factor).astype(np.float64)
        by_labels = None if self.labels is None else self._mean(self.labels(X.sets))
        return by_labels, squared_distances(rows, self.rows.astype(np.float64))

    def restrict(self, rows: IntArray) -> None:
        """Keep some training samples only; the units stay."""
        self.rows = self.rows[rows]
        if self.labels is not None:
            self.labels.restrict(rows)

    def _mean(self, kernels: list[FloatArray]) -> FloatArray:
        mean = np.zeros_like(kernels[0])
        for K, median in zip(kernels, self.medians, strict=True):
            mean += (1 - K) / np.float32(median * len(kernels))
        return np.asarray(np.maximum(mean, 0, out=mean))


class Search:
    """Scores of settings on held-out samples. Each is computed once."""

    def __init__(self, parts: tuple[Any, ...], y: Any, splits: Any, solve: Any, score: Any) -> None:
        self.parts, self.y, self.splits, self.solve, self.score = parts, y, splits, solve, score
        self.scores: dict[tuple[float, ...], list[float]] = {}
        self.outputs: dict[tuple[float, ...], HeldOut] = {}
        self._kernel: tuple[Any, Any] = (None, None)

    def mean(self, settings: Settings) -> float:
        """Return the mean score of some settings over the splits."""
        key = tuple(settings.values())
        if key not in self.scores:
            self.scores[key] = list(self._scores(*key))
        return float(np.mean(self.scores[key]))

    def better(self, best: Settings, tried: Settings) -> Settings:
        """Return the settings with the higher score; on a tie, those that were best before."""
        return tried if self.mean(tried) > self.mean(best) else best

    def climb(self, best: Settings, name: str, grid: list[float]) -> Settings:
        """Walk along a grid, up or else down, as long as the score improves."""
        start = grid.index(best[name])
        for steps in (grid[start + 1 :], grid[:start][::-1]):
            before = best
            for value in steps:
                after = self.better(best, {**best, name: value})
                if after is best:
                    break
                best = after
            if best is not before:
                break
        return best

    def _scores(self, wl_weight: float, gamma: float, C: float) -> Iterator[float]:
        if self._kernel[0] != (wl_weight, gamma):
            self._kernel = (wl_weight, gamma), kernel_matrix(self.parts[0], self.parts[1], wl_weight, gamma)
        K = self._kernel[1]
        for train, test in self.splits:
            output = self.solve(K[np.ix_(train, train)], self.y[train], C).output(K[np.ix_(test, train)])
            self.outputs.setdefault((wl_weight, gamma, C), []).append((output, self.y[test]))
            yield self.score(output, self.y[test])

    def results(self, names: Sequence[str]) -> dict[str, Any]:
        """Return all that was tried in the form of `GridSearchCV`."""
        scores = np.array(list(self.scores.values()))
        tried = [dict(zip(START, key, strict=True)) for key in self.scores]
        mean = scores.mean(axis=1)
        return {
            **{f"param_{name}": np.array([entry[name] for entry in tried]) for name in names},
            **{f"split{number}_test_score": column for number, column in enumerate(scores.T)},
            "params": [{name: entry[name] for name in names} for entry in tried],
            "mean_test_score": mean,
            "std_test_score": scores.std(axis=1),
            "rank_test_score": rankdata(-mean, method="min").astype(np.int32),
        }


class _SupportVectors:
    """A support vector classifier on a kernel matrix, as plain arrays.

    `coefficients` (n_support, n_present - 1) are those of `SVC.dual_coef_`. For the pair of classes (i, j),
    they are in column j - 1 for vectors in class i < j, and in column i for those in class j. `present` are
    the classes in training.
    """

    def __init__(self, K: FloatArray, y: Any, C: float, n_classes: int) -> None:
        model = SVC(C=C, kernel="precomputed", cache_size=500).fit(K.astype(np.float64), y)
        self.n_classes, self.present, self.support = n_classes, model.classes_, model.support_
        self.coefficients, self.intercept = model.dual_coef_.T, model.intercept_
        self.first = offsets(model.n_support_)

    def output(self, K: FloatArray, support: IntArray | None = None) -> FloatArray:
        """Return decisions; with `support`, K has the columns of the support vectors alone."""
        K = np.asarray(K if support is not None else K[:, self.support], dtype=np.float64)
        count = len(self.present)
        if count == 2:
            values = (K @ self.coefficients + self.intercept)[:, 0]
            if self.n_classes == 2:
                return np.asarray(values)
            values = np.column_stack([-values, values])
        else:
            values = self._one_against_one(K)
        full = np.repeat(values.min(axis=1, keepdims=True) - 1, self.n_classes, axis=1)
        full[:, self.present] = values  # classes that are not in the training part come last
        return full

    def _one_against_one(self, K: FloatArray) -> FloatArray:
        """Return the votes of all pairs of classes, and between equal votes the sums of decisions."""
        count, first = len(self.present), self.first
        parts = [K[:, a:b] @ self.coefficients[a:b] for a, b in pairwise(first)]
        votes, sums = np.zeros((2, len(K), count))
        for (i, j), shift in zip(combinations(range(count), 2), self.intercept, strict=True):
            decision = parts[i][:, j - 1] + parts[j][:, i] + shift  # positive for class i
            votes[:, i] += decision >= 0
            votes[:, j] += decision < 0
            sums[:, i] += decision
            sums[:, j] -= decision
        return np.asarray(votes + sums / (3 * (np.abs(sums) + 1)))


class _Ridge:
    """Kernel ridge regression on a kernel matrix."""

    def __init__(self, coefficients: FloatArray) -> None:
        self.coefficients, self.support = coefficients, np.arange(len(coefficients))

    def output(self, K: FloatArray, support: IntArray | None = None) -> FloatArray:  # noqa: ARG002
        """Return the values."""
        values = K @ self.coefficients
        return np.asarray(values[:, 0] if values.shape[1] == 1 else values)


def kernel_matrix(
    by_labels: FloatArray | None, by_vectors: FloatArray, wl_weight: float, gamma: float
) -> FloatArray:
    """Return exp(-gamma (w D_l + (1 - w) D_v)) for distances by labels and by vectors."""
    if by_labels is None or wl_weight == 0:
        K = by_vectors * np.float32(-gamma)
    elif wl_weight == 1:
        K = by_labels * np.float32(-gamma)
    else:
        K = by_labels * np.float32(-gamma * wl_weight)
        K -= by_vectors * np.float32(gamma * (1 - wl_weight))
    return np.asarray(np.exp(K, out=K))


def rank_score(output: FloatArray, y: Any) -> float:
    """Return the ROC-AUC of decisions for classes 0, 1, ..; of several, the mean of each against the rest."""
    columns = [(1, output)] if output.ndim == 1 else list(enumerate(output.T))
    areas = [
        roc_auc_score(y == label, column) for label, column in columns if 0 < (y == label).sum() < len(y)
    ]
    return float(np.mean(areas)) if areas else 0.5


def squared_distances(X: FloatArray, Y: FloatArray) -> FloatArray:
    """Return |x - y|^2 of all pairs of rows."""
    distances = (X * X).sum(axis=1)[:, np.newaxis] + (Y * Y).sum(axis=1) - 2 * X @ Y.T
    return np.asarray(np.maximum(distances, 0, out=distances))


def _column_scale(X: FloatArray, widths: Sequence[int]) -> tuple[FloatArray, FloatArray]:
    """Return shift and factor of each column: standardized, and the same weight for each view."""
    mean = X.mean(axis=0, dtype=np.float64).astype(np.float32)
    std = X.std(axis=0, dtype=np.float64)
    alive = std > 1e-4 * np.abs(X).max(axis=0, initial=0.0)  # smaller spreads hold too much rounding
    factor = np.where(alive, 1 / np.where(alive, std, 1), 0)
    some = X[np.linspace(0, len(X) - 1, min(len(X), FOR_SCALE)).astype(int)]
    some = ((some - mean) * factor).astype(np.float32)
    stop = 0
    for width in widths:
        start, stop = stop, stop + width
        median = _median(squared_distances(some[:, start:stop], some[:, start:stop]))
        factor[start:stop] /= np.sqrt(len(widths) * (median or max(width, 1)))
    return mean, factor.astype(np.float32)


def _median(distances: FloatArray) -> Any:
    """Return the median distance between different samples, 0 if there is one sample."""
    above = distances[np.triu_indices(len(distances), 1)]
    return np.median(above) if len(above) else 0.0


def _as_input(X: KernelInput | FloatArray) -> KernelInput:
    return X if isinstance(X, KernelInput) else KernelInput(check_array(X, dtype=np.float32))


def _pieces(n_rows: int) -> list[IntArray]:
    return np.array_split(np.arange(n_rows), max(1, -(-n_rows // ROWS_AT_ONCE)))


def _grid(given: Any, name: str) -> list[float]:
    """Return the values to choose from."""
    values = GRIDS[name] if given is None else np.atleast_1d(given).tolist()
    weight = name == "wl_weight"
    good = [isinstance(value, int | float) and (0 <= value <= 1 if weight else value > 0) for value in values]
    if not good or not all(good):
        raise ValueError(f"{name} must be numbers {'from 0 to 1' if weight else '> 0'}, got {given!r}")
    return [float(value) for value in values]


def _softmax(output: FloatArray) -> FloatArray:
    """Return probabilities of classes from decisions."""
    return np.asarray(softmax(np.column_stack([-output, output]) if output.ndim == 1 else output, axis=1))


def _votes(output: FloatArray) -> npt.NDArray[np.intp]:
    """Return the number of the class of each decision."""
    return (output > 0).astype(np.intp) if output.ndim == 1 else output.argmax(axis=1)
