"""Bytes and lines of a file, a compressed file, a pipe or standard input, with bounds and line numbers."""

from __future__ import annotations

import codecs
import gzip
import os
import shutil
import sys
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import IO, Any, cast

from grnf._utils.files import atomic_write, is_pipe, room_for
from grnf.errors import DiskFullError, GraphError
from grnf.io.files.excel import EXCEL_SUFFIXES, open_sheet

__all__ = ["Source", "Window", "aside", "decoded", "deliver", "open_sink"]

GZIP = b"\x1f\x8b"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
CHUNK = 2**18
"""Bytes that are read at a time."""


class Source:
    r"""A file to read from; "-" is standard input, what gzip has made is decompressed, and Excel is text.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "two.txt"
    >>> _ = path.write_text("one\ntwo\n")
    >>> list(Source(path).lines(limit=100))
    [(1, b'one'), (2, b'two')]
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.is_stdin = path == "-"
        self.path = Path(path)
        self.name = "standard input" if self.is_stdin else str(path)
        self.rows: tuple[int, int] | None = None
        """First row and number of rows that are wanted of a Parquet file; None for all."""
        self.format: str | None = None
        """The format that it is read as; None where nobody said."""
        self.head_lines = self.lines_passed_over = 0
        """Lines at the beginning that are numbered as they stand, and lines left out after them."""

    def __str__(self) -> str:
        return self.name

    @property
    def is_folder(self) -> bool:
        """Whether this is a folder of files."""
        return not self.is_stdin and self.path.is_dir()

    @property
    def is_pipe(self) -> bool:
        """Whether this is a pipe or a device, which can be read once, and not even looked at before."""
        return not self.is_stdin and is_pipe(self.path)

    @property
    def is_empty(self) -> bool:
        """Whether this is a file of 0 bytes."""
        return not self.is_stdin and self.path.is_file() and self.path.stat().st_size == 0

    def begins_with(self, letters: bytes) -> bool:
        """Look at the first bytes without taking them."""
        if self.is_stdin:
            return _begins_with(sys.stdin.buffer, letters)
        if not self.path.is_file():
            return False
        with self.path.open("rb") as file:
            return file.read(len(letters)) == letters

    @property
    def is_excel(self) -> bool:
        """Whether this is a workbook, by its name."""
        return self.path.suffix.lower() in EXCEL_SUFFIXES

    def _open_as_it_is(self) -> AbstractContextManager[IO[bytes]]:
        return nullcontext(sys.stdin.buffer) if self.is_stdin else self.path.open("rb")

    @contextmanager
    def open(self) -> Iterator[IO[bytes]]:
        """Open the bytes for one pass."""
        try:
            with self._open_as_it_is() as file:
                if self.is_excel:
                    with open_sheet(file, str(self)) as text:
                        yield text
                elif self.path.suffix == ".gz" or _begins_with(file, GZIP):
                    with gzip.GzipFile(fileobj=file, mode="rb") as stream:
                        yield cast("IO[bytes]", stream)
                else:
                    yield file
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise GraphError(f"{self}: damaged or cut off: {error}") from None

    @contextmanager
    def open_seekable(self) -> Iterator[IO[bytes]]:
        """Open a file that can be read in any order; pipes go through a temporary file."""
        with self.reopenable() as source, source.open() as stream:
            yield stream

    @contextmanager
    def reopenable(self) -> Iterator[Source]:
        """Give a source that can be opened more than once; pipes are copied to a temporary file."""
        if not self.is_stdin and not self.is_pipe:
            yield self
            return
        suffix = Path(self.path.name.removesuffix(".gz")).suffix
        packed = self._open_as_it_is() if self.is_excel else self.open()  # the copy is a workbook again
        with tempfile.NamedTemporaryFile(prefix="grnf-", suffix=suffix) as copy, packed as stream:
            with room_for(f"the temporary copy of {self}"):
                shutil.copyfileobj(stream, copy)
                copy.flush()
            source = Source(copy.name)
            source.name, source.format = self.name, self.format
            yield source

    def lines(self, limit: int) -> Iterator[tuple[int, bytes]]:
        """Yield line numbers, from 1, and lines without their ends, of up to `limit` bytes each."""
        for number, line in self.lines_or_errors(limit):
            if isinstance(line, GraphError):
                raise GraphError(f"{self}, line {number}: {line}")
            yield number, line

    def lines_or_errors(self, limit: int) -> Iterator[tuple[int, bytes | GraphError]]:
        """Yield lines, and in the place of one that is too long an error; it is passed over, not held."""
        number = 0
        with self.open() as stream:
            while line := stream.readline(limit + 2):
                number += 1 if number != self.head_lines else 1 + self.lines_passed_over
                if number == 1:
                    line = line.removeprefix(BYTE_ORDER_MARK)
                if len(line) > limit:
                    ended = line.endswith(b"\n")
                    line = line.rstrip(b"\r\n")
                    if len(line) > limit:
                        while not ended and (rest := stream.readline(CHUNK)):
                            ended = rest.endswith(b"\n")
                        reason = f"the line is longer than {limit} bytes: is the format the right one?"
                        yield number, GraphError(reason)
                        continue
                yield number, line.rstrip(b"\r\n")

    def texts(self) -> Iterator[str]:
        """Yield the text piece by piece, without a byte order mark."""
        decoder = codecs.getincrementaldecoder("utf-8")()
        place = 0
        with self.open() as stream:
            last = False
            while not last:
                data = stream.read(CHUNK)
                last = not data
                if place == 0:
                    data = data.removeprefix(BYTE_ORDER_MARK)
                try:
                    text = decoder.decode(data, last)
                except UnicodeDecodeError as error:
                    raise GraphError(_not_utf8("the text", place + error.start)) from None
                place += len(data)
                if text:
                    yield text


class Window:
    """A part of the text of a file, from `place` on: more is read when needed, what was passed is forgotten.

    One character before `place` is kept.
    """

    def __init__(self, source: Source) -> None:
        self.pieces = source.texts()
        self.text = "\n"
        self.place = 1
        self.passed = 0
        self.ended = False

    def where(self, place: int | None = None) -> str:
        """Return the line of a place."""
        return f"line {self.passed + self.text.count(chr(10), 0, self.place if place is None else place)}"

    def more(self) -> bool:
        """Double what there is, so that reading a value of any length takes linear time; tell if it grew."""
        self.passed += self.text.count("\n", 0, self.place - 1)
        pieces = [self.text[self.place - 1 :]]
        have, wanted = len(pieces[0]), 2 * len(pieces[0])
        while have < wanted and not self.ended:
            piece = next(self.pieces, None)
            self.ended = piece is None
            pieces.append(piece or "")
            have += len(pieces[-1])
        self.text, self.place = "".join(pieces), 1
        return have > len(pieces[0])


def _begins_with(stream: Any, letters: bytes) -> bool:
    """Look at the first bytes of an open stream, where that is possible, without taking them."""
    return hasattr(stream, "peek") and stream.peek(len(letters)).startswith(letters)


def decoded(data: bytes, where: str) -> str:
    """Return the text of UTF-8 bytes, or say where they are not UTF-8."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise GraphError(_not_utf8(where, error.start)) from None


