"""Molecules from SMILES: a column of a CSV or Parquet table, or the first word of lines in a .smi file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from grnf.errors import GraphError
from grnf.io.limits import LONGEST_LINE, LONGEST_SMILES
from grnf.io.raw import BadGraph, RawGraph, checked_raw
from grnf.io.records import OnError, each_record
from grnf.io.streams import Source, decoded
from grnf.io.tables import Row, cell, find_column, read_table

__all__ = ["SMILES_NAMES", "graph_of_molecule", "graph_of_smiles", "read_smiles", "read_smiles_lines"]

SMILES_NAMES = ("smiles", "canonical_smiles", "isomeric_smiles", "smile")


def read_smiles(
    source: Source,
    *,
    column: str | None = None,
    y: str | None = None,
    graph_id: str | None = None,
    on_error: OnError = "raise",
) -> Iterator[RawGraph | BadGraph]:
    """Yield the molecules of a table, row by row.

    Parameters
    ----------
    source : Source
    column : str, optional
        The column of SMILES; by default the one called SMILES in any case.
    y, graph_id : str, optional
        Columns for the target and for the name of each molecule.
    on_error : {"raise", "yield"}
    """
    names: dict[str, str] = {}

    def choose(columns: list[str]) -> list[str]:
        names["smiles"] = find_column(columns, column, SMILES_NAMES, "SMILES", source)
        for role, given in (("y", y), ("graph_id", graph_id)):
            if given is not None:
                names[role] = find_column(columns, given, (), role, source)
        return list(names.values())

    def build(row: Row) -> RawGraph:
        if row.problem:
            raise GraphError(row.problem)
        target = cell(row.values[names["y"]]) if "y" in names else None
        return graph_of_smiles(row.values[names["smiles"]], graph_id=name_of(row), y=target)

    def name_of(row: Row) -> str | None:
        name = row.values[names["graph_id"]] if "graph_id" in names else None
        return None if name is None else str(name)

    records = ((row.where, name_of(row), row) for row in read_table(source, choose))
    return each_record(records, build, on_error)


def read_smiles_lines(source: Source, *, on_error: OnError = "raise") -> Iterator[RawGraph | BadGraph]:
    """Yield the molecules of a .smi file: lines "SMILES" or "SMILES name"."""
    records = (
        (f"{source}, line {number}", None, line)
        for number, line in source.lines(LONGEST_LINE)
        if line.strip()
    )

    def build(line: bytes) -> RawGraph:
        smiles, *name = decoded(line, "the line").split(None, 1)
        return graph_of_smiles(smiles, graph_id=name[0].strip() if name else None)

    return each_record(records, build, on_error)


def graph_of_smiles(smiles: Any, *, graph_id: str | None = None, y: Any = None) -> RawGraph:
    """Return the graph of a SMILES string: heavy atoms and the bonds between them.

    Examples
    --------
    >>> graph_of_smiles("C=O")
    RawGraph(n_nodes=2, n_edges=1, node_columns=['element', 'charge', 'hydrogens', 'aromatic'], \
edge_columns=['bond'], undirected)
    """
    try:
        from rdkit import Chem, rdBase
    except ImportError:
        raise ImportError("SMILES need rdkit: pip install 'grnf[chem]'") from None
    if not isinstance(smiles, str) or not smiles.strip():
        raise GraphError(f"the SMILES is empty or no text: {smiles!r}")
    if len(smiles) > LONGEST_SMILES:
        raise GraphError(f"a SMILES of {len(smiles)} characters; up to {LONGEST_SMILES} are read")
    with rdBase.BlockLogs():
        try:
            molecule = Chem.MolFromSmiles(smiles.strip())
        except (RuntimeError, ValueError, UnicodeError):  # what its C++ code throws
            molecule = None
    if molecule is None:
        raise GraphError(f"RDKit cannot read the SMILES {smiles[:80]!r}; correct or remove it")
    return graph_of_molecule(molecule, graph_id=graph_id, y=y)


def graph_of_molecule(molecule: Any, *, graph_id: str | None = None, y: Any = None) -> RawGraph:
    """Return the graph of an RDKit molecule."""
    atoms = list(molecule.GetAtoms())
    bonds = list(molecule.GetBonds())
    elements, kinds = np.empty(len(atoms), dtype=object), np.empty(len(bonds), dtype=object)
    elements[:] = [atom.GetSymbol() for atom in atoms]
    kinds[:] = [str(bond.GetBondType()).lower() for bond in bonds]
    edges = np.array([(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()) for bond in bonds], dtype=np.int64)
    node_columns = {
        "element": elements,
        "charge": np.array([atom.GetFormalCharge() for atom in atoms], dtype=np.int64),
        "hydrogens": np.array([atom.GetTotalNumHs() for atom in atoms], dtype=np.int64),
        "aromatic": np.array([atom.GetIsAromatic() for atom in atoms], dtype=np.bool_),
    }
    return checked_raw(
        len(atoms), edges.reshape(-1, 2), node_columns, {"bond": kinds}, graph_id=graph_id, y=y
    )
