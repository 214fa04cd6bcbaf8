"""Who computes shards: this process or several; `cluster` has Dask. All call the same function."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from typing import Protocol

from joblib import effective_n_jobs

from grnf._utils.processes import in_processes
from grnf.scale.folder import ShardFolder
from grnf.scale.work import Job, Outcome, compute

__all__ = ["Engine", "Processes", "ThisProcess"]


class Engine(Protocol):
    """Computes shards in any order."""

    def run(self, jobs: Sequence[Job], *, alone: bool) -> Iterator[Outcome]:
        """Yield an outcome for each job; `alone`, none is under way beside another in its process."""


class ThisProcess:
    """Computes shards here, one after the other."""

    def run(self, jobs: Sequence[Job], *, alone: bool) -> Iterator[Outcome]:  # noqa: ARG002
        """Yield an outcome for each job."""
        return map(compute, jobs)


class Processes:
    """Computes shards in several processes of this machine.

    One that dies takes its shard with it, and joblib the others: what was begun is tried again.

    Parameters
    ----------
    n_jobs : int
        As in joblib.
    folder : ShardFolder
        Knows what was begun.
    """

    def __init__(self, n_jobs: int, folder: ShardFolder) -> None:
        self.n_jobs, self.folder = n_jobs, folder

    def run(self, jobs: Sequence[Job], *, alone: bool) -> Iterator[Outcome]:
        """Yield an outcome for each job."""
        jobs = [replace(job, driver=os.getpid()) for job in jobs]
        if alone:
            for job in jobs:
                yield from self._together([job])
        else:
            yield from self._together(jobs)

    def _together(self, jobs: Sequence[Job]) -> Iterator[Outcome]:
        waiting = {job.number: job for job in jobs}
        while waiting:
            try:
                n_jobs = max(2, effective_n_jobs(self.n_jobs))  # with one, joblib would work in this process
                for outcome in in_processes(compute, list(waiting.values()), n_jobs):
                    del waiting[outcome.number]
                    self.folder.forget(outcome.number)
                    yield outcome
            except BrokenProcessPool:
                yield from self._after_death(waiting)

    def _after_death(self, waiting: dict[int, Job]) -> Iterator[Outcome]:
        """Yield what is known of jobs that are not waiting any more: finished or failed untold, or begun."""
        done, failed = self.folder.recorded(waiting), self.folder.reasons(waiting)
        begun = set(self.folder.begun()) & waiting.keys() - done.keys() - failed.keys()
        if not (done or failed or begun):  # a process that died before it began anything
            begun = set(list(waiting)[:1])
        for number in sorted({*done, *failed, *begun}):
            self.folder.forget(number)
            del waiting[number]
            if number in done:
                yield Outcome(number, done[number])
            elif number in failed:
                yield Outcome(number, reason=failed[number], fate="failed")
            else:
                yield Outcome(number, reason="the process that computed it died", fate="died")
