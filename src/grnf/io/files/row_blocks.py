"""Rows of our own files (npz, Parquet) as blocks, column by column; see `rows` for what a row is."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from grnf._utils.arrays import offsets
from grnf.errors import GraphError
from grnf.io.files.rows import typed_numbers, unpacked_y
from grnf.io.raw import LARGEST_GRAPH, RawBatch, RawColumn
from grnf.typing import BoolArray, FloatArray, IntArray

__all__ = ["Layouts", "RowBlock", "Texts"]


class Texts(NamedTuple):
    """Categorical columns of some rows: one code per entry, one row's columns after the other."""

    codes: IntArray
    categories: Sequence[str]


class _Layout(NamedTuple):
    columns: str
    n_edges: int
    y: Any


class Layouts:
    """What `grnf_columns` says, read once for each text that occurs."""

    def __init__(self) -> None:
        self._known: dict[str, _Layout] = {}

    def get(self, text: str) -> _Layout:
        """Return the description of one row's columns."""
        if text not in self._known:
            if len(self._known) > 10_000:
                self._known.clear()
            whole = json.loads(text)
            n_edges, y = whole.pop("edges"), whole.pop("y")
            if type(n_edges) is not int or n_edges < 0:
                raise GraphError(f"{n_edges} edges")
            self._known[text] = _Layout(json.dumps(whole), n_edges, y)
        return self._known[text]


@dataclass(frozen=True)
class RowBlock:
    """Some rows: numbers of all one below the other. Edges may be followed by their opposite arcs."""

    layouts: list[_Layout]
    n_nodes: IntArray
    n_arcs: IntArray
    arcs: IntArray
    node_feat: FloatArray
    edge_attr: FloatArray
    node_text: Texts
    edge_text: Texts
    directed: BoolArray
    graph_ids: list[str | None]
    y_sizes: IntArray
    y: FloatArray

    def batch(self) -> RawBatch:
        """Return the rows as graphs; a `GraphError` or `ValueError` if they must be looked at one by one."""
        first = self.layouts[0].columns
        if any(layout.columns != first for layout in self.layouts) or self.n_nodes.max() > LARGEST_GRAPH:
            raise GraphError("the rows have several sets of columns")
        columns = json.loads(first)
        n_edges = np.array([layout.n_edges for layout in self.layouts], dtype=np.int64)
        if (n_edges > self.n_arcs).any():
            raise GraphError("more edges than arcs")
        arcs, edge_attr = self.arcs, self.edge_attr
        if (n_edges != self.n_arcs).any():
            kept = _first_of_each(self.n_arcs, n_edges)
            arcs, edge_attr = arcs[kept], edge_attr[kept]
        return RawBatch(
            offsets(self.n_nodes),
            offsets(n_edges),
            np.ascontiguousarray(arcs, dtype=np.int64),
            _columns(columns, "node", self.node_feat, self.node_text, self.n_nodes),
            _columns(columns, "edge", edge_attr, self.edge_text, n_edges),
            self.directed,
            self.graph_ids,
            self._targets(),
        )

    def _targets(self) -> list[Any]:
        layouts, ends = [layout.y for layout in self.layouts], offsets(self.y_sizes)
        if isinstance(layouts[0], list) and all(layout == layouts[0] for layout in layouts):
            dtype, shape = layouts[0]
            if shape == [] and (self.y_sizes == 1).all():
                return list(typed_numbers(self.y, dtype).tolist())
        return [unpacked_y(layout, self.y[ends[row] : ends[row + 1]]) for row, layout in enumerate(layouts)]


def _columns(
    layout: dict[str, Any], item: str, numbers: FloatArray, texts: Texts, counts: IntArray
) -> dict[str, RawColumn]:
    found: dict[int, tuple[str, RawColumn]] = {}
    start = 0
    for position, name, width, dtype in layout[f"{item}_numbers"]:
        stop = start + (1 if width is None else width)
        values: npt.NDArray[Any] = numbers[:, start:stop]
        if values.shape[1] != stop - start:
            raise GraphError(f"{item} column {name!r} stands beyond the numbers")
        found[position] = name, RawColumn(typed_numbers(values[:, 0] if width is None else values, dtype))
        start = stop
    kinds = layout[f"{item}_texts"]
    if len(texts.codes) != len(kinds) * int(counts.sum()) or any(kind != "text" for *_, kind in kinds):
        raise GraphError(f"texts of {item}s that are not plain")
    for place, (position, name, _) in enumerate(kinds):
        codes = texts.codes
        if len(kinds) > 1:  # of a row, one column comes after the other
            starts = offsets(counts)[:-1] * len(kinds) + place * counts
            codes = codes[np.repeat(starts - offsets(counts)[:-1], counts) + np.arange(int(counts.sum()))]
        found[position] = name, _category_column(codes, texts.categories)
    return {str(name): column for _, (name, column) in sorted(found.items())}


def _category_column(codes: IntArray, categories: Sequence[str]) -> RawColumn:
    """Return a column with the categories that occur in it alone."""
    present = np.zeros(len(categories) + 1, np.bool_)
    present[codes] = True
    present[-1] = False
    places = np.append(np.cumsum(present[:-1]) - 1, -1)
    own = tuple(categories[place] for place in np.flatnonzero(present).tolist())
    return RawColumn(places[codes], own)


def _first_of_each(counts: IntArray, wanted: IntArray) -> IntArray:
    """Return the places of the first so many items of each row."""
    starts = np.repeat(offsets(counts)[:-1] - offsets(wanted)[:-1], wanted)
    return np.asarray(starts + np.arange(len(starts)))
