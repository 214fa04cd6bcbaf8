"""Reading graphs some at a time: column by column where a format is made of columns."""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterator
from itertools import islice
from typing import Any

from grnf.errors import GraphError
from grnf.io.files.records import Block, OnError
from grnf.io.files.registry import format_of, read_graphs
from grnf.io.files.streams import Source

__all__ = ["read_blocks"]


def read_blocks(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    on_error: OnError = "raise",
    block_size: int = 1024,
    n_jobs: int | None = None,
    **options: Any,
) -> Iterator[Block]:
    r"""Yield the graphs of a file some at a time: as a `RawBatch` where its format is made of columns.

    It is what `read_graphs` yields, many times faster for TU sets, npz and Parquet. Other formats give lists.

    Parameters
    ----------
    path, format, on_error, **options : as in `read_graphs`
    block_size : int, default=1024
        Graphs in a list; column-wise formats have their own.
    n_jobs : int, optional
        Processes that share the work where it is worth it, as with SMILES; by default this one alone.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from pathlib import Path
    >>> from grnf.io import RawGraph, write_graphs
    >>> path = Path(tempfile.mkdtemp()) / "two.npz"
    >>> _ = write_graphs(path, [RawGraph(3, np.array([[0, 1]])), RawGraph(2, np.array([[1, 0]]))])
    >>> list(read_blocks(path))
    [RawBatch(2 graphs, 5 nodes, 2 edges, node_columns=[], edge_columns=[])]
    """
    source = Source(path)
    entry = format_of(source, format) if source.is_folder or source.path.is_file() else None
    taken = [] if entry is None or entry.blocks is None else inspect.signature(entry.blocks).parameters
    if (
        entry is None
        or entry.blocks is None
        or (source.is_folder and entry.name != "tu")
        or options.keys() - taken
    ):
        graphs = read_graphs(path, format=format, on_error=on_error, **options)
        while some := list(islice(graphs, block_size)):
            yield some
        return
    count = 0
    try:
        shared = {"n_jobs": n_jobs} if "n_jobs" in taken else {}
        for block in entry.blocks(source, on_error=on_error, **options, **shared):
            yield block
            count += len(block)
    except GraphError:
        if on_error == "raise":
            raise
        yield list(islice(read_graphs(path, format=entry.name, on_error="yield", **options), count, None))
