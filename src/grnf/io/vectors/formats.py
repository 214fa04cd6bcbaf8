"""Formats of vector files. All are written alike: shards are appended one by one, and the end completes them.

A shard in a Parquet file is a complete Parquet file of its own, whose offsets count from the beginning of the
whole file; the end adds a footer that lists the row groups of all shards. Shards of .npy and .npz are rows of
numbers, those of .csv are lines.
"""

from __future__ import annotations

import csv
import io
import os
import zipfile
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from grnf._utils.files import npy_header, written_aside
from grnf.io.vectors.blocks import Kind, Layout, VectorBlock, array_of, arrow, as_text, table_of_vectors
from grnf.typing import FloatArray

__all__ = [
    "FORMAT",
    "FORMATS",
    "MANIFEST",
    "VECTOR_FORMATS",
    "VERSION",
    "ShardedFile",
    "VectorFormat",
    "append_parquet",
    "appended",
    "is_shard_folder",
    "parquet_vectors",
    "vector_format",
    "write_csv",
    "write_vectors",
]

FORMAT, VERSION = "grnf-shards", 1
MANIFEST = "_manifest.json"
CHUNK = 2**22
MAGIC = b"PAR1"
NPY_HEADER = len(npy_header((10**12, 10**6), "<f4"))
"""Bytes of the header that numpy writes for any number of rows."""
MEMBER = "embedding.npy"
ZIP_HEADER = 30 + len(MEMBER) + 20
"""Bytes before the first member of a zip archive: header, name, and sizes of 64 bits."""


@dataclass(frozen=True)
class ShardedFile:
    """A file that has all its shards.

    Parameters
    ----------
    path : Path
    ends : list of int
        Where the shards end.
    blocks : iterable of VectorBlock
        Ids, labels and columns; the vectors in it do not count.
    layout : Layout
    """

    path: Path
    ends: list[int]
    blocks: Iterable[VectorBlock]
    layout: Layout


@dataclass(frozen=True)
class VectorFormat:
    """How vectors become bytes.

    Parameters
    ----------
    start : int
        Bytes before the first shard, which `finish` fills in.
    append : callable
        append(path, blocks, layout) adds a shard to a file, which ends where the shard is to begin.
    finish : callable
        finish(file) completes a `ShardedFile`.
    notes : bool
        Whether `finish` needs ids, labels and columns.
    """

    start: int
    append: Callable[[Path, Iterable[VectorBlock], Layout], None]
    finish: Callable[[ShardedFile], None]
    notes: bool = False


def vector_format(path: str | os.PathLike[str]) -> str:
    """Return the format that the suffix of a vector file names.

    Examples
    --------
    >>> vector_format("mutag.parquet")
    'parquet'
    """
    name = Path(path).suffix.lower().removeprefix(".")
    if name not in FORMATS:
        known = ", ".join(f".{known}" for known in FORMATS)
        raise ValueError(f"{path}: the name of a vector file must end in one of {known}")
    return name


def is_shard_folder(path: str | os.PathLike[str]) -> bool:
    """Whether this is a folder of shards, finished or not.

    Examples
    --------
    >>> is_shard_folder("vectors.parquet")
    False
    """
    return (Path(path) / MANIFEST).is_file() or (Path(path) / "_work" / "plan.json").is_file()


def write_vectors(
    path: str | os.PathLike[str], blocks: Iterable[VectorBlock], *, format: str | None = None
) -> int:
    """Write an embedding; the file appears only when it is complete. Return the number of rows.

    Parameters
    ----------
    path : path
    blocks : iterable of VectorBlock
        Read more than once, first for shapes and types, so not a generator. One block at a time is held in
        memory.
    format : "parquet", "npy", "npz" or "csv", optional
        By default taken from the suffix. Parquet has the columns graph_id, y (if there are any), those of the
        blocks, and embedding, a list of fixed length, and one row group per block. npz has the arrays
        embedding, graph_id, y and those of the blocks; CSV has the columns graph_id, y, those of the blocks,
        grnf0, grnf1, ...; npy has the vectors only. Columns of numbers are int64 or float64 in Parquet and
        npz, all others are text. Missing values are null in Parquet, empty in CSV, NaN or empty in npz.

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
        raise TypeError("blocks are read more than once: pass a list, not a generator")
    writer = FORMATS[format or vector_format(path)]
    layout = Layout.of_all(blocks)
    needed = layout.n_rows * layout.n_components * np.dtype(layout.dtype).itemsize
    with written_aside(path, needed) as file:
        os.truncate(file, writer.start)
        writer.finish(ShardedFile(file, appended(writer, file, blocks, layout), blocks, layout))
    return layout.n_rows


def appended(format: VectorFormat, file: Path, blocks: Iterable[VectorBlock], layout: Layout) -> list[int]:
    """Append each block as a shard of its own; return where they end."""
    ends = []
    for block in blocks:
        format.append(file, [block], layout)
        ends.append(file.stat().st_size)
    return ends


def write_csv(
    file: IO[str], blocks: Iterable[VectorBlock], columns: list[str] | None = None, *, header: bool = True
) -> int:
    """Write rows as CSV to an open text file, such as standard output; a generator is fine here.

    Parameters
    ----------
    file : text file
    blocks : iterable of VectorBlock
    columns : list of str, optional
        By default those of the first block.
    header : bool, default=True
        Whether a line with the names of the columns comes first.

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
    for block in blocks:
        columns = list(block.columns) if columns is None else columns
        if header:
            table.writerow(["graph_id", "y", *columns, *(f"grnf{m}" for m in range(block.Z.shape[1]))])
            header = False
        if not set(block.columns) <= set(columns):
            raise ValueError(f"a block has the columns {list(block.columns)}, the first has {columns}")
        digits = "%.9g" if block.Z.dtype == np.float32 else "%.17g"
        before = [block.column(name) for name in ("y", *columns)]
        for graph_id, row, *values in zip(block.ids, block.Z, *before, strict=True):
            texts = ["" if value is None else as_text(value) for value in values]
            table.writerow([graph_id, *texts, *(digits % value for value in row.tolist())])
        n_rows += len(block.Z)
    return n_rows


