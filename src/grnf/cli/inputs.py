"""What commands read: a file of graphs or vectors as a `Collection`."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import chain, islice
from typing import TYPE_CHECKING, Annotated, Any

import typer

from grnf.cli.options import (
    Input,
    LikeFeatures,
    Run,
    check_format,
    require,
)
from grnf.cli.source import Source, open_source
from grnf.cli.tell import counted, progress, tell_bad
from grnf.errors import GraphError

if TYPE_CHECKING:
    from grnf.collection import Collection
    from grnf.estimators import GRNF

__all__ = [
    "Sample",
    "graphs_of",
    "holds_vectors",
    "load_vectors",
    "read_collection",
    "read_collections",
    "tell_errors",
]

Sample = Annotated[str, typer.Argument(help="Graphs (- for standard input), or vectors made by grnf embed.")]


def holds_vectors(name: str, format: str | None) -> bool:
    """Return whether a file holds vectors, by `--format vectors` or by its content."""
    from grnf.io import vectors

    return format == "vectors" or (format is None and vectors.holds_vectors(name))


def read_collection(name: str, reading: Input, run: Run) -> Collection:
    """Read a file of graphs or vectors; with ``--on-error skip``, bad graphs are left out and reported."""
    if holds_vectors(name, reading.format):
        return _vectors(name)
    check_format(reading.format, name)
    with open_source(name, reading.format) as source:
        found = graphs_of(source, reading, run)
    tell_errors(found, reading, run)
    if not len(found):
        usable = " that can be used" if found.errors else ""
        raise GraphError(f"there are no graphs{usable}", where=name)
    return found


def read_collections(names: Sequence[str], reading: Input, run: Run) -> list[Collection]:
    """Read several files of graphs or vectors, of which one may be standard input."""
    require(list(names).count("-") <= 1, "standard input (-) can be read only once")
    return [read_collection(name, reading, run) for name in names]


def graphs_of(source: Source, reading: Input, run: Run, **options: Any) -> Collection:
    """Read all graphs of a source; with ``--on-error skip``, bad ones are left out.

    Further options are those of the reader.
    """
    import numpy as np

    from grnf.collection import Collection
    from grnf.io.raw import BadGraph

    graphs, rows, names, errors = [], [], [], []
    with progress(f"reading {source.name}", run.quiet) as advance:
        items = counted(source.read(yield_bad=reading.on_error == "skip", **options), advance)
        for row, item in enumerate(items):
            names.append(item.graph_id)
            if isinstance(item, BadGraph):
                errors.append((row, item.reason))
            else:
                graphs.append(item)
                rows.append(row)
    places = np.array(rows, dtype=np.int64)
    return Collection(len(names), places, errors, graphs=graphs, names=names, name=source.name)


def tell_errors(found: Collection, reading: Input, run: Run) -> None:
    """Report the graphs that could not be used."""
    ids = found.all_ids if found.errors else []
    bad = [{"graph_id": ids[row], "reason": reason} for row, reason in found.errors]
    tell_bad(bad, reading.on_error, run.quiet)


def load_vectors(names: Sequence[str], reading: Input, features: LikeFeatures, run: Run) -> list[Collection]:
    """Return the vectors of one or two files; graphs are embedded with the transformer of the vectors.

    Graphs are embedded block by block: only their vectors and names are held in memory.
    """
    from grnf.estimators.streams import FIRST, fit_stream

    vectors = {name: _vectors(name) for name in names if holds_vectors(name, reading.format)}
    sources: dict[str, Source] = {}
    with ExitStack() as stack:
        for name in names:
            if name not in vectors:
                check_format(reading.format, name)
                sources[name] = stack.enter_context(open_source(name, reading.format))
        grnf: Any = _transformer(list(vectors), features)
        if sources and grnf is None:
            raise GraphError(
                "the transformer that made the vectors is not known",
                where=", ".join(names),
                cure="Pass it with --like",
            )
        if sources and not hasattr(grnf, "n_components_"):
            shown = FIRST // len(sources)
            read = (source.read(yield_bad=reading.on_error == "skip") for source in sources.values())
            fit_stream(
                grnf, chain.from_iterable(islice(one, shown) for one in read), on_error=reading.on_error
            )
        made = {name: _embedded(source, grnf, reading, run) for name, source in sources.items()}
    made |= {name: replace(each, transformer=grnf) for name, each in vectors.items()}
    found = [made[name] for name in names]
    one, two = found[0], found[-1]
    if one.vectors.shape[1] != two.vectors.shape[1]:
        raise GraphError(
            f"{one.name} has vectors of length {one.vectors.shape[1]} and {two.name} of length "
            f"{two.vectors.shape[1]}",
            cure="Make both with the same transformer",
        )
    return found


def _vectors(name: str) -> Collection:
    from grnf.collection import collect
    from grnf.io.vectors import read_vectors

    vectors = read_vectors(name)
    Z = vectors.Z if vectors.Z.dtype.kind == "f" else vectors.Z.astype(float)
    return collect(Z, name=name, ids=vectors.ids)


def _transformer(vectors: Sequence[str], features: LikeFeatures) -> GRNF | None:
    """Return the transformer of the vectors among the files, or the one with the given settings."""
    if not vectors:
        return features.transformer()
    made = [features.transformer_of(name) for name in vectors]
    known = [one for one in made if one is not None]
    if len(known) == 2 and known[0].to_json() != known[1].to_json():
        raise GraphError(f"{vectors[0]} and {vectors[1]} were made by different transformers")
    return known[0] if known else None


def _embedded(source: Source, grnf: Any, reading: Input, run: Run) -> Collection:
    """Embed the graphs of a source block by block."""
    import numpy as np

    from grnf.collection import collect
    from grnf.estimators import embed_stream

    ids: list[str] = []
    bad: list[dict[str, Any]] = []
    blocks = []
    with progress(f"embedding {source.name}", run.quiet) as advance:
        graphs = counted(source.read(yield_bad=reading.on_error == "skip"), advance)
        for block, failed in embed_stream(grnf, graphs, on_error="skip"):
            if failed and reading.on_error == "raise":
                raise GraphError(failed[0].reason, index=failed[0].index, where=source.name)
            ids += block.ids
            bad += [{"graph_id": graph.graph_id, "reason": graph.reason} for graph in failed]
            blocks.append(block.Z)
    tell_bad(bad, reading.on_error, run.quiet)
    if not ids:
        raise GraphError(f"there are no graphs{' that can be used' if bad else ''}", where=source.name)
    found = collect(np.concatenate(blocks), name=source.name, ids=ids)
    return replace(found, transformer=grnf)
