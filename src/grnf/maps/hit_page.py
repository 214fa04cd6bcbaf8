"""A page with the hits of a search: a table for each query, with drawings."""

from __future__ import annotations

import base64
import os
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from html import escape
from itertools import groupby
from typing import Any

import numpy as np

from grnf._utils.files import atomic_write
from grnf.edits.comparison import compare, correspondence
from grnf.errors import GraphError
from grnf.io.from_molecules import raw_from_smiles
from grnf.io.raw import RawGraph
from grnf.maps.drawings import aligned, draw_molecule, molecule_pair, spring_positions

__all__ = ["write_hit_page"]

SIZE = (220, 150)
"""Width and height of a drawing in pixels."""
MOST_NODES = 500
"""Larger graphs are not drawn."""
OF_HITS = ("query", "rank", "id", "distance", "standard_error", "low", "high", "status")
"""Columns of hits; those with the prefix id_ are others."""
HEAD = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Hits</title>
<meta http-equiv="Content-Security-Policy"
content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<style>body{font:14px sans-serif;margin:2em}table{border-collapse:collapse}td,th{border-bottom:1px solid #ccc;
padding:4px 10px;text-align:left;max-width:24em;overflow-wrap:anywhere}</style></head><body>
"""


def write_hit_page(
    path: str | os.PathLike[str],
    columns: Sequence[str],
    records: Sequence[Mapping[str, Any]],
    query_graph: Callable[[str], RawGraph | None],
    hit_graph: Callable[[str], RawGraph | None],
) -> None:
    """Write the records of hits, those of a query next to each other, as one page without other files.

    Molecules are drawn from the columns smiles (query) and id_smiles (hit), other graphs if they are known.
    Hits are turned towards their query, and what differs is marked, as in `grnf compare`.
    """
    drawn = cache(_molecule)
    own = [name for name in columns if name not in OF_HITS and not name.startswith("id_")]
    shown = [name for name in columns if name not in own and name != "query"]
    with atomic_write(path) as file:
        file.write(HEAD)
        for query, group in groupby(records, key=lambda record: record["query"]):
            hits = list(group)
            first = hits[0]
            file.write(
                f"<h2>{escape(query)}</h2>\n{_picture(drawn, first.get('smiles'), query_graph, query)}"
            )
            toward = first.get("smiles"), query_graph(query)
            texts = [f"{escape(name)}: {_text(first[name])}" for name in own]
            file.write(f"<p>{'<br>'.join(texts)}</p>\n<table><tr><th>hit</th>")
            file.write("".join(f"<th>{escape(name)}</th>" for name in shown) + "</tr>\n")
            for hit in hits:
                picture = _picture(drawn, hit.get("id_smiles"), hit_graph, hit["id"], *toward)
                cells = "".join(f"<td>{_text(hit[name])}</td>" for name in shown)
                file.write(f"<tr><td>{picture}</td>{cells}</tr>\n")
            file.write("</table>\n")
        file.write("</body></html>\n")


def _text(value: Any) -> str:
    return "" if value is None else escape(f"{value:.6g}" if isinstance(value, float) else str(value))


def _picture(
    draw: Any,
    smiles: str | None,
    graph_of: Callable[[str], RawGraph | None],
    name: str,
    query_smiles: str | None = None,
    query: RawGraph | None = None,
) -> str:
    """Return an image of a molecule or of another graph, without scripts. It is empty if unknown."""
    svg = None if smiles is None else draw(smiles, query_smiles)
    graph = graph_of(name) if svg is None else None
    if graph is not None and graph.n_nodes <= MOST_NODES:
        svg = _network(graph, None if query is None or query.n_nodes > MOST_NODES else query)
    if svg is None:
        return ""
    data = base64.b64encode(svg.encode()).decode()
    return f'<img alt="" width="{SIZE[0]}" height="{SIZE[1]}" src="data:image/svg+xml;base64,{data}">'


def _molecule(smiles: str, query: str | None = None) -> str | None:
    """Return RDKit's drawing of a molecule, turned towards that of the query, or None if there is none."""
    try:
        from rdkit.Chem.Draw import rdMolDraw2D

        graphs = [raw_from_smiles(query or smiles), raw_from_smiles(smiles)]
        result = compare(*graphs, time_limit=0)
        pair = molecule_pair(graphs, result)
        if pair is None:
            return None
        return str(draw_molecule(rdMolDraw2D.MolDraw2DSVG(*SIZE), pair[1], result.marks(1)))
    except (GraphError, ImportError, RuntimeError, ValueError):
        return None


def _network(graph: RawGraph, query: RawGraph | None) -> str:
    """Return a drawing of a graph, turned towards that of the query: lines and points."""
    points = spring_positions(graph.n_nodes, graph.edges)
    if query is not None:
        images = correspondence(query, graph)
        kept = np.flatnonzero(images >= 0)
        points = aligned(points, spring_positions(query.n_nodes, query.edges)[kept], images[kept])
    low = points.min(axis=0, initial=np.inf)
    span = float(np.ptp(points, axis=0).max(initial=0)) if len(points) else 0.0
    points = 10 + (points - low) * (SIZE[1] - 20) / (span or 1.0)
    ends = [(*points[i], *points[j]) for i, j in np.asarray(graph.edges).reshape(-1, 2).tolist()]
    lines = "".join(f"M{a:.1f} {b:.1f}L{c:.1f} {d:.1f}" for a, b, c, d in ends)
    dots = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3"/>' for x, y in points)
    size = f'width="{SIZE[0]}" height="{SIZE[1]}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}><path d="{lines}" stroke="#888"/>{dots}</svg>'
