"""Answers of a search: for each query the graphs that were found, nearest first, as arrays or as a table."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from grnf._utils.files import atomic_write
from grnf.typing import FloatArray

__all__ = ["TABLES", "Hits", "write_table", "write_text_table"]

TABLES = (".csv", ".json", ".parquet")
NUMBERS = ("distance", "kernel", "low", "high", "score", "p_value", "adjusted", "adds", "standard_error")
TYPES = dict.fromkeys(NUMBERS, "float64") | dict.fromkeys(("rank", "group", "graph", "number"), "int64")
TYPES["outlier"] = "bool"
"""Types of columns in Parquet files, other than text."""


@dataclass(frozen=True, eq=False)
class Hits:
    """Graphs found near each query.

    Parameters
    ----------
    queries : list of str
        What the queries are called.
    ids : list of lists of str
        What was found near each, nearest first.
    distances : list of arrays
    intervals : list of arrays of shape (n, 2), optional
        Each holds d_P with the probability that was asked for.
    status : list of lists of str, optional
        Of certified answers: "certain" for a graph that is among the k nearest under d_P, "tied" for one that
        may be; `components` are the features that it took for each query.
    components : list of int, optional

    Examples
    --------
    >>> import numpy as np
    >>> hits = Hits(["q"], [["a", "b"]], [np.array([0.1, 0.2])])
    >>> list(hits.records())[1]
    {'query': 'q', 'rank': 2, 'id': 'b', 'distance': 0.2}
    """

    queries: list[str]
    ids: list[list[str]]
    distances: list[FloatArray]
    intervals: list[FloatArray] | None = None
    status: list[list[str]] | None = None
    components: list[int] | None = None

    def __len__(self) -> int:
        return len(self.queries)

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield each hit as a row of a table: query, rank, id, distance, and low, high, status if known."""
        for row, query in enumerate(self.queries):
            for place, name in enumerate(self.ids[row]):
                record = {
                    "query": query,
                    "rank": place + 1,
                    "id": name,
                    "distance": float(self.distances[row][place]),
                }
                if self.intervals is not None:
                    low, high = self.intervals[row][place]
                    record |= {"low": float(low), "high": float(high)}
                if self.status is not None:
                    record["status"] = self.status[row][place]
                yield record

    @property
    def columns(self) -> list[str]:
        """Names of the columns of the table."""
        more = ["low", "high"] if self.intervals is not None else []
        return ["query", "rank", "id", "distance", *more, *(["status"] if self.status is not None else [])]

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the table as .csv, .json (a list of objects) or .parquet, all or nothing."""
        write_table(path, self.columns, self.records())


def write_table(path: str | os.PathLike[str], columns: list[str], records: Iterable[dict[str, Any]]) -> None:
    r"""Write records as .csv, .json or .parquet, all or nothing.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "t.csv"
    >>> write_table(path, ["id", "distance"], [{"id": "a", "distance": 0.5}])
    >>> path.read_text()
    'id,distance\na,0.5\n'
    """
    suffix = Path(path).suffix.lower()
    if suffix not in TABLES:
        raise ValueError(f"{path}: the name of a table must end in {', '.join(TABLES)}")
    if suffix == ".parquet":
        try:
            import pyarrow as pa
            import pyarrow.parquet as pq
        except ImportError:
            raise ImportError("Parquet needs pyarrow: pip install 'grnf[io]'") from None
        schema = pa.schema([(name, TYPES.get(name, "string")) for name in columns])
        with atomic_write(path, "wb") as file:
            pq.write_table(pa.Table.from_pylist(list(records), schema=schema), file)
        return
    with atomic_write(path) as file:
        write_text_table(file, columns, records, as_json=suffix == ".json")


def write_text_table(
    file: IO[str], columns: list[str], records: Iterable[dict[str, Any]], as_json: bool
) -> None:
    """Write records to an open file, as CSV or as a JSON list with one object per line."""
    if as_json:
        opening = "["
        for record in records:
            file.write(f"{opening}\n{json.dumps(record)}")
            opening = ","
        file.write("[]\n" if opening == "[" else "\n]\n")
        return
    table = csv.writer(file, lineterminator="\n")
    table.writerow(columns)
    for record in records:
        values = [record[name] for name in columns]
        table.writerow([f"{value:.9g}" if isinstance(value, float) else value for value in values])
