"""Tables: SMILES, edges and nodes, rows of Hugging Face data sets."""

import itertools
from collections import Counter

import numpy as np
import pytest

from grnf import GraphError
from grnf.io import BadGraph, RawGraph, read_graphs, write_graphs
from grnf.io.files.reading import guess_format
from optional import require

pd = require("pandas")


def table(tmp_path, suffix, frame, name="t"):
    path = tmp_path / f"{name}{suffix}"
    if suffix == ".parquet":
        frame.to_parquet(path)
    else:
        frame.to_csv(path, index=False, sep="\t" if suffix == ".tsv" else ",")
    return path


MOLECULES = pd.DataFrame(
    {
        "Name": ["methane", "bad", "salt", "none"],
        "SMILES": ["C", "C1CC", "[Na+].[Cl-]", None],
        "logp": [1.5, 2, 3, 4],
    }
)


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet", ".csv.gz"])
def test_smiles(tmp_path, suffix):
    path = table(tmp_path, suffix, MOLECULES)
    assert guess_format(path) == "smiles"
    found = list(read_graphs(path, y="logp", graph_id="Name", on_error="yield"))
    assert [type(graph) for graph in found] == [RawGraph, BadGraph, RawGraph, BadGraph]
    assert [graph.graph_id for graph in found] == ["methane", "bad", "salt", "none"]
    assert found[0].y == 1.5
    assert found[1].index == 1
    assert "'C1CC'" in found[1].reason
    assert found[2].node_columns["symbol"].tolist() == ["Na", "Cl"]
    assert found[2].node_columns["charge"].tolist() == [1, -1]
    with pytest.raises(GraphError, match=r"(line 3|row 1): .*C1CC"):
        list(read_graphs(path))
    with pytest.raises(GraphError, match="no column 'ic50'"):
        list(read_graphs(path, y="ic50"))


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet", ".csv.gz"])
def test_smiles_by_what_a_column_holds(tmp_path, suffix):
    frame = pd.DataFrame(
        {
            "state": ["CO", "CN", "IN", "NC"],
            "Drug": ["CC(=O)Oc1ccccc1", "c1ccccc1O", "CCCCCCN", "C"],
            "n": ["1", "2", "3", "4"],
            "text": ["C is good", "C too", "O well", "N"],
            "Y": [1, 0, 1, 0],
        }
    )
    path = table(tmp_path, suffix, frame)
    assert guess_format(path) == "smiles"
    assert [graph.n_nodes for graph in read_graphs(path)] == [10, 7, 7, 1]
    assert [graph.y for graph in read_graphs(path)] == [1, 0, 1, 0]
    assert [graph.y for graph in read_graphs(path, y=["Y", "state"])][:2] == [[1, "CO"], [0, "CN"]]
    assert next(read_graphs(path, column="state")).n_nodes == 2
    assert [graph.y for graph in read_graphs(path, y=[])] == [[]] * 4


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"state": ["CO", "CN"], "class": ["C", "N"]}, "neither SMILES"),
        ({"name": ["methane", "water"], "formula": ["C6H6", "H2O"]}, "neither SMILES"),
    ],
)
def test_words_are_no_molecules(tmp_path, columns, message):
    path = table(tmp_path, ".csv", pd.DataFrame(columns))
    with pytest.raises(GraphError, match=message):
        guess_format(path)
    with pytest.raises(GraphError, match="no column of SMILES"):
        list(read_graphs(path, format="smiles"))


def test_two_columns_of_molecules(tmp_path):
    path = table(tmp_path, ".csv", pd.DataFrame({"drug": ["CC(=O)O"], "solvent": ["CS(C)=O"]}))
    with pytest.raises(GraphError, match=r"the columns .* all hold SMILES. Name one"):
        list(read_graphs(path))
    assert [graph.n_nodes for graph in read_graphs(path, column="solvent")] == [4]


