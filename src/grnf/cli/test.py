"""`grnf test`: whether two collections of graphs come from one law."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from grnf.cli.inputs import OnError, read_collections
from grnf.cli.options import AsJson, Force, Format, NJobs, Quiet, check_free, checked, workers

if TYPE_CHECKING:
    from grnf.stats import Evaluation, TwoSampleResult

__all__ = ["Features", "Permutations", "SampleArgument", "Seed", "check_output", "report", "test"]

SampleArgument = Annotated[
    str, typer.Argument(help="Graphs (- for standard input), or vectors made by grnf embed.")
]
Permutations = Annotated[int, typer.Option(min=1, help="Shuffles of the graphs; p is at least 1 / (1 + B).")]
Features = Annotated[
    int, typer.Option("--n-components", "-m", min=1, metavar="M", help="Features of each view of a graph.")
]
Seed = Annotated[int, typer.Option(min=0, help="Seed of features, permutations and resamples.")]


def test(
    first: SampleArgument,
    second: SampleArgument,
    statistic: Annotated[
        Literal["energy", "mmd", "linear"],
        typer.Option(help="Energy distance, MMD^2 with Gaussian kernels, or mean vectors (linear cost)."),
    ] = "energy",
    axes: Annotated[
        str, typer.Option(metavar="P,P,..", help="Numbers of whitened axes to look at.")
    ] = "8,16,32,64",
    permutations: Permutations = 999,
    paired: Annotated[
        bool, typer.Option("--paired", help="Graphs belong to each other in their order: swap partners only.")
    ] = False,
    witnesses: Annotated[int, typer.Option(min=0, help="Graphs to name that are typical of one side.")] = 5,
    n_components: Features = 512,
    seed: Seed = 0,
    output: Annotated[
        str,
        typer.Option(
            "--output", "-o", help="Where to write: .json (all), .csv (each statistic), - for text."
        ),
    ] = "-",
    format: Format = None,
    on_error: OnError = "raise",
    n_jobs: NJobs = 1,
    force: Force = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Test whether two collections of graphs, or of vectors, come from one law.

    Prints p: below alpha with probability alpha at most where nothing differs, for any number of graphs.
    Beside it the energy distance with error bars over graphs and features, the view that speaks loudest, and
    the graphs that are most typical of one side.

    Example: grnf test before.smi after.smi --output result.json
    """
    check_output(output, (".json", ".csv"), force)
    numbers = checked(lambda text: [int(part) for part in text.split(",") if part.strip()], axes, "--axes")
    from grnf.stats import two_sample_test

    with workers(n_jobs):
        X, Y = read_collections([first, second], format, on_error=on_error, quiet=quiet)
        result = two_sample_test(
            X,
            Y,
            statistic=statistic,
            axes=numbers,
            permutations=permutations,
            paired=paired,
            n_components=n_components,
            n_witnesses=witnesses,
            random_state=seed,
        )
    report(result, _table(result) if output.endswith(".csv") else None, output, as_json, quiet)


def check_output(output: str, suffixes: Sequence[str], force: bool) -> None:
    """Refuse an output whose name has none of the suffixes, or that exists already."""
    if output == "-":
        return
    if Path(output).suffix.lower() not in suffixes:
        text = f"{output}: the name must end in {', '.join(suffixes[:-1])} or {suffixes[-1]}"
        raise typer.BadParameter(text, param_hint="--output")
    check_free(output, force)


def report(
    result: TwoSampleResult | Evaluation, table: str | None, output: str, as_json: bool, quiet: bool
) -> None:
    """Write a result to a file, as the table or as JSON, and print it."""
    from grnf._utils.files import atomic_write

    record = json.dumps(result.to_dict(), indent=1)
    if output != "-":
        with atomic_write(output) as file:
            file.write((record if table is None else table).rstrip("\n") + "\n")
    if as_json:
        typer.echo(record)
    elif output == "-" or not quiet:
        typer.echo(str(result))


def _table(result: TwoSampleResult) -> str:
    file = io.StringIO()
    table = csv.writer(file, lineterminator="\n")
    table.writerow(["view", "axes", "width", "value", "p_value"])
    table.writerow(["all", "", "", "", f"{result.p_value:.9g}"])
    for member, value, p in result.statistics:
        axes, width = "" if member.axes is None else member.axes, member.width or ""
        table.writerow([member.view, axes, width, f"{value:.9g}", f"{p:.9g}"])
    return file.getvalue()
