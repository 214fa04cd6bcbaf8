"""Formats of more than one file, and molecules as SMILES: what is written comes back."""

import string
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grnf import Graph, GraphError
from grnf.io import FORMATS, BadGraph, RawGraph, read_graphs, to_raw, write_graphs
from grnf.io.losses import losses
from optional import require, require_format
from raw_graphs import assert_same, raw_graphs
from tu_sets import SHAPES, write_set

EDGE = np.array([[0, 1]])
MOLECULES = Path(__file__).parents[2] / "data" / "molecules.csv"
"""Well-known molecules, and three texts that RDKit refuses."""
WORDS = st.text(string.ascii_letters + " ,;\"'\n\t#é", min_size=1, max_size=6).map(lambda text: f"w{text}w")


def texts(*values):
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


def without_missing(graph):
    """A column of one graph is there for all graphs of a table; where it is empty it says nothing."""

    def some(columns):
        return {
            name: values
            for name, values in columns.items()
            if values.dtype != object or any(value is not None for value in values)
        }

    return replace(graph, node_columns=some(graph.node_columns), edge_columns=some(graph.edge_columns))


@st.composite
def table_graphs(draw):
    graphs = draw(st.lists(raw_graphs(("float", "int"), y=False), min_size=1, max_size=4))
    graphs = [graph for graph in graphs if graph.n_nodes] or [RawGraph(1, np.empty((0, 2), dtype=np.int64))]
    graphs = [
        replace(graph, graph_id=f"g{index}", directed=graph.directed and len(graph.edges) > 0)
        for index, graph in enumerate(graphs)
    ]
    n = graphs[0].n_nodes
    words = texts(*draw(st.lists(WORDS, min_size=n, max_size=n)))
    graphs[0] = replace(graphs[0], node_columns={**graphs[0].node_columns, "word": words})
    return graphs


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".csv.gz", ".parquet"])
@settings(max_examples=40)
@given(graphs=table_graphs())
def test_tables_of_edges_carry_ids_direction_isolated_nodes_and_columns(suffix, graphs):
    require_format(suffix)
    if suffix == ".parquet":  # one type for a column of all graphs
        graphs = [replace(graph, node_columns={}, edge_columns={}) for graph in graphs[1:]] + graphs[:1]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"some{suffix}"
        assert write_graphs(path, graphs, format="edge-table") == len(graphs)
        assert {file.name for file in path.parent.iterdir()} == {f"some{suffix}", f"some.nodes{suffix}"}
        for found, wanted in zip(read_graphs(path), graphs, strict=True):
            assert_same(without_missing(found), wanted, exact=False)
        assert len(list(read_graphs(folder))) == len(graphs)  # the node table is no table of edges


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("name", ["ENZYMES", "MUTAG"])
def test_tu_sets_as_tables_of_edges(tmp_path, name, suffix):
    require_format(suffix)
    graphs = list(read_graphs(write_set(tmp_path / "tu", name)))
    path = tmp_path / "tables" / f"a{suffix}"
    path.parent.mkdir()
    with pytest.raises(GraphError, match=r"attribute 'label'.* would come back changed|a target y"):
        write_graphs(path, graphs, format="edge-table")
    assert not list(path.parent.iterdir())
    write_graphs(path, graphs, format="edge-table", lossy=True)
    for found, wanted in zip(read_graphs(path), graphs, strict=True):
        lost = losses(wanted, found)  # labels come back as numbers, vectors as columns of their own
        assert lost <= {
            "y",
            "node attribute 'label'",
            "edge attribute 'label'",
            "node attribute 'attributes'",
        }
        np.testing.assert_array_equal(found.node_columns["label"], wanted.node_columns["label"].astype(int))
        if "attributes" in wanted.node_columns:
            parts = [found.node_columns[part] for part in sorted(found.node_columns) if part != "label"]
            np.testing.assert_array_equal(np.column_stack(parts), wanted.node_columns["attributes"])


