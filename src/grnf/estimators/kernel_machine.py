"""Support vector machines with an RBF kernel on blocks of columns; C and gamma by cross-validation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold, StratifiedShuffleSplit, check_cv
from sklearn.svm import SVC, SVR
from sklearn.utils.validation import check_is_fitted

from grnf.typing import FloatArray

__all__ = ["GRID_C", "GRID_GAMMA", "KernelSVC", "KernelSVR"]

MANY = 2_000
"""Samples from which on one hold-out takes the place of five folds."""

FOR_SCALE = 500
"""Samples whose distances give the scale of a kernel."""

GRID_C = (1.0, 3.0, 10.0, 100.0)
GRID_GAMMA = (0.3, 1.0, 3.0)
"""What C and gamma are chosen from."""

Splits = list[tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]]


class _KernelMachine(BaseEstimator):  # type: ignore[misc]
    """What classification and regression share.

    The columns of X stand in blocks. Each column is standardised, then each block is divided by the root of
    the median of |x - y|^2 in it over pairs of training samples, so that all blocks have an equal say; the
    kernel is exp(-gamma D), D being the mean of the squared distances in the blocks.
    """

    blocks: Sequence[int] | None
    C: Any
    gamma: Any
    cv: Any
    random_state: Any

    def _fit(self, X: Any, y: Any) -> Self:
        X = self._scaled_fit(np.asarray(X, dtype=np.float32))
        grid_C, grid_gamma = _grid(self.C, GRID_C), _grid(self.gamma, GRID_GAMMA)
        distances = _squared_distances(X, X)
        splits = self._splits(y)
        if not splits:  # nothing to choose by
            grid_C, grid_gamma = grid_C[len(grid_C) // 2 :][:1], grid_gamma[len(grid_gamma) // 2 :][:1]
        params, scores = [], []
        best: tuple[float, Any] = (-np.inf, None)
        for gamma in grid_gamma:
            K = np.exp(np.float32(-gamma) * distances)
            for C in grid_C:
                out = [self._part(K, y, C, train, test) for train, test in splits]
                score = float(np.mean([part[0] for part in out])) if out else np.nan
                params.append({"C": C, "gamma": gamma})
                scores.append(score)
                if best[1] is None or score > best[0]:  # the first of equals: the smoothest
                    best = (score, (gamma, C, K, [part[1] for part in out]))
        gamma, C, K, outputs = best[1]
        self.cv_results_ = {"params": params, "mean_test_score": np.array(scores)}
        self.selected_ = {"C": C, "gamma": gamma, "score": best[0]}
        self.machine_ = self._machine(C).fit(K.astype(np.float64), y)
        self.n_fit_ = len(X)
        self.support_rows_ = X[self.machine_.support_]
        self._calibrate(outputs, [y[test] for _, test in splits])
        return self

    def _kernel_to_support(self, X: Any) -> FloatArray:
        """Return the kernel to all training samples; columns that are not looked at stay 0."""
        check_is_fitted(self)
        X = (np.asarray(X, dtype=np.float32) - self.mean_) * self.factor_
        K = np.zeros((len(X), self.n_fit_))
        distances = _squared_distances(X, self.support_rows_)
        K[:, self.machine_.support_] = np.exp(np.float32(-self.selected_["gamma"]) * distances)
        return K

    def _scaled_fit(self, X: FloatArray) -> FloatArray:
        widths = [X.shape[1]] if self.blocks is None else [int(width) for width in self.blocks]
        if sum(widths) != X.shape[1]:
            raise ValueError(f"blocks must add up to the {X.shape[1]} columns of X; got {widths}")
        self.mean_ = X.mean(axis=0, dtype=np.float64).astype(np.float32)
        std = X.std(axis=0, dtype=np.float64)
        alive = std > 1e-6 * np.abs(X).max(axis=0, initial=0.0)  # what a constant column has is rounding
        factor = np.where(alive, 1 / np.where(alive, std, 1), 0)
        some = X[np.linspace(0, len(X) - 1, min(len(X), FOR_SCALE)).astype(int)]
        some = ((some - self.mean_) * factor).astype(np.float32)
        stop = 0
        for width in widths:
            start, stop = stop, stop + width
            distances = _squared_distances(some[:, start:stop], some[:, start:stop])
            median = np.median(distances[np.triu_indices(len(some), 1)]) if len(some) > 1 else 0.0
            factor[start:stop] /= np.sqrt(len(widths) * (median or max(width, 1)))
        self.factor_ = factor.astype(np.float32)
        return np.asarray((X - self.mean_) * self.factor_)

    def _part(self, K: FloatArray, y: Any, C: float, train: Any, test: Any) -> tuple[float, FloatArray]:
        machine = self._machine(C).fit(K[np.ix_(train, train)].astype(np.float64), y[train])
        output = self._output(machine, K[np.ix_(test, train)])
        return self._score(machine, output, y[test]), output

    def _machine(self, C: float) -> Any:
        raise NotImplementedError

    def _output(self, machine: Any, K: FloatArray) -> FloatArray:
        raise NotImplementedError

    def _score(self, machine: Any, output: FloatArray, y: Any) -> float:
        raise NotImplementedError

    def _splits(self, y: Any) -> Splits:
        raise NotImplementedError

    def _calibrate(self, outputs: list[FloatArray], targets: list[Any]) -> None:
        """Learn from outputs for samples that were left out."""


class KernelSVC(ClassifierMixin, _KernelMachine):  # type: ignore[misc]
    """Support vector classification with an RBF kernel in which all blocks of columns have an equal say.

    Parameters
    ----------
    blocks : sequence of int, optional
        Widths of the blocks; None: one block.
    C, gamma : float or sequence of float, optional
        One value, or those to choose from by cross-validated accuracy. gamma is in units of one over the
        median squared distance. None: 1 to 100, and 0.3 to 3.
    cv : int, splitter or iterable of (train, test), optional
        How to choose. None: 5 folds, or a hold-out of a tenth from 2,000 samples on.
    random_state : int, default=0
        Seed of the folds.

    Attributes
    ----------
    classes_ : array
    selected_ : dict
        The C and gamma that were chosen, and their score.
    cv_results_ : dict
        "params" and "mean_test_score" of all that were tried.
    """

    def __init__(
        self,
        blocks: Sequence[int] | None = None,
        C: Any = None,
        gamma: Any = None,
        cv: Any = None,
        random_state: int = 0,
    ) -> None:
        self.blocks = blocks
        self.C = C
        self.gamma = gamma
        self.cv = cv
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Choose C and gamma, then fit on all samples."""
        self.classes_, labels = np.unique(np.asarray(y), return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"y has one class, {self.classes_.tolist()}; at least two are wanted")
        return self._fit(X, labels)

    def decision_function(self, X: Any) -> FloatArray:
        """Return one number per sample (two classes) or one per sample and class."""
        return self._output(self.machine_, self._kernel_to_support(X))

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the class of each sample."""
        output = self.decision_function(X)
        return np.asarray(self.classes_[_votes(output)])

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of each class, calibrated on samples that were left out in choosing C."""
        output = self.decision_function(X)
        if self.calibration_ is not None:
            return np.asarray(self.calibration_.predict_proba(output.reshape(len(output), -1)))
        if output.ndim == 1:
            output = np.column_stack([-output, output])
        odds = np.exp(output - output.max(axis=1, keepdims=True))
        return np.asarray(odds / odds.sum(axis=1, keepdims=True))

    def _machine(self, C: float) -> Any:
        return SVC(C=C, kernel="precomputed", cache_size=500, decision_function_shape="ovr")

    def _output(self, machine: Any, K: FloatArray) -> FloatArray:
        return np.asarray(machine.decision_function(K.astype(np.float64)))

    def _score(self, machine: Any, output: FloatArray, y: Any) -> float:
        return float(np.mean(machine.classes_[_votes(output)] == y))

    def _splits(self, y: Any) -> Splits:
        smallest = int(np.bincount(y).min())
        if self.cv is not None:
            return list(check_cv(self.cv, y, classifier=True).split(y, y))
        if smallest < 2:
            return []
        if len(y) >= MANY and smallest >= 10:
            return list(StratifiedShuffleSplit(1, test_size=0.1, random_state=self.random_state).split(y, y))
        return list(
            StratifiedKFold(min(5, smallest), shuffle=True, random_state=self.random_state).split(y, y)
        )

    def _calibrate(self, outputs: list[FloatArray], targets: list[Any]) -> None:
        self.calibration_ = None
        left_out = np.concatenate(targets) if targets else np.empty(0, dtype=int)
        shapes = {output.shape[1:] for output in outputs}
        if len(np.unique(left_out)) == len(self.classes_) and len(shapes) == 1:
            values = np.concatenate(outputs).reshape(len(left_out), -1)
            self.calibration_ = LogisticRegression(max_iter=1000).fit(values, left_out)


