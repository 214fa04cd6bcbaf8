"""Molecules from SMILES: a column of a CSV or Parquet table, or the first word of lines in a .smi file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

from grnf.errors import GraphError
from grnf.io.files.limits import LONGEST_LINE, LONGEST_SMILES
from grnf.io.files.records import OnError, each_record, line_records
from grnf.io.files.streams import Source, decoded
from grnf.io.files.tables import Row, cell, find_column, read_table
from grnf.io.from_molecules import raw_from_smiles
from grnf.io.raw import BadGraph, RawGraph

__all__ = ["SMILES_NAMES", "graph_of_smiles", "read_smiles", "read_smiles_lines"]

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
        Columns for the target and for the name of each molecule; by default those called y and graph_id.
    on_error : {"raise", "yield"}
    """
    _require_rdkit()
    names: dict[str, str] = {}

    def choose(columns: list[str]) -> list[str]:
        names["smiles"] = find_column(columns, column, SMILES_NAMES, "SMILES", source)
        for role, given in (("y", y), ("graph_id", graph_id)):
            if given is not None or role in columns:
                names[role] = find_column(columns, given or role, (), role, source)
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
    _require_rdkit()

    def build(line: bytes) -> RawGraph:
        smiles, *name = decoded(line, "the line").split(None, 1) or [""]
        return graph_of_smiles(smiles, graph_id=name[0].strip() if name else None)

    return each_record(line_records(source, LONGEST_LINE), build, on_error)


def graph_of_smiles(smiles: Any, graph_id: str | None = None, y: Any = None) -> RawGraph:
    """Return the graph of a SMILES string from a file.

    Examples
    --------
    >>> graph_of_smiles("C=O", "formaldehyde").node_columns["symbol"]
    array(['C', 'O'], dtype=object)
    """
    if not isinstance(smiles, str):
        raise GraphError(f"the SMILES is missing or no text: {smiles!r}")
    if len(smiles) > LONGEST_SMILES:
        raise GraphError(f"a SMILES of {len(smiles)} characters; up to {LONGEST_SMILES} are read")
    try:
        graph = raw_from_smiles(smiles)
    except GraphError:
        raise
    except (RuntimeError, ValueError) as error:  # what the C++ code of RDKit throws
        raise GraphError(f"RDKit fails at {smiles[:80]!r}: {error}") from None
    return replace(graph, graph_id=graph_id, y=y)


def _require_rdkit() -> None:
    if find_spec("rdkit") is None:
        raise ImportError("SMILES need RDKit: pip install 'grnf[chem]'")
