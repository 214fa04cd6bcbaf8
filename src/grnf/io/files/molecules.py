"""Molecules as SMILES: a column of a table, or the first word of lines in a .smi file; SD files are tables.

Only graphs that say which elements and bonds they are made of can be written.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import IO, Any, TypeAlias

import numpy as np

from grnf._utils.processes import in_processes
from grnf.errors import GraphError
from grnf.io.files.edge_table import Waiting, write_rows
from grnf.io.files.file import Block, File, OnError, decoded, each_record
from grnf.io.files.limits import LONGEST_LINE, LONGEST_SMILES
from grnf.io.files.tables import SMILES_NAMES, cell, find_column, table_of
from grnf.io.files.values import scalar_y
from grnf.io.from_molecules import batch_from_smiles, raw_from_smiles, smiles_from_raw
from grnf.io.raw import BadGraph, Cell, RawBatch, RawGraph

__all__ = [
    "block_of_texts",
    "changed_in_smiles",
    "fits_smiles",
    "in_smiles_order",
    "is_smi_header",
    "read_smiles",
    "read_smiles_blocks",
    "read_smiles_line_blocks",
    "read_smiles_lines",
    "write_smiles",
    "write_smiles_lines",
]

BLOCK = 1024
"""Molecules that are read at a time."""
_Content: TypeAlias = tuple[Any, str | None, Any] | GraphError
_Record: TypeAlias = tuple[str, str | None, _Content, Mapping[str, Any]]

EXTENSION = re.compile(r"\|[^|]*\|")
"""Of CXSMILES: coordinates, labels and the like, after the SMILES."""
ATOMS = ("symbol", "charge", "aromatic", "hydrogens", "degree", "hybridization")
BONDS = ("type", "conjugated", "ring")


def read_smiles(
    file: File,
    *,
    column: str | None = None,
    y: str | Sequence[str] | None = None,
    graph_id: str | None = None,
    keep: Sequence[str] = (),
    on_error: OnError = "raise",
) -> Iterator[RawGraph | BadGraph]:
    """Yield the molecules of a table, row by row; their graph column "smiles" is the SMILES as given.

    Parameters
    ----------
    file : File
    column : str, optional
        The column of SMILES; by default the one called SMILES in any case, or the only one whose first values
        are nearly all molecules.
    y : str or sequence of str, optional
        Column for the target of each molecule, by default the one called y or Y; several give a list.
    graph_id : str, optional
        Column for the name of each molecule, by default the one called graph_id, id, CID or the like.
    keep : sequence of str
        More columns that are to go with the molecules, as graph columns of the same names.
    on_error : {"raise", "yield"}
    """
    return _each_molecule(_records(file, column, y, graph_id, keep), on_error)


def _each_molecule(records: Iterable[_Record], on_error: OnError) -> Iterator[RawGraph | BadGraph]:
    """Build the molecules one by one, bad ones too with what their rows say."""
    columns: Mapping[str, Any] = {}

    def contents() -> Iterator[tuple[str, str | None, _Content]]:
        nonlocal columns
        for where, name, content, columns in records:  # noqa: B007 (used below, row by row)
            yield where, name, content

    for graph in each_record(contents(), lambda row: _graph_of_smiles(*row), on_error):
        yield replace(graph, graph_columns=columns)


def read_smiles_blocks(
    file: File,
    *,
    column: str | None = None,
    y: str | Sequence[str] | None = None,
    graph_id: str | None = None,
    keep: Sequence[str] = (),
    on_error: OnError = "raise",
    n_jobs: int | None = None,
) -> Iterator[Block]:
    """Yield the molecules of a table as blocks, in the order of its rows.

    Parameters
    ----------
    file, column, y, graph_id, keep, on_error : as in `read_smiles`
    n_jobs : int, optional
        Processes that read SMILES, as in joblib; by default this one alone.
    """
    return _in_blocks(_records(file, column, y, graph_id, keep), on_error, n_jobs)


def _in_blocks(records: Iterator[_Record], on_error: OnError, n_jobs: int | None) -> Iterator[Block]:
    parts = iter(lambda: list(islice(records, BLOCK)), [])
    for where, batch in in_processes(_block_of_records, parts, n_jobs):
        if batch.bad and on_error == "raise":
            place, reason = min(batch.bad.items())
            raise GraphError(reason, where=where[place])
        bad = {place: str(GraphError(reason, where=where[place])) for place, reason in batch.bad.items()}
        yield replace(batch, bad=bad)


def _block_of_records(records: list[_Record]) -> tuple[list[str], RawBatch]:
    """Read the SMILES of some rows; also return where they stand."""
    batch = block_of_texts(
        content if isinstance(content, GraphError) else content[0] for *_, content, _ in records
    )
    ids = [name for _, name, *_ in records]
    targets = [None if isinstance(content, GraphError) else content[2] for *_, content, _ in records]
    columns = {name: [row[name] for *_, row in records] for name in records[0][3]}
    whole = replace(batch, graph_ids=ids, y=targets, graph_columns=columns)
    return [where for where, *_ in records], whole


def block_of_texts(values: Iterable[Any]) -> RawBatch:
    """Read values that should be SMILES; what is none, or an error in its place, is a bad graph."""
    texts, bad = [], {}
    for place, value in enumerate(values):
        try:
            if isinstance(value, GraphError):
                raise value
            texts.append(_checked_smiles(value))
        except GraphError as error:
            texts.append("")
            bad[place] = str(error)
    batch = batch_from_smiles(texts)
    return replace(batch, bad={**batch.bad, **bad}) if bad else batch


def _records(
    file: File,
    column: str | None,
    y: str | Sequence[str] | None,
    graph_id: str | None,
    keep: Sequence[str],
) -> Iterator[_Record]:
    """Yield where each row stands, its id, its SMILES, id and target, and what goes with it."""
    _require_rdkit()
    if isinstance(keep, str) or "smiles" in keep:
        raise GraphError(f"keep takes a list of names other than smiles, which is there; got {keep!r}")
    with file.reopenable() as again:
        table = table_of(again)
        if not table.columns:
            return
        usual = [name for name in ("y", "Y") if name in table.columns][:1]
        asked = usual if y is None else [y] if isinstance(y, str) else y
        targets = [find_column(table.columns, name, (), "y", again) for name in asked]
        for each in keep:
            find_column(table.columns, each, (), "kept values", again)
        smiles_column, id_column = table.smiles_column(column), table.id_column(graph_id)
        id_column = None if id_column == smiles_column else id_column
        used = [smiles_column, *([id_column] if id_column else []), *targets, *keep]
        for row in table.rows(used):
            given = row.values[id_column] if id_column else None
            name = None if given is None or given == "" else str(given)
            if row.problem:
                nothing = dict.fromkeys(["smiles", *keep])  # which field is whose cannot be told
                yield row.where, name, GraphError(row.problem), nothing
                continue
            values = [cell(row.values[target]) for target in targets]
            several = y is not None and not isinstance(y, str)
            smiles = row.values[smiles_column]
            kept = {"smiles": None if smiles in (None, "") else str(smiles)}
            kept |= {each: _kept(row.values[each], table.kind != "parquet") for each in keep}
            yield row.where, name, (smiles, name, values if several else next(iter(values), None)), kept


def _kept(value: Any, is_text: bool) -> Any:
    """Return a value as it goes with a molecule: texts, numbers and truth as they are, all else as text."""
    if is_text:
        return None if value in (None, "") else Cell(value)
    if isinstance(value, (list, dict)):
        return json.dumps(value, default=str)
    return value if isinstance(value, str) else cell(value)


def read_smiles_lines(file: File, *, on_error: OnError = "raise") -> Iterator[RawGraph | BadGraph]:
    """Yield the molecules of a .smi file: lines "SMILES" or "SMILES name"; as in `read_smiles`."""
    _require_rdkit()
    return _each_molecule(_line_records(file), on_error)


def read_smiles_line_blocks(
    file: File, *, on_error: OnError = "raise", n_jobs: int | None = None
) -> Iterator[Block]:
    """Yield the molecules of a .smi file as blocks; as in `read_smiles_blocks`."""
    _require_rdkit()
    return _in_blocks(_line_records(file), on_error, n_jobs)


def is_smi_header(line: bytes) -> bool:
    """Whether the first line of a .smi file has names of columns, the first of which is SMILES.

    Examples
    --------
    >>> is_smi_header(b"SMILES Name"), is_smi_header(b"CCO ethanol")
    (True, False)
    """
    words = line.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace").split()
    return bool(words) and words[0].strip("#").lower() in SMILES_NAMES


def _line_records(file: File) -> Iterator[_Record]:
    for number, line in file.lines_or_errors(LONGEST_LINE):
        where = f"{file}, line {number}"
        try:
            if isinstance(line, GraphError):
                raise line
            if not line.strip() or (number == 1 and is_smi_header(line)):
                continue
            smiles, *rest = decoded(line).split(None, 1) or [""]
        except GraphError as error:
            yield where, None, error, {"smiles": None}
        else:
            name = _without_extension(rest[0].strip()) if rest else None
            yield where, name, (smiles, name, None), {"smiles": smiles}


def _without_extension(text: str) -> str | None:
    """Return the name after a CXSMILES extension, which stands between bars."""
    extension = EXTENSION.match(text)
    return (text[extension.end() :].strip() if extension else text) or None


def _graph_of_smiles(smiles: Any, graph_id: str | None = None, y: Any = None) -> RawGraph:
    """Return the graph of a SMILES string from a file."""
    text = _checked_smiles(smiles)
    try:
        graph = raw_from_smiles(text)
    except GraphError:
        raise
    except (RuntimeError, ValueError) as error:  # what the C++ code of RDKit throws
        raise GraphError(f"RDKit fails at {text[:80]!r}: {error}") from None
    return replace(graph, graph_id=graph_id, y=y)


def _checked_smiles(smiles: Any) -> str:
    if not isinstance(smiles, str):
        raise GraphError(f"the SMILES is missing, or not a text: {smiles!r}")
    if not smiles.strip("*[]. "):
        raise GraphError(f"{smiles!r} is not a molecule: it has no atom of a known element")
    if len(smiles) > LONGEST_SMILES:
        raise GraphError(f"a SMILES of {len(smiles)} characters; up to {LONGEST_SMILES} are read")
    return smiles


def _require_rdkit() -> None:
    if find_spec("rdkit") is None:
        raise ImportError("SMILES need RDKit: pip install 'grnf[chem]'")


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
    ours, theirs = in_smiles_order(graph), _graph_of_smiles(smiles_from_raw(graph)[0])
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
        if _graph_of_smiles(smiles).n_nodes != graph.n_nodes:
            raise GraphError("hydrogen atoms that are nodes would be read as part of their neighbors")
    except GraphError as error:
        raise error.located(index=index) from None
    return smiles
