"""`grnf index`: an index of graphs, or of the vectors that grnf embed made of them."""

from __future__ import annotations

import json
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from grnf.cli.inputs import OnError, holds_vectors
from grnf.cli.options import (
    AsJson,
    Format,
    Like,
    NComponents,
    NJobs,
    Orders,
    Quiet,
    Seed,
    check_format,
    make_transformer,
    workers,
)
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
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Folder of the index."),
    ] = None,
    append: Annotated[bool, typer.Option("--append", help="Add to the index that is there.")] = False,
    delete: Annotated[
        Path | None, typer.Option(help="File of ids, one a line: remove these graphs from the index.")
    ] = None,
    keep_graphs: Annotated[
        bool, typer.Option("--keep-graphs", help="Keep the graphs too, to show hits and for --certified.")
    ] = False,
    space: Annotated[
        Literal["plain", "whitened", "views"],
        typer.Option(
            help="plain: d_P; whitened: equal variance in all directions; views: WL labels, degrees, "
            "neighbors and walks in addition to d_P."
        ),
    ] = "plain",
    shrinkage: Annotated[
        float, typer.Option(help="For whitened: share of the largest variance below which axes count less.")
    ] = 0.01,
    on_error: OnError = "raise",
    format: Format = None,
    n_components: NComponents = None,
    orders: Orders = None,
    seed: Seed = None,
    like: Like = None,
    n_jobs: NJobs = 1,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Build an index of graphs for grnf search; add to it or remove from it.

    The index is a folder of plain arrays with checksums, mapped when it is opened. Graphs are called by their
    ids, or by their places in the file (numbers go on when more are added).

    Example: grnf index molecules.csv --keep-graphs --output molecules.index
    """
    if output is None:
        raise typer.BadParameter("say where the index is", param_hint="--output")
    source = source or None
    if source is None and delete is None:
        raise typer.BadParameter("give graphs or vectors to index, or --delete a file of ids")
    settings = {"n_components": n_components, "orders": orders, "seed": seed}
    if (append or source is None) and (keep_graphs or space != "plain" or like or any(settings.values())):
        raise typer.BadParameter("the settings of an index that is there are fixed")
    if not append and source is not None and output.exists():
        raise FileExistsError(f"{output} exists already: add to it with --append, or choose another name")
    from grnf.search import GraphIndex

    with workers(n_jobs):
        if append or source is None:
            made = GraphIndex.open(output)
        else:
            kind = "plain" if space == "views" else space
            made = GraphIndex(space=kind, shrinkage=shrinkage, keep_graphs=keep_graphs)
            made.transformer = _views(settings, like) if space == "views" else None
        before = len(made)
        if delete is not None:
            made.remove([line for line in delete.read_text(encoding="utf-8").splitlines() if line.strip()])
        removed = before - len(made)
        if source is not None:
            _fill(made, source, format, like, settings, on_error, quiet)
        made.save(output)
    added = len(made) - before + removed
    if as_json:
        typer.echo(
            json.dumps({"output": str(output), "graphs": len(made), "added": added, "removed": removed})
        )
    elif not quiet:
        typer.echo(f"{output}: {made!r}, {added:,} added, {removed:,} removed")


def _views(settings: dict[str, Any], like: Path | None) -> Any:
    """Return views with the settings that they have."""
    from grnf.estimators import FeatureViews

    if like is not None or settings["orders"] is not None:
        raise typer.BadParameter("views have their own orders: neither --orders nor --like goes with them")
    chosen = {"n_components": settings["n_components"], "random_state": settings["seed"]}
    return FeatureViews(**{name: int(value) for name, value in chosen.items() if value is not None})


def _fill(
    made: GraphIndex,
    source: list[str],
    format: str | None,
    like: Path | None,
    settings: dict[str, Any],
    on_error: str,
    quiet: bool,
) -> None:
    """Add what a source holds, vectors or graphs."""
    from grnf.estimators import fit_stream
    from grnf.io.vectors import side_file

    if all(holds_vectors(name, format) for name in source):
        if made.transformer is None and (like or side_file(source[0]).exists()):
            made.transformer = make_transformer(like or side_file(source[0]), {})
        with progress("indexing", quiet) as advance:
            for Z, ids in _vector_blocks(source):
                advance(len(ids))
                made.add(Z, ids)
        return
    check_format(format, source)
    bad: list[dict[str, Any]] = []
    with open_source(source, format) as where, progress(f"indexing {where.name}", quiet) as advance:
        where.require_graphs()
        if made.transformer is None:
            made.transformer = make_transformer(like, settings)
            if not hasattr(made.transformer, "n_components_"):
                fit_stream(made.transformer, (graph for _, graph in where.usable(on_error, [])))
        begin = 1 + max((int(name) for name in made.ids if name.isdecimal()), default=-1)
        graphs = where.usable(on_error, bad)
        while some := list(islice(graphs, BLOCK)):
            advance(len(some))
            made.add([graph for _, graph in some], [name_of(graph, begin + place) for place, graph in some])
    tell_bad(bad, on_error, quiet)
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
