"""Pages without scripts: the hits of a search, explained predictions, and the evaluation of a generator."""

from __future__ import annotations

import base64
import json
import os
import platform
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from html import escape
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from grnf._utils.files import atomic_write
from grnf._version import __version__
from grnf.collection import Collection
from grnf.edits.comparison import compare, correspondence
from grnf.errors import GraphError
from grnf.estimators.explain import Explanation
from grnf.io.from_molecules import raw_from_smiles
from grnf.io.raw import RawGraph
from grnf.maps.drawings import (
    aligned,
    draw_molecule,
    drawn_molecule,
    is_molecule,
    molecule_pair,
    node_kinds,
    spring_positions,
)  # fmt: skip
from grnf.maps.figures import COLORS
from grnf.typing import FloatArray, IntArray

SIZE = (340, 260)
SMALL = (220, 150)
"""Width and height of drawings in pixels. The small ones are those of hits."""
MOST_NODES = 500
"""Larger hits are not drawn."""
OF_HITS = ("query", "rank", "id", "distance", "standard_error", "low", "high", "status")
"""Columns of hits; those with the prefix id_ are others."""
RED, BLUE, WHITE = np.array([178, 24, 43]), np.array([33, 102, 172]), np.array([255, 255, 255])
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
STYLE = """
body{font:15px/1.5 system-ui,sans-serif;color:#222;max-width:1120px;margin:2em auto;padding:0 1em}
table{border-collapse:collapse}td,th{padding:3px 14px 3px 0;text-align:left;border-bottom:1px solid #ddd;
overflow-wrap:anywhere}p{max-width:60em}.number{font-size:2.2em;margin:0}figure{margin:0;width:136px}
.graphs{display:flex;flex-wrap:wrap;gap:12px;align-items:flex-end}svg{width:100%;height:auto}
figcaption{font-size:12px;color:#555;overflow-wrap:anywhere}.bar{background:#0072b2;height:10px}
pre{white-space:pre-wrap;overflow-wrap:anywhere;font-size:12px}article{border:1px solid #ddd;
border-radius:8px;padding:.8rem}article h2{font-size:1rem;margin:0 0 .4rem;overflow-wrap:anywhere}
main{display:grid;grid-template-columns:repeat(auto-fill,minmax(340px,1fr));gap:1rem}
article table{font-size:.85rem}article td:first-child{overflow-wrap:normal}
"""
ABOUT_EXPLANATIONS = (
    "Red parts raise the prediction, blue parts lower it. A contribution is a Shapley value: the mean change "
    "of the prediction when a node or edge joins the graph, over random orders. All contributions add up to "
    "the prediction less that for the graph without nodes. For a class, the prediction is its probability."
)


def _write(path: str | os.PathLike[str], title: str, parts: Iterable[str]) -> None:
    """Write one HTML file that loads nothing else."""
    with atomic_write(path) as file:
        file.write(
            f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>\n'
            '<meta name="viewport" content="width=device-width">\n'
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
            f"<style>{STYLE}</style></head><body>\n"
        )
        for part in parts:
            file.write(f"{part}\n")
        file.write("</body></html>\n")


def _text(value: Any, digits: int = 6) -> str:
    """Return a value as text of a page."""
    text = f"{value:.{digits}g}" if isinstance(value, float) else str(value)
    return "" if value is None else escape(text)


def _row(cells: Iterable[str], tag: str = "td") -> str:
    return "<tr>" + "".join(f"<{tag}>{cell}</{tag}>" for cell in cells) + "</tr>"


