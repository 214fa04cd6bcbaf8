"""Support vector machines with an RBF kernel on views side by side; C and gamma by cross-validation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.special import softmax
from scipy.stats import rankdata
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, is_classifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    ShuffleSplit,
    StratifiedKFold,
    StratifiedShuffleSplit,
    check_cv,
)
from sklearn.svm import SVC, SVR
from sklearn.utils.validation import check_array, check_is_fitted

from grnf.typing import FloatArray

__all__ = [
    "FOR_SCALE",
    "GRID_C",
    "GRID_GAMMA",
    "Calibrated",
    "KernelSVC",
    "KernelSVR",
    "column_scale",
    "grid_of",
    "ranked",
    "squared_distances",
    "votes",
]

MANY = 2_000
"""Samples from which on one hold-out takes the place of five folds."""

FOR_SCALE = 500
"""Samples whose distances give the scale of a kernel."""

FREE = 0.05
"""Error that costs nothing in regression, in standard deviations of the target."""

GRID_C = (1.0, 3.0, 10.0, 100.0)
GRID_GAMMA = (0.3, 1.0, 3.0)
"""What C and gamma are chosen from."""


class _OnDistances:
    """A support vector machine that is given squared distances D; its kernel is exp(-gamma D).

    One matrix of distances serves all of a grid search, which cuts its folds out of it.
    """

    _asked = ""

    def fit(self, D: Any, y: Any) -> Any:
        return super().fit(self._kernel(D), y)  # type: ignore[misc]

    def output(self, D: Any) -> FloatArray:
        return np.asarray(getattr(super(), self._asked)(self._kernel(D)))

    def _kernel(self, D: Any) -> FloatArray:
        K = D * np.float32(-self.gamma)  # type: ignore[attr-defined]
        return np.exp(K, out=K).astype(np.float64)  # type: ignore[no-any-return]


class _SVC(_OnDistances, SVC):  # type: ignore[misc]
    _asked = "decision_function"

    def __init__(self, C: float = 1.0, gamma: float = 1.0) -> None:
        super().__init__(C=C, gamma=gamma, kernel="precomputed", cache_size=500)


class _SVR(_OnDistances, SVR):  # type: ignore[misc]
    _asked = "predict"

    def __init__(self, C: float = 1.0, gamma: float = 1.0) -> None:
        super().__init__(C=C, gamma=gamma, epsilon=FREE, kernel="precomputed", cache_size=500)


class _KernelMachine(BaseEstimator):  # type: ignore[misc]
    """What classification and regression share.

    The columns of X stand side by side in views. Each column is standardised, then each view is divided by
    the root of the median of |x - y|^2 in it over pairs of training samples, so that all views have an equal
    say; the kernel is exp(-gamma D), D being the mean of the squared distances in the views.
    """

    def __init__(
        self,
        views: Sequence[int] | None = None,
        C: Any = None,
        gamma: Any = None,
        cv: Any = None,
        random_state: int = 0,
        scoring: str | None = None,
    ) -> None:
        self.views = views
        self.C = C
        self.gamma = gamma
        self.cv = cv
        self.random_state = random_state
        self.scoring = scoring

    def _fit(self, X: Any, y: Any, machine: Any) -> list[tuple[FloatArray, Any]]:
        """Choose and fit; return outputs for samples that were left out in choosing, and their targets."""
        X = self._scaled_fit(check_array(X, dtype=np.float32))
        grid_C, grid_gamma = grid_of(self.C, GRID_C, "C"), grid_of(self.gamma, GRID_GAMMA, "gamma")
        distances = squared_distances(X, X)
        splits = self._splits(y)
        left_out: dict[Any, list[tuple[FloatArray, Any]]] = {}

        def score(machine: Any, distances: FloatArray, target: Any) -> float:
            output = machine.output(distances)
            left_out.setdefault((machine.C, machine.gamma), []).append((output, target))
            return self._score(machine, output, target)

        with config_context(assume_finite=True, skip_parameter_validation=True):  # X and the grid are checked
            if splits:
                # one gamma after the other, and of equal scores the first: the smoothest
                grid = [{"gamma": [gamma], "C": grid_C} for gamma in grid_gamma]
                search = GridSearchCV(machine, grid, scoring=score, cv=splits, error_score="raise")
                search.fit(distances, y)
                machine = search.best_estimator_
                for name in ("best_params_", "best_score_", "best_index_", "cv_results_"):
                    setattr(self, name, getattr(search, name))
            else:  # nothing to choose by
                middle = {"C": grid_C[len(grid_C) // 2], "gamma": grid_gamma[len(grid_gamma) // 2]}
                machine.set_params(**middle).fit(distances, y)
        self.machine_, self.n_fit_, self.support_rows_ = machine, len(X), X[machine.support_]
        return left_out.get((machine.C, machine.gamma), [])

    def _output(self, X: Any) -> FloatArray:
        """Return what the machine says; it looks at distances to its support vectors only."""
        check_is_fitted(self)
        X = (np.asarray(X, dtype=np.float32) - self.mean_) * self.factor_
        distances = np.full((len(X), self.n_fit_), np.inf, dtype=np.float32)
        distances[:, self.machine_.support_] = squared_distances(X, self.support_rows_)
        return np.asarray(self.machine_.output(distances))

    def _score(self, machine: Any, output: FloatArray, y: Any) -> float:
        raise NotImplementedError

    def _scaled_fit(self, X: FloatArray) -> FloatArray:
        widths = [X.shape[1]] if self.views is None else [int(width) for width in self.views]
        if sum(widths) != X.shape[1]:
            raise ValueError(f"views must add up to the {X.shape[1]} columns of X; got {widths}")
        self.mean_, self.factor_ = column_scale(X, widths)
        return np.asarray((X - self.mean_) * self.factor_)

    def _splits(self, y: Any) -> list[Any]:
        classify = is_classifier(self)
        if self.cv is not None:
            return list(check_cv(self.cv, y, classifier=classify).split(y, y))
        fewest = int(np.bincount(y).min()) if classify else len(y)
        if fewest < 2:
            return []
        if len(y) >= MANY and fewest >= 10:
            kind = StratifiedShuffleSplit if classify else ShuffleSplit
            splitter = kind(1, test_size=0.1, random_state=self.random_state)
        else:
            kind = StratifiedKFold if classify else KFold
            splitter = kind(min(5, fewest), shuffle=True, random_state=self.random_state)
        return list(splitter.split(y, y))


class Calibrated(ClassifierMixin):  # type: ignore[misc]
    """A classifier whose probabilities are learnt from samples that were left out in choosing its settings.

    A machine has `_choose`, which fits it to numbered classes and returns outputs for such samples with their
    classes, and `_output`.
    """

    classes_: npt.NDArray[Any]
    calibration_: Any

    def fit(self, X: Any, y: Any) -> Self:
        """Choose the settings, then fit on all samples."""
        self.classes_, labels = np.unique(np.asarray(y), return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"y has one class, {self.classes_.tolist()}; at least two are wanted")
        left_out = self._choose(X, labels)
        self.calibration_ = None
        targets = np.concatenate([target for _, target in left_out] or [np.empty(0)])
        shapes = {output.shape[1:] for output, _ in left_out}
        if len(np.unique(targets)) == len(self.classes_) and len(shapes) == 1:
            values = np.concatenate([output for output, _ in left_out]).reshape(len(targets), -1)
            self.calibration_ = LogisticRegression(max_iter=1000).fit(values, targets)
        return self

    def _choose(self, X: Any, labels: Any) -> list[tuple[FloatArray, Any]]:
        raise NotImplementedError

    def decision_function(self, X: Any) -> FloatArray:
        """Return one number per sample (two classes) or one per sample and class."""
        return np.asarray(self._output(X))

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the class of each sample."""
        return np.asarray(self.classes_[votes(self._output(X))])

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of each class, calibrated on samples that were left out in choosing."""
        output = self._output(X)
        if self.calibration_ is not None:
            return np.asarray(self.calibration_.predict_proba(output.reshape(len(output), -1)))
        return np.asarray(softmax(np.column_stack([-output, output]) if output.ndim == 1 else output, axis=1))


class KernelSVC(Calibrated, _KernelMachine):
    """Support vector classification with an RBF kernel in which all views have an equal say.

    Parameters
    ----------
    views : sequence of int, optional
        Widths of the views, whose columns stand side by side; None: one view.
    C, gamma : float or sequence of float, optional
        One value, or those to choose from by cross-validated accuracy. gamma is in units of one over the
        median squared distance. None: 1 to 100, and 0.3 to 3.
    cv : int, splitter or iterable of (train, test), optional
        How to choose. None: 5 folds, or a hold-out of a tenth from 2,000 samples on.
    random_state : int, default=0
        Seed of the folds.
    scoring : "accuracy" or "roc_auc", optional
        What to choose by; None is accuracy.

    Attributes
    ----------
    classes_ : array
    best_params_, best_score_, best_index_, cv_results_
        What was chosen and all that was tried, as in `GridSearchCV`; absent if a class has one sample.
    """

    def _choose(self, X: Any, labels: Any) -> list[tuple[FloatArray, Any]]:
        return self._fit(X, labels, _SVC())

    def _score(self, machine: Any, output: FloatArray, y: Any) -> float:
        if self.scoring == "roc_auc":
            return ranked(output, y)
        return float(np.mean(machine.classes_[votes(output)] == y))


class KernelSVR(RegressorMixin, _KernelMachine):  # type: ignore[misc]
    """Support vector regression with the kernel of `KernelSVC`. The target is standardised.

    Parameters
    ----------
    views, C, gamma, cv, random_state
        As in `KernelSVC`; chosen by cross-validated squared error.
    """

    def fit(self, X: Any, y: Any) -> Self:
        """Choose C and gamma, then fit on all samples."""
        target = np.asarray(y, dtype=np.float64)
        if target.ndim != 1 or not np.isfinite(target).all():
            raise ValueError(f"y must be one finite number per sample; got shape {target.shape}")
        self.y_mean_, self.y_scale_ = float(target.mean()), float(target.std()) or 1.0
        self._fit(X, (target - self.y_mean_) / self.y_scale_, _SVR())
        return self

    def predict(self, X: Any) -> FloatArray:
        """Return the estimate of each sample."""
        return self._output(X) * self.y_scale_ + self.y_mean_

    def _score(self, machine: Any, output: FloatArray, y: Any) -> float:  # noqa: ARG002
        return -float(np.mean((output - y) ** 2))


def column_scale(X: FloatArray, widths: Sequence[int]) -> tuple[FloatArray, FloatArray]:
    """Return what to subtract from each column and to multiply it by, so that views have an equal say.

    The sum of squared distances in all views is then their mean, each in units of its median.
    """
    mean = X.mean(axis=0, dtype=np.float64).astype(np.float32)
    std = X.std(axis=0, dtype=np.float64)
    alive = std > 1e-6 * np.abs(X).max(axis=0, initial=0.0)  # what a constant column has is rounding
    factor = np.where(alive, 1 / np.where(alive, std, 1), 0)
    some = X[np.linspace(0, len(X) - 1, min(len(X), FOR_SCALE)).astype(int)]
    some = ((some - mean) * factor).astype(np.float32)
    stop = 0
    for width in widths:
        start, stop = stop, stop + width
        distances = squared_distances(some[:, start:stop], some[:, start:stop])
        median = np.median(distances[np.triu_indices(len(some), 1)]) if len(some) > 1 else 0.0
        factor[start:stop] /= np.sqrt(len(widths) * (median or max(width, 1)))
    return mean, factor.astype(np.float32)


def grid_of(given: Any, default: Sequence[float], name: str) -> list[float]:
    """Return the values to choose from; those of colours, a share, may be 0."""
    values = default if given is None else np.atleast_1d(given).tolist()
    share = name == "colours"
    good = [isinstance(value, (int, float)) and (0 <= value <= 1 if share else value > 0) for value in values]
    if not good or not all(good):
        raise ValueError(f"{name} must be numbers {'from 0 to 1' if share else '> 0'}; got {given!r}")
    return [float(value) for value in values]


def votes(output: FloatArray) -> npt.NDArray[np.intp]:
    """Return the class that decisions are for, by its number."""
    return (output > 0).astype(np.intp) if output.ndim == 1 else output.argmax(axis=1)


def ranked(output: FloatArray, y: Any) -> float:
    """Return the ROC-AUC of decisions for classes 0, 1, ..; of several, the mean of each against the rest.

    Examples
    --------
    >>> ranked(np.array([-1.0, 0.5, 0.2, 3.0]), np.array([0, 0, 1, 1]))
    0.75
    """
    columns = [(1, output)] if output.ndim == 1 else list(enumerate(output.T))
    areas = []
    for label, column in columns:
        truth = y == label
        n_in, n_out = int(truth.sum()), int((~truth).sum())
        if n_in and n_out:
            ranks = rankdata(column)[truth].sum()
            areas.append((ranks - n_in * (n_in + 1) / 2) / (n_in * n_out))
    return float(np.mean(areas)) if areas else 0.5


def squared_distances(X: FloatArray, Y: FloatArray) -> FloatArray:
    """Return |x - y|^2 of all pairs of rows."""
    distances = (X * X).sum(axis=1)[:, np.newaxis] + (Y * Y).sum(axis=1) - 2 * X @ Y.T
    return np.asarray(np.maximum(distances, 0, out=distances))
