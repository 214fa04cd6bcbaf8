"""Libraries put in the place of readers that are written by hand, to be measured and tested by `readers.py`.

Each is the few lines that it takes to stand behind the same function. As a plugin of pytest, with the name of
one in GRNF_LIBRARY, it lets the tests of the readers say what it does not do.
"""

import io
import os
import resource
import zipfile
from dataclasses import replace

import numpy as np

from grnf import GraphError
from grnf.io import FORMATS
from grnf.io.files import arrays, gexf, graphml, node_link, tables, tu_tables
from grnf.io.files.records import each_record
from grnf.io.files.rows import graph_of_row
from grnf.io.files.xml import Event
from grnf.io.objects import batch_from_networkx
from grnf.io.raw import checked_raw


def ijson_graphs(source):
    """By its plain events: those with prefixes take memory that grows like the square of the nesting."""
    import ijson

    with source.open() as file:
        events = ijson.basic_parse(file, use_float=True)
        document, open_kinds, key, index = ijson.ObjectBuilder(), [], None, 0

        def value_of(event, value):
            builder, depth = ijson.ObjectBuilder(), 0
            while True:
                builder.event(event, value)
                depth += (event in STARTS) - (event in ENDS)
                if not depth:
                    return builder.value
                event, value = next(events)

        try:
            for event, value in events:
                entry = event not in ENDS and (
                    open_kinds == ["start_array"]
                    or (open_kinds == ["start_map", "start_array"] and key == "graphs")
                )
                if entry:
                    yield f"{source}, graph {index}", value_of(event, value)
                    index += 1
                    continue
                document.event(event, value)
                if event == "map_key" and len(open_kinds) == 1:
                    key = value
                elif event in STARTS:
                    open_kinds.append(event)
                elif event in ENDS:
                    open_kinds.pop()
            if not index and (isinstance(document.value, dict) or not isinstance(document.value, list)):
                yield str(source), document.value
        except (ijson.JSONError, ValueError, OverflowError) as error:
            raise GraphError(f"{source}: no valid JSON: {error}") from None


STARTS, ENDS = ("start_map", "start_array"), ("end_map", "end_array")


def lxml_events(source):
    from lxml import etree

    parser = etree.XMLPullParser(
        ("start", "end"), resolve_entities=False, no_network=True, load_dtd=False, remove_comments=True
    )

    def name(element):
        return etree.QName(element).localname

    def events():
        for kind, element in parser.read_events():
            line = element.sourceline or 1
            if line == 1 and element.getroottree().docinfo.internalDTD is not None:
                raise GraphError("document types and entities are not read; remove the <!DOCTYPE ...> part")
            if kind == "start":
                yield Event("start", name(element), dict(element.attrib), line)
                continue
            if element.text:
                yield Event("text", element.text, {}, line)
            yield Event("end", name(element), {}, line)
            parent = element.getparent()
            element.clear()
            if parent is not None:
                parent.remove(element)

    with source.open() as file:
        try:
            while chunk := file.read(2**16):
                parser.feed(chunk)
                yield from events()
            parser.close()
            yield from events()
        except GraphError as error:
            raise GraphError(f"{source}, line 1: {error}") from None
        except (etree.LxmlError, ValueError) as error:
            raise GraphError(f"{source}: no valid XML: {error}") from None


def defusedxml_events(source):
    import defusedxml
    from defusedxml.ElementTree import DefusedXMLParser

    found = []

    class Target:
        def start(self, tag, attributes):
            line = parser.parser.CurrentLineNumber
            found.append(Event("start", tag.rpartition("}")[2], attributes, line))

        def end(self, tag):
            found.append(Event("end", tag.rpartition("}")[2], {}, parser.parser.CurrentLineNumber))

        def data(self, data):
            found.append(Event("text", data, {}, parser.parser.CurrentLineNumber))

        def close(self):
            pass

    parser = DefusedXMLParser(target=Target(), forbid_dtd=True)
    with source.open() as file:
        last = False
        while not last:
            chunk = file.read(2**16)
            last = not chunk
            try:
                parser.feed(chunk)
                if last:
                    parser.close()
            except defusedxml.DefusedXmlException:
                line = parser.parser.CurrentLineNumber
                raise GraphError(f"{source}, line {line}: document types and entities are not read") from None
            except (SyntaxError, ValueError, LookupError) as error:
                raise GraphError(f"{source}: no valid XML: {error}") from None
            yield from found
            found.clear()


