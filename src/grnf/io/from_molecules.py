"""Molecules: RDKit objects and SMILES strings."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from grnf.errors import GraphError
from grnf.io.raw import RawGraph

__all__ = [
    "molecule_of_raw",
    "molecule_of_smiles",
    "quiet_rdkit",
    "raw_from_mol",
    "raw_from_smiles",
    "smiles_from_raw",
    "smiles_of_mol_block",
]


def raw_from_mol(mol: Any) -> RawGraph:
    """Convert an RDKit molecule: nodes are its atoms (hydrogens as RDKit has them), edges its bonds.

    Atoms have the columns symbol, charge, aromatic, hydrogens (the number of them that belong to the atom),
    degree and hybridization; bonds have type, conjugated and ring. Stereochemistry is not used.
    """
    atoms = [mol.GetAtomWithIdx(index) for index in range(mol.GetNumAtoms())]
    bonds = [mol.GetBondWithIdx(index) for index in range(mol.GetNumBonds())]
    edges = [(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()) for bond in bonds]
    return RawGraph(
        n_nodes=len(atoms),
        edges=np.array(edges, dtype=np.int64).reshape(-1, 2),
        node_columns={
            "symbol": _categories([atom.GetSymbol() for atom in atoms]),
            "charge": np.array([atom.GetFormalCharge() for atom in atoms], dtype=np.float64),
            "aromatic": np.array([atom.GetIsAromatic() for atom in atoms], dtype=np.float64),
            "hydrogens": np.array([atom.GetTotalNumHs() for atom in atoms], dtype=np.float64),
            "degree": np.array([atom.GetDegree() for atom in atoms], dtype=np.float64),
            "hybridization": _categories([str(atom.GetHybridization()) for atom in atoms]),
        },
        edge_columns={
            "type": _categories([str(bond.GetBondType()) for bond in bonds]),
            "conjugated": np.array([bond.GetIsConjugated() for bond in bonds], dtype=np.float64),
            "ring": np.array([bond.IsInRing() for bond in bonds], dtype=np.float64),
        },
        graph_id=mol.GetProp("_Name") if mol.HasProp("_Name") else None,
    )


def raw_from_smiles(smiles: str) -> RawGraph:
    """Read a SMILES string with RDKit and convert the molecule."""
    return raw_from_mol(molecule_of_smiles(smiles))


def molecule_of_smiles(smiles: str) -> Any:
    """Read a SMILES string with RDKit, or say why it is none."""
    with quiet_rdkit(smiles) as chem:
        if not smiles.strip():
            raise GraphError("an empty string is no molecule")
        mol = chem.MolFromSmiles(smiles)
        if mol is None:
            raise GraphError(f"{_shown(smiles)} is no SMILES of a molecule: {_problem(chem, smiles)}")
    return mol


def smiles_of_mol_block(block: str) -> str:
    """Return the SMILES of the structure in a MOL or SD file, V2000 or V3000, or say why it is none."""
    try:
        from rdkit import Chem, rdBase
    except ImportError:
        raise ImportError("SD files need RDKit: pip install 'grnf[chem]'") from None
    with rdBase.BlockLogs(), _valid_molecule():
        mol = Chem.MolFromMolBlock(block, sanitize=False)
        if mol is None:
            raise GraphError("the structure cannot be read")
        if not mol.GetNumAtoms():
            raise GraphError("the structure has no atoms")
        Chem.SanitizeMol(mol)
        return str(Chem.MolToSmiles(Chem.RemoveHs(mol)))


@contextmanager
def quiet_rdkit(smiles: str) -> Iterator[Any]:
    """Give the module rdkit.Chem, which writes nothing meanwhile; `smiles` is what it is wanted for."""
    try:
        from rdkit import Chem, rdBase
    except ImportError:
        raise GraphError(
            f"the string {_shown(smiles)} is read as SMILES, which needs RDKit: pip install 'grnf[chem]'"
        ) from None
    with rdBase.BlockLogs():
        yield Chem


def smiles_from_raw(graph: RawGraph) -> tuple[str, list[int]]:
    """Return the SMILES of a graph whose columns make a molecule, and the order in which it has the nodes.

    Wanted are the columns symbol of nodes and type of edges, as `raw_from_mol` has them; charge and hydrogens
    count where they are there. Without hydrogens the usual valences decide.

    Examples
    --------
    >>> smiles_from_raw(raw_from_smiles("OC=O"))
    ('OC=O', [0, 1, 2])
    """
    mol = molecule_of_raw(graph)
    with quiet_rdkit("") as chem, _valid_molecule():
        smiles = chem.MolToSmiles(mol, canonical=False)
    return smiles, list(mol.GetPropsAsDict(True, True)["_smilesAtomOutputOrder"])


def molecule_of_raw(graph: RawGraph) -> Any:
    """Return the RDKit molecule of a graph whose columns make one, atoms in the order of its nodes.

    Examples
    --------
    >>> molecule_of_raw(raw_from_smiles("OC=O")).GetNumAtoms()
    3
    """
    try:
        from rdkit import Chem, rdBase
    except ImportError:
        raise ImportError("SMILES need RDKit: pip install 'grnf[chem]'") from None
    if not graph.n_nodes:
        raise GraphError("no molecule: it has no atoms")
    if "symbol" not in graph.node_columns:
        raise GraphError("no molecule: a node column 'symbol' with the elements is missing")
    if len(graph.edges) and "type" not in graph.edge_columns:
        raise GraphError("no molecule: an edge column 'type' with SINGLE, DOUBLE, AROMATIC, ... is missing")
    with rdBase.BlockLogs(), _valid_molecule():
        mol = Chem.RWMol()
        _add_atoms(Chem, mol, graph)
        _add_bonds(Chem, mol, graph)
        Chem.SanitizeMol(mol)
    return mol


@contextmanager
def _valid_molecule() -> Iterator[None]:
    """Say why RDKit finds that something is no molecule."""
    try:
        yield
    except (RuntimeError, ValueError, TypeError, OverflowError) as error:
        reason = str(error).strip().splitlines()
        raise GraphError(f"no valid molecule: {next(iter(reason), type(error).__name__)}") from None


def _add_atoms(chem: Any, mol: Any, graph: RawGraph) -> None:
    columns = {name: np.asarray(values).tolist() for name, values in graph.node_columns.items()}
    for node, symbol in enumerate(columns["symbol"]):
        if not isinstance(symbol, str):
            raise GraphError(f"no molecule: the symbol of node {node} is {symbol!r}")
        try:
            atom = chem.Atom(symbol)
        except RuntimeError:
            raise GraphError(f"no molecule: node {node} has the symbol {symbol!r:.40}, no element") from None
        if "charge" in columns:
            atom.SetFormalCharge(_whole(columns["charge"][node], "charge", node))
        if "hydrogens" in columns:
            atom.SetNumExplicitHs(_whole(columns["hydrogens"][node], "hydrogens", node))
            atom.SetNoImplicit(True)
        mol.AddAtom(atom)


def _add_bonds(chem: Any, mol: Any, graph: RawGraph) -> None:
    types = np.asarray(graph.edge_columns.get("type", [])).tolist()
    for row, (ends, kind) in enumerate(zip(graph.edges.tolist(), types, strict=True)):
        if kind not in chem.BondType.names:
            raise GraphError(
                f"no molecule: edge {row} has the type {kind!r:.40}; wanted is SINGLE, DOUBLE, ..."
            )
        mol.AddBond(*ends, chem.BondType.names[kind])
        if kind == "AROMATIC":
            mol.GetBondBetweenAtoms(*ends).SetIsAromatic(True)
            for end in ends:
                mol.GetAtomWithIdx(end).SetIsAromatic(True)


def _whole(value: Any, name: str, node: int) -> int:
    if not isinstance(value, (int, float)) or value != value or int(value) != value:
        raise GraphError(f"no molecule: {name} of node {node} is {value!r}, no whole number")
    return int(value)


def _problem(chem: Any, smiles: str) -> str:
    """Say why RDKit refuses a string."""
    mol = chem.MolFromSmiles(smiles, sanitize=False)
    if mol is None:
        return "its syntax is wrong"
    problems = chem.DetectChemistryProblems(mol)
    return problems[0].Message() if problems else "RDKit cannot make a molecule of it"


def _shown(smiles: str) -> str:
    return repr(smiles if len(smiles) <= 80 else smiles[:77] + "...")


def _categories(values: list[str]) -> Any:
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column
