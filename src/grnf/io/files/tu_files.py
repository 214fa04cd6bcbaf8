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
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import IO, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from grnf.errors import GraphError
from grnf.graphs import GraphBatch, category_key, number_keys
from grnf.graphs.batch import Codes
from grnf.graphs.channels import Item
from grnf.io.files.file import File, OnError, open_sink
from grnf.io.files.limits import LONGEST_RECORD, MOST_EMPTY_GRAPHS, Member, new_member, open_archive
from grnf.io.from_arrays import is_symmetric
from grnf.io.raw import RawBatch, RawColumn, RawGraph, concatenated, joined
from grnf.typing import FloatArray, IntArray, Keys

__all__ = [
    "TUData", "fits_tu", "is_tu_folder", "read_tu", "read_tu_graphs", "write_tu", "write_tu_folder",
]  # fmt: skip

INDICATOR = "_graph_indicator.txt"
PART = 2**16
"""Nodes and arcs together that are in memory at a time, unless one graph has more."""
RUN = 2**15
"""Lines that are read, and arcs that are put in order, at a time."""
CHUNK = 2**18
"""Bytes of text that become numbers at a time."""
MOST_ONE_HOT = 256
"""Labels of a column up to which `read_tu` has a column of zeros and ones for each."""
LABEL = re.compile(r"label(|[1-9][0-9]*)\Z")
WHOLE = re.compile(r"(0|-?[1-9][0-9]{0,17})\Z")
IN_MEMORY = 2**20
"""Bytes of a text file that is written, beyond which it is on disk."""

LINES_AS_FIELDS = bytes.maketrans(b"\n", b",")

Table = dict[str, npt.NDArray[Any]]
Faults = dict[int, str]


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
    data = concatenated([batch for _, batch, _ in _parts(File(path), "raise")])
    columns = dict(data.node_columns)
    if not node_attributes:
        columns.pop("attributes", None)
    nodes = _attributes(columns, "node", int(data.node_ptr[-1]))
    edges = _attributes(data.edge_columns, "edge", len(data.edges))
    batch = GraphBatch(
        node_ptr=data.node_ptr,
        edge_ptr=data.edge_ptr,
        edges=data.edges,
        node_attr=nodes.values,
        edge_attr=edges.values,
        directed=data.directed,
        node_keys=nodes.keys,
        edge_keys=edges.keys,
        node_codes=nodes.codes,
        edge_codes=edges.codes,
    )
    return TUData(batch, np.array(data.y) if None not in data.y else None, nodes.names, edges.names)


class _Attributes(NamedTuple):
    """Attributes of nodes or edges as a `GraphBatch` has them, and what the columns are."""

    values: FloatArray
    names: list[str]
    keys: Keys
    codes: Codes


def _attributes(columns: Any, item: Item, count: int) -> _Attributes:
    """Return attributes, and labels: one-hot, or as categories if there are many."""
    parts = [columns["attributes"].values if "attributes" in columns else np.empty((count, 0))]
    names = [f"attribute{column}" for column in range(parts[0].shape[1])]
    keys = number_keys(item, len(names), "attributes").tolist()
    many: list[tuple[IntArray, Keys]] = []
    for title, column in columns.items():
        if title == "attributes":
            continue
        labels = column.categories
        own = np.array([category_key(item, title, int(label)) for label in labels], dtype=np.uint64)
        if len(labels) > MOST_ONE_HOT:
            many.append((column.values, own))
            continue
        order = np.array(sorted(range(len(labels)), key=labels.__getitem__), dtype=np.int64)
        parts.append((column.values[:, np.newaxis] == order).astype(np.float64))
        names += [f"{title}={labels[place]}" for place in order.tolist()]
        keys += own[order].tolist()
    every = np.unique(np.concatenate([np.empty(0, np.uint64), *(own for _, own in many)]))
    codes = [np.searchsorted(every, own)[values] for values, own in many]
    table = np.column_stack(codes).astype(np.int64) if codes else np.empty((count, 0), np.int64)
    return _Attributes(np.hstack(parts), names, np.array(keys, dtype=np.uint64), Codes(table, every))


def read_tu_graphs(source: File, *, on_error: OnError = "raise") -> Iterator[RawBatch]:
    """Yield the graphs of a TU dataset in parts: labels as categories (texts), attributes as vectors."""
    for first, batch, faults in _parts(source, on_error):
        if faults:
            good = [index for index in range(len(batch)) if index not in faults]
            bad = {
                index: str(GraphError(reason, where=f"{source}, graph {first + index + 1}"))
                for index, reason in faults.items()
            }
            kept = joined([(good, batch.take(np.array(good, np.int64)))], len(batch), bad)
            batch = replace(kept, graph_ids=batch.graph_ids)
        yield batch


