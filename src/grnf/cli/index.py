"""`grnf index`: an index of graphs, or of the vectors that grnf embed made of them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from grnf.cli.graph_input import LikeInput, holds_vectors, require_graphs
from grnf.cli.messages import progress
from grnf.cli.options import Run, Space, require, space_of_vectors
from grnf.errors import GraphError

if TYPE_CHECKING:
    from grnf.search import GraphIndex

BLOCK = 32_768
"""Graphs that are added at a time: each time a segment is built, or several are merged."""


@dataclass(frozen=True)
class Indexing(LikeInput, Run, panel="Output"):
    """Options of `grnf index`."""

    output: Annotated[Path | None, "-o", "Folder of the index."] = None


def index(
    source: Annotated[
        list[str] | None,
        "SOURCE",
        "Graphs (files, folders, globs, or - for standard input), or vectors made by grnf embed: a "
        "file, or a folder of shards.",
    ] = None,
    *,
    append: Annotated[bool, "Add to an existing index."] = False,
    delete: Annotated[Path | None, "File with one id per line: remove these graphs from the index."] = None,
    verify: Annotated[bool, "Check all files of an existing index against their checksums."] = False,
    keep_graphs: Annotated[bool, "Store the graphs too, to show hits and for --certified."] = False,
    space: Space = "joint",
    shrinkage: Annotated[
        float, "For whitened: share of the largest variance below which axes count less."
    ] = 0.01,
    job: Indexing,
) -> None:
    """Build an index of graphs for grnf search, or change one.

    The index is a folder of plain arrays with checksums, which are memory-mapped. Graphs are named by their
    ids, or by their positions in the file (the numbers continue when graphs are added).

    Examples:
      grnf index molecules.smi --output molecules.index
      grnf index more.csv --smiles-column Drug --append --output molecules.index
    """
    output, source = job.output, source or []
    if output is None:
        raise typer.BadParameter(
            "Missing --output: name the index folder, for example --output molecules.index."
        )
    require(
        bool(source) or delete is not None or verify,
        "give graphs or vectors to index, a file of ids to --delete, or --verify",
    )
    is_new = bool(source) and not append
    settings = keep_graphs or space != "joint" or job.like is not None or job.given()
    require(is_new or not settings, "the settings of an existing index are fixed")
    if is_new and output.exists():
        raise FileExistsError(f"{output} exists already: add to it with --append, or choose another name")
    from grnf.search import GraphIndex

    if is_new:
        job = job.as_in(*source)
        of_vectors = all(holds_vectors(name, job.format) for name in source)
        made = GraphIndex(
            job.in_space("joint") if space == "joint" and not of_vectors else None,
            space=space_of_vectors(space),
            shrinkage=shrinkage,
            keep_graphs=keep_graphs,
        )
        made.molecules_ = job.molecules
    else:
        made = GraphIndex.load(output, verify=verify)
        job = job.with_molecules_of(made.molecules_, output)
    before = len(made)
    if delete is not None:
        names = [line for line in delete.read_text(encoding="utf-8").splitlines() if line.strip()]
        absent = [name for name in names if name not in made]
        if absent:
            job.note(f"grnf: {len(absent)} ids are not in the index, the first is {absent[0]!r}")
        made.remove([name for name in names if name in made])
    removed = before - len(made)
    digest = _checksum(source)
    if digest is not None and digest in made.sources_:
        job.note(f"grnf: {output} holds the graphs of {', '.join(source)} already: nothing is added")
    elif source:
        _fill(made, source, job)
        made.sources_ = (*made.sources_, *([] if digest is None else [digest]))
    if source or delete is not None:
        made.save(output)
    added = len(made) - before + removed
    summary = {"output": str(output), "graphs": len(made), "added": added, "removed": removed}
    job.echo(summary, f"{output}: {made!r}, {added:,} added, {removed:,} removed")


def _checksum(sources: list[str]) -> str | None:
    """Return the checksum of files, by which a repeated command is recognized, or None for anything else."""
    digest = hashlib.sha256()
    for name in sources:
        if not Path(name).is_file():
            return None
        with open(name, "rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest() if sources else None


def _fill(made: GraphIndex, source: list[str], job: Indexing) -> None:
    """Add the vectors or graphs of a source."""
    from grnf.collection import is_fitted
    from grnf.estimators import fit_stream
    from grnf.estimators.transformer import FeatureTransformer

    if all(holds_vectors(name, job.format) for name in source):
        from grnf.io.vectors.read import vector_blocks

        if made.transformer is None:
            made.transformer = job.transformer_of(source[0])
        with progress("indexing", job.quiet) as advance:
            for block in vector_blocks(source, BLOCK):
                advance(len(block.ids))
                made.add(block.Z, block.ids)
        return
    bad: list[dict[str, Any]] = []
    with job.open(source) as graphs, progress(f"indexing {graphs.name}", job.quiet) as advance:
        if next(graphs.read(yield_bad=True), None) is None:
            raise GraphError("there are no graphs", where=graphs.name)
        if made.transformer is None:
            made.transformer = job.transformer()
        if isinstance(made.transformer, FeatureTransformer) and not is_fitted(made.transformer):
            fit_stream(made.transformer, (graph for *_, graph in graphs.usable(job.on_error, [])))
        start = 1 + max((int(name) for name in made.ids if name.isdecimal()), default=-1)
        items = graphs.usable(job.on_error, bad)
        while some := list(islice(items, BLOCK)):
            advance(len(some))
            ids = [str(start + at) if graph.graph_id is None else name for at, name, graph in some]
            made.add([graph for *_, graph in some], ids)
    job.report_bad(bad)
    require_graphs(len(made), len(bad), graphs.name)
