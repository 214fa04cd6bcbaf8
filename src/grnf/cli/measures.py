"""How good answers are: measures of one fold, over the folds, and over targets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.metrics import average_precision_score, mean_absolute_error, r2_score, roc_auc_score

from grnf.typing import FloatArray

__all__ = ["class_scores", "decision_values", "number_scores", "over_folds", "over_targets"]

Summary = dict[str, dict[str, Any]]


def decision_values(estimator: Any, samples: Any, labels: Any) -> FloatArray:
    """Return how much speaks for each label, one column each; labels that it never saw come last."""
    learnt = getattr(estimator, "estimator_", estimator)  # a model of graphs asks what has learnt
    if hasattr(learnt, "decision_function"):
        values = np.asarray(estimator.decision_function(samples))
        values = np.column_stack([-values, values]) if values.ndim == 1 else values
    else:
        values = np.asarray(estimator.predict_proba(samples))
    known = np.searchsorted(labels, estimator.classes_)
    full = np.full((len(values), len(labels)), values.min(initial=0.0) - 1)
    full[:, known] = values
    return full


def class_scores(
    y: Any, guess: Any, values: FloatArray, labels: Any, positive: Any = None
) -> dict[str, float]:
    """Return measures of the answers to one fold.

    Parameters
    ----------
    y, guess : arrays
        True and predicted classes.
    values : array, shape (n, n_labels)
        How much speaks for each label.
    labels : array
        All classes.
    positive : optional
        Of two classes the one that ranks are judged by; by default each class against the rest, and the mean
        over those that the fold has. NaN where a fold has no two classes.
    """
    areas, precisions = [], []
    judged = np.unique(y) if positive is None else [positive]
    for label in judged:
        truth = y == label
        if 0 < truth.sum() < len(y):
            column = values[:, int(np.searchsorted(labels, label))]
            areas.append(roc_auc_score(truth, column))
            precisions.append(average_precision_score(truth, column))
    return {
        "accuracy": float(np.mean(guess == y)),
        "balanced accuracy": float(np.mean([np.mean(guess[y == label] == label) for label in np.unique(y)])),
        "ROC-AUC": float(np.mean(areas)) if areas else np.nan,
        "average precision": float(np.mean(precisions)) if precisions else np.nan,
    }


def number_scores(y: Any, guess: Any) -> dict[str, float]:
    """Return measures of predicted numbers; R2 is NaN where all true ones are equal."""
    return {
        "R2": float(r2_score(y, guess)) if len(np.unique(y)) > 1 else np.nan,
        "RMSE": float(np.sqrt(np.mean((y - guess) ** 2))),
        "mean absolute error": float(mean_absolute_error(y, guess)),
    }


def over_folds(entries: Sequence[Mapping[str, float]]) -> Summary:
    """Return mean and standard deviation of each measure; folds that have none are not counted.

    Examples
    --------
    >>> over_folds([{"R2": 1.0}, {"R2": float("nan")}])
    {'R2': {'mean': 1.0, 'std': 0.0, 'folds': 1}}
    """
    found: Summary = {}
    for measure in entries[0]:
        values = [entry[measure] for entry in entries if not np.isnan(entry[measure])]
        found[measure] = {
            "mean": float(np.mean(values)) if values else None,
            "std": float(np.std(values)) if values else None,
        }
        if len(values) < len(entries):
            found[measure]["folds"] = len(values)
    return found


def over_targets(targets: Sequence[Mapping[str, Summary]]) -> dict[str, Summary]:
    """Return for each method the mean of each measure over the targets that have it, and their deviation."""
    found: dict[str, Summary] = {}
    pairs = ((method, measure) for scores in targets for method in scores for measure in scores[method])
    for name, measure in dict.fromkeys(pairs):
        entries = [scores[name][measure] for scores in targets if measure in scores.get(name, {})]
        means = [entry["mean"] for entry in entries if entry["mean"] is not None]
        if means:
            mean = {"mean": float(np.mean(means)), "std": float(np.std(means)), "targets": len(means)}
            found.setdefault(name, {})[measure] = mean
    return found
