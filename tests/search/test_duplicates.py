"""Copies: what is the same in all but numbering, and nothing else."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grnf import GRNF, Graph
from grnf.errors import GraphError, GrnfWarning
from grnf.io import RawGraph, read_graphs, to_raw
from grnf.search import compare_raw, duplicate_groups, leaked, near_duplicates
from hard_graphs import rook, shrikhande
from optional import require
from raw_graphs import raw_graphs

nx = require("networkx")


def shuffled(graph, seed):
    """The same graph with its nodes and edges in another order, undirected edges turned round."""
    generator = np.random.default_rng(seed)
    order = generator.permutation(graph.n_nodes)
    position = np.argsort(order)
    edges = position[np.asarray(graph.edges).reshape(-1, 2)]
    lines = generator.permutation(len(edges))
    edges = edges[lines]
    if not graph.directed and len(edges):
        turned = generator.random(len(edges)) < 0.5
        edges[turned] = edges[turned, ::-1]
    nodes = {name: np.asarray(values)[order] for name, values in graph.node_columns.items()}
    arcs = {name: np.asarray(values)[lines] for name, values in graph.edge_columns.items()}
    return RawGraph(graph.n_nodes, edges, dict(reversed(nodes.items())), arcs, graph.directed)


@given(raw_graphs(), st.integers(0, 1000))
def test_a_shuffled_copy_is_the_same(graph, seed):
    assert compare_raw(graph, shuffled(graph, seed)) == "isomorphic"


SQUARE = [(0, 1), (1, 2), (2, 3), (3, 0)]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (Graph(4, SQUARE), Graph(4, SQUARE[:3])),
        (Graph(4, SQUARE), Graph(5, SQUARE)),
        (Graph(4, SQUARE), Graph(4, SQUARE, np.ones(4))),
        (Graph(4, SQUARE, [0, 0, 1, 1]), Graph(4, SQUARE, [0, 1, 0, 1])),
        (Graph(4, SQUARE, None, [0, 0, 1, 1]), Graph(4, SQUARE, None, [0, 1, 0, 1])),
        (Graph(4, SQUARE, directed=True), Graph(4, SQUARE)),
        (Graph(3, SQUARE[:2], directed=True), Graph(3, [(0, 1), (2, 1)], directed=True)),
        (Graph(4, [*SQUARE, (0, 0)]), Graph(4, SQUARE)),
        (Graph(3, [(0, 1), (1, 2), (0, 0)]), Graph(3, [(0, 1), (1, 2), (1, 1)])),
        (Graph(2, [(0, 1), (0, 1)]), Graph(2, [(0, 1)])),
        (
            Graph(6, [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)]),
            Graph(6, [*SQUARE[:3], (3, 4), (4, 5), (5, 0)]),
        ),
        (nx.cycle_graph(4), nx.Graph([(0, 1), (1, 2), (2, 3), (3, 0)], kind="x").subgraph([0, 1, 2])),
    ],
)  # fmt: skip
def test_what_differs_is_different(first, second):
    assert compare_raw(to_raw(first), to_raw(second)) == "different"
    assert compare_raw(to_raw(second), to_raw(first)) == "different"


def test_numbers_of_any_type_and_missing_ones():
    def graph(values):
        return RawGraph(2, np.array([[0, 1]]), {"x": np.array(values)})

    assert compare_raw(graph([1, 0]), graph([0.0, 1.0])) == "isomorphic"
    assert compare_raw(graph([np.nan, 0.0]), graph([-0.0, np.nan])) == "isomorphic"
    assert compare_raw(graph([np.nan, 0.0]), graph([1.0, 0.0])) == "different"


def test_what_colors_cannot_tell_apart_is_searched_up_to_a_limit():
    assert compare_raw(to_raw(rook()), to_raw(shrikhande())) == "different"
    copies = [
        to_raw(shrikhande().permuted(np.random.default_rng(seed).permutation(16))) for seed in range(10)
    ]
    assert {compare_raw(copies[0], copy) for copy in copies} == {"isomorphic"}
    assert {compare_raw(copies[0], copy, limit=1) for copy in copies} == {"isomorphic", "undecided"}


def test_graphs_that_vectors_cannot_tell_apart_are_not_merged():
    """Orders 1 and 2 do not see the difference between regular graphs: the test of the graphs does."""
    triangles = Graph(6, [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)])
    hexagon = Graph(6, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0)])
    graphs = [triangles, hexagon, triangles.permuted([3, 1, 5, 0, 4, 2]), Graph(1, []), hexagon]
    groups, undecided = duplicate_groups(graphs, GRNF(64, random_state=0))
    assert (groups, undecided) == ([["0", "2"], ["1", "4"]], [])


def test_groups_on_a_real_set(shared):
    """All pairs, compared by networkx alone, give the groups that vectors propose."""
    graphs = list(read_graphs(shared / "data" / "tu" / "PTC_MR.zip"))
    groups, undecided = duplicate_groups(graphs, GRNF(128, random_state=0))
    assert not undecided
    assert sorted(map(len, groups)) == [2, 2, 2, 2, 2, 3]
    label = {}
    for number, group in enumerate(groups):
        label |= dict.fromkeys(group, number)
    objects = [networkx_of(graph) for graph in graphs]
    names = [graph.graph_id or str(row) for row, graph in enumerate(graphs)]
    for i in range(0, len(graphs), 3):
        for j in range(i):
            same = nx.faster_could_be_isomorphic(objects[i], objects[j]) and nx.is_isomorphic(
                objects[i], objects[j], lambda a, b: a == b, lambda a, b: a == b
            )
            assert same == (label.get(names[i], -1) == label.get(names[j], -2))


def networkx_of(graph):
    made = nx.Graph()
    for node in range(graph.n_nodes):
        made.add_node(node, **{name: np.asarray(v).tolist()[node] for name, v in graph.node_columns.items()})
    for row, (i, j) in enumerate(graph.edges.tolist()):
        made.add_edge(i, j, **{name: np.asarray(v).tolist()[row] for name, v in graph.edge_columns.items()})
    return made


PATH = Graph(4, [(0, 1), (1, 2), (2, 3)])


def test_near_pairs_and_leakage():
    star = Graph(4, [(0, 1), (0, 2), (0, 3)])
    train, test = [PATH, star, Graph(3, [])], [PATH.permuted([3, 1, 0, 2]), Graph(2, [(0, 1)]), star]
    found = leaked(train, test, GRNF(64, random_state=0), train_ids=["p", "s", "n"])
    assert [(pair.first, pair.second, pair.verdict) for pair in found] == [
        ("p", "0", "isomorphic"),
        ("s", "2", "isomorphic"),
    ]
    near = near_duplicates([*train, *test], GRNF(64, random_state=0), 0.05)
    assert {(pair.first, pair.second) for pair in near if pair.verdict == "isomorphic"} == {
        ("0", "3"),
        ("1", "5"),
    }
    assert [pair.distance for pair in near] == sorted(pair.distance for pair in near)
    every = leaked(train, test, GRNF(64, random_state=0), eps=10.0)
    assert len(every) == 9
    assert {pair.verdict for pair in every} == {"isomorphic", "different"}


def test_few_graphs():
    assert duplicate_groups([PATH], GRNF(8, random_state=0)) == ([], [])
    with pytest.raises(GraphError, match="X is empty"):
        duplicate_groups([], GRNF(8))
    with pytest.raises(GraphError, match="test is empty"):
        leaked([PATH], [], GRNF(8))


def test_collections_of_different_attributes():
    wide = Graph(4, PATH.edges, np.ones(4))
    with pytest.warns(GrnfWarning, match="not used: node x"):
        assert leaked([PATH], [wide], GRNF(8, random_state=0)) == []
    with pytest.raises(GraphError, match="'x'"):
        leaked([wide], [PATH], GRNF(8, random_state=0))
