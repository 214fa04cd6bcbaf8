"""Reading graphs in any format, one by one or some at a time: the format by its name, or guessed."""

from __future__ import annotations

import glob
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias, cast

from grnf._utils.memory import within_memory
from grnf._utils.rules import memory_size
from grnf.errors import GraphError, invalid
from grnf.io.files.edge_table import is_node_table
from grnf.io.files.file import UNPACK, Block, File, OnError, one_line
from grnf.io.files.formats import FORMATS, TABLE_SUFFIXES, TABLES, Format
from grnf.io.files.matrices import holds_matrices, is_number_table
from grnf.io.files.tables import (
    SMILES_NAMES,
    SOURCE_NAMES,
    TARGET_NAMES,
    Table,
    are_molecules,
    cell,
    named_smiles,
    table_of,
)
from grnf.io.files.tu_files import is_tu_folder
from grnf.io.raw import BadGraph, RawBatch, RawGraph

Inputs: TypeAlias = str | os.PathLike[str] | File | Sequence[str | os.PathLike[str]]
"""A file, a folder or a glob, or several of them."""

CURES = {
    **dict.fromkeys((".bz2", ".xz", ".zst", ".7z", ".rar", ".tar", ".tgz"), UNPACK),
    **dict.fromkeys((".xls", ".xlsb", ".ods"), "Save it as .xlsx or CSV"),
    **dict.fromkeys(
        (".pdb", ".mol2", ".xyz", ".inchi", ".cif", ".cdx"), "Convert it to SMILES or an SD file"
    ),
    **dict.fromkeys(
        (".pkl", ".pickle", ".pt", ".pth"), "Pickles are not read: write Parquet, npz or JSON lines"
    ),
    **dict.fromkeys((".h5", ".hdf5"), "Write its arrays as .npz"),
    **dict.fromkeys(
        (".net", ".sif", ".adjlist", ".graphson"), "Write it as GraphML, for example with networkx"
    ),
}
"""What to do with files of other formats."""

FILE_OPTIONS = ("encoding", "header", "decimal", "isolated", "max_memory")
"""Options of files of any format; see `File`."""


def read_graphs(
    path: Inputs,
    *,
    format: str | None = None,
    on_error: OnError = "raise",
    **options: Any,
) -> Iterator[RawGraph | BadGraph]:
    r"""Yield the graphs of a file, one after another, or of all files of a folder in sorted order.

    Parameters
    ----------
    path : path, or "-" for standard input
        A file, a TU folder, or a folder of files in the same format. A pipe is copied to a temporary file.
        Or several of these, as a list or a glob such as "2024/*.g6": graphs without a name are then called
        by their file, and from the second of it on by their place too, as "a" and "a:1".
    format : str, optional
        A name in `FORMATS`, or "csv" or "tsv" for a SMILES or edge table, as its columns show. By
        default guessed from the path.
    on_error : {"raise", "yield"}, default="raise"
        "yield" gives a `BadGraph` for a graph that cannot be read, and continues with the next one. If no
        next one can be found, as in a file that is truncated, the last `BadGraph` has the reason.
    **options : optional
        What the reader of the format takes, for example `nodes=` for a table of edges. For every text:
        `encoding`, such as "latin-1". For tables also `header=False` if the first row has no names, and
        `decimal=","`. For every format: `max_memory`, what one graph may take, in bytes or like "4GB", by
        default half of the memory.

    Yields
    ------
    RawGraph or BadGraph

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "two.g6"
    >>> _ = path.write_text("Bw\nDhc\n")
    >>> [graph.n_nodes for graph in read_graphs(path)]
    [3, 5]
    """
    blocks = read_blocks(path, format=format, on_error=on_error, block_size=1, **options)
    numbered = enumerate(chain.from_iterable(blocks))
    return (replace(graph, index=n) if isinstance(graph, BadGraph) else graph for n, graph in numbered)


def file_of(
    path: Inputs, format: str | None = None, options: Mapping[str, Any] | None = None
) -> tuple[File, dict[str, Any]]:
    """Return a file with the options that concern every file, and the options of its reader."""
    options = dict(options or {})
    about = {name: options.pop(name) for name in FILE_OPTIONS if name in options}
    if about.get("max_memory") is not None:
        about["max_memory"] = memory_size(about["max_memory"])
    if isinstance(path, File):
        file = path
        for name, value in about.items():
            if getattr(file, name) != value:
                setattr(file, name, value)
                file.sniffed = None
        file.format = format or file.format
    else:
        file = File(cast("str", path), format=format, **about)
    if not file.is_stdin and not file.path.exists():
        raise GraphError(f"{file} does not exist")
    return file, options


