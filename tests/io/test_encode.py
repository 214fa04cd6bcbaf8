import json

import numpy as np
import pytest
from hypothesis import given

from grnf import Graph, GraphBatch, GraphError, GrnfWarning
from grnf.io import RawGraph, to_raw
from grnf.io.encode import AttributeEncoder
from grnf.io.raw import RawBatch
from random_graphs import graphs


def categories(*values):
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


def raw(nodes=None, edges=((0, 1), (1, 2)), edge_columns=None, **kwargs):
    return RawGraph(3, np.array(edges), nodes or {}, edge_columns or {}, **kwargs)


ATOMS = {
    "symbol": categories("O", "C", "C"),
    "charge": np.array([1, 0, -1]),
    "pos": np.arange(6).reshape(3, 2),
}


def test_columns_stand_in_alphabetical_order_and_categories_too():
    encoder = AttributeEncoder().fit([raw(ATOMS)])
    graph = encoder.encode(raw(ATOMS))
    np.testing.assert_array_equal(graph.node_attr, [[1, 0, 1, 0, 1], [0, 2, 3, 1, 0], [-1, 4, 5, 1, 0]])
    assert (encoder.node_width, encoder.edge_width) == (5, 0)
    assert repr(encoder) == (
        "AttributeEncoder(node: charge (width 1), pos (width 2), symbol (2 categories); edge: nothing)"
    )


def test_the_order_of_graphs_and_of_columns_changes_nothing_and_categories_are_sorted():
    other = raw({"symbol": categories("N", "N", "C"), "pos": np.ones((3, 2)), "charge": np.zeros(3)})
    forth, back = AttributeEncoder().fit([raw(ATOMS), other]), AttributeEncoder().fit([other, raw(ATOMS)])
    assert forth.to_config() == back.to_config()
    np.testing.assert_array_equal(forth.encode(other).node_attr, back.encode(other).node_attr)
    one = raw({"a": categories("b", 10, (1, "x"))})
    two = raw({"a": categories(np.str_("b"), 9.5, np.int64(10))})
    for order in ([one, two], [two, one]):
        schema = AttributeEncoder().fit(order).node_schema_
        assert schema.columns["a"].categories == (9.5, 10, "b", (1, "x"))


def test_weights_come_first_among_edge_attributes_and_are_1_where_a_graph_has_none():
    weighted = raw(edge_columns={"angle": np.array([1.0, 2.0]), "weight": np.array([0.5, 3.0])})
    encoder = AttributeEncoder().fit([weighted])
    np.testing.assert_array_equal(encoder.encode(weighted).edge_attr, [[0.5, 1.0], [3.0, 2.0]])
    plain = raw(edge_columns={"angle": np.array([1.0, 2.0])})
    np.testing.assert_array_equal(encoder.encode(plain).edge_attr, [[1.0, 1.0], [1.0, 2.0]])
    some = raw(edge_columns={"angle": np.array([1.0, 2.0]), "weight": np.array([0.5, np.nan])})
    with pytest.raises(GraphError, match="the edge column 'weight' is missing for edge 1"):
        encoder.encode(some)


def test_edges_are_put_in_ascending_order_with_their_attributes():
    listed = raw(edges=[(2, 1), (1, 0)], edge_columns={"weight": np.array([2.0, 1.0])})
    graph = AttributeEncoder().fit([listed]).encode(listed)
    assert graph.edges.tolist() == [[0, 1], [1, 2]]
    assert graph.edge_attr.tolist() == [[1.0], [2.0]]
    arcs = raw(edges=[(2, 1), (1, 0)], directed=True)
    assert AttributeEncoder().fit([arcs]).encode(arcs).edges.tolist() == [[1, 0], [2, 1]]


@given(graphs())
def test_a_graph_is_itself(graph):
    encoder = AttributeEncoder.of_batch(GraphBatch.from_graphs([graph]))
    assert encoder.unnamed
    np.testing.assert_allclose(encoder.encode(to_raw(graph)).tensor(), graph.tensor(), rtol=1e-12, atol=1e-12)
    fitted = AttributeEncoder().fit([to_raw(graph)])
    assert fitted.to_config() == encoder.to_config()


def test_gaps_in_every_graph():
    graphs = [raw({"x": np.array([1.0, np.nan, 2.0])}) for _ in range(3)]
    encoder = AttributeEncoder().fit(graphs)
    batch, rows, errors = encoder.encode_batch(RawBatch.of(graphs))
    assert (len(batch), rows, [row for row, _ in errors]) == (0, [], [0, 1, 2])
    assert "the node column 'x' is missing for node 1" in errors[0][1]


def test_missing_attributes():
    encoder = AttributeEncoder().fit([raw(ATOMS)])
    gaps = {
        "symbol": categories("C", None, "O"),
        "charge": np.array([1, np.nan, 2]),
        "pos": np.array([[1, 2], [3, np.nan], [5, 6]]),
    }
    for name, values in gaps.items():
        with pytest.raises(
            GraphError,
            match=rf"node column '{name}' is missing for node 1 \(of 3, from 0\)\. Use handle_missing=",
        ):
            encoder.encode(raw({**ATOMS, name: values}))
        with pytest.raises(
            GraphError, match=rf"the node column '{name}' is missing\. Use handle_missing='zero'"
        ):
            encoder.encode(raw({key: column for key, column in ATOMS.items() if key != name}))
    filled = AttributeEncoder(handle_missing="zero").fit([raw(ATOMS)])
    np.testing.assert_array_equal(
        filled.encode(raw(gaps)).node_attr, [[1, 1, 2, 1, 0], [0, 3, 0, 0, 0], [2, 5, 6, 0, 1]]
    )
    np.testing.assert_array_equal(filled.encode(raw()).node_attr, np.zeros((3, 5)))
    nothing = raw({**ATOMS, "charge": categories(None, None, None)})
    np.testing.assert_array_equal(filled.encode(nothing).node_attr[:, 0], np.zeros(3))


