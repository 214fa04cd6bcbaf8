import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from grnf import GRNF, Graph, GraphBatch, GraphError, GrnfWarning
from grnf.io import RawGraph, objects, to_raw
from grnf.io.encode import AttributeEncoder
from grnf.io.objects import graph_objects, iter_raw, to_batch
from optional import require, to_igraph, to_networkx, to_pyg, to_rustworkx
from random_graphs import cycle

nx = require("networkx")


def test_graphs_and_raw_graphs():
    graph = Graph(2, [(0, 1)], [[1.0, 2.0], [3.0, 4.0]], [5.0], directed=True)
    raw = to_raw(graph)
    assert (raw.n_nodes, raw.directed) == (2, True)
    assert np.shares_memory(raw.node_columns["x"], graph.node_attr)
    assert np.shares_memory(raw.edge_columns["edge_attr"], graph.edge_attr)
    assert to_raw(raw) is raw
    assert to_raw(Graph(1, [])).node_columns == {}


def object_array(items):
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array


def column(items):
    """As BaggingClassifier passes them."""
    return object_array(items)[:, np.newaxis]


class Items:
    """Anything with a length and items is a collection."""

    def __init__(self, items):
        self.items = items

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        return self.items[index]


@pytest.mark.parametrize("collection", [list, tuple, iter, object_array, column, Items])
def test_collections(collection):
    items = [cycle(3), nx.path_graph(4), sp.eye_array(5)]
    assert [raw.n_nodes for raw in iter_raw(collection(items))] == [3, 4, 5]
    assert [raw.n_nodes for raw in iter_raw(GraphBatch.from_graphs(items[:1]))] == [3]


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (cycle(3), r"got an object of type grnf.graphs.graph.Graph: pass \[graph\]"),
        (nx.Graph(), r"got an object of type networkx.classes.graph.Graph: pass \[graph\]"),
        (sp.eye_array(2), r"pass \[graph\]"),
        ("CCO", r"got an object of type str: pass \[graph\]"),
        (None, "X must be a collection of graphs, got an object of type NoneType"),
        ({1: cycle(3)}, r"got an object of type dict: pass \[graph\]"),
        ([{"x": [[1.0]]}], r"X\[0\]: a dict must have the key 'edge_index', got \['x'\]"),
        ({cycle(3)}, "got an object of type set"),
        (b"CCO", "got an object of type bytes"),
        (3, "got an object of type int"),
        (np.eye(2), r"got shape \(2, 2\)\. .* into a list: \[matrix\]"),
        (np.ones(2), r"got shape \(2,\)"),
        (
            [cycle(3), 3],
            r"X\[1\]: an object of type int cannot be converted to a graph\. Accepted: grnf.Graph",
        ),
        ([None], r"X\[0\]: .*None usually stands for a molecule that could not be read"),
        ([[[0, 1]]], r"X\[0\]: .*Write edges as a tuple"),
        ([nx.Graph().nodes], r"X\[0\]: an object of type networkx\..*NodeView cannot"),
        ((np.zeros((2, 5)), np.ones((3, 1))), r"X\[0\]: .* an edge_index goes into a tuple"),
    ],
)
def test_what_is_no_collection_of_graphs_is_refused(X, message):
    with pytest.raises(GraphError, match=message):
        list(iter_raw(X))


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_dataframes(library):
    package = require(library)
    DataFrame = package.table if library == "pyarrow" else package.DataFrame
    frame = DataFrame({"a": [1]})
    with pytest.raises(
        GraphError, match=r"X is a dataframe without a SMILES column .* grnf.io.graphs_from_tables"
    ):
        graph_objects(frame)
    with pytest.raises(GraphError, match=r"X\[0\]: .*graphs_from_tables"):
        list(iter_raw([frame]))
    if library != "pyarrow":
        assert list(graph_objects(frame["a"])) == [1]
    edges = DataFrame({"graph_id": ["a", "b", "a"], "source": [0, 0, 1], "target": [1, 1, 2]})
    nodes = DataFrame({"graph_id": ["a"] * 4 + ["b"] * 2, "node": [0, 1, 2, 9, 0, 1]})
    for X, sizes in ((edges, [3, 2]), ((edges, nodes), [4, 2])):
        graphs = list(iter_raw(X))
        assert [(graph.graph_id, len(graph.edges)) for graph in graphs] == [("a", 2), ("b", 1)]
        assert [graph.n_nodes for graph in graphs] == sizes
    assert to_raw(DataFrame({"source": [0, 1], "target": [1, 2]})).n_nodes == 3


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_a_dataframe_of_smiles_is_a_table_of_molecules(library):
    require("rdkit")
    package = require(library)
    DataFrame = package.table if library == "pyarrow" else package.DataFrame
    smiles = ["CCO", "c1ccccc1", "C(", None, "CC(=O)O"]
    frame = DataFrame({"SMILES": smiles, "id": list("abcde"), "y": [1, 2, 3, 4, None], "mass": [4.5] * 5})
    grnf = GRNF(8, random_state=0, on_error="nan").fit(frame)
    Z = grnf.transform(frame)
    np.testing.assert_array_equal(Z[[0, 1, 4]], grnf.transform([smiles[0], smiles[1], smiles[4]]))
    assert np.isnan(Z[2:4]).all()
    if library == "pandas":
        np.testing.assert_array_equal(grnf.transform(package.Index(smiles[:2])), Z[:2])
    assert grnf.embed(frame).ids == list("abcde")
    batch = graph_objects(frame)
    assert (batch.y[0], batch.y[4], batch.graph_columns["mass"]) == (1, None, [4.5] * 5)
    assert batch.graph_columns["smiles"] == smiles
    with pytest.raises(GraphError, match=r"X\[2\]: .*'C\(' is not a valid SMILES"):
        GRNF(8).fit(frame)


