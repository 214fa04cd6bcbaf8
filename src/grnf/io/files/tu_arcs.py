"""The arcs of a TU set grouped by graph, in temporary files."""

from __future__ import annotations

import tempfile
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from grnf.errors import GraphError
from grnf.io.files.records import OnError
from grnf.io.files.tu_tables import Files
from grnf.typing import IntArray

__all__ = ["OF_EDGES", "Arcs", "Table"]

OF_EDGES = ("edge_labels", "edge_attributes")

RUN = 2**15
"""Arcs that are read, and put in order, at a time."""

FAULTS = {1: "no such node", 2: "an edge between two graphs", 3: "these are no numbers, or too few or many"}

Table = dict[str, npt.NDArray[Any]]
"""Columns of one length: graph, source, target, fault, edge_labels, edge_attributes."""


class Arcs:
    """The arcs of a set with their labels and attributes, in temporary files, to be taken graph by graph.

    Columns are graph (from 0), source and target (numbers of nodes over all graphs, from 0), what is in
    `OF_EDGES` where the set has it, and with on_error="yield" fault (0, or what is wrong with the line).
    `ptr` has where the arcs of each graph begin.
    """

    def __init__(self, files: Files, node_ptr: IntArray, on_error: OnError) -> None:
        self.name = files.name("A")
        self.node_ptr = node_ptr
        self.n_nodes = int(node_ptr[-1])
        self.on_error = on_error
        self.stack = files.stack
        self.ptr = _array(np.dtype(np.int64), (len(node_ptr),))
        self.length = 0
        self.ordered = True
        self.written: dict[str, tuple[IO[bytes], np.dtype[Any], tuple[int, ...]]] = {}
        self._store(np.empty((0, 2), dtype=np.int64), 0, {}, {})
        self._read(files)
        np.cumsum(self.ptr, out=self.ptr)
        self.table = {
            name: _array(dtype, (self.length, *shape), file)
            for name, (file, dtype, shape) in self.written.items()
        }
        if not self.ordered:
            self.table = self._sorted()

    def take(self, start: int, stop: int) -> Table:
        """Return the arcs of a range of graphs, graph by graph."""
        rows = slice(int(self.ptr[start]), int(self.ptr[stop]))
        return {name: np.asarray(values[rows]) for name, values in self.table.items()}

    def _read(self, files: Files) -> None:
        """Copy the lines of the files to columns, and see whether they are in the order of the graphs."""
        arcs = files.rows("A", self.on_error, 2)
        others = {name: files.rows(name, self.on_error) for name in OF_EDGES if files.has(name)}
        last = 0
        while len(block := arcs.take(RUN)):
            start, stop = self.length, self.length + len(block)
            values = {name: rows.take(len(block)) for name, rows in others.items()}
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
        graph, fault = self._locate(arcs, last)
        number = np.int32 if max(self.n_nodes, len(self.node_ptr)) < 2**31 else np.int64
        numbers = {"graph": graph, "source": arcs[:, 0], "target": arcs[:, 1]}
        columns: Table = {name: column.astype(number) for name, column in numbers.items()} | values
        if self.on_error == "yield":
            for row, reason in wrong.items():
                fault[row] = reason
            columns["fault"] = fault
        for name, column in columns.items():
            if name not in self.written:
                file = self.stack.enter_context(tempfile.TemporaryFile())  # noqa: SIM115
                self.written[name] = file, column.dtype, column.shape[1:]
            self.written[name][0].write(np.ascontiguousarray(column).data)
        if not len(arcs):
            return last
        self.ordered &= bool(graph[0] >= last and (graph[1:] >= graph[:-1]).all())
        found, counts = np.unique(graph, return_counts=True)
        self.ptr[found + 1] += counts  # summed up when all are there
        return int(graph[-1])

    def _locate(self, arcs: IntArray, last: int) -> tuple[IntArray, IntArray]:
        """Find the graph of each arc, and what is wrong with arcs that have none or two, 0 if nothing.

        An arc with one end outside belongs to the graph of the other, with both to that of the line before.
        """
        inside = (arcs >= 0) & (arcs < self.n_nodes)
        nodes = np.where(inside[:, 0], arcs[:, 0], np.where(inside[:, 1], arcs[:, 1], 0))
        graph = np.searchsorted(self.node_ptr, nodes, side="right") - 1
        begin, end = self.node_ptr[graph], np.take(self.node_ptr, graph + 1, mode="clip")
        outside, crossing = ~inside.all(axis=1), (arcs[:, 1] < begin) | (arcs[:, 1] >= end)
        if not (outside.any() or crossing.any()):
            return graph, np.zeros(len(arcs), dtype=np.int64)
        lines = np.arange(self.length + 1, self.length + 1 + len(arcs))
        faults = np.where(outside, 4 * lines + 1, np.where(crossing, 4 * lines + 2, 0))
        if self.on_error == "raise" or not self.n_nodes:
            worst = int(faults[faults > 0][0])
            more = f" ({self.n_nodes} nodes)" if worst % 4 == 1 else ""
            raise GraphError(self.reason(worst) + more)
        nowhere = ~inside.any(axis=1)
        before = np.maximum.accumulate(np.where(nowhere, -1, np.arange(len(graph))))
        return np.where(before < 0, last, graph[before]), faults

    def reason(self, fault: int) -> str:
        """Say what is wrong with a line."""
        return f"{self.name}, line {fault // 4}: {FAULTS[fault % 4]}"

    def _sorted(self) -> Table:
        """Return the columns in the order of the graphs: an arc goes to the next free place of its graph."""
        result = {name: _array(values.dtype, values.shape) for name, values in self.table.items()}
        free = _array(self.ptr.dtype, self.ptr.shape)
        free[:] = self.ptr
        for start in range(0, self.length, RUN):
            block = {name: values[start : start + RUN] for name, values in self.table.items()}
            order = np.argsort(block["graph"], kind="stable")
            graphs, first, counts = np.unique(block["graph"][order], return_index=True, return_counts=True)
            places = np.repeat(free[graphs] - first, counts) + np.arange(len(order))
            free[graphs] += counts
            for name, values in block.items():
                result[name][places] = values[order]
        return result


def _array(dtype: np.dtype[Any], shape: tuple[int, ...], file: IO[bytes] | None = None) -> npt.NDArray[Any]:
    """Return what was written to a temporary file as an array, or zeros in a file of their own."""
    if 0 in shape:
        return np.empty(shape, dtype=dtype)
    if file is not None:
        file.flush()
        return np.memmap(file, dtype=dtype, mode="r+", shape=shape)
    with tempfile.TemporaryFile() as new:
        return np.memmap(new, dtype=dtype, mode="w+", shape=shape)
