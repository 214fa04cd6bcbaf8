"""`grnf reproduce`: the paper's figures and tables, made again."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from grnf.cli.options import Quiet
from grnf.cli.tell import note
from grnf.experiments import EXPERIMENTS

__all__ = ["reproduce"]


NAMES = ["all", *EXPERIMENTS]


def _known(name: str) -> str:
    if name not in NAMES:
        raise typer.BadParameter(f"{name!r}; known are {', '.join(NAMES)}")
    return name


def reproduce(
    experiment: Annotated[
        str,
        typer.Argument(
            metavar="|".join(NAMES),
            callback=_known,
            autocompletion=lambda incomplete: [name for name in NAMES if name.startswith(incomplete)],
            help="Which figure or table; all makes a report of them.",
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder to write to.")] = Path(
        "grnf-reproduce"
    ),
    data: Annotated[
        Path | None,
        typer.Option(help="Folder of the benchmark sets.", show_default="GRNF_DATA, else the user's cache"),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of graphs, features and training.")] = 0,
    quick: Annotated[bool, typer.Option("--quick", help="Small versions, to see that all works.")] = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="Compute again what an earlier run left.")] = False,
    quiet: Quiet = False,
) -> None:
    """Make the figures and tables of the paper from scratch: JSON, PNG and PDF of each, and an HTML report.

    tsne: maps of two synthetic sets. theorem2: bounds of the error beside what happens. synthetic: accuracy
    against M. table1: six benchmark sets beside published results. accuracy: two of them against M.
    first-place: one recipe for the six sets. ablation: what its parts contribute. brec: 400 pairs of graphs
    that are hard to tell apart. An interrupted run resumes where it stopped.

    Example: grnf reproduce all --data sets --output grnf-reproduce
    """
    from grnf.experiments.runner import reproduce as run_one
    from grnf.experiments.runner import reproduce_all
    from grnf.experiments.study import Study

    def done(outcome: dict[str, Any]) -> None:
        note(f"{outcome['experiment']}: {outcome['title']}, {outcome['seconds']:.0f} s", quiet)

    try:
        with _status(quiet) as tell:
            study = Study(output, data, seed, quick, tell, fresh)
            if experiment == "all":
                reproduce_all(study, done)
            else:
                done(run_one(experiment, study))
    except KeyboardInterrupt:
        note(f"grnf: what is done is kept in {output}; the same command goes on from there", quiet)
        raise
    written = "report.html" if experiment == "all" else f"{experiment}.json, .png and .pdf"
    typer.echo(f"written to {output}/: {written}")


@contextmanager
def _status(quiet: bool) -> Iterator[Callable[[str], Any]]:
    """Give a function that shows what is being done, on a terminal."""
    if quiet or not sys.stderr.isatty():
        yield lambda text: None  # noqa: ARG005
        return
    from rich.console import Console

    with Console(stderr=True).status("starting") as status:
        yield status.update
