"""`grnf search`: the nearest graphs of an index, or all within a radius, with distances and intervals."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

from grnf.cli.graph_input import TableJob
from grnf.cli.options import check_probability, check_radius, require


@dataclass(frozen=True)
class Hits(TableJob, suffixes=(".csv", ".json", ".parquet", ".html")):
    """Options of `grnf search`."""

    output: Annotated[
        str, "-o", "File to write: .csv, .json, .parquet, or .html with drawings. - for standard output."
    ] = "-"


def search(
    folder: Annotated[Path, "Index made by grnf index."],
    queries: Annotated[str, "Graphs (- for standard input) or vectors to find the neighbors of."],
    *,
    n_neighbors: Annotated[int, "-k K", "Number of nearest graphs.", {"min": 1}] = 10,
    radius: Annotated[float | None, "Return all graphs up to this distance instead of the nearest."] = None,
    others: Annotated[bool, "Leave out the graph that has the id of the query."] = False,
    confidence: Annotated[
        float | None, "P", "Add intervals that contain d_P with probability P each, for example 0.95."
    ] = None,
    certified: Annotated[
        float | None,
        "P",
        "Return the true nearest neighbors under d_P with probability P, for example 0.95. "
        'Unresolved neighbors are marked "tied".',
    ] = None,
    time_limit: Annotated[
        float | None,
        "SECONDS",
        'With --certified: stop after this time. Neighbors that are unresolved then are "tied".',
        {"min": 0},
    ] = None,
    job: Hits,
) -> None:
    """Find the nearest graphs of an index for each query.

    The table has a row for each hit: query, rank, id and distance, with its standard_error if the distance
    estimates d_P. --confidence adds low and high, --certified adds status (certain or tied). SMILES and kept
    columns follow, those of hits with the prefix id_. If the index has fewer graphs than -k, all are
    returned.

    Examples:
      grnf search molecules.index new.smi
      grnf search molecules.index new.csv --smiles-column Drug -k 5 --confidence 0.95 --output hits.html
    """
    check_probability("--confidence", confidence)
    check_probability("--certified", certified)
    check_radius(radius)
    require(
        certified is None or (radius is None and confidence is None),
        "--certified cannot be combined with --radius or --confidence",
    )
    require(time_limit is None or certified is not None, "--time-limit needs --certified")
    from grnf._utils.running import no_progress
    from grnf.search import GraphIndex

    with no_progress() if job.quiet else nullcontext():
        index = GraphIndex.load(folder)
        job = job.with_molecules_of(index.molecules_, folder)
        X = job.collection(queries)
        if radius is not None:
            hits = index.within(X, radius, others=others, confidence=confidence)
        else:
            exact: dict[str, Any] = {} if certified is None else {"certified": True, "time_limit": time_limit}
            hits = index.search(X, n_neighbors, others=others, confidence=certified or confidence, **exact)
    columns, records = job.with_columns(hits.columns, hits.records(), query=X)
    stored = index.columns([record["id"] for record in records])
    for name in dict.fromkeys(chain.from_iterable(stored)):
        columns.append(f"id_{name}")
        records = [{**row, f"id_{name}": own.get(name)} for row, own in zip(records, stored, strict=True)]
    if job.output.endswith(".html"):
        from grnf.maps.pages import write_hits

        graphs = dict(zip(X.ids, X.graphs or [], strict=False))
        stored_graph = index.graph if index.keep_graphs else lambda _: None
        write_hits(job.output, columns, records, graphs.get, stored_graph)
    else:
        job.write(columns, records)
    job.summarize({"queries": len(hits), "hits": len(records)})
