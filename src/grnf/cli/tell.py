"""Talking to the user: progress on a terminal, notes on standard error, answers on standard output."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import typer

from grnf.progress import no_progress

__all__ = ["counted", "note", "progress", "tell_bad"]

Item = TypeVar("Item")


def note(text: str, quiet: bool = False) -> None:
    """Say something beside the answer, on standard error."""
    if not quiet:
        typer.echo(text, err=True)


@contextmanager
def progress(what: str, quiet: bool = False, unit: str = "graphs") -> Iterator[Callable[[int], Any]]:
    """Give a function that counts what is done; it shows on a terminal only, for the library's bar."""
    if quiet or not sys.stderr.isatty():
        with no_progress():
            yield lambda count: None  # noqa: ARG005
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (
        SpinnerColumn(),
        TextColumn(f"{{task.description}}: {{task.completed:,}} {unit}"),
        TimeElapsedColumn(),
    )
    with no_progress(), Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda count: bar.advance(task, count)


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
