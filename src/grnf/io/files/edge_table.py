"""Tables of edges, CSV or Parquet: graph_id, source, target and attributes. A second table for nodes.

Without a column of graphs the table is one graph. Ids of nodes may repeat from graph to graph. Isolated nodes
and node attributes need the node table: a file NAME.nodes.csv next to NAME.csv, or another one. A column
"directed" of the edges is their direction. Rows go through a temporary database, which gives those of a graph
together, so that tables of any length and order can be read. When tables are written, rows wait in a
temporary file, since the columns are known only after the last graph.
"""

from __future__ import annotations

import csv
import json
import os
import re
import sqlite3
import tempfile
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from io import TextIOWrapper
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import IO, Any, TypeAlias, cast

from grnf._utils.lazy import guest
from grnf.errors import GraphError
from grnf.io.files.file import File, OnError, each_record, open_sink
from grnf.io.files.tables import (
    DECIMAL_COMMA,
    SOURCE_NAMES,
    TARGET_NAMES,
    Rows,
    cell,
    find_column,
    is_parquet,
    table_of,
    usual_column,
)
from grnf.io.files.values import graph_of_columns, plain_tables
from grnf.io.raw import BadGraph, RawGraph

GRAPH_NAMES = ("graph_id", "graph", "graphid", "graph_indicator")
NODE_NAMES = ("node", "node_id", "nodeid", "id")
DIRECTED = "directed"
ONLY = ""
"""The id of a graph that has none."""
Sides: TypeAlias = dict[int, Rows]
"""The rows of a graph: of nodes (0) and of edges (1)."""


def node_table(path: Path) -> Path:
    """Return the path of the node table of a table of edges."""
    inner = Path(path.stem) if path.suffix.lower() == ".gz" else Path(path.name)
    return path.with_name(f"{inner.stem}.nodes{path.name[len(inner.stem) :]}")


def is_node_table(path: Path) -> bool:
    """Whether this is the node table of a table of edges in the same folder."""
    before, dot, after = path.name.rpartition(".nodes.")
    return bool(dot) and bool(before) and path.with_name(f"{before}.{after}").is_file()


TRUTH = {"true": True, "1": True, "1.0": True, "false": False, "0": False, "0.0": False}
TRUTH |= {"directed": True, "undirected": False}
GEPHI = ("type", "id")
"""Columns of Gephi with the direction and the number of an edge, in lower or upper case."""


