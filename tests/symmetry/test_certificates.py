"""Isomorphic, different or undecided: right wherever it is certain, the same under any numbering."""

import collections
import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grnf import Graph, GraphBatch
from grnf.datasets import all_graphs, load_brec
from grnf.symmetry import certificate, certificates, compare_graphs, encoded, node_codes, pendant_trees
from hard_graphs import as_graph, hard_graphs, rook, shrikhande
from optional import require
from random_graphs import cycle, graphs, two_triangles

nx = require("networkx")


def answer(one, other):
    """Compare two tensors by networkx."""
    found = []
    for graph in (one, other):
        A = graph.tensor() + 0.0  # no -0.0
        plain = nx.DiGraph()
        plain.add_nodes_from((i, {"at": tuple(A[i, i])}) for i in range(len(A)))
        pairs = itertools.permutations(range(len(A)), 2)
        plain.add_edges_from((i, j, {"at": tuple(A[i, j])}) for i, j in pairs if A[i, j].any())
        found.append(plain)

    def match(a, b):
        return a["at"] == b["at"]

    same = nx.is_isomorphic(*found, node_match=match, edge_match=match)
    return "isomorphic" if same else "different"


def small_graph(generator, widths):
    """A graph of few nodes and values, so that isomorphic ones are met."""
    n = int(generator.integers(0, 6))
    m = int(generator.integers(0, 2 * n + 1))
    return Graph(
        n,
        generator.integers(0, max(n, 1), (m, 2)),
        generator.choice([-0.0, 0.0, 1.0], (n, widths[0])),
        generator.choice([-1.0, 0.0, 1.0], (m, widths[1])),
        directed=bool(generator.integers(2)),
    )


def changed(graph, generator):
    """The same in another order, often with one end of one edge moved."""
    copy = graph.permuted(generator.permutation(graph.n_nodes))
    if not copy.n_edges or generator.random() < 0.4:
        return copy
    edges = copy.edges.copy()
    edges[generator.integers(len(edges)), generator.integers(2)] = generator.integers(copy.n_nodes)
    return Graph(copy.n_nodes, edges, copy.node_attr, copy.edge_attr, copy.directed)


@pytest.mark.slow
def test_the_answer_of_networkx_on_thousands_of_small_graphs():
    generator = np.random.default_rng(0)
    seen = collections.Counter()
    for _ in range(2500):
        one = small_graph(generator, generator.integers(0, 2, 2))
        near = generator.random() < 0.7
        other = changed(one, generator) if near else small_graph(generator, (one.node_width, one.edge_width))
        found = compare_graphs(one, other)
        assert found == answer(one, other)
        seen[found] += 1
    assert min(seen["isomorphic"], seen["different"]) > 500


def test_every_small_graph_once():
    atlas = [as_graph(graph) for graph in nx.graph_atlas_g()]
    found = certificates(atlas)
    assert all(one.finished for one in found)
    assert len({one.form for one in found}) == len({one.value for one in found}) == len(atlas) == 1253
    ours = [graph for n in range(7) for graph in all_graphs(n)]
    assert {one.form for one in certificates(ours)} == {one.form for one in found[: len(ours)]}
    assert [len(all_graphs(n, connected=True)) for n in range(7)] == [0, 1, 1, 2, 6, 21, 112]


def test_what_is_the_same_graph():
    both_ways = Graph(2, [(0, 1), (1, 0)], directed=True)
    assert compare_graphs(both_ways, Graph(2, [(0, 1)])) == "isomorphic"
    assert compare_graphs(Graph(2, [(0, 1)], directed=True), Graph(2, [(0, 1)])) == "different"
    assert compare_graphs(Graph(2, [(0, 1), (1, 0)]), Graph(2, [(0, 1)])) == "different"
    assert compare_graphs(Graph(2, [(0, 1), (0, 0)]), Graph(2, [(0, 1), (1, 1)])) == "isomorphic"
    assert compare_graphs(Graph(2, [(0, 1), (0, 0)]), Graph(2, [(0, 1)])) == "different"
    parallel = [Graph(2, [(0, 1)] * 3, edge_attr=values) for values in ([0.1, 0.2, 0.3], [0.3, 0.1, 0.2])]
    assert compare_graphs(*parallel) == "isomorphic"
    assert compare_graphs(Graph(1, [], [[0.0]]), Graph(1, [], [[-0.0]])) == "isomorphic"
    assert compare_graphs(cycle(6), two_triangles()) == "different"
    assert compare_graphs(Graph(0, []), Graph(0, [])) == "isomorphic"


