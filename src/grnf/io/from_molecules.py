"""Molecules: RDKit objects and SMILES strings."""

from __future__ import annotations

from typing import Any

import numpy as np

from grnf.errors import GraphError
from grnf.io.raw import RawGraph

__all__ = ["raw_from_mol", "raw_from_smiles"]


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
    try:
        from rdkit import Chem, rdBase
    except ImportError:
        raise GraphError(
            f"the string {_shown(smiles)} is read as SMILES, which needs RDKit: pip install 'grnf[chem]'"
        ) from None
    if not smiles.strip():
        raise GraphError("an empty string is no molecule")
    with rdBase.BlockLogs():
        mol = Chem.MolFromSmiles(smiles)
        if mol is None:
            raise GraphError(f"{_shown(smiles)} is no SMILES of a molecule: {_problem(Chem, smiles)}")
    return raw_from_mol(mol)


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