class _Table:
    """One of the two tables: the columns of its roles, and its rows by graph."""

    def __init__(self, file: File, roles: Mapping[str, tuple[str | None, Sequence[str]]]) -> None:
        self.table = table_of(file)
        self.table.check_names()
        names = self.table.columns
        self.roles = {
            role: find_column(names, given, usual, role, file)
            for role, (given, usual) in roles.items()
            if role != "graph" or given is not None or usual_column(names, usual)
        }
        self.is_one = "graph" not in self.roles
        """Whether the table is one graph, since it has no column of graphs."""
        if DIRECTED in names and "source" in roles:
            self.roles[DIRECTED] = DIRECTED
        head = self.table.head.columns if self.table.head is not None else {}
        kind, number = (usual_column(names, (name,)) for name in GEPHI)
        kinds = {str(value).lower() for value in head.get(kind or "", ())}
        if "source" in roles and kind and kinds and kinds <= {"directed", "undirected"}:
            self.roles |= {DIRECTED: kind} | ({"edge": number} if number else {})

    def runs(self, on_error: OnError) -> Iterator[tuple[str, Rows]]:
        """Yield ids of graphs, each with rows that follow each other.

        A row without an id belongs to the graph before it, or to the first one, and makes it a bad graph.
        """
        current: str | None = None
        for rows in self.table.blocks():
            ids: list[str | None] = [ONLY] * len(rows)
            if not self.is_one:
                ids = [_identifier(value) for value in rows.columns[self.roles["graph"]]]
                current = current or next(filter(None, ids), ONLY)
            for row, graph_id in enumerate(ids):
                if graph_id is None:
                    rows.problems.setdefault(row, f"no id of a graph in column {self.roles['graph']!r}")
                    ids[row] = current
                current = ids[row]
            if on_error == "raise":
                rows.refuse_problems()
            for name, run in groupby(range(len(rows)), key=ids.__getitem__):
                own = list(run)
                yield name or ONLY, rows.part(own[0], own[-1] + 1)

    def names(self, rows: Rows, role: str) -> list[str]:
        """Return the ids of nodes in a column. Texts are compared unchanged."""
        names = [_identifier(value) for value in rows.columns[self.roles[role]]]
        if None in names:
            where = rows.where(names.index(None))
            raise GraphError(f"no node in column {self.roles[role]!r}", where=where)
        return cast("list[str]", names)

    def direction(self, rows: Rows) -> bool | None:
        """Return whether the edges are directed, if their rows tell."""
        column = self.roles.get(DIRECTED)
        values = [] if column is None else [cell(value) for value in rows.columns[column]]
        directions = set()
        for row, value in enumerate(values):
            if value is not None and str(value).lower() not in TRUTH:
                problem = f"column {column!r} must be true or false, got {value!r:.40}"
                raise GraphError(problem, where=rows.where(row))
            directions.add(None if value is None else TRUTH[str(value).lower()])
        if {True, False} <= directions:
            raise GraphError(
                "one graph has directed and undirected edges",
                cure="Write undirected edges as two directed ones",
            )
        return next((truth for truth in directions if truth is not None), None)

    def attributes(self, rows: Rows) -> dict[str, list[Any]]:
        """Return the other columns that have a name."""
        roles = {*self.roles.values(), *self.table.unnamed}
        known = {name: list(map(cell, values)) for name, values in rows.columns.items() if name not in roles}
        for name in [name for name in known if name.lower() == "weight"]:
            for row, value in enumerate(known[name]):
                if isinstance(value, str) and DECIMAL_COMMA.match(value):
                    problem = f"the weight {value!r} is not a number"
                    cure = "Pass decimal=',' (--decimal ,)"
                    raise GraphError(problem, where=rows.where(row), cure=cure)
        return known


def _identifier(value: Any) -> str | None:
    return None if value is None or value == "" or isinstance(value, (list, dict)) else str(value)


def read_edge_table(
    file: File,
    *,
    nodes: str | os.PathLike[str] | None = None,
    directed: bool = False,
    graph_id: str | None = None,
    source_column: str | None = None,
    target_column: str | None = None,
    node_column: str | None = None,
    on_error: OnError = "raise",
) -> Iterator[RawGraph | BadGraph]:
    """Yield the graphs of a table of edges, in the order in which the table of nodes, or else it, names them.

    The table of `nodes` has the id of the graph, of the node, and attributes. By default it is NAME.nodes.csv
    next to NAME.csv if that exists (.tsv or .parquet like the table of edges). A column "directed" comes
    before the option. The other options name columns that do not have usual names.
    """
    graph_role = (graph_id, GRAPH_NAMES)
    ends = {"source": (source_column, SOURCE_NAMES), "target": (target_column, TARGET_NAMES)}
    if nodes is None and node_table(file.path).is_file():
        nodes = node_table(file.path)
    with ExitStack() as stack:
        tables: dict[int, _Table] = {}
        if nodes is not None:
            node_file = stack.enter_context(file.at(nodes, name=str(nodes), header=None).reopenable())
            tables[0] = _Table(node_file, {"graph": graph_role, "node": (node_column, NODE_NAMES)})
        tables[1] = _Table(file, {"graph": graph_role, **ends})
        if len({table.is_one for table in tables.values()}) > 1:
            problem = "of its tables of edges and of nodes, only one has a column of graphs"
            raise GraphError(problem, where=str(file))

        def build(graph: tuple[str, Sides]) -> RawGraph:
            name, sides = graph
            try:
                for rows in sides.values():
                    rows.refuse_problems()
                if 0 in tables and 0 not in sides:
                    raise GraphError("this graph is not in the table of nodes")
                rows = sides.get(1) or Rows(str(file), [], {key: [] for key in tables[1].table.columns}, {})
                towards = tables[1].direction(rows)
                return graph_of_columns(
                    tables[0].names(sides[0], "node") if 0 in tables else [],
                    tables[0].attributes(sides[0]) if 0 in tables else {},
                    zip(tables[1].names(rows, "source"), tables[1].names(rows, "target"), strict=True),
                    tables[1].attributes(rows),
                    directed=directed if towards is None else towards,
                    graph_id=name or None,
                    new_nodes=0 not in tables,
                )
            except GraphError as error:
                if error.where:  # a row that is known
                    raise
                place = sides[max(sides)].where(0) if sides else str(file)
                raise error.located(where=f"{place}, graph {name!r}" if name else place) from None

        runs = ((side, *run) for side, table in tables.items() for run in table.runs(on_error))
        graphs: Iterator[tuple[str, Sides]] = stack.enter_context(closing(_by_graph(runs)))
        if tables[1].is_one:  # also if there is no row at all
            graphs = iter([next(graphs, (ONLY, {}))])
        yield from each_record((("", name or None, (name, sides)) for name, sides in graphs), build, on_error)


