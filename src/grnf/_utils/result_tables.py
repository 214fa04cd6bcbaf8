"""Tables of results as CSV, JSON or Parquet."""

from __future__ import annotations

import csv
import html
import json
import os
from collections.abc import Iterable, Mapping
from itertools import islice
from pathlib import Path
from typing import IO, Any

from grnf._utils.files import atomic_write
from grnf.errors import invalid

SUFFIXES = (".csv", ".json", ".parquet")
NUMBERS = (
    "distance", "kernel", "low", "high", "score", "pvalue", "adjusted", "adds", "standard_error", "cost",
)  # fmt: skip
TYPES = dict.fromkeys(NUMBERS, "float64") | dict.fromkeys(
    ("rank", "group", "graph", "number", "cluster", "size"), "int64"
)
TYPES["outlier"] = "bool"
"""Types of columns in Parquet files, other than text."""


SHOWN_ROWS = 20
"""Rows of a table in a notebook."""


def html_table(columns: Iterable[str], records: Iterable[Mapping[str, Any]], caption: str) -> str:
    """Return the first records as an HTML table for notebooks."""
    names, records = list(columns), iter(records)

    def line(tag: str, cells: Iterable[Any]) -> str:
        texts = (f"{cell:.4g}" if isinstance(cell, float) else "" if cell is None else cell for cell in cells)
        return f"<tr>{''.join(f'<{tag}>{html.escape(str(text))}</{tag}>' for text in texts)}</tr>"

    lines = [line("td", map(record.get, names)) for record in islice(records, SHOWN_ROWS)]
    if next(records, None) is not None:
        lines.append(line("td", ["..."] * len(names)))
    title = html.escape(caption).replace("\n", "<br>")
    return f"<table><caption>{title}</caption>{line('th', names)}{''.join(lines)}</table>"


FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""How cells begin that spreadsheets run as formulas."""


def safe_text(value: Any) -> Any:
    """Return a text with an apostrophe in front if a spreadsheet would run it as a formula.

    Examples
    --------
    >>> [safe_text(value) for value in ("=1+1", "-C", "-1.5", "C", 3)]
    ["'=1+1", "'-C", '-1.5', 'C', 3]
    """
    if not isinstance(value, str) or not value.startswith(FORMULA):
        return value
    try:
        float(value)
    except ValueError:
        return f"'{value}"
    return value


def write_table(
    path: str | os.PathLike[str],
    columns: list[str],
    records: Iterable[dict[str, Any]],
    types: Mapping[str, str] | None = None,
    *,
    safe_csv: bool = False,
) -> None:
    """Write records as .csv, .json or .parquet, all or nothing.

    `types` are those of columns in Parquet. `safe_csv` is as in `write_text_table`.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise invalid(f"the name of the table {path}", f"end in {', '.join(SUFFIXES)}")
    if suffix == ".parquet":
        try:
            import pyarrow as pa
            import pyarrow.parquet as pq
        except ImportError:
            raise ImportError("Parquet needs pyarrow: pip install 'grnf[io]'") from None
        known = TYPES if types is None else types
        schema = pa.schema([(name, known.get(name, "string")) for name in columns])
        text = [name for name in columns if name not in known]
        rows = [
            {**record, **{name: None if record[name] is None else str(record[name]) for name in text}}
            for record in records
        ]
        with atomic_write(path, "wb") as file:
            pq.write_table(pa.Table.from_pylist(rows, schema=schema), file)
        return
    with atomic_write(path) as file:
        write_text_table(file, columns, records, as_json=suffix == ".json", safe_csv=safe_csv)


def write_text_table(
    file: IO[str],
    columns: list[str],
    records: Iterable[dict[str, Any]],
    as_json: bool,
    *,
    safe_csv: bool = False,
) -> None:
    """Write records to an open file, as CSV or as a JSON list with one object per line.

    With `safe_csv`, texts that a spreadsheet would run as formulas begin with an apostrophe.
    """
    if as_json:
        opening = "["
        for record in records:
            file.write(f"{opening}\n{json.dumps(record)}")
            opening = ","
        file.write("[]\n" if opening == "[" else "\n]\n")
        return
    table = csv.writer(file, lineterminator="\n")
    safe = safe_text if safe_csv else lambda value: value
    table.writerow(map(safe, columns))
    for record in records:
        values = [record[name] for name in columns]
        table.writerow([f"{value:.9g}" if isinstance(value, float) else safe(value) for value in values])
