"""The work on one shard of a folder, and who does it: this process or several; `cluster` has Dask."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from joblib import effective_n_jobs

from grnf import estimators
from grnf._utils.files import atomic_write, sealed, unsealed, written_aside
from grnf._utils.processes import in_processes
from grnf.errors import DiskFullError, GraphError
from grnf.estimators import embed_stream
from grnf.io.vectors.blocks import VectorBlock, check_kind
from grnf.io.vectors.formats import append_parquet
from grnf.io.vectors.writer import PLAN, checksum, work_folder
from grnf.scale.plan import Plan, Shard, read_shard, versions

__all__ = ["Engine", "Job", "Outcome", "Processes", "ThisProcess", "compute", "forget", "refusal"]


@dataclass(frozen=True)
class Job:
    """A shard to be computed.

    Parameters
    ----------
    folder : str
        The folder of the shards, with the plan in it; every machine must see it by this name.
    plan : str
        Checksum of the plan.
    number : int
        The shard.
    driver : int, optional
        The process that started the work, if that is the parent of those that do it.
    """

    folder: str
    plan: str
    number: int
    driver: int | None = None

    def mark(self, what: str) -> Path:
        """Return the file in the work folder that marks the shard as "begun", "failed" or (json) finished."""
        return work_folder(self.folder, single=False) / f"{self.number:06d}.{what}"


@dataclass(frozen=True)
class Outcome:
    """The result of a job.

    Parameters
    ----------
    number : int
        The shard.
    record : dict, optional
        The record of a finished shard; None if it failed.
    reason : str, optional
        Why it failed.
    fate : "finished", "failed", "died", "killed", "stopped" or "refused"
        "died": its process did; "killed": it killed several processes and is not tried again; "stopped": the
        shard is fine, but the run cannot continue, for example on a full disk; "refused": this worker may not
        compute it.
    """

    number: int
    record: dict[str, Any] | None = None
    reason: str | None = None
    fate: str = "finished"


class OrphanError(Exception):
    """The process that started the work is gone."""


def compute(job: Job) -> Outcome:
    """Compute a shard and write it; failures are part of the outcome, not raised."""
    begun = job.mark("begun")
    try:
        plan = _plan(job.folder, job.plan)
        different = refusal(plan.run["versions"])
        if different is not None:
            return Outcome(job.number, reason=different, fate="refused")
        begun.write_text(f"{socket.gethostname()} {os.getpid()}\n", encoding="utf-8")
        record = _written(plan, plan.shards[job.number], job)
    except DiskFullError as error:
        begun.unlink(missing_ok=True)
        return Outcome(job.number, reason=str(error), fate="stopped")
    except OrphanError:
        raise SystemExit(1) from None
    except Exception as error:
        what = "" if isinstance(error, GraphError) else f"{type(error).__name__}: "
        with suppress(OSError):
            job.mark("failed").write_text(sealed(f"{what}{error}"), encoding="utf-8")
        begun.unlink(missing_ok=True)
        return Outcome(job.number, reason=f"{what}{error}", fate="failed")
    begun.unlink(missing_ok=True)
    return Outcome(job.number, record)


def forget(job: Job) -> None:
    """Remove the marks of a shard that was begun, or failed."""
    for what in ("begun", "failed"):
        job.mark(what).unlink(missing_ok=True)


def refusal(required: dict[str, str | None]) -> str | None:
    """Return why this process may not compute shards of a run: another version of what makes the bytes.

    Examples
    --------
    >>> refusal({**versions(), "grnf": "0.0.1"})
    'grnf is 0.1.0 here, and the run has 0.0.1: install the same'
    >>> refusal(versions()) is None
    True
    """
    here = versions()
    for name, version in required.items():
        if here.get(name) != version:
            return f"{name} is {here.get(name)} here, and the run has {version}: install the same"
    return None


@lru_cache(maxsize=4)
def _plan(folder: str, expected: str) -> Plan:
    path = work_folder(folder, single=False) / PLAN
    config = unsealed(path)
    if config is None:
        raise OSError(f"{path} is absent or damaged: this machine may not see the folder of the run")
    plan = Plan.from_config(config)
    if plan.checksum != expected:
        raise OSError(f"{path} is of another run")
    return plan


@lru_cache(maxsize=4)
def transformer_of(text: str, kind: str) -> Any:
    """Return the fitted transformer, made once in each process."""
    return getattr(estimators, kind).from_json(text)


def _written(plan: Plan, shard: Shard, job: Job) -> dict[str, Any]:
    """Write the vectors of a shard, then the record that they are there."""
    layout, path = plan.layout, Path(job.folder) / shard.file
    bad: list[dict[str, Any]] = []
    n_rows = 0

    def blocks() -> Iterator[VectorBlock]:
        nonlocal n_rows
        run = plan.run
        read = read_shard(
            shard, run["input"]["options"], run["block_size"], yield_bad=run["on_error"] != "raise"
        )
        transformer = transformer_of(plan.transformer, run["transformer"])
        for block, failed in embed_stream(transformer, read, on_error=run["on_error"]):
            if job.driver is not None and os.getppid() != job.driver:
                raise OrphanError
            for name in layout.columns:
                check_kind(block.ids, name, block.column(name), layout.kinds[name])
            bad.extend({"graph_id": each.graph_id, "reason": each.reason} for each in failed)
            n_rows += len(block.ids)
            own = {name: values for name, values in block.columns.items() if name in layout.kinds}
            yield replace(block, columns=own)

    needed = (shard.n_graphs or 0) * layout.n_components * np.dtype(layout.dtype).itemsize
    with written_aside(path, needed) as aside:
        append_parquet(aside, blocks(), layout)
        size, sha256 = checksum(aside)
    record = {"shard": shard.number, "file": shard.file, "rows": n_rows, "bytes": size, "sha256": sha256}
    record |= {"from": shard.described(), "bad": bad}
    with atomic_write(job.mark("json")) as file:
        file.write(sealed(record))
    return record


class Engine(Protocol):
    """Computes shards in any order."""

    def run(self, jobs: Sequence[Job], *, alone: bool) -> Iterator[Outcome]:
        """Yield an outcome for each job; with `alone`, only one is computed at a time."""


class ThisProcess:
    """Computes shards in this process, one after the other."""

    def run(self, jobs: Sequence[Job], *, alone: bool) -> Iterator[Outcome]:  # noqa: ARG002
        """Yield an outcome for each job."""
        return map(compute, jobs)


class Processes:
    """Computes shards in several processes of this machine.

    A process that dies takes its shard with it, and joblib ends the others: what was begun is tried again.

    Parameters
    ----------
    n_jobs : int
        As in joblib.
    """

    def __init__(self, n_jobs: int) -> None:
        self.n_jobs = n_jobs

    def run(self, jobs: Sequence[Job], *, alone: bool) -> Iterator[Outcome]:
        """Yield an outcome for each job."""
        jobs = [replace(job, driver=os.getpid()) for job in jobs]
        for group in [[job] for job in jobs] if alone else [jobs]:
            yield from self._together(group)

    def _together(self, jobs: Sequence[Job]) -> Iterator[Outcome]:
        waiting = {job.number: job for job in jobs}
        while waiting:
            try:
                n_jobs = max(2, effective_n_jobs(self.n_jobs))  # with one, joblib would work in this process
                for outcome in in_processes(compute, list(waiting.values()), n_jobs):
                    forget(waiting.pop(outcome.number))
                    yield outcome
            except BrokenProcessPool:
                yield from self._after_death(waiting)

    def _after_death(self, waiting: dict[int, Job]) -> Iterator[Outcome]:
        """Yield what is known of jobs that finished or failed without a report, or were begun."""
        known: dict[int, Outcome] = {}
        for number, job in waiting.items():
            record, reason = unsealed(job.mark("json")), unsealed(job.mark("failed"))
            if record is not None:
                known[number] = Outcome(number, record)
            elif reason is not None:
                known[number] = Outcome(number, reason=reason, fate="failed")
            elif job.mark("begun").exists():
                known[number] = Outcome(number, reason="the process that computed it died", fate="died")
        if not known:  # a process died before it began anything
            first = next(iter(waiting))
            known[first] = Outcome(first, reason="the process that computed it died", fate="died")
        for number in sorted(known):
            forget(waiting.pop(number))
            yield known[number]
