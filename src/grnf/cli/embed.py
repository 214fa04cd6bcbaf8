"""`grnf embed`: graphs to a vector file, to a folder of shards, or as CSV to standard output."""

from __future__ import annotations

import json
import re
import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from grnf._utils.files import check_free
from grnf.cli.columns import with_columns
from grnf.cli.options import (
    ActivationName,
    AsJson,
    BasisName,
    BlockSize,
    Dask,
    DtypeName,
    Force,
    Format,
    IdColumn,
    Keep,
    Like,
    MissingPolicy,
    NComponents,
    OnError,
    Orders,
    Output,
    Proposal,
    Quiet,
    Seed,
    ShardSize,
    SmilesColumn,
    SourceArgument,
    UnseenPolicy,
    check_format,
    checked,
    make_transformer,
    workers,
)
from grnf.cli.source import open_source
from grnf.cli.tell import counted, note, progress, tell_bad
from grnf.errors import GraphError

if TYPE_CHECKING:
    from grnf import GRNF
    from grnf.scale.inputs import RunInputs

__all__ = ["EmbedCommand", "embed"]

SET_ASIDE = 3
"""The exit code if shards were set aside."""
LOCAL = "local"
ADDRESS = re.compile(r"[a-z]+://\S+|[\w.-]+:\d+|local")

SETTINGS = (
    "n_components eps delta orders proposal heads hidden_channels hidden_activation activation basis dtype "
    "unseen missing max_seconds_per_graph seed"
)
"""Options that are settings of GRNF, under their own names."""


