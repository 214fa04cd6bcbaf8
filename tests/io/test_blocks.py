"""Batches of columns: the same graphs as one by one, by every converter and reader that makes them."""

from itertools import chain

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grnf import GRNF, GraphError
from grnf.estimators import embed_stream, fit_stream
from grnf.io import BadGraph, RawGraph, read_blocks, read_graphs, to_raw, write_graphs
from grnf.io.from_molecules import raw_from_smiles
from grnf.io.objects import to_batch
from grnf.io.raw import RawBatch
from optional import require, to_igraph, to_networkx, to_pyg
from random_graphs import graphs, random_graph
from tu_sets import SHAPES, write_set

nx = require("networkx")


def assert_same_graph(found, expected):
    assert (found.n_nodes, bool(found.directed), found.graph_id) == (
        expected.n_nodes,
        bool(expected.directed),
        expected.graph_id,
    )
    np.testing.assert_array_equal(found.edges, expected.edges)
    assert np.array_equal(found.y, expected.y) or found.y == expected.y
    for own, other in (
        (found.node_columns, expected.node_columns),
        (found.edge_columns, expected.edge_columns),
    ):
        filled = {name: values for name, values in own.items() if len(values)}
        assert set(filled) == {name for name in other if len(other[name])}
        for name, values in filled.items():
            assert np.asarray(values).tolist() == np.asarray(other[name]).tolist() or np.array_equal(
                np.asarray(values, dtype=float), np.asarray(other[name], dtype=float), equal_nan=True
            )


def assert_same(block, expected):
    assert isinstance(block, RawBatch)
    found = list(block)
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert_same_graph(one, other)


def colored(graph, colors):
    for node, color in zip(graph.nodes, colors, strict=False):
        if color is not None:
            graph.nodes[node]["color"] = color
    return graph


@settings(max_examples=40)
@given(st.lists(graphs(), min_size=1, max_size=6), st.data())
def test_networkx(some, data):
    color = st.sampled_from(["red", "green", None])
    objects = [
        colored(to_networkx(graph), [data.draw(color) for _ in range(graph.n_nodes)]) for graph in some
    ]
    assert_same(to_batch(objects), [to_raw(graph) for graph in objects])


def test_networkx_with_odd_values():
    first, second = nx.path_graph(3), nx.MultiDiGraph([(0, 1), (0, 1), (1, 1)])
    first.graph["y"], second.graph["y"] = 1, "b"
    nx.set_node_attributes(first, {0: np.float32(1.5), 1: True, 2: float("nan")}, "number")
    nx.set_node_attributes(second, {0: [1, 2], 1: (3, 4)}, "vector")
    for objects in ([first], [second], [first, second]):
        assert_same(to_batch(objects), [to_raw(graph) for graph in objects])
    mixed = [nx.path_graph(2), nx.path_graph(2)]
    nx.set_node_attributes(mixed[0], 1.0, "kind")
    nx.set_node_attributes(mixed[1], "text", "kind")
    assert_same(to_batch(mixed), [to_raw(graph) for graph in mixed])
    grnf = GRNF(4, random_state=0, on_error="nan")
    assert np.isnan(grnf.fit_transform(mixed)).all(axis=1).tolist() == [False, True]
    kept = grnf.embed(mixed, on_error="skip")
    assert (len(kept.vectors), [row for row, _ in kept.errors]) == (1, [1])
    bad = [nx.path_graph(2), nx.path_graph(2)]
    bad[1].nodes[0]["list"] = [[1], {}]
    with pytest.raises(GraphError, match="the node column 'list' holds") as caught:
        GRNF(4).fit(bad)
    assert (caught.value.where, caught.value.index) == ("X", 1)


@settings(max_examples=25)
@given(st.lists(graphs(), min_size=1, max_size=5))
def test_igraph(some):
    require("igraph")
    objects = [to_igraph(graph) for graph in some]
    assert_same(to_batch(objects), [to_raw(graph) for graph in objects])


@pytest.mark.parametrize("width", [0, 1, 3])
@pytest.mark.parametrize("directed", [False, True, None])
def test_pyg(width, directed):
    require("torch_geometric")
    generator = np.random.default_rng(width)
    objects = [
        to_pyg(random_graph(generator, n, width, width, n % 2 == 0 if directed is None else directed))
        for n in (1, 5, 3, 8, 2, 6)
    ]
    assert_same(to_batch(objects), [to_raw(graph) for graph in objects])
    one_way = objects[3].clone()
    one_way.edge_index = one_way.edge_index[:, 1:]
    for name in ("edge_attr", "edge_weight"):
        if getattr(one_way, name, None) is not None:
            setattr(one_way, name, getattr(one_way, name)[1:])
    mixed = [*objects, one_way]
    assert_same(to_batch(mixed), [to_raw(graph) for graph in mixed])
    broken = objects[3].clone()
    broken.edge_index = broken.edge_index + 100
    with pytest.raises(GraphError, match=r"X\[1\]"):
        GRNF(4).fit([objects[3], broken])


SMILES = [
    "CCO", "c1ccccc1C(=O)[O-].[Na+]", "C[C@H](N)C(=O)O", "F/C=C\\Cl", "[13CH3]C#N", "C1CC2CCC1C2", "*C",
    "[CH3:7]C", "O=[N+]([O-])c1ccc(Br)cc1", "C[Si](C)(C)C", "[Fe+2]", "C" * 300, "N[C@@H](CS)C(=O)O",
    "[H]O[H]", "C~C", "[U]",
]  # fmt: skip


