"""`grnf convert`: graphs from any format to any other, and what the other cannot carry."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from grnf.cli.columns import with_columns
from grnf.cli.options import (
    AsJson,
    Force,
    Format,
    IdColumn,
    Quiet,
    SmilesColumn,
    SourceArgument,
    check_format,
    check_free,
)
from grnf.cli.source import Source, open_source
from grnf.cli.tell import note, progress, tell_bad
from grnf.errors import GraphError
from grnf.io.losses import losses

if TYPE_CHECKING:
    from grnf.io import RawGraph

__all__ = ["convert"]


def convert(
    source: SourceArgument,
    output: Annotated[str, typer.Argument(help="Where to write; - for standard output.")],
    format: Format = None,
    smiles_column: SmilesColumn = None,
    id_column: IdColumn = None,
    to: Annotated[str | None, typer.Option(help="Format of the output, if its suffix does not tell.")] = None,
    on_error: Annotated[
        Literal["raise", "skip"], typer.Option(help="A graph that cannot be read: stop, or leave it out.")
    ] = "raise",
    strict: Annotated[
        bool, typer.Option("--strict", help="Write nothing if the output cannot carry all of the input.")
    ] = False,
    force: Force = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Convert graphs from any format to any other.

    An OUTPUT without a suffix is a TU folder; beside a table of edges NAME.csv stands one of nodes,
    NAME.nodes.csv. Molecules go to .smi, or with --to smiles to a table.

    What was written is read back and compared before it takes its place, so all that the format of the output
    cannot carry (attributes, labels, direction, ...) is reported.

    Example: grnf convert MUTAG.zip mutag.parquet
    """
    from grnf import io
    from grnf.io.files.streams import aside, deliver

    check_format(format, source)
    to = "tu" if to is None and output.endswith("/") else to
    check_format(to, output, "--to")
    if output != "-":
        check_free(output, force)
    bad: list[dict[str, Any]] = []
    with open_source(source, format) as found, aside(output) as made:
        graphs = with_columns(found, smiles_column, id_column, quiet)
        with progress("writing", quiet) as advance:
            readable = _good(graphs, on_error, bad, advance)
            count = io.write_graphs(made, readable, format=to, lossy=not strict)
        if not count:
            why = f" that can be read: {bad[0]['reason']}" if bad else ""
            raise GraphError(f"{graphs.name} holds no graphs{why}")
        lost = _lost(graphs, Source(made, output, to), on_error, quiet)
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
