"""TU benchmark datasets: a folder or zip with DS_A.txt, DS_graph_indicator.txt and optional attribute files.

Nodes are numbered from 1 over all graphs. Undirected graphs list every edge in both directions; a repeated
line is the same edge, so repeats are dropped, not summed. The text files are read as streams of numbers, and
the arcs wait in temporary files, grouped by graph, so that little memory is used.
"""

from __future__ import annotations

import io
import os
import re
import tempfile
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import IO, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from grnf.errors import GraphError
from grnf.graphs import GraphBatch, category_key, number_keys
from grnf.graphs.batch import Codes
from grnf.graphs.channels import Item
from grnf.io.files.archives import Member, open_archive
from grnf.io.files.file import File
from grnf.io.files.limits import LONGEST_RECORD, MOST_EMPTY_GRAPHS
from grnf.io.files.npy_stream import Readable
from grnf.io.files.records import Block, OnError, each_record
from grnf.io.raw import BadGraph, RawBatch, RawColumn, RawGraph, checked_raw
from grnf.typing import FloatArray, IntArray, Keys

__all__ = ["TUData", "is_tu_folder", "read_tu", "read_tu_blocks", "read_tu_graphs"]

INDICATOR = "_graph_indicator.txt"
OF_EDGES = ("edge_labels", "edge_attributes")
AT_ONCE = 2**16
"""Nodes and arcs together that are in memory at a time, unless one graph has more."""
RUN = 2**15
"""Arcs that are read, and put in order, at a time."""
CHUNK = 2**18
"""Bytes of text that become numbers at a time, or lines of the indicator."""
MOST_ONE_HOT = 256
"""Labels of a column up to which `read_tu` has a column of zeros and ones for each."""
FAULTS = {1: "no such node", 2: "an edge between two graphs", 3: "these are no numbers, or too few or many"}

Table = dict[str, npt.NDArray[Any]]
"""Columns of one length: graph, source, target, fault, edge_labels, edge_attributes."""


class TUData(NamedTuple):
    """Graphs, their classes (or regression targets), and what the columns of the attributes are."""

    graphs: GraphBatch
    y: Any
    node_columns: list[str]
    edge_columns: list[str]


def read_tu(path: str | os.PathLike[str], *, node_attributes: bool = True) -> TUData:
    """Read a TU dataset from a zip file or a folder.

    Node attributes come first, then node labels as one-hot columns, one per label that occurs, sorted as
    text; likewise for edges. That is the order in which `grnf.io.AttributeEncoder` puts them, so graphs have
    the same vectors whether they come from here or from `grnf.io.read_graphs`. Labels of more than 256 kinds
    are categories (`GraphBatch.node_codes`) instead of columns.

    Parameters
    ----------
    path : path to a .zip file or a folder
    node_attributes : bool, default=True
        Whether to keep continuous node attributes in addition to the labels.
    """
    data = _together(list(_parts(File(path), "raise")))
    if not node_attributes:
        data.tables.pop("node_attributes", None)
    nodes = _attributes(data.tables, "node", int(data.node_ptr[-1]))
    edges = _attributes(data.tables, "edge", len(data.edges))
    batch = GraphBatch(
        node_ptr=data.node_ptr,
        edge_ptr=data.edge_ptr,
        edges=data.edges,
        node_attr=nodes.values,
        edge_attr=edges.values,
        directed=np.full(len(data.node_ptr) - 1, data.directed),
        node_keys=nodes.keys,
        edge_keys=edges.keys,
        node_codes=nodes.codes,
        edge_codes=edges.codes,
    )
    return TUData(batch, data.tables.get("y"), nodes.names, edges.names)


def read_tu_graphs(source: File, *, on_error: OnError = "raise") -> Iterator[RawGraph | BadGraph]:
    """Yield the graphs of a TU set: labels as categories (texts), attributes as one column of vectors.

    Two passes over the arcs, since one arc without its reverse makes all graphs of a set directed.
    """

    def records() -> Iterator[tuple[str, str | None, tuple[_Set, int] | GraphError]]:
        for data in _parts(source, on_error):
            for index in range(len(data.node_ptr) - 1):
                number = data.first + index
                fault = data.faults.get(number)
                content = (data, index) if fault is None else GraphError(fault)
                yield f"{source}, graph {number + 1}", str(number + 1), content

    yield from each_record(records(), lambda content: _graph(*content), on_error)


