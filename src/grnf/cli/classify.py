"""`grnf classify`: a labeled dataset in, cross-validated scores out, with baselines and a figure."""

from __future__ import annotations

import csv
import difflib
import importlib.util
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from grnf.cli.columns import Columns, about_columns, described, is_smiles_table, smiles_column_of, survey_of
from grnf.cli.inputs import graphs_of, tell_errors
from grnf.cli.options import Features, Input, JsonRun, Run, SourceArgument, check_format
from grnf.cli.source import Source, open_source
from grnf.cli.tell import progress
from grnf.errors import GraphError

if TYPE_CHECKING:
    from grnf.estimators.validation import Target
    from grnf.io import RawGraph
    from grnf.io.files.survey import Column

__all__ = ["chosen_columns", "classify"]

Task = Literal["auto", "classes", "numbers"]


@dataclass(frozen=True)
class ViewFeatures(Features):
    """Settings of the feature views."""

    n_components: Annotated[
        int | None,
        typer.Option(
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
    target: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="Column of a SMILES table to predict; several with commas, or repeated."
        ),
    ] = None,
    task: Annotated[Task, typer.Option(help="Whether labels are classes or numbers.")] = "auto",
    estimator: Annotated[
        Literal["auto", "svm", "linear", "network", "forest", "boosted"],
        typer.Option(help="Estimator that is trained on the features."),
    ] = "auto",
    lifts: Annotated[
        Literal["auto", "none"],
        typer.Option(
            help="auto: structural encodings, counts and WL labels of each graph; none: the plain graph."
        ),
    ] = "auto",
    scoring: Annotated[
        Literal["accuracy", "roc_auc"],
        typer.Option(help="Score that selects settings; roc_auc for rare classes."),
    ] = "accuracy",
    folds: Annotated[int, typer.Option(min=2, help="Number of folds.")] = 10,
    repeats: Annotated[int, typer.Option(min=1, help="Number of cross-validations, with new folds.")] = 1,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder to write to.", rich_help_panel="Output")
    ] = Path("grnf-classify"),
    reading: Input,
    columns: Columns,
    features: ViewFeatures,
    run: JsonRun,
) -> None:
    """Cross-validate a classifier or regressor on labeled graphs.

    Two baselines are reported with it: the same estimator on counts of nodes, edges and attributes, which
    ignores the structure, and the best constant prediction. The folder contains results.json, predictions.csv
    (of the first cross-validation) and a figure: the confusion matrix, or predicted against true numbers.

    In a SMILES table, the target is the column called y, label, target, class, activity, p_np, exp or
    measured ..., or the only column that can be a target; grnf info lists them. Several are predicted one by
    one. Graphs without a value are left out. ROC-AUC and average precision are for the larger of two classes,
    otherwise means over each class against the rest.

    Example: grnf classify MUTAG.zip --folds 10
    """
    check_format(reading.format, source)
    asked = features.transformer()
    settings: dict[str, Any] = {
        "n_components": features.n_components,
        "orders": asked.orders,
        "estimator": estimator,
        "lifts": None if lifts == "none" else lifts,
        "scoring": None if scoring == "accuracy" else scoring,
        "random_state": asked.random_state,
        "handle_missing": "zero",
    }
    with open_source(source, reading.format) as found:
        table = columns.applied(found, run.quiet)
        names = chosen_columns(table, target or [], run)
        samples = graphs_of(table, reading, run, **({} if names is None else {"y": names}))
    tell_errors(samples, reading, run)
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


def chosen_columns(source: Source, given: Sequence[str], run: Run) -> list[str] | None:
    """Return the columns to predict; None if graphs have their labels themselves."""
    from grnf.io.files.survey import target_columns

    if not is_smiles_table(source):
        if given:
            raise typer.BadParameter(
                f"--target needs a SMILES table, got {source.name}, whose graphs have their own labels"
            )
        return None
    columns = survey_of(source)
    if not columns:  # a folder of tables
        return list(dict.fromkeys(name for text in given for name in text.split(","))) or None
    smiles = smiles_column_of(source)[0]
    if given:
        found = list(dict.fromkeys(name for text in given for name in _named(source, columns, text)))
        if smiles in found:
            raise GraphError(
                f"{smiles!r} is the SMILES column; --target names what to predict", where=source.name
            )
        return found
    usual, found = target_columns(columns.values(), [smiles] if smiles else [])
    if not usual and len(found) != 1:
        several = (
            f"{len(found)} of its columns may be the target" if found else "no column looks like a target"
        )
        raise GraphError(
            f"{several}; name it, or several, by --target. {_listing(source, columns)}", where=source.name
        )
    name = (usual or found)[0]
    others = ", one of several that may be" if len(found) > 1 else ""
    run.note(f"grnf: the target is column {name!r}{others}; --target names another")
    return [name]


def _named(source: Source, columns: Mapping[str, Column], text: str) -> list[str]:
    """Return the columns that a text names: one, or several with commas between them."""
    if text in columns:
        return [text]
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in columns:
            near = difflib.get_close_matches(name, columns, 1)
            meant = f": did you mean {near[0]!r}?" if near else "."
            raise GraphError(f"no column {name!r}{meant} {_listing(source, columns)}", where=source.name)
    return names


def _listing(source: Source, columns: Mapping[str, Column]) -> str:
    return "\n  ".join(["Available:", *described(about_columns(source, columns))])


def _targets(
    graphs: Sequence[RawGraph], columns: list[str] | None, task: Task, folds: int, source: str, run: Run
) -> list[Target]:
    """Return the targets; of several, one that cannot be used is left out with a note."""
    from grnf.estimators.validation import check_folds, made_target

    found = []
    for place, name in enumerate(["y"] if columns is None else columns):
        labels = [graph.y if columns is None else graph.y[place] for graph in graphs]
        try:
            each = made_target(name, labels, task, source, run.note)
            check_folds(each, folds, run.note)
            found.append(each)
        except ValueError as error:
            if columns is not None and len(columns) > 1:
                run.note(f"grnf: the target {name!r} is left out: {error}")
            elif isinstance(error, GraphError):
                raise
            else:
                raise typer.BadParameter(str(error), param_hint="--folds") from None
    if not found:
        raise GraphError(f"{source}: none of the targets can be used")
    return found


def _write(
    folder: Path, report: dict[str, Any], names: list[str], predicted: list[tuple[Target, Any]], run: Run
) -> list[str]:
    """Write predictions, figures and the report; return the paths."""
    from grnf._utils.files import atomic_write
    from grnf.cli.figures import draw_predictions

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
