"""TU benchmark datasets: a folder or zip with DS_A.txt, DS_graph_indicator.txt and optional attribute files.

Nodes are numbered from 1 over all graphs. Undirected graphs list every edge in both directions. A repeated
line is the same edge, so repeats are dropped, not summed. The lines of nodes and arcs become records of
temporary files, grouped by graph. Memory holds a few numbers per graph and one part of these records.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import tempfile
import warnings
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from grnf._utils.arrays import offsets
from grnf.errors import GraphError
from grnf.graphs import GraphBatch
from grnf.io.encode import AttributeEncoder, Schema, SchemaColumn
from grnf.io.files.file import File, OnError, open_sink
from grnf.io.files.limits import LONGEST_RECORD, MOST_EMPTY_GRAPHS, Member, new_member, open_archive
from grnf.io.files.values import runs
from grnf.io.from_arrays import is_symmetric
from grnf.io.raw import RawBatch, RawColumn, RawGraph, column_of_arrays, concatenated, joined
from grnf.typing import IntArray

__all__ = [
    "TUData", "fits_tu", "is_tu_folder", "read_tu", "read_tu_graphs", "write_tu", "write_tu_folder",
]  # fmt: skip

INDICATOR = "_graph_indicator.txt"
PART = 2**16
"""Nodes and arcs together, about, that are in memory at a time, unless one graph has more."""
RUN = 2**15
"""Lines that are read, and arcs that are put in order, at a time."""
CHUNK = 2**18
"""Bytes of text that become numbers at a time."""
MOST_ONE_HOT = 256
"""Labels of a column up to which `read_tu` has a column of zeros and ones for each."""
LABEL = re.compile(r"label(|[1-9][0-9]*)\Z")
WHOLE = re.compile(r"(0|-?[1-9][0-9]{0,17})\Z")

LINES_AS_FIELDS = bytes.maketrans(b"\n", b",")
MAIN = "main"
WIDTHS = {"A": 2, "graph_indicator": 1}

Records: TypeAlias = npt.NDArray[Any]
"""Structured arrays: `MAIN` and, if a dataset has them, labels and attributes."""
Faults: TypeAlias = dict[int, str]


class TUData(NamedTuple):
    """Graphs, their classes (or regression targets), and what the columns of the attributes are."""

    graphs: GraphBatch
    y: Any
    node_columns: list[str]
    edge_columns: list[str]


def read_tu(path: str | os.PathLike[str], *, node_attributes: bool = True) -> TUData:
    """Read a TU dataset from a zip file or a folder.

    Node attributes come first, then node labels as one-hot columns, one per label that occurs, sorted as
    text. Likewise for edges. That is the order in which `grnf.io.AttributeEncoder` puts them, so graphs have
    the same vectors whether they come from here or from `grnf.io.read_graphs`. Labels of more than 256 kinds
    are categories (`GraphBatch.node_codes`) instead of columns.

    Parameters
    ----------
    path : path to a .zip file or a folder
    node_attributes : bool, default=True
        Whether to keep continuous node attributes in addition to the labels.

    Returns
    -------
    TUData
        A named tuple of `graphs` (a `GraphBatch`), `y`, `node_columns` and `edge_columns`.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from pathlib import Path
    >>> from grnf.io import RawGraph, write_graphs
    >>> folder = Path(tempfile.mkdtemp()) / "PAIRS"
    >>> columns = {"label": np.array(["0", "1"], object)}
    >>> _ = write_graphs(folder, [RawGraph(2, np.array([[0, 1]]), columns, y=y) for y in (0, 1)])
    >>> read_tu(folder).graphs
    GraphBatch(2 graphs, 4 nodes, 2 edges, node_width=2, edge_width=0)
    """
    data = concatenated(list(read_tu_graphs(File(path))))
    if not node_attributes:
        kept = {name: column for name, column in data.node_columns.items() if name != "attributes"}
        data = replace(data, node_columns=kept)
    encoder = AttributeEncoder().fit(data)
    schemas = [_opened(schema) for schema in (encoder.node_schema_, encoder.edge_schema_)]
    encoder.node_schema_, encoder.edge_schema_ = schemas
    graphs, _, errors = encoder.encode_batch(data)
    for index, reason in errors:
        raise GraphError(reason, where=str(path), index=index)
    return TUData(graphs, np.array(data.y) if None not in data.y else None, *map(_channel_names, schemas))


def _opened(schema: Schema) -> Schema:
    """Make columns of many labels categories instead of a channel for each."""
    many = {name for name, column in schema.columns.items() if len(column.categories or ()) > MOST_ONE_HOT}
    return Schema({name: SchemaColumn() if name in many else own for name, own in schema.columns.items()})


def _channel_names(schema: Schema) -> list[str]:
    names: list[str] = []
    for name, column in schema.columns.items():
        if column.is_numeric:
            names += [f"attribute{place}" for place in range(column.width)]
        names += [f"{name}={label}" for label in column.categories or ()]
    return names


def read_tu_graphs(source: File, *, on_error: OnError = "raise") -> Iterator[RawBatch]:
    """Yield the graphs of a TU dataset in parts: labels as categories (texts), attributes as vectors.

    A dataset without graphs is one part. Two passes over the arcs: one arc without its reverse makes all
    graphs directed.
    """
    with _open_files(source) as files:
        faults: Faults = {}
        y = _targets(files, on_error, faults)
        nodes, node_ptr = _store_nodes(files, None if y is None else len(y), on_error, faults)
        arcs, arc_ptr = _store_arcs(files, node_ptr, on_error, faults)
        ranges = list(runs((node_ptr + arc_ptr)[1:], PART))
        directed = any(
            _is_directed(arcs[arc_ptr[start] : arc_ptr[stop]], node_ptr, faults) for start, stop in ranges
        )
        for start, stop in ranges:
            ptr = node_ptr[start : stop + 1]
            source_, target, values = _once(arcs[arc_ptr[start] : arc_ptr[stop]])
            if not directed:
                half = source_ <= target
                source_, target, values = source_[half], target[half], values[half]
            edge_ptr = np.searchsorted(source_, ptr).astype(np.int64)
            begin = np.repeat(ptr[:-1], np.diff(edge_ptr))
            batch = RawBatch(
                ptr - ptr[0],
                edge_ptr,
                np.column_stack([source_ - begin, target - begin]),
                _columns(nodes[ptr[0] : ptr[-1]]),
                _columns(values),
                np.full(stop - start, directed),
                [str(number + 1) for number in range(start, stop)],
                [None] * (stop - start) if y is None else y[start:stop].tolist(),
            )
            own = _infinite(batch) | {g - start: faults[g] for g in range(start, stop) if g in faults}
            errors = {g: GraphError(own[g], where=f"{source}, graph {start + g + 1}") for g in sorted(own)}
            if errors and on_error == "raise":
                raise next(iter(errors.values()))
            if errors:
                good = [graph for graph in range(len(batch)) if graph not in errors]
                bad = {graph: str(error) for graph, error in errors.items()}
                batch = replace(
                    joined([(good, batch.take(np.array(good, np.int64)))], len(batch), bad),
                    graph_ids=batch.graph_ids,
                )
            yield batch


def is_tu_folder(path: Path) -> bool:
    """Whether a folder holds a TU dataset."""
    return any(file.name.endswith(INDICATOR) for file in path.iterdir())


def _infinite(batch: RawBatch) -> Faults:
    """Return the graphs with attributes that are not finite."""
    faults: Faults = {}
    columns = (("node", batch.node_columns, batch.node_ptr), ("edge", batch.edge_columns, batch.edge_ptr))
    for item, own, ptr in columns:
        values = own["attributes"].values if "attributes" in own else np.empty((0, 0))
        for row in np.flatnonzero(np.isinf(values).any(axis=1)).tolist():
            graph = int(np.searchsorted(ptr, row, side="right")) - 1
            faults[graph] = f"{item} column 'attributes' is infinite at {item} {row - ptr[graph]}"
    return faults


def _columns(records: Records) -> dict[str, RawColumn]:
    names = records.dtype.names or ()
    columns = {}
    for index, entries in enumerate(records["labels"].T if "labels" in names else ()):
        values, codes = np.unique(entries, return_inverse=True)
        columns[f"label{index or ''}"] = RawColumn(codes, tuple(map(str, values.tolist())))
    if "attributes" in names:
        columns["attributes"] = RawColumn(np.ascontiguousarray(records["attributes"]))
    return columns


def _is_directed(arcs: Records, node_ptr: IntArray, faults: Faults) -> bool:
    """Whether a graph without faults has an arc without its reverse, with the same label and attributes."""
    if faults:
        graph = np.searchsorted(node_ptr, arcs[MAIN][:, 0], side="right") - 1
        arcs = arcs[~np.isin(graph, list(faults))]
    source, target, records = _once(arcs)
    size = int(max(source.max(initial=0), target.max(initial=0))) + 1
    forth, back = source * size + target, target * size + source
    names = (records.dtype.names or ())[1:]
    if not names:  # sorting numbers is much faster
        return not np.array_equal(forth, np.sort(back))
    order = np.argsort(back)
    return not (
        np.array_equal(forth, back[order])
        and all(np.array_equal(records[name], records[name][order], equal_nan=True) for name in names)
    )


def _once(arcs: Records) -> tuple[IntArray, IntArray, Records]:
    """Return sources and targets, sorted and without repeats, and the records that they come from."""
    source, target = arcs[MAIN].T.astype(np.int64, order="C")
    keys = source * (int(target.max(initial=0)) + 1) + target
    if not (keys[1:] > keys[:-1]).all():
        rows = np.unique(keys, return_index=True)[1]
        source, target, arcs = source[rows], target[rows], arcs[rows]
    return source, target, arcs


# ---- records in temporary files: a line of the main file, with labels and attributes


class _Store:
    """Records in a temporary file."""

    def __init__(self, files: _Files) -> None:
        self.file = files.stack.enter_context(tempfile.TemporaryFile())  # noqa: SIM115
        self.dtype = np.dtype([(MAIN, np.int64, (2,))])

    def add(self, records: Records) -> None:
        """Append records, which are all of the same type."""
        self.dtype = records.dtype
        self.file.write(records.data)

    def records(self) -> Records:
        """Return all records, which stay on disk."""
        if not self.file.tell():
            return np.empty(0, self.dtype)
        self.file.flush()
        return np.memmap(self.file, self.dtype, mode="r+")


def _targets(files: _Files, on_error: OnError, faults: Faults) -> npt.NDArray[Any] | None:
    """Return the classes, or the regression targets, or None if the dataset has neither."""
    kind = next((kind for kind in ("graph_labels", "graph_attributes") if files.has(kind)), None)
    if kind is None:
        return None
    lines = files.lines(kind, on_error)
    values = lines.take(None)
    faults.update(lines.faults)
    return values.ravel() if kind == "graph_labels" or values.shape[1] == 1 else values


def _store_nodes(
    files: _Files, n_graphs: int | None, on_error: OnError, faults: Faults
) -> tuple[Records, IntArray]:
    """Return labels and attributes of nodes as records, and the first node of each graph."""
    store, starts, n_nodes, last = _Store(files), [], 0, 0
    for records, wrong in _records(files, "graph_indicator", "node", on_error):
        owner = records[MAIN][:, 0]
        if owner[0] < max(last, 1) or (np.diff(owner) < 0).any():
            raise GraphError("graph_indicator must ascend from 1", where=str(files.source))
        _check_number(int(owner[-1]), n_nodes + len(owner), files)
        starts.append(n_nodes + np.searchsorted(owner, np.arange(last + 1, int(owner[-1]) + 1)))
        faults.update((int(owner[row]) - 1, reason) for row, reason in wrong.items())
        n_nodes, last = n_nodes + len(owner), int(owner[-1])
        store.add(records)
    if n_graphs is not None and n_graphs < last:
        raise GraphError(f"{n_graphs} graph labels for {last} graphs", where=str(files.source))
    total = last if n_graphs is None else n_graphs
    _check_number(total, n_nodes, files)
    starts.append(np.full(total - last + 1, n_nodes))
    return store.records(), np.concatenate(starts)


def _check_number(n_graphs: int, n_nodes: int, files: _Files) -> None:
    if n_graphs > n_nodes + MOST_EMPTY_GRAPHS:
        raise GraphError(
            f"graph number {n_graphs} with {n_nodes} nodes in all",
            where=str(files.source),
            cure="Number from 1",
        )


def _store_arcs(
    files: _Files, node_ptr: IntArray, on_error: OnError, faults: Faults
) -> tuple[Records, IntArray]:
    """Return the arcs as records, graph by graph, and the first arc of each graph.

    Arcs that cannot be used are left out. They are faults of the graph of the end that exists, or else of the
    graph of the line before.
    """
    store, counts, n_nodes = _Store(files), np.zeros(len(node_ptr) - 1, np.int64), int(node_ptr[-1])
    number = np.int32 if n_nodes < 2**31 else np.int64
    n_lines = last = highest = 0
    ordered = True
    for records, wrong in _records(files, "A", "edge", on_error):
        if not n_nodes:
            raise GraphError(f"{files.name('A')}, line 1: no such node (0 nodes)")
        arcs = records[MAIN]
        arcs -= 1
        inside = (arcs >= 0) & (arcs < n_nodes)
        known = np.where(inside[:, 0], arcs[:, 0], np.where(inside[:, 1], arcs[:, 1], 0))
        graph = np.searchsorted(node_ptr, known, side="right") - 1
        good = inside.all(axis=1) & (arcs[:, 1] >= node_ptr[graph]) & (arcs[:, 1] < node_ptr[graph + 1])
        good[list(wrong)] = False
        for row in np.flatnonzero(~good).tolist():
            if not inside[row].any():
                graph[row] = graph[row - 1] if row else last
            place = f"{files.name('A')}, line {n_lines + row + 1}"
            problem = "an edge between two graphs" if inside[row].all() else "no such node"
            if on_error == "raise":
                raise GraphError(f"{problem} ({n_nodes} nodes)", where=place)
            faults[int(graph[row])] = wrong.get(row, f"{place}: {problem}")
        last, n_lines = int(graph[-1]), n_lines + len(records)
        graph = graph[good]
        store.add(records[good].astype([(MAIN, number, (2,)), *records.dtype.descr[1:]]))
        np.add.at(counts, graph, 1)
        if len(graph):
            ordered = ordered and bool(graph[0] >= highest and (graph[1:] >= graph[:-1]).all())
            highest = int(graph[-1])
    records, ptr = store.records(), offsets(counts)
    return (records if ordered else _sorted(records, node_ptr, ptr)), ptr


def _sorted(records: Records, node_ptr: IntArray, ptr: IntArray) -> Records:
    """Return the arcs in the order of the graphs: each goes to the next free place of its graph."""
    free = ptr.copy()
    with tempfile.TemporaryFile() as file:
        result = np.memmap(file, dtype=records.dtype, mode="w+", shape=records.shape)
    for start in range(0, len(records), RUN):
        block = records[start : start + RUN]
        graph = np.searchsorted(node_ptr, block[MAIN][:, 0], side="right") - 1
        order = np.argsort(graph, kind="stable")
        graphs, first, counts = np.unique(graph[order], return_index=True, return_counts=True)
        places = np.repeat(free[graphs] - first, counts) + np.arange(len(order))
        free[graphs] += counts
        result[places] = block[order]
    return result


# ---- the text files


@contextmanager
def _open_files(source: File) -> Iterator[_Files]:
    """Open the folder or zip of a dataset."""
    with ExitStack() as stack:
        if source.is_folder:
            folder = {file.name: partial(file.open, "rb") for file in sorted(source.path.iterdir())}
            yield _Files(source, folder, stack)
            return
        if not source.is_stdin and not source.path.exists():
            raise GraphError(f"{source} does not exist")
        file = stack.enter_context(source.open_seekable())
        if not zipfile.is_zipfile(file):
            file.seek(0)
            problem, cure = "is neither a folder nor a zip file", None
            if file.read(4) == b"PK\x03\x04":
                problem, cure = "begins as a zip file, but its end is missing", "Copy or download it again"
            raise GraphError(f"{source} {problem}", cure=cure)
        archive = stack.enter_context(open_archive(file, str(source)))
        names = archive.namelist()
        members = {PurePosixPath(name).name: partial(Member, archive, name, str(source)) for name in names}
        yield _Files(source, members, stack)


class _Files:
    """The files of a dataset, in a folder or in a zip, known by the end of their names."""

    def __init__(self, source: File, members: Mapping[str, Callable[[], Any]], stack: ExitStack) -> None:
        self.source, self.members, self.stack = source, members, stack
        names = [name for name in members if name.endswith(INDICATOR)]
        if len(names) != 1:
            raise GraphError(
                f"not a TU dataset: expected one NAME{INDICATOR}, found {len(names)}",
                where=str(source),
                cure="Unpack other archives first",
            )
        self.prefix = names[0].removesuffix("graph_indicator.txt")

    def name(self, suffix: str) -> str:
        """Return the name of a file, for messages."""
        return f"{self.source}: {self.prefix}{suffix}.txt"

    def has(self, suffix: str) -> bool:
        """Whether there is such a file."""
        return f"{self.prefix}{suffix}.txt" in self.members

    def lines(self, suffix: str, on_error: OnError) -> _Lines:
        """Open the lines of a file."""
        if not self.has(suffix):
            raise GraphError(f"{self.name(suffix)} is missing")
        stream = self.members[f"{self.prefix}{suffix}.txt"]()
        self.stack.callback(stream.close)
        return _Lines(stream, self.name(suffix), on_error, suffix)


def _records(
    files: _Files, main: str, item: str, on_error: OnError
) -> Iterator[tuple[Records, dict[int, str]]]:
    """Yield lines of the main file with labels and attributes of the same lines, and faults by row."""
    names = {kind: f"{item}_{kind}" for kind in ("labels", "attributes") if files.has(f"{item}_{kind}")}
    sources = {MAIN: files.lines(main, on_error if main == "A" else "raise")}
    sources |= {kind: files.lines(name, on_error) for kind, name in names.items()}
    n_lines = 0
    while len(block := sources[MAIN].take(RUN)):
        tables = {kind: lines.take(len(block)) if kind != MAIN else block for kind, lines in sources.items()}
        if any(len(table) < len(block) for table in tables.values()):
            break
        types = [(kind, table.dtype, table.shape[1:]) for kind, table in tables.items()]
        records = np.empty(len(block), types)
        for kind, table in tables.items():
            records[kind] = table
        wrong = {}
        for lines in sources.values():
            for line in [line for line in lines.faults if line < n_lines + len(block)]:
                wrong[line - n_lines] = lines.faults.pop(line)
        yield records, wrong
        n_lines += len(block)
    count = sources[MAIN].count_all()
    for kind, name in names.items():
        if sources[kind].count_all() != count:
            raise GraphError(
                f"must have one line per {item} ({count}), got {sources[kind].count_all()}",
                where=files.name(name),
            )


class _Lines:
    """Lines of numbers with commas between, from first to last: whole numbers, but for attributes.

    With on_error="yield", lines that are wrong become zeros, and `faults` has the reasons by line, from 0.
    """

    def __init__(self, stream: IO[bytes] | Member, name: str, on_error: OnError, suffix: str) -> None:
        self.blocks = _whole_lines(stream, name)
        self.name, self.on_error, self.width = name, on_error, WIDTHS.get(suffix)
        self.dtype = np.dtype(np.float64 if suffix.endswith("attributes") else np.int64)
        self.parsed = 0
        self.faults: Faults = {}
        self.buffer = np.empty((0, self.width or 1), self.dtype)

    def take(self, count: int | None) -> npt.NDArray[Any]:
        """Return the next lines, or all. Fewer only at the end."""
        parts, have = [self.buffer], len(self.buffer)
        while (count is None or have < count) and (block := next(self.blocks, None)):
            numbers = self._numbers(block)
            self.width = numbers.shape[1]
            parts.append(numbers)
            self.parsed += len(numbers)
            have += len(numbers)
        table = np.concatenate(parts[not len(parts[0]) and len(parts) > 1 :])
        self.buffer = table[have if count is None else count :]
        return table[:count]

    def _numbers(self, block: bytes) -> npt.NDArray[Any]:
        with suppress(ValueError, OverflowError, DeprecationWarning):
            table = whole_numbers(block) if self.dtype.kind == "i" else None
            if table is None:
                table = np.loadtxt(io.BytesIO(block), delimiter=",", dtype=self.dtype, ndmin=2, comments=None)
            if table.shape[1] == (self.width or table.shape[1]):
                return table
        return self._line_by_line(block)

    def count_all(self) -> int:
        """Return the number of lines of the file. The rest is passed over."""
        while len(self.take(RUN)):
            pass
        return self.parsed

    def _line_by_line(self, block: bytes) -> npt.NDArray[Any]:
        kind = int if self.dtype.kind == "i" else float
        lines = [line for line in block.splitlines() if line.strip()]
        width = self.width or lines[0].count(b",") + 1
        table = np.zeros((len(lines), width), dtype=self.dtype)
        for index, line in enumerate(lines):
            try:
                table[index] = [kind(entry) for entry in line.split(b",", width)]
            except (ValueError, OverflowError):
                numbers = "whole numbers" if kind is int else "numbers"
                error = GraphError(
                    f"must be {width} {numbers}, got {line[:40]!r}",
                    where=f"{self.name}, line {self.parsed + index + 1}",
                )
                if self.on_error == "raise":
                    raise error from None
                self.faults[self.parsed + index] = str(error)
        return table


def _whole_lines(stream: IO[bytes] | Member, name: str) -> Iterator[bytes]:
    """Yield whole lines, some at a time. Blank blocks are left out."""
    rest = b""
    while data := stream.read(CHUNK):
        data = rest + data
        end = data.rfind(b"\n") + 1
        if not end and len(data) > LONGEST_RECORD:
            raise GraphError(f"a line of more than {LONGEST_RECORD} bytes", where=name)
        rest = data[end:]
        if data[:end].strip():
            yield data[:end]
    if rest.strip():
        yield rest + b"\n"


def whole_numbers(block: bytes) -> npt.NDArray[Any] | None:
    """Read lines of numbers with commas, or commas and blanks, between them. None if a line differs."""
    text = block.replace(b"\r\n", b"\n") if b"\r" in block else block
    width, count = text.count(b",", 0, text.find(b"\n")) + 1, text.count(b"\n")
    fields = text.translate(LINES_AS_FIELDS, b" ")
    blanks = len(text) - len(fields)
    if blanks and text.count(b", ") != blanks:
        return None
    if text.translate(None, b"0123456789 ") != (b"," * (width - 1) + b"\n") * count:
        return None  # other characters, or another number of fields
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            numbers = np.fromstring(fields, dtype=np.int64, sep=",")
        except (DeprecationWarning, ValueError):  # an empty field, in old and new versions of numpy
            return None
    return numbers.reshape(-1, width) if numbers.max() < 2**62 else None


# ---- writing


def fits_tu(name: str, values: Any) -> bool:
    """Whether a TU dataset can hold a column: labels that are whole numbers, or "attributes"."""
    if name == "attributes":
        return bool(values.dtype == np.float64 and values.ndim == 2 and values.shape[1])
    return bool(LABEL.match(name)) and all(
        isinstance(value, str) and bool(WHOLE.match(value)) for value in values.tolist()
    )


def write_tu(file: IO[bytes], graphs: Iterable[RawGraph]) -> None:
    """Write a zip with the text files of a TU dataset called DS."""
    with tempfile.TemporaryDirectory(prefix="grnf-") as temporary:
        folder = Path(temporary) / "DS"
        write_tu_folder(folder, graphs)
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            for part in sorted(folder.iterdir()):
                with new_member(archive, f"DS/{part.name}") as member, part.open("rb") as text:
                    shutil.copyfileobj(text, member)


def write_tu_folder(path: Path, graphs: Iterable[RawGraph]) -> None:
    """Write a folder NAME with the text files NAME_A.txt, NAME_graph_indicator.txt and so on."""
    path.mkdir()
    with ExitStack() as stack:
        writer = _Writer(path, stack)
        for graph in graphs:
            writer.add_graph(graph)
        writer.check()


class _Writer:
    """The text files of a dataset, and what all of its graphs must agree on."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder, self.stack = folder, stack
        self.files: dict[str, IO[bytes]] = {}
        self.agreed: dict[str, Any] = {}
        self.n_nodes = self.n_graphs = 0
        self.last_is_empty = self.one_way = False
        for name in ("A", "graph_indicator"):
            self.add(name, [])

    def add(self, name: str, lines: Iterable[str]) -> None:
        """Append lines to a file."""
        if name not in self.files:
            sink = open_sink(self.folder / f"{self.folder.name}_{name}.txt")
            self.files[name] = self.stack.enter_context(sink)
        self.files[name].write("".join(f"{line}\n" for line in lines).encode())

    def agree(self, what: str, value: Any) -> None:
        """Refuse a graph that differs from those before it."""
        first = self.agreed.setdefault(what, value)
        if first != value:
            raise GraphError(
                f"{what} must be the same for all graphs of a TU dataset, got {value} after {first}",
                index=self.n_graphs,
                cure="Write Parquet, npz or JSON lines",
            )

    def add_graph(self, graph: RawGraph) -> None:
        """Append one graph."""
        edges, rows = graph.edges, np.arange(len(graph.edges))
        keys = edges if graph.directed else np.sort(edges, axis=1)
        if len(np.unique(keys, axis=0)) < len(edges):
            raise GraphError(
                "repeated edges, which TU datasets drop", index=self.n_graphs, cure="Write Parquet"
            )
        self.agree("direction", "directed" if graph.directed else "undirected")
        if not graph.directed:
            others = np.flatnonzero(edges[:, 0] != edges[:, 1])
            edges, rows = np.vstack([edges, edges[others, ::-1]]), np.concatenate([rows, others])
        elif not self.one_way:
            columns = [
                column_of_arrays([own], [len(edges)], name) for name, own in graph.edge_columns.items()
            ]
            values = [np.asarray(own.values, np.float64).reshape(len(edges), -1) for own in columns]
            self.one_way = not is_symmetric(edges, np.hstack([np.empty((len(edges), 0)), *values]))
        order = np.lexsort((edges[:, 1], edges[:, 0]))
        arcs = (edges[order] + self.n_nodes + 1).tolist()
        self.add("A", (f"{source}, {target}" for source, target in arcs))
        self.add("graph_indicator", [str(self.n_graphs + 1)] * graph.n_nodes)
        self._add_columns("node", graph.node_columns, np.arange(graph.n_nodes))
        self._add_columns("edge", graph.edge_columns, rows[order])
        self._add_target(graph.y)
        self.n_nodes += graph.n_nodes
        self.n_graphs += 1
        self.last_is_empty = graph.n_nodes == 0

    def _add_columns(self, item: str, columns: Any, rows: Any) -> None:
        if not len(rows):
            return
        labels = sorted(
            (name for name in columns if name != "attributes"), key=lambda name: (len(name), name)
        )
        if labels != [f"label{index or ''}" for index in range(len(labels))]:
            raise GraphError(f"the labels of a TU dataset must be label, label1, label2, ..., got {labels}")
        self.agree(f"the columns of {item}s", [*labels, *(name for name in columns if name == "attributes")])
        if labels:
            table = np.column_stack([columns[name] for name in labels])[rows].tolist()
            self.add(f"{item}_labels", (", ".join(row) for row in table))
        if "attributes" in columns:
            self.agree(f"the width of {item} attributes", columns["attributes"].shape[1])
            table = columns["attributes"][rows].tolist()
            self.add(f"{item}_attributes", (", ".join(map(repr, row)) for row in table))

    def _add_target(self, y: Any) -> None:
        values = np.asarray(y if y is not None else [])
        if values.dtype.kind not in "iuf" or values.ndim > 1:
            raise GraphError(f"y must be a number or numbers, got {y!r:.60}", index=self.n_graphs)
        whole = values.dtype.kind in "iu" and values.ndim == 0
        self.agree("y", "none" if y is None else "a whole number" if whole else f"{values.size} real numbers")
        if y is not None:
            text = ", ".join(map(repr, values.astype(int if whole else float).ravel().tolist()))
            self.add("graph_labels" if whole else "graph_attributes", [text])

    def check(self) -> None:
        """Refuse what would be read as something else."""
        if self.agreed.get("direction") == "directed" and not self.one_way:
            raise GraphError("each arc has its reverse: a TU dataset would be read as undirected")
        if self.last_is_empty and self.agreed["y"] == "none":
            raise GraphError("the last graph has no nodes and no y: a TU dataset would not count it")
