"""`grnf outliers`: anomalous graphs, with p-values and the nearest reference graph of each."""

from __future__ import annotations

from typing import Annotated

from grnf.cli.graph_input import Sample, VectorJob
from grnf.cli.options import Space, check_probability, require, space_of_vectors


def outliers(
    source: Sample,
    *,
    reference: Annotated[
        str | None, "Reference graphs or vectors. By default, the other graphs of SOURCE."
    ] = None,
    fdr: Annotated[float, "False discovery rate: share of inliers among the flagged graphs."] = 0.1,
    contamination: Annotated[
        float | None, "Flag this share, the graphs with the largest scores. Excludes --reference."
    ] = None,
    n_neighbors: Annotated[int, "-k K", "Number of nearest neighbors.", {"min": 1}] = 1,
    space: Space = "joint",
    only: Annotated[bool, "--only-outliers", "Write only the flagged graphs."] = False,
    job: VectorJob,
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
    from grnf.stats import GRNFOutlierDetector

    detector = GRNFOutlierDetector(
        contamination="auto" if contamination is None else contamination,
        n_neighbors=n_neighbors,
        space=space_of_vectors(space),
        random_state=job.seed or 0,
    )
    names = [source] if reference is None else [reference, source]
    job = job.as_in(*names)
    *known, graphs = job.vectors(names, space, open_labels=True)
    how = detector.fit(known[0]).detect if known else detector.fit_detect
    result = how(graphs, fdr=fdr)
    if result.needed is not None:
        job.note(
            f"grnf: too few reference graphs for --fdr {fdr}: p-values of {len(result.ids):,} graphs need "
            f"{result.needed:,} scores of reference graphs, got {len(detector.held_out_scores_):,}. Add "
            "reference graphs, test fewer graphs, or raise --fdr"
        )
    records = [record for record in result.records() if record["outlier"] or not only]
    job.write(*job.with_columns(result.columns, records, id=graphs, nearest=[*known, graphs][0]))
    job.summarize({"graphs": len(result.ids), "outliers": int(result.outliers.sum())})
