"""Cross-validation for `grnf classify`: the model, two baselines beside it, and a picture of its answers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.metrics import accuracy_score, confusion_matrix, mean_absolute_error, r2_score
from sklearn.model_selection import RepeatedKFold, RepeatedStratifiedKFold

from grnf.estimators import GRNFClassifier, GRNFRegressor
from grnf.estimators.baseline import structure_free
from grnf.estimators.final import chosen, fitted_estimator
from grnf.experiments.figures import COLOURS, new_figure
from grnf.files import atomic_write
from grnf.graphs import GraphBatch
from grnf.io import AttributeEncoder, RawGraph

__all__ = ["cross_validate", "draw_confusion", "draw_predictions"]

LARGEST_NAMED = 12
"""Classes up to which a confusion matrix has numbers in its cells."""


def cross_validate(
    graphs: list[RawGraph],
    y: Any,
    *,
    classify: bool,
    folds: int,
    repeats: int,
    seed: int,
    settings: dict[str, Any],
    advance: Callable[[int], Any],
) -> tuple[dict[str, Any], Any]:
    """Return scores of each method over all folds, and the predictions of the first repeat."""
    untrained = (GRNFClassifier if classify else GRNFRegressor)(**settings)
    splitter = RepeatedStratifiedKFold if classify else RepeatedKFold
    constant = DummyClassifier(strategy="most_frequent") if classify else DummyRegressor()
    encoder = AttributeEncoder(missing="zero").fit(graphs)
    numbers = structure_free(GraphBatch.from_graphs(encoder.transform(graphs)))
    predictions: Any = np.empty(len(y), dtype=y.dtype if classify else np.float64)
    scores: dict[str, list[dict[str, float]]] = {}
    selected = []
    splits = splitter(n_splits=folds, n_repeats=repeats, random_state=seed).split(numbers, y)
    for number, (train, test) in enumerate(splits):
        model = clone(untrained).fit([graphs[i] for i in train], y[train])  # clones share their vectors
        answers = model.predict([graphs[i] for i in test])
        if number < folds:
            predictions[test] = answers
        selected.append(chosen(model))
        simple = fitted_estimator(
            settings["estimator"], numbers[train], y[train], classify=classify, random_state=seed
        )
        for name, guess in (
            ("GRNF", answers),
            ("counts of nodes, edges and attributes", simple.predict(numbers[test])),
            (
                "the most frequent class" if classify else "the mean",
                constant.fit(numbers[train], y[train]).predict(numbers[test]),
            ),
        ):
            scores.setdefault(name, []).append(_scores(y[test], guess, classify))
        advance(1)
    summary = {
        name: {
            measure: {"mean": float(np.mean(values)), "std": float(np.std(values))}
            for measure in entries[0]
            for values in [[entry[measure] for entry in entries]]
        }
        for name, entries in scores.items()
    }
    return {"scores": summary, "selected": selected}, predictions


def _scores(y: Any, guess: Any, classify: bool) -> dict[str, float]:
    if classify:
        return {"accuracy": float(accuracy_score(y, guess))}
    r2 = r2_score(y, guess) if len(np.unique(y)) > 1 else np.nan
    return {"R2": float(r2), "mean absolute error": float(mean_absolute_error(y, guess))}


def draw_confusion(path: Path, y: Any, predictions: Any, title: str) -> None:
    """Draw how often graphs of each class are taken for each class."""
    classes = np.unique(y)
    counts = confusion_matrix(y, predictions, labels=classes)
    shares = counts / counts.sum(axis=1, keepdims=True)
    size = max(4.5, 1.6 + 0.55 * len(classes))
    figure, (axes,) = new_figure(size + 0.8, size)
    axes.grid(False)
    axes.spines[["top", "right"]].set_visible(True)
    image = axes.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    names = [str(name) for name in classes.tolist()]
    axes.set_xticks(range(len(names)), names, rotation=45 if max(map(len, names)) > 4 else 0)
    axes.set_yticks(range(len(names)), names)
    axes.set(xlabel="predicted class", ylabel="true class", title=title)
    if len(classes) <= LARGEST_NAMED:
        for (row, column), count in np.ndenumerate(counts):
            share = shares[row, column]
            axes.text(
                column, row, f"{count}\n{100 * share:.0f} %", ha="center", va="center", fontsize=9,
                color="white" if share > 0.55 else "black",
            )  # fmt: skip
    figure.colorbar(image, ax=axes, label="share of the true class", shrink=0.8)
    _save(figure, path)


def draw_predictions(path: Path, y: Any, predictions: Any, title: str) -> None:
    """Draw predicted against true numbers."""
    figure, (axes,) = new_figure(5.8, 5)
    low, high = min(y.min(), predictions.min()), max(y.max(), predictions.max())
    axes.plot([low, high], [low, high], color="0.6", linewidth=1, zorder=1)
    axes.scatter(y, predictions, s=14, c=COLOURS[0], alpha=0.6, linewidths=0, zorder=2)
    axes.set(xlabel="true", ylabel="predicted, by cross-validation", title=title)
    _save(figure, path)


def _save(figure: Any, path: Path) -> None:
    with atomic_write(path, "wb") as file:
        figure.savefig(file, dpi=120, format="png")
