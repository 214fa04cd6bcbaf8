"""Trees that hang on graphs: folded without loss, however many of them are equal."""

import itertools

import numpy as np
import pytest

from grnf import Graph, GraphBatch
from grnf.symmetry import certificates, compare_graphs, node_codes, pendant_trees
from grnf.symmetry.encoded import encoded
from hard_graphs import as_graph, rook, shrikhande
from optional import require

nx = require("networkx")


def thread(n, seed, extra=0, attributes=True):
    """A thread of answers: most of them to the first node, some to others, and some edges beside."""
    random = np.random.default_rng(seed)
    answered = [0 if random.random() < 0.6 else int(random.integers(v)) for v in range(1, n)]
    edges = [*zip(answered, range(1, n), strict=True)]
    while len(edges) < n - 1 + extra:
        u, v = map(int, random.integers(n, size=2))
        edges += [(u, v)] if u < v and (u, v) not in edges else []
    kinds = random.integers(2, size=(n, 1)) if attributes else None
    return Graph(n, edges, kinds, random.integers(2, size=(len(edges), 1)) if attributes else None)


def in_other_order(graph, seed):
    return graph.permuted(np.random.default_rng(seed).permutation(graph.n_nodes))


def moved(graph):
    """The same with the last leaf on another node of another degree."""
    edges = graph.edges.copy()
    degree = np.bincount(edges.ravel(), minlength=graph.n_nodes)
    leaf = int(np.flatnonzero(degree == 1)[-1])
    edge = int(np.flatnonzero((edges == leaf).any(axis=1))[0])
    parent = int(edges[edge][edges[edge] != leaf][0])
    target = next(
        v for v in range(graph.n_nodes) if v not in (leaf, parent) and degree[v] + 1 != degree[parent]
    )
    edges[edge] = target, leaf
    return Graph(graph.n_nodes, edges, graph.node_attr, graph.edge_attr, graph.directed)


@pytest.mark.parametrize("extra", [0, 3, 40])
@pytest.mark.parametrize("attributes", [False, True])
def test_threads_are_decided(extra, attributes):
    one = thread(1500, extra, extra, attributes)
    assert certificates([one])[0].finished
    assert compare_graphs(one, in_other_order(one, 1)) == "isomorphic"
    assert compare_graphs(one, in_other_order(moved(one), 1)) == "different"


def test_every_tree_once():
    for n in range(2, 11):
        trees = [as_graph(tree) for tree in nx.nonisomorphic_trees(n)]
        found = certificates(trees)
        assert len({one.form for one in found}) == len({one.value for one in found}) == len(trees)
        assert all(one.finished for one in found)
        again = certificates([in_other_order(tree, n) for tree in trees])
        assert [one.form for one in again] == [one.form for one in found]


def test_directions_of_pendant_trees_count():
    random, seen = np.random.default_rng(0), set()
    for tree in nx.nonisomorphic_trees(6):
        edges = np.array(tree.edges)
        ways = [np.where(random.random((5, 1)) < 0.5, edges, edges[:, ::-1]) for _ in range(6)]
        found = certificates([Graph(6, way, directed=True) for way in ways])
        for i, j in itertools.combinations(range(6), 2):
            same = nx.is_isomorphic(*(nx.DiGraph(ways[place].tolist()) for place in (i, j)))
            assert found[i].compare(found[j]) == ("isomorphic" if same else "different")
            seen.add(same)
    assert seen == {True, False}


def test_pendant_trees_on_hard_graphs():
    """Where the search of the core does not end, the whole is undecided; where it does, it is decided."""
    leaves = [(v, 16 + v) for v in range(16)]
    grown = [Graph(32, [*core.edges.tolist(), *leaves]) for core in (rook(), shrikhande())]
    assert compare_graphs(*grown) == "different"
    assert compare_graphs(grown[1], in_other_order(grown[1], 0)) == "isomorphic"
    assert not any(one.finished for one in certificates(grown[1:], limit=1))


def test_codes_are_orbits_of_the_nodes():
    threads = [thread(12, seed, seed % 3, attributes=False) for seed in range(8)]
    for graph in threads + [as_graph(nx.random_regular_graph(3, 10, seed)) for seed in range(12)]:
        codes = node_codes(GraphBatch.from_graphs([graph]))
        n = graph.n_nodes
        marked = certificates([Graph(n, graph.edges, np.eye(n)[v]) for v in range(n)])
        forms = np.array([hash(one.form) for one in marked])
        assert codes.finished.all()
        assert ((codes.codes[:, None] == codes.codes) == (forms[:, None] == forms)).all()


def test_long_paths_are_folded_in_part(monkeypatch):
    monkeypatch.setattr(pendant_trees, "ROUNDS", 3)
    n = 40
    path = Graph(n, [(v, v + 1) for v in range(n - 1)])
    other = Graph(n, [*((v, v + 1) for v in range(n - 2)), (20, n - 1)])
    rest = pendant_trees.without_pendant_trees(encoded(GraphBatch.from_graphs([path])).stacked)
    assert len(rest.nodes) == n - 6
    assert compare_graphs(path, in_other_order(path, 0)) == "isomorphic"
    assert compare_graphs(path, other) == "different"


def test_what_is_left():
    """A tree leaves its middle, one node or two; of other graphs, cycles and what joins them is left."""
    batch = GraphBatch.from_graphs(
        [
            Graph(5, [(0, v) for v in range(1, 5)]),
            Graph(4, [(0, 1), (1, 2), (2, 3)]),
            Graph(4, [(0, 1), (1, 2), (2, 0), (2, 3)]),
            Graph(0, []),
            Graph(3, []),
        ]
    )
    rest = pendant_trees.without_pendant_trees(encoded(batch).stacked)
    assert np.diff(rest.rest.node_ptr).tolist() == [1, 2, 3, 0, 3]
    assert rest.clear.all()