def _not_utf8(where: str, place: int) -> str:
    return f"{where}: byte {place} is not UTF-8 text; save or convert the file as UTF-8"


@contextmanager
def open_sink(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a file to write bytes to, all or nothing; "-" is standard output, .gz compresses."""
    if path == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with atomic_write(path, "wb") as file:
        if Path(path).suffix != ".gz":
            yield file
            return
        with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as compressed:
            yield cast("IO[bytes]", compressed)


@contextmanager
def aside(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a place for a file of this name in a folder of its own, on the disk where it is to go."""
    target = Path("stdout") if path == "-" else Path(path)
    name = "standard output" if path == "-" else str(path)
    place = Path(tempfile.gettempdir()) if path == "-" else target.parent
    with tempfile.TemporaryDirectory(dir=place, prefix=".grnf-") as folder:
        made = Path(folder) / target.name
        try:
            with room_for(name, place):
                yield made
        except DiskFullError as error:
            raise DiskFullError(str(error).replace(folder, str(place))) from error


def deliver(made: Path, path: str | os.PathLike[str]) -> None:
    """Move what was written in a folder of its own to its place, the file of that name last."""
    others = [file for file in made.parent.iterdir() if file != made]
    if path == "-":
        if others or made.is_dir():
            raise GraphError("this format is more than one file, which cannot go to standard output")
        with made.open("rb") as file:
            shutil.copyfileobj(file, sys.stdout.buffer)
        sys.stdout.buffer.flush()
        return
    if made.is_dir() and Path(path).exists():
        raise GraphError(f"{path} exists already, and a folder is not written over")
    for part in [*others, made]:
        os.replace(part, Path(path).with_name(part.name))
