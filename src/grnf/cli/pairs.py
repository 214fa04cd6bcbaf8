"""What `grnf distances` and `grnf kernel` share: matrices, pairs and nearest graphs, row by row."""

from __future__ import annotations

import csv
import json
import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any

import typer

from grnf.cli.tell import progress
from grnf.errors import GraphError

if TYPE_CHECKING:
    from grnf.cli.collections import Collection
    from grnf.typing import FloatArray

__all__ = [
    "FirstArgument",
    "Interval",
    "Nearest",
    "PairsFile",
    "SecondArgument",
    "Target",
    "Values",
    "check_interval",
    "check_target",
]

FirstArgument = Annotated[
    str, typer.Argument(help="Graphs (- for standard input), or vectors made by grnf embed.")
]
SecondArgument = Annotated[
    str | None, typer.Argument(help="Graphs or vectors to compare with; by default SOURCE itself.")
]
Target = Annotated[
    str, typer.Option("--output", "-o", help="Where to write: .npy, .csv, or - for standard output.")
]
PairsFile = Annotated[
    Path | None, typer.Option("--pairs", help="CSV file of two columns, ids of graphs: only these pairs.")
]
Nearest = Annotated[
    int | None, typer.Option("--nearest", min=1, metavar="K", help="Only the K nearest of each graph.")
]
Interval = Annotated[
    float | None,
    typer.Option(
        "--interval", metavar="DELTA", help="With --pairs: add intervals that fail with this probability."
    ),
]

BLOCK_BYTES = 2**25


def check_target(output: str, pairs: Path | None, nearest: int | None) -> None:
    """Refuse options that do not go together."""
    if pairs is not None and nearest is not None:
        raise typer.BadParameter("give --pairs or --nearest, not both")
    suffixes = (".csv",) if pairs is not None or nearest is not None else (".npy", ".csv")
    if output != "-" and Path(output).suffix not in suffixes:
        raise typer.BadParameter(
            f"{output}: the name must end in {' or '.join(suffixes)}", param_hint="--output"
        )


def check_interval(interval: float | None, pairs: Path | None) -> None:
    """Refuse intervals without pairs, and impossible ones."""
    if interval is not None and (pairs is None or not 0 < interval < 1):
        raise typer.BadParameter("needs --pairs, and lies between 0 and 1", param_hint="--interval")


