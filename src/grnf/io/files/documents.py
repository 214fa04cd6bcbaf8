"""GraphML, GML and GEXF: documents that are read as a whole, by networkx, and written graph by graph.

Files are not trusted: XML that declares entities is refused before networkx sees it, and so is a document
that unpacks to more than the limits allow. The order of edges is that of networkx: by their first node. The
widths of vectors, whose numbers are columns of their own, are JSON called "vectors".
"""

from __future__ import annotations

import html
import json
import re
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import IO, TYPE_CHECKING, Any
from xml.parsers import expat

import numpy as np

from grnf._utils.lazy import guest
from grnf._utils.memory import VALUE, check_memory
from grnf.errors import GraphError
from grnf.io.files.file import File, OnError, decoded, each_record
from grnf.io.files.values import graph_of_rows, number, plain_tables, scalar_y, vector_widths
from grnf.io.raw import BadGraph, RawGraph

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

GRAPHML_HEAD = '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
GEXF_HEAD = '<gexf xmlns="http://www.gexf.net/1.2draft" version="1.2">'
DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>'
VECTORS = "vectors"
"""Graph attribute with the widths of the vectors that were split into columns. In GEXF, the description."""

DRAWING = {"viz", "pid", "parents", "spells", "slices"}
"""What networkx adds to nodes of GEXF that is not an attribute."""

FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
XML_TYPES = (({bool}, "boolean"), ({int}, "long"), ({int, float}, "double"), ({str}, "string"))
GML_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*\Z")
GML_ESCAPE = re.compile(r"[^ !#-%\'-~]")
GML_EXPONENT = re.compile(r'"[^"]*"|(?<![\w.])([+-]?\d+)([eE][+-]?\d+)')
"""A number without a point, which networkx does not read; texts are matched to pass over them."""
GML_TOKEN = re.compile(r'"[^"]*"|^[ \t]*#[^\n]*|graph(?=\s*\[)|[\[\]]', re.MULTILINE)


def _elements(file: File, namespace: str) -> tuple[Element, list[Element]]:
    """Return the root of an XML document and its graphs.

    Elements in the namespace of the root, or in none, move to the one that networkx expects.
    """
    from xml.etree.ElementTree import ParseError, fromstring

    data = file.whole(recode=False)

    def refuse(*declared: Any) -> None:
        if declared[-1]:  # <!DOCTYPE name [...]> with declarations
            raise GraphError(
                "declarations in a document type are not read", cure="Remove the <!DOCTYPE ...> part"
            )

    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = refuse
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


def _graph(graph: Any, vectors: Any, graph_id: str | None, y: Any) -> RawGraph:
    """Return a networkx graph. `vectors` are the widths of columns that were split, if they are."""
    try:
        given = json.loads(vectors) if isinstance(vectors, str) else vectors
    except ValueError:
        given = None
    widths = {
        item: {str(name): width for name, width in columns.items() if isinstance(width, int)}
        for item, columns in (given.items() if isinstance(given, dict) else ())
        if isinstance(columns, dict)
    }
    defaults = [graph.graph.get(f"{item}_default", {}) for item in ("node", "edge")]
    copied = len(defaults[0]) * graph.number_of_nodes() + len(defaults[1]) * graph.number_of_edges()
    check_memory(3 * VALUE * copied, f"{copied} default values")
    nodes = [(name, {**defaults[0], **values}) for name, values in graph.nodes(data=True)]
    edges = [(u, v, {**defaults[1], **values}) for u, v, values in graph.edges(data=True)]
    return graph_of_rows(nodes, edges, directed=graph.is_directed(), graph_id=graph_id, y=y, widths=widths)


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
                problem = f"there is no node {end!r}, which an edge names"
                raise GraphError(problem, cure="Add the node, or remove the edge")


