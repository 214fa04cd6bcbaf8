"""Molecules as chemists draw them: RDKit's coordinates, symbols, hydrogens, charges, orders of bonds."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np
import numpy.typing as npt

from grnf.errors import GraphError
from grnf.io.from_molecules import molecule_of_raw, quiet_rdkit
from grnf.io.raw import RawGraph
from grnf.typing import FloatArray

__all__ = ["bond_orders", "is_molecule", "labels_of_atoms", "molecule_places"]

ORDERS = {"SINGLE": 1, "DOUBLE": 2, "TRIPLE": 3, "AROMATIC": 4}
SUBSCRIPTS = {1: "", 2: "₂", 3: "₃", 4: "₄"}


def is_molecule(graph: RawGraph) -> bool:
    """Whether nodes have element symbols and edges types of bonds, as those that RDKit reads."""
    if "symbol" not in graph.node_columns or graph.directed or not graph.n_nodes:
        return False
    return "type" in graph.edge_columns or not len(graph.edges)


def labels_of_atoms(graph: RawGraph) -> list[str]:
    """Return what stands at each atom: its symbol, but for carbon with its hydrogens, and its charge.

    Examples
    --------
    >>> from grnf.io.from_molecules import raw_from_smiles
    >>> labels_of_atoms(raw_from_smiles("NCC[O-]"))
    ['NH₂', 'C', 'C', 'O⁻']
    """
    none = [0.0] * graph.n_nodes
    charges = _column(graph, "charge", none)
    hydrogens = _column(graph, "hydrogens", none)
    labels = []
    for symbol, charge, count in zip(
        np.asarray(graph.node_columns["symbol"]).tolist(), charges, hydrogens, strict=True
    ):
        label = "?" if symbol is None else str(symbol)[:12]
        if label != "C" and count in SUBSCRIPTS:
            label += "H" + SUBSCRIPTS[int(count)]
        if charge and charge == charge:
            size = "" if abs(charge) == 1 else f"{abs(charge):g}"
            label += size + ("⁺" if charge > 0 else "⁻")
        labels.append(label)
    return labels


def _column(graph: RawGraph, name: str, default: list[float]) -> list[float]:
    values = np.asarray(graph.node_columns.get(name, default))
    return values.tolist() if values.ndim == 1 and values.dtype.kind in "biuf" else default


def bond_orders(graph: RawGraph) -> npt.NDArray[np.uint8]:
    """Return 1, 2, 3 for bonds of that order and 4 for aromatic ones; 1 for any other."""
    types = np.asarray(graph.edge_columns.get("type", [])).tolist()
    return np.array([ORDERS.get(kind, 1) for kind in types], np.uint8)


def molecule_places(graph: RawGraph) -> FloatArray | None:
    """Return RDKit's coordinates of the atoms; None where it is absent or makes no molecule of the graph."""
    if find_spec("rdkit") is None:
        return None
    with quiet_rdkit("") as chem:
        mol = _from_smiles(chem, graph)
        try:
            mol = molecule_of_raw(graph) if mol is None else mol
            from rdkit.Chem import rdDepictor

            rdDepictor.Compute2DCoords(mol)
        except (GraphError, RuntimeError, ValueError):
            return None
        return np.asarray(mol.GetConformer().GetPositions())[:, :2]


def _from_smiles(chem: Any, graph: RawGraph) -> Any:
    """Return the molecule of the SMILES that goes with a graph, if it has the same atoms and bonds."""
    smiles = graph.graph_columns.get("smiles")
    mol = chem.MolFromSmiles(smiles) if isinstance(smiles, str) else None
    if mol is None or mol.GetNumAtoms() != graph.n_nodes or mol.GetNumBonds() != len(graph.edges):
        return None
    bonds = [(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()) for bond in mol.GetBonds()]
    symbols = [atom.GetSymbol() for atom in mol.GetAtoms()]
    same = symbols == np.asarray(graph.node_columns["symbol"]).tolist() and bonds == [
        tuple(edge) for edge in np.asarray(graph.edges).tolist()
    ]
    return mol if same else None
