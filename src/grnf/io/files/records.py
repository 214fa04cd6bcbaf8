"""Reading record by record: one bad record is raised, or yielded as a `BadGraph` while reading goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Literal, TypeVar

from grnf.errors import GraphError
from grnf.io.raw import BadGraph, RawGraph

__all__ = ["OnError", "each_record"]

T = TypeVar("T")
OnError = Literal["raise", "yield"]


def each_record(
    records: Iterable[tuple[str, str | None, T]], build: Callable[[T], RawGraph], on_error: OnError
) -> Iterator[RawGraph | BadGraph]:
    """Build a graph from each record (where it stands, its id or None, its content).

    Examples
    --------
    >>> def build(n): return RawGraph(Graph(n, []).n_nodes, [])
    >>> from grnf.graphs import Graph
    >>> list(each_record([("line 1", None, -1)], build, "yield"))
    [BadGraph(graph_id=None, index=0, reason='line 1: n_nodes must lie between 0 and 2**31 - 1; got -1')]
    """
    for index, (where, graph_id, content) in enumerate(records):
        result: RawGraph | BadGraph
        try:
            result = build(content)
        except GraphError as error:
            reason = f"{where}: {error}"
            if on_error == "raise":
                raise GraphError(reason) from None
            result = BadGraph(graph_id, index, reason)
        yield result
