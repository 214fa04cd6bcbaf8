"""Cross-validation for `grnf classify`: the model, two baselines, and a figure of the predictions."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.metrics import confusion_matrix
from sklearn.model_selection import RepeatedKFold, RepeatedStratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from grnf._utils.files import atomic_write
from grnf.cli.figures import COLORS, new_figure
from grnf.cli.measures import class_scores, decision_values, number_scores, over_folds
from grnf.cli.targets import Target
from grnf.collection import fit_encode
from grnf.estimators import GRNFClassifier, GRNFRegressor
from grnf.estimators.classifier import fitted_estimator
from grnf.estimators.histograms import structure_free
from grnf.io import AttributeEncoder, RawGraph

__all__ = ["Validation", "draw_predictions"]

MOST_CLASSES_DRAWN, MOST_CLASSES_COUNTED = 60, 12
"""Classes up to which a confusion matrix is drawn, and has numbers in its cells."""
MODEL, COUNTS = "GRNF", "counts of nodes, edges and attributes"


class Validation:
    """Cross-validation of one model on targets of the same graphs.

    Parameters
    ----------
    graphs : list of RawGraph
    settings : dict
        Parameters of the model.
    folds, repeats : int
    """

    def __init__(self, graphs: list[RawGraph], settings: dict[str, Any], *, folds: int, repeats: int) -> None:
        self.graphs, self.settings, self.folds, self.repeats = graphs, settings, folds, repeats
        encoder = AttributeEncoder(unseen="open", missing="zero")
        self.counts = structure_free(fit_encode(graphs, encoder)[1].batch)

    def __call__(self, target: Target, advance: Callable[[int], Any]) -> tuple[dict[str, Any], Any]:
        """Return the scores of each method over all folds, and the predictions of the first repeat.

        Linear algebra uses the number of threads of joblib: more are much slower on a busy machine.
        """
        with warnings.catch_warnings(), threadpool_limits(effective_n_jobs(None)):
            # a note on standard error has reported rare classes
            warnings.filterwarnings("ignore", "The (least populated class|number of unique classes)")
            return self._validate(target, advance)

    def _validate(self, target: Target, advance: Callable[[int], Any]) -> tuple[dict[str, Any], Any]:
        y, labels = target.y, target.labels
        predictions = np.empty_like(y)
        scores: dict[str, list[dict[str, float]]] = {}
        selected = []
        for number, (train, test) in enumerate(self._splits(target)):
            for name, fitted, samples in self._methods(target, train, test):
                guess = np.asarray(fitted.predict(samples))
                if target.classes:
                    values = decision_values(fitted, samples, labels)
                    found = class_scores(y[test], guess, values, labels, target.positive)
                else:
                    found = number_scores(y[test], guess)
                scores.setdefault(name, []).append(found)
                if name == MODEL:
                    chosen = hasattr(fitted, "best_params_")
                    selected.append({**fitted.best_params_, "score": fitted.best_score_} if chosen else {})
                    if number < self.folds:
                        predictions[test] = guess
            advance(1)
        summary = {name: over_folds(found) for name, found in scores.items()}
        return {"scores": summary, "selected": selected}, predictions

    def _methods(self, target: Target, train: Any, test: Any) -> Iterator[tuple[str, Any, Any]]:
        """Yield the model and the baselines: name, fitted estimator, samples to test it on."""
        y, classes, rows = target.y[train], target.classes, target.rows[train]
        counts, new_counts = self.counts[rows], self.counts[target.rows[test]]
        constant = (DummyClassifier(strategy="most_frequent") if classes else DummyRegressor()).fit(counts, y)
        if classes and len(np.unique(y)) < 2:  # all others are held out: there is nothing to learn
            yield MODEL, constant, new_counts
            yield COUNTS, constant, new_counts
        else:
            estimator = self.settings["estimator"]
            if estimator == "auto" and target.has_many_classes:
                estimator = make_pipeline(StandardScaler(), KNeighborsClassifier(weights="distance"))
            scoring = self.settings["scoring"] if classes else None
            model = (GRNFClassifier if classes else GRNFRegressor)(
                **{**self.settings, "estimator": estimator, "scoring": scoring}
            )
            model.fit([self.graphs[i] for i in rows], y)
            yield MODEL, model, [self.graphs[i] for i in target.rows[test]]
            seed = self.settings["random_state"]
            fitted = fitted_estimator(estimator, counts, y, classify=classes, random_state=seed)
            yield COUNTS, fitted, new_counts
        yield "the most frequent class" if classes else "the mean", constant, new_counts

    def _splits(self, target: Target) -> Iterator[tuple[Any, Any]]:
        """Yield training and test rows; the shares of classes are kept if some class is in every fold."""
        settings = {"n_splits": self.folds, "n_repeats": self.repeats}
        frequent = target.classes and np.unique(target.y, return_counts=True)[1].max() >= self.folds
        splitter = RepeatedStratifiedKFold if frequent else RepeatedKFold
        made = splitter(**settings, random_state=self.settings["random_state"])
        yield from made.split(target.y, target.y)


def draw_predictions(folder: Path, suffix: str, target: Target, predictions: Any, title: str) -> str | None:
    """Draw a confusion matrix, or predicted against true numbers; return the name of the file.

    No figure is drawn, and None returned, for very many classes.
    """
    if target.classes and len(target.labels) > MOST_CLASSES_DRAWN:
        return None
    draw = _confusion if target.classes else _scatter
    figure = draw(target, predictions, title)
    name = f"{'confusion' if target.classes else 'predictions'}{suffix}.png"
    with atomic_write(folder / name, "wb") as file:
        figure.savefig(file, dpi=120, format="png")
    return name


def _confusion(target: Target, predictions: Any, title: str) -> Any:
    counts = confusion_matrix(target.y, predictions, labels=target.labels)
    shares = counts / counts.sum(axis=1, keepdims=True)
    size = max(4.5, 1.6 + 0.55 * len(counts))
    figure, (axes,) = new_figure(size + 0.8, size)
    axes.grid(False)
    axes.spines[["top", "right"]].set_visible(True)
    image = axes.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    names = [str(name) for name in target.labels.tolist()]
    axes.set_xticks(range(len(names)), names, rotation=45 if max(map(len, names)) > 4 else 0)
    axes.set_yticks(range(len(names)), names)
    axes.set(xlabel="predicted class", ylabel="true class", title=title)
    if len(counts) <= MOST_CLASSES_COUNTED:
        for (row, column), count in np.ndenumerate(counts):
            share = shares[row, column]
            axes.text(
                column, row, f"{count}\n{100 * share:.0f} %", ha="center", va="center", fontsize=9,
                color="white" if share > 0.55 else "black",
            )  # fmt: skip
    figure.colorbar(image, ax=axes, label="share of the true class", shrink=0.8)
    return figure


def _scatter(target: Target, predictions: Any, title: str) -> Any:
    figure, (axes,) = new_figure(5.8, 5)
    both = np.concatenate([target.y, predictions])
    low, high = both.min(), both.max()
    axes.plot([low, high], [low, high], color="0.6", linewidth=1, zorder=1)
    axes.scatter(target.y, predictions, s=14, c=COLORS[0], alpha=0.6, linewidths=0, zorder=2)
    axes.set(xlabel="true", ylabel="predicted, by cross-validation", title=title)
    return figure