_Part: TypeAlias = tuple[File, Format | None, dict[str, Any], str | None]
"""A file with its format (None: a pipe, to be copied first), options for its reader, and its title."""


def _parts(path: Inputs, format: str | None, options: Mapping[str, Any]) -> Iterable[_Part]:
    """Return the files of inputs. Graphs without a name are called by the title, if there is one."""
    if not is_several(path):
        return _files_of(cast("Path", path), format, options, None)
    paths = input_paths(path)
    several = zip(paths, titles(paths), strict=True)
    return chain.from_iterable(_files_of(each, format, options, title) for each, title in several)


def _files_of(path: Path, format: str | None, options: Mapping[str, Any], title: str | None) -> list[_Part]:
    """Return a file, or the files of a folder."""
    file, own = file_of(path, format, options)
    if file.is_pipe:
        if format is None and not file.path.suffix:
            raise GraphError(f"{file} is a pipe whose name has no suffix", cure="Name its format by format=")
        return [(file, None, own, title)]
    entry = format_of(file)
    _check_options(entry, own)
    if not file.is_folder or (entry.name == "tu" and is_tu_folder(file.path)):
        return [(file, entry, own, title)]
    files = [path for path in _files(file.path) if stem_and_suffix(path)[1] in entry.suffixes]
    if not files:
        raise GraphError(f"{file} has no files of format {entry.name} ({', '.join(entry.suffixes)})")
    return [
        (file.at(path, name=str(path)), entry, own, name)
        for path, name in zip(files, titles(files), strict=True)
    ]


def _check_options(entry: Format, options: Mapping[str, Any]) -> None:
    for name in options:
        if name not in entry.options:
            known = ", ".join(entry.options) or "none"
            raise GraphError(f"format {entry.name} has no option {name!r}. Available: {known}")


def _empty(file: File) -> GraphError:
    return GraphError("the file is empty (0 bytes)", where=str(file), cure="Copy or write it again")


def read_blocks(
    path: Inputs,
    *,
    format: str | None = None,
    on_error: OnError = "raise",
    block_size: int = 1024,
    n_jobs: int | None = None,
    **options: Any,
) -> Iterator[Block]:
    """Yield the graphs of a file some at a time: as a `RawBatch` if its format is made of columns.

    It is what `read_graphs` yields, many times faster for TU sets, npz and Parquet. Other formats give lists.

    Parameters
    ----------
    path, format, on_error, **options : as in `read_graphs`
    block_size : int, default=1024
        Graphs in a list. Column-wise formats have their own.
    n_jobs : int, optional
        Processes that share the work if it is worth it, as with SMILES. By default this one alone.

    Yields
    ------
    RawBatch, or list of RawGraph and BadGraph

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from grnf.io import RawGraph, write_graphs
    >>> path = Path(tempfile.mkdtemp()) / "two.npz"
    >>> _ = write_graphs(path, [RawGraph(3, np.array([[0, 1]])), RawGraph(2, np.array([[1, 0]]))])
    >>> list(read_blocks(path))
    [RawBatch(2 graphs, 5 nodes, 2 edges, node_columns=[], edge_columns=[])]
    """
    if on_error not in ("raise", "yield"):
        raise invalid(
            "on_error", "be 'raise' or 'yield'", repr(on_error), "Pass 'yield' to continue after bad graphs"
        )
    return _blocks(_parts(path, format, options), on_error, block_size, n_jobs)


def _blocks(
    parts: Iterable[_Part], on_error: OnError, block_size: int, n_jobs: int | None
) -> Iterator[Block]:
    settings: Any = {"on_error": on_error, "block_size": block_size, "n_jobs": n_jobs}
    for given, entry, options, title in parts:
        place = 0
        with given.reopenable() as file:
            for block in blocks_of(file, entry or format_of(file), options=options, **settings):
                yield block if title is None else named_block(block, title, place)
                place += len(block)


