"""`grnf embed`: files of graphs to a file of vectors, or to a folder of shards."""

from __future__ import annotations

import json
import shlex
import sys
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from grnf._utils.files import write_json
from grnf._version import __version__
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
    check_free,
    checked,
    make_transformer,
    workers,
)
from grnf.cli.shards import is_folder, tell_set_aside, to_folder
from grnf.cli.source import Source, open_source, sha256
from grnf.cli.tell import counted, note, progress, tell_bad
from grnf.errors import GraphError

if TYPE_CHECKING:
    from grnf import GRNF
    from grnf.io.vectors import Parts

__all__ = ["embed"]

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

    Beside OUTPUT, the file OUTPUT.json holds the settings, the seed, the hash of the input and the list of
    graphs that could not be used; grnf.GRNF.load and --like make the same embedding again from it. Finished
    blocks are kept in OUTPUT.parts until all are there, so that an interrupted run can be resumed; meanwhile
    no other run can write to OUTPUT. An OUTPUT without a suffix is a folder of shards with _manifest.json,
    made by several processes or machines; shards that fail three times are set aside, which is exit code 3.

    Example: grnf embed MUTAG.zip --output mutag.parquet
    """
    settings: dict[str, Any] = {name: value for name, value in locals().items() if name in SETTINGS.split()}
    settings |= {"stratified": True} if stratified else {}
    settings |= {"normalize": False} if no_normalize else {}
    settings |= {"center": False} if no_center else {}
    check_format(format, source)
    if is_folder(output):
        grnf = make_transformer(like, settings)
        options: dict[str, Any] = {
            "on_error": on_error,
            "block_size": block_size,
            "resume": resume,
            "force": force,
        }
        with open_source(source, format) as found:
            graphs = with_columns(found, smiles_column, id_column, quiet, keep)
            summary = to_folder(
                grnf, graphs, output, dask=dask, shard_size=shard_size, n_jobs=n_jobs, quiet=quiet, **options
            )
        tell_bad(summary["bad"], on_error, quiet)
        _tell(summary, output, quiet, as_json)
        tell_set_aside(summary["set_aside"], output)
        return
    for option, given in (("--dask", dask), ("--shard-size", shard_size)):
        if given is not None:
            raise typer.BadParameter("is for a folder: an --output without a suffix", param_hint=option)
    n_jobs = 1 if n_jobs is None else n_jobs
    if output == "-" and resume:
        raise typer.BadParameter("what goes to standard output cannot be resumed", param_hint="--resume")
    if output != "-":
        from grnf.io.vectors import Parts, vector_format

        if checked(vector_format, output, "--output") == "npy" and keep:
            raise typer.BadParameter(
                ".npy holds vectors alone; .parquet, .npz and .csv have columns too", param_hint="--keep"
            )
        if not resume and not Parts.folder_of(output).exists():
            _check_outputs(output, force)  # before much is read; and again once no other run can write
    grnf = make_transformer(like, settings)
    run = _Run(grnf, like, on_error, block_size, quiet, resume, force, n_jobs)
    with open_source(source, format) as found, workers(n_jobs):
        graphs = with_columns(found, smiles_column, id_column, quiet, keep)
        summary = run.to_stdout(graphs) if output == "-" else run.to_file(graphs, Path(output))
    _tell(summary, output, quiet, as_json)


def _tell(summary: dict[str, Any], output: str, quiet: bool, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(summary), err=output == "-")
    elif not quiet:
        shape = f"{summary['graphs']:,} graphs, {summary['n_components']:,} numbers each"
        where = "" if output == "-" else f": {summary['vectors']} (settings in {summary['settings']})"
        typer.echo(shape + where, err=output == "-")


@dataclass
class _Run:
    """One embedding: the transformer, and how to go through the graphs."""

    grnf: GRNF
    like: Path | None
    on_error: Any
    block_size: int
    quiet: bool
    resume: bool = False
    force: bool = False
    n_jobs: int = 1

    def to_stdout(self, source: Source) -> dict[str, Any]:
        """Write CSV to standard output as the blocks come."""
        from grnf.io.vectors import write_csv

        bad: list[dict[str, Any]] = []

        def blocks() -> Any:
            for _, block, failed in self._blocks(source, [(0, None)]):
                bad.extend(failed)
                yield block

        self._fit(source)
        n_rows = write_csv(sys.stdout, blocks())
        sys.stdout.flush()
        tell_bad(bad, self.on_error, self.quiet)
        return {"graphs": n_rows, "n_components": self.grnf.n_components_, "bad": len(bad)}

    def to_file(self, source: Source, output: Path) -> dict[str, Any]:
        """Embed block by block into parts, make them the output, and write the settings beside."""
        from grnf.io.vectors import Parts, side_file, vector_format, vectors_written

        if not output.parent.is_dir():
            raise GraphError(f"the folder {output.parent} does not exist")
        run = self._manifest(source)
        with Parts(output, run, resume=self.resume) as parts:  # no other run writes this output meanwhile
            try:
                side = None if parts.has_vectors else self._finished(output, parts.run)
                if side is None:
                    self._fill(parts, source)
                    npy = vector_format(output) == "npy"
                    with parts.becoming_npy(output) if npy else vectors_written(output, parts) as n_rows:
                        side = self._side(output, n_rows, parts.bad())
                        side["input"] = {"name": source.name, **run["input"]}
                        side["run"] = parts.run
                        side["transformer"] = json.loads(parts.transformer.read_text(encoding="utf-8"))
                        write_json(side_file(output), side)
            except BaseException as error:
                self._give_up(parts, error)
                if isinstance(error, KeyboardInterrupt):
                    raise typer.Exit(130) from None
                raise
            parts.remove()
        tell_bad(side["bad"], self.on_error, self.quiet)
        return {
            "graphs": side["vectors"]["n_graphs"],
            "n_components": side["vectors"]["n_components"],
            "bad": len(side["bad"]),
            "vectors": str(output),
            "settings": str(side_file(output)),
        }

    def _finished(self, output: Path, run: dict[str, Any]) -> dict[str, Any] | None:
        """Return what stands beside a finished output of this very run; refuse to write over any other."""
        from grnf.io.vectors import side_file
        from grnf.io.vectors.parts import differences

        if self.resume and output.exists() and side_file(output).exists():
            made = _read_side(side_file(output))
            before = {
                **made.get("run", {}),
                "on_error": made.get("on_error") if made.get("bad") else self.on_error,
            }
            now = {**run, "on_error": self.on_error, "block_size": before.get("block_size")}
            if before == now:
                note(f"grnf: {output} is finished: there is nothing to resume", self.quiet)
                return made
            if not self.force:
                raise FileExistsError(
                    f"{output} is of another run ({'; '.join(differences(before, now))}): write over it with "
                    "--force, or choose another name"
                )
        _check_outputs(output, self.force)
        return None

    def _fill(self, parts: Parts, source: Source) -> None:
        """Add the blocks that are not there yet."""
        from grnf import GRNF

        for number, reason in parts.damaged.items():
            note(f"grnf: block {number} is computed again: {reason}", self.quiet)
        if len(parts):
            self._check_policy(parts)
            self.grnf = GRNF.load(parts.transformer)
            note(f"grnf: {len(parts)} finished blocks found", self.quiet)
        else:
            self._fit(source)
            self.grnf.save(parts.transformer)
        for number, block, bad in self._blocks(source, list(parts.gaps())):
            parts.add(block, bad, number)

    def _fit(self, source: Source) -> None:
        """Fit on all graphs, unless --like brought a fitted transformer."""
        source.require_graphs()
        if hasattr(self.grnf, "n_components_"):
            return
        from grnf.estimators import fit_stream

        with progress("reading", self.quiet) as advance:
            read = source.read_blocks(self.block_size, yield_bad=self.on_error != "raise")
            items = counted(read, advance)
            fit_stream(self.grnf, items, on_error=self.on_error)

    def _check_policy(self, parts: Parts) -> None:
        """Refuse to mix blocks that leave bad graphs out with blocks that keep their rows."""
        left_out = {record["row"] is None for record in parts.bad()}
        if left_out and left_out != {self.on_error == "skip"}:
            before = "skip" if True in left_out else "nan"
            raise GraphError(f"{parts.folder} was made with --on-error {before}; resume it with the same")

    def _blocks(self, source: Source, gaps: list[tuple[int, int | None]]) -> Any:
        """Yield number, vectors and bad graphs of the blocks in these ranges; others are only read."""
        from grnf.estimators import embed_stream

        settings: dict[str, Any] = {"block_size": self.block_size, "on_error": self.on_error}
        skip = self.on_error == "skip"
        total = source.count() if not self.quiet and sys.stderr.isatty() else None
        with progress("embedding", self.quiet, total=total) as advance:
            read = source.read_blocks(self.block_size, yield_bad=self.on_error != "raise", n_jobs=self.n_jobs)
            items = counted(read, advance)
            done = 0
            for first, end in gaps:
                next(islice(items, first - done, first - done), None)
                wanted = islice(items, None if end is None else end - first)
                blocks = embed_stream(self.grnf, wanted, start=first * self.block_size, **settings)
                for number, (block, bad) in enumerate(blocks, first):
                    records = [
                        {
                            "graph_id": graph.graph_id,
                            "index": graph.index,
                            "reason": graph.reason,
                            "row": None if skip else graph.index,
                        }
                        for graph in bad
                    ]
                    yield number, block, records
                done = first if end is None else end

    def _manifest(self, source: Source) -> dict[str, Any]:
        """Return all that the blocks depend on."""
        from grnf.estimators.base import plain_params

        return {
            "grnf": __version__,
            "settings": plain_params(self.grnf),
            "like": self.like and sha256(self.like),
            "input": {
                "format": source.format,
                "sha256": source.fingerprint(),
                "options": dict(source.options),
            },
            "block_size": self.block_size,
        }

    def _side(self, output: Path, n_rows: int, bad: list[dict[str, Any]]) -> dict[str, Any]:
        return {
            "format": "grnf-embedding",
            "version": 1,
            "grnf": __version__,
            "vectors": {
                "file": output.name,
                "n_graphs": n_rows,
                "n_components": self.grnf.n_components_,
                "dtype": self.grnf.dtype,
            },
            "on_error": self.on_error,
            "bad": bad,
        }

    def _give_up(self, parts: Parts, error: BaseException) -> None:
        """Keep finished blocks and say how to go on; without any, leave nothing behind."""
        from grnf._utils.locks import FolderInUseError

        if isinstance(error, FolderInUseError):  # what is there now, if anything, is of another run
            return
        if not len(parts):
            parts.remove()
            return
        more = [] if "--resume" in sys.argv else ["--resume"]
        if isinstance(error, ValueError) and self.on_error == "raise":
            more += ["--on-error", "skip"]
        command = shlex.join(["grnf", *sys.argv[1:], *more])
        note(f"grnf: stopped; {len(parts)} finished blocks are kept in {parts.folder}. To go on: {command}")


def _check_outputs(output: str | Path, force: bool) -> None:
    """Refuse to write over vectors or their settings."""
    from grnf.io.vectors import side_file

    for path in (Path(output), side_file(output)):
        check_free(path, force)


def _read_side(path: Path) -> dict[str, Any]:
    """Read what stands beside vectors; nothing if it is damaged."""
    try:
        made = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        return {}
    return made if isinstance(made, dict) else {}
