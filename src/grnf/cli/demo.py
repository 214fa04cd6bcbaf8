"""`grnf demo`: the main job on built-in data, from graphs to vectors, distances, accuracy and a picture."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from grnf.files import atomic_write, write_json
from grnf.progress import no_progress

if TYPE_CHECKING:
    from grnf.graphs import Graph

__all__ = ["demo"]

DISTANCE_FEATURES = 65_536
"""Features for the distances of the demo: two graphs are quickly embedded, and the error bars get short."""


def demo(
    output: Path = typer.Option(Path("grnf-demo"), "--output", "-o", help="Folder to write to."),
    n_components: int = typer.Option(512, "--n-components", "-m", help="Number of features M."),
    n_graphs: int = typer.Option(600, help="Number of graphs in each set."),
    seed: int = typer.Option(0, help="Seed of the graphs and of the features."),
) -> None:
    """Embed the paper's two synthetic sets and show what the vectors are good for; about a minute.

    Example: grnf demo --output grnf-demo
    """
    if n_graphs < 40:
        raise typer.BadParameter("at least 40 graphs are needed to cross-validate", param_hint="--n-graphs")
    if n_components < 1:
        raise typer.BadParameter("at least 1", param_hint="--n-components")
    import numpy as np
    from rich.console import Console

    from grnf.datasets import make_delaunay, make_sbm

    output.mkdir(parents=True, exist_ok=True)
    console = Console(highlight=False, soft_wrap=True)
    console.print(f"Two sets of {n_graphs} graphs of two classes; vectors of length {n_components}.")
    results: dict[str, Any] = {"settings": {"n_components": n_components, "n_graphs": n_graphs, "seed": seed}}
    maps: dict[str, Any] = {}
    for name, make in (("SBM", make_sbm), ("Delaunay", make_delaunay)):
        with no_progress(), console.status(f"{name}: drawing, embedding and classifying {n_graphs} graphs"):
            graphs, y = make(n_graphs, random_state=seed)
            results[name], vectors = _one_set(graphs, y, n_components, seed)
            maps |= {f"{name}, orders {orders}": (_map(Z, seed), y) for orders, Z in vectors.items()}
            _write_page(output / f"{name.lower()}.html", name, graphs, y, n_components, seed)
        with atomic_write(output / f"{name.lower()}.npy", "wb") as file:
            np.save(file, vectors["1, 2"], allow_pickle=False)
        _tell(console, name, results[name])
    written = ["sbm.npy", "delaunay.npy", "sbm.html", "delaunay.html"]
    if importlib.util.find_spec("matplotlib"):
        _draw(output / "tsne.png", maps)
        written.append("tsne.png")
    else:
        console.print("no picture: matplotlib is missing; pip install 'grnf\\[plot]' brings it")
    write_json(output / "results.json", results)
    console.print(f"\nwritten to {output}/: {', '.join([*written, 'results.json'])}")
    console.print("maps of both sets, to look at in a browser:")
    for name in ("sbm.html", "delaunay.html"):
        console.print(f"  {(output / name).resolve().as_uri()}")


def _write_page(path: Path, name: str, graphs: list[Graph], y: Any, n_components: int, seed: int) -> None:
    """Write a map of one set, with orders up to 3, which tell the classes of both sets apart."""
    from grnf import GRNF
    from grnf.atlas import map_graphs
    from grnf.experiments.synthetic_sets import CLASSES, ORDERS_TO_3

    map_graphs(
        graphs,
        [CLASSES[name][label] for label in y.tolist()],
        transformer=GRNF(n_components, orders=ORDERS_TO_3, random_state=seed),
        k=3,
        differences=False if n_components > 2_048 else None,
        places="x" if name == "Delaunay" else None,
        title=f"{name}: {len(graphs)} graphs of two classes",
        random_state=seed,
    ).write(path)


def _one_set(
    graphs: list[Graph], y: Any, n_components: int, seed: int
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Embed one set; return what is worth telling, and the vectors by the orders that made them."""
    from grnf import GRNF

    grnf = GRNF(n_components, random_state=seed)
    vectors = {
        "1, 2": grnf.fit_transform(graphs),
        "1, 2, 3": grnf.set_params(orders={1: 1 / 3, 2: 1 / 3, 3: 1 / 3}).fit_transform(graphs),
    }
    many = GRNF(DISTANCE_FEATURES, random_state=seed).fit(graphs)
    backwards = graphs[0].permuted(range(graphs[0].n_nodes)[::-1])
    distances = {}
    others = {"same class": graphs[2], "other class": graphs[1], "permuted copy": backwards}
    for what, other in others.items():
        estimate = many.distance(graphs[0], other)
        low, high = estimate.interval(0.05)
        distances[what] = {"value": estimate.value, "low": low, "high": high}
    accuracy = {
        "SVM on GRNF, orders 1, 2": _accuracy("svm", vectors["1, 2"], y),
        "5-NN on GRNF, orders 1, 2": _accuracy("knn", vectors["1, 2"], y),
        "SVM on GRNF, orders 1, 2, 3": _accuracy("svm", vectors["1, 2, 3"], y),
        "5-NN on GRNF, orders 1, 2, 3": _accuracy("knn", vectors["1, 2, 3"], y),
        "SVM on degrees and mean attributes (baseline)": _accuracy("svm", _baseline(graphs), y),
    }
    return {"distances": distances, "accuracy": accuracy}, vectors


