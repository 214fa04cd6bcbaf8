"""Every engine against the definition."""

from itertools import product

import numpy as np
import pytest

from grnf import Graph, GraphBatch
from grnf.activations import ACTIVATIONS
from grnf.engine import Engine, Schedule
from grnf.features import psi_of_graph
from grnf.law import ParameterLaw
from random_graphs import random_graph

SIZES = (0, 1, 2, 3, 7)


def assert_engine_is_definition(
    graphs, k, *, activation="relu", basis="indicator", tolerance=1e-10, **settings
):
    """Compare engine and definition on graphs of one kind; `settings` are normalize, adjacency_channel."""
    batch = GraphBatch.from_graphs(graphs)
    tensors = [graph.tensor(settings["adjacency_channel"]) for graph in graphs]
    channels = max(A.shape[2] for A in tensors)
    draw = ParameterLaw({k: 1.0}, hidden_channels=2).sample(3, channels=channels, seed=k)
    code = ACTIVATIONS[activation].code
    found, ungrouped = (
        Engine(code, basis, dtype=np.float64, group=group, **settings).sums(batch, draw)
        for group in (True, False)
    )
    assert found.shape == (len(graphs), 3)
    np.testing.assert_allclose(found, ungrouped, rtol=tolerance, atol=tolerance)
    for graph, row in zip(graphs, found, strict=True):
        expected = psi_of_graph(
            graph, draw, hidden_activation=activation, activation="identity", basis=basis, **settings
        )
        np.testing.assert_allclose(row, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("basis", ["indicator", "overlapping"])
@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_all_kinds_of_graphs(k, basis, normalize):
    generator = np.random.default_rng(k)
    for node_width, edge_width in product(range(4), range(4)):
        if k == 4 and (node_width, edge_width) not in ((0, 0), (1, 1), (3, 0), (0, 3)):
            continue  # the definition is slow at k = 4
        graphs = [
            random_graph(generator, n, node_width, edge_width, directed)
            for n in SIZES
            for directed in (False, True)
        ]
        for adjacency_channel in (True, False):
            assert_engine_is_definition(
                graphs, k, basis=basis, normalize=normalize, adjacency_channel=adjacency_channel
            )


@pytest.mark.parametrize("k", [1, 2, 3, 4])
@pytest.mark.parametrize("activation", list(ACTIVATIONS))
def test_all_activations(activation, k):
    generator = np.random.default_rng(0)
    graphs = [random_graph(generator, n, 1, 1, directed) for n in SIZES for directed in (False, True)]
    assert_engine_is_definition(graphs, k, activation=activation, normalize=True, adjacency_channel=True)


def test_order_5_on_small_graphs():
    generator = np.random.default_rng(0)
    graphs = [random_graph(generator, n, 0, 0, False, 0.3) for n in (4, 5)]
    assert_engine_is_definition(graphs, 5, activation="ramp", normalize=True, adjacency_channel=True)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_special_graphs(k):
    n = 6
    star = Graph(n, [(0, i) for i in range(1, n)])
    clique = Graph(n, [(i, j) for i in range(n) for j in range(i)])
    edgeless = Graph(n, [])
    cancelling = Graph(n, [(0, 1), (0, 1), (2, 3)])
    graphs = [star, clique, edgeless, cancelling]
    assert_engine_is_definition(graphs, k, normalize=False, adjacency_channel=True)
    weighted = [Graph(n, g.edges, None, -np.ones((g.n_edges, 1))) for g in graphs if g.n_edges]
    zero = [Graph(n, g.edges, None, np.zeros((g.n_edges, 1))) for g in graphs if g.n_edges]
    opposite = Graph(2, [(0, 1), (0, 1)], None, [[1.0], [-1.0]])
    assert_engine_is_definition([*weighted, *zero, opposite], k, normalize=True, adjacency_channel=False)


def test_float32_is_close_to_the_definition():
    generator = np.random.default_rng(0)
    batch = GraphBatch.from_graphs([random_graph(generator, 12, 2, 0, False, 0.2) for _ in range(20)])
    draw = ParameterLaw({1: 0.4, 2: 0.4, 3: 0.2}).sample(64, channels=3, seed=0)
    code = ACTIVATIONS["relu"].code
    double, single = (
        Engine(code, "indicator", True, True, dtype).sums(batch, draw) for dtype in (np.float64, np.float32)
    )
    np.testing.assert_allclose(single, double, rtol=1e-4, atol=1e-4)


def test_pieces_change_nothing(monkeypatch):
    generator = np.random.default_rng(1)
    batch = GraphBatch.from_graphs(
        [random_graph(generator, int(n), 1, 0, bool(n % 2)) for n in generator.integers(0, 12, 50)]
    )
    draw = ParameterLaw({1: 0.5, 2: 0.5}).sample(100, channels=2, seed=0)
    engine = Engine(ACTIVATIONS["relu"].code, "indicator", True, True, np.float64)
    expected = engine.sums(batch, draw)
    monkeypatch.setattr("grnf.engine.schedule.LARGEST_PIECE", 7)
    assert sorted(np.concatenate([piece.members for piece in Schedule().pieces(batch)])) == list(range(50))
    assert len(Schedule().pieces(batch)) > 6
    np.testing.assert_allclose(engine.sums(batch, draw), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("large", [20, 500, 2000])
@pytest.mark.parametrize("workers", [2, 4])
def test_the_schedule_is_fair_to_a_large_graph_among_small_ones(large, workers):
    generator = np.random.default_rng(0)
    graphs = [random_graph(generator, 20, density=0.1) for _ in range(4000)]
    graphs.insert(777, random_graph(generator, large, density=2 / large))
    batch = GraphBatch.from_graphs(graphs)
    cost = batch.sizes**2.0 + 8 * np.diff(batch.edge_ptr) + 100
    parts = Schedule(n_jobs=workers).pieces(batch)
    busy = np.zeros(workers)
    for part in parts:  # first come, first served
        busy[busy.argmin()] += cost[part.members].sum()
    assert busy.max() <= 1.1 * max(cost.sum() / workers, cost.max())
    assert len(parts) <= 6 * workers
    if large == 2000:  # it takes longer than all others together
        assert 777 in parts[0].members