def read_tu_blocks(source: File, *, on_error: OnError = "raise") -> Iterator[Block]:
    """Yield the graphs of a TU set as blocks; one with faults graph by graph."""
    for data in _parts(source, on_error):
        count, first = len(data.node_ptr) - 1, data.first
        if data.faults:
            yield list(islice(read_tu_graphs(source, on_error=on_error), first, first + count))
            continue
        yield RawBatch(
            data.node_ptr,
            data.edge_ptr,
            data.edges,
            _raw_columns(data.tables, "node"),
            _raw_columns(data.tables, "edge"),
            np.full(count, data.directed),
            [str(first + index + 1) for index in range(count)],
            data.tables["y"].tolist() if "y" in data.tables else [None] * count,
        )


def _raw_columns(tables: Table, item: str) -> dict[str, RawColumn]:
    columns = {}
    for index, entries in enumerate(tables.get(f"{item}_labels", np.empty((0, 0))).T):
        values, codes = np.unique(entries, return_inverse=True)
        columns[f"label{index or ''}"] = RawColumn(codes, tuple(map(str, values.tolist())))
    if f"{item}_attributes" in tables:
        columns["attributes"] = RawColumn(tables[f"{item}_attributes"])
    return columns


def _graph(data: _Set, index: int) -> RawGraph:
    nodes = slice(data.node_ptr[index], data.node_ptr[index + 1])
    edges = slice(data.edge_ptr[index], data.edge_ptr[index + 1])
    return checked_raw(
        int(nodes.stop - nodes.start),
        data.edges[edges],
        {name: values[nodes] for name, values in data.node_columns.items()},
        {name: values[edges] for name, values in data.edge_columns.items()},
        data.directed,
        str(data.first + index + 1),
        data.tables["y"][index].tolist() if "y" in data.tables else None,
    )


def is_tu_folder(path: Path) -> bool:
    """Tell whether a folder holds a TU set."""
    return any(file.name.endswith(INDICATOR) for file in path.iterdir())


@dataclass(frozen=True)
class _Set:
    """Some graphs of a set: edges without repeats, numbered within their graphs, and where graphs begin.

    `first` is the number of the first one, `tables` has labels and attributes of nodes and edges and y, where
    there are any, and `faults` says why some graphs cannot be used, by number.
    """

    first: int
    node_ptr: IntArray
    edge_ptr: IntArray
    edges: IntArray
    directed: bool
    tables: Table
    faults: dict[int, str]

    @cached_property
    def node_columns(self) -> Table:
        return _columns(self.tables, "node")

    @cached_property
    def edge_columns(self) -> Table:
        return _columns(self.tables, "edge")


def _parts(source: File, on_error: OnError) -> Iterator[_Set]:
    """Yield the graphs in parts of about `AT_ONCE` nodes and arcs; a set without graphs is one part."""
    with _open_files(source) as files:
        target = next((kind for kind in ("graph_labels", "graph_attributes") if files.has(kind)), None)
        node_ptr, n_nodes = _first_nodes(files, None if target is None else files.count(target))
        files.check_counts("node", n_nodes)
        arcs = _Arcs(files, node_ptr, on_error)
        names = ("node_labels", "node_attributes", target or "y")
        tables = {name: files.rows(name, on_error) for name in names if files.has(name)}
        directed = _is_directed(arcs)
        for graphs in _ranges(arcs):
            yield _part(arcs, tables, graphs, directed)


def _ranges(arcs: _Arcs) -> Iterator[tuple[int, int]]:
    """Cut the graphs into ranges of about `AT_ONCE` nodes and arcs each, one graph at least."""
    start, n_graphs = 0, len(arcs.ptr) - 1
    while start < n_graphs:
        some = slice(start, start + 1 + AT_ONCE)
        work = np.asarray(arcs.node_ptr[some]) + arcs.ptr[some]
        stop = start + max(1, int(np.searchsorted(work[1:] - work[0], AT_ONCE, side="right")))
        yield start, stop
        start = stop
    if not n_graphs:
        yield 0, 0


