"""Tables of rows, text, Excel, Parquet and SD files alike: names, then rows, each with where it stands."""

from __future__ import annotations

import csv
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple

from grnf.errors import GraphError
from grnf.io.files.excel import OLD, PACKED
from grnf.io.files.limits import LONGEST_LINE
from grnf.io.files.parquet import batches, open_parquet
from grnf.io.files.sdf import is_sdf, sdf_columns, sdf_rows
from grnf.io.files.streams import Source, decoded
from grnf.io.files.values import number

__all__ = ["Row", "cell", "find_column", "is_parquet", "read_table", "table_columns"]


class Row(NamedTuple):
    """One row: where it stands, its values by column name, and what is wrong with it, if anything."""

    where: str
    values: dict[str, Any]
    problem: str = ""


def is_parquet(source: Source) -> bool:
    """Tell Parquet from text by its suffix or its first letters."""
    return source.path.suffix.lower() in (".parquet", ".pq") or source.begins_with(b"PAR1")


def table_columns(source: Source) -> list[str]:
    """Return the names of the columns of a file."""
    if is_parquet(source):
        with source.open_seekable() as file:
            return list(open_parquet(file, str(source)).schema_arrow.names)
    if is_sdf(source):
        return sdf_columns(source)
    return _header(source, _text_rows(source))


def _header(source: Source, rows: Iterator[tuple[int, list[Any], str]]) -> list[str]:
    line, fields, problem = next(rows, (1, [], ""))
    if problem:
        raise GraphError(f"{source}, line {line}: {problem}")
    return fields


def read_table(source: Source, choose: Callable[[list[str]], Collection[str]]) -> Iterator[Row]:
    """Yield rows one after another, with those columns that `choose` picks from all names."""
    if is_parquet(source):
        yield from _parquet_rows(source, choose)
        return
    if is_sdf(source):
        yield from (Row(*row) for row in sdf_rows(source, choose))
        return
    rows = _text_rows(source)
    names = _header(source, rows)
    if len(set(names)) < len(names):
        raise GraphError(f"{source}, line 1: two columns have the same name; the header is {names[:20]}")
    wanted = set(choose(names))
    kept = [index for index, name in enumerate(names) if name in wanted]
    for line, fields, problem in rows:
        if not fields and not problem:
            continue
        where = f"{source}, line {line}"
        if len(fields) != len(names):
            problem = problem or f"{len(fields)} fields for the {len(names)} columns of the header"
            fields = [*fields, *[None] * (len(names) - len(fields))]
        yield Row(where, {names[index]: fields[index] for index in kept}, problem)


def _text_rows(source: Source) -> Iterator[tuple[int, list[Any], str]]:
    """Yield line, fields and problem of each row; the header tells tab, semicolon and comma apart."""
    if not source.is_excel and any(map(source.begins_with, (PACKED, OLD))):
        raise GraphError(f"{source} is no text; an Excel workbook must be a file whose name ends in .xlsx")
    current = 0
    problem = ""

    def lines() -> Iterator[str]:
        nonlocal current, problem
        for place, line in source.lines_or_errors(LONGEST_LINE):
            current = place
            if isinstance(line, GraphError):
                problem = str(line)
                yield "\n"
                continue
            try:
                text = decoded(line, "the line")
            except GraphError as error:
                problem, text = str(error), line.decode("utf-8", "replace")
            yield text + "\n"

    texts = lines()
    header = next(texts, "")
    delimiter = max("\t;,", key=header.count)
    reader = csv.reader(chain([header], texts), delimiter=delimiter, strict=True)
    while True:
        try:
            fields = next(reader, None)
        except csv.Error as error:  # the reader goes on with the next line
            fields, problem = [], str(error)
        if fields is None:
            return
        yield current, [field.strip() for field in fields] if current == 1 else fields, problem
        problem = ""


def _parquet_rows(source: Source, choose: Callable[[list[str]], Collection[str]]) -> Iterator[Row]:
    with source.open_seekable() as file:
        table = open_parquet(file, str(source))
        names = list(table.schema_arrow.names)
        wanted = set(choose(names))
        kept = [name for name in names if name in wanted]
        count = 0 if source.rows is None else source.rows[0]
        for batch in batches(table, kept, source):
            try:
                rows = batch.to_pylist()
            except (ValueError, NotImplementedError, OverflowError) as error:
                raise GraphError(f"{source}, rows from {count}: {error}") from None
            for values in rows:
                yield Row(f"{source}, row {count}", values)
                count += 1


def find_column(
    names: Collection[str], given: str | None, usual: Sequence[str], role: str, source: Source
) -> str:
    """Return the column that was asked for, or the first whose name is usual for this role.

    Examples
    --------
    >>> find_column(["ID", "Smiles"], None, ["smiles"], "SMILES", Source("file.csv"))
    'Smiles'
    """
    if given is not None:
        if given not in names:
            raise GraphError(f"{source} has no column {given!r}; it has {list(names)[:20]}")
        return given
    for wanted in usual:
        for name in names:
            if name.strip().lower() == wanted:
                return name
    raise GraphError(
        f"{source}: no column of {role} among {list(names)[:20]}; "
        f"call it {usual[0]!r} or name it by an option"
    )


def cell(value: Any) -> Any:
    """Return the value of a cell: text that is a number as that number, empty text as None.

    Dates, decimals and the like count as the text that they print as.

    Examples
    --------
    >>> cell(" 1.5"), cell(""), cell(True), cell("C")
    (1.5, None, True, 'C')
    """
    if value is None or isinstance(value, (bool, int, float, list, dict)):
        return value
    return number(str(value).strip())
