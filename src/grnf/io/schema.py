"""Which columns nodes and edges have, what they hold, and how a block of graphs becomes channels by them.

A column is numbers of a width, or categories; a `Schema` says which there are. A `BlockEncoder` makes one
look-up per column of a block.
"""

from __future__ import annotations

import numbers
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from grnf.errors import GraphError
from grnf.graphs import Codes, Graph, GraphBatch, category_key, number_keys
from grnf.graphs.channels import Item
from grnf.io.batch import RawBatch, RawColumn
from grnf.io.columns import is_missing
from grnf.typing import BoolArray, FloatArray, IntArray, Keys, Missing, Unseen

__all__ = ["AnyCategory", "BlockEncoder", "Categories", "Column", "Numbers", "Schema", "SchemaDraft"]

MOST_REMEMBERED = 1_000_000
"""Keys of categories of a column that are remembered; more are made again."""


@dataclass(frozen=True)
class Numbers:
    """A column of numbers (width 1) or of vectors."""

    width: int

    def __str__(self) -> str:
        return f"width {self.width}"


@dataclass(frozen=True)
class Categories:
    """A column of categories, which becomes one column of 0 and 1 for each of them."""

    values: tuple[Hashable, ...]

    @property
    def width(self) -> int:
        """Number of categories."""
        return len(self.values)

    @cached_property
    def places(self) -> dict[Hashable, int]:
        """The place of each category."""
        return {value: index for index, value in enumerate(self.values)}

    def __str__(self) -> str:
        return f"{self.width} categories"


@dataclass(frozen=True)
class AnyCategory:
    """A column of categories without end: each is a channel of its own, known by its key."""

    width = 0

    def __str__(self) -> str:
        return "categories"


Column: TypeAlias = Numbers | Categories | AnyCategory


@dataclass(frozen=True)
class Schema:
    """The columns of nodes or edges by name, in the order in which they stand side by side."""

    columns: Mapping[str, Column]

    @property
    def width(self) -> int:
        """Number of numbers that each node (edge) gets."""
        return sum(column.width for column in self.columns.values())

    def is_only(self, name: str) -> bool:
        """Whether there is nothing but, perhaps, numbers of this name."""
        return all(key == name and isinstance(column, Numbers) for key, column in self.columns.items())

    def to_config(self) -> list[dict[str, Any]]:
        """Return what JSON can hold."""
        return [
            {"name": name, "categories": [_to_json(value, name) for value in column.values]}
            if isinstance(column, Categories)
            else {"name": name, "width": column.width}
            for name, column in self.columns.items()
        ]

    @classmethod
    def from_config(cls, config: Sequence[Mapping[str, Any]]) -> Schema:
        """Make the schema that `to_config` describes."""
        columns: dict[str, Column] = {}
        for entry in config:
            name = str(entry["name"])
            if "categories" in entry:
                columns[name] = Categories(tuple(map(_from_json, entry["categories"])))
            else:
                width = int(entry["width"])
                columns[name] = Numbers(width) if width else AnyCategory()
            if columns[name].width < 0 or entry.get("categories") == []:
                raise ValueError(f"column {name!r} has width {columns[name].width}")
        return cls(columns)

    def __str__(self) -> str:
        return ", ".join(f"{name} ({column})" for name, column in self.columns.items()) or "nothing"


@dataclass
class SchemaDraft:
    """A schema in the making. The first graph that has values in a column says what the column holds.

    A graph that disagrees is not refused here but when it is encoded, where its number is known. In an `open`
    schema categories are not remembered.
    """

    open: bool = False
    widths: dict[str, int] = field(default_factory=dict)
    categories: dict[str, set[Hashable]] = field(default_factory=dict)
    empty_widths: dict[str, int] = field(default_factory=dict)

    def add(self, columns: Mapping[str, Any]) -> None:
        """Take note of the columns of one graph, or of a block."""
        for name, values in columns.items():
            known = getattr(values, "categories", None)
            if known is not None:  # a column of a block
                if known and name not in self.widths:
                    self.categories.setdefault(name, set()).update(known)
                continue
            array = np.asarray(getattr(values, "values", values))
            if array.dtype.kind in "biuf":
                self._add_numbers(name, array)
            elif name not in self.widths:
                self._add_categories(name, array)

    def schema(self, first: str = "") -> Schema:
        """Return the schema: columns by name, that called `first` before all others."""
        widths = self.empty_widths | self.widths
        columns: dict[str, Column] = {
            name: Numbers(width) for name, width in widths.items() if width and name not in self.categories
        }
        for name, values in self.categories.items():
            columns[name] = AnyCategory() if self.open else Categories(tuple(sorted(values, key=_place)))
        names = sorted(columns, key=lambda name: (name != first, name))
        return Schema({name: columns[name] for name in names})

    def _add_numbers(self, name: str, array: npt.NDArray[Any]) -> None:
        if len(array) == 0:
            if array.ndim == 2:
                self.empty_widths.setdefault(name, array.shape[1])
        elif name not in self.categories:
            self.widths.setdefault(name, 1 if array.ndim == 1 else array.shape[1])

    def _add_categories(self, name: str, array: npt.NDArray[Any]) -> None:
        if self.open and name in self.categories:
            return
        found = {value for value in set(array.tolist()) if not is_missing(value)}
        if found:
            self.categories.setdefault(name, set()).update(found)


