"""Files in ranges: where to cut a file into so many graphs each, and how to read a range of it alone.

A range is known by its place in a file: rows of a Parquet file, or bytes of a text whose graphs are lines.
Files of other formats are one range each. What gzip has made is decompressed up to the range, which is much
quicker than reading it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count as count_from
from itertools import islice, pairwise, takewhile
from pathlib import Path
from typing import IO, Any, cast

from grnf.errors import GraphError
from grnf.io.files.file import Block, File, OnError, numbered_lines
from grnf.io.files.formats import FORMATS
from grnf.io.files.reading import FILE_OPTIONS, blocks_of, file_of, format_of
from grnf.io.files.tables import is_parquet, is_smi_header, table_of

CHUNK = 2**20
"""Bytes that are read at a time."""


@dataclass(frozen=True)
class Range:
    """Some graphs of a file: how many, from which position on. None: all of the file.

    In a text, also bytes of its header, the first byte of the range and the byte after it, and lines before
    it.
    """

    path: str
    format: str
    first: int = 0
    count: int | None = None
    header: int = 0
    start: int = 0
    stop: int = 0
    line: int = 0


def ranges_of(path: Path | File, size: int, format: str | None = None, **options: Any) -> list[Range]:
    r"""Cut a file into ranges of `size` graphs, the last of fewer, as far as its format can be cut.

    `options` are those of `read_graphs`.
    """
    file, _ = file_of(path, format, options)
    entry, name = format_of(file), str(file.path)
    if entry.cut is None or file.is_folder:
        return [Range(name, entry.name, count=1 if entry.one_graph else None)]
    if entry.cut == "rows" or (entry.cut == "table" and is_parquet(file)):
        n_rows = cast("int", table_of(file).n_rows)
        starts = range(0, max(n_rows, 1), size)
        return [Range(name, entry.name, first, min(size, n_rows - first)) for first in starts]
    has_header = entry.cut == "table" and table_of(file).has_header
    with file.open() as stream:
        if entry.cut == "table":
            head = b"".join(islice(stream, table_of(file).lines_before + has_header))
            while has_header and head.count(b'"') % 2 and (more := stream.readline()):
                head += more  # a name with a line end
        else:
            first = list(takewhile(is_smi_header, stream)) if entry.name == "smi" else []
            head = b"".join(first)
    with file.open() as stream:
        stream.read(len(head))
        cuts, count = _cuts(stream, len(head), head.count(b"\n"), size, entry.cut == "table")
    header = len(head) if has_header else 0
    return [
        Range(name, entry.name, first, min(size, count - first), header, start, stop, line)
        for first, ((start, line), (stop, _)) in zip(count_from(0, size), pairwise(cuts), strict=False)
    ]


def _cuts(
    stream: IO[bytes], offset: int, line: int, size: int, quotes: bool
) -> tuple[list[tuple[int, int]], int]:
    """Return bytes and lines before each range and after the last, and the number of records in all.

    A record is a line that is not empty. With `quotes`, line ends between quotation marks do not count.
    """
    cuts, count, inside, filled = [(offset, line)], 0, 0, False
    while piece := stream.readline(CHUNK):
        offset += len(piece)
        line += piece.endswith(b"\n")
        filled = filled or bool(piece.strip(b"\r\n"))
        inside ^= quotes and piece.count(b'"') % 2
        if filled and not inside and piece.endswith(b"\n"):
            count, filled = count + 1, False
            if count % size == 0:
                cuts.append((offset, line))
    count += filled  # the last line has no end
    if count > size * (len(cuts) - 1) or len(cuts) == 1:
        cuts.append((offset, line))
    return cuts, count


class RangeFile(File):
    """A file of which one range is read."""

    def __init__(self, part: Range, **about: Any) -> None:
        super().__init__(part.path, format=part.format, **about)
        self.part = part
        cut = FORMATS[part.format].cut
        self.is_cut = cut is not None
        if cut == "rows" or (cut == "table" and is_parquet(self)):
            self.rows, self.is_cut = (part.first, cast("int", part.count)), False
        elif cut is not None:
            self.header = part.header > 0

    def lines_or_errors(self, limit: int) -> Iterator[tuple[int, bytes | GraphError]]:
        """Yield the lines of the header and of the range."""
        if not self.is_cut:
            yield from super().lines_or_errors(limit)
            return
        part = self.part
        with self.open() as stream:
            yield from numbered_lines(stream, limit, 0, part.header)
            if stream.seekable():
                stream.seek(part.start)
            else:  # a text of another encoding
                for place in range(part.header, part.start, CHUNK):
                    stream.read(min(CHUNK, part.start - place))
            yield from numbered_lines(stream, limit, part.line, part.stop - part.start)


def read_range(
    part: Range, *, on_error: OnError = "raise", block_size: int = 1024, **options: Any
) -> Iterator[Block]:
    """Yield the graphs of a range some at a time, as `grnf.io.read_blocks` does of a whole file."""
    if not Path(part.path).exists():
        raise GraphError(f"{part.path} does not exist", cure="Read shards on a computer that has their files")
    about = {name: options.pop(name) for name in FILE_OPTIONS if name in options}
    settings: Any = {"on_error": on_error, "block_size": block_size, "n_jobs": None}
    yield from blocks_of(RangeFile(part, **about), FORMATS[part.format], options=options, **settings)
