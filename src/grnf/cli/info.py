"""`grnf info`: what is in a file of graphs, or of vectors, and what is wrong with it."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from typing import Annotated, Any

import typer

from grnf.cli.columns import TableOptions, about_columns, described
from grnf.cli.options import AsJson, Format, Quiet, check_format
from grnf.cli.source import Source, open_source
from grnf.cli.tell import counted, progress
from grnf.errors import GraphError

__all__ = ["info"]

MOST_GROUPS = 10
BLOCK_SIZE = 1024


def info(
    source: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SOURCE]...",
            help="Files, folders or globs of graphs (- for standard input), or a file or folder of vectors.",
        ),
    ] = None,
    *,
    formats: Annotated[bool, typer.Option("--formats", help="List the file formats, and exit.")] = False,
    duplicates: Annotated[
        bool, typer.Option("--duplicates", help="Embed the graphs too, and report those with equal vectors.")
    ] = False,
    format: Format = None,
    columns: TableOptions,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Describe a file of graphs or vectors, and list problems.

    The report has counts, sizes, attributes and their types, and classes. For a SMILES table, it lists each
    column with its values and what it may be: the SMILES, ids of graphs, a target. With --duplicates, it
    lists graphs with equal vectors: they are isomorphic, or differ only in patterns of three nodes or more.
    Files of vectors are described by their shape and their settings.

    Example: grnf info MUTAG.zip
    """
    from grnf.io.vectors import holds_vectors

    if formats:
        _print_formats(as_json)
        return
    if not source:
        raise typer.BadParameter("name a file, or list the formats with --formats", param_hint="SOURCE")
    if len(source) == 1 and (format == "vectors" or (format is None and holds_vectors(source[0]))):
        report = _about_vectors(source[0])
    else:
        check_format(format, source)
        with open_source(source, format) as found:
            report = _about_graphs(columns.applied(found, quiet), duplicates, quiet)
    if as_json:
        typer.echo(json.dumps(report))
    else:
        for line in _lines(report):
            typer.echo(line)


def _print_formats(as_json: bool) -> None:
    """Print the table of formats, as it stands in the documentation."""
    from grnf.io.files.formats import table_of_formats

    head, *rows = table_of_formats()
    if as_json:
        typer.echo(json.dumps([dict(zip(head, row, strict=True)) for row in rows]))
        return
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    for row in (head, *rows):
        typer.echo("  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip())


def _about_graphs(source: Source, duplicates: bool, quiet: bool) -> dict[str, Any]:
    from grnf.io.tally import Tally

    tally = Tally()
    with progress(f"reading {source.name}", quiet) as advance:
        for item in counted(source.read(yield_bad=True), advance):
            tally.add(item)
    if not tally.n_items:
        raise GraphError(f"{source.name} holds no graphs")
    if not tally.n_graphs and tally.n_items == 1:  # the file itself is at fault
        raise GraphError(tally.bad[0]["reason"])
    report = {"source": source.name, **tally.report()}
    columns = about_columns(source)
    if columns:
        report["columns"] = columns
    if duplicates:
        groups = _duplicates(source, quiet)
        count = sum(map(len, groups))
        shown = [group[:5] for group in groups[:MOST_GROUPS]]
        report["duplicates"] = {"groups": len(groups), "graphs": count, "examples": shown}
    return report


def _duplicates(source: Source, quiet: bool) -> list[list[str]]:
    """Return groups of ids of graphs that have equal vectors, the largest group first."""
    import hashlib

    import numpy as np

    from grnf.estimators import GRNF, embed_stream, fit_stream

    same: defaultdict[bytes, list[str]] = defaultdict(list)
    grnf = GRNF(64, dtype="float64", random_state=0)
    fit_stream(grnf, source.read(yield_bad=True), on_error="skip")
    with progress("comparing", quiet) as advance:
        items = counted(source.read(yield_bad=True), advance)
        for block, _ in embed_stream(grnf, items, on_error="skip"):
            rounded = np.round(block.Z, 9) + 0.0  # + 0.0 turns -0.0 into 0.0
            for graph_id, row in zip(block.ids, rounded, strict=True):
                same[hashlib.blake2b(row.tobytes(), digest_size=16).digest()].append(graph_id)
    return sorted((ids for ids in same.values() if len(ids) > 1), key=len, reverse=True)


def _about_vectors(name: str) -> dict[str, Any]:
    import numpy as np

    from grnf.io.vectors import read_vectors, side_file

    vectors = read_vectors(name)
    n_graphs, n_components = vectors.Z.shape
    starts = range(0, n_graphs, BLOCK_SIZE)
    bad = sum(int(np.isnan(vectors.Z[start : start + BLOCK_SIZE]).any(axis=1).sum()) for start in starts)
    report: dict[str, Any] = {
        "source": name,
        "vectors": n_graphs,
        "n_components": n_components,
        "dtype": vectors.Z.dtype.name,
        "labelled": vectors.y is not None,
        "problems": [f"{bad} rows hold NaN: graphs that could not be used"] if bad else [],
    }
    side = side_file(name)
    if side.exists():
        made = json.loads(side.read_text(encoding="utf-8"))
        report["input"] = made.get("input")
        report["settings"] = made.get("transformer", {}).get("params")
    return report


def _lines(report: dict[str, Any], indent: str = "") -> Iterator[str]:
    """Yield the report as lines for people."""
    width = max((len(str(key)) for key in report), default=0)
    for key, value in report.items():
        name = key if indent else key.replace("_", " ")  # deeper keys are names that users gave
        title = f"{indent}{name:<{width}}"
        if key in ("nodes", "edges") and value:
            yield f"{title}  {value['min']:g} to {value['max']:g}, mean {value['mean']:.2f}"
        elif key == "columns" and not indent:
            yield name
            yield from (f"  {line}" for line in described(value))
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
