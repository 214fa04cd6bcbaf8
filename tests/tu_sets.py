"""Small sets in the shapes of the real TU sets, with folds, for tests that need no more of them than that."""

import hashlib
import json
import zipfile
from dataclasses import dataclass

import numpy as np

from grnf.datasets import benchmarks
from grnf.io import read_tu


@dataclass(frozen=True)
class Shape:
    """How the files of a set look; classes differ in how many nodes are joined."""

    classes: tuple
    node_labels: int = 0
    first_label: int = 0
    attributes: int = 0
    edge_labels: int = 0
    times: int = 1  # that every arc is listed
    loops: bool = False
    empty: bool = False  # whether some graphs have no nodes
    slashes: str = "//"


SHAPES = {
    "MUTAG": Shape((1, -1), node_labels=7, edge_labels=4),
    "PTC_MR": Shape((1, -1), node_labels=18, edge_labels=4),
    "NCI1": Shape((0, 1), node_labels=37, first_label=1),
    "ENZYMES": Shape((6, 5, 4, 3, 2, 1), node_labels=3, first_label=1, attributes=18),
    "PROTEINS_full": Shape((1, 2), node_labels=3, attributes=29),
    "IMDB-BINARY": Shape((0, 1), times=2),
    "IMDB-MULTI": Shape((1, 2, 3), times=2),
    "COLLAB": Shape((1, 2, 3), loops=True, slashes="/"),
    "Fingerprint": Shape((0, 1, 2, 3), attributes=2, empty=True),
}


def write_set(folder, name, n_graphs=24, seed=0):
    """Write NAME.zip in the shape of that set and return its path."""
    shape, generator = SHAPES[name], np.random.default_rng(seed)
    lines = {part: [] for part in ("A", "graph_indicator", "graph_labels", "node_labels", "node_attributes")}
    lines["edge_labels"] = []
    for graph in range(n_graphs):
        kind = graph % len(shape.classes)
        lines["graph_labels"].append(str(shape.classes[kind]))
        if shape.empty and graph % 5 == 2:
            continue
        first = len(lines["graph_indicator"]) + 1
        n = int(generator.integers(2, 10))
        density = (kind + 1) / (len(shape.classes) + 1)
        lines["graph_indicator"] += [str(graph + 1)] * n
        lines["node_labels"] += (
            generator.integers(0, shape.node_labels or 1, n) + shape.first_label
        ).tolist()
        values = generator.normal(kind, 1, (n, shape.attributes))
        lines["node_attributes"] += [",".join(f"{value:10.6f}" for value in row) for row in values]
        joined = np.triu(generator.random((n, n)) < density, 0 if shape.loops else 1)
        joined[0, 1] = True
        pairs = np.argwhere(joined) + first
        for i, j in pairs.tolist():
            arcs = [f"{i}, {j}"] if i == j else [f"{j}, {i}", f"{i}, {j}"]
            lines["A"] += arcs * shape.times
            label = int(generator.integers(0, shape.edge_labels or 1))
            lines["edge_labels"] += [label] * len(arcs) * shape.times
    left_out = {
        "node_labels": shape.node_labels,
        "node_attributes": shape.attributes,
        "edge_labels": shape.edge_labels,
    }
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(folder / f"{name}.zip", "w") as archive:
        for part, text in lines.items():
            if left_out.get(part, 1):
                member = f"{name}{shape.slashes}{name}_{part}.txt"
                archive.writestr(member, "".join(f"{line}\n" for line in text))
        archive.writestr(f"{name}{shape.slashes}README.txt", "A set of no meaning.\n")
    return folder / f"{name}.zip"


def write_folds(folder, kind, name, n_graphs, seed=0):
    """Write ten folds of a dataset, and return their checksum."""
    parts = np.array_split(np.random.default_rng(seed).permutation(n_graphs), 10)
    content = []
    for number in range(10):
        others = np.delete(np.arange(10), [number, number - 1])
        train = np.concatenate([parts[other] for other in others]).tolist()
        inner = {"train": train, "validation": parts[number - 1].tolist()}
        content.append({"test": parts[number].tolist(), "model_selection": [inner]})
    path = folder / "splits" / kind / f"{name}_splits.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))
    compact = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(compact.encode()).hexdigest()


def install(folder, *names, n_graphs=60, put=dict.__setitem__):
    """Write sets and folds into a folder, and make the library take them for the real ones of their names."""
    for name in names:
        dataset = read_tu(write_set(folder / "tu", name, n_graphs))
        put(benchmarks.TU_CHECKSUMS, name, benchmarks.checksum(dataset.graphs, dataset.y))
        put(benchmarks.SIZES, name, n_graphs)
        for seed, (kind, known) in enumerate(benchmarks.FOLDS.items()):
            if name in known:
                put(known, name, write_folds(folder, kind, name, n_graphs, seed))
