"""Our npz: all graphs as concatenated arrays, with numpy alone. The twin of our Parquet, and as lossless.

Every text (ids, categories, descriptions of columns) stands once in a common vocabulary, `text` with the ends
`text_ends`; arrays of codes point into it, -1 where there is none. No pickle is read or written.
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Iterator
from typing import IO, Any, cast

import numpy as np
import numpy.typing as npt

from grnf.errors import GraphError
from grnf.io.files.archives import open_archive, read_member
from grnf.io.files.records import OnError, each_record
from grnf.io.files.rows import graph_of_row, row_of_graph
from grnf.io.files.streams import Source
from grnf.io.raw import BadGraph, RawGraph

__all__ = ["read_array", "read_npz", "write_npz"]

COUNTS = ("num_nodes", "num_edges", "node_width", "edge_width", "node_texts", "edge_texts", "y_size")
FLAGS = ("directed", "graph_id", "grnf_columns")
LONG = ("edges", "node_feat", "edge_attr", "node_text", "edge_text", "y")
KINDS = {"node_feat": "f", "edge_attr": "f", "y": "f", "directed": "b", "text": "u"}


def read_array(file: IO[bytes], name: str) -> npt.NDArray[Any]:
    """Load a .npy file whose header agrees with its size; never a pickle."""
    try:
        version = np.lib.format.read_magic(file)
        read_header = (
            np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        )
        shape, _, dtype = read_header(file)
    except Exception as error:  # the header is Python code, and numpy lets many kinds of errors through
        raise GraphError(f"{name}: no .npy array, or a damaged one: {error}") from None
    if dtype.hasobject or any(length < 0 for length in shape):
        raise GraphError(f"{name} holds Python objects or negative lengths; plain arrays are read")
    start = file.tell()
    available = file.seek(0, 2) - start
    wanted = math.prod(shape) * dtype.itemsize
    if wanted > available or math.prod(shape) > available:
        raise GraphError(f"{name}: the header speaks of {wanted} bytes, {available} follow: cut off?")
    file.seek(0)
    try:
        return cast("npt.NDArray[Any]", np.load(file, allow_pickle=False))
    except (ValueError, TypeError, OverflowError, EOFError, MemoryError) as error:
        raise GraphError(f"{name}: damaged array: {error}") from None


class _Vocabulary:
    """Texts and their codes."""

    def __init__(self) -> None:
        self.codes: dict[str, int] = {}

    def code(self, text: str | None) -> int:
        return -1 if text is None else self.codes.setdefault(text, len(self.codes))

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        texts = [text.encode("utf-8", "surrogatepass") for text in self.codes]
        return {
            "text": np.frombuffer(b"".join(texts), dtype=np.uint8),
            "text_ends": np.cumsum([len(text) for text in texts], dtype=np.int64),
        }


def write_npz(file: IO[bytes], graphs: Iterable[RawGraph]) -> None:
    """Write all graphs; their arrays are in memory until the end."""
    vocabulary = _Vocabulary()
    short: dict[str, list[int]] = {name: [] for name in (*COUNTS, *FLAGS)}
    long: dict[str, list[npt.NDArray[Any]]] = {name: [np.empty(0)] for name in LONG}
    for graph in graphs:
        row = row_of_graph(graph, both_arcs=False)
        short["num_nodes"].append(row["num_nodes"])
        short["num_edges"].append(row["edge_index"].shape[1])
        short["node_width"].append(row["node_feat"].shape[1])
        short["edge_width"].append(row["edge_attr"].shape[1])
        short["y_size"].append(len(row["y"]))
        short["directed"].append(row["directed"])
        short["graph_id"].append(vocabulary.code(row["graph_id"]))
        short["grnf_columns"].append(vocabulary.code(row["grnf_columns"]))
        long["edges"].append(row["edge_index"].T.ravel())
        for name in ("node_feat", "edge_attr", "y"):
            long[name].append(row[name].ravel())
        for name in ("node_text", "edge_text"):
            short[f"{name}s"].append(len(row[name]))
            long[name].append(np.array([vocabulary.code(text) for texts in row[name] for text in texts]))
    arrays: dict[str, Any] = {name: np.array(values, dtype=np.int64) for name, values in short.items()}
    arrays["directed"] = arrays["directed"].astype(np.bool_)
    for name, parts in long.items():
        arrays[name] = np.concatenate(parts).astype(np.float64 if name in KINDS else np.int64)
    np.savez_compressed(file, allow_pickle=False, grnf_format=np.array(1), **arrays, **vocabulary.arrays())


def read_npz(source: Source, *, on_error: OnError = "raise") -> Iterator[RawGraph | BadGraph]:
    """Yield the graphs of an npz file that `write_graphs` wrote."""
    with source.open_seekable() as file:
        arrays = _members(file, str(source))
    texts = _texts(arrays, str(source))
    ends = _ends(arrays, str(source))
    records = (
        (f"{source}, graph {index}", _lookup(texts, arrays["graph_id"][index]), index)
        for index in range(len(arrays["num_nodes"]))
    )
    yield from each_record(records, lambda index: graph_of_row(_row(arrays, ends, texts, index)), on_error)


def _members(file: IO[bytes], name: str) -> dict[str, npt.NDArray[Any]]:
    arrays = {}
    with open_archive(file, name) as archive:
        members = set(archive.namelist())
        for key in ("grnf_format", *COUNTS, *FLAGS, *LONG, "text", "text_ends"):
            if f"{key}.npy" not in members:
                raise GraphError(f"{name} has no array {key!r}: it was not written by grnf.io.write_graphs")
            array = read_array(io.BytesIO(read_member(archive, f"{key}.npy", name)), f"{name}: {key}")
            if array.dtype.kind != KINDS.get(key, "i") or array.ndim != (key != "grnf_format"):
                raise GraphError(f"{name}: {key} has type {array.dtype} and {array.ndim} dimensions")
            arrays[key] = array
    if arrays["grnf_format"] != 1:
        raise GraphError(f"{name} has format {arrays['grnf_format']}; this version reads 1: update grnf")
    return arrays


def _texts(arrays: dict[str, npt.NDArray[Any]], name: str) -> list[str]:
    data, ends = arrays["text"].tobytes(), arrays["text_ends"]
    starts = np.concatenate([[0], ends[:-1]]) if len(ends) else ends
    if (starts > ends).any() or (len(ends) and (ends[-1] != len(data))):
        raise GraphError(f"{name}: text_ends does not fit to text")
    pieces = (data[start:stop] for start, stop in zip(starts.tolist(), ends.tolist(), strict=True))
    try:
        return [piece.decode("utf-8", "surrogatepass") for piece in pieces]
    except UnicodeDecodeError as error:
        raise GraphError(f"{name}: text is not UTF-8: {error}") from None


def _ends(arrays: dict[str, npt.NDArray[Any]], name: str) -> dict[str, npt.NDArray[Any]]:
    """Return where each graph's part of each long array ends, checked against the lengths."""
    n_graphs = len(arrays["num_nodes"])
    for key in (*COUNTS, *FLAGS):
        if len(arrays[key]) != n_graphs:
            raise GraphError(f"{name}: {key} has {len(arrays[key])} entries for {n_graphs} graphs")
    if any((arrays[key] < 0).any() or (arrays[key] >= 2**31).any() for key in COUNTS):
        raise GraphError(f"{name}: a negative number of nodes, edges or columns, or one beyond 2**31")
    for key in ("graph_id", "grnf_columns", "node_text", "edge_text"):
        if (arrays[key] < -1).any() or (arrays[key] >= len(arrays["text_ends"])).any():
            raise GraphError(f"{name}: {key} points beyond the texts")
    nodes, edges = arrays["num_nodes"], arrays["num_edges"]
    sizes = {
        "edges": 2 * edges,
        "node_feat": nodes * arrays["node_width"],
        "edge_attr": edges * arrays["edge_width"],
        "node_text": nodes * arrays["node_texts"],
        "edge_text": edges * arrays["edge_texts"],
        "y": arrays["y_size"],
    }
    for key, size in sizes.items():
        if size.astype(np.float64).sum() != len(arrays[key]):
            raise GraphError(
                f"{name}: {key} has {len(arrays[key])} entries, the graphs speak of {size.sum()}"
            )
    return {key: np.concatenate([[0], np.cumsum(size)]) for key, size in sizes.items()}


