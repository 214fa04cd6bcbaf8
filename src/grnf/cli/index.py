"""`grnf index`: an index of graphs, or of the vectors that grnf embed made of them."""

from __future__ import annotations

import json
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from grnf.cli.inputs import holds_vectors
from grnf.cli.options import Input, JsonRun, LikeFeatures, Run, check_format, require
from grnf.cli.source import name_of, open_source
from grnf.cli.tell import progress, tell_bad
from grnf.errors import GraphError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grnf.search import GraphIndex

__all__ = ["index"]

BLOCK = 32_768
"""Graphs that are added at a time: each time a segment is built, or several are merged."""


def index(
    source: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SOURCE...]",
            help="Graphs (files, folders or globs; - for standard input), or vectors made by grnf embed: a "
            "file, or a folder of shards.",
        ),
    ] = None,
    *,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder of the index.", rich_help_panel="Output")
    ] = None,
    append: Annotated[bool, typer.Option("--append", help="Add to an existing index.")] = False,
    delete: Annotated[
        Path | None, typer.Option(help="File with one id per line: remove these graphs from the index.")
    ] = None,
    keep_graphs: Annotated[
        bool, typer.Option("--keep-graphs", help="Store the graphs too, to show hits and for --certified.")
    ] = False,
    space: Annotated[
        Literal["plain", "whitened", "views"],
        typer.Option(
            help="Distances. plain: d_P; whitened: equal variance in all directions; views: WL labels, "
            "degrees, neighbors and walks in addition to d_P."
        ),
    ] = "plain",
    shrinkage: Annotated[
        float, typer.Option(help="For whitened: share of the largest variance below which axes count less.")
    ] = 0.01,
    reading: Input,
    features: LikeFeatures,
    run: JsonRun,
) -> None:
    """Build an index of graphs for grnf search, or change one.

    The index is a folder of plain arrays with checksums, which are memory-mapped. Graphs are named by their
    ids, or by their positions in the file (the numbers continue when graphs are added).

    Example: grnf index molecules.csv --keep-graphs --output molecules.index
    """
    if output is None:
        raise typer.BadParameter(
            "Missing --output: name the index folder, for example --output molecules.index"
        )
    require(
        bool(source) or delete is not None, "give graphs or vectors to index, or a file of ids to --delete"
    )
    is_new = bool(source) and not append
    settings = keep_graphs or space != "plain" or features != LikeFeatures()
    require(is_new or not settings, "the settings of an existing index are fixed")
    if is_new and output.exists():
        raise FileExistsError(f"{output} exists already: add to it with --append, or choose another name")
    from grnf.search import GraphIndex

    with run.threads():
        if is_new:
            kind = "plain" if space == "views" else space
            made = GraphIndex(space=kind, shrinkage=shrinkage, keep_graphs=keep_graphs)
            made.transformer = _views(features) if space == "views" else None
        else:
            made = GraphIndex.open(output)
        before = len(made)
        if delete is not None:
            made.remove([line for line in delete.read_text(encoding="utf-8").splitlines() if line.strip()])
        removed = before - len(made)
        if source:
            _fill(made, source, reading, features, run)
        made.save(output)
    added = len(made) - before + removed
    if run.as_json:
        answer = {"output": str(output), "graphs": len(made), "added": added, "removed": removed}
        typer.echo(json.dumps(answer))
    elif not run.quiet:
        typer.echo(f"{output}: {made!r}, {added:,} added, {removed:,} removed")


def _views(features: LikeFeatures) -> Any:
    """Return feature views with the settings that they have."""
    from grnf.estimators import FeatureViews

    require(
        features.like is None and features.orders is None,
        "--space views has its own orders and cannot be combined with --orders or --like",
    )
    chosen = {"n_components": features.n_components, "random_state": features.seed or 0}
    return FeatureViews(**{name: value for name, value in chosen.items() if value is not None})


def _fill(made: GraphIndex, source: list[str], reading: Input, features: LikeFeatures, run: Run) -> None:
    """Add the vectors or graphs of a source."""
    from grnf.estimators import fit_stream

    if all(holds_vectors(name, reading.format) for name in source):
        if made.transformer is None:
            made.transformer = features.transformer_of(source[0])
        with progress("indexing", run.quiet) as advance:
            for Z, ids in _vector_blocks(source):
                advance(len(ids))
                made.add(Z, ids)
        return
    check_format(reading.format, source)
    bad: list[dict[str, Any]] = []
    with (
        open_source(source, reading.format) as where,
        progress(f"indexing {where.name}", run.quiet) as advance,
    ):
        where.require_graphs()
        if made.transformer is None:
            made.transformer = features.transformer()
            if not hasattr(made.transformer, "n_components_"):
                fit_stream(made.transformer, (graph for _, graph in where.usable(reading.on_error, [])))
        begin = 1 + max((int(name) for name in made.ids if name.isdecimal()), default=-1)
        graphs = where.usable(reading.on_error, bad)
        while some := list(islice(graphs, BLOCK)):
            advance(len(some))
            made.add([graph for _, graph in some], [name_of(graph, begin + place) for place, graph in some])
    tell_bad(bad, reading.on_error, run.quiet)
    if not len(made):
        raise GraphError("there are no graphs that can be used", where=where.name)


def _vector_blocks(sources: list[str]) -> Iterator[tuple[Any, list[str]]]:
    """Yield vectors and ids of files and of the shards of folders, `BLOCK` rows or more at a time."""
    import numpy as np

    from grnf.io.vectors import read_vectors, shard_files
    from grnf.io.vectors.read import is_shard_folder

    folders: Iterator[list[Any]] = (
        list(shard_files(name, check=True)) if is_shard_folder(name) else [name] for name in sources
    )
    blocks: list[Any] = []
    ids: list[str] = []
    for path in chain.from_iterable(folders):
        vectors = read_vectors(path)
        blocks.append(vectors.Z)
        ids += vectors.ids
        if len(ids) >= BLOCK:
            yield np.concatenate(blocks), ids
            blocks, ids = [], []
    if ids:
        yield np.concatenate(blocks), ids
