"""GraphML, GML and GEXF: documents that are read as a whole, by networkx, and written graph by graph.

Files are not trusted: XML with a document type is refused before networkx sees it, and so is a document that
unpacks to more than the limits allow. The order of edges is that of networkx: by their first node.
"""

from __future__ import annotations

import html
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import IO, TYPE_CHECKING, Any
from xml.parsers import expat

from grnf._utils.memory import VALUE, check_memory
from grnf.errors import GraphError
from grnf.io.files.file import File, OnError, decoded, each_record
from grnf.io.files.values import check_names, graph_of_rows, part_widths, plain_rows, scalar_y, vector_widths
from grnf.io.raw import BadGraph, RawGraph

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

__all__ = ["read_gexf", "read_gml", "read_graphml", "write_gexf", "write_gml", "write_graphml"]

GRAPHML_HEAD = '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
GEXF_HEAD = '<gexf xmlns="http://www.gexf.net/1.2draft" version="1.2">'
DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>'
VECTORS = "vectors"
"""Graph attribute with the widths of the vectors that were split into columns."""

DRAWING = {"viz", "pid", "parents", "spells", "slices"}
"""What networkx adds to nodes of GEXF that is not an attribute."""

FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
WIDTH = re.compile(r"\.vector(\d{1,9})\Z")
GML_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*\Z")
GML_ESCAPE = re.compile(r"[^ !#-%\'-~]")
GML_EXPONENT = re.compile(r'"[^"]*"|(?<![\w.])([+-]?\d+)([eE][+-]?\d+)')
"""A number without a point, which networkx does not read; texts are matched to pass over them."""
GML_TOKEN = re.compile(r'"[^"]*"|^[ \t]*#[^\n]*|graph(?=\s*\[)|[\[\]]', re.MULTILINE)


def _networkx(kind: str) -> Any:
    try:
        import networkx as nx
    except ImportError:
        raise ImportError(f"{kind} files need networkx: pip install 'grnf[io]'") from None
    return nx


def _elements(file: File, namespace: str) -> tuple[Element, list[Element]]:
    """Return the root of an XML document and its graphs.

    Elements in the namespace of the root, or in none, move to the one that networkx expects.
    """
    from xml.etree.ElementTree import ParseError, fromstring

    data = file.whole(recode=False)

    def refuse(*_: Any) -> None:
        raise GraphError("document types and entities are not read", cure="Remove the <!DOCTYPE ...> part")

    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    try:
        parser.Parse(data, True)
        root = fromstring(data)  # noqa: S314 (checked above)
    except GraphError as error:
        raise error.located(where=f"{file}, line {parser.CurrentLineNumber}") from None
    except (expat.ExpatError, ParseError, ValueError, LookupError) as error:
        raise GraphError(f"invalid XML: {error}", where=str(file)) from None
    own = root.tag.rpartition("}")[0]
    for element in root.iter():
        before, _, name = element.tag.rpartition("}")
        if before in (own, ""):
            element.tag = f"{{{namespace}}}{name}"
    return root, root.findall(f"{{{namespace}}}graph")


def _graph(graph: Any, widths: Any, graph_id: str | None, y: Any) -> RawGraph:
    """Return a networkx graph. `widths` are those of columns that were split."""
    defaults = [graph.graph.get(f"{item}_default", {}) for item in ("node", "edge")]
    copied = len(defaults[0]) * graph.number_of_nodes() + len(defaults[1]) * graph.number_of_edges()
    check_memory(3 * VALUE * copied, f"{copied} default values")
    nodes = [(name, {**defaults[0], **values}) for name, values in graph.nodes(data=True)]
    edges = [(u, v, {**defaults[1], **values}) for u, v, values in graph.edges(data=True)]
    return graph_of_rows(nodes, edges, directed=graph.is_directed(), graph_id=graph_id, y=y, widths=widths)


