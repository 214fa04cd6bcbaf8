"""`grnf demo`: the main job on built-in data, from graphs to vectors, distances, accuracy and a picture."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    import numpy as np

    from grnf.graphs import Graph

__all__ = ["demo"]


def demo(
    output: Path = typer.Option(
        Path("grnf-demo"), "--output", "-o", help="Folder to write to; made if missing."
    ),
    n_components: int = typer.Option(512, "--n-components", "-m", help="Number of features M."),
    n_graphs: int = typer.Option(600, help="Number of graphs in each set."),
    seed: int = typer.Option(0, help="Seed of the graphs and of the features."),
) -> None:
    """Embed the paper's two synthetic sets and show what the vectors are good for. Under a minute.

    Example: grnf demo --output grnf-demo
    """
    from rich.console import Console

    from grnf.datasets import make_delaunay, make_sbm

    if n_graphs < 40:
        raise typer.BadParameter("at least 40 graphs are needed to cross-validate", param_hint="--n-graphs")
    output.mkdir(parents=True, exist_ok=True)
    console = Console()
    results: dict[str, Any] = {"settings": {"n_components": n_components, "n_graphs": n_graphs, "seed": seed}}
    pictures = {}
    for name, make in (("SBM", make_sbm), ("Delaunay", make_delaunay)):
        with console.status(f"{name}: drawing {n_graphs} graphs, embedding them, classifying them"):
            graphs, y = make(n_graphs, random_state=seed)
            results[name], Z = _one_set(graphs, y, n_components, seed)
            pictures[name] = (_map(Z, seed), y)
        _save_vectors(output / f"{name.lower()}.npy", Z)
        _tell(console, name, results[name])
    written = [f"{name.lower()}.npy" for name in pictures]
    if importlib.util.find_spec("matplotlib"):
        _draw(output / "tsne.png", pictures)
        written.append("tsne.png")
    else:
        console.print("no picture: matplotlib is missing; pip install 'grnf\\[plot]' brings it")
    from grnf.files import atomic_write

    with atomic_write(output / "results.json") as file:
        json.dump(results, file, indent=2)
    written.append("results.json")
    console.print(f"\nwritten to {output}/: {', '.join(written)}", highlight=False, soft_wrap=True)


def _one_set(graphs: list[Graph], y: Any, n_components: int, seed: int) -> tuple[dict[str, Any], Any]:
    """Embed one set; return what is worth telling, and the vectors."""
    import time

    from grnf import GRNF
    from grnf.metric import distance

    grnf = GRNF(n_components, random_state=seed).fit(graphs)
    grnf.transform(graphs[:2])  # compiles
    start = time.perf_counter()
    Z = grnf.transform(graphs)
    seconds = time.perf_counter() - start
    pairs = {"same class": (0, 2), "different classes": (0, 1), "permuted copy": (0, None)}
    distances = {}
    for what, (i, j) in pairs.items():
        other = graphs[i].permuted(range(graphs[i].n_nodes)[::-1]) if j is None else graphs[j]
        estimate = distance(Z[i], grnf.transform([other])[0])
        low, high = estimate.interval(0.05)
        distances[what] = {"value": estimate.value, "low": low, "high": high}
    accuracy = {
        "SVM on GRNF": _accuracy("svm", Z, y),
        "5-NN on GRNF": _accuracy("knn", Z, y),
        "SVM on degrees and mean attributes (baseline)": _accuracy("svm", _baseline(graphs), y),
    }
    return {"graphs": len(graphs), "seconds": seconds, "distances": distances, "accuracy": accuracy}, Z


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

    model = make_pipeline(StandardScaler(), SVC()) if method == "svm" else KNeighborsClassifier(5)
    scores = cross_val_score(model, Z, y, cv=10)
    return {"mean": float(scores.mean()), "std": float(scores.std())}


def _map(Z: Any, seed: int) -> Any:
    from sklearn.manifold import TSNE

    return TSNE(random_state=seed, init="pca", perplexity=min(30, len(Z) / 4)).fit_transform(Z)


def _save_vectors(path: Path, Z: np.ndarray) -> None:
    import numpy as np

    from grnf.files import atomic_write

    with atomic_write(path, "wb") as file:
        np.save(file, Z, allow_pickle=False)


def _tell(console: Any, name: str, result: dict[str, Any]) -> None:
    rate = result["graphs"] / result["seconds"]
    console.print(
        f"\n{name}: {result['graphs']} graphs in {result['seconds']:.2f} s ({rate:,.0f} per second)",
        highlight=False,
    )
    for what, d in result["distances"].items():
        line = f"  distance, {what:<18} {d['value']:.4f}   95 % interval {d['low']:.4f} to {d['high']:.4f}"
        console.print(line, highlight=False)
    for what, score in result["accuracy"].items():
        console.print(f"  accuracy, {what:<46} {score['mean']:.3f} +- {score['std']:.3f}", highlight=False)


def _draw(path: Path, pictures: dict[str, Any]) -> None:
    """Draw the t-SNE maps side by side."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from grnf.files import atomic_write

    figure = Figure(figsize=(9, 4.4), layout="constrained")
    FigureCanvasAgg(figure)
    titles = {
        "SBM": ("one community", "two communities"),
        "Delaunay": ("first seed points", "moved seed points"),
    }
    for axes, (name, (points, y)) in zip(figure.subplots(1, 2), pictures.items(), strict=True):
        for label, (colour, marker) in enumerate((("#0072b2", "o"), ("#d55e00", "^"))):
            chosen = points[y == label]
            axes.scatter(
                *chosen.T, s=16, c=colour, marker=marker, alpha=0.75, linewidths=0, label=titles[name][label]
            )
        axes.set(title=f"{name}: t-SNE of GRNF vectors", xticks=[], yticks=[])
        axes.legend(frameon=True, fontsize=9)
    with atomic_write(path, "wb") as file:
        figure.savefig(file, dpi=130, format="png")
