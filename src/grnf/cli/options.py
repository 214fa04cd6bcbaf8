"""Options that commands share: dataclasses that `grnf.cli.command.command` turns into options."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, fields
from inspect import get_annotations
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import typer

from grnf._utils.files import check_free
from grnf._utils.words import counted
from grnf.cli.messages import note
from grnf.errors import invalid

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from grnf.estimators import GRNF

DELTA = 0.05

ActivationName = Literal["identity", "relu", "ramp", "sigmoid", "tanh", "erf"]
Force = Annotated[bool, "Overwrite existing output."]
Space = Annotated[
    Literal["joint", "d_P", "whitened"],
    "Distances. joint: WL labels and whitened GRNF, in which near graphs are alike. d_P: the "
    "distance of GRNF. whitened: GRNF with equal variance in all directions.",
]


def space_of_vectors(space: str) -> Literal["whitened", "plain"]:
    """Return the space of the library in which the vectors of --space are compared."""
    return "whitened" if space == "whitened" else "plain"


def check_radius(radius: float | None, option: str = "--radius") -> None:
    """Refuse a radius that is not a number >= 0."""
    require(radius is None or 0 <= radius < float("inf"), f"{option} must be a number >= 0, got {radius}")


def require(condition: bool, text: str) -> None:
    """Report wrong usage unless the condition holds."""
    if not condition:
        raise typer.BadParameter(text)


def check_probability(option: str, value: float | None) -> None:
    """Refuse the value of an option that is not between 0 and 1."""
    require(value is None or 0 < value < 1, f"{option} must be between 0 and 1 (exclusive), got {value}")


def checked(parse: Callable[[Any], Any], text: Any, option: str) -> Any:
    """Parse the text of an option. An error in it becomes wrong usage."""
    try:
        return parse(text)
    except (ValueError, ZeroDivisionError) as error:
        raise typer.BadParameter(str(error), param_hint=option) from None


def _hush(quiet: bool) -> bool:
    """Silence warnings with the rest."""
    if quiet:
        warnings.simplefilter("ignore")
    return quiet


@dataclass(frozen=True)
class Messages:
    """What a command prints."""

    panel: ClassVar[str] = "Run"
    suffixes: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, **attributes: Any) -> None:
        """Take the panel of the options of a class, and the suffixes of its output."""
        for name, value in attributes.items():
            setattr(cls, name, value)

    quiet: Annotated[bool, "-q", "Print only results and errors.", {"callback": _hush}] = False
    as_json: Annotated[bool, "--json", "Print JSON."] = False

    def check(self) -> None:
        """Refuse values that are not allowed, before much is done."""

    def running(self) -> AbstractContextManager[None]:
        """Return the context of the command."""
        return nullcontext()

    def note(self, text: str) -> None:
        """Print a message on standard error."""
        note(text, self.quiet)

    def echo(self, summary: Mapping[str, Any], text: str, *, err: bool = False) -> None:
        """Print what was done, as JSON or as text."""
        if self.as_json or not self.quiet:
            typer.echo(json.dumps(summary) if self.as_json else text, err=err)


@dataclass(frozen=True)
class Run(Messages, panel="Run"):
    """How a command runs, and what it prints."""

    n_jobs: Annotated[int, "Number of threads. -1 for all cores."] = 1

    def check(self) -> None:
        """Refuse 0 threads."""
        require(self.n_jobs != 0, "--n-jobs must be at least 1, or -1 for all cores, got 0")
        super().check()

    def running(self) -> AbstractContextManager[None]:
        """Let GRNF use `n_jobs` threads, without making their number one of its settings."""
        from joblib import parallel_config

        threads: AbstractContextManager[None] = parallel_config(backend="threading", n_jobs=self.n_jobs or 1)
        return threads


@dataclass(frozen=True)
class Destination(Run, panel="Output", suffixes=(".csv", ".json", ".parquet")):
    """Output options of a command."""

    output: Annotated[str, "-o", "File to write: .csv, .json, .parquet, or - for standard output."] = "-"
    force: Force = False

    def check(self) -> None:
        """Refuse an output that cannot be written."""
        if self.output != "-":
            self.check_output()
        super().check()

    def check_output(self) -> None:
        """Refuse a file whose name has none of the suffixes, or that exists already."""
        check_new("--output", self.output, self.suffixes, self.force)

    def summarize(self, counts: Mapping[str, Any], text: str | None = None) -> None:
        """Print what was written, on standard error if a table is on standard output."""
        text = ", ".join(counted(value, name) for name, value in counts.items()) if text is None else text
        if self.output == "-":
            note(text, self.quiet or self.as_json)
        else:
            self.echo({"output": self.output, **counts}, f"{text}: {self.output}")


@dataclass(frozen=True)
class Output(Destination, panel="Output"):
    """Output options of a command that writes a table."""

    safe_csv: Annotated[
        bool, "Write CSV texts that a spreadsheet would run as formulas with a leading '."
    ] = False

    def write(
        self,
        columns: Sequence[str],
        records: Iterable[dict[str, Any]],
        types: Mapping[str, str] | None = None,
    ) -> None:
        """Write a table to the file, or to standard output as CSV or JSON."""
        from grnf._utils.result_tables import write_table, write_text_table

        if self.output == "-":
            write_text_table(sys.stdout, list(columns), records, self.as_json, safe_csv=self.safe_csv)
            sys.stdout.flush()
        else:
            write_table(self.output, list(columns), records, types, safe_csv=self.safe_csv)


def check_new(option: str, path: str | Path | None, suffixes: tuple[str, ...], force: bool) -> None:
    """Refuse a file to write that has none of the suffixes, or that exists already."""
    if path is not None:
        expected = " or ".join([", ".join(suffixes[:-1]), suffixes[-1]] if len(suffixes) > 1 else suffixes)
        require(Path(path).suffix.lower() in suffixes, f"{option} must end in {expected}, got {path}")
        check_free(path, force)


@dataclass(frozen=True)
class Features(Messages, panel="Features"):
    """Settings of GRNF. None if not given, for the defaults of GRNF."""

    n_components: Annotated[int | None, "-m M", "Number of features. [default: 512]", {"min": 1}] = None
    orders: Annotated[
        str | None,
        "DIST",
        "Distribution of the hidden order. Examples: 1:2/3,2:1/3, poisson:0.5. [default: 1:2/3,2:1/3]",
    ] = None
    seed: Annotated[int | None, "Seed of the random features. [default: 0]"] = None

    def given(self) -> dict[str, Any]:
        """Return the settings that were given, by the names of their options."""
        groups = (base for base in type(self).__mro__ if vars(base).get("panel") == "Features")
        names = {name for base in groups for name in get_annotations(base)} - {"panel", "like"}
        values = {field.name: getattr(self, field.name) for field in fields(self) if field.name in names}
        return {name: value for name, value in values.items() if value is not None and value is not False}

    def parameters(self) -> dict[str, Any]:
        """Return the settings that were given as parameters of GRNF."""
        given = self.given()
        if "orders" in given:
            given["orders"] = checked(_parse_orders, given["orders"], "--orders")
        given["random_state"] = given.pop("seed", 0)
        return given

    def transformer(self) -> GRNF:
        """Return the transformer with these settings. Wrong ones become wrong usage."""
        from grnf.estimators import GRNF

        made = GRNF(**self.parameters())
        try:
            made.check_params()
        except ValueError as error:
            raise typer.BadParameter(str(error)) from None
        return made


@dataclass(frozen=True)
class LikeFeatures(Features, panel="Features"):
    """Settings of GRNF or of joint features, or those of an earlier run."""

    like: Annotated[Path | None, "Settings file (.json) of an earlier run. Excludes other settings."] = None

    def transformer(self) -> GRNF:
        """Return the transformer of the earlier run, or one with these settings."""
        from grnf.estimators import GRNF

        if self.like is None:
            return super().transformer()
        given = self.given()
        policies = {name: given.pop(name) for name in ("handle_unknown", "handle_missing") if name in given}
        require(not given, f"{_options(given)} cannot be combined with --like, which has all settings")
        return GRNF.load(self.like, **policies)

    def in_space(self, space: str, *, open_labels: bool = False) -> Any:
        """Return the transformer of a space. With `open_labels`, joint features have no axes of labels."""
        from grnf.estimators import JointFeatures

        if space != "joint":
            return self.transformer()
        require(
            self.like is None and self.orders is None,
            "--orders and --like need --space d_P or --space whitened",
        )
        require(
            not open_labels or self.n_components is None,
            "--n-components needs --space d_P or --space whitened. Joint vectors here have 2,112 numbers",
        )
        return JointFeatures(None if open_labels else self.n_components or 192, random_state=self.seed or 0)

    def transformer_of(self, vectors: str) -> GRNF | None:
        """Return the transformer that made the vectors of a file, or None if it is not known."""
        from grnf.estimators import GRNF
        from grnf.io.vectors import side_file

        if self.like is not None:
            return self.transformer()
        given = self.given()
        require(not given, f"{_options(given)}: {vectors} holds vectors, whose settings are fixed")
        return GRNF.load(side_file(vectors)) if side_file(vectors).exists() else None


@dataclass(frozen=True)
class FullFeatures(LikeFeatures, panel="Features"):
    """All settings of GRNF."""

    n_components: Annotated[
        str | None, "-m M|auto", "Number of features. auto: computed from --eps and --delta. [default: 512]"
    ] = None  # type: ignore[assignment]
    eps: Annotated[float | None, "Accepted error of squared distances, for -m auto."] = None
    delta: Annotated[float | None, "Probability of a larger error, for -m auto. [default: 0.05]"] = None
    proposal: Annotated[
        str | None,
        "DIST",
        "Distribution to sample from, written like --orders, or the orders to sample from: 1,2.",
    ] = None
    heads: Annotated[int | None, "Output heads per hidden sample. [default: 1]"] = None
    stratified: Annotated[bool, "Spread the orders evenly over the features."] = False
    max_seconds_per_graph: Annotated[
        float | None, "SECONDS", "Leave out orders that take longer, with a warning."
    ] = None
    hidden_channels: Annotated[int | None, "Number of hidden channels. [default: 4]"] = None
    hidden_activation: Annotated[ActivationName | None, "Hidden activation. [default: relu]"] = None
    activation: Annotated[ActivationName | None, "Output activation. [default: tanh]"] = None
    basis: Annotated[
        Literal["indicator", "overlapping"] | None, "Basis of the equivariant maps. [default: indicator]"
    ] = None
    no_normalize: Annotated[bool, "Use sums over nodes instead of means."] = False
    no_center: Annotated[bool, "Do not subtract the vector of the null graph."] = False
    dtype: Annotated[Literal["float32", "float64"] | None, "Type of the vectors. [default: float32]"] = None
    handle_unknown: Annotated[
        Literal["open", "error", "ignore"] | None,
        "A category that fit did not find. open: a new channel. error: stop. ignore: zeros. [default: open]",
    ] = None
    handle_missing: Annotated[
        Literal["error", "zero"] | None,
        "An attribute that some nodes or edges lack. error: stop. zero: zeros. [default: error]",
    ] = None

    def parameters(self) -> dict[str, Any]:
        """Return the settings that were given as parameters of GRNF."""
        from grnf.estimators import GRNF

        given = super().parameters()
        if "n_components" in given:
            given["n_components"] = checked(_parse_dimension, given["n_components"], "--n-components")
        if given.get("n_components") == "auto":
            require("eps" in given, "-m auto needs --eps, for example --eps 0.1")
        if "proposal" in given:
            target = given.get("orders", GRNF().orders)
            given["proposal"] = checked(
                lambda text: _parse_orders(text, target), given["proposal"], "--proposal"
            )
        for name in ("normalize", "center"):
            if given.pop(f"no_{name}", False):
                given[name] = False
        return given


def _options(names: Iterable[str]) -> str:
    return ", ".join("--" + name.replace("_", "-") for name in names)


def _parse_dimension(text: str) -> int | str:
    try:
        return text if text == "auto" else int(text)
    except ValueError:
        raise invalid("-m", "be an integer or auto", repr(text)) from None


def _parse_orders(text: str, target: Any = None) -> Any:
    """Parse 1:2/3,2:1/3 or poisson:0.5, or orders, for example 1,2, to which a target is restricted."""
    from fractions import Fraction

    from grnf.law import ShiftedPoisson
    from grnf.law.distributions import as_order_law

    if text.startswith("poisson:"):
        return ShiftedPoisson(text.removeprefix("poisson:"))  # type: ignore[arg-type]
    law: Any
    try:
        if target is not None and ":" not in text:
            law = [int(k) for k in text.split(",")]
        else:
            pairs = [pair.split(":") for pair in text.split(",")]
            law = {int(k): float(Fraction(p.strip())) for k, p in pairs}
    except ValueError:
        orders = "" if target is None else ", or orders (example: 1,2)"
        raise invalid(
            "a distribution", f"be order:probability,... or poisson:rate{orders}", repr(text)
        ) from None
    if isinstance(law, list):
        return as_order_law(target).restricted_to(law)
    as_order_law(law)
    return law
