"""Tables as people have them: without a header, in other encodings and with other marks."""

import pytest

from grnf import GraphError
from grnf.io import BadGraph, read_blocks, read_graphs
from grnf.io.files.file import File
from grnf.io.files.ranges import ranges_of, read_range
from grnf.io.files.reading import guess_format
from optional import require


@pytest.fixture(autouse=True)
def _rdkit():
    require("rdkit")


def written(tmp_path, name, text, encoding="utf-8"):
    path = tmp_path / name
    path.write_bytes(text.encode(encoding))
    return path


@pytest.mark.parametrize("header", [None, False])
@pytest.mark.parametrize("text", ["CCO,1.5\nc1ccccc1,2.5\nC,3\n", "CC(=O)O,7\n", "CCO\nCCN(C)C\nCC(=O)N\n"])
def test_a_table_without_a_header_keeps_its_first_molecule(tmp_path, text, header):
    path = written(tmp_path, "a.csv", text)
    assert guess_format(path) == "smiles"
    options = {} if header is None else {"header": header}
    found = list(read_graphs(path, **options))
    assert len(found) == text.count("\n")
    assert found[0].graph_columns["smiles"] == text.split("\n")[0].split(",")[0]
    if "," in text:
        assert next(read_graphs(path, y="2", **options)).y == float(text.split("\n")[0].split(",")[1])
    ranges = ranges_of(path, 2)
    assert sum(each.count for each in ranges) == len(found)
    assert sum(len(block) for each in ranges for block in read_range(each, column="1")) == len(found)


def test_a_header_stays_one(tmp_path):
    """A name of a column that RDKit would read does not make a row of it."""
    path = written(tmp_path, "a.csv", "CO,Drug\n1,CC(=O)O\n2,c1ccccc1\n")
    assert [graph.n_nodes for graph in read_graphs(path)] == [4, 6]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-8-sig", "latin-1"])
@pytest.mark.parametrize("name", ["a.csv", "a.smi"])
def test_encodings(tmp_path, name, encoding):
    text = (
        "CCO {}\nCC(=O)O caf\u00e9\n" if name == "a.smi" else "smiles,graph_id\nCCO,{}\nCC(=O)O,caf\u00e9\n"
    )
    path = written(tmp_path, name, text.format("\u00c4thanol"), encoding)
    detected = encoding in ("utf-16", "utf-8-sig")
    options = {} if detected else {"encoding": encoding}
    ids = ["\u00c4thanol", "caf\u00e9"]
    assert [graph.graph_id for graph in read_graphs(path, **options)] == ids
    assert [graph.graph_id for block in read_blocks(path, **options) for graph in block] == ids
    ranges = ranges_of(path, 1, **options)
    assert [g.graph_id for each in ranges for block in read_range(each, **options) for g in block] == ids


def test_the_encoding_to_pass_is_named(tmp_path):
    path = written(tmp_path, "a.csv", "smiles,graph_id\nC,caf\u00e9\nCC,tea\n", "latin-1")
    with pytest.raises(GraphError, match="--encoding latin-1") as caught:
        list(read_graphs(path))
    assert caught.value.where == f"{path}, line 2"
    bad, good = read_graphs(path, on_error="yield")
    assert isinstance(bad, BadGraph)
    assert good.graph_id == "tea"
    with pytest.raises(GraphError, match="unknown encoding 'klingon'"):
        list(read_graphs(path, encoding="klingon"))


def test_extensions_of_cxsmiles_are_not_names(tmp_path):
    text = "CCO |$R1;;$| ethanol\nC |(0,0,)|\nCC plain\n"
    found = list(read_graphs(written(tmp_path, "a.smi", text)))
    assert [graph.graph_id for graph in found] == ["ethanol", None, "plain"]
    assert [graph.n_nodes for graph in found] == [3, 1, 2]


def test_decimal_commas(tmp_path):
    path = written(tmp_path, "a.csv", "smiles;y;note\nCCO;1,5;a, b\nC;-2,5e1;3,4,5\n")
    assert [graph.y for graph in read_graphs(path)] == ["1,5", "-2,5e1"]
    found = list(read_graphs(path, decimal=",", keep=["note"]))
    assert [graph.y for graph in found] == [1.5, -25.0]
    assert [graph.graph_columns["note"] for graph in found] == ["a, b", "3,4,5"]
    with pytest.raises(GraphError, match="decimal mark"):
        read_graphs(path, decimal="x")


@pytest.mark.parametrize("name", ["id", "CID", "Graph_ID", "mol_id"])
def test_usual_columns_of_ids(tmp_path, name):
    path = written(tmp_path, "a.csv", f"smiles,{name}\nCCO,702\nC,297\n")
    assert [graph.graph_id for graph in read_graphs(path)] == ["702", "297"]


@pytest.mark.parametrize("smiles", ["*", "[*]", "*.*", " "])
def test_what_has_no_atoms_is_refused(tmp_path, smiles):
    path = written(tmp_path, "a.csv", f"smiles,n\n{smiles},1\nCCO,2\n*CC,3\n")
    bad, good, polymer = read_graphs(path, on_error="yield")
    assert "is not a molecule" in bad.reason
    assert (good.n_nodes, polymer.n_nodes) == (3, 3)


def test_a_table_is_looked_at_once(tmp_path, monkeypatch):
    """Guessing the format, finding the columns and reading open the file twice."""
    path = written(tmp_path, "a.csv", "Drug,y\nCCO,1\nc1ccccc1,2\n")
    opened = []
    genuine = File.open

    def counted(self, **how):
        opened.append(self)
        return genuine(self, **how)

    monkeypatch.setattr(File, "open", counted)
    assert len(list(read_graphs(path))) == 2
    assert len(opened) == 2
