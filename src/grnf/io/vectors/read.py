"""Reading embeddings back: vector files, folders of shards with their manifest, or any .npy of vectors."""

from __future__ import annotations

import csv
import hashlib
import json
import os
import warnings
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from grnf._utils.files import is_pipe
from grnf.errors import GraphError, GrnfWarning
from grnf.io.vectors.blocks import arrow
from grnf.io.vectors.formats import FORMAT, MANIFEST, VERSION, is_shard_folder, vector_format
from grnf.io.vectors.writer import side_file
from grnf.typing import FloatArray

__all__ = [
    "Vectors",
    "describe_vectors",
    "holds_vectors",
    "is_shard_folder",
    "read_manifest",
    "read_vectors",
    "shard_files",
    "vector_blocks",
]


CSV_START = "graph_id,y,"
ROWS_CHECKED = 1024
"""Rows that are searched for NaN at a time."""


@dataclass(frozen=True, eq=False)
class Vectors:
    """An embedding: ids of the graphs, labels (or None), and vectors, shape (n_graphs, M)."""

    ids: list[str]
    y: list[Any] | None
    Z: FloatArray


def read_vectors(path: str | os.PathLike[str], *, format: str | None = None) -> Vectors:
    """Read an embedding from .parquet, .npy, .npz or .csv, or all shards of a folder of them.

    A .npy file knows no ids, so its rows are called "0", "1", ...; it is mapped, not loaded. Columns
    beside ids, labels and vectors are passed over.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "z.npy"
    >>> np.save(path, np.eye(2))
    >>> read_vectors(path).ids
    ['0', '1']
    """
    path = Path(path)
    if is_pipe(path):
        raise GraphError(f"{path} is a pipe; vectors are read from files only: save them as one first")
    if format is None and is_shard_folder(path):
        return _read_shards(path)
    try:
        vectors = _READERS[format or vector_format(path)](path)
    except FileNotFoundError:
        raise GraphError(f"{path} does not exist") from None
    except (ValueError, KeyError, EOFError, csv.Error, zipfile.BadZipFile) as error:
        raise GraphError(f"{path} holds no vectors: {error}") from None
    if vectors.Z.ndim != 2 or vectors.Z.dtype.kind != "f":
        raise GraphError(
            f"{path} holds no vectors: {vectors.Z.dtype} of shape {vectors.Z.shape}; "
            "must be floating-point numbers of shape (n_graphs, M)"
        )
    if len(vectors.ids) != len(vectors.Z):
        raise GraphError(f"{path} is damaged: {len(vectors.ids)} ids for {len(vectors.Z)} vectors")
    return vectors


def holds_vectors(path: str | os.PathLike[str]) -> bool:
    """Whether a file holds an embedding, by its suffix and its head; graphs may come in the same suffixes.

    So does a folder of shards.

    Examples
    --------
    >>> holds_vectors("graphs.zip")
    False
    """
    path = Path(path)
    if is_shard_folder(path):
        return True
    suffix = path.suffix.lower()
    if suffix not in _SNIFFERS or not path.is_file():
        return False
    try:
        return _SNIFFERS[suffix](path)
    except (ValueError, EOFError, OSError, csv.Error, zipfile.BadZipFile):
        return False


