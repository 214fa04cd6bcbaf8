"""Edge lists: one graph per file, lines "source target" or "source target weight" with blanks or commas.

Lines that start with # or % are comments. The comment "# grnf: 5 nodes, directed" (nodes are 0 .. 4, isolated
ones included) makes written edge lists lossless.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Iterator
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from grnf.errors import GraphError
from grnf.io.files.file import File, decoded
from grnf.io.files.limits import LONGEST_LINE
from grnf.io.raw import RawGraph, checked_raw

__all__ = ["read_edge_list", "write_edge_list"]

HEADER = re.compile(r"# grnf: (\d{1,18}) nodes(, directed)?$")


def read_edge_list(source: File, *, directed: bool | None = None) -> Iterator[RawGraph]:
    """Yield the graph of an edge list. Nodes are numbered in the order in which the file names them.

    Parameters
    ----------
    source : File
    directed : bool, optional
        Whether edges have a direction. By default as the comment of the file tells, or undirected.
    """
    ends, weights = array("q"), array("d")
    numbers: dict[str, int] = {}
    number = numbers.setdefault
    n_nodes: int | None = None
    is_directed = False
    for line_number, line in source.lines(LONGEST_LINE):
        try:
            text = decoded(line)
            fields = text.split() if "," not in text else _fields(text)
            if not text or text.isspace():
                continue
            if fields and fields[0][0] in "#%":
                header = HEADER.match(text.strip())
                if header:
                    n_nodes, is_directed = int(header[1]), header[2] is not None
                continue
            if len(fields) == 2 and n_nodes is None and not weights:  # most lines of most files
                ends.append(number(fields[0], len(numbers)))
                ends.append(number(fields[1], len(numbers)))
                continue
            if len(fields) not in (2, 3):
                raise GraphError(
                    f"expected 'source target' or 'source target weight', got {len(fields)} fields"
                )
            for name in fields[:2]:
                ends.append(number(name, len(numbers)) if n_nodes is None else _index(name, n_nodes))
            if len(fields) == 3:
                weights.append(_weight(fields[2]))
            if len(weights) not in (0, len(ends) // 2):
                raise GraphError("some lines have a weight and some have none")
        except GraphError as error:
            raise error.located(where=f"{source}, line {line_number}") from None
    try:
        yield checked_raw(
            len(numbers) if n_nodes is None else n_nodes,
            np.array(ends, dtype=np.int64).reshape(-1, 2),
            edge_columns={"weight": np.array(weights)} if weights else {},
            directed=is_directed if directed is None else directed,
        )
    except GraphError as error:
        raise error.located(where=str(source)) from None


def _fields(text: str) -> list[str]:
    """Split at blanks and commas. A comment stays one field."""
    return [text.strip()] if text.lstrip()[:1] in ("#", "%") else text.replace(",", " ").split()


def _index(name: str, n_nodes: int) -> int:
    number = int(name) if name.isdecimal() and len(name) < 19 else -1
    if not 0 <= number < n_nodes:
        raise GraphError(f"no node {name[:40]!r}: the first line has the nodes 0 .. {n_nodes - 1}")
    return number


def _weight(text: str) -> float:
    try:
        weight = float(text)
    except ValueError:
        raise GraphError(f"the weight {text[:40]!r} is not a number") from None
    if not np.isfinite(weight):
        raise GraphError(f"the weight {text} is not finite")
    return weight


def write_edge_list(file: IO[bytes], graphs: Iterable[RawGraph]) -> None:
    """Write one graph with no attributes but an edge column "weight"."""
    for graph in graphs:
        file.write(f"# grnf: {graph.n_nodes} nodes{', directed' if graph.directed else ''}\n".encode())
        weights = graph.edge_columns.get("weight")
        if weights is not None and not _one_number_each(weights):
            raise GraphError(
                "the column 'weight' must hold one number for each edge", cure="Write JSON or Parquet"
            )
        for row, (source, target) in enumerate(graph.edges.tolist()):
            weight = "" if weights is None else f" {weights[row].item()!r}"
            file.write(f"{source} {target}{weight}\n".encode())


def _one_number_each(weights: npt.NDArray[Any]) -> bool:
    return weights.ndim == 1 and weights.dtype.kind in "biuf" and not np.isnan(weights).any()
