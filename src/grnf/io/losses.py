"""What of a graph is lost between two formats: the graph before and after, compared field by field."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from grnf.errors import GraphError

if TYPE_CHECKING:
    from grnf.io import RawGraph

__all__ = ["count_losses", "losses"]


def losses(before: RawGraph, after: RawGraph) -> set[str]:
    """Name all that differs, except the order of the edges.

    Examples
    --------
    >>> import numpy as np
    >>> from grnf.io import RawGraph
    >>> edges = np.array([[0, 1]])
    >>> before = RawGraph(2, edges, {"charge": np.array([0.5, 1.0])}, y=1)
    >>> sorted(losses(before, RawGraph(2, edges)))
    ["node attribute 'charge'", 'y']
    >>> losses(before, before)
    set()
    """
    found = set()
    if before.n_nodes != after.n_nodes:
        found.add("the number of nodes")
    if bool(before.directed) != bool(after.directed):
        found.add("direction")
    elif not _same_edges(before, after):
        found.add("edges")
    if before.y is not None and not _same_label(before.y, after.y):
        found.add("y")
    if before.graph_id is not None and str(before.graph_id) != str(after.graph_id):
        found.add("graph_id")
    for name in before.node_columns:
        if not _same_values(before.node_columns, after.node_columns, name, before.n_nodes):
            found.add(f"node attribute {name!r}")
    if "edges" in found or "direction" in found:
        lost_edges = [name for name in before.edge_columns if name not in after.edge_columns]
    else:
        lost_edges = _lost_edge_columns(before, after)
    return found | {f"edge attribute {name!r}" for name in lost_edges}


def _ordered(graph: RawGraph) -> Any:
    """Return the edges as sorted pairs with the order that sorts them."""
    import numpy as np

    edges = np.asarray(graph.edges, dtype=np.int64).reshape(-1, 2)
    ends = edges if graph.directed else np.sort(edges, axis=1)
    order = np.lexsort((ends[:, 1], ends[:, 0]))
    return ends[order], order


def _same_edges(before: RawGraph, after: RawGraph) -> bool:
    import numpy as np

    return np.array_equal(_ordered(before)[0], _ordered(after)[0])


def _lost_edge_columns(before: RawGraph, after: RawGraph) -> list[str]:
    """Name the edge columns that differ, each edge being found by its ends."""
    edges, first = _ordered(before)
    _, second = _ordered(after)
    lost = []
    for name in before.edge_columns:
        if name not in after.edge_columns:
            lost += [name] if len(edges) else []
            continue
        old = zip(edges.tolist(), _texts(before.edge_columns[name], first), strict=True)
        new = zip(edges.tolist(), _texts(after.edge_columns[name], second), strict=True)
        if sorted(old) != sorted(new):
            lost.append(name)
    return lost


def _same_values(before: Mapping[str, Any], after: Mapping[str, Any], name: str, count: int) -> bool:
    if name not in after:
        return count == 0
    return _texts(before[name]) == _texts(after[name])


def _texts(values: Any, order: Any = None) -> list[str]:
    """Return values as text, so that 1, 1.0 and True agree, and so do all kinds of missing values."""
    import numpy as np

    array = np.asarray(values)
    array = array if order is None else array[order]
    if array.dtype.kind in "fiub":
        array = array.astype(np.float64)
    return [_text(value) for value in array.tolist()]


def _text(value: Any) -> str:
    if value is None or value != value:
        return "missing"
    return repr(float(value)) if isinstance(value, int | float) else str(value)


def _same_label(before: Any, after: Any) -> bool:
    import numpy as np

    return after is not None and _texts(np.ravel(before)) == _texts(np.ravel(after))


def count_losses(
    before: Iterable[RawGraph],
    after: Iterable[RawGraph],
    reorder: Callable[[RawGraph], RawGraph] | None,
    output: str,
) -> Counter[str]:
    """Compare graphs with the same graphs read back; count for each kind of loss the graphs that have it."""
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