def is_tu_folder(path: Path) -> bool:
    """Whether a folder holds a TU dataset."""
    return any(file.name.endswith(INDICATOR) for file in path.iterdir())


# ---- parts: some graphs, column by column


def _parts(source: File, on_error: OnError) -> Iterator[tuple[int, RawBatch, Faults]]:
    """Yield the number of the first graph of a part, the graphs, and what is wrong with some of them.

    A dataset without graphs is one part. Two passes over the arcs: one arc without its reverse makes all
    graphs directed.
    """
    with _open_files(source) as files:
        faults: Faults = {}
        y = _targets(files, on_error, faults)
        nodes, node_ptr = _store_nodes(files, None if y is None else len(y), on_error, faults)
        arcs, arc_ptr = _store_arcs(files, node_ptr, on_error, faults)
        ranges = list(_ranges(node_ptr + arc_ptr))
        directed = _is_directed(arcs, arc_ptr, node_ptr, ranges, list(faults))
        for start, stop in ranges:
            rows = slice(int(node_ptr[start]), int(node_ptr[stop]))
            source_, target, values = _once(arcs[arc_ptr[start] : arc_ptr[stop]], rows.start, rows.stop)
            if not directed:
                half = source_ <= target
                source_, target = source_[half], target[half]
                values = {name: entries[half] for name, entries in values.items()}
            ptr = node_ptr[start : stop + 1] - rows.start
            edge_ptr = np.searchsorted(source_, ptr).astype(np.int64)
            begin = np.repeat(ptr[:-1], np.diff(edge_ptr))
            batch = RawBatch(
                ptr,
                edge_ptr,
                np.column_stack([source_ - begin, target - begin]),
                _columns({name: np.asarray(nodes[rows][name]) for name in nodes.dtype.names or ()}),
                _columns(values),
                np.full(stop - start, directed),
                [str(number + 1) for number in range(start, stop)],
                [None] * (stop - start) if y is None else y[start:stop].tolist(),
            )
            own = _infinite(batch) | {g - start: faults[g] for g in range(start, stop) if g in faults}
            if own and on_error == "raise":
                first, fault = min(own.items())
                raise GraphError(fault, where=f"{source}, graph {start + first + 1}")
            yield start, batch, own


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


def _columns(table: Table) -> dict[str, RawColumn]:
    columns = {}
    for index, entries in enumerate(table["labels"].T if "labels" in table else ()):
        values, codes = np.unique(entries, return_inverse=True)
        columns[f"label{index or ''}"] = RawColumn(codes, tuple(map(str, values.tolist())))
    if "attributes" in table:
        columns["attributes"] = RawColumn(table["attributes"])
    return columns


def _ranges(work: IntArray) -> Iterator[tuple[int, int]]:
    """Cut the graphs into ranges of about `PART` nodes and arcs each, one graph at least."""
    start, n_graphs = 0, len(work) - 1
    while start < n_graphs or not start:
        stop = max(start + 1, int(np.searchsorted(work, work[start] + PART, side="right")) - 1)
        yield start, min(stop, n_graphs)
        start = stop


def _is_directed(
    arcs: npt.NDArray[Any],
    ptr: IntArray,
    node_ptr: IntArray,
    ranges: Iterable[tuple[int, int]],
    bad: list[int],
) -> bool:
    """Whether a graph without faults has an arc without its reverse, with the same label and attributes."""
    for start, stop in ranges:
        first, end = int(node_ptr[start]), int(node_ptr[stop])
        records = arcs[ptr[start] : ptr[stop]]
        if bad:
            graph = np.searchsorted(node_ptr, records["source"], side="right") - 1
            records = records[~np.isin(graph, bad)]
        source, target, values = _once(records, first, end)
        up, down = np.flatnonzero(source < target), np.flatnonzero(source > target)
        forth = source[up] * (end - first) + target[up]
        back = target[down] * (end - first) + source[down]
        if not values:
            if not np.array_equal(forth, np.sort(back)):
                return True
            continue
        order = np.argsort(back)
        if not np.array_equal(forth, back[order]) or not all(
            np.array_equal(entries[up], entries[down][order], equal_nan=True) for entries in values.values()
        ):
            return True
    return False


