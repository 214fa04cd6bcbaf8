"""Writing TU sets as a zip: labels are whole numbers, attributes one column, graphs have no names."""

from __future__ import annotations

import re
import shutil
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np

from grnf.errors import GraphError
from grnf.io.files.archives import new_member
from grnf.io.files.file import open_sink
from grnf.io.from_arrays import is_symmetric
from grnf.io.raw import RawGraph

__all__ = ["fits_tu", "write_tu", "write_tu_folder"]

LABEL = re.compile(r"label(|[1-9][0-9]*)\Z")
WHOLE = re.compile(r"(0|-?[1-9][0-9]{0,17})\Z")
IN_MEMORY = 2**20


def fits_tu(name: str, values: Any) -> bool:
    """Whether a column can stand in a TU set: categories that are whole numbers, or "attributes".

    Examples
    --------
    >>> labels = np.array(["1", "-2"], dtype=object)
    >>> fits_tu("label", labels), fits_tu("element", labels)
    (True, False)
    """
    if name == "attributes":
        return bool(values.dtype == np.float64 and values.ndim == 2 and values.shape[1])
    return bool(LABEL.match(name)) and all(
        isinstance(value, str) and bool(WHOLE.match(value)) for value in values.tolist()
    )


class _Writer:
    """The text files of a set in the making, and what all of its graphs must agree on."""

    def __init__(self, stack: ExitStack) -> None:
        self.stack = stack
        self.files: dict[str, IO[bytes]] = {}
        self.agreed: dict[str, Any] = {}
        self.n_nodes = 0
        self.n_graphs = 0
        self.last_is_empty = False
        self.one_way = False
        for name in ("A", "graph_indicator"):
            self.add(name, [])

    def add(self, name: str, lines: Iterable[str]) -> None:
        if name not in self.files:
            spool = tempfile.SpooledTemporaryFile(IN_MEMORY)  # noqa: SIM115
            self.files[name] = self.stack.enter_context(spool)
        self.files[name].write("".join(f"{line}\n" for line in lines).encode())

    def agree(self, what: str, value: Any) -> None:
        """Refuse a graph that differs from those before it."""
        first = self.agreed.setdefault(what, value)
        if first != value:
            raise GraphError(
                f"graph {self.n_graphs}: {what} must be the same for all graphs of a TU set; here {value}, "
                f"before {first}: write Parquet, npz or JSON lines"
            )

    def graph(self, graph: RawGraph) -> None:
        """Add one graph."""
        edges, rows = graph.edges, np.arange(len(graph.edges))
        keys = edges if graph.directed else np.sort(edges, axis=1)
        if len(np.unique(keys, axis=0)) < len(edges):
            raise GraphError(f"graph {self.n_graphs} has repeated edges, which TU sets drop; write Parquet")
        self.agree("direction", "directed" if graph.directed else "undirected")
        if not graph.directed:
            others = np.flatnonzero(edges[:, 0] != edges[:, 1])
            edges, rows = np.vstack([edges, edges[others, ::-1]]), np.concatenate([rows, others])
        elif not self.one_way:
            values = [self._codes(column) for column in graph.edge_columns.values()]
            table = np.hstack([np.empty((len(edges), 0)), *values])
            self.one_way = not is_symmetric(edges, table)
        order = np.lexsort((edges[:, 1], edges[:, 0]))
        arcs = (edges[order] + self.n_nodes + 1).tolist()
        self.add("A", (f"{source}, {target}" for source, target in arcs))
        self.add("graph_indicator", [str(self.n_graphs + 1)] * graph.n_nodes)
        self._columns("node", graph.node_columns, np.arange(graph.n_nodes))
        self._columns("edge", graph.edge_columns, rows[order])
        self._target(graph.y)
        self.n_nodes += graph.n_nodes
        self.n_graphs += 1
        self.last_is_empty = graph.n_nodes == 0

    @staticmethod
    def _codes(column: Any) -> Any:
        codes = np.unique(column, return_inverse=True)[1] if column.dtype == object else column
        return np.asarray(codes, dtype=np.float64).reshape(len(column), -1)

    def _columns(self, item: str, columns: Any, rows: Any) -> None:
        if not len(rows):
            return
        labels = sorted(
            (name for name in columns if name != "attributes"), key=lambda name: (len(name), name)
        )
        if labels != [f"label{index or ''}" for index in range(len(labels))]:
            raise GraphError(f"columns {labels}: the labels of a TU set are label, label1, label2, ...")
        self.agree(f"the columns of {item}s", [*labels, *(name for name in columns if name == "attributes")])
        if labels:
            table = np.column_stack([columns[name] for name in labels])[rows].tolist()
            self.add(f"{item}_labels", (", ".join(row) for row in table))
        if "attributes" in columns:
            self.agree(f"the width of {item} attributes", columns["attributes"].shape[1])
            table = columns["attributes"][rows].tolist()
            self.add(f"{item}_attributes", (", ".join(map(repr, row)) for row in table))

    def _target(self, y: Any) -> None:
        values = np.asarray(y if y is not None else [])
        if values.dtype.kind not in "iuf" or values.ndim > 1:
            raise GraphError(f"graph {self.n_graphs}: y is {y!r:.60}; TU sets carry numbers")
        whole = values.dtype.kind in "iu" and values.ndim == 0
        kind = "none" if y is None else "a whole number" if whole else f"{values.size} real numbers"
        self.agree("y", kind)
        if y is not None:
            text = ", ".join(map(repr, values.astype(int if whole else float).ravel().tolist()))
            self.add("graph_labels" if whole else "graph_attributes", [text])

    def check(self) -> None:
        """Refuse what would read as something else."""
        if self.agreed.get("direction") == "directed" and not self.one_way:
            raise GraphError("each arc has its reverse: as a TU set these graphs would read as undirected")
        if self.last_is_empty and self.agreed["y"] == "none":
            raise GraphError("the last graph has no nodes and no y: a TU set would not count it")


def write_tu(file: IO[bytes], graphs: Iterable[RawGraph]) -> None:
    """Write a zip with the text files of a TU set called DS."""
    with _texts(graphs) as texts, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in texts.items():
            with new_member(archive, f"DS/DS_{name}.txt") as member:
                shutil.copyfileobj(text, member)


def write_tu_folder(path: Path, graphs: Iterable[RawGraph]) -> None:
    """Write a folder NAME with the text files NAME_A.txt, NAME_graph_indicator.txt and so on."""
    with _texts(graphs) as texts:
        path.mkdir()
        for name, text in texts.items():
            with open_sink(path / f"{path.name}_{name}.txt") as file:
                shutil.copyfileobj(text, file)


@contextmanager
def _texts(graphs: Iterable[RawGraph]) -> Iterator[dict[str, IO[bytes]]]:
    """Give the text files of a set, each at its beginning."""
    with ExitStack() as stack:
        writer = _Writer(stack)
        for graph in graphs:
            writer.graph(graph)
        writer.check()
        for text in writer.files.values():
            text.seek(0)
        yield writer.files
