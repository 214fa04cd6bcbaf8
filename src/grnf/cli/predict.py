"""`grnf predict`: a saved model and new graphs in, a table of predictions out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Literal

from grnf.cli.graph_input import SourceArgument, TableJob
from grnf.cli.messages import progress, with_progress
from grnf.cli.options import check_new, check_probability
from grnf.errors import GraphError

BLOCK = 1024
SHOWN = 12
"""Predictions on the page of explanations."""


@dataclass(frozen=True)
class Prediction(TableJob, panel="Method"):
    """Options of `grnf predict`."""

    on_error: Annotated[
        Literal["raise", "skip"],
        "A graph that cannot be used. raise: stop. skip: write its row with the reason.",
    ] = "skip"
    handle_missing: Annotated[
        Literal["error", "zero"] | None,
        "An attribute that new graphs lack. error: no prediction. zero: zeros. "
        "[default: as in training: error, unless training graphs lack some]",
        {"rich_help_panel": "Input"},
    ] = None

    confidence: Annotated[float, "P", "Share of true values in the intervals or sets."] = 0.9
    explain: Annotated[
        Path | None, "Page (.html) that shows what nodes and edges add to the first predictions."
    ] = None

    def check(self) -> None:
        """Refuse values that are not allowed, and files that exist already."""
        check_probability("--confidence", self.confidence)
        check_new("--explain", self.explain, (".html",), self.force)
        super().check()


def predict(
    model: Annotated[Path, "Model file of grnf train."],
    source: SourceArgument,
    *,
    job: Prediction,
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
    from grnf.estimators.classifier import load_models

    models = [one for loaded in load_models(model) for one in loaded.single_targets()]
    for one in models:
        one.n_jobs = None
        one.encoder_ = one.encoder_.with_policies(handle_missing=job.handle_missing)
    notes = [getattr(one, "notes_", {}) for one in models]
    job = job.with_molecules_of(notes[0].get("molecules", []), model)
    prefixes = [f"{note.get('target', f'y{number}')}_" for number, note in enumerate(notes)]
    prefixes = prefixes if len(models) > 1 else [""]
    types = {
        prefix + name: kind
        for prefix, one in zip(prefixes, models, strict=True)
        for name, kind in _columns(one).items()
    }
    counts = {"graphs": 0, "errors": 0}
    first: list[Any] = []
    with job.open(source) as table:
        columns = [*(["smiles", *(job.keep or [])] if table.is_molecules() else []), *types]
        with progress(f"predicting {table.name}", job.quiet) as advance:
            graphs = with_progress(table.read(yield_bad=True), advance)

            def records() -> Iterator[dict[str, Any]]:
                for graph, row in _rows(models, prefixes, graphs, job.confidence):
                    counts["graphs"] += 1
                    if row["error"] is not None:
                        counts["errors"] += 1
                        if job.on_error == "raise":
                            raise GraphError(row["error"], where=f"{table.name}, graph {row['id']}")
                    elif job.explain is not None and len(first) < SHOWN:
                        first.append((graph, row))
                    yield {name: row.get(name) for name in ("id", *columns, "error")}

            numbers = {name: kind for name, kind in types.items() if kind != "string"}
            job.write(["id", *columns, "error"], records(), numbers)
    if counts["graphs"] == counts["errors"]:
        job.note(
            f"grnf: none of the {counts['graphs']:,} graphs can be used. The column error has the reasons"
        )
    if job.explain is not None:
        from grnf.maps.pages import write_explanations

        write_explanations(job.explain, models, prefixes, first, model.name)
    job.summarize(counts)


def _columns(model: Any) -> dict[str, str]:
    """Return the columns that `prediction_tables` makes, with their types in Parquet files."""
    ends = {"lower": "float64", "upper": "float64"}
    if hasattr(model, "classes_"):
        known = model.classes_ if hasattr(model.estimator_, "predict_proba") else ()
        ends = {**{f"probability_{label}": "float64" for label in known}, "set": "string"}
    kind = "string" if hasattr(model, "classes_") else "float64"
    return {
        "prediction": kind,
        **ends,
        "applicability": "float64",
        "nearest": "string",
        "distance": "float64",
    }


def _rows(
    models: list[Any], prefixes: Sequence[str], graphs: Iterator[Any], confidence: float
) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Yield the graphs, each with a row of predictions."""
    from grnf.estimators.uncertainty import prediction_tables
    from grnf.io.raw import BadGraph

    start = 0
    while block := list(islice(graphs, BLOCK)):
        rows: list[dict[str, Any]] = []
        for number, graph in enumerate(block, start=start):
            bad = isinstance(graph, BadGraph)
            name = number if graph.graph_id is None else graph.graph_id
            own = {} if bad else dict(graph.graph_columns)
            rows.append({**own, "id": str(name), "error": graph.reason if bad else None})
        good = [place for place, row in enumerate(rows) if row["error"] is None]
        tables = prediction_tables(models if good else [], [block[place] for place in good], confidence)
        for prefix, (table, errors) in zip(prefixes, tables, strict=bool(good)):
            for number, place in enumerate(good):
                rows[place] |= {prefix + name: values[number] for name, values in table.items()}
                rows[place]["error"] = errors.get(number, rows[place]["error"])
        yield from zip(block, rows, strict=True)
        start += len(block)