def test_a_dataframe_of_smiles_in_tests_maps_and_pipelines():
    require("rdkit")
    pandas = require("pandas")
    from sklearn.model_selection import cross_val_predict

    from grnf import GRNFClassifier, map_graphs
    from grnf.stats import two_sample_test

    smiles = [f"{'C' * n}{end}" for n in range(1, 11) for end in ("O", "N")]
    frame = pandas.DataFrame({"smiles": smiles, "mass": range(20)}, index=range(100, 120))
    made = GRNF(8, random_state=0).set_output(transform="pandas").fit_transform(frame)
    assert made.index.tolist() == list(range(100, 120))
    alike, other = (frame[frame.smiles.str.endswith(end)] for end in "ON")
    tests = [
        two_sample_test(*X, n_resamples=19, random_state=0)
        for X in ((alike, other), (smiles[::2], smiles[1::2]))
    ]
    assert tests[0].pvalue == tests[1].pvalue
    columns = [column.name for column in map_graphs(frame, layout="pca", differences=False).columns]
    assert {"mass", "smiles"} <= set(columns)
    model = GRNFClassifier(8, lifts=None, estimator="linear", random_state=0)
    assert len(cross_val_predict(model, frame, frame.smiles.str[-1], cv=2)) == 20


def test_dictionaries_of_arrays():
    edge_index, x = [[0, 1, 1, 2], [1, 0, 2, 1]], [[1.0], [2.0], [3.0]]
    expected = to_raw((edge_index, x, [1.0, 1.0, 2.0, 2.0]))
    for names in (("x", "edge_attr"), ("node_feat", "edge_feat")):
        raw = to_raw(
            {"edge_index": edge_index, names[0]: x, names[1]: [1.0, 1.0, 2.0, 2.0], "y": np.array([3])}
        )
        assert (raw.directed, raw.edges.tolist(), raw.y) == (False, expected.edges.tolist(), 3)
        for columns in ("node_columns", "edge_columns"):
            own, others = getattr(raw, columns), getattr(expected, columns)
            assert {name: values.tolist() for name, values in own.items()} == {
                name: values.tolist() for name, values in others.items()
            }
    assert to_raw({"edge_index": edge_index, "num_nodes": 5, "x": None}).n_nodes == 5
    for directed, count in ((True, 4), (False, 2), (None, 2)):
        raw = to_raw({"edge_index": edge_index, "directed": directed, "graph_id": 7, "num_nodes": [3]})
        assert (raw.directed, len(raw.edges), raw.graph_id) == (bool(directed), count, "7")
    assert not to_raw({"edge_index": [[0], [1]], "directed": False}).directed
    with pytest.raises(GraphError, match="num_nodes must be an integer >= 0"):
        to_raw({"edge_index": [[], []], "num_nodes": -1})
    with pytest.warns(GrnfWarning, match="the attributes color are not used"):
        to_raw({"edge_index": edge_index, "color": "red"})


