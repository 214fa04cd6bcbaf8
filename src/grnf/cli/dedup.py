"""`grnf dedup`: copies among graphs, or of the graphs of one file in another."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from grnf.cli.inputs import OnError, read_collection
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
    make_transformer,
    workers,
)
from grnf.cli.search import Table, check_table, write_answer
from grnf.cli.tell import note

if TYPE_CHECKING:
    from grnf.collection import Collection

__all__ = ["dedup"]


def dedup(
    source: Annotated[
        str, typer.Argument(help="File, folder, glob or pipe of graphs; - for standard input.")
    ],
    other: Annotated[
        str | None, typer.Argument(help="Graphs that should not be in SOURCE, such as a test set.")
    ] = None,
    near: Annotated[
        float | None,
        typer.Option(metavar="EPS", help="Pairs up to this distance too, said whether they are the same."),
    ] = None,
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
    """Find graphs that are the same but for the numbering of their nodes, attributes respected.

    Equal vectors propose, an isomorphism test decides. With one file: groups (a row for each member). With
    OTHER, or --near: pairs with distance and answer (isomorphic, different or undecided). Graphs without ids
    are called by their number.

    Example: grnf dedup train.smi test.smi --output leaked.csv
    """
    if near is not None and not 0 <= near < float("inf"):
        raise typer.BadParameter("a number >= 0 is wanted", param_hint="--near")
    check_table(output, force)
    settings = {"n_components": n_components, "orders": orders, "seed": seed}
    with workers(n_jobs):
        names = [source] if other is None else [source, other]
        graphs = [read_collection(name, format, on_error=on_error, quiet=quiet) for name in names]
        transformer = make_transformer(like, settings)
        if other is None and near is None:
            columns, records, summary = _groups(graphs[0], transformer, quiet)
        else:
            columns, records, summary = _pairs(graphs, transformer, near)
    write_answer(output, columns, records, as_json)
    if output != "-" and as_json:
        typer.echo(json.dumps({"output": output, **summary}))
    elif output != "-" and not quiet:
        typer.echo(", ".join(f"{value:,} {name}" for name, value in summary.items()) + f": {output}")
    elif not as_json:
        note(", ".join(f"{value:,} {name}" for name, value in summary.items()), quiet)


Answer = tuple[list[str], list[dict[str, Any]], dict[str, int]]


def _groups(graphs: Collection, transformer: Any, quiet: bool) -> Answer:
    from grnf.search import duplicate_groups

    groups, undecided = duplicate_groups(graphs, transformer)
    for pair in undecided:
        note(f"grnf: undecided whether {pair.first} and {pair.second} are the same", quiet)
    records = [
        {"group": number, "id": name} for number, group in enumerate(groups, start=1) for name in group
    ]
    superfluous = sum(len(group) - 1 for group in groups)
    summary = {
        "graphs": len(graphs),
        "groups of copies": len(groups),
        "superfluous graphs": superfluous,
        "undecided pairs": len(undecided),
    }
    return ["group", "id"], records, summary


def _pairs(graphs: list[Collection], transformer: Any, near: float | None) -> Answer:
    from grnf.search import leaked, near_duplicates

    if len(graphs) == 1:
        found = near_duplicates(graphs[0], transformer, near or 0.0)
    else:
        found = leaked(graphs[0], graphs[1], transformer, eps=near)
    records = [
        {"id": pair.first, "other": pair.second, "distance": pair.distance, "answer": pair.answer}
        for pair in found
    ]
    summary = {
        "graphs": len(graphs[0]),
        "pairs": len(found),
        "pairs of copies": sum(pair.answer == "isomorphic" for pair in found),
        "graphs concerned": len({pair.second for pair in found}),
    }
    return ["id", "other", "distance", "answer"], records, summary
