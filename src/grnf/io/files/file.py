"""Files that are not trusted: bytes, lines and records within limits, in UTF-8. And files to write to."""

from __future__ import annotations

import gzip
import io
import os
import shutil
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import IO, Any, Literal, TypeAlias, TypeVar, cast

from grnf._utils.files import atomic_write, is_pipe, rename, room_for, unfinished
from grnf.errors import DiskFullError, GraphError
from grnf.io.files.excel import EXCEL_SUFFIXES, open_sheet
from grnf.io.files.limits import LARGEST_DOCUMENT, LARGEST_RATIO, SMALL_MEMBER
from grnf.io.raw import BadGraph, RawBatch, RawGraph

T = TypeVar("T")
OnError = Literal["raise", "yield"]
Block: TypeAlias = RawBatch | list[RawGraph | BadGraph]
"""Some graphs of a file: column by column, or one by one."""

GZIP = b"\x1f\x8b"
OTHER_PACKERS = {b"BZh91AY&SY": "bzip2", b"\xfd7zXZ\0": "xz", b"\x28\xb5\x2f\xfd": "zstd"}
UNPACK = "Unpack it first, or pack it with gzip"
BYTE_ORDER_MARKS = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
CHUNK = 2**18
"""Bytes that are read at a time."""
LONGEST_MESSAGE = 500
SMALL_TEXT = 2**20
"""Bytes that gzip may unpack to in any case."""


@dataclass(eq=False)
class File:
    r"""A file or folder to read graphs from, with what is known about it.

    Files that gzip has made are unpacked, texts in UTF-16 become UTF-8, and workbooks become CSV.

    Parameters
    ----------
    path : path, or "-" for standard input
    name : str, optional
        What it is called in messages. By default the path.
    format : str, optional
        A name in `grnf.io.FORMATS`. By default guessed.
    encoding : str, optional
        Of a text. By default UTF-8, or UTF-16 if the text begins with its byte-order mark.
    header : bool, optional
        Whether the first row of a table has the names of its columns. By default recognized.
    decimal : str, default="."
        The decimal mark of numbers in a table of text: "." or ",".
    isolated : bool, default=False
        Whether to call libraries that damaged files can crash in a process of their own.
    max_memory : int, optional
        Bytes that one graph may take. By default half of the memory.
    """

    path: Any
    name: str = ""
    format: str | None = None
    encoding: str | None = None
    header: bool | None = None
    decimal: str = "."
    isolated: bool = False
    max_memory: int | None = None
    rows: tuple[int, int] | None = field(default=None, init=False)
    """First row and number of rows to read of a Parquet file; None for all."""
    sniffed: Any = field(default=None, init=False)
    """The table of this file once it is known; see `grnf.io.files.tables.table_of`."""

    def __post_init__(self) -> None:
        self.is_stdin = self.path == "-"
        self.name = self.name or ("standard input" if self.is_stdin else str(self.path))
        self.path = Path(self.path)
        if self.decimal not in (".", ","):
            raise GraphError(f"the decimal mark must be '.' or ',', got {self.decimal!r}")

    def __str__(self) -> str:
        return self.name

    def __fspath__(self) -> str:
        return str(self.path)

    @property
    def is_folder(self) -> bool:
        """Whether this is a folder of files."""
        return bool(self.path.is_dir() and not self.is_stdin)

    @property
    def is_pipe(self) -> bool:
        """Whether this can be read only once: standard input, a pipe or a device."""
        return self.is_stdin or is_pipe(self.path)

    @property
    def is_empty(self) -> bool:
        """Whether this is a file of 0 bytes."""
        return bool(not self.is_stdin and self.path.is_file() and self.path.stat().st_size == 0)

    @property
    def is_excel(self) -> bool:
        """Whether this is a workbook, by its name."""
        return bool(self.path.suffix.lower() in EXCEL_SUFFIXES)

    def begins_with(self, *starts: bytes) -> bool:
        """Look at the first bytes."""
        if not self.path.is_file():
            return False
        with self.path.open("rb") as file:
            return bool(file.read(max(map(len, starts))).startswith(starts))

    def _open_packed(self) -> AbstractContextManager[IO[bytes]]:
        return cast("IO[bytes]", self.path.open("rb"))

    @contextmanager
    def open(self, *, recode: bool = True) -> Iterator[IO[bytes]]:
        """Open the bytes for one pass: unpacked, and with `recode` in UTF-8 if it is a text."""
        try:
            with self._open_packed() as file:
                start = cast("io.BufferedReader", file).peek(16)
                if self.is_excel:
                    with open_sheet(file, str(self)) as text:
                        yield text
                elif self.path.suffix == ".gz" or start.startswith(GZIP):
                    unpacked = _unpacked(file, str(self))
                    yield _recoded(unpacked, self.encoding, str(self)) if recode else unpacked
                else:
                    for mark, packer in OTHER_PACKERS.items():
                        if start.startswith(mark):
                            raise GraphError(f"packed by {packer}", where=str(self), cure=UNPACK)
                    yield _recoded(file, self.encoding, str(self)) if recode else file
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise GraphError(f"damaged or truncated: {error}", where=str(self)) from None

    @contextmanager
    def reopenable(self) -> Iterator[File]:
        """Give a file that can be opened more than once, as readers need it. Pipes are copied to disk."""
        if not self.is_pipe:
            yield self
            return
        suffix = "".join(self.path.suffixes[-2:])
        stream = nullcontext(sys.stdin.buffer) if self.is_stdin else self._open_packed()
        with tempfile.NamedTemporaryFile(prefix="grnf-", suffix=suffix) as copy:
            with stream as original, room_for(f"the temporary copy of {self}"):
                shutil.copyfileobj(original, copy)
                copy.flush()
            yield self.at(copy.name)

    def at(self, path: str | os.PathLike[str], **changes: Any) -> File:
        """Return a file elsewhere of which the same is known."""
        known = {each.name: getattr(self, each.name) for each in fields(File) if each.init}
        return File(**{**known, "path": path, **changes})

    def whole(self, *, recode: bool = True) -> bytes:
        """Return all bytes of a document. One that unpacks to more than the limits allow is refused."""
        most = LARGEST_DOCUMENT
        if not self.is_pipe and self.path.is_file():
            most = min(most, max(SMALL_MEMBER, LARGEST_RATIO * self.path.stat().st_size))
        pieces, count = [], 0
        with self.open(recode=recode) as stream:
            while piece := stream.read(CHUNK):
                pieces.append(piece)
                count += len(piece)
                if count > most:
                    raise GraphError(
                        f"the document has more than {most} bytes, and is held in memory as a whole",
                        where=str(self),
                        cure="Write it as Parquet, JSON lines or an edge list",
                    )
        return b"".join(pieces)

    def lines(self, limit: int) -> Iterator[tuple[int, bytes]]:
        """Yield line numbers, from 1, and lines without their ends, of up to `limit` bytes each."""
        for number, line in self.lines_or_errors(limit):
            if isinstance(line, GraphError):
                raise line.located(where=f"{self}, line {number}")
            yield number, line

    def lines_or_errors(self, limit: int) -> Iterator[tuple[int, bytes | GraphError]]:
        """Yield lines, and an error for each line that is too long, which is skipped without being held."""
        with self.open() as stream:
            yield from numbered_lines(stream, limit)


