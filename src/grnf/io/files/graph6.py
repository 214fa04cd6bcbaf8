"""graph6, sparse6 and digraph6 of McKay's nauty: one graph a line, structure only.

A line that starts with ":" is sparse6 (self-loops and repeated edges), with "&" digraph6 (directed, loops),
any other is graph6 (simple graphs). All three may stand in one file, after a header like >>graph6<< or none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from grnf._utils.memory import check_graph_memory
from grnf.errors import GraphError
from grnf.io.files.file import File, OnError, each_record, line_records
from grnf.io.files.limits import LONGEST_RECORD
from grnf.io.files.npz import ArrayStream
from grnf.io.raw import BadGraph, RawGraph, checked_raw
from grnf.typing import BoolArray, IntArray

CHUNK = 2**20
"""Characters that are taken apart at a time, eight bytes for each."""

HEADERS = (b">>graph6<<", b">>sparse6<<", b">>digraph6<<")


def parse_graph6(line: bytes) -> RawGraph:
    """Return the graph of a line of graph6, sparse6 or digraph6."""
    for header in HEADERS:
        line = line.removeprefix(header)
    first = line[:1]
    if first == b";":
        raise GraphError("incremental sparse6 cannot be read", cure="Write plain sparse6")
    body = line[1:] if first in (b":", b"&") else line
    n_nodes, values = _size(_six_bits(body))
    if first == b":":
        return checked_raw(n_nodes, _sparse_edges(n_nodes, _bits(values)))
    if first == b"&":
        positions = _ones(values, n_nodes**2)
        edges = np.column_stack(np.divmod(positions, max(n_nodes, 1)))
        return checked_raw(n_nodes, edges, directed=True)
    return checked_raw(n_nodes, _upper_triangle(_ones(values, n_nodes * (n_nodes - 1) // 2)))


def _six_bits(text: bytes) -> npt.NDArray[np.uint8]:
    codes = np.frombuffer(text, dtype=np.uint8)
    wrong = (codes < 63) | (codes > 126)
    if wrong.any():
        place = int(np.flatnonzero(wrong)[0])
        raise GraphError(f"character {place} must be '?' to '~', got {text[place : place + 1]!r}")
    if not len(codes):
        raise GraphError("no graph in an empty line")
    return codes - np.uint8(63)


def _size(values: npt.NDArray[np.uint8]) -> tuple[int, npt.NDArray[np.uint8]]:
    """Take the number of nodes off the front: 1, 4 or 8 characters."""
    start, stop = (0, 1) if values[0] != 63 else (1, 4) if len(values) < 2 or values[1] != 63 else (2, 8)
    if len(values) < stop:
        raise GraphError("truncated within the number of nodes")
    n_nodes = 0
    for value in values[start:stop].tolist():
        n_nodes = n_nodes * 64 + value
    check_graph_memory(n_nodes)
    return n_nodes, values[stop:]


def _bits(values: npt.NDArray[np.uint8]) -> BoolArray:
    return np.unpackbits(values[:, np.newaxis], axis=1)[:, 2:].ravel().astype(np.bool_)


def _ones(values: npt.NDArray[np.uint8], count: int) -> IntArray:
    """Return where the ones are among `count` bits, which must fill the characters that there are."""
    expected = -(-count // 6)
    if len(values) != expected:
        raise GraphError(f"truncated graph6 record (expected {expected} characters, found {len(values)})")
    parts = [
        6 * start + np.flatnonzero(_bits(values[start : start + CHUNK]))
        for start in range(0, len(values), CHUNK)
    ]
    positions = np.concatenate([np.empty(0, dtype=np.int64), *parts])
    return positions[positions < count]


def _upper_triangle(positions: IntArray) -> IntArray:
    """Return the pairs (i, j), i < j, at positions of (0,1), (0,2), (1,2), (0,3), ..."""
    larger = ((1 + np.sqrt(1 + 8 * positions.astype(np.float64))) / 2).astype(np.int64)
    larger -= larger * (larger - 1) // 2 > positions  # repair what rounding did
    larger += larger * (larger + 1) // 2 <= positions
    return np.column_stack([positions - larger * (larger - 1) // 2, larger])


def _sparse_edges(n_nodes: int, bits: BoolArray) -> IntArray:
    """Return the edges of sparse6: pairs of a bit "next node" and a k-bit number."""
    width = max((n_nodes - 1).bit_length(), 0) if n_nodes > 1 else 0
    units = bits[: len(bits) // (width + 1) * (width + 1)].reshape(-1, width + 1)
    steps = units[:, 0].tolist()
    numbers = (units[:, 1:] @ (1 << np.arange(width, dtype=np.int64)[::-1])).tolist()
    edges = []
    current = 0
    for step, number in zip(steps, numbers, strict=True):
        current += step
        if number >= n_nodes or current >= n_nodes:
            break  # padding
        if number > current:
            current = number
        else:
            edges.append((number, current))
    return np.array(edges, dtype=np.int64).reshape(-1, 2)


def read_graph6(source: File, *, on_error: OnError = "raise") -> Iterator[RawGraph | BadGraph]:
    """Yield the graphs of a file, line by line. Empty lines and lone headers are passed over."""
    records = (record for record in line_records(source, LONGEST_RECORD) if record[2] not in HEADERS)
    return each_record(records, parse_graph6, on_error)


def read_graph6_array(source: File, *, on_error: OnError = "raise") -> Iterator[RawGraph | BadGraph]:
    """Yield the graphs of a .npy array of graph6 texts or bytes, of any shape, row by row."""
    with source.open(recode=False) as file:
        array = ArrayStream(file, str(source))
        if array.dtype.kind not in "SU":
            raise GraphError(
                f"must be an array of graph6 texts or bytes, got {array.dtype}", where=str(source)
            )
        records = ((f"{source}, entry {index}", None, line) for index, line in enumerate(_entries(array)))
        yield from each_record(records, parse_graph6, on_error)


def _entries(array: ArrayStream) -> Iterator[bytes]:
    """Yield the texts of an array row by row, a block of them in memory at a time."""
    if array.fortran_order and len(array.shape) > 1:  # column by column: held, to be turned
        yield from map(bytes, _as_bytes(np.ascontiguousarray(array.whole()).reshape(-1)))
        return
    step = max(1, CHUNK // 8 // max(array.dtype.itemsize, 1))
    for start in range(0, array.length, step):
        yield from map(bytes, _as_bytes(array.take(min(step, array.length - start))))


def _as_bytes(texts: npt.NDArray[Any]) -> npt.NDArray[np.bytes_]:
    """Return texts as bytes. A character beyond 255 becomes 255, which graph6 does not use either."""
    width = texts.dtype.itemsize // 4
    if texts.dtype.kind == "S" or not width:
        return texts.astype("S")
    codes = texts.view(np.dtype(np.uint32).newbyteorder(texts.dtype.byteorder)).reshape(-1, width)
    return np.minimum(codes, 255).astype(np.uint8).view(f"S{width}").ravel()


def write_graph6(file: IO[bytes], graphs: Iterable[RawGraph]) -> None:
    """Write undirected graphs without self-loops and repeated edges as graph6."""
    for index, graph in enumerate(graphs):
        edges = np.sort(graph.edges, axis=1)
        low, high = edges[:, 0], edges[:, 1]
        if (low == high).any():
            raise GraphError("graph6 cannot hold self-loops", index=index, cure="Write sparse6")
        positions = high * (high - 1) // 2 + low
        n = graph.n_nodes
        file.write(_size_text(n) + _dense_text(positions, n * (n - 1) // 2, index, "sparse6") + b"\n")


def write_digraph6(file: IO[bytes], graphs: Iterable[RawGraph]) -> None:
    """Write directed graphs without repeated edges as digraph6."""
    for index, graph in enumerate(graphs):
        n = graph.n_nodes
        if not graph.directed:
            raise GraphError("the graph must be directed", index=index, cure="Write graph6 or sparse6")
        positions = graph.edges[:, 0] * n + graph.edges[:, 1]
        file.write(b"&" + _size_text(n) + _dense_text(positions, n * n, index, "Parquet") + b"\n")


def write_sparse6(file: IO[bytes], graphs: Iterable[RawGraph]) -> None:
    """Write undirected graphs, self-loops and repeated edges included, as sparse6."""
    for graph in graphs:
        file.write(b":" + _size_text(graph.n_nodes) + _sparse_text(graph) + b"\n")


def _size_text(n: int) -> bytes:
    if n < 63:
        return bytes([n + 63])
    marker, digits = (b"~", 3) if n < 2**18 - 1 else (b"~~", 6)
    return marker + bytes([63 + (n >> 6 * place & 63) for place in reversed(range(digits))])


def _dense_text(positions: IntArray, count: int, index: int, remedy: str) -> bytes:
    if count > 6 * LONGEST_RECORD:
        raise GraphError("too large for one bit per pair of nodes", index=index, cure=f"Write {remedy}")
    bits = np.zeros(-(-count // 6) * 6, dtype=np.uint8)
    bits[positions] = 1
    if bits.sum() != len(positions):
        raise GraphError("one bit cannot hold repeated edges", index=index, cure=f"Write {remedy}")
    return _text(bits)


def _text(bits: npt.NDArray[np.uint8]) -> bytes:
    weights = np.array([32, 16, 8, 4, 2, 1], dtype=np.uint8)
    return (bits.reshape(-1, 6) @ weights + np.uint8(63)).astype(np.uint8).tobytes()


def _sparse_text(graph: RawGraph) -> bytes:
    n = graph.n_nodes
    width = (n - 1).bit_length() if n > 1 else 0
    edges = np.sort(graph.edges, axis=1)
    edges = edges[np.lexsort((edges[:, 0], edges[:, 1]))]
    bits: list[str] = []

    def unit(step: int, value: int) -> None:
        bits.append(str(step) + (format(value, f"0{width}b") if width else ""))

    current = 0
    for low, high in edges.tolist():
        if high == current:
            unit(0, low)
        elif high == current + 1:
            unit(1, low)
        else:
            unit(1, high)  # jump there, then the edge itself
            unit(0, low)
        current = high
    text = "".join(bits)
    padding = -len(text) % 6
    # ones would read as a loop at the last node where n is 2, 4, 8 or 16 and that node was not reached
    last_unseen = n in (2, 4, 8, 16) and current == n - 2 and padding > width
    text += "0" + "1" * (padding - 1) if last_unseen else "1" * padding
    if len(text) > 6 * LONGEST_RECORD:
        raise GraphError("the graph is too large for one line", cure="Write Parquet")
    return _text(np.frombuffer(text.encode(), dtype=np.uint8) - np.uint8(48)) if text else b""