def test_a_certificate_does_not_depend_on_company_or_doors():
    one = Graph(3, [(0, 1), (1, 2)], [[1.0], [0.0], [0.0]])
    alone, beside = certificates([one])[0], certificates([Graph(1, [], [[7.0]]), one])[1]
    assert (alone.value, alone.form) == (beside.value, beside.form)
    named = replace(GraphBatch.from_graphs([one]), node_keys=np.array([5], np.uint64))
    assert certificates(named)[0].compare(alone) == "different"  # another channel


@given(graph=graphs(max_nodes=9), seed=st.integers(0, 2**32 - 1))
def test_any_graph_under_any_numbering(graph, seed):
    order = np.random.default_rng(seed).permutation(graph.n_nodes)
    assert compare_graphs(graph, graph.permuted(order)) == "isomorphic"


@settings(max_examples=150)
@given(
    graph=hard_graphs(),
    seed=st.integers(0, 2**32 - 1),
    depth=st.sampled_from([None, 0, 1, 2]),
    limit=st.sampled_from([1, 5, 30, 200, 20_000]),
    budget=st.sampled_from([0, 100, 10**9]),
)
def test_limits_do_not_depend_on_numbering(graph, seed, depth, limit, budget):
    order = np.random.default_rng(seed).permutation(graph.n_nodes)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(certificate, "BUDGET", budget)
        one, other = certificates([graph, graph.permuted(order)], depth=depth, limit=limit)
        found = node_codes(GraphBatch.from_graphs([graph, graph.permuted(order)]), depth=depth, limit=limit)
    assert (one.value, one.finished) == (other.value, other.finished)
    assert one.compare(other) == "isomorphic" if one.finished else one.compare(other) != "different"
    codes = found.codes.reshape(2, -1)
    assert (codes[0][order] == codes[1]).all()
    assert found.finished[0] == found.finished[1]


def test_a_limit_that_bites_leaves_a_pair_undecided():
    pair = [rook(), shrikhande()]
    both = certificates([*pair, pair[0].permuted(np.arange(16)[::-1])])
    assert both[0].compare(both[1]) == "different"
    assert both[0].compare(both[2]) == "isomorphic"
    orders = [np.random.default_rng(seed).permutation(16) for seed in range(10)]
    cut = certificates([pair[1].permuted(order) for order in orders], limit=1)  # its leaves are not all equal
    assert not any(one.finished for one in cut)
    assert {cut[0].compare(other) for other in cut} == {"isomorphic", "undecided"}
    for swapped in (False, True):  # a tree for both at once would be a product of trees
        assert compare_graphs(join(*pair, swapped), join(*pair, False)) == "isomorphic"
        assert compare_graphs(join(pair[0], pair[0], swapped), join(*pair, False)) == "different"


def test_large_graphs_end():
    n = 100_000
    path = Graph(n, np.column_stack([np.arange(n - 1), np.arange(1, n)]))  # n / 2 rounds of one node each
    assert certificates([path])[0].finished
    edges = np.random.default_rng(0).integers(20_000, size=(20_000, 2))  # thousands of equal pendant trees
    sparse = Graph(20_000, np.unique(np.sort(edges[edges[:, 0] != edges[:, 1]], axis=1), axis=0))
    order = np.random.default_rng(1).permutation(20_000)
    one, other = certificates([sparse, sparse.permuted(order)])
    assert one.finished
    assert one.compare(other) == "isomorphic"


def join(one, other, swapped):
    first, second = (other, one) if swapped else (one, other)
    edges = np.concatenate([first.edges, second.edges + first.n_nodes])
    return Graph(first.n_nodes + second.n_nodes, edges)


def test_collisions_of_hashes_never_make_a_wrong_answer(monkeypatch):
    generator = np.random.default_rng(1)
    for module in (encoded, pendant_trees):
        monkeypatch.setattr(module, "mix", lambda x: x % np.uint64(5))
    seen = collections.Counter()
    for _ in range(300):
        one = small_graph(generator, (1, 1))
        found = compare_graphs(one, other := changed(one, generator))
        assert found in (answer(one, other), "undecided")
        seen[found] += 1
    assert seen["undecided"] > 20


def test_stars_and_complete_graphs_take_no_time():
    for graph in (nx.star_graph(300), nx.complete_graph(100), nx.empty_graph(300), nx.hypercube_graph(6)):
        one = as_graph(graph)
        two = one.permuted(np.random.default_rng(0).permutation(one.n_nodes))
        assert compare_graphs(one, two) == "isomorphic"


@pytest.mark.slow
def test_all_pairs_of_brec(shared):
    generator = np.random.default_rng(0)
    for name, pairs in load_brec(data=shared / "data").items():
        if name == "4vtx":
            pairs = pairs[:3]  # the slow ones
        for one, other in pairs:
            found = certificates([one, other, one.permuted(generator.permutation(one.n_nodes))])
            assert found[0].compare(found[1]) == "different"
            assert found[0].compare(found[2]) == "isomorphic"