def _by_graph(runs: Iterable[tuple[int, str, Rows]]) -> Generator[tuple[str, Sides]]:
    """Yield the rows of each graph, graphs as they are met first, from runs of rows, which wait on disk.

    A run has its side, the id of its graph, and its rows.
    """
    with closing(sqlite3.connect("", isolation_level=None)) as database:
        try:
            database.executescript(
                "PRAGMA journal_mode = OFF; BEGIN;"
                "CREATE TABLE graphs (number INTEGER PRIMARY KEY, id BLOB UNIQUE);"
                "CREATE TABLE runs (number INTEGER, side INTEGER, rows TEXT)"
            )
            for side, name, rows in runs:
                key = name.encode("utf-8", "surrogatepass")
                content = [rows.title, list(rows.places), rows.columns, list(rows.problems.items())]
                database.execute("INSERT OR IGNORE INTO graphs (id) VALUES (?)", (key,))
                database.execute(
                    "INSERT INTO runs SELECT number, ?, ? FROM graphs WHERE id = ?",
                    (side, json.dumps(content, default=str), key),
                )
            query = (
                "SELECT id, side, rows FROM runs JOIN graphs USING (number) ORDER BY number, side, runs.rowid"
            )
            for key, group in groupby(database.execute(query), key=itemgetter(0)):
                sides: Sides = {}
                for _, side, text in group:
                    title, places, columns, problems = json.loads(text)
                    kept: Any = sides.setdefault(side, Rows(title, [], {name: [] for name in columns}, {}))
                    kept.problems.update((len(kept) + row, problem) for row, problem in problems)
                    kept.places.extend(places)
                    for name, values in columns.items():
                        kept.columns[name].extend(values)
                yield key.decode("utf-8", "surrogatepass"), sides
        except sqlite3.Error as error:
            raise GraphError(f"the temporary database for the rows of a table failed: {error}") from None


GRAPH, SOURCE, TARGET, NODE = GRAPH_NAMES[0], SOURCE_NAMES[0], TARGET_NAMES[0], NODE_NAMES[0]
ROWS_AT_ONCE = 2**16
FORBIDDEN = re.compile("[\t;,\r\n]")
ARROW_TYPES = (({bool}, "bool"), ({int}, "int64"), ({int, float}, "double"))


def changed_in_tables(graph: RawGraph) -> list[str]:
    """Name the columns that come back as something else: texts that look like numbers, mixed values."""
    return [
        f"{item} attribute {name!r}"
        for item, columns in (("node", graph.node_columns), ("edge", graph.edge_columns))
        for name, values in columns.items()
        if values.dtype == object and not all(map(_stays, values.tolist()))
    ]


def _stays(value: Any) -> bool:
    if isinstance(value, str):
        return "\r" not in value and _encodes(value) and cell(value) == value
    return value is None or type(value) in (int, float)


def _encodes(text: str) -> bool:
    try:
        return bool(text.encode())
    except UnicodeEncodeError:
        return False