def by_networkx(read):
    """Return a reader of documents: `read(file)` gives graphs of networkx."""

    def reader(source, *, on_error="raise"):
        import networkx as nx

        try:
            with source.open() as file:
                graphs = list(read(file))
        except (nx.NetworkXException, ValueError, KeyError, SyntaxError, LookupError, TypeError) as error:
            raise GraphError(f"{source}: {error}") from None
        yield from each_record(((str(source), None, graph) for graph in graphs), checked, on_error)

    return reader


def checked(graph):
    raw = batch_from_networkx([graph])[0]
    return checked_raw(
        raw.n_nodes, raw.edges, raw.node_columns, raw.edge_columns, raw.directed, raw.graph_id, raw.y
    )


def networkx_graphml(file):
    from networkx.readwrite.graphml import GraphMLReader

    return GraphMLReader()(path=file)


def networkx_gexf(file):
    import networkx as nx

    yield nx.read_gexf(file)


def networkx_gml(file):
    import networkx as nx

    yield nx.parse_gml(io.TextIOWrapper(file, "ascii"), label="id")


def networkx_edge_list(file):
    import networkx as nx

    yield nx.read_weighted_edgelist(file)


def networkx_graph6(source, *, on_error="raise"):
    import networkx as nx

    def build(line):
        text = line.strip()
        sparse = text.removeprefix(b">>sparse6<<").startswith(b":")
        try:
            return checked((nx.from_sparse6_bytes if sparse else nx.from_graph6_bytes)(text))
        except (nx.NetworkXException, ValueError, IndexError) as error:
            raise GraphError(str(error)) from None

    records = (
        (f"{source}, line {number}", None, line)
        for number, line in source.lines_or_errors(2**27)
        if isinstance(line, GraphError) or line.strip()
    )
    return each_record(records, build, on_error)


def tu_numbers(parse):
    """Return a method of `Rows` that lets a library take the numbers from the text; errors as in ours."""
    ours = tu_tables.Rows._numbers

    def numbers(self, block):
        try:
            table = parse(block, self.dtype)
        except (ValueError, OverflowError, UnicodeDecodeError):
            return ours(self, block)
        self.width = self.width or table.shape[1]
        return table if table.shape[1] == self.width else ours(self, block)

    return numbers


def pandas_numbers(block, dtype):
    import pandas as pd

    return pd.read_csv(io.BytesIO(block), header=None, dtype=dtype, skipinitialspace=True).to_numpy()


def pyarrow_numbers(block, dtype):
    import pyarrow as pa
    from pyarrow import csv

    width = block[: block.find(b"\n") + 1 or None].count(b",") + 1
    names = [str(column) for column in range(width)]
    options = csv.ConvertOptions(column_types=dict.fromkeys(names, pa.from_numpy_dtype(dtype)))
    read = csv.ReadOptions(column_names=names, use_threads=False)
    block = block.replace(b" ", b"")
    table = csv.read_csv(io.BytesIO(block), read_options=read, convert_options=options)
    return np.column_stack([column.to_numpy() for column in table.columns])


def numpy_numbers(block, dtype):
    return np.loadtxt(io.BytesIO(block), delimiter=",", dtype=dtype, ndmin=2, comments=None)


def pyg_tu(source, *, on_error="raise"):  # noqa: ARG001
    """The whole set at once, as PyTorch Geometric reads it."""
    import tempfile

    from torch_geometric.io import read_tu_data

    from grnf.io import to_raw

    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(source.path) as archive:
        archive.extractall(folder)
        prefix = next(n for n in archive.namelist() if n.endswith("_A.txt")).removesuffix("_A.txt")
        try:
            data, slices, _ = read_tu_data(folder, prefix)
        except (RuntimeError, ValueError, IndexError) as error:
            raise GraphError(f"{source}: {error}") from None
    from torch_geometric.data import Data
    from torch_geometric.data.separate import separate

    data._num_nodes = np.diff(slices["x"]).tolist() if "x" in slices else data._num_nodes
    for index in range(len(slices["edge_index"]) - 1):
        yield to_raw(separate(Data, data, index, slices, decrement=False))


def text_rows(chunks):
    """Return the rows of a table of texts that a library gives in chunks of columns."""

    def rows(source):
        with source.open() as file:
            header = file.readline()
        delimiter = max("\t;,", key=header.decode("utf-8", "replace").count)
        yield 1, [name.strip() for name in header.decode("utf-8-sig").split(delimiter)], ""
        line = 2
        try:
            with source.open() as file:
                for columns in chunks(file, delimiter):
                    for fields in zip(*columns, strict=True):
                        yield line, list(fields), ""
                        line += 1
        except (ValueError, OSError, UnicodeDecodeError) as error:
            raise GraphError(f"{source}: {error}") from None

    return rows


