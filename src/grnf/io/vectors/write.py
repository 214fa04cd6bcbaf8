"""Writers of embeddings: block by block, so memory does not grow with the number of graphs."""

from __future__ import annotations

import csv
import io
import os
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np

from grnf._utils.files import atomic_write
from grnf.io.vectors.arrow import arrow, parquet_writer, schema_of_vectors, table_of_vectors
from grnf.io.vectors.blocks import Kind, Survey, VectorBlock, array_of, as_text, survey
from grnf.io.vectors.shards import MANIFEST, is_shard_folder

__all__ = [
    "VECTOR_FORMATS",
    "side_file",
    "vector_format",
    "vectors_written",
    "write_csv",
    "write_npy_header",
    "write_vectors",
]

VECTOR_FORMATS = ("parquet", "npy", "npz", "csv")


def vector_format(path: str | os.PathLike[str]) -> str:
    """Return the format that the suffix of a file of vectors names.

    Examples
    --------
    >>> vector_format("mutag.parquet")
    'parquet'
    """
    name = Path(path).suffix.lower().removeprefix(".")
    if name not in VECTOR_FORMATS:
        known = ", ".join(f".{known}" for known in VECTOR_FORMATS)
        raise ValueError(f"{path}: the name of a file of vectors must end in one of {known}")
    return name


def side_file(path: str | os.PathLike[str]) -> Path:
    """Return the place of the settings of an embedding: the name of its file with .json added.

    Of a folder of shards it is the manifest.

    Examples
    --------
    >>> side_file("mutag.npy").name
    'mutag.npy.json'
    """
    path = Path(path)
    return path / MANIFEST if is_shard_folder(path) else path.with_name(path.name + ".json")


def write_vectors(
    path: str | os.PathLike[str], blocks: Iterable[VectorBlock], *, format: str | None = None
) -> int:
    """Write an embedding; the file appears only when it is complete. Return the number of rows.

    Parameters
    ----------
    path : path
    blocks : iterable of VectorBlock
        Passed over more than once (first for shapes and types), so not a generator. One block at a time is
        held in memory.
    format : "parquet", "npy", "npz" or "csv", optional
        By default as the suffix says. Parquet has the columns graph_id, y (where there are any), those of
        the blocks, and embedding, a list of fixed length, and one row group per block; npz the arrays
        embedding, graph_id, y and those of the blocks; CSV the columns graph_id, y, those of the blocks,
        grnf0, grnf1, ...; npy nothing but the vectors. Columns of numbers are int64 or float64 in Parquet
        and npz, all others text; what is missing is null in Parquet, empty in CSV, NaN or empty in npz.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "z.npz"
    >>> write_vectors(path, [VectorBlock(["a", "b"], [0, 1], np.eye(2))])
    2
    >>> np.load(path)["graph_id"].tolist()
    ['a', 'b']
    """
    if iter(blocks) is blocks:
        raise TypeError("blocks are passed over more than once: give a list, not a generator")
    with vectors_written(path, blocks, format=format) as n_rows:
        return n_rows


@contextmanager
def vectors_written(
    path: str | os.PathLike[str], blocks: Iterable[VectorBlock], *, format: str | None = None
) -> Iterator[int]:
    """Do the same around what else belongs to the file: it takes its place at the end of the block."""
    write = _WRITERS[format or vector_format(path)]
    found = survey(blocks)
    needed = found.n_rows * found.n_components * found.dtype.itemsize
    with atomic_write(path, "wb", needed) as file:
        write(file, blocks, found)
        yield found.n_rows


