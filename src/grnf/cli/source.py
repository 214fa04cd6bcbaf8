"""Where commands get their graphs from: any file, folder, pipe or standard input, read as a stream."""

from __future__ import annotations

import csv
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grnf._utils.files import is_pipe, room_for
from grnf.errors import GraphError

if TYPE_CHECKING:
    from grnf.io import BadGraph, RawGraph
    from grnf.io.files.file import File

__all__ = ["Source", "format_and_options", "name_of", "open_source"]


TRUTH = {"yes": True, "true": True, "no": False, "false": False}


@dataclass(frozen=True)
class Source:
    """Graphs somewhere on disk.

    Parameters
    ----------
    path : Path
    name : str
        What the user called it.
    format : str, optional
        By default as the suffix says.
    options : mapping
        What its reader is told, such as the names of columns or the encoding.
    inputs : tuple of Path
        All files and folders if several were named; `path` is then the first.
    known : File, optional
        The file, if its first bytes are known already.
    """

    path: Path
    name: str
    format: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    inputs: tuple[Path, ...] = ()
    known: File | None = None
    _files: dict[Any, File] = field(default_factory=dict, repr=False, compare=False)

    @property
    def file(self) -> File:
        """The file of the library, called as the user calls it; a table is looked at once."""
        from grnf.io.files.file import File
        from grnf.io.files.reading import file_of

        about = {
            name: self.options[name] for name in ("encoding", "header", "decimal") if name in self.options
        }
        if self.known is not None:
            return file_of(self.known, self.format, about)[0]
        key = (self.path, *about.items())
        if key not in self._files:
            self._files[key] = File(self.path, name=self.name, isolated=True, **about)
        self._files[key].format = self.format
        return self._files[key]

    def _read(self, read: Any, options: Mapping[str, Any]) -> Any:
        """Call a reader of the library."""
        settings = {**self.options, **options}
        if self.inputs:
            return read(self.inputs, format=self.format, isolated=True, **settings)
        return read(self.file, **settings)

    def read(self, *, yield_bad: bool = False, **options: Any) -> Iterator[RawGraph | BadGraph]:
        """Return the graphs one by one; with `yield_bad`, bad records too, in their places.

        Options are those of the reader of the format, in addition to those of the source.
        """
        from grnf.io.files.reading import read_graphs

        on_error = "yield" if yield_bad else "raise"
        return self._read(read_graphs, {"on_error": on_error, **options})  # type: ignore[no-any-return]

    def usable(self, on_error: str, bad: list[dict[str, Any]]) -> Iterator[tuple[int, RawGraph]]:
        """Yield graphs and their places; with on_error="skip" list those that cannot be read in `bad`."""
        from grnf.io.raw import BadGraph

        for index, item in enumerate(self.read(yield_bad=on_error == "skip")):
            if isinstance(item, BadGraph):
                bad.append({"index": index, "graph_id": name_of(item, index), "reason": item.reason})
            else:
                yield index, item

    def count(self) -> int | None:
        """Return how many graphs there are, where that can be told without reading them."""
        from grnf.io.files.ranges import ranges_of
        from grnf.io.files.reading import FILE_OPTIONS

        try:
            about = {name: self.options[name] for name in FILE_OPTIONS if name in self.options}
            files: Any = self.inputs or (self.file,)
            ranges = [each for file in files for each in ranges_of(file, sys.maxsize, self.format, **about)]
        except GraphError:  # what is wrong the reader says
            return None
        counts = [each.count for each in ranges if each.count is not None]
        return sum(counts) if len(counts) == len(ranges) else None

    def require_graphs(self) -> None:
        """Raise a `GraphError` if there is no graph, good or bad."""
        if next(self.read(yield_bad=True), None) is None:
            raise GraphError(f"{self.name} holds no graphs")


@contextmanager
def open_source(names: str | Sequence[str], format: str | None = None) -> Iterator[Source]:
    """Find the graphs that a user means: a file, a folder, a pipe, or a glob or several of them.

    Standard input, "-", and pipes can be read only once: they are copied to disk meanwhile.
    """
    from grnf.io.files.reading import input_paths, is_several

    format, options = format_and_options(format)
    names = [names] if isinstance(names, str) else list(names)
    if len(names) > 1 or is_several(names[0]):
        paths = input_paths(names)
        for path in paths:
            if str(path) == "-" or is_pipe(path):
                raise GraphError(
                    f"{path} can be read only once, and not together with other inputs. Save it first"
                )
        more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
        yield Source(paths[0], f"{paths[0]}{more}", format, options, tuple(paths))
        return
    name = names[0]
    if name != "-" and not Path(name).exists():
        raise GraphError(f"{name} does not exist")
    if name != "-" and not is_pipe(name):
        yield Source(Path(name), name, format, options)
        return
    title = "standard input" if name == "-" else name
    with tempfile.TemporaryDirectory(prefix="grnf-") as folder:
        copy = Path(folder) / (Path(name).name if Path(name).suffix else "stdin")
        with (
            room_for(f"the temporary copy of {title}"),
            nullcontext(sys.stdin.buffer) if name == "-" else open(name, "rb") as pipe,
            open(copy, "wb") as file,
        ):
            shutil.copyfileobj(pipe, file)
        if not copy.stat().st_size:
            raise GraphError(f"{title} holds no graphs: it is empty")
        yield Source(copy, title, format, options)


def format_and_options(format: str | None) -> tuple[str | None, dict[str, Any]]:
    """Split what --format says: the name of a format and, after a colon, what its reader is told.

    Examples
    --------
    >>> format_and_options("edge-table:source_column=from,directed")
    ('edge-table', {'source_column': 'from', 'directed': True})
    >>> format_and_options('edge-table:"source_column=a,b",directed=no'), format_and_options(None)
    (('edge-table', {'source_column': 'a,b', 'directed': False}), (None, {}))
    """
    name, _, rest = (format or "").partition(":")
    options: dict[str, Any] = {}
    for item in next(csv.reader([rest])) if rest else ():
        option, given, value = item.partition("=")
        options[option.strip()] = TRUTH.get(value.lower(), value) if given else True
    return name or None, options


def name_of(item: RawGraph | BadGraph, index: int) -> str:
    """Return what a graph is called: its id, or its place in the source."""
    return str(index) if item.graph_id is None else str(item.graph_id)