def _is_directed(arcs: _Arcs) -> bool:
    """Whether a graph without faults has an arc without its reverse."""
    for start, stop in _ranges(arcs):
        table = arcs.take(start, stop)
        fault = table.get("fault")
        if fault is not None and fault.any():
            good = ~np.isin(table["graph"], table["graph"][fault > 0])
            table = {name: values[good] for name, values in table.items()}
        if _has_one_way(table, int(arcs.node_ptr[start]), int(arcs.node_ptr[stop])):
            return True
    return False


def _part(arcs: _Arcs, tables: dict[str, _Rows], graphs: tuple[int, int], directed: bool) -> _Set:
    start, stop = graphs
    node_ptr = np.array(arcs.node_ptr[start : stop + 1])
    first, end = int(node_ptr[0]), int(node_ptr[-1])
    table = arcs.take(start, stop)
    faults: dict[int, str] = {}
    fault = table.pop("fault", None)
    if fault is not None and fault.any():
        wrong = np.flatnonzero(fault)
        faults = {int(table["graph"][row]): arcs.reason(int(fault[row])) for row in wrong.tolist()}
        table = {name: values[fault == 0] for name, values in table.items()}
    edges = _once(table, first, end)
    if not directed:
        half = edges["source"] <= edges["target"]
        edges = {name: values[half] for name, values in edges.items()}
    found = {name: edges[name] for name in OF_EDGES if name in edges}
    for name, rows in tables.items():
        of_graphs = name.startswith("graph")
        low, high = (start, stop) if of_graphs else (first, end)
        values = rows.take(high - low)
        for row in rows.faults_within(low, high):
            graph = row if of_graphs else start + int(np.searchsorted(node_ptr, row, side="right")) - 1
            faults[graph] = f"{rows.name}, line {row + 1}: these are no numbers, or too few or many"
        if of_graphs and (name == "graph_labels" or values.shape[1] == 1):
            values = values.ravel()
        found["y" if of_graphs else name] = values
    node_ptr -= first
    edge_ptr = np.searchsorted(edges["source"], node_ptr).astype(np.int64)
    begin = np.repeat(node_ptr[:-1], np.diff(edge_ptr))
    return _Set(
        first=start,
        node_ptr=node_ptr,
        edge_ptr=edge_ptr,
        edges=np.column_stack([edges["source"] - begin, edges["target"] - begin]),
        directed=directed,
        tables=found,
        faults=faults,
    )


def _together(parts: list[_Set]) -> _Set:
    """Return all parts as one."""

    def starts(name: str) -> IntArray:
        counts = [np.diff(getattr(part, name)) for part in parts]
        return np.concatenate([[0], np.cumsum(np.concatenate(counts))]).astype(np.int64)

    edges = np.concatenate([part.edges for part in parts])
    tables = {name: np.concatenate([part.tables[name] for part in parts]) for name in parts[0].tables}
    return _Set(0, starts("node_ptr"), starts("edge_ptr"), edges, parts[0].directed, tables, {})


def _keys(source: IntArray, target: IntArray, n_nodes: int) -> IntArray:
    """Return one number for each arc, in the order of arcs."""
    return source * n_nodes + target


def _once(table: Table, first: int, end: int) -> Table:
    """Return arcs, numbered from `first`, with labels and attributes, sorted and without repeats."""
    source, target = (table[name].astype(np.int64) - first for name in ("source", "target"))
    values: Table = {name: table[name] for name in OF_EDGES if name in table}
    keys = _keys(source, target, end - first)
    if not (keys[1:] > keys[:-1]).all():
        if values:
            keys, rows = np.unique(keys, return_index=True)
            values = {name: entries[rows] for name, entries in values.items()}
        else:
            keys = np.sort(keys)  # np.unique would hash
            keys = keys[np.append(True, keys[1:] != keys[:-1])] if len(keys) else keys
        source, target = np.divmod(keys, max(end - first, 1))
    return {"source": source, "target": target, **values}


def _has_one_way(table: Table, first: int, end: int) -> bool:
    """Whether an arc lacks its reverse, with the same label and attributes."""
    arcs = _once(table, first, end)
    source, target = arcs["source"], arcs["target"]
    up, down = np.flatnonzero(source < target), np.flatnonzero(source > target)
    forth = _keys(source[up], target[up], end - first)
    back = _keys(target[down], source[down], end - first)
    values = [arcs[name] for name in OF_EDGES if name in arcs]
    if not values:
        return not np.array_equal(forth, np.sort(back))
    order = np.argsort(back)
    return not np.array_equal(forth, back[order]) or not all(
        np.array_equal(entries[up], entries[down][order], equal_nan=True) for entries in values
    )


