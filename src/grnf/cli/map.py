"""`grnf map`: a collection as one page that people look at."""

from __future__ import annotations

import json
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import typer

from grnf.cli.columns import file_of, is_smiles_table, smiles_column_of, with_columns
from grnf.cli.inputs import graphs_of, tell_errors
from grnf.cli.options import (
    AsJson,
    Force,
    Format,
    IdColumn,
    Keep,
    Like,
    NComponents,
    NJobs,
    Orders,
    Quiet,
    Seed,
    SmilesColumn,
    SourceArgument,
    check_format,
    check_free,
    make_transformer,
    workers,
)
from grnf.cli.source import Source, open_source
from grnf.cli.tell import note

__all__ = ["map"]


def map(  # noqa: A001 the word users know
    source: SourceArgument,
    output: Annotated[Path, typer.Option("--output", "-o", help="Page to write, .html.")] = Path("map.html"),
    title: Annotated[str | None, typer.Option(help="Title of the page.", show_default="the input")] = None,
    layout: Annotated[
        Literal["auto", "tsne", "umap", "pca"],
        typer.Option(
            help="auto: t-SNE for up to 5,000 graphs, for more UMAP, or principal axes where it is absent."
        ),
    ] = "auto",
    space: Annotated[
        Literal["plain", "whitened"],
        typer.Option(help="What near means: d_P as it is, or with all directions counting alike."),
    ] = "plain",
    k: Annotated[int, typer.Option("-k", min=0, max=50, help="Neighbors shown with a graph.")] = 6,
    differences: Annotated[
        bool | None,
        typer.Option(
            "--differences/--no-differences",
            help="Mark nodes that make neighbors differ: a vector for each node.",
            show_default="up to 50,000 nodes",
        ),
    ] = None,
    color: Annotated[
        str | None, typer.Option(metavar="NAME", help="Column that colors the points first.")
    ] = None,
    clusters: Annotated[int, typer.Option(min=2, max=16, help="Clusters to color by.")] = 8,
    positions: Annotated[
        str | None, typer.Option(metavar="NAME", help="Node column with the positions of nodes.")
    ] = None,
    delta: Annotated[float, typer.Option(help="Probability with which an interval may fail.")] = 0.05,
    onto: Annotated[
        Path | None, typer.Option(help="Saved layout (.npz): place the graphs on that map.")
    ] = None,
    save_layout: Annotated[
        Path | None, typer.Option(help="Save the map as .npz too, for --onto later.")
    ] = None,
    on_error: Annotated[
        Literal["raise", "skip"], typer.Option(help="A record that cannot be read: stop, or leave it out.")
    ] = "raise",
    smiles_column: SmilesColumn = None,
    id_column: IdColumn = None,
    keep: Keep = None,
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
    """Make a map of a collection: one HTML page that opens without a network and can be sent by mail.

    Each point is a graph; pointing at it draws it, a click compares it with its nearest graphs (d_P with
    intervals, nodes that differ marked). Colors: label, columns of a table (all, or those --keep names),
    size, outlier score, cluster, and how many true neighbors the map keeps. Lasso, search, export of ids.

    Example: grnf map molecules.csv --output map.html
    """
    _check(output, save_layout, delta, force)
    settings = {"n_components": n_components, "orders": orders, "seed": seed}
    if onto is not None and (like is not None or any(value is not None for value in settings.values())):
        raise typer.BadParameter("the settings of the map that is there are fixed", param_hint="--onto")
    from grnf.maps import map_graphs

    check_format(format, source)
    with ExitStack() as stack:
        stack.enter_context(workers(n_jobs))
        where = stack.enter_context(open_source(source, format))
        where = _all_columns(with_columns(where, smiles_column, id_column, quiet, keep), keep)
        found = graphs_of(where, on_error, quiet)
        if not len(found):
            note(f"grnf: {where.name} holds no graphs that can be read: the map is empty", quiet)
        tell_errors(found, on_error, quiet)
        transformer = None if onto is not None else make_transformer(like, settings)
        made = map_graphs(
            found.graphs,
            ids=found.ids,
            transformer=transformer,
            layout=layout,
            space=space,
            k=k,
            differences=differences,
            color=color,
            n_clusters=clusters,
            positions=positions,
            onto=onto,
            title=title or Path(where.name).name,
            delta=delta,
            random_state=seed or 0,
            n_jobs=n_jobs,
        )
    made.write(output)
    if save_layout is not None:
        made.save(save_layout)
    size, kept = output.stat().st_size / 1e6, float(made.kept.mean()) if len(made) else 1.0
    if as_json:
        answer = {
            "output": str(output),
            "graphs": len(made),
            "left_out": len(found.errors),
            "megabytes": size,
        }
        typer.echo(json.dumps({**answer, "neighbors_kept": kept}))
    elif not quiet:
        typer.echo(
            f"{output}: {len(made):,} graphs, {size:.1f} MB, {100 * kept:.0f} % of nearest graphs kept; "
            f"open it in a browser: {output.resolve().as_uri()}"
        )


def _check(output: Path, save_layout: Path | None, delta: float, force: bool) -> None:
    if not 0 < delta < 1:
        raise typer.BadParameter("a probability between 0 and 1 is wanted", param_hint="--delta")
    for path, suffixes, option in (
        (output, (".html", ".htm"), "--output"),
        (save_layout, (".npz",), "--save-layout"),
    ):
        if path is None:
            continue
        if path.suffix.lower() not in suffixes:
            raise typer.BadParameter(f"{path}: the name must end in {suffixes[0]}", param_hint=option)
        check_free(path, force)


def _all_columns(source: Source, keep: list[str] | None) -> Source:
    """Let a table of SMILES bring all its columns, where none are named."""
    if keep or not source.path.is_file() or not is_smiles_table(source, "column" in source.options):
        return source
    from grnf.io.files.tables import table_of

    smiles = smiles_column_of(source)[0]
    known = (smiles, "smiles", source.options.get("graph_id", "graph_id"))
    others = [name for name in table_of(file_of(source)).columns if name not in known]
    return replace(source, options={**source.options, "keep": others})
