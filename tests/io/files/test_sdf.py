"""SD files: the molecules and fields of each record, as a table of SMILES has them."""

import gzip

import numpy as np
import pytest

from grnf import GraphError
from grnf.io import BadGraph, RawGraph, read_blocks, read_graphs
from grnf.io.files import sdf
from grnf.io.files.reading import guess_format
from grnf.io.raw import RawBatch
from optional import require

SMILES = {"ethanol": "CCO", "benzene": "c1ccccc1", "": "[NH4+].[O-]C=O", "acid": "OC(=O)c1ccccc1"}


def mol_block(smiles, title="", hydrogens=False, v3000=False):
    Chem = require("rdkit.Chem")
    mol = Chem.MolFromSmiles(smiles)
    mol = Chem.AddHs(mol) if hydrogens else mol
    mol.SetProp("_Name", title)
    return Chem.MolToMolBlock(mol, forceV3000=v3000)


def record(smiles, title="", fields=(), **how):
    texts = "".join(f">  <{name}>\n{value}\n\n" for name, value in dict(fields).items())
    return mol_block(smiles, title, **how) + texts + "$$$$\n"


def written(tmp_path, text, name="a.sdf"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def same_molecules(found, smiles):
    """Compare with what is read from SMILES: counts of elements and bonds, sorted degrees."""
    Chem = require("rdkit.Chem")
    for graph, text in zip(found, smiles, strict=True):
        mol = Chem.MolFromSmiles(text)
        assert sorted(graph.node_columns["symbol"].tolist()) == sorted(a.GetSymbol() for a in mol.GetAtoms())
        assert sorted(map(str, graph.edge_columns["type"].tolist())) == sorted(
            str(bond.GetBondType()) for bond in mol.GetBonds()
        )


@pytest.mark.parametrize("how", [{}, {"hydrogens": True}, {"v3000": True}])
def test_molecules_and_fields(tmp_path, how):
    fields = [{"y": 1, "logP": "0.5"}, {"y": 0}, {"note": "two\nlines"}, {"logP": ""}]
    items = zip(SMILES.items(), fields, strict=True)
    path = written(tmp_path, "".join(record(s, name, own, **how) for (name, s), own in items))
    found = list(read_graphs(path, keep=["logP", "note"]))
    assert guess_format(path) == "sdf"
    same_molecules(found, SMILES.values())
    assert [graph.graph_id for graph in found] == ["ethanol", "benzene", None, "acid"]
    assert [graph.y for graph in found] == [1, 0, None, None]
    assert [graph.graph_columns["logP"] for graph in found] == ["0.5", None, None, None]
    assert found[2].graph_columns["note"] == "two\nlines"
    assert found[0].graph_columns["smiles"] == "CCO"


def test_names_and_targets_of_choice(tmp_path):
    fields = {"CAS": "64-17-5", "EC50": "3.5", "class": "toxic"}
    path = written(tmp_path, record("CCO", "title", fields))
    (graph,) = read_graphs(path, graph_id="CAS", y=["EC50", "class"])
    assert (graph.graph_id, graph.y) == ("64-17-5", [3.5, "toxic"])
    with pytest.raises(
        GraphError, match=r"no column 'cas': did you mean 'CAS'\? Available: \['smiles', 'graph_id', 'CAS'"
    ):
        list(read_graphs(path, graph_id="cas"))


def test_fields_that_are_called_as_ours(tmp_path):
    """The structure counts, whatever a field of SMILES says; a field graph_id is what it says."""
    path = written(tmp_path, record("CCO", "title", {"smiles": "CC", "SMILES": "C", "graph_id": "me"}))
    (graph,) = read_graphs(path, keep=["field smiles", "SMILES"])
    assert (graph.n_nodes, graph.graph_id) == (3, "me")
    assert graph.graph_columns == {"smiles": "CCO", "field smiles": "CC", "SMILES": "C"}


def test_bad_records_among_good_ones(tmp_path):
    broken = "broken\n\n\nnonsense\nM  END\n$$$$\n"
    empty = "nothing\n\n\n  0  0  0  0  0  0  0  0  0  0999 V2000\nM  END\n$$$$\n"
    valence = record("CCO", "valence").replace("  2  3  1  0", "  2  3  3  0")
    path = written(tmp_path, record("CCO", "good") + broken + empty + valence + record("CC", "last"))
    found = list(read_graphs(path, on_error="yield"))
    assert [type(graph) for graph in found] == [RawGraph, BadGraph, BadGraph, BadGraph, RawGraph]
    assert [graph.graph_id for graph in found] == ["good", "broken", "nothing", "valence", "last"]
    assert "a.sdf, record 2, line 12: not a valid molecule: the structure cannot be read" in found[1].reason
    assert "has no atoms" in found[2].reason
    assert "valence" in found[3].reason
    with pytest.raises(GraphError, match="record 2"):
        list(read_graphs(path))


def test_blocks_are_the_same(tmp_path):
    texts = [record(s, f"{name}{n}", {"n": n}) for n in range(300) for name, s in SMILES.items()]
    texts[7] = "bad\n\n\n\n$$$$\n"
    path = written(tmp_path, "".join(texts))
    blocks = list(read_blocks(path, keep=["n"], on_error="yield", n_jobs=2))
    assert [len(block) for block in blocks] == [1024, 176]
    assert all(isinstance(block, RawBatch) for block in blocks)
    single = read_graphs(path, keep=["n"], on_error="yield")
    for one, other in zip((graph for block in blocks for graph in block), single, strict=True):
        assert (one.graph_id, one.graph_columns) == (other.graph_id, other.graph_columns)
        assert isinstance(one, BadGraph) == isinstance(other, BadGraph)
        if isinstance(one, RawGraph):
            assert np.array_equal(one.edges, other.edges)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_files_of_other_systems(tmp_path, end):
    text = (
        record("CCO", "eins", {"Stoff": "Äthanol"}) + mol_block("CC", "zwei") + "\n\n"
    )  # no $$$$ at the end
    data = text.replace("\n", end)
    for number, encoded in enumerate((data.encode("latin-1"), b"\xef\xbb\xbf" + data.encode())):
        found = list(read_graphs(written(tmp_path, encoded, f"{number}.sd"), keep=["Stoff"]))
        assert [graph.graph_id for graph in found] == ["eins", "zwei"]
        assert found[0].graph_columns["Stoff"] == "Äthanol"


def test_mol_gzip_and_nothing(tmp_path):
    (graph,) = read_graphs(written(tmp_path, mol_block("CCO", "one"), "one.mol"))
    assert (graph.graph_id, graph.n_nodes) == ("one", 3)
    text = record("CCO", "a", {"y": 2}) * 3
    assert len(list(read_graphs(written(tmp_path, gzip.compress(text.encode()), "a.sdf.gz")))) == 3
    assert list(read_graphs(written(tmp_path, "", "empty.sdf"))) == []


def test_records_without_end_are_not_held(tmp_path, monkeypatch):
    monkeypatch.setattr(sdf, "LONGEST_RECORD", 1000)
    monkeypatch.setattr(sdf, "LONGEST_LINE", 500)
    long = "long\n\n\n" + "x\n" * 5000 + "$$$$\n"
    wide = "wide\n\n\n" + "x" * 5000 + "\n$$$$\n"
    path = written(tmp_path, record("CC", "a") + long + wide + record("CC", "b"))
    found = list(read_graphs(path, on_error="yield"))
    assert [type(graph) for graph in found] == [RawGraph, BadGraph, BadGraph, RawGraph]
    assert "longer than 1000 bytes" in found[1].reason
    assert "longer than 500 bytes" in found[2].reason
