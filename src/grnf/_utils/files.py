"""Writing files so that a crash leaves the old or the new one, never half of one; what is a pipe."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from grnf.errors import DiskFullError

__all__ = ["Summed", "atomic_write", "is_pipe", "room_for", "write_array", "write_json"]

FULL = {errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)}


@contextmanager
def atomic_write(
    path: str | os.PathLike[str], mode: str = "w", needed: int | None = None
) -> Iterator[IO[Any]]:
    """Open a file beside `path`, and rename it to `path` only once all is written.

    Where it is known about how many bytes are `needed`, an error of a full disk says so.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "notes.txt"
    >>> with atomic_write(path) as file:
    ...     _ = file.write("all or nothing")
    >>> path.read_text()
    'all or nothing'
    """
    target = Path(path)
    encoding = None if "b" in mode else "utf-8"
    with room_for(target, target.parent, needed):
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
        try:
            with os.fdopen(handle, mode, encoding=encoding) as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            umask = os.umask(0)
            os.umask(umask)
            os.chmod(name, 0o666 & ~umask)  # mkstemp makes files private; give it the usual rights
            os.replace(name, target)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise


@contextmanager
def room_for(
    name: str | os.PathLike[str], folder: Path | None = None, needed: int | None = None
) -> Iterator[None]:
    """Say what did not fit on its disk, how much is free there, and what helps.

    Parameters
    ----------
    name : str or path
        Of what is written.
    folder : Path, optional
        Where it is; by default among the temporary files.
    needed : int, optional
        About how many bytes it takes.

    Examples
    --------
    >>> with room_for("z.npy", Path("."), needed=4_000_000):
    ...     raise OSError(errno.ENOSPC, "No space left on device")
    Traceback (most recent call last):
    ...
    grnf.errors.DiskFullError: z.npy cannot be written: No space left on device. It takes about 4.0 MB, ...
    """
    try:
        yield
    except OSError as error:
        if error.errno not in FULL:
            raise
        size = "" if needed is None else f"It takes about {needed / 1e6:,.1f} MB, "
        raise DiskFullError(
            f"{name} cannot be written: {error.strerror}. {size}{_room(error.errno, folder)}: make room, or "
            "write to another place"
        ) from error


def _room(number: int | None, folder: Path | None) -> str:
    """Say how much room there is; for temporary files too, which may be the ones that do not fit."""
    if number == errno.EFBIG and sys.platform != "win32":
        import resource

        limit = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
        if limit != resource.RLIM_INFINITY:
            return f"files may have up to {limit:,} bytes (ulimit -f)"
    temporary = Path(tempfile.gettempdir())
    places = {"": folder, " for temporary files (TMPDIR)": temporary}
    if folder is not None and folder.stat().st_dev == temporary.stat().st_dev:
        del places[" for temporary files (TMPDIR)"]
    return ", ".join(
        f"{shutil.disk_usage(place).free / 1e6:,.1f} MB are free in {place}{what}"
        for what, place in places.items()
        if place is not None
    )


def write_json(path: str | os.PathLike[str], content: Any) -> None:
    """Write plain values as JSON for people to read, all or nothing."""
    with atomic_write(path) as file:
        file.write(json.dumps(content, indent=2) + "\n")


def write_array(file: IO[bytes], array: Any) -> None:
    """Write an array as .npy to an open file. Given the file itself, numpy would not say that a disk is full.

    Examples
    --------
    >>> with tempfile.TemporaryFile() as file:
    ...     write_array(file, [1.5])
    ...     file.tell()
    136
    """
    import numpy as np

    np.save(Summed(file), np.ascontiguousarray(array), allow_pickle=False)


def is_pipe(path: str | os.PathLike[str]) -> bool:
    """Whether something is there that can be read only once: a pipe or a device, no file and no folder.

    Examples
    --------
    >>> is_pipe(os.devnull), is_pipe(tempfile.gettempdir()), is_pipe("no such thing")
    (True, False, False)
    """
    path = Path(path)
    return path.exists() and not path.is_file() and not path.is_dir()


class Summed:
    """A file to write to, of which size and checksum are taken on the way.

    Examples
    --------
    >>> import io
    >>> summed = Summed(io.BytesIO())
    >>> _ = summed.write(b"some bytes")
    >>> summed.size, summed.sha256()[:8]
    (10, '0d22cdcc')
    """

    closed = False

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file
        self.size = 0
        self._hash = hashlib.sha256()

    def write(self, data: Any) -> int:
        """Write bytes."""
        self._hash.update(data)
        self.size += len(data)
        return self.file.write(data)

    def tell(self) -> int:
        """Return how many bytes were written."""
        return self.size

    def flush(self) -> None:
        """Hand what was written to the system."""
        self.file.flush()

    def sha256(self) -> str:
        """Return the checksum of what was written."""
        return self._hash.hexdigest()