def test_a_few_bad_molecules_do_not_hide_the_column(tmp_path):
    drugs = ["CC(=O)O"] * 2 + ["c1ccccc1" + "C" * n for n in range(18)] + ["C1CC"]
    path = table(tmp_path, ".csv", pd.DataFrame({"Drug": drugs}))
    assert [type(graph) for graph in read_graphs(path, on_error="yield")] == [RawGraph] * 20 + [BadGraph]


def test_smiles_lines(tmp_path):
    path = tmp_path / "a.smi"
    path.write_text("CCO ethanol (a)\nCC\n\nC(C bad one\n")
    found = list(read_graphs(path, on_error="yield"))
    assert [graph.graph_id for graph in found] == ["ethanol (a)", None, "bad one"]
    assert isinstance(found[2], BadGraph)
    assert "line 4" in found[2].reason


@pytest.mark.parametrize("text", ["SMILES,a\nC\nCC,1\n", "SMILES,a\nC,1,2\nCC,1\n"])
def test_rows_with_a_wrong_number_of_fields(tmp_path, text):
    (tmp_path / "a.csv").write_text(text)
    found = list(read_graphs(tmp_path / "a.csv", on_error="yield"))
    assert [type(graph) for graph in found] == [BadGraph, RawGraph]
    assert "line 2" in found[0].reason
    assert "fields for the 2 columns" in found[0].reason


EDGES = pd.DataFrame(
    {
        "graph_id": ["a", "a", "b"],
        "source": [1, 2, 1],
        "target": [2, 3, 1],
        "weight": [0.5, 1.5, 2.0],
        "bond": ["single", None, "double"],
    }
)
NODES = pd.DataFrame(
    {"graph_id": ["a", "a", "a", "empty", "b"], "node": [3, 2, 1, 1, 1], "element": ["C", "N", "O", "H", "H"]}
)


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet"])
def test_edge_tables(tmp_path, suffix):
    path = table(tmp_path, suffix, EDGES)
    assert guess_format(path) == "edge-table"
    one, two = read_graphs(path)
    assert (one.graph_id, two.graph_id) == ("a", "b")
    assert one.edges.tolist() == [[0, 1], [1, 2]]
    assert one.edge_columns["weight"].tolist() == [0.5, 1.5]
    assert one.edge_columns["bond"].tolist() == ["single", None]
    assert two.edges.tolist() == [[0, 0]]
    nodes = table(tmp_path, suffix, NODES, "nodes")
    one, empty, two = read_graphs(path, nodes=nodes, directed=True)
    assert one.directed
    assert one.edges.tolist() == [[2, 1], [1, 0]]
    assert one.node_columns["element"].tolist() == ["C", "N", "O"]
    assert (empty.n_nodes, len(empty.edges), empty.graph_id) == (1, 0, "empty")
    assert two.n_nodes == 1


def test_the_index_of_pandas_is_not_an_attribute(tmp_path):
    frame = pd.DataFrame({"source": ["a", "b"], "target": ["b", "c"], "w": [1, 2]}, index=[3, 5])
    frame.to_parquet(tmp_path / "a.parquet")
    (graph,) = read_graphs(tmp_path / "a.parquet")
    assert list(graph.edge_columns) == ["w"]


def test_columns_can_be_named(tmp_path):
    frame = EDGES.rename(columns={"graph_id": "g", "source": "s", "target": "t"})
    path = table(tmp_path, ".csv", frame)
    with pytest.raises(GraphError, match="neither SMILES nor source and target"):
        guess_format(path)
    options = {"graph_id": "g", "source_column": "s", "target_column": "t"}
    assert len(list(read_graphs(path, format="edge-table", **options))) == 2