def read_manifest(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the manifest of a folder of shards; shards that were set aside are warned of."""
    path = Path(folder) / MANIFEST
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise GraphError(f"{folder} is unfinished: resume the run that makes it (--resume)") from None
    except ValueError as error:
        raise GraphError(f"{path} is damaged: {error}") from None
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise GraphError(f"{path} is not a manifest of shards: its 'format' is not {FORMAT!r}")
    if manifest.get("version") != VERSION:
        raise GraphError(f"{path} has version {manifest.get('version')!r}; this release reads {VERSION}")
    if manifest["set_aside"]:
        first = manifest["set_aside"][0]
        warnings.warn(
            f"{folder} lacks {len(manifest['set_aside'])} shards that were set aside; shard "
            f"{first['shard']}: {first['reason']}",
            GrnfWarning,
            stacklevel=3,
        )
    return manifest


def shard_files(folder: str | os.PathLike[str], *, check: bool = False) -> Iterator[Path]:
    """Yield the files of the shards in their order; with `check` only if they are as they were written."""
    for record in read_manifest(folder)["shards"]:
        path = Path(folder) / record["file"]
        try:
            size = path.stat().st_size
        except FileNotFoundError:
            raise GraphError(f"{path} is missing, which the manifest names") from None
        if size != record["bytes"]:
            raise GraphError(f"{path} has {size:,} bytes, not {record['bytes']:,} as the manifest says")
        if check:
            with path.open("rb") as file:
                if hashlib.file_digest(file, "sha256").hexdigest() != record["sha256"]:
                    raise GraphError(f"{path} is not as it was written: its checksum is another")
        yield path


def vector_blocks(paths: Iterable[str | os.PathLike[str]], size: int) -> Iterator[Vectors]:
    """Yield the vectors and ids of files and of the shards of folders, `size` rows or more at a time."""
    blocks: list[FloatArray] = []
    ids: list[str] = []
    for path in paths:
        for file in shard_files(path, check=True) if is_shard_folder(path) else [Path(path)]:
            vectors = read_vectors(file)
            blocks.append(vectors.Z)
            ids += vectors.ids
            if len(ids) >= size:
                yield Vectors(ids, None, np.concatenate(blocks))
                blocks, ids = [], []
    if ids:
        yield Vectors(ids, None, np.concatenate(blocks))


def describe_vectors(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the shape and type of the vectors of a file, their settings, and problems."""
    vectors = read_vectors(path)
    n_graphs, n_components = vectors.Z.shape
    starts = range(0, n_graphs, ROWS_CHECKED)
    bad = sum(int(np.isnan(vectors.Z[start : start + ROWS_CHECKED]).any(axis=1).sum()) for start in starts)
    report: dict[str, Any] = {
        "source": os.fspath(path),
        "vectors": n_graphs,
        "n_components": n_components,
        "dtype": vectors.Z.dtype.name,
        "labeled": vectors.y is not None,
        "problems": [f"{bad} rows hold NaN: graphs that could not be used"] if bad else [],
    }
    settings = side_file(path)
    if settings.exists():
        made = json.loads(settings.read_text(encoding="utf-8"))
        report["input"] = made.get("input")
        report["settings"] = made.get("transformer", {}).get("params")
    return report


def _read_shards(folder: Path) -> Vectors:
    """Read all shards, one after the other, into one array."""
    sizes = [(record["rows"], folder / record["file"]) for record in read_manifest(folder)["shards"]]
    ids: list[str] = []
    y: list[Any] = []
    Z: FloatArray | None = None
    for (n_rows, _), path in zip(sizes, shard_files(folder), strict=True):
        shard = read_vectors(path)
        Z = np.empty((sum(rows for rows, _ in sizes), shard.Z.shape[1]), shard.Z.dtype) if Z is None else Z
        Z[len(ids) : len(ids) + n_rows] = shard.Z
        ids += shard.ids
        y += [None] * n_rows if shard.y is None else shard.y
    if Z is None:
        raise GraphError(f"{folder} holds no shards")
    return Vectors(ids, y if any(value is not None for value in y) else None, Z)


def _read_npy(path: Path) -> Vectors:
    Z = np.load(path, mmap_mode="r", allow_pickle=False)
    return Vectors([str(row) for row in range(len(Z) if Z.ndim else 0)], None, Z)


def _read_npz(path: Path) -> Vectors:
    with open(path, "rb") as file, np.load(file, allow_pickle=False) as arrays:
        y = arrays["y"].tolist() if "y" in arrays else None
        return Vectors(arrays["graph_id"].tolist(), y, arrays["embedding"])


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


def _read_parquet(path: Path) -> Vectors:
    file = _parquet(path)
    wanted = [name for name in ("graph_id", "y", "embedding") if name in file.schema_arrow.names]
    table = file.read(columns=wanted)
    column = table.column("embedding").combine_chunks()
    width = len(column[0]) if len(column) else 0
    flat = column.flatten().to_numpy(zero_copy_only=False)
    names = table.column_names
    ids = table.column("graph_id").to_pylist() if "graph_id" in names else list(map(str, range(len(column))))
    y = table.column("y").to_pylist() if "y" in names else None
    return Vectors(ids, y, flat.reshape(len(column), width))


def _parquet(path: Path) -> Any:
    arrow()
    from pyarrow import parquet

    return parquet.ParquetFile(path)


def _sniff_npy(path: Path) -> bool:
    Z = np.load(path, mmap_mode="r", allow_pickle=False)
    return bool(Z.ndim == 2 and Z.dtype.kind == "f")


def _sniff_npz(path: Path) -> bool:
    with zipfile.ZipFile(path) as archive:
        return "embedding.npy" in archive.namelist()


def _sniff_csv(path: Path) -> bool:
    with open(path, "rb") as file:
        if file.read(len(CSV_START)) != CSV_START.encode():
            return False
    with open(path, newline="", encoding="utf-8") as text:
        return "grnf0" in next(csv.reader(text), [])


def _sniff_parquet(path: Path) -> bool:
    with _parquet(path) as file:
        return "embedding" in file.schema_arrow.names


_READERS: dict[str, Callable[[Path], Vectors]] = {
    "npy": _read_npy,
    "npz": _read_npz,
    "csv": _read_csv,
    "parquet": _read_parquet,
}
_SNIFFERS: dict[str, Callable[[Path], bool]] = {
    ".npy": _sniff_npy,
    ".npz": _sniff_npz,
    ".csv": _sniff_csv,
    ".parquet": _sniff_parquet,
}
