"""Writing files so that a crash leaves the old or the new one, never half of one; what is a pipe."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

__all__ = ["atomic_write", "is_pipe", "write_json"]


@contextmanager
def atomic_write(path: str | os.PathLike[str], mode: str = "w") -> Iterator[IO[Any]]:
    """Open a file beside `path`, and rename it to `path` only once all is written.

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


def write_json(path: str | os.PathLike[str], content: Any) -> None:
    """Write plain values as JSON for people to read, all or nothing."""
    with atomic_write(path) as file:
        file.write(json.dumps(content, indent=2) + "\n")


def is_pipe(path: str | os.PathLike[str]) -> bool:
    """Whether something is there that can be read only once: a pipe or a device, no file and no folder.

    Examples
    --------
    >>> is_pipe(os.devnull), is_pipe(tempfile.gettempdir()), is_pipe("no such thing")
    (True, False, False)
    """
    path = Path(path)
    return path.exists() and not path.is_file() and not path.is_dir()