def numbered_lines(
    stream: IO[bytes], limit: int, number: int = 0, size: int = sys.maxsize
) -> Iterator[tuple[int, bytes | GraphError]]:
    """Yield the lines in the next `size` bytes, as `File.lines_or_errors` does, after `number` others."""
    while line := stream.readline(min(limit + 2, size)):
        number, size = number + 1, size - len(line)
        if number == 1:
            line = line.removeprefix(b"\xef\xbb\xbf")
        if len(line) > limit:
            ended = line.endswith(b"\n")
            line = line.rstrip(b"\r\n")
            if len(line) > limit:
                while not ended and (rest := stream.readline(min(CHUNK, size))):
                    ended, size = rest.endswith(b"\n"), size - len(rest)
                cure = "Check the format (format=, --format)"
                yield number, GraphError(f"the line is longer than {limit} bytes", cure=cure)
                continue
        yield number, line.rstrip(b"\r\n")


class _Stream(io.RawIOBase):
    """A stream of what a function of a number of bytes returns. `jump` seeks, if that is possible."""

    def __init__(self, read_some: Callable[[int], bytes], jump: Callable[..., int] | None = None) -> None:
        self.read_some, self.jump = read_some, jump

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return self.jump is not None

    def seek(self, offset: int, whence: int = 0) -> int:
        return super().seek(offset, whence) if self.jump is None else self.jump(offset, whence)

    def readinto(self, buffer: Any) -> int:
        data = self.read_some(len(buffer))
        buffer[: len(data)] = data
        return len(data)


