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
from dataclasses import dataclass
from functools import lru_cache
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from grnf.errors import GraphError
from grnf.io.files.file import File, OnError, each_record
from grnf.io.files.graph_rows import MISFITS, GraphRows, Texts, layout_of, only_graph, row_of_graph
from grnf.io.files.limits import Member, new_member, open_archive
from grnf.io.files.values import runs
from grnf.io.raw import BadGraph, RawBatch, RawGraph

__all__ = ["ArrayStream", "read_npz", "write_npz"]

COUNTS = ("num_nodes", "num_edges", "node_width", "edge_width", "node_texts", "edge_texts", "y_size")
FLAGS = ("directed", "graph_id", "grnf_columns")
LONG = ("edges", "node_feat", "edge_attr", "node_text", "edge_text", "y")
KINDS = {"node_feat": "f", "edge_attr": "f", "y": "f", "directed": "b", "text": "u"}
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
        self.file, self.name, self.left = file, name, self.length
        self.buffer: npt.NDArray[Any] = np.empty(0, dtype=self.dtype)

    def take(self, count: int) -> npt.NDArray[Any]:
        """Return the next entries as one row."""
        if count > len(self.buffer):
            missing = count - len(self.buffer)
            fetched = min(max(missing, BYTES // max(self.dtype.itemsize, 1)), self.left)
            data = self.file.read(fetched * self.dtype.itemsize)
            if fetched < missing or len(data) < fetched * self.dtype.itemsize:
                raise GraphError("truncated array", where=self.name)
            self.left -= fetched
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
        spools = {name: _Spool(name, stack) for name in (*COUNTS, *FLAGS, *LONG, "text", "text_ends")}
        for graph in graphs:
            for name, values in _arrays(row_of_graph(graph, both_arcs=False), codes).items():
                spools[name].add(values)
        end = 0
        for text in codes:
            letters = np.frombuffer(text.encode("utf-8", "surrogatepass"), dtype=np.uint8)
            end += len(letters)
            spools["text"].add(letters)
            spools["text_ends"].add([end])
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            version = _Spool("grnf_format", stack)
            version.add([1])
            version.write(archive, shape=())
            for spool in spools.values():
                spool.write(archive, shape=(spool.length,))


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


class _Spool:
    """An array that is being written, on disk if it is long."""

    def __init__(self, name: str, stack: ExitStack) -> None:
        self.name = name
        self.dtype = np.dtype({"f": np.float64, "b": np.bool_, "u": np.uint8, "i": np.int64}[_kind(name)])
        self.file = stack.enter_context(tempfile.SpooledTemporaryFile(IN_MEMORY))  # noqa: SIM115
        self.length = 0

    def add(self, values: Any) -> None:
        data = np.asarray(values, dtype=self.dtype)
        self.length += len(data)
        self.file.write(data.tobytes())

    def write(self, archive: zipfile.ZipFile, shape: tuple[int, ...]) -> None:
        """Write the array as a member of an archive."""
        self.file.seek(0)
        header = {"descr": self.dtype.str, "fortran_order": False, "shape": shape}
        with new_member(archive, f"{self.name}.npy") as member:
            np.lib.format.write_array_header_1_0(member, header)
            shutil.copyfileobj(self.file, member)


def _kind(key: str) -> str:
    return KINDS.get(key, "i")


def read_npz(source: File, *, on_error: OnError = "raise") -> Iterator[RawBatch | RawGraph | BadGraph]:
    """Yield the graphs of an npz file. Those with columns of their own one by one."""
    for chunk in _chunks(source):
        try:
            yield chunk.rows().batch()
        except MISFITS:
            yield from chunk.graphs(on_error)


def _chunks(source: File) -> Iterator[_Chunk]:
    name = str(source)
    with source.open_seekable() as file, open_archive(file, name) as archive, ExitStack() as stack:
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
        _check_lengths(streams, {key: array_stream(key) for key in COUNTS}, name)
        texts = _Texts(array_stream("text"), array_stream("text_ends"), name)
        n_graphs = streams["num_nodes"].length
        for first in range(0, n_graphs, BLOCK):
            counts = {key: streams[key].take(min(BLOCK, n_graphs - first)) for key in (*COUNTS, *FLAGS)}
            sizes = _sizes(counts)
            for start, stop in runs(np.cumsum(np.sum(list(sizes.values()), axis=0)), NUMBERS):
                long = {key: streams[key].take(int(sizes[key][start:stop].sum())) for key in LONG}
                own = {key: values[start:stop] for key, values in counts.items()}
                yield _Chunk(name, first + start, own, long, texts)


@dataclass(frozen=True, eq=False)
class _Chunk:
    """What some graphs, from number `first` on, have of each array."""

    name: str
    first: int
    counts: dict[str, Any]
    long: dict[str, Any]
    texts: _Texts

    def graphs(self, on_error: OnError) -> Iterator[RawGraph | BadGraph]:
        """Yield the graphs one by one."""
        ids = self.counts["graph_id"].tolist()
        records = (
            (f"{self.name}, graph {self.first + i}", self.texts.get(ids[i]), i) for i in range(len(ids))
        )
        ends = {key: np.append(0, np.cumsum(values)) for key, values in _sizes(self.counts).items()}

        def build(place: int) -> RawGraph:
            own = {key: values[place : place + 1] for key, values in self.counts.items()}
            long = {key: self.long[key][ends[key][place] : ends[key][place + 1]] for key in LONG}
            return only_graph(_Chunk(self.name, self.first + place, own, long, self.texts).rows)

        return each_record(records, build, on_error, self.first)

    def rows(self) -> GraphRows:
        """Return the graphs column by column, if all have the same columns."""
        counts, long = self.counts, self.long
        widths = {key: set(counts[key].tolist()) for key in ("node_width", "edge_width")}
        if any(len(values) > 1 for values in widths.values()):
            raise GraphError("the graphs have several widths")
        codes = counts["grnf_columns"].tolist()
        described = {code: layout_of(self.texts.lookup(code, "grnf_columns") or "") for code in set(codes)}
        n_nodes, n_edges = (counts[key].astype(np.int64) for key in ("num_nodes", "num_edges"))
        return GraphRows(
            [described[code] for code in codes],
            n_nodes,
            n_edges,
            long["edges"].reshape(-1, 2),
            long["node_feat"].reshape(int(n_nodes.sum()), widths["node_width"].pop()),
            long["edge_attr"].reshape(int(n_edges.sum()), widths["edge_width"].pop()),
            self._texts_of("node_text"),
            self._texts_of("edge_text"),
            counts["directed"],
            [self.texts.lookup(code, "graph_id") for code in counts["graph_id"].tolist()],
            counts["y_size"],
            long["y"],
        )

    def _texts_of(self, key: str) -> Texts:
        present, codes = np.unique(self.long[key], return_inverse=True)
        texts = [self.texts.lookup(code, key) for code in present.tolist()]
        missing = int(len(present) > 0 and present[0] < 0)  # -1 stands for no text
        return Texts(codes - missing, [text for text in texts[missing:] if text is not None])


def _check_lengths(streams: dict[str, ArrayStream], counts: dict[str, ArrayStream], name: str) -> None:
    """Go through the numbers of nodes, edges and columns, and compare with the lengths of the arrays."""
    n_graphs = streams["num_nodes"].length
    for key in (*COUNTS, *FLAGS):
        if streams[key].length != n_graphs:
            raise GraphError(f"{key} has {streams[key].length} entries for {n_graphs} graphs", where=name)
    totals = dict.fromkeys(LONG, 0)
    for start in range(0, n_graphs, BLOCK):
        block = {key: array.take(min(BLOCK, n_graphs - start)) for key, array in counts.items()}
        if any((values < 0).any() or (values >= 2**31).any() for values in block.values()):
            raise GraphError("a negative number of nodes, edges or columns, or one beyond 2**31", where=name)
        for key, sizes in _sizes(block).items():
            totals[key] += int(sizes.astype(object).sum()) if sizes.max() >= 2**40 else int(sizes.sum())
    for key, total in totals.items():
        if total != streams[key].length:
            raise GraphError(
                f"{key} must have {total} entries as the graphs claim, got {streams[key].length}", where=name
            )


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

    def get(self, code: int) -> str | None:
        """Return the text of a code, or None if there is none, or a damaged one."""
        with suppress(GraphError):
            return self.known(code) if 0 <= code < len(self.ends) - 1 else None
        return None

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
