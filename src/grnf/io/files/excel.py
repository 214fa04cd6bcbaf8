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

from grnf._utils.memory import check_memory
from grnf.errors import GraphError
from grnf.io.files.limits import CELL, Member, open_archive

__all__ = ["EXCEL_SUFFIXES", "OLD", "PACKED", "open_sheet"]

EXCEL_SUFFIXES = (".xlsx", ".xlsm")
PACKED, OLD = b"PK\x03\x04", b"\xd0\xcf\x11\xe0"
"""First bytes of workbooks, and of those of old versions or with a password."""
PLACE = re.compile(rb"[\s]r=[\"']([A-Z]{0,9})([0-9]{1,9})[\"']")
STRINGS = "xl/sharedStrings.xml"
STRING = re.compile(rb"</(?:\w+:)?si\s*>|<(?:\w+:)?si\s*/>")
SHARED = re.compile(rb"t=[\"']s[\"'][^>]{0,99}>\s{0,99}<(?:\w+:)?v>([0-9]{1,9})<")
OVERLAP = 32
"""Bytes of a piece that are looked at again with the next one."""
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
    """Return the cells of the first sheet. Checked first, since calamine allocates what cells claim."""
    try:
        from python_calamine import CalamineWorkbook
    except ImportError:
        raise ImportError("Excel workbooks need python-calamine: pip install 'grnf[io]'") from None
    with open_archive(file, name) as archive:
        members = archive.namelist()
        lengths = _lengths(_pieces(archive, STRINGS, name)) if STRINGS in members else []
        for member in members:
            if member.startswith("xl/worksheets/"):
                _check_sheet(_pieces(archive, member, name), lengths, f"{name}: {member!r}")
    file.seek(0)
    try:
        sheet = CalamineWorkbook.from_filelike(cast("Any", file)).get_sheet_by_index(0)
        return sheet.to_python(skip_empty_area=False)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a panic of Rust is not an Exception
        raise GraphError(f"damaged workbook: {error}", where=name) from None


def _pieces(archive: Any, member: str, name: str) -> Iterator[tuple[bytes, int]]:
    """Yield a text in pieces, each with how many of its bytes were in the piece before."""
    rest = b""
    with closing(Member(archive, member, name)) as stream:
        while data := stream.read(CHUNK):
            yield rest + data, len(rest)
            rest = (rest + data)[-OVERLAP:]


def _lengths(pieces: Iterator[tuple[bytes, int]]) -> list[int]:
    """Return the bytes of each shared string. Cells refer to them by number."""
    lengths, open_since, place = [], 0, 0
    for text, seen in pieces:
        for tag in STRING.finditer(text):
            if tag.end() > seen:
                lengths.append(place - seen + tag.start() - open_since)
                open_since = place - seen + tag.end()
        place += len(text) - seen
    check_memory(CELL * len(lengths), f"{len(lengths)} texts of a workbook")
    return lengths


def _check_sheet(pieces: Iterator[tuple[bytes, int]], lengths: list[int], where: str) -> None:
    """Refuse a sheet whose cells span more places, or repeat more text, than memory should hold."""
    width = height = size = 0
    for text, seen in pieces:
        places = PLACE.findall(text)
        width = max([width, *(_number_of(letters) for letters in {letters for letters, _ in places})])
        height = max([height, *(int(digits) for digits in {digits for _, digits in places})])
        cells = list(SHARED.finditer(text))
        numbers = [int(cell[1]) for cell in cells if cell.end() > seen]
        unclear = text.count(b't="s"') + text.count(b"t='s'") - len(cells)
        size += sum(lengths[number] for number in numbers if number < len(lengths))
        size += max(unclear, 0) * max(lengths, default=0)
    what = f"{where}: a sheet of {height} rows and {width} columns"
    if height > 2**20 or width > 2**14:
        raise GraphError("more rows or columns than a sheet may have", where=what)
    check_memory(CELL * width * height + size, what)


def _number_of(letters: bytes) -> int:
    """Return the number of a column, from 1, or 0 for no letters."""
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