@dataclass(frozen=True, eq=False)
class BlockEncoder:
    """Encodes whole blocks of graphs.

    Parameters
    ----------
    schemas : mapping from "node" and "edge" to Schema
    unseen, missing : policies, see `AttributeEncoder`
    known_keys : dict
        The keys of categories by item and column, which grows on the way.
    """

    schemas: Mapping[Item, Schema]
    unseen: Unseen
    missing: Missing
    known_keys: dict[tuple[str, str], dict[Hashable, int]]

    def encode(self, batch: RawBatch) -> GraphBatch:
        """Encode a block; an error says what is wrong, and in a block of one graph where."""
        _check_edges(batch)
        edges, order = _in_order(batch)
        node_attr, node_keys, node_codes = self._channels("node", batch.node_columns, batch.node_ptr)
        edge_attr, edge_keys, edge_codes = self._channels("edge", batch.edge_columns, batch.edge_ptr)
        if order is not None:
            edge_attr, edge_codes = edge_attr[order], edge_codes.take(order)
        return GraphBatch(
            batch.node_ptr, batch.edge_ptr, edges, node_attr, edge_attr, batch.directed,
            node_keys, edge_keys, node_codes, edge_codes,
        )  # fmt: skip

    def _channels(
        self, item: Item, columns: Mapping[str, RawColumn], ptr: IntArray
    ) -> tuple[FloatArray, Keys, Codes]:
        """Return numbers, what their columns are, and categories."""
        count = int(ptr[-1])
        dense: list[FloatArray] = []
        keys: list[Keys] = []
        codes: list[tuple[IntArray, Keys]] = []
        for name, column in self.schemas[item].columns.items():
            given = self._complete(name, columns.get(name), ptr, item)
            field = f"{item} column {name!r}"
            if isinstance(column, Numbers):
                dense.append(self._numbers(column, given, count, field, item))
                keys.append(self._number_keys(item, name, column.width))
                continue
            found = self._codes(given, count, field, item)
            if isinstance(column, AnyCategory):
                codes.append((found, self._keys(item, name, given)))
            else:
                dense.append(self._one_hot(column, given, found, field))
                keys.append(self._keys(item, name, RawColumn(found, column.values)))
        return (
            np.hstack(dense) if dense else np.empty((count, 0)),
            np.concatenate(keys) if keys else np.empty(0, np.uint64),
            _joined_codes(codes, count),
        )

    def _number_keys(self, item: Item, name: str, width: int) -> Keys:
        """Return what the entries of a column of numbers are.

        The weight of an edge is the first of the numbers without a name, whichever door it comes through.
        """
        if item == "edge" and name == "weight" and width == 1:
            return number_keys("edge", 1)
        if item == "edge" and name == "edge_attr" and "weight" in self.schemas["edge"].columns:
            return number_keys("edge", width + 1)[1:]
        return number_keys(item, width, name)

    def _complete(self, name: str, column: RawColumn | None, ptr: IntArray, item: str) -> RawColumn | None:
        """Return a column with a word on graphs that do not have it: weights are 1, others missing."""
        counts = np.diff(ptr)
        lacking = (
            counts > 0
            if column is None
            else (counts > 0) & (column.absent if column.absent is not None else False)
        )
        if not lacking.any():
            return column
        if name == "weight" and item == "edge":
            values = np.ones(int(ptr[-1])) if column is None else column.values.copy()
            values[np.repeat(lacking, counts)] = 1.0
            return RawColumn(values)
        if self.missing == "error":
            raise GraphError(f"the {item} column {name!r} is missing; missing='zero' puts zeros in its place")
        return column

    def _numbers(
        self, column: Numbers, given: RawColumn | None, count: int, field: str, item: str
    ) -> FloatArray:
        if given is None:
            return np.zeros((count, column.width))
        if given.categories:
            example = given.categories[0]
            raise GraphError(
                f"the {field} holds {type(example).__name__} values such as {example!r:.60}; it held numbers "
                "in fit"
            )
        if given.categories is not None:  # nothing but missing values
            self._refuse_gaps(np.ones(count, np.bool_), given, count, field, item)
            return np.zeros((count, column.width))
        matrix = given.values.reshape(count, -1 if count else column.width).astype(np.float64)
        if count and matrix.shape[1] != column.width:
            raise GraphError(f"the {field} has width {matrix.shape[1]}; it had {column.width} in fit")
        if np.isfinite(matrix).all():
            return matrix.reshape(count, column.width)
        gaps = np.isnan(matrix)
        self._refuse_gaps(np.asarray(gaps.any(axis=1)), given, count, field, item)
        matrix[gaps] = 0.0
        if np.isinf(matrix).any():
            row = int(np.flatnonzero(np.isinf(matrix).any(axis=1))[0])
            raise GraphError(f"the {field} is infinite in row {row}; attributes must be finite")
        return matrix

    def _codes(self, given: RawColumn | None, count: int, field: str, item: str) -> IntArray:
        if given is None:
            return np.full(count, -1)
        if given.categories is None:
            if not np.isnan(given.values.astype(np.float64)).all():
                raise GraphError(f"the {field} holds numbers; it held categories in fit: write them as text")
            values = np.full(count, -1)
        else:
            values = given.values
        self._refuse_gaps(np.asarray(values < 0), given, count, field, item)
        return values

    def _refuse_gaps(self, gaps: BoolArray, given: RawColumn, count: int, field: str, item: str) -> None:
        if self.missing == "error" and gaps.any() and not (given.absent is not None and given.absent.all()):
            index = int(np.flatnonzero(gaps)[0])
            raise GraphError(
                f"the {field} is missing for {item} {index} (of {count}, from 0); missing='zero' puts zeros "
                "in its place"
            )

    def _one_hot(
        self, column: Categories, given: RawColumn | None, codes: IntArray, field: str
    ) -> FloatArray:
        categories = (given.categories if given is not None else None) or ()
        places = np.array([*(column.places.get(category, -1) for category in categories), -1], np.int64)
        known = places[codes]
        if self.unseen == "error" and ((known < 0) & (codes >= 0)).any():
            value = categories[codes[np.flatnonzero((known < 0) & (codes >= 0))[0]]]
            raise GraphError(
                f"the {field} has the value {value!r}, which was not there in fit; unseen='ignore' puts "
                "zeros in its place, unseen='open' gives it a channel of its own. If the column holds names "
                "of single nodes or edges, remove it"
            )
        one_hot = np.zeros((len(codes), column.width))
        (rows,) = np.nonzero(known >= 0)
        one_hot[rows, known[rows]] = 1.0
        return one_hot

    def _keys(self, item: Item, name: str, given: RawColumn | None) -> Keys:
        """Return the keys of the categories of a column; those seen before are remembered."""
        known = self.known_keys.setdefault((item, name), {})
        if len(known) > MOST_REMEMBERED:
            known.clear()
        categories = (given.categories if given is not None else None) or ()
        for category in categories:
            if category not in known:
                known[category] = category_key(item, name, category)
        return np.array([known[category] for category in categories], dtype=np.uint64)