def _lookup(texts: list[str], code: int) -> str | None:
    return None if code == -1 else texts[code]


def _row(
    arrays: dict[str, npt.NDArray[Any]], ends: dict[str, npt.NDArray[Any]], texts: list[str], index: int
) -> dict[str, Any]:
    part = {key: arrays[key][ends[key][index] : ends[key][index + 1]] for key in LONG}
    n_nodes, n_edges = int(arrays["num_nodes"][index]), int(arrays["num_edges"][index])

    def codes(key: str, columns: int, count: int) -> list[list[str | None]]:
        return [[_lookup(texts, code) for code in row] for row in part[key].reshape(columns, count).tolist()]

    return {
        "graph_id": _lookup(texts, arrays["graph_id"][index]),
        "directed": bool(arrays["directed"][index]),
        "num_nodes": n_nodes,
        "edge_index": part["edges"].reshape(n_edges, 2).T,
        "node_feat": part["node_feat"].reshape(n_nodes, int(arrays["node_width"][index])),
        "edge_attr": part["edge_attr"].reshape(n_edges, int(arrays["edge_width"][index])),
        "node_text": codes("node_text", int(arrays["node_texts"][index]), n_nodes),
        "edge_text": codes("edge_text", int(arrays["edge_texts"][index]), n_edges),
        "y": part["y"],
        "grnf_columns": _lookup(texts, arrays["grnf_columns"][index]),
    }
