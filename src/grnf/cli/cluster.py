"""`grnf cluster`: clusters of graphs, with their sizes and representatives."""

from __future__ import annotations

from typing import Annotated, Literal

from typer import Option

from grnf.cli.graph_input import Input, Sample
from grnf.cli.options import LikeFeatures, Output, Run, Space, check_radius, space_of_vectors

__all__ = ["cluster"]


def cluster(
    source: Sample,
    *,
    method: Annotated[
        Literal["butina", "hdbscan"],
        Option(help="butina: graphs within --radius of a central graph. hdbscan: dense regions."),
    ] = "butina",
    radius: Annotated[
        float | None,
        Option(help="For butina. By default the median distance to the nearest neighbor, which is printed."),
    ] = None,
    min_cluster_size: Annotated[int, Option(min=2, help="For hdbscan: size of the smallest cluster.")] = 5,
    only: Annotated[
        bool, Option("--only-representatives", help="Write only the representative of each cluster.")
    ] = False,
    space: Space = "joint",
    out: Output,
    reading: Input,
    features: LikeFeatures,
    run: Run,
) -> None:
    """Cluster graphs by their distances.

    The table has a row for each graph: id, cluster (from 0, noise of hdbscan is -1), size of the cluster,
    representative (id of its central graph). Butina's clusters equal those of RDKit on the same distances. If
    a job takes long, its expected time is printed before it starts.

    Examples:
      grnf cluster molecules.smi --output clusters.csv
      grnf cluster molecules.csv --keep name --radius 0.6 --only-representatives --output chosen.csv
    """
    check_radius(radius)
    out.check()
    from grnf.search import GraphClusterer

    reading = reading.as_in(features, source)
    with run.threads():
        [graphs] = reading.vectors([source], features, run, space)
        model = GraphClusterer(
            method, radius=radius, min_cluster_size=min_cluster_size, space=space_of_vectors(space)
        ).fit(graphs)
    ids = graphs.unique_ids
    central = [ids[row] for row in model.representatives_.tolist()]
    sizes = model.sizes_.tolist()
    records = [
        {
            "id": name,
            "cluster": label,
            "size": sizes[label] if label >= 0 else None,
            "representative": central[label] if label >= 0 else None,
        }
        for name, label in zip(ids, model.labels_.tolist(), strict=True)
        if not only or (label >= 0 and central[label] == name)
    ]
    out.write(*reading.with_columns(list(records[0]) if records else [], records, id=source), run.as_json)
    counts = {
        "graphs": len(ids),
        "clusters": len(sizes),
        "graphs alone": sum(size == 1 for size in sizes),
    }
    if method == "butina":
        run.note(f"grnf: radius {model.radius_:.6g}")
    else:
        counts["graphs of noise"] = int((model.labels_ < 0).sum())
    out.summarize(counts, run)