def read_graphml(file: File, *, on_error: OnError = "raise") -> Iterator[RawGraph | BadGraph]:
    """Yield the graphs of a GraphML file. Graph data called "y" is the target."""
    _networkx("GraphML")
    from networkx.readwrite.graphml import GraphMLReader

    reader = GraphMLReader(force_multigraph=True)
    root, elements = _elements(file, reader.NS_GRAPHML)
    if not elements:
        raise GraphError("no <graph> in this file: it is not GraphML", where=str(file))

    def build(element: Element) -> RawGraph:
        if len(list(element.iter(element.tag))) > 1:
            raise GraphError("a graph within a graph", cure="Flatten it first")
        _check_ids(element)
        graph = _by_library(lambda: reader.make_graph(element, *keys))
        widths = _widths(graph.graph.get(VECTORS))
        return _graph(graph, widths, element.get("id"), graph.graph.get("y"))

    space = f"{{{reader.NS_GRAPHML}}}"
    declared = {key.get("id") for key in root.iter(f"{space}key")}
    for data in root.iter(f"{space}data"):
        if (name := data.get("key")) not in declared:
            cure = f"Add <key id={name!r} for='all' attr.name={name!r} attr.type='string'/> before the graph"
            raise GraphError(f"no <key> declares the key {name!r:.60}", where=str(file), cure=cure)
    for key in root.iter(f"{space}key"):  # networkx insists on both
        key.set("attr.name", key.get("attr.name") or key.get("id") or "")
        key.set("attr.type", key.get("attr.type") or "string")
    keys = _by_library(lambda: reader.find_graphml_keys(root), str(file))
    records = ((str(file), element.get("id"), element) for element in elements)
    yield from each_record(records, build, on_error)


def _check_ids(graph: Element) -> None:
    """Refuse repeated nodes, and edges to nodes that do not exist, which networkx would add."""
    space = graph.tag.rpartition("}")[0] + "}"
    ids = [node.get("id") for node in graph.iter(f"{space}node")]
    known = set(ids)
    if None in known or len(known) < len(ids):
        twice = Counter(ids).most_common(1)[0][0]
        raise GraphError("a <node> has no id" if None in known else f"node {twice!r} is repeated")
    for edge in graph.iter(f"{space}edge"):
        for end in (edge.get("source"), edge.get("target")):
            if end not in known:
                raise GraphError(f"there is no node {end!r}, which an edge names")
        if edge.get("type") == "mutual":
            raise GraphError("edges of type 'mutual' are not read", cure="Write two directed ones")


def _by_library(read: Any, where: str | None = None) -> Any:
    """Call networkx, which raises errors of many kinds on damaged files."""
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return read()
    except Exception as error:
        raise GraphError(f"networkx cannot read it: {error or type(error).__name__}", where=where) from None


def _widths(given: Any) -> dict[str, dict[str, int]]:
    """Return the widths of columns that a file lists. What is not such a list is ignored."""
    try:
        given = json.loads(given) if isinstance(given, str) else given
    except ValueError:
        return {}
    if not isinstance(given, dict):
        return {}
    return {
        item: {str(name): width for name, width in columns.items() if isinstance(width, int)}
        for item, columns in given.items()
        if isinstance(columns, dict)
    }


def read_gexf(file: File, *, on_error: OnError = "raise") -> Iterator[RawGraph | BadGraph]:
    """Yield the graph of a GEXF file."""
    _networkx("GEXF")
    from networkx.readwrite.gexf import GEXFReader

    reader = GEXFReader()
    _, elements = _elements(file, reader.NS_GEXF)
    if len(elements) != 1:
        raise GraphError(f"GEXF has one <graph> in a file, found {len(elements)}", where=str(file))

    def build(element: Element) -> RawGraph:
        _check_ids(element)
        graph = _by_library(lambda: reader.make_graph(element))
        if graph.graph.get("mode") == "dynamic":
            raise GraphError("a dynamic graph", cure="Export one moment of it as a static graph")
        widths: dict[str, dict[str, int]] = {"node": {}, "edge": {}}
        for group in element.iter(f"{{{reader.NS_GEXF}}}attributes"):
            for each in group:
                if width := WIDTH.search(each.get("id", "")):
                    widths[group.get("class", "")][each.get("title", "").rpartition("_")[0]] = int(width[1])
        for name, values in graph.nodes(data=True):
            unwanted = DRAWING | ({"label"} if values.get("label") in (None, "", name) else set())
            for key in unwanted & values.keys():
                del values[key]
        rows = [values for *_, values in graph.edges(data=True)]
        weighted = any("weight" in values for values in rows)
        for values in rows:
            values.pop("id", None)
            if weighted:  # by the format, a weight left out is 1
                values.setdefault("weight", 1.0)
        return _graph(graph, widths, None, None)

    yield from each_record([(str(file), None, elements[0])], build, on_error)


