import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from grnf import Graph, GraphBatch, GraphError
from grnf.io import AttributeEncoder, RawGraph, iter_raw, to_raw
from grnf.io.objects import graph_objects
from guests import guest
from random_graphs import cycle


def test_graphs_and_raw_graphs():
    graph = Graph(2, [(0, 1)], [[1.0, 2.0], [3.0, 4.0]], [5.0], directed=True)
    raw = to_raw(graph)
    assert (raw.n_nodes, raw.directed) == (2, True)
    assert raw.node_columns["x"] is graph.node_attr
    assert raw.edge_columns["edge_attr"] is graph.edge_attr
    assert to_raw(raw) is raw
    assert to_raw(Graph(1, [])).node_columns == {}


def object_array(items):
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array


@pytest.mark.parametrize(
    "collection",
    [list, tuple, iter, object_array, lambda items: (item for item in items)],
    ids=["list", "tuple", "iterator", "object array", "generator"],
)
def test_collections(collection):
    items = [cycle(3), nx.path_graph(4), sp.eye_array(5)]
    assert [raw.n_nodes for raw in iter_raw(collection(items))] == [3, 4, 5]


def test_batches_and_anything_with_a_length_and_items():
    class Rings:
        def __len__(self):
            return 2

        def __getitem__(self, index):
            return cycle(3 + index)

    assert [raw.n_nodes for raw in iter_raw(Rings())] == [3, 4]
    assert [raw.n_nodes for raw in iter_raw(GraphBatch.from_graphs([cycle(3), cycle(4)]))] == [3, 4]


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (cycle(3), r"got an object of type grnf.graphs.graph.Graph: pass \[graph\]"),
        (nx.Graph(), r"got an object of type networkx.classes.graph.Graph: pass \[graph\]"),
        (sp.eye_array(2), r"pass \[graph\]"),
        ("CCO", r"got an object of type str: pass \[graph\]"),
        (None, "X must be a collection of graphs; got an object of type NoneType"),
        ({1: cycle(3)}, "got an object of type dict"),
        ({cycle(3)}, "got an object of type set"),
        (b"CCO", "got an object of type bytes"),
        (3, "got an object of type int"),
        (np.eye(2), r"X has shape \(2, 2\); .* goes into a list: \[matrix\]"),
        (np.ones(2), r"X has shape \(2,\)"),
        ([cycle(3), 3], r"X\[1\]: no graph can be made of an object of type int; accepted are grnf.Graph"),
        ([None], r"X\[0\]: .*None usually stands for a molecule that could not be read"),
        ([[[0, 1]]], r"X\[0\]: .*Write edges as a tuple"),
        ([nx.Graph().nodes], r"X\[0\]: no graph can be made of an object of type networkx\..*NodeView"),
        ((np.zeros((2, 5)), np.ones((3, 1))), r"X\[0\]: .* an edge_index goes into a tuple"),
    ],
)
def test_what_is_no_collection_of_graphs_is_refused(X, message):
    with pytest.raises(GraphError, match=message):
        list(iter_raw(X))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_dataframes_are_refused_with_the_remedy(library):
    frame = guest(library).DataFrame({"a": [1]})
    with pytest.raises(GraphError, match=r"X is a dataframe without .* grnf.io.graphs_from_tables"):
        graph_objects(frame)
    with pytest.raises(GraphError, match=r"X\[0\]: .*graphs_from_tables"):
        list(iter_raw([frame]))
    assert list(graph_objects(frame["a"])) == [1]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_tables_of_edges_are_collections(library):
    DataFrame = guest(library).DataFrame
    edges = DataFrame({"graph_id": ["a", "b", "a"], "source": [0, 0, 1], "target": [1, 1, 2]})
    nodes = DataFrame({"graph_id": ["a"] * 4 + ["b"] * 2, "node": [0, 1, 2, 9, 0, 1]})
    for X, sizes in ((edges, [3, 2]), ((edges, nodes), [4, 2])):
        graphs = list(iter_raw(X))
        assert [graph.graph_id for graph in graphs] == ["a", "b"]
        assert [graph.n_nodes for graph in graphs] == sizes
        assert [len(graph.edges) for graph in graphs] == [2, 1]


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
    for missing in ("error", "zero"):
        try:
            raw = to_raw(graph)
            encoded = AttributeEncoder(missing=missing).fit([raw]).encode(raw)
        except GraphError:
            continue
        assert (encoded.n_nodes, encoded.n_edges) == (graph.number_of_nodes(), graph.number_of_edges())


def test_errors_of_other_libraries_become_ours():
    graph = nx.path_graph(2)
    graph.nodes[0]["size"] = 10**400
    with pytest.raises(
        GraphError, match=r"X\[0\]: an object of type networkx.* cannot be read: int too large"
    ):
        list(iter_raw([graph]))


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