def test_direction_in_a_table_of_edges(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("graph,u,v,directed\na,1,2,True\nb,1,2,false\nc,1,2,\n")
    assert [graph.directed for graph in read_graphs(path)] == [True, False, False]
    assert [graph.directed for graph in read_graphs(path, directed=True)] == [True, False, True]
    assert all(not graph.edge_columns for graph in read_graphs(path))
    path.write_text("graph,u,v,directed\na,1,2,perhaps\n")
    with pytest.raises(GraphError, match="line 2: column 'directed' must be true or false, got 'perhaps'"):
        list(read_graphs(path))


def test_what_is_there_stays_if_a_table_cannot_be_written(tmp_path):
    for name in ("a.csv", "a.nodes.csv"):
        (tmp_path / name).write_text("old")
    with pytest.raises(GraphError, match="no nodes"):
        write_graphs(tmp_path / "a.csv", [Graph(1, []), Graph(0, [])])
    assert {file.name: file.read_text() for file in tmp_path.iterdir()} == {
        "a.csv": "old",
        "a.nodes.csv": "old",
    }


@pytest.mark.parametrize("name", SHAPES)
def test_tu_folders_come_back(tmp_path_factory, tmp_path, name):
    graphs = list(read_graphs(write_set(tmp_path_factory.mktemp("tu"), name)))
    for place in (tmp_path / "plain", f"{tmp_path}/with.dot/"):
        assert write_graphs(place, graphs) == len(graphs)
        assert (Path(place) / f"{Path(place).name}_graph_indicator.txt").is_file()
        for found, wanted in zip(read_graphs(place), graphs, strict=True):
            assert_same(found, wanted)
    with pytest.raises(GraphError, match="exists already"):
        write_graphs(tmp_path / "plain", graphs)
    assert len(list(tmp_path.iterdir())) == 2


SMILES = [
    "OCC",
    "c1ccc2[nH]ccc2c1",
    "C[N+](C)(C)CC([O-])=O",
    "[Na+].[Cl-]",
    "[CH3]",
    "C#N",
    "O=S(=O)(O)c1ccncc1",
    "[13CH4]",
    "F[P-](F)(F)(F)(F)F",
    "[H][H]",
]


def molecules():
    require("rdkit")
    return [replace(to_raw(text), graph_id=f"no {index}") for index, text in enumerate(SMILES)]


@pytest.mark.parametrize(
    ("suffix", "format"), [(".smi", None), (".smi.gz", None), (".csv", "smiles"), (".parquet", "smiles")]
)
def test_molecules_come_back(tmp_path, suffix, format):
    graphs = molecules()
    if format == "smiles":
        graphs = [replace(graph, y=index / 3) for index, graph in enumerate(graphs)]
    path = tmp_path / f"a{suffix}"
    assert write_graphs(path, graphs, format=format) == len(graphs)
    for found, wanted in zip(read_graphs(path), graphs, strict=True):
        wanted = FORMATS["smi"].reorder(wanted)
        assert not losses(wanted, found)
        assert (found.graph_id, found.y) == (wanted.graph_id, wanted.y)


def test_molecules_of_a_table_come_back(tmp_path):
    require("rdkit")
    graphs = list(read_graphs(MOLECULES, y="target", on_error="yield"))
    assert [isinstance(graph, BadGraph) for graph in graphs] == [False] * 18 + [True] * 3
    graphs = graphs[:18]
    write_graphs(tmp_path / "a.smi", graphs, lossy=True)
    for found, wanted in zip(read_graphs(tmp_path / "a.smi"), graphs, strict=True):
        assert losses(FORMATS["smi"].reorder(wanted), found) <= {"y"}


def test_a_drawing_without_aromatic_bonds_is_a_molecule_too(tmp_path):
    require("rdkit")
    ring = np.array([(node, (node + 1) % 6) for node in range(6)])
    benzene = RawGraph(6, ring, {"symbol": texts(*"CCCCCC")}, {"type": texts(*["SINGLE", "DOUBLE"] * 3)})
    with pytest.raises(GraphError, match=r"edge attribute 'type', which would come back changed"):
        write_graphs(tmp_path / "a.smi", [benzene])
    write_graphs(tmp_path / "a.smi", [benzene], lossy=True)
    assert (tmp_path / "a.smi").read_text() == "c1ccccc1\n"


SINGLE = {"type": texts("SINGLE")}


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (RawGraph(0, np.empty((0, 2), dtype=np.int64)), "it has no atoms"),
        (RawGraph(2, EDGE, {}, SINGLE), "node column 'symbol'"),
        (RawGraph(2, EDGE, {"symbol": texts("C", "O")}), "edge column 'type'"),
        (RawGraph(2, EDGE, {"symbol": texts("C", "Qq")}, SINGLE), "node 1 has the symbol 'Qq'"),
        (
            RawGraph(2, EDGE, {"symbol": texts("C", None)}, SINGLE),
            "not a molecule: node 1 has the symbol None",
        ),
        (RawGraph(2, EDGE, {"symbol": texts("C", "O")}, {"type": texts("strong")}), "edge 0 has the type"),
        (RawGraph(2, EDGE, {"symbol": texts("F", "F")}, {"type": texts("TRIPLE")}), "not a valid molecule"),
        (RawGraph(2, EDGE[:, [0, 0]], {"symbol": texts("C", "C")}, SINGLE), "not a valid molecule"),
        (RawGraph(2, EDGE, {"symbol": texts("C", "H")}, SINGLE), "hydrogen atoms that are nodes"),
        (
            RawGraph(2, EDGE, {"symbol": texts("C", "C"), "charge": np.array([0.5, 0])}, SINGLE),
            "charge of node 0 is 0.5",
        ),
    ],
)
@pytest.mark.parametrize("suffix", [".smi", ".csv"])
def test_what_is_no_molecule(tmp_path, graph, message, suffix):
    with pytest.raises(GraphError, match=rf"^graph 1: .*{message}"):
        write_graphs(
            tmp_path / f"a{suffix}",
            [molecules()[0], graph],
            format="smi" if suffix == ".smi" else "smiles",
            lossy=True,
        )
    assert not list(tmp_path.iterdir())
