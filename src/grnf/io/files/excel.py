"""Excel workbooks (.xlsx) as text: the first sheet as CSV, so that whatever reads a table of text reads them.

A line is a row of the sheet. Numbers are as they are stored, so dates are numbers of days; what a formula
gave when the file was saved is its value, and an error such as #N/A is an empty cell.
"""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Iterator
from contextlib import closing
from functools import lru_cache
from posixpath import join, normpath
from typing import IO, Any, cast

from grnf.errors import GraphError
from grnf.io.files.archives import Member, open_archive
from grnf.io.files.xml import Event, events_of, fed, new_parser

__all__ = ["EXCEL_SUFFIXES", "OLD", "PACKED", "open_sheet"]

EXCEL_SUFFIXES = (".xlsx", ".xlsm")
PACKED, OLD = b"PK\x03\x04", b"\xd0\xcf\x11\xe0"
"""How workbooks begin; and those of old versions, and with a password."""
BOOK, RELATIONS = "xl/workbook.xml", "xl/_rels/workbook.xml.rels"
MOST_ROWS, MOST_COLUMNS = 2**20, 2**14
"""What a sheet may have."""
BUFFER = 2**16


def open_sheet(file: IO[bytes], name: str) -> IO[bytes]:
    """Return the first sheet of a workbook as a stream of CSV text."""
    head = file.read(len(OLD))
    file.seek(0)
    if head == OLD:
        raise GraphError(f"{name} is an old workbook or one with a password; save it as .xlsx, or as CSV")
    if head != PACKED:
        raise GraphError(f"{name} is no Excel workbook")
    return cast("IO[bytes]", io.BufferedReader(_SheetText(file, name), BUFFER))


class _SheetText(io.RawIOBase):
    """The text of a sheet, made as it is read; to go back is to begin anew, as in files of gzip."""

    def __init__(self, file: IO[bytes], name: str) -> None:
        self.archive, self.name = open_archive(file, name), name
        self.sheet, self.texts = _first_sheet(self.archive, name)
        self._begin()

    def _begin(self) -> None:
        self.lines, self.place, self.rest = _lines(self.archive, self.sheet, self.texts, self.name), 0, b""

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self.place

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a place, counted from the beginning, from here or from the end."""
        if whence == io.SEEK_END:
            while self.read(BUFFER):
                pass
        wanted = offset + (0 if whence == io.SEEK_SET else self.place)
        if wanted < self.place:
            self._begin()
        while self.place < wanted and self.read(min(BUFFER, wanted - self.place)):
            pass
        return self.place

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer with whole lines, or with what is left of one."""
        while not self.rest:
            line = next(self.lines, None)
            if line is None:
                return 0
            self.rest = line
        count = min(len(buffer), len(self.rest))
        buffer[:count], self.rest = self.rest[:count], self.rest[count:]
        self.place += count
        return count


def _events(archive: zipfile.ZipFile, member: str, name: str) -> Iterator[Event]:
    with closing(Member(archive, member, name)) as stream:
        yield from events_of(stream, f"{name}: {member!r}")


def _first_sheet(archive: zipfile.ZipFile, name: str) -> tuple[str, list[str]]:
    """Return where the first sheet is, and the texts that cells name by number."""
    there = set(archive.namelist())
    if not {BOOK, RELATIONS} <= there:
        raise GraphError(f"{name} is no Excel workbook: it has no {BOOK!r}")
    sheets = (event for event in _events(archive, BOOK, name) if event[:2] == ("start", "sheet"))
    first = next(sheets, None)
    wanted = None if first is None else _named(first, "id")
    sheet, texts = None, None
    for event in _events(archive, RELATIONS, name):
        if event[:2] == ("start", "Relationship"):
            target = normpath(join("xl", event.attributes.get("Target", ""))).lstrip("/")
            if event.attributes.get("Id") == wanted:
                sheet = target
            elif event.attributes.get("Type", "").endswith("/sharedStrings"):
                texts = target
    if sheet not in there:
        raise GraphError(f"{name} is a damaged workbook: its first sheet is not there")
    return sheet, _texts(archive, texts, name) if texts in there else []


def _named(event: Event, name: str) -> str | None:
    """Return the attribute of this name, whatever its prefix is."""
    return next((value for key, value in event.attributes.items() if key.endswith(f":{name}")), None)


