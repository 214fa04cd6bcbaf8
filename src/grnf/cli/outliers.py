"""`grnf outliers`: graphs that do not belong, with p-values and the normal graph that is nearest to each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from grnf.cli.inputs import OnError, load_vectors
from grnf.cli.options import (
    AsJson,
    Force,
    Format,
    Like,
    NComponents,
    NJobs,
    Orders,
    Quiet,
    Seed,
    workers,
)
from grnf.cli.search import Table, check_table, write_answer
from grnf.cli.tell import note

if TYPE_CHECKING:
    from grnf.collection import Collection
    from grnf.stats import Judgement

__all__ = ["outliers"]


def outliers(
    source: Annotated[
        str, typer.Argument(help="Graphs (- for standard input), or vectors made by grnf embed.")
    ],
    reference: Annotated[
        str | None, typer.Option(help="Graphs that are normal; without, each is judged by the others.")
    ] = None,
    fdr: Annotated[
        float, typer.Option(help="False discovery rate: share of normal graphs among those flagged.")
    ] = 0.1,
    contamination: Annotated[
        float | None,
        typer.Option(help="Without --reference: flag this share, the strangest, in place of --fdr."),
    ] = None,
    k: Annotated[int, typer.Option("-k", "--neighbors", min=1, help="Nearest normal graphs.")] = 5,
    space: Annotated[
        Literal["whitened", "plain"],
        typer.Option(help="What near means: with all directions counting alike, or d_P as it is."),
    ] = "whitened",
    only: Annotated[bool, typer.Option("--only-outliers", help="Rows of flagged graphs only.")] = False,
    output: Table = "-",
    on_error: OnError = "raise",
    format: Format = None,
    n_components: NComponents = None,
    orders: Orders = None,
    seed: Seed = None,
    like: Like = None,
    n_jobs: NJobs = 1,
    force: Force = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Find graphs that do not belong: by the distance to the nearest normal ones, with p-values.

    A row for each graph: id, score (large is strange), p_value, adjusted (the false discovery rate at which
    it counts), outlier, nearest (normal graph), distance. A p-value cannot be smaller than 1 / (1 + half of
    the normal graphs), so few of them flag nothing. Without --reference outliers hide each other: their
    scores are large all the same, and --contamination flags the strangest.

    Example: grnf outliers new.smi --reference usual.smi --fdr 0.1 --output judged.csv
    """
    if not 0 < fdr < 1:
        raise typer.BadParameter("a rate between 0 and 1 is wanted", param_hint="--fdr")
    if contamination is not None and (reference is not None or not 0 < contamination <= 0.5):
        raise typer.BadParameter(
            "a share up to 0.5 is wanted, and no --reference", param_hint="--contamination"
        )
    check_table(output, force)
    settings: dict[str, Any] = {"n_components": n_components, "orders": orders, "seed": seed}
    names = [source] if reference is None else [reference, source]
    with workers(n_jobs):
        where: dict[str, Any] = {"format": format, "like": like, "on_error": on_error}
        loaded = load_vectors(names, **where, settings=settings, quiet=quiet)
        share = "auto" if contamination is None else contamination
        how = {"n_neighbors": k, "space": space, "contamination": share, "random_state": seed or 0}
        found = _judged(loaded, fdr, how)
    records = [record for record in found.records() if record["outlier"] or not only]
    write_answer(output, found.columns, records, as_json)
    summary = {"graphs": len(found.ids), "outliers": int(found.outliers.sum())}
    if output != "-" and as_json:
        typer.echo(json.dumps({"output": output, **summary}))
    elif output != "-" and not quiet:
        typer.echo(f"{summary['graphs']:,} graphs, {summary['outliers']:,} outliers: {Path(output)}")
    elif not as_json:
        note(f"{summary['graphs']:,} graphs, {summary['outliers']:,} outliers", quiet)


def _judged(loaded: list[Collection], fdr: float, settings: dict[str, Any]) -> Judgement:
    """Judge one collection by the other, or each graph of one by the rest of it."""
    from grnf.stats import GRNFOutlierDetector

    detector = GRNFOutlierDetector(**settings)
    if len(loaded) == 1:
        return detector.fit_judge(loaded[0], fdr=fdr)
    return detector.fit(loaded[0]).judge(loaded[1], fdr=fdr)
