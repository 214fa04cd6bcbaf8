import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grnf import GraphError
from grnf.io import BadGraph, read_graphs
from grnf.io.files.graph6 import parse_graph6, write_graph6, write_sparse6
from optional import require
from raw_graphs import canonical_edges, raw_graphs

nx = require("networkx")

PAIRS = {"basic": 60, "regular": 50, "str": 50, "extension": 100, "cfi": 100, "4vtx": 20, "dr": 20}


def edges_of(graph):
    return sorted(tuple(sorted(edge[:2])) for edge in graph.edges())


@pytest.mark.parametrize("n", [0, 1, 2, 5, 62, 63, 64, 300])
def test_graph6_of_networkx(n):
    graph = nx.gnp_random_graph(n, 0.1, seed=n)
    line = nx.to_graph6_bytes(graph, header=n % 2 == 0).strip()
    found = parse_graph6(line)
    assert found.n_nodes == n
    assert [tuple(edge) for edge in canonical_edges(found)] == sorted(
        edges_of(graph), key=lambda e: (e[1], e[0])
    )
    file = io.BytesIO()
    write_graph6(file, [found])
    assert file.getvalue() == nx.to_graph6_bytes(graph, header=False)


@given(raw_graphs(directed=False, y=False, graph_id=False))
def test_sparse6_of_networkx(graph):
    theirs = nx.MultiGraph()
    theirs.add_nodes_from(range(graph.n_nodes))
    theirs.add_edges_from(graph.edges.tolist())
    if graph.n_nodes < 2:
        return  # networkx pads single nodes in its own way, nauty's description is followed here
    found = parse_graph6(nx.to_sparse6_bytes(theirs, header=False).strip())
    assert canonical_edges(found) == canonical_edges(graph)
    file = io.BytesIO()
    write_sparse6(file, [graph])
    back = nx.from_sparse6_bytes(file.getvalue().strip())
    assert edges_of(back) == edges_of(theirs)


@pytest.mark.parametrize("n", [2, 3, 4, 5, 8, 9, 16, 17, 70])
def test_sparse6_padding(n):
    """The last node unreached, and powers of two, where padding could read as a loop."""
    for edges in ([], [(0, n - 2)], [(n - 2, n - 2)], [(0, n - 1)], [(n - 1, n - 1)] * 3):
        graph = parse_graph6(b":" + nx.to_sparse6_bytes(_multigraph(n, edges), header=False)[1:].strip())
        assert sorted(map(tuple, graph.edges.tolist())) == sorted(edges)
        file = io.BytesIO()
        write_sparse6(file, [graph])
        assert canonical_edges(parse_graph6(file.getvalue().strip())) == canonical_edges(graph)


def _multigraph(n, edges):
    graph = nx.MultiGraph()
    graph.add_nodes_from(range(n))
    graph.add_edges_from(edges)
    return graph


def test_digraph6():
    found = parse_graph6(b"&DI?AO?")  # the example of the description of the format
    assert found.directed
    assert found.edges.tolist() == [[0, 2], [0, 4], [3, 1], [3, 4]]


@pytest.mark.parametrize("suffix", [".g6", ".s6", ".d6"])
def test_headers_blank_lines_and_mixtures(tmp_path, suffix):
    (tmp_path / f"a{suffix}").write_bytes(b">>graph6<<\nBw\r\n\n>>sparse6<<:An\n&DI?AO?\n")
    assert [len(graph.edges) for graph in read_graphs(tmp_path / f"a{suffix}")] == [3, 1, 4]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"B", "expected 1 characters, found 0"),
        (b"Bww", "expected 1 characters, found 2"),
        (b"B w", "character 1 must be .* got b' '"),
        (b"~", "truncated within the number of nodes"),
        (b"~~~~~~~~", "a graph of 68719476735 nodes"),
        (b":~~~~~~~~", "a graph of 68719476735 nodes"),
        (b";Bw", "incremental sparse6"),
        (b":", "empty line"),
        (b"~~?A????", "1073741824|truncated"),
        ("Bä".encode(), "character 1"),
    ],
)
def test_bad_lines(tmp_path, line, message):
    path = tmp_path / "a.g6"
    path.write_bytes(b"Bw\n" + line + b"\nBw\n")
    with pytest.raises(GraphError, match=f"a.g6, line 2: .*({message})"):
        list(read_graphs(path))
    found = list(read_graphs(path, on_error="yield"))
    assert [type(graph).__name__ for graph in found] == ["RawGraph", "BadGraph", "RawGraph"]
    assert isinstance(found[1], BadGraph)
    assert found[1].index == 1


@pytest.mark.parametrize("kind", ["U", "S"])
def test_arrays_of_graph6(tmp_path, kind):
    np.save(tmp_path / "a.npy", np.array([["Bw", "B?"], ["A_", "@"]]).astype(kind))
    assert [len(graph.edges) for graph in read_graphs(tmp_path / "a.npy")] == [3, 0, 1, 0]


@pytest.mark.parametrize("order", ["<", ">"])
def test_arrays_with_numbers_that_are_no_characters(tmp_path, order):
    codes = np.array([[66, 119], [66, 0x7E0000], [0, 0], [64, 0]], dtype=f"{order}u4")
    np.save(tmp_path / "a.npy", codes.view(f"{order}U2"))
    found = list(read_graphs(tmp_path / "a.npy", on_error="yield"))
    assert [type(graph).__name__ for graph in found] == ["RawGraph", "BadGraph", "BadGraph", "RawGraph"]
    np.save(tmp_path / "b.npy", np.array(["", ""]))
    assert len(list(read_graphs(tmp_path / "b.npy", on_error="yield"))) == 2


def test_arrays_that_are_no_texts(tmp_path):
    np.save(tmp_path / "a.npy", np.arange(3))
    with pytest.raises(GraphError, match="an array of graph6 texts"):
        list(read_graphs(tmp_path / "a.npy", format="graph6-npy"))
    np.save(tmp_path / "b.npy", np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(GraphError, match="Python objects"):
        list(read_graphs(tmp_path / "b.npy"))


@pytest.mark.parametrize("name", PAIRS)
def test_facts_of_brec(shared, name):
    graphs = list(read_graphs(shared / "data" / "brec" / f"{name}.npy"))
    assert len(graphs) == 2 * PAIRS[name]
    texts = np.load(shared / "data" / "brec" / f"{name}.npy", allow_pickle=False).ravel()
    for one, other in zip(graphs[::2], graphs[1::2], strict=True):
        assert one.n_nodes == other.n_nodes
        assert len(one.edges) == len(other.edges)
        assert not one.directed
        assert canonical_edges(one) != canonical_edges(other)
    for text, graph in list(zip(texts, graphs, strict=True))[:: max(1, len(graphs) // 8)]:
        line = text if isinstance(text, bytes) else text.encode()
        theirs = nx.from_graph6_bytes(line)
        assert len(theirs) == graph.n_nodes
        assert edges_of(theirs) == sorted(map(tuple, canonical_edges(graph)))


@given(st.integers(0, 2000))
def test_positions_in_the_triangle(n_bits):
    from grnf.io.files.graph6 import _upper_triangle

    positions = np.array([n_bits, 10**15 + n_bits, 5 * 10**15 + n_bits])
    low, high = _upper_triangle(positions).T
    assert (0 <= low).all()
    assert (low < high).all()
    np.testing.assert_array_equal(high * (high - 1) // 2 + low, positions)
