"""The inputs of a run: which files they are, their checksums, and their graphs as a stream of blocks."""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import IO, Any, cast

from grnf._utils.files import is_pipe
from grnf.errors import GraphError
from grnf.io.files.file import File
from grnf.io.files.formats import FORMATS
from grnf.io.files.reading import Inputs, blocks_of, file_of, format_of, input_paths, is_several, read_blocks
from grnf.io.files.tu_files import is_tu_folder
from grnf.io.raw import RawBatch, sized

HEAD = 2**20
"""Bytes of the beginning of a file that are kept."""


class RunInputs:
    """Graphs in one or several files. Each file is read once for its checksum, and once for its graphs.

    `source` is the file, if there is only one: looking at its first bytes again does not open it. `name` is
    what messages call the inputs, by default the path.
    """

    def __init__(self, inputs: Inputs, name: str | None = None) -> None:
        self.paths = input_paths(inputs)
        for path in self.paths:
            if str(path) == "-" or is_pipe(path):
                raise GraphError(f"{path} can be read only once", cure="Save it as a file first")
        self._several = several = is_several(inputs)
        more = f" and {len(self.paths) - 1} more" if len(self.paths) > 1 else ""
        self.name = f"{self.paths[0]}{more}" if name is None else name
        self.source: _Known | None = None
        self.sha256: dict[str, str] = {}
        for path in self.paths:
            is_file = path.is_file()
            for file in [path] if is_file else sorted(file for file in path.rglob("*") if file.is_file()):
                head, sha256 = _first_pass(file)
                known_by = file if several else file.relative_to(path.parent if is_file else path)
                self.sha256[str(known_by)] = sha256
            if is_file and not several:
                self.source = _Known(path, self.name, head)

    def blocks(
        self,
        size: int,
        *,
        format: str | None = None,
        options: Mapping[str, Any] | None = None,
        yield_bad: bool = False,
        n_jobs: int | None = None,
    ) -> Iterator[RawBatch | list[Any]]:
        """Yield the graphs `size` at a time. With `yield_bad`, `BadGraph` stands for unreadable ones."""
        more: Any = {"on_error": "yield" if yield_bad else "raise", "block_size": size, "n_jobs": n_jobs}
        if self.source is None:
            where = self.paths if self._several else self.paths[0]
            return sized(read_blocks(where, format=format, **more, **(options or {})), size)
        file, options = file_of(self.source, format, options)
        return sized(blocks_of(file, format_of(file), options=options, **more), size)

    def files(self) -> list[Path]:
        """Return all files. A TU folder is one, of other folders all files of known formats are taken."""
        files: list[Path] = []
        for path in self.paths:
            files += _files_of(path) if path.is_dir() and not is_tu_folder(path) else [path]
        return files


class _Known(File):
    """A file whose first bytes are known. It is opened only to read beyond them."""

    def __init__(self, path: Path, name: str, head: bytes) -> None:
        super().__init__(path, name=name)
        self.head = head

    def begins_with(self, *starts: bytes) -> bool:
        """Look at the first bytes."""
        return self.head.startswith(starts)

    def _open_packed(self) -> AbstractContextManager[IO[bytes]]:
        return cast("IO[bytes]", io.BufferedReader(_Continued(self.path, self.head), HEAD))


class _Continued(io.RawIOBase):
    """The bytes of a file, of which the first come from memory."""

    def __init__(self, path: Path, head: bytes) -> None:
        self.path, self.head, self.place = path, head, 0
        self.file: IO[bytes] | None = None

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        origin = (0, self.place, self.path.stat().st_size if whence == os.SEEK_END else 0)[whence]
        self.place = origin + offset
        return self.place

    def tell(self) -> int:
        return self.place

    def readinto(self, buffer: Any) -> int:
        data = self.head[self.place : self.place + len(buffer)]
        if not data and len(self.head) == HEAD:
            if self.file is None:
                self.file = self.path.open("rb", buffering=0)
            self.file.seek(self.place)
            data = self.file.read(len(buffer))
        buffer[: len(data)] = data
        self.place += len(data)
        return len(data)

    def close(self) -> None:
        if self.file is not None:
            self.file.close()
        super().close()


def _first_pass(path: Path) -> tuple[bytes, str]:
    """Return the first bytes of a file, and its SHA-256."""
    with path.open("rb") as file:
        head = file.read(HEAD)
        return head, hashlib.file_digest(file, lambda: hashlib.sha256(head)).hexdigest()


def _files_of(folder: Path) -> list[Path]:
    known = {suffix for entry in FORMATS.values() for suffix in entry.suffixes}
    files = sorted(
        file
        for file in folder.iterdir()
        if file.is_file() and not file.name.startswith((".", "_")) and known & set(file.suffixes[-2:])
    )
    if not files:
        raise GraphError(f"{folder} has no files of a known format")
    return files
