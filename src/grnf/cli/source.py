"""Where commands get their graphs from: any file, folder or standard input, read as a stream."""

from __future__ import annotations

import hashlib
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from grnf.errors import GraphError

if TYPE_CHECKING:
    from grnf.io import RawGraph

__all__ = ["Bad", "Source", "as_graphs", "name_of", "open_source", "sha256", "write"]


class Bad(Protocol):
    """A record that could not be read: what readers yield in its place."""

    @property
    def index(self) -> int: ...  # noqa: D102
    @property
    def reason(self) -> str: ...  # noqa: D102
    @property
    def graph_id(self) -> str | None: ...  # noqa: D102


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
    """

    path: Path
    name: str
    format: str | None = None

    def read(self, *, yield_bad: bool = False) -> Iterator[RawGraph | Bad]:
        """Yield the graphs one by one; with `yield_bad`, bad records too, in their places."""
        try:
            yield from _read(self.path, self.format, yield_bad)
        except GraphError as error:
            raise GraphError(str(error).replace(str(self.path), self.name)) from None

    def require_graphs(self) -> None:
        """Raise a `GraphError` if there is no graph, good or bad."""
        if next(self.read(yield_bad=True), None) is None:
            raise GraphError(f"{self.name} holds no graphs")

    def fingerprint(self) -> dict[str, str]:
        """Return the SHA-256 of the file, or of each file of the folder."""
        if not self.path.is_dir():
            return {self.path.name: sha256(self.path)}
        files = sorted(file for file in self.path.rglob("*") if file.is_file())
        return {str(file.relative_to(self.path)): sha256(file) for file in files}


@contextmanager
def open_source(name: str, format: str | None = None) -> Iterator[Source]:
    """Find the graphs that a user means by `name`; "-" is standard input, copied to disk meanwhile."""
    if name != "-":
        if not Path(name).exists():
            raise GraphError(f"{name} does not exist")
        yield Source(Path(name), name, format)
        return
    with tempfile.TemporaryDirectory(prefix="grnf-") as folder:
        copy = Path(folder) / "stdin"
        with open(copy, "wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        yield Source(copy, "standard input", format)


def name_of(item: RawGraph | Bad, index: int) -> str:
    """Return what a graph is called: its id, or its place in the source."""
    return str(index) if item.graph_id is None else str(item.graph_id)


def sha256(path: Path) -> str:
    """Return the hash of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


# What follows stands in for the readers and the encoder of grnf.io as long as they are not there.


def _read(path: Path, format: str | None, yield_bad: bool) -> Iterator[RawGraph | Bad]:
    import grnf.io

    read_graphs = getattr(grnf.io, "read_graphs", None)
    if read_graphs is None:
        return _read_tu(path)
    options = {"on_error": "yield"} if yield_bad else {}
    return iter(read_graphs(path, format=format, **options))


def _read_tu(path: Path) -> Iterator[RawGraph | Bad]:
    from grnf.io import RawGraph, read_tu

    data = read_tu(path)
    for index, graph in enumerate(data.graphs):
        node_columns = (
            {} if graph.node_attr is None else dict(zip(data.node_columns, graph.node_attr.T, strict=True))
        )
        edge_columns = (
            {} if graph.edge_attr is None else dict(zip(data.edge_columns, graph.edge_attr.T, strict=True))
        )
        y = None if data.y is None else data.y[index]
        yield RawGraph(
            graph.n_nodes, graph.edges, node_columns, edge_columns, graph.directed, str(index + 1), y
        )


def as_graphs(raw: Sequence[RawGraph]) -> Sequence[Any]:
    """Return graphs as `GRNF` takes them."""
    import importlib.util

    if importlib.util.find_spec("grnf.io.encode"):
        return raw
    import numpy as np

    from grnf import Graph

    def stacked(columns: Any) -> Any:
        return np.column_stack(list(columns.values())) if columns else None

    return [
        Graph(g.n_nodes, g.edges, stacked(g.node_columns), stacked(g.edge_columns), g.directed) for g in raw
    ]


def write(path: Path, graphs: Iterator[RawGraph], format: str | None, lossy: bool) -> int:
    """Write graphs, without what the format cannot carry if `lossy`; return how many."""
    import grnf.io

    write_graphs = getattr(grnf.io, "write_graphs", None)
    if write_graphs is None:
        raise ImportError("this version of grnf writes no graphs")
    return int(write_graphs(path, graphs, format=format, lossy=lossy))
