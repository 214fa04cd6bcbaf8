"""`grnf convert`: graphs from any format to any other, and what the other cannot carry."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from grnf._utils.words import counted
from grnf.cli.graph_input import Input, SourceArgument, check_format
from grnf.cli.messages import progress, report_bad
from grnf.cli.options import Force, Messages, check_free
from grnf.errors import GraphError

if TYPE_CHECKING:
    from grnf.io import RawGraph
    from grnf.io.files.source import Source

__all__ = ["convert"]


def convert(
    source: SourceArgument,
    output: Annotated[str, Argument(help="File or folder to write, or - for standard output.")],
    *,
    reading: Input,
    to: Annotated[
        str | None,
        Option(help="Output format if the file name does not show it.", rich_help_panel="Output"),
    ] = None,
    strict: Annotated[
        bool,
        Option(
            "--strict", help="Write nothing if the output cannot hold all data.", rich_help_panel="Output"
        ),
    ] = False,
    force: Force = False,
    run: Messages,
) -> None:
    """Convert graphs from any format to any other.

    An OUTPUT without a suffix is a TU folder. A table of edges NAME.csv comes with a table of nodes,
    NAME.nodes.csv. Molecules can be written as .smi, or as a table with --to smiles.

    The output is read back and compared with the input before it is put in place. Data that its format cannot
    hold (attributes, labels, direction, ...) are reported.

    Examples:
      grnf convert MUTAG.zip mutag.parquet
      grnf convert molecules.csv molecules.jsonl --smiles-column Drug --target active --on-error skip
    """
    from grnf import io
    from grnf.io.files.file import aside, deliver
    from grnf.io.files.reading import guess_format
    from grnf.io.losses import count_losses

    to = "tu" if to is None and output.endswith("/") else to
    check_format(to, output, "--to")
    if output != "-":
        check_free(output, force)
    bad: list[dict[str, Any]] = []
    with reading.open(source, run) as graphs, aside(output) as made:
        with progress("writing", run.quiet) as advance:
            readable = _good(graphs, reading.on_error, bad, advance)
            count = io.write_graphs(made, readable, format=to, lossy=not strict)
        if not count:
            why = f" that can be read: {bad[0]['reason']}" if bad else ""
            raise GraphError(f"{graphs.name} holds no graphs{why}")
        with progress("checking", run.quiet) as advance:
            before = _good(graphs, reading.on_error, [], advance)
            after: Any = io.read_graphs(made, format=to)
            reorder = io.FORMATS[to or guess_format(made)].reorder
            lost = count_losses(before, after, reorder, output)
        if lost and strict:
            raise GraphError(f"{output} cannot hold {_listed(lost)}")
        if output != "-":
            for file in made.parent.iterdir():  # some formats are more than one file
                check_free(Path(output).with_name(file.name), force)
        deliver(made, output)
    report_bad(bad, "skip", run.quiet)
    if lost:
        run.note(f"grnf: {output} cannot hold {_listed(lost)}")
    summary = {"graphs": count, "output": output, "lost": dict(lost), "bad": bad}
    run.report(summary, f"{counted(count, 'graphs')}: {output}", err=output == "-")


def _good(source: Source, on_error: str, bad: list[dict[str, Any]], advance: Any) -> Iterator[RawGraph]:
    """Yield the graphs that can be read, and list the others."""
    for *_, graph in source.usable(on_error, bad):
        advance(1)
        yield graph


def _listed(lost: Counter[str]) -> str:
    return ", ".join(f"{what} ({counted(count, 'graphs')})" for what, count in sorted(lost.items()))
