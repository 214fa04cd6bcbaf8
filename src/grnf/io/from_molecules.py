"""Molecules: RDKit objects and SMILES strings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from grnf._utils.arrays import offsets
from grnf.errors import GraphError
from grnf.io.raw import RawBatch, RawGraph, column_of_values, joined

__all__ = [
    "batch_from_molecules", "batch_from_smiles", "canonical_smiles", "molecule_of_raw", "molecule_of_smiles",
    "quiet_rdkit", "raw_from_smiles", "smiles_from_raw", "smiles_of_mol_block", "standardized",
]  # fmt: skip

MOST_ITERATIONS = 1_250_000
"""Steps of the labels of Cahn, Ingold and Prelog in one molecule, as RDKit recommends: about a second."""
CHANGED_BY_STANDARDIZE = frozenset(".+-")
"""Characters of which a SMILES has at least one if `standardized` can change its molecule."""


def batch_from_smiles(smiles: Sequence[str], *, standardize: bool = False, stereo: bool = False) -> RawBatch:
    """Read SMILES strings with RDKit. Invalid ones are bad graphs of the batch.

    Parameters are those of `batch_from_molecules`. The graph column "smiles" has the strings unchanged.
    """
    mols: dict[int, Any] = {}
    bad: dict[int, str] = {}
    with quiet_rdkit(smiles[0] if smiles else ""):
        for place, text in enumerate(smiles):
            try:
                mol = molecule_of_smiles(text)
                changed = standardize and not CHANGED_BY_STANDARDIZE.isdisjoint(text)
                mols[place] = standardized(mol) if changed else mol
            except GraphError as error:
                bad[place] = error.explanation
    batch = joined([(list(mols), batch_from_molecules(list(mols.values()), stereo=stereo))], len(smiles), bad)
    return replace(batch, graph_columns={"smiles": list(smiles)})


def batch_from_molecules(mols: Sequence[Any], *, standardize: bool = False, stereo: bool = False) -> RawBatch:
    """Convert RDKit molecules: nodes are atoms except hydrogens, edges are bonds.

    Atoms have the columns symbol, charge, aromatic, hydrogens (the number of them that belong to the atom),
    degree and hybridization. Bonds have type, conjugated and ring. Hydrogen atoms, deuterium included, become
    counts of their neighbors, as RDKit does for SMILES.

    Parameters
    ----------
    mols : sequence of RDKit molecules
    standardize : bool, default=False
        Use the largest organic fragment of each molecule, neutralized (RDKit's MolStandardize).
    stereo : bool, default=False
        Add the columns chirality and isotope of atoms and stereo of bonds. Deuterium atoms stay nodes.
    """
    mols = [standardized(mol) for mol in mols] if standardize else mols
    with quiet_rdkit() as chem:
        hydrogen = chem.MolFromSmarts("[#1]")
    mols = [
        _without_hydrogens(mol, isotopes=not stereo) if mol.HasSubstructMatch(hydrogen) else mol
        for mol in mols
    ]
    batch = _with_all_atoms(mols)
    return _with_stereo(batch, mols) if stereo else batch


def _with_all_atoms(mols: Sequence[Any]) -> RawBatch:
    """Convert molecules whose hydrogen atoms are nodes."""
    from rdkit.Chem import Atom, Bond, BondType, HybridizationType

    node_readers = {
        "symbol": Atom.GetSymbol,
        "charge": Atom.GetFormalCharge,
        "aromatic": Atom.GetIsAromatic,
        "hydrogens": Atom.GetTotalNumHs,
        "degree": Atom.GetDegree,
        "hybridization": Atom.GetHybridization,
    }
    edge_readers = {"type": Bond.GetBondType, "conjugated": Bond.GetIsConjugated, "ring": Bond.IsInRing}
    nodes: dict[str, list[Any]] = {name: [] for name in node_readers}
    edges: dict[str, list[Any]] = {name: [] for name in edge_readers}
    ends = list[int]()
    for mol in mols:  # RDKit makes an object of each atom. Those of one molecule are enough at a time
        atoms = [mol.GetAtomWithIdx(index) for index in range(mol.GetNumAtoms())]
        bonds = [mol.GetBondWithIdx(index) for index in range(mol.GetNumBonds())]
        for name, read in node_readers.items():
            nodes[name].extend(map(read, atoms))
        for name, read in edge_readers.items():
            edges[name].extend(map(read, bonds))
        for bond in bonds:
            ends += bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()
    for values, kinds in ((nodes["hybridization"], HybridizationType), (edges["type"], BondType)):
        names = {kind: name for name, kind in kinds.names.items()}
        values[:] = map(names.get, values)
    node_ptr = offsets([mol.GetNumAtoms() for mol in mols])
    edge_ptr = offsets([mol.GetNumBonds() for mol in mols])
    return RawBatch(
        node_ptr,
        edge_ptr,
        np.array(ends, np.int64).reshape(-1, 2),
        {name: column_of_values(values, node_ptr) for name, values in nodes.items()},
        {name: column_of_values(values, edge_ptr) for name, values in edges.items()},
        np.zeros(len(mols), np.bool_),
        [mol.GetProp("_Name") if mol.HasProp("_Name") else None for mol in mols],
        [None] * len(mols),
    )


def standardized(mol: Any) -> Any:
    """Return the largest organic fragment of a molecule, neutralized. Its name stays."""
    with quiet_rdkit(), _valid_molecule():
        chooser, uncharger = _standardizers()
        parent = uncharger.uncharge(chooser.choose(mol))
        if mol.HasProp("_Name"):
            parent.SetProp("_Name", mol.GetProp("_Name"))
        return parent


@cache
def _standardizers() -> tuple[Any, Any]:
    """Return what `standardized` uses. RDKit reads its tables when these are built, so it is done once."""
    from rdkit.Chem.MolStandardize.rdMolStandardize import LargestFragmentChooser, Uncharger

    return LargestFragmentChooser(preferOrganic=True), Uncharger()


def canonical_smiles(mol: Any) -> tuple[str, str, str]:
    """Return the canonical SMILES of a molecule, without its stereochemistry, and also without isotopes."""
    with quiet_rdkit() as chem:
        mol = _without_hydrogens(mol, isotopes=False)
        for atom in mol.GetAtoms():
            atom.SetAtomMapNum(0)
        flat = chem.Mol(mol)
        chem.RemoveStereochemistry(flat)
        plain = _without_hydrogens(flat, isotopes=True)
        return tuple(chem.MolToSmiles(each, isomericSmiles=each is not plain) for each in (mol, flat, plain))


def _without_hydrogens(mol: Any, *, isotopes: bool) -> Any:
    """Return a copy of a molecule whose hydrogen atoms (deuterium too with `isotopes`) are counts."""
    with quiet_rdkit() as chem:
        rules = chem.RemoveHsParameters()
        rules.removeIsotopes = isotopes
        try:
            return chem.RemoveHs(mol, rules)
        except (RuntimeError, ValueError):  # a molecule that RDKit cannot sanitize
            return chem.Mol(mol)


def _with_stereo(batch: RawBatch, mols: Sequence[Any]) -> RawBatch:
    """Add the labels of Cahn, Ingold and Prelog and the isotopes to the columns of molecules."""
    from rdkit.Chem import Mol
    from rdkit.Chem.rdCIPLabeler import AssignCIPLabels

    chirality, isotope, stereo = [], [], []
    for original in mols:
        mol = Mol(original)
        with suppress(RuntimeError):  # of a molecule with too many symmetries. Centers found so far stay
            AssignCIPLabels(mol, maxRecursiveIterations=MOST_ITERATIONS)
        atoms = list(mol.GetAtoms())
        chirality += [_label(atom) for atom in atoms]
        isotope += [str(atom.GetIsotope() or "none") for atom in atoms]
        stereo += [_label(mol.GetBondWithIdx(bond)) for bond in range(mol.GetNumBonds())]
    nodes = {
        "chirality": column_of_values(chirality, batch.node_ptr),
        "isotope": column_of_values(isotope, batch.node_ptr),
    }
    return replace(
        batch,
        node_columns={**batch.node_columns, **nodes},
        edge_columns={**batch.edge_columns, "stereo": column_of_values(stereo, batch.edge_ptr)},
    )


def _label(item: Any) -> str:
    return str(item.GetProp("_CIPCode")) if item.HasProp("_CIPCode") else "none"


def raw_from_smiles(smiles: str) -> RawGraph:
    """Read a SMILES string with RDKit and convert the molecule."""
    return batch_from_molecules([molecule_of_smiles(smiles)])[0]


def molecule_of_smiles(smiles: str) -> Any:
    """Read a SMILES string with RDKit, or raise a `GraphError` with the reason."""
    if not smiles.strip():
        raise GraphError("an empty string is not a molecule")
    mol = None
    with quiet_rdkit(smiles) as chem:
        with suppress(RuntimeError, ValueError):  # thrown by the C++ code of RDKit
            mol = None if "\0" in smiles else chem.MolFromSmiles(smiles)  # RDKit 2024.9 stops there
        if mol is None:
            raise GraphError(f"{_shown(smiles)} is not a valid SMILES string: {_problem(chem, smiles)}")
    return mol


def smiles_of_mol_block(block: str) -> str:
    """Return the SMILES of the structure in a MOL or SD file, V2000 or V3000."""
    with quiet_rdkit() as chem, _valid_molecule():
        mol = chem.MolFromMolBlock(block, sanitize=False)
        if mol is None:
            raise GraphError("not a valid molecule: the structure cannot be read")
        if not mol.GetNumAtoms():
            raise GraphError("not a valid molecule: the structure has no atoms")
        chem.SanitizeMol(mol)
        return str(chem.MolToSmiles(chem.RemoveHs(mol)))


@contextmanager
def quiet_rdkit(smiles: str | None = None) -> Iterator[Any]:
    """Give the module rdkit.Chem, which logs nothing meanwhile. `smiles` is for the error without it."""
    try:
        from rdkit import Chem, rdBase
    except ImportError:
        if smiles is None:
            raise ImportError("molecules need RDKit: pip install 'grnf[chem]'") from None
        raise GraphError(
            f"the string {_shown(smiles)} is read as SMILES, which needs RDKit: pip install 'grnf[chem]'"
        ) from None
    with rdBase.BlockLogs():
        yield Chem


def smiles_from_raw(graph: RawGraph) -> tuple[str, list[int]]:
    """Return the SMILES of a graph whose columns make a molecule, and the order in which it has the nodes.

    The graph must have the columns symbol of nodes and type of edges, as `batch_from_molecules` makes them.
    Charge and hydrogens are optional. Without hydrogens the usual valences decide.
    """
    mol = molecule_of_raw(graph)
    with quiet_rdkit() as chem, _valid_molecule():
        smiles = chem.MolToSmiles(mol, canonical=False)
    return smiles, list(mol.GetPropsAsDict(True, True)["_smilesAtomOutputOrder"])


def molecule_of_raw(graph: RawGraph) -> Any:
    """Return the RDKit molecule of a graph whose columns make one, atoms in the order of its nodes."""
    if not graph.n_nodes:
        raise GraphError("not a molecule: it has no atoms")
    if "symbol" not in graph.node_columns:
        raise GraphError("not a molecule: a node column 'symbol' with the elements is missing")
    if len(graph.edges) and "type" not in graph.edge_columns:
        raise GraphError(
            "not a molecule: an edge column 'type' with SINGLE, DOUBLE, AROMATIC, ... is missing"
        )
    columns = {name: np.asarray(values).tolist() for name, values in graph.node_columns.items()}
    types = np.asarray(graph.edge_columns.get("type", [])).tolist()
    with quiet_rdkit() as chem, _valid_molecule():
        mol = chem.RWMol()
        for node, symbol in enumerate(columns["symbol"]):
            try:
                atom = chem.Atom(symbol if isinstance(symbol, str) else "")
            except RuntimeError:
                raise GraphError(
                    f"not a molecule: node {node} has the symbol {symbol!r:.40}, not an element"
                ) from None
            if "charge" in columns:
                atom.SetFormalCharge(_whole(columns["charge"][node], "charge", node))
            if "hydrogens" in columns:
                atom.SetNumExplicitHs(_whole(columns["hydrogens"][node], "hydrogens", node))
                atom.SetNoImplicit(True)
            mol.AddAtom(atom)
        for row, (ends, kind) in enumerate(zip(graph.edges.tolist(), types, strict=True)):
            if kind not in chem.BondType.names:
                raise GraphError(
                    f"not a molecule: edge {row} has the type {kind!r:.40}, not SINGLE, DOUBLE, ..."
                )
            mol.AddBond(*ends, chem.BondType.names[kind])
            if kind == "AROMATIC":
                mol.GetBondBetweenAtoms(*ends).SetIsAromatic(True)
                for end in ends:
                    mol.GetAtomWithIdx(end).SetIsAromatic(True)
        chem.SanitizeMol(mol)
    return mol


@contextmanager
def _valid_molecule() -> Iterator[None]:
    """Raise a `GraphError` with the reason of RDKit."""
    try:
        yield
    except GraphError:
        raise
    except (RuntimeError, ValueError, TypeError, OverflowError) as error:
        reason = " ".join(f"{error}".split())
        raise GraphError(f"not a valid molecule: {reason or type(error).__name__}") from None


def _whole(value: Any, name: str, node: int) -> int:
    if not isinstance(value, (int, float)) or value != value or int(value) != value:
        raise GraphError(f"not a molecule: {name} of node {node} is {value!r}, not a whole number")
    return int(value)


def _problem(chem: Any, smiles: str) -> str:
    """Return why RDKit refuses a string."""
    try:
        mol = chem.MolFromSmiles(smiles, sanitize=False)
    except (RuntimeError, ValueError) as error:
        return f"RDKit fails: {error}"
    if mol is None:
        return "its syntax is wrong"
    problems = chem.DetectChemistryProblems(mol)
    return problems[0].Message() if problems else "RDKit cannot make a molecule of it"


def _shown(smiles: str) -> str:
    return repr(smiles if len(smiles) <= 80 else smiles[:77] + "...")
