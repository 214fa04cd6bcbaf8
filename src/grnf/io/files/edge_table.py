"""Long tables of edges, CSV or Parquet: graph_id, source, target and attributes; a second table for nodes.

Without a column of graphs the table is one graph. Ids of nodes may repeat from graph to graph. Isolated nodes
and node attributes need the node table: a file NAME.nodes.csv next to NAME.csv, or another one. A column
"directed" of the edges is their direction. A first pass over the ids tells whether the rows of each graph
stand together, and both tables have the graphs in one order; rows that do not are sorted on disk, so that
tables of any length and order can be read. When tables are written, rows wait in a temporary file, since the
columns are known only once all graphs were seen.
"""

from __future__ import annotations

import csv
import json
import os
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from io import TextIOWrapper
from itertools import groupby, islice
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

from grnf.errors import GraphError
from grnf.io.files.file import File, OnError, each_record, open_sink
from grnf.io.files.parquet import guest
from grnf.io.files.tables import Row, cell, find_column, is_parquet, table_of
from grnf.io.files.values import check_names, graph_of_rows, plain_rows
from grnf.io.raw import BadGraph, RawGraph

__all__ = [
    "SOURCE_NAMES",
    "TARGET_NAMES",
    "Waiting",
    "changed_in_tables",
    "is_node_table",
    "node_table",
    "read_edge_table",
    "write_edge_table",
    "write_rows",
]

GRAPH_NAMES = ("graph_id", "graph", "graphid", "graph_indicator")
SOURCE_NAMES = ("source", "src", "from", "source_id", "u")
TARGET_NAMES = ("target", "dst", "to", "target_id", "v", "destination")
NODE_NAMES = ("node", "node_id", "nodeid", "id")
DIRECTED = "directed"
ONLY = ""
"""The id of a graph that has none."""


def node_table(path: Path) -> Path:
    """Return where the node table of a table of edges stands, if there is one.

    Examples
    --------
    >>> print(node_table(Path("trees.csv.gz")))
    trees.nodes.csv.gz
    """
    inner = Path(path.stem) if path.suffix.lower() == ".gz" else Path(path.name)
    return path.with_name(f"{inner.stem}.nodes{path.name[len(inner.stem) :]}")


def is_node_table(path: Path) -> bool:
    """Whether this is the node table of a table of edges beside it."""
    before, dot, after = path.name.rpartition(".nodes.")
    return bool(dot) and bool(before) and path.with_name(f"{before}.{after}").is_file()


TRUTH = {"true": True, "1": True, "1.0": True, "false": False, "0": False, "0.0": False}


class _Part(NamedTuple):
    """The rows of one graph in one table."""

    number: int
    graph_id: str
    rows: list[Row]


