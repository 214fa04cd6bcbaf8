"""Graphs that a user names: a file, a folder, a glob, a pipe or standard input, and how they are read."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from grnf._utils.files import is_pipe
from grnf.errors import GraphError
from grnf.io.files.file import File
from grnf.io.files.formats import FORMATS, MOLECULES, TABLES, Format
from grnf.io.files.molecules import copy_molecules
from grnf.io.files.ranges import ranges_of
from grnf.io.files.reading import (
    FILE_OPTIONS,
    format_of,
    input_paths,
    is_several,
    read_graphs,
    stem_and_suffix,
)
from grnf.io.files.tables import Table, named_smiles, table_of
from grnf.io.files.writing import write_graphs
from grnf.io.raw import BadGraph, RawGraph

TABLE_READERS = ("smiles", "edge-table")
"""Formats that a text table may have."""
TRUTH = {"yes": True, "true": True, "no": False, "false": False}


@dataclass(frozen=True)
class Source:
    """Graphs in one or several files, and how they are read."""

    file: File
    """The file or folder. Of several, the first."""
    name: str
    format: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    """Options of the reader, such as names of columns or the encoding."""
    paths: tuple[Path, ...] = ()
    """All files and folders if there are several."""

    def read(self, *, yield_bad: bool = False, **options: Any) -> Iterator[RawGraph | BadGraph]:
        """Return the graphs one by one. With `yield_bad`, bad records too, in their places."""
        options = {**self.options, "on_error": "yield" if yield_bad else "raise", "isolated": True, **options}
        return read_graphs(self.paths or self.file, format=self.format, **options)

    def usable(self, on_error: str, bad: list[dict[str, Any]]) -> Iterator[tuple[int, str, RawGraph]]:
        """Yield position, id and graph. With on_error="skip", graphs that cannot be read go to `bad`."""
        for index, item in enumerate(self.read(yield_bad=on_error == "skip")):
            if isinstance(item, BadGraph):
                bad.append({"index": index, "graph_id": _id_of(item, index), "reason": item.reason})
            else:
                yield index, _id_of(item, index), item

    def write_some(self, places: Iterable[int], output: Path) -> None:
        """Write the graphs at these positions in the format of the source. Tables keep all columns."""
        suffix = stem_and_suffix(self.file.path)[1]
        if self.paths or self.file.is_folder:
            raise GraphError("a part of the input can be written for one file only", where=self.name)
        if suffix and not self.file.is_excel and stem_and_suffix(output)[1] != suffix:
            raise GraphError(f"the output must end in {suffix}, as the input does, got {output}")
        format = (FORMATS.get(self.format or "") or format_of(self.file)).name
        if format in (*MOLECULES, "smi"):
            copy_molecules(self.file, format, places, output)
        else:
            kept = set(places)
            graphs = (graph for place, _, graph in self.usable("skip", []) if place in kept)
            write_graphs(output, graphs, format=format)

    def count(self) -> int | None:
        """Return the number of graphs, or None if only reading them would tell."""
        about = {name: self.options[name] for name in FILE_OPTIONS if name in self.options}
        files: Any = self.paths or (self.file,)
        try:
            ranges = [each for file in files for each in ranges_of(file, sys.maxsize, self.format, **about)]
        except GraphError:  # the reader raises it again
            return None
        counts = [each.count for each in ranges if each.count is not None]
        return sum(counts) if len(counts) == len(ranges) else None

    @property
    def entry(self) -> Format | None:
        """The format, or None if it cannot be told: the reader raises the error again."""
        with suppress(GraphError):
            return FORMATS.get(self.format or "") or format_of(self.file)
        return None

    def is_molecules(self, has_column: bool = False) -> bool:
        """Whether this is read as a SMILES table or SD file. `has_column`: its SMILES column is known."""
        has_column, entry = has_column or "column" in self.options, self.entry
        if entry is None:
            return has_column
        may_be = has_column and self.format not in FORMATS
        return entry.name in MOLECULES or (may_be and entry.name == "edge-table")

    def reader_options(self) -> Iterable[str]:
        """Return the options of the reader, or none if the format is not known."""
        return () if self.entry is None else self.entry.options

    def with_all_columns(self) -> Source:
        """Return the source with all columns of its SMILES table to keep."""
        if self.table is None or "keep" in self.options:
            return self
        known = (self.smiles_column()[0], "smiles", self.options.get("graph_id", "graph_id"))
        others = [name for name in self.table.columns if name not in known]
        return replace(self, options={**self.options, "keep": others})

    @property
    def table(self) -> Table | None:
        """The SMILES table, if this is one in a single file."""
        return table_of(self.file) if self.file.path.is_file() and self.is_molecules() else None

    def smiles_column(self) -> tuple[str | None, bool]:
        """Return the column that the reader will use, and whether its name shows that it has SMILES."""
        if "column" in self.options:
            return self.options["column"], True
        try:
            table = table_of(self.file)
        except GraphError:  # the reader raises it again, perhaps only from some row on
            return None, False
        named = named_smiles(table.columns, None, self.file)
        return (table.smiles_column(), False) if named is None else (named, True)


@contextmanager
def open_source(names: str | Sequence[str], format: str | None = None) -> Iterator[Source]:
    """Find the graphs that a user names: a file, a folder, a pipe, or a glob or several of them.

    Standard input, "-", and pipes can be read only once: they are copied to disk meanwhile.
    """
    format, options = format_and_options(format)
    names = [names] if isinstance(names, str) else list(names)
    if len(names) > 1 or is_several(names[0]):
        paths = input_paths(names)
        for path in paths:
            if str(path) == "-" or is_pipe(path):
                raise GraphError(
                    f"{path} can be read only once, and not together with other inputs. Save it first"
                )
        name = f"{paths[0]} and {len(paths) - 1} more" if len(paths) > 1 else str(paths[0])
        yield Source(File(paths[0], name=name, isolated=True), name, format, options, tuple(paths))
        return
    file = File(names[0], isolated=True)
    if not file.is_stdin and not file.path.exists():
        raise GraphError(f"{file} does not exist")
    with file.reopenable() as copy:
        if copy is not file and not copy.path.stat().st_size:
            raise GraphError(f"{file} holds no graphs: it is empty")
        yield Source(copy, str(file), format, options)


def format_and_options(format: str | None) -> tuple[str | None, dict[str, Any]]:
    """Return the format and the options of its reader that a text names, such as edge-list:directed.

    Examples
    --------
    >>> format_and_options("edge-table:source_column=from,directed")
    ('edge-table', {'source_column': 'from', 'directed': True})
    >>> format_and_options('edge-table:"source_column=a,b",directed=no'), format_and_options(None)
    (('edge-table', {'source_column': 'a,b', 'directed': False}), (None, {}))
    """
    if format is None:
        return None, {}
    name, _, rest = format.partition(":")
    if name not in (*FORMATS, *TABLES):
        raise GraphError(f"unknown format {name!r}. Available: {', '.join((*FORMATS, *TABLES))}")
    readers = TABLE_READERS if name in TABLES else (name,)
    allowed = {key: flag for each in readers for key, flag in FORMATS[each].options.items() if key != "keep"}
    options: dict[str, Any] = {}
    for item in next(csv.reader([rest])) if rest else ():
        key, equals, value = item.partition("=")
        key, setting = key.strip(), TRUTH.get(value.lower(), value) if equals else True
        if key not in allowed:
            raise GraphError(f"{name} has no option {key!r}. Available: {', '.join(allowed) or 'none'}")
        if isinstance(setting, bool) != allowed[key]:
            kind = "yes or no" if allowed[key] else "a value"
            raise GraphError(f"{key} of {name} must be {kind}: {key}=...")
        options[key] = setting
    return name, options


def _id_of(item: RawGraph | BadGraph, index: int) -> str:
    """Return the id of a graph, or its position in the source."""
    return str(index) if item.graph_id is None else str(item.graph_id)
