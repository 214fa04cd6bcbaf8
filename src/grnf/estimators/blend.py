"""Machines on two kernels of graphs, one of numbers and one of colours, whose blend is chosen inside.

With squared distances D_n between vectors of numbers and D_c between sets of colours, both in units of
their median, the kernel is exp(-gamma (w D_c + (1 - w) D_n)). The say w of colours, gamma and C are chosen
one after the other on samples that are left out (`grnf.estimators.search`); what is no better than the
middle of the road stays there. Classes are told apart by a support vector machine, numbers predicted by
kernel ridge regression with the penalty 1 / C. Beyond `MOST_ROWS` samples the kernel is that of a random
subset with all (Nystroem), and ridge regression serves classes too.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, Self

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from sklearn import config_context
from sklearn.base import BaseEstimator, RegressorMixin, is_classifier
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

from grnf.estimators.described import Described, Distances
from grnf.estimators.kernel_machine import Calibrated, grid_of, ranked, votes
from grnf.estimators.search import START, Config, Search, blended, config_of
from grnf.typing import FloatArray, IntArray

__all__ = ["BlendClassifier", "BlendRegressor"]

GRID_COLOURS = (0.5, 1.0, 0.0)
GRID_GAMMA = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
GRID_C = (0.1, 1.0, 10.0, 100.0, 1e3, 1e4)

MOST_ROWS = 8_000
"""Samples up to which the whole kernel is taken."""
LANDMARKS = 2_000
"""Samples that stand for all where there are more."""
FOR_SEARCH = 4_000
"""Samples that choose."""
FOLDS = ((300, 5), (2_000, 3))
"""Samples up to which so many folds choose; beyond, a hold-out of a fifth."""
ROWS_AT_ONCE = 2_000


class _Blend(BaseEstimator):  # type: ignore[misc]
    """What classification and regression share."""

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
        self.distances_ = Distances(X if few else X.take(kept), widths)
        parts = self.distances_.own()
        chosen = self._some(y[kept], FOR_SEARCH) if len(kept) > FOR_SEARCH else np.arange(len(kept))
        all_chosen = len(chosen) == len(kept)
        small = parts if all_chosen else tuple(part[np.ix_(chosen, chosen)] for part in parts)
        solve = self._solver(few)
        search = Search(small, y[kept][chosen], self._splits(y[kept][chosen]), solve, self._score)
        with config_context(assume_finite=True, skip_parameter_validation=True):  # all is checked
            best = self._searched(search)
        self.blend_ = best[:2]
        K = blended(*parts, *self.blend_)
        if few:
            self.machine_ = solve(K, y, best[2])
            self.support_ = self.machine_.support
            self.distances_.restrict(self.support_)
        else:
            self.machine_ = self._nystroem(X, y, K, best)
            self.support_ = kept
        return search.outputs.get(best, [])

    def _searched(self, search: Search) -> Config:
        """Choose the blend, then gamma, then C, from the middle of their grids on while it gets better."""
        grids = {
            "colours": grid_of(self.colours, GRID_COLOURS, "colours"),
            "gamma": sorted(grid_of(self.gamma, GRID_GAMMA, "gamma")),
            "C": sorted(grid_of(self.C, GRID_C, "C")),
        }
        now = {
            name: START[name] if START[name] in grid else grid[len(grid) // 2] for name, grid in grids.items()
        }
        if search.splits:
            for value in grids["colours"]:
                now = search.better(now, {**now, "colours": value})
            now = search.climbed(search.climbed(now, "gamma", grids["gamma"]), "C", grids["C"])
            self.cv_results_ = search.results()
            self.best_index_ = search.order.index(config_of(now))
            self.best_score_ = search.mean(now)
            self.best_params_ = dict(now)
        return config_of(now)

    def _nystroem(self, X: Described, y: Any, K: FloatArray, best: Config) -> _Ridge:
        """Fit on all samples by their kernel with the landmarks."""
        targets = self._targets(y)
        gram = (K / best[2]).astype(np.float64)
        right = np.zeros((len(K), targets.shape[1]))
        for rows in np.array_split(np.arange(len(y)), -(-len(y) // ROWS_AT_ONCE)):
            block = blended(*self.distances_(X.take(rows)), *self.blend_).astype(np.float64)
            gram += block.T @ block
            right += block.T @ targets[rows]
        gram[np.diag_indices_from(gram)] += 1e-6 * np.trace(gram) / len(gram)  # single precision of K
        return _Ridge(cho_solve(cho_factor(gram, overwrite_a=True), right), np.arange(len(K)))

    def _output(self, X: Described) -> FloatArray:
        check_is_fitted(self)
        parts = [
            self.machine_.output(blended(*self.distances_(X.take(rows)), *self.blend_), self.support_)
            for rows in np.array_split(np.arange(len(X.numbers)), max(1, -(-len(X.numbers) // ROWS_AT_ONCE)))
        ]
        return np.concatenate(parts)

    def _some(self, y: Any, count: int) -> IntArray:
        """Return some rows, of every class its share."""
        stratify = (
            y
            if is_classifier(self) and np.bincount(y).min() >= 2 and len(np.unique(y)) <= count // 2
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


class BlendClassifier(Calibrated, _Blend):
    """Classification by two kernels, see the module.

    Parameters
    ----------
    views : sequence of int, optional
        Widths of the views of numbers, whose columns stand side by side; None: one view.
    C, gamma, colours : float or sequence of float, optional
        One value, or those to choose from. gamma is in units of one over the median squared distance; colours
        is w, from 0 to 1.
    cv : int, splitter or iterable of (train, test), optional
        How to choose. None: 5 folds, 3 from 300 samples on, a hold-out of a fifth from 2,000 on.
    scoring : "accuracy" or "roc_auc", optional
        What to choose by; None is accuracy. ROC-AUC of several classes: the mean of each against the rest.
    random_state : int, default=0
        Seed of the folds.
    """

    def _choose(self, X: Described, labels: Any) -> list[tuple[FloatArray, Any]]:
        return self._fit(X, labels)

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
