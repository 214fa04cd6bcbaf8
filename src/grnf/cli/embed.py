"""`grnf embed`: a file of graphs to a file of vectors."""

from __future__ import annotations

import json
from pathlib import Path

import typer

__all__ = ["embed"]


def embed(
    source: Path = typer.Argument(help="TU data set: a .zip file or a folder."),
    output: Path = typer.Option(..., "--output", "-o", help="Where to write the vectors: .npy or .csv."),
    n_components: int = typer.Option(512, "--n-components", "-m", help="Number of features M."),
    seed: int = typer.Option(0, help="Seed of the random features."),
    n_jobs: int = typer.Option(1, help="Number of threads; -1 for all cores."),
    quiet: bool = typer.Option(False, "--quiet", "-q", help="Say nothing but errors."),
) -> None:
    """Embed graphs: one row of M numbers per graph, in the order of the file.

    Beside the vectors a .json file with the settings is written, from which the same embedding can be made
    again with grnf.GRNF.load.

    Example: grnf embed MUTAG.zip --output mutag.npy
    """
    if output.suffix not in (".npy", ".csv"):
        raise typer.BadParameter(f"{output}: the name must end in .npy or .csv", param_hint="--output")
    import numpy as np

    from grnf import GRNF
    from grnf.files import atomic_write
    from grnf.io import read_tu

    data = read_tu(source)
    grnf = GRNF(n_components, random_state=seed, n_jobs=n_jobs)
    Z = grnf.fit_transform(data.graphs)
    with atomic_write(output, "wb") as file:
        if output.suffix == ".npy":
            np.save(file, Z, allow_pickle=False)
        else:
            np.savetxt(
                file, Z, fmt="%.9g", delimiter=",", header=",".join(grnf.get_feature_names_out()), comments=""
            )
    settings = output.with_suffix(".json")
    grnf.save(settings)
    if not quiet:
        typer.echo(
            json.dumps(
                {
                    "graphs": len(Z),
                    "n_components": grnf.n_components_,
                    "vectors": str(output),
                    "settings": str(settings),
                }
            )
        )
