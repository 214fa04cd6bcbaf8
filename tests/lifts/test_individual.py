"""Codes of individualised nodes: the same bits under any numbering, different wherever the graphs are."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.pipeline import make_pipeline

from grnf import GRNF, Graph
from grnf.lifts import ClosedWalks, Degree, Individualize
from hard_graphs import as_graph, hard_graphs, rook, shrikhande
from optional import require
from random_graphs import cycle, two_triangles

nx = require("networkx")


def embedded(graphs, *lifts, order=1):
    grnf = GRNF(16, orders={order: 1.0}, dtype="float64", random_state=0)
    return make_pipeline(*lifts, grnf).fit_transform(graphs)


@settings(max_examples=40)
@given(graph=hard_graphs(), seed=st.integers(0, 2**32 - 1), limit=st.sampled_from([1, 10, 20_000]))
def test_copies_have_the_same_vector(graph, seed, limit):
    copy = graph.permuted(np.random.default_rng(seed).permutation(graph.n_nodes))
    Z = embedded([graph, copy], Individualize(limit=limit))
    np.testing.assert_allclose(Z[0], Z[1], rtol=0, atol=1e-13)


def test_equal_codes_are_one_channel():
    lifted = Individualize().fit_transform([cycle(6), two_triangles(), cycle(6)])
    assert lifted.node_width == 0
    values = lifted.node_codes.values.ravel()
    assert len(set(values[:6])) == len(set(values[6:12])) == 1
    assert values[0] == values[12] != values[6]
    assert len(lifted.node_codes.keys) == 2


def test_strongly_regular_graphs():
    pair = [rook(), shrikhande()]
    assert Individualize().fit(pair).finished(pair).all()
    assert not Individualize(depth=0).fit(pair).finished(pair).all()
    for lifts, order in (([Individualize()], 1), ([ClosedWalks()], 1)):
        Z = embedded(pair, *lifts, order=order)
        assert np.linalg.norm(Z[0] - Z[1]) > 1e-6
    Z = embedded(pair, Degree(), order=2)
    assert np.linalg.norm(Z[0] - Z[1]) < 1e-12


def test_categories_of_any_vocabulary():
    rings = [nx.cycle_graph(4), nx.cycle_graph(4), nx.cycle_graph(4)]
    for ring, names in zip(rings, ("CCNN", "CNCN", "NCCN"), strict=True):
        nx.set_node_attributes(ring, dict(enumerate(names)), "symbol")
    fitted = Individualize().fit(rings[:1])
    codes = fitted.transform(rings).node_codes
    rows = [sorted(codes.values[i : i + 4, -1]) for i in (0, 4, 8)]
    assert rows[0] == rows[2] != rows[1]


def test_numbers_in_place_of_channels():
    lifted = Individualize(dim=4, seed=3).fit_transform([cycle(6), two_triangles()])
    assert lifted.node_attr.shape == (12, 4)
    assert not np.array_equal(lifted.node_attr[0], lifted.node_attr[6])
    assert not np.array_equal(Individualize(dim=4).fit_transform([cycle(6)]).node_attr, lifted.node_attr[:6])


def test_bad_parameters_are_named():
    with pytest.raises(ValueError, match="Individualize: limit must be an integer >= 1"):
        Individualize(limit=0).fit([cycle(3)])


@pytest.mark.parametrize("steps", [2, 3, 5, 8])
def test_closed_walks_are_traces_of_powers(steps):
    graph = nx.gnp_random_graph(12, 0.5, seed=1)
    lifted = ClosedWalks(steps, "all").fit_transform([as_graph(graph)])
    A = nx.to_numpy_array(graph)

    def walks(nodes):
        inside = A[np.ix_(sorted(nodes), sorted(nodes))]
        return [np.trace(np.linalg.matrix_power(inside, t)) for t in range(2, steps + 1)]

    around = [set(graph[v]) for v in range(12)]
    np.testing.assert_allclose(np.expm1(lifted.node_attr), [walks(nodes) for nodes in around], rtol=1e-9)
    assert len(lifted.edges) == 66
    for (u, v), row in zip(lifted.edges, np.expm1(lifted.edge_attr[:, 1:]), strict=True):
        expected = walks(around[u] & around[v]) + walks((around[u] ^ around[v]) - {u, v})
        np.testing.assert_allclose(row, expected, rtol=1e-9)


def test_closed_walks_change_little_where_the_graph_does():
    graph = as_graph(nx.gnp_random_graph(20, 0.4, seed=0))
    near = Graph(20, graph.edges[1:])
    far = as_graph(nx.gnp_random_graph(20, 0.7, seed=1))
    Z = embedded([graph, near, far], ClosedWalks())
    assert 0 < np.linalg.norm(Z[0] - Z[1]) < 0.5 * np.linalg.norm(Z[0] - Z[2])
