"""Graphs in files to vectors in a file or a folder of shards: a run from its plan to its settings."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, islice, tee
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
from grnf.io.vectors.blocks import safe_block
from grnf.io.vectors.formats import VECTOR_FORMATS
from grnf.io.vectors.writer import FORMAT, MANIFEST, VERSION, ShardWriter, side_file
from grnf.scale.run_inputs import RunInputs
from grnf.scale.shards import Job, Outcome, Plan, layout_of, read_shard, shards_of, versions
from grnf.scale.workers import DaskWorkers, dask_client, in_processes, in_this_process
from grnf.typing import OnError

TRIES = 3
"""Times that a shard may fail before it is set aside."""


@dataclass(frozen=True)
class Report:
    """The result of a run: the vectors and the file of their settings, with some numbers."""

    output: Path
    settings: Path
    n_graphs: int
    n_components: int
    n_shards: int
    computed: list[int]
    """Shards that this run computed. The others were finished before."""
    set_aside: list[dict[str, Any]]
    """Shards that failed three times, with the reasons."""
    bad: list[dict[str, Any]]
    """Graphs that could not be used, unless `on_error` is "raise"."""


def is_vector_file(output: str | os.PathLike[str]) -> bool:
    """Return whether an output is a single file: its name has a suffix, and it is not a folder.

    With the suffix of a vector file it is one, so a folder of that name is refused later.
    """
    suffix = Path(output).suffix
    is_folder = Path(output).is_dir() and suffix.lower().removeprefix(".") not in VECTOR_FORMATS
    return bool(suffix) and not os.fspath(output).endswith("/") and not is_folder


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
    safe_csv: bool = False,
    advance: Callable[[int, int | None], Any] | None = None,
    note: Callable[[str], Any] | None = None,
) -> Report:
    """Embed the graphs of files, shard by shard, into a vector file or a folder of Parquet files.

    A finished shard is on the disk with a checksum. An interrupted run continues with `resume`: it repeats
    only unfinished shards, and gives the same bytes as a run that was not interrupted. In a folder, a shard
    that fails three times, or kills its process, is set aside with its reason, and the others are computed.
    In a single file the shards are blocks, written in their order. A failure ends the run.

    Parameters
    ----------
    inputs : path, glob, or several
        As in `grnf.io.read_graphs`. For a folder, Parquet, SMILES tables, .smi, JSON lines and graph6 are cut
        into shards. Files of other formats are one shard each, small ones together.
    output : path
        A file whose name ends in .parquet, .npy, .npz or .csv, or a folder.
    transformer : GRNF or ReweightedGRNF, optional
        One that is not fitted is fitted on the first graphs (on all, if its vocabulary is closed).
    format, options : optional
        Format of the inputs and options of its reader, as in `grnf.io.read_graphs`.
    shard_size : int, default=32768
        Graphs per shard of a folder.
    block_size : int, default=1024
        Graphs that are held in memory at a time. Each row group has so many.
    on_error : "raise", "nan" or "skip", default="raise"
        A graph that cannot be used: its shard fails, it gets a row of NaN, or it is left out.
    n_jobs : int, optional
        For a folder, processes, as in joblib. None or 1 is this process. With `dask=True`, workers, by
        default one per core. For a file, threads.
    dask : True, str or distributed.Client, optional
        For a folder, compute on a cluster: a new one on this computer, that of a scheduler's address, or that
        of a client. All its computers must see inputs and folder under the same names.
    resume : bool, default=False
        Continue an interrupted run, if there is one.
    force : bool, default=False
        Replace an existing output.
    safe_csv : bool, default=False
        Write texts of a CSV file that a spreadsheet would run as formulas with an apostrophe in front.
    advance : callable, optional
        advance(graphs, total) is called with each finished shard. `total` is None if it is not known.
    note : callable, optional
        note(text) is called with messages for the user.

    Returns
    -------
    Report

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
    run = Run(
        inputs if isinstance(inputs, RunInputs) else RunInputs(inputs),
        Path(output),
        GRNF() if transformer is None else transformer,
        format=format,
        options=options or {},
        block_size=block_size,
        on_error=on_error,
        safe_csv=safe_csv,
        advance=advance or (lambda *_: None),
        note=note or (lambda *_: None),
    )
    if is_vector_file(output):
        return run.into_file(n_jobs, resume=resume, force=force)
    writer, plan = run.planned(shard_size, resume=resume, force=force)
    with writer:
        return run.into_folder(writer, plan, n_jobs, dask)


