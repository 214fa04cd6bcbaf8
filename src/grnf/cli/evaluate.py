"""`grnf evaluate`: generated against reference graphs, as a table for a terminal or a paper."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from grnf.cli.inputs import OnError, read_collections
from grnf.cli.options import AsJson, Force, Format, NJobs, Quiet, workers
from grnf.cli.test import Features, Permutations, SampleArgument, Seed, check_output, report

__all__ = ["evaluate"]

TABLES = {".csv": "csv", ".md": "markdown", ".tex": "latex", ".html": "html"}


def evaluate(
    generated: SampleArgument,
    reference: SampleArgument,
    valid: Annotated[
        str | None,
        typer.Option(metavar="MODULE:FUNCTION", help="A function of a graph that says whether it is valid."),
    ] = None,
    k: Annotated[int, typer.Option("-k", "--nearest", min=1, help="Neighbours that make a ball.")] = 5,
    space: Annotated[
        Literal["whitened", "plain"],
        typer.Option(help="Distances along axes of the reference that count alike, or as vectors are."),
    ] = "whitened",
    permutations: Permutations = 999,
    n_components: Features = 512,
    seed: Seed = 0,
    output: Annotated[
        str,
        typer.Option(
            "--output", "-o", help="Where to write: .json (all), .csv, .md, .tex, .html, - for text."
        ),
    ] = "-",
    format: Format = None,
    on_error: OnError = "raise",
    n_jobs: NJobs = 1,
    force: Force = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Score generated graphs against reference graphs, each score with an interval.

    Energy distance, MMD^2, Frechet distance; precision, recall, density, coverage; uniqueness, novelty, and
    validity; the p-value of the two-sample test. The protocol is stored with them. With --on-error skip,
    generated graphs that cannot be used are invalid, and the other scores are those of the rest.

    Example: grnf evaluate generated.smi reference.smi --output table.tex
    """
    check_output(output, (".json", *TABLES), force)
    judge = None if valid is None else _function(valid)
    from grnf import stats

    with workers(n_jobs):
        X, Y = read_collections([generated, reference], format, on_error=on_error, quiet=quiet)
        result = stats.evaluate(
            X,
            Y,
            valid=judge,
            space=space,
            k=k,
            permutations=permutations,
            n_components=n_components,
            random_state=seed,
        )
    suffix = Path(output).suffix.lower()
    table = result.to_table(TABLES[suffix]) if suffix in TABLES else None
    report(result, table, output, as_json, quiet)


def _function(text: str) -> Callable[[Any], bool]:
    """Return the function of a module that a text such as chemistry.rules:is_valid names."""
    module, _, name = text.partition(":")
    sys.path.insert(0, "")  # modules of this folder, as with python -m
    try:
        found = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise typer.BadParameter(
            f"{text}: module:function is wanted, of a module that can be imported ({error})",
            param_hint="--valid",
        ) from None
    finally:
        sys.path.remove("")
    if not callable(found):
        raise typer.BadParameter(f"{text} is no function", param_hint="--valid")
    judge: Callable[[Any], bool] = found
    return judge
