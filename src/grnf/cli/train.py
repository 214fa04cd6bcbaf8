"""`grnf train`: a labeled dataset in, cross-validated scores with baselines and a model file out."""

from __future__ import annotations

import importlib.util
import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from grnf._utils.files import check_free
from grnf.cli.graph_input import Input, SourceArgument, require_graphs
from grnf.cli.messages import progress
from grnf.cli.options import Features, Force, Run, require
from grnf.errors import GraphError

if TYPE_CHECKING:
    from grnf.estimators.validation import Target
    from grnf.io import RawGraph
    from grnf.io.files.source import Source

Task = Literal["auto", "classes", "numbers"]


@dataclass(frozen=True)
class ViewFeatures(Features, panel="Features"):
    """Settings of the feature views."""

    n_components: Annotated[
        int | None,
        "-m M",
        "Number of features per feature view. [default: 512, or 1024 with other lifts]",
        {"min": 1},
    ] = None


@dataclass(frozen=True)
class Training(ViewFeatures, Input, Run, panel="Output"):
    """Options of `grnf train`."""

    output: Annotated[Path | None, "-o", "Model file to write."] = None
    report_folder: Annotated[Path | None, "--report", "Folder for scores, predictions and figures."] = None
    force: Force = False
    stereo: Annotated[
        bool,
        "--stereo/--no-stereo",
        "Use stereochemistry and isotopes as attributes of molecules.",
        {"rich_help_panel": "Input"},
    ] = True

    def applied(self, source: Source) -> Source:
        """Return a source with the options of tables. Only molecules have stereochemistry."""
        source = super(Training, replace(self, stereo=False)).applied(source)
        known = source.is_molecules(self.smiles_column is not None) or "stereo" in source.reader_options()
        return (
            replace(source, options={**source.options, "stereo": True}) if self.stereo and known else source
        )


def train(
    source: SourceArgument,
    *,
    task: Annotated[Task, "Whether labels are classes or numbers."] = "auto",
    estimator: Annotated[
        Literal["auto", "svm", "linear", "network", "forest", "boosted"],
        "Estimator that is trained on the features.",
    ] = "auto",
    lifts: Annotated[
        Literal["auto", "none"],
        "auto: structural encodings, counts and WL labels of each graph. none: the plain graph.",
    ] = "auto",
    scoring: Annotated[
        str, "Scorer of scikit-learn that selects settings. auto: roc_auc, accuracy if balanced."
    ] = "auto",
    folds: Annotated[int, "Number of folds.", {"min": 2}] = 10,
    repeats: Annotated[int, "Number of cross-validations, with new folds.", {"min": 1}] = 1,
    split: Annotated[
        str,
        "random|scaffold|COLUMN",
        "Folds. random: at random. scaffold: molecules with the same Bemis-Murcko scaffold stay "
        "together. A column of the SMILES table: its values are the groups.",
    ] = "random",
    job: Training,
) -> None:
    """Cross-validate and train a classifier or regressor.

    The scores of two baselines are printed too: the same estimator on counts of nodes, edges and attributes,
    which ignores the structure, and the best constant prediction. With --output, the model is trained on all
    graphs and saved for grnf predict, except for the estimators network and boosted. With --report, the
    folder contains results.json, predictions.csv (of the first cross-validation) and a figure: the confusion
    matrix, or predicted against true numbers.

    In a SMILES table, the target is the column called y, label, target, class, activity, p_np, exp or
    measured ..., or the only column that can be a target. grnf info lists them. Several are predicted one by
    one. Graphs without a value are left out. ROC-AUC and average precision are for the larger of two classes,
    otherwise means over each class against the rest.

    Examples:
      grnf train MUTAG.zip
      grnf train tox21.csv --target NR-AR,SR-p53 --split scaffold --on-error skip -o tox21.grnf
    """
    if job.output is not None:
        check_free(job.output, job.force)
        require(
            estimator not in ("network", "boosted"),
            f"a model with --estimator {estimator} cannot be saved. Leave out --output, or use another one",
        )
    kept = list(job.keep or [])
    if split not in ("random", "scaffold", *kept):
        job = replace(job, keep=[*kept, split])
    grnf = job.transformer()
    settings: dict[str, Any] = {
        "n_components": job.n_components,
        "orders": grnf.orders,
        "estimator": estimator,
        "lifts": None if lifts == "none" else lifts,
        "scoring": None if scoring == "auto" else scoring,
        "random_state": grnf.random_state,
        "handle_missing": "zero",
    }
    with job.open(source) as table:
        names = _target_columns(table, job)
        if names is not None:
            table = replace(table, options={**table.options, "y": names})
        samples = job.collect(table)
    require_graphs(len(samples), 1, table.name)
    graphs = [replace(graph, graph_id=name) for graph, name in zip(samples.graphs, samples.ids, strict=True)]
    targets = _targets(graphs, names, task, folds, table.name, job)
    groups = _groups(graphs, split, table.name)
    from grnf.estimators.validation import Validation, over_targets

    logging.getLogger("grnf.estimators").setLevel(logging.WARNING)  # folds are not worth a line each
    entries: dict[str, Any] = {}
    predicted: list[tuple[Target, Any]] = []
    with progress("cross-validating", job.quiet, unit="folds") as advance:
        validate = Validation(graphs, settings, folds=folds, repeats=repeats, groups=groups)
        for each in targets:
            results, predictions = validate(each, advance)
            entries[each.name] = {**each.about(len(graphs)), **results}
            predicted.append((each, predictions))
    how = {"orders": str(grnf.orders), "folds": folds, "repeats": repeats, "split": split}
    report: dict[str, Any] = {
        "source": table.name,
        "graphs": len({row for each in targets for row in each.rows.tolist()}),
        "settings": {**settings, **how},
        "targets": entries,
    }
    if len(targets) == 1:
        report |= entries[targets[0].name]
    else:
        report["mean"] = over_targets([entry["scores"] for entry in entries.values()])
    report["written"] = []
    if job.report_folder is not None:
        report["written"] = _write(job.report_folder, report, samples.ids, predicted, job)
    if job.output is not None:
        from grnf.estimators.model_file import save_models
        from grnf.estimators.validation import trained_models

        models = []
        with progress("training", job.quiet, unit="models", total=len(targets)) as advance:
            for target, model in zip(targets, trained_models(graphs, targets, settings), strict=True):
                scores = entries[target.name]["scores"]["GRNF"]
                molecules = [name for name in job.molecules if table.options.get(name)]
                model.notes_ = {"target": target.name, "molecules": molecules, "scores": scores}
                models.append(model)
                advance(1)
            save_models(models, job.output)
        report["written"].append(str(job.output))
    for line in [json.dumps(report)] if job.as_json else _lines(report):
        typer.echo(line)


