"""Graphs of every kind through the transformer: the library does not matter."""

import gzip
import json
from collections import Counter

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import pdist

from grnf import GRNF, Graph, GraphBatch, GraphError
from grnf.io import graphs_from_tables, to_raw
from grnf.io.encode import AttributeEncoder
from grnf.io.objects import iter_raw
from optional import arcs_of, require, to_igraph, to_networkx, to_pyg, to_rustworkx, to_tables

nx = require("networkx")

MOLECULES = ["CCO", "c1ccccc1", "CC(=O)O", "CCN", "C1CCCCC1", "CCCl", "OCC", "N#N"]


def by_tables(library):
    return lambda graph: graphs_from_tables(
        *to_tables(graph, require(library).DataFrame), directed=graph.directed
    )[0]


CONVERTERS = {
    "networkx": to_networkx,
    "PyG": to_pyg,
    "igraph": to_igraph,
    "rustworkx": to_rustworkx,
    "tuple": lambda graph: (arcs_of(graph)[0], graph.node_attr, arcs_of(graph)[1]),
    "pandas": by_tables("pandas"),
    "polars": by_tables("polars"),
    "raw": to_raw,
}


def some_graphs(directed):
    """Disconnected, with a self-loop and a last node without edges; edges in ascending order."""
    generator = np.random.default_rng(0)
    edges = [(0, 1), (0, 3), (1, 2), (2, 2), (3, 4)]
    shapes = [(6, edges), (7, edges[:3])]
    return [
        Graph(n, e, generator.normal(size=(n, 2)), generator.normal(size=(len(e), 2)), directed)
        for n, e in shapes
    ]


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("library", CONVERTERS)
def test_every_converter_gives_the_same_vector(library, directed):
    graphs = some_graphs(directed)
    through = [CONVERTERS[library](graph) for graph in graphs]
    for dtype in ("float32", "float64"):
        grnf, fitted = (GRNF(64, random_state=0, dtype=dtype) for _ in range(2))
        Z = grnf.fit_transform(graphs)
        np.testing.assert_array_equal(grnf.transform([*through, graphs[0]]), [*Z, Z[0]])
        np.testing.assert_array_equal(fitted.fit_transform(through), Z)
        np.testing.assert_array_equal(fitted.transform(graphs), Z)


WEIGHTED = {
    "dense": lambda A: A,
    "sparse": sp.csr_array,
    "networkx": lambda A: nx.from_numpy_array(A, create_using=nx.DiGraph if (A != A.T).any() else nx.Graph),
    "igraph": lambda A: require("igraph").Graph.Weighted_Adjacency(
        A.tolist(), mode="directed" if (A != A.T).any() else "undirected", loops="once"
    ),
    "rustworkx": lambda A: getattr(
        require("rustworkx"), "PyDiGraph" if (A != A.T).any() else "PyGraph"
    ).from_adjacency_matrix(A),
    "PyG": lambda A: require("torch_geometric.data").Data(
        edge_index=require("torch").tensor(np.array(np.nonzero(A))),
        edge_weight=require("torch").tensor(A[np.nonzero(A)]),
        num_nodes=len(A),
    ),
    "table": lambda A: graphs_from_tables(*weighted_tables(A), directed=bool((A != A.T).any()))[0],
}


def weighted_tables(A):
    frame = require("pandas").DataFrame
    rows, columns = np.nonzero(A if (A != A.T).any() else np.triu(A))
    edges = {"graph_id": 0, "source": rows, "target": columns, "weight": A[rows, columns]}
    return frame(edges), frame({"graph_id": 0, "node": np.arange(len(A))})


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("library", WEIGHTED)
def test_weights_by_every_converter(library, directed):
    A = np.array([[0.5, 2.0, 0.0, 0.0], [2.0, 0.0, -1.5, 0.0], [0.0, -1.5, 0.0, 0.0], [0.0] * 4])
    if directed:
        A[0, 1] = 0.25
    rows, columns = np.nonzero(A if directed else np.triu(A))
    graph = Graph(4, np.column_stack([rows, columns]), None, A[rows, columns], directed)
    Z = GRNF(64, random_state=0).fit_transform([graph])
    np.testing.assert_array_equal(GRNF(64, random_state=0).fit_transform([WEIGHTED[library](A)]), Z)
    grnf = GRNF(64, random_state=0).fit([A])
    np.testing.assert_array_equal(grnf.transform([WEIGHTED[library](A)]), Z)
    assert not np.array_equal(grnf.transform([2 * A]), Z)


