"""The text files of a TU set as streams of numbers, in little memory."""

from __future__ import annotations

import io
import re
import tempfile
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from grnf.errors import GraphError
from grnf.io.files.archives import Member, open_archive
from grnf.io.files.file import File
from grnf.io.files.limits import LONGEST_RECORD, MOST_EMPTY_GRAPHS
from grnf.io.files.npy_stream import Readable
from grnf.io.files.records import OnError
from grnf.typing import IntArray

__all__ = ["INDICATOR", "Files", "Rows", "first_nodes", "open_files"]

INDICATOR = "_graph_indicator.txt"
CHUNK = 2**18
"""Bytes of text that become numbers at a time, or lines of the indicator."""


@contextmanager
def open_files(source: File) -> Iterator[Files]:
    """Open the folder or zip of a data set."""
    with ExitStack() as stack:
        if source.is_folder:
            members = {file.name: str(file) for file in sorted(source.path.iterdir())}
            yield Files(source, members, None, stack)
            return
        if not source.is_stdin and not source.path.exists():
            raise GraphError(f"{source} does not exist")
        file = stack.enter_context(source.open_seekable())
        if not zipfile.is_zipfile(file):
            raise GraphError(f"{source} {_no_zip(source, file)}")
        archive = stack.enter_context(open_archive(file, str(source)))
        members = {PurePosixPath(name).name: name for name in archive.namelist()}
        yield Files(source, members, archive, stack)


def _no_zip(source: File, file: IO[bytes]) -> str:
    """Say what is wrong with a file that should be a zip."""
    if source.is_empty:
        return "is empty (0 bytes)"
    file.seek(0)
    if file.read(4) == b"PK\x03\x04":
        return "begins as a zip file, but its end is missing: it was cut short; copy or download it again"
    return "is neither a folder nor a zip file"


class Files:
    """The files of one data set, in a folder or in a zip, found by the end of their names."""

    def __init__(
        self, source: File, members: dict[str, str], archive: zipfile.ZipFile | None, stack: ExitStack
    ) -> None:
        self.source = source
        self.members = members
        self.archive = archive
        self.stack = stack
        names = [name for name in members if name.endswith(INDICATOR)]
        if len(names) != 1:
            raise GraphError(
                f"{source} is no TU data set: one file NAME_graph_indicator.txt is wanted, found {len(names)}"
            )
        self.prefix = names[0].removesuffix("graph_indicator.txt")

    def name(self, suffix: str) -> str:
        """Return the name of a file, for messages."""
        return f"{self.source}: {self.prefix}{suffix}.txt"

    def has(self, suffix: str) -> bool:
        """Whether there is such a file."""
        return f"{self.prefix}{suffix}.txt" in self.members

    def open(self, suffix: str) -> Readable:
        """Open one of the files; it is closed with all others."""
        member = self.members.get(f"{self.prefix}{suffix}.txt")
        if member is None:
            raise GraphError(f"{self.name(suffix)} is missing")
        if self.archive is None:
            return self.stack.enter_context(Path(member).open("rb"))
        stream = Member(self.archive, member, str(self.source))
        self.stack.callback(stream.close)
        return stream

    def rows(self, suffix: str, on_error: OnError, width: int | None = None) -> Rows:
        """Return the lines of a file: whole numbers, but for attributes."""
        dtype = np.dtype(np.float64 if suffix.endswith("attributes") else np.int64)
        return Rows(self.open(suffix), self.name(suffix), dtype, on_error, width)

    def count(self, suffix: str) -> int:
        """Return the number of lines that are not blank."""
        stream = self.open(suffix)
        blocks = _blocks(stream, self.name(suffix))
        return sum(map(_lines_with_text, blocks))

    def check_counts(self, item: str, count: int) -> None:
        """Refuse labels or attributes of nodes or edges that are more or fewer than these."""
        for kind in ("labels", "attributes"):
            if self.has(f"{item}_{kind}"):
                found = self.count(f"{item}_{kind}")
                if found != count:
                    raise GraphError(f"{self.source}: {found} lines of {item} attributes for {count} {item}s")


def _lines_with_text(block: bytes) -> int:
    if block[:1].isspace() or any(blank in block for blank in (b"\n\n", b"\n\r", b"\n ", b"\n\t")):
        return sum(1 for line in io.BytesIO(block) if line.strip())
    return block.count(b"\n") + (not block.endswith(b"\n"))


def _blocks(stream: Readable, name: str) -> Iterator[bytes]:
    """Yield whole lines, about a megabyte at a time."""
    rest = b""
    while data := stream.read(CHUNK):
        data = rest + data
        end = data.rfind(b"\n") + 1
        if not end and len(data) > LONGEST_RECORD:
            raise GraphError(f"{name}: a line of more than {LONGEST_RECORD} bytes")
        rest = data[end:]
        if end:
            yield data[:end]
    if rest:
        yield rest