def _once(records: npt.NDArray[Any], first: int, end: int) -> tuple[IntArray, IntArray, Table]:
    """Return sources and targets, numbered from `first`, labels and attributes: sorted, without repeats."""
    source, target = (records[name].astype(np.int64) - first for name in ("source", "target"))
    values = {name: records[name] for name in records.dtype.names or () if name in ("labels", "attributes")}
    keys = source * (end - first) + target
    if not (keys[1:] > keys[:-1]).all():
        if values:
            keys, rows = np.unique(keys, return_index=True)
            values = {name: entries[rows] for name, entries in values.items()}
        else:
            keys = np.sort(keys)  # np.unique would hash
            keys = keys[np.append(True, keys[1:] != keys[:-1])]
        source, target = np.divmod(keys, max(end - first, 1))
    return source, target, values


# ---- records in temporary files


class _Store:
    """Records of numbers in a temporary file. Without any, `fields` describes them."""

    def __init__(self, files: _Files, fields: list[Any]) -> None:
        self.file = files.stack.enter_context(tempfile.TemporaryFile())  # noqa: SIM115
        self.dtype = np.dtype(fields)

    def add(self, columns: Table) -> None:
        """Append one record for each entry of the columns."""
        self.dtype = np.dtype([(name, column.dtype, column.shape[1:]) for name, column in columns.items()])
        records = np.empty(len(next(iter(columns.values()), ())), self.dtype)
        for name, column in columns.items():
            records[name] = column
        self.file.write(records.data)

    def records(self) -> npt.NDArray[Any]:
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
    rows = files.rows(kind, on_error)
    values = rows.take(None)
    faults.update(rows.faults)
    return values.ravel() if kind == "graph_labels" or values.shape[1] == 1 else values


def _store_nodes(
    files: _Files, n_graphs: int | None, on_error: OnError, faults: Faults
) -> tuple[npt.NDArray[Any], IntArray]:
    """Return labels and attributes of nodes as records, and the first node of each graph."""
    store, starts, n_nodes, last = _Store(files, []), [], 0, 0
    for lines, values, wrong in _lines(files, "graph_indicator", "node", on_error):
        owner = lines[:, 0]
        if owner[0] < max(last, 1) or (np.diff(owner) < 0).any():
            raise GraphError("graph_indicator must ascend from 1", where=str(files.source))
        _check_number(int(owner[-1]), n_nodes + len(owner), files)
        starts.append(n_nodes + np.searchsorted(owner, np.arange(last + 1, int(owner[-1]) + 1)))
        faults.update((int(owner[row - n_nodes]) - 1, reason) for row, reason in wrong.items())
        n_nodes, last = n_nodes + len(owner), int(owner[-1])
        if values:
            store.add(values)
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
) -> tuple[npt.NDArray[Any], IntArray]:
    """Return the arcs as records, graph by graph, and the first arc of each graph.

    Arcs that cannot be used are left out. They are faults of the graph of the end that exists, or else of the
    graph of the line before.
    """
    ptr = np.zeros(len(node_ptr), np.int64)
    n_nodes, n_lines, last, highest, ordered = int(node_ptr[-1]), 0, 0, 0, True
    number = np.int32 if n_nodes < 2**31 else np.int64
    store = _Store(files, [("source", number), ("target", number)])
    for lines, values, wrong in _lines(files, "A", "edge", on_error):
        arcs = lines - 1
        inside = (arcs >= 0) & (arcs < n_nodes)
        if not n_nodes:
            raise GraphError(f"{files.name('A')}, line 1: no such node (0 nodes)")
        ends = np.where(inside[:, 0], arcs[:, 0], np.where(inside[:, 1], arcs[:, 1], 0))
        graph = np.searchsorted(node_ptr, ends, side="right") - 1
        good = inside.all(axis=1) & (arcs[:, 1] >= node_ptr[graph]) & (arcs[:, 1] < node_ptr[graph + 1])
        good[[row - n_lines for row in wrong]] = False
        if not good.all():
            before = np.maximum.accumulate(np.where(inside.any(axis=1), np.arange(len(arcs)), -1))
            graph = np.where(before < 0, last, graph[before])
            for row in np.unique(np.where(good, -1, graph), return_index=True)[1].tolist():
                if good[row]:
                    continue
                problem = "an edge between two graphs" if inside[row].all() else "no such node"
                place = f"{files.name('A')}, line {n_lines + row + 1}"
                if on_error == "raise":
                    raise GraphError(f"{problem} ({n_nodes} nodes)", where=place)
                faults[int(graph[row])] = wrong.get(n_lines + row, f"{place}: {problem}")
            last, n_lines = int(graph[-1]), n_lines + len(arcs)
            graph, arcs = graph[good], arcs[good]
            values = {name: entries[good] for name, entries in values.items()}
        else:
            last, n_lines = int(graph[-1]), n_lines + len(arcs)
        columns = {"source": arcs[:, 0].astype(number), "target": arcs[:, 1].astype(number)}
        store.add(columns | values)
        if len(graph):
            ordered = ordered and bool(graph[0] >= highest and (graph[1:] >= graph[:-1]).all())
            highest = int(graph[-1])
            own, counts = np.unique(graph, return_counts=True)
            ptr[own + 1] += counts
    ptr = np.cumsum(ptr)
    records = store.records()
    return (records if ordered else _sorted(records, node_ptr, ptr)), ptr


