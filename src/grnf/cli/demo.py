"""`grnf demo`: the main features on built-in data: vectors, distances, a test, accuracy and maps."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from grnf._utils.files import atomic_write, write_array, write_json

if TYPE_CHECKING:
    from grnf.graphs import Graph
    from grnf.maps import GraphMap

ORDERS = {1: 1 / 3, 2: 1 / 3, 3: 1 / 3}
CLASSES = {"SBM": ("one community", "two communities"), "Delaunay": ("seed points", "moved seed points")}
BASELINE = "baseline: SVM on degrees and mean attributes"


def demo(
    *,
    output: Annotated[Path, "-o", "Folder to write to.", {"rich_help_panel": "Output"}] = Path("grnf-demo"),
    n_components: Annotated[int, "-m", "Number of features M.", {"min": 1}] = 512,
    n_graphs: Annotated[int, "Number of graphs in each dataset.", {"min": 40}] = 600,
    seed: Annotated[int, "Seed of the graphs and of the features."] = 0,
) -> None:
    """Run the main features on two built-in datasets.

    For each dataset of two classes, print the accuracy of a classifier and a baseline, distances within and
    between the classes, and a two-sample test. Write the vectors and an interactive map. This takes about a
    minute.

    Examples:
      grnf demo
      grnf demo --n-graphs 200 --output grnf-demo
    """
    from rich.console import Console

    from grnf._utils.running import no_progress
    from grnf.datasets import make_delaunay, make_sbm
    from grnf.estimators import GRNF
    from grnf.maps import map_graphs

    output.mkdir(parents=True, exist_ok=True)
    console = Console(highlight=False, soft_wrap=True)
    console.print("The first run compiles for up to half a minute.")
    results: dict[str, Any] = {"settings": {"n_components": n_components, "n_graphs": n_graphs, "seed": seed}}
    for name, make in (("SBM", make_sbm), ("Delaunay", make_delaunay)):
        with no_progress(), console.status(f"{name}: {n_graphs} graphs, {n_components} features"):
            graphs, y = make(n_graphs, random_state=seed)
            graph_map = map_graphs(
                graphs,
                [CLASSES[name][label] for label in y.tolist()],
                transformer=GRNF(n_components, orders=ORDERS, random_state=seed),
                n_neighbors=3,
                differences=False if n_components > 2_048 else None,
                positions="x" if name == "Delaunay" else None,
                title=f"{name}: {len(graphs)} graphs of two classes",
                random_state=seed,
            )
            results[name] = _one_dataset(graphs, y, graph_map, seed)
        graph_map.write(output / f"{name.lower()}.html")
        with atomic_write(output / f"{name.lower()}.npy", "wb") as file:
            write_array(file, graph_map.vectors)
    write_json(output / "results.json", results)
    _print(console, results)
    console.print("\nMaps to open in a browser: hover over a point to draw its graph, click to compare it")
    for page in ("sbm.html", "delaunay.html"):
        console.print(f"  {(output / page).resolve().as_uri()}")
    console.print(f"Also in {output}/: sbm.npy and delaunay.npy (one vector per graph), results.json")


def _one_dataset(graphs: list[Graph], y: Any, graph_map: GraphMap, seed: int) -> dict[str, Any]:
    """Return the numbers to print, from the vectors of a map."""
    import numpy as np

    from grnf.stats import two_sample_test

    grnf, Z = graph_map.transformer, graph_map.vectors
    same, other = y[:, np.newaxis] == y, ~np.eye(len(y), dtype=bool)
    copy = grnf.distance(graphs[0], graphs[0].permuted(range(graphs[0].n_nodes)[::-1]))
    test = two_sample_test(Z[y == 0], Z[y == 1], random_state=seed)
    return {
        "accuracy": {
            "SVM on GRNF": _accuracy("svm", Z, y),
            "5 nearest neighbors on GRNF": _accuracy("knn", Z, y),
            BASELINE: _accuracy("svm", _baseline(graphs), y),
        },
        "distances": {
            "same class": _mean_distance(Z, same & other),
            "different classes": _mean_distance(Z, ~same),
            "permuted copy": {"mean": copy.value, "standard_error": copy.value_error},
        },
        "test": {"pvalue": test.pvalue, "n_resamples": test.n_resamples},
    }


def _mean_distance(Z: Any, pairs: Any) -> dict[str, float]:
    """Return the mean distance of pairs of rows, with its standard error over the features."""
    import numpy as np

    from grnf.metric import pairwise_distances

    D = pairwise_distances(Z)
    slopes = np.divide(0.5, D, out=np.zeros_like(D), where=pairs & (D > 0)) / pairs.sum()
    terms = 2 * (slopes.sum(axis=1) @ np.square(Z) - np.einsum("im,im->m", Z, slopes @ Z))
    return {"mean": float(D[pairs].mean()), "standard_error": float(terms.std(ddof=1) * len(terms) ** 0.5)}


def _baseline(graphs: list[Graph]) -> Any:
    """Return simple statistics of graphs: number of edges, sorted degrees, means of attributes."""
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


def _print(console: Any, results: dict[str, Any]) -> None:
    """Print the accuracies next to those of the baseline, then distances and tests."""
    settings = results["settings"]
    console.print(
        f"\nAccuracy on two datasets of {settings['n_graphs']} graphs in two classes, "
        f"{settings['n_components']} features (± standard deviation over 10 folds):"
    )
    wide = max(len(method) for method in results["SBM"]["accuracy"])
    console.print(f"  {'':{wide}}  {'SBM':>15}  {'Delaunay':>15}")
    for method in results["SBM"]["accuracy"]:
        scores = [results[name]["accuracy"][method] for name in CLASSES]
        cells = [f"{100 * score['mean']:.1f} % (± {100 * score['std']:.1f})" for score in scores]
        console.print(f"  {method:{wide}}  {cells[0]:>15}  {cells[1]:>15}")
    for name, (first, second) in CLASSES.items():
        distances, test = results[name]["distances"], results[name]["test"]
        within, between, copy = (f"{d['mean']:.4f} ± {d['standard_error']:.4f}" for d in distances.values())
        console.print(f"\n{name}: {first}, or {second}")
        console.print(
            f"  distances  {within} on average within a class, {between} between classes, "
            f"{copy} for a graph and its permuted copy (± standard error)"
        )
        console.print(
            f"  test       p = {test['pvalue']:.3g} for equal distributions, "
            f"{test['n_resamples']} permutations"
        )
