"""Reading and writing graphs in any format: by name, or guessed from the path."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np

from grnf.errors import GraphError
from grnf.graphs import Graph
from grnf.io.files.edge_table import SOURCE_NAMES, TARGET_NAMES, is_node_table
from grnf.io.files.excel import EXCEL_SUFFIXES
from grnf.io.files.formats import FORMATS, TABLE_SUFFIXES, TABLES, Format
from grnf.io.files.gspan import is_gspan
from grnf.io.files.inputs import Inputs, input_paths, is_several, named_graphs, titles
from grnf.io.files.matrices import holds_matrices
from grnf.io.files.number_table import is_number_table
from grnf.io.files.records import OnError, to_the_end
from grnf.io.files.streams import Source, aside, deliver, open_sink
from grnf.io.files.survey import SMILES_NAMES, first_rows, molecule_columns, named_smiles
from grnf.io.files.tables import is_parquet, table_columns
from grnf.io.files.tu import is_tu_folder
from grnf.io.raw import BadGraph, RawGraph, checked_raw, raw_from_graph

__all__ = ["format_of", "guess_format", "read_entry", "read_graphs", "write_graphs"]


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
        A file, a TU folder, or a folder of files of one format. A pipe is copied to a temporary file first.
        Or several of these, as a list or a glob such as "2024/*.g6": graphs without a name are then called
        by their file, and from the second of it on by their place too, as "a" and "a:1".
    format : str, optional
        A name in `FORMATS`, or "csv" or "tsv" for a table of SMILES or of edges, as its columns tell; by
        default guessed from the path.
    on_error : {"raise", "yield"}, default="raise"
        "yield" gives a `BadGraph` in the place of a graph that cannot be read and goes on with the next one.
        Where no next one can be found, as in a file that is cut off, the last `BadGraph` says so.
    **options
        What the reader of the format takes, for example `nodes=` for a table of edges.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "two.g6"
    >>> _ = path.write_text("Bw\nDhc\n")
    >>> [graph.n_nodes for graph in read_graphs(path)]
    [3, 5]
    """
    if on_error not in ("raise", "yield"):
        raise ValueError(f"on_error must be 'raise' or 'yield'; got {on_error!r}")
    if is_several(path):
        return _read_several(input_paths(path), format, on_error, options)
    source = Source(cast("str", path))
    if not source.is_stdin and not source.path.exists():
        raise GraphError(f"{path} does not exist")
    if source.is_pipe or (source.is_stdin and format in TABLES):
        if format is None and not source.path.suffix:
            raise GraphError(f"{path} is a pipe whose name has no suffix; name its format by format=")
        return _read_pipe(source, format, on_error, options)
    entry = format_of(source, format)
    if source.is_folder and not (entry.name == "tu" and is_tu_folder(source.path)):
        return _read_folder(source.path, entry, on_error, options)
    return read_entry(source, entry, on_error, options)


def _read_several(
    paths: list[Path], format: str | None, on_error: OnError, options: dict[str, Any]
) -> Iterator[RawGraph | BadGraph]:
    index = 0
    for path, title in zip(paths, titles(paths), strict=True):
        read = read_graphs(path, format=format, on_error=on_error, **options)
        for graph in named_graphs(read, title, index):
            yield graph
            index += 1


def _read_pipe(
    source: Source, format: str | None, on_error: OnError, options: dict[str, Any]
) -> Iterator[RawGraph | BadGraph]:
    with source.reopenable() as copy:
        yield from read_entry(copy, format_of(copy, format), on_error, options)


def format_of(source: Source, format: str | None) -> Format:
    """Return the format by its name, or else as the source shows it."""
    if format is not None and format not in TABLES:
        return _format(format)
    if source.is_stdin:
        return _format(guess_format("-"))
    if source.is_folder:
        return _format(_guess_folder(source.path))
    return _format(_guess_file(source) if format is None else _guess_table(source))


def _format(name: str) -> Format:
    if name not in FORMATS:
        raise GraphError(f"no format {name!r}; there are {', '.join(FORMATS)}")
    return FORMATS[name]


def read_entry(
    source: Source, entry: Format, on_error: OnError, options: dict[str, Any]
) -> Iterator[RawGraph | BadGraph]:
    """Yield the graphs of one file of a known format."""
    known = [
        name for name in inspect.signature(entry.reader).parameters if name not in ("source", "on_error")
    ]
    for name in options:
        if name not in known:
            raise GraphError(f"format {entry.name} has no option {name!r}; it has {known or 'none'}")
    if entry.record_wise:
        options = {**options, "on_error": on_error}
    source.format = entry.name
    graphs = entry.reader(source, **options)
    if source.is_empty:
        graphs = _of_nothing(source, graphs)
    return to_the_end(graphs) if on_error == "yield" else graphs


