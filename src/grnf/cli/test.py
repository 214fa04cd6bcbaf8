"""`grnf test`: whether two collections of graphs come from one law."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from grnf.cli.options import AsJson, Force, Format, NJobs, Quiet, workers
from grnf.cli.samples import (
    Features,
    OnError,
    Permutations,
    SampleArgument,
    Seed,
    as_csv,
    as_json,
    check_output,
    parse_numbers,
    read_samples,
    write_text,
)

if TYPE_CHECKING:
    from grnf.stats import TwoSampleResult

__all__ = ["test"]


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
    as_json_: AsJson = False,
) -> None:
    """Test whether two collections of graphs, or of vectors, come from one law.

    Prints p: below alpha with probability alpha at most where nothing differs, for any number of graphs.
    Beside it the energy distance with error bars over graphs and features, the view that speaks loudest, and
    the graphs that are most typical of one side.

    Example: grnf test before.smi after.smi --output result.json
    """
    check_output(output, (".json", ".csv"), force)
    numbers = parse_numbers(axes, "--axes")
    from grnf.stats import two_sample_test

    with workers(n_jobs):
        X, Y = read_samples([first, second], format, on_error == "skip", quiet)
        result = two_sample_test(
            X.items,
            Y.items,
            statistic=statistic,
            axes=numbers,
            permutations=permutations,
            paired=paired,
            n_components=n_components,
            n_witnesses=witnesses,
            ids=(X.ids, Y.ids),
            random_state=seed,
            names=(first, second),
        )
    if output.endswith(".csv"):
        write_text(output, _table(result))
    elif output != "-":
        write_text(output, as_json(result.to_dict()))
    if as_json_:
        typer.echo(as_json(result.to_dict()))
    elif output == "-" or not quiet:
        typer.echo(str(result))


def _table(result: TwoSampleResult) -> str:
    rows = [
        [member.view, "" if member.axes is None else member.axes, member.width or "", value, p]
        for member, value, p in result.statistics
    ]
    return as_csv(
        ["view", "axes", "width", "value", "p_value"],
        [["all", "", "", "", result.p_value], *rows],
    )
