"""Talking to the user: progress on a terminal, notes on standard error, answers on standard output."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import typer

__all__ = ["counted", "note", "pace_and_left", "progress", "tell_bad"]

Item = TypeVar("Item")


def note(text: str, quiet: bool = False) -> None:
    """Say something beside the answer, on standard error."""
    if not quiet:
        typer.echo(text, err=True)


@contextmanager
def progress(
    what: str, quiet: bool = False, unit: str = "graphs", total: int | None = None
) -> Iterator[Callable[..., Any]]:
    """Give a function that counts what is done; it shows on a terminal only, for the library's bar.

    Shown are how many there are a second and, where the total is known or becomes known, the time left. The
    function takes how many more are done, and perhaps the total.
    """
    from grnf._utils.running import no_progress

    if quiet or not sys.stderr.isatty():
        with no_progress():
            yield lambda count, total=None: None  # noqa: ARG005
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (
        SpinnerColumn(),
        TextColumn(f"{{task.description}}: {{task.completed:,}}{{task.fields[whole]}} {unit}"),
        TextColumn("{task.fields[pace]}"),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}"),
    )
    start = time.monotonic()
    with no_progress(), Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total, whole="", pace="", left="")

        def advance(count: int, whole: int | None = None) -> None:
            nonlocal total
            total = whole or total
            done = int(bar.tasks[task].completed) + count
            pace, left = pace_and_left(done, total, time.monotonic() - start)
            of = "" if total is None else f" of {total:,}"
            bar.update(task, advance=count, total=total, whole=of, pace=pace, left=left)

        yield advance


def pace_and_left(done: int, total: int | None, seconds: float) -> tuple[str, str]:
    """Return how many are done a second, and how long the rest will take, for people.

    Examples
    --------
    >>> pace_and_left(5_000, 50_000, 2.0)
    ('2,500/s', '18 s left')
    >>> pace_and_left(5_000, None, 2.0), pace_and_left(1, 10_000, 2.0)
    (('2,500/s', ''), ('0.5/s', '5 h 33 min left'))
    """
    speed = done / max(seconds, 1e-9)
    pace = f"{speed:,.0f}/s" if speed >= 10 else f"{speed:.1f}/s"
    if total is None or not done:
        return pace, ""
    left = max(0, round((total - done) / speed))
    if left < 100:
        return pace, f"{left} s left"
    minutes = round(left / 60)
    return pace, f"{minutes} min left" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min left"


def counted(items: Iterable[Item], advance: Callable[[int], Any]) -> Iterator[Item]:
    """Yield items, and count them; blocks count for the graphs in them."""
    for item in items:
        advance(len(item) if hasattr(item, "__len__") else 1)
        yield item


def tell_bad(bad: list[dict[str, Any]], on_error: str, quiet: bool = False) -> None:
    """Say that graphs could not be used: how many, what became of them, and why for the first few."""
    if not bad:
        return
    fate = "left out" if on_error == "skip" else "rows of NaN"
    note(f"grnf: {len(bad)} graphs could not be used ({fate}):", quiet)
    for record in bad[:5]:
        note(f"  graph {record['graph_id']}: {record['reason']}", quiet)
    if len(bad) > 5:
        note(f"  and {len(bad) - 5} more", quiet)
