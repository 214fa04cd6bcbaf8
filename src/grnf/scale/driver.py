"""Shards in, shards of vectors out: a run from its plan to its manifest."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from joblib import effective_n_jobs
from sklearn.base import clone

from grnf._utils.rules import Int, OneOf, checked
from grnf.errors import DiskFullError, GraphError
from grnf.estimators import GRNF, fit_stream
from grnf.estimators.state import plain_params
from grnf.io.files.reading import Inputs
from grnf.io.vectors.arrow import arrow
from grnf.samples import ON_ERROR
from grnf.scale.cluster import OnDask, dask_client
from grnf.scale.engines import Engine, Processes, ThisProcess
from grnf.scale.folder import ShardFolder, record_file
from grnf.scale.plan import Plan, Shard, data_files, kinds_of, read_shard, shards_of, versions
from grnf.scale.work import Job, Outcome, transformer_of
from grnf.typing import OnError

__all__ = ["Report", "embed", "planned_run"]

TRIES = 3
"""Times that a shard may fail before it is set aside."""


@dataclass(frozen=True)
class Report:
    """What a run has made.

    Parameters
    ----------
    folder : Path
    n_graphs, n_components : int
    n_shards : int
    computed : list of int
        Shards that this run computed; the others were there.
    set_aside : list of dict
        Shards that failed three times, with the reasons; none if all is well.
    bad : list of dict
        Graphs that could not be used, under another policy than "raise".
    """

    folder: Path
    n_graphs: int
    n_components: int
    n_shards: int
    computed: list[int]
    set_aside: list[dict[str, Any]]
    bad: list[dict[str, Any]]


def _nothing(*_: Any) -> None:
    pass


def embed(
    inputs: Inputs,
    folder: str | os.PathLike[str],
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
    """Embed the graphs of files into a folder of Parquet files, shard by shard.

    A shard is known by its place in the inputs, computed at least once, and there exactly once: written aside
    and renamed, with a checksum, the same bytes whoever computed it. A run that was interrupted, however it
    was, goes on with `resume`, and repeats only what was not finished. A shard that fails three times, or
    kills its process, is set aside with its reason; the rest goes on.

    Parameters
    ----------
    inputs : path, glob, or several
        As in `grnf.io.read_graphs`. Parquet, tables of SMILES, .smi, JSON lines and graph6 are cut into
        shards; files of other formats are one shard each, small ones together.
    folder : path
        Where shards and the manifest go.
    transformer : GRNF or ReweightedGRNF, optional
        One that is not fitted is fitted on the first graphs (on all, if its vocabulary is closed).
    format, options : optional
        Of the inputs, as in `grnf.io.read_graphs`.
    shard_size : int, default=32768
        Graphs per shard.
    block_size : int, default=1024
        Graphs that are held in memory at a time; a row group each.
    on_error : "raise", "nan" or "skip", default="raise"
        A graph that cannot be used: its shard fails, it has a row of NaN, or it is left out.
    n_jobs : int, optional
        Processes, as in joblib, None or 1 for this one; with `dask=True`, workers, None for one a core.
    dask : True, str or distributed.Client, optional
        Compute on a cluster: one that is started on this machine, that of a scheduler's address, or that of a
        client. All its machines must see inputs and folder under the same names.
    resume : bool, default=False
        Go on with a run that was interrupted, if there is one.
    force : bool, default=False
        Write over what is there.
    advance : callable, optional
        advance(graphs, total) is called with each finished shard; total is None where nobody has counted.
    note : callable, optional
        note(text) is called with what is worth telling.

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
    >>> sorted(path.name for path in report.folder.iterdir())[:2]
    ['_manifest.json', 'shard-000000.parquet']
    """
    checked(n_jobs, "n_jobs", Int(1), Int(high=-1), OneOf(None))
    place, plan = planned_run(
        inputs,
        folder,
        GRNF() if transformer is None else transformer,
        format=format,
        options=options,
        shard_size=shard_size,
        block_size=block_size,
        on_error=on_error,
        resume=resume,
        force=force,
    )
    with place:
        return _Run(place, plan, advance, note).report(n_jobs, dask)


def planned_run(
    inputs: Inputs,
    folder: str | os.PathLike[str],
    transformer: Any,
    *,
    format: str | None = None,
    options: Mapping[str, Any] | None = None,
    shard_size: int = 32_768,
    block_size: int = 1024,
    on_error: OnError = "raise",
    resume: bool = False,
    force: bool = False,
) -> tuple[ShardFolder, Plan]:
    """Write down what is to be computed, or take up what was; return the folder, which is locked, and it."""
    arrow()
    checked(shard_size, "shard_size", Int(1))
    checked(block_size, "block_size", Int(1))
    checked(on_error, "on_error", ON_ERROR)
    files = data_files(inputs)
    place = ShardFolder(Path(folder))
    try:
        place.check_free(resume=resume, force=force)
        shards, told = shards_of(files, shard_size, format, options or {})
        run = {
            "versions": versions(),
            "transformer": type(transformer).__name__,
            "settings": json.loads(json.dumps(plain_params(transformer), default=str)),
            "fitted": _fingerprint(transformer),
            "inputs": {str(path): _sha256(path) for path in files},
            "format": format,
            "options": told,
            "shard_size": shard_size,
            "block_size": block_size,
            "on_error": on_error,
        }
        before = place.plan() if resume and not force else None
        if before is None:
            before = _planned(transformer, run, shards, told)
        plan = Plan(run, shards, before.kinds, before.transformer)
        return place, place.begin(plan, resume=resume, force=force)
    except BaseException:
        place.close()
        raise


def _planned(transformer: Any, run: Mapping[str, Any], shards: list[Shard], told: Any) -> Plan:
    """Fit the transformer, and see what the first graphs have beside."""
    policy = run["on_error"]
    if not hasattr(transformer, "n_components_"):
        graphs = chain.from_iterable(
            read_shard(shard, told, run["block_size"], yield_bad=True) for shard in shards
        )
        transformer = fit_stream(clone(transformer), graphs, on_error=policy)
    kinds = kinds_of(transformer, shards, told, run["block_size"])
    return Plan(run, shards, kinds, transformer.to_json())


def _fingerprint(transformer: Any) -> str | None:
    """Return what tells fitted transformers apart; None for one that is to be fitted."""
    if not hasattr(transformer, "n_components_"):
        return None
    return hashlib.sha256(transformer.to_json().encode()).hexdigest()


def _sha256(path: Path) -> str:
    files = sorted(path.rglob("*")) if path.is_dir() else [path]
    whole = hashlib.sha256()
    for each in files:
        if each.is_file():
            with each.open("rb") as file:
                whole.update(hashlib.file_digest(file, "sha256").digest())
    return whole.hexdigest()


@dataclass
class _Run:
    """A run that has begun: its folder, its plan, and whom to tell."""

    place: ShardFolder
    plan: Plan
    advance: Callable[[int, int | None], Any]
    note: Callable[[str], Any]

    def report(self, n_jobs: int | None, dask: Any) -> Report:
        """Compute what is wanting, and write the manifest."""
        records = self.place.finished(list(self.plan.shards))
        if records:
            self.note(f"{len(records)} finished shards found")
            self.advance(sum(record["rows"] for record in records.values()), self.plan.n_graphs)
        wanting = [shard.number for shard in self.plan.shards if shard.number not in records]
        for number in [*wanting, *self.place.begun()]:
            self.place.forget(number)
        for number in wanting:
            record_file(self.place.folder, number).unlink(missing_ok=True)
        failed: dict[int, Outcome] = {}
        if wanting:
            with ExitStack() as stack:
                engine = self._engine(n_jobs, dask, len(wanting), stack)
                failed = self._computed(engine, wanting, records)
        manifest = self._manifest(records, failed)
        self.place.finish(manifest)
        return Report(
            self.place.folder,
            manifest["vectors"]["n_graphs"],
            manifest["vectors"]["n_components"],
            len(self.plan.shards),
            sorted(set(wanting) - failed.keys()),
            manifest["set_aside"],
            [graph for record in manifest["shards"] for graph in record["bad"]],
        )

    def _engine(self, n_jobs: int | None, dask: Any, n_shards: int, stack: ExitStack) -> Engine:
        if dask is not None and dask is not False:
            n_workers = min(effective_n_jobs(-1 if n_jobs is None else n_jobs), n_shards)
            client = stack.enter_context(dask_client(dask, n_workers))
            return OnDask(client, dict(self.plan.run["versions"]), self.note)
        if n_jobs is None or effective_n_jobs(n_jobs) == 1:
            return ThisProcess()
        return Processes(n_jobs, self.place)

    def _computed(self, engine: Engine, wanting: list[int], records: dict[int, Any]) -> dict[int, Outcome]:
        """Compute shards, up to three times those that fail; return what came of those that are set aside."""
        failed: dict[int, Outcome] = {}
        for attempt in range(TRIES):
            died = [number for number, outcome in failed.items() if outcome.fate == "died"]
            others = [number for number, outcome in failed.items() if outcome.fate == "failed"]
            for numbers, alone in ((wanting if attempt == 0 else others, False), (died, True)):
                jobs = [Job(str(self.place.folder), self.plan.checksum, number) for number in numbers]
                for outcome in self._outcomes(engine, jobs, alone):
                    if outcome.record is None:
                        failed[outcome.number] = outcome
                        self.note(f"shard {outcome.number} failed: {outcome.reason}")
                    else:
                        failed.pop(outcome.number, None)
                        records[outcome.number] = outcome.record
                        self.advance(outcome.record["rows"], self.plan.n_graphs)
        return failed

    def _outcomes(self, engine: Engine, jobs: Sequence[Job], alone: bool) -> Iterator[Outcome]:
        if not jobs:
            return
        for outcome in engine.run(jobs, alone=alone):
            self.place.check()
            if outcome.fate == "stopped":
                raise DiskFullError(f"{outcome.reason}. Finished shards are kept: go on with --resume")
            if outcome.fate == "refused":
                raise GraphError(f"shard {outcome.number} is refused: {outcome.reason}")
            yield outcome

    def _manifest(self, records: Mapping[int, Any], failed: Mapping[int, Outcome]) -> dict[str, Any]:
        transformer = json.loads(self.plan.transformer)
        made = [records[number] for number in sorted(records)]
        return {
            "vectors": {
                "n_graphs": sum(record["rows"] for record in made),
                "n_components": self._n_components(),
                "columns": {name: kind.type for name, kind in self.plan.kinds.items()},
            },
            "shards": made,
            "set_aside": [
                {
                    "shard": number,
                    "from": self.plan.shards[number].described(),
                    "reason": failed[number].reason,
                }
                for number in sorted(failed)
            ],
            "run": self.plan.run,
            "transformer": transformer,
        }

    def _n_components(self) -> int:
        return int(transformer_of(self.plan.transformer, self.plan.run["transformer"]).n_components_)
