"""Accuracy against the number of features kept: ReweightedGRNF compared with plain GRNF."""

import time

import numpy as np
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC

from experiments.figures import COLORS, new_figure
from experiments.sets import load_graphs
from experiments.study import Table
from grnf import GRNF, ReweightedGRNF

TITLE = "ReweightedGRNF: accuracy against features kept"
ABOUT = (
    "Weights are fitted on the training folds alone. An RBF SVM on the vectors of either, C chosen by "
    "cross-validation inside the training folds."
)
PLACES = ("reweighted",)
METHODS = {"plain": "plain GRNF", "reweighted": "ReweightedGRNF"}


def accuracy(grnf, batch, y, train, test):
    """Accuracy of an SVM on the vectors, and the seconds of the fit of the features."""
    start = time.process_time()
    grnf.fit(batch.take(train), y[train])
    seconds = time.process_time() - start
    Z = grnf.transform(batch)
    Z = Z / Z[train].std()
    search = GridSearchCV(SVC(), {"C": [1, 10, 100]}, cv=3).fit(Z[train], y[train])
    return search.score(Z[test], y[test]), seconds


def measure(batch, y, settings, repeats):
    rows = []
    for kept in settings["kept"]:
        scores, seconds = {"plain": [], "reweighted": []}, []
        for repeat in range(repeats):
            folds = StratifiedKFold(settings["folds"], shuffle=True, random_state=repeat)
            for fold, (train, test) in enumerate(folds.split(y, y)):
                seed = 100 * repeat + fold
                plain = GRNF(kept, random_state=seed)
                fitted = ReweightedGRNF(kept, n_candidates=settings["candidates"], random_state=seed)
                scores["plain"].append(accuracy(plain, batch, y, train, test)[0])
                score, took = accuracy(fitted, batch, y, train, test)
                scores["reweighted"].append(score)
                seconds.append(took)
        row = {"kept": kept, "seconds_fit": float(np.median(seconds))}
        for name, values in scores.items():
            row[name] = float(np.mean(values))
            row[f"{name}_error"] = float(np.std(values, ddof=1) / np.sqrt(len(values)))
        rows.append(row)
    return rows


def tables(results):
    """Accuracy of plain and fitted features, one row for each set."""
    rows = [
        [name, *(f"{100 * row['plain']:.1f} / {100 * row['reweighted']:.1f}" for row in found)]
        for name, found in results.items()
    ]
    kept = [f"M' = {row['kept']}" for row in next(iter(results.values()))]
    return [Table("plain / fitted", ["", *kept], rows)]


def draw(results):
    """Draw the accuracy of both, one panel for each dataset."""
    figure, all_axes = new_figure(3.6 * len(results), 3.6, len(results))
    for axes, (name, rows) in zip(all_axes, results.items(), strict=True):
        for color, (method, label) in zip(COLORS, METHODS.items(), strict=False):
            kept = [row["kept"] for row in rows]
            means = [100 * row[method] for row in rows]
            errors = [100 * row[f"{method}_error"] for row in rows]
            axes.errorbar(kept, means, errors, marker="o", capsize=3, color=color, label=label)
        axes.set_xscale("log", base=2)
        axes.set(title=name, xlabel="features kept, M'")
    all_axes[0].set_ylabel("accuracy (%), bars: standard error")
    all_axes[0].legend(fontsize=8)
    return figure


def settings(study):
    quick = study.quick
    return {
        "sets": ["Delaunay"] if quick else ["SBM", "Delaunay", "ENZYMES", "IMDB-BINARY"],
        "n_graphs": 24 if quick else 200,
        "kept": [4] if quick else [8, 32, 128, 512],
        "candidates": 64 if quick else 8192,
        "folds": 2 if quick else 5,
        "repeats": {"SBM": 4, "Delaunay": 1 if quick else 4, "ENZYMES": 1, "IMDB-BINARY": 1},
        "classifier": "SVC, rbf, C from 1, 10, 100 by 3-fold cross-validation inside the training folds",
    }


def run(study):
    sizes = settings(study)
    results = {}
    for name in sizes["sets"]:
        study.tell(name)
        results[name] = study.cached(
            {"experiment": "reweighted", "set": name, **sizes},
            lambda: measure(*load_graphs(name, study, sizes["n_graphs"]), sizes, sizes["repeats"][name]),
        )
    return results