def _groups(graphs: Sequence[RawGraph], split: str, source: str) -> list[str] | None:
    """Return the group of each graph: its scaffold, its value in a column, or None for random folds."""
    if split == "random":
        return None
    if split != "scaffold":
        return [str(graph.graph_columns.get(split)) for graph in graphs]
    if not all("smiles" in graph.graph_columns for graph in graphs):
        raise GraphError("--split scaffold needs molecules from a SMILES table", where=source)
    from rdkit import rdBase
    from rdkit.Chem.Scaffolds.MurckoScaffold import MurckoScaffoldSmiles

    scaffold: Any = MurckoScaffoldSmiles
    with rdBase.BlockLogs():
        return [scaffold(smiles=graph.graph_columns["smiles"]) for graph in graphs]


def _target_columns(source: Source, job: Training) -> list[str] | None:
    """Return the columns to predict, or None if graphs have their own labels."""
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
    job.note(f"grnf: the target is column {name!r}{others}. --target names another")
    return [name]


def _targets(
    graphs: Sequence[RawGraph], columns: list[str] | None, task: Task, folds: int, source: str, job: Training
) -> list[Target]:
    """Return the targets. Of several, one that cannot be used is left out with a note."""
    from grnf.estimators.validation import check_folds, made_target

    targets = []
    for position, name in enumerate(["y"] if columns is None else columns):
        labels = [graph.y if columns is None else graph.y[position] for graph in graphs]
        try:
            target = made_target(name, labels, task, source, job.note)
            check_folds(target, folds, job.note)
            targets.append(target)
        except ValueError as error:
            if columns is not None and len(columns) > 1:
                job.note(f"grnf: the target {name!r} is left out: {error}")
            elif isinstance(error, GraphError):
                raise (error if error.where else error.located(where=source)) from None
            else:
                raise typer.BadParameter(str(error), param_hint="--folds") from None
    if not targets:
        raise GraphError("none of the targets can be used", where=source)
    return targets


def _write(
    folder: Path, report: dict[str, Any], ids: list[str], predicted: list[tuple[Target, Any]], job: Training
) -> list[str]:
    """Write predictions, figures and the report. Return the paths."""
    from grnf._utils.files import make_folder, write_json
    from grnf._utils.result_tables import write_table
    from grnf.maps.figures import draw_predictions

    make_folder(folder)
    several = len(predicted) > 1
    records = [
        {"graph_id": ids[row], "target": target.name, "label": str(label), "predicted": str(guess)}
        for target, predictions in predicted
        for row, label, guess in zip(target.rows, target.y.tolist(), predictions.tolist(), strict=True)
    ]
    columns = ["graph_id", *(["target"] if several else []), "label", "predicted"]
    write_table(folder / "predictions.csv", columns, records)
    written = ["predictions.csv"]
    if not importlib.util.find_spec("matplotlib"):
        job.note("no figure: matplotlib is missing. Install it with pip install 'grnf[plot]'")
        predicted = []
    for number, (target, predictions) in enumerate(predicted, start=1):
        measure = "accuracy" if target.classes else "R2"
        score = report["targets"][target.name]["scores"]["GRNF"][measure]["mean"]
        name = Path(report["source"]).stem + (f", {target.name}" if several else "")
        title, suffix = f"{name}: {measure} {_shown(score)}", f"-{number}" if several else ""
        figure = draw_predictions(folder, suffix, target, predictions, title)
        written += [figure] if figure else []
    written.append("results.json")
    write_json(folder / "results.json", report)
    return [str(folder / name) for name in written]


def _lines(report: dict[str, Any]) -> list[str]:
    """Return the report as lines of text."""
    settings, targets = report["settings"], report["targets"]
    kind = "" if settings["split"] == "random" else f" by {settings['split']}"
    lines = [f"{report['source']}: {report['graphs']:,} graphs, {settings['folds']} folds{kind}"]
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
    return lines + ([f"written: {', '.join(report['written'])}"] if report["written"] else [])


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