def _unmix(graph: Element, default: str, own: str) -> None:
    """Make all edges of a graph directed, or none: among directed ones, an undirected one becomes two.

    Attribute `default` of the graph and attribute `own` of an edge are its direction.
    """
    edges = [(parent, edge) for parent in graph.iter() for edge in parent if edge.tag.endswith("}edge")]
    known = {"true": "directed", "false": "undirected", None: graph.get(default)}
    kinds = [known.get(kind, kind) for kind in (edge.attrib.pop(own, None) for _, edge in edges)]
    is_directed = "directed" in (kinds or [graph.get(default)])
    graph.set(default, "directed" if is_directed else "undirected")
    for (parent, edge), kind in zip(edges, kinds, strict=True):
        ends = {"source": edge.get("target", ""), "target": edge.get("source", "")}
        if is_directed and kind != "directed" and ends["source"] != ends["target"]:
            parent.append(edge.makeelement(edge.tag, {**edge.attrib, **ends}))
            parent[-1].extend(edge)


def _by_library(read: Callable[..., Any], *arguments: Any, where: str | None = None, **options: Any) -> Any:
    """Call networkx, which raises errors of many kinds on damaged files."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return read(*arguments, **options)
    except Exception as error:
        raise GraphError(f"networkx cannot read it: {error or type(error).__name__}", where=where) from None


def read_graphml(file: File, *, on_error: OnError = "raise") -> Iterator[RawGraph | BadGraph]:
    """Yield the graphs of a GraphML file. Graph data called "y" is the target."""
    reader = guest("networkx", "GraphML files").readwrite.graphml.GraphMLReader(force_multigraph=True)
    reader.python_type = defaultdict(lambda: number, reader.python_type)
    space = f"{{{reader.NS_GRAPHML}}}"
    root, elements = _elements(file, reader.NS_GRAPHML)
    if not elements:
        raise GraphError("no <graph> in this file: it is not GraphML", where=str(file))
    declared = {key.get("id") for key in root.findall(f"{space}key")}
    for data in root.iter(f"{space}data"):
        if (name := data.get("key")) not in declared:
            cure = f"Add <key id={name!r} for='all' attr.name={name!r} attr.type='string'/> before the graph"
            raise GraphError(f"no <key> declares the key {name!r:.60}", where=str(file), cure=cure)
    for key in root.iter(f"{space}key"):  # networkx insists on both
        key.set("attr.name", key.get("attr.name") or key.get("id") or "")
        key.set("attr.type", key.get("attr.type") or "string")
    keys = _by_library(reader.find_graphml_keys, root, where=str(file))

    def build(element: Element) -> RawGraph:
        if len(list(element.iter(element.tag))) > 1:
            raise GraphError("a graph within a graph", cure="Flatten it first")
        _check_ids(element)
        _unmix(element, "edgedefault", "directed")
        graph = _by_library(reader.make_graph, element, *keys)
        return _graph(graph, graph.graph.get(VECTORS), element.get("id"), graph.graph.get("y"))

    records = ((str(file), element.get("id"), element) for element in elements)
    yield from each_record(records, build, on_error)


def read_gexf(file: File, *, on_error: OnError = "raise") -> Iterator[RawGraph | BadGraph]:
    """Yield the graph of a GEXF file."""
    reader = guest("networkx", "GEXF files").readwrite.gexf.GEXFReader()
    reader.python_type = defaultdict(lambda: number, reader.python_type)  # GEXF 1.3 has more types
    root, elements = _elements(file, reader.NS_GEXF)
    if len(elements) != 1:
        raise GraphError(f"GEXF has one <graph> in a file, found {len(elements)}", where=str(file))

    def build(element: Element) -> RawGraph:
        if element.get("mode") == "dynamic":
            raise GraphError("a dynamic graph", cure="Export one moment of it as a static graph")
        _check_ids(element)
        _unmix(element, "defaultedgetype", "type")
        for value in element.iter(f"{{{reader.NS_GEXF}}}attvalue"):
            value.set("for", value.get("for") or value.get("id") or "")  # "id" before version 1.2
        graph = _by_library(reader.make_graph, element)
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
        return _graph(graph, root.findtext(f".//{{{reader.NS_GEXF}}}description"), None, None)

    yield from each_record([(str(file), None, elements[0])], build, on_error)


def read_gml(file: File, *, on_error: OnError = "raise") -> Iterator[RawGraph | BadGraph]:
    """Yield the graphs of a GML file. A label that repeats the id of its node is dropped."""
    networkx = guest("networkx", "GML files")

    def build(text: str) -> RawGraph:
        text = GML_EXPONENT.sub(lambda match: f"{match[1]}.0{match[2]}" if match[1] else match[0], text)
        graph = _by_library(networkx.parse_gml, ["graph [ multigraph 1", *text.splitlines()], label="id")
        for name, values in graph.nodes(data=True):
            if values.get("label") == str(name):
                del values["label"]
        for *_, values in (*graph.nodes(data=True), *graph.edges(data=True)):
            _flatten(values)
        label = graph.graph.get("label", graph.graph.get("name"))
        graph_id = None if label is None else str(label)
        return _graph(graph, graph.graph.get(VECTORS), graph_id, graph.graph.get("y"))

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


# ---- writing


def _graph_values(graph: RawGraph, kind: str) -> dict[str, Any]:
    """Return the target of a graph and the widths of its vectors, as far as it has them."""
    widths = vector_widths(graph)
    values = {} if graph.y is None else {"y": scalar_y(graph.y, kind)}
    return values | ({VECTORS: json.dumps(widths)} if widths else {})


def _xml_text(value: Any) -> str:
    """Return a value as text for an element or an attribute."""
    text = str(value).lower() if isinstance(value, bool) else value if isinstance(value, str) else repr(value)
    if FORBIDDEN.search(text):
        raise GraphError(f"{text[:40]!r} has a character that XML cannot carry", cure="Write JSON or Parquet")
    return html.escape(text).translate({10: "&#10;", 13: "&#13;", 9: "&#9;"})


def _xml_type(rows: Iterable[Mapping[str, Any]], name: str) -> str:
    """Return the type to declare for the values of a column."""
    kinds = {type(row[name]) for row in rows if name in row}
    for known, title in XML_TYPES if kinds else XML_TYPES[-1:]:
        if kinds <= known:
            return title
    raise GraphError(
        f"column {name!r} mixes types, and XML declares one", cure="Make all of its categories texts"
    )


def write_graphml(file: IO[bytes], graphs: Iterable[RawGraph]) -> None:
    """Write graphs one after another. A column is declared before the first graph that has it."""
    keys: dict[tuple[str, str, str], str] = {}
    lines = (line for graph in graphs for line in _graphml_lines(graph, keys))
    _write_lines(file, (DECLARATION, GRAPHML_HEAD), lines, ("</graphml>",))


def _write_lines(file: IO[bytes], *parts: Iterable[str]) -> None:
    for lines in parts:
        for line in lines:
            file.write(f"{line}\n".encode())


def _graphml_lines(graph: RawGraph, keys: dict[tuple[str, str, str], str]) -> Iterator[str]:
    tables = plain_tables(graph, "GraphML")
    top = _graph_values(graph, "GraphML")
    own: dict[tuple[str, str], str] = {}
    for item, (names, rows) in {"graph": (list(top), [top]), **tables}.items():
        for name in names:
            kind = _xml_type(rows, name)
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
    for index, row in enumerate(tables["node"][1]):
        yield f'<node id="n{index}">{data("node", row)}</node>'
    for (source, target), row in zip(graph.edges.tolist(), tables["edge"][1], strict=True):
        yield f'<edge source="n{source}" target="n{target}">{data("edge", row)}</edge>'
    yield "</graph>"


def changed_in_gexf(graph: RawGraph) -> list[str]:
    """Name the columns "label" that come back as something else: no text, or the id of its node."""
    labels = {"node": graph.node_columns.get("label", []), "edge": graph.edge_columns.get("label", [])}
    return [
        f"{item} attribute 'label'"
        for item, values in labels.items()
        for row, value in enumerate(values if np.ndim(values) == 1 else [])
        if not isinstance(value, str | None) or (item == "node" and value in ("", str(row)))
    ][:1]


def write_gexf(file: IO[bytes], graphs: Iterable[RawGraph]) -> None:
    """Write one graph."""
    for graph in graphs:
        _write_lines(file, (DECLARATION, GEXF_HEAD), list(_gexf_lines(graph)), ("</gexf>",))


def _gexf_lines(graph: RawGraph) -> Iterator[str]:
    tables = plain_tables(graph, "GEXF", DRAWING, {"id"})
    labels = {
        item: [f' label="{_xml_text(row.pop("label"))}"' if "label" in row else "" for row in rows]
        for item, (_, rows) in tables.items()
    }
    if widths := vector_widths(graph):
        yield f"<meta><description>{_xml_text(json.dumps(widths))}</description></meta>"
    yield f'<graph defaultedgetype="{"directed" if graph.directed else "undirected"}">'
    ids = {
        item: {name: index for index, name in enumerate(names) if name != "label"}
        for item, (names, _) in tables.items()
    }
    for item, (_, rows) in tables.items():
        yield f'<attributes class="{item}">'
        for name in ids[item]:
            kind = _xml_type(rows, name)
            yield f'<attribute id="{ids[item][name]}" title="{_xml_text(name)}" type="{kind}"/>'
        yield "</attributes>"

    def values(item: str, row: Mapping[str, Any]) -> str:
        entries = (
            f'<attvalue for="{ids[item][name]}" value="{_xml_text(value)}"/>' for name, value in row.items()
        )
        return f"<attvalues>{''.join(entries)}</attvalues>"

    yield "<nodes>"
    for index, row in enumerate(tables["node"][1]):
        yield f'<node id="{index}"{labels["node"][index]}>{values("node", row)}</node>'
    yield "</nodes><edges>"
    for index, (ends, row) in enumerate(zip(graph.edges.tolist(), tables["edge"][1], strict=True)):
        named = f'id="{index}" source="{ends[0]}" target="{ends[1]}"{labels["edge"][index]}'
        yield f"<edge {named}>{values('edge', row)}</edge>"
    yield "</edges></graph>"


def write_gml(file: IO[bytes], graphs: Iterable[RawGraph]) -> None:
    """Write graphs one after another. Truth values become 0 and 1."""
    for graph in graphs:
        _write_lines(file, _gml_lines(graph))


def _gml_lines(graph: RawGraph) -> Iterator[str]:
    tables = plain_tables(graph, "GML", {"id"}, {"source", "target", "key"})
    for name in (name for names, _ in tables.values() for name in names):
        if not GML_NAME.match(name):
            raise GraphError(
                f"a column called {name!r}: GML names are letters, digits and _", cure="Rename it"
            )
    top = {} if graph.graph_id is None else {"label": graph.graph_id}
    yield f"graph [{_gml_values({**top, **_graph_values(graph, 'GML'), 'directed': graph.directed})}"
    for index, row in enumerate(tables["node"][1]):
        yield f"  node [ id {index}{_gml_values(row)} ]"
    for (source, target), row in zip(graph.edges.tolist(), tables["edge"][1], strict=True):
        yield f"  edge [ source {source} target {target}{_gml_values(row)} ]"
    yield "]"


def _gml_values(row: Mapping[str, Any]) -> str:
    return "".join(f" {name} {_gml_text(value)}" for name, value in row.items())


def _gml_text(value: Any) -> str:
    if isinstance(value, str):
        return '"' + GML_ESCAPE.sub(lambda match: f"&#{ord(match[0])};", value) + '"'
    text = repr(int(value) if isinstance(value, bool) else value)
    return text.replace("e", ".0e") if "e" in text and "." not in text else text  # a real has a point