class PendingRows:
    """Rows to write, in a temporary file, and the types of values in each column."""

    def __init__(self, stack: ExitStack, columns: Sequence[str]) -> None:
        self.file = stack.enter_context(tempfile.TemporaryFile("w+", encoding="utf-8"))  # noqa: SIM115
        self.kinds: dict[str, set[type]] = {name: set() for name in columns}

    def add(self, row: dict[str, Any], columns: Sequence[str] = ()) -> None:
        """Add a row: its values that are not missing, and the columns that it may have."""
        for name in (*columns, *row):
            self.kinds.setdefault(name, set())
        for name, value in row.items():
            self.kinds[name].add(type(value))
        self.file.write(json.dumps(row) + "\n")

    def write(self, path: Path) -> None:
        """Write all rows as CSV, TSV or Parquet by the suffix."""
        self.file.seek(0)
        rows = map(json.loads, self.file)
        with open_sink(path) as file:
            if is_parquet(File(path)):
                self._write_parquet(file, rows)
                return
            inner = path.with_suffix("") if path.suffix.lower() == ".gz" else path
            text = TextIOWrapper(cast("Any", file), encoding="utf-8", newline="")
            mark = "\t" if inner.suffix.lower() == ".tsv" else ","
            table = csv.DictWriter(text, list(self.kinds), delimiter=mark, lineterminator="\n")
            table.writeheader()
            try:
                table.writerows({name: _plain(value) for name, value in row.items()} for row in rows)
            except (UnicodeEncodeError, csv.Error) as error:
                raise GraphError(f"a text cannot be written: {error}") from None
            text.flush()
            text.detach()

    def _write_parquet(self, file: IO[bytes], rows: Iterator[dict[str, Any]]) -> None:
        pa, parquet = guest("pyarrow", "Parquet files"), guest("pyarrow.parquet", "Parquet files")

        types = {
            name: next((kind for known, kind in ARROW_TYPES if own and own <= known), "string")
            for name, own in self.kinds.items()
        }
        schema = pa.schema([(name, pa.type_for_alias(kind)) for name, kind in types.items()])
        with parquet.ParquetWriter(file, schema, compression="zstd") as writer:
            while block := list(islice(rows, ROWS_AT_ONCE)):
                for row in block:
                    row.update((name, str(_plain(row[name]))) for name in row if types[name] == "string")
                    row.update((name, float(row[name])) for name in row if types[name] == "double")
                try:
                    writer.write_table(pa.Table.from_pylist(block, schema=schema))
                except (pa.ArrowException, UnicodeEncodeError) as error:
                    raise GraphError(f"a column does not fit in Parquet: {error}") from None


def _plain(value: Any) -> Any:
    """Truth becomes 1 and 0, lists and the like their JSON."""
    if isinstance(value, bool):
        return int(value)
    return json.dumps(value) if isinstance(value, (list, dict)) else value


def write_edge_table(path: Path, graphs: Iterable[RawGraph]) -> None:
    """Write NAME.csv (graph_id, source, target, ...) and NAME.nodes.csv (graph_id, node, ...).

    Nodes are called 0 .. n - 1. A column "directed" is there if a graph is directed. Vectors become columns.
    """
    known: set[str] = set()
    with ExitStack() as stack:
        nodes, edges = PendingRows(stack, (GRAPH, NODE)), PendingRows(stack, (GRAPH, SOURCE, TARGET))
        for index, graph in enumerate(graphs):
            name = str(graph.graph_id) if graph.graph_id not in (None, "") else str(index)
            if not graph.n_nodes:
                problem = f"graph {index} has no nodes, so a table has no row for it"
                raise GraphError(problem, cure="Write Parquet")
            if name in known:
                raise GraphError(
                    f"graph {index}: an earlier graph is called {name!r} too, and ids tell them apart"
                )
            known.add(name)
            tables = plain_tables(graph, "a table of edges", (GRAPH, NODE), (GRAPH, SOURCE, TARGET, DIRECTED))
            for column in (column for columns, _ in tables.values() for column in columns):
                if not column or column != column.strip() or not _encodes(column) or FORBIDDEN.search(column):
                    problem = f"the column name {column!r} cannot be written to a table header"
                    raise GraphError(problem, cure="Rename it")
            columns, rows = tables["node"]
            for node, values in enumerate(rows):
                nodes.add({GRAPH: name, NODE: node, **values}, columns)
            columns, rows = tables["edge"]
            direction = {DIRECTED: True} if graph.directed else {}
            for (source, target), values in zip(graph.edges.tolist(), rows, strict=True):
                row = {GRAPH: name, SOURCE: source, TARGET: target, **direction, **values}
                edges.add(row, [*direction, *columns])
        nodes.write(node_table(path))
        edges.write(path)