ARRAYS = st.none() | hnp.arrays(
    st.sampled_from([np.int64, np.float32, np.uint8, np.bool_, object, "U3"]),
    hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3),
)


@given(st.lists(ARRAYS, max_size=4).map(tuple) | ARRAYS)
def test_any_arrays_give_a_graph_or_our_error(arrays):
    try:
        raw = to_raw(arrays)
        graph = AttributeEncoder().fit([raw]).encode(raw)
    except GraphError:
        return
    assert graph.n_nodes == raw.n_nodes


VALUES = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=2) | st.binary(max_size=2),
    lambda inner: (
        st.lists(inner, max_size=2) | st.tuples(inner) | st.dictionaries(st.text(max_size=1), inner)
    ),
    max_leaves=4,
)


@given(st.lists(st.dictionaries(st.sampled_from(["a", "b", "weight"]), VALUES), max_size=4))
def test_any_attributes_give_a_graph_or_our_error(rows):
    graph = nx.path_graph(len(rows))
    for node, row in enumerate(rows):
        graph.nodes[node].update(row)
        graph.add_edge(node, 0, **row)
    for policy in ("error", "zero"):
        try:
            raw = to_raw(graph)
            encoded = AttributeEncoder(handle_missing=policy).fit([raw]).encode(raw)
        except GraphError:
            continue
        assert (encoded.n_nodes, encoded.n_edges) == (graph.number_of_nodes(), graph.number_of_edges())


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (np.zeros((2, 2, 2)), r"the node column 'x' has shape \(2, 2, 2\)"),
        (np.array([["a"], ["b"]]), r"the node column 'x' has shape \(2, 1\) and type <U1"),
        (np.array([("a", []), ("b", []), None], dtype=object)[:2], r"holds \('a', \[\]\) for node 0"),
    ],
)
def test_columns_of_raw_graphs_are_checked(column, message):
    with pytest.raises(GraphError, match=message):
        to_raw(RawGraph(2, np.empty((0, 2), dtype=np.int64), {"x": column}))


def with_text(graph):
    """A graph whose numbers include a text."""
    graph = to_networkx(graph)
    graph.nodes[1]["x"] = "n/a"
    return graph


def igraph_with_list(graph):
    graph = to_igraph(graph)
    graph.vs["x"] = [[[]]] * graph.vcount()
    return graph


def rustworkx_with_set(graph):
    graph = to_rustworkx(graph)
    graph[0] = {"x": {1}}
    return graph


def pyg_with_a_node_outside(graph):
    graph = to_pyg(graph)
    graph.edge_index = graph.edge_index + 1
    return graph


