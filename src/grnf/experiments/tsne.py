"""t-SNE of the vectors of the synthetic sets."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from grnf.experiments.figures import COLOURS, MARKERS, new_figure
from grnf.experiments.study import Study, Table
from grnf.experiments.synthetic_sets import CLASSES, synthetic_vectors

__all__ = ["ABOUT", "TITLE", "draw", "run", "tables"]

TITLE = "t-SNE of SBM and Delaunay graphs"
ABOUT = (
    "Two sets of 600 graphs with 12 nodes, embedded with 10,000 features; t-SNE of the vectors, one point "
    "per graph. As in the paper, the classes of both sets come apart without any training. The share of "
    "graphs whose nearest neighbour (in the vectors, not on the picture) is of their own class says the "
    "same in a number."
)


def run(study: Study) -> dict[str, Any]:
    """Embed both sets and map the vectors to the plane."""
    n_graphs, n_components = (60, 256) if study.quick else (600, 10_000)
    sets = {}
    for name in CLASSES:
        what = {
            "experiment": "tsne",
            "set": name,
            "seed": study.seed,
            "n_graphs": n_graphs,
            "n_components": n_components,
        }
        sets[name] = study.cached(what, partial(_one_set, name, n_graphs, n_components, study))
    return {"n_graphs": n_graphs, "n_components": n_components, "sets": sets}


def _one_set(name: str, n_graphs: int, n_components: int, study: Study) -> dict[str, Any]:
    from sklearn.manifold import TSNE

    from grnf.metric import pairwise_distances

    Z, y = synthetic_vectors(name, n_graphs, n_components, study)
    study.tell(f"{name}: t-SNE")
    points = TSNE(random_state=study.seed, init="pca", perplexity=min(30, n_graphs / 4)).fit_transform(Z)
    D = pairwise_distances(Z)
    np.fill_diagonal(D, np.inf)
    return {
        "points": np.round(points.astype(float), 3).tolist(),
        "y": y.tolist(),
        "nearest_of_own_class": float((y[D.argmin(axis=1)] == y).mean()),
    }


def tables(results: dict[str, Any]) -> list[Table]:
    """Return the purity of the nearest neighbours."""
    rows = [[name, f"{100 * entry['nearest_of_own_class']:.1f} %"] for name, entry in results["sets"].items()]
    return [Table("Nearest neighbours", ["set", "nearest neighbour of the same class"], rows)]


def draw(results: dict[str, Any]) -> Any:
    """Draw one map for each set."""
    figure, all_axes = new_figure(9, 4.4, columns=2)
    for axes, (name, entry) in zip(all_axes, results["sets"].items(), strict=True):
        points, y = np.array(entry["points"]), np.array(entry["y"])
        for label, what in enumerate(CLASSES[name]):
            axes.scatter(
                *points[y == label].T,
                s=20,
                color=COLOURS[label],
                marker=MARKERS[label],
                alpha=0.75,
                linewidths=0,
                label=f"class {label}: {what}",
            )
        axes.set(title=name, xlabel="component 1", ylabel="component 2")
        low, high = axes.get_ylim()
        axes.set_ylim(low, high + 0.16 * (high - low))  # room for the legend
        axes.legend(fontsize=9, loc="upper center", ncols=2)
    return figure
