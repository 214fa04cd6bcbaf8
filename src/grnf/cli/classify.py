"""`grnf classify`: a data set with labels in, cross-validated accuracy out, with baselines and a picture."""

from __future__ import annotations

import csv
import importlib.util
import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from grnf.cli.columns import with_columns
from grnf.cli.options import (
    AsJson,
    Format,
    IdColumn,
    NJobs,
    Orders,
    Quiet,
    SmilesColumn,
    SourceArgument,
    check_format,
    make_transformer,
    workers,
)
from grnf.cli.source import Source, name_of, open_source
from grnf.cli.targets import Target, Task, check_folds, chosen_columns, made_target
from grnf.cli.tell import counted, note, progress, tell_bad
from grnf.errors import GraphError

if TYPE_CHECKING:
    from grnf.io import RawGraph

__all__ = ["classify"]

MOST_CLASSES_DRAWN = 60
"""Classes up to which a confusion matrix can be looked at."""


class EstimatorName(StrEnum):
    """What learns from the vectors."""

    AUTO = "auto"
    SVM = "svm"
    LINEAR = "linear"
    NETWORK = "network"
    FOREST = "forest"
    BOOSTED = "boosted"


class LiftsName(StrEnum):
    """The views of a graph."""

    AUTO = "auto"
    RECIPE = "recipe"
    NONE = "none"


class ScoringName(StrEnum):
    """What settings are chosen by."""

    ACCURACY = "accuracy"
    ROC_AUC = "roc_auc"


class BadGraphs(StrEnum):
    """What to do about a graph that cannot be used."""

    RAISE = "raise"
    SKIP = "skip"


