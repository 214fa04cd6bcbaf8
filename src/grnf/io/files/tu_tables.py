"""The text files of a TU set as streams of numbers, and its arcs grouped by graph, in little memory."""

from __future__ import annotations

import io
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
from grnf.io.files.limits import LONGEST_RECORD, MOST_EMPTY_GRAPHS
from grnf.io.files.npy_stream import Readable
from grnf.io.files.records import OnError
from grnf.io.files.streams import Source
from grnf.typing import IntArray

__all__ = ["INDICATOR", "Arcs", "Files", "Rows", "first_nodes", "open_files"]

INDICATOR = "_graph_indicator.txt"
CHUNK = 2**18
"""Bytes of text that become numbers at a time."""

RUN = 2**15
"""Arcs that are sorted at a time, where a file does not have them graph by graph."""

FAULTS = {1: "no such node", 2: "an edge between two graphs", 3: "these are no numbers, or too few or many"}


@contextmanager
def open_files(source: Source) -> Iterator[Files]:
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
            raise GraphError(f"{source} is neither a folder nor a zip file")
        archive = stack.enter_context(open_archive(file, str(source)))
        members = {PurePosixPath(name).name: name for name in archive.namelist()}
        yield Files(source, members, archive, stack)


class Files:
    """The files of one data set, in a folder or in a zip, found by the end of their names."""

    def __init__(
        self, source: Source, members: dict[str, str], archive: zipfile.ZipFile | None, stack: ExitStack
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

    def rows(self, suffix: str, on_error: OnError, width: int | None = None) -> Rows | None:
        """Return the lines of a file that may be missing: whole numbers, but for attributes."""
        if not self.has(suffix):
            return None
        return self.required(suffix, on_error, width)

    def required(self, suffix: str, on_error: OnError, width: int | None = None) -> Rows:
        """Return the lines of a file that must be there."""
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
    """Read lines of whole numbers fast, or return None where anything about them is unusual."""
    codes = np.frombuffer(block, dtype=np.uint8)
    if not _USUAL[codes].all():
        return None
    ends = np.flatnonzero(codes == ord("\n"))
    commas = np.searchsorted(np.flatnonzero(codes == ord(",")), ends)
    width = int(commas[0]) + 1 if len(ends) else 0
    if not width or ends[-1] != len(codes) - 1:
        return None
    digit = (codes >= ord("0")) & (codes <= ord("9"))
    signed = np.flatnonzero(codes == ord("-"))
    if (
        np.count_nonzero(digit[1:] & ~digit[:-1]) + digit[0] != width * len(ends)
        or not digit[signed + 1].all()
    ):
        return None  # not one number in each field, for which numpy would put zeros
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # what cannot be read is a warning
        try:
            numbers = np.fromstring(block.replace(b"\n", b","), dtype=np.int64, sep=",")
        except (DeprecationWarning, ValueError):
            return None
    regular = np.array_equal(commas, (width - 1) * np.arange(1, len(ends) + 1))
    if not regular or len(numbers) != width * len(ends) or (np.abs(numbers) >= 2**62).any():
        return None
    return numbers.reshape(-1, width)


_USUAL = np.zeros(256, dtype=np.bool_)
_USUAL[list(b"0123456789-, \n")] = True


def first_nodes(files: Files, n_graphs: int | None) -> tuple[IntArray, int]:
    """Return where the nodes of each graph begin, with their number at the end, and the number of nodes.

    The numbers lie in a temporary file. `n_graphs` is how many graphs there are at least.
    """
    rows = files.required("graph_indicator", "raise")
    n_nodes = last = 0
    with tempfile.TemporaryFile() as file:
        while len(owner := rows.take(RUN)):
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


class Arcs:
    """The arcs of a set with their labels and attributes, in a temporary file, to be taken graph by graph.

    Records have the fields graph (from 0), arc (numbers of nodes over all graphs, from 0), fault (0, or what
    is wrong with the line), label and attribute. Where the arcs of one graph do not stand together they are
    sorted in runs, and `take` merges the runs.
    """

    def __init__(self, files: Files, node_ptr: IntArray, on_error: OnError) -> None:
        self.name = files.name("A")
        self.node_ptr = node_ptr
        self.on_error = on_error
        self.file: IO[bytes] = files.stack.enter_context(tempfile.TemporaryFile())  # noqa: SIM115
        self.counts = _zeros(len(node_ptr) - 1)
        self.length = 0
        self.ordered = True
        self.dtype = np.dtype([("graph", "i8"), ("arc", "i8", (2,)), ("fault", "i8")])
        self._read(files)
        self.runs = [(0, self.length)] if self.ordered else self._sorted_runs()
        self.rewind()

    def rewind(self) -> None:
        """Begin again with the first graph."""
        self.places = [start for start, _ in self.runs]
        self.waiting: list[npt.NDArray[Any]] = [np.empty(0, dtype=self.dtype) for _ in self.runs]

    def take(self, graph: int) -> npt.NDArray[Any]:
        """Return the arcs of all graphs before this one that were not taken yet, graph by graph."""
        parts = [self._of_run(run, graph) for run in range(len(self.runs))]
        taken = np.concatenate([np.empty(0, dtype=self.dtype), *parts])
        return taken[np.argsort(taken["graph"], kind="stable")] if len(parts) > 1 else taken

    def _of_run(self, run: int, graph: int) -> npt.NDArray[Any]:
        waiting, stop = [self.waiting[run]], self.runs[run][1]
        size = max(RUN // len(self.runs), 1024)
        while self.places[run] < stop and not (len(waiting[-1]) and waiting[-1]["graph"][-1] >= graph):
            count = min(size, stop - self.places[run])
            waiting.append(self._records(self.places[run], count))
            self.places[run] += count
        together = np.concatenate(waiting)
        end = int(np.searchsorted(together["graph"], graph))
        self.waiting[run] = together[end:].copy()
        return together[:end]

    def _records(self, start: int, count: int) -> npt.NDArray[Any]:
        self.file.seek(start * self.dtype.itemsize)
        return np.frombuffer(self.file.read(count * self.dtype.itemsize), dtype=self.dtype)

    def _read(self, files: Files) -> None:
        """Copy the lines of the files to records, and see whether they are in the order of the graphs."""
        arcs = files.required("A", self.on_error, 2)
        others = {
            field: rows
            for field in ("label", "attribute")
            if (rows := files.rows(f"edge_{field}s", self.on_error)) is not None
        }
        last = 0
        while len(block := arcs.take(RUN)):
            start, stop = self.length, self.length + len(block)
            values = {field: rows.take(len(block)) for field, rows in others.items()}
            if start == 0:
                widths = [(field, table.dtype.str, (table.shape[1],)) for field, table in values.items()]
                self.dtype = np.dtype([*self.dtype.descr, *widths])
            records = np.zeros(len(block), dtype=self.dtype)
            records["arc"] = block - 1
            self._locate(records, start, last)
            for field, table in values.items():
                if len(table) != len(block):
                    files.check_counts("edge", files.count("A"))
                records[field] = table
            for rows in (arcs, *others.values()):
                wrong = np.array(rows.faults_within(start, stop), dtype=np.int64)
                records["fault"][wrong - start] = (wrong + 1) * 4 + 3
            graphs = records["graph"]
            self.ordered &= bool(graphs[0] >= last and (np.diff(graphs) >= 0).all())
            last = int(graphs[-1])
            np.add.at(self.counts, graphs, 1)
            self.file.write(records.tobytes())
            self.length = stop
        if any(len(rows.take(1)) for rows in others.values()):
            files.check_counts("edge", self.length)

    def _locate(self, records: npt.NDArray[Any], start: int, last: int) -> None:
        """Find the graph of each arc, and mark arcs that have none or two.

        An arc with one end outside belongs to the graph of the other, with both to that of the line before.
        """
        n_nodes = int(self.node_ptr[-1])
        arcs = records["arc"]
        inside = (arcs >= 0) & (arcs < n_nodes)
        owner = np.searchsorted(self.node_ptr, np.where(inside, arcs, 0), side="right") - 1
        outside = ~inside.all(axis=1)
        crossing = ~outside & (owner[:, 0] != owner[:, 1])
        lines = np.arange(start + 1, start + 1 + len(records))
        records["fault"] = np.where(outside, 4 * lines + 1, np.where(crossing, 4 * lines + 2, 0))
        faults = records["fault"][records["fault"] > 0]
        if len(faults) and (self.on_error == "raise" or not n_nodes):
            more = f" ({n_nodes} nodes)" if faults[0] % 4 == 1 else ""
            raise GraphError(self.reason(int(faults[0])) + more)
        graph = np.where(inside[:, 0], owner[:, 0], owner[:, 1])
        nowhere = ~inside.any(axis=1)
        before = np.maximum.accumulate(np.where(nowhere, -1, np.arange(len(graph))))
        records["graph"] = np.where(before < 0, last, graph[before])

    def reason(self, fault: int) -> str:
        """Say what is wrong with a line."""
        return f"{self.name}, line {fault // 4}: {FAULTS[fault % 4]}"

    def _sorted_runs(self) -> list[tuple[int, int]]:
        """Sort the records by graph, some at a time; return where each of these runs begins and ends."""
        runs = [(start, min(start + RUN, self.length)) for start in range(0, self.length, RUN)]
        for start, stop in runs:
            records = self._records(start, stop - start)
            ordered = records[np.argsort(records["graph"], kind="stable")]
            self.file.seek(start * self.dtype.itemsize)
            self.file.write(ordered.tobytes())
        return runs


def _zeros(count: int) -> IntArray:
    """Return a long array in a temporary file."""
    if count == 0:
        return np.zeros(0, dtype=np.int64)
    with tempfile.TemporaryFile() as file:
        return np.memmap(file, dtype=np.int64, mode="w+", shape=(count,))