class KernelSVR(RegressorMixin, _KernelMachine):  # type: ignore[misc]
    """Support vector regression with the kernel of `KernelSVC`. The target is standardised.

    Parameters
    ----------
    blocks, C, gamma, cv, random_state
        As in `KernelSVC`; chosen by cross-validated squared error.
    epsilon : float, default=0.05
        Error that costs nothing, in standard deviations of the target.
    """

    def __init__(
        self,
        blocks: Sequence[int] | None = None,
        C: Any = None,
        gamma: Any = None,
        cv: Any = None,
        random_state: int = 0,
        epsilon: float = 0.05,
    ) -> None:
        self.blocks = blocks
        self.C = C
        self.gamma = gamma
        self.cv = cv
        self.random_state = random_state
        self.epsilon = epsilon

    def fit(self, X: Any, y: Any) -> Self:
        """Choose C and gamma, then fit on all samples."""
        target = np.asarray(y, dtype=np.float64)
        if target.ndim != 1 or not np.isfinite(target).all():
            raise ValueError(f"y must be one finite number per sample; got shape {target.shape}")
        self.y_mean_, self.y_scale_ = float(target.mean()), float(target.std()) or 1.0
        return self._fit(X, (target - self.y_mean_) / self.y_scale_)

    def predict(self, X: Any) -> FloatArray:
        """Return the estimate of each sample."""
        output = self.machine_.predict(self._kernel_to_support(X))
        return np.asarray(output * self.y_scale_ + self.y_mean_)

    def _machine(self, C: float) -> Any:
        return SVR(C=C, kernel="precomputed", cache_size=500, epsilon=self.epsilon)

    def _output(self, machine: Any, K: FloatArray) -> FloatArray:
        return np.asarray(machine.predict(K.astype(np.float64)))

    def _score(self, machine: Any, output: FloatArray, y: Any) -> float:  # noqa: ARG002
        return -float(np.mean((output - y) ** 2))

    def _splits(self, y: Any) -> Splits:
        if self.cv is not None:
            return list(check_cv(self.cv, y).split(y))
        if len(y) < 2:
            return []
        if len(y) >= MANY:
            return list(ShuffleSplit(1, test_size=0.1, random_state=self.random_state).split(y))
        return list(KFold(min(5, len(y)), shuffle=True, random_state=self.random_state).split(y))


def _grid(given: Any, default: Sequence[float]) -> list[float]:
    values = default if given is None else np.atleast_1d(given).tolist()
    if not all(isinstance(value, (int, float)) and value > 0 for value in values) or not len(values):
        raise ValueError(f"C and gamma must be numbers > 0; got {given!r}")
    return [float(value) for value in values]


def _votes(output: FloatArray) -> npt.NDArray[np.intp]:
    return (output > 0).astype(np.intp) if output.ndim == 1 else output.argmax(axis=1)


def _squared_distances(X: FloatArray, Y: FloatArray) -> FloatArray:
    distances = (X * X).sum(axis=1)[:, np.newaxis] + (Y * Y).sum(axis=1) - 2 * X @ Y.T
    return np.asarray(np.maximum(distances, 0, out=distances))
