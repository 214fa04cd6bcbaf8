"""TU benchmark datasets: a folder or zip with DS_A.txt, DS_graph_indicator.txt and optional attribute files.

Nodes are numbered from 1 over all graphs. Undirected graphs list every edge in both directions. A repeated
line is the same edge, so repeats are dropped, not summed. Each file becomes an array on disk. Memory holds a
few numbers per graph and one part of these arrays.
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
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, Any, NamedTuple, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from grnf._utils.arrays import offsets
from grnf.errors import GraphError
from grnf.graphs import GraphBatch
from grnf.io.encode import AttributeEncoder, Schema, SchemaColumn
from grnf.io.files.file import File, OnError, open_sink
from grnf.io.files.limits import LONGEST_RECORD, MOST_EMPTY_GRAPHS, Member, new_member, open_archive
from grnf.io.files.values import runs
from grnf.io.raw import RawBatch, RawColumn, RawGraph, concatenated, joined
from grnf.typing import BoolArray, IntArray

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
WIDTHS = {"A": 2, "graph_indicator": 1}
KINDS = {int: "whole numbers", float: "numbers"}

Tables: TypeAlias = dict[str, npt.NDArray[Any]]
"""Labels and attributes of nodes or edges, as far as a dataset has them."""
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
    with File(path).reopenable() as file:
        data = concatenated(list(read_tu_graphs(file)))
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
        nodes, node_ptr = _nodes(files, None if y is None else len(y), on_error, faults)
        arcs = _arcs(files, node_ptr, on_error, faults)
        ranges = list(runs((node_ptr + arcs.ptr)[1:], PART))
        directed = any(_is_directed(*arcs.of(start, stop), node_ptr, faults) for start, stop in ranges)
        for start, stop in ranges:
            ptr = node_ptr[start : stop + 1]
            source_, target, columns = arcs.of(start, stop)
            if not directed:
                half = source_ <= target
                source_, target = source_[half], target[half]
                columns = {kind: values[half] for kind, values in columns.items()}
            edge_ptr = np.searchsorted(source_, ptr).astype(np.int64)
            begin = np.repeat(ptr[:-1], np.diff(edge_ptr))
            batch = RawBatch(
                ptr - ptr[0],
                edge_ptr,
                np.column_stack([source_ - begin, target - begin]),
                _columns({kind: values[ptr[0] : ptr[-1]] for kind, values in nodes.items()}),
                _columns(columns),
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


def _columns(tables: Tables) -> dict[str, RawColumn]:
    columns = {}
    for index, entries in enumerate(tables["labels"].T if "labels" in tables else ()):
        values, codes = np.unique(entries, return_inverse=True)
        columns[f"label{index or ''}"] = RawColumn(codes, tuple(map(str, values.tolist())))
    if "attributes" in tables:
        columns["attributes"] = RawColumn(np.array(tables["attributes"]))
    return columns


def _is_directed(
    source: IntArray, target: IntArray, columns: Tables, node_ptr: IntArray, faults: Faults
) -> bool:
    """Whether a graph without faults has an arc without its reverse, with the same label and attributes."""
    if faults:
        good = ~np.isin(np.searchsorted(node_ptr, source, side="right") - 1, list(faults))
        source, target = source[good], target[good]
        columns = {kind: values[good] for kind, values in columns.items()}
    size = int(max(source.max(initial=0), target.max(initial=0))) + 1
    forth, back = source * size + target, target * size + source
    if not columns:  # sorting numbers is much faster
        return not np.array_equal(forth, np.sort(back))
    order = np.argsort(back)
    return not (
        np.array_equal(forth, back[order])
        and all(np.array_equal(values, values[order], equal_nan=True) for values in columns.values())
    )


def _targets(files: _Files, on_error: OnError, faults: Faults) -> npt.NDArray[Any] | None:
    """Return the classes, or the regression targets, or None if the dataset has neither."""
    kind = next((kind for kind in ("graph_labels", "graph_attributes") if files.has(kind)), None)
    if kind is None:
        return None
    values, wrong = files.table(kind, on_error)
    faults.update(wrong)
    return values.ravel() if kind == "graph_labels" or values.shape[1] == 1 else values


def _nodes(files: _Files, n_graphs: int | None, on_error: OnError, faults: Faults) -> tuple[Tables, IntArray]:
    """Return labels and attributes of nodes, and the first node of each graph."""
    owner = files.table("graph_indicator", "raise")[0][:, 0]
    tables, wrong = files.tables("node", len(owner), on_error)
    last = int(owner[-1]) if len(owner) else 0
    if len(owner) and (owner[0] < 1 or (owner[1:] < owner[:-1]).any()):
        raise GraphError("graph_indicator must ascend from 1", where=str(files.source))
    total = last if n_graphs is None else n_graphs
    if total < last:
        raise GraphError(f"{n_graphs} graph labels for {last} graphs", where=str(files.source))
    if total > len(owner) + MOST_EMPTY_GRAPHS:
        raise GraphError(
            f"graph number {total} with {len(owner)} nodes in all",
            where=str(files.source),
            cure="Number from 1",
        )
    faults.update((int(owner[row]) - 1, reason) for row, reason in wrong.items())
    return tables, np.searchsorted(owner, np.arange(1, total + 2)).astype(np.int64)


class _Arcs(NamedTuple):
    """The arcs of all graphs, on disk."""

    ends: IntArray
    columns: Tables
    ptr: IntArray
    """The place of the first arc of each graph in `rows`."""
    rows: IntArray | None
    """The rows of the arcs, graph by graph, if they are not all rows in order."""

    def of(self, start: int, stop: int) -> tuple[IntArray, IntArray, Tables]:
        """Return the arcs of some graphs, sorted and without repeats: sources, targets and columns."""
        some: Any = slice(self.ptr[start], self.ptr[stop])
        some = some if self.rows is None else np.asarray(self.rows[some])
        source, target = np.array(self.ends[some].T, order="C") - 1
        columns = {kind: values[some] for kind, values in self.columns.items()}
        keys = source * (int(target.max(initial=0)) + 1) + target
        if not (keys[1:] > keys[:-1]).all():
            first = np.unique(keys, return_index=True)[1]
            source, target = source[first], target[first]
            columns = {kind: values[first] for kind, values in columns.items()}
        return source, target, columns


def _arcs(files: _Files, node_ptr: IntArray, on_error: OnError, faults: Faults) -> _Arcs:
    """Return the arcs, graph by graph.

    Arcs that cannot be used are left out. They are faults of the graph of the end that exists, or else of the
    graph of the line before.
    """
    arcs, wrong = files.table("A", on_error)
    tables, others = files.tables("edge", len(arcs), on_error)
    wrong |= others
    n_nodes, counts = int(node_ptr[-1]), np.zeros(len(node_ptr) - 1, np.int64)
    owners = files.on_disk(len(arcs))
    last, highest, ordered = 0, 0, True
    for start in range(0, len(arcs), RUN):
        ends = arcs[start : start + RUN] - 1
        inside = (ends >= 0) & (ends < n_nodes)
        known = np.where(inside[:, 0], ends[:, 0], np.where(inside[:, 1], ends[:, 1], 0))
        graph = np.searchsorted(node_ptr, known, side="right") - 1 if n_nodes else np.zeros_like(known)
        good: BoolArray = inside[:, 0] & inside[:, 1]
        good[good] = (ends[good, 1] >= node_ptr[graph[good]]) & (ends[good, 1] < node_ptr[graph[good] + 1])
        good[[row - start for row in wrong if start <= row < start + len(good)]] = False
        for row in np.flatnonzero(~good).tolist():
            if not inside[row].any():
                graph[row] = graph[row - 1] if row else last
            place = f"{files.name('A')}, line {start + row + 1}"
            problem = "an edge between two graphs" if inside[row].all() else "no such node"
            if on_error == "raise" or not n_nodes:
                raise GraphError(f"{problem} ({n_nodes} nodes)", where=place)
            faults[int(graph[row])] = wrong.get(start + row, f"{place}: {problem}")
        last, own = int(graph[-1]), graph[good]
        np.add.at(counts, own, 1)
        owners[start : start + len(good)] = np.where(good, graph, -1)
        ordered = ordered and bool(good.all() and own[0] >= highest and (own[1:] >= own[:-1]).all())
        highest = int(own[-1]) if len(own) else highest
    ptr = offsets(counts)
    return _Arcs(arcs, tables, ptr, None if ordered else _in_order(owners, ptr, files))


def _in_order(owners: IntArray, ptr: IntArray, files: _Files) -> IntArray:
    """Return the rows in the order of their graphs: each goes to the next free place of its graph."""
    free, result = ptr.copy(), files.on_disk(int(ptr[-1]))
    for start in range(0, len(owners), RUN):
        block = np.asarray(owners[start : start + RUN])
        order = np.argsort(block, kind="stable")[np.count_nonzero(block < 0) :]
        graphs, first, counts = np.unique(block[order], return_index=True, return_counts=True)
        result[np.repeat(free[graphs] - first, counts) + np.arange(len(order))] = start + order
        free[graphs] += counts
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
        if not source.path.exists():
            raise GraphError(f"{source} does not exist")
        file = stack.enter_context(source.open(recode=False))
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

    def on_disk(self, count: int) -> IntArray:
        """Return an array of whole numbers in a temporary file."""
        file = self.stack.enter_context(tempfile.TemporaryFile())  # noqa: SIM115
        return np.memmap(file, np.int64, "w+", shape=(count,)) if count else np.empty(0, np.int64)

    def table(self, suffix: str, on_error: OnError) -> tuple[npt.NDArray[Any], Faults]:
        """Return the lines of a file as rows of numbers, which stay on disk: whole ones, but for attributes.

        With on_error="yield", lines that are wrong become zeros. The reasons are returned by line, from 0.
        """
        if not self.has(suffix):
            raise GraphError(f"{self.name(suffix)} is missing")
        kind: type = float if suffix.endswith("attributes") else int
        width, count, faults = WIDTHS.get(suffix), 0, Faults()
        file = self.stack.enter_context(tempfile.TemporaryFile())  # noqa: SIM115
        with closing(self.members[f"{self.prefix}{suffix}.txt"]()) as stream:
            for block in _whole_lines(stream, self.name(suffix)):
                numbers = _numbers(block, kind)
                if numbers is None or numbers.shape[1] != (width or numbers.shape[1]):
                    numbers, wrong = _line_by_line(block, kind, width)
                    for row, line in wrong.items():
                        problem = f"must be {numbers.shape[1]} {KINDS[kind]}, got {line[:40]!r}"
                        error = GraphError(problem, where=f"{self.name(suffix)}, line {count + row + 1}")
                        if on_error == "raise":
                            raise error
                        faults[count + row] = str(error)
                width, count = numbers.shape[1], count + len(numbers)
                file.write(np.ascontiguousarray(numbers).data)
        if not count:
            return np.empty((0, width or 1), kind), faults
        file.flush()
        return np.memmap(file, kind, "r", shape=(count, cast("int", width))), faults

    def tables(self, item: str, count: int, on_error: OnError) -> tuple[Tables, Faults]:
        """Return labels and attributes of nodes or edges, and what is wrong with lines."""
        tables, faults = Tables(), Faults()
        for kind in ("labels", "attributes"):
            if self.has(f"{item}_{kind}"):
                table, wrong = self.table(f"{item}_{kind}", on_error)
                if len(table) != count:
                    problem = f"must have one line per {item} ({count}), got {len(table)}"
                    raise GraphError(problem, where=self.name(f"{item}_{kind}"))
                faults |= wrong
                tables |= {kind: table} if count else {}
        return tables, faults


def _numbers(block: bytes, kind: type) -> npt.NDArray[Any] | None:
    """Return lines of numbers as a table, or None if they are not of equal widths."""
    with suppress(ValueError, OverflowError, DeprecationWarning):
        table = whole_numbers(block) if kind is int else None
        if table is None:
            table = np.loadtxt(io.BytesIO(block), delimiter=",", dtype=kind, ndmin=2, comments=None)
        return table
    return None


def _line_by_line(block: bytes, kind: type, width: int | None) -> tuple[npt.NDArray[Any], dict[int, bytes]]:
    """Return lines as a table, and those that are not as many numbers as they should be."""
    lines = [line for line in block.splitlines() if line.strip()]
    width = width or lines[0].count(b",") + 1
    table: npt.NDArray[Any] = np.zeros((len(lines), width), kind)
    wrong = {}
    for row, line in enumerate(lines):
        try:
            table[row] = [kind(entry) for entry in line.split(b",", width)]
        except (ValueError, OverflowError):
            wrong[row] = line
    return table, wrong


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
    files: dict[str, IO[bytes]] = {}
    agreed: dict[str, Any] = {}
    graph, n_nodes, one_way = None, 0, False
    with ExitStack() as stack:

        def add(name: str, lines: Iterable[str]) -> None:
            if name not in files:
                files[name] = stack.enter_context(open_sink(path / f"{path.name}_{name}.txt"))
            files[name].write("".join(f"{line}\n" for line in lines).encode())

        for name in ("A", "graph_indicator"):
            add(name, [])
        for index, graph in enumerate(graphs):
            arcs, rows = _arcs_to_write(graph, index)
            nodes, edges = _texts(graph.node_columns, index), _texts(graph.edge_columns, index)
            kind, target = _target_text(graph.y, index)
            facts: dict[str, Any] = {"direction": "directed" if graph.directed else "undirected", "y": kind}
            for item, own, count in (("node", nodes, graph.n_nodes), ("edge", edges, len(arcs))):
                if count:
                    facts[f"the columns of {item}s"] = {part: width for part, (width, _) in own.items()}
            _agree(agreed, facts, index)
            add("A", (f"{source + n_nodes + 1}, {target_ + n_nodes + 1}" for source, target_ in arcs))
            add("graph_indicator", [str(index + 1)] * graph.n_nodes)
            for part, (_, lines) in nodes.items():
                add(f"node_{part}", lines)
            for part, (_, lines) in edges.items():
                add(f"edge_{part}", (lines[row] for row in rows))
            if target is not None:
                add("graph_labels" if kind == "a whole number" else "graph_attributes", [target])
            if graph.directed and not one_way:
                values = list(zip(*(lines for _, lines in edges.values()), strict=True)) or [()] * len(arcs)
                known = {(*arc, values[row]) for arc, row in zip(map(tuple, arcs), rows, strict=True)}
                one_way = any((arc[1], arc[0], arc[2]) not in known for arc in known)
            n_nodes += graph.n_nodes
        if agreed.get("direction") == "directed" and not one_way:
            raise GraphError("each arc has its reverse: a TU dataset would be read as undirected")
        if graph is not None and not graph.n_nodes and graph.y is None:
            raise GraphError("the last graph has no nodes and no y: a TU dataset would not count it")


def _agree(agreed: dict[str, Any], facts: Mapping[str, Any], index: int) -> None:
    """Refuse a graph that differs from those before it."""
    for what, fact in facts.items():
        if (first := agreed.setdefault(what, fact)) != fact:
            raise GraphError(
                f"{what} must be the same for all graphs of a TU dataset, got {fact} after {first}",
                index=index,
                cure="Write Parquet, npz or JSON lines",
            )


def _arcs_to_write(graph: RawGraph, index: int) -> tuple[list[list[int]], list[int]]:
    """Return the arcs in order, undirected edges in both directions, and the edges that they come from."""
    edges, rows = graph.edges, np.arange(len(graph.edges))
    keys = edges if graph.directed else np.sort(edges, axis=1)
    if len(np.unique(keys, axis=0)) < len(edges):
        raise GraphError("repeated edges, which TU datasets drop", index=index, cure="Write Parquet")
    if not graph.directed:
        others = np.flatnonzero(edges[:, 0] != edges[:, 1])
        edges, rows = np.vstack([edges, edges[others, ::-1]]), np.concatenate([rows, others])
    order = np.lexsort((edges[:, 1], edges[:, 0]))
    return edges[order].tolist(), rows[order].tolist()


def _texts(columns: Mapping[str, Any], index: int) -> dict[str, tuple[int, list[str]]]:
    """Return the widths and the lines of the labels and attributes of nodes or edges."""
    names = sorted((name for name in columns if name != "attributes"), key=lambda name: (len(name), name))
    if names != [f"label{place or ''}" for place in range(len(names))]:
        problem = f"the labels of a TU dataset must be label, label1, label2, ..., got {names}"
        raise GraphError(problem, index=index)
    texts = {}
    if names:
        table = np.column_stack([columns[name] for name in names]).tolist()
        texts["labels"] = len(names), [", ".join(row) for row in table]
    if "attributes" in columns:
        table = columns["attributes"].tolist()
        texts["attributes"] = columns["attributes"].shape[1], [", ".join(map(repr, row)) for row in table]
    return texts


def _target_text(y: Any, index: int) -> tuple[str, str | None]:
    """Return what kind of target a graph has, and its line."""
    if y is None:
        return "none", None
    values = np.asarray(y)
    if values.dtype.kind not in "iuf" or values.ndim > 1:
        raise GraphError(f"y must be a number or numbers, got {y!r:.60}", index=index)
    whole = values.dtype.kind in "iu" and values.ndim == 0
    text = ", ".join(map(repr, values.astype(int if whole else float).ravel().tolist()))
    return "a whole number" if whole else f"{values.size} real numbers", text
