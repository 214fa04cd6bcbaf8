"""Graphs from a file that grows, a pipe or standard input, line by line and from a position on."""

from __future__ import annotations

import hashlib
import io
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import IO, Any

from grnf.errors import GraphError
from grnf.io.files.file import CHUNK, GZIP, File, numbered_lines
from grnf.io.files.formats import FORMATS
from grnf.io.files.limits import LONGEST_RECORD
from grnf.io.raw import BadGraph, RawGraph

LINE_FORMATS = ("jsonl", "smi", "graph6", "sparse6", "digraph6")
"""Formats with one graph per line, which can be read while they are written."""
PAUSE = 0.2
"""Seconds between two attempts to read a file that may grow."""
CHECKED = 1024
"""Bytes before a position whose digest identifies the file."""


@dataclass(frozen=True)
class Position:
    """How far a file was read: bytes, lines, and whether the last line had an end."""

    offset: int = 0
    line: int = 0
    whole: bool = True
    digest: str = ""
    """Digest of the bytes before, which identifies the file."""

    def record(self) -> dict[str, Any]:
        """Return the position as plain values."""
        return asdict(self)


class _Lines(File):
    """Some lines of a file, as readers take them."""

    def __init__(self, name: str, lines: list[bytes], first: int) -> None:
        super().__init__("-", name=name)
        self.held, self.first = lines, first

    def lines_or_errors(self, limit: int) -> Iterator[tuple[int, bytes | GraphError]]:
        return numbered_lines(io.BytesIO(b"".join(self.held)), limit, self.first)


def follow_graphs(
    path: str,
    format: str,
    *,
    start: Position | None = None,
    follow: bool = False,
    block_size: int = 256,
    idle: Callable[[], None] | None = None,
    **options: Any,
) -> Iterator[tuple[list[RawGraph | BadGraph], Position]]:
    """Yield the graphs of a file and the position after them, then those that are added.

    A line is read once its end is written, or at the end of a file that is not followed. Standard input ("-")
    and pipes are taken to begin at `start`. `idle` is called before each wait for more, and `options` are
    those of the reader.
    """
    if format not in LINE_FORMATS:
        raise GraphError(f"format must be one of {', '.join(LINE_FORMATS)}, got {format}")
    position = start or Position()
    title = "standard input" if path == "-" else path
    with _open_at(path, position, title) as file:
        for lines, reached in _blocks(file, position, follow, block_size, title, idle):
            source = _Lines(title, lines, reached.line - len(lines))
            items = FORMATS[format].reader(source, on_error="yield", **options)
            some = ([item] if isinstance(item, RawGraph | BadGraph) else item for item in items)
            yield list(chain.from_iterable(some)), reached


@contextmanager
def _open_at(path: str, position: Position, title: str) -> Iterator[IO[bytes]]:
    with nullcontext(sys.stdin.buffer) if path == "-" else open(path, "rb") as file:
        if path != "-" and Path(path).is_file():
            if file.read(2) == GZIP:
                raise GraphError(f"{title} is compressed by gzip, which cannot be followed: unpack it first")
            if position.offset and _digest_before(Path(path), position.offset) != position.digest:
                raise GraphError(
                    f"{title} is not the file that was read before, up to byte {position.offset}: it was "
                    "cut, replaced or changed. Start over with another state, or restore the file"
                )
            file.seek(position.offset)
            if not position.whole and file.read(1) not in (b"", b"\n", b"\r"):
                raise GraphError(
                    "the line was read before it was complete",
                    where=f"{title}, line {position.line}",
                    cure="Use --follow for files that are being written",
                )
            file.seek(position.offset)
        yield file


def _blocks(
    file: Any, position: Position, follow: bool, size: int, title: str, idle: Callable[[], None] | None
) -> Iterator[tuple[list[bytes], Position]]:
    """Yield whole lines, some at a time, and the position after them."""
    left, place = b"", position
    path = Path(file.name) if file is not sys.stdin.buffer and Path(file.name).is_file() else None
    while True:
        data = file.read1(CHUNK) if hasattr(file, "read1") else file.read(CHUNK)
        if not data and follow and path is not None:
            if not path.exists() or path.stat().st_size < place.offset + len(left):
                raise GraphError(
                    "the file was cut or replaced while it was followed", where=title, cure="Start again"
                )
            if idle is not None:
                idle()
            time.sleep(PAUSE)
            continue
        left += data
        whole = [line + b"\n" for line in left.split(b"\n")[:-1]] if data else [left] if left else []
        for first in range(0, len(whole), size):
            some = whole[first : first + size]
            text = b"".join(some)
            offset = place.offset + len(text)
            digest = _digest_before(path, offset) if path is not None else ""
            place = Position(offset, place.line + len(some), text.endswith(b"\n"), digest)
            yield some, place
        left = left[sum(map(len, whole)) :]
        if len(left) > LONGEST_RECORD:
            raise GraphError(f"{title}, line {place.line + 1} is longer than {LONGEST_RECORD} bytes")
        if not data:
            return


def _digest_before(path: Path, offset: int) -> str:
    """Return the digest of the bytes before a position."""
    with path.open("rb") as file:
        file.seek(max(0, offset - CHECKED))
        return hashlib.sha256(file.read(min(offset, CHECKED))).hexdigest()[:32]
