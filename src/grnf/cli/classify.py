"""`grnf classify`: a labeled dataset in, cross-validated scores out, with baselines and a figure."""

from __future__ import annotations

import csv
import importlib.util
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

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

EstimatorName = Literal["auto", "svm", "linear", "network", "forest", "boosted"]


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
            metavar="NAME", help="Column of a SMILES table to predict; several with commas, or repeated."
        ),
    ] = None,
    task: Annotated[Task, typer.Option(help="Whether labels are classes or numbers.")] = "auto",
    estimator: Annotated[EstimatorName, typer.Option(help="Estimator behind the features.")] = "auto",
    lifts: Annotated[
        Literal["auto", "none"],
        typer.Option(help="auto: a map, counts and WL labels of each graph; none: a map of the plain graph."),
    ] = "auto",
    scoring: Annotated[
        Literal["accuracy", "roc_auc"],
        typer.Option(help="Score that settings are chosen by; roc_auc for rare classes."),
    ] = "accuracy",
    folds: Annotated[int, typer.Option(min=2, help="Folds of the cross-validation.")] = 10,
    repeats: Annotated[int, typer.Option(min=1, help="Cross-validations, each with other folds.")] = 1,
    n_components: Annotated[
        str | None,
        typer.Option(
            "--n-components",
            "-m",
            metavar="M|auto",
            help="Features of each view; auto: as many as a bound on the error requires.",
            show_default="512; 1024 with other lifts",
        ),
    ] = None,
    orders: Orders = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the features and of the folds.")] = 0,
    on_error: Annotated[
        Literal["raise", "skip"], typer.Option(help="A graph that cannot be used: stop, or leave it out.")
    ] = "raise",
    n_jobs: NJobs = 1,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Cross-validate GRNFClassifier (or GRNFRegressor, for numbers) on graphs with labels.

    Two baselines are reported with it: the same estimator on counts of nodes, edges and attributes, which
    ignores the structure, and the best constant prediction. The folder gets results.json, predictions.csv
    (the first cross-validation, each graph predicted from the others) and a figure: the confusion matrix, or
    predicted against true numbers.

    In a SMILES table the target is the column called y, label, target, class, activity, p_np, exp or
    measured ..., or the only one that can be one; grnf info lists them. Several are predicted one by one.
    Graphs without a value are left out. ROC-AUC and average precision are for the larger of two classes, else
    means over each class against the rest.

    Example: grnf classify MUTAG.zip --folds 10
    """
    check_format(format, source)
    asked = make_transformer(None, {"n_components": n_components, "orders": orders, "seed": seed})
    settings: dict[str, Any] = {
        "n_components": None if n_components is None else asked.n_components,
        "orders": asked.orders,
        "estimator": estimator,
        "lifts": None if lifts == "none" else lifts,
        "scoring": None if scoring == "accuracy" else scoring,
        "random_state": seed,
        "missing": "zero",
    }
    with open_source(source, format) as found:
        table = with_columns(found, smiles_column, id_column, quiet)
        columns = chosen_columns(table, target or [], quiet)
        names, graphs = _read(table, columns, on_error, quiet)
    targets = _targets(graphs, columns, task, folds, table.name, quiet)
    from grnf.cli.measures import over_targets
    from grnf.cli.validation import Validation

    entries: dict[str, Any] = {}
    predicted: list[tuple[Target, Any]] = []
    with workers(n_jobs), progress("cross-validating", quiet, unit="folds") as advance:
        validate = Validation(graphs, settings, folds=folds, repeats=repeats)
        for each in targets:
            results, predictions = validate(each, advance)
            entries[each.name] = {**each.about(len(graphs)), **results}
            predicted.append((each, predictions))
    report: dict[str, Any] = {
        "source": table.name,
        "graphs": len({row for each in targets for row in each.rows.tolist()}),
        "settings": {**settings, "orders": str(settings["orders"]), "folds": folds, "repeats": repeats},
        "targets": entries,
    }
    if len(targets) == 1:
        report |= entries[targets[0].name]
    else:
        report["mean"] = over_targets([entry["scores"] for entry in entries.values()])
    report["written"] = _write(output, report, names, predicted, quiet)
    for line in [json.dumps(report)] if as_json else _lines(report):
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
            elif on_error == "raise":
                raise GraphError(f"graph {name}: {item.reason}; --on-error skip leaves such graphs out")
            else:
                bad.append({"graph_id": name, "reason": item.reason})
    tell_bad(bad, on_error, quiet)
    if not graphs:
        raise GraphError(f"{source.name} holds no graphs that can be used")
    return names, graphs


def _targets(
    graphs: list[RawGraph], columns: list[str] | None, task: Task, folds: int, source: str, quiet: bool
) -> list[Target]:
    """Return the targets; of several, one that cannot be used is left out with a note."""
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
    folder: Path, report: dict[str, Any], names: list[str], predicted: list[tuple[Target, Any]], quiet: bool
) -> list[str]:
    """Write predictions, figures and the report; return the paths."""
    from grnf._utils.files import atomic_write
    from grnf.cli.validation import draw_predictions

    folder.mkdir(parents=True, exist_ok=True)
    written = ["predictions.csv"]
    several = len(predicted) > 1
    with atomic_write(folder / "predictions.csv") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["graph_id", *(["target"] if several else []), "label", "predicted"])
        for target, predictions in predicted:
            for row, label, guess in zip(target.rows, target.y.tolist(), predictions.tolist(), strict=True):
                table.writerow([names[row], *([target.name] if several else []), label, guess])
    if not importlib.util.find_spec("matplotlib"):
        note("no figure: matplotlib is missing; pip install 'grnf[plot]' installs it", quiet)
        predicted = []
    for number, (target, predictions) in enumerate(predicted, start=1):
        measure = "accuracy" if target.classes else "R2"
        score = report["targets"][target.name]["scores"]["GRNF"][measure]["mean"]
        name = Path(report["source"]).stem + (f", {target.name}" if several else "")
        title, suffix = f"{name}: {measure} {_shown(score)}", f"-{number}" if several else ""
        figure = draw_predictions(folder, suffix, target, predictions, title)
        written += [figure] if figure else []
    written.append("results.json")
    with atomic_write(folder / "results.json") as file:
        json.dump(report, file, indent=2)
    return [str(folder / name) for name in written]


def _lines(report: dict[str, Any]) -> list[str]:
    """Return the report as lines for people."""
    settings, targets = report["settings"], report["targets"]
    lines = [f"{report['source']}: {report['graphs']:,} graphs, {settings['folds']} folds"]
    if settings["repeats"] > 1:
        lines[0] += f", {settings['repeats']} times"
    for name, entry in targets.items():
        about = ""
        if entry.get("positive_class") is not None:
            count = entry["classes"][entry["positive_class"]]
            about = f", positive class {entry['positive_class']} ({count:,})"
        elif "classes" in entry:
            about = f", {len(entry['classes']):,} classes, ranks: each against the rest"
        if len(targets) > 1:
            lines.append(f"{name}: {entry['graphs']:,} graphs{about}")
        else:
            lines[0] += about
        lines += _score_lines(entry["scores"])
    if "mean" in report:
        lines += [f"mean over {len(targets)} targets", *_score_lines(report["mean"])]
    return [*lines, f"written: {', '.join(report['written'])}"]


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
