"""Files in ranges: where to cut a file into so many graphs each, and how to read a range of it alone.

A range is known by its place in a file: rows of a Parquet file, or bytes of a text whose graphs are lines.
Files of other formats are one range each. What gzip has made is decompressed up to the range, which is much
quicker than reading it.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

import numpy as np

from grnf.errors import GraphError
from grnf.io.files.file import Block, File, OnError
from grnf.io.files.formats import FORMATS
from grnf.io.files.molecules import is_smi_header
from grnf.io.files.reading import FILE_OPTIONS, blocks_of, file_of, format_of
from grnf.io.files.tables import is_parquet, table_of
from grnf.typing import BoolArray, IntArray

__all__ = ["Range", "ranges_of", "read_range"]

CHUNK = 2**20
"""Bytes that are looked through at a time."""
NEWLINE, RETURN, QUOTE = 10, 13, 34


@dataclass(frozen=True)
class Range:
    """Some graphs of a file, one after the other.

    Parameters
    ----------
    path : str
    format : str
        A name in `FORMATS`.
    first : int
        The place of the first of them among the graphs of the file.
    count : int, optional
        How many they are; None where nobody has counted: all that there are.
    header, start, stop, line : int
        Of a text, bytes of its header, first and last byte of the range, and lines before it.
    """

    path: str
    format: str
    first: int = 0
    count: int | None = None
    header: int = 0
    start: int = 0
    stop: int | None = None
    line: int = 0


def ranges_of(path: Path | File, size: int, format: str | None = None, **options: Any) -> list[Range]:
    r"""Cut a file into ranges of `size` graphs, the last of fewer, as far as its format can be cut.

    `options` are those of `read_graphs`; such that say how a text is read count here.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "five.g6"
    >>> _ = path.write_text("Bw\nBw\nBw\nDhc\nDhc\n")
    >>> [(each.first, each.count, each.start) for each in ranges_of(path, 2)]
    [(0, 2, 0), (2, 2, 6), (4, 1, 13)]
    """
    file, _ = file_of(path, format, options)
    entry, name = format_of(file), str(file.path)
    if entry.cut is None or file.is_folder:
        return [Range(name, entry.name, count=1 if entry.one_graph else None)]
    if entry.cut == "rows" or (entry.cut == "table" and is_parquet(file)):
        n_rows = cast("int", table_of(file).n_rows)
        starts = range(0, max(n_rows, 1), size)
        return [Range(name, entry.name, first, min(size, n_rows - first)) for first in starts]
    has_header = entry.cut == "table" and table_of(file).has_header
    with file.open() as stream:
        head = stream.readline() if has_header or entry.name == "smi" else b""
        has_header = has_header or (entry.name == "smi" and is_smi_header(head))
    with file.open() as stream:
        return _text_ranges(stream, name, entry.name, size, has_header, entry.cut == "table")


def _text_ranges(
    stream: IO[bytes], path: str, format: str, size: int, has_header: bool, quotes: bool
) -> list[Range]:
    head = stream.readline() if has_header else b""
    head_lines = int(has_header)
    while (
        quotes and head.count(QUOTE) % 2 and (more := stream.readline())
    ):  # a name of a column that has two lines
        head, head_lines = head + more, head_lines + 1
    header = len(head)
    cuts = [(header, head_lines)]
    total = 0
    for ends, lines, filled in _records(stream, header, head_lines, quotes):
        numbers = total + np.cumsum(filled)
        last = np.flatnonzero(filled & (numbers % size == 0))
        cuts += zip(ends[last].tolist(), lines[last].tolist(), strict=True)
        total += int(filled.sum())
    ranges = []
    for place, (start, line) in enumerate(cuts):
        first = place * size
        if first < total or not place:
            stop = cuts[place + 1][0] if place + 1 < len(cuts) else None
            count = min(size, total - first)
            ranges.append(Range(path, format, first, count, header, start, stop, line))
    return ranges


def _records(
    stream: IO[bytes], place: int, line: int, quotes: bool
) -> Iterator[tuple[IntArray, IntArray, BoolArray]]:
    """Yield, some at a time, where lines end, how many there were by then, and whether they hold anything.

    With `quotes`, line ends between quotation marks do not count.
    """
    begin, last, inside = place, NEWLINE, 0  # of the line that is under way; its last byte; marks so far
    while data := stream.read(CHUNK):
        letters = np.frombuffer(data, np.uint8)
        at = np.flatnonzero(letters == NEWLINE)
        lines = line + 1 + np.arange(len(at))
        line += len(at)
        before = np.append(np.uint8(last), letters)[at]
        if quotes and (inside or QUOTE in data):
            marks = np.cumsum(letters == QUOTE)
            kept = (inside + marks[at]) % 2 == 0
            inside = (inside + int(marks[-1])) % 2
            at, lines, before = at[kept], lines[kept], before[kept]
        ends = place + at + 1
        lengths = np.diff(ends, prepend=begin)
        yield ends, lines, (lengths > 2) | ((lengths == 2) & (before != RETURN))
        begin = int(ends[-1]) if len(ends) else begin
        place += len(data)
        last = data[-1]
    if place > begin:  # the last line has no end
        yield np.array([place]), np.array([line + 1]), np.array([True])


class RangeFile(File):
    """A file of which one range is read."""

    def __init__(self, wanted: Range, **about: Any) -> None:
        super().__init__(wanted.path, format=wanted.format, **about)
        self.wanted = wanted
        cut = FORMATS[wanted.format].cut
        self.is_cut = cut is not None
        if cut == "rows" or (cut == "table" and is_parquet(self)):
            self.rows, self.is_cut = (wanted.first, cast("int", wanted.count)), False
        elif cut is not None:
            with super().open() as stream:
                self.head_lines = stream.read(wanted.header).count(NEWLINE)
            self.lines_passed_over = wanted.line - self.head_lines
            self.header = wanted.header > 0

    @contextmanager
    def open(self, *, recode: bool = True) -> Iterator[IO[bytes]]:
        """Open the bytes of the range, the header before them."""
        with super().open(recode=recode) as stream:
            if self.is_cut:
                stretches = [(0, self.wanted.header), (self.wanted.start, self.wanted.stop)]
                yield cast("IO[bytes]", io.BufferedReader(_Stretches(stream, stretches), CHUNK))
            else:
                yield stream


class _Stretches(io.RawIOBase):
    """Some stretches of a file, one after the other."""

    def __init__(self, file: IO[bytes], stretches: list[tuple[int, int | None]]) -> None:
        self.file, self.stretches, self.place = file, stretches, 0
        self.left: int | None = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer as far as the stretch at hand goes."""
        while self.left == 0:
            if not self.stretches:
                return 0
            start, stop = self.stretches.pop(0)
            self.left = None if stop is None else stop - start
            if self.left != 0 and self.file.seekable():
                self.file.seek(start)
            elif self.left != 0:  # a text of another encoding
                while self.place < start and (passed := self.file.read(min(CHUNK, start - self.place))):
                    self.place += len(passed)
        wanted = len(buffer) if self.left is None else min(len(buffer), self.left)
        data = self.file.read(wanted)
        buffer[: len(data)] = data
        self.place += len(data)
        if self.left is not None:
            self.left = self.left - len(data) if data else 0
        return len(data)


def read_range(
    wanted: Range, *, on_error: OnError = "raise", block_size: int = 1024, **options: Any
) -> Iterator[Block]:
    """Yield the graphs of a range some at a time, as `grnf.io.read_blocks` does of a whole file."""
    if not Path(wanted.path).exists():
        raise GraphError(f"{wanted.path} does not exist; shards are read where their files are")
    about = {name: options.pop(name) for name in FILE_OPTIONS if name in options}
    settings: Any = {"on_error": on_error, "block_size": block_size, "n_jobs": None}
    yield from blocks_of(RangeFile(wanted, **about), FORMATS[wanted.format], options=options, **settings)
