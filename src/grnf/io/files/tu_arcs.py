"""The arcs of a TU set grouped by graph, in temporary files."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from grnf.errors import GraphError
from grnf.io.files.records import OnError
from grnf.io.files.tu_tables import Files
from grnf.typing import IntArray

__all__ = ["Arcs", "Table"]

RUN = 2**15
"""Arcs that are sorted at a time, where a file does not have them graph by graph."""

FAULTS = {1: "no such node", 2: "an edge between two graphs", 3: "these are no numbers, or too few or many"}

Table = dict[str, npt.NDArray[Any]]
"""Columns of one length: graph, source, target, fault, label, attribute."""


class _Stored:
    """Columns in temporary files, one each."""

    def __init__(self, stack: ExitStack) -> None:
        self.stack = stack
        self.files: dict[str, IO[bytes]] = {}
        self.rows: dict[str, tuple[np.dtype[Any], tuple[int, ...]]] = {}

    def append(self, name: str, values: npt.NDArray[Any]) -> None:
        if name not in self.files:
            self.files[name] = self.stack.enter_context(tempfile.TemporaryFile())  # noqa: SIM115
            self.rows[name] = values.dtype, values.shape[1:]
        self.files[name].write(np.ascontiguousarray(values).data)

    def read(self, start: int, count: int) -> Table:
        table = {}
        for name, file in self.files.items():
            dtype, shape = self.rows[name]
            size = dtype.itemsize * int(np.prod(shape))
            file.seek(start * size)
            table[name] = np.frombuffer(file.read(count * size), dtype=dtype).reshape(-1, *shape)
        return table

    def overwrite(self, start: int, table: Table) -> None:
        for name, values in table.items():
            dtype, shape = self.rows[name]
            self.files[name].seek(start * dtype.itemsize * int(np.prod(shape)))
            self.files[name].write(np.ascontiguousarray(values).data)


class Arcs:
    """The arcs of a set with their labels and attributes, in temporary files, to be taken graph by graph.

    Columns are graph (from 0), source and target (numbers of nodes over all graphs, from 0), label and
    attribute where the set has them, and with on_error="yield" fault (0, or what is wrong with the line).
    Where the arcs of one graph do not stand together they are sorted in runs, and `take` merges the runs.
    """

    def __init__(self, files: Files, node_ptr: IntArray, on_error: OnError) -> None:
        self.name = files.name("A")
        self.node_ptr = node_ptr
        self.n_nodes = int(node_ptr[-1])
        self.on_error = on_error
        self.number = np.dtype(np.int32 if max(self.n_nodes, len(node_ptr)) < 2**31 else np.int64)
        self.stored = _Stored(files.stack)
        self.counts = _zeros(len(node_ptr) - 1)
        self.length = 0
        self.ordered = True
        self._store(np.empty((0, 2), dtype=np.int64), 0, {}, {})
        self._read(files)
        self.runs = [(0, self.length)] if self.ordered else self._sorted_runs()
        self.rewind()

    def rewind(self) -> None:
        """Begin again with the first graph."""
        self.places = [start for start, _ in self.runs]
        self.waiting = [self.stored.read(0, 0) for _ in self.runs]

    def take(self, graph: int) -> Table:
        """Return the arcs of all graphs before this one that were not taken yet, graph by graph."""
        taken = _joined([self._of_run(run, graph) for run in range(len(self.runs))])
        return _rows(taken, np.argsort(taken["graph"], kind="stable")) if len(self.runs) > 1 else taken

    def _of_run(self, run: int, graph: int) -> Table:
        waiting, stop = [self.waiting[run]], self.runs[run][1]
        size = max(RUN // len(self.runs), 1024)
        while self.places[run] < stop and not (
            len(waiting[-1]["graph"]) and waiting[-1]["graph"][-1] >= graph
        ):
            count = min(size, stop - self.places[run])
            waiting.append(self.stored.read(self.places[run], count))
            self.places[run] += count
        together = _joined(waiting)
        end = int(np.searchsorted(together["graph"], graph))
        self.waiting[run] = {name: values[end:].copy() for name, values in together.items()}
        return _rows(together, slice(end))

    def _read(self, files: Files) -> None:
        """Copy the lines of the files to columns, and see whether they are in the order of the graphs."""
        arcs = files.required("A", self.on_error, 2)
        others = {
            field: rows
            for field in ("label", "attribute")
            if (rows := files.rows(f"edge_{field}s", self.on_error)) is not None
        }
        last = 0
        while len(block := arcs.take(RUN)):
            start, stop = self.length, self.length + len(block)
            values = {field: rows.take(len(block)) for field, rows in others.items()}
            if any(len(table) != len(block) for table in values.values()):
                files.check_counts("edge", files.count("A"))
            wrong = {
                row - start: (row + 1) * 4 + 3
                for rows in (arcs, *others.values())
                for row in rows.faults_within(start, stop)
            }
            last = self._store(block - 1, last, values, wrong)
            self.length = stop
        if any(len(rows.take(1)) for rows in others.values()):
            files.check_counts("edge", self.length)

    def _store(self, arcs: IntArray, last: int, values: Table, wrong: dict[int, int]) -> int:
        """Add arcs to the columns; return the graph of the last one."""
        graph, fault = self._locate(arcs[:, 0], arcs[:, 1], last)
        if self.on_error == "yield":
            fault = np.zeros(len(arcs), dtype=np.int64) if fault is None else fault
            for row, reason in wrong.items():
                fault[row] = reason
            self.stored.append("fault", fault)
        if len(arcs):
            self.ordered &= bool(graph[0] >= last and (graph[1:] >= graph[:-1]).all())
            last, low = int(graph[-1]), int(graph.min())
            high = int(graph.max()) + 1
            if high - low <= 4 * len(graph):
                self.counts[low:high] += np.bincount(graph - low, minlength=high - low)
            else:
                np.add.at(self.counts, graph, 1)
        self.stored.append("graph", graph.astype(self.number))
        self.stored.append("source", arcs[:, 0].astype(self.number))
        self.stored.append("target", arcs[:, 1].astype(self.number))
        for field, table in values.items():
            self.stored.append(field, table)
        return last

    def _locate(self, source: IntArray, target: IntArray, last: int) -> tuple[IntArray, IntArray | None]:
        """Find the graph of each arc, and what is wrong with arcs that have none or two, if any.

        An arc with one end outside belongs to the graph of the other, with both to that of the line before.
        """
        if not len(source):
            return source, None
        if min(source.min(), target.min()) >= 0 and max(source.max(), target.max()) < self.n_nodes:
            owner, other = self._owners(source, target)
            crossing = owner != other
            if not crossing.any():
                return owner, None
            return owner, self._faults(np.zeros_like(crossing), crossing)
        ends = np.column_stack([source, target])
        inside = (ends >= 0) & (ends < self.n_nodes)
        found = np.searchsorted(self.node_ptr, np.where(inside, ends, 0), side="right") - 1
        outside = ~inside.all(axis=1)
        faults = self._faults(outside, ~outside & (found[:, 0] != found[:, 1]))
        graph = np.where(inside[:, 0], found[:, 0], found[:, 1])
        nowhere = ~inside.any(axis=1)
        before = np.maximum.accumulate(np.where(nowhere, -1, np.arange(len(graph))))
        return np.where(before < 0, last, graph[before]), faults

    def _owners(self, source: IntArray, target: IntArray) -> tuple[IntArray, IntArray]:
        """Return the graphs of nodes; where they lie close together, by a table of the nodes between."""
        low, high = int(min(source.min(), target.min())), int(max(source.max(), target.max())) + 1
        first = int(np.searchsorted(self.node_ptr, low, side="right")) - 1
        end = int(np.searchsorted(self.node_ptr, high))
        if max(high - low, end - first) > 4 * len(source):
            found = np.searchsorted(self.node_ptr, np.stack([source, target]), side="right") - 1
            return found[0], found[1]
        bounds = np.clip(self.node_ptr[first : end + 1], low, high) - low
        graph_of = np.repeat(np.arange(first, end), np.diff(bounds))
        return graph_of[source - low], graph_of[target - low]

    def _faults(self, outside: Any, crossing: Any) -> IntArray:
        lines = np.arange(self.length + 1, self.length + 1 + len(outside))
        faults = np.where(outside, 4 * lines + 1, np.where(crossing, 4 * lines + 2, 0))
        if self.on_error == "raise" or not self.n_nodes:
            worst = int(faults[faults > 0][0])
            more = f" ({self.n_nodes} nodes)" if worst % 4 == 1 else ""
            raise GraphError(self.reason(worst) + more)
        return faults

    def reason(self, fault: int) -> str:
        """Say what is wrong with a line."""
        return f"{self.name}, line {fault // 4}: {FAULTS[fault % 4]}"

    def _sorted_runs(self) -> list[tuple[int, int]]:
        """Sort the columns by graph, some at a time; return where each of these runs begins and ends."""
        runs = [(start, min(start + RUN, self.length)) for start in range(0, self.length, RUN)]
        for start, stop in runs:
            table = self.stored.read(start, stop - start)
            self.stored.overwrite(start, _rows(table, np.argsort(table["graph"], kind="stable")))
        return runs


def _rows(table: Table, rows: Any) -> Table:
    return {name: values[rows] for name, values in table.items()}


def _joined(tables: list[Table]) -> Table:
    if len(tables) == 1:
        return tables[0]
    return {name: np.concatenate([table[name] for table in tables]) for name in tables[0]}


def _zeros(count: int) -> IntArray:
    """Return a long array in a temporary file."""
    if count == 0:
        return np.zeros(0, dtype=np.int64)
    with tempfile.TemporaryFile() as file:
        return np.memmap(file, dtype=np.int64, mode="w+", shape=(count,))
