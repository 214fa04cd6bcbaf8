"""Machines on two kernels of graphs, one of numbers and one of colours, whose blend is chosen inside.

With squared distances D_n between vectors of numbers and D_c between sets of colours, both in units of their
median, the kernel is exp(-gamma (w D_c + (1 - w) D_n)). The say w of colours, gamma and C are chosen one after
the other on samples that are left out, which takes a fraction of the fits of a whole grid; what is no better
than the middle of the road stays there. Classes are told apart by a support vector machine, numbers predicted
by kernel ridge regression with the penalty 1 / C. Beyond `MOST_ROWS` samples the kernel is that of a random
subset with all (Nystroem), and ridge regression serves classes too.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from scipy.linalg import cho_factor, cho_solve
from scipy.special import softmax
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, is_classifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    KFold,
    ShuffleSplit,
    StratifiedKFold,
    StratifiedShuffleSplit,
    check_cv,
    train_test_split,
)
from sklearn.svm import SVC
from sklearn.utils.validation import check_is_fitted

from grnf.estimators.histograms import Sets, SetsKernel
from grnf.estimators.kernel_machine import FOR_SCALE, column_scale, grid_of, ranked, squared_distances, votes
from grnf.typing import FloatArray, IntArray

__all__ = ["BlendClassifier", "BlendRegressor", "Described"]

GRID_COLOURS = (0.5, 1.0, 0.0)
GRID_GAMMA = (0.1, 0.3, 1.0, 3.0)
GRID_C = (1.0, 10.0, 100.0)
GRID_C_RIDGE = (1.0, 10.0, 100.0, 1000.0)
START = {"colours": 0.5, "gamma": 0.3, "C": 10.0}

MOST_ROWS = 8_000
"""Samples up to which the whole kernel is taken."""
LANDMARKS = 2_000
"""Samples that stand for all where there are more."""
FOR_SEARCH = 4_000
"""Samples that choose."""
FOLDS = ((1_000, 5), (2_000, 3))
"""Samples up to which so many folds choose; beyond, a hold-out of a fifth."""
ROWS_AT_ONCE = 2_000

Config = tuple[float, float, float]


class Described(NamedTuple):
    """Graphs as a machine sees them: columns of numbers, and sets of colours."""

    numbers: FloatArray
    sets: Sets

    def take(self, rows: IntArray) -> Described:
        """Return some of them."""
        return Described(self.numbers[rows], self.sets.take(rows))


class _Distances:
    """Distances of samples to those it was made of, by numbers and by colours, in units of their medians."""

    def __init__(self, X: Described, widths: Iterable[int]) -> None:
        self.mean, self.factor = column_scale(X.numbers, list(widths))
        self.medians = np.ones(2)
        some = np.linspace(0, len(X.numbers) - 1, min(len(X.numbers), FOR_SCALE)).astype(int)
        self._keep(X.take(np.unique(some)))
        self.medians = np.array([_median(1 - K) for K in self.colours()])
        self._keep(X)

    def _keep(self, X: Described) -> None:
        self.rows = (X.numbers - self.mean) * self.factor
        self.colours = SetsKernel(X.sets)

    def restrict(self, X: Described, rows: IntArray) -> None:
        """Keep distances to some samples only; the units stay."""
        self._keep(X.take(rows))

    def __call__(self, X: Described | None = None) -> tuple[FloatArray, FloatArray]:
        """Return the squared distances by colours and by numbers."""
        rows = self.rows if X is None else (X.numbers - self.mean) * self.factor
        numbers = squared_distances(rows, self.rows)
        kernels = self.colours(None if X is None else X.sets)
        colours = np.zeros_like(numbers)
        for K, median in zip(kernels, self.medians, strict=True):
            colours += (1 - K) / np.float32(median * len(kernels))
        return np.maximum(colours, 0, out=colours), numbers


class _Blend(BaseEstimator):  # type: ignore[misc]
    """What classification and regression share."""

    _grid_C = GRID_C

    def __init__(
        self,
        views: Any = None,
        C: Any = None,
        gamma: Any = None,
        colours: Any = None,
        cv: Any = None,
        scoring: str | None = None,
        random_state: int = 0,
    ) -> None:
        self.views = views
        self.C = C
        self.gamma = gamma
        self.colours = colours
        self.cv = cv
        self.scoring = scoring
        self.random_state = random_state

    def _fit(self, X: Described, y: Any) -> list[tuple[FloatArray, Any]]:
        """Choose and fit; return outputs for samples that were left out in choosing, and their targets."""
        n = len(X.numbers)
        widths = [X.numbers.shape[1]] if self.views is None else list(self.views)
        few = n <= MOST_ROWS
        kept = np.arange(n) if few else self._some(y, LANDMARKS)
        self.distances_ = _Distances(X.take(kept) if not few else X, widths)
        by_colours, by_numbers = self.distances_()
        chosen = self._some(y[kept], FOR_SEARCH) if len(kept) > FOR_SEARCH else np.arange(len(kept))
        all_chosen = len(chosen) == len(kept)
        parts = (by_colours, by_numbers)
        small = parts if all_chosen else tuple(part[np.ix_(chosen, chosen)] for part in parts)
        solve = self._solver(few)
        search = _Search(small, y[kept][chosen], self._splits(y[kept][chosen]), solve, self._score)
        best = self._searched(search)
        self.blend_ = best[:2]
        K = _blended(*parts, *self.blend_)
        if few:
            self.machine_ = solve(K, y, best[2])
            self.support_ = self.machine_.support
            self.distances_.restrict(X, self.support_)
        else:
            self.machine_ = self._nystroem(X, y, K, best)
            self.support_ = kept
        return search.outputs.get(best, [])

    def _searched(self, search: _Search) -> Config:
        """Choose one setting after the other; the first of equals stays."""
        grids = {
            "colours": grid_of(self.colours, GRID_COLOURS, "colours"),
            "gamma": grid_of(self.gamma, GRID_GAMMA, "gamma"),
            "C": grid_of(self.C, self._grid_C, "C"),
        }
        now = {
            name: START[name] if START[name] in grid else grid[len(grid) // 2] for name, grid in grids.items()
        }
        if search.splits:
            for name in ("colours", "gamma", "C"):
                for value in grids[name]:
                    tried = {**now, name: value}
                    if search.mean(tried) > search.mean(now):
                        now = tried
            self.cv_results_ = search.results()
            self.best_index_ = search.order.index(_config(now))
            self.best_score_ = search.mean(now)
            self.best_params_ = dict(now)
        return _config(now)

    def _nystroem(self, X: Described, y: Any, K: FloatArray, best: Config) -> _Ridge:
        """Fit on all samples by their kernel with the landmarks."""
        targets = self._targets(y)
        gram = (K / best[2]).astype(np.float64)
        right = np.zeros((len(K), targets.shape[1]))
        for rows in np.array_split(np.arange(len(y)), -(-len(y) // ROWS_AT_ONCE)):
            block = _blended(*self.distances_(X.take(rows)), *self.blend_)
            gram += block.T @ block
            right += block.T @ targets[rows]
        gram[np.diag_indices_from(gram)] += 1e-6 * len(gram)
        return _Ridge(cho_solve(cho_factor(gram, overwrite_a=True), right), np.arange(len(K)))

    def _output(self, X: Described) -> FloatArray:
        check_is_fitted(self)
        parts = [
            self.machine_.output(_blended(*self.distances_(X.take(rows)), *self.blend_), self.support_)
            for rows in np.array_split(np.arange(len(X.numbers)), max(1, -(-len(X.numbers) // ROWS_AT_ONCE)))
        ]
        return np.concatenate(parts)

    def _some(self, y: Any, count: int) -> IntArray:
        """Return some rows, of every class its share."""
        stratify = (
            y
            if is_classifier(self) and 2 <= np.bincount(y).min() and len(np.unique(y)) <= count // 2
            else None
        )
        rows, _ = train_test_split(
            np.arange(len(y)), train_size=count, stratify=stratify, random_state=self.random_state
        )
        return np.sort(rows)

    def _splits(self, y: Any) -> list[Any]:
        classify = is_classifier(self)
        if self.cv is not None:
            return list(check_cv(self.cv, y, classifier=classify).split(y, y))
        folds = next((count for most, count in FOLDS if len(y) <= most), None)
        counts = np.sort(np.bincount(y))[::-1] if classify else np.full(2, len(y))
        if counts[1] < 2:  # what is left may be of one class
            return []
        if folds is None:
            kind = StratifiedShuffleSplit if classify and counts[-1] >= 5 else ShuffleSplit
            return list(kind(1, test_size=0.2, random_state=self.random_state).split(y, y))
        splitter = StratifiedKFold if classify else KFold
        with warnings.catch_warnings():  # a class of few members is not in every fold, which does no harm
            warnings.filterwarnings("ignore", "The least populated class")
            made = splitter(min(folds, int(counts[1])), shuffle=True, random_state=self.random_state)
            return list(made.split(y, y))

    def _solver(self, few: bool) -> Callable[[FloatArray, Any, float], Any]:
        raise NotImplementedError

    def _targets(self, y: Any) -> FloatArray:
        raise NotImplementedError

    def _score(self, output: FloatArray, y: Any) -> float:
        raise NotImplementedError

    def _ridge(self, K: FloatArray, y: Any, C: float) -> _Ridge:
        K = K.astype(np.float64)
        K[np.diag_indices_from(K)] += 1 / C
        return _Ridge(cho_solve(cho_factor(K, overwrite_a=True), self._targets(y)), np.arange(len(K)))


class BlendClassifier(ClassifierMixin, _Blend):  # type: ignore[misc]
    """Classification by two kernels, see the module.

    Parameters
    ----------
    views : sequence of int, optional
        Widths of the views of numbers, whose columns stand side by side; None: one view.
    C, gamma, colours : float or sequence of float, optional
        One value, or those to choose from. gamma is in units of one over the median squared distance; colours
        is w, from 0 to 1.
    cv : int, splitter or iterable of (train, test), optional
        How to choose. None: 5 folds, 3 from 1,000 samples on, a hold-out of a fifth from 2,000 on.
    scoring : "accuracy" or "roc_auc", optional
        What to choose by; None is accuracy. ROC-AUC of several classes: the mean of each against the rest.
    random_state : int, default=0
        Seed of the folds.
    """

    def fit(self, X: Described, y: Any) -> Self:
        """Choose the settings, then fit on all samples."""
        if self.scoring not in (None, "accuracy", "roc_auc"):
            raise ValueError(f"scoring must be None, 'accuracy' or 'roc_auc'; got {self.scoring!r}")
        self.classes_, labels = np.unique(np.asarray(y), return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"y has one class, {self.classes_.tolist()}; at least two are wanted")
        left_out = self._fit(X, labels)
        self.calibration_ = None
        targets = np.concatenate([target for _, target in left_out] or [np.empty(0)])
        shapes = {output.shape[1:] for output, _ in left_out}
        if len(np.unique(targets)) == len(self.classes_) and len(shapes) == 1:
            values = np.concatenate([output for output, _ in left_out]).reshape(len(targets), -1)
            self.calibration_ = LogisticRegression(max_iter=1000).fit(values, targets)
        return self

    def decision_function(self, X: Described) -> FloatArray:
        """Return one number per sample (two classes) or one per sample and class."""
        return self._output(X)

    def predict(self, X: Described) -> npt.NDArray[Any]:
        """Return the class of each sample."""
        return np.asarray(self.classes_[votes(self._output(X))])

    def predict_proba(self, X: Described) -> FloatArray:
        """Return the probability of each class, calibrated on samples that were left out in choosing."""
        output = self._output(X)
        if self.calibration_ is not None:
            return np.asarray(self.calibration_.predict_proba(output.reshape(len(output), -1)))
        return np.asarray(softmax(np.column_stack([-output, output]) if output.ndim == 1 else output, axis=1))

    def _solver(self, few: bool) -> Callable[[FloatArray, Any, float], Any]:
        return partial(_Machine, n_classes=len(self.classes_)) if few else self._ridge

    def _targets(self, y: Any) -> FloatArray:
        one_hot = np.where(y[:, np.newaxis] == np.arange(len(self.classes_)), 1.0, -1.0)
        return one_hot[:, 1:] if len(self.classes_) == 2 else one_hot

    def _score(self, output: FloatArray, y: Any) -> float:
        if self.scoring != "roc_auc":
            return float(np.mean(votes(output) == y))
        return ranked(output, y)


class BlendRegressor(RegressorMixin, _Blend):  # type: ignore[misc]
    """Regression by two kernels, see the module. The target is standardised.

    Parameters
    ----------
    views, C, gamma, colours, cv, random_state
        As in `BlendClassifier`; chosen by squared error. 1 / C is the penalty.
    scoring : None
        There is no other measure.
    """

    _grid_C = GRID_C_RIDGE

    def fit(self, X: Described, y: Any) -> Self:
        """Choose the settings, then fit on all samples."""
        target = np.asarray(y, dtype=np.float64)
        if target.ndim != 1 or not np.isfinite(target).all():
            raise ValueError(f"y must be one finite number per sample; got shape {target.shape}")
        self.y_mean_, self.y_scale_ = float(target.mean()), float(target.std()) or 1.0
        self._fit(X, (target - self.y_mean_) / self.y_scale_)
        return self

    def predict(self, X: Described) -> FloatArray:
        """Return the estimate of each sample."""
        return self._output(X) * self.y_scale_ + self.y_mean_

    def _solver(self, few: bool) -> Callable[[FloatArray, Any, float], Any]:  # noqa: ARG002
        return self._ridge

    def _targets(self, y: Any) -> FloatArray:
        return np.asarray(y, dtype=np.float64)[:, np.newaxis]

    def _score(self, output: FloatArray, y: Any) -> float:
        return -float(np.mean((output - y) ** 2))


class _Machine:
    """A support vector machine on a kernel."""

    def __init__(self, K: FloatArray, y: Any, C: float, n_classes: int) -> None:
        self.n_classes = n_classes
        self.machine = SVC(C=C, kernel="precomputed", cache_size=500).fit(K.astype(np.float64), y)
        self.support = self.machine.support_

    def output(self, K: FloatArray, support: IntArray | None = None) -> FloatArray:
        """Return decisions; with `support`, K has the columns of the support vectors alone."""
        if support is not None:
            whole = np.zeros((len(K), self.machine.shape_fit_[0]))
            whole[:, support] = K
            K = whole
        found = np.asarray(self.machine.decision_function(np.asarray(K, dtype=np.float64)))
        classes = self.machine.classes_
        if len(classes) == self.n_classes:
            return found
        found = found if found.ndim == 2 else np.column_stack([-found, found])
        full = np.repeat(found.min(axis=1, keepdims=True) - 1, self.n_classes, axis=1)
        full[:, classes] = found  # classes that were not there come last
        return full


class _Ridge:
    """Kernel ridge regression."""

    def __init__(self, coefficients: FloatArray, support: IntArray) -> None:
        self.coefficients, self.support = coefficients, support

    def output(self, K: FloatArray, support: IntArray | None = None) -> FloatArray:  # noqa: ARG002
        """Return the values."""
        values = K @ self.coefficients
        return np.asarray(values[:, 0] if values.shape[1] == 1 else values)


class _Search:
    """Scores of settings on samples that are left out; each is computed once."""

    def __init__(self, parts: Any, y: Any, splits: Any, solve: Any, score: Any) -> None:
        self.parts, self.y, self.splits, self.solve, self.score = parts, y, splits, solve, score
        self.found: dict[Config, list[float]] = {}
        self.outputs: dict[Config, list[tuple[FloatArray, Any]]] = {}
        self.order: list[Config] = []
        self._kernel: tuple[Any, Any] = (None, None)

    def mean(self, settings: dict[str, float]) -> float:
        """Return the mean score of some settings over the splits."""
        config = _config(settings)
        if config not in self.found:
            self.found[config] = list(self._scores(config))
            self.order.append(config)
        return float(np.mean(self.found[config]))

    def _scores(self, config: Config) -> Iterator[float]:
        if self._kernel[0] != config[:2]:
            self._kernel = config[:2], _blended(*self.parts, *config[:2])
        K = self._kernel[1]
        for train, test in self.splits:
            machine = self.solve(K[np.ix_(train, train)], self.y[train], config[2])
            output = machine.output(K[np.ix_(test, train)])
            self.outputs.setdefault(config, []).append((output, self.y[test]))
            yield self.score(output, self.y[test])

    def results(self) -> dict[str, Any]:
        """Return all that was tried as `GridSearchCV` has it."""
        scores = np.array([self.found[config] for config in self.order])
        params = [dict(zip(START, config, strict=True)) for config in self.order]
        table: dict[str, Any] = {
            f"param_{name}": np.array([entry[name] for entry in params]) for name in START
        }
        table |= {f"split{number}_test_score": column for number, column in enumerate(scores.T)}
        mean = scores.mean(axis=1)
        rank = rankdata(-mean, method="min").astype(np.int32)
        return {
            **table,
            "params": params,
            "mean_test_score": mean,
            "std_test_score": scores.std(axis=1),
            "rank_test_score": rank,
        }


def _config(settings: dict[str, float]) -> Config:
    return settings["colours"], settings["gamma"], settings["C"]


def _blended(by_colours: FloatArray, by_numbers: FloatArray, colours: float, gamma: float) -> FloatArray:
    if colours == 1:
        K = by_colours * np.float32(-gamma)
    elif colours == 0:
        K = by_numbers * np.float32(-gamma)
    else:
        K = by_colours * np.float32(-gamma * colours)
        K -= by_numbers * np.float32(gamma * (1 - colours))
    return np.asarray(np.exp(K, out=K))


def _median(distances: FloatArray) -> float:
    above = distances[np.triu_indices(len(distances), 1)]
    return float(np.median(above)) or 1.0 if len(above) else 1.0
