"""`grnf dedup`: duplicates among graphs, or between two files."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated, Any

from grnf._utils.files import check_free
from grnf.cli.graph_input import VectorJob, require_graphs
from grnf.cli.options import Space, check_radius, require, space_of_vectors


def dedup(
    source: Annotated[str, "File, folder, glob or pipe of graphs, or - for standard input."],
    other: Annotated[str | None, "Graphs that should not be in SOURCE, such as a test set."] = None,
    *,
    near: Annotated[float | None, "EPS", "Also report pairs up to this distance, isomorphic or not."] = None,
    space: Space = "joint",
    write: Annotated[
        Path | None,
        "PATH",
        "Write SOURCE without redundant graphs to this file, in its format, with all columns.",
        {"rich_help_panel": "Output"},
    ] = None,
    job: VectorJob,
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
    check_radius(near, "--near")
    require(write is None or (other is None and near is None), "--write needs a single file without --near")
    if write is not None:
        check_free(write, job.force)
    from grnf.search import leaked, near_duplicates
    from grnf.search.duplicates import DUPLICATES, groups_by_kind

    transformer = job.transformer() if near is None else job.in_space(space)
    names = [source] if other is None else [source, other]
    job = job.as_in(*names)
    if other is None and near is None:
        with job.open(source) as opened:
            graphs = job.collect(opened)
            require_graphs(len(graphs), len(graphs.errors), source)
            groups, undecided = groups_by_kind(graphs, transformer, standardize=job.standardize)
            redundant = {name for kind, ids in groups if kind in DUPLICATES for name in ids[1:]}
            if write is not None:
                rows = zip(graphs.unique_ids, graphs.rows.tolist(), strict=True)
                opened.write_some([row for name, row in rows if name not in redundant], write)
        for pair in undecided:
            job.note(f"grnf: undecided whether {pair.first} and {pair.second} are isomorphic")
        records: list[dict[str, Any]] = [
            {"group": number, "kind": kind, "id": name}
            for number, (kind, ids) in enumerate(groups, start=1)
            for name in ids
        ]
        job.write(*job.with_columns(["group", "kind", "id"], records, id=graphs))
        summary = {
            "graphs": len(graphs),
            "groups of duplicates": sum(kind in DUPLICATES for kind, _ in groups),
            "redundant graphs": len(redundant),
            "undecided pairs": len(undecided),
        }
        others = Counter(f"groups of kind {kind}" for kind, _ in groups if kind not in DUPLICATES)
        job.summarize(summary | others)
        return
    first, *second = job.collections(names)
    how: Any = {"space": "plain" if near is None else space_of_vectors(space), "standardize": job.standardize}
    if second:
        pairs = leaked(first, second[0], transformer, eps=near, **how)
    else:
        pairs = near_duplicates(first, transformer, near or 0.0, **how)
    columns = ["id", "other", "distance", "verdict", "kind"]
    records = [
        dict(zip(columns, (pair.first, pair.second, pair.distance, pair.verdict, pair.kind), strict=True))
        for pair in pairs
    ]
    job.write(*job.with_columns(columns, records, id=first, other=[first, *second][-1]))
    summary = {
        "graphs": len(first),
        "pairs": len(pairs),
        "pairs of duplicates": sum(pair.kind in DUPLICATES for pair in pairs),
        "graphs in pairs": len({pair.second for pair in pairs}),
    }
    job.summarize(summary)
