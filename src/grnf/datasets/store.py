"""Where data sets live on this machine, and how they get there: an offline folder, a cache, a download."""

from __future__ import annotations

import os
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from grnf._utils.files import atomic_write
from grnf.errors import GraphError

__all__ = ["data_folder", "download", "find_file"]

TIMEOUT = 60.0
"""Seconds without an answer before a download is given up."""

LARGEST_DOWNLOAD = 2**30
"""Bytes: more than this is no data set that we know."""

CHUNK = 2**18
SAFE = ("https://", "http://127.0.0.1:")


def data_folder(data: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder of data sets: `data`, else the variable GRNF_DATA, else the user's cache.

    Examples
    --------
    >>> data_folder("sets").name
    'sets'
    """
    if data is not None:
        return Path(data)
    if os.environ.get("GRNF_DATA"):
        return Path(os.environ["GRNF_DATA"])
    if sys.platform == "win32":
        cache = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        cache = Path.home() / "Library" / "Caches"
    else:
        cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "grnf"


def find_file(folder: Path, subfolder: str, name: str) -> Path | None:
    """Return the file `name` in `subfolder` of the folder, or in the folder itself, if it is there."""
    places = (folder / subfolder / name, folder / name)
    return next((place for place in places if place.is_file()), None)


def download(address: str, path: Path, check: Callable[[Path], Any]) -> Path:
    """Download a file to `path`; it gets its name only once `check` of the whole file has raised nothing.

    Only https is used (and http to this very machine, for tests); size and waiting time are limited.
    """
    if not address.startswith(SAFE):
        raise GraphError(f"{address}: only https addresses are downloaded")
    path.parent.mkdir(parents=True, exist_ok=True)
    unchecked = path.with_name(f".{path.name}.unchecked")
    try:
        _receive(address, unchecked)
        check(unchecked)
        os.replace(unchecked, path)
    except OSError as error:
        raise GraphError(
            f"{path.name} is not on this machine, and {address} cannot be reached ({error}); "
            f"put the file at {path}, or name a folder that has it (data=, --data or GRNF_DATA)"
        ) from error
    finally:
        unchecked.unlink(missing_ok=True)
    return path


def _receive(address: str, path: Path) -> None:
    request = urllib.request.Request(address, headers={"User-Agent": "grnf"})  # noqa: S310
    with (
        urllib.request.urlopen(request, timeout=TIMEOUT) as answer,  # noqa: S310 https, see above
        atomic_write(path, "wb") as file,
    ):
        if not answer.geturl().startswith(SAFE):
            raise GraphError(f"{address} leads to {answer.geturl()}: only https addresses are downloaded")
        size = 0
        while chunk := answer.read(CHUNK):
            size += len(chunk)
            if size > LARGEST_DOWNLOAD:
                raise GraphError(f"{address} is larger than {LARGEST_DOWNLOAD:,} bytes: given up")
            file.write(chunk)
        promised = answer.headers.get("Content-Length")
        if promised is not None and int(promised) != size:
            raise GraphError(f"{address}: {size:,} of {promised} bytes came; try again")
