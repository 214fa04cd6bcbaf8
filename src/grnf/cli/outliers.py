"""`grnf outliers`: anomalous graphs, with p-values and the nearest reference graph of each."""

from __future__ import annotations

from typing import Annotated

from typer import Option

from grnf.cli.graph_input import Input, Sample
from grnf.cli.options import LikeFeatures, Output, Run, Space, check_probability, require, space_of_vectors

__all__ = ["outliers"]


def outliers(
    source: Sample,
    *,
    reference: Annotated[
        str | None, Option(help="Reference graphs or vectors. By default, the other graphs of SOURCE.")
    ] = None,
    fdr: Annotated[
        float, Option(help="False discovery rate: share of inliers among the flagged graphs.")
    ] = 0.1,
    contamination: Annotated[
        float | None,
        Option(help="Flag this share, the graphs with the largest scores. Excludes --reference."),
    ] = None,
    n_neighbors: Annotated[
        int, Option("--n-neighbors", "-k", min=1, metavar="K", help="Number of nearest neighbors.")
    ] = 1,
    space: Space = "joint",
    only: Annotated[bool, Option("--only-outliers", help="Write only the flagged graphs.")] = False,
    out: Output,
    reading: Input,
    features: LikeFeatures,
    run: Run,
) -> None:
    """Score graphs against a reference and flag outliers.

    The table has a row for each graph: id, score (large is anomalous), pvalue, adjusted (the false discovery
    rate at which it is flagged), outlier, nearest (reference graph) and distance. A p-value is at least 1 /
    (1 + reference graphs), so a small reference flags nothing. A message then states how many are needed.
    Without --reference, outliers can mask each other: their scores are large nevertheless, and
    --contamination flags the largest.

    Examples:
      grnf outliers new.smi --reference usual.smi
      grnf outliers new.csv --reference usual.csv --fdr 0.05 --keep name --only-outliers --output flagged.csv
    """
    check_probability("--fdr", fdr)
    require(contamination is None or reference is None, "--contamination cannot be combined with --reference")
    require(
        contamination is None or 0 < contamination <= 0.5,
        f"--contamination must be above 0 and at most 0.5, got {contamination}",
    )
    out.check()
    from grnf.stats import GRNFOutlierDetector

    detector = GRNFOutlierDetector(
        contamination="auto" if contamination is None else contamination,
        n_neighbors=n_neighbors,
        space=space_of_vectors(space),
        random_state=features.seed or 0,
    )
    reading = reading.as_in(features, *([] if reference is None else [reference]), source)
    with run.threads():
        *known, graphs = reading.vectors(
            [source] if reference is None else [reference, source], features, run, space, open_labels=True
        )
        if known:
            result = detector.fit(known[0]).detect(graphs, fdr=fdr)
        else:
            result = detector.fit_detect(graphs, fdr=fdr)
    if result.needed is not None:
        run.note(
            f"grnf: too few reference graphs for --fdr {fdr}: p-values of {len(result.ids):,} graphs need "
            f"{result.needed:,} scores of reference graphs, got {len(detector.held_out_scores_):,}. Add "
            "reference graphs, test fewer graphs, or raise --fdr"
        )
    records = [record for record in result.records() if record["outlier"] or not only]
    keys = {"id": source, "nearest": source if reference is None else reference}
    out.write(*reading.with_columns(result.columns, records, **keys), run.as_json)
    out.summarize({"graphs": len(result.ids), "outliers": int(result.outliers.sum())}, run)