def network_svg(
    graph: RawGraph,
    positions: FloatArray,
    nodes: Sequence[str],
    edges: Sequence[str],
    size: tuple[int, int] = SIZE,
) -> str:
    """Return a drawing of a graph as SVG, with the colors of nodes and edges."""
    sides = np.ptp(positions, axis=0) if len(positions) else np.ones(2)
    room = np.array(size) - 40
    unit = min(*(room / np.maximum(sides, 1e-9)), 60)
    xy = np.array(size) / 2 + (positions - positions.min(axis=0, initial=np.inf) - sides / 2) * unit
    radius = float(np.clip(30 / np.sqrt(max(len(xy), 1)), 3, 10))
    parts = []
    for (a, b), color in zip(np.asarray(graph.edges).reshape(-1, 2).tolist(), edges, strict=True):
        line = f'<line x1="{xy[a, 0]:.1f}" y1="{xy[a, 1]:.1f}" x2="{xy[b, 0]:.1f}" y2="{xy[b, 1]:.1f}"'
        parts.append(f'{line} stroke="#999" stroke-width="4"/>{line} stroke="{color}" stroke-width="3"/>')
    parts += [
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" fill="{color}" stroke="#555"/>'
        for (x, y), color in zip(xy.tolist(), nodes, strict=True)
    ]
    box = f"0 0 {size[0]} {size[1]}"
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{box}">{"".join(parts)}</svg>'


def write_hits(
    path: str | os.PathLike[str],
    columns: Sequence[str],
    records: Sequence[Mapping[str, Any]],
    query_graph: Callable[[str], RawGraph | None],
    hit_graph: Callable[[str], RawGraph | None],
) -> None:
    """Write the records of hits, those of a query next to each other, with drawings.

    Molecules are drawn from the columns smiles (query) and id_smiles (hit), other graphs if they are known.
    Hits are turned towards their query, and what differs is marked, as in `grnf compare`.
    """
    molecule, drawn = cache(_graph_of), cache(_hit)
    own = [name for name in columns if name not in OF_HITS and not name.startswith("id_")]
    shown = [name for name in columns if name not in own and name != "query"]

    def picture(graph: RawGraph | None, query: RawGraph | None) -> str:
        """Return an image of a graph. It is empty if the graph is unknown or too large."""
        svg = "" if graph is None else drawn(graph, query)
        data = base64.b64encode(svg.encode()).decode()
        image = f'<img alt="" width="{SMALL[0]}" height="{SMALL[1]}" src="data:image/svg+xml;base64,{data}">'
        return image if svg else ""

    def parts() -> Iterator[str]:
        for query, group in groupby(records, key=lambda record: record["query"]):
            hits = list(group)
            graph = molecule(hits[0].get("smiles")) or query_graph(query)
            texts = [f"{escape(name)}: {_text(hits[0][name])}" for name in own]
            yield f"<h2>{escape(query)}</h2>\n{picture(graph, None)}"
            yield f"<p>{'<br>'.join(texts)}</p>\n<table>{_row(['hit', *map(escape, shown)], 'th')}"
            for hit in hits:
                image = picture(molecule(hit.get("id_smiles")) or hit_graph(hit["id"]), graph)
                yield _row([image, *(_text(hit[name]) for name in shown)])
            yield "</table>"

    _write(path, "Hits", parts())


def _graph_of(smiles: str | None) -> RawGraph | None:
    """Return the graph of a SMILES, or None if there is none, or no RDKit."""
    try:
        return None if smiles is None else raw_from_smiles(smiles)
    except (GraphError, ImportError):
        return None


def _hit(graph: RawGraph, query: RawGraph | None) -> str:
    """Return a drawing of a graph, turned towards that of the query. What differs in a molecule is marked."""
    query = graph if query is None else query
    if is_molecule(query) and is_molecule(graph):
        result = compare(query, graph, time_limit=0)
        pair = molecule_pair([query, graph], result)
        if pair is not None:
            return _molecule_svg(pair[1], SMALL, result.marks(1))
    if graph.n_nodes > MOST_NODES:
        return ""
    points = spring_positions(graph.n_nodes, graph.edges)
    if query is not graph and query.n_nodes <= MOST_NODES:
        images = correspondence(query, graph)
        kept = np.flatnonzero(images >= 0)
        points = aligned(points, spring_positions(query.n_nodes, query.edges)[kept], images[kept])
    return network_svg(graph, points, ["#222"] * len(points), ["#bbb"] * len(graph.edges), SMALL)


