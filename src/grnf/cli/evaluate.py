"""`grnf evaluate`: generated against reference graphs, as a table for a terminal or a paper."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from grnf.cli.graph_input import Sample
from grnf.cli.options import check_new, require
from grnf.cli.test import Sampling

TABLES = {".csv": "csv", ".md": "markdown", ".tex": "latex"}


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
    module, _, name = text.partition(":")
    sys.path.insert(0, "")  # modules of this folder, as with python -m
    try:
        function: Callable[[Any], bool] = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise typer.BadParameter(
            f"--valid must be MODULE:FUNCTION of a module that can be imported, got {text} ({error})"
        ) from None
    finally:
        sys.path.remove("")
    require(callable(function), f"--valid must name a function, got {text}")
    return function
