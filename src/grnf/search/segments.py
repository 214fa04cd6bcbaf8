"""The rows of an index: names, rows and graphs in segments that grow by merging and are searched as one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt

from grnf._utils.running import n_workers, run
from grnf.errors import GraphError
from grnf.io.raw import RawGraph
from grnf.search.scan import nearest, within
from grnf.search.sketch import Sketcher, blocks_of, boxes_of, tree_order
from grnf.search.whitening import BLOCK
from grnf.typing import FloatArray, IntArray

__all__ = ["Found", "Ids", "Segment", "Segments"]

AXES = 16
"""Length of a sketch: 15 principal axes and the rest, 64 bytes per row."""

TOGETHER = 16
"""Queries that a thread takes at a time."""

Found = tuple[IntArray, FloatArray]
"""Places, counted over all segments, and distances."""

Graphs = Any
"""Graphs by their places: a list, or `store.GraphLines`."""


@dataclass(frozen=True, eq=False)
class Ids:
    """Names of many graphs as a few arrays, which can be mapped from disk and looked up.

    Parameters
    ----------
    text : array of uint8
        All names one after the other, UTF-8.
    ends : array of int64, shape (n,)
        End of each name.
    hashes : array of uint64, shape (n,)
        Hashes of the names, ascending.
    places : array of int64, shape (n,)
        The place of the name of each hash.

    Examples
    --------
    >>> ids = Ids.of(["water", "methane"])
    >>> ids.at(np.array([1])), ids.find(["methane", "gold"])
    (['methane'], array([ 1, -1]))
    """

    text: npt.NDArray[np.uint8]
    ends: IntArray
    hashes: npt.NDArray[np.uint64]
    places: IntArray

    @classmethod
    def of(cls, names: Sequence[str]) -> Ids:
        """Return names, which must be unique."""
        encoded = [name.encode("utf-8", "surrogatepass") for name in names]
        hashes = _hashes(encoded)
        places = np.argsort(hashes, kind="stable")
        same = np.flatnonzero(np.diff(hashes[places]) == 0)
        for first, second in zip(places[same], places[same + 1], strict=True):
            if names[first] == names[second]:
                raise GraphError(
                    f"the id {names[first]!r} occurs twice",
                    cure="Ids must be unique; without ids graphs are called by their number",
                )
        text = np.frombuffer(b"".join(encoded), dtype=np.uint8)
        ends = np.cumsum([len(name) for name in encoded], dtype=np.int64)
        return cls(text, ends, hashes[places], places)

    def __len__(self) -> int:
        return len(self.ends)

    def at(self, places: IntArray) -> list[str]:
        """Return the names at these places."""
        starts = np.where(places > 0, self.ends[places - 1], 0).tolist()
        text: Any = memoryview(self.text)  # type: ignore[arg-type, unused-ignore]
        stops = self.ends[places].tolist()
        return [str(text[a:b], "utf-8", "surrogatepass") for a, b in zip(starts, stops, strict=True)]

    def find(self, names: Sequence[str]) -> IntArray:
        """Return the places of names; -1 for those that are absent."""
        wanted = _hashes(name.encode("utf-8", "surrogatepass") for name in names)
        found = np.full(len(names), -1)
        first, last = np.searchsorted(self.hashes, wanted), np.searchsorted(self.hashes, wanted, "right")
        for row in np.flatnonzero(first < last).tolist():
            places = self.places[first[row] : last[row]]  # several names may have one hash
            found[row] = next(
                (p for p, n in zip(places, self.at(places), strict=True) if n == names[row]), -1
            )
        return found


def _hashes(names: Iterable[bytes]) -> npt.NDArray[np.uint64]:
    digests = b"".join(blake2b(name, digest_size=8).digest() for name in names)
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)


@dataclass(frozen=True, eq=False)
class Segment:
    """Rows that were added together, in the order of a tree, with all that a scan needs.

    Parameters
    ----------
    ids : Ids
    rows : array, shape (n, M)
    numbers : array of int64, shape (n,)
        When each row was added; of rows at equal distances the older one comes first.
    alive : array of uint8, shape (n,)
        0 for rows that were removed.
    sketcher : Sketcher
    sketch, low, high : arrays
        Sketches in blocks, and the boxes around them; see `sketch.py`.
    norm : float
        The length of the longest row.
    graphs : list or lines of a file, optional
    home : str, optional
        The folder on disk that has these arrays, except for `alive`.
    """

    ids: Ids
    rows: FloatArray
    numbers: IntArray
    alive: npt.NDArray[np.uint8]
    sketcher: Sketcher
    sketch: npt.NDArray[np.float32]
    low: npt.NDArray[np.float32]
    high: npt.NDArray[np.float32]
    norm: float
    graphs: Graphs | None = None
    home: str | None = None

    @classmethod
    def build(cls, rows: FloatArray, ids: Sequence[str], numbers: IntArray, graphs: Graphs | None) -> Segment:
        """Return the segment of rows in any order."""
        sketcher = Sketcher.of(rows, min(AXES, rows.shape[1] + 1))
        S = sketcher(rows)
        order = tree_order(S)
        sketch = blocks_of(S, order)
        del S  # the rows in order, as large as all that was given, are allocated when nothing else is held
        low, high = boxes_of(sketch)
        ordered = np.empty(rows.shape, rows.dtype)
        for start in range(0, len(rows), BLOCK):
            ordered[start : start + BLOCK] = rows[order[start : start + BLOCK]]
        return cls(
            Ids.of([ids[row] for row in order]),
            _fixed(ordered),
            _fixed(np.asarray(numbers, np.int64)[order]),
            _fixed(np.ones(len(rows), np.uint8)),
            sketcher,
            _fixed(sketch),
            _fixed(low),
            _fixed(high),
            longest(rows),
            None if graphs is None else [graphs[row] for row in order],
        )

    @classmethod
    def merged(cls, segments: Sequence[Segment]) -> Segment:
        """Return one segment of all rows that are not removed."""
        alive = [(segment, np.flatnonzero(segment.alive)) for segment in segments]
        graphs = None
        if segments[0].graphs is not None:
            graphs = [s.graphs[place] for s, own in alive if s.graphs is not None for place in own.tolist()]
        return cls.build(
            np.concatenate([segment.rows[own] for segment, own in alive]),
            [name for segment, own in alive for name in segment.ids.at(own)],
            np.concatenate([segment.numbers[own] for segment, own in alive]),
            graphs,
        )

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def n_alive(self) -> int:
        """How many rows were not removed."""
        return int(np.count_nonzero(self.alive))

    def without(self, places: IntArray) -> Segment:
        """Return the segment with some rows removed."""
        alive = self.alive.copy()
        alive[places] = 0
        return replace(self, alive=_fixed(alive))

    def scan_arguments(self, row: FloatArray) -> tuple[Any, ...]:
        """Return what `scan.nearest` and `scan.within` take of a query and the segment."""
        sketch = _fixed(self.sketcher(row[np.newaxis])[0])
        rows = self.rows, self.sketch, self.numbers, self.alive
        slack = self.sketcher.slack(self.norm, float(np.linalg.norm(row)))
        return row, sketch, rows, (self.low, self.high), self.sketcher.factor, slack


def longest(rows: FloatArray) -> float:
    """Return the length of the longest row, rounded up."""
    square = 0.0
    for start in range(0, len(rows), BLOCK):
        some = np.asarray(rows[start : start + BLOCK], dtype=np.float64)
        square = max(square, float(np.einsum("ij,ij->i", some, some).max(initial=0)))
    return float(np.sqrt(square)) * (1 + 1e-9)


def _fixed(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Make an array read-only, as mapped ones are: one compiled kernel serves both."""
    array.setflags(write=False)
    return array


