"""From named columns to numbers: which columns, their widths and categories are fixed by `fit`."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import Any, Self

import numpy as np

from grnf.errors import GraphError, GrnfWarning
from grnf.graphs import Graph
from grnf.io.columns import Column, Numbers, Schema, SchemaDraft
from grnf.io.raw import RawGraph
from grnf.rules import OneOf, checked
from grnf.typing import FloatArray, IntArray, Missing, Unseen

__all__ = ["MISSING", "UNSEEN", "AttributeEncoder"]

UNSEEN = OneOf("error", "ignore")
MISSING = OneOf("error", "zero")


class AttributeEncoder:
    """Turns `RawGraph` records with named columns into `Graph` records with matrices of attributes.

    Columns of numbers and of vectors are taken as they are; categories become one-hot columns. The columns
    stand side by side in alphabetical order, and so do the categories of each, so that the order of the
    graphs in `fit` changes nothing; the weight of edges comes first, right after the adjacency. A graph
    without weights among others that have them has weights 1.

    Parameters
    ----------
    unseen : "error" or "ignore", default="error"
        What to do about a category that was not there in `fit`. "ignore" puts zeros in all its columns.
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

    def __init__(self, *, unseen: Unseen = "error", missing: Missing = "error") -> None:
        self.unseen: Unseen = checked(unseen, "unseen", UNSEEN)
        self.missing: Missing = checked(missing, "missing", MISSING)

    @classmethod
    def of_widths(cls, node_width: int, edge_width: int, **policies: Any) -> Self:
        """Return the encoder of graphs whose attributes are unnamed matrices of these widths."""
        encoder = cls(**policies)
        encoder.node_schema_ = Schema({"x": Numbers(node_width)} if node_width else {})
        encoder.edge_schema_ = Schema({"edge_attr": Numbers(edge_width)} if edge_width else {})
        return encoder

    def fit(self, graphs: Iterable[RawGraph]) -> Self:
        """Learn which columns there are, how wide, and their categories."""
        nodes, edges = SchemaDraft(), SchemaDraft()
        for raw in graphs:
            nodes.add(raw.node_columns)
            edges.add(raw.edge_columns)
        self.node_schema_ = nodes.schema()
        self.edge_schema_ = edges.schema(first="weight")
        return self

    def transform(self, graphs: Iterable[RawGraph]) -> list[Graph]:
        """Encode graphs, and warn of columns that are not used."""
        unused: set[str] = set()
        encoded = []
        for index, raw in enumerate(graphs):
            try:
                encoded.append(self.encode(raw))
            except GraphError as error:
                raise GraphError(f"graph {index}: {error}") from error
            unused |= self.unused(raw)
        warn_unused(unused)
        return encoded

    def encode(self, raw: RawGraph) -> Graph:
        """Encode one graph. Its edges are put in ascending order, so that the door does not matter."""
        edges, order = _in_order(Graph(raw.n_nodes, raw.edges).edges, raw.directed)
        edge_columns = dict(raw.edge_columns)
        if "weight" in self.edge_schema_.columns and "weight" not in edge_columns:
            edge_columns["weight"] = np.ones(len(edges))
        edge_attr = self._encoded(self.edge_schema_, edge_columns, len(edges), "edge")
        return Graph(
            raw.n_nodes,
            edges,
            self._encoded(self.node_schema_, raw.node_columns, raw.n_nodes, "node"),
            edge_attr if edge_attr is None else edge_attr[order],
            raw.directed,
        )

    def unused(self, raw: RawGraph) -> set[str]:
        """Return the columns of a graph that were not there in `fit`."""
        return {
            f"{item} {name}"
            for item, columns, schema in (
                ("node", raw.node_columns, self.node_schema_),
                ("edge", raw.edge_columns, self.edge_schema_),
            )
            for name in columns.keys() - schema.columns.keys()
        }

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
        return encoder

    def to_config(self) -> dict[str, Any]:
        """Return what JSON can hold, from which `from_config` makes the same encoder."""
        return {
            "unseen": self.unseen,
            "missing": self.missing,
            "node": self.node_schema_.to_config(),
            "edge": self.edge_schema_.to_config(),
        }

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Self:
        """Make the encoder that `to_config` describes."""
        encoder = cls(unseen=config["unseen"], missing=config["missing"])
        encoder.node_schema_ = Schema.from_config(config["node"])
        encoder.edge_schema_ = Schema.from_config(config["edge"])
        return encoder

    def __repr__(self) -> str:
        if not hasattr(self, "node_schema_"):
            return f"AttributeEncoder(unseen={self.unseen!r}, missing={self.missing!r})"
        return f"AttributeEncoder(node: {self.node_schema_}; edge: {self.edge_schema_})"

    def _encoded(
        self, schema: Schema, columns: Mapping[str, Any], count: int, item: str
    ) -> FloatArray | None:
        if not schema.columns:
            return None
        if count == 0:
            return np.empty((0, schema.width))
        parts = [
            self._encoded_column(column, columns.get(name), count, f"{item} column {name!r}", item)
            for name, column in schema.columns.items()
        ]
        return parts[0] if len(parts) == 1 else np.hstack(parts)

    def _encoded_column(self, column: Column, values: Any, count: int, field: str, item: str) -> FloatArray:
        if values is None:
            if self.missing == "zero":
                return np.zeros((count, column.width))
            raise GraphError(f"the {field} is missing; missing='zero' puts zeros in its place")
        array = np.asarray(values)
        if array.ndim == 0 or len(array) != count:
            raise GraphError(f"the {field} must have one entry per {item}, {count}; got shape {array.shape}")
        encoded, absent, unseen = column.encode(array, field)
        if self.missing == "error" and absent.any():
            index = int(np.flatnonzero(absent)[0])
            raise GraphError(
                f"the {field} is missing for {item} {index} (of {count}, from 0); missing='zero' puts zeros "
                "in its place"
            )
        if self.unseen == "error" and unseen.any():
            value = array[int(np.flatnonzero(unseen)[0])]
            raise GraphError(
                f"the {field} has the value {value!r}, which was not there in fit; unseen='ignore' puts "
                "zeros in its place. If the column holds names of single nodes or edges, remove it"
            )
        return encoded


def warn_unused(unused: set[str]) -> None:
    """Say once which columns are not used."""
    if unused:
        warnings.warn(
            f"columns that were not there in fit are not used: {', '.join(sorted(unused))}",
            GrnfWarning,
            stacklevel=3,
        )


def _in_order(edges: IntArray, directed: bool) -> tuple[IntArray, IntArray]:
    """Sort edges, each undirected one with its smaller end first; also return the order."""
    if not directed:
        edges = np.sort(edges, axis=1)
    order = np.lexsort((edges[:, 1], edges[:, 0]))
    return edges[order], order
