"""Messages: progress on a terminal, notes on standard error, and control characters of foreign text."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import IO, Any, TypeVar

import typer

__all__ = ["Terminal", "note", "progress", "report_bad", "time_left", "with_progress"]

Item = TypeVar("Item")

CONTROLS = re.compile(r"(\x1b\[[0-9;]*m)|[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""Control characters other than tab and line feed. The first group has the sequences that set colors."""

MOST_REASONS = 5


class Terminal:
    r"""A terminal that shows control characters of ids, columns and file names as escapes.

    Examples
    --------
    >>> _ = Terminal(sys.stdout).write("a" + chr(27) + "[2Jb")
    a\x1b[2Jb
    """

    def __init__(self, stream: IO[str]) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        """Write a text, with escapes for control characters."""
        return self.stream.write(CONTROLS.sub(lambda m: m[1] or f"\\x{ord(m[0]):02x}", text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


def note(text: str, quiet: bool = False) -> None:
    """Print a message on standard error."""
    if not quiet:
        typer.echo(text, err=True)


@contextmanager
def progress(
    task: str, quiet: bool = False, unit: str = "graphs", total: int | None = None
) -> Iterator[Callable[..., Any]]:
    """Return a function that counts finished items, and optionally sets their total.

    The counts, the rate and, if the total is known, the remaining time are shown on a terminal only. The
    progress bar of the library is off meanwhile.
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
        TextColumn("{task.fields[rate]}"),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}"),
    )
    start = time.monotonic()
    stream = sys.stderr.stream if isinstance(sys.stderr, Terminal) else sys.stderr
    with no_progress(), Progress(*columns, console=Console(file=stream), transient=True) as bar:
        number = bar.add_task(task, total=total, whole="", rate="", left="")

        def advance(count: int, whole: int | None = None) -> None:
            nonlocal total
            total = whole or total
            done = int(bar.tasks[number].completed) + count
            rate, left = time_left(done, total, time.monotonic() - start)
            of = "" if total is None else f" of {total:,}"
            bar.update(number, advance=count, total=total, whole=of, rate=rate, left=left)

        yield advance


def time_left(done: int, total: int | None, seconds: float) -> tuple[str, str]:
    """Return the rate, and the time that the rest will take.

    Examples
    --------
    >>> time_left(5_000, 50_000, 2.0)
    ('2,500/s', '18 s left')
    >>> time_left(5_000, None, 2.0), time_left(1, 10_000, 2.0)
    (('2,500/s', ''), ('0.5/s', '5 h 33 min left'))
    """
    speed = done / max(seconds, 1e-9)
    rate = f"{speed:,.0f}/s" if speed >= 10 else f"{speed:.1f}/s"
    if total is None or not done:
        return rate, ""
    left = max(0, round((total - done) / speed))
    if left < 100:
        return rate, f"{left} s left"
    minutes = round(left / 60)
    return rate, f"{minutes} min left" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min left"


def with_progress(items: Iterable[Item], advance: Callable[[int], Any]) -> Iterator[Item]:
    """Yield items and count them; a block counts for the graphs in it."""
    for item in items:
        advance(len(item) if hasattr(item, "__len__") else 1)
        yield item


def report_bad(bad: list[dict[str, Any]], on_error: str, quiet: bool = False) -> None:
    """Report graphs that could not be used: how many, what was done, and the first reasons."""
    if not bad:
        return
    action = "left out" if on_error == "skip" else "rows of NaN"
    note(f"grnf: {len(bad)} graphs could not be used ({action}):", quiet)
    for record in bad[:MOST_REASONS]:
        note(f"  graph {record['graph_id']}: {record['reason']}", quiet)
    if len(bad) > MOST_REASONS:
        note(f"  and {len(bad) - MOST_REASONS} more", quiet)
