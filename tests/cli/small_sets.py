"""Small sets of graphs to run commands on, and the tables and files that come of it."""

import csv
from pathlib import Path

import numpy as np


def rows(table):
    """Return the rows of a CSV file, of a CSV text, or of what a command printed, as dicts."""
    text = table.read_text() if isinstance(table, Path) else getattr(table, "stdout", table)
    return list(csv.DictReader(text.splitlines()))


def names(folder):
    """Return the names of the files in a folder."""
    return sorted(path.name for path in folder.iterdir())


def write_tu(folder, n_graphs, seed=0):
    """A TU folder of random graphs without attributes, of two classes."""
    generator = np.random.default_rng(seed)
    folder.mkdir()
    arcs, owner = [], []
    for graph in range(n_graphs):
        size = int(generator.integers(2, 9))
        pairs = np.argwhere(np.triu(generator.random((size, size)) < 0.5, 1)) + len(owner) + 1
        arcs += [f"{i}, {j}\n{j}, {i}\n" for i, j in pairs.tolist()]
        owner += [f"{graph + 1}\n"] * size
    (folder / f"{folder.name}_A.txt").write_text("".join(arcs))
    (folder / f"{folder.name}_graph_indicator.txt").write_text("".join(owner))
    labels = "".join(f"{graph % 2}\n" for graph in range(n_graphs))
    (folder / f"{folder.name}_graph_labels.txt").write_text(labels)
    return folder
