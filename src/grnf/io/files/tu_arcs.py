"""The arcs of a TU set grouped by graph, in a temporary file."""

from __future__ import annotations

import tempfile
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from grnf.errors import GraphError
from grnf.io.files.records import OnError
from grnf.io.files.tu_tables import Files
from grnf.typing import IntArray

__all__ = ["Arcs"]

RUN = 2**15
"""Arcs that are sorted at a time, where a file does not have them graph by graph."""

FAULTS = {1: "no such node", 2: "an edge between two graphs", 3: "these are no numbers, or too few or many"}


class Arcs:
    """The arcs of a set with their labels and attributes, in a temporary file, to be taken graph by graph.

    Records have the fields graph (from 0), arc (numbers of nodes over all graphs, from 0), fault (0, or what
    is wrong with the line), label and attribute. Where the arcs of one graph do not stand together they are
    sorted in runs, and `take` merges the runs.
    """

    def __init__(self, files: Files, node_ptr: IntArray, on_error: OnError) -> None:
        self.name = files.name("A")
        self.node_ptr = node_ptr
        self.on_error = on_error
        self.file: IO[bytes] = files.stack.enter_context(tempfile.TemporaryFile())  # noqa: SIM115
        self.counts = _zeros(len(node_ptr) - 1)
        self.length = 0
        self.ordered = True
        self.dtype = np.dtype([("graph", "i8"), ("arc", "i8", (2,)), ("fault", "i8")])
        self._read(files)
        self.runs = [(0, self.length)] if self.ordered else self._sorted_runs()
        self.rewind()

    def rewind(self) -> None:
        """Begin again with the first graph."""
        self.places = [start for start, _ in self.runs]
        self.waiting: list[npt.NDArray[Any]] = [np.empty(0, dtype=self.dtype) for _ in self.runs]

    def take(self, graph: int) -> npt.NDArray[Any]:
        """Return the arcs of all graphs before this one that were not taken yet, graph by graph."""
        parts = [self._of_run(run, graph) for run in range(len(self.runs))]
        taken = np.concatenate([np.empty(0, dtype=self.dtype), *parts])
        return taken[np.argsort(taken["graph"], kind="stable")] if len(parts) > 1 else taken

    def _of_run(self, run: int, graph: int) -> npt.NDArray[Any]:
        waiting, stop = [self.waiting[run]], self.runs[run][1]
        size = max(RUN // len(self.runs), 1024)
        while self.places[run] < stop and not (len(waiting[-1]) and waiting[-1]["graph"][-1] >= graph):
            count = min(size, stop - self.places[run])
            waiting.append(self._records(self.places[run], count))
            self.places[run] += count
        together = np.concatenate(waiting)
        end = int(np.searchsorted(together["graph"], graph))
        self.waiting[run] = together[end:].copy()
        return together[:end]

    def _records(self, start: int, count: int) -> npt.NDArray[Any]:
        self.file.seek(start * self.dtype.itemsize)
        return np.frombuffer(self.file.read(count * self.dtype.itemsize), dtype=self.dtype)

    def _read(self, files: Files) -> None:
        """Copy the lines of the files to records, and see whether they are in the order of the graphs."""
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
            if start == 0:
                widths = [(field, table.dtype.str, (table.shape[1],)) for field, table in values.items()]
                self.dtype = np.dtype([*self.dtype.descr, *widths])
            records = np.zeros(len(block), dtype=self.dtype)
            records["arc"] = block - 1
            self._locate(records, start, last)
            for field, table in values.items():
                if len(table) != len(block):
                    files.check_counts("edge", files.count("A"))
                records[field] = table
            for rows in (arcs, *others.values()):
                wrong = np.array(rows.faults_within(start, stop), dtype=np.int64)
                records["fault"][wrong - start] = (wrong + 1) * 4 + 3
            graphs = records["graph"]
            self.ordered &= bool(graphs[0] >= last and (np.diff(graphs) >= 0).all())
            last = int(graphs[-1])
            np.add.at(self.counts, graphs, 1)
            self.file.write(records.tobytes())
            self.length = stop
        if any(len(rows.take(1)) for rows in others.values()):
            files.check_counts("edge", self.length)

    def _locate(self, records: npt.NDArray[Any], start: int, last: int) -> None:
        """Find the graph of each arc, and mark arcs that have none or two.

        An arc with one end outside belongs to the graph of the other, with both to that of the line before.
        """
        n_nodes = int(self.node_ptr[-1])
        arcs = records["arc"]
        inside = (arcs >= 0) & (arcs < n_nodes)
        owner = np.searchsorted(self.node_ptr, np.where(inside, arcs, 0), side="right") - 1
        outside = ~inside.all(axis=1)
        crossing = ~outside & (owner[:, 0] != owner[:, 1])
        lines = np.arange(start + 1, start + 1 + len(records))
        records["fault"] = np.where(outside, 4 * lines + 1, np.where(crossing, 4 * lines + 2, 0))
        faults = records["fault"][records["fault"] > 0]
        if len(faults) and (self.on_error == "raise" or not n_nodes):
            more = f" ({n_nodes} nodes)" if faults[0] % 4 == 1 else ""
            raise GraphError(self.reason(int(faults[0])) + more)
        graph = np.where(inside[:, 0], owner[:, 0], owner[:, 1])
        nowhere = ~inside.any(axis=1)
        before = np.maximum.accumulate(np.where(nowhere, -1, np.arange(len(graph))))
        records["graph"] = np.where(before < 0, last, graph[before])

    def reason(self, fault: int) -> str:
        """Say what is wrong with a line."""
        return f"{self.name}, line {fault // 4}: {FAULTS[fault % 4]}"

    def _sorted_runs(self) -> list[tuple[int, int]]:
        """Sort the records by graph, some at a time; return where each of these runs begins and ends."""
        runs = [(start, min(start + RUN, self.length)) for start in range(0, self.length, RUN)]
        for start, stop in runs:
            records = self._records(start, stop - start)
            ordered = records[np.argsort(records["graph"], kind="stable")]
            self.file.seek(start * self.dtype.itemsize)
            self.file.write(ordered.tobytes())
        return runs


def _zeros(count: int) -> IntArray:
    """Return a long array in a temporary file."""
    if count == 0:
        return np.zeros(0, dtype=np.int64)
    with tempfile.TemporaryFile() as file:
        return np.memmap(file, dtype=np.int64, mode="w+", shape=(count,))
