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
from contextlib import closing, contextmanager
from typing import IO, Any, cast

import numpy as np

from grnf._utils.lazy import guest
from grnf._utils.memory import check_memory
from grnf.errors import GraphError
from grnf.io.files.limits import CELL, Member, open_archive
from grnf.typing import IntArray

EXCEL_SUFFIXES = (".xlsx", ".xlsm")
PACKED, OLD = b"PK\x03\x04", b"\xd0\xcf\x11\xe0"
"""First bytes of workbooks, and of those of old versions or with a password."""
PLACE = re.compile(rb"[\s]r=[\"']([A-Z]{0,9})([0-9]{1,9})[\"']")
STRINGS = "xl/sharedStrings.xml"
STRING = re.compile(rb"</(?:\w+:)?si\s*>|<(?:\w+:)?si\s*/>")
SHARED = re.compile(rb"t=[\"']s[\"'][^>]{0,99}>\s{0,99}<(?:\w+:)?v>([0-9]{1,9})<")
IN_MEMORY = 2**20


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
    """Return the cells of the first sheet. Checked first, since calamine allocates what cells claim."""
    library = guest("python_calamine", "Excel workbooks")
    with open_archive(file, name) as archive:
        members = archive.namelist()
        strings = _whole(archive, STRINGS, name) if STRINGS in members else b""
        ends = np.fromiter((tag.end() for tag in STRING.finditer(strings)), np.int64)
        check_memory(CELL * len(ends), f"{len(ends)} texts of a workbook")
        for member in members:
            if member.startswith("xl/worksheets/"):
                text = _whole(archive, member, name)
                _check_sheet(text, np.diff(ends, prepend=0), f"{name}: {member!r}")
    file.seek(0)
    try:
        sheet = library.CalamineWorkbook.from_filelike(file).get_sheet_by_index(0)
        return cast("list[list[Any]]", sheet.to_python(skip_empty_area=False))
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a panic of Rust is not an Exception
        raise GraphError(f"damaged workbook: {error}", where=name) from None


def _whole(archive: Any, member: str, name: str) -> bytes:
    with closing(Member(archive, member, name)) as stream:
        return stream.read()


def _check_sheet(text: bytes, lengths: IntArray, where: str) -> None:
    """Refuse a sheet whose cells span more places, or repeat more text, than memory should hold.

    `lengths` are the bytes of the shared strings, to which cells refer by number.
    """
    width = max(map(_number_of, {place[1] for place in PLACE.finditer(text)}), default=0)
    height = max(map(int, {place[2] for place in PLACE.finditer(text)}), default=0)
    what = f"{where}: a sheet of {height} rows and {width} columns"
    if height > 2**20 or width > 2**14:
        raise GraphError("more rows or columns than a sheet may have", where=what)
    numbers = np.fromiter((int(cell[1]) for cell in SHARED.finditer(text)), np.int64)
    unclear = text.count(b't="s"') + text.count(b"t='s'") - len(numbers)
    size = int(lengths[numbers[numbers < len(lengths)]].sum() + max(unclear, 0) * lengths.max(initial=0))
    check_memory(CELL * width * height + size, what)


def _number_of(letters: bytes) -> int:
    """Return the number of a column, from 1, or 0 for no letters."""
    number = 0
    for letter in letters:
        number = 26 * number + letter - ord("A") + 1
    return number


def _write(rows: list[list[Any]], text: io.TextIOWrapper) -> None:
    """Write rows as lines of CSV of equal length, from the first that holds anything."""
    writer = csv.writer(text, lineterminator="\n")
    width = max((place for row in rows for place, value in enumerate(row, start=1) if value != ""), default=0)
    begun = False
    for row in rows:
        cells = [_text(value) for value in row[:width]]
        begun = begun or any(cells)
        if begun:
            writer.writerow(cells if any(cells) else [])


def _text(value: Any) -> str:
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
