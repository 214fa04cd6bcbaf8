"""Molecules written as SMILES, from graphs that say which elements and bonds they are made of."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import numpy as np

from grnf.errors import GraphError
from grnf.io.files.edge_table_write import Waiting, write_rows
from grnf.io.files.molecules import graph_of_smiles
from grnf.io.files.values import scalar_y
from grnf.io.from_molecules import smiles_from_raw
from grnf.io.raw import RawGraph

__all__ = ["changed_in_smiles", "fits_smiles", "in_smiles_order", "write_smiles", "write_smiles_lines"]

ATOMS = ("symbol", "charge", "aromatic", "hydrogens", "degree", "hybridization")
BONDS = ("type", "conjugated", "ring")


def fits_smiles(name: str, values: Any) -> bool:  # noqa: ARG001
    """Whether a column is one of those that a molecule has."""
    return name in ATOMS + BONDS


def in_smiles_order(graph: RawGraph) -> RawGraph:
    """Return a graph with its nodes in the order in which its SMILES has them.

    Examples
    --------
    >>> columns = {"symbol": np.array(["O", "C", "C"], dtype=object)}
    >>> bonds = {"type": np.array(["SINGLE", "SINGLE"], dtype=object)}
    >>> in_smiles_order(RawGraph(3, np.array([[1, 0], [1, 2]]), columns, bonds)).edges.tolist()
    [[1, 0], [1, 2]]
    """
    order = np.array(smiles_from_raw(graph)[1], dtype=np.int64)
    place = np.argsort(order)
    columns = {name: np.asarray(values)[order] for name, values in graph.node_columns.items()}
    return replace(graph, edges=place[graph.edges], node_columns=columns)


def changed_in_smiles(graph: RawGraph) -> list[str]:
    """Name what the molecule of a SMILES has otherwise than its graph, but for the order."""
    ours, theirs = in_smiles_order(graph), graph_of_smiles(smiles_from_raw(graph)[0])
    changed = [
        name
        for name, values in ours.node_columns.items()
        if not _equal(values, theirs.node_columns[name], range(ours.n_nodes), range(theirs.n_nodes))
    ]
    ends = [np.sort(each.edges, axis=1) for each in (ours, theirs)]
    orders = [np.lexsort(each.T) for each in ends]
    return changed + [
        name
        for name, values in ours.edge_columns.items()
        if not _equal(values, theirs.edge_columns[name], *orders)
    ]


def _equal(ours: Any, theirs: Any, order: Any, other: Any) -> bool:
    return [ours[row] for row in order] == [theirs[row] for row in other]


def write_smiles_lines(file: IO[bytes], graphs: Iterable[RawGraph]) -> None:
    """Write lines "SMILES" or "SMILES name"."""
    for index, graph in enumerate(graphs):
        name = "" if graph.graph_id is None else str(graph.graph_id)
        if len(name.splitlines()) > 1:
            raise GraphError(f"graph {index}: the name {name!r:.60} has more than one line")
        file.write(f"{_smiles(graph, index)} {name}".rstrip().encode("utf-8", "replace") + b"\n")


def write_smiles(path: Path, graphs: Iterable[RawGraph]) -> None:
    """Write a table with the columns smiles, graph_id and y, the latter two where a graph has any."""
    with tempfile.TemporaryFile("w+", encoding="utf-8") as file:
        table = Waiting(file, ("smiles",))
        for index, graph in enumerate(graphs):
            more = {} if graph.graph_id is None else {"graph_id": str(graph.graph_id)}
            if graph.y is not None:
                more["y"] = scalar_y(graph.y, "a table")
            table.add((_smiles(graph, index),), list(more), more)
        write_rows(path, table.kinds, table.rows())


def _smiles(graph: RawGraph, index: int) -> str:
    try:
        smiles = smiles_from_raw(graph)[0]
        if graph_of_smiles(smiles).n_nodes != graph.n_nodes:
            raise GraphError("hydrogen atoms that are nodes would be read as part of their neighbours")
    except GraphError as error:
        raise GraphError(f"graph {index}: {error}") from None
    return smiles
