"""`grnf data`: the benchmark sets on this machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from grnf.cli.options import AsJson, Quiet
from grnf.cli.tell import note

__all__ = ["app", "describe", "fetch", "list_sets"]

app = typer.Typer(no_args_is_help=True, help="Benchmark sets: what there is, downloads, descriptions.")

Folder = Annotated[
    Path | None,
    typer.Option("--data", help="Folder of the sets.", show_default="GRNF_DATA, else the user's cache"),
]


@app.command("list")
def list_sets(data: Folder = None, as_json: AsJson = False) -> None:
    """List the sets that are known by name, and whether they are on this machine.

    Example: grnf data list
    """
    from grnf.datasets import TU_SETS
    from grnf.datasets.store import data_folder, find_file

    folder = data_folder(data)
    rows = []
    for name, known in TU_SETS.items():
        path = find_file(folder, "tu", f"{known.archive}.zip")
        rows.append({"name": name, "about": known.about, "path": None if path is None else str(path)})
    if as_json:
        typer.echo(json.dumps({"folder": str(folder), "sets": rows}))
        return
    for row in rows:
        typer.echo(f"{row['name']:<14} {'here' if row['path'] else '-':<5} {row['about']}")
    typer.echo(f"folder: {folder}")


@app.command("fetch")
def fetch(
    names: Annotated[
        list[str] | None, typer.Argument(help="Sets to fetch.", show_default="those of Table 1")
    ] = None,
    data: Folder = None,
    quiet: Quiet = False,
) -> None:
    """Download sets and their folds, unless they are there, and check that they are the right graphs.

    Example: grnf data fetch ENZYMES IMDB-BINARY --data sets
    """
    from grnf.datasets.folds import FOLDS, fetch_folds
    from grnf.datasets.tu import fetch_tu

    for name in names or [name for kind in ("CHEMICAL", "COLLABORATIVE_1") for name in FOLDS[kind]]:
        note(f"{name} ...", quiet)
        typer.echo(fetch_tu(name, data=data))
        for kind, sets in FOLDS.items():
            if name in sets:
                typer.echo(fetch_folds(name, data=data, kind=kind))


@app.command("describe")
def describe(
    name: Annotated[str, typer.Argument(help="Name of a set, as in grnf data list.")],
    data: Folder = None,
    as_json: AsJson = False,
) -> None:
    """Say what is in a set: graphs, sizes, attributes, classes, folds.

    Example: grnf data describe MUTAG
    """
    report = _description(name, data)
    if as_json:
        typer.echo(json.dumps(report))
        return
    for key, value in report.items():
        typer.echo(f"{key.replace('_', ' '):<22} {_text(value)}")


def _description(name: str, data: Path | None) -> dict[str, Any]:
    import numpy as np

    from grnf.datasets import TU_SETS, load_tu
    from grnf.datasets.folds import FOLDS

    found = load_tu(name, data=data)
    graphs = found.graphs
    classes, counts = np.unique(found.y, return_counts=True)
    return {
        "name": name,
        "about": TU_SETS[name].about,
        "graphs": len(graphs),
        "mean_nodes": round(float(graphs.sizes.mean()), 2),
        "mean_edges": round(len(graphs.edges) / len(graphs), 2),
        "largest_graph": int(graphs.sizes.max()),
        "self_loops": int((graphs.edges[:, 0] == graphs.edges[:, 1]).sum()),
        "node_columns": found.node_columns,
        "edge_columns": found.edge_columns,
        "classes": {str(label): int(count) for label, count in zip(classes, counts, strict=True)},
        "folds": [kind for kind, sets in FOLDS.items() if name in sets],
    }


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}: {count:,}" for key, count in value.items())
    if isinstance(value, list):
        shown = ", ".join(map(str, value[:6])) + (", ..." if len(value) > 6 else "")
        return f"{len(value)} ({shown})" if value else "none"
    return f"{value:,}" if isinstance(value, int) else str(value)
