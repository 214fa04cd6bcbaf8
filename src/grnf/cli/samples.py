"""`grnf test` and `grnf evaluate`: whether two samples of graphs differ, and how much."""

from __future__ import annotations

import io
import json
import pkgutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from grnf.cli.graph_input import Input, Sample
from grnf.cli.options import Destination, check_new, checked, require

if TYPE_CHECKING:
    from grnf.stats import Evaluation, PermutationTestResult

TABLES = {".csv": "csv", ".md": "markdown", ".tex": "latex"}


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


@dataclass(frozen=True)
class Scores(Sampling, panel="Output", suffixes=(".json", *TABLES)):
    """Options of `grnf evaluate`."""

    output: Annotated[str, "-o", "File to write: .json (all), .csv, .md, .tex, or - for text."] = "-"
    report: Annotated[Path | None, "Page to write, .html: scores, typical graphs and protocol."] = None

    def check(self) -> None:
        """Refuse names without their suffixes, and files that exist already."""
        check_new("--report", self.report, (".html", ".htm"), self.force)
        super().check()


def evaluate(
    generated: Sample,
    reference: Sample,
    *,
    valid: Annotated[str | None, "MODULE:FUNCTION", "Function that returns whether a graph is valid."] = None,
    n_neighbors: Annotated[int, "-k K", "Neighbor that bounds a ball.", {"min": 1}] = 5,
    space: Annotated[
        Literal["whitened", "plain"], "Distances. whitened: equal variance in all directions. plain: d_P."
    ] = "whitened",
    job: Scores,
) -> None:
    """Score generated graphs against reference graphs.

    The first scores are lower bounds on the total variation and Jensen-Shannon distances of the
    distributions, from 0 (not distinguished) to 1 (no overlap). The others are energy distance, MMD^2,
    Frechet distance, precision, recall, density, coverage, uniqueness, novelty, validity, and the p-value of
    the two-sample test. Each has an interval, and the protocol is stored with them. With --on-error skip,
    generated graphs that cannot be used count as invalid, and the other scores are those of the rest.

    Examples:
      grnf evaluate generated.smi reference.smi
      grnf evaluate generated.smi reference.smi --valid rules:is_valid --on-error skip --report page.html
    """
    from grnf import stats

    samples = job.collections([generated, reference])
    result = stats.evaluate(
        *samples,
        valid=None if valid is None else _function(valid),
        space=space,
        n_neighbors=n_neighbors,
        n_resamples=job.n_resamples,
        n_components=job.n_components,
        random_state=job.seed,
    )
    if job.report is not None:
        from grnf.maps.pages import write_evaluation

        write_evaluation(job.report, result, samples)
    suffix = Path(job.output).suffix.lower()
    job.show(result, result.to_table(TABLES[suffix]) if suffix in TABLES else None)


def _function(text: str) -> Callable[[Any], bool]:
    """Return the function of a module that a text such as chemistry.rules:is_valid names."""
    sys.path.insert(0, "")  # modules of this folder, as with python -m
    try:
        function: Callable[[Any], bool] = pkgutil.resolve_name(text)
    except (ImportError, AttributeError, ValueError) as error:
        raise typer.BadParameter(
            f"--valid must be MODULE:FUNCTION of a module that can be imported, got {text} ({error})"
        ) from None
    finally:
        sys.path.remove("")
    require(callable(function), f"--valid must name a function, got {text}")
    return function
