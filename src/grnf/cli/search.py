"""`grnf search`: the nearest graphs of an index, or all within a radius, with distances and intervals."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from grnf.cli.graph_input import Input
from grnf.cli.options import Output, Run, check_probability, require

__all__ = ["search"]


def search(
    folder: Annotated[Path, Argument(help="Index made by grnf index.")],
    queries: Annotated[
        str, Argument(help="Graphs (- for standard input) or vectors to find the neighbors of.")
    ],
    *,
    n_neighbors: Annotated[
        int, Option("--n-neighbors", "-k", min=1, metavar="K", help="Number of nearest graphs.")
    ] = 10,
    radius: Annotated[
        float | None, Option(help="Return all graphs up to this distance instead of the nearest.")
    ] = None,
    others: Annotated[
        bool, Option("--others", help="Leave out the graph that has the id of the query.")
    ] = False,
    interval: Annotated[
        float | None,
        Option(metavar="DELTA", help="Add intervals for d_P with error probability DELTA each."),
    ] = None,
    certified: Annotated[
        float | None,
        Option(
            metavar="DELTA",
            help="Return the true nearest neighbors under d_P with error probability DELTA. Unresolved "
            'neighbors are marked "tied".',
        ),
    ] = None,
    out: Output,
    reading: Input,
    run: Run,
) -> None:
    """Find the nearest graphs of an index for each query.

    The table has a row for each hit: query, rank, id and distance. --interval adds low and high, --certified
    adds status (certain or tied). If the index has fewer graphs than -k, all are returned.

    Examples:
      grnf search molecules.index new.smi
      grnf search molecules.index new.csv --smiles-column Drug -k 5 --interval 0.05 --output hits.csv
    """
    check_probability("--interval", interval)
    check_probability("--certified", certified)
    require(radius is None or 0 <= radius < float("inf"), f"--radius must be a number >= 0, got {radius}")
    require(
        certified is None or (radius is None and interval is None),
        "--certified cannot be combined with --radius or --interval",
    )
    out.check()
    from grnf.search import GraphIndex

    with run.threads():
        index = GraphIndex.open(folder)
        X = reading.collection(queries, run)
        if radius is not None:
            hits = index.within(X, radius, others=others, interval=interval)
        elif certified is not None:
            hits = index.search(X, n_neighbors, others=others, certified=True, delta=certified)
        else:
            hits = index.search(X, n_neighbors, others=others, interval=interval)
    out.write(*reading.with_kept(hits.columns, hits.records(), "query"), run.as_json)
    out.summarize({"queries": len(hits), "hits": sum(map(len, hits.ids))}, run)