def blocks_of(
    file: File,
    entry: Format,
    *,
    on_error: OnError,
    block_size: int,
    n_jobs: int | None,
    options: dict[str, Any],
) -> Iterator[Block]:
    """Yield the graphs of a file some at a time, column by column if its format can.

    If reading breaks off and `on_error` is "yield", the last graph is a `BadGraph` with the reason.
    """
    _check_options(entry, options)
    file.format = entry.name
    given = {"on_error": on_error, "n_jobs": n_jobs}
    known = {name: value for name, value in given.items() if name in entry.parameters}
    some: list[RawGraph | BadGraph] = []
    done = 0
    try:
        if file.is_empty and not entry.may_be_empty:
            raise _empty(file)
        for item in within_memory(file.max_memory, entry.reader(file, **options, **known)):
            if isinstance(item, RawBatch):
                if some:
                    yield some
                yield replace(item, bad={row: one_line(why) for row, why in item.bad.items()})
                some, done = [], done + len(some) + len(item)
                continue
            bad = isinstance(item, BadGraph)
            some.append(replace(item, reason=one_line(item.reason)) if bad else item)
            if len(some) >= block_size:
                yield some
                some, done = [], done + len(some)
    except GraphError as error:
        reason, where = one_line(error.reason), error.where and one_line(error.where)
        if on_error == "raise":
            raise GraphError(reason, index=error.index, where=where, cure=error.cure) from None
        done += len(some)
        lost = f"No graph after number {done - 1} can be read" if done else "No graph can be read"
        cure = lost if error.cure is None else f"{lost}. {error.cure}"
        located = GraphError(reason, index=error.index, where=where, cure=cure)
        some.append(BadGraph(None, done, str(located)))
    if some:
        yield some


# ---- which format a file has


def format_of(file: File) -> Format:
    """Return the format of a file by its name, or else by its content."""
    if file.format is not None and file.format not in TABLES:
        return format_by_name(file.format)
    if file.is_stdin:
        raise GraphError("the format of standard input cannot be guessed", cure="Specify it with format=")
    if file.is_folder:
        return format_by_name(_guess_folder(file.path))
    return format_by_name(_guess_file(file) if file.format is None else _guess_table(file))


def format_by_name(name: str) -> Format:
    """Return a format, or list those that there are."""
    if name not in FORMATS:
        raise GraphError(f"no format {name!r}. Available: {', '.join(FORMATS)}")
    return FORMATS[name]


def guess_format(path: str | os.PathLike[str]) -> str:
    """Return the format of a file or folder by its suffix, and of a table by its columns."""
    return format_of(File(path)).name


def stem_and_suffix(path: Path) -> tuple[str, str]:
    """Split a name at its suffix. .gz goes away with the suffix before it."""
    inner = Path(path.stem) if path.suffix.lower() == ".gz" else path
    return inner.stem, inner.suffix.lower()


def _guess_file(file: File) -> str:
    exists = file.path.is_file()
    if exists and stem_and_suffix(file.path)[1] in TABLE_SUFFIXES:
        return _guess_table(file)
    name = by_suffix(file.path)
    if not exists or file.is_empty:
        return name
    try:
        if name == "smi":
            table = table_of(file)
            return "smiles" if table.delimiter == "," and _named_table(table) == "smiles" else name
        if name == "edge-list":  # a table may have a suffix such as .txt
            known = _named_table(table_of(file))
            known = known or ("matrices" if is_number_table(file, least=4) else None)
            return known or _molecules_in_text(file) or name
        return "matrices" if name in ("npz", "graph6-npy") and holds_matrices(file) else name
    except GraphError:  # the reader raises it again
        return name


def _molecules_in_text(file: File) -> str | None:
    """Return the format of a .txt file whose lines begin with SMILES, or None."""
    table = table_of(file)
    if stem_and_suffix(file.path)[1] != ".txt" or table.head is None:
        return None
    if len(table.columns) > 1:
        return "smiles" if len(table.molecule_columns()) == 1 else None
    texts = [*table.columns[: table.has_header], *next(iter(table.head.columns.values()), ())]
    lines = [text.split() for text in texts if isinstance(text, str)]
    firsts, seconds = ([cell(words[place]) for words in lines if len(words) > place] for place in (0, 1))
    return "smi" if are_molecules(firsts) and not are_molecules(seconds) else None