class _Table:
    """A table whose rows belong to graphs."""

    def __init__(
        self, file: File, roles: Mapping[str, tuple[str | None, Sequence[str]]], on_error: OnError
    ) -> None:
        self.table = table_of(file)
        self.table.check_names()
        self.on_error = on_error
        self.ordered = True
        names = self.table.columns
        self.columns = {
            role: find_column(names, given, usual, role, file)
            for role, (given, usual) in roles.items()
            if role != "graph" or given is not None or _usual(names, usual)
        }
        if DIRECTED in names and "source" in roles:
            self.columns[DIRECTED] = DIRECTED

    def survey(self, numbers: _GraphNumbers) -> None:
        """Give numbers to the graphs, and see whether they stand in that order, each in one piece."""
        last = -1
        for graph_id, _ in groupby(self._rows(only_ids=True), key=lambda pair: pair[0]):
            number = numbers.add(graph_id)
            self.ordered &= number > last
            last = number

    def parts(self, numbers: _GraphNumbers) -> Iterator[_Part]:
        """Yield the rows of each graph, graphs in the order of their numbers."""
        if self.ordered:
            for graph_id, group in groupby(self._rows(), key=lambda pair: pair[0]):
                yield _Part(numbers.add(graph_id), graph_id, [row for _, row in group])
            return
        rows = ((numbers.add(graph_id), graph_id, row) for graph_id, row in self._rows())
        for number, together in groupby(_sorted_rows(rows), key=lambda entry: entry[0]):
            entries = list(together)
            yield _Part(number, entries[0][1], [row for _, _, row in entries])

    def _rows(self, *, only_ids: bool = False) -> Iterator[tuple[str, Row]]:
        """Yield rows with the ids of their graphs.

        A row without an id, which only on_error="yield" lets through, counts to the graph before it, or to
        the first one.
        """
        current: str | None = None
        waiting: Row | None = None
        for row in self.table.rows([next(iter(self.columns.values()))] if only_ids else None):
            graph_id = ONLY if self.is_one else _identifier(row.values.get(self.columns["graph"]))
            if graph_id is None and not row.problem:
                row = row._replace(problem=f"no id of a graph in column {self.columns['graph']!r}")
            if row.problem and self.on_error == "raise":
                raise GraphError(row.problem, where=row.where)
            current = graph_id if graph_id is not None else current
            if current is None:
                waiting = waiting or row
                continue
            if waiting is not None:
                yield current, waiting
                waiting = None
            yield current, row
        if waiting is not None:
            yield ONLY, waiting

    @property
    def is_one(self) -> bool:
        """Whether the table is one graph, having no column of graphs."""
        return "graph" not in self.columns

    def role(self, row: Row, role: str) -> str:
        """Return the id of a node; texts are compared as they stand."""
        if row.problem:
            raise GraphError(row.problem, where=row.where)
        name = _identifier(row.values[self.columns[role]])
        if name is None:
            raise GraphError(f"no node in column {self.columns[role]!r}", where=row.where)
        return name

    def direction(self, row: Row) -> bool | None:
        """Return whether an edge is directed, where its row says so."""
        value = cell(row.values[DIRECTED]) if DIRECTED in self.columns else None
        if value is None:
            return None
        truth = str(value).lower()
        if truth not in TRUTH:
            raise GraphError(f"column 'directed' must be true or false, got {value!r:.40}", where=row.where)
        return TRUTH[truth]

    def attributes(self, row: Row) -> dict[str, Any]:
        taken = set(self.columns.values())
        return {name: cell(value) for name, value in row.values.items() if name not in taken}


def _usual(names: Sequence[str], usual: Sequence[str]) -> bool:
    return any(name.strip().lower() in usual for name in names)


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

    Parameters
    ----------
    file : File
    nodes : path, optional
        A table of nodes: the id of the graph, of the node, and attributes. By default the file NAME.nodes.csv
        beside NAME.csv, if there is one (or .tsv, .parquet, as the table of edges is).
    directed : bool, default=False
        Whether edges have a direction, where no column "directed" says so.
    graph_id, source_column, target_column, node_column : str, optional
        Names of columns, where they are not the usual ones.
    on_error : {"raise", "yield"}
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
        numbers = _GraphNumbers()
        stack.callback(numbers.close)
        table: _Table | None = None
        if nodes is not None:
            opened = stack.enter_context(file.at(nodes, name=str(nodes), header=None).reopenable())
            table = _Table(opened, {"graph": graph_role, "node": (node_column, NODE_NAMES)}, on_error)
            table.survey(numbers)
        n_listed = numbers.count
        edges = _Table(stack.enter_context(file.reopenable()), edge_roles, on_error)
        edges.survey(numbers)
        if table is not None and table.is_one != edges.is_one:
            problem = "of its tables of edges and of nodes, only one has a column of graphs"
            raise GraphError(problem, where=str(file))

        def build(pair: tuple[_Part | None, _Part | None]) -> RawGraph:
            node_part, edge_part = pair
            listed: list[tuple[str, dict[str, Any]]] = []
            if table is not None:
                if node_part is None or node_part.number >= n_listed:
                    raise GraphError("this graph is not in the table of nodes")
                listed = [(table.role(row, "node"), table.attributes(row)) for row in node_part.rows]
            rows = edge_part.rows if edge_part else []
            ends = [
                (edges.role(row, "source"), edges.role(row, "target"), edges.attributes(row)) for row in rows
            ]
            directions = {edges.direction(row) for row in rows} - {None}
            if len(directions) == 2:
                raise GraphError("directed and undirected edges in one graph; write the latter as two arcs")
            return graph_of_rows(
                listed,
                ends,
                directed=bool(directions.pop()) if directions else directed,
                graph_id=_one(pair).graph_id or None,
                new_nodes=table is None,
            )

        pairs = _joined(iter(()) if table is None else table.parts(numbers), edges.parts(numbers))
        if edges.is_one:  # also where there is no row at all
            pairs = iter([next(pairs, (None, None))])
        yield from each_record(
            ((_where(pair, file), _one(pair).graph_id or None, pair) for pair in pairs), build, on_error
        )