@pytest.mark.parametrize(
    ("edges", "nodes", "message"),
    [
        ("graph_id,source,target\na,1,\n", None, "line 2: no node in column 'target'"),
        ("graph_id,source,target\n,1,2\n", None, "line 2: no id of a graph"),
        ("graph_id,source,target\na,1\n", None, "line 2: 2 fields for the 3 columns"),
        ("graph_id,source,target,w\na,1,2,inf\n", None, "edge column 'w' is infinite"),
        ("graph_id,source,source\na,1,2\n", None, "no column of target among .*'source.1'"),
        ('graph_id,source,target\na,1,"2\n', None, "line 2: unexpected end of data"),
        ("graph_id,source,target\na,1,2\n", "graph_id,node\na,1\n", "there is no node '2'"),
        (
            "graph_id,source,target\na,1,1\n",
            "graph_id,node\na,1\na,1\n",
            "ids of nodes must be unique, got '1' twice",
        ),
        (
            "graph_id,source,target\na,1,1\n",
            "graph_id,node\nb,1\n",
            "graph 'a': this graph is not in the table",
        ),
        ("graph_id,source\n1,2\n", None, "no column of target"),
        ("source,target\n1,2\n", "graph_id,node\na,1\n", "only one has a column of graphs"),
        ("graph_id,source,target\na,1,2\n", "node\n1\n", "only one has a column of graphs"),
        ("x," * 10**6 + "source,target\n", None, "line 1: the line is longer than"),
    ],
)
def test_damage_in_edge_tables(tmp_path, edges, nodes, message):
    (tmp_path / "e.csv").write_text(edges)
    options = {}
    if nodes is not None:
        (tmp_path / "n.csv").write_text(nodes)
        options["nodes"] = tmp_path / "n.csv"
    with pytest.raises(GraphError, match=message):
        list(read_graphs(tmp_path / "e.csv", format="edge-table", **options))


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet"])
def test_a_table_without_graphs_is_one_graph(tmp_path, suffix):
    frame = pd.DataFrame({"from": ["a", "b"], "to": ["b", "c"], "w": [0.5, 2.0]})
    for name, rows in (("s1", frame), ("s2", frame[:1]), ("s3", frame[:0])):
        table(tmp_path, suffix, rows, name)
    found = list(read_graphs(tmp_path))
    assert [(graph.graph_id, graph.n_nodes) for graph in found] == [("s1", 3), ("s2", 2), ("s3", 0)]
    assert found[0].edge_columns["w"].tolist() == [0.5, 2.0]
    table(tmp_path, suffix, pd.DataFrame({"node": ["c", "a", "b", "d"], "x": [1, 2, 3, 4]}), "s1.nodes")
    (graph,) = read_graphs(tmp_path / f"s1{suffix}")
    assert (graph.graph_id, graph.n_nodes, graph.edges.tolist()) == (None, 4, [[1, 2], [2, 0]])
    assert graph.node_columns["x"].tolist() == [1, 2, 3, 4]


def test_a_fault_in_a_table_of_one_graph(tmp_path):
    (tmp_path / "a.csv").write_text("source,target\n1,2\n3,\n")
    (bad,) = read_graphs(tmp_path / "a.csv", on_error="yield")
    assert (bad.graph_id, bad.index) == (None, 0)
    assert "a.csv, line 3: no node in column 'target'" in bad.reason