def test_lists_of_graphs_are_not_encoded(monkeypatch):
    def refuse(*_):
        raise AssertionError("a plain graph went through the encoder")

    graphs = some_graphs(directed=False)
    monkeypatch.setattr("grnf.collection.to_batch", refuse)
    grnf = GRNF(8, random_state=0).fit(graphs)
    Z = grnf.transform(graphs)
    np.testing.assert_array_equal(grnf.transform(GraphBatch.from_graphs(graphs)), Z)
    assert (grnf.encoder_.node_width, grnf.encoder_.edge_width) == (2, 2)


def labelled(symbols):
    graph = nx.path_graph(len(symbols))
    nx.set_node_attributes(graph, dict(enumerate(symbols)), "symbol")
    return graph


def test_categories_are_frozen_at_fit():
    grnf = GRNF(32, random_state=0, handle_unknown="error").fit([labelled("CO"), labelled("CNC")])
    assert grnf.node_width_ == 3
    same, other = grnf.transform([labelled("CO"), labelled("CN")])
    assert np.abs(same - other).max() > 1e-3
    with pytest.raises(
        GraphError, match=r"X\[1\]: the node column 'symbol' has the value 'S'.*handle_unknown='ignore'"
    ):
        grnf.transform([labelled("C"), labelled("CS")])
    ignoring = GRNF(32, random_state=0, handle_unknown="ignore").fit([labelled("CO"), labelled("CNC")])
    np.testing.assert_array_equal(*ignoring.transform([labelled("CS"), labelled("CP")]))
    np.testing.assert_array_equal(ignoring.transform([labelled("CO")])[0], same)


@pytest.mark.parametrize("library", ["igraph", "rustworkx", "pandas", "polars"])
def test_categories_by_every_converter(library):
    symbols, kinds = list("CONC"), ["single", "double", "single"]
    source = labelled(symbols)
    nx.set_edge_attributes(source, dict(zip(source.edges, kinds, strict=True)), "kind")
    edges = list(source.edges)
    if library == "igraph":
        graph = require(library).Graph(4, edges, vertex_attrs={"symbol": symbols}, edge_attrs={"kind": kinds})
    elif library == "rustworkx":
        graph = require(library).PyGraph()
        graph.add_nodes_from([{"symbol": symbol} for symbol in symbols])
        graph.add_edges_from([(*edge, {"kind": kind}) for edge, kind in zip(edges, kinds, strict=True)])
    else:
        frame = require(library).DataFrame
        ends = {"source": [i for i, _ in edges], "target": [j for _, j in edges]}
        (graph,) = graphs_from_tables(
            frame({"graph_id": [0] * 3, **ends, "kind": kinds}),
            frame({"graph_id": [0] * 4, "node": list(range(4)), "symbol": symbols}),
        )
    grnf = GRNF(32, random_state=0)
    z, again = grnf.fit_transform([source, graph])
    np.testing.assert_array_equal(z, again)
    np.testing.assert_array_equal(GRNF(32, random_state=0).fit_transform([graph])[0], z)


@given(st.permutations(range(5)))
@settings(max_examples=20)
def test_order_of_nodes_with_attributes_on_some_of_them_changes_nothing(order):
    rows = [{"b": 1.5}, {"a": "red", "b": -2.0}, {}, {"c": [0.5, 1.0]}, {"a": "blue"}]
    graph, shuffled = nx.path_graph(5), nx.Graph()
    nx.set_node_attributes(graph, dict(enumerate(rows)))
    shuffled.add_nodes_from((node, graph.nodes[node]) for node in order)
    shuffled.add_edges_from(graph.edges)
    one, two = (
        GRNF(16, random_state=0, handle_missing="zero", dtype="float64").fit_transform([g])
        for g in (graph, shuffled)
    )
    np.testing.assert_allclose(one, two, rtol=1e-12, atol=1e-14)


