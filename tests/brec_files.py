"""A small BREC: two pairs of each category, in files like the real ones."""

import numpy as np

from grnf.datasets import benchmarks
from hard_graphs import rook, shrikhande
from random_graphs import cycle, two_triangles

PAIRS = [cycle(6), two_triangles(), rook(), shrikhande()]


def install(folder, put=dict.__setitem__):
    """Write the files, and let `load_brec` expect them."""
    (folder / "brec").mkdir(parents=True, exist_ok=True)
    for name in benchmarks.BREC:
        np.save(folder / "brec" / f"{name}.npy", np.array([line(graph) for graph in PAIRS]))
        put(benchmarks.BREC, name, (2, None))


def line(graph):
    """A graph in graph6."""
    from networkx import Graph, to_graph6_bytes

    plain = Graph(graph.edges.tolist())
    return to_graph6_bytes(plain, nodes=range(graph.n_nodes), header=False).strip()
