"""Zip files from strangers: read in memory, never unpacked to disk, refused when they look like traps."""

from __future__ import annotations

import stat
import zipfile
import zlib
from pathlib import PurePosixPath
from typing import IO

from grnf.errors import GraphError
from grnf.io.files.limits import LARGEST_ARCHIVE, LARGEST_MEMBER, LARGEST_RATIO, SMALL_MEMBER

__all__ = ["open_archive", "read_member"]


def open_archive(file: IO[bytes], name: str) -> zipfile.ZipFile:
    """Open a zip file whose members are plain files with harmless names and sizes."""
    try:
        archive = zipfile.ZipFile(file)
    except (zipfile.BadZipFile, EOFError, OSError, ValueError, NotImplementedError) as error:
        raise GraphError(f"{name}: damaged zip file: {error}") from None
    members = archive.infolist()
    for member in members:
        _check_member(member, name)
    total = sum(member.file_size for member in members)
    if total > LARGEST_ARCHIVE:
        raise GraphError(f"{name} unpacks to {total} bytes; up to {LARGEST_ARCHIVE} are read")
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
    if member.file_size > LARGEST_MEMBER:
        raise GraphError(f"{where} unpacks to {member.file_size} bytes; up to {LARGEST_MEMBER} are read")
    if member.file_size > max(SMALL_MEMBER, LARGEST_RATIO * member.compress_size):
        raise GraphError(
            f"{where} unpacks from {member.compress_size} to {member.file_size} bytes, which looks like a "
            "zip bomb; unpack it yourself if you trust it"
        )


def read_member(archive: zipfile.ZipFile, member: str, name: str) -> bytes:
    """Return the bytes of one member, no more than its directory entry says."""
    try:
        with archive.open(member) as stream:
            return stream.read(archive.getinfo(member).file_size)
    except (zipfile.BadZipFile, EOFError, OSError, ValueError, NotImplementedError, zlib.error) as error:
        raise GraphError(f"{name}: {member!r} is damaged: {error}") from None
    except RuntimeError:
        raise GraphError(f"{name}: {member!r} is encrypted; unpack it first") from None
