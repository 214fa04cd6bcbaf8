"""Kernel models that choose their own settings: support vector classification and kernel ridge regression.

With squared distances D_v between vectors and D_l between sets of Weisfeiler-Lehman (WL) labels, both in
units of their median, the kernel is exp(-gamma (w D_l + (1 - w) D_v)). Without labels w is 0. The weight w,
then gamma, then C are chosen on held-out samples, each by a walk along its grid that starts at a default and
stops as soon as the score no longer improves. Several targets share the kernel: the settings have the best
mean score, and classes are learned by ridge regression too, which solves for all targets at once. If there
is no room for the whole kernel matrix, ridge regression on the kernel with a subset (Nystroem) serves all
tasks. `model_` and the log state which model was fitted.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import KW_ONLY, dataclass, field
from functools import lru_cache, partial
from itertools import combinations, pairwise
from typing import Any, ClassVar, NamedTuple, Self, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.special import softmax
from scipy.stats import rankdata
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone, is_classifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import check_scoring, roc_auc_score
from sklearn.model_selection import KFold, StratifiedKFold, check_cv, train_test_split
from sklearn.svm import SVC
from sklearn.utils import check_random_state
from sklearn.utils._missing import is_pandas_na
from sklearn.utils.multiclass import _ovr_decision_function
from sklearn.utils.validation import check_is_fitted

from grnf._utils.arrays import offsets
from grnf.errors import invalid
from grnf.estimators.histograms import LabelSets
from grnf.typing import FloatArray, IntArray

GRIDS: dict[str, tuple[float, ...]] = {
    "wl_weight": (0.5, 1.0, 0.0),
    "gamma": (0.03, 0.1, 0.3, 1.0, 3.0, 10.0),
    "C": (0.1, 1.0, 10.0, 100.0, 1e3, 1e4),
}
"""Values that are tried by default."""
START = {"wl_weight": 0.5, "gamma": 0.3, "C": 10.0}
"""Where the search starts."""

PREDICTING = ("predict", "predict_proba", "decision_function")
"""Methods that scorers may call."""
KERNEL_MEMORY = 2e9
"""Bytes that the whole kernel matrix may use, with what it takes to make it."""
BYTES_PER_ENTRY = 10
"""Of the matrix in double precision, with room for blocks of rows."""
LANDMARKS, MOST_LANDMARKS, ROWS_PER_LANDMARK = 4_000, 8_000, 5
"""Size of the subset for more samples: at least, at most, and the samples for each landmark in between."""
BALANCED = 1.5
"""Classes are balanced if the largest has at most so many times the samples of the smallest."""
FOR_SEARCH = 4_000
"""Samples used to choose settings."""
FOLDS = ((300, 5), (FOR_SEARCH, 3))
"""Samples up to which this many folds are used."""
FOR_SCALE = 500
"""Samples whose distances give the median."""
ROWS_AT_ONCE = 2_000
CONSTANT = 1e-4
"""Columns whose deviation is below this share of the largest value are left out, since the rounding of
another CPU would be large in them."""
FARTHEST = 5.0
"""Deviations from the mean beyond which a column no longer adds to distances: a value that few samples have
would make them unlike all others."""

logger = logging.getLogger(__name__)

Settings: TypeAlias = dict[str, float]


@dataclass(frozen=True, eq=False)
class KernelInput:
    """Samples of a kernel model: vectors, and sets of WL labels if there are any."""

    vectors: FloatArray
    sets: LabelSets | None = None

    def __getitem__(self, rows: IntArray) -> KernelInput:
        return KernelInput(self.vectors[rows], None if self.sets is None else self.sets.take(rows))


class Targets(NamedTuple):
    """Numbers of classes, or standardized numbers, a column for each target. Weights are 0 if missing."""

    values: npt.NDArray[Any]
    weights: FloatArray

    def take(self, rows: IntArray) -> Targets:
        """Return the targets of some samples."""
        return Targets(self.values[rows], self.weights[rows])

    def known(self) -> Iterator[tuple[IntArray, npt.NDArray[Any]]]:
        """Yield for each target the samples that have it, and their values."""
        for values, weights in zip(self.values.T, self.weights.T, strict=True):
            rows = np.flatnonzero(weights)
            yield rows, values[rows]


HeldOut: TypeAlias = tuple[float, FloatArray, Targets]
"""The score for held-out samples, their outputs and their targets."""


@dataclass(eq=False, repr=False)
class _KernelModel(BaseEstimator):  # type: ignore[misc]
    """What classification and regression share."""

    _score: ClassVar[Any]
    _several: bool = field(init=False)
    widths_: list[int] = field(init=False)
    """Columns of the output for each target."""

    views: Sequence[int] | None = None
    _: KW_ONLY
    wl_weight: Any = None
    gamma: Any = None
    C: Any = None
    cv: Any = None
    scoring: Any = None
    random_state: Any = None
    kernel_memory: float = KERNEL_MEMORY

    def _fit(self, X: KernelInput | FloatArray, y: Targets) -> list[HeldOut]:
        """Choose and fit. Return what was held out with the chosen settings."""
        X, n = _as_input(X), len(y.values)
        exact = n <= np.sqrt(self.kernel_memory / BYTES_PER_ENTRY)
        count = int(np.clip(n // ROWS_PER_LANDMARK, LANDMARKS, MOST_LANDMARKS))
        kept = np.arange(n) if exact else self._subset(y, count)
        self.model_ = "exact" if exact else f"{len(kept):,} landmarks"
        logger.info("%s: %s of %d samples", type(self).__name__, self.model_, n)
        self.distances_ = Distances(X[kept], self.views or [X.vectors.shape[1]])
        place = self._subset(y.take(kept), FOR_SEARCH)
        some = y.take(kept[place])
        solve: Callable[[FloatArray, Targets, float], Any] = self._ridge
        if exact and is_classifier(self) and len(self.widths_) == 1:
            solve = partial(_SupportVectors, n_classes=max(2, self.widths_[0]))
        with config_context(assume_finite=True, skip_parameter_validation=True):  # all is checked
            best, held_out = self._chosen(self.distances_.restricted(place)(X[kept[place]]), some, solve)
        self.kernel_ = best["wl_weight"], best["gamma"]
        if exact:
            K = np.empty((n, n))
            for rows, block in self._blocks(X):
                K[rows] = block
            self.solution_ = solve(K, y, best["C"])
        else:
            self.solution_ = self._nystroem(X, y, kept, best["C"])
        self.support_ = kept[self.solution_.support]
        self.distances_ = self.distances_.restricted(self.solution_.support)  # sorted by class
        return held_out

    def _columns(self, y: Targets) -> FloatArray:
        """Return what ridge regression solves for, a column for each output."""
        return y.values

    def _problem(self, y: Targets) -> tuple[FloatArray, IntArray, FloatArray, list[IntArray]]:
        """Return the columns of ridge regression, with their targets, means, and groups of equal weights."""
        T, target = self._columns(y), np.repeat(np.arange(len(self.widths_)), self.widths_)
        weights = y.weights[:, target]
        means = (T * weights).sum(axis=0) / np.maximum(weights.sum(axis=0), 1e-300)  # 0 without samples
        _, group = np.unique(weights, axis=1, return_inverse=True)
        return T, target, means, [np.flatnonzero(group.ravel() == n) for n in range(group.max() + 1)]

    def _mean_score(self, output: FloatArray, y: Targets) -> float:
        """Return the mean score over the targets that have values."""
        outputs = _split(output, self.widths_)
        known = enumerate(zip(outputs, y.known(), strict=True))
        scores = [self._score(part[rows], own, target) for target, (part, (rows, own)) in known if len(rows)]
        return float(np.mean(scores))

    def singles(self) -> list[Any]:
        """Return an estimator for each target."""
        targets = range(len(self.widths_))
        return [OneTarget(self, target) for target in targets] if self._several else [self]

    def fixed(self) -> Self:
        """Return an unfitted model with the settings of this fitted one, which chooses nothing."""
        return clone(self).set_params(**getattr(self, "best_params_", {}), cv=[])  # type: ignore[no-any-return]

    def _chosen(self, parts: Any, y: Targets, solve: Any) -> tuple[Settings, list[HeldOut]]:
        """Choose the weight of the WL kernel, then gamma, then C. Each setting is tried once."""
        splits, has_labels = self._splits(y), parts[0] is not None
        tried: dict[tuple[float, ...], list[HeldOut]] = {}
        kernel = lru_cache(1)(partial(kernel_matrix, *parts))

        def mean(settings: Settings) -> float:
            key = tuple(settings.values())
            if key not in tried:
                K, own = kernel(settings["wl_weight"], settings["gamma"]), partial(solve, C=settings["C"])
                tried[key] = [self._held_out(K, y, train, test, own) for train, test in splits]
            return float(np.mean([score for score, *_ in tried[key]]))

        grids = {name: _grid(getattr(self, name), name) for name in GRIDS}
        grids |= {name: sorted(grids[name]) for name in ("gamma", "C")}
        if not has_labels:
            grids["wl_weight"] = [0.0]
        best = {
            name: START[name] if START[name] in grid else grid[len(grid) // 2] for name, grid in grids.items()
        }
        if splits:
            for value in grids["wl_weight"]:
                best = better(mean, best, "wl_weight", value)
            for name in ("gamma", "C"):
                best = climb(mean, best, name, grids[name])
            names = [name for name in best if name != "wl_weight" or has_labels]
            scores = np.array([[score for score, *_ in found] for found in tried.values()])
            self.cv_results_ = results([dict(zip(best, key, strict=True)) for key in tried], scores, names)
            self.best_index_ = list(tried).index(tuple(best.values()))
            self.best_score_ = mean(best)
            self.best_params_ = {name: best[name] for name in names}
        return best, tried.get(tuple(best.values()), [])

    def _held_out(self, K: FloatArray, y: Targets, train: IntArray, test: IntArray, solve: Any) -> HeldOut:
        fitted, truth = solve(K[np.ix_(train, train)], y.take(train)), y.take(test)
        held_out = K[np.ix_(test, train)]
        output = fitted.output(held_out if isinstance(fitted, _Ridge) else held_out[:, fitted.support])
        return self._mean_score(output, truth), output, truth

    def _blocks(self, X: KernelInput) -> Iterator[tuple[IntArray, FloatArray]]:
        """Yield some rows at a time, and their kernel with the samples of the model."""
        for rows in np.array_split(np.arange(len(X.vectors)), max(1, -(-len(X.vectors) // ROWS_AT_ONCE))):
            yield rows, kernel_matrix(*self.distances_(X[rows]), *self.kernel_)

    def _nystroem(self, X: KernelInput, y: Targets, kept: IntArray, C: float) -> _Ridge:
        """Fit on all samples by their kernel with the landmarks."""
        T, target, mean, groups = self._problem(y)
        K, right = np.empty((len(kept), len(kept))), np.zeros((len(kept), T.shape[1]))
        grams = [np.zeros_like(K) for _ in groups]
        for rows, block in self._blocks(X):
            own = np.searchsorted(kept, rows[[0, -1]] + [0, 1])
            K[slice(*own)] = block[kept[slice(*own)] - rows[0]]
            for gram, columns in zip(grams, groups, strict=True):
                weighted = block * np.sqrt(y.weights[rows, target[columns[0]]])[:, np.newaxis]
                gram += weighted.T @ weighted
            right += block.T @ ((T[rows] - mean) * y.weights[rows][:, target])
        coefficients = np.empty_like(right)
        K /= C
        for gram, columns in zip(grams, groups, strict=True):
            gram += K
            coefficients[:, columns] = _solved(gram, right[:, columns])
        return _Ridge(coefficients, mean)

    def _output(self, X: KernelInput | FloatArray) -> FloatArray:
        check_is_fitted(self)
        blocks = self._blocks(_as_input(X))
        return np.concatenate([self.solution_.output(block) for _, block in blocks])

    def _subset(self, y: Targets, count: int) -> IntArray:
        """Return a random subset. Rare classes fill up to half of it, unless accuracy is the score."""
        random, n = check_random_state(self.random_state), len(y.values)
        if count >= n:
            return np.arange(n)
        rare = np.empty(0, np.int64)
        for rows, values in y.known() if is_classifier(self) else ():
            sizes = np.bincount(values)
            share = 1 / (2 * len(sizes)) if self.scoring_ != "accuracy" else 0
            few = np.flatnonzero(sizes < max(share * len(rows), 2))
            rare = np.union1d(rare, rows[np.isin(values, few)])
        rare = random.permutation(rare)[: count // 2]
        others, size = np.setdiff1d(np.arange(n), rare), count - len(rare)
        labels = y.values[others, 0] if is_classifier(self) and y.values.shape[1] == 1 else np.zeros(1, int)
        present = np.bincount(labels)
        if present[present > 0].min() >= 2 and len(present) <= count // 4:
            seed = self.random_state
            more, _ = train_test_split(others, train_size=size, stratify=labels, random_state=seed)
        else:
            more = random.choice(others, size, replace=False)
        return np.sort(np.concatenate([rare, more]))

    def _splits(self, y: Targets) -> list[Any]:
        stratify = is_classifier(self) and y.values.shape[1] == 1
        labels = y.values[:, 0] if stratify else np.zeros(len(y.values))
        if self.cv is not None:
            return list(check_cv(self.cv, labels, classifier=stratify).split(labels, labels))
        folds = next(count for most, count in FOLDS if len(labels) <= most)
        common = int(np.sort(np.bincount(labels))[-2]) if stratify else len(labels)
        if common < 2:  # a training part may have one class only
            return []
        splitter = StratifiedKFold if stratify else KFold
        with warnings.catch_warnings():  # a rare class may be missing from a fold, which does no harm
            warnings.filterwarnings("ignore", "The least populated class")
            made = splitter(min(folds, common), shuffle=True, random_state=self.random_state)
            return list(made.split(labels, labels))

    def _ridge(self, K: FloatArray, y: Targets, C: float) -> _Ridge:
        """Solve with weights w: coefficients sqrt(w) (sqrt(w) K sqrt(w) + 1 / C)^-1 sqrt(w) (y - mean)."""
        T, target, mean, groups = self._problem(y)
        coefficients = np.empty_like(T)
        for columns in groups:
            roots = np.sqrt(y.weights[:, target[columns[:1]]])
            system = np.multiply(K, roots, out=K if columns is groups[-1] else None)
            system *= roots.T
            system[np.diag_indices_from(system)] += 1 / C
            factor = cho_factor(system, overwrite_a=True)
            coefficients[:, columns] = roots * cho_solve(factor, roots * (T - mean)[:, columns])
        return _Ridge(coefficients, mean)


class KernelClassifier(ClassifierMixin, _KernelModel):  # type: ignore[misc]
    """Support vector classification with the kernel of this module.

    Probabilities are calibrated on the samples that were held out to choose the settings.

    `views` has the widths of the views whose columns make up the vectors; all have equal weight. `wl_weight`
    (w), gamma and C are one value each, or those to choose from. `model_` is "exact" or the number of
    landmarks. `calibration_` has for each target coefficients and intercepts of the logistic regression from
    decisions to probabilities. The results of the choice are as in `GridSearchCV`.
    """

    def fit(self, X: KernelInput | FloatArray, y: Any, sample_weight: Any = None) -> Self:
        """Choose the settings, then fit on all samples.

        y has shape (n,), or (n, n_targets) with NaN or None for missing entries. Weights have its shape, or
        are the same for all targets.
        """
        y, weights, self._several = _as_columns(y, sample_weight)
        codes, classes = np.zeros(y.shape, np.intp), []
        for target, (column, known) in enumerate(zip(y.T, weights.T > 0, strict=True)):
            found, codes[known, target] = np.unique(column[known], return_inverse=True)
            classes.append(found)
        self.classes_ = classes if self._several else classes[0]
        self.widths_ = [1 if len(found) == 2 else len(found) for found in classes]
        targets = Targets(codes, weights)
        sizes = [np.bincount(values) for _, values in targets.known()]
        balanced = all(counts.max() <= BALANCED * counts.min() for counts in sizes)
        self.scoring_ = self.scoring or ("accuracy" if balanced else "roc_auc")
        held_out = self._fit(X, targets)
        self.calibration_: list[tuple[FloatArray, FloatArray] | None] = [None] * len(classes)
        if held_out:
            _, outputs, targets = zip(*held_out, strict=True)
            parts = _split(np.concatenate(outputs), self.widths_)
            truth = Targets(*map(np.concatenate, zip(*targets, strict=True))).known()
            self.calibration_ = [
                _calibration(part[rows], labels, counts)
                for part, (rows, labels), counts in zip(parts, truth, sizes, strict=True)
            ]
        return self

    def decision_function(self, X: KernelInput | FloatArray) -> Any:
        """Return one number per sample (two classes) or per sample and class, for each target if several.

        Several targets of two classes have a column each. If one has more classes, there is a list of arrays.
        """
        output = self._output(X)
        if self._several and max(self.widths_) == 1:
            return output
        parts = _split(output, self.widths_)
        return parts if self._several else parts[0]

    def predict(self, X: KernelInput | FloatArray) -> npt.NDArray[Any]:
        """Return the class of each sample, one column per target if there are several."""
        outputs = _split(self._output(X), self.widths_)
        classes = self.classes_ if self._several else [self.classes_]
        found = [own[_votes(output)] for own, output in zip(classes, outputs, strict=True)]
        return np.column_stack(found) if self._several else np.asarray(found[0])

    def predict_proba(self, X: KernelInput | FloatArray) -> Any:
        """Return the probability of each class, as a list with an array per target if there are several."""
        outputs = _split(self._output(X), self.widths_)
        found = []
        for output, fitted in zip(outputs, self.calibration_, strict=True):
            if fitted is not None:
                values = output.reshape(len(output), -1) @ fitted[0].T + fitted[1]
                output = values[:, 0] / 2 if values.shape[1] == 1 else values
            found.append(_softmax(output))
        return found if self._several else found[0]

    def _columns(self, y: Targets) -> FloatArray:
        """Return 1 or -1 for each class (the second of two)."""
        columns = [
            np.where(values[:, np.newaxis] == (np.arange(width) if width > 1 else 1), 1.0, -1.0)
            for values, width in zip(y.values.T, self.widths_, strict=True)
        ]
        return np.hstack(columns)

    def _score(self, output: FloatArray, y: Any, target: int) -> float:
        if self.scoring_ == "roc_auc":
            return rank_score(output, y)
        if self.scoring_ == "accuracy":
            return float(np.mean(_votes(output) == y))
        made: dict[str, Any] = {"predict": _votes, "predict_proba": _softmax, "decision_function": np.asarray}
        found = OneTarget(
            self, None, np.arange(max(2, self.widths_[target])), lambda name: made[name](output)
        )
        return found.score(self.scoring_, np.arange(len(y)), y)


class KernelRegressor(RegressorMixin, _KernelModel):  # type: ignore[misc]
    """Kernel ridge regression with the kernel of this module and the penalty 1 / C."""

    def fit(self, X: KernelInput | FloatArray, y: Any, sample_weight: Any = None) -> Self:
        """Choose the settings, then fit on all samples. Shapes are as in `KernelClassifier`."""
        y, weights, self._several = _as_columns(np.asarray(y, dtype=np.float64), sample_weight)
        y = np.where(weights > 0, y, 0.0)
        self.y_mean_ = np.average(y, axis=0, weights=weights)
        deviation = np.sqrt(np.average((y - self.y_mean_) ** 2, axis=0, weights=weights))
        self.y_scale_ = np.where(deviation > 1e-12 * np.abs(self.y_mean_), deviation, 1.0)
        self.widths_ = [1] * y.shape[1]
        self._fit(X, Targets((y - self.y_mean_) / self.y_scale_, weights))
        return self

    def predict(self, X: KernelInput | FloatArray) -> FloatArray:
        """Return the estimate for each sample, one column per target if there are several."""
        values = self._output(X) * self.y_scale_ + self.y_mean_
        return values if self._several else values[:, 0]

    def _score(self, output: FloatArray, y: Any, target: int) -> float:
        if self.scoring is None:
            return -float(np.mean((output - y) ** 2))
        output, y = (values * self.y_scale_[target] + self.y_mean_[target] for values in (output, y))
        found = OneTarget(self, None, values=lambda _: output)
        return found.score(self.scoring, np.arange(len(y)), y)


class OneTarget:
    """One of several targets of an estimator; None: its only one.

    With `values`, which returns the predictions of a method that is named, samples are numbers of rows.
    """

    def __init__(self, estimator: Any, target: int | None, classes: Any = None, values: Any = None) -> None:
        self.estimator, self.target, self.values = estimator, target, values
        if classes is not None or hasattr(estimator, "classes_"):
            self.classes_ = of_target(estimator.classes_, target) if classes is None else classes

    def __getattr__(self, name: str) -> Any:
        if name not in PREDICTING or not hasattr(self.estimator, name):
            raise AttributeError(name)

        def method(samples: Any) -> Any:
            if self.values is None:
                return of_target(getattr(self.estimator, name)(samples), self.target)
            return compacted(of_target(self.values(name), self.target)[samples])

        method.__name__ = name  # scorers look at it
        return method

    def __sklearn_tags__(self) -> Any:
        return self.estimator.__sklearn_tags__()

    def score(self, scoring: Any, samples: Any, y: Any, **more: Any) -> float:
        """Return the score by a scorer."""
        return float(check_scoring(self.estimator, scoring)(self, samples, y, **more))


class Distances:
    """Squared distances of samples to the training samples, by WL labels and by vectors, in units of medians.

    The distance by labels is the mean of 1 - K over the kernels of the sets, each in units of its median.
    """

    limit: Any = np.inf
    """Of each column of the rows. Files of older models do not have it."""

    def __init__(self, X: KernelInput, widths: Sequence[int]) -> None:
        self.mean, self.factor, self.limit = _column_scale(X.vectors, widths)
        self.rows = self._scaled(X.vectors)
        self.labels = None if X.sets is None else X.sets.compacted()
        self.medians: list[float] = []
        if self.labels is not None:
            n = len(self.rows)
            some = self.labels.take(np.unique(np.linspace(0, n - 1, min(n, FOR_SCALE)).astype(int)))
            self.medians = [float(_median(1 - K)) or 1.0 for K in some.kernels(some)]

    def __call__(self, X: KernelInput) -> tuple[FloatArray | None, FloatArray]:
        """Return the distances of some samples to the training samples, one row each."""
        # in double precision, since large coefficients amplify rounding errors
        rows = self._scaled(X.vectors).astype(np.float64)
        by_labels = None
        if self.labels is not None and X.sets is not None:
            kernels = self.labels.kernels(X.sets)
            by_labels = np.zeros_like(kernels[0])
            for K, median in zip(kernels, self.medians, strict=True):
                by_labels += (1 - K) / np.float32(median * len(kernels))
            np.maximum(by_labels, 0, out=by_labels)
        return by_labels, squared_distances(rows, self.rows.astype(np.float64))

    def _scaled(self, vectors: FloatArray) -> FloatArray:
        rows = (vectors - self.mean) * self.factor
        return np.clip(rows, -self.limit, self.limit, out=rows)

    def restricted(self, rows: IntArray) -> Distances:
        """Return the distances to some of the training samples only. The units stay."""
        made = copy(self)
        made.rows = self.rows[rows]
        made.labels = None if self.labels is None else self.labels.take(rows)
        return made


def better(mean: Callable[[Settings], float], best: Settings, name: str, value: float) -> Settings:
    """Return the settings with another value if their mean score is higher."""
    tried = {**best, name: value}
    return tried if mean(tried) > mean(best) else best


def climb(mean: Callable[[Settings], float], best: Settings, name: str, grid: list[float]) -> Settings:
    """Walk along a grid, up or else down, as long as the score improves."""
    start, found = grid.index(best[name]), best
    for steps in (grid[start + 1 :], grid[:start][::-1]):
        for value in steps:
            before, found = found, better(mean, found, name, value)
            if found is before:
                break
        if found is not best:
            break
    return found


def results(tried: list[Settings], scores: FloatArray, names: list[str]) -> dict[str, Any]:
    """Return the scores of all settings that were tried, a row each, in the form of `GridSearchCV`."""
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

    def __init__(self, K: FloatArray, y: Targets, C: float, n_classes: int) -> None:
        model = SVC(C=C, kernel="precomputed", cache_size=500, random_state=0)  # None takes a number
        model.fit(np.asarray(K, dtype=np.float64), y.values[:, 0], y.weights[:, 0])
        self.n_classes, self.present, self.support = n_classes, model.classes_, model.support_
        self.coefficients, self.intercept = model.dual_coef_.T, model.intercept_
        self.first = offsets(model.n_support_)

    def output(self, K: FloatArray) -> FloatArray:
        """Return decisions, one column or one per class, from the kernel with the support vectors."""
        if len(self.present) > 2:
            values = self._one_against_one(K)
        else:
            values = np.asarray(K @ self.coefficients + self.intercept)
            if self.n_classes == 2:
                return values
            values = np.hstack([-values, values])
        full = np.repeat(values.min(axis=1, keepdims=True) - 1, self.n_classes, axis=1)
        full[:, self.present] = values  # classes that are not in the training part come last
        return full

    def _one_against_one(self, K: FloatArray) -> FloatArray:
        """Return the votes of all pairs of classes, and between equal votes the sums of decisions."""
        parts = [K[:, a:b] @ self.coefficients[a:b] for a, b in pairwise(self.first)]
        pairs = zip(combinations(range(len(self.present)), 2), self.intercept, strict=True)
        decisions = np.column_stack([parts[i][:, j - 1] + parts[j][:, i] + shift for (i, j), shift in pairs])
        votes = _ovr_decision_function(decisions < 0, -decisions, len(self.present))  # positive for class i
        return np.asarray(votes)


class _Ridge:
    """Kernel ridge regression on a kernel matrix, as plain arrays: a column for each output."""

    def __init__(self, coefficients: FloatArray, intercept: FloatArray) -> None:
        self.coefficients, self.intercept = coefficients, intercept
        self.support = np.arange(len(coefficients))

    def output(self, K: FloatArray) -> FloatArray:
        """Return the values."""
        return np.asarray(K @ self.coefficients + self.intercept)


def kernel_matrix(
    by_labels: FloatArray | None, by_vectors: FloatArray, wl_weight: float, gamma: float
) -> FloatArray:
    """Return exp(-gamma (w D_l + (1 - w) D_v)) in double precision, for distances by labels and by vectors.

    In single precision, large coefficients would make predictions differ between CPUs.
    """
    K = by_vectors * (-gamma * (1 - wl_weight))
    if by_labels is not None and wl_weight:
        K += by_labels * np.float64(-gamma * wl_weight)
    return np.asarray(np.exp(K, out=K))


def rank_score(output: FloatArray, y: Any) -> float:
    """Return the ROC-AUC of decisions, for more than two classes the mean of each against the rest."""
    columns = [(1, output)] if output.ndim == 1 else list(enumerate(output.T))
    areas = [
        roc_auc_score(y == label, column) for label, column in columns if 0 < (y == label).sum() < len(y)
    ]
    return float(np.mean(areas)) if areas else 0.5


def squared_distances(X: FloatArray, Y: FloatArray) -> FloatArray:
    """Return |x - y|^2 of all pairs of rows."""
    distances = (X * X).sum(axis=1)[:, np.newaxis] + (Y * Y).sum(axis=1) - 2 * X @ Y.T
    return np.asarray(np.maximum(distances, 0, out=distances))


def _column_scale(X: FloatArray, widths: Sequence[int]) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return shift, factor and limit of each column: standardized, and the same weight for each view."""
    mean = X.mean(axis=0, dtype=np.float64).astype(np.float32)
    std = X.std(axis=0, dtype=np.float64)
    alive = std > CONSTANT * np.abs(X).max(axis=0, initial=0.0)
    factor = np.where(alive, 1 / np.where(alive, std, 1), 0)
    some = X[np.linspace(0, len(X) - 1, min(len(X), FOR_SCALE)).astype(int)]
    some = np.clip((some - mean) * factor, -FARTHEST, FARTHEST).astype(np.float32)
    limit, stop = np.full(len(factor), FARTHEST), 0
    for width in widths:
        start, stop = stop, stop + width
        median = _median(squared_distances(some[:, start:stop], some[:, start:stop]))
        scale = np.sqrt(len(widths) * (median or max(width, 1)))
        factor[start:stop] /= scale
        limit[start:stop] /= scale
    return mean, factor.astype(np.float32), limit.astype(np.float32)


