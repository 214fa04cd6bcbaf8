"""A progress bar for long work: on a terminal only, and only once it has lasted a few seconds."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["no_progress", "progress"]

PATIENCE = 3.0
"""Seconds of work before a bar appears."""


_silent = threading.local()


@contextmanager
def no_progress() -> Iterator[None]:
    """Keep bars from appearing, for callers that show something of their own, or nothing.

    Examples
    --------
    >>> with no_progress(), progress(10, "counting") as advance:
    ...     advance(5)
    """
    before = getattr(_silent, "on", False)
    _silent.on = True
    try:
        yield
    finally:
        _silent.on = before


@contextmanager
def progress(total: float, what: str) -> Iterator[Callable[[float], None]]:
    """Give a function that is called with each amount of work done; it may be called from any thread.

    Examples
    --------
    >>> with progress(10, "counting") as advance:  # silent: this is no terminal
    ...     advance(10)
    """
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
