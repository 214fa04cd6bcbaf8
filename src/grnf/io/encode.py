"""From named columns to numbers: `fit` fixes which columns there are, their widths and their categories.

A column holds numbers of a width, or categories. A `Schema` lists the columns of nodes or edges.
"""

from __future__ import annotations

import math
import numbers
import warnings
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from grnf._utils.rules import OneOf, checked
from grnf.errors import GraphError, GrnfWarning, invalid
from grnf.graphs import ChannelKeys, Codes, Graph, GraphBatch, category_key, number_keys
from grnf.graphs.channels import Item
from grnf.io.raw import RawBatch, RawColumn, RawGraph, without_failures
from grnf.typing import BoolArray, FloatArray, HandleMissing, HandleUnknown, IntArray, Keys

HANDLE_UNKNOWN = OneOf("open", "error", "ignore")
HANDLE_MISSING = OneOf("error", "zero")
FILL = "Use handle_missing='zero' (--handle-missing zero) to fill with zeros"
MOST_REMEMBERED = 1_000_000
"""Keys of categories of a column that are remembered; more are computed again."""


@dataclass(frozen=True)
class SchemaColumn:
    """A column of numbers, or of categories.

    Each node (edge) gets `width` numbers. A closed list of categories becomes one column of 0 and 1 for each
    of them. Width 0: the categories are open, each is a channel of its own, known by its key.
    """

    width: int = 0
    categories: tuple[Hashable, ...] | None = None

    @property
    def is_numeric(self) -> bool:
        """Whether the column holds numbers or vectors."""
        return self.width > 0 and self.categories is None

    @property
    def is_open(self) -> bool:
        """Whether the column holds any categories."""
        return self.width == 0

    @cached_property
    def places(self) -> dict[Hashable, int]:
        """The place of each category."""
        return {value: index for index, value in enumerate(self.categories or ())}

    def __str__(self) -> str:
        if self.is_numeric:
            return f"width {self.width}"
        return "categories" if self.is_open else f"{self.width} categories"


@dataclass(frozen=True)
class Schema:
    """The columns of nodes or edges by name, in the order of their channels."""

    columns: Mapping[str, SchemaColumn]

    @property
    def width(self) -> int:
        """Number of numbers that each node (edge) gets."""
        return sum(column.width for column in self.columns.values())

    def is_only(self, name: str) -> bool:
        """Whether there is nothing but, perhaps, numbers of this name."""
        return all(key == name and column.is_numeric for key, column in self.columns.items())

    def to_config(self) -> list[dict[str, Any]]:
        """Return the schema as JSON values."""
        return [
            {"name": name, "width": column.width}
            if column.categories is None
            else {"name": name, "categories": [_to_json(value, name) for value in column.categories]}
            for name, column in self.columns.items()
        ]

    @classmethod
    def from_config(cls, config: Sequence[Mapping[str, Any]]) -> Schema:
        """Make the schema that `to_config` describes."""
        columns: dict[str, SchemaColumn] = {}
        for entry in config:
            name, values = str(entry["name"]), entry.get("categories")
            if values is None:
                columns[name] = SchemaColumn(int(entry["width"]))
            else:
                columns[name] = SchemaColumn(len(values), tuple(map(_from_json, values)))
            if columns[name].width < 0 or values == []:
                raise ValueError(f"column {name!r} has width {columns[name].width}")
        return cls(columns)

    def __str__(self) -> str:
        return ", ".join(f"{name} ({column})" for name, column in self.columns.items()) or "nothing"


def _learned(parts: Iterable[Mapping[str, RawColumn]], is_open: bool, first: str = "") -> Schema:
    """Return the schema of columns, the column `first` before all others.

    The first part that has values in a column decides what the column holds. A graph that disagrees is
    refused when it is encoded, since its number is known then.
    """
    known: dict[str, int | set[Hashable]] = {}
    empty_widths: dict[str, int] = {}
    for columns in parts:
        for name, column in columns.items():
            before = known.get(name, set())
            if column.categories is None:
                widths = known if len(column.values) else empty_widths
                if len(column.values) or column.values.ndim == 2:
                    widths.setdefault(name, math.prod(column.values.shape[1:]))
            elif column.categories and isinstance(before, set):
                known[name] = before.union(column.categories)
    schema: dict[str, SchemaColumn] = {}
    for name, kind in sorted({**empty_widths, **known}.items(), key=lambda item: (item[0] != first, item[0])):
        if isinstance(kind, set):
            values = tuple(sorted(kind, key=_place))
            schema[name] = SchemaColumn() if is_open else SchemaColumn(len(values), values)
        elif kind:
            schema[name] = SchemaColumn(kind)
    return Schema(schema)


