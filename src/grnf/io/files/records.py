"""Reading record by record: one bad record is raised, or yielded as a `BadGraph` while reading continues."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Literal, TypeAlias, TypeVar

from grnf.errors import GraphError
from grnf.io.files.file import File
from grnf.io.raw import BadGraph, RawBatch, RawGraph

__all__ = ["Block", "OnError", "each_record", "line_records", "to_the_end"]

T = TypeVar("T")
OnError = Literal["raise", "yield"]
Block: TypeAlias = RawBatch | list[RawGraph | BadGraph]
"""Some graphs of a file: column by column, or if that cannot be one by one."""


def each_record(
    records: Iterable[tuple[str, str | None, T | GraphError]],
    build: Callable[[T], RawGraph],
    on_error: OnError,
    first: int = 0,
) -> Iterator[RawGraph | BadGraph]:
    """Build a graph from each record (where it stands, its id or None, its content or what is wrong with it).

    `first` is the number of the first one.

    Examples
    --------
    >>> def build(n): return RawGraph(Graph(n, []).n_nodes, [])
    >>> from grnf.graphs import Graph
    >>> list(each_record([("line 1", None, -1)], build, "yield"))
    [BadGraph(graph_id=None, index=0, reason='line 1: n_nodes must lie between 0 and 2**31 - 1; got -1')]
    """
    for index, (where, graph_id, content) in enumerate(records, first):
        result: RawGraph | BadGraph
        try:
            if isinstance(content, GraphError):
                raise content
            result = build(content)
        except GraphError as error:
            located = error.located(where=where)
            if on_error == "raise":
                raise located from None
            result = BadGraph(graph_id, index, str(located))
        yield result


def line_records(file: File, limit: int) -> Iterator[tuple[str, None, bytes | GraphError]]:
    """Yield the lines of a file that are not blank as records."""
    for number, line in file.lines_or_errors(limit):
        content = line if isinstance(line, GraphError) else line.strip()
        if content:
            yield f"{file}, line {number}", None, content


def to_the_end(graphs: Iterable[RawGraph | BadGraph]) -> Iterator[RawGraph | BadGraph]:
    """Yield graphs, and if reading breaks off one last `BadGraph` with the reason.

    Examples
    --------
    >>> def cut():
    ...     yield RawGraph(1, [])
    ...     raise GraphError("truncated", where="a.json")
    >>> list(to_the_end(cut()))[1].reason
    'a.json: truncated. No graph after number 0 can be read'
    """
    count = 0
    try:
        for graph in graphs:
            yield graph
            count += 1
    except GraphError as error:
        lost = f"No graph after number {count - 1} can be read" if count else "No graph can be read"
        cure = lost if error.cure is None else f"{lost}. {error.cure}"
        located = GraphError(error.reason, index=error.index, where=error.where, cure=cure)
        yield BadGraph(None, count, str(located))
