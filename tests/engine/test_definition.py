"""Every path of the engine against the definition, and against the authors' own code."""

from itertools import product
from pathlib import Path

import numpy as np
import pytest

from grnf import Graph, GraphBatch
from grnf.activations import ACTIVATIONS, get_activation
from grnf.basis import bell
from grnf.basis.partitions import positions
from grnf.engine import Engine, Schedule, costs, plan, schedule
from grnf.features import psi_of_graph
from grnf.law import ParameterLaw
from grnf.law.parameters import Draw, OrderDraw, n_parameters
from random_graphs import cycle, random_graph

SIZES = (0, 1, 2, 3, 7)


def assert_engine_is_definition(
    graphs, k, *, activation="relu", basis="indicator", tolerance=1e-10, **settings
):
    """Compare engine and definition on graphs of one kind; `settings` are normalize, adjacency_channel."""
    batch = GraphBatch.from_graphs(graphs)
    tensors = [graph.tensor(settings["adjacency_channel"]) for graph in graphs]
    channels = max(A.shape[2] for A in tensors)
    draw = ParameterLaw({k: 1.0}, hidden_channels=2).sample(3, channels=channels, seed=k)
    found, ungrouped = (
        Engine(get_activation(activation), basis, dtype=np.float64, group=group, **settings).sums(batch, draw)
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


def test_pieces_change_nothing(monkeypatch):
    generator = np.random.default_rng(1)
    batch = GraphBatch.from_graphs(
        [random_graph(generator, int(n), 1, 0, bool(n % 2)) for n in generator.integers(0, 12, 50)]
    )
    draw = ParameterLaw({1: 0.5, 2: 0.5}).sample(100, channels=2, seed=0)
    engine = Engine(ACTIVATIONS["relu"], "indicator", True, True, np.float64)
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


@pytest.fixture(params=["relu", "ramp"])
def activation(request):
    return request.param


@pytest.fixture
def sorted_everywhere(monkeypatch):
    """Send every graph through the sorted path."""
    monkeypatch.setattr(costs, "SORTED_FROM", 0)
    monkeypatch.setattr(schedule, "SORTED_TILE", 5)
    used, original = [], plan.sorted_pair_sums
    monkeypatch.setattr(plan, "sorted_pair_sums", lambda *args: (used.append(args), original(*args)))
    yield
    assert used


@pytest.mark.slow
@pytest.mark.usefixtures("sorted_everywhere")
@pytest.mark.parametrize("normalize", [False, True])
def test_sorted_pairs(activation, normalize):
    generator = np.random.default_rng(2)
    for node_width, edge_width in ((0, 0), (2, 0), (0, 1), (1, 2)):
        graphs = [
            random_graph(generator, n, node_width, edge_width, directed, density)
            for n in SIZES
            for directed in (False, True)
            for density in (0.1, 0.5)
        ]
        for adjacency_channel in (True, False):
            assert_engine_is_definition(
                graphs, 2, activation=activation, normalize=normalize, adjacency_channel=adjacency_channel
            )


@pytest.mark.usefixtures("sorted_everywhere")
def test_ties_zeros_and_special_graphs_by_sorting(activation):
    n = 7
    star = Graph(n, [(0, i) for i in range(1, n)])
    clique = Graph(n, [(i, j) for i in range(n) for j in range(i)])
    graphs = [star, clique, Graph(n, []), cycle(n)]  # equal nodes everywhere: ties in the sort
    assert_engine_is_definition(graphs, 2, activation=activation, normalize=False, adjacency_channel=True)
    signs = [Graph(n, g.edges, None, (-1.0) ** np.arange(g.n_edges)) for g in graphs if g.n_edges]
    zeros = [Graph(n, g.edges, None, np.zeros(g.n_edges)) for g in graphs if g.n_edges]
    assert_engine_is_definition(
        signs + zeros, 2, activation=activation, normalize=True, adjacency_channel=False
    )


def sums(graphs, orders, activation="relu", dtype=np.float64, group=True, M=6):
    batch = GraphBatch.from_graphs(graphs)
    draw = ParameterLaw(orders, hidden_channels=2).sample(M, channels=batch.node_width + 1, seed=0)
    return Engine(ACTIVATIONS[activation], "indicator", True, True, dtype, group).sums(batch, draw)


@pytest.mark.parametrize("attributes", [0, 2])
def test_around_the_switch_to_sorting(activation, attributes, monkeypatch):
    """The loop over pairs and the sort give the same just below and just above the switch, and far above."""
    generator = np.random.default_rng(0)
    graphs = [
        random_graph(generator, n, attributes, 0, n % 2 == 0, 3 / n)
        for n in (costs.SORTED_FROM - 1, costs.SORTED_FROM, costs.SORTED_FROM + 1, 700)
    ]
    found = [sums(graphs, {2: 1.0}, activation, group=group) for group in (True, False)]
    monkeypatch.setattr(costs, "SORTED_FROM", 10**9)
    found += [sums(graphs, {2: 1.0}, activation, group=group) for group in (True, False)]
    for other in found[1:]:
        np.testing.assert_allclose(other, found[0], rtol=1e-10, atol=1e-12)


def test_a_hundred_thousand_isolated_nodes():
    n = 100_000
    lonely, attributed = Graph(n, [], np.zeros((n, 1))), Graph(n, [], np.linspace(-1, 1, n))
    found = sums([lonely, attributed], {1: 0.5, 2: 0.5})
    assert np.isfinite(found).all()
    ungrouped = sums([lonely, attributed], {1: 0.5, 2: 0.5}, group=False)
    np.testing.assert_allclose(found, ungrouped, rtol=1e-10, atol=1e-12)
    # means of one function over finer and finer grids: close to those of a coarse one
    few = [Graph(1000, [], np.zeros((1000, 1))), Graph(1000, [], np.linspace(-1, 1, 1000))]
    np.testing.assert_allclose(found, sums(few, {1: 0.5, 2: 0.5}), rtol=0.02, atol=0.02)


@pytest.mark.parametrize("orders", [{1: 1.0}, {2: 1.0}, {3: 1.0}])
def test_single_precision_on_larger_graphs(orders):
    generator = np.random.default_rng(3)
    graphs = [random_graph(generator, n, 3, 0, False, 2 / n) for n in (30, 80, 250)]
    double, single = (sums(graphs, orders, dtype=dtype, M=4) for dtype in (np.float64, np.float32))
    np.testing.assert_allclose(single, double, rtol=1e-4, atol=1e-4)


GOLDEN = Path(__file__).parents[1] / "data" / "authors_v0.2.0.npz"
"""Outputs of the authors' features with their weights: ReLU, before rho_i, not normalised, undirected graphs.

Keys: graph{i}_edges, graph{i}_num_nodes, graph{i}_x (attributes, for the cases Fn3 only); for Fn in {0, 3}
and k in {1, 2}: Fn{Fn}_k{k}_kernel_equiv (M, Bell(k + 2), F_h, F), _bias_equiv (1, M, Bell(k), F_h),
_kernel_inv (M, Bell(k), 1, F_h), _bias_inv (1, M, 1), _psi (graphs, M). Channels: node attributes, then the
adjacency.
"""

# The authors' operations in their order, as partitions of (output indices, node axes of A).
OPERATIONS = {
    1: ["000", "011", "001", "010", "012"],
    2: [
        *("0000", "0011", "0001", "0010", "0012"),  # on the diagonal: diagonal, trace, rows, columns, total
        *("0120", "0102", "0121", "0112"),  # along rows: columns, rows; along columns: columns, rows
        *("0101", "0110", "0100", "0111"),  # A, A transposed, diagonal along rows, along columns
        *("0122", "0123"),  # trace everywhere, total everywhere
    ],
}


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("node_width", [0, 3])
def test_authors_features(node_width, k):
    golden = np.load(GOLDEN)
    case = f"Fn{node_width}_k{k}"
    graphs = [
        Graph(
            int(golden[f"graph{i}_num_nodes"]),
            golden[f"graph{i}_edges"],
            golden[f"graph{i}_x"] if node_width else None,
        )
        for i in range(8)
    ]
    kernel = golden[f"{case}_kernel_equiv"]
    M, _, hidden, channels = kernel.shape
    ours = np.empty_like(kernel)
    for theirs, word in enumerate(OPERATIONS[k]):
        ours[:, positions(k + 2)[tuple(map(int, word))]] = kernel[:, theirs]
    parts = [
        ours,
        golden[f"{case}_bias_equiv"][0],
        golden[f"{case}_kernel_inv"][:, :, 0],
        golden[f"{case}_bias_inv"][0],
    ]
    theta = np.hstack([part.reshape(M, -1) for part in parts])
    assert theta.shape[1] == n_parameters(k, channels, hidden)
    assert len(OPERATIONS[k]) == bell(k + 2)
    draw = Draw(0, np.full(M, k), (OrderDraw(k, np.arange(M), theta, channels, hidden),))
    engine = Engine(ACTIVATIONS["relu"], "overlapping", False, True, np.float64)
    found = engine.sums(GraphBatch.from_graphs(graphs), draw)
    np.testing.assert_allclose(found, golden[f"{case}_psi"], rtol=1e-9)
