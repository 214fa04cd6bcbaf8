from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from grnf import Graph, GraphBatch
from grnf.collection import fit_encode
from grnf.estimators.histograms import COARSE_DEPTHS, Counts, WLLabels, structure_free
from grnf.io import RawGraph
from grnf.io.encode import AttributeEncoder
from optional import require

nx = require("networkx")


def labelled(seed, n_graphs=8, numbers=False):
    """Random networkx graphs with letters on nodes and edges, and small whole numbers if wanted."""
    generator = np.random.default_rng(seed)
    graphs = []
    for _ in range(n_graphs):
        graph = nx.gnp_random_graph(int(generator.integers(0, 9)), 0.4, seed=int(generator.integers(1000)))
        for node in graph:
            graph.nodes[node]["kind"] = "abc"[generator.integers(3)]
            if numbers:
                graph.nodes[node]["charge"] = float(generator.integers(3))
        for edge in graph.edges:
            graph.edges[edge]["bond"] = "xy"[generator.integers(2)]
        graphs.append(graph)
    return graphs


def encoded(graphs):
    return fit_encode(graphs, AttributeEncoder(handle_unknown="open"))[1].batch


def label_counts(graph, depth, columns=("kind",)):
    """Colours written out as nested tuples: the oracle."""
    colours = {v: tuple(graph.nodes[v][name] for name in columns) for v in graph}
    found = Counter((0, colour) for colour in colours.values())
    for level in range(1, depth + 1):
        colours = {
            v: (colours[v], tuple(sorted((graph.edges[v, u]["bond"], colours[u]) for u in graph[v])))
            for v in graph
        }
        found.update((level, colour) for colour in colours.values())
    return found


def intersection(first, second):
    return sum((first & second).values()) + 1  # the key that every graph has


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000), st.booleans())
def test_kernels_are_intersections_of_histograms_of_labels(seed, numbers):
    graphs = labelled(seed, numbers=numbers)
    if not any(len(graph) for graph in graphs) or not any(graph.size() for graph in graphs):
        return
    batch = encoded(graphs)
    sets = WLLabels().fit(batch).sets(batch)
    depths = [(depth, ("kind",)) for depth in COARSE_DEPTHS] + ([(2, ("kind", "charge"))] if numbers else [])
    assert len(sets.columns) == len(depths)
    own, others = sets.kernels(sets), sets.take(np.arange(3)).compacted().kernels(sets)
    for number, (depth, columns) in enumerate(depths):
        counted = [label_counts(graph, depth, columns) for graph in graphs]
        K = np.array([[intersection(a, b) for b in counted] for a in counted], dtype=float)
        K /= np.sqrt(np.diag(K))[:, np.newaxis] * np.sqrt(np.diag(K))
        np.testing.assert_allclose(own[number], K, rtol=1e-5)
        np.testing.assert_allclose(others[number], K[:, :3], rtol=1e-5)


def test_numbering_and_company_change_nothing():
    graphs = labelled(3)
    turned = [nx.relabel_nodes(g, {v: len(g) - 1 - v for v in g}) for g in graphs]
    sets = WLLabels().fit(encoded(graphs)).sets
    first, second, alone = (sets(encoded(some)) for some in (graphs, turned, graphs[5:]))
    for one, rows in ((second, np.arange(8)), (alone, np.arange(5, 8))):
        own = first.take(rows).compacted()
        np.testing.assert_array_equal(one.vocabulary, own.vocabulary)
        for found, expected in zip(one.columns, own.columns, strict=True):
            np.testing.assert_array_equal(found.toarray(), expected.toarray())


def test_degrees_where_there_is_nothing_else():
    batch = GraphBatch.from_graphs(
        [Graph(3, [(0, 1), (1, 2)]), Graph(3, [(0, 1), (1, 2), (0, 2)]), Graph(0, []), Graph(0, [])]
    )
    sets = WLLabels().fit(batch).sets(batch)
    K = sets.kernels(sets)[0]
    assert K[0, 1] < 0.5
    np.testing.assert_allclose(np.diag(K), 1)
    assert K[2, 3] == 1  # graphs without nodes are alike
    assert K[0, 2] < 0.5


def test_sketch_products_are_the_kernel_on_average():
    graphs = labelled(5, n_graphs=80)
    batch = encoded(graphs)
    labels = WLLabels(256).fit(batch)
    sets, Z = labels.sets(batch), labels.transform(batch).astype(float)
    errors = (Z @ Z.T - sets.kernels(sets)[1])[np.triu_indices(80, 1)]
    assert abs(errors.mean()) < 0.01
    assert errors.std() < 1.5 / 16  # about one over the root of the width


def test_counts():
    graphs = labelled(7, numbers=True)
    counts = Counts().fit(encoded(graphs))
    rows = counts.transform(encoded(graphs))
    assert rows.shape == (len(graphs), 2 + 25 + 3 + 2 + 3)  # sizes, degrees, kinds, bonds, one number
    np.testing.assert_allclose(np.expm1(rows[:, 0]), [len(g) for g in graphs], rtol=1e-5)
    np.testing.assert_allclose(np.expm1(rows[:, 1]), [g.size() for g in graphs], rtol=1e-5)
    kinds = np.expm1(rows[:, 27:30])  # after sizes and degrees 0 .. 24
    assert sorted(kinds.sum(axis=0).round().tolist()) == sorted(
        Counter(kind for g in graphs for _, kind in g.nodes(data="kind")).values()
    )
    charge = [sum(value for _, value in g.nodes(data="charge")) for g in graphs]
    assert any(np.allclose(column, charge, atol=1e-4) for column in np.expm1(rows).T)
    few = Counts().fit(encoded(graphs).take(np.arange(2)))  # kinds that fit has not seen are not counted
    kinds = sum(map(len, [*few.node_kinds_, *few.edge_kinds_]))
    assert few.transform(encoded(graphs)).shape == (8, 2 + 25 + kinds + 3)


def test_baseline_knows_counts_only():
    path, star = Graph(4, [(0, 1), (1, 2), (2, 3)], np.eye(4)), Graph(4, [(0, 1), (0, 2), (0, 3)], np.eye(4))
    rows = structure_free(GraphBatch.from_graphs([path, star, Graph(0, [], np.empty((0, 4)))]))
    np.testing.assert_array_equal(rows[0], rows[1])
    np.testing.assert_array_equal(rows[2], 0)


def test_baseline_of_nodes_with_names_of_their_own():
    graphs = []
    for number in range(20):
        names = ["shared", *(f"node {100 * number + i}" for i in range(39 + number))]
        graphs.append(RawGraph(40 + number, np.array([[0, 1]]), {"name": np.array(names, dtype=object)}))
    rows = structure_free(encoded(graphs))
    assert rows.shape == (20, 2 * 256 + 2)  # and not twice 970 names
    np.testing.assert_allclose(np.abs(rows[:, :256] - 1 / np.arange(40, 60)[:, np.newaxis]).min(axis=1), 0)
