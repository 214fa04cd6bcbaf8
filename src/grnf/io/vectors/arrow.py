"""Vectors as Arrow tables and Parquet files: one place that says what the columns are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from grnf.errors import GraphError
from grnf.io.vectors.blocks import Kind, VectorBlock, plain, typed
from grnf.typing import FloatArray

__all__ = [
    "arrow",
    "check_kind",
    "parquet_writer",
    "schema_of_vectors",
    "table_of_vectors",
    "vectors_array",
]


def arrow() -> Any:
    """Return the module pyarrow, or say how to get it."""
    try:
        import pyarrow as pa
    except ImportError:
        raise ImportError("Parquet and Arrow need pyarrow: pip install 'grnf[io]'") from None
    return pa


def schema_of_vectors(kinds: Mapping[str, Kind], n_components: int, dtype: np.dtype[Any]) -> Any:
    """Return the schema of vectors with these columns beside them: graph_id, the columns, embedding.

    Examples
    --------
    >>> kinds = {"y": Kind("float", False, 1)}
    >>> schema_of_vectors(kinds, 8, np.dtype("float32")).field("embedding").type
    FixedSizeListType(fixed_size_list<item: float>[8])
    """
    pa = arrow()
    types = {"int": pa.int64(), "float": pa.float64(), "string": pa.string(), None: pa.string()}
    columns = [("graph_id", pa.string()), *((name, types[kind.type]) for name, kind in kinds.items())]
    return pa.schema([*columns, ("embedding", pa.list_(pa.from_numpy_dtype(dtype), n_components))])


def table_of_vectors(block: VectorBlock, schema: Any, kinds: Mapping[str, Kind]) -> Any:
    """Return a block as an Arrow table of this schema."""
    pa = arrow()
    arrays = [pa.array(block.ids, pa.string())]
    for name, kind in kinds.items():
        values = block.y if name == "y" else block.columns.get(name, [None] * len(block.Z))
        arrays.append(pa.array(typed(values, kind), schema.field(name).type))
    return pa.Table.from_arrays([*arrays, vectors_array(block.Z)], schema=schema)


def vectors_array(Z: FloatArray) -> Any:
    """Return vectors as an Arrow array of lists of one length, which share its numbers.

    Examples
    --------
    >>> vectors_array(np.zeros((2, 3))).type
    FixedSizeListType(fixed_size_list<item: double>[3])
    """
    pa = arrow()
    return pa.FixedSizeListArray.from_arrays(pa.array(np.ascontiguousarray(Z).reshape(-1)), Z.shape[1])


def parquet_writer(file: Any, schema: Any) -> Any:
    """Return a writer of vectors to an open file; names are all different, so only texts are compressed."""
    from pyarrow import parquet

    return parquet.ParquetWriter(file, schema, use_dictionary=["graph_id"])


def check_kind(ids: Sequence[str], name: str, values: Sequence[Any], kind: Kind) -> None:
    """Raise an error if a value does not fit the kind of its column, as the first graphs showed it.

    Examples
    --------
    >>> check_kind(["a", "b"], "y", [1.5, "high"], Kind("float", False, 3))
    Traceback (most recent call last):
    ...
    grnf.errors.GraphError: graph b: y is 'high', but the first graphs have numbers there: make it one kind
    """
    if kind.type == "string":
        return
    for own, value in zip(ids, map(plain, values), strict=True):
        if value is None:
            continue
        if kind.type is None:
            raise GraphError(f"graph {own}: {name} is {value!r}, but the first graphs have none")
        if not isinstance(value, int | float):
            raise GraphError(
                f"graph {own}: {name} is {value!r}, but the first graphs have numbers there: make it one kind"
            )