class Rows:
    """Lines of numbers with commas between, from first to last.

    With on_error="yield", lines that are none become zeros; `faults` has their numbers, from 0.
    """

    def __init__(
        self, stream: Readable, name: str, dtype: np.dtype[Any], on_error: OnError, width: int | None
    ) -> None:
        self.blocks = _blocks(stream, name)
        self.name = name
        self.dtype = dtype
        self.on_error = on_error
        self.wanted = width
        self.width = width
        self.parsed = 0
        self.faults: list[int] = []
        self.buffer: npt.NDArray[Any] | None = None

    def take(self, count: int | None) -> npt.NDArray[Any]:
        """Return the next lines, or all; fewer only at the end."""
        parts = [] if self.buffer is None else [self.buffer]
        have = sum(map(len, parts))
        while count is None or have < count:
            block = next(self.blocks, None)
            if block is None:
                break
            if block.strip():
                table = self._numbers(block)
                self.parsed += len(table)
                have += len(table)
                parts.append(table)
        table = np.concatenate(parts) if parts else np.empty((0, self.width or 1), dtype=self.dtype)
        end = len(table) if count is None else count
        self.buffer = table[end:] if end < len(table) else None
        return table[:end]

    def faults_within(self, start: int, stop: int) -> list[int]:
        """Return the numbers of wrong lines in a range, and forget those before its end."""
        found = [row for row in self.faults if start <= row < stop]
        self.faults = [row for row in self.faults if row >= stop]
        return found

    def _numbers(self, block: bytes) -> npt.NDArray[Any]:
        try:
            table = _whole_numbers(block) if self.dtype.kind == "i" else None
            if table is None:
                table = np.loadtxt(io.BytesIO(block), delimiter=",", dtype=self.dtype, ndmin=2, comments=None)
            if self.width is None:
                self.width = table.shape[1]
            if table.shape[1] == self.width:
                return table
            problem = f"{self.width} columns expected, {table.shape[1]} found"
        except (ValueError, OverflowError) as error:
            problem = str(error)
        if self.on_error == "raise":
            after = f" (rows counted after line {self.parsed})" if self.parsed else ""
            raise GraphError(f"{self.name}: {problem}{after}")
        return self._line_by_line(block)

    def _line_by_line(self, block: bytes) -> npt.NDArray[Any]:
        rows = [self._entries(line) for line in block.splitlines() if line.strip()]
        if self.width is None:
            self.width = next((len(row) for row in rows if row), 1)
        table = np.zeros((len(rows), self.width), dtype=self.dtype)
        for index, row in enumerate(rows):
            if row and len(row) == self.width:
                try:
                    table[index] = row
                    continue
                except OverflowError:
                    pass
            self.faults.append(self.parsed + index)
        return table

    def _entries(self, line: bytes) -> list[Any] | None:
        kind = int if self.dtype.kind == "i" else float
        try:
            return [kind(entry) for entry in line.split(b",")]
        except ValueError:
            return None


def _whole_numbers(block: bytes) -> npt.NDArray[Any] | None:
    """Read lines of whole numbers fast, or return None where anything about them is unusual.

    Usual are lines of digits with a comma, or a comma and a blank, between.
    """
    text = block.replace(b"\r\n", b"\n") if b"\r" in block else block
    width = text.count(b",", 0, max(text.find(b"\n"), 0)) + 1
    count = text.count(b"\n")
    if text[-1:] != b"\n" or text.translate(None, b"0123456789- ") != (b"," * (width - 1) + b"\n") * count:
        return None  # other letters, or another number of fields
    codes = np.frombuffer(text, dtype=np.uint8)
    blank, between = codes == ord(" "), codes <= ord(",")  # a blank, a comma or the end of a line
    if between[0] or (between[1:] & between[:-1] & ~(blank[1:] & (codes[:-1] == ord(",")))).any():
        return None  # an empty field, for which numpy would put a number
    if (blank[1:] & ~between[:-1]).any() or (b"-" in text and _LONE_MINUS.search(text)):
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # what cannot be read is a warning
        try:
            numbers = np.fromstring(text.translate(_LINES_AS_FIELDS), dtype=np.int64, sep=",")
        except (DeprecationWarning, ValueError):
            return None
    if len(numbers) != width * count or max(int(numbers.max()), -int(numbers.min())) >= 2**62:
        return None
    return numbers.reshape(-1, width)


_LINES_AS_FIELDS = bytes.maketrans(b"\n", b",")
_LONE_MINUS = re.compile(rb"[0-9]-|-[^0-9]")


def first_nodes(files: Files, n_graphs: int | None) -> tuple[IntArray, int]:
    """Return where the nodes of each graph begin, with their number at the end, and the number of nodes.

    The numbers lie in a temporary file. `n_graphs` is how many graphs there are at least.
    """
    rows = files.rows("graph_indicator", "raise")
    n_nodes = last = 0
    with tempfile.TemporaryFile() as file:
        while len(owner := rows.take(CHUNK)):
            owner = owner[:, 0]
            if owner[0] < max(last, 1) or (np.diff(owner) < 0).any():
                raise GraphError(f"{files.source}: graph_indicator must ascend from 1")
            n_nodes += len(owner)
            _check_number(int(owner[-1]), n_nodes, files)
            graphs = np.arange(last + 1, int(owner[-1]) + 1)
            _append(file, n_nodes - len(owner) + np.searchsorted(owner, graphs))
            last = int(owner[-1])
        if n_graphs is not None and n_graphs < last:
            raise GraphError(f"{files.source}: {n_graphs} graph labels for {last} graphs")
        total = last if n_graphs is None else n_graphs
        _check_number(total, n_nodes, files)
        _append(file, np.full(total - last + 1, n_nodes))
        return np.memmap(file, dtype=np.int64, mode="r"), n_nodes


def _check_number(n_graphs: int, n_nodes: int, files: Files) -> None:
    if n_graphs > n_nodes + MOST_EMPTY_GRAPHS:
        raise GraphError(
            f"{files.source}: graph number {n_graphs} with {n_nodes} nodes in all; number graphs from 1"
        )


def _append(file: IO[bytes], values: Any) -> None:
    file.write(np.ascontiguousarray(values, dtype=np.int64).tobytes())