def _median(distances: FloatArray) -> Any:
    """Return the median distance between different samples, 0 if there is one sample."""
    above = distances[np.triu_indices(len(distances), 1)]
    return np.median(above) if len(above) else 0.0


def _as_input(X: KernelInput | FloatArray) -> KernelInput:
    return X if isinstance(X, KernelInput) else KernelInput(np.asarray(X, dtype=np.float32))


def _grid(given: Any, name: str) -> list[float]:
    """Return the values to choose from."""
    values = GRIDS[name] if given is None else np.atleast_1d(given).tolist()
    weight = name == "wl_weight"
    good = [isinstance(value, int | float) and (0 <= value <= 1 if weight else value > 0) for value in values]
    if not good or not all(good):
        raise invalid(name, f"be numbers {'from 0 to 1' if weight else '> 0'}", repr(given))
    return [float(value) for value in values]


def _as_columns(y: Any, given: Any) -> tuple[npt.NDArray[Any], FloatArray, bool]:
    """Return targets and weights, a column for each target, and whether there are several."""
    y = np.asarray(y)
    weights = np.ones(len(y)) if given is None else np.asarray(given)
    columns = y.reshape(len(y), -1)
    return columns, np.where(missing(columns), 0.0, weights.reshape(len(y), -1)), y.ndim == 2


