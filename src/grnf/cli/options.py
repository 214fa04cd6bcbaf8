"""Options that several commands share, and how their text becomes settings of GRNF."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from grnf._utils.files import check_free, is_pipe
from grnf.cli.source import format_and_options

if TYPE_CHECKING:
    from grnf import GRNF

__all__ = [
    "ActivationName",
    "AsJson",
    "BasisName",
    "BlockSize",
    "Dask",
    "DtypeName",
    "Force",
    "Format",
    "IdColumn",
    "Keep",
    "Like",
    "MissingPolicy",
    "NComponents",
    "NJobs",
    "OnError",
    "Orders",
    "Output",
    "Proposal",
    "Quiet",
    "Seed",
    "ShardSize",
    "SmilesColumn",
    "SourceArgument",
    "UnseenPolicy",
    "check_format",
    "check_free",
    "checked",
    "make_transformer",
    "workers",
]


TABLE_READERS = ("smiles", "edge-table")
"""The formats that a table may be."""

ActivationName = Literal["identity", "relu", "ramp", "sigmoid", "tanh", "erf"]
BasisName = Literal["indicator", "overlapping"]
DtypeName = Literal["float32", "float64"]


def _hush(quiet: bool) -> bool:
    """Silence warnings with the rest."""
    if quiet:
        warnings.simplefilter("ignore")
    return quiet


SourceArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="SOURCE...", help="Files, folders or globs of graphs, or a pipe; - for standard input."
    ),
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="NAME[:OPTIONS]",
        help="Format of the input, where its suffix does not tell, and what its reader is to know, such as "
        "edge-list:directed or matrices:array=A,y=age.",
    ),
]
SmilesColumn = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Column of SMILES in a table; by default found by its name, or by what it holds.",
    ),
]
IdColumn = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="Column of the names of graphs in a table of SMILES.", show_default="graph_id"
    ),
]
Keep = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        help="Column of a table of SMILES to write beside the vectors, as smiles always is; may be repeated.",
    ),
]
NComponents = Annotated[
    str | None,
    typer.Option(
        "--n-components",
        "-m",
        metavar="M|auto",
        help="Number of features; auto takes it from --eps and --delta.",
        show_default="512",
    ),
]
Orders = Annotated[
    str | None,
    typer.Option(
        metavar="LAW",
        help="Law of the hidden order, as 1:2/3,2:1/3 or poisson:0.5.",
        show_default="1:2/3,2:1/3",
    ),
]
Seed = Annotated[int | None, typer.Option(help="Seed of the random features.", show_default="0")]
Like = Annotated[
    Path | None,
    typer.Option(help="Settings and features of an earlier run: its .json file. Excludes other settings."),
]
NJobs = Annotated[int, typer.Option(help="Number of threads; -1 for all cores.")]
OnError = Annotated[
    Literal["raise", "nan", "skip"],
    typer.Option(help="A graph that cannot be used: stop, give a row of NaN, or leave it out."),
]
BlockSize = Annotated[int, typer.Option(min=1, help="Graphs that are held in memory at a time.")]
Force = Annotated[bool, typer.Option("--force", help="Write over what is there already.")]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", callback=_hush, help="Say nothing but errors and answers.")
]
Output = Annotated[
    str,
    typer.Option(
        "--output",
        "-o",
        help="Where to write: .parquet, .npy, .npz, .csv, or - for CSV on stdout; without a suffix a "
        "folder of shards, in Parquet with a manifest.",
    ),
]
Proposal = Annotated[
    str | None,
    typer.Option(metavar="LAW", help="Law to draw from: as --orders, or 1,2 for those orders of it alone."),
]
Dask = Annotated[
    str | None,
    typer.Option(
        metavar="[ADDRESS]",
        help="For a folder: compute on the Dask cluster of this scheduler, or without an address on one "
        "that is started on this machine.",
    ),
]
ShardSize = Annotated[
    int | None, typer.Option(min=1, help="For a folder: graphs per shard.", show_default="32768")
]
UnseenPolicy = Annotated[
    Literal["open", "error", "ignore"] | None,
    typer.Option(
        help="A category that was not there before: a channel of its own, an error, or zeros.",
        show_default="open",
    ),
]
MissingPolicy = Annotated[
    Literal["error", "zero"] | None,
    typer.Option(
        help="An attribute that some nodes or edges lack: an error, or zeros.", show_default="error"
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def checked(parse: Callable[[Any], Any], text: Any, option: str) -> Any:
    """Parse the text of an option; what is wrong with it becomes wrong usage."""
    try:
        return parse(text)
    except (ValueError, ZeroDivisionError) as error:
        raise typer.BadParameter(str(error), param_hint=option) from None


def check_format(format: str | None, name: str | list[str], option: str = "--format") -> None:
    """Refuse a format that is not known, and standard input, standard output or a pipe without one."""
    from grnf.io import FORMATS
    from grnf.io.files.formats import TABLES

    if isinstance(name, list):
        for each in name:
            check_format(format, each, option)
        return

    known = [*FORMATS, *(TABLES if option == "--format" else ())]
    if format is not None and option == "--format":
        told, options = format_and_options(format)
        if options or told is None:
            _check_options(told, options)
        format = told
    if format is None and (name == "-" or (is_pipe(name) and not Path(name).suffix)):
        raise typer.BadParameter(
            f"{name} has no suffix: say the format, {', '.join(known)}", param_hint=option
        )
    if format is not None and format not in known:
        raise typer.BadParameter(f"{format!r}; known are {', '.join(known)}", param_hint=option)


def _check_options(format: str | None, options: Mapping[str, Any]) -> None:
    """Refuse options that the reader of a format does not have, and values that are none of theirs."""
    from grnf.io import FORMATS
    from grnf.io.files.formats import TABLES

    if format is None:
        raise typer.BadParameter("the name of a format is wanted before the colon", param_hint="--format")
    known = {
        name: str(parameter.annotation).startswith("bool")
        for reader in (TABLE_READERS if format in TABLES else (format,))
        if reader in FORMATS
        for name, parameter in inspect.signature(FORMATS[reader].reader).parameters.items()
        if parameter.kind == parameter.KEYWORD_ONLY and name not in ("on_error", "keep")
    }
    for name, value in options.items():
        if name not in known:
            has = f"its options are {', '.join(known)}" if known else "it has none"
            raise typer.BadParameter(f"{format} has no option {name!r}; {has}", param_hint="--format")
        if isinstance(value, bool) != known[name]:
            wanted = "yes or no" if known[name] else "a value"
            raise typer.BadParameter(f"{name} of {format} wants {wanted}: {name}=...", param_hint="--format")


def make_transformer(like: Path | None, settings: dict[str, Any]) -> GRNF:
    """Return the transformer that the options ask for: that of an earlier run, or one with these settings.

    Settings that are None were not given; GRNF has its own defaults for them.
    """
    from grnf import GRNF, Graph

    given = {name: value for name, value in settings.items() if value is not None}
    if like is not None:
        policies = {name: given.pop(name) for name in ("unseen", "missing") if name in given}
        if given:
            names = ", ".join("--" + name.replace("_", "-") for name in given)
            raise typer.BadParameter(f"{names} cannot be combined with --like, which brings all settings")
        return GRNF.load(like, **policies)
    if "n_components" in given:
        given["n_components"] = checked(_parse_dimension, given["n_components"], "--n-components")
    if "orders" in given:
        given["orders"] = checked(_parse_law, given["orders"], "--orders")
    if "proposal" in given:
        given["proposal"] = checked(
            lambda text: _parse_proposal(text, given.get("orders", GRNF().orders)),
            given["proposal"],
            "--proposal",
        )
    given["random_state"] = given.pop("seed", 0)
    try:
        GRNF(**given).fit([Graph(0, [])])
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    return GRNF(**given)


@contextmanager
def workers(n_jobs: int) -> Iterator[None]:
    """Let GRNF use so many threads, without making their number one of its settings."""
    from joblib import parallel_config

    if n_jobs == 0:
        raise typer.BadParameter("0 threads; give 1 or more, or -1 for all cores", param_hint="--n-jobs")
    with parallel_config(backend="threading", n_jobs=n_jobs):
        yield


def _parse_dimension(text: str) -> int | str:
    if text == "auto":
        return text
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"an integer or auto is wanted; got {text!r}") from None


def _parse_law(text: str) -> Any:
    """Parse 1:2/3,2:1/3 or poisson:0.5."""
    from fractions import Fraction

    from grnf.law import ShiftedPoisson, as_order_law

    if text.startswith("poisson:"):
        return ShiftedPoisson(text.removeprefix("poisson:"))  # type: ignore[arg-type]
    try:
        pairs = [pair.split(":") for pair in text.split(",")]
        law = {int(k): float(Fraction(p.strip())) for k, p in pairs}
    except ValueError:
        raise ValueError(f"order:probability,... or poisson:rate is wanted; got {text!r}") from None
    as_order_law(law)
    return law


def _parse_proposal(text: str, target: Any) -> Any:
    """Parse a law, or a list of orders such as 1,2, which stands for the target restricted to them."""
    from grnf.law import as_order_law

    if ":" in text:
        return _parse_law(text)
    try:
        orders = [int(k) for k in text.split(",")]
    except ValueError:
        raise ValueError(f"a law, or orders such as 1,2, are wanted; got {text!r}") from None
    return as_order_law(target).restricted_to(orders)
