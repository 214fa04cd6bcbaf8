"""Graphs whose nodes have names of their own: ids to numbers, duplicates and unknown ends."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from grnf.errors import GraphError
from grnf.io.files.values import typed_columns, with_vectors
from grnf.io.raw import RawGraph, checked_raw

__all__ = ["GraphBuilder"]


class GraphBuilder:
    """Collects nodes and edges in any order, by id.

    `widths` are those of columns of nodes and of edges that were taken apart for want of vectors.

    Examples
    --------
    >>> builder = GraphBuilder()
    >>> builder.edge("a", "b", {"weight": 2.0})
    >>> builder.node("a", {"colour": "red"})
    >>> builder.node("b", {})
    >>> builder.build()
    RawGraph(n_nodes=2, n_edges=1, node_columns=['colour'], edge_columns=['weight'], undirected)
    """

    def __init__(self) -> None:
        self.numbers: dict[Hashable, int] = {}
        self.node_rows: list[Mapping[str, Any]] = []
        self.ends: list[tuple[Hashable, Hashable]] = []
        self.edge_rows: list[Mapping[str, Any]] = []
        self.kinds: set[bool] = set()
        self.widths: dict[str, dict[str, int]] = {"node": {}, "edge": {}}

    def node(self, name: Hashable, values: Mapping[str, Any]) -> None:
        """Add a node with its attributes."""
        if name in self.numbers:
            raise GraphError(f"node {name!r} stands twice; ids must differ")
        self.numbers[name] = len(self.numbers)
        self.node_rows.append(values)

    def edge(
        self, source: Hashable, target: Hashable, values: Mapping[str, Any], directed: bool | None = None
    ) -> None:
        """Add an edge, with a direction where edges have their own; its ends may follow later."""
        self.ends.append((source, target))
        self.edge_rows.append(values)
        if directed is not None:
            self.kinds.add(directed)

    def part(self, item: str, name: str, width: int) -> None:
        """Note that a column of "node" or "edge" is one part of a vector so wide: x_0, or x_00, of x."""
        self.widths[item][name.rpartition("_")[0]] = width

    def build(
        self, *, directed: bool = False, graph_id: str | None = None, y: Any = None, new_nodes: bool = False
    ) -> RawGraph:
        """Return the graph; `new_nodes` lets edges name nodes that were not listed."""
        if len(self.kinds) == 2:
            raise GraphError("directed and undirected edges in one graph; write undirected ones as two arcs")
        numbers = self.numbers
        edges = np.empty((len(self.ends), 2), dtype=np.int64)
        for row, ends in enumerate(self.ends):
            for side, name in enumerate(ends):
                number = numbers.get(name)
                if number is None:
                    if not new_nodes:
                        raise GraphError(f"edge {row} ({ends[0]!r}, {ends[1]!r}): there is no node {name!r}")
                    number = len(numbers)
                    self.node(name, {})
                edges[row, side] = number
        return checked_raw(
            len(numbers),
            edges,
            with_vectors(typed_columns(self.node_rows, "node"), self.widths["node"]),
            with_vectors(typed_columns(self.edge_rows, "edge"), self.widths["edge"]),
            self.kinds.pop() if self.kinds else directed,
            graph_id,
            y,
        )
