"""Accuracy against the number of features kept: ReweightedGRNF beside plain GRNF with as many features.

Weights are fitted on the training folds alone, as the class does it; an RBF SVM on the vectors of either, C
chosen by cross-validation inside the training folds. Run: python experiments/reweighted.py
"""

import time

import numpy as np
from common import HERE, fill, load, parser, save, save_figure
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC

from grnf import GRNF, ReweightedGRNF
from grnf.experiments.study import Table


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
        print(f"{kept:5d} plain {row['plain']:.3f} reweighted {row['reweighted']:.3f}", flush=True)
    return rows


def table(results):
    """Accuracy of plain and fitted features, one row for each set."""
    rows = [
        [name, *(f"{100 * row['plain']:.1f} / {100 * row['reweighted']:.1f}" for row in found)]
        for name, found in results.items()
    ]
    kept = [f"M' = {row['kept']}" for row in next(iter(results.values()))]
    return Table("plain / fitted", ["", *kept], rows)


def draw_figure(results, output):
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(results), figsize=(3.6 * len(results), 3.6), squeeze=False)
    for axis, (name, rows) in zip(axes[0], results.items(), strict=True):
        for method, label in (("plain", "plain GRNF"), ("reweighted", "ReweightedGRNF")):
            axis.errorbar(
                [row["kept"] for row in rows],
                [100 * row[method] for row in rows],
                [100 * row[f"{method}_error"] for row in rows],
                marker="o",
                capsize=3,
                label=label,
            )
        axis.set_xscale("log", base=2)
        axis.set_title(name)
        axis.set_xlabel("features kept, M'")
        axis.grid(alpha=0.3)
    axes[0, 0].set_ylabel("accuracy (%), bars: standard error")
    axes[0, 0].legend(fontsize=8)
    figure.tight_layout()
    save_figure(figure, "reweighted", output)


def main(arguments=None):
    options = parser(__doc__).parse_args(arguments)
    tiny = options.tiny
    settings = {
        "sets": ["Delaunay"] if tiny else ["SBM", "Delaunay", "ENZYMES", "IMDB-BINARY"],
        "n_graphs": 24 if tiny else 200,
        "kept": [4] if tiny else [8, 32, 128, 512],
        "candidates": 64 if tiny else 8192,
        "folds": 2 if tiny else 5,
        "repeats": {"SBM": 4, "Delaunay": 1 if tiny else 4, "ENZYMES": 1, "IMDB-BINARY": 1},
        "classifier": "SVC, rbf, C from 1, 10, 100 by 3-fold cross-validation inside the training folds",
    }
    results = {}
    for name in settings["sets"]:
        print(name)
        batch, y = load(name, settings["n_graphs"], options.data)
        results[name] = measure(batch, y, settings, settings["repeats"][name])
        save("reweighted", options.output, settings, results)
    draw_figure(results, options.output)
    if options.output == HERE:
        fill("reweighted", [table(results)])


if __name__ == "__main__":
    main()