class AttributeEncoder:
    """Turns graphs with named columns into graphs with channels.

    Columns of numbers and of vectors are not changed. Categories become one-hot columns, or in an open
    vocabulary `Codes`. What each channel is, its key tells (`grnf.graphs.channels`). The columns
    are in alphabetical order, and so are the categories of each, so that the order of the
    graphs in `fit` changes nothing. The weight of edges comes first, right after the adjacency. A graph
    without weights among others that have them has weights 1.

    Parameters
    ----------
    handle_unknown : "error", "ignore" or "open", default="error"
        What to do about a category that was not there in `fit`. "ignore" puts zeros in all its columns. With
        "open" the question does not arise: every category is a channel of its own, known by its key, and
        `fit` learns the names and kinds of columns alone.
    handle_missing : "error" or "zero", default="error"
        What to do where a node, an edge or a whole graph lacks an attribute. "zero" puts zeros.

    Attributes
    ----------
    node_schema_, edge_schema_ : Schema
        The columns, in their order.
    node_width, edge_width : int
        Numbers of node and edge attributes of the graphs that come out.
    """

    node_schema_: Schema
    edge_schema_: Schema
    encoded_keys_: tuple[Keys, Keys] | None = None

    def __init__(
        self, *, handle_unknown: HandleUnknown = "error", handle_missing: HandleMissing = "error"
    ) -> None:
        self.handle_unknown: HandleUnknown = checked(handle_unknown, "handle_unknown", HANDLE_UNKNOWN)
        self.handle_missing: HandleMissing = checked(handle_missing, "handle_missing", HANDLE_MISSING)
        self._known_keys: dict[tuple[str, str], dict[Hashable, int]] = {}

    @classmethod
    def of_batch(cls, batch: GraphBatch, **policies: Any) -> Self:
        """Return the encoder of graphs that are encoded already, as these are: attributes have no names."""
        encoder = cls(**policies)
        node_width, edge_width = batch.node_width, batch.edge_width
        encoder.node_schema_ = Schema({"x": SchemaColumn(node_width)} if node_width else {})
        encoder.edge_schema_ = Schema({"edge_attr": SchemaColumn(edge_width)} if edge_width else {})
        own = batch.node_keys, batch.edge_keys
        if not all(map(np.array_equal, own, encoder._number_keys())):
            encoder.encoded_keys_ = own
        return encoder

    @property
    def has_stereo(self) -> bool:
        """Whether the graphs of `fit` were molecules with stereochemistry."""
        return "chirality" in self.node_schema_.columns

    def _number_keys(self) -> tuple[Keys, Keys]:
        """Return what the columns of graphs are that need no encoding."""
        return self.encoded_keys_ or (
            number_keys("node", self.node_width),
            number_keys("edge", self.edge_width),
        )

    def fit(self, graphs: Iterable[RawGraph] | RawBatch) -> Self:
        """Learn the columns, their widths, and their categories."""
        batch = graphs if isinstance(graphs, RawBatch) else RawBatch.of(list(graphs))
        mixed = any(own.is_mixed for own in [*batch.node_columns.values(), *batch.edge_columns.values()])
        parts = [batch.take([index]) for index in range(len(batch))] if mixed else [batch]
        is_open = self.handle_unknown == "open"
        self.node_schema_ = _learned([part.node_columns for part in parts], is_open)
        self.edge_schema_ = _learned([part.edge_columns for part in parts], is_open, first="weight")
        return self

    def encode(self, raw: RawGraph) -> Graph:
        """Encode one graph. Its edges are put in ascending order, whatever their order in the source."""
        return self._encoded(RawBatch.of([raw]))[0]

    def encode_batch(self, graphs: RawBatch) -> tuple[GraphBatch, list[int], list[tuple[int, str]]]:
        """Encode many graphs at once.

        Also return the positions of the graphs that can be encoded, and those of the others with the reasons.
        """
        bad = dict(graphs.bad)
        rows = [row for row in range(len(graphs)) if row not in bad]

        def encoded(rows: Sequence[int]) -> GraphBatch:
            return self._encoded(graphs if len(rows) == len(graphs) else graphs.take(rows))

        batch, good, errors = without_failures(rows, encoded)
        bad |= {row: error.explanation for row, error in errors.items()}
        return batch, list(good), sorted(bad.items())

    def warn_of_unused(self, graphs: RawBatch) -> None:
        """Warn once about columns of graphs that were not there in `fit`."""
        columns = {"node": graphs.node_columns, "edge": graphs.edge_columns}
        unused = [
            f"{item} {name}"
            for item, schema in self._schemas().items()
            for name, column in columns[item].items()
            if name not in schema.columns and column.has_values
        ]
        if unused:
            text = f"columns that were not there in fit are not used: {', '.join(sorted(unused))}"
            warnings.warn(text, GrnfWarning, stacklevel=3)

    def require_closed(self, why: str) -> None:
        """Raise a `ValueError` if there are columns of categories without end."""
        for item, schema in self._schemas().items():
            for name, column in schema.columns.items():
                if column.is_open:
                    raise invalid(
                        f"the {item} column {name!r}",
                        f"have a closed vocabulary, since {why}",
                        "handle_unknown='open'",
                        "Fit with handle_unknown='ignore' or 'error'",
                    )

    def check_keys(self, encoded: Graph | GraphBatch) -> None:
        """Raise a `GraphError` if the columns of encoded graphs are not those of `fit`."""
        for keys, expected in zip((encoded.node_keys, encoded.edge_keys), self._number_keys(), strict=True):
            if keys is None or not np.array_equal(keys, expected):
                raise GraphError(
                    "the columns of these graphs are not those of fit, though they are as many: they come "
                    "from another encoder"
                )

    @property
    def node_width(self) -> int:
        """Number of node attributes of encoded graphs."""
        return self.node_schema_.width

    @property
    def edge_width(self) -> int:
        """Number of edge attributes of encoded graphs."""
        return self.edge_schema_.width

    @property
    def unnamed(self) -> bool:
        """Whether a plain `Graph` is encoded already: there are no columns but "x" and "edge_attr"."""
        return self.node_schema_.is_only("x") and self.edge_schema_.is_only("edge_attr")

    def with_policies(
        self, handle_unknown: HandleUnknown | None = None, handle_missing: HandleMissing | None = None
    ) -> Self:
        """Return an encoder of the same columns with other policies. None keeps the policy of this one."""
        if handle_unknown is None and handle_missing is None:
            return self
        encoder = type(self)(
            handle_unknown=handle_unknown or self.handle_unknown,
            handle_missing=handle_missing or self.handle_missing,
        )
        encoder.node_schema_, encoder.edge_schema_ = self.node_schema_, self.edge_schema_
        encoder.encoded_keys_ = self.encoded_keys_
        if (encoder.handle_unknown == "open") != (self.handle_unknown == "open"):
            encoder.node_schema_, encoder.edge_schema_ = map(encoder._opened, encoder._schemas().values())
        return encoder

    def _opened(self, schema: Schema) -> Schema:
        """Open a closed vocabulary. An open one cannot be closed, since its categories are not known."""
        for name, column in schema.columns.items():
            if column.is_open:
                raise invalid(
                    "handle_unknown",
                    f"be 'open', since fit did not learn the categories of column {name!r}",
                    repr(self.handle_unknown),
                    f"Fit again with handle_unknown={self.handle_unknown!r}",
                )
        items = schema.columns.items()
        return Schema({name: column if column.is_numeric else SchemaColumn() for name, column in items})

    def channels(self, adjacency_channel: bool = True) -> ChannelKeys:
        """Return the channels that all graphs have: numbers, and the categories of a closed vocabulary."""
        batch = self._encoded(RawBatch.empty())
        if self.encoded_keys_ is not None:
            batch = replace(batch, node_keys=self.encoded_keys_[0], edge_keys=self.encoded_keys_[1])
        return batch.channels(adjacency_channel)

    def to_config(self) -> dict[str, Any]:
        """Return JSON values from which `from_config` makes the same encoder."""
        keys = self.encoded_keys_
        return {
            "handle_unknown": self.handle_unknown,
            "handle_missing": self.handle_missing,
            "node": self.node_schema_.to_config(),
            "edge": self.edge_schema_.to_config(),
            **({} if keys is None else {"keys": [own.tolist() for own in keys]}),
        }

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Self:
        """Make the encoder that `to_config` describes."""
        encoder = cls(handle_unknown=config["handle_unknown"], handle_missing=config["handle_missing"])
        encoder.node_schema_ = Schema.from_config(config["node"])
        encoder.edge_schema_ = Schema.from_config(config["edge"])
        if "keys" in config:
            node, edge = (np.array(keys, dtype=np.uint64) for keys in config["keys"])
            encoder.encoded_keys_ = node, edge
        return encoder

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_known_keys": {}}

    def __repr__(self) -> str:
        if not hasattr(self, "node_schema_"):
            policies = f"handle_unknown={self.handle_unknown!r}, handle_missing={self.handle_missing!r}"
            return f"AttributeEncoder({policies})"
        return f"AttributeEncoder(node: {self.node_schema_}; edge: {self.edge_schema_})"

    def _schemas(self) -> dict[Item, Schema]:
        return {"node": self.node_schema_, "edge": self.edge_schema_}

    def _encoded(self, batch: RawBatch) -> GraphBatch:
        """Encode a batch. In a batch with a single graph an error names the node or edge."""
        _check_edges(batch)
        edges, order = _in_order(batch)
        node_attr, node_keys, node_codes = self._channels("node", batch.node_columns, batch.node_ptr)
        edge_attr, edge_keys, edge_codes = self._channels("edge", batch.edge_columns, batch.edge_ptr)
        if order is not None:
            edge_attr, edge_codes = edge_attr[order], edge_codes.take(order)
        node_keys, edge_keys = self.encoded_keys_ or (node_keys, edge_keys)
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
        for name, column in self._schemas()[item].columns.items():
            given = self._complete(name, columns.get(name), ptr, item)
            field = f"{item} column {name!r}"
            if given.is_mixed:
                raise GraphError(f"the {field} holds different kinds of values in different graphs")
            if column.is_numeric:
                dense.append(self._numbers(column, given, field, item))
                keys.append(self._keys_of_numbers(item, name, column.width))
                continue
            own = self._codes(given, field, item)
            if column.is_open:
                codes.append((own, self._keys(item, name, given.categories or ())))
            else:
                dense.append(self._one_hot(column, given, own, field))
                keys.append(self._keys(item, name, column.categories or ()))
        return (
            np.hstack(dense) if dense else np.empty((count, 0)),
            np.concatenate(keys) if keys else np.empty(0, np.uint64),
            _joined_codes(codes, count),
        )

    def _keys_of_numbers(self, item: Item, name: str, width: int) -> Keys:
        """Return what the entries of a column of numbers are.

        The weight of an edge is the first of the numbers without a name, whatever its source.
        """
        if item == "edge" and name == "weight" and width == 1:
            return number_keys("edge", 1)
        if item == "edge" and name == "edge_attr" and "weight" in self.edge_schema_.columns:
            return number_keys("edge", width + 1)[1:]
        return number_keys(item, width, name)

    def _complete(self, name: str, column: RawColumn | None, ptr: IntArray, item: str) -> RawColumn:
        """Return a column in which graphs that lack it have weights 1, or missing values."""
        counts = np.diff(ptr)
        if column is None:
            column = RawColumn(np.full(int(ptr[-1]), -1), (), np.ones(len(counts), np.bool_))
        lacking = (counts > 0) & (False if column.absent is None else column.absent)
        if lacking.any() and name == "weight" and item == "edge":
            values = column.values.astype(np.float64)
            values[np.repeat(lacking, counts)] = 1.0
            return RawColumn(values)
        if lacking.any() and self.handle_missing == "error":
            raise GraphError(f"the {item} column {name!r} is missing", cure=FILL)
        return column

    def _numbers(self, column: SchemaColumn, given: RawColumn, field: str, item: str) -> FloatArray:
        count = len(given.values)
        if given.categories:
            example = given.categories[0]
            raise GraphError(
                f"the {field} must hold numbers, as in fit, got {type(example).__name__} values such as "
                f"{example!r:.60}"
            )
        if given.categories is not None:  # nothing but missing values
            self._refuse_gaps(np.ones(count, np.bool_), given, field, item)
            return np.zeros((count, column.width))
        matrix = given.values.reshape(count, -1 if count else column.width).astype(np.float64)
        if count and matrix.shape[1] != column.width:
            raise GraphError(f"the {field} must have width {column.width}, as in fit, got {matrix.shape[1]}")
        gaps = np.isnan(matrix)
        if gaps.any():
            self._refuse_gaps(np.asarray(gaps.any(axis=1)), given, field, item)
            matrix[gaps] = 0.0
        infinite = np.isinf(matrix)
        if infinite.any():
            row = infinite.any(axis=1).argmax()
            raise GraphError(f"the {field} must be finite, but it is infinite in row {row}")
        return matrix

    def _codes(self, given: RawColumn, field: str, item: str) -> IntArray:
        values = given.values
        if given.categories is None:
            if not np.isnan(values.astype(np.float64)).all():
                raise GraphError(
                    f"the {field} must hold categories, as in fit, got numbers", cure="Write them as text"
                )
            values = np.full(len(values), -1)
        self._refuse_gaps(values < 0, given, field, item)
        return values

    def _refuse_gaps(self, gaps: BoolArray, given: RawColumn, field: str, item: str) -> None:
        all_absent = given.absent is not None and given.absent.all()
        if self.handle_missing == "error" and gaps.any() and not all_absent:
            index = int(np.flatnonzero(gaps)[0])
            raise GraphError(f"the {field} is missing for {item} {index} (of {len(gaps)}, from 0)", cure=FILL)

    def _one_hot(self, column: SchemaColumn, given: RawColumn, codes: IntArray, field: str) -> FloatArray:
        categories = given.categories or ()
        places = np.array([*(column.places.get(category, -1) for category in categories), -1], np.int64)
        known = places[codes]
        if self.handle_unknown == "error" and ((known < 0) & (codes >= 0)).any():
            value = categories[codes[np.flatnonzero((known < 0) & (codes >= 0))[0]]]
            raise GraphError(
                f"the {field} has the value {value!r}, which was not there in fit",
                cure="Use handle_unknown='ignore' (zeros) or 'open' (a channel, --handle-unknown). "
                "If the column holds names of single nodes or edges, remove it",
            )
        one_hot = np.zeros((len(codes), column.width))
        (rows,) = np.nonzero(known >= 0)
        one_hot[rows, known[rows]] = 1.0
        return one_hot

    def _keys(self, item: Item, name: str, categories: Sequence[Hashable]) -> Keys:
        """Return the keys of the categories of a column. Those seen before are remembered."""
        known = self._known_keys.setdefault((item, name), {})
        if len(known) > MOST_REMEMBERED:
            known.clear()
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
            Graph(batch[index].n_nodes, batch[index].edges)  # raises an error that names the edge


def _in_order(batch: RawBatch) -> tuple[IntArray, IntArray | None]:
    """Sort the edges of each graph, each undirected one with its smaller end first. Also return the order."""
    edges, counts = batch.edges, np.diff(batch.edge_ptr)
    undirected = np.repeat(~batch.directed, counts)
    turned = undirected & (edges[:, 0] > edges[:, 1])
    if turned.any():
        edges = np.where(turned[:, np.newaxis], edges[:, ::-1], edges)
    sources = np.repeat(batch.node_ptr[:-1], counts) + edges[:, 0]
    ranks = sources * np.diff(batch.node_ptr).max(initial=0) + edges[:, 1]
    if (ranks[1:] >= ranks[:-1]).all():
        return np.ascontiguousarray(edges), None
    order = np.argsort(ranks, kind="stable")
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
    requirement = "be texts, numbers, truth values or tuples of them to be saved"
    raise invalid(f"categories of column {column!r}", requirement, type(value).__name__, "Use text")


def _from_json(value: Any) -> Hashable:
    if isinstance(value, list):
        return tuple(map(_from_json, value))
    if isinstance(value, (str, int, float)):
        return value
    raise ValueError(f"{value!r:.60} is not a category")