class _Attributes(NamedTuple):
    """Attributes of nodes or edges as a `GraphBatch` has them, and what the columns are."""

    values: FloatArray
    names: list[str]
    keys: Keys
    codes: Codes


def _attributes(tables: Table, item: Item, count: int) -> _Attributes:
    """Return attributes, and labels: one-hot, or as categories if there are many."""
    parts = [tables.get(f"{item}_attributes", np.empty((count, 0)))]
    names = [f"attribute{column}" for column in range(parts[0].shape[1])]
    keys = number_keys(item, len(names), "attributes").tolist()
    many: list[tuple[IntArray, Keys]] = []
    for column, entries in enumerate(tables.get(f"{item}_labels", np.empty((count, 0))).T):
        title = f"label{column or ''}"
        found, places = np.unique(entries, return_inverse=True)
        own = np.array([category_key(item, title, int(value)) for value in found], dtype=np.uint64)
        if len(found) > MOST_ONE_HOT:
            many.append((places, own))
            continue
        order = np.array(sorted(range(len(found)), key=lambda place: str(found[place])), dtype=np.int64)
        parts.append((places[:, np.newaxis] == order).astype(np.float64))
        names += [f"{title}={found[place]}" for place in order.tolist()]
        keys += own[order].tolist()
    every = np.unique(np.concatenate([np.empty(0, np.uint64), *(own for _, own in many)]))
    codes = [np.searchsorted(every, own)[places] for places, own in many]
    values = np.column_stack(codes).astype(np.int64) if codes else np.empty((count, 0), np.int64)
    return _Attributes(np.hstack(parts), names, np.array(keys, dtype=np.uint64), Codes(values, every))


def _columns(tables: Table, item: str) -> Table:
    columns: Table = {}
    for index, entries in enumerate(tables.get(f"{item}_labels", np.empty((0, 0))).T):
        values, codes = np.unique(entries, return_inverse=True)
        columns[f"label{index or ''}"] = np.array([str(value) for value in values], dtype=object)[codes]
    if f"{item}_attributes" in tables:
        columns["attributes"] = tables[f"{item}_attributes"]
    return columns


# ---- the arcs, grouped by graph


