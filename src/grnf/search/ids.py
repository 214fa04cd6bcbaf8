"""Names of many graphs as a few arrays, so that they can be mapped from disk and looked up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt

from grnf.errors import GraphError
from grnf.typing import IntArray

__all__ = ["Ids"]


class Ids:
    """Names in order: all texts in one array of bytes, and their hashes sorted.

    Parameters
    ----------
    text : array of uint8
        All names one after the other, UTF-8.
    ends : array of int64, shape (n,)
        Where each name ends.
    hashes : array of uint64, shape (n,)
        Ascending.
    places : array of int64, shape (n,)
        The place of the name of each hash.

    Examples
    --------
    >>> ids = Ids.of(["water", "methane"])
    >>> ids[1], ids.find(["methane", "gold"])
    ('methane', array([ 1, -1]))
    """

    def __init__(
        self,
        text: npt.NDArray[np.uint8],
        ends: IntArray,
        hashes: npt.NDArray[np.uint64],
        places: IntArray,
    ) -> None:
        self.text, self.ends, self.hashes, self.places = text, ends, hashes, places

    @classmethod
    def of(cls, names: Sequence[str]) -> Ids:
        """Return names of which no two are equal; otherwise a `GraphError` says which."""
        encoded = [name.encode("utf-8", "surrogatepass") for name in names]
        hashes = _hashes(encoded)
        places = np.argsort(hashes, kind="stable")
        same = np.flatnonzero(np.diff(hashes[places]) == 0)
        for first, second in zip(places[same], places[same + 1], strict=True):
            if names[first] == names[second]:
                raise GraphError(
                    f"two graphs are called {names[first]!r} (rows {first} and {second}); ids must differ, "
                    "leave them out to have graphs called by their number"
                )
        text = np.frombuffer(b"".join(encoded), dtype=np.uint8)
        ends = np.cumsum([len(name) for name in encoded], dtype=np.int64)
        return cls(text, ends, hashes[places], places)

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]]) -> Ids:
        """Return what `arrays` was made of."""
        return cls(*(arrays[f"ids_{name}"] for name in ("text", "ends", "hashes", "places")))

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return what is to be stored, by name."""
        return {f"ids_{name}": getattr(self, name) for name in ("text", "ends", "hashes", "places")}

    def __len__(self) -> int:
        return len(self.ends)

    def __getitem__(self, place: int) -> str:
        start = int(self.ends[place - 1]) if place else 0
        return bytes(self.text[start : int(self.ends[place])]).decode("utf-8", "surrogatepass")

    def at(self, places: IntArray) -> list[str]:
        """Return the names at many places."""
        starts = np.where(places > 0, self.ends[places - 1], 0).tolist()
        text: Any = memoryview(self.text)  # type: ignore[arg-type, unused-ignore]
        stops = self.ends[places].tolist()
        return [str(text[a:b], "utf-8", "surrogatepass") for a, b in zip(starts, stops, strict=True)]

    def __iter__(self) -> Iterator[str]:
        return (self[place] for place in range(len(self)))

    def find(self, names: Sequence[str]) -> IntArray:
        """Return the places of names; -1 for those that are not here."""
        wanted = _hashes(name.encode("utf-8", "surrogatepass") for name in names)
        found = np.full(len(names), -1)
        at = np.searchsorted(self.hashes, wanted)
        for row in np.flatnonzero(at < len(self)).tolist():
            place = int(at[row])
            while place < len(self) and self.hashes[place] == wanted[row]:
                if self[self.places[place]] == names[row]:
                    found[row] = self.places[place]
                place += 1
        return found


def _hashes(names: Iterable[bytes]) -> npt.NDArray[np.uint64]:
    digests = b"".join(blake2b(name, digest_size=8).digest() for name in names)
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)