def test_hugging_face_rows(tmp_path):
    rows = pd.DataFrame(
        {
            "edge_index": [[[0, 1, 1, 2], [1, 0, 2, 1]], [[0], [1]], [[], []], [[0], [7]]],
            "edge_attr": [[[1], [1], [2], [2]], [[1]], [], [[1]]],
            "node_feat": [[[5, 1], [6, 1], [7, 1]], [[5, 1], [6, 1]], [[1, 2]], [[1, 2]]],
            "y": [[1], [0], [1], [0]],
            "num_nodes": [3, 2, 1, 1],
        }
    )
    path = table(tmp_path, ".parquet", rows)
    assert guess_format(path) == "parquet"
    one, two, three, bad = read_graphs(path, on_error="yield")
    assert not one.directed
    assert one.edges.tolist() == [[0, 1], [1, 2]]
    assert one.edge_columns["edge_attr"].tolist() == [[1], [2]]
    assert one.node_columns["x"].tolist() == [[5, 1], [6, 1], [7, 1]]
    assert one.y == 1
    assert two.directed
    assert (three.n_nodes, len(three.edges)) == (1, 0)
    assert bad.index == 3
    assert "row 3" in bad.reason
    assert "outside 0 .. 0" in bad.reason
    rows["edge_attr"] = [[[1], [2], [2], [2]], [[1]], [], [[1]]]
    assert next(read_graphs(table(tmp_path, ".parquet", rows))).directed  # attributes differ by direction


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"num_nodes": 10**12}, "num_nodes must be an integer"),
        ({"num_nodes": 10**9}, "would take about"),
        ({"num_nodes": -1}, "num_nodes must be an integer >= 0"),
        ({"num_nodes": 1.5}, "num_nodes must be an integer"),
        ({"num_nodes": None, "x": 5}, "x must have one row per node"),
        ({"edge_index": None}, "edge_index is missing"),
        ({"edge_index": [[0], [1], [2]]}, r"edge_index must have shape \(2"),
        ({"edge_index": [[0, 1], [1]]}, "edge_index must be an array .* rows of equal length"),
        ({"edge_index": [[0.5], [1]]}, "edge_index must hold integers, the numbers of the nodes"),
        ({"edge_index": [[2**70], [1]]}, "edge_index must hold integers"),
        ({"edge_index": [[2**63], [1]]}, "outside 0|integers"),
        ({"edge_index": [[-1], [1]]}, "outside 0"),
        ({"node_feat": [[1.0], [2.0]]}, r"x must have one row per node, .* got shape \(2, 1\)"),
        ({"node_feat": [[1.0], [float("inf")], [0]]}, "infinite at node 1"),
        ({"node_feat": [["a"], ["b"], ["c"]]}, "x must hold real numbers"),
        ({"node_feat": [[1], [2, 3], [4]]}, "rows of equal length"),
        ({"grnf_columns": "{}"}, "read from Parquet files only"),
    ],
)
def test_damage_in_rows(row, message):
    from grnf.io.files.graph_rows import graph_of_row

    with pytest.raises(GraphError, match=message):
        graph_of_row({"edge_index": [[0], [1]], "num_nodes": 3, **row})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "grnf_columns does not describe"),
        ('{"edges": 10000000000000}', "1 arcs for 10000000000000 edges"),
        ('{"edges": 1, "node_numbers": [[0, "a", 10000000000, "f8"]]}', "beyond the numbers"),
        (None, "a value is missing"),
    ],
)
def test_damage_in_rows_with_grnf_columns(tmp_path, text, message):
    path = tmp_path / "a.parquet"
    write_graphs(path, [RawGraph(2, np.array([[0, 1]]), directed=True, graph_id=name) for name in "abc"])
    frame = pd.read_parquet(path)
    frame.loc[1, "grnf_columns"] = text
    frame.to_parquet(path)
    good, bad, last = read_graphs(path, on_error="yield")
    assert (good.graph_id, bad.graph_id, last.graph_id) == ("a", "b", "c")
    assert "a.parquet, row 1: " in bad.reason
    assert message in bad.reason


@pytest.mark.slow
def test_moses(shared):
    """40,000 molecules of MOSES: none is lost, and their atoms and bonds are as RDKit counts them."""
    path = shared / "data" / "molecules" / "moses_test.csv.gz"
    assert guess_format(path) == "smiles"
    molecules = atoms = bonds = 0
    symbols = Counter()
    for graph in itertools.islice(read_graphs(path), 40_000):
        if molecules == 0:
            assert graph.n_nodes == 22
            assert graph.edge_columns["type"].tolist().count("AROMATIC") == 6
        molecules += 1
        atoms += graph.n_nodes
        bonds += len(graph.edges)
        symbols.update(graph.node_columns["symbol"].tolist())
    assert (molecules, atoms, bonds) == (40_000, 865_102, 930_226)
    counts = {"C": 623442, "N": 112101, "O": 94858, "Cl": 5472, "F": 10394, "S": 17585, "Br": 1250}
    assert symbols == counts
