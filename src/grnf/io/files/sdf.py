"""SD files as tables: a row for each molecule, its SMILES, its title as graph_id, and its data fields.

Options of SMILES tables (targets, ids, columns to keep) work here too. A record ends with $$$$. Fields that
a molecule lacks are missing values. A MOL file is one record.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from grnf.errors import GraphError
from grnf.io.files.file import File
from grnf.io.files.limits import LONGEST_LINE, LONGEST_RECORD
from grnf.io.from_molecules import smiles_of_mol_block

SDF_SUFFIXES = (".sdf", ".sd", ".mol")
SMILES, NAME = "smiles", "graph_id"
OWN = "field "
"""Prefix of a field called smiles, since that column is the SMILES of the structure."""

END_OF_RECORD, END_OF_STRUCTURE = b"$$$$", "M  END"
FIELD = re.compile(r"<([^<>]+)>")


class _Record(NamedTuple):
    line: int
    lines: list[bytes]
    problem: str


def sdf_columns(file: File) -> list[str]:
    """Return smiles, graph_id and the names of all fields, in the order in which they are first met."""
    fields = dict.fromkeys([SMILES, NAME])
    for record in _records(file):
        if not record.problem:
            fields.update(dict.fromkeys(_parsed(record)[2]))
    return list(fields)


def sdf_records(file: File, names: Sequence[str]) -> Iterator[tuple[str, list[Any], str]]:
    """Yield the place of each record, its values of these columns, and what is wrong with it."""
    for number, record in enumerate(_records(file), start=1):
        values: dict[str, Any] = {}
        problem = record.problem
        if not problem:
            title, block, values = _parsed(record)
            values.setdefault(NAME, title)
            try:
                values |= {SMILES: smiles_of_mol_block(block)} if SMILES in names else {}
            except GraphError as error:
                problem = str(error)
        yield f"{number}, line {record.line}", [values.get(name) for name in names], problem


def _records(file: File) -> Iterator[_Record]:
    """Cut a file into records. Blank lines after the last are ignored."""
    begin, size, lines, problem = 1, 0, list[bytes](), ""
    number = 0
    for number, line in file.lines_or_errors(LONGEST_LINE):
        if isinstance(line, GraphError):
            problem = f"line {number}: {line}"
        elif line.startswith(END_OF_RECORD):
            yield _Record(begin, lines, problem)
            begin, size, lines, problem = number + 1, 0, [], ""
        elif size <= LONGEST_RECORD:
            lines.append(line)
            size += len(line) + 1
        else:
            problem, lines = f"the record is longer than {LONGEST_RECORD} bytes", []
    if problem or any(line.strip() for line in lines):
        yield _Record(begin, lines, problem)


def _parsed(record: _Record) -> tuple[str | None, str, dict[str, Any]]:
    """Return title, structure and fields of a record."""
    lines = [_text(line) for line in record.lines]
    ends = (place + 1 for place, line in enumerate(lines) if line.startswith(END_OF_STRUCTURE))
    fields = (place for place, line in enumerate(lines) if line.startswith(">"))
    end = next(ends, next(fields, len(lines)))
    values: dict[str, Any] = {}
    name = None
    for line in lines[end:]:
        if name is None and line.startswith(">"):
            named = FIELD.search(line)
            name = named[1].strip() if named else line[1:].strip()
            name = OWN + name if name == SMILES else name
            values[name] = None
        elif not line.strip():
            name = None
        elif name is not None:
            values[name] = line.strip() if values[name] is None else f"{values[name]}\n{line.strip()}"
    title = lines[0].strip() if lines else ""
    return title or None, "\n".join(lines[:end]), values


def _text(line: bytes) -> str:
    """Return a line as text. The format is older than UTF-8."""
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError:
        return line.decode("latin-1")