class _Arcs:
    """The arcs of a set with their labels and attributes, in temporary files, to be taken graph by graph.

    Columns are graph (from 0), source and target (numbers of nodes over all graphs, from 0), what is in
    `OF_EDGES` where the set has it, and with on_error="yield" fault (0, or what is wrong with the line).
    `ptr` has where the arcs of each graph begin.
    """

    def __init__(self, files: _Files, node_ptr: IntArray, on_error: OnError) -> None:
        self.name = files.name("A")
        self.node_ptr = node_ptr
        self.n_nodes = int(node_ptr[-1])
        self.on_error = on_error
        self.stack = files.stack
        self.ptr = _array(np.dtype(np.int64), (len(node_ptr),))
        self.length = 0
        self.ordered = True
        self.written: dict[str, tuple[IO[bytes], np.dtype[Any], tuple[int, ...]]] = {}
        self._store(np.empty((0, 2), dtype=np.int64), 0, {}, {})
        self._read(files)
        np.cumsum(self.ptr, out=self.ptr)
        self.table = {
            name: _array(dtype, (self.length, *shape), file)
            for name, (file, dtype, shape) in self.written.items()
        }
        if not self.ordered:
            self.table = self._sorted()

    def take(self, start: int, stop: int) -> Table:
        """Return the arcs of a range of graphs, graph by graph."""
        rows = slice(int(self.ptr[start]), int(self.ptr[stop]))
        return {name: np.asarray(values[rows]) for name, values in self.table.items()}

    def _read(self, files: _Files) -> None:
        """Copy the lines of the files to columns, and see whether they are in the order of the graphs."""
        arcs = files.rows("A", self.on_error, 2)
        others = {name: files.rows(name, self.on_error) for name in OF_EDGES if files.has(name)}
        last = 0
        while len(block := arcs.take(RUN)):
            start, stop = self.length, self.length + len(block)
            values = {name: rows.take(len(block)) for name, rows in others.items()}
            if any(len(table) != len(block) for table in values.values()):
                files.check_counts("edge", files.count("A"))
            wrong = {
                row - start: (row + 1) * 4 + 3
                for rows in (arcs, *others.values())
                for row in rows.faults_within(start, stop)
            }
            last = self._store(block - 1, last, values, wrong)
            self.length = stop
        if any(len(rows.take(1)) for rows in others.values()):
            files.check_counts("edge", self.length)

    def _store(self, arcs: IntArray, last: int, values: Table, wrong: dict[int, int]) -> int:
        """Add arcs to the columns; return the graph of the last one."""
        graph, fault = self._locate(arcs, last)
        number = np.int32 if max(self.n_nodes, len(self.node_ptr)) < 2**31 else np.int64
        numbers = {"graph": graph, "source": arcs[:, 0], "target": arcs[:, 1]}
        columns: Table = {name: column.astype(number) for name, column in numbers.items()} | values
        if self.on_error == "yield":
            for row, reason in wrong.items():
                fault[row] = reason
            columns["fault"] = fault
        for name, column in columns.items():
            if name not in self.written:
                file = self.stack.enter_context(tempfile.TemporaryFile())  # noqa: SIM115
                self.written[name] = file, column.dtype, column.shape[1:]
            self.written[name][0].write(np.ascontiguousarray(column).data)
        if not len(arcs):
            return last
        self.ordered &= bool(graph[0] >= last and (graph[1:] >= graph[:-1]).all())
        found, counts = np.unique(graph, return_counts=True)
        self.ptr[found + 1] += counts  # summed up when all are there
        return int(graph[-1])

    def _locate(self, arcs: IntArray, last: int) -> tuple[IntArray, IntArray]:
        """Find the graph of each arc, and what is wrong with arcs that have none or two, 0 if nothing.

        An arc with one end outside belongs to the graph of the other, with both to that of the line before.
        """
        inside = (arcs >= 0) & (arcs < self.n_nodes)
        nodes = np.where(inside[:, 0], arcs[:, 0], np.where(inside[:, 1], arcs[:, 1], 0))
        graph = np.searchsorted(self.node_ptr, nodes, side="right") - 1
        begin, end = self.node_ptr[graph], np.take(self.node_ptr, graph + 1, mode="clip")
        outside, crossing = ~inside.all(axis=1), (arcs[:, 1] < begin) | (arcs[:, 1] >= end)
        if not (outside.any() or crossing.any()):
            return graph, np.zeros(len(arcs), dtype=np.int64)
        lines = np.arange(self.length + 1, self.length + 1 + len(arcs))
        faults = np.where(outside, 4 * lines + 1, np.where(crossing, 4 * lines + 2, 0))
        if self.on_error == "raise" or not self.n_nodes:
            worst = int(faults[faults > 0][0])
            more = f" ({self.n_nodes} nodes)" if worst % 4 == 1 else ""
            raise GraphError(self.reason(worst) + more)
        nowhere = ~inside.any(axis=1)
        before = np.maximum.accumulate(np.where(nowhere, -1, np.arange(len(graph))))
        return np.where(before < 0, last, graph[before]), faults

    def reason(self, fault: int) -> str:
        """Say what is wrong with a line."""
        return f"{self.name}, line {fault // 4}: {FAULTS[fault % 4]}"

    def _sorted(self) -> Table:
        """Return the columns in the order of the graphs: an arc goes to the next free place of its graph."""
        result = {name: _array(values.dtype, values.shape) for name, values in self.table.items()}
        free = _array(self.ptr.dtype, self.ptr.shape)
        free[:] = self.ptr
        for start in range(0, self.length, RUN):
            block = {name: values[start : start + RUN] for name, values in self.table.items()}
            order = np.argsort(block["graph"], kind="stable")
            graphs, first, counts = np.unique(block["graph"][order], return_index=True, return_counts=True)
            places = np.repeat(free[graphs] - first, counts) + np.arange(len(order))
            free[graphs] += counts
            for name, values in block.items():
                result[name][places] = values[order]
        return result


