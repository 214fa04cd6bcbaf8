"""Graphs that are kept beside their vectors: in memory, or as lines of JSON that are read when wanted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO

import numpy as np

from grnf.io.files.node_link import graph_of_line, write_json_lines
from grnf.io.raw import RawGraph
from grnf.typing import IntArray

__all__ = ["Graphs", "KeptGraphs", "StoredGraphs", "write_graphs"]


class KeptGraphs:
    """Graphs in memory."""

    def __init__(self, graphs: Sequence[RawGraph]) -> None:
        self.graphs = list(graphs)

    def __len__(self) -> int:
        return len(self.graphs)

    def __getitem__(self, place: int) -> RawGraph:
        return self.graphs[place]

    def taken(self, order: IntArray) -> KeptGraphs:
        """Return these graphs in another order."""
        return KeptGraphs([self.graphs[place] for place in order])


class StoredGraphs:
    """Graphs in a file, one a line.

    Parameters
    ----------
    path : Path
    ends : array of int64
        Where each line ends.
    """

    def __init__(self, path: Path, ends: IntArray) -> None:
        self.path, self.ends = path, ends

    def __len__(self) -> int:
        return len(self.ends)

    def __getitem__(self, place: int) -> RawGraph:
        start = int(self.ends[place - 1]) if place else 0
        with open(self.path, "rb") as file:
            file.seek(start)
            return graph_of_line(file.read(int(self.ends[place]) - start))

    def taken(self, order: IntArray) -> KeptGraphs:
        """Return these graphs in another order, in memory."""
        return KeptGraphs([self[int(place)] for place in order])


Graphs = KeptGraphs | StoredGraphs


def write_graphs(file: IO[bytes], graphs: Iterable[RawGraph]) -> IntArray:
    """Write graphs one a line, and return where each line ends."""
    ends = []
    for graph in graphs:
        write_json_lines(file, [graph])
        ends.append(file.tell())
    return np.array(ends, dtype=np.int64)
