"""A .npy file that grows by rows, each written once: when the last are there it only takes its name."""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from grnf._utils.files import Summed, room_for
from grnf.io.vectors.write import write_npy_header

__all__ = ["GrowingArray", "Place"]

HEAD = 128
"""Bytes before the first row: what numpy takes for any number of rows."""


class Place(NamedTuple):
    """Where some rows stand in the file, of what they are, and their checksum."""

    first: int
    shape: list[int]
    dtype: str
    sha256: str

    @property
    def end(self) -> int:
        """Where the next rows begin."""
        return self.first + self.shape[0] * self.shape[1] * np.dtype(self.dtype).itemsize


class GrowingArray:
    """Rows of vectors in one file, whose head is written last.

    Parameters
    ----------
    path : Path

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> rows = GrowingArray(folder / "rows")
    >>> first = rows.write(HEAD, np.ones((2, 3)))
    >>> second = rows.write(first.end, np.zeros((1, 3)))
    >>> rows.check(first)
    >>> with rows.becoming(folder / "z.npy", [first, second]):
    ...     (folder / "z.npy").exists()
    False
    >>> np.load(folder / "z.npy").shape
    (3, 3)
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, first: int, Z: npt.NDArray[Any]) -> Place:
        """Write rows from a byte on, and see to it that they are on the disk."""
        with room_for(self.path, self.path.parent, Z.nbytes):
            handle = os.open(self.path, os.O_WRONLY | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
            with os.fdopen(handle, "wb") as file:
                file.seek(first)
                summed = Summed(file)
                summed.write(np.ascontiguousarray(Z).reshape(-1).view(np.uint8).data)
                file.flush()
                os.fsync(file.fileno())
        return Place(first, list(Z.shape), Z.dtype.str, summed.sha256())

    def check(self, place: Place) -> None:
        """Raise a `ValueError` unless rows are as they were written."""
        size = self.path.stat().st_size
        if size < place.end:
            raise ValueError(f"{self.path.name} has {size:,} bytes, not {place.end:,}")
        found = hashlib.sha256(self.rows(place).tobytes()).hexdigest()
        if found != place.sha256:
            raise ValueError(f"{self.path.name} is not as it was written")

    def rows(self, place: Place) -> npt.NDArray[Any]:
        """Return rows, mapped and not loaded."""
        if 0 in place.shape:
            return np.empty(place.shape, place.dtype)
        return np.memmap(self.path, place.dtype, "r", place.first, tuple(place.shape))

    @contextmanager
    def becoming(self, output: Path, places: list[Place]) -> Iterator[int]:
        """Write the head, and move the file to `output` at the end of the block; gives the number of rows."""
        n_rows, end = sum(place.shape[0] for place in places), places[-1].end
        head = io.BytesIO()
        write_npy_header(head, (n_rows, places[0].shape[1]), np.dtype(places[0].dtype))
        if len(head.getvalue()) != HEAD:
            raise ValueError(f"the head of {output} has {len(head.getvalue())} bytes, not {HEAD}")
        with room_for(output, output.parent, end):
            with self.path.open("r+b") as file:
                file.write(head.getvalue())
                file.truncate(end)
                file.flush()
                os.fsync(file.fileno())
            yield n_rows
            os.replace(self.path, output)
