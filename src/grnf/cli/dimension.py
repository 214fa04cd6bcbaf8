"""`grnf dimension`: from error and risk to the number of features, and back."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

import typer

from grnf.cli.options import DELTA, require

NOTES = {
    "hoeffding": "holds for every M, used by GRNF(n_components='auto')",
    "chebyshev": "Theorem 2 of the paper",
    "clt": "normal approximation at the largest possible variance",
}


def dimension(
    *,
    eps: Annotated[float | None, "Accepted error of a squared distance (or kernel value)."] = None,
    delta: Annotated[float | None, "Accepted probability of a larger error. [default: 0.05]"] = None,
    n_components: Annotated[int | None, "-m", "Number of features M."] = None,
    n_graphs: Annotated[int | None, "Bound the error for all pairs of this many graphs together."] = None,
    quantity: Annotated[Literal["distance", "kernel"], "What is estimated."] = "distance",
    activation: Annotated[Literal["tanh", "sigmoid", "ramp"], "Output activation."] = "tanh",
    as_json: Annotated[bool, "--json", "Print JSON.", {"rich_help_panel": "Run"}] = False,
) -> None:
    """Compute how many features an error bound needs.

    Give --eps to get the number of features, --n-components to get the error, or both to get the probability
    of a larger error.

    Examples:
      grnf dimension --eps 0.1
      grnf dimension -m 512 --delta 0.01 --n-graphs 1000
    """
    require(eps is not None or n_components is not None, "give --eps, --n-components or both")
    require(
        delta is None or eps is None or n_components is None,
        "give at most two of --eps, --delta and --n-components: the third is computed",
    )
    from grnf.metric import error_bound, required_dimension
    from grnf.metric.bounds import BOUNDS, failure_probability

    settings: dict[str, Any] = {"quantity": quantity, "activation": activation, "n_graphs": n_graphs}
    risk = DELTA if delta is None else delta
    given: dict[str, Any] = {"eps": eps, "delta": risk, "n_components": n_components}
    asked = "eps" if eps is None else "n_components" if n_components is None else "delta"
    del given[asked]
    functions: dict[str, Any] = {
        "eps": error_bound,
        "n_components": required_dimension,
        "delta": failure_probability,
    }
    try:
        values = {bound: functions[asked](**given, bound=bound, **settings) for bound in BOUNDS}
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    if as_json:
        typer.echo(json.dumps({"given": {**given, **settings}, "asked": asked, "bounds": values}))
        return
    for bound, value in values.items():
        number = f"{value:,}" if asked == "n_components" else f"{value:.4g}"
        typer.echo(f"{asked} = {number:>12}  {bound:<10} {NOTES[bound]}")
