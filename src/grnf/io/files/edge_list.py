"""Edge lists: one graph per file, lines "source target" or "source target weight".

Blanks, commas or semicolons separate. Lines that start with #, % or // are comments, and so is what follows a
blank and #. A first line of names, such as "source target weight", is a header. networkx writes attributes as
"{'weight': 2}" or "{}" instead of a weight. The comment "# grnf: 5 nodes, directed" (nodes are 0 .. 4,
isolated ones included) makes written edge lists lossless.
"""

from __future__ import annotations

import ast
import re
from array import array
from collections.abc import Iterable, Iterator
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from grnf.errors import GraphError
from grnf.io.files.file import File, decoded
from grnf.io.files.limits import LONGEST_LINE
from grnf.io.files.tables import DECIMAL_COMMA, SOURCE_NAMES, TARGET_NAMES, cell
from grnf.io.raw import RawGraph, checked_raw

HEADER = re.compile(r"# grnf: (\d{1,18}) nodes(, directed)?$")
SPECIAL = re.compile("[#%/,;{]")
COMMENT = re.compile(r"(?:\A\s*(?:[#%]|//)|\s#).*", re.DOTALL)
ATTRIBUTES = re.compile(r"\s*(\{.*\})\s*\Z")


def read_edge_list(source: File, *, directed: bool | None = None) -> Iterator[RawGraph]:
    """Yield the graph of an edge list. Nodes are numbered in the order in which the file names them.

    By default the comment of the file tells whether it is `directed`, and it is not without one.
    """
    ends, weights = array("q"), array("d")
    numbers: dict[str, int] = {}
    number = numbers.setdefault
    n_nodes: int | None = None
    is_directed = False
    names: list[str] | None = None
    for line_number, line in source.lines(LONGEST_LINE):
        try:
            text = line.decode() if line.isascii() else decoded(line)
            fields = text.split()
            is_plain = len(fields) == 2 and fields[0].isalnum() and fields[1].isalnum()
            if is_plain and numbers and n_nodes is None and not weights:  # most lines of most files
                ends.append(number(fields[0], len(numbers)))
                ends.append(number(fields[1], len(numbers)))
                continue
            if SPECIAL.search(text):
                if header := HEADER.match(text.strip()):
                    n_nodes, is_directed = int(header[1]), header[2] is not None
                fields = _fields(COMMENT.sub("", text), source.decimal)
            if not fields:
                continue
            if len(fields) not in (2, 3):
                raise GraphError(
                    f"expected 'source target' or 'source target weight', got {len(fields)} fields",
                    cure="Write a table with a header for more columns (format='edge-table')",
                )
            if not numbers and n_nodes is None and names is None and _is_header(fields):
                names = fields
                continue
            for name in fields[:2]:
                ends.append(number(name, len(numbers)) if n_nodes is None else _index(name, n_nodes))
            if len(fields) == 3:
                weights.append(_weight(fields[2]))
            if len(weights) not in (0, len(ends) // 2):
                raise GraphError("some lines have a weight and some have none")
        except GraphError as error:
            raise error.located(where=f"{source}, line {line_number}") from None
    if names is not None and not numbers:
        raise GraphError(f"no edge follows the header {' '.join(names)[:60]!r}", where=str(source))
    try:
        yield checked_raw(
            len(numbers) if n_nodes is None else n_nodes,
            np.array(ends, dtype=np.int64).reshape(-1, 2),
            edge_columns={"weight": np.array(weights)} if weights else {},
            directed=is_directed if directed is None else directed,
        )
    except GraphError as error:
        raise error.located(where=str(source)) from None


def _fields(text: str, decimal: str) -> list[str]:
    """Split at semicolons, or else at commas, and at blanks. Attributes count as their weight."""
    if attributes := ATTRIBUTES.search(text):
        return [*_fields(text[: attributes.start()], decimal), *_weight_of(attributes[1])]
    mark = ";" if ";" in text else "," if decimal == "." else " "
    fields = text.replace(mark, " ").split()
    return [*fields[:2], *(field.replace(decimal, ".") for field in fields[2:])]


def _weight_of(attributes: str) -> list[str]:
    """Return the weight among the attributes that networkx wrote, if there is one."""
    try:
        values = ast.literal_eval(attributes)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        values = None
    if not isinstance(values, dict) or values.keys() - {"weight"}:
        raise GraphError(
            f"expected {{}} or {{'weight': number}}, got {attributes:.60}",
            cure="Write other attributes as GraphML or JSON",
        )
    return [str(value) for value in values.values()]


def _is_header(fields: list[str]) -> bool:
    """Whether the first line names its columns."""
    first, second = (field.lower() for field in fields[:2])
    if first in SOURCE_NAMES and second in TARGET_NAMES and not (first == "u" or second == "v"):
        return True
    return len(fields) == 3 and isinstance(cell(fields[2]), str) and not DECIMAL_COMMA.match(fields[2])


def _index(name: str, n_nodes: int) -> int:
    number = int(name) if name.isdecimal() and len(name) < 19 else -1
    if not 0 <= number < n_nodes:
        raise GraphError(f"no node {name[:40]!r}: the first line has the nodes 0 .. {n_nodes - 1}")
    return number


def _weight(text: str) -> float:
    try:
        weight = float(text)
    except ValueError:
        cure = "Pass decimal=',' (--decimal ,)" if DECIMAL_COMMA.match(text) else None
        raise GraphError(f"the weight {text[:40]!r} is not a number", cure=cure) from None
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