def _texts(archive: zipfile.ZipFile, member: str, name: str) -> list[str]:
    """Return the texts of a workbook; how a text is to be pronounced is no part of it."""
    found: list[str] = []
    inside: list[str] = []
    for kind, word, _, _ in _events(archive, member, name):
        if kind == "start":
            inside.append(word)
            if word == "si":
                found.append("")
        elif kind == "end":
            inside.pop()
        elif inside[-1] == "t" and "rPh" not in inside and found:
            found[-1] += word
    return found


def _lines(archive: zipfile.ZipFile, sheet: str, texts: list[str], name: str) -> Iterator[bytes]:
    """Yield the rows as lines of CSV, at least as long as the first that holds anything."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    width, line = 0, 0
    for number, cells in _rows(archive, sheet, texts, name):
        while cells and not cells[-1]:
            cells.pop()
        if not cells:
            continue
        if not width:
            width, line = len(cells), number - 1
        yield b"\n" * max(number - line - 1, 0)  # empty rows, which keep their numbers
        line = max(number, line + 1)
        writer.writerow(cells + [""] * (width - len(cells)))
        yield text.getvalue().encode("utf-8", "replace")
        text.seek(0)
        text.truncate()


def _rows(
    archive: zipfile.ZipFile, sheet: str, texts: list[str], name: str
) -> Iterator[tuple[int, list[str]]]:
    """Yield the number of each row, from 1, and its cells."""
    reader, parser = _Cells(texts), new_parser()
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.text
    with closing(Member(archive, sheet, name)) as stream:
        for _ in fed(parser, stream, f"{name}: {sheet!r}"):
            yield from reader.rows
            reader.rows.clear()


class _Cells:
    """What the parser calls at each element of a sheet: cells are gathered to rows."""

    def __init__(self, texts: list[str]) -> None:
        self.texts = texts
        self.rows: list[tuple[int, list[str]]] = []
        self.number, self.kind = 0, "n"
        self.cells: list[str] = []
        self.value: list[str] = []
        self.inside = False

    def start(self, element: str, attributes: dict[str, str]) -> None:
        """Begin a cell, its value, or a row."""
        element = element.rpartition(":")[2]
        if element in ("v", "t"):
            self.inside = True
        elif element == "c":
            self.kind = attributes.get("t", "n")
            self.value.clear()
            self.cells += [""] * (self._column(attributes.get("r")) - len(self.cells))
        elif element == "row":
            given = attributes.get("r", "")
            self.number = int(given) if given.isdecimal() and len(given) < 8 else self.number + 1
            self.cells = []
            if self.number > MOST_ROWS:
                raise GraphError(f"row {self.number} where sheets have up to {MOST_ROWS}")

    def end(self, element: str) -> None:
        """End what began."""
        element = element.rpartition(":")[2]
        if element in ("v", "t"):
            self.inside = False
        elif element == "c":
            self.cells.append(self._value("".join(self.value)))
        elif element == "row":
            self.rows.append((self.number, self.cells))

    def text(self, data: str) -> None:
        """Add to the value of a cell."""
        if self.inside:
            self.value.append(data)

    def _column(self, place: str | None) -> int:
        """Return the number of the column of a cell, such as "C7"."""
        if place is None:
            return len(self.cells)
        column = _number_of(place.rstrip("0123456789"))
        if column < len(self.cells):
            raise GraphError(f"row {self.number}: a cell at {place[:20]!r}: damaged?")
        return column

    def _value(self, value: str) -> str:
        """Return the text of a cell."""
        if self.kind == "s":
            if not value.isdecimal() or int(value[:10]) >= len(self.texts):
                raise GraphError(f"row {self.number}: text {value[:20]!r} of {len(self.texts)}: damaged?")
            return self.texts[int(value)]
        if self.kind == "b":
            return str(value == "1")
        return "" if self.kind == "e" else value


@lru_cache(MOST_COLUMNS)
def _number_of(letters: str) -> int:
    """Return the number of a column, from 0, or -1 if there is none of this name.

    Examples
    --------
    >>> [_number_of(letters) for letters in ("A", "Z", "AA", "XFD", "XFE", "", "é")]
    [0, 25, 26, 16383, -1, -1, -1]
    """
    number = 0
    for letter in letters[:4]:
        if not "A" <= letter <= "Z":
            return -1
        number = 26 * number + ord(letter) - ord("A") + 1
    return number - 1 if number <= MOST_COLUMNS else -1
