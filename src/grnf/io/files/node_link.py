"""Node-link JSON, the form of networkx and D3: a graph, a list or {"graphs": [...]} a file, or one a line.

    {"directed": false, "multigraph": false, "graph": {"id": "g1", "y": 0},
     "nodes": [{"id": 0, "element": "C"}, ...], "edges": [{"source": 0, "target": 1, "weight": 2.0}, ...]}

Edges stand under "edges" or "links"; "id", "name" and "y" may stand outside "graph" too. Files with one graph
a line may hold rows of Hugging Face sets too.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Iterator, Mapping
from itertools import chain
from typing import IO, Any

import numpy as np

from grnf.errors import GraphError
from grnf.io.files.builder import GraphBuilder
from grnf.io.files.json_stream import json_graphs, parsed
from grnf.io.files.limits import LONGEST_RECORD
from grnf.io.files.records import OnError, each_record, line_records
from grnf.io.files.rows import graph_of_row
from grnf.io.files.streams import Source, decoded
from grnf.io.files.values import check_names, plain_rows, scalar_y
from grnf.io.raw import BadGraph, RawGraph

__all__ = ["graph_of_line", "read_json", "read_json_lines", "write_json", "write_json_lines"]


def read_json(source: Source, *, on_error: OnError = "raise") -> Iterator[RawGraph | BadGraph]:
    """Yield the graph, or the graphs, of a JSON file, one of them in memory at a time."""
    records = ((where, _graph_id(item), item) for where, item in json_graphs(source))
    yield from each_record(records, _graph, on_error)


def read_json_lines(source: Source, *, on_error: OnError = "raise") -> Iterator[RawGraph | BadGraph]:
    """Yield the graphs of a file with one JSON object a line."""
    records = line_records(source, LONGEST_RECORD)
    return each_record(records, graph_of_line, on_error)


def graph_of_line(line: bytes) -> RawGraph:
    """Return the graph of one line of such a file.

    Examples
    --------
    >>> graph_of_line(b'{"nodes": [{"id": "a"}, {"id": "b"}], "edges": [{"source": "a", "target": "b"}]}')
    RawGraph(n_nodes=2, n_edges=1, node_columns=[], edge_columns=[], undirected)
    """
    return _graph(parsed(decoded(line, "the line")))


def _graph(document: Any) -> RawGraph:
    if not isinstance(document, dict):
        raise GraphError(f"a JSON object with 'nodes' and 'edges' is wanted; got {type(document).__name__}")
    if "nodes" not in document and "edge_index" in document:
        return graph_of_row(document)
    nodes, edges = document.get("nodes"), document.get("edges", document.get("links"))
    if not isinstance(nodes, list) or not isinstance(edges, list):
        raise GraphError(
            "lists 'nodes' and 'edges' (or 'links') are wanted, as networkx.node_link_data writes"
        )
    builder = GraphBuilder()
    for node in nodes:
        name = _end(node, "id", "node")
        builder.node(name, {key: value for key, value in node.items() if key != "id"})
    multigraph = bool(document.get("multigraph", True))
    structural = {"source", "target", "key"} if multigraph else {"source", "target"}
    for edge in edges:
        ends = _end(edge, "source", "edge"), _end(edge, "target", "edge")
        builder.edge(*ends, {key: value for key, value in edge.items() if key not in structural})
    directed = bool(document.get("directed", False))
    graph = builder.build(directed=directed, graph_id=_graph_id(document), y=_graph_values(document).get("y"))
    if not multigraph and _has_repeats(graph):
        raise GraphError("an edge stands twice and 'multigraph' is false; set it to true to add them up")
    return graph


def _end(item: Any, key: str, kind: str) -> Hashable:
    if not isinstance(item, dict) or key not in item:
        raise GraphError(f"each {kind} must be an object with {key!r}; got {str(item)[:80]}")
    name = item[key]
    if isinstance(name, list):
        name = json.dumps(name)
    if isinstance(name, dict):
        raise GraphError(f"{key!r} of a {kind} must be a number or a text; got an object")
    return name  # type: ignore[no-any-return]


def _graph_values(document: Mapping[str, Any]) -> Mapping[str, Any]:
    values = document.get("graph")
    if isinstance(values, list):  # older networkx wrote pairs
        values = {
            pair[0]: pair[1] for pair in values if isinstance(pair, list) and len(pair) == 2 and str(pair[0])
        }
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
    node_names, nodes = plain_rows(graph.node_columns, graph.n_nodes, vectors=True)
    edge_names, edges = plain_rows(graph.edge_columns, len(graph.edges), vectors=True)
    check_names(node_names, {"id"}, "node-link JSON")
    check_names(edge_names, {"source", "target", "key"}, "node-link JSON")
    values: dict[str, Any] = {}
    if graph.graph_id is not None:
        values["id"] = graph.graph_id
    if graph.y is not None:
        values["y"] = graph.y.tolist() if isinstance(graph.y, np.ndarray) else scalar_y(graph.y, "JSON")
    document = {
        "directed": graph.directed,
        "multigraph": _has_repeats(graph),
        "graph": values,
        "nodes": [{"id": index, **row} for index, row in enumerate(nodes)],
        "edges": [
            {"source": source, "target": target, **row}
            for (source, target), row in zip(graph.edges.tolist(), edges, strict=True)
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
                f"a graph of {len(document)} bytes of JSON is too long for a line; write Parquet"
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