def test_graphs_without_nodes_or_edges():
    """They lack nothing, and widths of empty columns count only if nothing else is known."""
    encoder = AttributeEncoder().fit([raw(ATOMS, edge_columns={"kind": categories("a", "b")})])
    empty = encoder.encode(RawGraph(0, np.empty((0, 2), dtype=np.int64)))
    assert (empty.node_attr.shape, empty.edge_attr.shape) == ((0, 5), (0, 2))
    empty = raw(edges=np.empty((0, 2), dtype=np.int64), edge_columns={"edge_attr": np.empty((0, 4))})
    assert AttributeEncoder().fit([empty]).edge_width == 4
    assert AttributeEncoder().fit([empty, raw(edge_columns={"edge_attr": np.ones(2)})]).edge_width == 1


def test_unseen_categories():
    encoder = AttributeEncoder().fit([raw(ATOMS)])
    new = raw({**ATOMS, "symbol": categories("C", "Xe", "O")})
    with pytest.raises(
        GraphError,
        match=r"'symbol' has the value 'Xe', which was not there in fit\. Use handle_unknown='ignore'",
    ):
        encoder.encode(new)
    ignoring = AttributeEncoder(handle_unknown="ignore").fit([raw(ATOMS)])
    np.testing.assert_array_equal(ignoring.encode(new).node_attr[:, 3:], [[1, 0], [0, 0], [0, 1]])
    with pytest.raises(GraphError, match="'symbol' is missing for node 1"):
        ignoring.encode(raw({**ATOMS, "symbol": categories("C", None, "O")}))


def test_new_columns_are_not_used_and_named_once():
    encoder = AttributeEncoder().fit([raw()])
    more = [raw(ATOMS), raw({"mass": np.ones(3)}, edge_columns={"weight": np.ones(2)})]
    with pytest.warns(
        GrnfWarning, match="not used: edge weight, node charge, node mass, node pos, node symbol"
    ) as said:
        encoder.warn_of_unused(RawBatch.of(more))
    assert len(said) == 1
    assert [encoder.encode(graph).node_width for graph in more] == [0, 0]


def test_columns_that_change_their_kind_are_refused():
    encoder = AttributeEncoder().fit([raw(ATOMS)])
    for name, values, message in (
        (
            "charge",
            categories("a", None, "b"),
            "'charge' must hold numbers, as in fit, got str values such as 'a'",
        ),
        ("symbol", np.arange(3), "'symbol' must hold categories, as in fit, got numbers"),
        ("pos", np.ones((3, 3)), "'pos' must have width 2, as in fit, got 3"),
        ("pos", np.ones((2, 2)), r"'pos' must have one entry per node, 3, got shape \(2, 2\)"),
        ("charge", np.array([1, -np.inf, 0]), "'charge' must be finite, but it is infinite in row 1"),
    ):
        with pytest.raises(GraphError, match=message):
            encoder.encode(raw({**ATOMS, name: values}))
    mixed = RawBatch.of([raw(ATOMS), raw({**ATOMS, "charge": categories("a", "b", "c")})])
    ((row, reason),) = encoder.encode_batch(mixed)[2]
    assert (row, "the node column 'charge'" in reason) == (1, True)


@pytest.mark.parametrize(
    "edges", [np.zeros((2, 3), dtype=int), np.array([[0.0, 1.0]]), np.array([[0, 3]]), np.array(3)]
)
def test_bad_edges_are_refused(edges):
    with pytest.raises(GraphError, match="edges"):
        AttributeEncoder().fit([]).encode(RawGraph(3, edges))


def test_configuration_is_json_and_gives_the_same_encoder():
    columns = {**ATOMS, "mixed": categories("a", 1, ("pair", (2, 0.5)))}
    encoder = AttributeEncoder(handle_missing="zero", handle_unknown="ignore").fit(
        [raw(columns, edge_columns={"weight": np.ones(2), "kind": categories("é", "b")})]
    )
    again = AttributeEncoder.from_config(json.loads(json.dumps(encoder.to_config())))
    assert again.to_config() == encoder.to_config()
    assert repr(again) == repr(encoder)
    np.testing.assert_array_equal(
        again.encode(raw(columns)).node_attr, encoder.encode(raw(columns)).node_attr
    )


def test_categories_that_json_cannot_hold():
    numpy_scalars = raw({"a": categories(np.int64(3), np.str_("x"), "y")})
    assert json.dumps(AttributeEncoder().fit([numpy_scalars]).to_config())
    odd = AttributeEncoder().fit([raw({"a": categories(frozenset([1]), frozenset(), frozenset([2]))})])
    assert odd.node_width == 3
    with pytest.raises(ValueError, match=r"column 'a' must be texts.* to be saved, got frozenset"):
        odd.to_config()


def test_policies_are_checked():
    with pytest.raises(ValueError, match="handle_unknown must be 'open', 'error' or 'ignore', got 'zero'"):
        AttributeEncoder(handle_unknown="zero")
    assert repr(AttributeEncoder()) == "AttributeEncoder(handle_unknown='error', handle_missing='error')"


def test_unnamed_means_that_plain_graphs_need_no_encoding():
    assert AttributeEncoder().fit([to_raw(Graph(1, [], [[1.0, 2.0]]))]).unnamed
    assert AttributeEncoder().fit([]).unnamed
    assert not AttributeEncoder().fit([raw(ATOMS)]).unnamed
    assert not AttributeEncoder().fit([raw({"x": categories("a", "b", "c")})]).unnamed
