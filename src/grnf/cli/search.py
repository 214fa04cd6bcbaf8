"""`grnf search`: the nearest graphs of an index, or all within a radius, with distances and intervals."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from grnf.cli.inputs import OnError, read_collection
from grnf.cli.options import AsJson, Force, Format, NJobs, Quiet, check_free, workers

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Table", "search", "write_answer"]

Table = Annotated[
    str,
    typer.Option("--output", "-o", help="Where to write: .csv, .json, .parquet, - for standard output."),
]


def search(
    folder: Annotated[Path, typer.Argument(help="An index, made by grnf index.")],
    queries: Annotated[
        str, typer.Argument(help="Graphs (- for standard input), or vectors, to find the neighbors of.")
    ],
    k: Annotated[int, typer.Option("-k", "--nearest", min=1, help="How many nearest graphs.")] = 10,
    radius: Annotated[
        float | None, typer.Option(help="All graphs up to this distance, in place of the nearest.")
    ] = None,
    others: Annotated[
        bool, typer.Option("--others", help="Leave out the graph that has the id of the query.")
    ] = False,
    interval: Annotated[
        float | None,
        typer.Option(metavar="DELTA", help="Add intervals for d_P that fail with this probability each."),
    ] = None,
    certified: Annotated[
        float | None,
        typer.Option(
            metavar="DELTA", help="The nearest under d_P itself, but for this probability; ties are said."
        ),
    ] = None,
    output: Table = "-",
    on_error: OnError = "raise",
    format: Format = None,
    n_jobs: NJobs = 1,
    force: Force = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Find the graphs of an index that are nearest to each query: exactly, with distances.

    A row for each hit: query, rank, id, distance, with --interval low and high, with --certified status
    (certain or tied). Fewer graphs than -k are all returned.

    Example: grnf search molecules.index new.smi -k 5 --output hits.csv
    """
    _check(radius, interval, certified)
    check_table(output, force)
    from grnf.search import GraphIndex

    with workers(n_jobs):
        found = GraphIndex.open(folder)
        X = read_collection(queries, format, on_error=on_error, quiet=quiet)
        if radius is not None:
            hits = found.within(X, radius, others=others, interval=interval)
        elif certified is not None:
            hits = found.search(X, k, others=others, certified=True, delta=certified)
        else:
            hits = found.search(X, k, others=others, interval=interval)
    write_answer(output, hits.columns, list(hits.records()), as_json)
    if output != "-" and as_json:
        typer.echo(json.dumps({"output": output, "queries": len(hits), "hits": sum(map(len, hits.ids))}))
    elif output != "-" and not quiet:
        typer.echo(f"{len(hits):,} queries, {sum(map(len, hits.ids)):,} hits: {output}")


def _check(radius: float | None, interval: float | None, certified: float | None) -> None:
    for name, value in (("--interval", interval), ("--certified", certified)):
        if value is not None and not 0 < value < 1:
            raise typer.BadParameter("a probability between 0 and 1 is wanted", param_hint=name)
    if radius is not None and not 0 <= radius < float("inf"):
        raise typer.BadParameter("a number >= 0 is wanted", param_hint="--radius")
    if certified is not None and (radius is not None or interval is not None):
        raise typer.BadParameter("goes with neither --radius nor --interval", param_hint="--certified")


def check_table(output: str, force: bool) -> None:
    """Refuse a table whose name says no format, or that is there already."""
    if output == "-":
        return
    if Path(output).suffix.lower() not in (".csv", ".json", ".parquet"):
        raise typer.BadParameter(
            f"{output}: the name must end in .csv, .json or .parquet", param_hint="--output"
        )
    check_free(output, force)


def write_answer(output: str, columns: list[str], records: Iterable[dict[str, Any]], as_json: bool) -> None:
    """Write a table to a file, or to standard output as CSV or JSON."""
    from grnf.search.hits import write_table, write_text_table

    if output == "-":
        write_text_table(sys.stdout, columns, records, as_json)
        sys.stdout.flush()
    else:
        write_table(output, columns, records)
