"""`grnf classify`: a data set with labels in, cross-validated accuracy out, with baselines and a picture."""

from __future__ import annotations

import csv
import importlib.util
import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from grnf.cli.options import (
    AsJson,
    Format,
    NComponents,
    NJobs,
    Orders,
    Quiet,
    SourceArgument,
    check_format,
    make_transformer,
    workers,
)
from grnf.cli.source import Source, name_of, open_source
from grnf.cli.tell import counted, note, progress, tell_bad
from grnf.errors import GraphError

if TYPE_CHECKING:
    from grnf.io import RawGraph

__all__ = ["classify"]


class EstimatorName(StrEnum):
    """What learns from the vectors."""

    AUTO = "auto"
    SVM = "svm"
    LINEAR = "linear"
    NETWORK = "network"


class LiftsName(StrEnum):
    """The views of a graph."""

    RECIPE = "recipe"
    NONE = "none"


class Task(StrEnum):
    """What the labels are."""

    AUTO = "auto"
    CLASSES = "classes"
    NUMBERS = "numbers"


class BadGraphs(StrEnum):
    """What to do about a graph that cannot be used, or has no label."""

    RAISE = "raise"
    SKIP = "skip"


def classify(
    source: SourceArgument,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder to write to.")] = Path(
        "grnf-classify"
    ),
    format: Format = None,
    target: Annotated[
        str | None, typer.Option(help="Column of the labels, in a table with a SMILES column.")
    ] = None,
    task: Annotated[Task, typer.Option(help="Whether labels are classes or numbers to predict.")] = Task.AUTO,
    estimator: Annotated[
        EstimatorName, typer.Option(help="What learns from the vectors.")
    ] = EstimatorName.AUTO,
    head: Annotated[
        EstimatorName | None, typer.Option(hidden=True, help="The old name of --estimator.")
    ] = None,
    lifts: Annotated[
        LiftsName, typer.Option(help="The recipe's views of each graph, or the graph as it is.")
    ] = LiftsName.RECIPE,
    folds: Annotated[int, typer.Option(min=2, help="Folds of the cross-validation.")] = 10,
    repeats: Annotated[int, typer.Option(min=1, help="Cross-validations, each with other folds.")] = 1,
    n_components: NComponents = None,
    orders: Orders = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the features and of the folds.")] = 0,
    on_error: Annotated[
        BadGraphs, typer.Option(help="A graph that cannot be used or has no label: stop, or leave it out.")
    ] = BadGraphs.RAISE,
    n_jobs: NJobs = 1,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Cross-validate GRNFClassifier (or GRNFRegressor, for numbers) on graphs with labels.

    Beside it: the same machine on counts of nodes, edges and attributes, which knows nothing of structure,
    and the best constant answer. The folder gets results.json, predictions.csv (the first cross-validation,
    each graph predicted from the others) and a picture: the confusion matrix, or predicted against true.

    Example: grnf classify MUTAG.zip --folds 10
    """
    check_format(format, source)
    if head is not None:
        note("--head is now --estimator; the old name goes in 0.2", quiet)
        estimator = head
    settings: dict[str, Any] = {
        "n_components": 1024,
        "estimator": estimator.value,
        "lifts": None if lifts is LiftsName.NONE else lifts.value,
        "random_state": seed,
        "missing": "zero",
    }
    asked = make_transformer(None, {"n_components": n_components, "orders": orders, "seed": seed})
    if n_components is not None:
        settings["n_components"] = asked.n_components
    settings["orders"] = asked.orders
    with open_source(source, format) as graphs_source:
        names, graphs, labels = _labelled(graphs_source, target, on_error.value, quiet)
    y, classes = _as_target(labels, task, graphs_source.name)
    _check_folds(y, folds, classes)
    from grnf.cli.validation import cross_validate

    with workers(n_jobs), progress("cross-validating", quiet, unit="folds") as advance:
        results, predictions = cross_validate(
            graphs, y, classify=classes, folds=folds, repeats=repeats, seed=seed, settings=settings,
            advance=advance,
        )  # fmt: skip
    report = {
        "source": graphs_source.name,
        "graphs": len(graphs),
        "task": "classes" if classes else "numbers",
        "settings": {**settings, "orders": str(settings["orders"]), "folds": folds, "repeats": repeats},
        **results,
    }
    report["written"] = _write(output, report, names, y, predictions, quiet)
    if as_json:
        typer.echo(json.dumps(report))
        return
    for line in _lines(report):
        typer.echo(line)


def _labelled(
    source: Source, target: str | None, on_error: str, quiet: bool
) -> tuple[list[str], list[RawGraph], list[Any]]:
    """Read all graphs; return their names, the graphs and their labels."""
    from grnf.io import RawGraph

    names, graphs, labels = [], [], []
    bad: list[dict[str, Any]] = []
    options = {} if target is None else {"y": target}
    with progress(f"reading {source.name}", quiet) as advance:
        for index, item in enumerate(counted(source.read(yield_bad=on_error == "skip", **options), advance)):
            name = name_of(item, index)
            if isinstance(item, RawGraph) and item.y is not None and item.y == item.y:
                names.append(name)
                graphs.append(item)
                labels.append(item.y)
                continue
            reason = "it has no label" if isinstance(item, RawGraph) else item.reason
            if on_error == "raise":
                where = "; --target names their column" if target is None else ""
                raise GraphError(
                    f"{source.name}, graph {name}: {reason}{where}; --on-error skip leaves it out"
                )
            bad.append({"graph_id": name, "reason": reason})
    tell_bad(bad, on_error, quiet)
    if not graphs:
        raise GraphError(f"{source.name} holds no graphs with labels")
    return names, graphs, labels


def _as_target(labels: list[Any], task: Task, name: str) -> tuple[Any, bool]:
    """Return labels as an array, and whether they are classes."""
    import numpy as np

    try:
        y = np.array(labels)
    except ValueError:
        y = np.empty(0)
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.ndim != 1 or len(y) != len(labels):
        raise GraphError(f"{name}: one label per graph is wanted; graphs have several, as {labels[0]!r}")
    number = y.dtype.kind in "fiub"
    whole = number and bool(np.all(y == np.round(y)))
    if task is Task.NUMBERS and not number:
        raise GraphError(f"{name}: the labels are no numbers, as {labels[0]!r}; --task classes takes them")
    classes = task is Task.CLASSES or (task is Task.AUTO and (whole or not number))
    if classes and whole:
        y = y.astype(np.int64)
    return (y if classes else y.astype(np.float64)), classes


def _check_folds(y: Any, folds: int, classes: bool) -> None:
    import numpy as np

    if not classes:
        if len(y) < 2 * folds:
            raise typer.BadParameter(f"{len(y)} graphs are too few for {folds} folds", param_hint="--folds")
        return
    values, counts = np.unique(y, return_counts=True)
    if len(values) < 2:
        raise GraphError(f"all graphs have the label {values[0]!r}; at least two classes are wanted")
    if counts.min() < folds:
        fewest = values[counts.argmin()]
        raise typer.BadParameter(
            f"class {str(fewest)!r} has {counts.min()} graphs, fewer than {folds} folds; take fewer folds, "
            "or --task numbers if labels are numbers to predict",
            param_hint="--folds",
        )


def _write(
    folder: Path, report: dict[str, Any], names: list[str], y: Any, predictions: Any, quiet: bool
) -> list[str]:
    from grnf.cli.validation import draw_confusion, draw_predictions
    from grnf.files import atomic_write

    folder.mkdir(parents=True, exist_ok=True)
    written = ["predictions.csv"]
    with atomic_write(folder / "predictions.csv") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["graph_id", "label", "predicted"])
        table.writerows(zip(names, y.tolist(), predictions.tolist(), strict=True))
    scores = report["scores"]["GRNF"]
    measure, draw, picture = (
        ("accuracy", draw_confusion, "confusion.png")
        if report["task"] == "classes"
        else ("R2", draw_predictions, "predictions.png")
    )
    if importlib.util.find_spec("matplotlib"):
        title = f"{Path(report['source']).stem}: {measure} {scores[measure]['mean']:.3f}"
        draw(folder / picture, y, predictions, title)
        written.append(picture)
    else:
        note("no picture: matplotlib is missing; pip install 'grnf[plot]' brings it", quiet)
    written.append("results.json")
    with atomic_write(folder / "results.json") as file:
        json.dump(report, file, indent=2)
    return [str(folder / name) for name in written]


def _lines(report: dict[str, Any]) -> list[str]:
    """Return the report as lines for people."""
    width = max(map(len, report["scores"]))
    settings = report["settings"]
    lines = [f"{report['source']}: {report['graphs']:,} graphs, {settings['folds']} folds"]
    if settings["repeats"] > 1:
        lines[0] += f", {settings['repeats']} times"
    for name, measures in report["scores"].items():
        values = [
            f"{measure} {score['mean']:.3f} +- {score['std']:.3f}" for measure, score in measures.items()
        ]
        lines.append(f"  {name:<{width}}  {'   '.join(values)}")
    return [*lines, f"written: {', '.join(report['written'])}"]
