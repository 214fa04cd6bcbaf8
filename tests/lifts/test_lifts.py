"""Every lift: equivariant, independent of company, any kind of graph, the scikit-learn manners."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

from grnf import GRNF, Graph, GraphBatch, GraphError
from grnf._utils.rules import rules_of
from grnf.lifts import (
    ClosedWalks,
    Degree,
    Distance,
    EdgeLift,
    Encode,
    Individualize,
    Pool,
    Propagate,
    RandomWalk,
    Resistance,
    Size,
    Standardize,
    Triangles,
    WeisfeilerLehman,
)
from grnf.lifts.base import pieces
from grnf.lifts.nodes import degrees_and_triangles
from hard_graphs import as_graph, hard_graphs, rook, shrikhande
from optional import require
from random_graphs import cycle, graphs, random_graph, two_triangles

nx = require("networkx")


class CommonNeighbors(EdgeLift):
    """An edge lift of a user, with a parameter."""

    def __init__(self, pairs="edges"):
        self.pairs = pairs

    def pair_values(self, A):
        return A @ A


LIFTS = [
    ClosedWalks(4),
    ClosedWalks(5, "all"),
    Degree(),
    Degree(log=False, direction="out"),
    Degree(direction="in"),
    Distance(),
    Distance(cutoff=2),
    Encode(),
    Individualize(dim=3, random_state=0),
    Individualize(depth=1, limit=3, dim=2, random_state=0),
    Pool("count"),
    Pool("mean"),
    Propagate(2),
    Propagate(3, "sum", direction="out"),
    Propagate(1, direction="in"),
    RandomWalk(5),
    RandomWalk(4, direction="out"),
    Resistance(),
    Resistance("all"),
    Size(),
    Standardize(),
    Standardize(indicators=True),
    Triangles(),
    WeisfeilerLehman(2, 3, random_state=0),
    CommonNeighbors(),
    CommonNeighbors("all"),
    WeisfeilerLehman(2, 3, columns="all", direction="out", random_state=0),
]
each_lift = pytest.mark.parametrize("lift", LIFTS, ids=repr)


@each_lift
@given(graph=graphs(), seed=st.integers(0, 2**32 - 1))
def test_equivariant(lift, graph, seed):
    order = np.random.default_rng(seed).permutation(graph.n_nodes)
    fitted = clone(lift).fit([graph])
    lifted_first = fitted.transform([graph])[0].permuted(order)
    permuted_first = fitted.transform([graph.permuted(order)])[0]
    np.testing.assert_allclose(permuted_first.tensor(), lifted_first.tensor(), rtol=1e-9, atol=1e-9)


def collection(node_width=2, edge_width=1):
    generator = np.random.default_rng(0)
    some = [
        random_graph(generator, n, node_width, edge_width, directed, density)
        for n in (0, 1, 2, 3, 9, 30)
        for directed in (False, True)
        for density in (0.0, 0.1, 0.5)
    ]
    generator.shuffle(some)
    return some


def assert_same(a, b, rtol=0.0):
    assert len(a) == len(b)
    for g, h in zip(a, b, strict=True):
        np.testing.assert_allclose(g.tensor(), h.tensor(), rtol=rtol, atol=rtol)


@each_lift
def test_a_graph_alone_is_lifted_as_in_company(lift):
    some = collection()
    fitted = clone(lift).fit(some)
    together = fitted.transform(some)
    assert isinstance(together, GraphBatch)
    assert_same(together, [fitted.transform([graph])[0] for graph in some])
    assert_same(clone(lift).fit_transform(some), together)


@each_lift
def test_pieces_change_nothing(lift, monkeypatch):
    some = collection()
    fitted = clone(lift).fit(some)
    whole = fitted.transform(some)
    small = lambda batch: pieces(batch, 20)  # noqa: E731
    monkeypatch.setattr("grnf.lifts.base.pieces", small)
    monkeypatch.setattr("grnf.lifts.labels.pieces", small)
    assert_same(fitted.transform(some), whole)


@each_lift
def test_old_channels_are_kept(lift):
    if isinstance(lift, Standardize):
        return
    for graph, lifted in zip(collection(), clone(lift).fit_transform(collection()), strict=True):
        if graph.n_nodes:
            np.testing.assert_array_equal(lifted.node_attr[:, :2], graph.node_attr)
        old = graph.tensor()
        if isinstance(lift, Distance) or getattr(lift, "pairs", None) == "all":
            first = lifted.node_width
            found = lifted.tensor(adjacency_channel=False)[..., first : first + 2]
            np.testing.assert_array_equal(found, old[..., 2:])
        else:
            np.testing.assert_array_equal(lifted.edges, graph.edges)
            if graph.n_edges:
                np.testing.assert_array_equal(lifted.edge_attr[:, :1], graph.edge_attr)


@each_lift
def test_scikit_learn_manners(lift):
    copy = clone(lift)
    assert repr(copy.get_params()) == repr(lift.get_params())
    with pytest.raises(NotFittedError):
        copy.transform([cycle(3)])
    assert copy.fit([cycle(3)]) is copy
    with pytest.raises(GraphError, match=r"node_attr must have 0 columns, .*, got 2"):
        copy.transform(collection())
    with pytest.raises(GraphError, match="empty"):
        copy.transform([])


@each_lift
def test_any_kind_of_graph_and_a_pipeline(lift):
    first = nx.relabel_nodes(nx.path_graph(3), {0: "a", 1: "b", 2: "c"})
    nx.set_node_attributes(first, {"a": "x", "b": "y", "c": "x"}, "kind")
    second = nx.cycle_graph(4)
    nx.set_node_attributes(second, "y", "kind")
    model = make_pipeline(clone(lift), GRNF(8, random_state=0))
    Z = model.fit_transform([first, second])
    assert Z.shape == (2, 8)
    np.testing.assert_allclose(model.transform([second]), Z[1:], rtol=1e-5, atol=1e-6)
    batch = model[0].transform([first])
    names = model[0].get_feature_names_out().tolist()
    assert len(set(names)) == len(names) == batch.node_width + batch.edge_width
    table = model.set_output(transform="pandas").transform([first, second])
    assert table.columns.tolist() == model.get_feature_names_out().tolist() == [f"grnf{i}" for i in range(8)]


@pytest.mark.parametrize("kind", sorted({type(lift) for lift in LIFTS if rules_of(type(lift))}, key=repr))
def test_wrong_parameters_are_refused_at_fit(kind):
    for name in rules_of(kind):
        with pytest.raises(ValueError, match=f"{kind.__name__}: {name} must be .*, got <object"):
            kind(**{name: object()}).fit([cycle(3)])
    assert set(rules_of(kind)) == set(kind().get_params())


def new_columns(lift, graph):
    lifted = lift.fit_transform([graph])[0]
    return lifted.node_attr[:, graph.node_width :]


@given(graph=graphs())
def test_degree_and_propagation_by_definition(graph):
    A = graph.tensor()[..., graph.node_width]
    for axis, direction in enumerate(("in", "out")):
        lift = Degree(log=False, direction=direction)
        np.testing.assert_allclose(new_columns(lift, graph)[:, 0], A.sum(axis=axis))
    both = A + A.T - np.diag(np.diag(A)) if graph.directed else A
    np.testing.assert_allclose(new_columns(Degree(), graph)[:, 0], np.log1p(both.sum(axis=1)))
    if graph.node_width:
        x = graph.node_attr
        expected = np.hstack([A @ x, A @ A @ x])
        found = new_columns(Propagate(2, "sum", direction="out"), graph)
        np.testing.assert_allclose(found, expected, atol=1e-9)
        P = both / np.maximum(both.sum(axis=1, keepdims=True), 1)
        np.testing.assert_allclose(
            new_columns(Propagate(2), graph), np.hstack([P @ x, P @ P @ x]), atol=1e-12
        )


@given(graph=graphs())
def test_random_walks_are_diagonals_of_powers(graph):
    A = graph.tensor()[..., graph.node_width]
    P = A / np.maximum(A.sum(axis=1, keepdims=True), 1)
    powers = [np.diag(np.linalg.matrix_power(P, t)) for t in range(1, 7)]
    expected = np.column_stack(powers)
    np.testing.assert_allclose(new_columns(RandomWalk(6, direction="out"), graph), expected, atol=1e-12)


def test_large_graphs_are_walked_without_a_dense_matrix(monkeypatch):
    graph = random_graph(np.random.default_rng(0), 600, density=0.01)
    lifts = RandomWalk(5), Resistance()
    dense = [lift.fit_transform([graph])[0].tensor() for lift in lifts]
    monkeypatch.setattr("grnf.lifts.base.LARGEST_DENSE", 100)
    for lift, expected in zip(lifts, dense, strict=True):
        np.testing.assert_allclose(lift.fit_transform([graph])[0].tensor(), expected, atol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_triangles_distances_and_resistances_as_in_networkx(seed):
    reference = nx.gnp_random_graph(12, 0.2, seed=seed)
    graph = Graph(12, np.array(reference.edges).reshape(-1, 2))
    triangles, clustering = new_columns(Triangles(), graph).T
    np.testing.assert_allclose(np.expm1(triangles), list(nx.triangles(reference).values()), atol=1e-12)
    np.testing.assert_allclose(clustering, list(nx.clustering(reference).values()))
    lengths = dict(nx.all_pairs_shortest_path_length(reference))
    for cutoff in (None, 2):
        lifted = Distance(cutoff).fit_transform([graph])[0]
        pairs = {tuple(edge) for edge in np.sort(lifted.edges, axis=1)}
        limit = cutoff or 99
        assert pairs == {(i, j) for i in lengths for j, d in lengths[i].items() if i < j and d <= limit}
        for (i, j), (adjacent, distance) in zip(lifted.edges, lifted.edge_attr, strict=True):
            assert adjacent == reference.has_edge(i, j)
            assert distance == lengths[i][j]
    parts = list(nx.connected_components(reference))
    lifted = Resistance("all").fit_transform([graph])[0]
    assert lifted.n_edges == sum(len(part) * (len(part) - 1) // 2 for part in parts)
    for (i, j), (_, resistance) in zip(lifted.edges, lifted.edge_attr, strict=True):
        part = next(part for part in parts if i in part)
        expected = nx.resistance_distance(reference.subgraph(part), int(i), int(j))
        assert resistance == pytest.approx(expected)


def test_size_and_pool():
    graph = Graph(3, [(0, 1), (1, 2)], [[1.0, 0.0], [1.0, -2.0], [0.0, 0.0]])
    np.testing.assert_allclose(new_columns(Size(), graph), np.log1p([[3, 2]] * 3))
    np.testing.assert_allclose(new_columns(Pool("mean"), graph), [[2 / 3, -2 / 3]] * 3)
    np.testing.assert_allclose(new_columns(Pool("count"), graph), [[np.log(3), -np.log(3)]] * 3)


def test_standardize_numbers_but_not_categories():
    x = np.column_stack([np.arange(4.0), [0, 1, 1, 0], np.full(4, 7.1)])
    lifted = Standardize().fit_transform([Graph(4, [(0, 1), (2, 3)], x, [[5.0], [9.0]])])
    np.testing.assert_allclose(lifted.node_attr[:, 0].std(), 1)
    np.testing.assert_array_equal(lifted.node_attr[:, 1], x[:, 1])
    np.testing.assert_allclose(lifted.node_attr[:, 2], 0, atol=1e-12)
    np.testing.assert_allclose(lifted.edge_attr.ravel(), [-1, 1])
    all_of_it = Standardize(indicators=True).fit_transform([Graph(4, [], x)])
    np.testing.assert_allclose(all_of_it.node_attr[:, 1], [-1, 1, 1, -1])


def label_classes(graph, depth, **settings):
    """How the codes of the last depth part the nodes, as the first node with each code."""
    lift = WeisfeilerLehman(depth, 4, **settings)
    codes = new_columns(lift, graph)[:, -4:]
    _, first, inverse = np.unique(codes, axis=0, return_index=True, return_inverse=True)
    return first[inverse.ravel()].tolist()


@given(graph=graphs(max_nodes=8, max_width=1))
def test_weisfeiler_lehman_parts_nodes_as_refinement_by_definition(graph):
    depth = 3
    arcs = {v: [] for v in range(graph.n_nodes)}
    values = graph.edge_attr if graph.edge_attr is not None else np.zeros((graph.n_edges, 0))
    for (i, j), value in zip(graph.edges.tolist(), values.tolist(), strict=True):
        arcs[i].append((j, tuple(value)))
        if i != j and not graph.directed:
            arcs[j].append((i, tuple(value)))
    x = graph.node_attr if graph.node_attr is not None else np.zeros((graph.n_nodes, 0))
    label = [tuple(row) for row in x.tolist()]
    for _ in range(depth):
        label = [
            (label[v], tuple(sorted((label[u], value) for u, value in arcs[v]))) for v in range(graph.n_nodes)
        ]
    expected = [label.index(c) for c in label]
    assert label_classes(graph, depth, columns="all", direction="out") == expected


def test_weisfeiler_lehman_labels_are_channels_of_their_own():
    path = Graph(3, [(0, 1), (1, 2)])
    lift = WeisfeilerLehman(depth=2).fit([cycle(5)])
    together, alone = lift.transform([cycle(6), two_triangles(), path]), lift.transform([path])
    assert together.node_width == 0
    labels = together.node_codes.keys[together.node_codes.values]
    assert labels.shape == (15, 3)  # one column for each depth
    assert len(np.unique(labels)) == len({(depth, key) for row in labels for depth, key in enumerate(row)})
    np.testing.assert_array_equal(labels[:6], labels[6:12])  # 1-WL does not tell them apart
    assert labels[12, 2] == labels[14, 2] != labels[13, 2]
    np.testing.assert_array_equal(labels[12:], alone.node_codes.keys[alone.node_codes.values])
    lift.set_params(dim=512, random_state=0).fit([cycle(5)])
    codes = lift.transform([path, cycle(6), two_triangles()]).node_attr
    np.testing.assert_array_equal(codes[3:9], codes[9:])
    deepest = codes[:3, -512:]  # equal or nearly orthogonal
    np.testing.assert_allclose(deepest @ deepest.T, [[1, 0, 1], [0, 1, 0], [1, 0, 1]], atol=0.2)


def test_weisfeiler_lehman_codes_are_normal():
    lift = WeisfeilerLehman(depth=0, dim=16, random_state=0)
    codes = lift.fit_transform([Graph(2000, [], np.eye(2000))]).node_attr[:, 2000:] * 4
    assert abs(codes.mean()) < 4 / np.sqrt(codes.size)
    assert abs(codes.var() - 1) < 4 * np.sqrt(2 / codes.size)
    assert abs((codes**4).mean() - 3) < 4 * np.sqrt(96 / codes.size)
    correlation = np.corrcoef(codes.T) - np.eye(16)
    assert np.abs(correlation).max() < 5 / np.sqrt(2000)


def test_numbers_do_not_label_unless_asked():
    graph = Graph(2, [(0, 1)], [[0.5, 1.0], [0.7, 1.0]])
    assert label_classes(graph, 1) == [0, 0]
    assert label_classes(graph, 1, columns="all") == [0, 1]


def test_triangles_of_large_graphs_are_counted_from_the_least_degrees(monkeypatch):
    """As the dense product gives them; and a hub of 10^5 edges takes neither its pairs in memory nor time."""
    graphs = [random_graph(np.random.default_rng(seed), 12, directed=seed % 2 == 1) for seed in range(20)]
    batch = GraphBatch.from_graphs([*graphs, Graph(0, []), Graph(5, [])])
    dense = degrees_and_triangles(batch)
    assert dense[1].sum() > 100
    monkeypatch.setattr("grnf.lifts.base.LARGEST_DENSE", 0)
    np.testing.assert_array_equal(degrees_and_triangles(batch), dense)
    n = 100_001
    hub = Graph(n, np.array([*((0, i) for i in range(1, n)), (1, 2)]))
    degree, triangles = degrees_and_triangles(GraphBatch.from_graphs([hub]))
    assert degree[:4].tolist() == [n - 1, 2, 2, 1]
    assert triangles.sum() == 3


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
    numbers = Individualize(dim=4, random_state=3).fit_transform([cycle(6), two_triangles()]).node_attr
    assert numbers.shape == (12, 4)
    assert not np.array_equal(numbers[0], numbers[6])
    other = Individualize(dim=4, random_state=0).fit_transform([cycle(6)])
    assert not np.array_equal(other.node_attr, numbers[:6])


def test_strongly_regular_graphs():
    pair = [rook(), shrikhande()]
    assert Individualize().fit(pair).finished(pair).all()
    assert not Individualize(depth=0).fit(pair).finished(pair).all()
    for lift in (Individualize(), ClosedWalks()):
        Z = embedded(pair, lift)
        assert np.linalg.norm(Z[0] - Z[1]) > 1e-6
    Z = embedded(pair, Degree(), order=2)
    assert np.linalg.norm(Z[0] - Z[1]) < 1e-12


def test_categories_of_any_vocabulary():
    rings = [nx.cycle_graph(4) for _ in range(3)]
    for ring, names in zip(rings, ("CCNN", "CNCN", "NCCN"), strict=True):
        nx.set_node_attributes(ring, dict(enumerate(names)), "symbol")
    fitted = Individualize().fit(rings[:1])
    codes = fitted.transform(rings).node_codes
    rows = [sorted(codes.values[i : i + 4, -1]) for i in (0, 4, 8)]
    assert rows[0] == rows[2] != rows[1]


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