def read_gml(file: File, *, on_error: OnError = "raise") -> Iterator[RawGraph | BadGraph]:
    """Yield the graphs of a GML file. A label that repeats the id of its node is dropped."""
    networkx = _networkx("GML")

    def build(text: str) -> RawGraph:
        text = GML_EXPONENT.sub(lambda match: f"{match[1]}.0{match[2]}" if match[1] else match[0], text)
        lines = ["graph [ multigraph 1", *text.splitlines()]
        graph = _by_library(lambda: networkx.parse_gml(lines, label="id"))
        widths = _widths(graph.graph.get(VECTORS))
        for name, values in graph.nodes(data=True):
            if values.get("label") == str(name):
                del values["label"]
        for *_, values in (*graph.nodes(data=True), *graph.edges(data=True)):
            _flatten(values)
        label = graph.graph.get("label", graph.graph.get("name"))
        return _graph(graph, widths, None if label is None else str(label), graph.graph.get("y"))

    texts = _gml_graphs(decoded(file.whole(), str(file)), str(file))
    yield from each_record(((str(file), None, text) for text in texts), build, on_error)


def _gml_graphs(text: str, where: str) -> list[str]:
    """Return the text between the brackets of each "graph [" of a file, the closing one included."""
    graphs, depth, start = [], 0, None
    for token in GML_TOKEN.finditer(text):
        if token[0] == "[":
            depth += 1
            start = token.end() if start == -1 else start
        elif token[0] == "]":
            depth -= 1
            if not depth and start is not None:
                graphs.append(text[start : token.end()])
                start = None
        elif token[0] == "graph" and not depth:
            start = -1
    if depth or not graphs:
        problem = "the brackets of this file do not close" if graphs or start else "no 'graph [' in this file"
        raise GraphError(f"{problem}: it is not GML, or truncated", where=where)
    return graphs


def _flatten(values: dict[str, Any]) -> None:
    """Give the values of inner lists names of their own: graphics [ x 1 ] becomes graphics_x."""
    for name in [name for name, value in values.items() if isinstance(value, dict)]:
        inner = values.pop(name)
        _flatten(inner)
        values.update({f"{name}_{key}": value for key, value in inner.items()})


def _xml_text(value: Any) -> str:
    """Return a value as text for an element or an attribute."""
    text = str(value).lower() if isinstance(value, bool) else value if isinstance(value, str) else repr(value)
    if FORBIDDEN.search(text):
        raise GraphError(f"{text[:40]!r} has a character that XML cannot carry", cure="Write JSON or Parquet")
    return html.escape(text).translate({10: "&#10;", 13: "&#13;", 9: "&#9;"})


def _xml_type(values: list[Any], name: str) -> str:
    """Return the type to declare for the values of a column."""
    kinds = {type(value) for value in values}
    for known, title in (({bool}, "boolean"), ({int}, "long"), ({int, float}, "double"), ({str}, "string")):
        if kinds <= known:
            return title if kinds else "string"
    raise GraphError(
        f"column {name!r} mixes types, and XML declares one", cure="Make all of its categories texts"
    )


def write_graphml(file: IO[bytes], graphs: Iterable[RawGraph]) -> None:
    """Write graphs one after another. A column is declared before the first graph that has it."""
    file.write(f"{DECLARATION}\n{GRAPHML_HEAD}\n".encode())
    keys: dict[tuple[str, str, str], str] = {}
    for graph in graphs:
        for line in _graphml_lines(graph, keys):
            file.write((line + "\n").encode())
    file.write(b"</graphml>\n")


def _graphml_lines(graph: RawGraph, keys: dict[tuple[str, str, str], str]) -> Iterator[str]:
    _, nodes = plain_rows(graph.node_columns, graph.n_nodes)
    _, edges = plain_rows(graph.edge_columns, len(graph.edges))
    top = {} if graph.y is None else {"y": scalar_y(graph.y, "GraphML")}
    if widths := vector_widths(graph):
        top[VECTORS] = json.dumps(widths)
    own: dict[tuple[str, str], str] = {}
    for item, rows in (("graph", [top]), ("node", nodes), ("edge", edges)):
        for name in dict.fromkeys(name for row in rows for name in row):
            kind = _xml_type([row[name] for row in rows if name in row], name)
            if (item, name, kind) not in keys:
                key = keys[item, name, kind] = f"d{len(keys)}"
                yield f'<key id="{key}" for="{item}" attr.name="{_xml_text(name)}" attr.type="{kind}"/>'
            own[item, name] = keys[item, name, kind]

    def data(item: str, values: Mapping[str, Any]) -> str:
        return "".join(
            f'<data key="{own[item, name]}">{_xml_text(value)}</data>' for name, value in values.items()
        )

    name = "" if graph.graph_id is None else f' id="{_xml_text(graph.graph_id)}"'
    yield f'<graph{name} edgedefault="{"directed" if graph.directed else "undirected"}">{data("graph", top)}'
    for index, row in enumerate(nodes):
        yield f'<node id="n{index}">{data("node", row)}</node>'
    for (source, target), row in zip(graph.edges.tolist(), edges, strict=True):
        yield f'<edge source="n{source}" target="n{target}">{data("edge", row)}</edge>'
    yield "</graph>"


