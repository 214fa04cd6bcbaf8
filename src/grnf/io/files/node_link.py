"""Node-link JSON, as in networkx and D3: a graph, a list or {"graphs": [...]} per file, or one per line.

    {"directed": false, "multigraph": false, "graph": {"id": "g1", "y": 0},
     "nodes": [{"id": 0, "element": "C"}, ...], "edges": [{"source": 0, "target": 1, "weight": 2.0}, ...]}

Edges are under "edges" or "links". Their ends may be called "from" and "to", as in vis.js, or be nodes, as in
D3. Nodes without ids are known by their places. "id", "name" and "y" may be outside "graph" too. Cytoscape
has values in "data", and nodes and edges in "elements": apart, or as one list, or as a list and nothing else.
Files with one graph per line may hold rows of Hugging Face datasets too.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Iterator, Mapping
from contextlib import suppress
from decimal import Decimal
from itertools import chain
from typing import IO, Any

import numpy as np

from grnf._utils.lazy import guest
from grnf.errors import GraphError
from grnf.io.files.file import File, OnError, decoded, each_record, line_records
from grnf.io.files.graph_rows import graph_of_row
from grnf.io.files.limits import LARGEST_DOCUMENT, LONGEST_RECORD
from grnf.io.files.values import graph_of_rows, plain_tables, scalar_y
from grnf.io.raw import BadGraph, RawGraph

DEEPEST = 2000
"""Brackets that may be open; those within texts are counted too."""
STEPS = np.zeros(256, np.int8)
STEPS[np.frombuffer(b"[{", np.uint8)], STEPS[np.frombuffer(b"]}", np.uint8)] = 1, -1
DAMAGE = (ArithmeticError, RecursionError, ValueError)
"""What ijson raises for huge exponents, deep nesting and bad UTF-8."""
STRUCTURAL = ("graphs", "nodes", "edges", "links", "elements", "edge_index")
"""Names by which a document is a list of graphs or a graph, whichever comes first."""


def read_json(file: File, *, on_error: OnError = "raise") -> Iterator[RawGraph | BadGraph]:
    """Yield the graph, or the graphs, of a JSON file, one of them in memory at a time."""
    records = ((where, _graph_id(item), item) for where, item in _documents(file))
    yield from each_record(records, _graph, on_error)


def _documents(file: File) -> Iterator[tuple[str, Any]]:
    """Yield the position of each graph and its object: of a list, of a list "graphs", or the only one."""
    ijson = guest("ijson", "lists of graphs in JSON")
    prefix = _prefix(file, ijson)
    if prefix is None:
        document = _parsed(decoded(file.whole(), str(file)), str(file))
        yield str(file), {"elements": document} if isinstance(document, list) else document
        return
    index = 0
    with file.open() as source:
        stream = _Limited(source)
        try:
            for document in ijson.items(stream, prefix):  # its own floats would end at 63 bits
                yield f"{file}, graph {index}", _with_floats(document)
                index, stream.count = index + 1, 0
        except GraphError as error:
            raise error.located(where=f"{file}, graph {index}") from None
        except (ijson.JSONError, *DAMAGE):
            problem, cure = "invalid JSON, or the file is truncated", "Write null instead of NaN"
            raise GraphError(problem, where=f"{file}, graph {index}", cure=cure) from None


def _with_floats(value: Any) -> Any:
    """Return a document with floats for the decimal numbers of ijson."""
    if isinstance(value, dict):
        return {key: _with_floats(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_with_floats(entry) for entry in value]
    return float(value) if isinstance(value, Decimal) else value


def _prefix(file: File, ijson: Any) -> str | None:
    """Return where the graphs of a document are, as ijson calls it, or None if it is one graph."""
    is_list, keys = False, set()
    with file.open() as stream:
        try:
            for prefix, event, value in ijson.parse(_Limited(stream)):
                if not prefix and event == "start_array":
                    is_list = True
                elif event == "map_key" and prefix == ("item" if is_list else ""):
                    if value in STRUCTURAL:
                        return "item" if is_list else "graphs.item" if value == "graphs" else None
                    keys.add(value)
                elif is_list and prefix == "item" and event != "start_map":  # the end of the first item
                    return None if "data" in keys else "item"  # of Cytoscape
        except GraphError as error:
            raise error.located(where=str(file)) from None
        except (ijson.JSONError, *DAMAGE):  # the reader names the fault
            pass
    return "item" if is_list else None


class _Limited:
    """A stream with limits on the bytes of a graph and on the depth of brackets."""

    def __init__(self, stream: IO[bytes]) -> None:
        self.stream, self.count, self.first, self.depth = stream, 0, True, 0

    def read(self, size: int = -1) -> bytes:
        data = self.stream.read(size)
        if self.first:
            data, self.first = data.removeprefix(b"\xef\xbb\xbf"), not size
        self.count += len(data)
        if self.count > LARGEST_DOCUMENT:
            raise GraphError(
                f"one graph of more than {LARGEST_DOCUMENT} bytes, which is held in memory as a whole",
                cure="Write it as Parquet or as an edge list",
            )
        depth = self.depth + np.cumsum(STEPS[np.frombuffer(data, np.uint8)], dtype=np.int64)
        if len(depth) and depth.max() > DEEPEST:  # ijson would take quadratic memory
            raise GraphError("JSON nested too deeply for a graph")
        self.depth = int(depth[-1]) if len(depth) else self.depth
        return data


def _parsed(text: str, where: str | None = None) -> Any:
    """Return the value of a JSON text."""
    try:
        return json.loads(text.removeprefix("\ufeff"))
    except RecursionError:
        raise GraphError("JSON nested too deeply for a graph", where=where) from None
    except ValueError as error:
        cure, line = None, text.lstrip().partition("\n")[0]
        with suppress(ValueError, RecursionError):
            if line.strip() != text.strip() and json.loads(line):
                cure = "Use format='jsonl' (--format jsonl) for one graph per line"
        raise GraphError(f"invalid JSON: {error}", where=where, cure=cure) from None


def read_json_lines(file: File, *, on_error: OnError = "raise") -> Iterator[RawGraph | BadGraph]:
    """Yield the graphs of a file with one JSON object per line."""
    return each_record(line_records(file, LONGEST_RECORD), graph_of_line, on_error)


def graph_of_line(line: bytes) -> RawGraph:
    """Return the graph of a line of such a file."""
    return _graph(_parsed(decoded(line)))


def _graph(document: Any) -> RawGraph:
    if not isinstance(document, dict):
        raise GraphError(f"must be a JSON object with 'nodes' and 'edges', got {type(document).__name__}")
    if "nodes" not in document and "edge_index" in document:
        return graph_of_row(document)
    elements = document.get("elements")
    if isinstance(elements, list):
        elements = {
            "nodes": [item for item in elements if not _is_edge(item)],
            "edges": list(filter(_is_edge, elements)),
        }
    lists = elements if isinstance(elements, dict) else document
    nodes, edges = lists.get("nodes"), lists.get("edges", lists.get("links"))
    first = nodes[0] if isinstance(nodes, list) and nodes else None
    of_cytoscape = lists is elements or (isinstance(first, dict) and "data" in first and "id" not in first)
    if of_cytoscape:
        nodes, edges = (
            list(map(_data, items)) if isinstance(items, list) else items or [] for items in (nodes, edges)
        )
    if not isinstance(nodes, list) or not isinstance(edges, list):
        raise GraphError(
            "'nodes' and 'edges' (or 'links') must be lists, as networkx.node_link_data writes them"
        )
    multigraph = bool(document.get("multigraph", True))
    first = edges[0] if edges and isinstance(edges[0], dict) else {}
    source, target = ("from", "to") if {"from", "to"} <= first.keys() - {"source"} else ("source", "target")
    structural = {source, target, *(["key"] if multigraph else []), *(["id"] if of_cytoscape else [])}
    has_ids = any(not isinstance(node, dict) or "id" in node for node in nodes)

    def others(item: Mapping[str, Any], structural: set[str]) -> dict[str, Any]:
        return {key: value for key, value in item.items() if key not in structural}

    graph = graph_of_rows(
        [
            (_end(node, "id", "node") if has_ids else place, others(node, {"id"}))
            for place, node in enumerate(nodes)
        ],
        [
            (_end(edge, source, "edge"), _end(edge, target, "edge"), others(edge, structural))
            for edge in edges
        ],
        directed=bool(document.get("directed", False)),
        graph_id=_graph_id(document),
        y=_graph_values(document).get("y"),
    )
    if not multigraph and _has_repeats(graph):
        raise GraphError(
            "an edge is repeated and 'multigraph' is false", cure="Set it to true to sum them up"
        )
    return graph


def _data(item: Any) -> Any:
    """Return what a node or an edge of Cytoscape has inside "data"."""
    return item.get("data", item) if isinstance(item, dict) else item


def _is_edge(item: Any) -> bool:
    data = _data(item)
    return isinstance(data, dict) and "source" in data


def _end(item: Any, key: str, kind: str) -> Hashable:
    if not isinstance(item, dict) or key not in item:
        raise GraphError(f"each {kind} must be an object with {key!r}, got {str(item)[:80]}")
    name = item[key]
    if isinstance(name, dict):  # D3 replaces ids by nodes
        name = name.get("id", name.get("index", name))
    if isinstance(name, list):
        name = json.dumps(name)
    if isinstance(name, dict):
        raise GraphError(f"{key!r} of a {kind} must be a number or a text, got an object")
    return name  # type: ignore[no-any-return]


def _graph_values(document: Mapping[str, Any]) -> Mapping[str, Any]:
    values = document.get("graph", document.get("data"))
    outside = {key: document[key] for key in ("id", "name", "y") if document.get(key) is not None}
    return {**outside, **values} if isinstance(values, dict) else outside


def _graph_id(document: Any) -> str | None:
    values = _graph_values(document) if isinstance(document, dict) else {}
    name = values.get("id", values.get("name"))
    return None if name is None or name == "" else str(name)


def _has_repeats(graph: RawGraph) -> bool:
    edges = graph.edges if graph.directed else np.sort(graph.edges, axis=1)
    return len(np.unique(edges, axis=0)) < len(edges)


def _document(graph: RawGraph) -> bytes:
    tables = plain_tables(graph, "node-link JSON", {"id"}, {"source", "target", "key"}, vectors=True)
    values: dict[str, Any] = {}
    if graph.graph_id is not None:
        values["id"] = graph.graph_id
    if graph.y is not None:
        values["y"] = graph.y.tolist() if isinstance(graph.y, np.ndarray) else scalar_y(graph.y, "JSON")
    document = {
        "directed": graph.directed,
        "multigraph": _has_repeats(graph),
        "graph": values,
        "nodes": [{"id": index, **row} for index, row in enumerate(tables["node"][1])],
        "edges": [
            {"source": source, "target": target, **row}
            for (source, target), row in zip(graph.edges.tolist(), tables["edge"][1], strict=True)
        ],
    }
    try:
        text = json.dumps(document, ensure_ascii=False)
    except (TypeError, ValueError) as error:
        raise GraphError(f"graph {graph.graph_id!r} does not fit in JSON: {error}") from None
    return text.encode("utf-8", "backslashreplace")  # half a surrogate pair becomes its JSON escape


def write_json_lines(file: IO[bytes], graphs: Iterable[RawGraph]) -> None:
    """Write one node-link object a line."""
    for graph in graphs:
        document = _document(graph)
        if len(document) > LONGEST_RECORD:
            raise GraphError(
                f"a graph with {len(document)} bytes of JSON is too long for a line", cure="Write Parquet"
            )
        file.write(document + b"\n")


def write_json(file: IO[bytes], graphs: Iterable[RawGraph]) -> None:
    """Write one graph as a node-link object, several as a list of them."""
    documents = map(_document, graphs)
    first, second = next(documents, None), next(documents, None)
    if first is None or second is None:
        file.write((first or b"[]") + b"\n")
        return
    file.write(b"[\n" + first)
    for document in chain([second], documents):
        file.write(b",\n" + document)
    file.write(b"\n]\n")