def _sorted(records: npt.NDArray[Any], node_ptr: IntArray, ptr: IntArray) -> npt.NDArray[Any]:
    """Return the arcs in the order of the graphs: each goes to the next free place of its graph."""
    free = ptr.copy()
    with tempfile.TemporaryFile() as file:
        result = np.memmap(file, dtype=records.dtype, mode="w+", shape=records.shape)
    for start in range(0, len(records), RUN):
        block = records[start : start + RUN]
        graph = np.searchsorted(node_ptr, block["source"], side="right") - 1
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
            yield _Files(source, {file.name: file for file in sorted(source.path.iterdir())}, None, stack)
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
        members = {PurePosixPath(name).name: name for name in archive.namelist()}
        yield _Files(source, members, archive, stack)


class _Files:
    """The files of a dataset, in a folder or in a zip, known by the end of their names."""

    def __init__(
        self, source: File, members: dict[str, Any], archive: zipfile.ZipFile | None, stack: ExitStack
    ) -> None:
        self.source, self.members, self.archive, self.stack = source, members, archive, stack
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

    def rows(self, suffix: str, on_error: OnError, width: int | None = None) -> _Rows:
        """Open the lines of a file: whole numbers, but for attributes."""
        if not self.has(suffix):
            raise GraphError(f"{self.name(suffix)} is missing")
        member = self.members[f"{self.prefix}{suffix}.txt"]
        archive, name = self.archive, str(self.source)
        stream: Any = member.open("rb") if archive is None else Member(archive, member, name)
        self.stack.callback(stream.close)
        dtype = np.dtype(np.float64 if suffix.endswith("attributes") else np.int64)
        return _Rows(stream, self.name(suffix), dtype, on_error, width)


def _lines(
    files: _Files, main: str, item: str, on_error: OnError
) -> Iterator[tuple[IntArray, Table, Faults]]:
    """Yield lines of the main file with labels and attributes of the same lines, and faults by line."""
    rows = files.rows(main, on_error, 2) if main == "A" else files.rows(main, "raise", 1)
    names = {kind: f"{item}_{kind}" for kind in ("labels", "attributes") if files.has(f"{item}_{kind}")}
    others = {kind: files.rows(name, on_error) for kind, name in names.items()}
    while len(block := rows.take(RUN)):
        values = {kind: other.take(len(block)) for kind, other in others.items()}
        if any(len(entries) < len(block) for entries in values.values()):
            break
        wrong: Faults = {}
        for each in (rows, *others.values()):
            wrong |= each.faults
            each.faults = {}
        yield block, values, wrong
    for kind, other in others.items():
        if other.count_all() != rows.count_all():
            raise GraphError(
                f"must have one line per {item} ({rows.count_all()}), got {other.count_all()}",
                where=files.name(names[kind]),
            )


