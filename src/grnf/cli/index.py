"""`grnf index`: an index of graphs, or of the vectors that grnf embed made of them."""

from __future__ import annotations

import json
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

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
from grnf.cli.samples import OnError, graphs_of
from grnf.cli.source import Source, name_of, open_source
from grnf.cli.tell import progress, tell_bad
from grnf.errors import GraphError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grnf import GRNF
    from grnf.io.vectors import Vectors
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
            help="What near means: d_P as it is; all directions counting alike; or colours, degrees, "
            "neighbours and walks beside d_P."
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
            made.remove(_ids(delete))
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
    from grnf.search import GraphViews

    if like is not None or settings["orders"] is not None:
        raise typer.BadParameter("views have their own orders: neither --orders nor --like goes with them")
    chosen = {"n_components": settings["n_components"], "random_state": settings["seed"]}
    return GraphViews(**{name: int(value) for name, value in chosen.items() if value is not None})


def _ids(path: Path) -> list[str]:
    return [line for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


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
    from grnf.io.vectors import holds_vectors, side_file

    if format == "vectors" or (format is None and all(map(holds_vectors, source))):
        if made.transformer is None and (like or side_file(source[0]).exists()):
            made.transformer = make_transformer(like or side_file(source[0]), {})
        with progress("indexing", quiet) as advance:
            for vectors in _vectors(source):
                advance(len(vectors.ids))
                made.add(vectors.Z, vectors.ids)
        return
    check_format(format, source)
    with ExitStack() as stack:
        where = stack.enter_context(open_source(source, format))
        where.require_graphs()
        if made.transformer is None:
            made.transformer = _fitted(make_transformer(like, settings), where, on_error)
        advance = stack.enter_context(progress(f"indexing {where.name}", quiet))
        begin, bad = _next_number(made), list[dict[str, Any]]()
        graphs = where.usable(on_error, bad)
        while some := list(islice(graphs, BLOCK)):
            advance(len(some))
            named = any(graph.graph_id is not None for _, graph in some)
            names = None if named else [str(begin + place) for place, _ in some]
            made.add([graph for _, graph in some], names)
    tell_bad(bad, on_error, quiet)
    if not len(made):
        raise GraphError(f"{where.name} holds no graphs that can be used")


def _next_number(made: GraphIndex) -> int:
    """Return the number from which on graphs without ids are called, which no graph has yet."""
    return 1 + max((int(name) for name in made.ids if name.isdecimal()), default=-1)


def _vectors(sources: list[str]) -> Iterator[Vectors]:
    """Yield vectors file by file, the shards of a folder too; `BLOCK` rows or more at a time."""
    from grnf.io.vectors import read_vectors, shard_files
    from grnf.io.vectors.read import is_shard_folder

    waiting: list[Vectors] = []
    for source in sources:
        for path in shard_files(source, check=True) if is_shard_folder(source) else [source]:
            waiting.append(read_vectors(path))
            if sum(len(each.ids) for each in waiting) >= BLOCK:
                yield _together(waiting)
                waiting = []
    if waiting:
        yield _together(waiting)


def _together(vectors: list[Vectors]) -> Vectors:
    import numpy as np

    from grnf.io.vectors import Vectors

    if len(vectors) == 1:
        return vectors[0]
    ids = [name for each in vectors for name in each.ids]
    return Vectors(ids, None, np.concatenate([each.Z for each in vectors]))


def _fitted(grnf: GRNF, where: Source, on_error: str) -> GRNF:
    from grnf.estimators import fit_stream

    if hasattr(grnf, "n_components_"):
        return grnf
    return fit_stream(grnf, (graph for _, graph in where.usable(on_error, [])))


def queries_of(
    found: GraphIndex, source: str, format: str | None, on_error: str, quiet: bool
) -> tuple[Any, list[str] | None]:
    """Return what a source holds, as an index takes it, and the names."""
    from grnf.io.vectors import holds_vectors, read_vectors

    if format == "vectors" or (format is None and holds_vectors(source)):
        vectors = read_vectors(source)
        return vectors.Z, vectors.ids
    good, _ = graphs_of(source, format, on_error, quiet)
    if found.transformer is None:
        raise GraphError(f"{source} holds graphs, and the index knows vectors only; build it from graphs")
    return [graph for _, graph in good], [name_of(graph, place) for place, graph in good]
