"""`grnf compare`: the distance of two graphs with its interval, and what each node and edge adds to it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from grnf.cli.inputs import read_collection
from grnf.cli.options import (
    AsJson,
    Force,
    Format,
    Like,
    NComponents,
    Orders,
    Quiet,
    Seed,
    check_free,
    make_transformer,
)
from grnf.cli.search import Table, check_table, write_answer
from grnf.errors import GraphError

if TYPE_CHECKING:
    from grnf.io import RawGraph

__all__ = ["compare"]


def compare(
    first: Annotated[str, typer.Argument(help="File of a graph, or of several.")],
    second: Annotated[str, typer.Argument(help="File of the graph to compare with, or of several.")],
    first_id: Annotated[str | None, typer.Option(metavar="ID", help="Which graph of the first file.")] = None,
    second_id: Annotated[
        str | None, typer.Option(metavar="ID", help="Which graph of the second file.")
    ] = None,
    delta: Annotated[float, typer.Option(help="Probability with which the interval may fail.")] = 0.05,
    output: Table = "-",
    picture: Annotated[
        Path | None, typer.Option(help="Draw both graphs, colored by what each part adds: .png or .pdf.")
    ] = None,
    format: Format = None,
    n_components: NComponents = None,
    orders: Orders = None,
    seed: Seed = None,
    like: Like = None,
    force: Force = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Say how far two graphs are apart, and where they differ.

    Each node and edge is left out in turn: what it adds to the squared distance d_P^2 is a row of the table
    (graph, item, number, adds, standard_error). Positive: without it the graphs are nearer to each other.

    Example: grnf compare one.gml two.gml --picture difference.png
    """
    if not 0 < delta < 1:
        raise typer.BadParameter("a probability between 0 and 1 is wanted", param_hint="--delta")
    if picture is not None:
        if picture.suffix.lower() not in (".png", ".pdf"):
            raise typer.BadParameter(f"{picture}: the name must end in .png or .pdf", param_hint="--picture")
        check_free(picture, force)
    check_table(output, force)
    graphs = [_graph(first, first_id, format, "--first-id"), _graph(second, second_id, format, "--second-id")]
    grnf = make_transformer(like, {"n_components": n_components, "orders": orders, "seed": seed})
    if not hasattr(grnf, "n_components_"):
        grnf.fit(graphs)
    found = grnf.difference(*graphs)
    bounded = found.distance.largest_term < float("inf")
    low, high = found.distance.interval(delta, None if bounded else "clt")
    if picture is not None:
        from grnf.cli.compare_picture import draw

        draw(picture, graphs, found, [first_id or first, second_id or second])
    answer = {"distance": found.distance.value, "low": low, "high": high, "delta": delta}
    if as_json and output == "-":
        typer.echo(json.dumps({**answer, "parts": found.records()}))
        return
    columns = ["graph", "item", "number", "adds", "standard_error"]
    write_answer(output, columns, found.records(), as_json=False)
    if as_json:
        typer.echo(json.dumps({**answer, "output": output}))
    elif not quiet:
        share = f"{100 * (1 - delta):g} % interval {low:.4g} to {high:.4g}"
        typer.echo(f"d_P = {found.distance.value:.4g} ({share})", err=output == "-")


def _graph(name: str, wanted: str | None, format: str | None, option: str) -> RawGraph:
    """Return the one graph of a file, or the one of that id."""
    found = read_collection(name, format)
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