def by_suffix(path: Path) -> str:
    """Return the first format that has the suffix of a file."""
    suffix = stem_and_suffix(path)[1]
    for entry in FORMATS.values():
        if suffix in entry.suffixes:
            return entry.name
    cure = CURES.get(suffix, f"Specify one with format=: {', '.join(FORMATS)}")
    raise GraphError(f"no format has the suffix {suffix!r}", where=str(path), cure=cure)


def _guess_folder(folder: Path) -> str:
    if is_tu_folder(folder):
        return "tu"
    suffixes = {stem_and_suffix(file)[1]: file for file in _files(folder)}
    known = {suffix for entry in FORMATS.values() for suffix in entry.suffixes}
    names = {guess_format(file) for suffix, file in suffixes.items() if suffix in known}
    if len(names) != 1:
        listed = ", ".join(sorted(names)) or "none"
        raise GraphError(f"{folder}: expected files in the same format, found {listed}. Name one by format=")
    return names.pop()


def _files(folder: Path) -> list[Path]:
    """Return the files of a folder, links that lead nowhere included."""
    entries = (file for file in folder.iterdir() if not file.name.startswith("."))
    files = (file for file in entries if file.is_file() or (file.is_symlink() and not file.is_dir()))
    return sorted(file for file in files if not is_node_table(file))


def _guess_table(file: File) -> str:
    if file.is_empty:
        raise _empty(file)
    table = table_of(file)
    if named := _named_table(table):
        return named
    if named_smiles(table.columns, None, file) or table.molecule_columns():
        return "smiles"
    if table.kind == "text" and is_number_table(file):
        return "matrices"
    raise GraphError(
        f"among the columns {table.columns[:20]} there are neither SMILES nor source and target, and it is "
        "not a square table of numbers",
        where=str(file),
        cure="Name the format and its columns: smiles with column, edge-table with source_column and "
        "target_column (--no-header if the first row has no names), or edge-list for lines 'source,target'",
    )


def _named_table(table: Table) -> str | None:
    """Return the format of a table by the names of its columns, or None."""
    names = {name.strip().lower() for name in table.columns}
    if table.kind == "parquet" and "edge_index" in names:
        return "parquet"
    if names & set(SMILES_NAMES):
        return "smiles"
    return "edge-table" if names & set(SOURCE_NAMES) and names & set(TARGET_NAMES) else None


# ---- several files


def is_several(inputs: Inputs) -> bool:
    """Whether inputs are several files or folders: a list, or a glob that is not the name of a file."""
    if isinstance(inputs, File):
        return False
    if not isinstance(inputs, str | os.PathLike):
        return True
    return glob.has_magic(os.fspath(inputs)) and not Path(inputs).exists()


def input_paths(inputs: Inputs) -> list[Path]:
    """Return the files and folders that are meant, globs in sorted order."""
    paths: list[Path] = []
    for each in [inputs] if isinstance(inputs, str | os.PathLike) else cast("Sequence[str]", inputs):
        name = os.fspath(each)
        if is_several(each):
            matching = sorted(map(Path, glob.glob(name, recursive=True)))
            if not matching:
                raise GraphError(f"no file matches {name}")
            paths += matching
        elif name != "-" and not Path(each).exists():
            raise GraphError(f"{name} does not exist")
        else:
            paths.append(Path(each))
    if not paths:
        raise GraphError("no file, folder or glob was given")
    path, times = Counter(paths).most_common(1)[0]
    if times > 1:
        raise GraphError(f"{path} must be given once, got it {times} times")
    return paths


def titles(paths: Sequence[Path]) -> list[str]:
    """Return what graphs without a name are called after: the stem of each file, or all of its path."""
    stems = [stem_and_suffix(path)[0] for path in paths]
    return stems if len(set(stems)) == len(stems) else [path.as_posix() for path in paths]


def named_block(block: RawBatch | list[Any], title: str | None, first: int) -> RawBatch | list[Any]:
    """Give names to the graphs of a block that have none. Without a title by their places alone."""

    def name(given: str | None, place: int) -> str:
        if given is not None:
            return given
        if title is None:
            return str(first + place)
        return f"{title}:{first + place}" if first + place else title

    if isinstance(block, RawBatch):
        return replace(block, graph_ids=[name(each, place) for place, each in enumerate(block.graph_ids)])
    return [
        graph if graph.graph_id is not None else replace(graph, graph_id=name(None, place))
        for place, graph in enumerate(block)
    ]
