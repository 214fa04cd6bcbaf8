"""`grnf compare`: the distance of two graphs with its interval, and what each node and edge adds to it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from grnf.cli.graph_input import Input
from grnf.cli.options import (
    LikeFeatures,
    Output,
    Run,
    check_free,
    check_probability,
    check_suffix,
    require,
)
from grnf.errors import GraphError

if TYPE_CHECKING:
    from grnf.collection import Collection
    from grnf.io import RawGraph

__all__ = ["compare"]

COLUMNS = ("graph", "item", "number", "adds", "standard_error")


def compare(
    first: Annotated[str, Argument(help="File with a graph, or with several.")],
    second: Annotated[
        str, Argument(help="File to compare with; or, if ID follows, the id of a graph in FIRST.")
    ],
    other: Annotated[str | None, Argument(metavar="ID", help="Id of a second graph in FIRST.")] = None,
    *,
    first_id: Annotated[str | None, Option(metavar="ID", help="Graph of the first file.")] = None,
    second_id: Annotated[str | None, Option(metavar="ID", help="Graph of the second file.")] = None,
    confidence: Annotated[
        float, Option(metavar="P", help="The interval contains d_P with probability P.")
    ] = 0.95,
    picture: Annotated[
        Path | None,
        Option(help="Figure of both graphs, colored by what each part adds: .png or .pdf."),
    ] = None,
    out: Output,
    reading: Input,
    features: LikeFeatures,
    run: Run,
) -> None:
    """Measure the distance of two graphs and where they differ.

    Give two files, or one file and the ids of two of its graphs. Each node and edge is left out in turn. A
    row of the table shows what it adds to the squared distance d_P^2 (graph, item, number, adds,
    standard_error). If the value is positive, the graphs are nearer to each other without it.

    Examples:
      grnf compare molecules.csv aspirin caffeine
      grnf compare one.gml two.gml --picture difference.png --output parts.csv
    """
    check_probability("--confidence", confidence)
    if picture is not None:
        check_suffix("--picture", picture, (".png", ".pdf"))
        check_free(picture, out.force)
    out.check()
    files, ids, hints = [first, second], [first_id, second_id], ["--first-id", "--second-id"]
    if other is not None:
        require(ids == [None, None], "give FILE ID ID, or two files with --first-id and --second-id")
        files, ids = [first, first], [second, other]
    grnf = features.transformer()
    read = {name: reading.collection(name, run) for name in dict.fromkeys(files)}
    graphs = [_graph(read[files[side]], ids[side], hints[side]) for side in (0, 1)]
    with run.threads():
        if not hasattr(grnf, "n_components_"):
            grnf.fit(graphs)
        result = grnf.difference(*graphs)
    bounded = result.distance.largest_term < float("inf")
    low, high = result.distance.interval(confidence, None if bounded else "clt")
    if picture is not None:
        from grnf.maps.drawings import draw_difference

        draw_difference(picture, graphs, result, [ids[side] or files[side] for side in (0, 1)])
    summary = {"distance": result.distance.value, "low": low, "high": high, "confidence": confidence}
    if run.as_json and out.output == "-":
        typer.echo(json.dumps({**summary, "parts": result.records()}))
        return
    out.write(COLUMNS, result.records(), as_json=False)
    interval = f"{100 * confidence:g} % interval {low:.4g} to {high:.4g}"
    out.summarize(summary, run, f"d_P = {result.distance.value:.4g} ({interval})")


def _graph(collection: Collection, graph_id: str | None, option: str) -> RawGraph:
    """Return the only graph of a file, or the one with that id."""
    if collection.graphs is None:
        raise GraphError("expected graphs, got vectors", where=collection.name)
    ids = collection.ids
    if graph_id is None and len(ids) != 1:
        first = ", ".join(ids[:3])
        raise GraphError(
            f"expected one graph, found {len(ids)}",
            where=collection.name,
            cure=f"Select one with {option} ID (first ids: {first})",
        )
    if graph_id is not None and graph_id not in ids:
        raise GraphError(f"there is no graph with the id {graph_id!r}", where=collection.name)
    graph: RawGraph = collection.graphs[0 if graph_id is None else ids.index(graph_id)]
    return graph
