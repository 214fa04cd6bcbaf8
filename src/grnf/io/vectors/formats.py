"""Formats of vector files: how each is written and read.

All are written alike: shards are appended one by one, and the end completes the file. A shard in a Parquet
file is a complete Parquet file of its own, whose offsets count from the beginning of the whole file. The end
adds a footer that lists the row groups of all shards. Shards of .npy and .npz are rows of numbers, those of
.csv are lines.
"""

from __future__ import annotations

import csv
import io
import os
import zipfile
import zlib
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from grnf._utils.files import npy_header
from grnf.errors import invalid
from grnf.io.vectors.blocks import Kind, Layout, VectorBlock, Vectors, array_of, as_text, table_of_vectors
from grnf.typing import FloatArray

CHUNK = 2**22
MAGIC = b"PAR1"
NPY_HEADER = len(npy_header((10**12, 10**6), "<f4"))
"""Bytes of the header that numpy writes for any number of rows."""
MEMBER = "embedding.npy"
LONGEST_HEADER = 2**24
"""Characters of the first line of a CSV file of vectors."""
MOST_DESCRIPTORS = 8192
"""Descriptors that a process may have on Windows, and usually elsewhere."""
ZIP_HEADER = 30 + len(MEMBER) + 20
"""Bytes before the first member of a zip archive: header, name, and sizes of 64 bits."""


@dataclass(frozen=True)
class VectorFormat:
    """How vectors become bytes, and are read again."""

    start: int
    """Bytes before the first shard, which `finish` fills in."""
    append: Callable[[Path, Iterable[VectorBlock], Layout], None]
    """Adds a shard to a file, which ends where the shard is to begin."""
    finish: Callable[[Path, list[int], Iterable[VectorBlock], Layout], None]
    """Completes a file that has all its shards: where they end, and ids, labels and columns again."""
    read: Callable[[Path], Vectors]
    matches: Callable[[Path], bool]
    """Tells whether a file of this suffix holds vectors, and not graphs."""
    needs_columns: bool = False
    """Whether `finish` needs ids, labels and columns."""


def vector_format(path: str | os.PathLike[str]) -> str:
    """Return the format that the suffix of a vector file names."""
    name = Path(path).suffix.lower().removeprefix(".")
    if name not in FORMATS:
        known = ", ".join(f".{known}" for known in FORMATS)
        raise invalid(f"the name of the vector file {path}", f"end in one of {known}")
    return name


def write_csv(
    file: IO[str], blocks: Iterable[VectorBlock], columns: list[str] | None = None, *, header: bool = True
) -> int:
    """Write rows as CSV to an open text file, such as standard output. A generator is fine here.

    The columns are by default those of the first block. With `header` a line with their names comes first.
    """
    table = csv.writer(file, lineterminator="\n")
    n_rows = 0
    for block in blocks:
        columns = list(block.columns) if columns is None else columns
        if header:
            table.writerow(["graph_id", "y", *columns, *(f"grnf{m}" for m in range(block.Z.shape[1]))])
            header = False
        if not set(block.columns) <= set(columns):
            raise invalid("blocks", f"all have the columns {columns}", str(list(block.columns)))
        digits = "%.9g" if block.Z.dtype == np.float32 else "%.17g"
        before = [block.column(name) for name in ("y", *columns)]
        for graph_id, row, *values in zip(block.ids, block.Z, *before, strict=True):
            texts = ["" if value is None else as_text(value) for value in values]
            table.writerow([graph_id, *texts, *(digits % value for value in row.tolist())])
        n_rows += len(block.Z)
    return n_rows


def append_parquet(path: Path, blocks: Iterable[VectorBlock], layout: Layout) -> None:
    """Add a complete Parquet file to the end of a file, one row group per block."""
    import pyarrow as pa
    from pyarrow import parquet

    with pa.OSFile(str(path), "ab") as file:
        # A ParquetWriter begins at position 0 only. Writing appends whatever the position is, and leaves it
        # at the end of the file. So all offsets, taken later, count from the beginning of the whole file.
        for descriptor in _descriptors(file, path):
            os.lseek(descriptor, 0, os.SEEK_SET)
        with parquet.ParquetWriter(file, layout.schema(), use_dictionary=["graph_id"]) as writer:
            for block in blocks:
                table = table_of_vectors(block, layout)
                writer.write_table(table, row_group_size=max(len(block.Z), 1))


def _descriptors(file: Any, path: Path) -> list[int]:
    """Return the descriptor of an Arrow file. Before pyarrow 25, all that this process has of the path."""
    with suppress(AttributeError, io.UnsupportedOperation):
        return [file.fileno()]
    about = path.stat()
    found = []
    for descriptor in range(3, MOST_DESCRIPTORS):
        with suppress(OSError):
            if os.path.samestat(os.fstat(descriptor), about):
                found.append(descriptor)
    return found


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


