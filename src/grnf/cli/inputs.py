"""What commands read: a file of graphs or vectors as a `Collection`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from grnf.cli.options import check_format, make_transformer
from grnf.cli.source import Source, open_source
from grnf.cli.tell import progress, tell_bad
from grnf.errors import GraphError

if TYPE_CHECKING:
    from grnf import GRNF
    from grnf.collection import Collection

__all__ = [
    "OnError",
    "graphs_of",
    "holds_vectors",
    "load_vectors",
    "read_collection",
    "read_collections",
    "tell_errors",
]


OnError = Annotated[
    Literal["raise", "skip"],
    typer.Option(help="What to do about a graph that cannot be used: stop, or leave it out and report it."),
]


def holds_vectors(name: str, format: str | None) -> bool:
    """Whether a file holds vectors, as `--format vectors` or its content tells."""
    from grnf.io import vectors

    return format == "vectors" or (format is None and vectors.holds_vectors(name))


def read_collection(
    name: str, format: str | None = None, *, on_error: str = "raise", quiet: bool = False
) -> Collection:
    """Read a file of graphs or vectors; with ``on_error="skip"``, bad graphs are left out and reported."""
    found = _read(name, format, on_error, quiet)
    tell_errors(found, on_error, quiet)
    return found


def read_collections(
    names: Sequence[str], format: str | None = None, *, on_error: str = "raise", quiet: bool = False
) -> list[Collection]:
    """Read several files of graphs or vectors, of which one may be standard input."""
    if list(names).count("-") > 1:
        raise typer.BadParameter("standard input can be read only once: give a file for the other")
    return [read_collection(name, format, on_error=on_error, quiet=quiet) for name in names]


def _read(name: str, format: str | None, on_error: str, quiet: bool) -> Collection:
    from grnf.collection import collect
    from grnf.io.vectors import read_vectors

    if holds_vectors(name, format):
        vectors = read_vectors(name)
        Z = vectors.Z if vectors.Z.dtype.kind == "f" else vectors.Z.astype(float)
        return collect(Z, name=name, ids=vectors.ids)
    check_format(format, name)
    with open_source(name, format) as source:
        found = graphs_of(source, on_error, quiet)
    if not len(found):
        tell_errors(found, on_error, quiet)
        raise GraphError(
            "there are no graphs" + (" that can be used" if found.errors else ""), where=found.name
        )
    return found


def graphs_of(source: Source, on_error: str, quiet: bool) -> Collection:
    """Read all graphs of a source, which may be none; with ``on_error="skip"``, bad ones are left out."""
    import numpy as np

    from grnf.collection import Collection
    from grnf.io import BadGraph

    graphs, rows, names, errors = [], [], [], []
    with progress(f"reading {source.name}", quiet) as advance:
        for row, item in enumerate(source.read(yield_bad=on_error == "skip")):
            names.append(item.graph_id)
            if isinstance(item, BadGraph):
                errors.append((row, item.reason))
            else:
                graphs.append(item)
                rows.append(row)
            advance(1)
    places = np.array(rows, dtype=np.int64)
    return Collection(len(names), places, errors, graphs=graphs, names=names, name=source.name)


def tell_errors(found: Collection, on_error: str, quiet: bool) -> None:
    """Report the graphs that could not be used."""
    if found.errors:
        ids = found.all_ids
        bad = [{"graph_id": ids[row], "reason": reason} for row, reason in found.errors]
        tell_bad(bad, on_error, quiet)


def load_vectors(
    names: Sequence[str],
    *,
    format: str | None,
    like: Path | None,
    settings: dict[str, Any],
    on_error: Literal["raise", "skip"] = "raise",
    quiet: bool = False,
) -> list[Collection]:
    """Return the vectors of one or two files; graphs are embedded with the transformer of the vectors.

    Parameters
    ----------
    names : sequence of str
    format, like, settings
        Options of the command; settings that are None were not given.
    on_error : "raise" or "skip"
        With "skip", graphs that cannot be used are left out and reported.
    quiet : bool
    """
    from dataclasses import replace

    from grnf.collection import vectors_of

    given = [_read(name, format, on_error, quiet) for name in names]
    grnf = _transformer(given, like, settings)
    graphs = [each for each in given if each.graphs is not None]
    if graphs and grnf is None:
        raise GraphError(
            "the transformer that made the vectors is not known",
            where=", ".join(names),
            cure="Pass it with --like",
        )
    if graphs and not hasattr(grnf, "n_components_"):
        _fit(grnf, graphs, on_error)
    found = []
    for each in given:
        if each.graphs is not None:
            found.append(vectors_of(each, grnf, on_error=on_error))
            tell_errors(found[-1], on_error, quiet)
        else:
            found.append(replace(each, transformer=grnf))
    one, two = found[0], found[-1]
    if one.vectors.shape[1] != two.vectors.shape[1]:
        raise GraphError(
            f"{one.name} has vectors of length {one.vectors.shape[1]} and {two.name} of length "
            f"{two.vectors.shape[1]}",
            cure="Make both with the same transformer",
        )
    return found


def _fit(grnf: Any, collections: Sequence[Collection], on_error: str) -> None:
    """Fit a transformer on the graphs of all collections."""
    owners = [(each, row) for each in collections for row in each.rows.tolist()]
    try:
        grnf.set_params(on_error=on_error).fit([graph for each in collections for graph in each.graphs])
    except GraphError as error:
        if error.index is None:
            raise
        owner, row = owners[error.index]
        raise GraphError(error.reason, index=row, where=owner.name, cure=error.cure) from None


def _transformer(given: Sequence[Collection], like: Path | None, settings: dict[str, Any]) -> GRNF | None:
    """Return the transformer of the vectors among the files, or the one that the options ask for."""
    from grnf import GRNF
    from grnf.io.vectors import side_file

    made = [each.name for each in given if each.graphs is None]
    if not made or like is not None:
        return make_transformer(like, settings)
    options = [f"--{name.replace('_', '-')}" for name, value in settings.items() if value is not None]
    if options:
        raise typer.BadParameter(f"{', '.join(options)}: {made[0]} holds vectors, whose settings are fixed")
    known = [side_file(name) for name in made if side_file(name).exists()]
    recorded = [json.loads(path.read_text(encoding="utf-8"))["transformer"] for path in known]
    if len(recorded) == 2 and recorded[0] != recorded[1]:
        raise GraphError(f"{made[0]} and {made[1]} were made by different transformers")
    return GRNF.load(known[0]) if known else None
