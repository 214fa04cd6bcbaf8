"""Accuracy of SVM and k-NN on the synthetic sets against the number of features."""

from __future__ import annotations

from typing import Any

import numpy as np

from experiments.figures import COLORS, MARKERS, new_figure
from experiments.sets import CLASSES, synthetic_vectors
from experiments.study import Study, Table
from grnf._utils.random import page_generator
from grnf.typing import FloatArray, IntArray

TITLE = "Accuracy against M on SBM and Delaunay"
ABOUT = (
    "An SVM with the kernel estimate (z - z(0)) . (z' - z(0)) and a 5-nearest-neighbor "
    "classifier with the distance estimate |z - z'|, for M features picked at random from M_* = 10,000; "
    "ten repetitions, each with a fresh half of the 600 graphs to train on. Horizontal lines: all M_* "
    "features, which stand for the exact kernel and distance. Bands: standard deviation over repetitions. "
    "As in the paper, a few hundred features are as good as the exact ones. C of the SVM is 1 on features "
    "of unit scale, as in the authors' code."
)

DIMENSIONS = sorted({int(M) for M in np.logspace(1, np.log2(1000), num=20, base=2)})
METHODS = {"svm": ("SVM, kernel estimate", "SVM, M_*"), "knn": ("k-NN, distance estimate", "k-NN, M_*")}


def run(study: Study) -> dict[str, Any]:
    """Classify with M features of M_*; each set and repetition is cached."""
    n_graphs, largest, repetitions = (60, 500, 2) if study.quick else (600, 10_000, 10)
    dimensions = [4, 64] if study.quick else DIMENSIONS
    sets = {}
    for name in CLASSES:
        settings = {"seed": study.seed, "n_graphs": n_graphs, "M": [*dimensions, largest]}
        what = {"experiment": "synthetic", "set": name, "repetitions": repetitions, **settings}

        def one_set(name: str = name) -> dict[str, Any]:
            Z, y = synthetic_vectors(name, n_graphs, largest, study)
            Z = Z * np.sqrt(largest)  # psi itself, so that C means the same for every M
            scores = []
            for repetition in range(repetitions):
                study.tell(f"{name}: repetition {repetition + 1} of {repetitions}")
                scores.append(_repetition(Z, y, [*dimensions, largest], study.seed, repetition))
            values = 100 * np.array(scores)  # repetitions, dimensions, methods
            return {"mean": values.mean(axis=0).T.tolist(), "std": values.std(axis=0).T.tolist()}

        found = study.cached(what, one_set)
        sets[name] = {
            method: {
                "mean": found["mean"][index][:-1],
                "std": found["std"][index][:-1],
                "star": found["mean"][index][-1],
                "star_std": found["std"][index][-1],
            }
            for index, method in enumerate(METHODS)
        }
    sizes = {"M_star": largest, "n_graphs": n_graphs, "repetitions": repetitions}
    return {"dimensions": dimensions, **sizes, "sets": sets}


def _repetition(
    Z: FloatArray, y: IntArray, dimensions: list[int], seed: int, repetition: int
) -> list[list[float]]:
    """Return the accuracies of both methods for each M, on one random half of the graphs."""
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.svm import SVC

    generator = page_generator(seed, repetition)
    order = generator.permutation(len(y))
    train, test = order[: len(y) // 2], order[len(y) // 2 :]
    rows = []
    for M in dimensions:
        features = generator.permutation(Z.shape[1])[:M]
        X = Z[:, features].astype(np.float64)
        K = X @ X.T
        svm = SVC(C=1.0, kernel="precomputed").fit(K[np.ix_(train, train)], y[train])
        knn = KNeighborsClassifier(5).fit(X[train], y[train])
        rows.append([svm.score(K[np.ix_(test, train)], y[test]), knn.score(X[test], y[test])])
    return rows


def tables(results: dict[str, Any]) -> list[Table]:
    """Return accuracies for some M."""
    picked = range(0, len(results["dimensions"]), max(1, len(results["dimensions"]) // 6))
    header = ["", *(f"M = {results['dimensions'][i]}" for i in picked), f"M_* = {results['M_star']:,}"]
    rows = []
    for name, methods in results["sets"].items():
        for method, entry in methods.items():
            cells = [f"{entry['mean'][i]:.1f} ± {entry['std'][i]:.1f}" for i in picked]
            last = f"{entry['star']:.1f} ± {entry['star_std']:.1f}"
            rows.append([f"{name}, {METHODS[method][0].split(',')[0]}", *cells, last])
    return [Table("Test accuracy in percent, mean ± standard deviation over repetitions", header, rows)]


def draw(results: dict[str, Any]) -> Any:
    """Draw one panel for each set."""
    figure, all_axes = new_figure(10, 4.2, columns=2, sharey=True)
    M = results["dimensions"]
    for axes, (name, methods) in zip(all_axes, results["sets"].items(), strict=True):
        for index, (method, entry) in enumerate(methods.items()):
            mean, std = np.array(entry["mean"]), np.array(entry["std"])
            color = COLORS[index]
            axes.fill_between(M, mean - std, mean + std, color=color, alpha=0.18, linewidth=0)
            axes.plot(M, mean, color=color, marker=MARKERS[index], markersize=5, label=METHODS[method][0])
            label = METHODS[method][1].replace("M_*", f"$M_*$ = {results['M_star']:,}")
            axes.axhline(entry["star"], color=color, linestyle="--", linewidth=1.2, label=label)
        axes.set_xscale("log")
        axes.set(title=name, xlabel="number of features M")
    all_axes[0].set_ylabel("test accuracy, % (band: sd over repetitions)")
    all_axes[0].set_ylim(top=101)
    all_axes[1].legend(fontsize=9, loc="lower right")
    return figure