def classify(
    source: SourceArgument,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder to write to.")] = Path(
        "grnf-classify"
    ),
    format: Format = None,
    smiles_column: SmilesColumn = None,
    id_column: IdColumn = None,
    target: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Column to predict in a table of SMILES; several with commas, or by repeating this.",
        ),
    ] = None,
    task: Annotated[Task, typer.Option(help="Whether labels are classes or numbers to predict.")] = Task.AUTO,
    estimator: Annotated[
        EstimatorName, typer.Option(help="What learns from the vectors.")
    ] = EstimatorName.AUTO,
    head: Annotated[
        EstimatorName | None, typer.Option(hidden=True, help="The old name of --estimator.")
    ] = None,
    lifts: Annotated[
        LiftsName,
        typer.Option(
            help="auto: a map, counts and colours of each graph; recipe: seven maps; none: the graph itself."
        ),
    ] = LiftsName.AUTO,
    scoring: Annotated[
        ScoringName, typer.Option(help="What settings are chosen by; roc_auc where a class is rare.")
    ] = ScoringName.ACCURACY,
    folds: Annotated[int, typer.Option(min=2, help="Folds of the cross-validation.")] = 10,
    repeats: Annotated[int, typer.Option(min=1, help="Cross-validations, each with other folds.")] = 1,
    n_components: Annotated[
        str | None,
        typer.Option(
            "--n-components",
            "-m",
            metavar="M|auto",
            help="Number of features of each view; auto takes it from a bound on the error.",
            show_default="512; 1024 with other lifts",
        ),
    ] = None,
    orders: Orders = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the features and of the folds.")] = 0,
    on_error: Annotated[
        BadGraphs, typer.Option(help="A graph that cannot be used: stop, or leave it out.")
    ] = BadGraphs.RAISE,
    n_jobs: NJobs = 1,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Cross-validate GRNFClassifier (or GRNFRegressor, for numbers) on graphs with labels.

    Beside it: the same machine on counts of nodes, edges and attributes, which knows nothing of structure,
    and the best constant answer. The folder gets results.json, predictions.csv (the first cross-validation,
    each graph predicted from the others) and a picture: the confusion matrix, or predicted against true.

    In a table of SMILES the target is the column called y, label, target, class, activity, p_np, exp or
    measured ..., or the only one that can be one; grnf info lists them. Several are predicted one by one.
    Graphs without a value are left out. ROC-AUC and average precision are for the larger of two classes, else
    means over each class against the rest.

    Example: grnf classify MUTAG.zip --folds 10
    """
    check_format(format, source)
    if head is not None:
        note("--head is now --estimator; the old name goes in 0.2", quiet)
        estimator = head
    settings: dict[str, Any] = {
        "n_components": None,
        "estimator": estimator.value,
        "lifts": None if lifts is LiftsName.NONE else lifts.value,
        "scoring": None if scoring is ScoringName.ACCURACY else scoring.value,
        "random_state": seed,
        "missing": "zero",
    }
    asked = make_transformer(None, {"n_components": n_components, "orders": orders, "seed": seed})
    if n_components is not None:
        settings["n_components"] = asked.n_components
    settings["orders"] = asked.orders
    with open_source(source, format) as found:
        graphs_source = with_columns(found, smiles_column, id_column, quiet)
        columns = chosen_columns(graphs_source, target or [], quiet)
        names, graphs = _read(graphs_source, columns, on_error.value, quiet)
    targets = _targets(graphs, columns, task, folds, graphs_source.name, quiet)
    report: dict[str, Any] = {
        "source": graphs_source.name,
        "graphs": len({row for each in targets for row in each.rows.tolist()}),
        "settings": {**settings, "orders": str(settings["orders"]), "folds": folds, "repeats": repeats},
        "targets": {},
    }
    from grnf.cli.measures import over_targets
    from grnf.cli.validation import Validation

    answers = []
    with workers(n_jobs), progress("cross-validating", quiet, unit="folds") as advance:
        validate = Validation(graphs, settings, folds=folds, repeats=repeats, seed=seed)
        for each in targets:
            results, predictions = validate(each, advance)
            report["targets"][each.name] = {**each.about(len(graphs)), **results}
            answers.append(predictions)
    if len(targets) == 1:
        report = {**report, **report["targets"][targets[0].name]}
    else:
        report["mean"] = over_targets([entry["scores"] for entry in report["targets"].values()])
    report["written"] = _write(output, report, names, targets, answers, quiet)
    if as_json:
        typer.echo(json.dumps(report))
        return
    for line in _lines(report):
        typer.echo(line)


def _read(
    source: Source, columns: list[str] | None, on_error: str, quiet: bool
) -> tuple[list[str], list[RawGraph]]:
    """Read all graphs; return their names and the graphs. With columns, y is a list of their values."""
    from grnf.io import RawGraph

    names, graphs = [], []
    bad: list[dict[str, Any]] = []
    options = {} if columns is None else {"y": columns}
    with progress(f"reading {source.name}", quiet) as advance:
        for index, item in enumerate(counted(source.read(yield_bad=True, **options), advance)):
            name = name_of(item, index)
            if isinstance(item, RawGraph):
                names.append(name)
                graphs.append(item)
                continue
            if on_error == "raise":
                raise GraphError(f"graph {name}: {item.reason}; --on-error skip leaves such graphs out")
            bad.append({"graph_id": name, "reason": item.reason})
    tell_bad(bad, on_error, quiet)
    if not graphs:
        raise GraphError(f"{source.name} holds no graphs that can be used")
    return names, graphs


def _targets(
    graphs: list[RawGraph], columns: list[str] | None, task: Task, folds: int, source: str, quiet: bool
) -> list[Target]:
    """Return what is to be predicted; of several targets, one that cannot be is left out with a word."""
    found = []
    for place, name in enumerate(["y"] if columns is None else columns):
        labels = [graph.y if columns is None else graph.y[place] for graph in graphs]
        try:
            each = made_target(name, labels, task, source, quiet)
            check_folds(each, folds, quiet)
        except (GraphError, typer.BadParameter) as error:
            if columns is None or len(columns) == 1:
                raise
            note(f"grnf: the target {name!r} is left out: {error}", quiet)
            continue
        found.append(each)
    if not found:
        raise GraphError(f"{source}: none of the targets can be used")
    return found


def _write(
    folder: Path,
    report: dict[str, Any],
    names: list[str],
    targets: list[Target],
    answers: list[Any],
    quiet: bool,
) -> list[str]:
    from grnf._utils.files import atomic_write

    folder.mkdir(parents=True, exist_ok=True)
    written = ["predictions.csv"]
    several = len(targets) > 1
    with atomic_write(folder / "predictions.csv") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["graph_id", *(["target"] if several else []), "label", "predicted"])
        for target, predictions in zip(targets, answers, strict=True):
            rows = zip(target.rows.tolist(), target.y.tolist(), predictions.tolist(), strict=True)
            for row, label, guess in rows:
                table.writerow([names[row], *([target.name] if several else []), label, guess])
    if importlib.util.find_spec("matplotlib"):
        for number, (target, predictions) in enumerate(zip(targets, answers, strict=True)):
            picture = _draw(folder, report, target, predictions, f"-{number + 1}" if several else "")
            written += [picture] if picture else []
    else:
        note("no picture: matplotlib is missing; pip install 'grnf[plot]' brings it", quiet)
    written.append("results.json")
    with atomic_write(folder / "results.json") as file:
        json.dump(report, file, indent=2)
    return [str(folder / name) for name in written]


def _draw(folder: Path, report: dict[str, Any], target: Target, predictions: Any, suffix: str) -> str | None:
    """Draw the answers; return the name of the picture, or None where there are too many classes for one."""
    from grnf.cli.validation import draw_confusion, draw_predictions

    entry = report["targets"][target.name]
    if len(entry.get("classes", ())) > MOST_CLASSES_DRAWN:
        return None
    measure, draw, picture = (
        ("accuracy", draw_confusion, f"confusion{suffix}.png")
        if target.classes
        else ("R2", draw_predictions, f"predictions{suffix}.png")
    )
    name = Path(report["source"]).stem + (f", {target.name}" if suffix else "")
    title = f"{name}: {measure} {_shown(entry['scores']['GRNF'][measure]['mean'])}"
    draw(folder / picture, target.y, predictions, title)
    return picture


def _lines(report: dict[str, Any]) -> list[str]:
    """Return the report as lines for people."""
    settings, targets = report["settings"], report["targets"]
    lines = [f"{report['source']}: {report['graphs']:,} graphs, {settings['folds']} folds"]
    if settings["repeats"] > 1:
        lines[0] += f", {settings['repeats']} times"
    for name, entry in targets.items():
        about = _about(entry)
        if len(targets) > 1:
            lines.append(f"{name}: {entry['graphs']:,} graphs{', ' if about else ''}{about}")
        elif about:
            lines[0] += f", {about}"
        lines += _score_lines(entry["scores"])
    if "mean" in report:
        lines += [f"mean over {len(targets)} targets", *_score_lines(report["mean"])]
    return [*lines, f"written: {', '.join(report['written'])}"]


def _about(entry: dict[str, Any]) -> str:
    if "classes" not in entry:
        return ""
    if entry["positive_class"] is not None:
        return f"positive class {entry['positive_class']} ({entry['classes'][entry['positive_class']]:,})"
    return f"{len(entry['classes']):,} classes, ranks: each against the rest"


def _score_lines(scores: dict[str, Any]) -> list[str]:
    width = max(map(len, scores))
    lines = []
    for name, measures in scores.items():
        values = [
            f"{measure} {_shown(score['mean'])}"
            + (f" +- {score['std']:.3f}" if score["mean"] is not None else "")
            for measure, score in measures.items()
        ]
        lines.append(f"  {name:<{width}}  {'   '.join(values)}")
    return lines


def _shown(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.3f}"
