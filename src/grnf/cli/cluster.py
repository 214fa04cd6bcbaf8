"""`grnf cluster`: clusters of graphs, with their sizes and representatives."""

from __future__ import annotations

from typing import Annotated, Literal

from grnf.cli.graph_input import Sample, VectorJob
from grnf.cli.options import Space, check_radius, space_of_vectors


def cluster(
    source: Sample,
    *,
    method: Annotated[
        Literal["butina", "hdbscan"],
        "butina: graphs within --radius of a central graph. hdbscan: dense regions.",
    ] = "butina",
    radius: Annotated[
        float | None, "For butina. By default the median distance to the nearest neighbor, which is printed."
    ] = None,
    min_cluster_size: Annotated[int, "For hdbscan: size of the smallest cluster.", {"min": 2}] = 5,
    only: Annotated[bool, "--only-representatives", "Write only the representative of each cluster."] = False,
    space: Space = "joint",
    job: VectorJob,
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
    from grnf.search import GraphClusterer

    job = job.as_in(source)
    [graphs] = job.vectors([source], space)
    model = GraphClusterer(
        method, radius=radius, min_cluster_size=min_cluster_size, space=space_of_vectors(space)
    ).fit(graphs)
    ids, sizes = graphs.unique_ids, model.sizes_.tolist()
    central = [ids[row] for row in model.representatives_.tolist()]
    about = {-1: (None, None), **dict(enumerate(zip(sizes, central, strict=True)))}
    columns = ["id", "cluster", "size", "representative"]
    rows = [(name, label, *about[label]) for name, label in zip(ids, model.labels_.tolist(), strict=True)]
    records = [dict(zip(columns, row, strict=True)) for row in rows if not only or row[0] == row[-1]]
    job.write(*job.with_columns(columns, records, id=graphs))
    counts = {"graphs": len(ids), "clusters": len(sizes), "graphs alone": sizes.count(1)}
    if method == "butina":
        job.note(f"grnf: radius {model.radius_:.6g}")
    else:
        counts["graphs of noise"] = int((model.labels_ < 0).sum())
    job.summarize(counts)