class Segments:
    """Segments of which each is much larger than the next; a place counts rows over all of them."""

    def __init__(self, segments: Sequence[Segment] = (), next_number: int = 0) -> None:
        self.parts = list(segments)
        self.next_number = next_number

    def add(self, rows: FloatArray, names: Sequence[str], graphs: Graphs | None) -> None:
        """Add rows under names that are not taken yet."""
        numbers = np.arange(self.next_number, self.next_number + len(rows))
        self.parts.append(Segment.build(rows, names, numbers, graphs))
        self.next_number += len(rows)
        while len(self.parts) > 1 and len(self.parts[-2]) <= 2 * len(self.parts[-1]):
            self.parts[-2:] = [Segment.merged(self.parts[-2:])]

    def remove(self, names: list[str]) -> None:
        """Remove rows by their names; none if one name is absent."""
        places = self.places(names)
        for number, (segment, offset) in enumerate(self._offsets()):
            own = places[(places >= offset) & (places < offset + len(segment))] - offset
            if len(own):
                self.parts[number] = segment.without(own)

    def compact(self) -> None:
        """Make one segment of all, and drop what was removed."""
        self.parts = [Segment.merged(self.parts)] if len(self) else []

    def __len__(self) -> int:
        return sum(segment.n_alive for segment in self.parts)

    def _offsets(self) -> Iterator[tuple[Segment, int]]:
        """Yield each segment with the place of its first row."""
        offset = 0
        for segment in self.parts:
            yield segment, offset
            offset += len(segment)

    def names(self) -> list[str]:
        """Return all names in the order in which they were added."""
        found: list[tuple[int, str]] = []
        for segment in self.parts:
            own = np.flatnonzero(segment.alive)
            found += zip(segment.numbers[own].tolist(), segment.ids.at(own), strict=True)
        return [name for _, name in sorted(found)]

    def find(self, names: Sequence[str]) -> IntArray:
        """Return the places of names; -1 for those that are absent."""
        places = np.full(len(names), -1)
        for segment, offset in self._offsets():
            own = segment.ids.find(names)
            there = (own >= 0) & (segment.alive[own] > 0)
            places[there] = own[there] + offset
        return places

    def places(self, names: Sequence[str]) -> IntArray:
        """Return the places of names, none of which may be absent."""
        places = self.find(names)
        if (places < 0).any():
            raise GraphError(f"no graph in the index is called {names[int(np.argmin(places))]!r}")
        return places

    def at(self, place: int) -> tuple[Segment, int]:
        """Return the segment of a place, and the row there."""
        return next((s, place - offset) for s, offset in self._offsets() if place < offset + len(s))

    def names_at(self, places: IntArray) -> list[str]:
        """Return the names of the rows at these places."""
        names = np.empty(len(places), dtype=object)
        for segment, offset in self._offsets():
            own = np.flatnonzero((places >= offset) & (places < offset + len(segment)))
            names[own] = segment.ids.at(places[own] - offset)
        return names.tolist()

    def row(self, place: int) -> FloatArray:
        """Return the row at a place."""
        segment, own = self.at(place)
        return np.asarray(segment.rows[own])

    def graph(self, place: int) -> RawGraph:
        """Return the graph at a place, if graphs are kept."""
        segment, own = self.at(place)
        if segment.graphs is None:
            raise GraphError("this index keeps no graphs", cure="Build it with keep_graphs=True")
        graph: RawGraph = segment.graphs[own]
        return graph

    def nearest(self, rows: FloatArray, k: int, n_jobs: int | None) -> list[Found]:
        """Return the k nearest of each query, nearest first; of equal ones the older first."""
        scan: Any = nearest  # compiled: mypy sees it without its arguments

        def answer(row: FloatArray) -> Found:
            heap: tuple[Any, ...] = np.full(k, np.inf), np.empty(k, np.int64), np.empty(k, np.int64)
            for segment, offset in self._offsets():
                scan(*segment.scan_arguments(row), offset, heap)
            squares, numbers, places = heap
            order = np.lexsort((numbers, squares))[: np.count_nonzero(squares < np.inf)]
            return places[order], np.sqrt(squares[order])

        return _each(rows, answer, n_jobs)

    def within(self, rows: FloatArray, radius: float, n_jobs: int | None) -> list[Found]:
        """Return all rows up to a distance of each query, in the same order."""
        scan: Any = within

        def answer(row: FloatArray) -> Found:
            found = []
            for segment, offset in self._offsets():
                places, squares = scan(*segment.scan_arguments(row), radius * radius)
                found.append((places + offset, squares, segment.numbers[places]))
            places, squares, numbers = (np.concatenate(arrays) for arrays in zip(*found, strict=True))
            order = np.lexsort((numbers, squares))
            return places[order], np.sqrt(squares[order])

        return _each(rows, answer, n_jobs)


def _each(rows: FloatArray, answer: Callable[[FloatArray], Found], n_jobs: int | None) -> list[Found]:
    """Answer queries, several at a time on each thread."""
    double = _fixed(np.array(rows, dtype=np.float64, order="C"))
    answers: list[Found] = [(np.empty(0, np.int64), np.empty(0))] * len(double)

    def fill(some: range) -> None:
        for number in some:
            answers[number] = answer(double[number])

    parts = [range(start, min(start + TOGETHER, len(double))) for start in range(0, len(double), TOGETHER)]
    run([partial(fill, part) for part in parts], n_workers(n_jobs))
    return answers
