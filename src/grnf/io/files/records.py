"""Reading record by record: one bad record is raised, or yielded as a `BadGraph` while reading goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Literal, TypeAlias, TypeVar

from grnf.errors import GraphError
from grnf.io.files.streams import Source
from grnf.io.raw import BadGraph, RawBatch, RawGraph

__all__ = ["Block", "OnError", "each_record", "line_records", "to_the_end"]

T = TypeVar("T")
OnError = Literal["raise", "yield"]
Block: TypeAlias = RawBatch | list[RawGraph | BadGraph]
"""Some graphs of a file: column by column, or where that cannot be one by one."""


def each_record(
    records: Iterable[tuple[str, str | None, T | GraphError]],
    build: Callable[[T], RawGraph],
    on_error: OnError,
) -> Iterator[RawGraph | BadGraph]:
    """Build a graph from each record (where it stands, its id or None, its content or what is wrong with it).

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
            if isinstance(content, GraphError):
                raise content
            result = build(content)
        except GraphError as error:
            reason = f"{where}: {error}"
            if on_error == "raise":
                raise GraphError(reason) from None
            result = BadGraph(graph_id, index, reason)
        yield result


def line_records(source: Source, limit: int) -> Iterator[tuple[str, None, bytes | GraphError]]:
    """Yield the lines of a file that are not blank as records."""
    for number, line in source.lines_or_errors(limit):
        content = line if isinstance(line, GraphError) else line.strip()
        if content:
            yield f"{source}, line {number}", None, content


def to_the_end(graphs: Iterable[RawGraph | BadGraph]) -> Iterator[RawGraph | BadGraph]:
    """Yield graphs, and where reading breaks off one last `BadGraph` that says so.

    Examples
    --------
    >>> def cut():
    ...     yield RawGraph(1, [])
    ...     raise GraphError("a.json: cut off")
    >>> list(to_the_end(cut()))[1].reason
    'a.json: cut off. Nothing can be read from there on: what follows graph 0, if anything, is lost'
    """
    count = 0
    try:
        for graph in graphs:
            yield graph
            count += 1
    except GraphError as error:
        lost = f"what follows graph {count - 1}, if anything, is lost" if count else "no graph stands before"
        stop = "" if str(error).endswith("?") else "."
        yield BadGraph(None, count, f"{error}{stop} Nothing can be read from there on: {lost}")
