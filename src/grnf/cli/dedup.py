"""`grnf dedup`: duplicates among graphs, or between two files."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from grnf.cli.graph_input import Input, require_graphs
from grnf.cli.options import LikeFeatures, Output, Run, Space, check_free, require, space_of_vectors

if TYPE_CHECKING:
    from grnf.collection import Collection

__all__ = ["dedup"]

Table = tuple[list[str], list[dict[str, Any]], dict[str, int]]


def dedup(
    source: Annotated[str, Argument(help="File, folder, glob or pipe of graphs, or - for standard input.")],
    other: Annotated[
        str | None, Argument(help="Graphs that should not be in SOURCE, such as a test set.")
    ] = None,
    *,
    near: Annotated[
        float | None,
        Option(metavar="EPS", help="Also report pairs up to this distance, isomorphic or not."),
    ] = None,
    space: Space = "joint",
    write: Annotated[
        Path | None,
        Option(
            metavar="PATH",
            help="Write SOURCE without redundant graphs to this file, in its format, with all columns.",
            rich_help_panel="Output",
        ),
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

    The column kind tells how graphs are equal. Molecules are duplicates if they are identical, or with
    --standardize if they are identical after it (standardized). Groups of stereoisomers and isotopologues are
    listed, and are not duplicates. The first molecule of a group stands for it in groups of other kinds.

    Examples:
      grnf dedup molecules.smi --write clean.smi
      grnf dedup train.csv test.csv --near 0.01 --output leaked.csv
    """
    require(near is None or 0 <= near < float("inf"), f"--near must be a number >= 0, got {near}")
    require(write is None or (other is None and near is None), "--write needs a single file without --near")
    out.check()
    if write is not None:
        check_free(write, out.force)
    transformer = features.transformer() if near is None else features.in_space(space)
    reading = reading.as_in(features, *([source] if other is None else [source, other]))
    with run.threads():
        if other is None and near is None:
            with reading.open(source, run) as opened:
                whole = reading.collect(opened, run)
                require_graphs(len(whole), len(whole.errors), source)
                columns, records, summary, redundant = _groups(whole, transformer, reading.standardize, run)
                if write is not None:
                    rows = zip(whole.unique_ids, whole.rows.tolist(), strict=True)
                    opened.write_some([row for name, row in rows if name not in redundant], write)
        else:
            graphs = reading.collections([source] if other is None else [source, other], run)
            of_vectors = "plain" if near is None else space_of_vectors(space)
            columns, records, summary = _pairs(graphs, transformer, near, of_vectors, reading.standardize)
    keys = {"id": source} if "other" not in columns else {"id": source, "other": other or source}
    out.write(*reading.with_columns(columns, records, **keys), run.as_json)
    out.summarize(summary, run)


def _groups(graphs: Collection, transformer: Any, standardize: bool, run: Run) -> tuple[*Table, set[str]]:
    from grnf.search.duplicates import DUPLICATES, groups_by_kind

    groups, undecided = groups_by_kind(graphs, transformer, standardize=standardize)
    for pair in undecided:
        run.note(f"grnf: undecided whether {pair.first} and {pair.second} are isomorphic")
    records = [
        {"group": number, "kind": kind, "id": name}
        for number, (kind, names) in enumerate(groups, start=1)
        for name in names
    ]
    redundant = {name for kind, names in groups if kind in DUPLICATES for name in names[1:]}
    summary = {
        "graphs": len(graphs),
        "groups of duplicates": sum(kind in DUPLICATES for kind, _ in groups),
        "redundant graphs": len(redundant),
        "undecided pairs": len(undecided),
    }
    others = Counter(f"groups of kind {kind}" for kind, _ in groups if kind not in DUPLICATES)
    return ["group", "kind", "id"], records, summary | others, redundant


def _pairs(
    graphs: list[Collection], transformer: Any, near: float | None, space: str, standardize: bool
) -> Table:
    from grnf.search import leaked, near_duplicates
    from grnf.search.duplicates import DUPLICATES

    if len(graphs) == 1:
        pairs = near_duplicates(graphs[0], transformer, near or 0.0, space=space, standardize=standardize)
    else:
        pairs = leaked(graphs[0], graphs[1], transformer, eps=near, space=space, standardize=standardize)
    records = [
        {
            "id": pair.first,
            "other": pair.second,
            "distance": pair.distance,
            "verdict": pair.verdict,
            "kind": pair.kind,
        }
        for pair in pairs
    ]
    summary = {
        "graphs": len(graphs[0]),
        "pairs": len(pairs),
        "pairs of duplicates": sum(pair.kind in DUPLICATES for pair in pairs),
        "graphs in pairs": len({pair.second for pair in pairs}),
    }
    return ["id", "other", "distance", "verdict", "kind"], records, summary