def _baseline(graphs: list[Graph]) -> Any:
    """Plain statistics that anyone would try first: number of edges, sorted degrees, means of attributes."""
    import numpy as np

    rows = []
    for graph in graphs:
        A = graph.tensor()
        means = A[..., : graph.node_width].sum(axis=(0, 1)) / graph.n_nodes
        rows.append([graph.n_edges, *np.sort(A[..., graph.node_width].sum(axis=1)), *means])
    return np.array(rows)


def _accuracy(method: str, Z: Any, y: Any) -> dict[str, float]:
    from sklearn.model_selection import cross_val_score
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    model = SVC(C=10) if method == "svm" else KNeighborsClassifier(5)
    scores = cross_val_score(make_pipeline(StandardScaler(), model), Z, y, cv=10)
    return {"mean": float(scores.mean()), "std": float(scores.std())}


def _map(Z: Any, seed: int) -> Any:
    from sklearn.manifold import TSNE
    from sklearn.preprocessing import StandardScaler

    tsne = TSNE(random_state=seed, init="pca", perplexity=min(30, len(Z) / 4))
    return tsne.fit_transform(StandardScaler().fit_transform(Z))


def _tell(console: Any, name: str, result: dict[str, Any]) -> None:
    console.print(f"\n{name}")
    for what, d in result["distances"].items():
        line = f"  distance, {what:<14} {d['value']:.4f}   95 % interval {d['low']:.4f} to {d['high']:.4f}"
        console.print(line)
    for what, score in result["accuracy"].items():
        console.print(f"  accuracy, {what:<46} {score['mean']:.3f} +- {score['std']:.3f}")


def _draw(path: Path, maps: dict[str, Any]) -> None:
    """Draw the t-SNE maps in a grid."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from grnf.experiments.figures import scatter_classes
    from grnf.experiments.synthetic_sets import CLASSES

    figure = Figure(figsize=(9.5, 9), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle("t-SNE of GRNF vectors: one point per graph")
    for axes, (title, (points, y)) in zip(figure.subplots(2, 2).flat, maps.items(), strict=True):
        scatter_classes(axes, points, y, CLASSES[title.split(",")[0]])
        axes.set(title=title, xticks=[], yticks=[])
        axes.legend(fontsize=9)
    with atomic_write(path, "wb") as file:
        figure.savefig(file, dpi=110, format="png")
