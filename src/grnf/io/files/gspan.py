"""The text of graph miners (gSpan, FSG, ParSeMiS): a line "t # id", then "v node label", "e node node label".

Labels are categories, whatever they look like. "d" or "a" in place of "e" is an arc. "t # -1" is the end.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

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
    """Yield where each graph begins, its id, and its lines with what they are called in messages."""
    where, name, lines, size = "", None, list[str](), 0
    for number, line in source.lines_or_errors(LONGEST_LINE):
        try:
            if isinstance(line, GraphError):
                raise line
            text = decoded(line, "the line").strip()
        except GraphError as error:
            text = f"line {number}: {error}"  # no letter that a line begins with
        fields = text.split()
        if fields[:1] == ["t"]:
            if where:
                yield where, name, (name, lines)
            where, lines, size = f"{source}, line {number}", [], 0
            name = next((field for field in fields[1:] if field != "#"), None)
            if name == LAST:
                return
        elif where:
            size += len(text)
            if size > LONGEST_RECORD:
                raise GraphError(f"{where}: the graph is longer than {LONGEST_RECORD} bytes")
            lines.append(text)
        elif fields and not text.startswith(OTHER):
            raise GraphError(f"{source}, line {number}: a line 't # id' is wanted before {text[:80]!r}")
    if where:
        yield where, name, (name, lines)


def _graph(record: tuple[str | None, list[str]]) -> RawGraph:
    name, lines = record
    builder = GraphBuilder()
    labels: list[str | None] = []
    kinds: list[str | None] = []
    for line in lines:
        kind, *fields = line.split() or ["#"]
        if kind.startswith(OTHER):
            continue
        if kind == NODE and len(fields) in (1, 2):
            builder.node(fields[0], {})
            labels.append(fields[1] if len(fields) == 2 else None)
        elif kind in (EDGE, *ARCS) and len(fields) in (2, 3):
            builder.edge(fields[0], fields[1], {}, directed=kind in ARCS)
            kinds.append(fields[2] if len(fields) == 3 else None)
        else:
            raise GraphError(f"{line[:80]!r} is neither 'v node label' nor 'e node node label'")
    raw = builder.build(graph_id=name)
    return RawGraph(raw.n_nodes, raw.edges, _column(labels), _column(kinds), raw.directed, name)


def _column(labels: list[str | None]) -> dict[str, np.ndarray]:
    if all(label is None for label in labels):
        return {}
    return {"label": np.array(labels, dtype=object)}
