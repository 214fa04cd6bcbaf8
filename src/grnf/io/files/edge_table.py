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
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from io import TextIOWrapper
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import IO, Any, TypeAlias, cast

from grnf.errors import GraphError
from grnf.io.files.file import File, OnError, each_record, open_sink
from grnf.io.files.parquet import guest
from grnf.io.files.tables import (
    SOURCE_NAMES,
    TARGET_NAMES,
    Rows,
    cell,
    find_column,
    is_parquet,
    table_of,
    usual_column,
)
from grnf.io.files.values import check_names, graph_of_columns, plain_rows
from grnf.io.raw import BadGraph, RawGraph

__all__ = [
    "PendingRows", "changed_in_tables", "is_node_table", "node_table", "read_edge_table", "write_edge_table",
    "write_rows",
]  # fmt: skip

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
GEPHI = ("Type", "Id")
"""Columns of Gephi with the direction and the number of an edge."""


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
        if "source" in roles and head.get(GEPHI[0]) and {*head[GEPHI[0]]} <= {"Directed", "Undirected"}:
            self.roles |= {DIRECTED: GEPHI[0]} | ({"edge": GEPHI[1]} if GEPHI[1] in names else {})

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
        return {name: list(map(cell, values)) for name, values in rows.columns.items() if name not in roles}


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
    edge_roles = {
        "graph": graph_role,
        "source": (source_column, SOURCE_NAMES),
        "target": (target_column, TARGET_NAMES),
    }
    if nodes is None and not file.is_pipe and node_table(file.path).is_file():
        nodes = node_table(file.path)
    with ExitStack() as stack:
        node_rows: _Table | None = None
        if nodes is not None:
            node_file = stack.enter_context(file.at(nodes, name=str(nodes), header=None).reopenable())
            node_rows = _Table(node_file, {"graph": graph_role, "node": (node_column, NODE_NAMES)})
        edge_rows = _Table(stack.enter_context(file.reopenable()), edge_roles)
        if node_rows is not None and node_rows.is_one != edge_rows.is_one:
            problem = "of its tables of edges and of nodes, only one has a column of graphs"
            raise GraphError(problem, where=str(file))
        store = _RowStore(stack.enter_context(_database()))
        for side, table in enumerate((node_rows, edge_rows)):
            for name, rows in table.runs(on_error) if table is not None else ():
                store.add(name, side, rows)

        def build(graph: tuple[str, Sides]) -> RawGraph:
            name, sides = graph
            listed: list[str] | None = None
            node_columns: dict[str, list[Any]] = {}
            try:
                for rows in sides.values():
                    rows.refuse_problems()
                if node_rows is not None:
                    if 0 not in sides:
                        raise GraphError("this graph is not in the table of nodes")
                    listed = node_rows.names(sides[0], "node")
                    node_columns = node_rows.attributes(sides[0])
                rows = sides.get(1) or Rows(str(file), [], {key: [] for key in edge_rows.table.columns}, {})
                towards = edge_rows.direction(rows)
                return graph_of_columns(
                    listed or [],
                    node_columns,
                    zip(edge_rows.names(rows, "source"), edge_rows.names(rows, "target"), strict=True),
                    edge_rows.attributes(rows),
                    directed=directed if towards is None else towards,
                    graph_id=name or None,
                    new_nodes=listed is None,
                )
            except GraphError as error:
                if error.where:  # a row that is known
                    raise
                place = sides[max(sides)].where(0) if sides else str(file)
                raise error.located(where=f"{place}, graph {name!r}" if name else place) from None

        graphs = store.graphs()
        if edge_rows.is_one:  # also if there is no row at all
            graphs = iter([next(graphs, (ONLY, {}))])
        yield from each_record((("", name or None, (name, sides)) for name, sides in graphs), build, on_error)


