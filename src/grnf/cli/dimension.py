"""`grnf dimension`: from error and risk to the number of features, and back."""

from __future__ import annotations

import json
from typing import Any

import typer

__all__ = ["dimension"]


def dimension(
    eps: float | None = typer.Option(None, help="Error accepted on a squared distance (or kernel value)."),
    delta: float | None = typer.Option(None, help="Risk accepted that the error is larger."),
    n_components: int | None = typer.Option(None, "--n-components", "-m", help="Number of features M."),
    n_graphs: int | None = typer.Option(None, help="Ask for all pairs among so many graphs at once."),
    quantity: str = typer.Option("distance", help="What is estimated: distance or kernel."),
    activation: str = typer.Option("tanh", help="The outer activation: tanh, sigmoid or ramp."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Say how many features an error needs. Give two of --eps, --delta, --n-components; the third follows.

    Example: grnf dimension --eps 0.1 --delta 0.05
    """
    if sum(given is not None for given in (eps, delta, n_components)) != 2:
        raise typer.BadParameter("give exactly two of --eps, --delta and --n-components")
    from grnf.metric import error_bound, failure_probability, required_dimension
    from grnf.metric.bounds import BOUNDS

    settings: dict[str, Any] = {"quantity": quantity, "activation": activation, "n_graphs": n_graphs}
    answers: dict[str, float] = {}
    try:
        for bound in BOUNDS:
            if n_components is None:
                answers[bound] = required_dimension(eps, delta, bound=bound, **settings)  # type: ignore[arg-type]
            elif eps is None:
                answers[bound] = error_bound(n_components, delta, bound=bound, **settings)  # type: ignore[arg-type]
            else:
                answers[bound] = failure_probability(n_components, eps, bound=bound, **settings)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    asked = "n_components" if n_components is None else "eps" if eps is None else "delta"
    if as_json:
        given = {"eps": eps, "delta": delta, "n_components": n_components}
        given = {name: value for name, value in given.items() if value is not None}
        typer.echo(json.dumps({"given": {**given, **settings}, "asked": asked, "bounds": answers}))
        return
    notes = {
        "hoeffding": "holds for every M; what GRNF(n_components='auto') uses",
        "chebyshev": "Theorem 2 of the paper",
        "clt": "normal approximation at the largest possible variance",
    }
    for bound, value in answers.items():
        number = f"{value:,}" if asked == "n_components" else f"{value:.4g}"
        typer.echo(f"{asked} = {number:>12}  {bound:<10} {notes[bound]}")
