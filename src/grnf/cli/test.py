"""`grnf test`: whether two samples of graphs come from the same distribution."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from grnf.cli.graph_input import Input, Sample
from grnf.cli.options import Destination, checked

if TYPE_CHECKING:
    from grnf.stats import Evaluation, PermutationTestResult


@dataclass(frozen=True)
class Sampling(Input, Destination, panel="Features", suffixes=(".json", ".csv")):
    """Features and permutations of a test, and the file of its result."""

    output: Annotated[str, "-o", "File to write: .json (all), .csv (each statistic), or - for text."] = "-"
    n_components: Annotated[int, "-m M", "Number of features per feature view.", {"min": 1}] = 512
    n_resamples: Annotated[int, "B", "Number of permutations. p is at least 1 / (1 + B).", {"min": 1}] = 999
    seed: Annotated[int, "Seed of features, permutations and resamples.", {"min": 0}] = 0

    def show(self, result: PermutationTestResult | Evaluation, table: str | None) -> None:
        """Write a result to the file, as a table or else as JSON, and print it."""
        from grnf._utils.files import atomic_write

        record = json.dumps(result.to_dict(), indent=1)
        if self.output != "-":
            with atomic_write(self.output) as file:
                file.write((record if table is None else table).rstrip("\n") + "\n")
        if self.as_json:
            typer.echo(record)
        elif self.output == "-" or not self.quiet:
            typer.echo(str(result))


def test(
    first: Sample,
    second: Sample,
    *,
    statistic: Annotated[
        Literal["energy", "mmd", "linear"],
        "Energy distance, MMD^2 with Gaussian kernels, or mean vectors (linear cost).",
    ] = "energy",
    axes: Annotated[str, "P,P,..", "Numbers of whitened axes to test."] = "8,16,32,64",
    paired: Annotated[bool, "The samples are pairs in the same order: permute within pairs."] = False,
    witnesses: Annotated[int, "Number of graphs to list that are typical of each sample.", {"min": 0}] = 5,
    job: Sampling,
) -> None:
    """Test whether two samples come from the same distribution.

    The samples are graphs or vectors. If the distributions are equal, p is at most alpha with probability at
    most alpha, for any number of graphs. The report also has the energy distance with error bars over graphs
    and features, the feature view with the largest effect, and the graphs most typical of each sample.

    Examples:
      grnf test before.smi after.smi
      grnf test before.csv after.csv --n-resamples 9999 --n-jobs -1 --output result.json
    """
    numbers = checked(lambda text: [int(part) for part in text.split(",") if part.strip()], axes, "--axes")
    from grnf._utils.result_tables import write_text_table
    from grnf.stats import two_sample_test

    X, Y = job.collections([first, second])
    result = two_sample_test(
        X,
        Y,
        statistic=statistic,
        axes=numbers,
        n_resamples=job.n_resamples,
        paired=paired,
        n_components=job.n_components,
        n_witnesses=witnesses,
        random_state=job.seed,
    )
    table = io.StringIO()
    if job.output.endswith(".csv"):
        views = [{**vars(view), "width": str(view.width or "")} for view in result.views]
        total = {**vars(result), "view": "all", "axes": None, "width": None}
        write_text_table(table, ["view", "axes", "width", "statistic", "pvalue"], [total, *views], False)
    job.show(result, table.getvalue() or None)
