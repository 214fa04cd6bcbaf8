"""Arrays of numpy files: .npy arrays read as streams, and the npz format of grnf, all graphs concatenated.

The npz format is as lossless as the Parquet format. Every text (ids, categories, descriptions of columns)
is stored once in a common vocabulary, `text` with the ends `text_ends`. Arrays of codes point into it, -1 for
no text. No pickle is read or written.
"""

from __future__ import annotations

import math
import shutil
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, suppress
from functools import lru_cache
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from grnf._utils.arrays import offsets
from grnf._utils.memory import check_memory
from grnf.errors import GraphError
from grnf.io.files.file import File, OnError, each_record
from grnf.io.files.graph_rows import GraphRows, Texts, halved, layout_of, only_graph, row_of_graph
from grnf.io.files.limits import Member, new_member, open_archive
from grnf.io.files.values import runs
from grnf.io.raw import BadGraph, RawBatch, RawGraph

COUNTS = ("num_nodes", "num_edges", "node_width", "edge_width", "node_texts", "edge_texts", "y_size")
FLAGS = ("directed", "graph_id", "grnf_columns")
LONG = ("edges", "node_feat", "edge_attr", "node_text", "edge_text", "y")
KINDS = {"node_feat": "f", "edge_attr": "f", "y": "f", "directed": "b", "text": "u"}
DTYPES = {"f": np.float64, "b": np.bool_, "u": np.uint8, "i": np.int64}
BLOCK, NUMBERS = 1024, 2**17
"""Graphs, and entries of all arrays, that are in memory at a time."""

IN_MEMORY = 2**20
"""Bytes of an array that is written, beyond which it is on disk."""

BYTES = 2**18
"""Bytes of an array that are read at a time, if fewer are asked for."""


