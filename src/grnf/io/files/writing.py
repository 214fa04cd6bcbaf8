"""Writing graphs in any format, all or nothing. What the format cannot carry is refused by default."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from grnf.errors import GraphError
from grnf.graphs import Graph
from grnf.io.files.excel import EXCEL_SUFFIXES
from grnf.io.files.file import aside, deliver, open_sink
from grnf.io.files.formats import FORMATS, Format
from grnf.io.files.reading import by_suffix, format_by_name, stem_and_suffix
from grnf.io.raw import BadGraph, RawGraph, checked_raw, raw_from_graph


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
        A name in `FORMATS`. By default guessed from the suffix.
    lossy : bool, default=False
        Leave out attributes, targets and directions that the format cannot carry, instead of refusing.

    Returns
    -------
    int
        Number of graphs that were written.

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
        raise GraphError("Excel workbooks cannot be written", cure="Write .csv, which Excel opens")
    entry = format_by_name(_output_format(path) if format is None else format)
    if not entry.can_write:
        writable = ", ".join(name for name, other in FORMATS.items() if other.can_write)
        raise GraphError(f"format {entry.name} cannot be written", cure=f"Write one of {writable}")
    if Path(path).suffix == ".gz" and entry.suffixes[0] in (".npz", ".zip"):
        raise GraphError(f"{entry.name} files are packed already, got {path}", cure="Leave out .gz")
    count = 0

    def checked_graphs() -> Iterator[RawGraph]:
        nonlocal count
        for count, item in enumerate(graphs, start=1):
            if isinstance(item, BadGraph):
                raise GraphError(f"it could not be read: {item.reason}", index=count - 1)
            if count > 1 and entry.one_graph:
                raise GraphError(
                    f"{entry.name} has one graph per file", cure="Write Parquet, npz or JSON lines"
                )
            try:
                yield _fitting(raw_from_graph(item), entry, lossy)
            except GraphError as error:
                raise error.located(index=count - 1) from None

    if entry.writer is not None and (
        entry.path_writer is None or path == "-" or Path(path).suffix.lower() in entry.suffixes
    ):
        with open_sink(path) as file:
            entry.writer(file, checked_graphs())
    elif entry.path_writer is not None:
        with aside(path) as made:
            entry.path_writer(made, checked_graphs())
            deliver(made, path)
    return count


def _output_format(path: str | os.PathLike[str]) -> str:
    """Return the format of a file to be written, whatever is there now."""
    if path == "-":
        raise GraphError("the format of standard output cannot be guessed", cure="Specify it with format=")
    suffix = stem_and_suffix(Path(path))[1]
    if not suffix or os.fspath(path).endswith(os.sep):
        return "tu"
    return "edge-table" if suffix in (".csv", ".tsv") else by_suffix(Path(path))


def _fitting(graph: RawGraph, entry: Format, lossy: bool) -> RawGraph:
    """Return the part of a graph that a format carries, or report what would be lost."""
    kept = entry.carries
    lost: list[str] = []

    def carried(columns: Mapping[str, Any], perhaps: str = "") -> dict[str, Any]:
        fitting = {}
        for name, values in columns.items():
            array = np.asarray(values)
            array = array.astype(object) if array.dtype.kind in "US" else array
            may = "attributes" in kept or (name == perhaps and name in kept)
            if may or (entry.fits is not None and entry.fits(name, array)):
                fitting[name] = array
            else:
                lost.append(name)
        return fitting

    fitting = checked_raw(
        graph.n_nodes,
        graph.edges,
        carried(graph.node_columns),
        carried(graph.edge_columns, "weight"),
        graph.directed and "directed" in kept,
        graph.graph_id,
        graph.y if "y" in kept else None,
    )
    losses = [f"columns {lost}"] if lost else []
    losses += ["a target y"] if graph.y is not None and "y" not in kept else []
    losses += ["directed edges"] if graph.directed and "directed" not in kept else []
    if entry.changes is not None and not lossy and not losses and (changed := entry.changes(fitting)):
        losses.append(f"{', '.join(changed)}, which would come back changed,")
    if losses and not lossy:
        raise GraphError(
            f"{' and '.join(losses)} cannot be written as {entry.name}",
            cure="Write Parquet, npz or JSON, or leave them out by lossy=True",
        )
    return fitting
