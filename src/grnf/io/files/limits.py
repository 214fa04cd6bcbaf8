"""Limits on what a file may ask for, each with its reason, and zip archives that keep to them.

Archives are read as streams and never unpacked to disk.
"""

from __future__ import annotations

import stat
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import PurePosixPath
from typing import IO

from grnf.errors import GraphError

LONGEST_LINE = 2**20
"""Bytes of a line of a table or an edge list: a row of a few columns, never a million of them."""

LONGEST_RECORD = 2**27
"""Bytes of a line that holds a whole graph: graph6 with 40,000 nodes, or JSON of a million edges."""

LARGEST_DOCUMENT = 2**30
"""Bytes of a document that is held in memory as a whole: GraphML, GML, GEXF, DOT, or one JSON object."""

LARGEST_RATIO = 300
"""Unpacked bytes per packed byte of an archive. Numbers in text reach 10 to 100, a bomb 1000."""

SMALL_MEMBER = 2**24
"""Unpacked bytes below which the ratio does not matter: a column of equal labels packs very well."""

LONGEST_SMILES = 10_000
"""Characters of a SMILES string: a protein of 1,000 residues. Parsing takes more than linear time."""

DEEPEST_NESTING = 64
"""Levels of brackets or tags. Graph formats need fewer than ten."""

CELL = 100
"""Bytes of a cell in a workbook. calamine allocates all rows times columns, empty ones too."""

MOST_EMPTY_GRAPHS = 10**6
"""Graphs without nodes of a TU dataset, whose largest graph number is its number of graphs."""

MOST_PRODUCTS = 10**6
"""Edges of a DOT graph between subgraphs: a few characters join very many nodes."""

DAMAGE = (zipfile.BadZipFile, EOFError, OSError, ValueError, NotImplementedError, zlib.error)


def open_archive(file: IO[bytes], name: str) -> zipfile.ZipFile:
    """Open a zip file whose members are plain files with harmless names and sizes.

    Arrays may pack very well, since networks have few edges. `ArrayStream` limits their memory.
    """
    try:
        archive = zipfile.ZipFile(file)
    except DAMAGE as error:
        raise GraphError(f"damaged zip file: {error}", where=name) from None
    size = file.seek(0, 2)
    for member in archive.infolist():
        _check_member(member, name)
        if member.header_offset + member.compress_size > size:
            raise GraphError(f"{member.filename!r} is damaged: it ends behind the archive", where=name)
    others = [member for member in archive.infolist() if not member.filename.endswith(".npy")]
    total = sum(member.file_size for member in others)
    if total > max(SMALL_MEMBER, LARGEST_RATIO * size):
        largest = max(others, key=lambda member: member.file_size)
        raise GraphError(
            f"unpacks from {size} to {total} bytes, which looks like a zip bomb",
            where=f"{name}: {largest.filename!r}",
            cure="Unpack it yourself if you trust it",
        )
    return archive


def _check_member(member: zipfile.ZipInfo, name: str) -> None:
    where = f"{name}: {member.filename!r}"
    path = PurePosixPath(member.filename.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts or not path.parts or ":" in path.parts[0]:
        raise GraphError("points outside the archive", where=where, cure="Pack the files with plain names")
    if stat.S_ISLNK(member.external_attr >> 16):
        raise GraphError("is a symbolic link", where=where, cure="Pack the file itself")
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise GraphError(
            f"is packed by method {member.compress_type}", where=where, cure="Use deflate or store"
        )


@contextmanager
def new_member(archive: zipfile.ZipFile, name: str) -> Iterator[IO[bytes]]:
    """Open a file of an archive to write to. Its date is fixed, so that equal graphs make equal archives."""
    entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    entry.compress_type = zipfile.ZIP_DEFLATED
    with archive.open(entry, "w", force_zip64=True) as member:
        yield member


class Member:
    """One file of an archive, read from front to back. Several can be open at a time."""

    def __init__(self, archive: zipfile.ZipFile, member: str, name: str) -> None:
        self.where = f"{name}: {member!r}"
        try:
            self.size = archive.getinfo(member).file_size
            self.stream = archive.open(member)
        except DAMAGE as error:
            raise GraphError(f"damaged: {error}", where=self.where) from None
        except RuntimeError:
            raise GraphError("is encrypted", where=self.where, cure="Unpack it first") from None

    def read(self, count: int = -1) -> bytes:
        """Return the next bytes, fewer only at the end."""
        try:
            return self.stream.read(count)
        except DAMAGE as error:
            raise GraphError(f"damaged: {error}", where=self.where) from None

    def close(self) -> None:
        """Stop reading."""
        self.stream.close()
