"""`grnf convert`: graphs from any format to any other, and what the other cannot carry."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from grnf._utils.files import check_free
from grnf._utils.words import counted
from grnf.cli.graph_input import Input, SourceArgument, check_format
from grnf.cli.messages import progress
from grnf.cli.options import Force
from grnf.errors import GraphError

if TYPE_CHECKING:
    from grnf.io import RawGraph
    from grnf.io.files.source import Source


@dataclass(frozen=True)
class Conversion(Input, panel="Output"):
    """Options of `grnf convert`."""

    to: Annotated[str | None, "Output format if the file name does not show it."] = None
    strict: Annotated[bool, "Write nothing if the output cannot hold all data."] = False
    force: Force = False


def convert(
    source: SourceArgument,
    output: Annotated[str, "File or folder to write, or - for standard output."],
    *,
    job: Conversion,
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

    to = "tu" if job.to is None and output.endswith("/") else job.to
    check_format(to, output, "--to")
    if output != "-":
        check_free(output, job.force)
    bad: list[dict[str, Any]] = []
    with job.open(source) as graphs, aside(output) as made:
        with progress("writing", job.quiet) as advance:
            readable = _good(graphs, job.on_error, bad, advance)
            count = io.write_graphs(made, readable, format=to, lossy=not job.strict)
        if not count:
            why = f" that can be read: {bad[0]['reason']}" if bad else ""
            raise GraphError(f"{graphs.name} holds no graphs{why}")
        with progress("checking", job.quiet) as advance:
            before = _good(graphs, job.on_error, [], advance)
            after: Any = io.read_graphs(made, format=to)
            lost = count_losses(before, after, io.FORMATS[to or guess_format(made)].reorder, output)
        listed = ", ".join(f"{what} ({counted(times, 'graphs')})" for what, times in sorted(lost.items()))
        if lost and job.strict:
            raise GraphError(f"{output} cannot hold {listed}")
        if output != "-":
            for file in made.parent.iterdir():  # some formats are more than one file
                check_free(Path(output).with_name(file.name), job.force)
        deliver(made, output)
    job.report_bad(bad)
    if lost:
        job.note(f"grnf: {output} cannot hold {listed}")
    summary = {"graphs": count, "output": output, "lost": dict(lost), "bad": bad}
    job.echo(summary, f"{counted(count, 'graphs')}: {output}", err=output == "-")


def _good(source: Source, on_error: str, bad: list[dict[str, Any]], advance: Any) -> Iterator[RawGraph]:
    """Yield the graphs that can be read, and list the others."""
    for *_, graph in source.usable(on_error, bad):
        advance(1)
        yield graph
