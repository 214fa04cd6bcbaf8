"""Matrix Market: a matrix as text, the entries that are not 0 or all of them, column by column.

It is read here, since `scipy.io.mmread` ends the process on some damaged files.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import Any

import numpy as np

from grnf.errors import GraphError
from grnf.io.files.limits import LARGEST_GRAPH, LONGEST_LINE
from grnf.io.files.streams import Source
from grnf.io.from_arrays import raw_from_sparse
from grnf.io.raw import RawGraph

__all__ = ["MARKET", "read_market"]

MARKET = b"%%MatrixMarket"
FIELDS = ("real", "double", "integer", "pattern")
SIGNS = {"general": 0, "symmetric": 1, "skew-symmetric": -1}
"""What stands on the other side of the diagonal, times the entry on this side."""


def read_market(source: Source) -> RawGraph:
    """Read the matrix of a file."""
    import scipy.sparse as sp

    lines = source.lines(LONGEST_LINE)
    _, head = next(lines, (0, b""))
    shown = head.decode("latin-1").lower().split()
    if len(shown) != 5 or shown[1] != "matrix" or shown[3] not in FIELDS or shown[4] not in SIGNS:
        raise GraphError(f"{head[:80].decode('latin-1')!r}: a matrix of real numbers is wanted")
    rows, columns, values = array("q"), array("q"), array("d")
    entries = _entries(lines)
    _, size = next(entries, (0, []))
    wanted = 3 if shown[2] == "coordinate" else 2
    if len(size) != wanted or not all(value >= 0 and value.is_integer() for value in size):
        raise GraphError(f"a line of {wanted} sizes is wanted after the first")
    n, width = int(size[0]), int(size[1])
    if n != width:
        raise GraphError(f"an adjacency matrix must be square, shape (n, n); got shape ({n}, {width})")
    if n > LARGEST_GRAPH:
        raise GraphError(f"{n} nodes in one graph; files may have up to {LARGEST_GRAPH}")
    sign = SIGNS[shown[4]]
    if shown[2] == "coordinate":
        fields, count = 2 + (shown[3] != "pattern"), int(size[2])
        for line, found in entries:
            if len(found) != fields or not all(1 <= end <= n and end.is_integer() for end in found[:2]):
                raise GraphError(f"line {line}: {fields} numbers are wanted, the first two from 1 to {n}")
            rows.append(int(found[0]) - 1)
            columns.append(int(found[1]) - 1)
            values.append(found[2] if fields == 3 else 1.0)
    else:
        count = n * n if sign == 0 else n * (n + sign) // 2
        for line, found in entries:
            if len(found) != 1:
                raise GraphError(f"line {line}: one number is wanted")
            values.append(found[0])
    if len(values) != count:
        raise GraphError(f"{len(values)} entries where {count} are wanted: cut off?")
    given = np.array(values)
    if shown[2] == "coordinate":
        first, second = np.array(rows, np.int64), np.array(columns, np.int64)
    else:  # all entries of a column, or those below the diagonal
        second, first = np.triu_indices(n, int(sign < 0)) if sign else np.indices((n, n)).reshape(2, -1)
        first, second, given = (part[given != 0] for part in (first, second, given))
    off: Any = (first != second) if sign else np.zeros(len(first), np.bool_)
    ends = np.concatenate([first, second[off]]), np.concatenate([second, first[off]])
    return raw_from_sparse(sp.coo_array((np.concatenate([given, sign * given[off]]), ends), shape=(n, n)))


def _entries(lines: Iterator[tuple[int, bytes]]) -> Iterator[tuple[int, list[float]]]:
    """Yield line numbers and numbers of the lines that are neither blank nor comments."""
    for number, line in lines:
        if line.strip() and not line.startswith(b"%"):
            try:
                yield number, [float(field) for field in line.split()]
            except ValueError:
                shown = line[:80].decode("latin-1")
                raise GraphError(f"line {number}: {shown!r} is no line of numbers") from None
