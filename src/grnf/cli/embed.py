"""`grnf embed`: graphs to a vector file, to a folder of shards, or as CSV to standard output."""

from __future__ import annotations

import shlex
import sys
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from grnf._utils.files import check_free
from grnf._utils.words import counted
from grnf.cli.graph_input import LikeInput, SourceArgument, check_format
from grnf.cli.messages import note, progress, with_progress
from grnf.cli.options import FullFeatures, Output, checked, require
from grnf.errors import GraphError

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from grnf.estimators import GRNF
    from grnf.scale.run_inputs import RunInputs

SET_ASIDE = 3
"""The exit code if shards were set aside."""


@dataclass(frozen=True)
class EmbedJob(FullFeatures, LikeInput, Output, panel="Output"):
    """Options of `grnf embed`."""

    on_error: Annotated[
        Literal["raise", "nan", "skip"],
        "A graph that cannot be used. raise: stop. nan: a row of NaN. skip: leave it out.",
    ] = "raise"  # type: ignore[assignment]
    block_size: Annotated[
        int, "Graphs that are held in memory at a time.", {"min": 1, "rich_help_panel": "Input"}
    ] = 1024
    output: Annotated[
        str,
        "-o",
        "File to write: .parquet, .npy, .npz, .csv, or - for CSV on standard output. A name without "
        "a suffix is a folder of Parquet shards with a manifest.",
    ] = field(kw_only=True)
    shard_size: Annotated[int | None, "Graphs per shard of a folder. [default: 32768]", {"min": 1}] = None
    resume: Annotated[bool, "Continue an interrupted run, if there is one."] = False
    n_jobs: Annotated[int | None, "Threads, or processes for a folder. -1 for all cores. [default: 1]"] = None  # type: ignore[assignment]
    dask: Annotated[
        str | None,
        "ADDRESS",
        "For a folder: compute on the Dask cluster with this scheduler address, or on a new one on "
        "this computer (local).",
        {"rich_help_panel": "Run"},
    ] = None

    def check(self) -> None:
        """Refuse options that the output does not have."""
        is_folder = self.output != "-" and not self.is_file
        for option, given in (("--dask", self.dask), ("--shard-size", self.shard_size)):
            require(given is None or is_folder, f"{option} needs a folder: an --output without a suffix")
        require(self.output != "-" or not self.resume, "--resume needs a file or folder: it cannot be -")
        is_csv = self.output == "-" or self.output.lower().endswith(".csv")
        require(is_csv or not self.safe_csv, f"--safe-csv needs CSV output, got {self.output}")
        keeps_vectors_only = self.keep and self.output.endswith(".npy")
        require(not keeps_vectors_only, "--keep needs .parquet, .npz or .csv: .npy holds vectors only")
        super().check()

    def check_output(self) -> None:
        """Refuse a file that cannot be written or resumed. The driver checks folders."""
        from grnf.io.vectors import side_file, vector_format
        from grnf.io.vectors.writer import work_folder

        if not self.is_file:
            return
        checked(vector_format, self.output, "--output")
        if not self.resume and not work_folder(self.output, single=True).exists():
            for path in (Path(self.output), side_file(self.output)):
                check_free(path, self.force)  # and again once no other run can write

    @property
    def is_file(self) -> bool:
        """Whether the output is a single file."""
        from grnf.scale.driver import is_vector_file

        return self.output != "-" and is_vector_file(self.output)

    def running(self) -> AbstractContextManager[None]:
        """Return the context of the command: a file or folder has threads or processes of its own."""
        return nullcontext() if self.output != "-" else super().running()


