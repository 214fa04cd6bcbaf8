"""From named columns to numbers: which columns, their widths and categories are fixed by `fit`."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np

from grnf._utils.rules import OneOf, checked
from grnf.errors import GraphError, GrnfWarning
from grnf.graphs import ChannelKeys, Graph, GraphBatch, number_keys
from grnf.graphs.channels import Item
from grnf.io.batch import RawBatch, RawColumn
from grnf.io.raw import RawGraph
from grnf.io.schema import AnyCategory, BlockEncoder, Categories, Numbers, Schema, SchemaDraft
from grnf.typing import Keys, Missing, Unseen

__all__ = ["MISSING", "UNSEEN", "AttributeEncoder"]

UNSEEN = OneOf("open", "error", "ignore")
MISSING = OneOf("error", "zero")


class AttributeEncoder:
    """Turns graphs with named columns into graphs with channels.

    Columns of numbers and of vectors are taken as they are; categories become one-hot columns, or in an open
    vocabulary `Codes`. What each channel is, its key tells (`grnf.graphs.channels`). The columns
    stand side by side in alphabetical order, and so do the categories of each, so that the order of the
    graphs in `fit` changes nothing; the weight of edges comes first, right after the adjacency. A graph
    without weights among others that have them has weights 1.

    Parameters
    ----------
    unseen : "error", "ignore" or "open", default="error"
        What to do about a category that was not there in `fit`. "ignore" puts zeros in all its columns. With
        "open" the question does not arise: every category is a channel of its own, known by its key, and
        `fit` learns the names and kinds of columns alone.
    missing : "error" or "zero", default="error"
        What to do where a node, an edge or a whole graph lacks an attribute. "zero" puts zeros.

    Attributes
    ----------
    node_schema_, edge_schema_ : Schema
        The columns, in their order.
    node_width, edge_width : int
        Numbers of node and edge attributes of the graphs that come out.

    Examples
    --------
    >>> raw = RawGraph(3, np.array([[0, 1]]), {"symbol": np.array(["C", "O", "C"], dtype=object)})
    >>> encoder = AttributeEncoder().fit([raw])
    >>> encoder
    AttributeEncoder(node: symbol (2 categories); edge: nothing)
    >>> encoder.encode(raw).node_attr
    array([[1., 0.],
           [0., 1.],
           [1., 0.]])
    """

    node_schema_: Schema
    edge_schema_: Schema
    encoded_keys_: tuple[Keys, Keys] | None = None

    def __init__(self, *, unseen: Unseen = "error", missing: Missing = "error") -> None:
        self.unseen: Unseen = checked(unseen, "unseen", UNSEEN)
        self.missing: Missing = checked(missing, "missing", MISSING)
        self._known_keys: dict[tuple[str, str], dict[Hashable, int]] = {}

    @classmethod
    def of_batch(cls, batch: GraphBatch, **policies: Any) -> Self:
        """Return the encoder of graphs that are encoded already, as these are."""
        encoder = cls.of_widths(batch.node_width, batch.edge_width, **policies)
        own = batch.node_keys, batch.edge_keys
        if not all(map(np.array_equal, own, encoder._number_keys())):
            encoder.encoded_keys_ = own
        return encoder

    def _number_keys(self) -> tuple[Keys, Keys]:
        """Return what the columns of graphs are that need no encoding."""
        return self.encoded_keys_ or (
            number_keys("node", self.node_width),
            number_keys("edge", self.edge_width),
        )

    @classmethod
    def of_widths(cls, node_width: int, edge_width: int, **policies: Any) -> Self:
        """Return the encoder of graphs whose attributes are unnamed matrices of these widths."""
        encoder = cls(**policies)
        encoder.node_schema_ = Schema({"x": Numbers(node_width)} if node_width else {})
        encoder.edge_schema_ = Schema({"edge_attr": Numbers(edge_width)} if edge_width else {})
        return encoder

    def fit(self, graphs: Iterable[RawGraph] | RawBatch) -> Self:
        """Learn which columns there are, how wide, and their categories."""
        nodes, edges = SchemaDraft(self.unseen == "open"), SchemaDraft(self.unseen == "open")
        for raw in [graphs] if isinstance(graphs, RawBatch) else graphs:
            nodes.add(raw.node_columns)
            edges.add(raw.edge_columns)
        self.node_schema_ = nodes.schema()
        self.edge_schema_ = edges.schema(first="weight")
        return self

    def transform(self, graphs: Iterable[RawGraph]) -> list[Graph]:
        """Encode graphs, and warn of columns that are not used."""
        found = list(graphs)
        batch, _, errors = self.encode_batch(found)
        if errors:
            raise GraphError(errors[0][1], index=errors[0][0])
        warn_unused(self.unused_columns(found))
        return list(batch)

    def encode(self, raw: RawGraph) -> Graph:
        """Encode one graph. Its edges are put in ascending order, so that the door does not matter."""
        return self._encoded(RawBatch.of([raw]))[0]

    def encode_batch(
        self, graphs: Sequence[RawGraph] | RawBatch
    ) -> tuple[GraphBatch, list[int], list[tuple[int, str]]]:
        """Encode many graphs at once.

        Returns
        -------
        batch : GraphBatch
            Those that can be used.
        rows : list of int
            Their places among the graphs.
        errors : list of (int, str)
            Places and reasons of the others. Only a block that fails is looked at more closely.
        """
        errors: list[tuple[int, str]] = []
        rows = list(range(len(graphs)))
        if isinstance(graphs, RawBatch) and graphs.bad:
            rows = [row for row in rows if row not in graphs.bad]
            batch, kept, errors = self.encode_batch(graphs.take(rows))
            errors = sorted([*((rows[row], why) for row, why in errors), *graphs.bad.items()])
            return batch, [rows[row] for row in kept], errors
        try:
            return self._encoded(_as_batch(graphs)), rows, errors
        except GraphError:
            rows = list(self._good(graphs, rows, errors))
        usable = graphs.take(rows) if isinstance(graphs, RawBatch) else [graphs[row] for row in rows]
        return self._encoded(_as_batch(usable)), rows, errors

    def _good(
        self, graphs: Sequence[RawGraph] | RawBatch, rows: list[int], errors: list[tuple[int, str]]
    ) -> Iterator[int]:
        """Yield the places of graphs that can be used; halves that fail are halved again."""
        try:
            some = graphs.take(rows) if isinstance(graphs, RawBatch) else [graphs[row] for row in rows]
            self._encoded(_as_batch(some))
            yield from rows
        except GraphError as error:
            if len(rows) == 1:
                errors.append((rows[0], error.explanation))
                return
            middle = len(rows) // 2
            for half in (rows[:middle], rows[middle:]):
                yield from self._good(graphs, half, errors)

    def unused_columns(self, graphs: Sequence[RawGraph] | RawBatch) -> set[str]:
        """Return the columns of graphs that were not there in `fit`."""
        every: Sequence[RawGraph | RawBatch] = [graphs] if isinstance(graphs, RawBatch) else graphs
        return {
            f"{item} {name}"
            for raw in every
            for item, columns, schema in (
                ("node", raw.node_columns, self.node_schema_),
                ("edge", raw.edge_columns, self.edge_schema_),
            )
            for name in columns.keys() - schema.columns.keys()
            if _has_entries(columns[name])
        }

    def require_closed(self, why: str) -> None:
        """Raise a `ValueError` if there are columns of categories without end."""
        for item, schema in (("node", self.node_schema_), ("edge", self.edge_schema_)):
            for name, column in schema.columns.items():
                if isinstance(column, AnyCategory):
                    raise ValueError(
                        f"{why}, so it needs a fixed set of channels, but the {item} column {name!r} may "
                        "have any category: close the vocabulary with unseen='ignore' or unseen='error'"
                    )

    def check_keys(self, batch: GraphBatch) -> None:
        """Raise a `GraphError` if the columns of encoded graphs are not those of `fit`."""
        for found, wanted in zip((batch.node_keys, batch.edge_keys), self._number_keys(), strict=True):
            if not np.array_equal(found, wanted):
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

    def with_policies(self, unseen: Unseen | None = None, missing: Missing | None = None) -> Self:
        """Return an encoder of the same columns with other policies; None leaves one as it is."""
        if unseen is None and missing is None:
            return self
        encoder = type(self)(unseen=unseen or self.unseen, missing=missing or self.missing)
        encoder.node_schema_, encoder.edge_schema_ = self.node_schema_, self.edge_schema_
        if (encoder.unseen == "open") != (self.unseen == "open"):
            encoder = encoder._with_vocabulary(self.unseen)
        return encoder

    def _with_vocabulary(self, before: str) -> Self:
        """Open a closed vocabulary; an open one cannot be closed, since its categories are not known."""
        for name in ("node_schema_", "edge_schema_"):
            columns = dict(getattr(self, name).columns)
            for key, column in columns.items():
                if isinstance(column, AnyCategory):
                    raise ValueError(
                        f"unseen={self.unseen!r} wants the categories of column {key!r} as they were in fit, "
                        f"which unseen={before!r} did not learn: fit again with unseen={self.unseen!r}"
                    )
                if isinstance(column, Categories):
                    columns[key] = AnyCategory()
            setattr(self, name, Schema(columns))
        return self

    def channels(self, adjacency_channel: bool = True) -> ChannelKeys:
        """Return the channels that all graphs have: numbers, and the categories of a closed vocabulary."""
        empty = RawBatch(
            np.zeros(1, np.int64), np.zeros(1, np.int64), np.empty((0, 2), np.int64), {}, {},
            np.empty(0, np.bool_), [], [],
        )  # fmt: skip
        batch = self._encoded(empty)
        if self.encoded_keys_ is not None:
            batch = replace(batch, node_keys=self.encoded_keys_[0], edge_keys=self.encoded_keys_[1])
        return batch.channels(adjacency_channel)

    def to_config(self) -> dict[str, Any]:
        """Return what JSON can hold, from which `from_config` makes the same encoder."""
        keys = self.encoded_keys_
        return {
            "unseen": self.unseen,
            "missing": self.missing,
            "node": self.node_schema_.to_config(),
            "edge": self.edge_schema_.to_config(),
            **({} if keys is None else {"keys": [own.tolist() for own in keys]}),
        }

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Self:
        """Make the encoder that `to_config` describes."""
        encoder = cls(unseen=config["unseen"], missing=config["missing"])
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
            return f"AttributeEncoder(unseen={self.unseen!r}, missing={self.missing!r})"
        return f"AttributeEncoder(node: {self.node_schema_}; edge: {self.edge_schema_})"

    def _encoded(self, batch: RawBatch) -> GraphBatch:
        schemas: dict[Item, Schema] = {"node": self.node_schema_, "edge": self.edge_schema_}
        return BlockEncoder(schemas, self.unseen, self.missing, self._known_keys).encode(batch)


def warn_unused(unused: set[str]) -> None:
    """Say once which columns are not used."""
    if unused:
        warnings.warn(
            f"columns that were not there in fit are not used: {', '.join(sorted(unused))}",
            GrnfWarning,
            stacklevel=3,
        )


def _has_entries(column: Any) -> bool:
    return len(column.values if isinstance(column, RawColumn) else column) > 0


def _as_batch(graphs: Sequence[RawGraph] | RawBatch) -> RawBatch:
    return graphs if isinstance(graphs, RawBatch) else RawBatch.of(graphs)
