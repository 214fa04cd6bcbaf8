"""Folders of shards: vectors in several Parquet files with a manifest, as `grnf.scale.embed` writes them."""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from grnf.errors import GraphError, GrnfWarning

__all__ = ["FORMAT", "MANIFEST", "VERSION", "is_shard_folder", "read_manifest", "shard_files"]

FORMAT, VERSION = "grnf-shards", 1
MANIFEST = "_manifest.json"


def is_shard_folder(path: str | os.PathLike[str]) -> bool:
    """Whether this is a folder of shards, finished or not.

    Examples
    --------
    >>> is_shard_folder("vectors.parquet")
    False
    """
    return (Path(path) / MANIFEST).is_file() or (Path(path) / "_work" / "plan.json").is_file()


def read_manifest(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the manifest of a folder of shards; shards that were set aside are warned of."""
    path = Path(folder) / MANIFEST
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise GraphError(f"{folder} is unfinished: go on with the run that makes it (--resume)") from None
    except ValueError as error:
        raise GraphError(f"{path} is damaged: {error}") from None
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise GraphError(f"{path} is no manifest of shards: its 'format' is not {FORMAT!r}")
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
