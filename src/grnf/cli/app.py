"""The commands of `grnf`. Errors are one line and exit with 2 for wrong usage, 1 for bad data."""

from __future__ import annotations

import codecs
import logging
import os
import signal
import sys
import warnings
from importlib import import_module
from io import TextIOWrapper

import typer
from typer import Option

from grnf._utils.files import room_for
from grnf._version import __version__
from grnf.cli.command import Command, Group, command
from grnf.cli.messages import ClosedOutput, Terminal

ABOUT = "Embed, compare, search, test and map graphs with Graph Random Neural Features."
OUT_OF_MEMORY = "Use fewer graphs at a time (--block-size), fewer features (-m) or fewer threads (--n-jobs)"
COMMANDS = {
    "Embed and convert": "embed convert info dimension",
    "Compare and search": "distances compare index search dedup",
    "Group and select": "grouping.cluster grouping.split grouping.pick",
    "Test and monitor": "samples.test samples.evaluate monitor outliers",
    "Learn": "train predict",
    "Explore": "map demo",
}
"""Panels of the help, with the commands in each: functions of modules with the same name, or of others."""

app = typer.Typer(name="grnf", no_args_is_help=True, pretty_exceptions_enable=False, cls=Group)
for panel, names in COMMANDS.items():
    for name in names.split():
        module = import_module(f"grnf.cli.{name.partition('.')[0]}")
        app.command(cls=Command, rich_help_panel=panel)(command(getattr(module, name.rpartition(".")[2])))


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"grnf {__version__}")
        raise typer.Exit


@app.callback(help=ABOUT)
def common(
    version: bool = Option(False, "--version", callback=_version, is_eager=True, help="Show the version."),
) -> None:
    """Take the options that come before the command."""


def _show_warning(message: Warning | str, *_: object) -> None:
    """Show a warning as one line, without the place in the code that raised it."""
    typer.echo(f"grnf: {message}", err=True)


def main() -> None:
    """Run the command line. Expected errors end in one line, not in a traceback."""
    warnings.showwarning = _show_warning  # type: ignore[assignment]
    _prepare_streams()
    if not {"-q", "--quiet"} & set(sys.argv) and not logging.getLogger("grnf").handlers:
        handler = logging.StreamHandler()  # notices of the library, in files and pipes too
        handler.setFormatter(logging.Formatter("grnf: %(message)s"))
        logging.getLogger("grnf").addHandler(handler)
        logging.getLogger("grnf").setLevel(logging.INFO)
    received: list[int] = []

    def stop(number: int, _: object) -> None:
        received.append(number)
        raise KeyboardInterrupt

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        with room_for("standard output or a temporary file"):
            app()
    except (KeyboardInterrupt, SystemExit) as end:
        if not received:
            raise
        typer.echo(f"grnf: {'interrupted' if received[0] == signal.SIGINT else 'terminated'}", err=True)
        raise SystemExit(128 + received[0]) from end
    except MemoryError as error:
        typer.echo(f"grnf: out of memory: {error}. {OUT_OF_MEMORY}", err=True)
        sys.exit(1)
    except (ValueError, OSError, ImportError) as error:
        typer.echo(f"grnf: {error}", err=True)
        sys.exit(1)
    finally:
        for number, handler_before in before.items():
            signal.signal(number, handler_before)
        _stop_processes()


def _stop_processes() -> None:
    """Kill the processes that joblib keeps for later work, if there are any."""
    executor = getattr(sys.modules.get("joblib.externals.loky.reusable_executor"), "_executor", None)
    if executor is not None:
        logging.getLogger("concurrent.futures").disabled = True  # it would report tasks that cannot be begun
        executor.shutdown(wait=True, kill_workers=True)


def _prepare_streams() -> None:
    """Open streams that were closed, use UTF-8 in the C locale, and escape controls on a terminal."""
    if sys.stdin is None:
        sys.stdin = open(os.devnull)  # noqa: SIM115
    if sys.stdout is None:
        os.open(os.devnull, os.O_WRONLY)  # so that no file that is opened later becomes standard output
        sys.stdout = ClosedOutput()
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if isinstance(stream, TextIOWrapper):
            is_ascii = codecs.lookup(stream.encoding).name == "ascii"
            stream.reconfigure(encoding="utf-8" if is_ascii else None, errors="backslashreplace")
        if stream.isatty():
            setattr(sys, name, Terminal(stream))