def write_explanations(
    path: Path,
    models: Sequence[Any],
    names: Sequence[str],
    graphs: Sequence[tuple[RawGraph, Any]],
    title: str,
) -> None:
    """Write one page for some graphs and their rows of predictions."""
    cards = []
    for graph, row in graphs:
        for prefix, model in zip(names, models, strict=True):
            own = {name: row[name] for name in row if name.startswith(prefix) and name not in ("id", "error")}
            target = prefix and f": {prefix.removesuffix('_')}"
            cards.append(_card(graph, f"{row['id']}{target}", own, model))
    title = f"Predictions of {title}"
    head = f"<h1>{escape(title)}</h1><p>{ABOUT_EXPLANATIONS}</p><main>"
    _write(path, title, [head, *cards, "</main>"])


def _card(graph: RawGraph, name: str, row: dict[str, Any], model: Any) -> str:
    try:
        found = model.explain(graph)
        drawing = draw_explanation(graph, found)
        label = "" if found.label is None else f": class {found.label}"
        row = {f"explained{label}": found.prediction, "without nodes": found.reference, **row}
    except GraphError as error:
        drawing = f"<p>{escape(error.explanation)}</p>"
    lines = "".join(_row([escape(key), _text(value, 4)]) for key, value in row.items() if value is not None)
    return f"<article><h2>{escape(name)}</h2>{drawing}<table>{lines}</table></article>"


def draw_explanation(graph: RawGraph, found: Explanation) -> str:
    """Return a drawing as SVG: contours around atoms and bonds, or colored nodes and edges."""
    largest = float(np.abs(np.concatenate([found.nodes, found.edges])).max(initial=0)) or 1.0
    nodes, edges = found.nodes / largest, found.edges / largest
    molecule = drawn_molecule(graph)
    if molecule is not None:
        return _contours(molecule, graph.edges, np.concatenate([nodes, edges]))
    positions = spring_positions(graph.n_nodes, graph.edges)
    return network_svg(graph, positions, [_color(share) for share in nodes], [_color(s) for s in edges])


def _contours(molecule: Any, edges: IntArray, weights: FloatArray) -> str:
    """Return RDKit's drawing with contours of atoms and bonds, in the style of its similarity maps."""
    from rdkit.Chem import Draw
    from rdkit.Geometry import Point2D

    drawer: Any = Draw.MolDraw2DSVG(*SIZE)
    drawer.DrawMolecule(molecule)  # which sets the scale
    drawer.ClearDrawing()
    xy = molecule.GetConformer().GetPositions()[:, :2]
    ends = np.asarray(edges, dtype=np.int64).reshape(-1, 2)
    points = [Point2D(*place) for place in np.vstack([xy, xy[ends].mean(axis=1)]).tolist()]
    options: Any = Draw.ContourParams()
    options.setColourMap([tuple((c / 255).tolist()) for c in (BLUE, WHITE, RED)])
    options.fillGrid = True
    options.gridResolution, options.extraGridPadding = 0.2, 1.0
    widths = [0.35] * len(points)
    Draw.ContourAndDrawGaussians(drawer, points, weights.tolist(), widths, nContours=6, params=options)
    drawer.drawOptions().clearBackground = False
    drawer.DrawMolecule(molecule)
    drawer.FinishDrawing()
    return _element(drawer.GetDrawingText())


def _molecule_svg(molecule: Any, size: tuple[int, int], marks: Mapping[tuple[int, ...], str]) -> str:
    from rdkit.Chem.Draw import rdMolDraw2D

    return _element(draw_molecule(rdMolDraw2D.MolDraw2DSVG(*size), molecule, marks))


