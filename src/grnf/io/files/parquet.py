"""Parquet with one row per graph: files of `write_graphs` and Hugging Face graph datasets."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import accumulate, pairwise
from typing import IO, Any

import numpy as np

from grnf._utils.arrays import offsets, ragged_indices
from grnf._utils.lazy import guest
from grnf._utils.memory import check_graph_memory
from grnf.errors import GraphError
from grnf.io.files.file import Block, File, OnError, each_record, one_line
from grnf.io.files.graph_rows import (
    GraphRows,
    Texts,
    graph_of_row,
    halved,
    layout_of,
    only_graph,
    row_of_graph,
)
from grnf.io.from_arrays import merged_arcs, plain_y
from grnf.io.raw import BadGraph, RawBatch, RawColumn, RawGraph, together

MATRICES = ("edge_index", "node_feat", "edge_attr")
FIELDS = ("graph_id", "directed", "num_nodes", *MATRICES, "node_text", "edge_text", "y", "grnf_columns")
ROWS_AT_ONCE, MOST_ROWS_AT_ONCE, BYTES_AT_ONCE = 256, 1024, 2**24
"""Rows that are read at a time: more if they are small."""

BUFFER = 2**20
"""Bytes of a column that are read at a time instead of a whole row group."""

GRAPHS_PER_GROUP = 10_000
NUMBERS_PER_GROUP = 10**7
"""A row group is written when it has this many graphs or numbers: some 100 MB of memory."""


def read_parquet(source: File, *, on_error: OnError = "raise") -> Iterator[RawBatch | RawGraph | BadGraph]:
    """Yield the graphs of a Parquet file, a few hundred rows in memory at a time."""
    with source.open(recode=False) as file:
        table = open_parquet(file, str(source))
        names = [name for name in FIELDS if name in table.schema_arrow.names]
        if "edge_index" not in names:
            raise GraphError(
                f"{source} has no column edge_index. Available: {table.schema_arrow.names}",
                cure="For SMILES or a table of edges use format='smiles' or format='edge-table'",
            )
        for first, batch in batches(table, names, source):
            yield from _graphs(batch, str(source), first, on_error)


def graphs_of_rows(batch: Any, name: str, first: int, on_error: OnError) -> Block:
    """Return the graphs of a record batch of `name`, whose rows are counted from `first`."""
    graphs = _graphs(batch, name, first, on_error)
    return together([graph if isinstance(graph, RawBatch) else [graph] for graph in graphs])


def _graphs(batch: Any, name: str, first: int, on_error: OnError) -> Iterator[RawBatch | RawGraph | BadGraph]:
    is_own = "grnf_columns" in batch.schema.names

    def some(start: int, stop: int) -> RawBatch:
        rows = batch.slice(start, stop - start)
        return _own_rows(rows).batch() if is_own else _other_graphs(rows)

    def single(row: int) -> Iterator[RawGraph | BadGraph]:
        values, graph_id = None, None
        try:
            values = batch.slice(row, 1).to_pylist()[0]
            graph_id = None if values.get("graph_id") is None else str(values["graph_id"])
        except (ValueError, NotImplementedError, OverflowError) as error:
            values = GraphError(f"a value that cannot be read: {one_line(error)}")

        def build(values: dict[str, Any]) -> RawGraph:
            return only_graph(lambda: _own_rows(batch.slice(row, 1))) if is_own else graph_of_row(values)

        return each_record([(f"{name}, row {first + row}", graph_id, values)], build, on_error, first + row)

    return halved(some, single, 0, batch.num_rows)


def _own_rows(batch: Any) -> GraphRows:
    """Return rows with `grnf_columns`. Other programs may have changed the types of lists without entries."""
    columns = {field.name: batch.column(field.name).cast(field.type) for field in _schema()}
    if any(columns[name].null_count for name in FIELDS if name != "graph_id"):
        raise GraphError("a value is missing")
    n_nodes = columns["num_nodes"].to_numpy()
    arcs, n_arcs = _arcs(columns["edge_index"])
    return GraphRows(
        [layout_of(text) for text in columns["grnf_columns"].to_pylist()],
        n_nodes,
        n_arcs,
        arcs,
        _numbers(columns["node_feat"], n_nodes),
        _numbers(columns["edge_attr"], n_arcs),
        _texts(columns["node_text"]),
        _texts(columns["edge_text"]),
        columns["directed"].to_numpy(zero_copy_only=False),
        columns["graph_id"].to_pylist(),
        np.diff(columns["y"].offsets.to_numpy()),
        columns["y"].flatten().to_numpy(zero_copy_only=False),
    )


def _other_graphs(batch: Any) -> RawBatch:
    """Return the graphs of rows as in Hugging Face datasets, which do not tell the direction."""
    columns = {name: batch.column(name) for name in batch.schema.names}
    given = columns["num_nodes"]
    if "directed" in columns or given.null_count or columns["edge_index"].null_count:
        raise GraphError("a value is missing, or the direction is there")
    arcs, n_arcs = _arcs(columns["edge_index"])
    n_nodes = (given.flatten() if hasattr(given, "flatten") else given).to_numpy().astype(np.int64)
    counts = {"node_feat": n_nodes, "edge_attr": n_arcs}
    values = {name: _numbers(columns[name], counts[name]) for name in counts if name in columns}
    node_columns, edge_columns = (
        {column: RawColumn(values[name])} if name in values and values[name].size else {}
        for name, column in (("node_feat", "x"), ("edge_attr", "edge_attr"))
    )
    if (
        len(n_nodes) != len(n_arcs)
        or (n_nodes < 0).any()
        or any(np.isinf(own).any() for own in values.values())
    ):
        raise GraphError("a number of nodes or an infinite number")
    check_graph_memory(int(n_nodes.max()), int(n_arcs.max()))
    nothing, y, ids = [None] * len(n_arcs), columns.get("y"), columns.get("graph_id")
    return merged_arcs(
        RawBatch(
            offsets(n_nodes),
            offsets(n_arcs),
            arcs,
            node_columns,
            edge_columns,
            np.ones(len(n_arcs), np.bool_),
            nothing if ids is None else [None if name is None else str(name) for name in ids.to_pylist()],
            nothing if y is None else [plain_y(value) for value in y.to_pylist()],
        )
    )


def _arcs(column: Any) -> tuple[Any, Any]:
    """Return the arcs of rows, one after the other, and how many each has."""
    index, widths = _lists(column)
    if (np.diff(column.offsets.to_numpy()) != 2).any() or (widths[0::2] != widths[1::2]).any():
        raise GraphError("edge_index must be two lists of equal length")
    if index.dtype.kind != "i":
        raise GraphError("edge_index must hold whole numbers")
    ends = offsets(widths)
    sides = [index[ragged_indices(ends, np.arange(side, len(widths), 2))] for side in (0, 1)]
    return np.column_stack(sides).astype(np.int64), widths[0::2].astype(np.int64)


def _lists(column: Any) -> tuple[Any, Any]:
    """Return the entries of lists of lists one after the other, and the lengths of the inner lists."""
    inner = column.flatten()
    if inner.null_count or inner.flatten().null_count:
        raise GraphError("a value is missing")
    return inner.flatten().to_numpy(zero_copy_only=False), np.diff(inner.offsets.to_numpy())


def _numbers(column: Any, counts: Any) -> Any:
    """Return numbers, or rows of equal widths, for each node or arc."""
    if column.null_count or (np.diff(column.offsets.to_numpy()) != counts).any():
        raise GraphError("rows of several lengths")
    if not column.type.value_type.num_fields:
        return column.flatten().to_numpy()
    values, widths = _lists(column)
    if len(set(widths.tolist())) > 1:
        raise GraphError("rows of several widths")
    return values.reshape(len(widths), int(widths[0]) if len(widths) else 0)


def _texts(column: Any) -> Texts:
    encoded = column.flatten().flatten().dictionary_encode()
    return Texts(encoded.indices.fill_null(-1).to_numpy().astype(np.int64), encoded.dictionary.to_pylist())


def open_parquet(file: IO[bytes], name: str) -> Any:
    """Open a Parquet file with pyarrow."""
    parquet = guest("pyarrow.parquet", "Parquet files")
    try:
        return parquet.ParquetFile(file, buffer_size=BUFFER)
    except (ValueError, OSError, KeyError, NotImplementedError, MemoryError) as error:
        raise GraphError(f"no Parquet file, or a damaged one: {one_line(error)}", where=name) from None


def batches(table: Any, names: list[str], source: File) -> Iterator[tuple[int, Any]]:
    """Yield record batches of some columns and of the selected rows, each with its first row number."""
    first = 0 if source.rows is None else source.rows[0]
    try:
        size = sum(table.metadata.row_group(number).total_byte_size for number in range(table.num_row_groups))
        fitting = BYTES_AT_ONCE * table.metadata.num_rows // max(size, 1)
        rows = min(max(ROWS_AT_ONCE, fitting), MOST_ROWS_AT_ONCE)
        groups, skip, count = _groups_of_rows(table.metadata, source.rows)
        for batch in table.iter_batches(batch_size=rows, row_groups=groups, columns=names, use_threads=False):
            before = min(skip, batch.num_rows)
            selected = batch.slice(before, count)
            skip, count = skip - before, count - selected.num_rows
            if selected.num_rows:
                yield first, selected
                first += selected.num_rows
    except (ValueError, OSError, KeyError, NotImplementedError, IndexError, MemoryError) as error:
        raise GraphError(f"damaged Parquet file: {one_line(error)}", where=str(source)) from None


def _groups_of_rows(metadata: Any, rows: tuple[int, int] | None) -> tuple[list[int], int, int]:
    """Return the row groups that hold these rows, how many to skip in the first, and how many to take."""
    if rows is None:
        return list(range(metadata.num_row_groups)), 0, sys.maxsize
    first, count = rows
    sizes = (metadata.row_group(number).num_rows for number in range(metadata.num_row_groups))
    bounds = list(pairwise(accumulate(sizes, initial=0)))
    groups = [n for n, (start, end) in enumerate(bounds) if start < first + count and end > first]
    return groups, first - bounds[groups[0]][0] if groups else 0, count


def write_parquet(file: IO[bytes], graphs: Iterable[RawGraph]) -> None:
    """Write one row per graph, row group by row group."""
    schema, parquet = _schema(), guest("pyarrow.parquet", "Parquet files")
    with parquet.ParquetWriter(file, schema, compression="zstd") as writer:
        for group in _groups(map(row_of_graph, graphs)):
            writer.write_table(_table(group, schema))


def _groups(rows: Iterable[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    group: list[dict[str, Any]] = []
    numbers = 0
    for row in rows:
        group.append(row)
        numbers += row["edge_index"].size + row["node_feat"].size + row["edge_attr"].size
        numbers += sum(map(len, row["node_text"])) + sum(map(len, row["edge_text"]))
        if len(group) >= GRAPHS_PER_GROUP or numbers >= NUMBERS_PER_GROUP:
            yield group
            group, numbers = [], 0
    if group:
        yield group


@cache
def _schema() -> Any:
    import pyarrow as pa

    integers, reals, texts = (pa.list_(pa.list_(kind)) for kind in (pa.int64(), pa.float64(), pa.string()))
    types = {
        **dict.fromkeys(("graph_id", "grnf_columns"), pa.string()),
        **dict.fromkeys(("node_feat", "edge_attr"), reals),
        **dict.fromkeys(("node_text", "edge_text"), texts),
        "directed": pa.bool_(),
        "num_nodes": pa.int64(),
        "edge_index": integers,
        "y": pa.list_(pa.float64()),
    }
    return pa.schema([(name, types[name]) for name in FIELDS], metadata={"grnf.format": "1"})


def _table(rows: list[dict[str, Any]], schema: Any) -> Any:
    import pyarrow as pa

    arrays = []
    for field in schema:
        values = [row[field.name] for row in rows]
        if field.name in MATRICES:
            arrays.append(_nested(values, field.type))
        else:
            try:
                arrays.append(pa.array(values, type=field.type))
            except (pa.ArrowException, UnicodeEncodeError) as error:
                raise GraphError(f"{field.name} does not fit in Parquet: {error}") from None
    return pa.Table.from_arrays(arrays, schema=schema)


def _nested(matrices: list[Any], kind: Any) -> Any:
    """Return matrices as lists of lists: the numbers once, and where each row and each matrix begins."""
    import pyarrow as pa

    rows = [len(matrix) for matrix in matrices]
    widths = np.concatenate([np.full(len(matrix), matrix.shape[1]) for matrix in matrices])
    flat = np.concatenate([matrix.ravel() for matrix in matrices])
    if max(len(flat), sum(rows)) >= 2**31:
        raise GraphError(
            "one graph has more numbers than a Parquet row group of lists holds", cure="Write npz"
        )
    inner = pa.ListArray.from_arrays(
        pa.array(np.concatenate([[0], np.cumsum(widths)]).astype(np.int32)),
        pa.array(flat, type=kind.value_type.value_type),
    )
    return pa.ListArray.from_arrays(pa.array([0, *accumulate(rows)], type=pa.int32()), inner)
