"""`grnf outliers`: anomalous graphs, with p-values and the nearest reference graph of each."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import typer

from grnf.cli.inputs import Sample, load_vectors
from grnf.cli.options import Input, JsonRun, LikeFeatures, Output, check_probability, require

__all__ = ["outliers"]


def outliers(
    source: Sample,
    *,
    reference: Annotated[
        str | None, typer.Option(help="Reference graphs or vectors. By default, the other graphs of SOURCE.")
    ] = None,
    fdr: Annotated[
        float, typer.Option(help="False discovery rate: share of inliers among the flagged graphs.")
    ] = 0.1,
    contamination: Annotated[
        float | None,
        typer.Option(help="Flag this share, the graphs with the largest scores. Excludes --reference."),
    ] = None,
    n_neighbors: Annotated[
        int, typer.Option("-k", "--n-neighbors", min=1, help="Number of nearest neighbors.")
    ] = 5,
    space: Annotated[
        Literal["whitened", "plain"],
        typer.Option(help="Distances. whitened: equal variance in all directions; plain: d_P."),
    ] = "whitened",
    only: Annotated[bool, typer.Option("--only-outliers", help="Write only the flagged graphs.")] = False,
    out: Output,
    reading: Input,
    features: LikeFeatures,
    run: JsonRun,
) -> None:
    """Score graphs against a reference and flag outliers.

    The table has a row for each graph: id, score (large is anomalous), pvalue, adjusted (the false discovery
    rate at which it is flagged), outlier, nearest (reference graph) and distance. A p-value is at least 1 /
    (1 + half of the reference graphs), so a small reference flags nothing. Without --reference, outliers can
    mask each other: their scores are large nevertheless, and --contamination flags the largest.

    Example: grnf outliers new.smi --reference usual.smi --fdr 0.1 --output scores.csv
    """
    check_probability("--fdr", fdr)
    require(contamination is None or reference is None, "--contamination cannot be combined with --reference")
    require(
        contamination is None or 0 < contamination <= 0.5,
        f"--contamination must be above 0 and at most 0.5, got {contamination}",
    )
    out.check()
    from grnf.stats import GRNFOutlierDetector

    settings: dict[str, Any] = {
        "n_neighbors": n_neighbors,
        "space": space,
        "random_state": features.seed or 0,
    }
    detector = GRNFOutlierDetector(
        contamination="auto" if contamination is None else contamination, **settings
    )
    with run.threads():
        samples = load_vectors([source] if reference is None else [reference, source], reading, features, run)
        if reference is None:
            report = detector.fit_detect(samples[0], fdr=fdr)
        else:
            report = detector.fit(samples[0]).detect(samples[1], fdr=fdr)
    records = [record for record in report.records() if record["outlier"] or not only]
    out.write(report.columns, records, run.as_json)
    out.summarize({"graphs": len(report.ids), "outliers": int(report.outliers.sum())}, run)