def _element(svg: str) -> str:
    """Return the element of an SVG file."""
    return svg[svg.index("<svg") :]


def _color(share: float) -> str:
    """Return the color of a share from -1 (blue) to 1 (red)."""
    color = WHITE + min(abs(share), 1) * ((RED if share > 0 else BLUE) - WHITE)
    return "#" + "".join(f"{round(float(part)):02x}" for part in color)


def write_evaluation(path: Path, result: Any, samples: Sequence[Collection]) -> None:
    """Write an evaluation: the result, what contributed to it, typical graphs, and the protocol."""
    found = result.separation
    parts = ["<h1>Generator evaluation</h1>"]
    for name, title in (("total_variation", "Total variation"), ("jensen_shannon", "Jensen-Shannon")):
        number, estimate = getattr(found, name), found.estimates[name]
        shown = f"≥ {number:.3f}" if number > 0 else "not distinguished"
        detail = f"estimate {estimate:.3f}, detectable with so many graphs: {found.detectable[name]:.3f}"
        parts.append(f'<p class="number">{title}: {shown}</p><p>{detail}</p>')
    parts.append(
        f"<p>These are lower bounds with confidence {100 * (1 - found.delta):g} %. The distances range from "
        "0 (the same distribution) to 1 (no overlap). A classifier was trained on some graphs, and judged "
        f"{found.n_pairs:,} pairs of others. A distance is detectable if the best possible classifier would "
        "show it in half of such samples.</p>"
    )
    parts += [f"<p>{escape(note)}</p>" for note in result.notes()]
    header, *lines = (line.split(",") for line in result.to_table("csv").splitlines())
    parts += ["<h2>Scores</h2><table>", _row((escape(name.replace("_", " ")) for name in header), "th")]
    parts += [_row(map(_short, cells)) for cells in lines]
    parts.append("</table><h2>Feature views of the classifier</h2><table>")
    for name, share in sorted(found.views.items(), key=lambda item: -item[1]):
        bar = f'<div class="bar" style="width:{200 * share:.0f}px"></div>'
        parts.append(_row([escape(name), f"{100 * share:.0f} %", bar]))
    parts.append("</table>")
    for title, rows, sample in zip(("generated", "reference"), found.typical, samples, strict=True):
        if sample.graphs is not None:  # else vectors
            parts.append(f'<h2>Most typical {title} graphs</h2><div class="graphs">')
            drawings = _drawings([sample.graphs[row] for row in rows])
            for row, svg in zip(rows, drawings, strict=True):
                parts.append(f"<figure>{svg}<figcaption>{escape(sample.ids[row])}</figcaption></figure>")
            parts.append("</div>")
    versions = {"grnf": __version__, "numpy": np.__version__, "python": platform.python_version()}
    protocol = json.dumps({**result.protocol, "versions": versions}, indent=1)
    _write(path, "Generator evaluation", [*parts, f"<h2>Protocol</h2><pre>{escape(protocol)}</pre>"])


def _short(text: str) -> str:
    """Return a number with four digits, and other text unchanged."""
    try:
        return _text(float(text), 4)
    except ValueError:
        return _text(text)


def _drawings(graphs: Sequence[RawGraph]) -> Iterator[str]:
    """Yield drawings of graphs: molecules by RDKit, others with one color for each kind of node."""
    known = [node_kinds(graph) for graph in graphs]
    kinds = sorted({str(kind) for own in known for kind in own})
    colors = {kind: COLORS[at % len(COLORS)] for at, kind in enumerate(kinds)}
    for graph, own in zip(graphs, known, strict=True):
        molecule = drawn_molecule(graph)
        if molecule is not None:
            yield _molecule_svg(molecule, SIZE, {})
            continue
        positions = spring_positions(graph.n_nodes, graph.edges)
        yield network_svg(graph, positions, [colors[str(kind)] for kind in own], ["#bbb"] * len(graph.edges))