class _Rows:
    """Lines of numbers with commas between, from first to last.

    With on_error="yield", lines that are wrong become zeros, and `faults` has the reasons by line, from 0.
    """

    def __init__(
        self,
        stream: IO[bytes] | Member,
        name: str,
        dtype: np.dtype[Any],
        on_error: OnError,
        width: int | None,
    ) -> None:
        self.blocks = _whole_lines(stream, name)
        self.name, self.dtype, self.on_error, self.width = name, dtype, on_error, width
        self.parsed = 0
        self.faults: Faults = {}
        self.buffer = np.empty((0, width or 1), dtype)

    def take(self, count: int | None) -> npt.NDArray[Any]:
        """Return the next lines, or all. Fewer only at the end."""
        parts = [self.buffer] if len(self.buffer) else []
        have = len(self.buffer)
        while count is None or have < count:
            block = next(self.blocks, None)
            if block is None:
                break
            parts.append(self._numbers(block))
            self.parsed += len(parts[-1])
            have += len(parts[-1])
        table = np.concatenate(parts) if parts else self.buffer
        end = len(table) if count is None else count
        self.buffer = table[end:]
        return table[:end]

    def count_all(self) -> int:
        """Return the number of lines of the file. The rest is passed over."""
        while len(self.take(RUN)):
            pass
        return self.parsed

    def _numbers(self, block: bytes) -> npt.NDArray[Any]:
        try:
            table = _whole_numbers(block) if self.dtype.kind == "i" else None
            if table is None:
                table = np.loadtxt(io.BytesIO(block), delimiter=",", dtype=self.dtype, ndmin=2, comments=None)
            if self.width is None:
                self.width = table.shape[1]
            if table.shape[1] == self.width:
                return table
        except (ValueError, OverflowError, DeprecationWarning):
            pass
        return self._line_by_line(block)

    def _line_by_line(self, block: bytes) -> npt.NDArray[Any]:
        kind = int if self.dtype.kind == "i" else float
        lines = [line for line in block.splitlines() if line.strip()]
        self.width = self.width or lines[0].count(b",") + 1
        table = np.zeros((len(lines), self.width), dtype=self.dtype)
        for index, line in enumerate(lines):
            try:
                table[index] = [kind(entry) for entry in line.split(b",", self.width)]
            except (ValueError, OverflowError):
                numbers = "whole numbers" if kind is int else "numbers"
                error = GraphError(
                    f"must be {self.width} {numbers}, got {line[:40]!r}",
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


def _whole_numbers(block: bytes) -> npt.NDArray[Any] | None:
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
    """Whether a TU dataset can hold a column: labels that are whole numbers, or "attributes".

    Examples
    --------
    >>> labels = np.array(["1", "-2"], dtype=object)
    >>> fits_tu("label", labels), fits_tu("element", labels)
    (True, False)
    """
    if name == "attributes":
        return bool(values.dtype == np.float64 and values.ndim == 2 and values.shape[1])
    return bool(LABEL.match(name)) and all(
        isinstance(value, str) and bool(WHOLE.match(value)) for value in values.tolist()
    )


def write_tu(file: IO[bytes], graphs: Iterable[RawGraph]) -> None:
    """Write a zip with the text files of a TU dataset called DS."""
    with _texts(graphs) as texts, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in texts.items():
            with new_member(archive, f"DS/DS_{name}.txt") as member:
                shutil.copyfileobj(text, member)


def write_tu_folder(path: Path, graphs: Iterable[RawGraph]) -> None:
    """Write a folder NAME with the text files NAME_A.txt, NAME_graph_indicator.txt and so on."""
    with _texts(graphs) as texts:
        path.mkdir()
        for name, text in texts.items():
            with open_sink(path / f"{path.name}_{name}.txt") as file:
                shutil.copyfileobj(text, file)


@contextmanager
def _texts(graphs: Iterable[RawGraph]) -> Iterator[dict[str, IO[bytes]]]:
    """Give the text files of a dataset, each at its beginning."""
    with ExitStack() as stack:
        writer = _Writer(stack)
        for graph in graphs:
            writer.add_graph(graph)
        writer.check()
        for text in writer.files.values():
            text.seek(0)
        yield writer.files


class _Writer:
    """The text files of a dataset, and what all of its graphs must agree on."""

    def __init__(self, stack: ExitStack) -> None:
        self.stack = stack
        self.files: dict[str, IO[bytes]] = {}
        self.agreed: dict[str, Any] = {}
        self.n_nodes = self.n_graphs = 0
        self.last_is_empty = self.one_way = False
        for name in ("A", "graph_indicator"):
            self.add(name, [])

    def add(self, name: str, lines: Iterable[str]) -> None:
        """Append lines to a file."""
        if name not in self.files:
            spool = tempfile.SpooledTemporaryFile(IN_MEMORY)  # noqa: SIM115
            self.files[name] = self.stack.enter_context(spool)
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
                np.unique(column, return_inverse=True)[1] if column.dtype == object else column
                for column in graph.edge_columns.values()
            ]
            values = [np.asarray(column, np.float64).reshape(len(edges), -1) for column in columns]
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