def test_molecules():
    Chem = require("rdkit.Chem")
    mols = [Chem.MolFromSmiles(smiles) for smiles in SMILES]
    mols[0].SetProp("_Name", "ethanol")
    assert_same(to_batch(mols), [to_raw(mol) for mol in mols])
    block = to_batch([*SMILES[:3], "C(", *SMILES[3:], ""], on_error="skip")
    assert list(block.bad) == [3, len(SMILES) + 1]
    assert isinstance(list(block)[3], BadGraph)
    assert_same_graph(block[4], raw_from_smiles(SMILES[3]))
    for smiles in ("C(", "", "C(C)(C)(C)(C)C"):
        with pytest.raises(GraphError) as said:
            to_raw(smiles)
        assert to_batch(["C", smiles], on_error="nan").bad == {1: str(said.value)}
    grnf = GRNF(8, random_state=0)
    Z = grnf.fit(SMILES).embed(["CCO", "C(", "CCN"], on_error="nan").vectors
    assert np.isnan(Z).any(axis=1).tolist() == [False, True, False]
    np.testing.assert_allclose(Z[[0, 2]], grnf.transform(["CCO", "CCN"]), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("suffix", ["npz", "parquet"])
def test_files_of_our_own(tmp_path, suffix):
    generator = np.random.default_rng(0)
    kinds = np.array(["a", "b", None], dtype=object)

    def raw(n, directed):
        edges = generator.integers(0, n, (2 * n, 2)) if n else np.empty((0, 2), np.int64)
        columns = {
            "charge": generator.integers(-2, 3, n),
            "kind": kinds[generator.integers(0, 3, n)],
            "pos": generator.normal(size=(n, 3)),
            "name": np.array([f"n{i}" for i in range(n)], dtype=object),
        }
        edge_columns = {
            "weight": generator.normal(size=len(edges)),
            "bond": kinds[generator.integers(0, 2, len(edges))],
        }
        return RawGraph(n, edges, columns, edge_columns, directed, f"g{n}", int(generator.integers(3)))

    some = [raw(int(n), bool(n % 3 == 0)) for n in generator.integers(0, 9, 1500)]
    path = tmp_path / f"graphs.{suffix}"
    write_graphs(path, some)
    blocks = list(read_blocks(path))
    assert all(isinstance(block, RawBatch) for block in blocks)
    expected = list(read_graphs(path))
    for found, other in zip((graph for block in blocks for graph in block), expected, strict=True):
        assert_same_graph(found, other)
    odd = [*some[:5], RawGraph(2, np.array([[0, 1]]), {"other": np.array([1.0, 2.0])}, y="text"), *some[5:9]]
    write_graphs(path, odd)
    found = [graph for block in read_blocks(path) for graph in block]
    for one, other in zip(found, read_graphs(path), strict=True):
        assert_same_graph(one, other)


@pytest.mark.parametrize("name", SHAPES)
def test_tu_sets(tmp_path, name):
    path = write_set(tmp_path, name)
    blocks = list(read_blocks(path))
    assert all(isinstance(block, RawBatch) for block in blocks)
    found = [graph for block in blocks for graph in block]
    for one, other in zip(found, read_graphs(path), strict=True):
        assert_same_graph(one, other)
    grnf = fit_stream(GRNF(16, random_state=0), read_blocks(path))
    vectors = np.concatenate([block.Z for block, _ in embed_stream(grnf, read_blocks(path))])
    np.testing.assert_allclose(vectors, grnf.transform(list(read_graphs(path))), rtol=1e-4, atol=1e-6)


def test_lines_of_smiles(tmp_path):
    path = tmp_path / "a.smi"
    path.write_text("CCO ethanol (a)\nCC\n\nC(C bad one\n" + "c1ccccc1 many\n" * 1500)
    blocks = list(read_blocks(path, on_error="yield", n_jobs=2))
    assert [len(block) for block in blocks] == [1024, 479]
    assert all(isinstance(block, RawBatch) for block in blocks)
    for one, other in zip(chain.from_iterable(blocks), read_graphs(path, on_error="yield"), strict=True):
        assert (one.graph_id, one.graph_columns) == (other.graph_id, other.graph_columns)
        if isinstance(other, BadGraph):
            assert one.reason == other.reason
        else:
            assert_same_graph(one, other)
    with pytest.raises(GraphError, match=r"line 4: 'C\(C' is not a valid SMILES"):
        list(read_blocks(path))


def test_other_formats_give_lists(tmp_path):
    path = tmp_path / "many.g6"
    path.write_text("Bw\nDhc\nnonsense \x7f\nBw\n")
    first, second = read_blocks(path, on_error="yield", block_size=3)
    assert [type(item) for item in first] == [RawGraph, RawGraph, BadGraph]
    assert len(second) == 1
    with pytest.raises(GraphError, match="line 3"):
        list(read_blocks(path))


def test_a_block_is_cut_and_joined_without_loss():
    some = [to_raw(random_graph(np.random.default_rng(n), n, 2, 1)) for n in (3, 0, 5, 1)]
    batch = RawBatch.of(some)
    assert_same(batch, some)
    assert_same(batch.take([2, 0, 0]), [some[2], some[0], some[0]])
    assert_same_graph(batch[-1], some[-1])
    with pytest.raises(IndexError):
        batch[4]
