"""Shards computed by the workers of a Dask cluster, one on this machine or one that is there already.

Dask gives the shard of a worker that dies to another one, and tells when it has killed too many. So many
shards are under way as workers have threads; the rest waits here, so that a worker that dies takes no more
with it than what it was computing.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any

from grnf.scale.work import Job, Outcome, compute, refusal

__all__ = ["ClusterError", "OnDask", "dask_client"]

TICK = 1.0
"""Seconds between two looks at which workers there are."""
PATIENCE = 60.0
"""Seconds to wait for a worker that can be used."""
CONNECT = 10.0
"""Seconds to wait for a scheduler."""
TRIES = 3
"""Workers that a shard may kill, in a cluster that is started here."""


class ClusterError(OSError):
    """The cluster is gone, or has no worker that can be used."""


@contextmanager
def dask_client(where: Any, n_workers: int) -> Iterator[Any]:
    """Give a client of a cluster.

    Parameters
    ----------
    where : True, str or distributed.Client
        True starts a cluster on this machine, for as long as it is wanted; or the address of a scheduler; or
        a client that is there, which is left open.
    n_workers : int
        Processes of a cluster on this machine, of one thread each.
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
    with _quiet(), dask.config.set(settings):
        if where is True or where == "local":
            with (
                distributed.LocalCluster(
                    n_workers=n_workers,
                    threads_per_worker=1,
                    dashboard_address=None,
                    silence_logs=logging.CRITICAL,
                    memory_limit=0,
                ) as cluster,
                distributed.Client(cluster) as client,
            ):
                yield client
            return
        try:
            client = distributed.Client(where, timeout=CONNECT, set_as_default=False)
        except (OSError, ValueError) as error:
            raise ClusterError(f"no Dask scheduler answers at {where}: {error}") from None
        try:
            yield client
        finally:
            with suppress(OSError, RuntimeError):
                client.close(timeout=5)


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep Dask from writing on standard error; what matters is told by outcomes and errors."""
    log = logging.getLogger("distributed")
    before = log.level
    log.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        log.setLevel(before)


class OnDask:
    """Computes shards on a cluster.

    Parameters
    ----------
    client : distributed.Client
    versions : mapping
        Those that workers must have.
    note : callable
        note(text) tells the user of workers that are refused.
    """

    def __init__(self, client: Any, versions: dict[str, str | None], note: Any) -> None:
        self.client, self.versions, self.note = client, versions, note
        self.threads: dict[str, int] = {}
        self.refused: dict[str, str] = {}
        self.alone_since = time.monotonic()

    def run(self, jobs: Sequence[Job], *, alone: bool) -> Iterator[Outcome]:  # noqa: ARG002
        """Yield an outcome for each job."""
        waiting, under_way = deque(jobs), dict[Any, tuple[Job, list[str] | None]]()
        try:
            while waiting or under_way:
                self._look()
                self._lost(waiting, under_way)
                while waiting and len(under_way) < sum(self.threads.values()):
                    job = waiting.popleft()
                    workers = list(self.threads) if self.refused else None
                    future = self.client.submit(compute, job, pure=False, workers=workers)
                    under_way[future] = job, workers
                for future in self._done(list(under_way)):
                    job, _ = under_way.pop(future)
                    outcome = self._outcome(future, job)
                    if outcome is None:
                        waiting.appendleft(job)
                    else:
                        yield outcome
        finally:
            with suppress(OSError, RuntimeError):
                self.client.cancel(list(under_way))

    def _look(self) -> None:
        """Find out which workers there are, and refuse those that have other versions."""
        try:
            workers = self.client.scheduler_info(n_workers=-1)["workers"]
            new = [address for address in workers if address not in {*self.threads, *self.refused}]
            answers = self.client.run(refusal, self.versions, workers=new, on_error="return") if new else {}
        except (OSError, ValueError, RuntimeError) as error:
            raise self._gone(error) from None
        for address, answer in answers.items():
            if isinstance(answer, OSError):  # it is gone already
                continue
            if answer is None:
                self.threads[address] = workers[address]["nthreads"]
            else:
                self.refused[address] = f"{answer}"
                self.note(f"worker {address} is refused: {answer}")
        for known in (self.threads, self.refused):
            for address in [address for address in known if address not in workers]:
                del known[address]
        now = time.monotonic()
        self.alone_since = now if self.threads else self.alone_since
        if now - self.alone_since > PATIENCE or (self.refused and not self.threads):
            why = next(iter(self.refused.values()), f"none came within {PATIENCE:.0f} s")
            raise ClusterError(f"the cluster has no worker that can be used: {why}")

    def _lost(self, waiting: deque[Job], under_way: dict[Any, tuple[Job, list[str] | None]]) -> None:
        """Take back shards that were meant for workers none of which is there any more."""
        for future, (job, workers) in list(under_way.items()):
            if workers is not None and not future.done() and not set(workers) & self.threads.keys():
                future.cancel()
                del under_way[future]
                waiting.appendleft(job)

    def _done(self, futures: list[Any]) -> list[Any]:
        """Wait a moment; return what is done."""
        distributed: Any = import_module("distributed")
        if not futures:
            time.sleep(TICK)
            return []
        try:
            return list(distributed.wait(futures, timeout=TICK, return_when="FIRST_COMPLETED").done)
        except TimeoutError:
            return []
        except asyncio.CancelledError as error:
            raise self._gone(error) from None

    def _outcome(self, future: Any, job: Job) -> Outcome | None:
        """Return what came of a job; None if another worker must do it."""
        distributed: Any = import_module("distributed")
        try:
            outcome: Outcome = future.result(timeout=10)
        except distributed.KilledWorker as error:
            return Outcome(job.number, reason=f"it killed its workers: {error}", fate="killed")
        except (asyncio.CancelledError, distributed.CancelledError) as error:
            raise self._gone(error) from None
        except Exception as error:  # a worker where the function cannot even be loaded
            return Outcome(job.number, reason=f"{type(error).__name__}: {error}", fate="failed")
        return None if outcome.fate == "refused" else outcome

    def _gone(self, error: BaseException) -> ClusterError:
        return ClusterError(
            f"the Dask scheduler is gone ({type(error).__name__}); finished shards are kept: start it again "
            "and go on with --resume"
        )
