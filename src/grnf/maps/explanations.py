"""A page of predictions, with a drawing of each graph that shows what nodes and edges add."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from grnf._utils.files import atomic_write
from grnf.errors import GraphError
from grnf.estimators.explain import Explanation
from grnf.io.from_molecules import molecule_of_raw, quiet_rdkit
from grnf.io.raw import RawGraph
from grnf.maps.drawings import is_molecule, spring_positions

__all__ = ["draw_explanation", "write_explanations"]

WIDTH, HEIGHT = 340, 260
RED, BLUE, WHITE = np.array([178, 24, 43]), np.array([33, 102, 172]), np.array([255, 255, 255])
STYLE = """body{font:15px/1.45 system-ui,sans-serif;margin:2rem auto;max-width:1120px;padding:0 1rem;
color:#222}main{display:grid;grid-template-columns:repeat(auto-fill,minmax(340px,1fr));gap:1rem}
article{border:1px solid #ddd;border-radius:8px;padding:.8rem}h2{font-size:1rem;margin:0 0 .4rem;
overflow-wrap:anywhere}svg{width:100%;height:auto}table{font-size:.85rem;border-spacing:.6rem 0}
td{overflow-wrap:anywhere}p{max-width:60em}"""
ABOUT = (
    "Red parts raise the prediction, blue parts lower it. A contribution is a Shapley value: the mean change "
    "of the prediction when a node or edge joins the graph, over random orders. All contributions add up to "
    "the prediction less that for the graph without nodes. For a class, the prediction is its probability."
)


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
            cards.append(_card(graph, str(row["id"]), own, model))
    text = (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(title)}</title>'
        '<meta name="viewport" content="width=device-width"><meta http-equiv="Content-Security-Policy" '
        f"content=\"default-src 'none'; style-src 'unsafe-inline'\"><style>{STYLE}</style>"
        f"<h1>Predictions of {escape(title)}</h1><p>{ABOUT}</p><main>{''.join(cards)}</main></html>\n"
    )
    with atomic_write(path) as file:
        file.write(text)


def _card(graph: RawGraph, name: str, row: dict[str, Any], model: Any) -> str:
    try:
        found = model.explain(graph)
        drawing = draw_explanation(graph, found)
        label = "" if found.label is None else f" of {found.label}"
        row = {f"explained{label}": found.prediction, "without nodes": found.reference, **row}
    except GraphError as error:
        drawing = f"<p>{escape(error.explanation)}</p>"
    lines = "".join(
        f"<tr><td>{escape(key)}<td>{escape(f'{value:.4g}' if isinstance(value, float) else str(value))}"
        for key, value in row.items()
        if value is not None
    )
    return f"<article><h2>{escape(name)}</h2>{drawing}<table>{lines}</table></article>"


def draw_explanation(graph: RawGraph, found: Explanation) -> str:
    """Return a drawing as SVG: contours around atoms and bonds, or colored nodes and edges."""
    return _molecule(graph, found) if is_molecule(graph) else _network(graph, found)


def _molecule(graph: RawGraph, found: Explanation) -> str:
    """Draw the contributions of atoms and bonds as contours, in the style of RDKit's similarity maps."""
    from rdkit.Chem import Draw, rdDepictor
    from rdkit.Geometry import Point2D

    with quiet_rdkit():
        mol = molecule_of_raw(graph)
        rdDepictor.Compute2DCoords(mol)
        drawer: Any = Draw.MolDraw2DSVG(WIDTH, HEIGHT)
        drawer.DrawMolecule(mol)  # sets the scale
        drawer.ClearDrawing()
        xy = mol.GetConformer().GetPositions()[:, :2]
        ends = np.asarray(graph.edges, dtype=np.int64).reshape(-1, 2)
        places = np.vstack([xy, xy[ends].mean(axis=1)])
        weights = np.concatenate([found.nodes, found.edges])
        largest = float(np.abs(weights).max(initial=0)) or 1.0
        options: Any = Draw.ContourParams()
        options.setColourMap([tuple((c / 255).tolist()) for c in (BLUE, WHITE, RED)])
        options.setScale, options.fillGrid = False, True
        options.gridResolution, options.extraGridPadding = 0.2, 1.0
        points = [Point2D(*place) for place in places.tolist()]
        Draw.ContourAndDrawGaussians(
            drawer, points, (weights / largest).tolist(), [0.35] * len(points), nContours=6, params=options
        )
        drawer.drawOptions().clearBackground = False
        drawer.DrawMolecule(mol)
        drawer.FinishDrawing()
    text: str = drawer.GetDrawingText()
    return text[text.index("<svg") :]


def _network(graph: RawGraph, found: Explanation) -> str:
    """Draw nodes and edges by springs, colored by their contributions."""
    largest = float(np.abs(np.concatenate([found.nodes, found.edges])).max(initial=0)) or 1.0
    xy = spring_positions(graph.n_nodes, np.asarray(graph.edges, dtype=np.int64).reshape(-1, 2))
    low, size = xy.min(axis=0, initial=np.inf), np.ptp(xy, axis=0) if len(xy) else np.ones(2)
    scale = min((WIDTH - 40) / max(size[0], 1e-9), (HEIGHT - 40) / max(size[1], 1e-9), 60)
    xy = (xy - low - size / 2) * scale + [WIDTH / 2, HEIGHT / 2] if len(xy) else xy
    radius = float(np.clip(90 / np.sqrt(max(len(xy), 1)) / 3, 3, 10))
    parts = []
    for (a, b), value in zip(np.asarray(graph.edges).reshape(-1, 2).tolist(), found.edges, strict=True):
        line = f'<line x1="{xy[a, 0]:.1f}" y1="{xy[a, 1]:.1f}" x2="{xy[b, 0]:.1f}" y2="{xy[b, 1]:.1f}"'
        color = _color(value / largest)
        parts.append(f'{line} stroke="#999" stroke-width="4"/>{line} stroke="{color}" stroke-width="3"/>')
    parts += [
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" fill="{_color(value / largest)}" stroke="#555"/>'
        for (x, y), value in zip(xy.tolist(), found.nodes, strict=True)
    ]
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}">{"".join(parts)}</svg>'


def _color(share: float) -> str:
    """Return the color of a share from -1 (blue) to 1 (red)."""
    color = WHITE + min(abs(share), 1) * ((RED if share > 0 else BLUE) - WHITE)
    return "#" + "".join(f"{round(float(part)):02x}" for part in color)
