"""The text of graph miners (gSpan, FSG, ParSeMiS): a line "t # id", then "v node label", "e node node label".

Labels are categories, whatever they look like. "d" or "a" in place of "e" is an arc. "t # -1" is the end.
"""

from __future__ import annotations

from collections.abc import Iterator

from grnf.errors import GraphError
from grnf.io.files.builder import GraphBuilder
from grnf.io.files.limits import LONGEST_LINE, LONGEST_RECORD
from grnf.io.files.records import OnError, each_record
from grnf.io.files.streams import Source, decoded
from grnf.io.raw import BadGraph, RawGraph

__all__ = ["is_gspan", "read_gspan"]

NODE, EDGE, ARCS, OTHER = "v", "e", ("d", "a"), ("x", "#", "%")
"""How lines begin; those with x list where a pattern occurs, and are passed over."""
LAST = "-1"


def is_gspan(source: Source) -> bool:
    """Whether the first line that says anything begins a graph."""
    try:
        lines = (line.split() for _, line in source.lines(LONGEST_LINE))
        first = next((fields for fields in lines if fields and not fields[0].startswith((b"#", b"%"))), [])
    except GraphError:
        return False
    return first[:2] == [b"t", b"#"]


def read_gspan(source: Source, *, on_error: OnError = "raise") -> Iterator[RawGraph | BadGraph]:
    """Yield the graphs; labels of nodes and of edges are columns "label"."""
    return each_record(_records(source), _graph, on_error)


def _records(source: Source) -> Iterator[tuple[str, str | None, tuple[str | None, list[str]] | GraphError]]:
    """Yield where each graph begins, its id, and id and lines, or what is wrong with one of them."""
    where, name, lines, size, problem = "", None, list[str](), 0, ""
    for number, line in source.lines_or_errors(LONGEST_LINE):
        try:
            if isinstance(line, GraphError):
                raise line
            text = decoded(line, "the line").strip()
        except GraphError as error:
            text, problem = "", problem or f"line {number}: {error}"
        fields = text.split()
        if fields[:1] == ["t"]:
            if where:
                yield where, name, GraphError(problem) if problem else (name, lines)
            where, lines, size, problem = f"{source}, line {number}", [], 0, ""
            name = next((field for field in fields[1:] if field != "#"), None)
            if name == LAST:
                return
        elif not where and fields and not text.startswith(OTHER):
            raise GraphError(f"{source}, line {number}: a line 't # id' is wanted before {text[:80]!r}")
        elif size <= LONGEST_RECORD:
            lines.append(text)
            size += len(text)
        else:
            problem, lines = f"the graph is longer than {LONGEST_RECORD} bytes", []
    if where:
        yield where, name, GraphError(problem) if problem else (name, lines)


def _graph(record: tuple[str | None, list[str]]) -> RawGraph:
    name, lines = record
    builder = GraphBuilder()
    for line in lines:
        kind, *fields = line.split() or ["#"]
        if kind.startswith(OTHER):
            continue
        if kind == NODE and len(fields) in (1, 2):
            builder.node(fields[0], _label(fields[1:]))
        elif kind in (EDGE, *ARCS) and len(fields) in (2, 3):
            builder.edge(fields[0], fields[1], _label(fields[2:]), kind in ARCS)
        else:
            raise GraphError(f"{line[:80]!r} is neither 'v node label' nor 'e node node label'")
    return builder.build(graph_id=name)


def _label(rest: list[str]) -> dict[str, str]:
    return {"label": rest[0]} if rest else {}
