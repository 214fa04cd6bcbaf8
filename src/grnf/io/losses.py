"""What of a graph is lost between two formats: the graph before and after, compared field by field."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import numpy as np

from grnf.errors import GraphError

if TYPE_CHECKING:
    from grnf.io import RawGraph


def losses(before: RawGraph, after: RawGraph) -> set[str]:
    """Name everything that differs, except the order of the edges."""
    edges, order = _sorted_edges(before)
    new_edges, new_order = _sorted_edges(after)
    same_direction = bool(before.directed) == bool(after.directed)
    same_edges = same_direction and np.array_equal(edges, new_edges)
    nothing = np.empty(0)
    differs = {
        "the number of nodes": before.n_nodes != after.n_nodes,
        "direction": not same_direction,
        "edges": same_direction and not same_edges,
        "y": before.y is not None
        and (after.y is None or _texts(np.ravel(before.y)) != _texts(np.ravel(after.y))),
        "graph_id": before.graph_id is not None and str(before.graph_id) != str(after.graph_id),
    }
    for name, values in before.node_columns.items():
        differs[f"node attribute {name!r}"] = _texts(values) != _texts(after.node_columns.get(name, nothing))
    for name, values in before.edge_columns.items():
        lost = name not in after.edge_columns
        if same_edges:  # repeated edges may change places, so each value is compared together with its edge
            old = zip(edges.tolist(), _texts(values, order), strict=True)
            new = [] if lost else _texts(after.edge_columns[name], new_order)
            lost = sorted(old) != sorted(zip(edges.tolist(), new, strict=False))
        differs[f"edge attribute {name!r}"] = lost
    return {name for name, is_different in differs.items() if is_different}


def _sorted_edges(graph: RawGraph) -> Any:
    """Return the edges as sorted pairs with the order that sorts them."""
    edges = np.asarray(graph.edges, dtype=np.int64).reshape(-1, 2)
    ends = edges if graph.directed else np.sort(edges, axis=1)
    order = np.lexsort((ends[:, 1], ends[:, 0]))
    return ends[order], order


def _texts(values: Any, order: Any = slice(None)) -> list[str]:
    """Return values as text, so that 1, 1.0 and True agree, and so do all kinds of missing values."""
    array = np.asarray(values)[order]
    if array.dtype.kind in "fiub":
        array = array.astype(np.float64)
    return [_text(value) for value in array.tolist()]


def _text(value: Any) -> str:
    if value is None or value != value:
        return "missing"
    return repr(float(value)) if isinstance(value, int | float) else str(value)


def count_losses(
    before: Iterable[RawGraph],
    after: Iterable[RawGraph],
    reorder: Callable[[RawGraph], RawGraph] | None,
    output: str,
) -> Counter[str]:
    """Compare graphs with the same graphs read back. Count for each kind of loss the graphs that have it."""
    lost: Counter[str] = Counter()
    for one, two in zip_longest(before, after):
        if one is None or two is None:
            raise GraphError(f"{output} cannot hold these graphs: it reads back with another number of them")
        if reorder is not None:
            ordered = reorder(one)
            lost.update(["the order of the nodes"] if losses(one, ordered) else [])
            one = ordered
        lost.update(losses(one, two))
    return lost
