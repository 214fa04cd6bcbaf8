"""Messages: progress on a terminal, notes on standard error, and control characters of foreign text."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from io import TextIOBase
from typing import IO, Any, TypeVar

import typer

Item = TypeVar("Item")

CONTROLS = re.compile(r"(\x1b\[[0-9;]*m)|[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""Control characters other than tab and line feed. The first group has the sequences that set colors."""


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


class ClosedOutput(TextIOBase):
    """Stands for a closed standard output: writing to it is an error."""

    def write(self, text: str) -> int:  # noqa: ARG002
        """Raise an error."""
        raise OSError("standard output is closed")

    @property
    def buffer(self) -> Any:
        """The bytes of standard output, an error too."""
        return self.write("")


def note(text: str, quiet: bool = False) -> None:
    """Print a message on standard error."""
    if not quiet:
        typer.echo(text, err=True)


@contextmanager
def progress(
    task: str, quiet: bool = False, unit: str = "graphs", total: int | None = None
) -> Iterator[Callable[..., Any]]:
    """Return a function that counts finished items, and optionally sets their total.

    On a terminal it shows the count, the rate or share, and the time. The library's bar is off meanwhile.
    """
    from grnf._utils.running import no_progress

    if quiet or not sys.stderr.isatty():
        with no_progress():
            yield lambda count, total=None: None  # noqa: ARG005
        return
    from rich import progress as bars
    from rich.console import Console

    columns = (
        bars.SpinnerColumn(),
        bars.TextColumn("{task.description}"),
        bars.MofNCompleteColumn(),
        bars.TextColumn(unit),
        bars.TaskProgressColumn(show_speed=True),
        bars.TimeElapsedColumn(),
        bars.TextColumn("left"),
        bars.TimeRemainingColumn(),
    )
    stream = sys.stderr.stream if isinstance(sys.stderr, Terminal) else sys.stderr
    with no_progress(), bars.Progress(*columns, console=Console(file=stream), transient=True) as bar:
        number = bar.add_task(task, total=total)
        yield lambda count, total=None: bar.update(number, advance=count, total=total)


def with_progress(items: Iterable[Item], advance: Callable[[int], Any]) -> Iterator[Item]:
    """Yield items and count them. A block counts for the graphs in it."""
    for item in items:
        advance(len(item) if hasattr(item, "__len__") else 1)
        yield item
