"""Rows that were added to an index together, in the order of their tree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from grnf.search.ids import Ids
from grnf.search.kept import Graphs
from grnf.search.loops import nearest, within
from grnf.search.sketch import ROWS, Sketcher
from grnf.search.tree import blocks_of, boxes_of, tree_order
from grnf.typing import FloatArray, IntArray

__all__ = ["Heap", "Query", "Segment", "new_heap", "queries"]

AXES = 16
"""Length of a sketch: 15 principal axes and the rest, 64 bytes a row."""

Heap = tuple[FloatArray, IntArray, IntArray]


@dataclass(frozen=True, eq=False)
class Query:
    """A row that is looked for, in double precision, with its length."""

    row: FloatArray
    norm: float


def queries(rows: FloatArray) -> list[Query]:
    """Return each row as a query."""
    double = np.ascontiguousarray(rows, dtype=np.float64)
    double.setflags(write=False)
    return [Query(row, float(np.linalg.norm(row))) for row in double]


def new_heap(k: int) -> Heap:
    """Return room for the k nearest: squares of distances, numbers, places."""
    return np.empty(k), np.empty(k, np.int64), np.empty(k, np.int64)


@dataclass(frozen=True, eq=False)
class Segment:
    """Rows in the order of a tree, with all that a scan needs.

    Parameters
    ----------
    ids : Ids
    rows : array, shape (n, M)
    numbers : array of int64, shape (n,)
        When each was added; of rows at equal distances the older one comes first.
    alive : array of uint8, shape (n,)
        0 where a row was removed.
    sketcher : Sketcher
    sketch, low, high : arrays
        Sketches in blocks, and the boxes around them; see `tree.py`.
    norm : float
        The length of the longest row.
    graphs : Graphs, optional
    home : str, optional
        The folder on disk that has these arrays, but for `alive`.
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
    def build(
        cls, rows: FloatArray, ids: Sequence[str], numbers: IntArray, graphs: Graphs | None = None
    ) -> Segment:
        """Return the segment of rows in any order."""
        sketcher = Sketcher.of(rows, min(AXES, rows.shape[1] + 1))
        S = sketcher(rows)
        order = tree_order(S)
        sketch = blocks_of(S, order)
        del S  # the rows in order, as large as all that was given, come when nothing else is held
        low, high = boxes_of(sketch)
        names = Ids.of([ids[row] for row in order])
        ordered = np.empty(rows.shape, rows.dtype)
        for start in range(0, len(rows), ROWS):
            ordered[start : start + ROWS] = rows[order[start : start + ROWS]]
        return cls(
            names,
            _fixed(ordered),
            _fixed(np.asarray(numbers, np.int64)[order]),
            _fixed(np.ones(len(rows), np.uint8)),
            sketcher,
            _fixed(sketch),
            _fixed(low),
            _fixed(high),
            longest(rows),
            None if graphs is None else graphs.taken(order),
        )

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any], norm: float, graphs: Graphs | None, home: str) -> Segment:
        """Return the segment that `arrays` was made of; each array may be mapped from disk."""
        own = {name: arrays[name] for name in ("rows", "numbers", "alive", "sketch", "low", "high")}
        sketcher = Sketcher(arrays["centre"], arrays["sketch_axes"])
        return cls(Ids.from_arrays(arrays), sketcher=sketcher, norm=norm, graphs=graphs, home=home, **own)

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return what is to be stored, by name; `alive` is stored apart, since it changes."""
        own = {name: getattr(self, name) for name in ("rows", "numbers", "sketch", "low", "high")}
        return {
            **own,
            **self.ids.arrays(),
            "centre": self.sketcher.centre,
            "sketch_axes": self.sketcher.axes,
        }

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

    def nearest(self, query: Query, offset: int, heap: Heap, size: int) -> int:
        """Bring the rows that are among the nearest into a heap; return its size."""
        scan: Any = nearest  # compiled: mypy sees the loop without its arguments
        return int(scan(*self._scan(query), offset, *self._rounding(query), heap, size)[0])

    def within(self, query: Query, square: float) -> tuple[IntArray, FloatArray]:
        """Return the places and squared distances of the rows up to a squared distance."""
        scan: Any = within
        places, squares = scan(*self._scan(query), square, *self._rounding(query))
        return places, squares

    def _scan(self, query: Query) -> tuple[Any, ...]:
        sketch = _fixed(self.sketcher(query.row[np.newaxis])[0])
        rows = self.rows, self.sketch, self.numbers, self.alive
        return query.row, sketch, rows, (self.low, self.high)

    def _rounding(self, query: Query) -> tuple[float, float]:
        return self.sketcher.factor, self.sketcher.slack(self.norm, query.norm)


def longest(rows: FloatArray) -> float:
    """Return the length of the longest row, rounded up."""
    square = 0.0
    for start in range(0, len(rows), ROWS):
        some = np.asarray(rows[start : start + ROWS], dtype=np.float64)
        square = max(square, float(np.einsum("ij,ij->i", some, some).max(initial=0)))
    return float(np.sqrt(square)) * (1 + 1e-9)


def _fixed(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return an array that is not written to: what is mapped from disk is none, and one loop serves both."""
    array.setflags(write=False)
    return array
