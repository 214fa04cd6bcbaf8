"""What is to be computed: shards, each known by its place in the inputs, and all that they depend on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from importlib import metadata
from itertools import chain, islice
from pathlib import Path
from typing import Any

from grnf import __version__
from grnf._utils.files import is_pipe
from grnf.errors import GraphError
from grnf.estimators import embed_stream
from grnf.io.batch import RawBatch, sized
from grnf.io.cells import Cell
from grnf.io.files.file import File
from grnf.io.files.formats import FORMATS
from grnf.io.files.ranges import Range, ranges_of, read_range
from grnf.io.files.reading import Inputs, file_of, format_of, input_paths, named_block, titles
from grnf.io.files.tables import table_of
from grnf.io.files.tu import is_tu_folder
from grnf.io.vectors.blocks import Kind, survey

__all__ = ["Plan", "Shard", "data_files", "kinds_of", "read_shard", "shards_of", "versions"]

BYTES = 2**26
"""Files that cannot be cut share a shard up to this size together."""
GUESTS = ("numpy", "numba", "pyarrow", "rdkit")
"""Packages beside this one that have a say in the bytes that are written."""


@dataclass(frozen=True)
class Shard:
    """Graphs whose vectors go to one file: ranges of files, one after the other.

    Parameters
    ----------
    number : int
    ranges : tuple of Range
    titles : tuple of str or None
        What graphs without a name are called after; None: by their place alone.
    """

    number: int
    ranges: tuple[Range, ...]
    titles: tuple[str | None, ...]

    @property
    def file(self) -> str:
        """The name of the file of its vectors, which follows from its place."""
        return f"shard-{self.number:06d}.parquet"

    @property
    def n_graphs(self) -> int | None:
        """How many graphs it has; None where nobody has counted."""
        counts = [each.count for each in self.ranges]
        return None if None in counts else sum(count for count in counts if count is not None)

    def described(self) -> list[dict[str, Any]]:
        """Return where its graphs stand, for people."""
        return [{"path": each.path, "first": each.first, "graphs": each.count} for each in self.ranges]


@dataclass(frozen=True)
class Plan:
    """All shards of a run, and what their vectors depend on.

    Parameters
    ----------
    run : mapping
        Settings, inputs with their checksums, sizes and versions, as JSON values.
    shards : sequence of Shard
    kinds : mapping from name to Kind
        Columns beside the vectors.
    transformer : str
        The fitted transformer as JSON, as `GRNF.save` writes it.
    """

    run: Mapping[str, Any]
    shards: Sequence[Shard]
    kinds: Mapping[str, Kind]
    transformer: str

    def to_text(self) -> str:
        """Return the plan as JSON."""
        content = {
            "run": self.run,
            "kinds": {name: asdict(kind) for name, kind in self.kinds.items()},
            "transformer": self.transformer,
            "shards": [[asdict(each) for each in shard.ranges] for shard in self.shards],
            "titles": [shard.titles for shard in self.shards],
        }
        return json.dumps(content)

    @classmethod
    def from_text(cls, text: str) -> Plan:
        """Return a plan that was written as JSON."""
        content = json.loads(text)
        shards = [
            Shard(number, tuple(Range(**each) for each in ranges), tuple(own))
            for number, (ranges, own) in enumerate(zip(content["shards"], content["titles"], strict=True))
        ]
        kinds = {name: Kind(**kind) for name, kind in content["kinds"].items()}
        return cls(content["run"], shards, kinds, content["transformer"])

    @cached_property
    def checksum(self) -> str:
        """Tells plans apart."""
        return hashlib.sha256(self.to_text().encode()).hexdigest()

    @property
    def n_graphs(self) -> int | None:
        """How many graphs there are; None where nobody has counted."""
        counts = [shard.n_graphs for shard in self.shards]
        return None if None in counts else sum(count for count in counts if count is not None)


def versions() -> dict[str, str | None]:
    """Return the versions of this package and of those that have a say in the bytes, None if absent.

    Examples
    --------
    >>> sorted(versions())
    ['grnf', 'numba', 'numpy', 'pyarrow', 'rdkit']
    """
    found: dict[str, str | None] = {"grnf": __version__}
    for name in GUESTS:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = None
    return found


def data_files(inputs: Inputs) -> list[Path]:
    """Return all files of the inputs; TU folders stay whole, of other folders all files of known formats."""
    found: list[Path] = []
    for path in input_paths(inputs):
        if str(path) == "-" or is_pipe(path):
            raise GraphError(
                f"{path} can be read only once, and shards are read by several processes, perhaps again: "
                "save it as a file first"
            )
        if path.is_dir() and not is_tu_folder(path):
            found += _files_of(path)
        else:
            found.append(path)
    return found


def _files_of(folder: Path) -> list[Path]:
    known = {suffix for entry in FORMATS.values() for suffix in entry.suffixes}
    files = sorted(
        file
        for file in folder.iterdir()
        if file.is_file() and not file.name.startswith((".", "_")) and known & set(file.suffixes[-2:])
    )
    if not files:
        raise GraphError(f"{folder} has no files of a format that is known")
    return files


def shards_of(
    files: Sequence[Path], size: int, format: str | None, options: Mapping[str, Any]
) -> tuple[list[Shard], dict[str, dict[str, Any]]]:
    """Cut files into shards of up to `size` graphs; return them, and what the reader of each file is told.

    The column of SMILES of a table is settled here, since a range of it might be read otherwise.
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
    shard: Shard, told: Mapping[str, Mapping[str, Any]], block_size: int, *, yield_bad: bool
) -> Iterator[RawBatch | list[Any]]:
    """Yield the graphs of a shard `block_size` at a time, each with a name."""
    return sized(_named(shard, told, block_size, yield_bad), block_size)


def _named(
    shard: Shard, told: Mapping[str, Mapping[str, Any]], block_size: int, yield_bad: bool
) -> Iterator[RawBatch | list[Any]]:
    for each, title in zip(shard.ranges, shard.titles, strict=True):
        place = each.first
        settings: Any = {"on_error": "yield" if yield_bad else "raise", "block_size": block_size}
        for block in read_range(each, **settings, **told[each.path]):
            yield named_block(block, title, place)
            place += len(block)


def kinds_of(
    transformer: Any, shards: Sequence[Shard], told: Mapping[str, Mapping[str, Any]], count: int
) -> dict[str, Kind]:
    """Return the columns beside the vectors, as the first graphs show them.

    Numbers are float64 and all else text, so that it does not matter which ones come first; so are columns of
    tables that are texts themselves.
    """
    blocks = chain.from_iterable(read_shard(shard, told, count, yield_bad=True) for shard in shards)
    first = list(islice(blocks, 1))
    made = [block for block, _ in embed_stream(transformer, first, on_error="nan")]
    if not made:
        raise GraphError("the inputs hold no graphs")
    found = survey(made)
    kinds = {"y": found.y, **found.columns} if found.y.type is not None else dict(found.columns)
    cells = {name for name, own in made[0].columns.items() if any(isinstance(value, Cell) for value in own)}
    return {name: _widened(kind, name in cells or name == "smiles") for name, kind in kinds.items()}


def _widened(kind: Kind, is_text: bool) -> Kind:
    numbers = kind.type in ("int", "float") and not is_text
    return Kind("float" if numbers else "string", True, 0)
