"""`grnf classify`: a labeled dataset in, cross-validated scores out, with baselines and a figure."""

from __future__ import annotations

import csv
import importlib.util
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer import Option

from grnf.cli.graph_input import Input, SourceArgument
from grnf.cli.messages import progress
from grnf.cli.options import Features, Run
from grnf.errors import GraphError

if TYPE_CHECKING:
    from grnf.estimators.validation import Target
    from grnf.io import RawGraph
    from grnf.io.files.source import Source

__all__ = ["classify", "target_columns"]

Task = Literal["auto", "classes", "numbers"]


@dataclass(frozen=True)
class ViewFeatures(Features):
    """Settings of the feature views."""

    n_components: Annotated[
        int | None,
        Option(
            "--n-components",
            "-m",
            min=1,
            metavar="M",
            help="Number of features per feature view.",
            show_default="512; 1024 with other lifts",
        ),
    ] = None


def classify(
    source: SourceArgument,
    *,
    task: Annotated[Task, Option(help="Whether labels are classes or numbers.")] = "auto",
    estimator: Annotated[
        Literal["auto", "svm", "linear", "network", "forest", "boosted"],
        Option(help="Estimator that is trained on the features."),
    ] = "auto",
    lifts: Annotated[
        Literal["auto", "none"],
        Option(help="auto: structural encodings, counts and WL labels of each graph; none: the plain graph."),
    ] = "auto",
    scoring: Annotated[
        str,
        Option(help="Scorer of scikit-learn that selects settings. auto: roc_auc, accuracy if balanced."),
    ] = "auto",
    folds: Annotated[int, Option(min=2, help="Number of folds.")] = 10,
    repeats: Annotated[int, Option(min=1, help="Number of cross-validations, with new folds.")] = 1,
    output: Annotated[
        Path, Option("--output", "-o", help="Folder to write to.", rich_help_panel="Output")
    ] = Path("grnf-classify"),
    reading: Input,
    features: ViewFeatures,
    run: Run,
) -> None:
    """Cross-validate a classifier or regressor on labeled graphs.

    Two baselines are reported with it: the same estimator on counts of nodes, edges and attributes, which
    ignores the structure, and the best constant prediction. The folder contains results.json, predictions.csv
    (of the first cross-validation) and a figure: the confusion matrix, or predicted against true numbers.

    In a SMILES table, the target is the column called y, label, target, class, activity, p_np, exp or
    measured ..., or the only column that can be a target; grnf info lists them. Several are predicted one by
    one. Graphs without a value are left out. ROC-AUC and average precision are for the larger of two classes,
    otherwise means over each class against the rest.

    Examples:
      grnf classify MUTAG.zip
      grnf classify tox21.csv --target NR-AR,SR-p53 --scoring roc_auc --on-error skip --n-jobs -1
    """
    grnf = features.transformer()
    settings: dict[str, Any] = {
        "n_components": features.n_components,
        "orders": grnf.orders,
        "estimator": estimator,
        "lifts": None if lifts == "none" else lifts,
        "scoring": None if scoring == "auto" else scoring,
        "random_state": grnf.random_state,
        "handle_missing": "zero",
    }
    with reading.open(source, run) as table:
        names = target_columns(table, run)
        samples = reading.collect(table, run, **({} if names is None else {"y": names}))
    if not len(samples):
        raise GraphError("there are no graphs that can be used", where=table.name)
    graphs = samples.graphs
    targets = _targets(graphs, names, task, folds, table.name, run)
    from grnf.estimators.validation import Validation, over_targets

    entries: dict[str, Any] = {}
    predicted: list[tuple[Target, Any]] = []
    with run.threads(), progress("cross-validating", run.quiet, unit="folds") as advance:
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
    report["written"] = _write(output, report, samples.ids, predicted, run)
    for line in [json.dumps(report)] if run.as_json else _lines(report):
        typer.echo(line)


def target_columns(source: Source, run: Run) -> list[str] | None:
    """Return the columns to predict; None if graphs have their own labels."""
    from grnf.io.files.survey import choose_target

    if not source.is_molecules():
        return None
    if "y" in source.options:
        y = source.options["y"]
        return [y] if isinstance(y, str) else y
    if source.table is None:  # a folder of tables
        return None
    name, is_one_of_several = choose_target(source.table, source.smiles_column()[0])
    others = ", one of several that may be" if is_one_of_several else ""
    run.note(f"grnf: the target is column {name!r}{others}; --target names another")
    return [name]


def _targets(
    graphs: Sequence[RawGraph], columns: list[str] | None, task: Task, folds: int, source: str, run: Run
) -> list[Target]:
    """Return the targets; of several, one that cannot be used is left out with a note."""
    from grnf.estimators.validation import check_folds, made_target

    targets = []
    for position, name in enumerate(["y"] if columns is None else columns):
        labels = [graph.y if columns is None else graph.y[position] for graph in graphs]
        try:
            target = made_target(name, labels, task, source, run.note)
            check_folds(target, folds, run.note)
            targets.append(target)
        except ValueError as error:
            if columns is not None and len(columns) > 1:
                run.note(f"grnf: the target {name!r} is left out: {error}")
            elif isinstance(error, GraphError):
                raise
            else:
                raise typer.BadParameter(str(error), param_hint="--folds") from None
    if not targets:
        raise GraphError("none of the targets can be used", where=source)
    return targets


def _write(
    folder: Path, report: dict[str, Any], names: list[str], predicted: list[tuple[Target, Any]], run: Run
) -> list[str]:
    """Write predictions, figures and the report; return the paths."""
    from grnf._utils.files import atomic_write
    from grnf.maps.figures import draw_predictions

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
        run.note("no figure: matplotlib is missing; pip install 'grnf[plot]' installs it")
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
    """Return the report as lines of text."""
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
