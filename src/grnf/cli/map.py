"""`grnf map`: a dataset as an interactive page."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, ClassVar, Literal

import typer

from grnf.cli.columns import TableOptions, is_smiles_table, smiles_column_of
from grnf.cli.inputs import graphs_of, tell_errors
from grnf.cli.options import (
    Input,
    JsonRun,
    LikeFeatures,
    Output,
    SourceArgument,
    check_format,
    check_free,
    check_probability,
    check_suffix,
    require,
)
from grnf.cli.source import Source, open_source

__all__ = ["map"]


@dataclass(frozen=True)
class Page(Output):
    """Where the page and its layout are written."""

    suffixes: ClassVar[tuple[str, ...]] = (".html", ".htm")

    output: Annotated[str, typer.Option("--output", "-o", help="Page to write, .html.")] = "map.html"
    save_layout: Annotated[Path | None, typer.Option(help="Layout file to write, .npz, for --onto.")] = None

    def check(self) -> None:
        """Refuse names without their suffixes, and files that exist already."""
        super().check()
        if self.save_layout is not None:
            check_suffix("--save-layout", self.save_layout, (".npz",))
            check_free(self.save_layout, self.force)


def map(  # noqa: A001 the word users know
    source: SourceArgument,
    *,
    title: Annotated[str | None, typer.Option(help="Title of the page.", show_default="the input")] = None,
    layout: Annotated[
        Literal["auto", "tsne", "umap", "pca"],
        typer.Option(
            help="auto: t-SNE for up to 5,000 graphs; for more, UMAP or, if it is not installed, PCA."
        ),
    ] = "auto",
    space: Annotated[
        Literal["plain", "whitened"],
        typer.Option(help="Distances. plain: d_P; whitened: equal variance in all directions."),
    ] = "plain",
    n_neighbors: Annotated[
        int, typer.Option("-k", "--n-neighbors", min=0, max=50, help="Number of neighbors shown.")
    ] = 6,
    differences: Annotated[
        bool | None,
        typer.Option(
            "--differences/--no-differences",
            help="Mark the nodes in which neighbors differ: a vector for each node.",
            show_default="up to 50,000 nodes",
        ),
    ] = None,
    color: Annotated[
        str | None, typer.Option(metavar="NAME", help="Column that colors the points at first.")
    ] = None,
    clusters: Annotated[int, typer.Option(min=2, max=16, help="Number of clusters.")] = 8,
    positions: Annotated[
        str | None, typer.Option(metavar="NAME", help="Node attribute with the positions of nodes.")
    ] = None,
    confidence: Annotated[float, typer.Option(help="Probability that an interval contains d_P.")] = 0.95,
    onto: Annotated[
        Path | None, typer.Option(help="Saved layout (.npz): place the graphs on that map.")
    ] = None,
    out: Page,
    reading: Input,
    columns: TableOptions,
    features: LikeFeatures,
    run: JsonRun,
) -> None:
    """Create an interactive map of a dataset as one HTML file.

    Hover over a point to draw its graph. Click it to compare the graph with its nearest neighbors: distances
    with confidence intervals, and the nodes that differ. Color by label, any column, size, outlier score,
    cluster or neighborhood preservation. Select with the lasso, search by id, export ids.

    Example: grnf map molecules.csv --output map.html
    """
    check_probability("--confidence", confidence)
    out.check()
    require(onto is None or features == LikeFeatures(), "the settings of the map given by --onto are fixed")
    check_format(reading.format, source)
    transformer = None if onto is not None else features.transformer()
    from grnf.maps import map_graphs

    with run.threads(), open_source(source, reading.format) as where:
        found = graphs_of(_all_columns(columns.applied(where, run.quiet), columns.keep), reading, run)
        if not len(found):
            run.note(f"grnf: {where.name} holds no graphs that can be read: the map is empty")
        tell_errors(found, reading, run)
        made = map_graphs(
            found.graphs,
            ids=found.ids,
            transformer=transformer,
            layout=layout,
            space=space,
            n_neighbors=n_neighbors,
            differences=differences,
            color=color,
            n_clusters=clusters,
            positions=positions,
            onto=onto,
            title=title or Path(where.name).name,
            confidence=confidence,
            random_state=features.seed or 0,
            n_jobs=run.n_jobs,
        )
    made.write(out.output)
    if out.save_layout is not None:
        made.save(out.save_layout)
    page = Path(out.output)
    size, kept = page.stat().st_size / 1e6, float(made.kept.mean()) if len(made) else 1.0
    if run.as_json:
        answer = {"output": out.output, "graphs": len(made), "left_out": len(found.errors)}
        typer.echo(json.dumps({**answer, "megabytes": size, "neighbors_kept": kept}))
    elif not run.quiet:
        typer.echo(
            f"{page}: {len(made):,} graphs, {size:.1f} MB, {100 * kept:.0f} % of nearest graphs kept; "
            f"open it in a browser: {page.resolve().as_uri()}"
        )


def _all_columns(source: Source, keep: list[str] | None) -> Source:
    """Let a SMILES table keep all its columns, if none are named."""
    if keep or not source.path.is_file() or not is_smiles_table(source, "column" in source.options):
        return source
    from grnf.io.files.tables import table_of

    smiles = smiles_column_of(source)[0]
    known = (smiles, "smiles", source.options.get("graph_id", "graph_id"))
    others = [name for name in table_of(source.file).columns if name not in known]
    return replace(source, options={**source.options, "keep": others})
