"""Reading embeddings: vector files, folders of shards with their manifest, or any .npy of vectors."""

from __future__ import annotations

import csv
import os
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from grnf._utils import saved
from grnf._utils.files import is_pipe
from grnf._utils.rules import Int
from grnf._utils.saved import COUNT, OBJECT, TEXT, FileName, check_version, damaged, parse_json, validate
from grnf.errors import GraphError, GrnfWarning
from grnf.io.vectors.blocks import Vectors
from grnf.io.vectors.formats import FORMATS, vector_format
from grnf.io.vectors.writer import FORMAT, MANIFEST, VERSION, checksum, is_shard_folder, side_file
from grnf.typing import FloatArray

ROWS_CHECKED = 1024
"""Rows that are searched for NaN at a time."""

SHARDS = {
    "vectors": {"n_graphs": COUNT, "n_components": Int(1)},
    "shards": [
        {"shard": COUNT, "file": FileName(), "rows": COUNT, "bytes": COUNT, "sha256": TEXT, "bad": [OBJECT]}
    ],
    "set_aside": [{"shard": COUNT, "reason": TEXT}],
    "run": OBJECT,
    "transformer": OBJECT,
}
"""The schema of a manifest."""

DAMAGE = (*saved.DAMAGE, csv.Error)
"""What the readers of formats raise."""


def read_vectors(path: str | os.PathLike[str], *, format: str | None = None) -> Vectors:
    """Read an embedding from .parquet, .npy, .npz or .csv, or all shards of a folder of them.

    A .npy file has no ids, so its rows are called "0", "1", .... It is memory-mapped. Columns other than
    ids, labels and vectors are ignored.
    """
    path = Path(path)
    if is_pipe(path):
        raise GraphError(f"{path} is a pipe. Vectors are read from files only, so save them as one first")
    if format is None and is_shard_folder(path):
        return _read_shards(path)
    try:
        vectors = FORMATS[format or vector_format(path)].read(path)
    except FileNotFoundError:
        raise GraphError(f"{path} does not exist") from None
    except (OSError, *DAMAGE) as error:
        from grnf.io.files.file import one_line

        if isinstance(error, OSError) and error.filename is not None:
            raise
        raise GraphError(f"{path} holds no vectors: {one_line(error)}") from None
    if vectors.Z.ndim != 2 or vectors.Z.dtype.kind != "f":
        raise GraphError(
            f"{path}: vectors must be floating-point numbers of shape (n_graphs, M), got {vectors.Z.dtype} "
            f"of shape {vectors.Z.shape}"
        )
    if len(vectors.ids) != len(vectors.Z):
        raise GraphError(f"{path} is damaged: {len(vectors.ids)} ids for {len(vectors.Z)} vectors")
    return vectors


def holds_vectors(path: str | os.PathLike[str]) -> bool:
    """Whether a file holds an embedding, by its suffix and its head. Graphs may come in the same suffixes.

    So does a folder of shards.
    """
    path = Path(path)
    if is_shard_folder(path):
        return True
    format = FORMATS.get(path.suffix.lower().removeprefix("."))
    try:
        return format is not None and path.is_file() and format.matches(path)
    except (OSError, *DAMAGE):
        return False


def read_manifest(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the manifest of a folder of shards. Shards that were set aside are warned of."""
    path = Path(folder) / MANIFEST
    try:
        made = parse_json(path.read_bytes(), path)
    except FileNotFoundError:
        raise GraphError(f"{folder} is unfinished: resume the run that makes it (--resume)") from None
    manifest = check_version(made, FORMAT, VERSION, "a manifest of shards", path)
    validate(manifest, SHARDS, path)
    if manifest["set_aside"]:
        first = manifest["set_aside"][0]
        warnings.warn(
            f"{folder} lacks {len(manifest['set_aside'])} shards that were set aside. Shard "
            f"{first['shard']}: {first['reason']}",
            GrnfWarning,
            stacklevel=3,
        )
    return manifest


def shard_files(folder: str | os.PathLike[str], *, check: bool = False) -> Iterator[Path]:
    """Yield the files of the shards in their order. With `check`, verify that they are unchanged."""
    for record in read_manifest(folder)["shards"]:
        path = Path(folder) / record["file"]
        try:
            size = path.stat().st_size
        except FileNotFoundError:
            raise GraphError(f"{path} is missing, which the manifest names") from None
        if size != record["bytes"]:
            raise GraphError(f"{path} has {size:,} bytes, but the manifest has {record['bytes']:,}")
        if check and checksum(path) != (record["bytes"], record["sha256"]):
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
        made = parse_json(settings.read_bytes(), settings)
        validate(made, {"transformer?": {"params?": OBJECT}}, settings)
        report["input"] = made.get("input")
        report["settings"] = made.get("transformer", {}).get("params")
    return report


def molecule_options(settings: Path) -> list[str] | None:
    """Return the options by which molecules were read for vectors, from their settings, or None."""
    made = parse_json(settings.read_bytes(), settings) if settings.exists() else {}
    if "run" not in made:
        return None
    validate(made, {"run": {"input": {"options": OBJECT}}}, settings)
    options = made["run"]["input"]["options"]
    return [name for name in ("standardize", "stereo") if options.get(name) is True]


def _read_shards(folder: Path) -> Vectors:
    """Read all shards, one after the other, into one array."""
    sizes = [(record["rows"], folder / record["file"]) for record in read_manifest(folder)["shards"]]
    ids: list[str] = []
    y: list[Any] = []
    Z: FloatArray | None = None
    for (n_rows, _), path in zip(sizes, shard_files(folder), strict=True):
        shard = read_vectors(path)
        Z = np.empty((sum(rows for rows, _ in sizes), shard.Z.shape[1]), shard.Z.dtype) if Z is None else Z
        if shard.Z.shape != (n_rows, Z.shape[1]):
            expected = (n_rows, Z.shape[1])
            reason = f"the vectors of {path.name} must have shape {expected}, got {shard.Z.shape}"
            raise damaged(reason, folder / MANIFEST)
        Z[len(ids) : len(ids) + n_rows] = shard.Z
        ids += shard.ids
        y += [None] * n_rows if shard.y is None else shard.y
    if Z is None:
        raise GraphError(f"{folder} holds no shards")
    return Vectors(ids, y if any(value is not None for value in y) else None, Z)
