"""Random graphs of every kind, for comparisons with the definition."""

import numpy as np
from hypothesis import strategies as st

from grnf import Graph


def random_graph(generator, n, node_width=0, edge_width=0, directed=False, density=0.5):
    """A graph with self-loops and repeated edges; attributes are normal, some of them exactly 0."""
    count = round(density * n * (n + 1)) if n else 0
    edges = generator.integers(0, max(n, 1), size=(count, 2))

    def attributes(rows, width):
        values = generator.normal(size=(rows, width))
        return np.where(generator.random((rows, width)) < 0.2, 0.0, values)

    return Graph(
        n,
        edges,
        attributes(n, node_width) if node_width else None,
        attributes(count, edge_width) if edge_width else None,
        directed,
    )


@st.composite
def graphs(draw, max_nodes=7, max_width=2):
    """Hypothesis: any graph with up to `max_nodes` nodes."""
    seed = draw(st.integers(0, 2**32 - 1))
    return random_graph(
        np.random.default_rng(seed),
        draw(st.integers(0, max_nodes)),
        draw(st.integers(0, max_width)),
        draw(st.integers(0, max_width)),
        draw(st.booleans()),
        draw(st.sampled_from([0.0, 0.2, 0.6])),
    )


def cycle(n):
    return Graph(n, [(i, (i + 1) % n) for i in range(n)])


def star(n):
    return Graph(n, [(0, i) for i in range(1, n)])


def complete(n):
    return Graph(n, [(i, j) for j in range(n) for i in range(j)])


def two_triangles():
    return Graph(6, [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)])
