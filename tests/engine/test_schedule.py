"""How the work is cut: chunks of features that keep within the memory and cover all."""

import time
import warnings
from itertools import pairwise

import numpy as np
import pytest

from grnf import CostWarning, Graph, GraphBatch
from grnf.activations import ACTIVATIONS
from grnf.engine import Schedule, costs
from grnf.engine.costs import estimated_terms
from grnf.engine.plan import Engine
from grnf.engine.schedule import COEFFICIENT_BYTES, LONG_RUN
from grnf.engine.statistics import grouped, neighbors
from grnf.engine.tuple_types import list_types
from grnf.law import ParameterLaw
from random_graphs import complete, star

LAW = ParameterLaw({1: 2 / 3, 2: 1 / 3})
ONE = {"seed": 5, "channels": 1, "heads": 1, "n_graphs": 1}


def rows(draw):
    return [draw.feature(m).theta[0] for m in range(len(draw))]


def test_chunks_are_bounded_and_cover():
    schedule = Schedule(max_memory=8_000 * 2 * COEFFICIENT_BYTES)
    chunks = schedule.chunks(LAW, 1000, **ONE)
    draws = [LAW.sample(size, channels=1, seed=5, start=start) for start, size in chunks]
    assert len(draws) > 2
    assert max(sum(group.theta.size for group in draw.groups) for draw in draws) < 16_000
    whole = rows(LAW.sample(1000, channels=1, seed=5))
    for one, other in zip([row for draw in draws for row in rows(draw)], whole, strict=True):
        np.testing.assert_array_equal(one, other)


def test_chunks_shrink_with_what_must_be_held():
    schedule = Schedule(max_memory=2**24)
    largest = [
        max(size for _, size in schedule.chunks(LAW, 10**5, **{**ONE, **more}))
        for more in (
            {},
            {"n_graphs": 500},
            {"n_graphs": 500, "heads": 16},
            {"n_graphs": 500, "keep_hidden": True},
        )
    ]
    assert largest[0] > largest[1] > largest[2]
    assert largest[1] > largest[3] >= 64
    assert len(schedule.chunks(LAW, 1000, **ONE, at_least=4)) >= 4


# ---- estimates: terms as the plan will do them, counted on all graphs by its own means


def random_graphs(n_graphs, n, p, attributes=0, seed=0):
    generator = np.random.default_rng(seed)
    return [
        Graph(
            n,
            np.argwhere(np.triu(generator.random((n, n)) < p, 1)),
            generator.normal(size=(n, attributes)) if attributes else None,
        )
        for _ in range(n_graphs)
    ]


def regular(n, steps):
    return Graph(n, [(i, (i + step) % n) for i in range(n) for step in steps])


def sparse(n, n_edges):
    edges = np.random.default_rng(0).integers(0, n, (n_edges, 2))
    return Graph(n, edges[edges[:, 0] != edges[:, 1]])


def of_egos(n_graphs, seed=0):
    """A centre and cliques around it, as in IMDB-BINARY."""
    generator = np.random.default_rng(seed)
    graphs = []
    for _ in range(n_graphs):
        sizes = generator.integers(3, 12, 3)
        ends = np.cumsum([1, *sizes])
        edges = [(0, i) for i in range(1, ends[-1])]
        edges += [(i, j) for a, b in pairwise(ends) for i in range(a, b) for j in range(a, i)]
        graphs.append(Graph(int(ends[-1]), edges))
    return graphs


SETS = {
    "small graphs": lambda: random_graphs(300, 15, 0.2),
    "with attributes": lambda: random_graphs(30, 60, 0.1, attributes=2),
    "small and large": lambda: [*random_graphs(200, 10, 0.3), *random_graphs(3, 150, 0.1), complete(200)],
    "egos": lambda: of_egos(100),
    "cliques": lambda: [complete(n) for n in range(5, 80, 5)],
    "regular": lambda: [regular(n, (1, 3)) for n in range(20, 200, 20)],
    "stars": lambda: [star(n) for n in range(2, 400, 50)],
    "large and sparse": lambda: [sparse(600, 900)],
    "large, with attributes": lambda: [Graph(900, sparse(900, 2000).edges, np.arange(900.0)[:, np.newaxis])],
    "directed": lambda: [Graph(40, sparse(40, 90).edges, directed=True) for _ in range(10)],
    "no edges": lambda: [Graph(n, []) for n in range(50)],
}


def counted_terms(batch, B, linear):
    """Count the terms of U_B of all graphs, by the path that the plan takes for each."""
    engine = Engine(ACTIVATIONS["relu" if linear else "tanh"], "indicator", True, True, np.float64)
    total = 0.0
    for piece in Schedule().pieces(batch):
        s = engine.statistics(batch, piece)
        if B > 2:
            *_, of = engine._classes(s, neighbors(s), twins=True)
            terms = costs.falling(s.sizes.astype(float), B)
            most = np.full(len(terms), costs.MOST_TYPES)
            types = np.diff(list_types(of, s.sizes, B, most, False, 0, 10**9).ptr)
            terms = np.where(types > 0, np.minimum(terms, types), terms)
            total += terms.sum()
            continue
        classes = np.diff(grouped(s).node_ptr).astype(float)
        terms = classes**B
        if linear and B == 2:
            crossing = costs.SORTED_FROM**2 / (costs.SORTED_FROM * np.log2(costs.SORTED_FROM))
            by_sorting = crossing * classes * np.log2(np.maximum(classes, 2)) + np.diff(s.pair_ptr)
            terms = np.where(classes >= costs.SORTED_FROM, by_sorting, terms)
        total += terms.sum()
    return total


@pytest.mark.parametrize(("B", "linear"), [(1, False), (2, False), (2, True), (3, False)])
@pytest.mark.parametrize("name", SETS)
def test_estimates_follow_what_the_plan_does(name, B, linear):
    batch = GraphBatch.from_graphs(SETS[name]())
    counted = counted_terms(batch, B, linear)
    estimated = estimated_terms(batch, B, linear)
    assert counted / 5 <= estimated <= 5 * counted
    assert estimated <= estimated_terms(batch, B, linear, sampled=0) * (1 + 1e-9)


def test_no_false_alarm_where_nodes_are_alike():
    """By nodes alone these would take 20 minutes and more; they take seconds."""
    law = ParameterLaw({3: 1.0})
    many = {
        "cliques": GraphBatch.from_graphs([complete(300)] * 50),
        "stars": GraphBatch.from_graphs([star(3000)]),
    }
    for name, batch in many.items():
        orders = law.orders_of(512, seed=0)
        assert costs.estimated_seconds(batch, orders, 4, False, 0) > 2 * LONG_RUN, name
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            Schedule().warn_if_long(batch, law, 512, seed=0, linear=False)
    different = GraphBatch.from_graphs(random_graphs(50, 300, 0.02, attributes=1))
    with pytest.warns(CostWarning, match="about"):
        Schedule().warn_if_long(different, law, 512, seed=0, linear=False)


def test_an_estimate_costs_next_to_nothing():
    batch = GraphBatch.from_graphs(random_graphs(2000, 30, 0.1))
    estimated_terms(batch, 3, False)
    start = time.process_time()
    for B in (1, 2, 3):
        estimated_terms(batch, B, False)
    assert time.process_time() - start < 0.2