def _joined_codes(columns: list[tuple[IntArray, Keys]], count: int) -> Codes:
    """Return the codes of several columns with all their keys, which ascend."""
    if not columns:
        return Codes.none(count)
    keys = np.unique(np.concatenate([own for _, own in columns]))
    values = np.empty((count, len(columns)), np.int64)
    for place, (codes, own) in enumerate(columns):
        values[:, place] = np.append(np.searchsorted(keys, own), -1)[codes]
    return Codes(values, keys)


def _check_edges(batch: RawBatch) -> None:
    if not len(batch.edges):
        return
    sizes = np.repeat(np.diff(batch.node_ptr), np.diff(batch.edge_ptr))
    if batch.edges.min() < 0 or (batch.edges >= sizes[:, np.newaxis]).any():
        for index in range(len(batch)):
            Graph(batch[index].n_nodes, batch[index].edges)  # says which


def _in_order(batch: RawBatch) -> tuple[IntArray, IntArray | None]:
    """Sort the edges of each graph, each undirected one with its smaller end first; also return the order."""
    edges, counts = batch.edges, np.diff(batch.edge_ptr)
    undirected = np.repeat(~batch.directed, counts)
    turned = undirected & (edges[:, 0] > edges[:, 1])
    if turned.any():
        edges = np.where(turned[:, np.newaxis], edges[:, ::-1], edges)
    graph = np.repeat(np.arange(len(counts)), counts)
    first, second = edges[:-1], edges[1:]
    later = (first[:, 0] > second[:, 0]) | ((first[:, 0] == second[:, 0]) & (first[:, 1] > second[:, 1]))
    if not (later & (graph[:-1] == graph[1:])).any():
        return np.ascontiguousarray(edges), None
    order = np.lexsort((edges[:, 1], edges[:, 0], graph))
    return edges[order], order


def _place(value: Any) -> tuple[int, Any]:
    """Sort numbers before text before all else, and all else by what it prints as."""
    if isinstance(value, numbers.Real):
        return 0, value
    return (1, value) if isinstance(value, str) else (2, repr(value))


def _to_json(value: Hashable, column: str) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, tuple):
        return [_to_json(entry, column) for entry in value]
    if isinstance(value, (str, int, float)):
        return value
    raise TypeError(
        f"column {column!r} has categories of type {type(value).__name__}, which cannot be saved; use text"
    )


def _from_json(value: Any) -> Hashable:
    if isinstance(value, list):
        return tuple(map(_from_json, value))
    if isinstance(value, (str, int, float)):
        return value
    raise ValueError(f"{value!r:.60} is no category")
