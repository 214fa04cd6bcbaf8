"""Work shared among processes, with its results in the order in which it came."""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import TypeVar

from joblib import Parallel, delayed, effective_n_jobs

from grnf._utils.rules import Int, OneOf, checked

__all__ = ["in_processes"]

Task = TypeVar("Task")
Result = TypeVar("Result")


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
