"""Molecules as SMILES: a column of a table, or the first word of lines in a .smi file. SD files are tables.

Only graphs with columns of elements and bonds can be written.
"""

from __future__ import annotations

import json
import os
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any

import numpy as np

from grnf._utils.lazy import guest
from grnf._utils.running import in_processes
from grnf.errors import GraphError
from grnf.io.files.edge_table import PendingRows
from grnf.io.files.file import File, OnError, open_sink
from grnf.io.files.limits import LONGEST_LINE, LONGEST_SMILES
from grnf.io.files.parquet import open_parquet
from grnf.io.files.sdf import END_OF_RECORD
from grnf.io.files.tables import ID_NAMES, Rows, cell, find_column, table_of, usual_column
from grnf.io.files.values import scalar_y
from grnf.io.from_molecules import batch_from_smiles, raw_from_smiles, smiles_from_raw
from grnf.io.losses import losses
from grnf.io.raw import Cell, RawBatch, RawGraph

ATOMS = ("symbol", "charge", "aromatic", "hydrogens", "degree", "hybridization")
BONDS = ("type", "conjugated", "ring")


def read_smiles(
    file: File,
    *,
    column: str | None = None,
    y: str | Sequence[str] | None = None,
    graph_id: str | None = None,
    keep: Sequence[str] = (),
    standardize: bool = False,
    stereo: bool = False,
    on_error: OnError = "raise",
    n_jobs: int | None = None,
) -> Iterator[RawBatch]:
    """Yield the molecules of a table in blocks. Their graph column "smiles" is the SMILES of the table.

    By default the `column` of SMILES is the one called SMILES in any case, or the only one whose first values
    are nearly all molecules. `y` are columns of targets, by default the one called y or Y. Several give a
    list. `graph_id` is the column of names, by default the one called graph_id, id, CID or the like. `keep`
    are columns that go with the molecules as graph columns. `standardize` and `stereo` are those of
    `grnf.io.from_molecules.batch_from_molecules`.
    """
    if find_spec("rdkit") is None:
        raise ImportError("SMILES need RDKit: pip install 'grnf[chem]'")
    convert = partial(_molecules_of_rows, standardize=standardize, stereo=stereo)
    for rows, batch in in_processes(convert, _table_rows(file, column, y, graph_id, keep), n_jobs):
        errors = {row: GraphError(why, where=rows.where(row)) for row, why in sorted(batch.bad.items())}
        if errors and on_error == "raise":
            raise next(iter(errors.values()))
        yield replace(batch, bad={row: str(error) for row, error in errors.items()})


def read_smiles_lines(
    file: File,
    *,
    standardize: bool = False,
    stereo: bool = False,
    on_error: OnError = "raise",
    n_jobs: int | None = None,
) -> Iterator[RawBatch]:
    """Yield the molecules of a .smi file: lines "SMILES" or "SMILES name". As in `read_smiles`."""
    file.format = "smi"
    return read_smiles(file, standardize=standardize, stereo=stereo, on_error=on_error, n_jobs=n_jobs)


def _molecules_of_rows(rows: Rows, standardize: bool, stereo: bool) -> tuple[Rows, RawBatch]:
    columns = dict(rows.columns)
    ids, targets = columns.pop(ID), columns.pop(TARGET)
    batch = molecules_of_values(columns["smiles"], standardize=standardize, stereo=stereo)
    bad = {**batch.bad, **rows.problems}
    return rows, replace(batch, graph_ids=ids, y=targets, bad=bad, graph_columns=columns)


def molecules_of_values(values: Iterable[Any], **options: bool) -> RawBatch:
    """Read values that should be SMILES. Others are bad graphs. Options are those of `batch_from_smiles`."""
    texts, bad = [], {}
    for place, value in enumerate(values):
        try:
            texts.append(_checked_smiles(value))
        except GraphError as error:
            texts.append("")
            bad[place] = str(error)
    batch = batch_from_smiles(texts, **options)
    return replace(batch, bad={**batch.bad, **bad}) if bad else batch


def copy_molecules(file: File, format: str, keep: Iterable[int], output: str | os.PathLike[str]) -> None:
    """Write the records of a file of molecules that have these positions, unchanged and with all columns."""
    kept, file.format = set(keep), format
    with open_sink(output) as sink:
        if table_of(file).kind == "parquet":
            with file.open(recode=False) as stream:
                guest("pyarrow.parquet", "Parquet files").write_table(
                    open_parquet(stream, str(file)).read().take(sorted(kept)), sink
                )
            return
        if format == "sdf":
            ends: list[int] = [n for n, line in file.lines(LONGEST_LINE) if line.startswith(END_OF_RECORD)]
        else:
            ends = [place for rows in table_of(file).blocks() for place in rows.places]
        first = 1 if format == "sdf" else ends[0]
        with file.open() as stream:
            for number, line in enumerate(stream, start=1):
                if not first <= number <= ends[-1] or bisect_left(ends, number) in kept:
                    sink.write(line)


ID, TARGET = "\0id", "\0target"
"""Columns of `Rows` of molecules in addition to "smiles" and those that are kept."""


