"""Long work: tasks that share threads or processes, and a progress bar."""

from __future__ import annotations

import collections
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cache
from typing import Any, TypeVar

from joblib import Parallel, delayed, effective_n_jobs, parallel_config
from threadpoolctl import ThreadpoolController

from grnf._utils.rules import Int, OneOf, checked

Task = TypeVar("Task")
Result = TypeVar("Result")


def n_workers(n_jobs: Any) -> int:
    """Return the number of threads that `n_jobs` stands for, as joblib counts (None: 1, -1: all cores)."""
    n_jobs = checked(n_jobs, "n_jobs", Int(1), Int(high=-1), OneOf(None))
    if n_jobs is None:  # the surrounding joblib.parallel_config may give a number
        return max(1, int(effective_n_jobs(None)))
    with parallel_config("threading"):  # joblib's processes cannot be nested, and it would warn of that
        return max(1, int(effective_n_jobs(n_jobs)))


def run(tasks: Sequence[Callable[[], None]], workers: int) -> None:
    """Run all tasks, first come first served. The first error (or an interrupt) drops what has not begun.

    Meanwhile BLAS keeps to one thread: the threads here are enough to keep the cores busy.
    """
    with blas_threads(1):
        if workers == 1 or len(tasks) < 2:
            for task in tasks:
                task()
            return
        with ThreadPoolExecutor(min(workers, len(tasks))) as pool:
            futures = [pool.submit(task) for task in tasks]
            try:
                for future in as_completed(futures):
                    future.result()
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise


def blas_threads(most: int) -> AbstractContextManager[Any]:
    """Limit the threads of BLAS. Idle ones would keep the cores busy."""
    return _blas().limit(limits=most, user_api="blas")  # type: ignore[no-any-return]


@cache
def _blas() -> ThreadpoolController:
    """Return the switch of BLAS. Looking for the libraries takes a while, so it is done once."""
    return ThreadpoolController()


def in_processes(
    work: Callable[[Task], Result], tasks: Iterable[Task], n_jobs: int | None = None
) -> Iterator[Result]:
    """Return the results of tasks one by one, in order. A few are under way at a time: memory stays bounded.

    `work` is a function of a module, which other processes can import. None or 1 is this process.
    """
    n_jobs = checked(n_jobs, "n_jobs", Int(1), Int(high=-1), OneOf(None))
    if effective_n_jobs(n_jobs) == 1:
        return map(work, tasks)
    return _shared(work, tasks, n_jobs)


def _shared(work: Callable[[Task], Result], tasks: Iterable[Task], n_jobs: int | None) -> Iterator[Result]:
    active = True

    def calls() -> Iterator[object]:
        for task in tasks:
            if not active:  # joblib asks for the next task in a thread of its own
                return
            yield delayed(work)(task)

    results: Iterator[Result] = Parallel(n_jobs=n_jobs, backend="loky", return_as="generator")(calls())
    try:
        for result in results:  # noqa: UP028 "yield from" would close joblib's generator first
            yield result
    except GeneratorExit:
        # A reader who has seen enough leaves a few tasks under way. Waiting for them is quicker than killing
        # the processes, which the next reader takes over. joblib warns of results that nobody asks for.
        active = False
        with suppress(RuntimeError):  # the processes may have been stopped
            collections.deque(results, maxlen=0)
        raise


PATIENCE = 3.0
"""Seconds of work before a bar appears."""


_silent = threading.local()


@contextmanager
def no_progress() -> Iterator[None]:
    """Keep bars from appearing, for callers that show something of their own, or nothing."""
    before = getattr(_silent, "on", False)
    _silent.on = True
    try:
        yield
    finally:
        _silent.on = before


@contextmanager
def progress(total: float, what: str) -> Iterator[Callable[[float], None]]:
    """Give a function that is called with each amount of work done. It may be called from any thread."""
    if getattr(_silent, "on", False) or not sys.stderr.isatty():
        yield lambda amount: None  # noqa: ARG005
        return
    start, lock, done = time.monotonic(), threading.Lock(), 0.0
    bar: Any = None

    def advance(amount: float) -> None:
        nonlocal bar, done
        with lock:
            done += amount
            if bar is None and time.monotonic() - start > PATIENCE and done < total:
                bar = _started_bar(total, what)
            if bar is not None:
                bar.update(bar.task_ids[0], completed=done)

    try:
        yield advance
    finally:
        if bar is not None:
            bar.stop()


def _started_bar(total: float, what: str) -> Any:
    from rich.console import Console
    from rich.progress import Progress

    bar = Progress(console=Console(stderr=True), transient=True)
    bar.add_task(what, total=total)
    bar.start()
    return bar
