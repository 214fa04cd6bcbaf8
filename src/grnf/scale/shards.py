"""The unit of work: a shard, known by its ranges of the input files, is read, embedded and written.

A plan lists the shards of a run and everything that their vectors depend on. It is a file in the folder of
the run, so any process that sees the folder can compute any shard.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, lru_cache
from importlib import metadata
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np

from grnf import estimators
from grnf._utils.files import atomic_write, sealed, unsealed, written_aside
from grnf._version import __version__
from grnf.errors import DiskFullError, GraphError
from grnf.estimators import embed_stream
from grnf.io.files.ranges import Range, ranges_of, read_range
from grnf.io.files.reading import file_of, format_of, named_block, titles
from grnf.io.files.tables import table_of
from grnf.io.raw import Cell, RawBatch, sized
from grnf.io.vectors.blocks import Kind, Layout, VectorBlock, check_kind
from grnf.io.vectors.formats import append_parquet
from grnf.io.vectors.writer import PLAN, checksum, shard_file, work_folder

SHARED_SHARD_BYTES = 2**26
"""Files that cannot be cut share a shard up to this total size."""
PACKAGES = ("numpy", "numba", "pyarrow", "rdkit")
"""Further packages whose version may change the bytes that are written."""


@dataclass(frozen=True)
class Shard:
    """Graphs whose vectors go to one file: ranges of input files, one after the other."""

    number: int
    ranges: tuple[Range, ...]
    titles: tuple[str | None, ...]
    """Prefix of the ids of graphs that have none, for each range; None: their position alone."""

    @property
    def n_graphs(self) -> int | None:
        """The number of its graphs, or None if they were not counted."""
        counts = [each.count for each in self.ranges]
        return None if None in counts else sum(count or 0 for count in counts)

    def described(self) -> list[dict[str, Any]]:
        """Return where its graphs are, for people."""
        return [{"path": each.path, "first": each.first, "graphs": each.count} for each in self.ranges]


@dataclass(frozen=True)
class Plan:
    """All shards of a run, and what their vectors depend on."""

    run: Mapping[str, Any]
    """Settings, inputs with their checksums, sizes and versions, as JSON values."""
    shards: Sequence[Shard]
    layout: Layout
    transformer: str
    """The fitted transformer as JSON."""

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
        """The number of graphs, or None if they were not counted."""
        counts = [shard.n_graphs for shard in self.shards]
        return None if None in counts else sum(count or 0 for count in counts)


@dataclass(frozen=True)
class Job:
    """A shard to be computed."""

    folder: str
    """The folder of the shards, with the plan in it; every machine must see it by this name."""
    plan: str
    """Checksum of the plan."""
    number: int
    driver: int | None = None
    """The process that started the work, if it is the parent of the processes that do it."""


@dataclass(frozen=True)
class Outcome:
    """The result of a job.

    The fate is "finished" (with a record), or one of these with a reason:

    - "failed": it raised an error,
    - "died": its process ended,
    - "killed": it ended several processes and is not tried again,
    - "stopped": the run cannot continue, for example on a full disk,
    - "refused": this worker may not compute it.
    """

    number: int
    record: dict[str, Any] | None = None
    reason: str | None = None
    fate: str = "finished"


def versions() -> dict[str, str | None]:
    """Return the versions of this package and of others that may change the bytes, None for absent ones."""
    known: dict[str, str | None] = {"grnf": __version__}
    for name in PACKAGES:
        try:
            known[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            known[name] = None
    return known


def version_error(required: Mapping[str, str | None]) -> str | None:
    """Return why this process may not compute shards of a run: a package has another version here."""
    here = versions()
    for name, version in required.items():
        if here.get(name) != version:
            return f"{name} is {here.get(name)} here, and the run has {version}: install the same"
    return None


def shards_of(
    files: Sequence[Path], size: int, format: str | None, options: Mapping[str, Any]
) -> tuple[list[Shard], dict[str, dict[str, Any]]]:
    """Cut files into shards of up to `size` graphs. Return them, and the options of the reader of each file.

    The SMILES column of a table is determined here, since a range of the table might suggest another one.
    """
    names: list[str | None] = [None] if len(files) == 1 else [*titles(files)]
    reader_options: dict[str, dict[str, Any]] = {}
    groups: list[list[tuple[Range, str | None]]] = []
    load = 0.0
    for path, title in zip(files, names, strict=True):
        file, _ = file_of(path, format, options)
        own = dict(options)
        if format_of(file).name == "smiles" and "column" not in options:
            own["column"] = table_of(file).smiles_column()
        reader_options[str(path)] = own
        for each in ranges_of(file, size):
            weight = _weight(each, size)
            if not groups or load + weight > 1:
                groups.append([])
                load = 0.0
            groups[-1].append((each, title))
            load += weight
    shards = [
        Shard(number, tuple(each for each, _ in group), tuple(title for _, title in group))
        for number, group in enumerate(groups)
    ]
    return shards, reader_options


def _weight(each: Range, size: int) -> float:
    """Return how much of a shard a range takes."""
    if each.count is not None:
        return each.count / size
    path = Path(each.path)
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files) / SHARED_SHARD_BYTES


def read_shard(
    shard: Shard, options: Mapping[str, Mapping[str, Any]], block_size: int, *, yield_bad: bool
) -> Iterator[RawBatch | list[Any]]:
    """Yield the graphs of a shard `block_size` at a time, each with an id."""
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
    first = next((block for block, _ in embed_stream(transformer, islice(blocks, 1), on_error="nan")), None)
    if first is None:
        raise GraphError("the inputs hold no graphs")
    layout = Layout.of(first)
    texts = {name for name, own in first.columns.items() if any(isinstance(value, Cell) for value in own)}
    texts |= {"smiles", "graph_id"}
    kinds = {
        name: Kind("float" if kind.is_number and name not in texts else "string", True)
        for name, kind in layout.kinds.items()
    }
    if layout.kinds["y"].type is None:
        kinds["y"] = layout.kinds["y"]
    return replace(layout, n_rows=0, kinds=kinds)


class OrphanError(Exception):
    """The process that started the work is gone."""


def compute(job: Job) -> Outcome:
    """Compute a shard and write it. Failures are part of the outcome, not raised."""
    try:
        plan = _plan(job.folder, job.plan)
        different = version_error(plan.run["versions"])
        if different is not None:
            return Outcome(job.number, reason=different, fate="refused")
        return Outcome(job.number, _written(plan, plan.shards[job.number], job))
    except DiskFullError as error:
        return Outcome(job.number, reason=str(error), fate="stopped")
    except OrphanError:
        raise SystemExit(1) from None
    except Exception as error:
        kind = "" if isinstance(error, GraphError) else f"{type(error).__name__}: "
        return Outcome(job.number, reason=f"{kind}{error}", fate="failed")


@lru_cache(maxsize=4)
def _plan(folder: str, expected: str) -> Plan:
    path = work_folder(folder, single=False) / PLAN
    config = unsealed(path)
    if config is None:
        raise OSError(f"{path} is absent or damaged. Check that this computer can read the folder of the run")
    plan = Plan.from_config(config)
    if plan.checksum != expected:
        raise OSError(f"{path} is of another run")
    return plan


@lru_cache(maxsize=4)
def _transformer(text: str, kind: str) -> Any:
    return getattr(estimators, kind).from_json(text)


def _written(plan: Plan, shard: Shard, job: Job) -> dict[str, Any]:
    """Write the vectors of a shard, then the record that they are there."""
    run, layout = plan.run, plan.layout
    bad: list[dict[str, Any]] = []
    n_rows = 0

    def blocks() -> Iterator[VectorBlock]:
        nonlocal n_rows
        graphs = read_shard(
            shard, run["input"]["options"], run["block_size"], yield_bad=run["on_error"] != "raise"
        )
        transformer = _transformer(plan.transformer, run["transformer"])
        for block, failed in embed_stream(transformer, graphs, on_error=run["on_error"]):
            if job.driver is not None and os.getppid() != job.driver:
                raise OrphanError
            for name in layout.columns:
                check_kind(block.ids, name, block.column(name), layout.kinds[name])
            bad.extend({"graph_id": each.graph_id, "reason": each.reason} for each in failed)
            n_rows += len(block.ids)
            own = {name: values for name, values in block.columns.items() if name in layout.kinds}
            yield replace(block, columns=own)

    file = shard_file(shard.number)
    needed = (shard.n_graphs or 0) * layout.n_components * np.dtype(layout.dtype).itemsize
    with written_aside(Path(job.folder) / file, needed) as aside:
        append_parquet(aside, blocks(), layout)
        size, sha256 = checksum(aside)
    record = {"shard": shard.number, "file": file, "rows": n_rows, "bytes": size, "sha256": sha256}
    record |= {"from": shard.described(), "bad": bad}
    with atomic_write(work_folder(job.folder, single=False) / f"{shard.number:06d}.json") as text:
        text.write(sealed(record))
    return record
