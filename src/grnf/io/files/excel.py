"""Excel workbooks as text: the first sheet as CSV, read by calamine, so that readers of tables read them.

A line is a row of the sheet. Dates are ISO texts, the value of a formula is the one that was saved, and an
error such as #N/A is an empty cell.
"""

from __future__ import annotations

import csv
import io
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any, cast

from grnf.errors import GraphError
from grnf.io.files.limits import MOST_CELLS, Member, open_archive

__all__ = ["EXCEL_SUFFIXES", "OLD", "PACKED", "open_sheet"]

EXCEL_SUFFIXES = (".xlsx", ".xlsm")
PACKED, OLD = b"PK\x03\x04", b"\xd0\xcf\x11\xe0"
"""First bytes of workbooks, and of those of old versions or with a password."""
PLACE = re.compile(rb"[\s]r=[\"']([A-Z]{0,9})([0-9]{1,9})[\"']")
IN_MEMORY, CHUNK = 2**20, 2**20


@contextmanager
def open_sheet(file: IO[bytes], name: str) -> Iterator[IO[bytes]]:
    """Open the first sheet of a workbook as CSV text."""
    head = file.read(len(OLD))
    if head == OLD:
        raise GraphError(
            "an old workbook, or one with a password", where=name, cure="Save it as .xlsx without one, or CSV"
        )
    if head != PACKED:
        raise GraphError("not an Excel workbook", where=name)
    rows = _rows(file, name)
    with tempfile.SpooledTemporaryFile(IN_MEMORY) as text:
        wrapped = io.TextIOWrapper(cast("Any", text), encoding="utf-8", errors="replace", newline="")
        _write(rows, wrapped)
        wrapped.flush()
        text.seek(0)
        yield cast("IO[bytes]", text)
        wrapped.detach()


def _rows(file: IO[bytes], name: str) -> list[list[Any]]:
    """Return the cells of the first sheet; checked first, since calamine allocates what cells claim."""
    try:
        from python_calamine import CalamineWorkbook
    except ImportError:
        raise ImportError("Excel workbooks need python-calamine: pip install 'grnf[io]'") from None
    with open_archive(file, name) as archive:
        for member in archive.namelist():
            if member.startswith("xl/worksheets/"):
                _check_places(Member(archive, member, name))
    file.seek(0)
    try:
        sheet = CalamineWorkbook.from_filelike(cast("Any", file)).get_sheet_by_index(0)
        return sheet.to_python(skip_empty_area=False)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a panic of Rust is not an Exception
        raise GraphError(f"damaged workbook: {error}", where=name) from None


def _check_places(member: Member) -> None:
    """Refuse a sheet whose cells span more places than memory should hold."""
    width = height = 0
    rest = b""
    while data := member.read(CHUNK):
        text = rest + data
        columns, rows = set(), set()
        for letters, digits in PLACE.findall(text):
            columns.add(letters)
            rows.add(digits)
        width = max([width, *map(_number_of, columns)])
        height = max([height, *map(int, rows)])
        rest = text[-32:]
    member.close()
    if width * height > MOST_CELLS or height > 2**20 or width > 2**14:
        raise GraphError(
            f"cells from row 1 to row {height} in {width} columns, more than a sheet of {MOST_CELLS} cells",
            where=member.where,
        )


def _number_of(letters: bytes) -> int:
    """Return the number of a column, from 1; 0 for no letters."""
    number = 0
    for letter in letters:
        number = 26 * number + letter - ord("A") + 1
    return number


def _write(rows: list[list[Any]], text: io.TextIOWrapper) -> None:
    """Write rows as lines of CSV, at least as long as the first that holds anything."""
    writer = csv.writer(text, lineterminator="\n")
    width = 0
    for row in rows:
        cells = [_text(value) for value in row]
        while cells and not cells[-1]:
            cells.pop()
        if width or cells:  # empty rows before the header are left out
            width = width or len(cells)
            writer.writerow(cells + [""] * (width - len(cells)) if cells else [])


def _text(value: Any) -> str:
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
