"""Each path of the planner against the definition, on the same graphs, whatever their size."""

import numpy as np
import pytest
from test_definition import assert_engine_is_definition

from grnf import Graph, GraphBatch
from grnf.activations import ACTIVATIONS
from grnf.engine import Engine, costs, plan, schedule
from grnf.law import ParameterLaw
from random_graphs import cycle, random_graph


@pytest.fixture(params=["relu", "ramp"])
def activation(request):
    return request.param


@pytest.fixture
def sorted_everywhere(monkeypatch):
    """Send every graph through the sorted paths."""
    monkeypatch.setattr(costs, "SORTED_FROM", 0)
    used = []
    for name in ("sorted_pair_sums", "sorted_tuple_sums"):
        original = getattr(plan, name)
        monkeypatch.setattr(plan, name, lambda *args, f=original, name=name: (used.append(name), f(*args)))

    def all_by_sorting(B, n, edges, linear):
        return np.zeros(len(n)), np.full(len(n), True)

    monkeypatch.setattr(plan, "tuples_cost", all_by_sorting)
    monkeypatch.setattr(costs, "FEW_TUPLES", -1)
    monkeypatch.setattr(schedule, "SORTED_TILE", 5)
    return used


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("k", [2, 3, 4])
def test_sorted_paths(sorted_everywhere, activation, k, normalize):
    generator = np.random.default_rng(k)
    sizes, widths = (0, 1, 2, 3, 7), ((0, 0), (2, 0), (0, 1), (1, 2))
    for node_width, edge_width in widths if k < 4 else widths[-1:]:
        graphs = [
            random_graph(generator, n, node_width, edge_width, directed, density)
            for n in (sizes if k < 4 else (0, 3, 4, 5))
            for directed in (False, True)
            for density in (0.1, 0.5)
        ]
        for adjacency_channel in (True, False):
            assert_engine_is_definition(
                graphs, k, activation=activation, normalize=normalize, adjacency_channel=adjacency_channel
            )
    assert ("sorted_pair_sums" if k == 2 else "sorted_tuple_sums") in sorted_everywhere


@pytest.mark.parametrize("k", [2, 3, 4])
def test_ties_zeros_and_special_graphs_by_sorting(sorted_everywhere, activation, k):
    n = 7 if k < 4 else 5
    star = Graph(n, [(0, i) for i in range(1, n)])
    clique = Graph(n, [(i, j) for i in range(n) for j in range(i)])
    graphs = [star, clique, Graph(n, []), cycle(n)]  # equal nodes everywhere: ties in the sort
    assert_engine_is_definition(graphs, k, activation=activation, normalize=False, adjacency_channel=True)
    signs = [Graph(n, g.edges, None, (-1.0) ** np.arange(g.n_edges)) for g in graphs if g.n_edges]
    zeros = [Graph(n, g.edges, None, np.zeros(g.n_edges)) for g in graphs if g.n_edges]
    assert_engine_is_definition(
        signs + zeros, k, activation=activation, normalize=True, adjacency_channel=False
    )


def sums(graphs, orders, activation="relu", dtype=np.float64, group=True, M=6):
    batch = GraphBatch.from_graphs(graphs)
    draw = ParameterLaw(orders, hidden_channels=2).sample(M, channels=batch.node_width + 1, seed=0)
    return Engine(ACTIVATIONS[activation].code, "indicator", True, True, dtype, group).sums(batch, draw)


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


def test_triples_around_the_switch(activation, monkeypatch):
    """Sparse graphs of this size take the sorted path; the triple loop gives the same."""
    generator = np.random.default_rng(0)
    sparse = random_graph(generator, 90, 1, 0, False, 1 / 90)
    directed = random_graph(generator, 90, 1, 0, True, 1 / 90)
    found = sums([sparse, directed], {3: 1.0}, activation, M=2)
    seen, original = [], plan.tuples_cost

    def one_by_one(*args):
        cost, by_sorting = original(*args)
        seen.append(by_sorting)
        return cost, np.zeros_like(by_sorting)

    monkeypatch.setattr(plan, "tuples_cost", one_by_one)
    expected = sums([sparse, directed], {3: 1.0}, activation, M=2)
    assert all(by_sorting.all() for by_sorting in seen)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


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
