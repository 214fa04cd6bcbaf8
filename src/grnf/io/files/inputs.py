"""Several files, folders and globs in the place of one: which files they are, and what graphs are called."""

from __future__ import annotations

import glob
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

from grnf.errors import GraphError
from grnf.io.raw import BadGraph, RawBatch, RawGraph

__all__ = ["Inputs", "input_paths", "is_several", "name_in_file", "named_block", "named_graphs", "titles"]

Inputs: TypeAlias = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
"""A file, a folder or a glob, or several of them."""


def is_several(inputs: Inputs) -> bool:
    """Whether this stands for more than one file or folder: a list, or a glob and no file of that name.

    Examples
    --------
    >>> is_several("a.g6"), is_several("*.g6"), is_several(["a.g6", "b.g6"])
    (False, True, True)
    """
    if not isinstance(inputs, str | os.PathLike):
        return True
    return glob.has_magic(os.fspath(inputs)) and not Path(inputs).exists()


def input_paths(inputs: Inputs) -> list[Path]:
    """Return the files and folders that are meant, globs in sorted order.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> for name in ("b.g6", "a.g6"):
    ...     (folder / name).touch()
    >>> [path.name for path in input_paths(folder / "*.g6")]
    ['a.g6', 'b.g6']
    """
    found: list[Path] = []
    for each in [inputs] if isinstance(inputs, str | os.PathLike) else inputs:
        name = os.fspath(each)
        if is_several(each):
            matching = sorted(map(Path, glob.glob(name, recursive=True)))
            if not matching:
                raise GraphError(f"no file matches {name}")
            found += matching
        elif name != "-" and not Path(each).exists():
            raise GraphError(f"{name} does not exist")
        else:
            found.append(Path(each))
    if not found:
        raise GraphError("no file, folder or glob was given")
    path, times = Counter(found).most_common(1)[0]
    if times > 1:
        raise GraphError(f"{path} is there {times} times among the inputs; its graphs would be counted twice")
    return found


def titles(paths: Sequence[Path]) -> list[str]:
    """Return what graphs without a name are called after: the stem of each file, or all of its path.

    Examples
    --------
    >>> titles([Path("a/x.csv"), Path("a/y.csv.gz")]), titles([Path("a/x.csv"), Path("b/x.csv")])
    (['x', 'y'], ['a/x.csv', 'b/x.csv'])
    """
    stems = [_stem(path) for path in paths]
    return stems if len(set(stems)) == len(stems) else [path.as_posix() for path in paths]


def _stem(path: Path) -> str:
    return Path(path.stem).stem if path.suffix.lower() == ".gz" else path.stem


def name_in_file(title: str, place: int) -> str:
    """Return the name of a graph that has none: that of its file, from the second on with its place.

    Examples
    --------
    >>> name_in_file("x", 0), name_in_file("x", 7)
    ('x', 'x:7')
    """
    return f"{title}:{place}" if place else title


def named_graphs(
    graphs: Iterable[RawGraph | BadGraph], title: str, index: int = 0
) -> Iterator[RawGraph | BadGraph]:
    """Yield the graphs of one of several files, each with a name; `index` counts over all files."""
    for place, graph in enumerate(graphs):
        name = name_in_file(title, place) if graph.graph_id is None else graph.graph_id
        if isinstance(graph, BadGraph):
            yield replace(graph, graph_id=name, index=index + place)
        else:
            yield graph if graph.graph_id is not None else replace(graph, graph_id=name)


def named_block(block: RawBatch | list[Any], title: str | None, first: int) -> RawBatch | list[Any]:
    """Give names to the graphs of a block that have none; without a title by their places alone.

    Examples
    --------
    >>> import numpy as np
    >>> batch = RawBatch.of([RawGraph(1, np.empty((0, 2), np.int64))] * 2)
    >>> named_block(batch, "x", 5).graph_ids, named_block(batch, None, 5).graph_ids
    (['x:5', 'x:6'], ['5', '6'])
    """

    def name(given: str | None, place: int) -> str:
        if given is not None:
            return given
        return str(first + place) if title is None else name_in_file(title, first + place)

    if isinstance(block, RawBatch):
        return replace(block, graph_ids=[name(each, place) for place, each in enumerate(block.graph_ids)])
    return [
        graph if graph.graph_id is not None else replace(graph, graph_id=name(None, place))
        for place, graph in enumerate(block)
    ]