def _where(pair: tuple[_Part | None, _Part | None], file: File) -> str:
    """Return where a graph begins, and which it is."""
    part = pair[1] or _one(pair)
    place = part.rows[0].where if part.rows else str(file)
    return f"{place}, graph {part.graph_id!r}" if part.graph_id else place


def _one(pair: tuple[_Part | None, _Part | None]) -> _Part:
    return pair[0] or pair[1] or _Part(0, "", [])


def _joined(nodes: Iterator[_Part], edges: Iterator[_Part]) -> Iterator[tuple[_Part | None, _Part | None]]:
    """Pair the parts of two tables, both in the order of the numbers; a graph may be in one of them only."""
    node_part, edge_part = next(nodes, None), next(edges, None)
    while node_part is not None or edge_part is not None:
        number = min(part.number for part in (node_part, edge_part) if part is not None)
        of_node = node_part if node_part is not None and node_part.number == number else None
        of_edge = edge_part if edge_part is not None and edge_part.number == number else None
        yield of_node, of_edge
        node_part = next(nodes, None) if of_node is not None else node_part
        edge_part = next(edges, None) if of_edge is not None else edge_part


def _temporary_database() -> sqlite3.Connection:
    """Open a database in a file of its own that goes away with it; SQLite keeps two megabytes in memory."""
    database = sqlite3.connect("", isolation_level=None)
    database.execute("PRAGMA journal_mode = OFF")
    database.execute("BEGIN")
    return database


class _GraphNumbers:
    """The numbers of graphs, from 0 in the order in which their ids were first met.

    Examples
    --------
    >>> numbers = _GraphNumbers()
    >>> [numbers.add(name) for name in ("a", "b", "a")]
    [0, 1, 0]
    >>> numbers.close()
    """

    def __init__(self) -> None:
        self.database = _temporary_database()
        self.database.execute("CREATE TABLE graphs (number INTEGER PRIMARY KEY, id BLOB UNIQUE)")
        self.count = 0

    def add(self, graph_id: str) -> int:
        """Return the number of a graph, a new one if it has none."""
        name = _bytes(graph_id)
        if self.database.execute("INSERT OR IGNORE INTO graphs VALUES (?, ?)", (self.count, name)).rowcount:
            self.count += 1
            return self.count - 1
        (number,) = self.database.execute("SELECT number FROM graphs WHERE id = ?", (name,)).fetchone()
        return int(number)

    def close(self) -> None:
        """Forget everything."""
        self.database.close()


def _sorted_rows(rows: Iterable[tuple[int, str, Row]]) -> Iterator[tuple[int, str, Row]]:
    """Sort rows by number, those of one number in the order in which they come.

    Examples
    --------
    >>> rows = [(1, "b", Row("line 2", {"x": 1})), (0, "a", Row("line 3", {"x": None}))]
    >>> [(number, row.where) for number, _, row in _sorted_rows(rows)]
    [(0, 'line 3'), (1, 'line 2')]
    """
    with closing(_temporary_database()) as database:
        database.execute("CREATE TABLE rows (number INTEGER, id BLOB, row BLOB)")
        try:
            database.executemany(
                "INSERT INTO rows VALUES (?, ?, ?)",
                ((number, _bytes(name), _bytes(json.dumps(row, default=str))) for number, name, row in rows),
            )
            query = "SELECT number, id, row FROM rows ORDER BY number, rowid"
            for number, name, content in database.execute(query):
                yield number, name.decode("utf-8", "surrogatepass"), Row(*json.loads(content))
        except sqlite3.Error as error:
            raise GraphError(
                f"the rows of one graph do not stand together, and sorting them on disk failed: {error}"
            ) from None


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


GRAPH, SOURCE, TARGET, NODE = GRAPH_NAMES[0], SOURCE_NAMES[0], TARGET_NAMES[0], NODE_NAMES[0]
ROWS_AT_ONCE = 2**16


