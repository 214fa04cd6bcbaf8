"""Workers that compute shards: this process, several processes of this machine, or a Dask cluster.

As many shards are under way as there are workers. The others wait here, so that a worker that dies takes no
more with it than what it was computing.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import replace
from importlib import import_module
from typing import Any

from joblib import cpu_count
from joblib.externals.loky import get_reusable_executor

from grnf.scale.shards import Job, Outcome, compute, version_error

TICK = 1.0
"""Seconds between two checks of which workers there are."""
WORKER_TIMEOUT = 60.0
"""Seconds to wait for a worker that can be used."""
CONNECT_TIMEOUT = 10.0
"""Seconds to wait for a scheduler."""
TRIES = 3
"""Workers that a shard may kill, in a cluster that is started here."""
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


class ClusterError(OSError):
    """The cluster is gone, or has no worker that can be used."""


def in_this_process(jobs: Sequence[Job], *, alone: bool = False) -> Iterator[Outcome]:  # noqa: ARG001
    """Yield an outcome for each job, computed one after the other."""
    return map(compute, jobs)


def in_processes(n_workers: int, jobs: Sequence[Job], *, alone: bool = False) -> Iterator[Outcome]:
    """Yield outcomes of several processes on this computer. If one dies, all of them are started again.

    With `alone`, only one job is computed at a time.
    """
    waiting, under_way = deque(jobs), dict[Any, Job]()
    environment = dict.fromkeys(THREADS, str(max(1, cpu_count() // n_workers)))
    executor = None
    try:
        while waiting or under_way:
            executor = get_reusable_executor(n_workers, env=environment)
            while waiting and len(under_way) < (1 if alone else n_workers):
                job = replace(waiting.popleft(), driver=os.getpid())
                under_way[executor.submit(compute, job)] = job
            for future in wait(under_way, return_when=FIRST_COMPLETED).done:
                job = under_way.pop(future)
                try:
                    yield future.result()
                except BrokenProcessPool:
                    yield Outcome(job.number, reason="the process that computed it died", fate="died")
    finally:
        if executor is not None:  # joblib.Parallel would take it over, and fail
            executor.shutdown(wait=True, kill_workers=bool(under_way))


class DaskWorkers:
    """Computes shards on a cluster. Dask gives the shard of a worker that dies to another one.

    Workers must have the given versions of packages. `note(text)` tells the user of those that are refused.
    """

    def __init__(self, client: Any, versions: dict[str, str | None], note: Any) -> None:
        self.client, self.versions, self.note = client, versions, note
        self.threads: dict[str, int] = {}
        self.refused: dict[str, str] = {}
        self.last_seen = time.monotonic()

    def run(self, jobs: Sequence[Job], *, alone: bool = False) -> Iterator[Outcome]:  # noqa: ARG002
        """Yield an outcome for each job."""
        waiting, under_way = deque(jobs), dict[Any, tuple[Job, list[str] | None]]()
        try:
            while waiting or under_way:
                self._update_workers()
                self._take_back(waiting, under_way)
                while waiting and len(under_way) < sum(self.threads.values()):
                    job = waiting.popleft()
                    workers = list(self.threads) if self.refused else None
                    future = self.client.submit(compute, job, pure=False, workers=workers)
                    under_way[future] = job, workers
                for future in self._finished(list(under_way)):
                    job, _ = under_way.pop(future)
                    outcome = self._outcome(future, job)
                    if outcome.fate == "refused":
                        waiting.appendleft(job)
                    else:
                        yield outcome
        finally:
            with suppress(OSError, RuntimeError):
                self.client.cancel(list(under_way))

    def _update_workers(self) -> None:
        """Find out which workers there are, and refuse those that have other versions."""
        try:
            workers = self.client.scheduler_info(n_workers=-1)["workers"]
            new = [address for address in workers if address not in {*self.threads, *self.refused}]
            answers = (
                self.client.run(version_error, self.versions, workers=new, on_error="return") if new else {}
            )
        except (OSError, ValueError, RuntimeError) as error:
            raise _scheduler_lost(error) from None
        for address, answer in answers.items():
            if answer is None:
                self.threads[address] = workers[address]["nthreads"]
            elif not isinstance(answer, OSError):  # which tells that the worker is gone already
                self.refused[address] = f"{answer}"
                self.note(f"worker {address} is refused: {answer}")
        for known in (self.threads, self.refused):
            for address in known.keys() - workers.keys():
                del known[address]
        now = time.monotonic()
        self.last_seen = now if self.threads else self.last_seen
        if now - self.last_seen > WORKER_TIMEOUT or (self.refused and not self.threads):
            reason = next(iter(self.refused.values()), f"none came within {WORKER_TIMEOUT:.0f} s")
            raise ClusterError(f"the cluster has no worker that can be used: {reason}")

    def _take_back(self, waiting: deque[Job], under_way: dict[Any, tuple[Job, list[str] | None]]) -> None:
        """Take back shards that were meant for workers none of which is there any more."""
        for future, (job, workers) in list(under_way.items()):
            if workers is not None and not future.done() and not set(workers) & self.threads.keys():
                future.cancel()
                del under_way[future]
                waiting.appendleft(job)

    def _finished(self, futures: list[Any]) -> list[Any]:
        """Wait a moment. Return the futures that are finished."""
        distributed: Any = import_module("distributed")
        if not futures:
            time.sleep(TICK)
            return []
        try:
            return list(distributed.wait(futures, timeout=TICK, return_when="FIRST_COMPLETED").done)
        except TimeoutError:
            return []
        except asyncio.CancelledError as error:
            raise _scheduler_lost(error) from None

    def _outcome(self, future: Any, job: Job) -> Outcome:
        distributed: Any = import_module("distributed")
        try:
            return future.result(timeout=10)  # type: ignore[no-any-return]
        except distributed.KilledWorker as error:
            return Outcome(job.number, reason=f"it killed its workers: {error}", fate="killed")
        except (asyncio.CancelledError, distributed.CancelledError) as error:
            raise _scheduler_lost(error) from None
        except Exception as error:  # a worker in which the function cannot even be loaded
            return Outcome(job.number, reason=f"{type(error).__name__}: {error}", fate="failed")


def _scheduler_lost(error: BaseException) -> ClusterError:
    return ClusterError(
        f"the Dask scheduler is gone ({type(error).__name__}). Finished shards are kept: start it again "
        "and continue with --resume"
    )


@contextmanager
def dask_client(where: Any, n_workers: int) -> Iterator[Any]:
    """Give a client of a cluster, by a scheduler's address. A client itself is left open.

    True starts a cluster on this computer, of `n_workers` processes with a thread each, and stops it at the
    end.
    """
    try:
        dask: Any = import_module("dask")
        distributed: Any = import_module("distributed")
    except ImportError:
        raise ImportError("a cluster needs Dask: pip install 'grnf[dask]'") from None
    if isinstance(where, distributed.Client):
        yield where
        return
    settings = {
        "distributed.scheduler.allowed-failures": TRIES - 1,
        "distributed.deploy.lost-worker-timeout": "1h",  # on a busy machine a worker takes long to come back
        "distributed.admin.tick.limit": "1h",
    }
    log = logging.getLogger("distributed")
    level = log.level
    log.setLevel(logging.CRITICAL)  # outcomes and errors tell what matters
    try:
        with dask.config.set(settings):
            if where is True or where == "local":
                local = {"threads_per_worker": 1, "dashboard_address": None, "memory_limit": 0}
                quiet = {"silence_logs": logging.CRITICAL}
                with (
                    distributed.LocalCluster(n_workers=n_workers, **local, **quiet) as cluster,
                    distributed.Client(cluster) as client,
                ):
                    yield client
                return
            try:
                client = distributed.Client(where, timeout=CONNECT_TIMEOUT, set_as_default=False)
            except (OSError, ValueError) as error:
                raise ClusterError(f"no Dask scheduler answers at {where}: {error}") from None
            try:
                yield client
            finally:
                with suppress(OSError, RuntimeError):
                    client.close(timeout=5)
    finally:
        log.setLevel(level)