def write_csv(file: IO[str], blocks: Iterable[VectorBlock]) -> int:
    """Write rows as CSV to an open text file, such as standard output; here a generator will do.

    The columns are those of the first block.

    Examples
    --------
    >>> import sys
    >>> write_csv(sys.stdout, [VectorBlock(["a"], [None], np.array([[0.5, 1.0]]))])
    graph_id,y,grnf0,grnf1
    a,,0.5,1
    1
    """
    table = csv.writer(file, lineterminator="\n")
    n_rows = 0
    width: int | None = None
    columns: list[str] = []
    for block in blocks:
        if width is None:
            width, columns = block.Z.shape[1], list(block.columns)
            table.writerow(["graph_id", "y", *columns, *(f"grnf{m}" for m in range(width))])
        if not set(block.columns) <= set(columns):
            raise ValueError(f"a block has the columns {list(block.columns)}, the first has {columns}")
        digits = "%.9g" if block.Z.dtype == np.float32 else "%.17g"
        beside = [block.y, *(_column(block, own) for own in columns)]
        for name, row, *values in zip(block.ids, block.Z, *beside, strict=True):
            texts = ["" if value is None else as_text(value) for value in values]
            table.writerow([name, *texts, *(digits % value for value in row.tolist())])
        n_rows += len(block.Z)
    return n_rows


def write_npy_header(file: IO[bytes], shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    """Write the head of a .npy file, to be followed by the rows."""
    header = {"shape": shape, "fortran_order": False, "descr": np.lib.format.dtype_to_descr(dtype)}
    np.lib.format.write_array_header_1_0(file, header)


def _write_npy(file: IO[bytes], blocks: Iterable[VectorBlock], found: Survey) -> None:
    write_npy_header(file, (found.n_rows, found.n_components), found.dtype)
    for block in blocks:
        file.write(block.Z.tobytes())


def _write_npz(file: IO[bytes], blocks: Iterable[VectorBlock], found: Survey) -> None:
    with zipfile.ZipFile(file, "w") as archive:
        with archive.open("embedding.npy", "w", force_zip64=True) as member:
            _write_npy(member, blocks, found)
        id_type = np.dtype(f"<U{found.longest_id}")
        with archive.open("graph_id.npy", "w", force_zip64=True) as member:
            write_npy_header(member, (found.n_rows,), id_type)
            for block in blocks:
                member.write(np.array(block.ids, dtype=id_type).tobytes())
        if found.y.type is not None:
            _write_member(archive, "y", found.y, found.n_rows, (block.y for block in blocks))
        for name, kind in found.columns.items():
            _write_member(archive, name, kind, found.n_rows, (_column(block, name) for block in blocks))


def _write_member(
    archive: zipfile.ZipFile, name: str, kind: Kind, n_rows: int, parts: Iterable[Sequence[Any]]
) -> None:
    member = zipfile.ZipInfo(f"{name}.npy")
    if kind.type not in ("int", "float"):
        member.compress_type = zipfile.ZIP_DEFLATED  # each text takes the room of the longest
    with archive.open(member, "w", force_zip64=True) as file:
        write_npy_header(file, (n_rows,), array_of([], kind).dtype)
        for values in parts:
            file.write(array_of(values, kind).tobytes())


def _write_csv_bytes(file: IO[bytes], blocks: Iterable[VectorBlock], found: Survey) -> None:  # noqa: ARG001
    text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
    write_csv(text, blocks)
    text.flush()
    text.detach()


def _write_parquet(file: IO[bytes], blocks: Iterable[VectorBlock], found: Survey) -> None:
    arrow()
    kinds = {"y": found.y} if found.y.type is not None else {}
    kinds.update(found.columns)
    schema = schema_of_vectors(kinds, found.n_components, found.dtype)
    with parquet_writer(file, schema) as writer:
        for block in blocks:
            table = table_of_vectors(block, schema, kinds)
            writer.write_table(table, row_group_size=max(len(block.Z), 1))


def _column(block: VectorBlock, name: str) -> Sequence[Any]:
    """Return a column of a block, without entries if the block does not have it."""
    values = block.columns.get(name)
    return [None] * len(block.Z) if values is None else values


_WRITERS: dict[str, Callable[[IO[bytes], Iterable[VectorBlock], Survey], None]] = {
    "parquet": _write_parquet,
    "npy": _write_npy,
    "npz": _write_npz,
    "csv": _write_csv_bytes,
}
