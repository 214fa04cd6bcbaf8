"""Adjacency matrices as text: numbers separated by commas, tabs, semicolons or spaces, with or without names.

A first row or column of names, as pandas writes them, becomes the node column "name", unless the names only
count the nodes. Rows are read one at a time, and only entries other than 0 are kept.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, islice
from typing import Any, NamedTuple

import numpy as np

from grnf.errors import GraphError
from grnf.io.files.file import File, decoded
from grnf.io.files.limits import LONGEST_LINE
from grnf.io.files.values import number
from grnf.io.from_arrays import batch_from_matrices
from grnf.io.raw import RawGraph
from grnf.typing import FloatArray

__all__ = ["is_number_table", "read_number_table"]

COMMENTS = ("#", "%")


def is_number_table(source: File, least: int = 2) -> bool:
    """Whether a text is a square table of numbers with at least so many columns."""
    try:
        layout, rows = _layout(source)
        _, first = next(rows)
        enough = layout.width >= least and _are_numbers(first[-layout.width :])
        most = layout.width + layout.may_have_header
        return enough and 1 + sum(1 for _ in islice(rows, most)) in (layout.width, most)
    except (GraphError, StopIteration):
        return False


def read_number_table(source: File) -> RawGraph:
    """Read the matrix of a text."""
    import scipy.sparse as sp

    layout, rows = _layout(source)
    nonzeros: list[tuple[Any, Any]] = []
    labels = []
    for line, fields in rows:
        if len(fields) != layout.width + layout.labels:
            raise GraphError(
                f"the rows of an adjacency matrix must have equal lengths, got {len(fields)} fields after "
                f"{layout.width + layout.labels}",
                where=f"line {line}",
            )
        labels += fields[: layout.labels]
        values = _numbers(fields[layout.labels :], line)
        places = np.flatnonzero(values != 0)
        nonzeros.append((places, values[places]))
    if layout.may_have_header and len(nonzeros) == layout.width + 1:  # the first row only counts the columns
        nonzeros = nonzeros[1:]
    n = layout.width
    if len(nonzeros) != n:
        raise GraphError(f"{len(nonzeros)} rows of {n} numbers, but an adjacency matrix must be square")
    ends = np.repeat(np.arange(n), [len(places) for places, _ in nonzeros])
    others = np.concatenate([np.empty(0, np.int64), *(places for places, _ in nonzeros)])
    weights = np.concatenate([np.empty(0), *(values for _, values in nonzeros)])
    raw = batch_from_matrices([sp.coo_array((weights, (ends, others)), shape=(n, n))])[0]
    names = layout.names or labels
    if not names or _only_count(names):
        return raw
    return replace(raw, node_columns={"name": np.array(names, dtype=object)})


class _Layout(NamedTuple):
    """Columns of numbers, what the first row calls them, labels of each row, whether row 1 may only count."""

    width: int
    names: list[str]
    labels: int
    may_have_header: bool


def _layout(source: File) -> tuple[_Layout, Iterator[tuple[int, list[str]]]]:
    """Look at the first two rows. Also return the rows of numbers."""
    rows = _rows(source)
    head = list(islice(rows, 2))
    if not head:
        raise GraphError("the table has no numbers, but it must be an adjacency matrix")
    first = head[0][1]
    if _are_numbers(first):
        return _Layout(len(first), [], 0, _only_count(first)), chain(head, rows)
    if first[0] and len(first) > 1 and _are_numbers(first[1:]):
        return _Layout(len(first) - 1, [], 1, False), chain(head, rows)
    second = head[-1][1]
    labels = int(not first[0] or len(second) > len(first) or not _are_numbers(second[:1]))
    width = len(second) - labels
    return _Layout(width, first[len(first) - width :], labels, False), chain(head[1:], rows)


def _rows(source: File) -> Iterator[tuple[int, list[str]]]:
    """Yield line numbers and fields of the lines that are neither blank nor comments."""
    delimiter: str | None = ""
    for place, line in source.lines(LONGEST_LINE):
        text = decoded(line, f"line {place}").rstrip()
        if not text.strip() or text.lstrip().startswith(COMMENTS):
            continue
        if delimiter == "":
            marks = "\t;," if source.decimal == "." else "\t;"
            delimiters = [mark for mark in marks if mark in text]
            delimiter = max(delimiters, key=text.count) if delimiters else None
        try:
            fields = text.split() if delimiter is None else next(csv.reader([text], delimiter=delimiter))
        except csv.Error as error:
            raise GraphError(f"line {place}: {error}") from None
        if source.decimal == ",":
            fields = [field.replace(",", ".") for field in fields]
        yield place, [field.strip() for field in fields]


def _are_numbers(fields: list[str]) -> bool:
    return all(isinstance(number(field), int | float) for field in fields)


def _numbers(fields: list[str], line: int) -> FloatArray:
    if not _are_numbers(fields):
        wrong = next(field for field in fields if not _are_numbers([field]))
        raise GraphError(f"line {line}: {wrong!r} is not a number. Use 0 for pairs without an edge")
    return np.array(fields, dtype=np.float64)


def _only_count(names: list[str]) -> bool:
    return any(names == [str(first + place) for place in range(len(names))] for first in (0, 1))
