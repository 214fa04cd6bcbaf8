"""The default settings of `GRNFClassifier` on the datasets of Table 1, next to the best published results."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np
from sklearn.base import clone

from experiments.figures import COLORS, new_figure
from experiments.gin import SETTINGS as GIN_SETTINGS
from experiments.gin import gin_fold
from experiments.published import SETS, best_of, deviation_of
from experiments.study import Study, Table, over_folds
from grnf.datasets import load_folds, load_tu
from grnf.estimators import GRNF, GRNFClassifier
from grnf.estimators.kernel_model import GRIDS
from grnf.estimators.views import model_views

TITLE = "GRNFClassifier with default settings on the datasets of Table 1"
ABOUT = (
    "GRNFClassifier has the same default settings for all datasets: a GRNF map of each graph with "
    "degrees, triangles and means of neighbors, counts, and Weisfeiler-Lehman labels, in one support "
    "vector machine. On each of the ten outer folds, the weight of the labels, C and gamma are chosen by "
    "cross-validation on the training and validation parts together. The model is then fitted on both and "
    "tested once on the test part. The defaults were developed on other datasets (python -m experiments "
    "baselines). LTP (arXiv 2305.00724), local topological descriptors with a random forest, is the "
    "strongest cheap baseline. On social networks it reports other folds (COLLABORATIVE_DEGREE), on which "
    "GRNFClassifier is run too. The cost is compared with the training of a GIN (five layers of 64, early "
    "stopping, one choice of settings) on the same folds of ENZYMES in the same run."
)

PLACES = ("first-place",)

# arXiv 2305.00724: accuracy in percent; the chemical sets on the folds of Table 1, social sets on DEGREE.
LTP = {
    "CHEMICAL": {"NCI1": 77.0, "PROTEINS": 72.7, "ENZYMES": 42.5},
    "COLLABORATIVE_DEGREE": {"IMDB-BINARY": 74.5, "IMDB-MULTI": 50.0, "COLLAB": 79.4},
}
SOCIAL = ("IMDB-BINARY", "IMDB-MULTI", "COLLAB")

GIN_SET, GIN_FOLDS = "ENZYMES", 10
"""Where a GIN is trained for comparison: one set is enough to tell the cost."""


def run(study: Study) -> dict[str, Any]:
    """Fit and test on all sets, and train a GIN on one."""
    results = first_place(study, ["ENZYMES", "IMDB-BINARY"] if study.quick else SETS)
    results["gin"] = _gin(study)
    return results


def _gin(study: Study) -> dict[str, Any]:
    """Return accuracy and seconds of a GIN on some folds; without folds where torch_geometric is absent."""
    max_epochs = 2 if study.quick else int(GIN_SETTINGS["max_epochs"])
    folds = []
    for number in range(1 if study.quick else GIN_FOLDS):

        def compute(number: int = number) -> Any:
            study.tell(f"{GIN_SET}: GIN, fold {number + 1}")
            data = load_tu(GIN_SET, data=study.data)
            fold = load_folds(GIN_SET, data=study.data)[number]
            return gin_fold(data.graphs, data.y, fold, study.seed, max_epochs)

        what = {"experiment": "gin", "set": GIN_SET, "fold": number, "seed": study.seed}
        found = study.cached({**what, "max_epochs": max_epochs, "settings": GIN_SETTINGS}, compute)
        if found is not None:
            folds.append(found)
    return {"set": GIN_SET, "settings": {**GIN_SETTINGS, "max_epochs": max_epochs}, "folds": folds}


def first_place(study: Study, sets: Sequence[str]) -> dict[str, Any]:
    """Fit and test on every fold of some sets; each fold is cached."""
    n_folds = 2 if study.quick else 10
    model = GRNFClassifier(random_state=study.seed, n_jobs=-1)
    if study.quick:
        model.set_params(n_components=64)
    described = _settings(model)
    results: dict[str, Any] = {"settings": described, "table1": {}, "degree": {}}
    load = lru_cache(1)(partial(load_tu, data=study.data))  # only if some fold is not in the cache

    def one_fold(name: str, kind: str | None, number: int) -> dict[str, Any]:
        study.tell(f"{name}: fold {number + 1} of {n_folds}, {kind or 'Table 1'}")
        return evaluate(load(name), load_folds(name, data=study.data, kind=kind)[number], model)

    for name in sets:
        for part, kind in (("table1", None), ("degree", "COLLABORATIVE_DEGREE")):
            if kind is None or name in SOCIAL:
                what = {"experiment": "first_place", "set": name, "kind": kind, "seed": study.seed}
                results[part][name] = summary(
                    [
                        study.cached(
                            {**what, "recipe": described, "fold": number},
                            partial(one_fold, name, kind, number),
                        )
                        for number in range(n_folds)
                    ]
                )
    results["best"] = {name: best_of(name) for name in sets}
    results["ltp"] = {kind: {n: v for n, v in row.items() if n in sets} for kind, row in LTP.items()}
    return results


def evaluate(data: Any, fold: Any, model: GRNFClassifier) -> dict[str, Any]:
    """Fit a clone of a model on the training and validation parts of one fold, and test.

    Parameters
    ----------
    data : TUDataset
    fold : Fold
    model : GRNFClassifier
    """
    development = np.concatenate([fold.train, fold.validation])
    model = clone(model).fit(data.graphs.take(development), data.y[development])
    start = time.perf_counter()
    test = model.score(data.graphs.take(fold.test), data.y[fold.test])
    seconds = {**model.seconds_, "test": time.perf_counter() - start}
    return {
        "test": float(test),
        "selected": {**model.best_params_, "score": model.best_score_},
        "seconds": seconds,
    }


def summary(folds: list[dict[str, Any]]) -> dict[str, Any]:
    """Return mean and standard deviation over folds, in percent, and the seconds that all of them took."""
    seconds = {part: sum(fold["seconds"][part] for fold in folds) for part in ("embed", "train", "test")}
    return {**over_folds(folds), "seconds": seconds, "folds": folds}


def _settings(model: GRNFClassifier) -> dict[str, Any]:
    """Return the settings of the default model as JSON can hold them."""
    views = {name: " ".join(repr(view).split()) for name, view in model_views(GRNF()).items()}
    return {
        "n_components": model.n_components,
        "orders": {str(order): probability for order, probability in enumerate(model.orders, start=1)},
        **{name: list(grid) for name, grid in GRIDS.items()},
        "views": views,
    }


def tables(results: dict[str, Any]) -> list[Table]:
    """Return GRNF next to the best entry of Table 1 and LTP, and the seconds."""
    ours, best = results["table1"], results["best"]
    first = Table(
        "Accuracy in percent on the folds of Table 1, mean ± standard deviation",
        ["", *ours],
        [
            ["GRNFClassifier, default settings", *(_text(entry) for entry in ours.values())],
            ["best of Table 1", *(f"{best[n]['mean']:.1f} ({best[n]['method']})" for n in ours)],
            ["difference", *(f"{ours[n]['mean'] - best[n]['mean']:+.1f}" for n in ours)],
            ["LTP", *(_number(results["ltp"]["CHEMICAL"].get(n)) for n in ours)],
            ["seconds to embed, ten folds", *(f"{e['seconds']['embed']:.0f}" for e in ours.values())],
            ["seconds to train, ten folds", *(f"{e['seconds']['train']:.0f}" for e in ours.values())],
        ],
    )
    degree, ltp = results["degree"], results["ltp"]["COLLABORATIVE_DEGREE"]
    second = Table(
        "Accuracy in percent on the folds of LTP for social networks",
        ["", *degree],
        [
            ["GRNFClassifier, default settings", *(_text(entry) for entry in degree.values())],
            ["LTP", *(_number(ltp.get(name)) for name in degree)],
        ],
    )
    return [first, second, *_cost(results)]


def _cost(results: dict[str, Any]) -> list[Table]:
    """Return seconds and accuracy of the default model and of a GIN on the same folds."""
    gin = results["gin"]["folds"]
    if not gin:
        return []
    name = results["gin"]["set"]
    ours = results["table1"][name]["folds"][: len(gin)]
    fitting = [fold["seconds"]["embed"] + fold["seconds"]["train"] for fold in ours]
    rows = [
        [method, f"{np.mean(seconds):.1f}", f"{over_folds(folds)['mean']:.1f}"]
        for method, seconds, folds in (
            ("GRNFClassifier: embed, choose C and gamma, train", fitting, ours),
            ("GIN: train once", [fold["seconds"] for fold in gin], gin),
        )
    ]
    title = f"Cost on {len(gin)} folds of {name}, means"
    return [Table(title, ["", "seconds a fold", "accuracy in percent"], rows)]


def _text(entry: dict[str, Any]) -> str:
    return f"{entry['mean']:.1f} ± {entry['std']:.1f}"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"


def draw(results: dict[str, Any]) -> Any:
    """Draw the accuracy next to the best entry of Table 1, with standard deviations over folds."""
    figure, (axes,) = new_figure(7.5, 3.8)
    names = list(results["table1"])
    ours = [results["table1"][name] for name in names]
    places = np.arange(len(names))
    best = [results["best"][name] for name in names]
    best = [{**one, "std": deviation_of(one["method"], name)} for name, one in zip(names, best, strict=True)]
    for shift, entries, look, label in (
        (-0.12, ours, {"color": COLORS[0], "marker": "o"}, "GRNFClassifier"),
        (0.12, best, {"color": COLORS[1], "marker": "s"}, "best of Table 1"),
    ):
        means, spreads = ([entry.get(key, np.nan) for entry in entries] for key in ("mean", "std"))
        axes.errorbar(places + shift, means, yerr=spreads, ls="", ms=7, capsize=3, label=label, **look)
    for x, entry in zip(places, best, strict=True):
        look = {"textcoords": "offset points", "fontsize": 8}
        axes.annotate(entry["method"], (x + 0.12, entry["mean"]), (8, -3), **look)
    axes.set_xticks(places, names)
    axes.set_ylabel("test accuracy ± deviation over folds, %", fontsize=9)
    axes.set_ylim(40, 92)
    axes.legend(frameon=False, ncols=2, loc="upper right")
    return figure