def write_gexf(file: IO[bytes], graphs: Iterable[RawGraph]) -> None:
    """Write one graph."""
    for graph in graphs:
        lines = (DECLARATION, GEXF_HEAD, *_gexf_lines(graph), "</gexf>")
        file.write("".join(f"{line}\n" for line in lines).encode())


def _gexf_lines(graph: RawGraph) -> Iterator[str]:
    ids: dict[str, dict[str, str]] = {}
    parts = {"node": (graph.node_columns, graph.n_nodes), "edge": (graph.edge_columns, len(graph.edges))}
    rows: dict[str, list[dict[str, Any]]] = {}
    yield f'<graph defaultedgetype="{"directed" if graph.directed else "undirected"}">'
    for item, (columns, count) in parts.items():
        names, rows[item] = plain_rows(columns, count)
        check_names(names, {"label", "id"} if item == "edge" else {"label", *DRAWING}, "GEXF")
        widths, ids[item] = part_widths(columns), {}
        yield f'<attributes class="{item}">'
        for index, name in enumerate(names):
            kind = _xml_type([row[name] for row in rows[item] if name in row], name)
            key = ids[item][name] = f"{index}.vector{widths[name]}" if name in widths else str(index)
            yield f'<attribute id="{key}" title="{_xml_text(name)}" type="{kind}"/>'
        yield "</attributes>"

    def values(item: str, row: Mapping[str, Any]) -> str:
        entries = (
            f'<attvalue for="{ids[item][name]}" value="{_xml_text(row[name])}"/>'
            for name in ids[item]
            if name in row
        )
        return f"<attvalues>{''.join(entries)}</attvalues>"

    yield "<nodes>"
    for index, row in enumerate(rows["node"]):
        yield f'<node id="{index}">{values("node", row)}</node>'
    yield "</nodes><edges>"
    for index, (ends, row) in enumerate(zip(graph.edges.tolist(), rows["edge"], strict=True)):
        yield f'<edge id="{index}" source="{ends[0]}" target="{ends[1]}">{values("edge", row)}</edge>'
    yield "</edges></graph>"


def write_gml(file: IO[bytes], graphs: Iterable[RawGraph]) -> None:
    """Write graphs one after another. Truth values become 0 and 1."""
    for graph in graphs:
        for line in _gml_lines(graph):
            file.write((line + "\n").encode("ascii"))


def _gml_lines(graph: RawGraph) -> Iterator[str]:
    node_names, nodes = plain_rows(graph.node_columns, graph.n_nodes)
    edge_names, edges = plain_rows(graph.edge_columns, len(graph.edges))
    check_names(node_names, {"id"}, "GML")
    check_names(edge_names, {"source", "target", "key"}, "GML")
    for name in (*node_names, *edge_names):
        if not GML_NAME.match(name):
            raise GraphError(
                f"a column called {name!r}: GML names are letters, digits and _", cure="Rename it"
            )
    top: dict[str, Any] = {} if graph.graph_id is None else {"label": graph.graph_id}
    if graph.y is not None:
        top["y"] = scalar_y(graph.y, "GML")
    top["directed"] = int(graph.directed)
    yield "graph ["
    yield from (f"  {name} {_gml_text(value)}" for name, value in top.items())
    if widths := vector_widths(graph):
        lists = (
            f"{item} [ {' '.join(f'{name} {width}' for name, width in own.items())} ]"
            for item, own in widths.items()
        )
        yield f"  {VECTORS} [ {' '.join(lists)} ]"
    for index, row in enumerate(nodes):
        yield f"  node [ id {index}{_gml_values(row)} ]"
    for (source, target), row in zip(graph.edges.tolist(), edges, strict=True):
        yield f"  edge [ source {source} target {target}{_gml_values(row)} ]"
    yield "]"


def _gml_values(row: Mapping[str, Any]) -> str:
    return "".join(f" {name} {_gml_text(value)}" for name, value in row.items())


def _gml_text(value: Any) -> str:
    if isinstance(value, str):
        return '"' + GML_ESCAPE.sub(lambda match: f"&#{ord(match[0])};", value) + '"'
    text = repr(int(value) if isinstance(value, bool) else value)
    return text.replace("e", ".0e") if "e" in text and "." not in text else text  # a real has a point