@dataclass(frozen=True, eq=False)
class Values:
    """Distances or kernel values between two collections, never more than a block of rows at a time.

    Parameters
    ----------
    name : str
        What the values are called in tables.
    between : function of two arrays of vectors
        All values between them.
    first, second : Collection
    largest_first : bool
        Whether the nearest have the largest value.
    """

    name: str
    between: Callable[[FloatArray, FloatArray], FloatArray]
    first: Collection
    second: Collection
    largest_first: bool = False

    def write(
        self,
        output: str,
        pairs: Path | None,
        nearest: int | None,
        more: Callable[[FloatArray, FloatArray], dict[str, Any]],
        *,
        as_json: bool,
        quiet: bool,
    ) -> None:
        """Write some pairs, the nearest or all; then say what was written, unless to standard output."""
        if pairs is not None:
            self.write_pairs(output, pairs, as_json, more)
        elif nearest is not None:
            self.write_nearest(output, nearest, as_json, quiet)
        else:
            self.write_matrix(output, as_json, quiet)
        if output == "-":
            return
        shape = [len(self.first.ids), len(self.second.ids)]
        if as_json:
            typer.echo(json.dumps({"output": output, "graphs": shape}))
        elif not quiet:
            typer.echo(f"{shape[0]:,} x {shape[1]:,} graphs: {output}")

    def write_matrix(self, output: str, as_json: bool, quiet: bool) -> None:
        """Write all values: an array, or a table with a row for each graph of the first collection."""
        if output.endswith(".npy"):
            from grnf.files import atomic_write
            from grnf.io.vectors.write import write_npy_header

            with atomic_write(output, "wb") as file:
                for start, rows in self.row_blocks(quiet):
                    if start == 0:
                        write_npy_header(file, (len(self.first.ids), len(self.second.ids)), rows.dtype)
                    file.write(rows.tobytes())
            return
        with _table(output, ["graph_id", *self.second.ids], as_json) as add:
            for start, rows in self.row_blocks(quiet):
                for graph_id, row in zip(self.first.ids[start:], rows.tolist(), strict=False):
                    if as_json:
                        add({"graph_id": graph_id, self.name: [_number(value) for value in row]})
                    else:
                        add([graph_id, *map(_text, row)])

    def write_pairs(
        self,
        output: str,
        pairs: Path,
        as_json: bool,
        more: Callable[[FloatArray, FloatArray], dict[str, Any]],
    ) -> None:
        """Write the values of the pairs in a file, with what `more` has to say of each."""
        import numpy as np

        columns: list[str] | None = None
        first, second = _positions(self.first), _positions(self.second)
        with _table(output, None, as_json) as add:
            for line, (one, two) in enumerate(_read_pairs(pairs), start=1):
                x = np.asarray(self.first.Z[_find(first, one, self.first, pairs, line)], dtype=np.float64)
                y = np.asarray(self.second.Z[_find(second, two, self.second, pairs, line)], dtype=np.float64)
                value = float(self.between(x[np.newaxis], y[np.newaxis])[0, 0])
                record = {"graph_1": one, "graph_2": two, self.name: _number(value), **more(x, y)}
                if columns is None and not as_json:
                    columns = list(record)
                    add(columns)
                add(record if as_json else [_text(entry) for entry in record.values()])

    def write_nearest(self, output: str, count: int, as_json: bool, quiet: bool) -> None:
        """Write for each graph of the first collection its nearest ones in the second, itself left out."""
        import numpy as np

        itself = self.first is self.second
        with _table(output, ["graph_id", "rank", "neighbour", self.name], as_json) as add:
            for start, rows in self.row_blocks(quiet):
                keys = -rows if self.largest_first else rows
                for offset, (row, key) in enumerate(zip(rows, keys, strict=True)):
                    if itself:
                        key[start + offset] = np.nan
                    order = np.argsort(key, kind="stable")[:count]
                    graph_id = self.first.ids[start + offset]
                    near = [place for place in order.tolist() if not np.isnan(key[place])]
                    for rank, place in enumerate(near, start=1):
                        entry = [graph_id, rank, self.second.ids[place], float(row[place])]
                        if as_json:
                            add(dict(zip(("graph_id", "rank", "neighbour", self.name), entry, strict=True)))
                        else:
                            add([*entry[:3], _text(entry[3])])

    def row_blocks(self, quiet: bool) -> Iterator[tuple[int, FloatArray]]:
        """Yield (first row, values of some rows), so many that they take about 32 MB."""
        X, Y = self.first.Z, self.second.Z
        step = max(1, BLOCK_BYTES // (8 * max(len(Y), 1)))
        with progress(self.name, quiet) as advance:
            for start in range(0, len(X), step):
                rows = self.between(X[start : start + step], Y)
                yield start, rows
                advance(len(rows))


@contextmanager
def _table(output: str, header: list[str] | None, as_json: bool) -> Iterator[Callable[[Any], Any]]:
    """Give a function that adds a row to a CSV table, or an object to lines of JSON."""
    from grnf.files import atomic_write

    if output == "-":
        yield _adder(sys.stdout, header, as_json)
        sys.stdout.flush()
    else:
        with atomic_write(output) as file:
            yield _adder(file, header, as_json)


def _adder(file: IO[str], header: list[str] | None, as_json: bool) -> Callable[[Any], Any]:
    if as_json:
        return lambda record: file.write(json.dumps(record) + "\n")
    table = csv.writer(file, lineterminator="\n")
    if header is not None:
        table.writerow(header)
    return table.writerow


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value


def _text(value: Any) -> Any:
    return f"{value:.9g}" if isinstance(value, float) else value


def _read_pairs(path: Path) -> Iterator[list[str]]:
    with open(path, newline="", encoding="utf-8") as file:
        for line, row in enumerate(csv.reader(file), start=1):
            if len(row) != 2:
                raise GraphError(f"{path}, line {line}: two ids are wanted, {len(row)} columns found")
            yield [entry.strip() for entry in row]


def _positions(collection: Collection) -> dict[str, int]:
    """Return the row of each id; -1 for ids that several graphs share."""
    places: dict[str, int] = {}
    for row, graph_id in enumerate(collection.ids):
        places[graph_id] = -1 if graph_id in places else row
    return places


def _find(places: dict[str, int], graph_id: str, collection: Collection, path: Path, line: int) -> int:
    row = places.get(graph_id)
    if row is None or row < 0:
        what = "has no graph" if row is None else "has several graphs"
        raise GraphError(f"{path}, line {line}: {collection.name} {what} called {graph_id!r}")
    return row
