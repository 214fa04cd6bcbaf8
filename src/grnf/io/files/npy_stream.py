"""A .npy array read from front to back, some entries in memory at a time; never a pickle."""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from grnf.errors import GraphError

__all__ = ["ArrayStream", "Readable"]

BLOCK = 2**18
"""Bytes that are read at a time, if fewer are asked for."""


class Readable(Protocol):
    """Anything that gives bytes."""

    def read(self, count: int = -1, /) -> bytes:
        """Return the next bytes, fewer only at the end."""


class _Counted:
    """Counts the bytes that numpy takes for the header."""

    def __init__(self, file: Readable) -> None:
        self.file = file
        self.count = 0

    def read(self, count: int = -1, /) -> bytes:
        data = self.file.read(count)
        self.count += len(data)
        return data


class ArrayStream:
    """The entries of an array in the order of the file.

    Parameters
    ----------
    file : Readable
        At the beginning of the header.
    size : int
        Bytes of the file, header included.
    name : str
        For messages.
    """

    def __init__(self, file: Readable, size: int, name: str) -> None:
        header: Any = _Counted(file)
        try:
            version = np.lib.format.read_magic(header)
            read_header = (
                np.lib.format.read_array_header_1_0
                if version == (1, 0)
                else np.lib.format.read_array_header_2_0
            )
            self.shape, self.fortran_order, self.dtype = read_header(header)
        except GraphError:
            raise
        except Exception as error:  # the header is Python code, and numpy lets many kinds of errors through
            raise GraphError(f"no .npy array, or a damaged one: {error}", where=name) from None
        if self.dtype.hasobject or any(length < 0 for length in self.shape):
            raise GraphError(f"{name} holds Python objects or negative lengths; plain arrays are read")
        self.length = math.prod(self.shape)
        if self.length and not self.dtype.itemsize:
            raise GraphError(f"{name} holds {self.length} entries of no bytes ({self.dtype.str}): damaged?")
        wanted, available = self.length * self.dtype.itemsize, size - header.count
        if wanted > available or self.length > available:
            raise GraphError(f"the header speaks of {wanted} bytes, {available} follow: cut off?", where=name)
        self.file = file
        self.name = name
        self.left = self.length
        self.buffer: npt.NDArray[Any] = np.empty(0, dtype=self.dtype)

    def take(self, count: int) -> npt.NDArray[Any]:
        """Return the next entries as one row."""
        if count > len(self.buffer):
            missing = count - len(self.buffer)
            fetched = min(max(missing, BLOCK // max(self.dtype.itemsize, 1)), self.left)
            data = self.file.read(fetched * self.dtype.itemsize)
            if fetched < missing or len(data) < fetched * self.dtype.itemsize:
                raise GraphError("the array is cut off", where=self.name)
            self.left -= fetched
            self.buffer = np.concatenate([self.buffer, np.frombuffer(data, dtype=self.dtype, count=fetched)])
        taken, self.buffer = self.buffer[:count], self.buffer[count:]
        return taken