def encoder_of(*columns):
    return {"handle_unknown": "error", "handle_missing": "error", "node": columns, "edge": []}


def test_damaged_encoders_are_refused(tmp_path):
    path = tmp_path / "grnf.json"
    GRNF(8, random_state=0, handle_unknown="error").fit([labelled("CO")]).save(path)
    state = json.loads(path.read_text())
    for damage in (
        lambda: state.pop("encoder"),
        lambda: state.update(encoder={}),
        lambda: state.update(encoder=[1]),
        lambda: state.update(encoder=encoder_of()),
        lambda: state.update(encoder=encoder_of({"name": "a"})),
        lambda: state.update(encoder=encoder_of({"name": "a", "width": -1}, {"name": "b", "width": 3})),
        lambda: state.update(encoder=encoder_of({"name": "a", "categories": ["C", {}]})),
    ):
        damage()
        path.write_text(json.dumps(state))
        with pytest.raises(ValueError, match="is damaged"):
            GRNF.load(path)


def test_a_vocabulary_of_names_is_not_saved(tmp_path, monkeypatch):
    monkeypatch.setattr("grnf.estimators.transformer.LARGEST", 3000)
    names = [labelled([f"name {index}" for index in range(200)])]
    GRNF(8, random_state=0).fit(names).save(tmp_path / "grnf.json")  # of an open one nothing is kept
    grnf = GRNF(8, random_state=0, handle_unknown="error").fit(names)
    with pytest.raises(ValueError, match="Remove columns of names or ids"):
        grnf.save(tmp_path / "grnf.json")


def test_smiles_of_one_molecule_agree():
    require("rdkit")
    grnf = GRNF(32, random_state=0, dtype="float64").fit(MOLECULES)
    assert grnf.distance("CCO", "OCC").value < 1e-12
    assert grnf.distance("CCO", "CCN").value > 1e-3
    series = require("pandas").Series(MOLECULES)
    np.testing.assert_array_equal(grnf.transform(series), grnf.transform(np.array(MOLECULES)))


def seen_by_pairs(graph):
    """All that orders 1 and 2 can see: attributes and row sums of nodes, and of the ends of each edge."""
    A, width = graph.tensor(), graph.node_width
    diagonal = A[np.arange(graph.n_nodes), np.arange(graph.n_nodes), :width]
    nodes = [tuple(row) for row in np.hstack([diagonal, A[:, :, width:].sum(axis=1)])]
    arcs = [arc for i, j in graph.edges for arc in ((i, j), (j, i))]
    edges = Counter((nodes[i], nodes[j], tuple(A[i, j, width:])) for i, j in arcs)
    return frozenset(Counter(nodes).items()), frozenset(edges.items())


@pytest.mark.slow
def test_real_molecules_are_told_apart_as_far_as_pairs_of_atoms_go(shared):
    require("rdkit")
    with gzip.open(shared / "data" / "molecules" / "moses_test.csv.gz", "rt") as file:
        next(file)
        smiles = [next(file).strip() for _ in range(2000)]
    grnf = GRNF(64, random_state=0, dtype="float64")
    Z = grnf.fit_transform(smiles)
    assert Z.shape == (2000, 64)
    classes = {}
    raws = list(iter_raw(smiles))
    for row, graph in enumerate(map(AttributeEncoder().fit(raws).encode, raws)):
        classes.setdefault(seen_by_pairs(graph), []).append(row)
    assert len(classes) == 1984
    for rows in classes.values():
        np.testing.assert_allclose(Z[rows], Z[rows[:1]].repeat(len(rows), axis=0), rtol=1e-12, atol=1e-14)
    assert pdist(Z[[rows[0] for rows in classes.values()]], "chebyshev").min() > 1e-7
