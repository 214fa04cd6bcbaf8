"""Parquet with one row per graph: files of `write_graphs` and Hugging Face graph datasets."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import accumulate, pairwise
from typing import IO, Any

import numpy as np

from grnf.errors import GraphError
from grnf.io.files.file import Block, File, OnError, each_record, one_line
from grnf.io.files.graph_rows import MISFITS, GraphRows, Texts, graph_of_row, layout_of, row_of_graph
from grnf.io.raw import BadGraph, RawBatch, RawGraph

__all__ = [
    "FIELDS", "batches", "graphs_of_rows", "guest", "open_parquet", "read_parquet", "write_parquet",
]  # fmt: skip

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
    for first, batch in _row_batches(source):
        block = _together(batch)
        yield from [block] if block is not None else _one_by_one(batch, str(source), first, on_error)


def graphs_of_rows(batch: Any, name: str, first: int, on_error: OnError) -> Block:
    """Return the graphs of a record batch of `name`, whose rows are counted from `first`."""
    return _together(batch) or list(_one_by_one(batch, name, first, on_error))


def _together(batch: Any) -> RawBatch | None:
    """Return the graphs of rows with the same `grnf_columns`, or None if they must be read one by one."""
    try:
        return _graph_rows(batch).batch()
    except (*MISFITS, NotImplementedError):
        return None


def _one_by_one(batch: Any, name: str, first: int, on_error: OnError) -> Iterator[RawGraph | BadGraph]:
    cells = {key: _cells(batch.column(key)) for key in batch.schema.names}
    places = range(batch.num_rows)
    records = ((f"{name}, row {first + row}", _graph_id(cells, row), row) for row in places)
    return each_record(records, lambda row: graph_of_row(_values(cells, row)), on_error, first)


def _values(cells: dict[str, Callable[[int], Any]], row: int) -> dict[str, Any]:
    try:
        return {name: cell(row) for name, cell in cells.items()}
    except (ValueError, NotImplementedError, OverflowError) as error:
        raise GraphError(f"a value that cannot be read: {one_line(error)}") from None


def _graph_id(cells: dict[str, Callable[[int], Any]], row: int) -> str | None:
    try:
        name = cells["graph_id"](row) if "graph_id" in cells else None
    except ValueError:  # invalid text, which `_values` reports
        name = None
    return None if name is None else str(name)


def _cells(column: Any) -> Callable[[int], Any]:
    """Return a function that returns one value: for nested lists of numbers, views of the same array."""
    from pyarrow import types

    is_nested = types.is_list(column.type) and types.is_list(column.type.value_type)
    if is_nested and types.is_primitive(column.type.value_type.value_type):
        inner = column.values
        if not (column.null_count or inner.null_count or inner.values.null_count):
            numbers = inner.values.to_numpy(zero_copy_only=False)
            return partial(_matrix, column.offsets.to_numpy(), inner.offsets.to_numpy(), numbers)
    return lambda row: column[row].as_py()


def _matrix(matrix_ends: Any, row_ends: Any, numbers: Any, index: int) -> Any:
    ends = row_ends[matrix_ends[index] : matrix_ends[index + 1] + 1]
    widths = np.diff(ends)
    if len(widths) == 0 or (widths != widths[0]).any():
        return [numbers[start:stop] for start, stop in pairwise(ends)]
    return numbers[ends[0] : ends[-1]].reshape(len(widths), widths[0])


def _row_batches(source: File) -> Iterator[tuple[int, Any]]:
    with source.open_seekable() as file:
        table = open_parquet(file, str(source))
        names = [name for name in FIELDS if name in table.schema_arrow.names]
        if "edge_index" not in names:
            raise GraphError(
                f"{source} has no column edge_index. Available: {table.schema_arrow.names}",
                cure="For SMILES or a table of edges use format='smiles' or format='edge-table'",
            )
        first = 0 if source.rows is None else source.rows[0]
        for batch in batches(table, names, source):
            yield first, batch
            first += batch.num_rows


def _graph_rows(batch: Any) -> GraphRows:
    """Return rows with `grnf_columns` column by column."""
    columns = {name: batch.column(name) for name in FIELDS}
    if any(columns[name].null_count for name in FIELDS if name != "graph_id"):
        raise GraphError("a value is missing")
    n_nodes = columns["num_nodes"].to_numpy()
    index, index_widths = _lists(columns["edge_index"])
    pairs = np.diff(columns["edge_index"].offsets.to_numpy())
    if (pairs != 2).any():
        raise GraphError("edge_index must be two lists")
    n_arcs = index_widths[0::2].astype(np.int64)
    if (index_widths[1::2] != n_arcs).any():
        raise GraphError("edge_index must be two lists of equal length")
    starts = np.repeat(np.cumsum(2 * n_arcs) - 2 * n_arcs - (np.cumsum(n_arcs) - n_arcs), n_arcs)
    source = starts + np.arange(len(starts))
    return GraphRows(
        [layout_of(text) for text in columns["grnf_columns"].to_pylist()],
        n_nodes,
        n_arcs,
        np.column_stack([index[source], index[source + np.repeat(n_arcs, n_arcs)]]),
        _numbers(columns["node_feat"], n_nodes),
        _numbers(columns["edge_attr"], n_arcs),
        _texts(columns["node_text"]),
        _texts(columns["edge_text"]),
        columns["directed"].to_numpy(zero_copy_only=False),
        columns["graph_id"].to_pylist(),
        np.diff(columns["y"].offsets.to_numpy()),
        columns["y"].flatten().to_numpy(zero_copy_only=False),
    )


def _lists(column: Any) -> tuple[Any, Any]:
    """Return the entries of lists of lists one after the other, and the lengths of the inner lists."""
    inner = column.flatten()
    if inner.null_count or inner.flatten().null_count:
        raise GraphError("a value is missing")
    return inner.flatten().to_numpy(zero_copy_only=False), np.diff(inner.offsets.to_numpy())


def _numbers(column: Any, counts: Any) -> Any:
    values, widths = _lists(column)
    if (np.diff(column.offsets.to_numpy()) != counts).any() or len(set(widths.tolist())) > 1:
        raise GraphError("rows of several widths")
    return values.reshape(len(widths), int(widths[0]) if len(widths) else 0)


def _texts(column: Any) -> Texts:
    encoded = column.flatten().flatten().dictionary_encode()
    return Texts(encoded.indices.fill_null(-1).to_numpy().astype(np.int64), encoded.dictionary.to_pylist())


def open_parquet(file: IO[bytes], name: str) -> Any:
    """Open a Parquet file with pyarrow."""
    parquet = guest()
    try:
        return parquet.ParquetFile(file, buffer_size=BUFFER)
    except (ValueError, OSError, KeyError, NotImplementedError, MemoryError) as error:
        raise GraphError(f"no Parquet file, or a damaged one: {one_line(error)}", where=name) from None


def batches(table: Any, names: list[str], source: File) -> Iterator[Any]:
    """Yield record batches of some columns and of the selected rows."""
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
                yield selected
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


def guest() -> Any:
    """Return the module pyarrow.parquet, or raise an error that tells how to install it."""
    try:
        from pyarrow import parquet
    except ImportError:
        raise ImportError("Parquet files need pyarrow: pip install 'grnf[io]'") from None
    return parquet


def write_parquet(file: IO[bytes], graphs: Iterable[RawGraph]) -> None:
    """Write one row per graph, row group by row group."""
    parquet = guest()
    schema = _schema()
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


def _schema() -> Any:
    import pyarrow as pa

    reals, texts = pa.list_(pa.list_(pa.float64())), pa.list_(pa.list_(pa.string()))
    types = {
        "graph_id": pa.string(),
        "directed": pa.bool_(),
        "num_nodes": pa.int64(),
        "edge_index": pa.list_(pa.list_(pa.int64())),
        "node_feat": reals,
        "edge_attr": reals,
        "node_text": texts,
        "edge_text": texts,
        "y": pa.list_(pa.float64()),
        "grnf_columns": pa.string(),
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
