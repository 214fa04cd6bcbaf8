"""`grnf cluster`, `grnf split` and `grnf pick`: clusters, parts that are far apart, and diverse subsets."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from grnf._utils.words import counted
from grnf.cli.graph_input import Sample, SourceArgument, VectorJob
from grnf.cli.options import Space, check_radius, require, space_of_vectors
from grnf.errors import GraphError

if TYPE_CHECKING:
    from grnf.collection import Collection

NAMES = {2: ("train", "test"), 3: ("train", "validation", "test")}


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


def split(
    source: SourceArgument,
    *,
    by: Annotated[
        Literal["distance", "clusters", "scaffold", "random"],
        "distance: graphs of different parts are farther apart than --radius. clusters: clusters of "
        "grnf cluster stay together. scaffold: molecules with the same Murcko scaffold do. random: "
        "stratified by the label.",
    ] = "distance",
    radius: Annotated[
        float | None, "For distance and clusters. By default the median distance to the nearest neighbor."
    ] = None,
    sizes: Annotated[str, "A,B,...", "Sizes of the parts: shares or proportions."] = "0.8,0.1,0.1",
    parts_column: Annotated[
        str | None, "NAME", "Report the leakage of the split in this column of a SMILES table."
    ] = None,
    space: Space = "joint",
    job: VectorJob,
) -> None:
    """Split graphs into training, validation and test parts.

    The table has a row for each graph: id, part, distance to the nearest graph of an earlier part, and
    nearest (its id). The summary has the least distance between parts. With several SOURCEs (training graphs
    first) or --parts-column, the split is given, and only these distances are computed: its leakage.

    Examples:
      grnf split molecules.smi --output parts.csv
      grnf split train.csv test.csv --smiles-column Drug --output leakage.csv
    """
    check_radius(radius)
    shares = _shares(sizes)
    given = len(source) > 1
    require(not (given and parts_column), "--parts-column needs a single SOURCE")
    require(list(source).count("-") <= 1, "standard input (-) can be read only once")
    import numpy as np

    from grnf.collection import collect
    from grnf.search import split_distances, split_graphs

    job = job.as_in(*source)
    if parts_column is not None:
        job = replace(job, keep=[*(job.keep or []), parts_column])
    made = _embedded(source, job, space)
    columns = [column for each in made for column in _columns(each)]
    if given:
        names = _part_names(source)
        parts = np.repeat(np.arange(len(made)), [len(each) for each in made])
    elif parts_column is not None:
        names, parts = _given_parts([column.get(parts_column) for column in columns], parts_column)
    else:
        names = NAMES.get(len(shares), tuple(f"part{number}" for number in range(1, len(shares) + 1)))
        y = [graph.y for graph in made[0].graphs or []]
        parts = split_graphs(
            made[0],
            shares,
            by=by,
            radius=radius,
            y=y if y and all(value is not None for value in y) else None,
            space=space_of_vectors(space),
            random_state=job.seed or 0,
        )
    Z = collect(np.concatenate([each.vectors for each in made]))
    distances, nearest = split_distances(Z, parts, space=space_of_vectors(space))
    ids = [name for each in made for name in each.unique_ids]
    known = (["smiles"] if any("smiles" in column for column in columns) else []) + (job.keep or [])
    records = []
    for row, (name, part, other) in enumerate(zip(ids, parts.tolist(), nearest.tolist(), strict=True)):
        record: dict[str, Any] = {"id": name, "part": names[part]}
        record["distance"] = float(distances[row]) if other >= 0 else None
        record["nearest"] = ids[other] if other >= 0 else None
        records.append(record | {key: columns[row].get(key) for key in known if key != parts_column})
    job.write(list(records[0]), records)
    counts: dict[str, Any] = {name: int((parts == part).sum()) for part, name in enumerate(names)}
    text = ", ".join(f"{count:,} {name}" for name, count in counts.items())
    counts["least distance between parts"] = least = float(distances.min())
    text += f", least distance between parts {least:.6g}"
    if radius is not None and (given or parts_column or by != "distance"):
        counts["graphs within the radius of an earlier part"] = leaks = int((distances <= radius).sum())
        text += f", {counted(leaks, 'graphs')} within {radius:g} of an earlier part"
    job.summarize(counts, text)


def _shares(text: str) -> list[float]:
    try:
        shares = [float(word) for word in text.split(",")]
    except ValueError:
        shares = []
    if len(shares) < 2 or not all(0 < share < float("inf") for share in shares):
        raise typer.BadParameter(f"--sizes must be at least two positive numbers, got {text!r}")
    return shares


def _embedded(names: list[str], job: VectorJob, space: str) -> list[Collection]:
    """Return the collections of files with vectors, all from a transformer that is fitted on the first."""
    from grnf.collection import vectors_of

    made, transformer = [], job.in_space(space)
    for graphs in job.collections(names):
        made.append(vectors_of(graphs, transformer, on_error=job.on_error, keep_graphs=True))
        transformer = made[0].transformer or transformer
    if len({each.vectors.shape[1] for each in made}) > 1:
        raise GraphError("vectors have different lengths", where=", ".join(names))
    return made


def _columns(graphs: Collection) -> list[dict[str, Any]]:
    """Return the SMILES and kept columns of each graph."""
    return [{}] * len(graphs) if graphs.graphs is None else [dict(g.graph_columns) for g in graphs.graphs]


def _part_names(sources: list[str]) -> tuple[str, ...]:
    """Return the names of files without folders and suffixes, or with them if two are the same."""
    short = tuple(Path(name).name.partition(".")[0] for name in sources)
    return short if len(set(short)) == len(short) else tuple(sources)


def _given_parts(values: list[Any], column: str) -> tuple[tuple[str, ...], Any]:
    """Return the names of parts, training first and then as they occur, and the part of each graph."""
    import numpy as np

    texts = ["" if value is None else str(value) for value in values]
    names = sorted(dict.fromkeys(texts), key=lambda name: not name.lower().startswith("train"))
    if len(names) < 2 or len(names) > 100:
        raise GraphError(f"a split has 2 to 100 parts, and the column {column!r} has {len(names)} values")
    return tuple(names), np.array([names.index(text) for text in texts])


def pick(
    source: Sample,
    *,
    count: Annotated[int, "-n N", "Number of graphs to pick.", {"min": 1}] = 100,
    first: Annotated[
        list[str] | None, "ID", "Graph to pick first. May be repeated. By default the first of the file."
    ] = None,
    space: Space = "joint",
    job: VectorJob,
) -> None:
    """Pick a diverse subset of graphs.

    Each graph is the farthest from those picked before it (MaxMin, as in RDKit). The table has the columns
    rank, id and distance (to the nearest graph picked before). If there are fewer graphs than -n, all are
    picked.

    Examples:
      grnf pick molecules.smi -n 20
      grnf pick library.csv -n 96 --first CHEMBL25 --keep name --output plate.csv
    """
    from grnf.search import pick_diverse

    job = job.as_in(source)
    [graphs] = job.vectors([source], space)
    ids = graphs.unique_ids
    for name in first or ():
        if name not in ids:
            raise GraphError(f"no graph has the id {name!r}", where=source)
    rows = [ids.index(name) for name in dict.fromkeys(first or [])] or [0]
    most = max(min(count, len(ids)), len(rows))
    picked = pick_diverse(graphs, most, first=rows, space=space_of_vectors(space))
    records = [
        {"rank": rank, "id": ids[row], "distance": None if rank == 1 else float(distance)}
        for rank, (row, distance) in enumerate(zip(*picked, strict=True), start=1)
    ]
    job.write(*job.with_columns(["rank", "id", "distance"], records, id=graphs))
    job.summarize({"graphs": len(ids), "picked": len(records)})
