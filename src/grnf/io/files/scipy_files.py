"""MATLAB and Matrix Market files, read by scipy once the sizes that they claim were checked.

Damage can end the process within `scipy.io.loadmat` and `mmread`. With `isolated=True` they run in a process
of their own, so that a crash is an error about the file. MATLAB files are those of versions 5 to 7.
"""

from __future__ import annotations

import io
import zlib
from collections.abc import Callable
from concurrent.futures import Executor
from functools import cache
from typing import Any, cast

import numpy as np

from grnf.errors import GraphError
from grnf.io.files.limits import LARGEST_GRAPH, LARGEST_RATIO, SMALL_MEMBER

__all__ = ["MARKET", "read_market", "read_matlab"]

MARKET = b"%%MatrixMarket"
HEAD, PACKED = 128, 15
"""Bytes before the first variable of a MATLAB file, and the type of a packed one."""
SEVERAL = {b"coordinate": 3, b"array": 2}
"""Sizes that a Matrix Market file gives: rows, columns, and entries if only those that are not 0 follow."""
LEAST_BYTES = 2
"""Of an entry: a digit and a blank."""


def read_matlab(data: bytes, isolated: bool) -> dict[str, Any]:
    """Return the variables by name: arrays, sparse matrices, lists for cells; None for other kinds.

    Cells that hold one number or text each become an array of these.
    """
    _check_matlab(data)
    return _called(_load_matlab, data, isolated)  # type: ignore[no-any-return]


def read_market(data: bytes, isolated: bool) -> Any:
    """Return the matrix of a Matrix Market file."""
    _check_market(data)
    return _called(_load_market, data, isolated)


def _called(load: Callable[[bytes], Any], data: bytes, isolated: bool) -> Any:
    if not isolated:
        return load(data)
    from concurrent.futures.process import BrokenProcessPool

    try:
        return _child().submit(load, data).result()
    except BrokenProcessPool:
        _child.cache_clear()
        raise GraphError("damaged: the library that reads it crashed") from None


@cache
def _child() -> Executor:
    """Return a process that reads files; it is started once, and after a crash again."""
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    return ProcessPoolExecutor(1, get_context("spawn"))


def _load_matlab(data: bytes) -> dict[str, Any]:
    from scipy.io import loadmat

    try:
        found = loadmat(cast("Any", io.BytesIO(data)))
        return {name: _variable(value) for name, value in found.items() if not name.startswith("__")}
    except Exception as error:  # whatever a damaged file makes of it
        raise GraphError(f"damaged MATLAB file: {error or type(error).__name__}") from None


def _load_market(data: bytes) -> Any:
    from scipy.io import mmread

    try:
        found = mmread(io.BytesIO(data), spmatrix=False)
    except Exception as error:
        raise GraphError(f"damaged Matrix Market file: {error or type(error).__name__}") from None
    if found.dtype.kind not in "biuf":
        raise GraphError(f"expected a matrix of real numbers, got {found.dtype}")
    return found


def _variable(value: Any) -> Any:
    if hasattr(value, "tocoo"):
        return value.tocoo() if value.dtype.kind in "biuf" else None
    if value.dtype.kind == "O":
        cells = [_variable(cell) for cell in value.ravel(order="F") if isinstance(cell, np.ndarray)]
        if cells and all(isinstance(cell, np.ndarray) and cell.size == 1 for cell in cells):
            return np.array([cell.item() for cell in cells])
        return cells
    if value.dtype.kind == "U":
        return np.char.rstrip(value)
    return value if value.dtype.kind in "biuf" else None


def _check_matlab(data: bytes) -> None:
    """Refuse variables that end behind the file, and such that unpack to far more than is there."""
    order: Any = "little" if data[HEAD - 2 : HEAD] == b"IM" else "big"
    place = HEAD
    while place + 8 <= len(data):
        kind, length = (int.from_bytes(data[at : at + 4], order) for at in (place, place + 4))
        place += 8
        if length > len(data) - place:
            raise GraphError(f"truncated: a variable has {length} bytes, and {len(data) - place} follow")
        if kind == PACKED:
            _check_packed(data[place : place + length])
        place += length


def _check_packed(data: bytes) -> None:
    unpack, count, most = zlib.decompressobj(), 0, max(SMALL_MEMBER, LARGEST_RATIO * len(data))
    try:
        while data and count <= most:
            count += len(unpack.decompress(data, SMALL_MEMBER))
            data = unpack.unconsumed_tail
    except zlib.error as error:
        raise GraphError(f"damaged: {error}") from None
    if count > most:
        raise GraphError(
            f"a variable unpacks to more than {most} bytes, which looks like a bomb",
            cure="Save it unpacked if you trust it",
        )


def _check_market(data: bytes) -> None:
    """Compare the sizes that a file claims with its length, and with what a graph may have."""
    head, _, rest = data.partition(b"\n")
    words = head.lower().split()
    if len(words) != 5 or words[1] != b"matrix" or words[2] not in SEVERAL:
        raise GraphError(f"expected the header of a matrix, got {head[:80]!r}")
    line = next((text for text in io.BytesIO(rest) if text.strip() and not text.startswith(b"%")), b"")
    sizes = [int(word) for word in line.split() if word.isdigit() and len(word) < 20]
    if len(sizes) != SEVERAL[words[2]] or len(line.split()) != len(sizes):
        raise GraphError(f"expected {SEVERAL[words[2]]} sizes after the header, got {line[:80]!r}")
    if sizes[0] != sizes[1]:
        raise GraphError(f"an adjacency matrix must be square, got shape ({sizes[0]}, {sizes[1]})")
    if sizes[0] > LARGEST_GRAPH:
        raise GraphError(f"{sizes[0]} nodes in one graph; files may have up to {LARGEST_GRAPH}")
    count = sizes[2] if len(sizes) == 3 else sizes[0] * (sizes[0] - 1) // 2
    if count * LEAST_BYTES > len(rest) + 1:
        raise GraphError(f"truncated: {count} entries claimed in {len(rest)} bytes")