def _unpacked(file: IO[bytes], name: str) -> IO[bytes]:
    """Return what gzip has made, unless it unpacks to far more than was read."""
    packed, count = gzip.GzipFile(fileobj=file), 0

    def read(size: int) -> bytes:
        nonlocal count
        data = packed.read1(size)
        count += len(data)
        if count > max(SMALL_TEXT, LARGEST_RATIO * file.tell()):
            raise GraphError(
                f"unpacks from {file.tell()} to {count} bytes, which looks like a bomb",
                where=name,
                cure="Unpack it yourself if you trust it",
            )
        return data

    return cast("IO[bytes]", io.BufferedReader(_Stream(read, packed.seek), CHUNK))


def _recoded(stream: IO[bytes], encoding: str | None, name: str) -> IO[bytes]:
    """Return a text as UTF-8, its lines ended by LF if they are by CR alone, as on old Macs."""
    start = cast("io.BufferedReader", stream).peek(CHUNK)
    old_ends = b"\r" in start and b"\n" not in start
    if encoding is None:
        marks = (known for mark, known in BYTE_ORDER_MARKS.items() if start.startswith(mark))
        encoding = next(marks, "utf-8")
    if not old_ends and encoding.lower().replace("_", "-") in ("utf-8", "utf8", "utf-8-sig"):
        return stream
    try:
        text = io.TextIOWrapper(cast("Any", stream), encoding=encoding, newline=None if old_ends else "")
    except LookupError:
        raise GraphError(f"unknown encoding {encoding!r}", where=name) from None

    def read(size: int) -> bytes:
        try:
            return text.read(max(size // 4, 1)).encode()  # a character has four bytes at most
        except UnicodeError as error:
            raise GraphError(f"not {encoding} text: {error}", where=name) from None

    return cast("IO[bytes]", io.BufferedReader(_Stream(read), CHUNK))


def one_line(text: object) -> str:
    """Return a message of a library, or about a value of a file, as one line that is not too long."""
    line = " ".join(str(text).split("\n"))
    return line if len(line) <= LONGEST_MESSAGE else f"{line[: LONGEST_MESSAGE - 3]}..."


def decoded(data: bytes, where: str | None = None) -> str:
    """Return the text of UTF-8 bytes, or tell where they are not UTF-8 and what may help."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        likely = "utf-16" if data.count(b"\0") > len(data) // 4 else "latin-1"
        raise GraphError(
            f"byte {error.start} is not UTF-8 text",
            where=where,
            cure=f"Name the encoding, for example encoding='{likely}' (--encoding {likely})",
        ) from None


def each_record(
    records: Iterable[tuple[str, str | None, T | GraphError]],
    build: Callable[[T], RawGraph],
    on_error: OnError,
    first: int = 0,
) -> Iterator[RawGraph | BadGraph]:
    """Build a graph from each record: its position, its id or None, its content or an error.

    `first` is the number of the first one.
    """
    for index, (where, graph_id, content) in enumerate(records, first):
        result: RawGraph | BadGraph
        try:
            if isinstance(content, GraphError):
                raise content
            result = build(content)
        except GraphError as error:
            located = error.located(where=where)
            if on_error == "raise":
                raise located from None
            result = BadGraph(graph_id, index, str(located))
        yield result


def line_records(file: File, limit: int) -> Iterator[tuple[str, None, bytes | GraphError]]:
    """Yield the lines of a file that are not blank as records."""
    for number, line in file.lines_or_errors(limit):
        content = line if isinstance(line, GraphError) else line.strip()
        if content:
            yield f"{file}, line {number}", None, content


@contextmanager
def open_sink(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a file to write bytes to, all or nothing. "-" is standard output, .gz compresses."""
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
    """Give a path for a file of this name in a temporary folder on the disk of its target."""
    target = Path("stdout") if path == "-" else Path(path)
    name = "standard output" if path == "-" else str(path)
    place = Path(tempfile.gettempdir()) if path == "-" else target.parent
    new: AbstractContextManager[str | Path]
    new = tempfile.TemporaryDirectory() if path == "-" else unfinished(target, folder=True)
    with room_for(name, place), new as folder:
        try:
            yield Path(folder) / target.name
        except DiskFullError as error:  # it names the temporary file. Raised again, it gets the name above
            raise error.__cause__ or error from None


def deliver(made: Path, path: str | os.PathLike[str]) -> None:
    """Move what was written in the temporary folder to its target, the file of that name last."""
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
        rename(part, Path(path).with_name(part.name))
