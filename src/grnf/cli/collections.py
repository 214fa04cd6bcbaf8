"""Vectors of one or two collections for `grnf distances` and `grnf kernel`: read, or made from graphs."""

from __future__ import annotations

import json
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer

from grnf.cli.options import check_format, make_transformer
from grnf.cli.source import Source, open_source
from grnf.cli.tell import progress, tell_bad
from grnf.errors import GraphError

if TYPE_CHECKING:
    from grnf import GRNF
    from grnf.collection import Collection
    from grnf.io.vectors import Vectors

__all__ = ["load_collections"]


def load_collections(
    first: str,
    second: str | None,
    *,
    format: str | None,
    like: Path | None,
    settings: dict[str, Any],
    quiet: bool,
    on_error: Literal["raise", "skip"] = "raise",
) -> list[Collection]:
    """Return both collections, or one where no second is named.

    Graphs beside vectors are embedded by the transformer that made the vectors. With on_error="skip", graphs
    that cannot be used are left out, and told.
    """
    from grnf.estimators import fit_stream

    names = [first] if second is None else [first, second]
    if format != "vectors":
        for name in names:
            check_format(format, name)
    files = {name: _vectors(name, format) for name in names}
    grnf = _transformer(files, like, settings)
    with ExitStack() as stack:
        sources = {
            name: stack.enter_context(open_source(name, format)) for name in files if files[name] is None
        }
        if sources and grnf is None:
            raise GraphError(
                f"{names[0]}, {names[1]}: what made the vectors is not known; say it with --like"
            )
        if grnf is not None and not hasattr(grnf, "n_components_"):
            for source in sources.values():
                source.require_graphs()
            read = (source.read(yield_bad=on_error == "skip") for source in sources.values())
            fit_stream(grnf, chain.from_iterable(read), on_error=on_error)
        loaded = [_collection(name, files[name], sources.get(name), grnf, quiet, on_error) for name in names]
    one, two = loaded[0], loaded[-1]
    widths = [found.vectors.shape[1] for found in (one, two)]
    if widths[0] != widths[1]:
        raise GraphError(
            f"{one.name} has vectors of length {widths[0]} and {two.name} of length {widths[1]}: both must "
            "come from one transformer"
        )
    return loaded


def _vectors(name: str, format: str | None) -> Vectors | None:
    """Read vectors, or return None if `name` holds graphs."""
    from grnf.io.vectors import holds_vectors, read_vectors

    if format == "vectors" or (format is None and holds_vectors(name)):
        return read_vectors(name)
    return None


def _transformer(
    files: dict[str, Vectors | None], like: Path | None, settings: dict[str, Any]
) -> GRNF | None:
    """Return the transformer of the vectors among the files, or the one that the options ask for."""
    from grnf import GRNF
    from grnf.io.vectors import side_file

    made = [name for name, vectors in files.items() if vectors is not None]
    if not made or like is not None:
        return make_transformer(like, settings)
    given = [f"--{name.replace('_', '-')}" for name, value in settings.items() if value is not None]
    if given:
        raise typer.BadParameter(f"{', '.join(given)}: {made[0]} holds vectors, whose settings are fixed")
    known = [side_file(name) for name in made if side_file(name).exists()]
    recorded = [json.loads(path.read_text(encoding="utf-8"))["transformer"] for path in known]
    if len(recorded) == 2 and recorded[0] != recorded[1]:
        raise GraphError(f"{made[0]} and {made[1]} were made by different transformers")
    return GRNF.load(known[0]) if known else None


def _collection(
    name: str,
    vectors: Vectors | None,
    source: Source | None,
    grnf: GRNF | None,
    quiet: bool,
    on_error: Literal["raise", "skip"],
) -> Collection:
    """Return vectors as they were read, or made from the graphs of a source."""
    import numpy as np

    from grnf.collection import Collection
    from grnf.estimators import embed_stream

    if vectors is not None:
        Z, ids = vectors.Z, vectors.ids
        return Collection(len(Z), np.arange(len(Z)), vectors=Z, names=ids, transformer=grnf, name=name)
    if source is None or grnf is None:
        raise GraphError(f"{name} holds neither vectors nor graphs")
    ids = []
    blocks, bad = [], []
    with progress(f"embedding {source.name}", quiet) as advance:
        read = source.read(yield_bad=on_error == "skip")
        for block, failed in embed_stream(grnf, read, on_error=on_error):
            ids += block.ids
            blocks.append(block.Z)
            bad += [{"graph_id": graph.graph_id, "reason": graph.reason} for graph in failed]
            advance(len(block.ids))
    tell_bad(bad, on_error, quiet)
    if not ids:
        raise GraphError(f"{source.name} holds no graphs" + (" that can be used" if bad else ""))
    places, Z = np.arange(len(ids)), np.concatenate(blocks)
    return Collection(len(ids), places, vectors=Z, names=ids, transformer=grnf, name=source.name)
