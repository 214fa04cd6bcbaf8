"""`grnf convert`: graphs from any format to any other, and what the other cannot carry."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from grnf.cli.columns import TableOptions
from grnf.cli.options import (
    AsJson,
    Input,
    Quiet,
    SourceArgument,
    check_format,
    check_free,
)
from grnf.cli.source import Source, open_source
from grnf.cli.tell import note, progress, tell_bad
from grnf.errors import GraphError

if TYPE_CHECKING:
    from grnf.io import RawGraph

__all__ = ["convert"]


def convert(
    source: SourceArgument,
    output: Annotated[str, typer.Argument(help="File or folder to write; - for standard output.")],
    *,
    reading: Input,
    columns: TableOptions,
    to: Annotated[
        str | None,
        typer.Option(help="Output format if the file name does not show it.", rich_help_panel="Output"),
    ] = None,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict", help="Write nothing if the output cannot hold all data.", rich_help_panel="Output"
        ),
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite existing output.", rich_help_panel="Output")
    ] = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Convert graphs from any format to any other.

    An OUTPUT without a suffix is a TU folder. A table of edges NAME.csv comes with a table of nodes,
    NAME.nodes.csv. Molecules can be written as .smi, or as a table with --to smiles.

    The output is read back and compared with the input before it is put in place. Data that its format cannot
    hold (attributes, labels, direction, ...) are reported.

    Example: grnf convert MUTAG.zip mutag.parquet
    """
    from grnf import io
    from grnf.io.files.file import aside, deliver

    check_format(reading.format, source)
    to = "tu" if to is None and output.endswith("/") else to
    check_format(to, output, "--to")
    if output != "-":
        check_free(output, force)
    bad: list[dict[str, Any]] = []
    with open_source(source, reading.format) as found, aside(output) as made:
        graphs = columns.applied(found, quiet)
        with progress("writing", quiet) as advance:
            readable = _good(graphs, reading.on_error, bad, advance)
            count = io.write_graphs(made, readable, format=to, lossy=not strict)
        if not count:
            why = f" that can be read: {bad[0]['reason']}" if bad else ""
            raise GraphError(f"{graphs.name} holds no graphs{why}")
        lost = _lost(graphs, Source(made, output, to), reading.on_error, quiet)
        if lost and strict:
            raise GraphError(f"{output} would not carry {_listed(lost)}")
        if output != "-":
            for file in made.parent.iterdir():  # some formats are more than one file
                check_free(Path(output).with_name(file.name), force)
        deliver(made, output)
    tell_bad(bad, "skip", quiet)
    if lost:
        note(f"grnf: {output} does not carry {_listed(lost)}", quiet)
    summary = {"graphs": count, "output": output, "lost": dict(lost), "bad": bad}
    if as_json:
        typer.echo(json.dumps(summary), err=output == "-")
    elif not quiet:
        typer.echo(f"{count:,} graphs: {output}", err=output == "-")


def _good(source: Source, on_error: str, bad: list[dict[str, Any]], advance: Any) -> Iterator[RawGraph]:
    """Yield the graphs that can be read, and list the others."""
    for _, graph in source.usable(on_error, bad):
        advance(1)
        yield graph


def _lost(source: Source, made: Source, on_error: str, quiet: bool) -> Counter[str]:
    """Read both files side by side; count for each thing that is lost the graphs that lose it."""
    from grnf import io
    from grnf.io.losses import losses

    lost: Counter[str] = Counter()
    reorder = io.FORMATS[made.format or io.guess_format(made.path)].reorder
    with progress("checking", quiet) as advance:
        before = _good(source, on_error, [], advance)
        after = _good(made, "raise", [], lambda count: None)  # noqa: ARG005
        for one, two in zip_longest(before, after):
            if one is None or two is None:
                raise GraphError(
                    f"{made.name} cannot hold these graphs: it reads back with another number of them"
                )
            if reorder is not None:
                ordered = reorder(one)
                lost.update(["the order of the nodes"] if losses(one, ordered) else [])
                one = ordered
            lost.update(losses(one, two))
    return lost


def _listed(lost: Counter[str]) -> str:
    return ", ".join(f"{what} ({count:,} graphs)" for what, count in sorted(lost.items()))
