"""Results of a search: for each query its hits, nearest first, as arrays or as a table."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from grnf._utils.files import atomic_write
from grnf.typing import FloatArray, IntArray

__all__ = ["TABLES", "Hits", "write_table", "write_text_table"]

TABLES = (".csv", ".json", ".parquet")
NUMBERS = ("distance", "low", "high", "score", "pvalue", "adjusted", "adds", "standard_error")
TYPES = dict.fromkeys(NUMBERS, "float64") | dict.fromkeys(("rank", "group", "graph", "number"), "int64")
TYPES["outlier"] = "bool"
"""Types of columns in Parquet files, other than text."""


@dataclass(frozen=True, eq=False)
class Hits:
    """Graphs near each query.

    Parameters
    ----------
    queries : list of str
        Names of the queries.
    ids : list of lists of str
        Names of the hits of each query, nearest first.
    rows : list of arrays of int
        Their numbers in the order in which they were added to the index, from 0.
    distances : list of arrays
    intervals : list of arrays of shape (n, 2), optional
        Each contains d_P with the given confidence.
    status : list of lists of str, optional
        For certified results: "certain" for a graph that is among the nearest under d_P, "tied" for one that
        may be.
    components : list of int, optional
        For certified results: number of features that each query needed.
    """

    queries: list[str]
    ids: list[list[str]]
    rows: list[IntArray]
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
                distance = float(self.distances[row][place])
                record = {"query": query, "rank": place + 1, "id": name, "distance": distance}
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
    """Write records as .csv, .json or .parquet, all or nothing."""
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
        lines = ",\n".join(map(json.dumps, records))
        file.write(f"[\n{lines}\n]\n" if lines else "[]\n")
        return
    table = csv.writer(file, lineterminator="\n")
    table.writerow(columns)
    for record in records:
        values = [record[name] for name in columns]
        table.writerow([f"{value:.9g}" if isinstance(value, float) else value for value in values])
