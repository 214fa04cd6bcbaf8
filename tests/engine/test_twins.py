"""Twins: which nodes are grouped, and that sums over triples do not notice."""

import numpy as np
import pytest
from test_definition import assert_engine_is_definition

from grnf import Graph, GraphBatch
from grnf.activations import ACTIVATIONS
from grnf.engine import Engine, Piece
from grnf.engine.statistics import neighbors
from grnf.engine.twins import twins
from grnf.law import ParameterLaw
from random_graphs import cycle


def classes_of(graph):
    batch = GraphBatch.from_graphs([graph])
    piece = Piece(np.array([0]), graph.directed)
    s = Engine(ACTIVATIONS["relu"], "indicator", True, True, np.float64).statistics(batch, piece)
    return sorted(twins(s, neighbors(s)).node_weight.astype(int).tolist())


def clique(n, start=0):
    return [(start + i, start + j) for j in range(n) for i in range(j)]


STAR = Graph(6, [(0, i) for i in range(1, 6)])
CLIQUES = Graph(7, clique(4) + clique(4, 3))  # two cliques that share a node, as in an ego network
BIPARTITE = Graph(7, [(i, j) for i in range(3) for j in range(3, 7)])
OUT_STAR = Graph(5, [(0, i) for i in range(1, 5)], directed=True)
ARC_BETWEEN = Graph(3, [(0, 1), (0, 2), (1, 2)], directed=True)
BOTH_WAYS = Graph(4, [(i, j) for i in range(4) for j in range(4) if i != j], directed=True)
WEIGHTED = Graph(4, clique(4), None, [[1.0], [2.0], [2.0], [2.0], [2.0], [1.0]])
LOOPS = Graph(4, [*clique(4), (0, 0), (1, 1)])


@pytest.mark.parametrize(
    ("graph", "expected"),
    [
        (Graph(5, clique(5)), [5]),
        (Graph(4, []), [4]),
        (STAR, [1, 5]),
        (CLIQUES, [1, 3, 3]),
        (BIPARTITE, [3, 4]),
        (cycle(4), [2, 2]),
        (cycle(6), [1] * 6),  # equal statistics, but no twins
        (OUT_STAR, [1, 4]),
        (ARC_BETWEEN, [1, 1, 1]),
        (BOTH_WAYS, [4]),
        (WEIGHTED, [2, 2]),
        (LOOPS, [2, 2]),
        (Graph(3, clique(3), [[0.0], [1.0], [1.0]]), [1, 2]),
        (Graph(0, []), []),
    ],
)
def test_classes(graph, expected):
    assert classes_of(graph) == expected


@pytest.mark.parametrize("activation", ["relu", "ramp", "tanh"])
@pytest.mark.parametrize("normalize", [False, True])
def test_sums_over_triples_are_the_definition(activation, normalize):
    plain = [Graph(5, clique(5)), Graph(4, []), STAR, CLIQUES, BIPARTITE, cycle(4), cycle(6), OUT_STAR]
    plain += [ARC_BETWEEN, BOTH_WAYS, LOOPS, Graph(2, [(0, 1)]), Graph(1, []), Graph(0, [])]
    settings = {"activation": activation, "normalize": normalize, "adjacency_channel": True}
    assert_engine_is_definition(plain, 3, **settings)
    assert_engine_is_definition([WEIGHTED], 3, **settings)


def test_grouped_and_node_by_node_agree_on_random_unions_of_cliques():
    generator = np.random.default_rng(0)
    graphs = []
    for _ in range(20):
        members = generator.random((5, 24)) < 0.3  # nodes of five cliques that overlap
        pairs = [(i, j) for c in members for j in np.flatnonzero(c) for i in np.flatnonzero(c) if i < j]
        graphs.append(Graph(24, sorted(set(pairs)), generator.integers(0, 2, (24, 1)).astype(float)))
    batch = GraphBatch.from_graphs(graphs)
    draw = ParameterLaw({3: 1.0}, hidden_channels=2).sample(8, channels=2, seed=1)
    grouped, single = (
        Engine(ACTIVATIONS["relu"], "indicator", True, True, np.float64, group).sums(batch, draw)
        for group in (True, False)
    )
    np.testing.assert_allclose(grouped, single, rtol=1e-12, atol=1e-12)