def _table_rows(
    file: File,
    column: str | None,
    y: str | Sequence[str] | None,
    graph_id: str | None,
    keep: Sequence[str],
) -> Iterator[Rows]:
    """Yield the rows of a table with ids, targets and "smiles" as columns, and those to keep."""
    if isinstance(keep, str) or "smiles" in keep:
        raise GraphError(f"keep takes a list of names other than smiles, which is there, got {keep!r}")
    table = table_of(file)
    if not table.columns:
        return
    usual = [name for name in ("y", "Y") if name in table.columns][:1]
    targets = usual if y is None else [y] if isinstance(y, str) else y
    for name in (*targets, *keep, *([] if graph_id is None else [graph_id])):
        find_column(table.columns, name, (), "values", file)
    smiles = table.smiles_column(column)
    id_column = usual_column(table.columns, ID_NAMES) if graph_id is None else graph_id
    id_column = None if id_column == smiles else id_column
    several = y is not None and not isinstance(y, str)
    for rows in table.blocks([smiles, *([id_column] if id_column else []), *targets, *keep]):
        given, nothing = rows.columns, [None] * len(rows)
        values = [list(map(cell, given[name])) for name in targets]
        columns: dict[str, list[Any]] = {
            ID: [_text(value) for value in given[id_column]] if id_column else nothing,
            TARGET: [[column[row] for column in values] for row in range(len(rows))]
            if several
            else [*values, nothing][0],
            "smiles": [_text(value) for value in given[smiles]],
            **{name: [_kept(value, table.kind) for value in given[name]] for name in keep},
        }
        for row in rows.problems:  # which field belongs to which column is not known
            for name in columns.keys() - {ID}:
                columns[name][row] = None
        yield replace(rows, columns=columns)


def _text(value: Any) -> str | None:
    return None if value is None or value == "" else str(value)


def _kept(value: Any, kind: str) -> Any:
    """Return a value for a graph column: texts, numbers and truth values stay, others become text."""
    if kind != "parquet":
        return None if value in (None, "") else Cell(value)
    if isinstance(value, (list, dict)):
        return json.dumps(value, default=str)
    return value if isinstance(value, str) else cell(value)


def _checked_smiles(smiles: Any) -> str:
    if not isinstance(smiles, str):
        raise GraphError(f"the SMILES is missing, or not a text: {smiles!r}")
    if not smiles.strip("*[]. "):
        raise GraphError(f"{smiles!r} is not a molecule: it has no atom of a known element")
    if len(smiles) > LONGEST_SMILES:
        raise GraphError(f"a SMILES string must have at most {LONGEST_SMILES} characters, got {len(smiles)}")
    return smiles


def fits_smiles(name: str, values: Any) -> bool:  # noqa: ARG001
    """Whether a column is one of those that a molecule has."""
    return name in ATOMS + BONDS


def in_smiles_order(graph: RawGraph) -> RawGraph:
    """Return a graph with its nodes in the order in which its SMILES has them."""
    order = np.array(smiles_from_raw(graph)[1], dtype=np.int64)
    place = np.argsort(order)
    columns = {name: np.asarray(values)[order] for name, values in graph.node_columns.items()}
    return replace(graph, edges=place[graph.edges], node_columns=columns)


def changed_in_smiles(graph: RawGraph) -> list[str]:
    """Name what the molecule of a SMILES has otherwise than its graph, but for the order."""
    ours, theirs = in_smiles_order(graph), raw_from_smiles(smiles_from_raw(graph)[0])
    return sorted(losses(replace(ours, y=None, graph_id=None), theirs))


def write_smiles_lines(file: IO[bytes], graphs: Iterable[RawGraph]) -> None:
    """Write lines "SMILES" or "SMILES name"."""
    for index, graph in enumerate(graphs):
        name = "" if graph.graph_id is None else str(graph.graph_id)
        if len(name.splitlines()) > 1 or "\t" in name:
            raise GraphError(f"graph {index}: the name {name!r:.60} has more than one line, or a tab")
        file.write(f"{_smiles(graph, index)} {name}".rstrip().encode("utf-8", "replace") + b"\n")


def write_smiles(path: Path, graphs: Iterable[RawGraph]) -> None:
    """Write a table with the columns smiles and, if a graph has them, graph_id and y."""
    with ExitStack() as stack:
        table = PendingRows(stack, ("smiles",))
        for index, graph in enumerate(graphs):
            row = {"smiles": _smiles(graph, index)}
            if graph.graph_id is not None:
                row["graph_id"] = str(graph.graph_id)
            if graph.y is not None:
                row["y"] = scalar_y(graph.y, "a table")
            table.add(row)
        table.write(path)


def _smiles(graph: RawGraph, index: int) -> str:
    try:
        smiles = smiles_from_raw(graph)[0]
        if raw_from_smiles(smiles).n_nodes != graph.n_nodes:
            raise GraphError("hydrogen atoms that are nodes would be read as part of their neighbors")
    except GraphError as error:
        raise error.located(index=index) from None
    return smiles
