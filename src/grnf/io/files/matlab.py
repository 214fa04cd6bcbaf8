"""MATLAB files of versions 5 to 7: arrays of real numbers, sparse matrices, texts, and cells of these.

They are taken apart here, since `scipy.io.loadmat` ends the process on some damaged files. All sizes are
checked against the bytes that there are; other kinds of variables (structures, objects) are passed over.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from math import prod
from typing import IO, Any, Literal

import numpy as np

from grnf.errors import GraphError
from grnf.io.files.limits import LARGEST_RATIO, SMALL_MEMBER

__all__ = ["read_variables"]

Order = Literal["little", "big"]

HEAD = 128
"""Bytes before the first variable."""
NUMBERS = {
    1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8",
    16: "u1", 17: "u2", 18: "u4",
}  # fmt: skip
"""Types of elements that hold numbers, or the letters of a text."""
MATRIX, PACKED = 14, 15
CELL, TEXT, SPARSE, NUMERIC = 1, 4, 5, range(6, 16)
"""Classes of variables."""
COMPLEX = 0x800
DEEPEST = 4
"""Cells in cells."""


def read_variables(file: IO[bytes]) -> dict[str, Any]:
    """Return the variables by name: arrays, sparse matrices, lists for cells; None for what is not read.

    Cells that hold one number or text each are an array of these.
    """
    size = file.seek(0, 2)
    file.seek(HEAD - 2)
    order: Order = "little" if file.read(2) == b"IM" else "big"
    found: dict[str, Any] = {}
    while len(tag := file.read(8)) == 8:
        kind, length = (int.from_bytes(tag[at : at + 4], order) for at in (0, 4))
        if length > size - file.tell():
            raise GraphError(f"a variable has {length} bytes, {size - file.tell()} follow: cut off?")
        data = file.read(length)
        if kind == PACKED:
            kind, data = _unpacked(data, order)
        if kind == MATRIX:
            name, value = _variable(memoryview(data), order, 0)
            found[name] = value
    return found


def _unpacked(data: bytes, order: Order) -> tuple[int, bytes]:
    most = max(SMALL_MEMBER, LARGEST_RATIO * len(data))
    try:
        plain = zlib.decompressobj().decompress(data, most + 1)
    except zlib.error as error:
        raise GraphError(f"damaged: {error}") from None
    if len(plain) > most:
        raise GraphError(
            f"a variable unpacks from {len(data)} to more than {most} bytes, which looks like a bomb; save "
            "it unpacked if you trust it"
        )
    return int.from_bytes(plain[:4], order), plain[8:]


def _elements(data: memoryview, order: Order) -> Iterator[tuple[int, memoryview]]:
    """Yield type and bytes of the elements that follow each other."""
    at = 0
    while at + 8 <= len(data):
        kind, length = (int.from_bytes(data[place : place + 4], order) for place in (at, at + 4))
        start, room = at + 8, len(data) - at - 8
        if kind >> 16:  # four bytes or fewer, which stand in the tag
            kind, length, start, room = kind & 0xFFFF, kind >> 16, at + 4, 4
        if length > room:
            raise GraphError(f"an element has {length} bytes where {room} are: damaged?")
        yield kind, data[start : start + length]
        at += 8 if room == 4 and start == at + 4 else 8 + length + -length % 8


def _numbers(element: tuple[int, memoryview], order: Order) -> Any:
    kind, data = element
    if kind not in NUMBERS:
        raise GraphError(f"numbers are wanted where an element of type {kind} stands: damaged?")
    dtype = np.dtype(NUMBERS[kind]).newbyteorder("<" if order == "little" else ">")
    if len(data) % dtype.itemsize:
        raise GraphError(f"{len(data)} bytes of numbers of {dtype.itemsize} bytes each: damaged?")
    return np.frombuffer(data, dtype).astype(dtype.newbyteorder("="))


def _variable(data: memoryview, order: Order, depth: int) -> tuple[str, Any]:
    """Return name and value of a variable."""
    parts = _elements(data, order)

    def numbers(kinds: str = "iuf") -> Any:
        element = next(parts, None)
        found = None if element is None else _numbers(element, order)
        if found is None or found.dtype.kind not in kinds:
            raise GraphError("a variable ends too early, or has fractions for sizes: damaged?")
        return found

    if not len(data):  # an empty cell
        return "", np.empty((0, 0))
    flags, shape = numbers("iu"), tuple(numbers("iu").tolist())
    name = bytes(numbers("iu").astype(np.uint8)).decode("latin-1")
    if not len(flags) or len(shape) < 2 or min(shape) < 0:
        raise GraphError(f"variable {name!r} has the shape {shape}: damaged?")
    kind, is_complex = int(flags[0]) & 0xFF, bool(int(flags[0]) & COMPLEX)
    if kind == CELL and depth < DEEPEST:
        return name, _cells([_variable(part, order, depth + 1)[1] for what, part in parts if what == MATRIX])
    if kind == SPARSE and len(shape) == 2 and not is_complex:
        return name, _sparse(name, shape, numbers("iu"), numbers("iu"), numbers())
    if kind not in (TEXT, *NUMERIC) or is_complex:
        return name, None
    values = numbers()
    if len(values) != prod(shape):
        raise GraphError(f"variable {name!r} of shape {shape} has {len(values)} numbers: damaged?")
    values = values.reshape(shape, order="F")
    return name, _texts(values) if kind == TEXT else values


def _sparse(name: str, shape: tuple[int, ...], rows: Any, ends: Any, values: Any) -> Any:
    """Return a sparse matrix from the rows of its entries and where those of each column end."""
    import scipy.sparse as sp

    counts = np.diff(ends.astype(np.int64))
    total = int(ends[-1]) if len(ends) else 0
    fits = len(ends) == shape[1] + 1 and not ends[0] and (counts >= 0).all()
    rows, values = rows[:total], values[:total]
    if not fits or len(rows) < total or len(values) < total or not ((rows >= 0) & (rows < shape[0])).all():
        raise GraphError(f"the sparse matrix {name!r} of shape {shape} is damaged")
    columns = np.repeat(np.arange(shape[1]), counts)
    return sp.coo_array((values, (rows.astype(np.int64), columns)), shape=shape)


def _cells(values: list[Any]) -> Any:
    if all(isinstance(value, np.ndarray) and value.size == 1 for value in values):
        return np.array([value.item() for value in values])
    return values


def _texts(codes: Any) -> Any:
    """Return the rows of a matrix of letters as texts."""
    rows = codes.reshape(len(codes), -1).astype(np.uint32) if codes.size else codes.reshape(0, 0)
    return np.array(["".join(chr(min(code, 0x10FFFF)) for code in row).rstrip() for row in rows.tolist()])
