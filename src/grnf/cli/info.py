"""`grnf info`: what is in a file of graphs, or of vectors, and what is wrong with it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Annotated, Any

import typer

from grnf.cli.graph_input import Input, holds_vectors
from grnf.cli.messages import progress, with_progress
from grnf.errors import GraphError


def info(
    source: Annotated[
        list[str] | None,
        "SOURCE",
        "Files, folders or globs of graphs (- for standard input), or a file or folder of vectors.",
    ] = None,
    *,
    formats: Annotated[bool, "List the file formats, and exit."] = False,
    job: Input,
) -> None:
    """Describe a file of graphs or vectors, and list problems.

    The report has counts, sizes, attributes and their types, classes, and graphs that cannot be read. For a
    SMILES table, it lists each column with its values and what it may be: the SMILES, ids of graphs, a
    target. Files of vectors are described by their shape and their settings.

    Examples:
      grnf info MUTAG.zip
      grnf info molecules.csv --smiles-column Drug --json
    """
    from grnf.io.vectors.read import describe_vectors

    if formats:
        _print_formats(job.as_json)
        return
    if not source:
        raise typer.BadParameter("name a file, or list the formats with --formats", param_hint="SOURCE")
    if len(source) == 1 and holds_vectors(source[0], job.format):
        report = describe_vectors(source[0])
    else:
        report = _about_graphs(source, job)
    for line in [json.dumps(report)] if job.as_json else _lines(report):
        typer.echo(line)


def _print_formats(as_json: bool) -> None:
    """Print the table of formats that is in the documentation."""
    from grnf.io.files.formats import table_of_formats

    head, *rows = table_of_formats()
    if as_json:
        typer.echo(json.dumps([dict(zip(head, row, strict=True)) for row in rows]))
        return
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    for row in (head, *rows):
        typer.echo("  ".join(map(str.ljust, row, widths)).rstrip())


def _about_graphs(names: list[str], job: Input) -> dict[str, Any]:
    from grnf.io.files.survey import describe_columns
    from grnf.io.tally import Tally

    tally = Tally()
    with job.open(names) as source:
        with progress(f"reading {source.name}", job.quiet) as advance:
            for item in with_progress(source.read(yield_bad=True), advance):
                tally.add(item)
        if not tally.n_items:
            raise GraphError(f"{source.name} holds no graphs")
        if not tally.n_graphs and tally.n_items == 1:  # the file itself is at fault
            raise GraphError(tally.bad[0]["reason"])
        report = {"source": source.name, **tally.report()}
        if source.table is not None:
            report["columns"] = describe_columns(source.table, smiles=source.smiles_column()[0])
    return report


def _lines(report: dict[str, Any], indent: str = "") -> Iterator[str]:
    """Yield the report as lines of text."""
    from grnf.io.files.survey import column_lines

    width = max((len(str(key)) for key in report), default=0)
    for key, value in report.items():
        name = key if indent else key.replace("_", " ")  # deeper keys are names that users gave
        title = f"{indent}{name:<{width}}"
        if key in ("nodes", "edges") and value:
            yield f"{title}  {value['min']:g} to {value['max']:g}, mean {value['mean']:.2f}"
        elif key == "columns" and not indent:
            yield name
            yield from (f"  {line}" for line in column_lines(value))
        elif isinstance(value, dict) and value:
            yield f"{indent}{name}"
            yield from _lines(value, indent + "  ")
        elif isinstance(value, list) and value:
            yield f"{indent}{name}"
            for entry in value:
                yield f"{indent}  {_entry(entry)}"
        elif value not in (None, [], {}):
            count = isinstance(value, int) and not isinstance(value, bool)
            yield f"{title}  {value:,}" if count else f"{title}  {value}"


def _entry(entry: Any) -> str:
    if isinstance(entry, dict):
        return f"graph {entry['graph_id']}: {entry['reason']}"
    return ", ".join(entry) if isinstance(entry, list) else str(entry)
