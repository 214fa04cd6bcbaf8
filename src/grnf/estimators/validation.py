"""Cross-validation of a graph model and two baselines: targets, splits, scores."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from joblib import effective_n_jobs
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.metrics import average_precision_score, mean_absolute_error, r2_score, roc_auc_score
from sklearn.model_selection import GroupKFold, RepeatedKFold, RepeatedStratifiedKFold, StratifiedGroupKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from grnf._utils.words import counted
from grnf.collection import encode, fit_encode
from grnf.errors import GraphError, invalid
from grnf.estimators.classifier import GraphFeatures, GRNFClassifier, GRNFRegressor, fitted_estimator
from grnf.estimators.histograms import structure_free
from grnf.estimators.uncertainty import decision_values
from grnf.io import RawGraph
from grnf.io.encode import AttributeEncoder
from grnf.io.files.survey import missing_or_value
from grnf.typing import FloatArray

MODEL, COUNTS = "GRNF", "counts of nodes, edges and attributes"
Note = Callable[[str], Any]
Task = Literal["auto", "classes", "numbers"]

MOST_CLASSES_OF_NUMBERS, FEWEST_OF_A_CLASS = 20, 5
"""Whole numbers are numbers, not classes, if more than so many differ and each has fewer graphs."""

MANY_CLASSES = 100
"""Classes beyond which nearest neighbors are the default: an SVM compares classes two by two."""

MOST_NAMED = 8
"""Classes that a note names."""

NEGATIVE = {"no", "n", "false", "f", "negative", "neg", "none", "control", "off", "absent", "normal"}
"""Names of classes that are not the positive one."""


@dataclass(frozen=True)
class Target:
    """A column to predict: its name, the graphs that have a value, their values, and the task."""

    name: str
    rows: Any
    y: Any
    classes: bool
    """Whether the values are classes, otherwise numbers."""

    @property
    def labels(self) -> Any:
        """All classes, ascending."""
        return np.unique(self.y)

    @property
    def positive(self) -> Any:
        """The positive one of two classes: the larger, unless its name is negative. None for several."""
        if not self.classes or len(self.labels) != 2:
            return None
        low, high = self.labels.tolist()
        one, other = str(low).lower(), str(high).lower()
        opposite = other != one and other.endswith(one)  # such as active and inactive
        return low if opposite or (other in NEGATIVE and one not in NEGATIVE) else high

    @property
    def has_many_classes(self) -> bool:
        """Whether there are too many classes for a support vector machine."""
        return self.classes and len(self.labels) > MANY_CLASSES

    def about(self, n_graphs: int) -> dict[str, Any]:
        """Return its description for a report."""
        about: dict[str, Any] = {
            "task": "classes" if self.classes else "numbers",
            "graphs": len(self.rows),
            "without_value": n_graphs - len(self.rows),
        }
        if self.classes:
            values, counts = np.unique(self.y, return_counts=True)
            about["classes"] = dict(zip(map(str, values.tolist()), counts.tolist(), strict=True))
            about["positive_class"] = None if self.positive is None else str(self.positive)
        return about


def made_target(
    name: str, labels: Sequence[Any], task: Task = "auto", source: str = "", note: Note = lambda _: None
) -> Target:
    """Return a target from one label per graph, None for a graph without one. `note` gets messages."""
    values = [missing_or_value(label, True) for label in labels]
    texts = [value for value in values if isinstance(value, str)]
    known = sum(value is not None for value in values)
    if not texts or len(texts) == known or task == "classes":
        pass
    elif task == "numbers":
        found = counted(len(texts), "texts")
        note(f"grnf: {found} among the numbers of {name!r}, such as {texts[0]!r}, left out")
        values = [None if isinstance(value, str) else value for value in values]
        texts = []
    elif len(set(map(str, values))) > min(MOST_CLASSES_OF_NUMBERS, known / 2):
        raise GraphError(
            f"{name!r} has numbers and {counted(len(texts), 'texts')}, such as {texts[0]!r}",
            where=source,
            cure="Use --task numbers to leave out the texts, or --task classes",
        )
    if texts:  # words such as NA are classes then
        values = [missing_or_value(label, False) for label in labels]
    rows = np.array([row for row, value in enumerate(values) if value is not None], dtype=np.int64)
    kept = [values[row] for row in rows]
    if not kept:
        raise GraphError(f"no graph has a label, or value of {name!r}", where=source)
    try:
        y = np.array(kept)
    except ValueError:
        y = np.empty(0)
    y = y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y
    if y.ndim != 1 or len(y) != len(kept):
        raise GraphError(f"graphs must have one label each, got for example {kept[0]!r}", where=source)
    y = y.astype(str) if y.dtype == object else y
    number = y.dtype.kind in "fiub"
    whole = number and bool(np.all(y == np.round(y)))
    if task == "numbers" and not number:
        raise GraphError(
            f"labels must be numbers, got for example {kept[0]!r}", where=source, cure="Use --task classes"
        )
    classes = task == "classes" or (task == "auto" and (whole or not number))
    distinct = len(np.unique(y))
    if classes and number and task == "auto" and distinct > MOST_CLASSES_OF_NUMBERS:
        classes = len(y) >= FEWEST_OF_A_CLASS * distinct
        if not classes:
            note(
                f"grnf: {name!r} has {distinct:,} different whole numbers, which are taken as numbers to "
                "predict; --task classes takes them as classes"
            )
    if len(rows) < len(labels):
        note(
            f"grnf: {len(labels) - len(rows):,} of {len(labels):,} graphs have no label"
            f"{'' if name == 'y' else f' in {name!r}'} and are left out"
        )
    if classes:
        return Target(name, rows, y.astype(np.int64) if whole else y, True)
    return Target(name, rows, y.astype(np.float64), False)


def check_folds(target: Target, folds: int, note: Note = lambda _: None) -> None:
    """Refuse a target that cannot be cross-validated. Note which classes are rare."""
    n = len(target.y)
    most, share = (n, "") if target.classes else (n // 2, "half ")
    if folds > most:
        raise invalid("folds", f"be at most {most}, {share}the number of graphs", str(folds))
    if not target.classes:
        return
    values, counts = np.unique(target.y, return_counts=True)
    if len(values) < 2:
        raise GraphError(
            f"all graphs have the label {values.tolist()[0]!r}, but at least two classes are needed"
        )
    if target.has_many_classes:
        note(f"grnf: with {len(values):,} classes, the default is nearest neighbors; see --estimator")
    rare = sorted(np.flatnonzero(counts < folds).tolist(), key=lambda row: int(counts[row]))
    if rare:
        named = [f"{values.tolist()[row]!r} ({counts[row]})" for row in rare[:MOST_NAMED]]
        named += [f"and {len(rare) - MOST_NAMED:,} more"] if len(rare) > MOST_NAMED else []
        alone = int((counts == 1).sum())
        note(
            f"grnf: classes with fewer graphs than {folds} folds, missing from some: {', '.join(named)}"
            + (f"; {alone:,} with one graph cannot be predicted" if alone else "")
        )


Summary = dict[str, dict[str, Any]]


def class_scores(
    y: Any, guess: Any, values: FloatArray, labels: Any, positive: Any = None
) -> dict[str, float]:
    """Return the scores of predictions for one fold.

    `values` has a column of scores for each label. `positive` is the class whose ranks are scored. By default
    each class against the rest, and the mean over those in the fold. NaN if the fold has one class only.
    """
    areas, precisions = [], []
    for label in np.unique(y) if positive is None else [positive]:
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
    """Return the scores of predicted numbers. R2 is NaN if all true ones are equal."""
    return {
        "R2": float(r2_score(y, guess)) if len(np.unique(y)) > 1 else np.nan,
        "RMSE": float(np.sqrt(np.mean((y - guess) ** 2))),
        "mean absolute error": float(mean_absolute_error(y, guess)),
    }


def _summary(values: Sequence[float]) -> dict[str, Any]:
    empty = {"mean": None, "std": None}
    return {"mean": float(np.mean(values)), "std": float(np.std(values))} if len(values) else empty


def over_folds(entries: Sequence[Mapping[str, float]]) -> Summary:
    """Return mean and standard deviation of each score over the folds that have it."""
    summary: Summary = {}
    for measure in entries[0]:
        values = [entry[measure] for entry in entries if not np.isnan(entry[measure])]
        folds = {"folds": len(values)} if len(values) < len(entries) else {}
        summary[measure] = {**_summary(values), **folds}
    return summary


def over_targets(targets: Sequence[Mapping[str, Summary]]) -> dict[str, Summary]:
    """Return for each method the mean of each score over the targets that have it, and its deviation."""
    means: dict[str, dict[str, list[float]]] = {}
    for scores in targets:
        for method, measures in scores.items():
            for measure, entry in measures.items():
                if entry["mean"] is not None:
                    means.setdefault(method, {}).setdefault(measure, []).append(entry["mean"])
    return {
        method: {measure: {**_summary(values), "targets": len(values)} for measure, values in own.items()}
        for method, own in means.items()
    }


class Validation:
    """Cross-validation of a model, by its parameters, on targets of the same graphs."""

    def __init__(
        self,
        graphs: list[RawGraph],
        settings: dict[str, Any],
        *,
        folds: int,
        repeats: int,
        groups: Sequence[Any] | None = None,
    ) -> None:
        self.graphs, self.settings, self.folds, self.repeats = graphs, settings, folds, repeats
        self.groups = None if groups is None else np.unique(np.asarray(groups), return_inverse=True)[1]
        encoder = AttributeEncoder(handle_unknown="open", handle_missing="zero")
        self.counts = structure_free(fit_encode(graphs, encoder)[1].batch)

    def __call__(self, target: Target, advance: Callable[[int], Any]) -> tuple[dict[str, Any], Any]:
        """Return the scores of each method over all folds, and the predictions of the first repeat.

        Linear algebra uses the number of threads of joblib, since more are much slower on a busy computer.
        """
        y, labels = target.y, target.labels
        predictions = np.empty_like(y)
        scores: dict[str, list[dict[str, float]]] = {}
        selected = []
        with warnings.catch_warnings(), threadpool_limits(effective_n_jobs(None)):
            # a note on standard error has reported rare classes
            warnings.filterwarnings("ignore", "The (least populated class|number of unique classes)")
            for number, (train, test) in enumerate(self._splits(target)):
                for name, fitted, samples in self._methods(target, train, test):
                    guess = np.asarray(fitted.predict(samples))
                    if target.classes:
                        values = decision_values(fitted, samples, labels)
                        fold_scores = class_scores(y[test], guess, values, labels, target.positive)
                    else:
                        fold_scores = number_scores(y[test], guess)
                    scores.setdefault(name, []).append(fold_scores)
                    if name == MODEL:
                        chosen = hasattr(fitted, "best_params_")
                        best = {**fitted.best_params_, "score": fitted.best_score_} if chosen else {}
                        selected.append(best)
                        if number < self.folds:
                            predictions[test] = guess
                advance(1)
        summary = {name: over_folds(fold_scores) for name, fold_scores in scores.items()}
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
            model = made_model(target, self.settings).fit([self.graphs[row] for row in rows], y)
            held_out = encode([self.graphs[row] for row in target.rows[test]], model.encoder_)
            yield MODEL, model, model._usable(held_out)
            seed = self.settings["random_state"]
            fitted = fitted_estimator(model.estimator, counts, y, classify=classes, random_state=seed)
            yield COUNTS, fitted, new_counts
        yield "the most frequent class" if classes else "the mean", constant, new_counts

    def _splits(self, target: Target) -> Iterator[tuple[Any, Any]]:
        """Yield training and test rows, all graphs of a group on the same side.

        Without groups, the shares of classes are kept if some class is in every fold.
        """
        if self.groups is None:
            frequent = target.classes and np.unique(target.y, return_counts=True)[1].max() >= self.folds
            repeated = RepeatedStratifiedKFold if frequent else RepeatedKFold
            folds = repeated(
                n_splits=self.folds, n_repeats=self.repeats, random_state=self.settings["random_state"]
            )
            yield from folds.split(target.y, target.y)
            return
        groups = self.groups[target.rows]
        if len(np.unique(groups)) < self.folds:
            raise GraphError(f"{self.folds} folds need at least as many groups, got {len(np.unique(groups))}")
        splitter = StratifiedGroupKFold if target.classes else GroupKFold
        for repeat in range(self.repeats):
            made = splitter(self.folds, shuffle=True, random_state=self.settings["random_state"] + repeat)
            yield from made.split(target.y, target.y, groups)


def trained_models(
    graphs: Sequence[RawGraph], targets: Sequence[Target], settings: Mapping[str, Any]
) -> Iterator[Any]:
    """Yield a model for each target, fitted to all graphs that have a value.

    The features are computed once, for the graphs that have any value. Targets do not enter. Nearest
    neighbors need the labels as vectors, so they have features of their own.
    """
    used = np.unique(np.concatenate([target.rows for target in targets]))
    chosen = [graphs[row] for row in used]
    settings = {**settings, "handle_missing": "error"}
    known: dict[bool, GraphFeatures] = {}
    for target in targets:
        if target.has_many_classes not in known:
            try:
                features = made_model(target, settings)._shared_features(chosen)
            except GraphError:  # columns that some graphs lack
                settings["handle_missing"] = "zero"
                features = made_model(target, settings)._shared_features(chosen)
            known[target.has_many_classes] = features
        features = known[target.has_many_classes]
        places = np.searchsorted(used, target.rows)
        whole = len(places) == len(used)
        yield made_model(target, settings).fit(features if whole else features.take(places), target.y)


def made_model(target: Target, settings: Mapping[str, Any]) -> Any:
    """Return the model for a target: nearest neighbors by default if there are very many classes."""
    estimator = settings["estimator"]
    if estimator == "auto" and target.has_many_classes:
        neighbors = KNeighborsClassifier(weights="distance", algorithm="brute")  # a tree cannot be saved
        estimator = make_pipeline(StandardScaler(), neighbors)
    scoring = settings["scoring"] if target.classes else None
    kind = GRNFClassifier if target.classes else GRNFRegressor
    return kind(**{**settings, "estimator": estimator, "scoring": scoring})
