"""`grnf pick`: a diverse subset of graphs."""

from __future__ import annotations

from typing import Annotated

from grnf.cli.graph_input import Sample, VectorJob
from grnf.cli.options import Space, space_of_vectors
from grnf.errors import GraphError


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
