"""`grnf`: its commands, and how errors reach the user (one line; 2 for wrong usage, 1 for bad data)."""

from __future__ import annotations

import logging
import sys
import warnings

import typer
from typer import Option

from grnf._utils.files import room_for
from grnf._version import __version__
from grnf.cli.command import Command, Group, command
from grnf.cli.compare import compare
from grnf.cli.convert import convert
from grnf.cli.dedup import dedup
from grnf.cli.demo import demo
from grnf.cli.dimension import dimension
from grnf.cli.distances import distances
from grnf.cli.embed import embed
from grnf.cli.evaluate import evaluate
from grnf.cli.index import index
from grnf.cli.info import info
from grnf.cli.map import map  # noqa: A004
from grnf.cli.messages import Terminal
from grnf.cli.monitor import monitor
from grnf.cli.outliers import outliers
from grnf.cli.predict import predict
from grnf.cli.search import search
from grnf.cli.test import test
from grnf.cli.train import train

__all__ = ["app", "main"]

ABOUT = "Embed, compare, search, test and map graphs with Graph Random Neural Features."
COMMANDS = {
    "Embed and convert": (embed, convert, info, dimension),
    "Compare and search": (distances, compare, index, search, dedup),
    "Test and monitor": (test, evaluate, monitor, outliers),
    "Learn": (train, predict),
    "Explore": (map, demo),
}

app = typer.Typer(name="grnf", no_args_is_help=True, pretty_exceptions_enable=False, cls=Group)
for panel, functions in COMMANDS.items():
    for function in functions:
        app.command(cls=Command, rich_help_panel=panel)(command(function))


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
    """Run the command line; expected errors end in one line, not in a traceback."""
    warnings.showwarning = _show_warning  # type: ignore[assignment]
    if not {"-q", "--quiet"} & set(sys.argv) and not logging.getLogger("grnf").handlers:
        handler = logging.StreamHandler()  # notices of the library, in files and pipes too
        handler.setFormatter(logging.Formatter("grnf: %(message)s"))
        logging.getLogger("grnf").addHandler(handler)
        logging.getLogger("grnf").setLevel(logging.INFO)
    if sys.stdout.isatty():
        sys.stdout = Terminal(sys.stdout)
    if sys.stderr.isatty():
        sys.stderr = Terminal(sys.stderr)
    try:
        with room_for("standard output or a temporary file"):
            app()
    except KeyboardInterrupt:
        typer.echo("interrupted", err=True)
        sys.exit(130)
    except (ValueError, OSError, ImportError, MemoryError) as error:
        typer.echo(f"grnf: {error}", err=True)
        sys.exit(1)
