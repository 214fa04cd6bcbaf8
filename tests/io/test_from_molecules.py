import contextlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grnf import GraphError
from grnf.io import to_raw
from grnf.io.objects import iter_raw
from optional import require

Chem = require("rdkit.Chem")


def test_atoms_and_bonds():
    raw = to_raw("[NH3+]Cc1ccccc1")
    assert (raw.n_nodes, len(raw.edges), raw.directed) == (8, 8, False)
    assert raw.node_columns["symbol"].tolist() == ["N", *"CCCCCCC"]
    assert raw.node_columns["charge"].tolist() == [1, 0, 0, 0, 0, 0, 0, 0]
    assert raw.node_columns["aromatic"].tolist() == [0, 0, 1, 1, 1, 1, 1, 1]
    assert raw.node_columns["hydrogens"].tolist() == [3, 2, 0, 1, 1, 1, 1, 1]
    assert raw.node_columns["degree"].tolist() == [1, 2, 3, 2, 2, 2, 2, 2]
    assert set(raw.node_columns["hybridization"]) == {"SP2", "SP3"}
    assert set(raw.edge_columns["type"]) == {"SINGLE", "AROMATIC"}
    assert raw.edge_columns["ring"].sum() == 6


def test_a_molecule_is_its_smiles():
    mol = Chem.MolFromSmiles("CCO")
    mol.SetProp("_Name", "ethanol")
    raw, again = to_raw(mol), to_raw("CCO")
    assert raw.graph_id == "ethanol"
    assert raw.edges.tolist() == again.edges.tolist()
    for name, column in raw.node_columns.items():
        assert column.tolist() == again.node_columns[name].tolist()
    assert to_raw(np.str_("[Na+].[Cl-]")).n_nodes == 2
    explicit = to_raw(Chem.AddHs(mol))  # hydrogens are counts, wherever they come from
    for name, column in raw.node_columns.items():
        assert column.tolist() == explicit.node_columns[name].tolist()


@pytest.mark.parametrize(
    ("smiles", "message"),
    [
        ("C1CC", "'C1CC' is not a valid SMILES string: its syntax is wrong"),
        ("CC(C)(C)(C)C", "Explicit valence for atom # 1 C, 5, is greater than permitted"),
        ("c1cccc1", "Can't kekulize mol"),
        ("x" * 1000, r"'x{77}\.\.\.' is not a valid SMILES"),
        (" ", "an empty string is not a molecule"),
    ],
)
def test_bad_smiles_say_why_and_nothing_is_printed(smiles, message, capfd):
    with pytest.raises(GraphError, match=message):
        to_raw(smiles)
    assert capfd.readouterr().err == ""


@given(st.text(max_size=20) | st.text("CNOcn123()[]=#+-.@/\\%", max_size=20))
def test_any_text_gives_a_molecule_or_our_error(text):
    with contextlib.suppress(GraphError):
        assert to_raw(text).n_nodes > 0


def test_without_rdkit_the_remedy_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "rdkit", None)
    with pytest.raises(
        GraphError, match=r"'CCO' is read as SMILES, which needs RDKit: pip install 'grnf\[chem\]'"
    ):
        to_raw("CCO")


def test_well_known_molecules():
    lines = (Path(__file__).parents[1] / "data" / "molecules.csv").read_text().splitlines()[1:]
    smiles = [line.split(",")[0] for line in lines if "no molecule" not in line]
    raws = list(iter_raw(smiles))
    assert len(raws) == 18
    assert {symbol for raw in raws for symbol in raw.node_columns["symbol"]} == {
        *("C", "N", "O", "S", "F", "Cl", "Br", "Na"),
    }
    for raw in raws:
        degree = np.bincount(raw.edges.ravel(), minlength=raw.n_nodes)
        np.testing.assert_array_equal(raw.node_columns["degree"], degree)


def _equal(first, second, **options):
    """Whether two molecules are the same graph with the same columns."""
    from grnf.io.from_molecules import batch_from_molecules
    from grnf.search.duplicates import compare_raw

    batch = batch_from_molecules([first, second], **options)
    return compare_raw(batch[0], batch[1]) == "isomorphic"


@pytest.mark.parametrize(
    ("first", "second", "equal"),
    [  # by default, with stereo, with standardize
        ("CCO", "OCC", (True, True, True)),
        ("C[C@H](N)O", "C[C@@H](N)O", (True, False, True)),
        ("F/C=C/F", "F/C=C\\F", (True, False, True)),
        ("[13CH4]", "C", (True, False, True)),
        ("[2H]OC", "OC", (True, False, True)),
        ("CC(=O)[O-]", "CC(=O)O", (False, False, True)),
        ("[Na+].CC(=O)[O-]", "CC(=O)O", (False, False, True)),
        ("Cc1cccc(C)c1", "Cc1ccc(C)cc1", (False, False, False)),
        ("CC(=O)C", "CC(O)=C", (False, False, False)),
        ("[CH3]", "C", (False, False, False)),
    ],
)
def test_differences_that_are_distinguished(first, second, equal):
    mols = [Chem.MolFromSmiles(text) for text in (first, second)]
    assert equal == (_equal(*mols), _equal(*mols, stereo=True), _equal(*mols, standardize=True))


@pytest.mark.parametrize("stereo", [False, True])
@pytest.mark.parametrize("smiles", ["CCO", "C[C@H](N)O", "[NH4+]", "c1cc[nH]c1", "F/C=C/F"])
def test_hydrogens_of_smiles_sd_records_and_addhs_agree(smiles, stereo):
    mol = Chem.MolFromSmiles(smiles)
    full = Chem.AddHs(mol)
    record = Chem.MolFromMolBlock(Chem.MolToMolBlock(full), removeHs=False)
    assert _equal(mol, full, stereo=stereo)
    if "@" not in smiles and "/" not in smiles:  # a record without coordinates has no stereochemistry
        assert _equal(mol, record, stereo=stereo)
