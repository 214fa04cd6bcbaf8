"""Zip files from strangers: read as streams, never unpacked to disk, refused when they look like traps."""

from __future__ import annotations

import stat
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import PurePosixPath
from typing import IO

from grnf.errors import GraphError
from grnf.io.files.limits import LARGEST_RATIO, SMALL_MEMBER

__all__ = ["Member", "new_member", "open_archive"]

DAMAGE = (zipfile.BadZipFile, EOFError, OSError, ValueError, NotImplementedError, zlib.error)


def open_archive(file: IO[bytes], name: str) -> zipfile.ZipFile:
    """Open a zip file whose members are plain files with harmless names and sizes."""
    try:
        archive = zipfile.ZipFile(file)
    except (zipfile.BadZipFile, EOFError, OSError, ValueError, NotImplementedError) as error:
        raise GraphError(f"damaged zip file: {error}", where=name) from None
    size = file.seek(0, 2)
    for member in archive.infolist():
        _check_member(member, name)
        if member.header_offset + member.compress_size > size:
            raise GraphError(f"{member.filename!r} is damaged: it would end behind the archive", where=name)
    return archive


def _check_member(member: zipfile.ZipInfo, name: str) -> None:
    where = f"{name}: {member.filename!r}"
    path = PurePosixPath(member.filename.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts or not path.parts or ":" in path.parts[0]:
        raise GraphError(f"{where} points outside the archive; pack the files again without such names")
    if stat.S_ISLNK(member.external_attr >> 16):
        raise GraphError(f"{where} is a symbolic link; pack the file itself")
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise GraphError(f"{where} is packed by method {member.compress_type}; use deflate or store")
    if member.file_size > max(SMALL_MEMBER, LARGEST_RATIO * member.compress_size):
        raise GraphError(
            f"{where} unpacks from {member.compress_size} to {member.file_size} bytes, which looks like a "
            "zip bomb; unpack it yourself if you trust it"
        )


@contextmanager
def new_member(archive: zipfile.ZipFile, name: str) -> Iterator[IO[bytes]]:
    """Open a file of an archive to write to; its date is fixed, so that equal graphs make equal archives."""
    entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    entry.compress_type = zipfile.ZIP_DEFLATED
    with archive.open(entry, "w", force_zip64=True) as member:
        yield member


class Member:
    """One file of an archive, read from front to back; several can be open at a time."""

    def __init__(self, archive: zipfile.ZipFile, member: str, name: str) -> None:
        self.where = f"{name}: {member!r}"
        try:
            self.size = archive.getinfo(member).file_size
            self.stream = archive.open(member)
        except DAMAGE as error:
            raise GraphError(f"damaged: {error}", where=self.where) from None
        except RuntimeError:
            raise GraphError(f"{self.where} is encrypted; unpack it first") from None

    def read(self, count: int = -1) -> bytes:
        """Return the next bytes, fewer only at the end."""
        try:
            return self.stream.read(count)
        except DAMAGE as error:
            raise GraphError(f"damaged: {error}", where=self.where) from None

    def close(self) -> None:
        """Stop reading."""
        self.stream.close()
