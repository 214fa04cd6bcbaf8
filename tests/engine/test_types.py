"""Types of tuples: counted right, and summed to what the definition says."""

from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from grnf import Graph, GraphBatch
from grnf._utils.jit import compiled
from grnf.activations import ACTIVATIONS
from grnf.engine import Engine, costs, plan, schedule
from grnf.engine.schedule import Piece
from grnf.engine.statistics import VALUES_SEARCHED, neighbors
from grnf.engine.triple_types import Form
from grnf.engine.tuple_types import list_types, read
from grnf.law import ParameterLaw
from random_graphs import cycle


def labelled_graph(seed, n, labels=2, values=2, directed=False, density=0.5):
    """A graph with self-loops, few labels and few values of edges: equal nodes and twins are common."""
    generator = np.random.default_rng(seed)
    n_edges = round(density * n * (n + 1) / 2) if n else 0
    edges = generator.integers(0, max(n, 1), (n_edges, 2))
    x = np.eye(labels)[generator.integers(0, labels, n)]
    e = generator.integers(1, values + 1, (n_edges, 1)).astype(float)
    return Graph(n, edges, x, e, directed)


def counted(of, B, most, along_edges):
    """Return the types of one graph as the kernels count them: their layout, numbers and counts."""
    lists = list_types(of, np.array([of.size.sum()]), B, np.array([most]), along_edges, 0, most)
    form, n = Form(B, *lists.bits[0].tolist()), lists.ptr[1]
    shift = form.class_bits + (B - 1) * form.value_bits
    return form, lists.prefix[:n] << shift | lists.symbols[lists.last[:n]], lists.counts[:n]


@compiled
def _decoded(form, keys):
    """Return the classes and values of types."""
    B = form.slots
    classes, values = np.zeros((len(keys), B), np.int64), np.zeros((len(keys), B, B), np.int64)
    for place in range(len(keys)):
        read(form, keys[place], classes[place], values[place])
    return classes, values


def classes_of(graph, twins=True):
    engine = Engine(ACTIVATIONS["relu"], "indicator", True, True, np.float64)
    batch = GraphBatch.from_graphs([graph])
    s = engine.statistics(batch, Piece(np.arange(1), graph.directed))
    _, few, near, of = engine._classes(s, neighbors(s), twins=twins)
    return s, few, near, of


def listed_types(graph, B):
    """Count by brute force what all ordered tuples say: statistics of their nodes, values of their edges."""
    s, *_ = classes_of(graph)
    half = s.pairs.shape[1] // 2 if s.directed else 0
    value = {}
    for (i, j), row in zip(s.pair_nodes.tolist(), s.pairs, strict=True):
        value[i, j], value[j, i] = tuple(row), tuple(np.roll(row, half))
    found = {}
    for v in permutations(range(graph.n_nodes), B):
        key = tuple(tuple(s.nodes[i]) for i in v), tuple(value.get(pair) for pair in combinations(v, 2))
        found[key] = found.get(key, 0) + 1
    return found


def by_types(graph, B, along_edges=False):
    _, few, near, of = classes_of(graph, twins=not along_edges)
    form, keys, counts = counted(of, B, 10**6, along_edges)
    found = {}
    for classes, values, count in zip(*_decoded(form, keys), counts, strict=True):
        nodes = tuple(tuple(few.nodes[c]) for c in classes)
        edges = tuple(
            tuple(near.values[values[p, q] - 1]) if values[p, q] else None
            for p, q in combinations(range(B), 2)
        )
        assert (nodes, edges) not in found, "types must be merged"
        found[nodes, edges] = int(count)
    return found


@given(
    st.integers(0, 10**6),
    st.sampled_from([2, 3, 4]),
    st.integers(0, 7),
    st.booleans(),
    st.sampled_from([0.0, 0.2, 0.6, 1.5]),
)
def test_types_are_what_tuples_say(seed, B, n, directed, density):
    graph = labelled_graph(seed, n, directed=directed, density=density)
    if n < B:
        return
    expected = listed_types(graph, B)
    assert by_types(graph, B) == expected
    if B == 3:
        assert by_types(graph, B, along_edges=True) == expected


@pytest.mark.parametrize(
    "graph",
    [
        Graph(6, [(i, j) for i in range(6) for j in range(i)]),  # all are twins, and joined
        Graph(6, [(0, i) for i in range(1, 6)]),  # twins that are not joined
        Graph(6, []),
        cycle(6),
        Graph(5, [(i, i) for i in range(5)]),
    ],
    ids=["clique", "star", "edgeless", "cycle", "loops"],
)
@pytest.mark.parametrize("B", [3, 4, 5])
def test_types_of_special_graphs(graph, B):
    assert by_types(graph, B) == listed_types(graph, B)
    if B == 3:
        assert by_types(graph, B, along_edges=True) == listed_types(graph, B)


