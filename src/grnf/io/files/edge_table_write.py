"""Long tables written: the edges of all graphs in one file, their nodes in another beside it.

The columns are known only once all graphs were seen, so the rows wait in a temporary file.
"""

from __future__ import annotations

import csv
import json
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from io import TextIOWrapper
from itertools import islice
from pathlib import Path
from typing import IO, Any, cast

from grnf.errors import GraphError
from grnf.io.files.edge_table import DIRECTED, GRAPH_NAMES, NODE_NAMES, SOURCE_NAMES, TARGET_NAMES, node_table
from grnf.io.files.grouping import GraphNumbers
from grnf.io.files.parquet import guest
from grnf.io.files.streams import Source, open_sink
from grnf.io.files.tables import cell, is_parquet
from grnf.io.files.values import check_names, plain_rows
from grnf.io.raw import RawGraph

__all__ = ["Waiting", "changed_in_tables", "write_edge_table", "write_rows"]

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
        numbers = GraphNumbers()
        stack.callback(numbers.close)
        for index, graph in enumerate(graphs):
            _add(graph, index, numbers, nodes, edges)
        if bool not in edges.kinds.get(DIRECTED, set()):
            edges.kinds.pop(DIRECTED, None)
        write_rows(node_table(path), nodes.kinds, nodes.rows())
        write_rows(path, edges.kinds, edges.rows())


def _add(graph: RawGraph, index: int, numbers: GraphNumbers, nodes: Waiting, edges: Waiting) -> None:
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
        if is_parquet(Source(path)):
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
