"""`grnf compare`: the distance of two graphs with its interval, and what each node and edge adds to it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from grnf.cli.inputs import read_collection
from grnf.cli.options import (
    Input,
    JsonRun,
    LikeFeatures,
    Output,
    Run,
    check_free,
    check_probability,
    check_suffix,
)
from grnf.errors import GraphError

if TYPE_CHECKING:
    from grnf.io import RawGraph

__all__ = ["compare"]


def compare(
    first: Annotated[str, typer.Argument(help="File with a graph, or with several.")],
    second: Annotated[str, typer.Argument(help="File with the graph to compare with, or with several.")],
    *,
    first_id: Annotated[str | None, typer.Option(metavar="ID", help="Graph of the first file.")] = None,
    second_id: Annotated[str | None, typer.Option(metavar="ID", help="Graph of the second file.")] = None,
    delta: Annotated[float, typer.Option(help="Error probability of the interval.")] = 0.05,
    picture: Annotated[
        Path | None,
        typer.Option(help="Figure of both graphs, colored by what each part adds: .png or .pdf."),
    ] = None,
    out: Output,
    reading: Input,
    features: LikeFeatures,
    run: JsonRun,
) -> None:
    """Measure the distance of two graphs and where they differ.

    Each node and edge is left out in turn. A row of the table shows what it adds to the squared distance
    d_P^2 (graph, item, number, adds, standard_error). If the value is positive, the graphs are nearer to each
    other without it.

    Example: grnf compare one.gml two.gml --picture difference.png
    """
    check_probability("--delta", delta)
    if picture is not None:
        check_suffix("--picture", picture, (".png", ".pdf"))
        check_free(picture, out.force)
    out.check()
    grnf = features.transformer()
    graphs = [
        _graph(first, first_id, "--first-id", reading, run),
        _graph(second, second_id, "--second-id", reading, run),
    ]
    with run.threads():
        if not hasattr(grnf, "n_components_"):
            grnf.fit(graphs)
        found = grnf.difference(*graphs)
    bounded = found.distance.largest_term < float("inf")
    low, high = found.distance.interval(delta, None if bounded else "clt")
    if picture is not None:
        from grnf.maps.drawings import draw_difference

        draw_difference(picture, graphs, found, [first_id or first, second_id or second])
    answer = {"distance": found.distance.value, "low": low, "high": high, "delta": delta}
    if run.as_json and out.output == "-":
        typer.echo(json.dumps({**answer, "parts": found.records()}))
        return
    out.write(["graph", "item", "number", "adds", "standard_error"], found.records(), as_json=False)
    if run.as_json:
        typer.echo(json.dumps({**answer, "output": out.output}))
    elif not run.quiet:
        interval = f"{100 * (1 - delta):g} % interval {low:.4g} to {high:.4g}"
        typer.echo(f"d_P = {found.distance.value:.4g} ({interval})", err=out.output == "-")


def _graph(name: str, wanted: str | None, option: str, reading: Input, run: Run) -> RawGraph:
    """Return the only graph of a file, or the one with that id."""
    found = read_collection(name, reading, run)
    if found.graphs is None:
        raise GraphError("expected graphs, got vectors", where=name)
    if wanted is None and len(found) != 1:
        raise GraphError(
            f"expected one graph, found {len(found)}", where=name, cure=f"Choose one with {option}"
        )
    ids = found.ids
    if wanted is not None and wanted not in ids:
        raise GraphError(f"no graph is called {wanted!r}", where=name)
    graph: RawGraph = found.graphs[0 if wanted is None else ids.index(wanted)]
    return graph