def pandas_chunks(file, delimiter):
    import pandas as pd

    reader = pd.read_csv(
        file, sep=delimiter, dtype=str, keep_default_na=False, chunksize=10_000, engine="c", index_col=False
    )
    for frame in reader:
        yield [frame[name].tolist() for name in frame]


def pyarrow_chunks(file, delimiter):
    import pyarrow as pa
    from pyarrow import csv

    header = file.readline().decode("utf-8-sig").strip().split(delimiter)
    reader = csv.open_csv(
        file,
        read_options=csv.ReadOptions(column_names=header, block_size=2**18),
        parse_options=csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        convert_options=csv.ConvertOptions(column_types=dict.fromkeys(header, pa.string())),
    )
    for batch in reader:
        yield [column.to_pylist() for column in batch.columns]


def polars_chunks(file, delimiter):
    import polars as pl

    try:
        frame = pl.scan_csv(file, separator=delimiter, infer_schema=False, empty_string_is_null=False)
        for batch in frame.collect_batches(chunk_size=10_000):
            yield [column.to_list() for column in batch.get_columns()]
    except pl.exceptions.PolarsError as error:
        raise ValueError(str(error)) from None


def numpy_npz(source, *, on_error="raise"):
    """Whole arrays by `numpy.load`, in the place of streams."""
    with source.open_seekable() as file, np.load(file, allow_pickle=False) as archive:
        data = dict(archive)
    ends = data["text_ends"].tolist()
    letters = data["text"].tobytes()
    texts = [letters[a:b].decode("utf-8", "surrogatepass") for a, b in zip([0, *ends], ends, strict=False)]

    class Texts:
        def lookup(self, code, _):
            return None if code < 0 else texts[code]

    counts = {key: data[key] for key in arrays.COUNTS}
    ends = {key: np.cumsum(sizes) for key, sizes in arrays._sizes(counts).items()}

    def rows():
        for index in range(len(data["num_nodes"])):
            row = {key: data[key][index].item() for key in (*arrays.COUNTS, *arrays.FLAGS)}
            for key in arrays.LONG:
                row[key] = data[key][ends[key][index - 1] if index else 0 : ends[key][index]]
            yield f"{source}, graph {index}", None, row

    def build(row):
        return graph_of_row(arrays._with_texts(row, Texts()))

    yield from each_record(rows(), build, on_error)


def reader_of(name, reader):
    def put():
        FORMATS[name] = replace(FORMATS[name], reader=reader)

    return put


def in_module(value, name, *modules):
    def put():
        for module in modules:
            setattr(module, name, value)

    return put


LIBRARIES = {
    "ijson": ("json", in_module(ijson_graphs, "json_graphs", node_link)),
    "lxml, GraphML": ("graphml", in_module(lxml_events, "xml_events", graphml, gexf)),
    "defusedxml, GraphML": ("graphml", in_module(defusedxml_events, "xml_events", graphml, gexf)),
    "networkx, GraphML": ("graphml", reader_of("graphml", by_networkx(networkx_graphml))),
    "networkx, GEXF": ("gexf", reader_of("gexf", by_networkx(networkx_gexf))),
    "networkx, GML": ("gml", reader_of("gml", by_networkx(networkx_gml))),
    "networkx, graph6": ("graph6", reader_of("graph6", networkx_graph6)),
    "networkx, edge list": ("edge-list", reader_of("edge-list", by_networkx(networkx_edge_list))),
    "numpy.loadtxt, TU": ("tu", in_module(tu_numbers(numpy_numbers), "_numbers", tu_tables.Rows)),
    "pandas, TU": ("tu", in_module(tu_numbers(pandas_numbers), "_numbers", tu_tables.Rows)),
    "pyarrow, TU": ("tu", in_module(tu_numbers(pyarrow_numbers), "_numbers", tu_tables.Rows)),
    "PyTorch Geometric, TU": ("tu", reader_of("tu", pyg_tu)),
    "pandas, table": ("edge-table", in_module(text_rows(pandas_chunks), "_text_rows", tables)),
    "pyarrow, table": ("edge-table", in_module(text_rows(pyarrow_chunks), "_text_rows", tables)),
    "polars, table": ("edge-table", in_module(text_rows(polars_chunks), "_text_rows", tables)),
    "numpy.load, npz": ("npz", reader_of("npz", numpy_npz)),
}
"""What to measure: the format that shows it, and what puts the library in place."""


MOST_MEMORY = 6 * 2**30


def put(name):
    """Put a library in place, and bound the memory of this process: not all libraries bound their own."""
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    LIBRARIES[name][1]()


def pytest_configure():
    put(os.environ["GRNF_LIBRARY"])
