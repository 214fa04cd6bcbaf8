"""Collections of graphs or vectors for `grnf test` and `grnf evaluate`."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from grnf.cli.options import check_format, check_free, checked
from grnf.cli.source import name_of, open_source
from grnf.cli.tell import tell_bad
from grnf.errors import GraphError

if TYPE_CHECKING:
    from grnf.io import RawGraph
    from grnf.typing import FloatArray

__all__ = [
    "Features",
    "OnError",
    "Permutations",
    "Sample",
    "SampleArgument",
    "Seed",
    "as_csv",
    "as_json",
    "check_output",
    "graphs_of",
    "parse_numbers",
    "read_samples",
    "write_text",
]

SampleArgument = Annotated[
    str, typer.Argument(help="Graphs (- for standard input), or vectors made by grnf embed.")
]
Permutations = Annotated[int, typer.Option(min=1, help="Shuffles of the graphs; p is at least 1 / (1 + B).")]
Features = Annotated[
    int, typer.Option("--n-components", "-m", min=1, metavar="M", help="Features of each view of a graph.")
]
OnError = Annotated[
    Literal["raise", "skip"], typer.Option(help="A graph that cannot be used: stop, or leave it out.")
]
Seed = Annotated[int, typer.Option(min=0, help="Seed of features, permutations and resamples.")]


@dataclass(frozen=True, eq=False)
class Sample:
    """Graphs or vectors of a file, what they are called, and how many graphs could not be used."""

    items: list[Any] | FloatArray
    ids: list[str]
    n_bad: int = 0


def read_samples(names: Sequence[str], format: str | None, skip: bool, quiet: bool) -> list[Sample]:
    """Return the graphs or vectors of each file; with `skip`, bad graphs are left out, and told."""
    if list(names).count("-") > 1:
        raise typer.BadParameter("standard input can be read only once: give a file for the other")
    return [_read(name, format, skip, quiet) for name in names]


def _read(name: str, format: str | None, skip: bool, quiet: bool) -> Sample:
    import numpy as np

    from grnf.io.vectors import holds_vectors, read_vectors

    if format == "vectors" or (format is None and holds_vectors(name)):
        vectors = read_vectors(name)
        Z = np.asarray(vectors.Z)
        return Sample(Z if Z.dtype.kind == "f" else Z.astype(np.float64), vectors.ids)
    good, n_bad = graphs_of(name, format, "skip" if skip else "raise", quiet)
    return Sample([graph for _, graph in good], [name_of(graph, place) for place, graph in good], n_bad)


def graphs_of(
    name: str, format: str | None, on_error: str, quiet: bool
) -> tuple[list[tuple[int, RawGraph]], int]:
    """Return the graphs of a file with their places, and how many were left out, which is told."""
    check_format(format, name)
    bad: list[dict[str, Any]] = []
    with open_source(name, format) as where:
        good = list(where.usable(on_error, bad))
    tell_bad(bad, on_error, quiet)
    if not good:
        raise GraphError(f"{name} holds no graphs" + (" that can be used" if bad else ""))
    return good, len(bad)


def check_output(output: str, suffixes: Sequence[str], force: bool) -> None:
    """Refuse an output whose name says no format, or that is there already."""
    if output == "-":
        return
    if Path(output).suffix.lower() not in suffixes:
        text = f"{output}: the name must end in {', '.join(suffixes[:-1])} or {suffixes[-1]}"
        raise typer.BadParameter(text, param_hint="--output")
    check_free(output, force)


def write_text(output: str, text: str) -> None:
    """Write a file, all or nothing."""
    from grnf._utils.files import atomic_write

    with atomic_write(output) as file:
        file.write(text if text.endswith("\n") else text + "\n")


def as_json(record: dict[str, Any]) -> str:
    """Return a result as JSON, for eyes too."""
    return json.dumps(record, indent=1)


def as_csv(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Return a table as CSV."""
    file = io.StringIO()
    table = csv.writer(file, lineterminator="\n")
    table.writerow(columns)
    table.writerows([f"{value:.9g}" if isinstance(value, float) else value for value in row] for row in rows)
    return file.getvalue()


def parse_numbers(text: str, option: str) -> list[int]:
    """Parse 8,16,32; nothing for an empty text."""
    return list(checked(lambda given: [int(part) for part in given.split(",") if part.strip()], text, option))
