"""Fitting a transformer on a stream of graphs, in memory that does not grow with their number."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from grnf.errors import GraphError

if TYPE_CHECKING:
    from grnf import GRNF
    from grnf.io import BadGraph, RawGraph

__all__ = ["fit"]


def fit(grnf: GRNF, items: Iterable[RawGraph | BadGraph], on_error: str = "raise") -> None:
    """Fit on all graphs of a stream, by way of the few that show all attributes and categories there are.

    Graphs that cannot be used have no say; what becomes of them is decided when they are embedded.
    """
    reasons: list[str] = []
    chosen = list(_telling(items, reasons))
    if not chosen:
        raise GraphError("there is no graph that can be used" + "".join(f": {why}" for why in reasons))
    policy = grnf.on_error
    grnf.on_error = "raise" if on_error == "raise" else "nan"
    try:
        grnf.fit(chosen)
    finally:
        grnf.on_error = policy


def _telling(items: Iterable[RawGraph | BadGraph], reasons: list[str]) -> Iterator[RawGraph]:
    """Yield the graphs that show an attribute or a category for the first time, or else the first graph.

    `reasons` gets that of the first bad one.
    """
    from grnf import Graph
    from grnf.io import RawGraph

    seen: set[Any] = set()
    for item in items:
        if not isinstance(item, RawGraph):
            if not reasons:
                reasons.append(item.reason)
            continue
        shown = {"a graph", *_shown("node", item.node_columns), *_shown("edge", item.edge_columns)}
        if shown <= seen:
            continue
        try:
            Graph(item.n_nodes, item.edges)
        except GraphError:
            continue
        seen |= shown
        yield item


def _shown(what: str, columns: Mapping[str, Any]) -> Iterator[Any]:
    """Yield what the columns of a graph tell: names, types and widths, and categories."""
    import numpy as np

    for name, values in columns.items():
        array = np.asarray(values)
        if array.dtype.kind in "fiub":
            yield what, name, "numbers", array.shape[1:]
        elif array.size:
            yield from ((what, name, "category", value) for value in set(array.ravel().tolist()))
