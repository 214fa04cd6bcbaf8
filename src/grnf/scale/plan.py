"""What is to be computed: shards, each known by its place in the inputs, and what their vectors depend on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from importlib import metadata
from itertools import chain, islice
from pathlib import Path
from typing import Any

from grnf._version import __version__
from grnf.errors import GraphError
from grnf.estimators import embed_stream
from grnf.io.files.file import File
from grnf.io.files.ranges import Range, ranges_of, read_range
from grnf.io.files.reading import file_of, format_of, named_block, titles
from grnf.io.files.tables import table_of
from grnf.io.raw import Cell, RawBatch, sized
from grnf.io.vectors.blocks import Kind, Layout
from grnf.io.vectors.writer import shard_file

__all__ = ["Plan", "Shard", "layout_of", "read_shard", "shards_of", "versions"]

BYTES = 2**26
"""Files that cannot be cut share a shard up to this total size."""
OTHERS = ("numpy", "numba", "pyarrow", "rdkit")
"""Further packages whose version may change the bytes that are written."""


@dataclass(frozen=True)
class Shard:
    """Graphs whose vectors go to one file: ranges of input files, one after the other.

    Parameters
    ----------
    number : int
    ranges : tuple of Range
    titles : tuple of str or None
        Prefix of the names of graphs that have none; None: their position alone.
    """

    number: int
    ranges: tuple[Range, ...]
    titles: tuple[str | None, ...]

    @property
    def file(self) -> str:
        """The name of the file of its vectors."""
        return shard_file(self.number)

    @property
    def n_graphs(self) -> int | None:
        """The number of its graphs; None if they were not counted."""
        return _total([each.count for each in self.ranges])

    def described(self) -> list[dict[str, Any]]:
        """Return where its graphs are, for people."""
        return [{"path": each.path, "first": each.first, "graphs": each.count} for each in self.ranges]


@dataclass(frozen=True)
class Plan:
    """All shards of a run, and what their vectors depend on.

    Parameters
    ----------
    run : mapping
        Settings, inputs with their checksums, sizes and versions, as JSON values.
    shards : sequence of Shard
    layout : Layout
        Length and type of the vectors, and the columns.
    transformer : str
        The fitted transformer as JSON.
    """

    run: Mapping[str, Any]
    shards: Sequence[Shard]
    layout: Layout
    transformer: str

    def to_config(self) -> dict[str, Any]:
        """Return the plan as JSON values."""
        shards = [[[asdict(each) for each in shard.ranges], list(shard.titles)] for shard in self.shards]
        content = {"run": self.run, "layout": self.layout.to_config(), "transformer": self.transformer}
        return {**content, "shards": shards}

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Plan:
        """Return the plan that `to_config` described."""
        shards = [
            Shard(number, tuple(Range(**each) for each in ranges), tuple(own))
            for number, (ranges, own) in enumerate(config["shards"])
        ]
        return cls(config["run"], shards, Layout.from_config(config["layout"]), config["transformer"])

    @cached_property
    def checksum(self) -> str:
        """A checksum that differs between plans."""
        return hashlib.sha256(json.dumps(self.to_config(), sort_keys=True).encode()).hexdigest()

    @property
    def n_graphs(self) -> int | None:
        """The number of graphs; None if they were not counted."""
        return _total([shard.n_graphs for shard in self.shards])


def _total(counts: Sequence[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None


def versions() -> dict[str, str | None]:
    """Return the versions of this package and of others that may change the bytes, None for absent ones.

    Examples
    --------
    >>> sorted(versions())
    ['grnf', 'numba', 'numpy', 'pyarrow', 'rdkit']
    """
    found: dict[str, str | None] = {"grnf": __version__}
    for name in OTHERS:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = None
    return found


def shards_of(
    files: Sequence[Path], size: int, format: str | None, options: Mapping[str, Any]
) -> tuple[list[Shard], dict[str, dict[str, Any]]]:
    """Cut files into shards of up to `size` graphs; return them, and the options of the reader of each file.

    The SMILES column of a table is determined here, since a range of the table might suggest another one.
    """
    names: list[str | None] = [None] if len(files) == 1 else [*titles(files)]
    shards: list[Shard] = []
    told: dict[str, dict[str, Any]] = {}
    waiting: list[tuple[Range, str | None]] = []
    load = 0.0

    def close() -> None:
        nonlocal load
        if waiting:
            ranges, own = zip(*waiting, strict=True)
            shards.append(Shard(len(shards), ranges, own))
        waiting.clear()
        load = 0.0

    for path, title in zip(files, names, strict=True):
        file, _ = file_of(path, format, options)
        told[str(path)] = _options(file, options)
        for each in ranges_of(file, size):
            weight = _weight(each, size)
            if load + weight > 1:
                close()
            waiting.append((each, title))
            load += weight
    close()
    return shards, told


def _weight(each: Range, size: int) -> float:
    """Return how much of a shard a range takes."""
    if each.count is not None:
        return each.count / size
    path = Path(each.path)
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files) / BYTES


def _options(file: File, options: Mapping[str, Any]) -> dict[str, Any]:
    if format_of(file).name != "smiles" or "column" in options:
        return dict(options)
    return {**options, "column": table_of(file).smiles_column()}


def read_shard(
    shard: Shard, options: Mapping[str, Mapping[str, Any]], block_size: int, *, yield_bad: bool
) -> Iterator[RawBatch | list[Any]]:
    """Yield the graphs of a shard `block_size` at a time, each with a name."""
    settings: Any = {"on_error": "yield" if yield_bad else "raise", "block_size": block_size}

    def named() -> Iterator[RawBatch | list[Any]]:
        for each, title in zip(shard.ranges, shard.titles, strict=True):
            place = each.first
            for block in read_range(each, **settings, **options[each.path]):
                yield named_block(block, title, place)
                place += len(block)

    return sized(named(), block_size)


def layout_of(
    transformer: Any, shards: Sequence[Shard], options: Mapping[str, Mapping[str, Any]], count: int
) -> Layout:
    """Return the layout of all shards, as the first `count` graphs show it.

    Numbers become float64 and everything else text, so the result does not depend on which graphs come first.
    Columns of text tables are text, too.
    """
    blocks = chain.from_iterable(read_shard(shard, options, count, yield_bad=True) for shard in shards)
    made = [block for block, _ in embed_stream(transformer, islice(blocks, 1), on_error="nan")]
    if not made:
        raise GraphError("the inputs hold no graphs")
    found = Layout.of_all(made)
    texts = {name for name, own in made[0].columns.items() if any(isinstance(value, Cell) for value in own)}
    kinds = {
        name: kind
        if name == "y" and kind.type is None
        else Kind(
            "float" if kind.is_number and name not in {*texts, "smiles", "graph_id"} else "string", True
        )
        for name, kind in found.kinds.items()
    }
    return replace(found, n_rows=0, kinds=kinds)