def changed_in_tables(graph: RawGraph) -> list[str]:
    """Name the columns that come back as something else: texts that look like numbers, mixed values.

    Examples
    --------
    >>> import numpy as np
    >>> labels, symbols = np.array(["1", "2"], dtype=object), np.array(["C", "O"], dtype=object)
    >>> changed_in_tables(RawGraph(2, np.empty((0, 2), dtype=int), {"label": labels, "symbol": symbols}))
    ['label']
    """
    columns = [*graph.node_columns.items(), *graph.edge_columns.items()]
    return [
        name for name, values in columns if values.dtype == object and not all(map(_stays, values.tolist()))
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


class Waiting:
    """Rows of a table in the making, and the types that each column was seen to have."""

    def __init__(self, file: IO[str], leading: Sequence[str]) -> None:
        self.file = file
        self.kinds: dict[str, set[type]] = {name: set() for name in leading}

    def add(self, leading: Sequence[Any], columns: Sequence[str], values: dict[str, Any]) -> None:
        """Add a row: values of the leading columns, and those of others that are not missing."""
        row = dict(zip(self.kinds, leading, strict=False))
        for name in columns:
            self.kinds.setdefault(name, set())
        row.update(values)
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
        nodes, edges = Waiting(files[0], (GRAPH, NODE)), Waiting(files[1], (GRAPH, SOURCE, TARGET))
        numbers = _GraphNumbers()
        stack.callback(numbers.close)
        for index, graph in enumerate(graphs):
            _add(graph, index, numbers, nodes, edges)
        if bool not in edges.kinds.get(DIRECTED, set()):
            edges.kinds.pop(DIRECTED, None)
        write_rows(node_table(path), nodes.kinds, nodes.rows())
        write_rows(path, edges.kinds, edges.rows())


def _add(graph: RawGraph, index: int, numbers: _GraphNumbers, nodes: Waiting, edges: Waiting) -> None:
    name = str(graph.graph_id) if graph.graph_id not in (None, "") else str(index)
    if not graph.n_nodes:
        raise GraphError(f"graph {index} has no nodes, so no row of a table can tell of it; write Parquet")
    if numbers.add(name) != index:
        raise GraphError(f"graph {index}: an earlier graph is called {name!r} too, and ids tell them apart")
    kinds, rows = plain_rows(graph.node_columns, graph.n_nodes)
    _check_names(kinds, (GRAPH, NODE))
    for node, values in enumerate(rows):
        nodes.add((name, node), kinds, values)
    kinds, rows = plain_rows(graph.edge_columns, len(graph.edges))
    _check_names(kinds, (GRAPH, SOURCE, TARGET, DIRECTED))
    direction = {DIRECTED: True} if graph.directed else {}
    for (source, target), values in zip(graph.edges.tolist(), rows, strict=True):
        edges.add((name, source, target), [*direction, *kinds], {**direction, **values})


def _check_names(names: list[str], reserved: Sequence[str]) -> None:
    check_names(names, reserved, "a table of edges")
    for name in names:
        if name != name.strip() or not _encodes(name) or set(name) & set("\t;,\r\n"):
            raise GraphError(f"a column called {name!r} cannot be written as a header of a table; rename it")


def write_rows(path: Path, kinds: dict[str, set[type]], rows: Iterator[dict[str, Any]]) -> None:
    """Write a table, as its suffix says; `kinds` has the types of values in each column."""
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

    types = {name: _arrow_type(pa, found) for name, found in kinds.items()}
    schema = pa.schema(list(types.items()))
    with parquet.ParquetWriter(file, schema, compression="zstd") as writer:
        while block := list(islice(rows, ROWS_AT_ONCE)):
            arrays = {name: _arrow_values(block, name, kind, pa) for name, kind in types.items()}
            try:
                writer.write_table(pa.table(arrays, schema=schema))
            except (pa.ArrowException, UnicodeEncodeError) as error:
                raise GraphError(f"a column does not fit in Parquet: {error}") from None


def _arrow_type(pa: Any, kinds: set[type]) -> Any:
    if kinds <= {bool} and kinds:
        return pa.bool_()
    if kinds <= {int} and kinds:
        return pa.int64()
    return pa.float64() if kinds <= {int, float} and kinds else pa.string()


def _arrow_values(block: list[dict[str, Any]], name: str, kind: Any, pa: Any) -> list[Any]:
    values = [row.get(name) for row in block]
    if kind == pa.float64():
        return [None if value is None else float(value) for value in values]
    if kind != pa.string():
        return values
    return [value if value is None or isinstance(value, str) else str(_plain(value)) for value in values]