@pytest.mark.parametrize(("B", "most"), [(3, 8), (4, 64)])
def test_a_regular_graph_has_few_types_whatever_its_size(B, most):
    n = 40
    graph = Graph(n, [(i, (i + step) % n) for i in range(n) for step in (1, 2)])
    *_, of = classes_of(graph)
    _, _, counts = counted(of, B, 10**6, False)
    assert len(counts) <= most
    assert counts.sum() == np.prod(np.arange(n, n - B, -1))


def test_too_many_types_are_not_counted():
    for along_edges in (False, True):
        *_, of = classes_of(labelled_graph(0, 12), twins=not along_edges)
        assert len(counted(of, 3, 10**6, along_edges)[2]) > 60
        assert len(counted(of, 3, 60, along_edges)[2]) == 0


@pytest.fixture
def typed_everywhere(monkeypatch):
    """Count types however few channels there are; tell how many graphs were done so."""
    done, original = [], plan.Engine._by_types

    def spy(*args):
        left = original(*args)
        done.append(~left)
        return left

    monkeypatch.setattr(plan.Engine, "_by_types", spy)
    monkeypatch.setattr(costs, "COUNTING_COST", 0)
    return done


@pytest.mark.parametrize("k", [3, 4])
def test_gradients_by_types(typed_everywhere, k):
    """The derivatives by the coefficients are those of all tuples one by one."""
    batch = GraphBatch.from_graphs([labelled_graph(n, n, directed=n % 2 == 1) for n in (2, 3, 5, 6, 7)])
    draw = ParameterLaw({k: 1.0}, hidden_channels=2).sample(3, channels=4, seed=0)
    found = []
    for group in (True, False):
        engine = Engine(ACTIVATIONS["tanh"], "indicator", True, True, np.float64, group=group)
        channels = {directed: engine.channels(draw.groups, 2, directed) for directed in (False, True)}
        d = {}
        for piece in schedule.Schedule().pieces(batch):
            d_sums = np.random.default_rng(0).normal(size=(len(batch), 3))[piece.members]
            directed, gradients = engine.piece_gradients(
                batch, piece, channels.__getitem__, d_sums, of_coefficients=True
            )
            for B, c in gradients.items():
                d[directed, piece.members[0], B] = c
        found.append(d)
    assert sum(done.sum() for done in typed_everywhere) >= 5
    assert found[0].keys() == found[1].keys()
    for key, one in found[0].items():
        for a, b in zip(one, found[1][key], strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)


def test_types_and_tuples_agree_where_types_are_refused(typed_everywhere, monkeypatch):
    """A collection with both kinds of graphs: labels, and continuous attributes."""
    generator = np.random.default_rng(0)
    some = [labelled_graph(seed, 9, labels=1, values=1, density=0.2) for seed in range(4)]
    other = [Graph(9, g.edges, generator.normal(size=(9, 1)), g.edge_attr) for g in some]
    batch = GraphBatch.from_graphs([*some, *other])
    draw = ParameterLaw({3: 1.0}).sample(8, channels=3, seed=0)
    engine = Engine(ACTIVATIONS["relu"], "indicator", True, True, np.float64)
    monkeypatch.setattr(costs, "FEW_TUPLES", 0)
    monkeypatch.setattr(costs, "MOST_TYPES", 503)  # nine different nodes have 504
    found = engine.sums(batch, draw)
    done = np.concatenate(typed_everywhere)
    assert done.any()
    assert not done.all()
    np.testing.assert_allclose(found, engine._replace(group=False).sums(batch, draw), rtol=1e-10)


@given(st.integers(0, 10**6), st.integers(3, 24), st.booleans(), st.booleans(), st.floats(0, 1.5))
def test_all_ways_count_the_same_triples(seed, n, directed, twins, density):
    """The walk and the way along edges, whatever the plan would choose."""
    labels, values = (int(count) for count in np.random.default_rng(seed).integers(1, (4, 6)))
    graph = labelled_graph(seed, n, labels, values, directed, density)
    *_, of = classes_of(graph, twins)
    assume(of.value_ptr[1] <= VALUES_SEARCHED)  # of more, some values have several numbers
    ways = [
        dict(zip(*counted(of, 3, 10**9, along_edges)[1:], strict=True)) for along_edges in (False, not twins)
    ]
    assert sum(ways[0].values()) == n * (n - 1) * (n - 2)
    assert all(way == ways[0] for way in ways)
