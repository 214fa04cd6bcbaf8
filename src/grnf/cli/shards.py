"""`grnf embed ... -o FOLDER`: graphs to a folder of shards, by this process, several, or a Dask cluster."""

from __future__ import annotations

import re
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperCommand

from grnf.cli.tell import note, progress

if TYPE_CHECKING:
    from grnf.cli.source import Source

__all__ = ["LOCAL", "SET_ASIDE", "EmbedCommand", "is_folder", "tell_set_aside", "to_folder"]

SET_ASIDE = 3
"""The exit code where shards were set aside."""
LOCAL = "local"
ADDRESS = re.compile(r"[a-z]+://\S+|[\w.-]+:\d+|local")


class EmbedCommand(TyperCommand):
    """A command whose option --dask may stand without an address."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put "local" where no address follows."""
        filled: list[str] = []
        for place, word in enumerate(args):
            filled.append(word)
            following = args[place + 1] if place + 1 < len(args) else ""
            if word == "--dask" and not ADDRESS.fullmatch(following):
                filled.append(LOCAL)
        return super().parse_args(ctx, filled)


def is_folder(output: str) -> bool:
    """Whether an output is a folder of shards: it has no suffix, or is a folder already.

    Examples
    --------
    >>> is_folder("vectors"), is_folder("vectors.parquet"), is_folder("-"), is_folder("my.vectors/")
    (True, False, False, True)
    """
    return output != "-" and (output.endswith("/") or not Path(output).suffix or Path(output).is_dir())


def to_folder(
    grnf: Any,
    source: Source,
    output: str,
    *,
    dask: str | None,
    shard_size: int | None,
    n_jobs: int | None,
    on_error: Any,
    block_size: int,
    resume: bool,
    force: bool,
    quiet: bool,
) -> dict[str, Any]:
    """Embed a source into a folder; return what was made."""
    from grnf import scale

    more = {} if shard_size is None else {"shard_size": shard_size}
    with ExitStack() as stack:
        advance = stack.enter_context(progress("embedding", quiet))
        report = scale.embed(
            source.inputs or source.path,
            output,
            grnf,
            format=source.format,
            options=source.options,
            block_size=block_size,
            on_error=on_error,
            n_jobs=n_jobs,
            dask=True if dask == LOCAL else dask,
            resume=resume,
            force=force,
            advance=advance,
            note=lambda text: note(f"grnf: {text}", quiet),
            **more,
        )
    return {
        "graphs": report.n_graphs,
        "n_components": report.n_components,
        "bad": report.bad,
        "vectors": str(output),
        "settings": str(report.folder / "_manifest.json"),
        "shards": report.n_shards,
        "computed": len(report.computed),
        "set_aside": report.set_aside,
    }


def tell_set_aside(set_aside: list[dict[str, Any]], output: str) -> None:
    """Say which shards were set aside and why, and end with the code that stands for it."""
    for shard in set_aside:
        places = ", ".join(f"{each['path']} from graph {each['first']}" for each in shard["from"])
        note(f"grnf: shard {shard['shard']} ({places}) is set aside: {shard['reason']}")
    if set_aside:
        note(
            f"grnf: {len(set_aside)} shards are set aside, all others are in {output}; to try them again, "
            "repeat the command with --resume"
        )
        raise typer.Exit(SET_ASIDE)