def missing(y: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Return which entries are NaN or None."""
    if y.dtype == object:
        gaps = [value is None or is_pandas_na(value) or value != value for value in y.ravel()]
        return np.array(gaps).reshape(y.shape)
    return np.isnan(y) if y.dtype.kind == "f" else np.zeros(y.shape, dtype=bool)


def of_target(values: Any, target: int | None) -> Any:
    """Return what belongs to one of several targets: an entry of a list, or a column. None: all."""
    if target is None:
        return values
    return values[target] if isinstance(values, list) else values[:, target]


def compacted(y: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return labels without the type that missing entries need, if none is missing."""
    return np.array(y.tolist()) if y.dtype == object and not missing(y).any() else y


def _solved(gram: FloatArray, right: FloatArray) -> FloatArray:
    """Solve, with the smallest addition to the diagonal that makes up for rounding."""
    unit = np.trace(gram) / len(gram)
    for size in (1e-6, 1e-5, 1e-4):
        gram[np.diag_indices_from(gram)] += size * unit
        try:
            return np.asarray(cho_solve(cho_factor(gram), right))
        except LinAlgError:
            logger.info("the diagonal needs more than %g of its mean", size)
    return np.linalg.lstsq(gram, right, rcond=None)[0]


def _split(output: FloatArray, widths: Sequence[int]) -> list[FloatArray]:
    """Return the output for each target: one number per sample, or one per sample and class."""
    parts = np.split(output, np.cumsum(widths)[:-1], axis=1)
    return [part[:, 0] if part.shape[1] == 1 else part for part in parts]


def _calibration(output: FloatArray, labels: Any, sizes: IntArray) -> tuple[FloatArray, FloatArray] | None:
    """Fit a logistic regression to decisions for held-out samples. None if they lack a class."""
    held_out = np.bincount(labels, minlength=len(sizes))
    if not held_out.all():
        return None
    shares = sizes / held_out  # the samples of the search may have more of the rare classes
    weights = shares[labels] / shares[labels].mean()
    model = LogisticRegression(max_iter=1000).fit(output.reshape(len(output), -1), labels, weights)
    return model.coef_, model.intercept_


def _softmax(output: FloatArray) -> FloatArray:
    """Return probabilities of classes from decisions."""
    return np.asarray(softmax(np.column_stack([-output, output]) if output.ndim == 1 else output, axis=1))


def _votes(output: FloatArray) -> npt.NDArray[np.intp]:
    """Return the number of the class of each decision."""
    return (output > 0).astype(np.intp) if output.ndim == 1 else output.argmax(axis=1)