class ArrayStream:
    """The entries of an array in the order of the file. Without a `size` in bytes, the file is seekable."""

    def __init__(self, file: Any, name: str, size: int | None = None) -> None:
        formats = np.lib.format
        if size is None:
            size = int(file.seek(0, 2))
            file.seek(0)
        try:
            first = formats.read_magic(file) == (1, 0)
            read_header = formats.read_array_header_1_0 if first else formats.read_array_header_2_0
            self.shape, self.fortran_order, self.dtype = read_header(file)
        except GraphError:
            raise
        except Exception as error:  # the header is Python code, and numpy lets many kinds of errors through
            raise GraphError(f"not a .npy array, or damaged: {error}", where=name) from None
        if self.dtype.hasobject or any(length < 0 for length in self.shape):
            raise GraphError("must be a plain array, got Python objects or negative lengths", where=name)
        self.length = math.prod(self.shape)
        if self.length and not self.dtype.itemsize:
            raise GraphError(f"damaged: {self.length} entries of no bytes ({self.dtype.str})", where=name)
        claimed = self.length * self.dtype.itemsize
        if claimed > size or self.length > size:
            raise GraphError(f"truncated: the header claims {claimed} bytes, the file has {size}", where=name)
        self.file, self.name, self.unread = file, name, self.length
        self.buffer: npt.NDArray[Any] = np.empty(0, dtype=self.dtype)

    @property
    def left(self) -> int:
        """Number of entries that were not taken."""
        return self.unread + len(self.buffer)

    def take(self, count: int) -> npt.NDArray[Any]:
        """Return the next entries as one row."""
        if count > len(self.buffer):
            missing = count - len(self.buffer)
            fetched = min(max(missing, BYTES // max(self.dtype.itemsize, 1)), self.unread)
            check_memory(fetched * self.dtype.itemsize, f"{self.name}: {fetched} entries")
            data = self.file.read(fetched * self.dtype.itemsize)
            if fetched < missing or len(data) < fetched * self.dtype.itemsize:
                raise GraphError("truncated array", where=self.name)
            self.unread -= fetched
            self.buffer = np.concatenate([self.buffer, np.frombuffer(data, dtype=self.dtype, count=fetched)])
        taken, self.buffer = self.buffer[:count], self.buffer[count:]
        return taken

    def whole(self) -> npt.NDArray[Any]:
        """Return all entries in the shape of the array."""
        return self.take(self.length).reshape(self.shape, order="F" if self.fortran_order else "C")


def write_npz(file: IO[bytes], graphs: Iterable[RawGraph]) -> None:
    """Write all graphs. Arrays wait in temporary files until their lengths are known. Texts in memory."""
    codes: dict[str, int] = {}
    with ExitStack() as stack:
        spools: dict[str, Any] = {
            name: stack.enter_context(tempfile.SpooledTemporaryFile(IN_MEMORY))
            for name in ("grnf_format", *COUNTS, *FLAGS, *LONG, "text", "text_ends")
        }

        def add(name: str, values: Any) -> None:
            spools[name].write(np.asarray(values, dtype=DTYPES[_kind(name)]).tobytes())

        add("grnf_format", [1])
        for graph in graphs:
            for name, values in _arrays(row_of_graph(graph, both_arcs=False), codes).items():
                add(name, values)
        for text in codes:
            spools["text"].write(text.encode("utf-8", "surrogatepass"))
            add("text_ends", [spools["text"].tell()])
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, spool in spools.items():
                dtype = np.dtype(DTYPES[_kind(name)])
                shape = () if name == "grnf_format" else (spool.tell() // dtype.itemsize,)
                spool.seek(0)
                with new_member(archive, f"{name}.npy") as member:
                    header = {"descr": dtype.str, "fortran_order": False, "shape": shape}
                    np.lib.format.write_array_header_1_0(member, header)
                    shutil.copyfileobj(spool, member)


def _arrays(row: dict[str, Any], codes: dict[str, int]) -> dict[str, Any]:
    """Return what one graph adds to each array. Texts that are new get the next codes."""

    def code(text: str | None) -> int:
        return -1 if text is None else codes.setdefault(text, len(codes))

    arrays: dict[str, Any] = {
        "num_nodes": [row["num_nodes"]],
        "num_edges": [row["edge_index"].shape[1]],
        "node_width": [row["node_feat"].shape[1]],
        "edge_width": [row["edge_attr"].shape[1]],
        "y_size": [len(row["y"])],
        "directed": [row["directed"]],
        "edges": row["edge_index"].T.ravel(),
    }
    for name in ("graph_id", "grnf_columns"):
        arrays[name] = [code(row[name])]
    for name in ("node_feat", "edge_attr", "y"):
        arrays[name] = row[name].ravel()
    for name in ("node_text", "edge_text"):
        arrays[f"{name}s"] = [len(row[name])]
        arrays[name] = [code(text) for texts in row[name] for text in texts]
    return arrays


def _kind(key: str) -> str:
    return KINDS.get(key, "i")


def read_npz(source: File, *, on_error: OnError = "raise") -> Iterator[RawBatch | RawGraph | BadGraph]:
    """Yield the graphs of an npz file. Those with columns of their own one by one."""
    name = str(source)
    with source.open(recode=False) as file, open_archive(file, name) as archive, ExitStack() as stack:
        members = set(archive.namelist())
        for key in ("grnf_format", *COUNTS, *FLAGS, *LONG, "text", "text_ends"):
            if f"{key}.npy" not in members:
                raise GraphError(f"no array {key!r}: not written by grnf.io.write_graphs", where=name)

        def array_stream(key: str) -> ArrayStream:
            member = Member(archive, f"{key}.npy", name)
            stack.callback(member.close)
            array = ArrayStream(member, f"{name}: {key}", member.size)
            if array.dtype.kind != _kind(key) or len(array.shape) != (key != "grnf_format"):
                raise GraphError(
                    f"{key} has type {array.dtype} and {len(array.shape)} dimensions", where=name
                )
            return array

        version = array_stream("grnf_format").take(1)[0]
        if version != 1:
            raise GraphError(f"format must be 1, got {version}", where=name, cure="Update grnf")
        streams = {key: array_stream(key) for key in (*COUNTS, *FLAGS, *LONG)}
        texts = _Texts(array_stream("text"), array_stream("text_ends"), name)
        n_graphs = streams["num_nodes"].length
        for key in (*COUNTS, *FLAGS):
            if streams[key].length != n_graphs:
                raise GraphError(f"{key} has {streams[key].length} entries for {n_graphs} graphs", where=name)
        for first in range(0, n_graphs, BLOCK):
            counts = {key: streams[key].take(min(BLOCK, n_graphs - first)) for key in (*COUNTS, *FLAGS)}
            sizes = _checked_sizes(counts, streams, name)
            for start, stop in runs(np.cumsum(np.sum(list(sizes.values()), axis=0)), NUMBERS):
                long = {key: streams[key].take(int(sizes[key][start:stop].sum())) for key in LONG}
                own = {key: values[start:stop] for key, values in counts.items()}
                yield from _graphs(name, first + start, own, long, texts, on_error)
        for key in LONG:
            if streams[key].left:
                raise GraphError(f"{key} has {streams[key].left} entries that belong to no graph", where=name)


def _graphs(
    name: str, first: int, counts: dict[str, Any], long: dict[str, Any], texts: _Texts, on_error: OnError
) -> Iterator[RawBatch | RawGraph | BadGraph]:
    """Yield the graphs, from number `first` on, that have these parts of each array."""
    ends = {key: offsets(sizes) for key, sizes in _sizes(counts).items()}

    def rows(start: int, stop: int) -> GraphRows:
        own = {key: values[start:stop] for key, values in counts.items()}
        return _rows(
            own, {key: values[ends[key][start] : ends[key][stop]] for key, values in long.items()}, texts
        )

    def single(row: int) -> Iterator[RawGraph | BadGraph]:
        graph_id = None
        with suppress(GraphError):
            graph_id = texts.lookup(int(counts["graph_id"][row]), "graph_id")
        record = f"{name}, graph {first + row}", graph_id, row
        return each_record(
            [record], lambda row: only_graph(lambda: rows(row, row + 1)), on_error, first + row
        )

    return halved(lambda start, stop: rows(start, stop).batch(), single, 0, len(counts["graph_id"]))


def _rows(counts: dict[str, Any], long: dict[str, Any], texts: _Texts) -> GraphRows:
    """Return graphs column by column, if all have the same columns."""
    widths = {key: set(counts[key].tolist()) for key in ("node_width", "edge_width")}
    if any(len(values) > 1 for values in widths.values()):
        raise GraphError("the graphs have several widths")
    codes = counts["grnf_columns"].tolist()
    described = {code: layout_of(texts.lookup(code, "grnf_columns") or "") for code in set(codes)}
    n_nodes, n_edges = (counts[key].astype(np.int64) for key in ("num_nodes", "num_edges"))

    def texts_of(key: str) -> Texts:
        present, codes = np.unique(long[key], return_inverse=True)
        some = [texts.lookup(code, key) for code in present.tolist()]
        missing = int(len(present) > 0 and present[0] < 0)  # -1 stands for no text
        return Texts(codes - missing, [text for text in some[missing:] if text is not None])

    return GraphRows(
        [described[code] for code in codes],
        n_nodes,
        n_edges,
        long["edges"].reshape(-1, 2),
        long["node_feat"].reshape(int(n_nodes.sum()), widths["node_width"].pop()),
        long["edge_attr"].reshape(int(n_edges.sum()), widths["edge_width"].pop()),
        texts_of("node_text"),
        texts_of("edge_text"),
        counts["directed"],
        [texts.lookup(code, "graph_id") for code in counts["graph_id"].tolist()],
        counts["y_size"],
        long["y"],
    )


def _checked_sizes(counts: dict[str, Any], streams: dict[str, ArrayStream], name: str) -> dict[str, Any]:
    """Return how many entries of each long array belong to each graph, if there are so many."""
    if any((counts[key] < 0).any() or (counts[key] >= 2**31).any() for key in COUNTS):
        raise GraphError("a negative number of nodes, edges or columns, or one beyond 2**31", where=name)
    sizes = _sizes(counts)
    for key, own in sizes.items():
        if own.sum(dtype=np.float64) > streams[key].left:
            raise GraphError(f"{key} has fewer entries than the graphs claim", where=name)
    return sizes


def _sizes(counts: dict[str, Any]) -> dict[str, Any]:
    """Return how many entries of each long array belong to each graph."""
    nodes, edges = counts["num_nodes"].astype(np.int64), counts["num_edges"].astype(np.int64)
    return {
        "edges": 2 * edges,
        "node_feat": nodes * counts["node_width"],
        "edge_attr": edges * counts["edge_width"],
        "node_text": nodes * counts["node_texts"],
        "edge_text": edges * counts["edge_texts"],
        "y": counts["y_size"],
    }


class _Texts:
    """The vocabulary of a file."""

    def __init__(self, text: ArrayStream, ends: ArrayStream, name: str) -> None:
        self.text = text.take(text.length).tobytes()
        self.ends = np.append(0, ends.take(ends.length).astype(np.int64))
        if (np.diff(self.ends) < 0).any() or self.ends[-1] != len(self.text):
            raise GraphError("text_ends does not fit to text", where=name)
        self.known = lru_cache(maxsize=2**15)(self._decoded)

    def lookup(self, code: int, field: str) -> str | None:
        """Return the text of a code, which must be in range or -1."""
        if not -1 <= code < len(self.ends) - 1:
            raise GraphError(f"{field} points beyond the texts")
        return None if code < 0 else self.known(code)

    def _decoded(self, code: int) -> str:
        try:
            return self.text[self.ends[code] : self.ends[code + 1]].decode("utf-8", "surrogatepass")
        except UnicodeDecodeError as error:
            raise GraphError(f"a text is not UTF-8: {error}") from None
