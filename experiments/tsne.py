"""t-SNE of vectors: the paper's synthetic graphs, and molecules."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from experiments.figures import new_figure, scatter_classes
from experiments.sets import CLASSES, ORDERS_TO_3, load_graphs, synthetic_vectors
from experiments.study import Study, Table
from grnf import GRNF
from grnf._utils.random import page_generator

TITLE = "t-SNE of Delaunay graphs and of molecules"
ABOUT = (
    "600 graphs of each dataset, embedded with 10,000 features; t-SNE of the vectors, one point per "
    "graph. SBM and Delaunay graphs are those of the paper, AIDS is a TU dataset of molecules that do or "
    "do not act on the virus. The number is the share of graphs whose nearest neighbor (in the vectors, "
    "not on the figure) is of the same class. Orders 1 and 2 see degrees and pairs only, so on SBM, whose "
    "classes have about as many edges, they group graphs by the number of edges and the classes overlap. "
    "It is in the table only."
)

MAPS: dict[str, tuple[str, dict[str, Any]]] = {
    "SBM": ("SBM", {}),
    "SBM, orders 1, 2, 3": ("SBM", {"orders": ORDERS_TO_3}),
    "Delaunay": ("Delaunay", {}),
    "AIDS": ("AIDS", {}),
}
"""Title -> dataset and settings of GRNF."""

PLACES = ("tsne",)

DRAWN = {"Delaunay": CLASSES["Delaunay"], "AIDS": ("active", "inactive")}
"""Maps in the figure, with their classes."""


def run(study: Study) -> dict[str, Any]:
    """Embed the datasets and map the vectors to the plane."""
    n_graphs, n_components = (60, 256) if study.quick else (600, 10_000)
    sets = {}
    for title, (name, settings) in MAPS.items():
        if study.quick and name == "AIDS":
            continue
        sizes = {"n_graphs": n_graphs, "n_components": n_components}
        what = {"experiment": "tsne", "map": title, "seed": study.seed, **sizes}
        sets[title] = study.cached(what, partial(_one_map, name, n_graphs, n_components, study, settings))
    return {"n_graphs": n_graphs, "n_components": n_components, "sets": sets}


def _one_map(
    name: str, n_graphs: int, n_components: int, study: Study, settings: dict[str, Any]
) -> dict[str, Any]:
    from sklearn.manifold import TSNE

    from grnf.metric import pairwise_distances

    if name in CLASSES:
        Z, y = synthetic_vectors(name, n_graphs, n_components, study, **settings)
    else:
        graphs, y = load_graphs(name, study)
        some = np.sort(page_generator(study.seed, 0).permutation(len(y))[:n_graphs])
        Z = np.asarray(GRNF(n_components, random_state=study.seed, **settings).fit_transform(graphs[some]))
        y = y[some]
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
    """Return the share of nearest neighbors of the same class, and that of the larger class."""
    rows = []
    for name, entry in results["sets"].items():
        larger = np.bincount(entry["y"]).max() / len(entry["y"])
        rows.append([name, f"{100 * entry['nearest_of_own_class']:.1f}", f"{100 * larger:.1f}"])
    header = ["dataset", "nearest neighbor of the same class, %", "larger class, %"]
    return [Table("Nearest neighbors", header, rows)]


def draw(results: dict[str, Any]) -> Any:
    """Draw the maps, each with the share of nearest neighbors of the same class."""
    drawn = [title for title in DRAWN if title in results["sets"]]
    figure, all_axes = new_figure(5.2 * len(drawn), 4.6, columns=len(drawn))
    for axes, title in zip(all_axes, drawn, strict=True):
        entry = results["sets"][title]
        scatter_classes(axes, np.array(entry["points"]), np.array(entry["y"]), DRAWN[title])
        share = f"{100 * entry['nearest_of_own_class']:.0f} % of nearest neighbors in the same class"
        axes.set(xticks=[], yticks=[])  # positions have no unit
        axes.set_title(f"{title}: {share}", fontsize=10)
        axes.spines[:].set_visible(False)
        axes.legend(fontsize=9, loc="upper center", bbox_to_anchor=(0.5, 0), ncols=2, frameon=False)
    return figure
