"""A graph as it comes through a door: named columns of any type, before they become numbers.

Every converter and reader makes a `RawGraph`; the encoder (fitted on the graphs of `fit`) turns it into a
`Graph`. So categories, missing values and columns that are not used are treated in one place for all formats.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from grnf.typing import IntArray

__all__ = ["RawGraph"]

Columns = Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class RawGraph:
    """One graph with named columns of attributes.

    Parameters
    ----------
    n_nodes : int
    edges : array of int, shape (n_edges, 2)
        In numbers 0 .. n_nodes - 1. Undirected graphs list each edge once.
    node_columns, edge_columns : mapping from name to array
        One entry per node (edge) each: an array of numbers, shape (n,) or (n, width), or an object array of
        categories (strings, or anything hashable), where None marks a missing value; NaN marks a missing
        number. The weight of an edge is the edge column "weight" where the source calls it so.
    directed : bool
    graph_id : str, optional
        What the source calls this graph.
    y : optional
        Label or target of the graph.
    """

    n_nodes: int
    edges: IntArray
    node_columns: Columns = field(default_factory=dict)
    edge_columns: Columns = field(default_factory=dict)
    directed: bool = False
    graph_id: str | None = None
    y: Any = None

    def __repr__(self) -> str:
        return (
            f"RawGraph(n_nodes={self.n_nodes}, n_edges={len(np.asarray(self.edges))}, "
            f"node_columns={list(self.node_columns)}, edge_columns={list(self.edge_columns)}, "
            f"{'directed' if self.directed else 'undirected'})"
        )
