"""`grnf demo`: the main job on built-in data: vectors, distances, a test, neighbours, accuracy, maps."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from grnf._utils.files import atomic_write, write_array, write_json
from grnf._utils.progress import no_progress

if TYPE_CHECKING:
    from grnf.graphs import Graph

__all__ = ["demo"]

DISTANCE_FEATURES = 65_536
"""Features for the distance of two graphs: these are quickly embedded, and the error bars get short."""

N_NEIGHBORS = 4
ORDERS = {1: 1 / 3, 2: 1 / 3, 3: 1 / 3}
CLASSES = {"SBM": ("one community", "two communities"), "Delaunay": ("seed points", "moved seed points")}


def demo(
    output: Path = typer.Option(Path("grnf-demo"), "--output", "-o", help="Folder to write to."),
    n_components: int = typer.Option(512, "--n-components", "-m", help="Number of features M."),
    n_graphs: int = typer.Option(600, help="Number of graphs in each set."),
    seed: int = typer.Option(0, help="Seed of the graphs and of the features."),
) -> None:
    """Embed the paper's two synthetic sets and show what the vectors are good for. Under a minute.

    For each set of two classes: distances within and between the classes, a test whether they differ, the
    nearest graphs of one, accuracy beside a baseline, and a map to look at.

    Example: grnf demo --output grnf-demo
    """
    if n_graphs < 40:
        raise typer.BadParameter("at least 40 graphs are needed to cross-validate", param_hint="--n-graphs")
    if n_components < 1:
        raise typer.BadParameter("at least 1", param_hint="--n-components")
    from rich.console import Console

    from grnf.datasets import make_delaunay, make_sbm

    output.mkdir(parents=True, exist_ok=True)
    console = Console(highlight=False, soft_wrap=True)
    console.print(
        f"Two sets of {n_graphs} graphs of two classes; vectors of length {n_components}, orders 1 to 3."
    )
    results: dict[str, Any] = {"settings": {"n_components": n_components, "n_graphs": n_graphs, "seed": seed}}
    shown: dict[str, Any] = {}
    for name, make in (("SBM", make_sbm), ("Delaunay", make_delaunay)):
        with no_progress(), console.status(f"{name}: drawing and embedding {n_graphs} graphs, and their map"):
            graphs, y = make(n_graphs, random_state=seed)
            results[name], Z = _one_set(graphs, y, n_components, seed)
            _write_map(output / f"{name.lower()}.html", name, graphs, y, n_components, seed)
        with atomic_write(output / f"{name.lower()}.npy", "wb") as file:
            write_array(file, Z)
        shown[name] = graphs, y, Z
        _tell(console, name, results[name], y)
    pictures = importlib.util.find_spec("matplotlib") is not None
    if pictures:
        from grnf.cli.demo_pictures import draw_distances, draw_neighbours

        draw_distances(output / "distances.png", {name: (Z, y) for name, (_, y, Z) in shown.items()})
        draw_neighbours(
            output / "neighbours.png",
            {name: (graphs, results[name]["neighbours"]) for name, (graphs, _, _) in shown.items()},
        )
    write_json(output / "results.json", results)
    _tell_files(console, output, pictures)


def _one_set(graphs: list[Graph], y: Any, n_components: int, seed: int) -> tuple[dict[str, Any], Any]:
    """Embed one set; return what is worth telling, and the vectors."""
    from grnf import GRNF
    from grnf.metric import pairwise_distances
    from grnf.search import GraphIndex
    from grnf.stats import two_sample_test

    grnf = GRNF(n_components, orders=ORDERS, random_state=seed)
    Z = grnf.fit_transform(graphs)
    within, between = pair_distances(pairwise_distances(Z), y)
    many = GRNF(DISTANCE_FEATURES, random_state=seed).fit(graphs)
    copy = many.distance(graphs[0], graphs[0].permuted(range(graphs[0].n_nodes)[::-1]))
    low, high = copy.interval(0.05)
    test = two_sample_test(Z[y == 0], Z[y == 1], random_state=seed)
    hits = GraphIndex(grnf).add(Z).search(Z[:1], k=N_NEIGHBORS + 1, interval=0.05)
    found = [row for row in hits.records() if row["id"] != "0"][:N_NEIGHBORS]
    results = {
        "distances": {
            "pairs of one class": {"mean": float(within.mean()), "std": float(within.std())},
            "pairs of two classes": {"mean": float(between.mean()), "std": float(between.std())},
            "permuted copy": {"value": copy.value, "low": low, "high": high},
        },
        "test": {"p_value": test.p_value, "permutations": test.permutations},
        "neighbours": [
            {"graph": int(row["id"]), **{key: float(row[key]) for key in ("distance", "low", "high")}}
            for row in found
        ],
        "accuracy": {
            "SVM on GRNF": _accuracy("svm", Z, y),
            "5 nearest neighbours on GRNF": _accuracy("knn", Z, y),
            "SVM on degrees and mean attributes (baseline)": _accuracy("svm", _baseline(graphs), y),
        },
    }
    return results, Z


def pair_distances(D: Any, y: Any) -> tuple[Any, Any]:
    """Return the distances of all pairs within the classes, and between them."""
    import numpy as np

    first, second = np.triu_indices(len(y), 1)
    same = y[first] == y[second]
    pairs = D[first, second]
    return pairs[same], pairs[~same]


def _write_map(path: Path, name: str, graphs: list[Graph], y: Any, n_components: int, seed: int) -> None:
    from grnf import GRNF
    from grnf.maps import map_graphs

    map_graphs(
        graphs,
        [CLASSES[name][label] for label in y.tolist()],
        transformer=GRNF(n_components, orders=ORDERS, random_state=seed),
        k=3,
        differences=False if n_components > 2_048 else None,
        positions="x" if name == "Delaunay" else None,
        title=f"{name}: {len(graphs)} graphs of two classes",
        random_state=seed,
    ).write(path)


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


def _tell(console: Any, name: str, result: dict[str, Any], y: Any) -> None:
    distances, test, near = result["distances"], result["test"], result["neighbours"]
    one, two = distances["pairs of one class"], distances["pairs of two classes"]
    own = sum(int(y[row["graph"]] == y[0]) for row in near)
    console.print(f"\n{name}: {CLASSES[name][0]}, or {CLASSES[name][1]}")
    console.print(
        f"  distances   pairs of one class {one['mean']:.4f} on average, of two classes {two['mean']:.4f}; "
        f"of a graph and its permuted copy {distances['permuted copy']['value']:.4f}"
    )
    console.print(
        f"  test        do the classes differ? p = {test['p_value']:.3g}, {test['permutations']} permutations"
    )
    console.print(
        f"  neighbours  of graph 0: {own} of its {len(near)} nearest are of its class; the nearest at "
        f"{near[0]['distance']:.4f} (95 % interval {near[0]['low']:.4f} to {near[0]['high']:.4f})"
    )
    for what, score in result["accuracy"].items():
        console.print(f"  accuracy    {score['mean']:.3f} +- {score['std']:.3f}  {what}")


def _tell_files(console: Any, output: Path, pictures: bool) -> None:
    console.print(f"\nWritten to {output}/")
    if pictures:
        console.print("  distances.png   pairs of two classes lie further to the right than pairs of one")
        console.print("  neighbours.png  a graph of each set and the graphs nearest to it: they look alike")
    else:
        console.print("  no pictures: matplotlib is missing; pip install 'grnf\\[plot]' brings it")
    console.print("  sbm.npy, delaunay.npy  the vectors, one row per graph; results.json  all these numbers")
    console.print("Maps, to open in a browser: point at a dot to see its graph, click to see what is near it")
    for name in ("sbm.html", "delaunay.html"):
        console.print(f"  {(output / name).resolve().as_uri()}")