def _of_nothing(source: Source, graphs: Iterator[Any]) -> Iterator[RawGraph | BadGraph]:
    """Read an empty file: some formats have one for no graphs; to others it is a fault, by that name."""
    try:
        yield from graphs
    except GraphError:
        raise GraphError(_is_empty(source)) from None


def _is_empty(source: Source) -> str:
    return f"{source} is empty (0 bytes): was it cut off, or never written?"


def _read_folder(
    folder: Path, entry: Format, on_error: OnError, options: dict[str, Any]
) -> Iterator[RawGraph | BadGraph]:
    """Read file after file; a graph without an id of its own is called after its file."""
    files = [file for file in _files(folder) if _stem_and_suffix(file)[1] in entry.suffixes]
    if not files:
        raise GraphError(f"{folder} has no files of format {entry.name} ({', '.join(entry.suffixes)})")
    return _each_file(files, entry, on_error, options)


def _each_file(
    files: list[Path], entry: Format, on_error: OnError, options: dict[str, Any]
) -> Iterator[RawGraph | BadGraph]:
    index = 0
    for file, title in zip(files, titles(files), strict=True):
        for graph in named_graphs(read_entry(Source(file), entry, on_error, options), title, index):
            yield graph
            index += 1


def _files(folder: Path) -> list[Path]:
    """Return the files of a folder; a link that leads nowhere is not passed over in silence."""
    entries = (file for file in folder.iterdir() if not file.name.startswith("."))
    files = (file for file in entries if file.is_file() or (file.is_symlink() and not file.is_dir()))
    return sorted(file for file in files if not is_node_table(file))


def _stem_and_suffix(path: Path) -> tuple[str, str]:
    """Split a name at its suffix; .gz goes away with the suffix before it."""
    inner = Path(path.stem) if path.suffix.lower() == ".gz" else path
    return inner.stem, inner.suffix.lower()


def guess_format(path: str | os.PathLike[str]) -> str:
    """Return the format of a file or folder by its suffix; tables are told apart by their columns.

    Examples
    --------
    >>> guess_format("graphs.g6"), guess_format("graphs.jsonl.gz")
    ('graph6', 'jsonl')
    """
    if path == "-":
        raise GraphError("the format of standard input or output cannot be guessed; name it by format=")
    place = Path(path)
    if place.is_dir():
        return _guess_folder(place)
    return _guess_file(Source(place))


def _guess_file(source: Source) -> str:
    if _stem_and_suffix(source.path)[1] in TABLE_SUFFIXES and source.path.is_file():
        return _guess_table(source)
    name = _by_suffix(source.path)
    if not source.path.is_file():
        return name
    if name == "edge-list" and is_gspan(source):
        return "gspan"
    return "matrices" if _is_matrices(source, name) else name


def _is_matrices(source: Source, name: str) -> bool:
    """Whether a file whose suffix stands for another format holds adjacency matrices."""
    if name == "edge-list":
        return is_number_table(source, least=4)
    try:
        return name in ("npz", "graph6-npy") and holds_matrices(source)
    except GraphError:  # what is wrong with it the reader says
        return False


def _by_suffix(path: Path) -> str:
    suffix = _stem_and_suffix(path)[1]
    for entry in FORMATS.values():
        if suffix in entry.suffixes and (entry.text or path.suffix.lower() != ".gz"):
            return entry.name
    raise GraphError(
        f"{path}: no format has the suffix {suffix!r}; name one by format=: {', '.join(FORMATS)}"
    )


def _output_format(path: str | os.PathLike[str]) -> str:
    """Return the format of a file to be written, whatever is there now."""
    if path == "-":
        return guess_format(path)
    suffix = _stem_and_suffix(Path(path))[1]
    if not suffix or os.fspath(path).endswith(os.sep):
        return "tu"
    return "edge-table" if suffix in (".csv", ".tsv") else _by_suffix(Path(path))


def _guess_folder(folder: Path) -> str:
    if is_tu_folder(folder):
        return "tu"
    suffixes = {_stem_and_suffix(file)[1]: file for file in _files(folder)}
    known = {suffix for entry in FORMATS.values() for suffix in entry.suffixes}
    names = {guess_format(file) for suffix, file in suffixes.items() if suffix in known}
    if len(names) != 1:
        found = ", ".join(sorted(names)) or "none"
        raise GraphError(f"{folder}: files of one format are wanted, found {found}; name one by format=")
    return names.pop()


def _guess_table(source: Source) -> str:
    if source.is_empty:
        raise GraphError(_is_empty(source))
    columns = table_columns(source)
    names = {name.strip().lower() for name in columns}
    if is_parquet(source) and "edge_index" in names:
        return "parquet"
    if names & set(SMILES_NAMES):
        return "smiles"
    if names & set(SOURCE_NAMES) and names & set(TARGET_NAMES):
        return "edge-table"
    if not is_parquet(source) and is_number_table(source):
        return "matrices"
    if named_smiles(columns, None, source) or molecule_columns(*first_rows(source)):
        return "smiles"
    raise GraphError(
        f"{source}: among the columns {sorted(names)[:20]} there are neither SMILES nor source and target, "
        "nor is it a square table of numbers; name the format and its columns: smiles with column, or "
        "edge-table with source_column and target_column"
    )