@dataclass
class Run:
    """One run of `embed`. Its parameters are those of `embed`."""

    inputs: RunInputs
    output: Path
    transformer: Any
    format: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    block_size: int = 1024
    on_error: OnError = "raise"
    safe_csv: bool = False
    advance: Callable[[int, int | None], Any] = lambda *_: None
    note: Callable[[str], Any] = lambda *_: None

    def _identity(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return everything that the vectors depend on. A run is resumed only if it is the same."""
        fitted = None
        if hasattr(self.transformer, "n_components_"):
            fitted = hashlib.sha256(self.transformer.to_json().encode()).hexdigest()
        return {
            "transformer": type(self.transformer).__name__,
            "settings": json.loads(json.dumps(plain_params(self.transformer), default=str)),
            "fitted": fitted,
            "input": {"format": self.format, "options": dict(options), "sha256": self.inputs.sha256},
            "block_size": self.block_size,
            "on_error": self.on_error,
            **({"safe_csv": True} if self.safe_csv else {}),
        }

    def _fit(self, blocks: Iterable[Any]) -> Any:
        if not hasattr(self.transformer, "n_components_"):
            self.transformer = fit_stream(clone(self.transformer), blocks, on_error=self.on_error)
        return self.transformer

    def into_file(self, n_jobs: int | None, *, resume: bool, force: bool) -> Report:
        """Write a single file: its shards are blocks, computed in their order by this process."""
        identity = {"grnf": __version__, **self._identity(self.options)}
        threads = parallel_config(backend="threading", n_jobs=1 if n_jobs is None else n_jobs)
        computed: list[int] = []
        with ShardWriter(self.output, single=True) as writer, threads:
            blocks, ahead = tee(self._blocks(n_jobs))
            make = partial(self._fitted, ahead, n_jobs)
            plan = writer.begin(identity, make, resume=resume, force=force)
            del ahead, make  # or else no block would be forgotten
            settings = writer.settings
            if settings is not None:
                self.note(f"{self.output} is finished: there is nothing to resume")
            else:
                for number, reason in writer.damaged.items():
                    self.note(f"shard {number} is computed again: {reason}")
                if writer.records:
                    self.note(f"{len(writer.records)} finished shards found")
                if not hasattr(self.transformer, "n_components_"):
                    self.transformer = type(self.transformer).from_json(plan["transformer"])
                computed = list(self._write_missing(writer, blocks))
                settings = self._file_settings(writer, plan)
                writer.finish(settings)
        vectors = settings["vectors"]
        n_shards = max(len(computed), len(writer.records))
        made = (self.output, side_file(self.output), vectors["n_graphs"], vectors["n_components"])
        return Report(*made, n_shards, computed, [], settings["bad"])

    def _blocks(self, n_jobs: int | None) -> Iterator[Any]:
        more: Any = {"yield_bad": self.on_error != "raise", "n_jobs": n_jobs}
        return self.inputs.blocks(self.block_size, format=self.format, options=self.options, **more)

    def _fitted(self, blocks: Iterator[Any], n_jobs: int | None) -> dict[str, Any]:
        """Fit the transformer and return it as text. An open vocabulary is learned from the first blocks."""
        first = list(islice(blocks, 1))
        if not first:
            raise GraphError(f"{self.inputs.name} holds no graphs")
        is_open = self.transformer.handle_unknown == "open"
        return {"transformer": self._fit(chain(first, blocks) if is_open else self._blocks(n_jobs)).to_json()}

    def _write_missing(self, writer: ShardWriter, blocks: Iterator[Any]) -> Iterator[int]:
        """Write the missing shards and yield their numbers. The blocks between them are only read."""
        done = 0
        for first, end in list(writer.gaps()):
            for block in islice(blocks, first - done):
                self.advance(len(block), None)
            missing = islice(blocks, None if end is None else end - first)
            settings: Any = {"start": first * self.block_size, "on_error": self.on_error}
            settings["name"] = self.inputs.name
            embedded = embed_stream(self.transformer, missing, block_size=self.block_size, **settings)
            for number, (block, failed) in enumerate(embedded, first):
                bad = [
                    {"graph_id": graph.graph_id, "index": graph.index, "reason": graph.reason}
                    | {"row": None if self.on_error == "skip" else graph.index}
                    for graph in failed
                ]
                writer.write(number, safe_block(block) if self.safe_csv else block, bad)
                self.advance(len(block.Z), None)
                yield number
            done = first if end is None else end

    def _file_settings(self, writer: ShardWriter, plan: Mapping[str, Any]) -> dict[str, Any]:
        vectors = {
            "file": self.output.name,
            "n_graphs": sum(record["rows"] for record in writer.records.values()),
            "n_components": self.transformer.n_components_,
            "dtype": self.transformer.dtype,
        }
        named = {"name": self.inputs.name, **plan["run"]["input"]}
        more = {"on_error": self.on_error, "bad": writer.bad(), "input": named}
        return _settings("grnf-embedding", 1, vectors, more, plan["run"], plan["transformer"])

    def planned(
        self, shard_size: int, *, resume: bool = False, force: bool = False
    ) -> tuple[ShardWriter, Plan]:
        """Plan a folder of shards, or read the plan of an interrupted run. Return writer and plan."""
        files = self.inputs.files()
        writer = ShardWriter(self.output, single=False)
        try:
            shards, options = shards_of(files, shard_size, self.format, self.options)
            identity = {"versions": versions(), **self._identity(options), "shard_size": shard_size}
            identity["input"]["files"] = list(map(str, files))

            def plan() -> dict[str, Any]:
                blocks = (read_shard(shard, options, self.block_size, yield_bad=True) for shard in shards)
                transformer = self._fit(chain.from_iterable(blocks))
                layout = layout_of(transformer, shards, options, self.block_size)
                return Plan(identity, shards, layout, transformer.to_json()).to_config()

            return writer, Plan.from_config(writer.begin(identity, plan, resume=resume, force=force))
        except BaseException:
            writer.close()
            raise

    def into_folder(self, writer: ShardWriter, plan: Plan, n_jobs: int | None, dask: Any) -> Report:
        """Compute the missing shards in any order, and write the manifest."""
        records = writer.records
        if records:
            self.note(f"{len(records)} finished shards found")
            self.advance(sum(record["rows"] for record in records.values()), plan.n_graphs)
        missing = [shard.number for shard in plan.shards if shard.number not in records]
        failed: dict[int, Outcome] = {}
        with ExitStack() as stack:
            outcomes: Callable[..., Iterator[Outcome]] = in_this_process
            if missing and dask is not None and dask is not False:
                n_workers = min(effective_n_jobs(-1 if n_jobs is None else n_jobs), len(missing))
                client = stack.enter_context(dask_client(dask, n_workers))
                outcomes = DaskWorkers(client, dict(plan.run["versions"]), self.note).run
            elif n_jobs is not None and effective_n_jobs(n_jobs) > 1:
                outcomes = partial(in_processes, effective_n_jobs(n_jobs))
            again, alone = missing, list[int]()
            for _ in range(TRIES):
                for numbers, one_by_one in ((again, False), (alone, True)):
                    jobs = [Job(str(writer.output), plan.checksum, number) for number in numbers]
                    for outcome in outcomes(jobs, alone=one_by_one):
                        self._note_outcome(writer, plan, outcome, failed)
                again = [number for number, outcome in failed.items() if outcome.fate == "failed"]
                alone = [number for number, outcome in failed.items() if outcome.fate == "died"]
        manifest = _manifest(writer, plan, failed)
        writer.finish(manifest, keep_plan=bool(failed))
        return Report(
            writer.output,
            writer.output / MANIFEST,
            manifest["vectors"]["n_graphs"],
            plan.layout.n_components,
            len(plan.shards),
            sorted(set(missing) - failed.keys()),
            manifest["set_aside"],
            writer.bad(),
        )

    def _note_outcome(
        self, writer: ShardWriter, plan: Plan, outcome: Outcome, failed: dict[int, Outcome]
    ) -> None:
        writer.check()
        if outcome.fate == "stopped":
            raise DiskFullError(f"{outcome.reason}. Finished shards are kept: continue with --resume")
        if outcome.fate == "refused":
            raise GraphError(f"shard {outcome.number} is refused: {outcome.reason}")
        if outcome.record is None:
            failed[outcome.number] = outcome
            self.note(f"shard {outcome.number} failed: {outcome.reason}")
        else:
            failed.pop(outcome.number, None)
            writer.records[outcome.number] = outcome.record
            self.advance(outcome.record["rows"], plan.n_graphs)


def _manifest(writer: ShardWriter, plan: Plan, failed: Mapping[int, Outcome]) -> dict[str, Any]:
    records = [record for _, record in sorted(writer.records.items())]
    vectors = {
        "n_graphs": sum(record["rows"] for record in records),
        "n_components": plan.layout.n_components,
        "columns": plan.layout.columns,
    }
    set_aside = [
        {"shard": number, "from": plan.shards[number].described(), "reason": failed[number].reason}
        for number in sorted(failed)
    ]
    more = {"shards": records, "set_aside": set_aside}
    return _settings(FORMAT, VERSION, vectors, more, plan.run, plan.transformer)


def _settings(
    format: str, version: int, vectors: Any, more: Mapping[str, Any], run: Any, transformer: str
) -> dict[str, Any]:
    """Return the settings of an output, or the manifest."""
    head = {"format": format, "version": version, "grnf": __version__, "vectors": vectors}
    return {**head, **more, "run": run, "transformer": json.loads(transformer)}