@pytest.mark.parametrize(
    ("convert", "damage"),
    [
        (to_networkx, with_text),
        (to_igraph, igraph_with_list),
        (to_rustworkx, rustworkx_with_set),
        (to_pyg, pyg_with_a_node_outside),
        (Graph.tensor, lambda graph: graph.tensor()[:, :1]),
    ],
    ids=["networkx", "igraph", "rustworkx", "PyG", "array"],
)
def test_a_bad_object_is_named_and_costs_only_itself(convert, damage):
    rings = [Graph(n, cycle(n).edges, np.ones((n, 1))) for n in (3, 4, 5, 6, 7)]
    if convert is Graph.tensor:
        rings = [cycle(n) for n in (3, 4, 5, 6, 7)]
        objects = [convert(ring)[:, :, 0] for ring in rings]
    else:
        objects = [convert(ring) for ring in rings]
    broken = [*objects[:2], damage(rings[2]), *objects[3:]]
    with pytest.raises(GraphError) as caught:
        to_batch(broken, caller="graphs")
    assert (caught.value.index, caught.value.where) == (2, "graphs")
    batch = to_batch(broken, on_error="nan")
    assert list(batch.bad) == [2]
    assert np.diff(batch.node_ptr).tolist() == [3, 4, 0, 6, 7]
    grnf = GRNF(8, random_state=0, on_error="nan")
    Z, whole = grnf.fit_transform(broken), grnf.fit_transform(objects)
    np.testing.assert_array_equal(Z[[0, 1, 3, 4]], whole[[0, 1, 3, 4]])
    assert np.isnan(Z[2]).all()


def test_kinds_and_failures_may_be_mixed():
    require("rdkit")
    mixed = [cycle(3), "C(", nx.path_graph(4), None, "CO", np.zeros((2, 2)), sp.eye_array(5)]
    batch = to_batch(mixed, on_error="skip")
    assert sorted(batch.bad) == [1, 3]
    assert np.diff(batch.node_ptr).tolist() == [3, 0, 4, 0, 2, 2, 5]
    with pytest.raises(GraphError) as caught:
        to_batch(mixed[2:])
    assert caught.value.index == 1


class Ring:
    """A user class that follows the protocol."""

    def __init__(self, n, graph_id=None):
        self.n, self.graph_id = n, graph_id

    def __grnf_graph__(self):
        return "no graph" if self.n is None else cycle(self.n)


def test_user_classes_with_the_graph_protocol():
    rings = [Ring(3, "triangle"), nx.cycle_graph(4), Ring(5)]
    grnf = GRNF(8, random_state=0).fit(rings)
    np.testing.assert_array_equal(grnf.transform(rings), grnf.transform([cycle(n) for n in (3, 4, 5)]))
    assert to_raw(rings[0]).n_nodes == 3
    assert grnf.embed(rings).ids == ["triangle", "1", "2"]
    bad = [rings[0], Ring(None), Ring(-1)]
    assert list(to_batch(bad, on_error="skip").bad) == [1, 2]
    with pytest.raises(GraphError, match=r"must be a grnf.Graph or grnf.io.RawGraph, got str") as caught:
        to_batch(bad)
    assert caught.value.index == 1
    with pytest.raises(GraphError, match=r"pass \[graph\]"):
        graph_objects(rings[0])


def test_an_attribute_without_values_is_not_there():
    graph = nx.path_graph(3)
    nx.set_node_attributes(graph, None, "charge")
    grnf = GRNF(4, random_state=0)
    Z = grnf.fit_transform([graph])  # warnings are errors
    np.testing.assert_array_equal(grnf.fit([nx.path_graph(3)]).transform([graph]), Z)


def test_a_defect_inside_a_converter_is_not_hidden(monkeypatch):
    def fail(_):
        raise RuntimeError("broken converter")

    monkeypatch.setitem(objects.BY_PACKAGE, ("networkx", "is_directed"), fail)
    monkeypatch.setattr(objects, "_converter_of_class", objects._converter_of_class.__wrapped__)
    with pytest.raises(GraphError, match="cannot be read: broken converter") as caught:
        to_batch([nx.path_graph(2)])
    assert isinstance(caught.value.__cause__, RuntimeError)
