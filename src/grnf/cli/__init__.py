"""The command line, one file per command."""

from grnf.cli.app import main

__all__ = ["main"]
