"""Accuracy on ENZYMES and IMDB-BINARY against the number of features."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from experiments.figures import COLORS, MARKERS, new_figure
from experiments.network import NetworkSettings, train_networks
from experiments.published import best_of
from experiments.sets import Benchmark, load_benchmark
from experiments.study import Study, Table

TITLE = "Accuracy against M on ENZYMES and IMDB-BINARY"
ABOUT = (
    "The classifier of Table 1 with M from 4 to 1,024 features (weight decay 0.001, as in the authors' "
    "configuration; no choice of model), on the same folds: three runs with fresh features on each fold. "
    "The band is the standard deviation over folds."
)

DIMENSIONS = [4, 8, 16, 32, 64, 128, 256, 512, 1024]
N_RUNS = 3
L2 = 1e-3


def run(study: Study) -> dict[str, Any]:
    """Train and test for each M; each fold is cached."""
    dimensions = [4, 64] if study.quick else DIMENSIONS
    steps, patience = (40, 20) if study.quick else (600, 200)
    network = NetworkSettings(max_steps=steps, patience=patience)
    results: dict[str, Any] = {}
    for name in ("ENZYMES", "IMDB-BINARY"):
        benchmark = load_benchmark(name, study)
        numbers = range(2 if study.quick else len(benchmark.folds))
        folds = np.array([_fold(benchmark, number, dimensions, network) for number in numbers])
        percent = 100 * folds.mean(axis=2)  # over runs: shape (folds, dimensions)
        results[name] = {"mean": percent.mean(axis=0).tolist(), "std": percent.std(axis=0).tolist()}
    return {
        "dimensions": dimensions,
        "runs": N_RUNS,
        "l2": L2,
        "network": asdict(network),
        "sets": results,
        "best_published": {name: best_of(name) for name in results},
    }


def _fold(benchmark: Benchmark, number: int, dimensions: list[int], network: NetworkSettings) -> Any:
    """Return the test accuracies of the runs for each M."""
    study = benchmark.study
    settings = {"dimensions": dimensions, "runs": N_RUNS, "l2": L2, "network": asdict(network)}
    what = {"experiment": "accuracy", "set": benchmark.name, "fold": number, "seed": study.seed, **settings}

    def compute() -> list[list[float]]:
        study.tell(f"{benchmark.name}: fold {number + 1} of {len(benchmark.folds)}")
        Z = benchmark.vectors(max(dimensions), [study.seed + run for run in range(N_RUNS)])
        # the first M features of a longer vector are the vector of length M, up to scale
        arguments = (benchmark.y, benchmark.folds[number], [L2] * N_RUNS, network, study.seed)
        return [[trained.test for trained in train_networks(Z[:, :, :M], *arguments)] for M in dimensions]

    return study.cached(what, compute)


def tables(results: dict[str, Any]) -> list[Table]:
    """Return the means and deviations."""
    header = ["", *(f"M = {M}" for M in results["dimensions"])]
    rows = [
        [name, *(f"{m:.1f} ± {s:.1f}" for m, s in zip(entry["mean"], entry["std"], strict=True))]
        for name, entry in results["sets"].items()
    ]
    return [Table("Test accuracy in percent, mean ± standard deviation over folds", header, rows)]


def draw(results: dict[str, Any]) -> Any:
    """Draw one curve for each set, with the best published result as a line."""
    figure, (axes,) = new_figure(7.5, 4.4)
    M = results["dimensions"]
    for index, (name, entry) in enumerate(results["sets"].items()):
        mean, std = np.array(entry["mean"]), np.array(entry["std"])
        axes.fill_between(M, mean - std, mean + std, color=COLORS[index], alpha=0.18, linewidth=0)
        axes.plot(M, mean, color=COLORS[index], marker=MARKERS[index], label=f"{name}, GRNF")
        best = results["best_published"][name]
        label = f"{name}, {best['method']} (best of Errica et al.)"
        axes.axhline(best["mean"], color=COLORS[index], linestyle="--", linewidth=1.2, label=label)
    axes.set_xscale("log", base=2)
    axes.set_xticks(M, [f"{value:,}" for value in M])
    axes.minorticks_off()
    axes.set(xlabel="number of features M", ylabel="test accuracy, % (band: sd over folds)")
    axes.legend(fontsize=9, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False)
    return figure
