"""The rows of an index: segments that grow by merging, searched as one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from grnf._utils.threads import n_workers, run
from grnf.errors import GraphError
from grnf.search.kept import KeptGraphs
from grnf.search.segment import Query, Segment, new_heap, queries
from grnf.typing import FloatArray, IntArray

__all__ = ["Found", "Segments"]

Found = tuple[IntArray, FloatArray]
"""Places, counted over all segments, and distances."""

TOGETHER = 16
"""Queries that a thread takes at a time."""


class Segments:
    """Rows with names, in segments of which each is much larger than the next."""

    def __init__(self, segments: Sequence[Segment] = (), next_number: int = 0) -> None:
        self.parts = list(segments)
        self.next_number = next_number

    def add(self, rows: FloatArray, names: Sequence[str], graphs: KeptGraphs | None) -> None:
        """Add rows under names that are not taken yet."""
        numbers = np.arange(self.next_number, self.next_number + len(rows))
        self.parts.append(Segment.build(rows, names, numbers, graphs))
        self.next_number += len(rows)
        while len(self.parts) > 1 and len(self.parts[-2]) <= 2 * len(self.parts[-1]):
            self.parts[-2:] = [_merged(self.parts[-2:])]

    def remove(self, names: list[str]) -> None:
        """Remove rows by their names; all or none, if one is not there."""
        places = self.places(names)
        if (places < 0).any():
            raise GraphError(f"no graph in the index is called {names[int(np.flatnonzero(places < 0)[0])]!r}")
        offset = 0
        for number, segment in enumerate(self.parts):
            own = places[(places >= offset) & (places < offset + len(segment))] - offset
            if len(own):
                self.parts[number] = segment.without(own)
            offset += len(segment)

    def compact(self) -> None:
        """Make one segment of all, and forget what was removed."""
        self.parts = [_merged(self.parts)] if len(self) else []

    def __len__(self) -> int:
        return sum(segment.n_alive for segment in self.parts)

    def names(self) -> list[str]:
        """Return all names in the order in which they were added."""
        found = [
            (int(segment.numbers[place]), segment.ids[place])
            for segment in self.parts
            for place in np.flatnonzero(segment.alive).tolist()
        ]
        return [name for _, name in sorted(found)]

    def places(self, names: list[str]) -> IntArray:
        """Return the places of names over all segments; -1 where there is none."""
        places, offset = np.full(len(names), -1), 0
        for segment in self.parts:
            own = segment.ids.find(names)
            there = (own >= 0) & (segment.alive[own] > 0)
            places[there] = own[there] + offset
            offset += len(segment)
        return places

    def at(self, place: int) -> tuple[Segment, int]:
        """Return the segment of a place, and the place there."""
        for segment in self.parts:
            if place < len(segment):
                return segment, place
            place -= len(segment)
        raise IndexError(place)

    def home(self, name: str) -> tuple[Segment, int]:
        """Return the segment of a name, and the place there."""
        place = int(self.places([name])[0])
        if place < 0:
            raise GraphError(f"no graph in the index is called {name!r}")
        return self.at(place)

    def name(self, place: int) -> str:
        """Return what the row at a place is called."""
        segment, own = self.at(place)
        return segment.ids[own]

    def names_at(self, places: IntArray) -> list[str]:
        """Return what the rows at many places are called."""
        names, offset = np.empty(len(places), dtype=object), 0
        for segment in self.parts:
            own = np.flatnonzero((places >= offset) & (places < offset + len(segment)))
            names[own] = segment.ids.at(places[own] - offset)
            offset += len(segment)
        return names.tolist()

    def row(self, place: int) -> FloatArray:
        """Return the row at a place."""
        segment, own = self.at(place)
        return np.asarray(segment.rows[own])

    def nearest(self, rows: FloatArray, k: int, n_jobs: int | None) -> list[Found]:
        """Return the k nearest of each query, nearest first; of equal ones the older first."""

        def answer(query: Query) -> Found:
            heap, size, offset = new_heap(k), 0, 0
            for segment in self.parts:
                size = segment.nearest(query, offset, heap, size)
                offset += len(segment)
            squares, numbers, places = heap[0][:size], heap[1][:size], heap[2][:size]
            order = np.lexsort((numbers, squares))
            return places[order], np.sqrt(squares[order])

        return _each(rows, answer, n_jobs)

    def within(self, rows: FloatArray, radius: float, n_jobs: int | None) -> list[Found]:
        """Return all rows up to a distance of each query, in the same order."""

        def answer(query: Query) -> Found:
            found, offset = [], 0
            for segment in self.parts:
                places, squares = segment.within(query, radius * radius)
                found.append((places + offset, squares, segment.numbers[places]))
                offset += len(segment)
            places, squares, numbers = (np.concatenate(arrays) for arrays in zip(*found, strict=True))
            order = np.lexsort((numbers, squares))
            return places[order], np.sqrt(squares[order])

        return _each(rows, answer, n_jobs)


def _each(rows: FloatArray, answer: Callable[[Query], Found], n_jobs: int | None) -> list[Found]:
    """Answer queries, some at a time on each thread."""
    asked = queries(rows)
    answers: list[Found] = [(np.empty(0, np.int64), np.empty(0))] * len(asked)

    def fill(some: range) -> None:
        for number in some:
            answers[number] = answer(asked[number])

    parts = [range(start, min(start + TOGETHER, len(asked))) for start in range(0, len(asked), TOGETHER)]
    run([partial(fill, part) for part in parts], n_workers(n_jobs))
    return answers


def _merged(segments: list[Segment]) -> Segment:
    """Return one segment of all rows that are not removed."""
    alive = [np.flatnonzero(segment.alive) for segment in segments]
    rows = np.concatenate([segment.rows[own] for segment, own in zip(segments, alive, strict=True)])
    numbers = np.concatenate([segment.numbers[own] for segment, own in zip(segments, alive, strict=True)])
    ids = [segment.ids[place] for segment, own in zip(segments, alive, strict=True) for place in own.tolist()]
    kept = None
    if segments[0].graphs is not None:
        kept = KeptGraphs(
            [
                s.graphs[place]
                for s, own in zip(segments, alive, strict=True)
                if s.graphs
                for place in own.tolist()
            ]
        )
    return Segment.build(rows, ids, numbers, kept)
