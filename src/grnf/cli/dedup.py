"""`grnf dedup`: duplicates among graphs, or between two files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from grnf.cli.graph_input import Input
from grnf.cli.options import LikeFeatures, Output, Run, require

if TYPE_CHECKING:
    from grnf.collection import Collection

__all__ = ["dedup"]

Table = tuple[list[str], list[dict[str, Any]], dict[str, int]]


def dedup(
    source: Annotated[str, Argument(help="File, folder, glob or pipe of graphs; - for standard input.")],
    other: Annotated[
        str | None, Argument(help="Graphs that should not be in SOURCE, such as a test set.")
    ] = None,
    *,
    near: Annotated[
        float | None,
        Option(metavar="EPS", help="Also report pairs up to this distance, isomorphic or not."),
    ] = None,
    out: Output,
    reading: Input,
    features: LikeFeatures,
    run: Run,
) -> None:
    """Find duplicate graphs and train/test leakage.

    Duplicates are isomorphic graphs with the same attributes. Equal vectors propose them, an isomorphism test
    decides. For one file, the table has a row for each member of a group. With OTHER or --near, it has pairs
    with their distance and the result of the test (isomorphic, different or undecided). Graphs without ids
    are named by their number.

    Examples:
      grnf dedup molecules.smi
      grnf dedup train.csv test.csv --near 0.01 --output leaked.csv
    """
    require(near is None or 0 <= near < float("inf"), f"--near must be a number >= 0, got {near}")
    out.check()
    transformer = features.transformer()
    with run.threads():
        graphs = reading.collections([source] if other is None else [source, other], run)
        if other is None and near is None:
            columns, records, summary = _groups(graphs[0], transformer, run)
        else:
            columns, records, summary = _pairs(graphs, transformer, near)
    keys = {"id": source} if "other" not in columns else {"id": source, "other": other or source}
    out.write(*reading.with_columns(columns, records, **keys), run.as_json)
    out.summarize(summary, run)


def _groups(graphs: Collection, transformer: Any, run: Run) -> Table:
    from grnf.search import duplicate_groups

    groups, undecided = duplicate_groups(graphs, transformer)
    for pair in undecided:
        run.note(f"grnf: undecided whether {pair.first} and {pair.second} are isomorphic")
    records = [
        {"group": number, "id": name} for number, group in enumerate(groups, start=1) for name in group
    ]
    summary = {
        "graphs": len(graphs),
        "groups of duplicates": len(groups),
        "redundant graphs": sum(len(group) - 1 for group in groups),
        "undecided pairs": len(undecided),
    }
    return ["group", "id"], records, summary


def _pairs(graphs: list[Collection], transformer: Any, near: float | None) -> Table:
    from grnf.search import leaked, near_duplicates

    if len(graphs) == 1:
        pairs = near_duplicates(graphs[0], transformer, near or 0.0)
    else:
        pairs = leaked(graphs[0], graphs[1], transformer, eps=near)
    records = [
        {"id": pair.first, "other": pair.second, "distance": pair.distance, "verdict": pair.verdict}
        for pair in pairs
    ]
    summary = {
        "graphs": len(graphs[0]),
        "pairs": len(pairs),
        "isomorphic pairs": sum(pair.verdict == "isomorphic" for pair in pairs),
        "graphs in pairs": len({pair.second for pair in pairs}),
    }
    return ["id", "other", "distance", "verdict"], records, summary