def append_parquet(path: Path, blocks: Iterable[VectorBlock], layout: Layout) -> None:
    """Add a complete Parquet file to the end of a file, one row group per block."""
    from pyarrow import parquet

    with arrow().OSFile(str(path), "ab") as file:
        # A ParquetWriter begins at position 0 only. Writing appends whatever the position is, and leaves it
        # at the end of the file; so all offsets, taken later, count from the beginning of the whole file.
        os.lseek(file.fileno(), 0, os.SEEK_SET)
        with parquet.ParquetWriter(file, layout.schema(), use_dictionary=["graph_id"]) as writer:
            for block in blocks:
                table = table_of_vectors(block, layout)
                writer.write_table(table, row_group_size=max(len(block.Z), 1))


def _footer(file: IO[bytes], end: int) -> Any:
    """Return the metadata of the shard that ends there."""
    from pyarrow import parquet

    file.seek(end - 8)
    length = int.from_bytes(file.read(4), "little")
    file.seek(end - 8 - length)
    return parquet.read_metadata(io.BytesIO(MAGIC + file.read(length + 8)))


def parquet_vectors(path: Path, end: int) -> FloatArray:
    """Return the vectors of the shard of a Parquet file that ends there."""
    from pyarrow import parquet

    with path.open("rb") as file:
        with parquet.ParquetFile(file, metadata=_footer(file, end)) as shard:
            vectors = shard.read(columns=["embedding"]).column("embedding").combine_chunks()
        flat: FloatArray = vectors.flatten().to_numpy(zero_copy_only=False)
        return flat.reshape(len(vectors), vectors.type.list_size)


def _finish_parquet(shards: ShardedFile) -> None:
    with shards.path.open("r+b") as file:
        whole = _footer(file, shards.ends[0])
        for end in shards.ends[1:]:
            whole.append_row_groups(_footer(file, end))
        file.seek(0, os.SEEK_END)
        whole.write_metadata_file(file)


def _append_rows(path: Path, blocks: Iterable[VectorBlock], layout: Layout) -> None:
    with path.open("ab") as file:
        for block in blocks:
            file.write(np.ascontiguousarray(block.Z, layout.dtype).reshape(-1).view(np.uint8).data)


def _finish_npy(shards: ShardedFile) -> None:
    layout = shards.layout
    with shards.path.open("r+b") as file:
        file.write(npy_header((layout.n_rows, layout.n_components), layout.dtype))


def _finish_npz(shards: ShardedFile) -> None:
    """Write the headers before the vectors, and the other arrays after them."""
    layout = shards.layout
    member = zipfile.ZipInfo(MEMBER)
    member.header_offset = 0
    member.file_size = member.compress_size = shards.ends[-1] - ZIP_HEADER
    with shards.path.open("r+b") as file:
        file.seek(ZIP_HEADER)
        file.write(npy_header((layout.n_rows, layout.n_components), layout.dtype))
        file.seek(ZIP_HEADER)
        member.CRC = 0
        while data := file.read(CHUNK):
            member.CRC = zlib.crc32(data, member.CRC)
        file.seek(0)
        file.write(member.FileHeader(zip64=True))
        file.seek(0, os.SEEK_END)
        with zipfile.ZipFile(file, "w") as archive:
            archive.filelist.append(member)
            archive.NameToInfo[MEMBER] = member
            for name, kind in layout.kinds.items():
                if name != "y" or kind.type is not None:
                    _write_member(archive, name, kind, layout.n_rows, shards.blocks)


def _write_member(
    archive: zipfile.ZipFile, name: str, kind: Kind, n_rows: int, blocks: Iterable[VectorBlock]
) -> None:
    member = zipfile.ZipInfo(f"{name}.npy")
    if name != "graph_id" and not kind.is_number:
        member.compress_type = zipfile.ZIP_DEFLATED  # each text takes the room of the longest
    with archive.open(member, "w", force_zip64=True) as array:
        array.write(npy_header((n_rows,), array_of([], kind).dtype))
        for block in blocks:
            array.write(array_of(block.column(name), kind).tobytes())


def _append_csv(path: Path, blocks: Iterable[VectorBlock], layout: Layout) -> None:
    columns = [name for name in layout.kinds if name not in ("graph_id", "y")]
    header = path.stat().st_size == 0
    with path.open("a", newline="", encoding="utf-8") as text:
        write_csv(text, blocks, columns, header=header)


def _finish_csv(shards: ShardedFile) -> None:
    """Do nothing: the lines are complete."""


FORMATS = {
    "parquet": VectorFormat(0, append_parquet, _finish_parquet, notes=True),
    "npy": VectorFormat(NPY_HEADER, _append_rows, _finish_npy),
    "npz": VectorFormat(ZIP_HEADER + NPY_HEADER, _append_rows, _finish_npz, notes=True),
    "csv": VectorFormat(0, _append_csv, _finish_csv),
}
VECTOR_FORMATS = tuple(FORMATS)
