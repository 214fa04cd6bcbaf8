"""Graphs in files to vectors in a file or a folder of shards: a run from its plan to its settings."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

from joblib import effective_n_jobs, parallel_config
from sklearn.base import clone

from grnf._utils.rules import Int, OneOf, checked
from grnf._version import __version__
from grnf.collection import ON_ERROR
from grnf.errors import DiskFullError, GraphError
from grnf.estimators import GRNF, embed_stream, fit_stream
from grnf.estimators.transformer import plain_params
from grnf.io.files.reading import Inputs
from grnf.io.vectors.blocks import arrow
from grnf.io.vectors.formats import FORMAT, MANIFEST, VERSION
from grnf.io.vectors.writer import ShardWriter, side_file
from grnf.scale.inputs import RunInputs
from grnf.scale.plan import Plan, layout_of, read_shard, shards_of, versions
from grnf.scale.work import Engine, Job, Outcome, Processes, ThisProcess, forget
from grnf.typing import OnError

__all__ = ["Report", "embed", "is_vector_file", "planned_run"]

TRIES = 3
"""Times that a shard may fail before it is set aside."""


@dataclass(frozen=True)
class Report:
    """The result of a run.

    Parameters
    ----------
    output, settings : Path
        The vectors, and the file of their settings.
    n_graphs, n_components : int
    n_shards : int
    computed : list of int
        Shards that this run computed; the others were finished before.
    set_aside : list of dict
        Shards that failed three times, with the reasons.
    bad : list of dict
        Graphs that could not be used, unless `on_error` is "raise".
    """

    output: Path
    settings: Path
    n_graphs: int
    n_components: int
    n_shards: int
    computed: list[int]
    set_aside: list[dict[str, Any]]
    bad: list[dict[str, Any]]


def _nothing(*_: Any) -> None:
    pass


def is_vector_file(output: str | os.PathLike[str]) -> bool:
    """Return whether an output is a single file: its name has a suffix, and it is not a folder.

    Examples
    --------
    >>> is_vector_file("z.parquet"), is_vector_file("vectors"), is_vector_file("my.vectors/")
    (True, False, False)
    """
    return bool(Path(output).suffix) and not os.fspath(output).endswith("/") and not Path(output).is_dir()


def embed(
    inputs: Inputs | RunInputs,
    output: str | os.PathLike[str],
    transformer: Any = None,
    *,
    format: str | None = None,
    options: Mapping[str, Any] | None = None,
    shard_size: int = 32_768,
    block_size: int = 1024,
    on_error: OnError = "raise",
    n_jobs: int | None = None,
    dask: Any = None,
    resume: bool = False,
    force: bool = False,
    advance: Callable[[int, int | None], Any] = _nothing,
    note: Callable[[str], Any] = _nothing,
) -> Report:
    """Embed the graphs of files, shard by shard, into a vector file or a folder of Parquet files.

    A finished shard is on the disk with a checksum. An interrupted run continues with `resume`: it repeats
    only unfinished shards, and gives the same bytes as a run that was not interrupted. In a folder, a shard
    that fails three times, or kills its process, is set aside with its reason, and the others are computed.
    In a single file the shards are blocks, written in their order; a failure ends the run.

    Parameters
    ----------
    inputs : path, glob, or several
        As in `grnf.io.read_graphs`. For a folder, Parquet, SMILES tables, .smi, JSON lines and graph6 are cut
        into shards; files of other formats are one shard each, small ones together.
    output : path
        A file whose name ends in .parquet, .npy, .npz or .csv, or a folder.
    transformer : GRNF or ReweightedGRNF, optional
        One that is not fitted is fitted on the first graphs (on all, if its vocabulary is closed).
    format, options : optional
        Format of the inputs and options of its reader, as in `grnf.io.read_graphs`.
    shard_size : int, default=32768
        Graphs per shard of a folder.
    block_size : int, default=1024
        Graphs that are held in memory at a time; a row group each.
    on_error : "raise", "nan" or "skip", default="raise"
        A graph that cannot be used: its shard fails, it gets a row of NaN, or it is left out.
    n_jobs : int, optional
        For a folder, processes, as in joblib; None or 1: this one. With `dask=True`, workers; None: one per
        core. For a file, threads.
    dask : True, str or distributed.Client, optional
        For a folder, compute on a cluster: a new one on this machine, that of a scheduler's address, or that
        of a client. All its machines must see inputs and folder under the same names.
    resume : bool, default=False
        Continue an interrupted run, if there is one.
    force : bool, default=False
        Replace an existing output.
    advance : callable, optional
        advance(graphs, total) is called with each finished shard; total is None if it is not known.
    note : callable, optional
        note(text) is called with messages for the user.

    Examples
    --------
    >>> import tempfile
    >>> from grnf import GRNF, Graph
    >>> from grnf.io import write_graphs
    >>> home = Path(tempfile.mkdtemp())
    >>> for name in "ab":
    ...     _ = write_graphs(home / f"{name}.g6", [Graph(n, [(0, 1)]) for n in range(2, 6)])
    >>> report = embed(home / "*.g6", home / "vectors", GRNF(8, random_state=0), shard_size=3)
    >>> report.n_graphs, report.n_shards
    (8, 4)
    >>> sorted(path.name for path in report.output.iterdir())[:2]
    ['_manifest.json', 'shard-000000.parquet']
    >>> embed(home / "*.g6", home / "z.npy", GRNF(8, random_state=0)).n_graphs
    8
    """
    checked(n_jobs, "n_jobs", Int(1), Int(high=-1), OneOf(None))
    checked(shard_size, "shard_size", Int(1))
    checked(block_size, "block_size", Int(1))
    checked(on_error, "on_error", ON_ERROR)
    transformer = GRNF() if transformer is None else transformer
    given = inputs if isinstance(inputs, RunInputs) else RunInputs(inputs)
    shared: Any = {"format": format, "options": options or {}, "block_size": block_size, "on_error": on_error}
    if is_vector_file(output):
        file = _FileRun(given, Path(output), transformer, n_jobs, advance, note, **shared)
        return file.report(resume=resume, force=force)
    more: Any = {"shard_size": shard_size, "resume": resume, "force": force}
    writer, plan = planned_run(given, output, transformer, **shared, **more)
    with writer:
        return _FolderRun(writer, plan, advance, note).report(n_jobs, dask)


def _described(transformer: Any) -> dict[str, Any]:
    """Return what a run depends on: class and settings of the transformer, and a checksum if it is fitted."""
    fitted = None
    if hasattr(transformer, "n_components_"):
        fitted = hashlib.sha256(transformer.to_json().encode()).hexdigest()
    settings = json.loads(json.dumps(plain_params(transformer), default=str))
    return {"transformer": type(transformer).__name__, "settings": settings, "fitted": fitted}


@dataclass
class _FileRun:
    """A run that writes a single file: its shards are blocks, computed in their order by this process."""

    inputs: RunInputs
    output: Path
    transformer: Any
    n_jobs: int | None
    advance: Callable[[int, int | None], Any]
    note: Callable[[str], Any]
    format: str | None
    options: Mapping[str, Any]
    block_size: int
    on_error: OnError

    def report(self, *, resume: bool, force: bool) -> Report:
        """Compute the missing shards, and complete the file."""
        read = {"format": self.format, "options": dict(self.options), "sha256": self.inputs.sha256}
        run = {"grnf": __version__, **_described(self.transformer), "input": read}
        run |= {"block_size": self.block_size, "on_error": self.on_error}
        computed: list[int] = []
        with (
            ShardWriter(self.output, single=True) as writer,
            parallel_config(backend="threading", n_jobs=1 if self.n_jobs is None else self.n_jobs),
        ):
            blocks = self._blocks()
            first: list[Any] = []
            plan = writer.begin(run, lambda: self._fitted(blocks, first), resume=resume, force=force)
            side = writer.settings
            if side is not None:
                self.note(f"{self.output} is finished: there is nothing to resume")
            else:
                self._resumed(writer, plan)
                computed = [*self._written(writer, chain(first, blocks))]
                side = self._settings(writer, plan)
                writer.finish(side)
        vectors = side["vectors"]
        shards = max(len(computed), len(writer.records))
        made = (self.output, side_file(self.output), vectors["n_graphs"], vectors["n_components"])
        return Report(*made, shards, computed, [], side["bad"])

    def _blocks(self) -> Iterator[Any]:
        more: Any = {"yield_bad": self.on_error != "raise", "n_jobs": self.n_jobs}
        return self.inputs.blocks(self.block_size, format=self.format, options=self.options, **more)

    def _fitted(self, blocks: Iterator[Any], first: list[Any]) -> dict[str, Any]:
        """Fit the transformer, if it is not, and return it as text; `first` gets the blocks that it took."""

        def taken() -> Iterator[Any]:
            for block in blocks:
                first.append(block)
                yield block

        first.extend(islice(blocks, 1))
        if not first:
            raise GraphError(f"{self.inputs.name} holds no graphs")
        if not hasattr(self.transformer, "n_components_"):
            is_open = self.transformer.handle_unknown == "open"
            graphs = chain(list(first), taken()) if is_open else self._blocks()
            self.transformer = fit_stream(clone(self.transformer), graphs, on_error=self.on_error)
        return {"transformer": self.transformer.to_json()}

    def _resumed(self, writer: ShardWriter, plan: Mapping[str, Any]) -> None:
        for number, reason in writer.damaged.items():
            self.note(f"shard {number} is computed again: {reason}")
        if writer.records:
            self.note(f"{len(writer.records)} finished shards found")
        if not hasattr(self.transformer, "n_components_"):
            self.transformer = type(self.transformer).from_json(plan["transformer"])

    def _written(self, writer: ShardWriter, blocks: Iterator[Any]) -> Iterator[int]:
        """Write the missing shards; those between them are only read."""
        done = 0
        for first, end in list(writer.gaps()):
            for block in islice(blocks, first - done):
                self.advance(len(block), None)
            wanted = islice(blocks, None if end is None else end - first)
            settings: Any = {"start": first * self.block_size, "on_error": self.on_error}
            made = embed_stream(self.transformer, wanted, block_size=self.block_size, **settings)
            for number, (block, bad) in enumerate(made, first):
                writer.write(number, block, [self._bad(graph) for graph in bad])
                self.advance(len(block.Z), None)
                yield number
            done = first if end is None else end

    def _bad(self, graph: Any) -> dict[str, Any]:
        row = None if self.on_error == "skip" else graph.index
        return {"graph_id": graph.graph_id, "index": graph.index, "reason": graph.reason, "row": row}

    def _settings(self, writer: ShardWriter, plan: Mapping[str, Any]) -> dict[str, Any]:
        vectors = {
            "file": self.output.name,
            "n_graphs": sum(record["rows"] for record in writer.records.values()),
            "n_components": self.transformer.n_components_,
            "dtype": self.transformer.dtype,
        }
        return {
            "format": "grnf-embedding",
            "version": 1,
            "grnf": __version__,
            "vectors": vectors,
            "on_error": self.on_error,
            "bad": writer.bad(),
            "input": {"name": self.inputs.name, **plan["run"]["input"]},
            "run": plan["run"],
            "transformer": json.loads(plan["transformer"]),
        }


def planned_run(
    inputs: RunInputs,
    output: str | os.PathLike[str],
    transformer: Any,
    *,
    format: str | None = None,
    options: Mapping[str, Any] | None = None,
    shard_size: int = 32_768,
    block_size: int = 1024,
    on_error: OnError = "raise",
    resume: bool = False,
    force: bool = False,
) -> tuple[ShardWriter, Plan]:
    """Plan a folder of shards, or take the plan of an interrupted run; return its locked writer, and it."""
    arrow()
    files = inputs.files()
    writer = ShardWriter(output, single=False)
    try:
        shards, told = shards_of(files, shard_size, format, options or {})
        read = {"format": format, "options": told, "sha256": inputs.sha256, "files": list(map(str, files))}
        run = {"versions": versions(), **_described(transformer), "input": read}
        run |= {"shard_size": shard_size, "block_size": block_size, "on_error": on_error}

        def planned() -> dict[str, Any]:
            fitted = transformer
            if not hasattr(transformer, "n_components_"):
                blocks = (read_shard(shard, told, block_size, yield_bad=True) for shard in shards)
                fitted = fit_stream(clone(transformer), chain.from_iterable(blocks), on_error=on_error)
            layout = layout_of(fitted, shards, told, block_size)
            return Plan(run, shards, layout, fitted.to_json()).to_config()

        plan = writer.begin(run, planned, resume=resume, force=force)
        return writer, Plan.from_config(plan)
    except BaseException:
        writer.close()
        raise


@dataclass
class _FolderRun:
    """A run that writes a folder: its shards are computed in any order, by whoever is there."""

    writer: ShardWriter
    plan: Plan
    advance: Callable[[int, int | None], Any]
    note: Callable[[str], Any]

    def report(self, n_jobs: int | None, dask: Any) -> Report:
        """Compute the missing shards, and write the manifest."""
        records = self.writer.records
        if records:
            self.note(f"{len(records)} finished shards found")
            self.advance(sum(record["rows"] for record in records.values()), self.plan.n_graphs)
        missing = [shard.number for shard in self.plan.shards if shard.number not in records]
        for shard in self.plan.shards:
            forget(self._job(shard.number))
        for number in missing:
            self._job(number).mark("json").unlink(missing_ok=True)
        failed: dict[int, Outcome] = {}
        if missing:
            with ExitStack() as stack:
                engine = self._engine(n_jobs, dask, len(missing), stack)
                failed = self._computed(engine, missing)
        for number in failed:
            forget(self._job(number))
        manifest = self._manifest(failed)
        self.writer.finish(manifest, keep_plan=bool(failed))
        output, vectors = self.writer.output, manifest["vectors"]
        made = (output, output / MANIFEST, vectors["n_graphs"], vectors["n_components"])
        computed = sorted(set(missing) - failed.keys())
        return Report(*made, len(self.plan.shards), computed, manifest["set_aside"], self.writer.bad())

    def _job(self, number: int) -> Job:
        return Job(str(self.writer.output), self.plan.checksum, number)

    def _engine(self, n_jobs: int | None, dask: Any, n_shards: int, stack: ExitStack) -> Engine:
        if dask is not None and dask is not False:
            from grnf.scale.cluster import OnDask, dask_client

            n_workers = min(effective_n_jobs(-1 if n_jobs is None else n_jobs), n_shards)
            client = stack.enter_context(dask_client(dask, n_workers))
            return OnDask(client, dict(self.plan.run["versions"]), self.note)
        return ThisProcess() if n_jobs is None or effective_n_jobs(n_jobs) == 1 else Processes(n_jobs)

    def _computed(self, engine: Engine, missing: list[int]) -> dict[int, Outcome]:
        """Compute shards, up to three times those that fail; return the outcomes of those set aside."""
        failed: dict[int, Outcome] = {}
        for attempt in range(TRIES):
            died = [number for number, outcome in failed.items() if outcome.fate == "died"]
            others = [number for number, outcome in failed.items() if outcome.fate == "failed"]
            for numbers, alone in ((missing if attempt == 0 else others, False), (died, True)):
                for outcome in self._outcomes(engine, [self._job(number) for number in numbers], alone):
                    if outcome.record is None:
                        failed[outcome.number] = outcome
                        self.note(f"shard {outcome.number} failed: {outcome.reason}")
                    else:
                        failed.pop(outcome.number, None)
                        self.writer.records[outcome.number] = outcome.record
                        self.advance(outcome.record["rows"], self.plan.n_graphs)
        return failed

    def _outcomes(self, engine: Engine, jobs: Sequence[Job], alone: bool) -> Iterator[Outcome]:
        for outcome in engine.run(jobs, alone=alone) if jobs else ():
            self.writer.check()
            if outcome.fate == "stopped":
                raise DiskFullError(f"{outcome.reason}. Finished shards are kept: continue with --resume")
            if outcome.fate == "refused":
                raise GraphError(f"shard {outcome.number} is refused: {outcome.reason}")
            yield outcome

    def _manifest(self, failed: Mapping[int, Outcome]) -> dict[str, Any]:
        made = [record for _, record in sorted(self.writer.records.items())]
        vectors = {
            "n_graphs": sum(record["rows"] for record in made),
            "n_components": self.plan.layout.n_components,
            "columns": self.plan.layout.columns,
        }
        set_aside = [
            {"shard": number, "from": self.plan.shards[number].described(), "reason": failed[number].reason}
            for number in sorted(failed)
        ]
        return {
            "format": FORMAT,
            "version": VERSION,
            "grnf": __version__,
            "vectors": vectors,
            "shards": made,
            "set_aside": set_aside,
            "run": self.plan.run,
            "transformer": json.loads(self.plan.transformer),
        }