def write_graphs(
    path: str | os.PathLike[str],
    graphs: Iterable[RawGraph | Graph],
    *,
    format: str | None = None,
    lossy: bool = False,
) -> int:
    r"""Write graphs to a file, all or nothing, and return how many there were.

    Parameters
    ----------
    path : path, or "-" for standard output
        Without a suffix it is a TU folder. A table of edges NAME.csv has its nodes in NAME.nodes.csv.
    graphs : iterable of RawGraph or Graph
        Taken one after another, so that more graphs than fit in memory can be converted.
    format : str, optional
        A name in `FORMATS`; by default guessed from the suffix.
    lossy : bool, default=False
        Leave out attributes, targets and directions that the format cannot carry, instead of refusing.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "triangle.g6"
    >>> write_graphs(path, [Graph(3, [(0, 1), (1, 2), (2, 0)])])
    1
    >>> path.read_text()
    'Bw\n'
    """
    if Path(path).suffix.lower() in EXCEL_SUFFIXES:
        raise GraphError("Excel workbooks are read, not written; write .csv, which Excel opens")
    entry = _format(_output_format(path) if format is None else format)
    if not entry.can_write:
        writable = ", ".join(name for name, other in FORMATS.items() if other.can_write)
        raise GraphError(f"format {entry.name} is read only; write one of {writable}")
    count = 0

    def counted() -> Iterator[RawGraph]:
        nonlocal count
        for graph in _checked(graphs, entry, lossy):
            count += 1
            yield graph

    if entry.writer is not None and (
        entry.path_writer is None or path == "-" or Path(path).suffix.lower() in entry.suffixes
    ):
        with open_sink(path) as file:
            entry.writer(file, counted())
    elif entry.path_writer is not None:
        _write_files(path, entry.path_writer, counted())
    return count


def _write_files(
    path: str | os.PathLike[str],
    writer: Callable[[Path, Iterator[RawGraph]], None],
    graphs: Iterator[RawGraph],
) -> None:
    """Write files aside and move them to their places."""
    with aside(path) as made:
        writer(made, graphs)
        deliver(made, path)


def _checked(graphs: Iterable[RawGraph | Graph], entry: Format, lossy: bool) -> Iterator[RawGraph]:
    for index, item in enumerate(graphs):
        if isinstance(item, BadGraph):
            raise GraphError(f"graph {index} could not be read: {item.reason}")
        if index and entry.one_graph:
            raise GraphError(f"{entry.name} has one graph a file; write Parquet, npz or JSON lines")
        try:
            yield _fitting(raw_from_graph(item), entry, lossy)
        except GraphError as error:
            raise GraphError(f"graph {index}: {error}") from None


def _fitting(graph: RawGraph, entry: Format, lossy: bool) -> RawGraph:
    """Return the part of a graph that a format carries, or say what would be lost."""
    kept = entry.carries
    lost: list[str] = []

    def carried(columns: Mapping[str, Any], perhaps: str = "") -> dict[str, Any]:
        arrays = {name: _array(values) for name, values in columns.items()}
        if "attributes" in kept:
            return arrays
        found = {
            name: values
            for name, values in arrays.items()
            if (name == perhaps and name in kept) or (entry.fits and entry.fits(name, values))
        }
        lost.extend(name for name in arrays if name not in found)
        return found

    node_columns, edge_columns = carried(graph.node_columns), carried(graph.edge_columns, "weight")
    _refuse(f"columns {lost}" if lost else None, entry, lossy)
    _refuse("a target y" if graph.y is not None and "y" not in kept else None, entry, lossy)
    _refuse("directed edges" if graph.directed and "directed" not in kept else None, entry, lossy)
    fitting = checked_raw(
        graph.n_nodes,
        graph.edges,
        node_columns,
        edge_columns,
        graph.directed and "directed" in kept,
        graph.graph_id,
        graph.y if "y" in kept else None,
    )
    if entry.changes is not None and not lossy:
        changed = entry.changes(fitting)
        _refuse(f"{changed}, which would come back changed," if changed else None, entry, lossy)
    return fitting


def _refuse(loss: str | None, entry: Format, lossy: bool) -> None:
    if loss is not None and not lossy:
        raise GraphError(
            f"{loss} cannot be written as {entry.name}; write Parquet, npz or JSON, "
            "or leave them out by lossy=True"
        )


def _array(values: Any) -> Any:
    array = np.asarray(values)
    return array.astype(object) if array.dtype.kind in "US" else array