def embed(
    source: SourceArgument,
    output: Output,
    format: Format = None,
    smiles_column: SmilesColumn = None,
    id_column: IdColumn = None,
    keep: Keep = None,
    n_components: NComponents = None,
    eps: Annotated[
        float | None, typer.Option(help="Error accepted on squared distances, for -m auto.")
    ] = None,
    delta: Annotated[float | None, typer.Option(help="Risk accepted of a larger error, for -m auto.")] = None,
    orders: Orders = None,
    proposal: Proposal = None,
    heads: Annotated[
        int | None, typer.Option(help="Features that share one hidden draw.", show_default="1")
    ] = None,
    max_seconds_per_graph: Annotated[
        float | None, typer.Option(help="Leave out orders that cost more, and say so.", metavar="SECONDS")
    ] = None,
    stratified: Annotated[
        bool, typer.Option("--stratified", help="Spread the orders evenly over the features.")
    ] = False,
    hidden_channels: Annotated[int | None, typer.Option(help="Hidden channels.", show_default="4")] = None,
    hidden_activation: Annotated[
        ActivationName | None, typer.Option(help="The hidden activation.", show_default="relu")
    ] = None,
    activation: Annotated[
        ActivationName | None, typer.Option(help="The outer one.", show_default="tanh")
    ] = None,
    basis: Annotated[
        BasisName | None, typer.Option(help="Basis of the equivariant maps.", show_default="indicator")
    ] = None,
    no_normalize: Annotated[bool, typer.Option("--no-normalize", help="Sums over nodes, not means.")] = False,
    no_center: Annotated[
        bool, typer.Option("--no-center", help="Do not subtract the vector of the null graph.")
    ] = False,
    dtype: Annotated[DtypeName | None, typer.Option(help="Of the vectors.", show_default="float32")] = None,
    unseen: UnseenPolicy = None,
    missing: MissingPolicy = None,
    seed: Seed = None,
    like: Like = None,
    n_jobs: Annotated[
        int | None,
        typer.Option(help="Threads, for a folder processes; -1 for all cores.", show_default="1"),
    ] = None,
    dask: Dask = None,
    shard_size: ShardSize = None,
    on_error: OnError = "raise",
    block_size: BlockSize = 1024,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with an interrupted run, if there is one.")
    ] = False,
    force: Force = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Embed graphs: one row of M numbers per graph, in the order of the files.

    The file OUTPUT.json holds the settings, the seed, the hash of the input and the list of graphs that could
    not be used. grnf.GRNF.load and --like make the same embedding again from it. Finished shards are kept in
    OUTPUT.parts until the run ends, so that an interrupted run can be resumed. Meanwhile no other run can
    write to OUTPUT. An OUTPUT without a suffix is a folder of shards with _manifest.json, which several
    processes or machines can compute. Shards that fail three times are set aside, with exit code 3.

    Example: grnf embed MUTAG.zip --output mutag.parquet
    """
    settings: dict[str, Any] = {name: value for name, value in locals().items() if name in SETTINGS.split()}
    settings |= {"stratified": True} if stratified else {}
    settings |= {"normalize": False} if no_normalize else {}
    settings |= {"center": False} if no_center else {}
    check_format(format, source)
    _check_usage(output, keep, {"--dask": dask, "--shard-size": shard_size}, resume, force)
    checked(_check_jobs, n_jobs, "--n-jobs")
    grnf = make_transformer(like, settings)
    with open_source(source, format) as found:
        from grnf.scale.inputs import RunInputs

        inputs = RunInputs(list(found.inputs) or found.path, found.name)
        graphs = with_columns(replace(found, known=inputs.source), smiles_column, id_column, quiet, keep)
        run: dict[str, Any] = {"format": graphs.format, "options": graphs.options, "block_size": block_size}
        run |= {"on_error": on_error, "n_jobs": n_jobs}
        total = graphs.count() if output != "-" and not quiet and sys.stderr.isatty() else None
        with progress("embedding", quiet, total=total) as advance:
            if output == "-":
                summary = _to_stdout(inputs, grnf, advance=advance, **run)
            else:
                run |= {"shard_size": shard_size} if shard_size is not None else {}
                run |= {"dask": True if dask == LOCAL else dask, "resume": resume, "force": force}
                summary = _to_disk(inputs, output, grnf, quiet, advance=advance, **run)
    bad, set_aside = summary["bad"], summary.get("set_aside", [])
    tell_bad(bad, on_error, quiet)
    if as_json:
        typer.echo(json.dumps({**summary, "bad": len(bad)}), err=output == "-")
    elif not quiet:
        shape = f"{summary['graphs']:,} graphs, {summary['n_components']:,} numbers each"
        where = "" if output == "-" else f": {summary['vectors']} (settings in {summary['settings']})"
        typer.echo(shape + where, err=output == "-")
    _tell_set_aside(set_aside, output)


def _check_usage(
    output: str, keep: list[str] | None, of_folders: dict[str, Any], resume: bool, force: bool
) -> None:
    """Refuse options that do not fit the output, and an output that exists, before much is read."""
    from grnf.io.vectors import side_file, vector_format
    from grnf.io.vectors.writer import work_folder
    from grnf.scale.driver import is_vector_file

    if output == "-" and resume:
        raise typer.BadParameter("what goes to standard output cannot be resumed", param_hint="--resume")
    if output != "-" and not is_vector_file(output):
        return
    for option, given in of_folders.items():
        if given is not None:
            raise typer.BadParameter("is for a folder: an --output without a suffix", param_hint=option)
    if output == "-":
        return
    if checked(vector_format, output, "--output") == "npy" and keep:
        raise typer.BadParameter(
            ".npy holds vectors alone; .parquet, .npz and .csv have columns too", param_hint="--keep"
        )
    if not resume and not work_folder(output, single=True).exists():
        for path in (Path(output), side_file(output)):
            check_free(path, force)  # and again once no other run can write


def _check_jobs(n_jobs: int | None) -> None:
    if n_jobs == 0:
        raise ValueError("0 threads; give 1 or more, or -1 for all cores")


def _to_disk(inputs: RunInputs, output: str, grnf: GRNF, quiet: bool, **run: Any) -> dict[str, Any]:
    """Embed into a file or a folder; if that is interrupted, explain how to resume it."""
    from grnf._utils.locks import FolderInUseError
    from grnf.io.vectors.writer import work_folder
    from grnf.scale.driver import embed as run_embed
    from grnf.scale.driver import is_vector_file

    single = is_vector_file(output)
    try:
        made = run_embed(inputs, output, grnf, note=lambda text: note(f"grnf: {text}", quiet), **run)
    except BaseException as error:
        work = work_folder(output, single=single)
        finished = len(list(work.glob("[0-9]*.json")))
        if finished and not isinstance(error, FolderInUseError | FileExistsError):
            more = [] if "--resume" in sys.argv else ["--resume"]
            if isinstance(error, ValueError) and run["on_error"] == "raise":
                more += ["--on-error", "skip"]
            command = shlex.join(["grnf", *sys.argv[1:], *more])
            note(f"grnf: stopped; {finished} finished shards are kept in {work}. To resume: {command}")
        if isinstance(error, KeyboardInterrupt):
            raise typer.Exit(130) from None
        raise
    summary = {"graphs": made.n_graphs, "n_components": made.n_components, "bad": made.bad}
    summary |= {"vectors": output, "settings": str(Path(output) / "_manifest.json")}
    if single:
        return summary | {"settings": f"{output}.json"}
    return summary | {"shards": made.n_shards, "computed": len(made.computed), "set_aside": made.set_aside}


def _to_stdout(inputs: RunInputs, grnf: GRNF, *, advance: Any, on_error: Any, **run: Any) -> dict[str, Any]:
    """Write CSV to standard output while the graphs are read."""
    from grnf.estimators import embed_stream, fit_stream
    from grnf.io.vectors import write_csv

    n_jobs, block_size = run.pop("n_jobs"), run.pop("block_size")

    def read() -> Any:
        return inputs.blocks(block_size, yield_bad=on_error != "raise", n_jobs=n_jobs, **run)

    bad: list[Any] = []

    def blocks() -> Any:
        for block, failed in embed_stream(grnf, counted(read(), advance), on_error=on_error):
            bad.extend({"graph_id": graph.graph_id, "reason": graph.reason} for graph in failed)
            yield block

    if next(read(), None) is None:
        raise GraphError(f"{inputs.name} holds no graphs")
    with workers(1 if n_jobs is None else n_jobs):
        if not hasattr(grnf, "n_components_"):
            fit_stream(grnf, read(), on_error=on_error)
        n_rows = write_csv(sys.stdout, blocks())
    sys.stdout.flush()
    return {"graphs": n_rows, "n_components": grnf.n_components_, "bad": bad}


def _tell_set_aside(set_aside: list[dict[str, Any]], output: str) -> None:
    """Report shards that were set aside, and end with the exit code for it."""
    for shard in set_aside:
        places = ", ".join(f"{each['path']} from graph {each['first']}" for each in shard["from"])
        note(f"grnf: shard {shard['shard']} ({places}) is set aside: {shard['reason']}")
    if set_aside:
        note(
            f"grnf: {len(set_aside)} shards are set aside, all others are in {output}; to try them again, "
            "repeat the command with --resume"
        )
        raise typer.Exit(SET_ASIDE)


class EmbedCommand(TyperCommand):
    """A command whose option --dask may stand without an address."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put "local" after --dask if no address follows."""
        filled: list[str] = []
        for place, word in enumerate(args):
            filled.append(word)
            following = args[place + 1] if place + 1 < len(args) else ""
            if word == "--dask" and not ADDRESS.fullmatch(following):
                filled.append(LOCAL)
        return super().parse_args(ctx, filled)