def _array(dtype: np.dtype[Any], shape: tuple[int, ...], file: IO[bytes] | None = None) -> npt.NDArray[Any]:
    """Return what was written to a temporary file as an array, or zeros in a file of their own."""
    if 0 in shape:
        return np.empty(shape, dtype=dtype)
    if file is not None:
        file.flush()
        return np.memmap(file, dtype=dtype, mode="r+", shape=shape)
    with tempfile.TemporaryFile() as new:
        return np.memmap(new, dtype=dtype, mode="w+", shape=shape)


# ---- the text files


@contextmanager
def _open_files(source: File) -> Iterator[_Files]:
    """Open the folder or zip of a data set."""
    with ExitStack() as stack:
        if source.is_folder:
            members = {file.name: str(file) for file in sorted(source.path.iterdir())}
            yield _Files(source, members, None, stack)
            return
        if not source.is_stdin and not source.path.exists():
            raise GraphError(f"{source} does not exist")
        file = stack.enter_context(source.open_seekable())
        if not zipfile.is_zipfile(file):
            raise GraphError(f"{source} {_no_zip(source, file)}")
        archive = stack.enter_context(open_archive(file, str(source)))
        members = {PurePosixPath(name).name: name for name in archive.namelist()}
        yield _Files(source, members, archive, stack)


def _no_zip(source: File, file: IO[bytes]) -> str:
    """Say what is wrong with a file that should be a zip."""
    if source.is_empty:
        return "is empty (0 bytes)"
    file.seek(0)
    if file.read(4) == b"PK\x03\x04":
        return "begins as a zip file, but its end is missing: it was cut short; copy or download it again"
    return "is neither a folder nor a zip file"


class _Files:
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
                f"{source} is not a TU dataset: expected one NAME_graph_indicator.txt, found {len(names)}"
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

    def rows(self, suffix: str, on_error: OnError, width: int | None = None) -> _Rows:
        """Return the lines of a file: whole numbers, but for attributes."""
        dtype = np.dtype(np.float64 if suffix.endswith("attributes") else np.int64)
        return _Rows(self.open(suffix), self.name(suffix), dtype, on_error, width)

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
                    raise GraphError(
                        f"{found} lines of {item} attributes for {count} {item}s", where=str(self.source)
                    )


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
            raise GraphError(f"a line of more than {LONGEST_RECORD} bytes", where=name)
        rest = data[end:]
        if end:
            yield data[:end]
    if rest:
        yield rest


class _Rows:
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
            raise GraphError(f"{problem}{after}", where=self.name)
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


def _first_nodes(files: _Files, n_graphs: int | None) -> tuple[IntArray, int]:
    """Return where the nodes of each graph begin, with their number at the end, and the number of nodes.

    The numbers lie in a temporary file. `n_graphs` is how many graphs there are at least.
    """
    rows = files.rows("graph_indicator", "raise")
    n_nodes = last = 0
    with tempfile.TemporaryFile() as file:
        while len(owner := rows.take(CHUNK)):
            owner = owner[:, 0]
            if owner[0] < max(last, 1) or (np.diff(owner) < 0).any():
                raise GraphError("graph_indicator must ascend from 1", where=str(files.source))
            n_nodes += len(owner)
            _check_number(int(owner[-1]), n_nodes, files)
            graphs = np.arange(last + 1, int(owner[-1]) + 1)
            _append(file, n_nodes - len(owner) + np.searchsorted(owner, graphs))
            last = int(owner[-1])
        if n_graphs is not None and n_graphs < last:
            raise GraphError(f"{n_graphs} graph labels for {last} graphs", where=str(files.source))
        total = last if n_graphs is None else n_graphs
        _check_number(total, n_nodes, files)
        _append(file, np.full(total - last + 1, n_nodes))
        return np.memmap(file, dtype=np.int64, mode="r"), n_nodes


def _check_number(n_graphs: int, n_nodes: int, files: _Files) -> None:
    if n_graphs > n_nodes + MOST_EMPTY_GRAPHS:
        raise GraphError(
            f"{files.source}: graph number {n_graphs} with {n_nodes} nodes in all; number graphs from 1"
        )


def _append(file: IO[bytes], values: Any) -> None:
    file.write(np.ascontiguousarray(values, dtype=np.int64).tobytes())
