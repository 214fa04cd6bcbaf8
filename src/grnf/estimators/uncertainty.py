"""How sure predictions are: intervals, sets of classes, and p-values of applicability, from held-out graphs.

Models with the selected settings are fitted without a fifth of the training graphs each. Their errors for the
graphs that were left out calibrate the predictions of the model that is fitted to all graphs (cross-conformal
prediction). The coverage of such predictions is approximate: there is no guarantee for finite samples, since
the model that predicts differs from those that were calibrated. `experiments/coverage.py` measures it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.model_selection import KFold
from sklearn.neighbors import NearestNeighbors

from grnf._utils.arrays import conformal_pvalues
from grnf.collection import Collection, encode
from grnf.errors import GraphError
from grnf.estimators.fingerprint import JointFeatures
from grnf.estimators.kernel_model import KernelInput, missing
from grnf.io.encode import AttributeEncoder
from grnf.typing import BoolArray, FloatArray, IntArray

FOLDS = 5
ENOUGH = 2_000
"""Graphs that are held out: folds beyond so many are not fitted."""
NUMBERS = 192
"""Length of the vectors by which near graphs are found, at most."""
NEAREST = 5
"""Training graphs whose mean distance is the score of applicability."""
LOCAL = 20
"""Training graphs around a graph whose errors give the local spread."""
ROUNDING = 1e-6
"""Scores that differ by less count as equal. Those of equal graphs do, in different models and matrices."""
SHRINKAGE = 0.5
"""Weight of the mean error of all graphs in the local spread."""


class Neighborhood:
    """The training graphs as vectors in which near means alike (`JointFeatures`), with their ids."""

    def __init__(self, samples: Collection, encoder: AttributeEncoder, seed: int) -> None:
        numbers = min(NUMBERS, 3 * len(samples))  # n graphs have n - 1 axes of labels, and of GRNF
        self.joint = JointFeatures(numbers, random_state=seed)
        self.joint._fit_encoded(encoder, {"seed": seed}, samples, None)
        self.vectors, self.ids = self.joint._embedder(samples.batch), samples.ids
        self._set_scores()

    def nearest(self, vectors: FloatArray, count: int = LOCAL) -> tuple[FloatArray, IntArray]:
        """Return distances and places of the nearest training graphs."""
        index = NearestNeighbors(algorithm="brute").fit(self.vectors)
        found: tuple[FloatArray, IntArray] = index.kneighbors(vectors, min(count, len(self.vectors)))
        return found

    def restricted(self, rows: IntArray) -> Neighborhood:
        """Return some of the training graphs, in the same space."""
        made = copy(self)
        made.vectors, made.ids = self.vectors[rows], [self.ids[row] for row in rows]
        made._set_scores()
        return made

    def _set_scores(self) -> None:
        far = self.nearest(self.vectors, NEAREST + 1)[0][:, 1:]
        self.scores = np.sort(far.mean(axis=1)) if far.shape[1] else np.zeros(1)

    def pvalues(self, far: FloatArray) -> FloatArray:
        """Return the p-values of applicability from the distances of `nearest`."""
        return _pvalues(self.scores, far[:, :NEAREST].mean(axis=1))


def _pvalues(calibration: FloatArray, scores: FloatArray) -> FloatArray:
    return conformal_pvalues(calibration, scores - ROUNDING * (1 + np.abs(scores)))


def single_estimators(estimator: Any) -> list[Any]:
    """Return an estimator for each target of a fitted one."""
    return estimator.singles() if hasattr(estimator, "singles") else [estimator]


class Calibration:
    """Errors for training graphs of models that were fitted without them.

    For numbers, `errors` has the absolute error of each training graph (-1 if it was not held out), `scores`
    the errors in units of the local spread, ascending, and `labels` is empty. For classes, `scores` has the
    margin of the true class of each graph that was held out, and `labels` the place of that class.
    """

    def __init__(self, errors: FloatArray, y: npt.NDArray[Any], classes: Any, near: Neighborhood) -> None:
        used = ~np.isnan(errors)
        rows = np.flatnonzero(used)
        self.errors, self.labels, self.scores = np.zeros(0), np.zeros(0, np.int64), errors[rows]
        if classes is not None:
            self.labels = np.searchsorted(classes, y[rows])
        else:
            self.errors = np.where(used, errors, -1)
            places = near.nearest(near.vectors[rows], LOCAL + 1)[1]
            self.scores = np.sort(self.scores / self.spread(places, rows))

    def spread(self, places: IntArray, itself: IntArray | None = None) -> FloatArray:
        """Return the local spread, from the places of the nearest training graphs.

        It is the mean absolute error of those that were held out, half way to the mean of all. `itself` is
        the place of each graph, if it is a training graph.
        """
        mean = float(self.errors[self.errors >= 0].mean()) or 1.0
        errors = self.errors[places]
        used = errors >= 0
        if itself is not None:
            used &= places != itself[:, np.newaxis]
        count = used.sum(axis=1)
        local = np.where(used, errors, 0).sum(axis=1) / np.maximum(count, 1)
        return np.asarray(SHRINKAGE * mean + (1 - SHRINKAGE) * np.where(count > 0, local, mean))

    def interval(self, values: FloatArray, places: IntArray, confidence: float) -> FloatArray:
        """Return lower and upper ends around predictions, infinite if too few graphs were held out."""
        rank = int(np.ceil(confidence * (len(self.scores) + 1) - 1e-9))
        unit = self.scores[rank - 1] if rank <= len(self.scores) else np.inf
        half = unit * self.spread(places)
        return np.column_stack([values - half, values + half])

    def contains(self, values: FloatArray, confidence: float) -> BoolArray:
        """Return whether each class is in the set of each graph, from decisions with a column per class."""
        inside = np.ones(values.shape, dtype=bool)
        for label, column in enumerate(margins(values).T):
            own = self.scores[self.labels == label]
            if len(own):
                inside[:, label] = _pvalues(-own, -column) > 1 - confidence + 1e-12
        return inside


def calibrations(
    estimator: Any, X: KernelInput | FloatArray, y: npt.NDArray[Any], near: Neighborhood, seed: int
) -> list[Calibration]:
    """Return the calibration of each target, by estimators fitted without some graphs each.

    A fold is left out if the others have one class only, or no number, of some target.
    """
    n, columns = len(y), list(y.reshape(len(y), -1).T)
    if n < 2:
        raise GraphError(f"at least two training graphs are needed to calibrate predictions, got {n}")
    classes = [getattr(single, "classes_", None) for single in single_estimators(estimator)]
    errors = np.full((len(columns), n), np.nan)
    folds = list(KFold(min(FOLDS, n), shuffle=True, random_state=seed % 2**32).split(y))
    for train, test in folds[: -(-min(n, ENOUGH) * len(folds) // n)]:
        counts = [len(np.unique(column[train][~missing(column[train])])) for column in columns]
        if min(counts) < (1 if classes[0] is None else 2):
            continue
        fitted = single_estimators(with_selected(estimator).fit(X[train], y[train]))
        for own, single, column, known in zip(errors, fitted, columns, classes, strict=True):
            own[test] = _errors(single, X[test], column[test], known)
    parts = zip(errors, columns, classes, strict=True)
    return [Calibration(own, column, known, near) for own, column, known in parts]


def _errors(fitted: Any, samples: Any, y: npt.NDArray[Any], classes: Any) -> FloatArray:
    """Return absolute errors, or margins of the true classes. NaN if the target is missing."""
    if classes is None:
        return np.asarray(np.abs(fitted.predict(samples) - y))
    known = ~missing(y)
    own = np.searchsorted(classes, np.where(known, y, classes[0]))
    values = margins(decision_values(fitted, samples, classes))
    return np.where(known, values[np.arange(len(y)), own], np.nan)


def margins(values: FloatArray) -> FloatArray:
    """Return for each class how much larger its value is than the largest of the others."""
    ordered = np.sort(values, axis=1)
    others = np.where(values == ordered[:, -1:], ordered[:, -2:-1], ordered[:, -1:])
    return np.asarray(values - others)


def decision_values(estimator: Any, samples: Any, labels: Any) -> FloatArray:
    """Return a score of each label, one column each. Labels that were not in training come last."""
    final = getattr(estimator, "estimator_", estimator)
    if hasattr(final, "decision_function"):
        values = np.asarray(estimator.decision_function(samples))
        values = np.column_stack([-values, values]) if values.ndim == 1 else values
    else:
        values = np.asarray(estimator.predict_proba(samples))
    known = np.searchsorted(labels, estimator.classes_)
    full = np.full((len(values), len(labels)), values.min(initial=0.0) - 1)
    full[:, known] = values
    return full


def with_selected(estimator: Any) -> Any:
    """Return an unfitted estimator with the selected settings."""
    if hasattr(estimator, "fixed"):
        return estimator.fixed()
    return clone(getattr(estimator, "best_estimator_", estimator))


def prediction_tables(
    models: Sequence[Any], X: Any, confidence: float
) -> Iterator[tuple[dict[str, list[Any]], dict[int, str]]]:
    """Yield for each model the predictions for graphs by column, None for bad ones, and their reasons by row.

    The columns are the prediction, the probability of each class and the set (or lower and upper),
    applicability, and the nearest training graph with its distance. Models with the same views and
    neighborhood share the features of the graphs.
    """
    known: dict[Any, Any] = {}
    for model in models:
        key = id(model.views_), *model._names
        if key not in known:
            known[key] = features = model._usable(encode(X, model.encoder_, "skip"))
            if model._exact and len(features.samples):
                known[key] = replace(features, sets=features.inputs.sets)
        samples = known[key].samples
        columns = _prediction_columns(model, known[key], confidence) if len(samples) else {}
        full: dict[str, list[Any]] = {name: [None] * samples.n_rows for name in columns}
        for name, values in columns.items():
            for row, value in zip(samples.rows.tolist(), np.asarray(values).tolist(), strict=True):
                full[name][row] = value
        yield full, dict(samples.errors)


def _prediction_columns(model: Any, features: Any, confidence: float) -> dict[str, Any]:
    columns: dict[str, Any] = {"prediction": model.predict(features)}
    if hasattr(model, "classes_"):
        if hasattr(model, "predict_proba"):
            probabilities = model.predict_proba(features)
            columns |= {f"probability_{c}": probabilities[:, i] for i, c in enumerate(model.classes_)}
        inside = model.predict_set(features, confidence)
        columns["set"] = ["|".join(map(str, model.classes_[row])) or "none" for row in inside]
    else:
        columns["lower"], columns["upper"] = model.predict_interval(features, confidence).T
    near = model.neighborhood_
    far, places = features.around(near)
    return {
        **columns,
        "applicability": model.applicability(features),
        "nearest": [near.ids[place] for place in places[:, 0]],
        "distance": far[:, 0],
    }