@contextmanager
def _database() -> Iterator[sqlite3.Connection]:
    """Open a temporary database on disk."""
    with closing(sqlite3.connect("", isolation_level=None)) as database:
        try:
            database.executescript(
                "PRAGMA journal_mode = OFF; BEGIN;"
                "CREATE TABLE graphs (number INTEGER PRIMARY KEY, id BLOB UNIQUE);"
                "CREATE TABLE runs (number INTEGER, side INTEGER, title TEXT, rows TEXT)"
            )
            yield database
        except sqlite3.Error as error:
            raise GraphError(f"the temporary database for the rows of a table failed: {error}") from None


class _RowStore:
    """Rows in a database, which returns them by graph, in the order of first appearance."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self.execute = database.execute

    def is_new(self, graph_id: str) -> bool:
        """Note a graph, and return whether it is a new one."""
        name = graph_id.encode("utf-8", "surrogatepass")
        return self.execute("INSERT OR IGNORE INTO graphs (id) VALUES (?)", (name,)).rowcount > 0

    def add(self, graph_id: str, side: int, rows: Rows) -> None:
        """Add rows of a graph, side 0 for nodes and 1 for edges."""
        self.is_new(graph_id)
        content = json.dumps([list(rows.places), rows.columns, list(rows.problems.items())], default=str)
        values = (side, rows.title, content, graph_id.encode("utf-8", "surrogatepass"))
        self.execute("INSERT INTO runs SELECT number, ?, ?, ? FROM graphs WHERE id = ?", values)

    def graphs(self) -> Iterator[tuple[str, Sides]]:
        """Yield the graphs with all their rows."""
        query = (
            "SELECT graphs.id, side, title, rows FROM runs JOIN graphs USING (number) "
            "ORDER BY runs.number, side, runs.rowid"
        )
        for name, runs in groupby(self.execute(query), key=itemgetter(0)):
            sides: Sides = {}
            for _, side, title, content in runs:
                places, columns, problems = json.loads(content)
                rows: Any = sides.setdefault(side, Rows(title, [], {key: [] for key in columns}, {}))
                rows.problems.update((len(rows) + row, problem) for row, problem in problems)
                rows.places.extend(places)
                for key, values in columns.items():
                    rows.columns[key].extend(values)
            yield name.decode("utf-8", "surrogatepass"), sides


GRAPH, SOURCE, TARGET, NODE = GRAPH_NAMES[0], SOURCE_NAMES[0], TARGET_NAMES[0], NODE_NAMES[0]
ROWS_AT_ONCE = 2**16


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

    def __init__(self, file: IO[str], columns: Sequence[str]) -> None:
        self.file = file
        self.kinds: dict[str, set[type]] = {name: set() for name in columns}

    def add(self, row: dict[str, Any], columns: Sequence[str] = ()) -> None:
        """Add a row: its values that are not missing, and the columns that it may have."""
        for name in (*columns, *row):
            self.kinds.setdefault(name, set())
        for name, value in row.items():
            self.kinds[name].add(type(value))
        self.file.write(json.dumps(row) + "\n")

    def rows(self) -> Iterator[dict[str, Any]]:
        """Return all rows."""
        self.file.seek(0)
        return map(json.loads, self.file)


def write_edge_table(path: Path, graphs: Iterable[RawGraph]) -> None:
    """Write NAME.csv (graph_id, source, target, ...) and NAME.nodes.csv (graph_id, node, ...).

    Nodes are called 0 .. n - 1. A column "directed" is there if a graph is directed. Vectors become columns.
    """
    with ExitStack() as stack:
        files = [stack.enter_context(tempfile.TemporaryFile("w+", encoding="utf-8")) for _ in range(2)]
        nodes, edges = PendingRows(files[0], (GRAPH, NODE)), PendingRows(files[1], (GRAPH, SOURCE, TARGET))
        store = _RowStore(stack.enter_context(_database()))
        for index, graph in enumerate(graphs):
            name = str(graph.graph_id) if graph.graph_id not in (None, "") else str(index)
            if not graph.n_nodes:
                problem = f"graph {index} has no nodes, so a table has no row for it"
                raise GraphError(problem, cure="Write Parquet")
            if not store.is_new(name):
                raise GraphError(
                    f"graph {index}: an earlier graph is called {name!r} too, and ids tell them apart"
                )
            columns, rows = plain_rows(graph.node_columns, graph.n_nodes)
            _check_names(columns, (GRAPH, NODE))
            for node, values in enumerate(rows):
                nodes.add({GRAPH: name, NODE: node, **values}, columns)
            columns, rows = plain_rows(graph.edge_columns, len(graph.edges))
            _check_names(columns, (GRAPH, SOURCE, TARGET, DIRECTED))
            direction = {DIRECTED: True} if graph.directed else {}
            for (source, target), values in zip(graph.edges.tolist(), rows, strict=True):
                row = {GRAPH: name, SOURCE: source, TARGET: target, **direction, **values}
                edges.add(row, [*direction, *columns])
        write_rows(node_table(path), nodes.kinds, nodes.rows())
        write_rows(path, edges.kinds, edges.rows())


def _check_names(names: list[str], reserved: Sequence[str]) -> None:
    check_names(names, reserved, "a table of edges")
    for name in names:
        if not name or name != name.strip() or not _encodes(name) or set(name) & set("\t;,\r\n"):
            raise GraphError(
                f"the column name {name!r} cannot be written to a table header", cure="Rename it"
            )


def write_rows(path: Path, kinds: dict[str, set[type]], rows: Iterator[dict[str, Any]]) -> None:
    """Write CSV, TSV or Parquet by the suffix. `kinds` has the types of values in each column."""
    with open_sink(path) as file:
        if is_parquet(File(path)):
            _write_parquet(file, kinds, rows)
            return
        inner = path.with_suffix("") if path.suffix.lower() == ".gz" else path
        text = TextIOWrapper(cast("Any", file), encoding="utf-8", newline="")
        table = csv.writer(
            text, delimiter="\t" if inner.suffix.lower() == ".tsv" else ",", lineterminator="\n"
        )
        table.writerow(kinds)
        try:
            table.writerows([_plain(row.get(name)) for name in kinds] for row in rows)
        except (UnicodeEncodeError, csv.Error) as error:
            raise GraphError(f"a text cannot be written: {error}") from None
        text.flush()
        text.detach()


def _plain(value: Any) -> Any:
    """Truth becomes 1 and 0, lists and the like their JSON."""
    if isinstance(value, bool):
        return int(value)
    return json.dumps(value) if isinstance(value, (list, dict)) else value


def _write_parquet(file: IO[bytes], kinds: dict[str, set[type]], rows: Iterator[dict[str, Any]]) -> None:
    parquet = guest()
    import pyarrow as pa

    schema = pa.schema([(name, _arrow_type(pa, own)) for name, own in kinds.items()])
    with parquet.ParquetWriter(file, schema, compression="zstd") as writer:
        while block := list(islice(rows, ROWS_AT_ONCE)):
            values = [
                {field.name: _arrow_value(row.get(field.name), field.type, pa) for field in schema}
                for row in block
            ]
            try:
                writer.write_table(pa.Table.from_pylist(values, schema=schema))
            except (pa.ArrowException, UnicodeEncodeError) as error:
                raise GraphError(f"a column does not fit in Parquet: {error}") from None


def _arrow_type(pa: Any, kinds: set[type]) -> Any:
    if kinds <= {bool} and kinds:
        return pa.bool_()
    if kinds <= {int} and kinds:
        return pa.int64()
    return pa.float64() if kinds <= {int, float} and kinds else pa.string()


def _arrow_value(value: Any, kind: Any, pa: Any) -> Any:
    if value is None or isinstance(value, str):
        return value
    return float(value) if kind == pa.float64() else str(_plain(value)) if kind == pa.string() else value
