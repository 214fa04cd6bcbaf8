"""Cross-validation for `grnf classify`: the model, two baselines beside it, and a picture of its answers."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import clone
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.metrics import confusion_matrix
from sklearn.model_selection import RepeatedKFold, RepeatedStratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import shuffle
from threadpoolctl import threadpool_limits

from grnf._utils.files import atomic_write
from grnf.cli.figures import COLORS, new_figure
from grnf.cli.measures import class_scores, decision_values, number_scores, over_folds
from grnf.cli.targets import Target
from grnf.errors import GraphError
from grnf.estimators import GRNFClassifier, GRNFRegressor
from grnf.estimators.baseline import structure_free
from grnf.estimators.final import chosen, fitted_estimator
from grnf.io import AttributeEncoder, RawGraph

__all__ = ["Validation", "draw_confusion", "draw_predictions"]

LARGEST_NAMED = 12
"""Classes up to which a confusion matrix has numbers in its cells."""


COUNTS = "counts of nodes, edges and attributes"


class Validation:
    """Cross-validation of one model on targets of the same graphs; its clones share their vectors.

    Parameters
    ----------
    graphs : list of RawGraph
    settings : dict
        Parameters of the model.
    folds, repeats, seed : int
    """

    def __init__(
        self, graphs: list[RawGraph], settings: dict[str, Any], *, folds: int, repeats: int, seed: int
    ) -> None:
        self.graphs, self.settings = graphs, settings
        self.folds, self.repeats, self.seed = folds, repeats, seed
        self.models = {True: GRNFClassifier(**settings), False: GRNFRegressor(**settings)}
        encoder = AttributeEncoder(unseen="open", missing="zero").fit(graphs)
        batch, _, errors = encoder.encode_batch(graphs)
        if errors:
            raise GraphError(f"graph {errors[0][0]}: {errors[0][1]}")
        self.numbers = structure_free(batch)

    def __call__(self, target: Target, advance: Callable[[int], Any]) -> tuple[dict[str, Any], Any]:
        """Return scores of each method over all folds, and the predictions of the first repeat.

        Linear algebra keeps to the threads that joblib is told: more are slower by far on a busy machine.
        """
        with warnings.catch_warnings(), threadpool_limits(effective_n_jobs(None)):
            # that classes are rare was said, in one line
            warnings.filterwarnings("ignore", "The (least populated class|number of unique classes)")
            return self._validate(target, advance)

    def _validate(self, target: Target, advance: Callable[[int], Any]) -> tuple[dict[str, Any], Any]:
        y, classes = target.y, target.classes
        labels: Any = np.unique(y) if classes else []
        positive = target.positive if len(labels) == 2 else None
        predictions: Any = np.empty(len(y), dtype=y.dtype if classes else np.float64)
        scores: dict[str, list[dict[str, float]]] = {}
        selected = []
        for number, (train, test) in enumerate(self._splits(y, classes)):
            for name, learnt, samples in self._methods(target, train, test):
                guess = np.asarray(learnt.predict(samples))
                if classes:
                    values = decision_values(learnt, samples, labels)
                    found = class_scores(y[test], guess, values, labels, positive)
                else:
                    found = number_scores(y[test], guess)
                scores.setdefault(name, []).append(found)
                if name == "GRNF":
                    selected.append(chosen(learnt))
                    if number < self.folds:
                        predictions[test] = guess
            advance(1)
        summary = {name: over_folds(entries) for name, entries in scores.items()}
        return {"scores": summary, "selected": selected}, predictions

    def _methods(self, target: Target, train: Any, test: Any) -> Iterator[tuple[str, Any, Any]]:
        """Yield the model and what stands beside it: name, trained estimator, samples to judge it by."""
        y, classes, rows = target.y[train], target.classes, target.rows[train]
        numbers, unknown = self.numbers[rows], self.numbers[target.rows[test]]
        constant = DummyClassifier(strategy="most_frequent") if classes else DummyRegressor()
        constant.fit(numbers, y)
        if classes and len(np.unique(y)) < 2:  # all others are left out: there is nothing to learn
            yield "GRNF", constant, unknown
            yield COUNTS, constant, unknown
        else:
            estimator = self._estimator(target)
            scoring = self.settings.get("scoring") if classes else None
            model = clone(self.models[classes]).set_params(estimator=estimator, scoring=scoring)
            model.fit([self.graphs[i] for i in rows], y)
            yield "GRNF", model, [self.graphs[i] for i in target.rows[test]]
            settings: dict[str, Any] = {"classify": classes, "random_state": self.seed}
            yield COUNTS, fitted_estimator(estimator, numbers, y, **settings), unknown
        yield "the most frequent class" if classes else "the mean", constant, unknown

    def _estimator(self, target: Target) -> Any:
        """Return what learns; machines that compare classes two by two take for ever on very many."""
        if self.settings["estimator"] == "auto" and target.has_many_classes:
            return make_pipeline(StandardScaler(), KNeighborsClassifier(weights="distance"))
        return self.settings["estimator"]

    def _splits(self, y: Any, classes: bool) -> Iterator[tuple[Any, Any]]:
        """Yield rows to train on and rows left out; every class is spread over the folds."""
        settings = {"n_splits": self.folds, "n_repeats": self.repeats, "random_state": self.seed}
        if not classes:
            yield from RepeatedKFold(**settings).split(y)
        elif np.unique(y, return_counts=True)[1].max() >= self.folds:
            yield from RepeatedStratifiedKFold(**settings).split(y, y)
        else:  # scikit-learn refuses where no class is in every fold
            for repeat in range(self.repeats):
                order = shuffle(np.arange(len(y)), random_state=self.seed + repeat)
                place = np.empty(len(y), dtype=np.int64)
                place[order[np.argsort(y[order], kind="stable")]] = np.arange(len(y)) % self.folds
                yield from (
                    (np.flatnonzero(place != fold), np.flatnonzero(place == fold))
                    for fold in range(self.folds)
                )


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
    axes.scatter(y, predictions, s=14, c=COLORS[0], alpha=0.6, linewidths=0, zorder=2)
    axes.set(xlabel="true", ylabel="predicted, by cross-validation", title=title)
    _save(figure, path)


def _save(figure: Any, path: Path) -> None:
    with atomic_write(path, "wb") as file:
        figure.savefig(file, dpi=120, format="png")
