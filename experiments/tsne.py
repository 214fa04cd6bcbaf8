"""t-SNE of the vectors of the synthetic sets."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from experiments.figures import new_figure, scatter_classes
from experiments.sets import CLASSES, ORDERS_TO_3, synthetic_vectors
from experiments.study import Study, Table

TITLE = "t-SNE of SBM and Delaunay graphs"
ABOUT = (
    "Two sets of 600 graphs with 12 nodes, embedded with 10,000 features; t-SNE of the vectors, one point "
    "per graph, one map for each set as in the paper. Orders 1 and 2 see degrees and pairs only, so on SBM, "
    "whose classes have about as many edges, they group graphs by the number of edges first and the classes "
    "overlap; ours adds order 3, which sees triangles and tells communities. The share of graphs whose "
    "nearest neighbour (in the vectors, not on the picture) is of their own class says the same in a number."
)

MAPS: dict[str, tuple[str, dict[str, Any]]] = {
    "SBM": ("SBM", {}),
    "SBM, orders 1, 2, 3": ("SBM", {"orders": ORDERS_TO_3}),
    "Delaunay": ("Delaunay", {}),
}
"""Title -> set and settings of GRNF."""


def run(study: Study) -> dict[str, Any]:
    """Embed both sets and map the vectors to the plane."""
    n_graphs, n_components = (60, 256) if study.quick else (600, 10_000)
    sets = {}
    for title, (name, settings) in MAPS.items():
        sizes = {"n_graphs": n_graphs, "n_components": n_components}
        what = {"experiment": "tsne", "map": title, "seed": study.seed, **sizes}
        sets[title] = study.cached(what, partial(_one_map, name, n_graphs, n_components, study, settings))
    return {"n_graphs": n_graphs, "n_components": n_components, "sets": sets}


def _one_map(
    name: str, n_graphs: int, n_components: int, study: Study, settings: dict[str, Any]
) -> dict[str, Any]:
    from sklearn.manifold import TSNE

    from grnf.metric import pairwise_distances

    Z, y = synthetic_vectors(name, n_graphs, n_components, study, **settings)
    study.tell(f"{name}: t-SNE")
    points = TSNE(random_state=study.seed, init="pca", perplexity=min(30, n_graphs / 4)).fit_transform(Z)
    D = pairwise_distances(Z)
    np.fill_diagonal(D, np.inf)
    return {
        "points": np.round(points.astype(float), 2).tolist(),
        "y": y.tolist(),
        "nearest_of_own_class": float((y[D.argmin(axis=1)] == y).mean()),
    }


def tables(results: dict[str, Any]) -> list[Table]:
    """Return the purity of the nearest neighbours."""
    rows = [[name, f"{100 * entry['nearest_of_own_class']:.1f} %"] for name, entry in results["sets"].items()]
    return [Table("Nearest neighbours", ["set", "nearest neighbour of the same class"], rows)]


def draw(results: dict[str, Any]) -> Any:
    """Draw one map for each set."""
    figure, all_axes = new_figure(12.5, 4.6, columns=len(results["sets"]))
    for axes, (title, entry) in zip(all_axes, results["sets"].items(), strict=True):
        points, y = np.array(entry["points"]), np.array(entry["y"])
        scatter_classes(axes, points, y, CLASSES[MAPS[title][0]])
        axes.set(title=title, xticks=[], yticks=[])  # positions have no unit
        axes.legend(fontsize=9, loc="upper center", bbox_to_anchor=(0.5, -0.13), ncols=2, frameon=False)
    return figure
