"""`grnf map`: a dataset as an interactive page."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from grnf._utils.words import counted
from grnf.cli.graph_input import LikeInput, SourceArgument
from grnf.cli.options import Destination, Space, check_new, check_probability, require, space_of_vectors

if TYPE_CHECKING:
    from grnf.collection import Collection


@dataclass(frozen=True)
class Page(LikeInput, Destination, panel="Output", suffixes=(".html", ".htm")):
    """Options of `grnf map`."""

    output: Annotated[str, "-o", "Page to write, .html."] = "map.html"
    save_layout: Annotated[Path | None, "Layout file to write, .npz, for --onto."] = None

    def check(self) -> None:
        """Refuse names without their suffixes, and files that exist already."""
        super().check()
        check_new("--save-layout", self.save_layout, (".npz",), self.force)


def map(  # noqa: A001 the word users know
    source: SourceArgument,
    *,
    title: Annotated[str | None, "Title of the page. [default: the input]"] = None,
    layout: Annotated[
        Literal["auto", "tsne", "umap", "pca"],
        "auto: t-SNE for up to 5,000 graphs. For more, UMAP or, if it is not installed, PCA.",
    ] = "auto",
    space: Space = "joint",
    n_neighbors: Annotated[int, "-k K", "Number of neighbors shown.", {"min": 0, "max": 50}] = 6,
    differences: Annotated[
        bool | None,
        "--differences/--no-differences",
        "Mark what differs between a graph and its neighbors. [default: up to 12,000 pairs]",
    ] = None,
    color: Annotated[str | None, "NAME", "Column that colors the points at first."] = None,
    clusters: Annotated[int, "Number of clusters.", {"min": 2, "max": 16}] = 8,
    positions: Annotated[str | None, "NAME", "Node attribute with the positions of nodes."] = None,
    confidence: Annotated[
        float | None, "P", "Show intervals that contain d_P with probability P, not standard errors."
    ] = None,
    onto: Annotated[Path | None, "Saved layout (.npz): place the graphs on that map."] = None,
    job: Page,
) -> None:
    """Create an interactive map of a dataset as one HTML file.

    Hover over a point to draw its graph. Click it to compare the graph with its nearest neighbors: distances
    (of d_P with standard errors), and the nodes that differ. Color by label, any column, size, outlier score,
    cluster or neighborhood preservation. Select with the lasso, search ids, values and SMILES, export tables
    and figures. Two sources are compared: colored by source, with the p-value of grnf test in the title.

    Examples:
      grnf map before.csv after.csv
      grnf map molecules.csv --id-column name --color activity --on-error skip --output molecules.html
    """
    check_probability("--confidence", confidence)
    is_fixed = space == "joint" and job.like is None and not job.given()
    require(onto is None or is_fixed, "the settings of the map given by --onto are fixed")
    require(
        confidence is None or onto is not None or space != "joint",
        "--confidence needs --space d_P or --space whitened: joint vectors do not estimate d_P",
    )
    transformer = None if onto is not None else job.in_space(space)
    from grnf.maps import GraphMap, map_graphs
    from grnf.maps.point_columns import guessed_ids

    job = job.as_in()
    if onto is not None:
        job = job.with_molecules_of(GraphMap.load(onto).molecules, onto)
    samples = []
    for names in [[one] for one in source] if len(source) == 2 else [source]:
        with job.open(names) as opened:
            sample = job.collect(opened.with_all_columns())
        if not len(sample):
            job.note(f"grnf: {sample.name} holds no graphs that can be read: the map is empty")
        samples.append(replace(sample, name=Path(sample.name).name))
    sources, heading = _compared(samples) if len(samples) == 2 else (None, samples[0].name)
    graphs = [graph for sample in samples for graph in sample.graphs]
    made = map_graphs(
        graphs,
        ids=guessed_ids(graphs) or [name for sample in samples for name in sample.ids],
        columns=None if sources is None else {"source": sources},
        transformer=transformer,
        layout=layout,
        space=space_of_vectors(space),
        n_neighbors=n_neighbors,
        differences=differences,
        color=color or (None if sources is None else "source"),
        n_clusters=clusters,
        positions=positions,
        onto=onto,
        title=title or heading,
        confidence=confidence,
        random_state=job.seed or 0,
        n_jobs=job.n_jobs,
    )
    words = [word for word in sys.argv[1:] if word != "--force"]  # a repeated run writes the same page
    about = [*made.about, f"Command: {shlex.join(['grnf', *words])}"]
    made = replace(made, molecules=job.molecules, about=about)
    made.write(job.output)
    if job.save_layout is not None:
        made.save(job.save_layout)
    page = Path(job.output)
    size, kept = page.stat().st_size / 1e6, float(made.kept.mean()) if len(made) else 1.0
    summary = {
        "output": job.output,
        "graphs": len(made),
        "left_out": sum(len(sample.errors) for sample in samples),
        "megabytes": size,
        "neighbors_kept": kept,
    }
    job.echo(
        summary,
        f"{page}: {counted(len(made), 'graphs')}, {size:.1f} MB, {100 * kept:.0f} % of nearest graphs kept. "
        f"Open it in a browser: {page.resolve().as_uri()}",
    )


def _compared(samples: list[Collection]) -> tuple[list[str] | None, str]:
    """Return the source of each graph, and a title with the p-value. A single input has no sources."""
    from grnf.stats import two_sample_test

    first, second = names = [sample.name for sample in samples]
    if any(len(sample) < 2 for sample in samples):
        return None, f"{first} and {second}"
    test = two_sample_test(*samples, n_witnesses=0, random_state=0)
    sources = [name for name, sample in zip(names, samples, strict=True) for _ in range(len(sample))]
    return sources, f"{first} and {second}: p = {test.pvalue:.3g} (grnf test)"
