"""Cross-validation for `grnf classify`: the model, two baselines beside it, and a picture of its answers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from grnf.io import RawGraph

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
    import numpy as np
    from sklearn.base import clone
    from sklearn.model_selection import RepeatedKFold, RepeatedStratifiedKFold

    from grnf.estimators import GRNFClassifier, GRNFRegressor
    from grnf.estimators.final import chosen

    untrained = (GRNFClassifier if classify else GRNFRegressor)(**settings)
    splitter = RepeatedStratifiedKFold if classify else RepeatedKFold
    numbers = _structure_free(graphs)
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
        simple = _fitted_baseline(numbers[train], y[train], classify, settings)
        for name, guess in (
            ("GRNF", answers),
            ("counts of nodes, edges and attributes", simple.predict(numbers[test])),
            (_CONSTANT[classify], _constant(y[train], classify)),
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


_CONSTANT = {True: "the most frequent class", False: "the mean"}


def _structure_free(graphs: list[RawGraph]) -> Any:
    from grnf.estimators.baseline import structure_free
    from grnf.graphs import GraphBatch
    from grnf.io import AttributeEncoder

    encoder = AttributeEncoder(missing="zero").fit(graphs)
    return structure_free(GraphBatch.from_graphs(encoder.transform(graphs)))


def _fitted_baseline(X: Any, y: Any, classify: bool, settings: dict[str, Any]) -> Any:
    from grnf.estimators.final import fitted_estimator

    return fitted_estimator(
        settings["estimator"], X, y, classify=classify, random_state=settings["random_state"]
    )


def _constant(y: Any, classify: bool) -> Any:
    import numpy as np

    if not classify:
        return y.mean()
    values, counts = np.unique(y, return_counts=True)
    return values[counts.argmax()]


def _scores(y: Any, guess: Any, classify: bool) -> dict[str, float]:
    import numpy as np

    if classify:
        return {"accuracy": float(np.mean(y == guess))}
    error = y - guess
    spread = float(np.mean((y - y.mean()) ** 2))
    return {
        "R2": 1 - float(np.mean(error**2)) / spread if spread else float("nan"),
        "mean absolute error": float(np.abs(error).mean()),
    }


def draw_confusion(path: Path, y: Any, predictions: Any, title: str) -> None:
    """Draw how often graphs of each class are taken for each class."""
    import numpy as np
    from sklearn.metrics import confusion_matrix

    classes = np.unique(y)
    counts = confusion_matrix(y, predictions, labels=classes)
    shares = counts / counts.sum(axis=1, keepdims=True)
    figure, axes = _figure(max(4.5, 1.6 + 0.55 * len(classes)))
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
    figure, axes = _figure(5)
    low, high = min(y.min(), predictions.min()), max(y.max(), predictions.max())
    axes.plot([low, high], [low, high], color="0.6", linewidth=1, zorder=1)
    axes.scatter(y, predictions, s=14, c="#0072b2", alpha=0.6, linewidths=0, zorder=2)
    axes.set(xlabel="true", ylabel="predicted, by cross-validation", title=title)
    _save(figure, path)


def _figure(size: float) -> tuple[Any, Any]:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(size + 0.8, size), layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.subplots()


def _save(figure: Any, path: Path) -> None:
    from grnf.files import atomic_write

    with atomic_write(path, "wb") as file:
        figure.savefig(file, dpi=120, format="png")
