"""`grnf predict`: a saved model and new graphs in, a table of predictions out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Literal

from typer import Argument, Option

from grnf.cli.graph_input import Input, SourceArgument
from grnf.cli.messages import progress, with_progress
from grnf.cli.options import Output, Run, check_free, check_probability, check_suffix
from grnf.errors import GraphError

__all__ = ["predict"]

BLOCK = 1024


@dataclass(frozen=True)
class NewGraphs(Input):
    """How new graphs are read."""

    on_error: Annotated[
        Literal["raise", "skip"],
        Option(help="A graph that cannot be used. raise: stop. skip: write its row with the reason."),
    ] = "skip"
    handle_missing: Annotated[
        Literal["error", "zero"] | None,
        Option(
            help="An attribute that new graphs lack. error: no prediction. zero: zeros.",
            show_default="as in training: error, unless training graphs lack some",
        ),
    ] = None


def predict(
    model: Annotated[Path, Argument(help="Model file of grnf train.")],
    source: SourceArgument,
    *,
    confidence: Annotated[
        float, Option(metavar="P", help="Share of true values in the intervals or sets.")
    ] = 0.9,
    explain: Annotated[
        Path | None,
        Option(help="Page (.html) that shows what nodes and edges add to the first predictions."),
    ] = None,
    out: Output,
    reading: NewGraphs,
    run: Run,
) -> None:
    """Predict with a model of grnf train.

    The table has a row for each graph, in the order of the input. It starts with the id, the SMILES, the
    columns of --keep and the prediction. For classes, the probability of each and the prediction set (classes
    joined by |) follow. For numbers, the lower and upper end of the interval follow. The column applicability
    is a p-value that is small for graphs unlike the training graphs. The columns nearest and distance name
    the nearest training graph. The column error has the reason if there is no prediction. If the model has
    several targets, their names come before those of the columns.

    Examples:
      grnf predict model.grnf new.csv -o predictions.csv
      grnf predict model.grnf new.smi --confidence 0.8 --explain report.html -o predictions.parquet
    """
    check_probability("--confidence", confidence)
    out.check()
    if explain is not None:
        check_suffix("--explain", explain, (".html",))
        check_free(explain, out.force)
    from grnf.estimators.model_file import load_models

    models = [one for loaded in load_models(model) for one in loaded.single_targets()]
    for one in models:
        one.n_jobs = None
        one.encoder_ = one.encoder_.with_policies(handle_missing=reading.handle_missing)
    notes = [getattr(one, "notes_", {}) for one in models]
    reading = reading.like(notes[0].get("molecules", []), model)
    names = [f"{note.get('target', f'y{number}')}_" for number, note in enumerate(notes)]
    names = names if len(models) > 1 else [""]
    columns = ["id"]
    counts = {"graphs": 0, "errors": 0}
    first: list[Any] = []
    with run.threads(), reading.open(source, run) as table:
        if table.is_molecules():
            columns += ["smiles", *(reading.keep or [])]
        for prefix, one in zip(names, models, strict=True):
            columns += [prefix + name for name in _columns(one)]
        columns.append("error")
        with progress(f"predicting {table.name}", run.quiet) as advance:
            graphs = with_progress(table.read(yield_bad=True), advance)

            def records() -> Iterator[dict[str, Any]]:
                for block, rows in _tables(models, names, graphs, confidence):
                    for graph, row in zip(block, rows, strict=True):
                        counts["graphs"] += 1
                        if row["error"] is not None:
                            counts["errors"] += 1
                            if reading.on_error == "raise":
                                raise GraphError(row["error"], where=f"{table.name}, graph {row['id']}")
                        elif explain is not None and len(first) < SHOWN:
                            first.append((graph, row))
                        yield {name: row.get(name) for name in columns}

            numbers = {
                name for name in columns if name not in ("id", "smiles", "error", *(reading.keep or []))
            }
            out.write(columns, records(), run.as_json, types=_types(models, names, numbers))
    if counts["graphs"] == counts["errors"]:
        run.note(
            f"grnf: none of the {counts['graphs']:,} graphs can be used. The column error has the reasons"
        )
    if explain is not None:
        from grnf.maps.explanations import write_explanations

        write_explanations(explain, models, names, first, model.name)
    out.summarize(counts, run)


SHOWN = 12
"""Predictions on the page of explanations."""


def _columns(model: Any) -> list[str]:
    """Return the names of the columns that `prediction_tables` makes."""
    ends = ["lower", "upper"]
    if hasattr(model, "classes_"):
        known = hasattr(model.estimator_, "predict_proba")
        ends = [*([f"probability_{label}" for label in model.classes_] if known else []), "set"]
    return ["prediction", *ends, "applicability", "nearest", "distance"]


def _types(models: list[Any], names: list[str], columns: Iterable[str]) -> dict[str, str]:
    """Return the types of columns in Parquet files: numbers, except for classes, sets and ids."""
    text = {prefix + name for prefix in names for name in ("set", "nearest")}
    text |= {
        prefix + "prediction" for prefix, one in zip(names, models, strict=True) if hasattr(one, "classes_")
    }
    return {name: "float64" for name in columns if name not in text}


def _tables(
    models: list[Any], names: list[str], graphs: Iterator[Any], confidence: float
) -> Iterator[tuple[list[Any], list[dict[str, Any]]]]:
    """Yield blocks of graphs, and a row for each."""
    from grnf.estimators.uncertainty import prediction_tables
    from grnf.io.raw import BadGraph

    start = 0
    while block := list(islice(graphs, BLOCK)):
        rows: list[dict[str, Any]] = []
        for place, graph in enumerate(block):
            bad = isinstance(graph, BadGraph)
            name = graph.graph_id if graph.graph_id is not None else start + place
            own = {} if bad else dict(graph.graph_columns)
            rows.append({**own, "id": str(name), "error": graph.reason if bad else None})
        good = [place for place, graph in enumerate(block) if not isinstance(graph, BadGraph)]
        tables = prediction_tables(models if good else [], [block[place] for place in good], confidence)
        for prefix, (table, errors) in zip(names, tables, strict=bool(good)):
            for number, place in enumerate(good):
                rows[place] |= {prefix + name: values[number] for name, values in table.items()}
                if number in errors:
                    rows[place]["error"] = errors[number]
        yield block, rows
        start += len(block)