def embed(
    source: SourceArgument,
    *,
    job: EmbedJob,
) -> None:
    """Embed graphs: one row of M numbers per graph.

    The file OUTPUT.json holds the settings, the seed, the checksum of the input and the graphs that could not
    be used. grnf.GRNF.load and --like repeat the embedding from it. Finished shards are kept in OUTPUT.parts
    until the run ends, so that an interrupted run can be resumed. Meanwhile no other run can write to OUTPUT.

    An OUTPUT without a suffix is a folder of shards with _manifest.json, which several processes or computers
    can compute. Shards that fail three times are set aside, with exit code 3.

    Examples:
      grnf embed MUTAG.zip --output mutag.parquet
      grnf embed molecules.csv --smiles-column Drug --keep name --on-error skip -m 1024 -o vectors.parquet
    """
    check_format(job.format, source)
    grnf, job = job.transformer(), job.as_in()
    from grnf.io.files.source import open_source
    from grnf.scale.run_inputs import RunInputs

    with open_source(source, job.format) as graphs:
        inputs = RunInputs(list(graphs.paths) or graphs.file.path, graphs.name)
        graphs = job.applied(replace(graphs, file=inputs.source or graphs.file))
        read = {"format": graphs.format, "options": graphs.options}
        total = graphs.count() if job.output != "-" and not job.quiet and sys.stderr.isatty() else None
        with progress("embedding", job.quiet, total=total) as advance:
            run = _to_stdout if job.output == "-" else _to_disk
            summary = run(inputs, read, grnf, job, advance)
    bad, set_aside = summary["bad"], summary.get("set_aside", [])
    job.report_bad(bad)
    shape = f"{counted(summary['graphs'], 'graphs')}, {summary['n_components']:,} numbers each"
    where = "" if job.output == "-" else f": {job.output} (settings in {summary['settings']})"
    job.echo({**summary, "bad": len(bad)}, shape + where, err=job.output == "-")
    for shard in set_aside:
        places = ", ".join(f"{each['path']} from graph {each['first']}" for each in shard["from"])
        note(f"grnf: shard {shard['shard']} ({places}) is set aside: {shard['reason']}")
    if set_aside:
        note(
            f"grnf: {len(set_aside)} shards are set aside, all others are in {job.output}. To try them "
            "again, repeat the command with --resume"
        )
        raise typer.Exit(SET_ASIDE)


def _to_disk(
    inputs: RunInputs, read: dict[str, Any], grnf: GRNF, job: EmbedJob, advance: Any
) -> dict[str, Any]:
    """Embed into a file or a folder. If interrupted, explain how to resume."""
    from grnf._utils.locks import FolderInUseError
    from grnf.io.vectors.writer import work_folder
    from grnf.scale.driver import embed as run_embed

    more: dict[str, Any] = {} if job.shard_size is None else {"shard_size": job.shard_size}
    try:
        made = run_embed(
            inputs,
            job.output,
            grnf,
            **read,
            **more,
            block_size=job.block_size,
            on_error=job.on_error,
            n_jobs=job.n_jobs,
            dask=True if job.dask == "local" else job.dask,
            resume=job.resume,
            force=job.force,
            safe_csv=job.safe_csv,
            advance=advance,
            note=lambda text: job.note(f"grnf: {text}"),
        )
    except BaseException as error:
        work = work_folder(job.output, single=job.is_file)
        finished = len(list(work.glob("[0-9]*.json")))
        if finished and not isinstance(error, FolderInUseError | FileExistsError):
            add = [] if job.resume else ["--resume"]
            if isinstance(error, ValueError) and job.on_error == "raise":
                add += ["--on-error", "skip"]
            command = shlex.join(["grnf", *sys.argv[1:], *add])
            note(f"grnf: stopped. {finished} finished shards are kept in {work}. To resume: {command}")
        raise
    summary = {"graphs": made.n_graphs, "n_components": made.n_components, "bad": made.bad}
    summary |= {"vectors": job.output, "settings": str(made.settings)}
    if job.is_file:
        return summary
    return summary | {"shards": made.n_shards, "computed": len(made.computed), "set_aside": made.set_aside}


def _to_stdout(
    inputs: RunInputs, read: dict[str, Any], grnf: GRNF, job: EmbedJob, advance: Any
) -> dict[str, Any]:
    """Write CSV to standard output while the graphs are read."""
    from grnf.estimators import embed_stream, fit_stream
    from grnf.io.vectors import write_csv
    from grnf.io.vectors.blocks import safe_block

    def graphs() -> Any:
        return inputs.blocks(job.block_size, yield_bad=job.on_error != "raise", n_jobs=job.n_jobs, **read)

    bad: list[Any] = []

    def blocks() -> Any:
        stream = with_progress(graphs(), advance)
        for block, failed in embed_stream(grnf, stream, on_error=job.on_error, name=inputs.name):
            bad.extend({"graph_id": graph.graph_id, "reason": graph.reason} for graph in failed)
            yield safe_block(block) if job.safe_csv else block

    if next(graphs(), None) is None:
        raise GraphError(f"{inputs.name} holds no graphs")
    if not hasattr(grnf, "n_components_"):
        fit_stream(grnf, graphs(), on_error=job.on_error)
    n_rows = write_csv(sys.stdout, blocks())
    sys.stdout.flush()
    return {"graphs": n_rows, "n_components": grnf.n_components_, "bad": bad}