def _finish_parquet(path: Path, ends: list[int], _blocks: Iterable[VectorBlock], _layout: Layout) -> None:
    with path.open("r+b") as file:
        whole = _footer(file, ends[0])
        for end in ends[1:]:
            whole.append_row_groups(_footer(file, end))
        file.seek(0, os.SEEK_END)
        whole.write_metadata_file(file)


def _append_rows(path: Path, blocks: Iterable[VectorBlock], layout: Layout) -> None:
    with path.open("ab") as file:
        for block in blocks:
            file.write(np.ascontiguousarray(block.Z, layout.dtype).reshape(-1).view(np.uint8).data)


def _finish_npy(path: Path, _ends: list[int], _blocks: Iterable[VectorBlock], layout: Layout) -> None:
    with path.open("r+b") as file:
        file.write(npy_header((layout.n_rows, layout.n_components), layout.dtype))


def _finish_npz(path: Path, ends: list[int], blocks: Iterable[VectorBlock], layout: Layout) -> None:
    """Write the headers before the vectors, and the other arrays after them."""
    member = zipfile.ZipInfo(MEMBER)
    member.header_offset = 0
    member.file_size = member.compress_size = ends[-1] - ZIP_HEADER
    with path.open("r+b") as file:
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
                    _write_member(archive, name, kind, layout.n_rows, blocks)


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


def _read_parquet(path: Path) -> Vectors:
    from pyarrow import parquet

    with parquet.ParquetFile(path) as file:
        names = [name for name in ("graph_id", "y", "embedding") if name in file.schema_arrow.names]
        table = file.read(columns=names)
    column = table.column("embedding").combine_chunks()
    flat = column.flatten().to_numpy(zero_copy_only=False)
    ids = table.column("graph_id").to_pylist() if "graph_id" in names else list(map(str, range(len(column))))
    y = table.column("y").to_pylist() if "y" in names else None
    return Vectors(ids, y, flat.reshape(len(column), len(column[0]) if len(column) else 0))


def _matches_parquet(path: Path) -> bool:
    from pyarrow import parquet

    return "embedding" in parquet.read_schema(path).names


def _read_npy(path: Path) -> Vectors:
    Z = np.load(path, mmap_mode="r", allow_pickle=False)
    return Vectors([str(row) for row in range(len(Z) if Z.ndim else 0)], None, Z)


def _matches_npy(path: Path) -> bool:
    Z = np.load(path, mmap_mode="r", allow_pickle=False)
    return bool(Z.ndim == 2 and Z.dtype.kind == "f")


def _read_npz(path: Path) -> Vectors:
    with open(path, "rb") as file, np.load(file, allow_pickle=False) as arrays:
        y = arrays["y"].tolist() if "y" in arrays else None
        return Vectors(arrays["graph_id"].tolist(), y, arrays["embedding"])


def _matches_npz(path: Path) -> bool:
    with zipfile.ZipFile(path) as archive:
        return "embedding.npy" in archive.namelist()


def _read_csv(path: Path) -> Vectors:
    with open(path, newline="", encoding="utf-8") as file:
        rows = csv.reader(file)
        header = next(rows, [])
        if header[:2] != ["graph_id", "y"] or "grnf0" not in header:
            raise ValueError("the first line must begin with graph_id,y and name grnf0, grnf1, ...")
        first = header.index("grnf0")
        ids, labels, numbers = [], [], []
        for line, row in enumerate(rows, start=2):
            if len(row) != len(header):
                raise ValueError(f"line {line}: {len(header)} columns expected, {len(row)} found")
            ids.append(row[0])
            labels.append(row[1] or None)
            numbers.append(np.array(row[first:], dtype=np.float64))
    Z = np.array(numbers).reshape(len(ids), len(header) - first)
    return Vectors(ids, labels if any(label is not None for label in labels) else None, Z)


def _matches_csv(path: Path) -> bool:
    with open(path, newline="", encoding="utf-8") as text:
        header = next(csv.reader([text.readline(LONGEST_HEADER)]), [])
    return header[:2] == ["graph_id", "y"] and "grnf0" in header


FORMATS = {
    "parquet": VectorFormat(0, append_parquet, _finish_parquet, _read_parquet, _matches_parquet, True),
    "npy": VectorFormat(NPY_HEADER, _append_rows, _finish_npy, _read_npy, _matches_npy),
    "npz": VectorFormat(ZIP_HEADER + NPY_HEADER, _append_rows, _finish_npz, _read_npz, _matches_npz, True),
    "csv": VectorFormat(0, _append_csv, lambda *_: None, _read_csv, _matches_csv),
}
VECTOR_FORMATS = tuple(FORMATS)
