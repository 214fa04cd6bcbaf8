"""Threads that share a list of tasks. The loops release the interpreter lock, so threads are all it takes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from functools import cache
from typing import Any

from joblib import effective_n_jobs
from threadpoolctl import ThreadpoolController

__all__ = ["n_workers", "run"]


def n_workers(n_jobs: Any) -> int:
    """Return the number of threads that `n_jobs` stands for, as joblib counts (None: 1, -1: all cores).

    Examples
    --------
    >>> n_workers(2), n_workers(None)
    (2, 1)
    """
    if n_jobs is not None and (not isinstance(n_jobs, int) or isinstance(n_jobs, bool) or n_jobs == 0):
        raise ValueError(f"n_jobs must be None or an integer other than 0; got {n_jobs!r}")
    return max(1, int(effective_n_jobs(n_jobs)))


def run(tasks: Sequence[Callable[[], None]], workers: int) -> None:
    """Run all tasks, first come first served; the first error (or an interrupt) drops what has not begun.

    Meanwhile BLAS keeps to one thread: the threads here are enough to keep the cores busy.
    """
    with _blas().limit(limits=1, user_api="blas"):
        if workers == 1 or len(tasks) < 2:
            for task in tasks:
                task()
        else:
            _run_threads(tasks, workers)


@cache
def _blas() -> ThreadpoolController:
    """Return the switch of BLAS. Looking for the libraries takes a while, so it is done once."""
    return ThreadpoolController()


def _run_threads(tasks: Sequence[Callable[[], None]], workers: int) -> None:
    executor = ThreadPoolExecutor(max_workers=workers)
    try:
        futures = [executor.submit(task) for task in tasks]
        wait(futures, return_when=FIRST_EXCEPTION)
        for future in futures:
            if future.done() and future.exception() is not None:
                future.result()
        for future in futures:
            future.result()
    finally:
        executor.shutdown(wait=True, cancel_futures=True)
