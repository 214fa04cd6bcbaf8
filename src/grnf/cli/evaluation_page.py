"""The page of `grnf evaluate --report`: the result, what contributed to it, typical graphs, the protocol."""

from __future__ import annotations

import json
import platform
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from grnf._utils.files import atomic_write
from grnf._version import __version__
from grnf.maps.drawings import MOLECULE, NO_KIND, SIDE, draw_graphs
from grnf.maps.figures import COLORS

if TYPE_CHECKING:
    from grnf.collection import Collection
    from grnf.maps.drawings import Drawings
    from grnf.stats import Evaluation

__all__ = ["write_page"]

POLICY = "default-src 'none'; style-src 'unsafe-inline'"
STYLE = """
body{font:15px/1.5 system-ui,sans-serif;color:#222;max-width:60em;margin:2em auto;padding:0 1em}
table{border-collapse:collapse}td,th{padding:3px 14px 3px 0;text-align:left;border-bottom:1px solid #ddd}
td+td{font-variant-numeric:tabular-nums}.number{font-size:2.2em;margin:0}
.graphs{display:flex;flex-wrap:wrap;gap:12px;align-items:flex-end}figure{margin:0;width:136px}
figcaption{font-size:12px;color:#555;overflow-wrap:anywhere}svg{width:136px}
.bar{background:#0072b2;height:10px}pre{white-space:pre-wrap;overflow-wrap:anywhere;font-size:12px}
"""


def write_page(path: Path, result: Evaluation, samples: Sequence[Collection]) -> None:
    """Write an evaluation as one HTML file that loads nothing else."""
    with atomic_write(path) as file:
        file.write(_page(result, samples))


def _page(result: Evaluation, samples: Sequence[Collection]) -> str:
    found = result.separation
    sentences = []
    for name, title in (("total_variation", "Total variation"), ("jensen_shannon", "Jensen-Shannon")):
        number, estimate = getattr(found, name), found.estimates[name]
        shown = f"≥ {number:.3f}" if number > 0 else "not distinguished"
        detail = f"estimate {estimate:.3f}, detectable with so many graphs: {found.detectable[name]:.3f}"
        sentences.append(f'<p class="number">{title}: {shown}</p><p>{detail}</p>')
    about = (
        f"These are lower bounds with confidence {100 * (1 - found.delta):g} %. The distances range from 0 "
        "(the same distribution) to 1 (no overlap). A classifier was trained on some graphs, and judged "
        f"{found.n_pairs:,} pairs of others. A distance is detectable if the best possible classifier would "
        "show it in half of such samples."
    )
    header, *lines = result.to_table("csv").splitlines()
    rows = [_row(line.split(","), "td") for line in lines]
    bars = [
        f'<tr><td>{escape(name)}</td><td>{100 * share:.0f} %</td><td><div class="bar" '
        f'style="width:{200 * share:.0f}px"></div></td></tr>'
        for name, share in sorted(found.views.items(), key=lambda item: -item[1])
    ]
    versions = {"grnf": __version__, "numpy": np.__version__, "python": platform.python_version()}
    protocol = json.dumps({**result.protocol, "versions": versions}, indent=1)
    parts = [
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>Generator evaluation</title>',
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
        f"<style>{STYLE}</style></head><body><h1>Generator evaluation</h1>",
        *sentences,
        f"<p>{about}</p>",
        *(f"<p>{escape(note)}</p>" for note in result.notes()),
        "<h2>Scores</h2><table>",
        _row(header.replace("_", " ").split(","), "th"),
        *rows,
        "</table><h2>Feature views of the classifier</h2><table>",
        *bars,
        "</table>",
        *_typical(result, samples),
        f"<h2>Protocol</h2><pre>{escape(protocol)}</pre></body></html>\n",
    ]
    return "\n".join(parts)


def _row(cells: Sequence[str], tag: str) -> str:
    return "<tr>" + "".join(f"<{tag}>{escape(_short(text))}</{tag}>" for text in cells) + "</tr>"


def _short(text: str) -> str:
    """Return a number with four digits, and other text unchanged."""
    try:
        return f"{float(text):.4g}"
    except ValueError:
        return text


def _typical(result: Evaluation, samples: Sequence[Collection]) -> list[str]:
    """Return drawings of the graphs that the classifier found most typical of each side."""
    parts = []
    for title, rows, sample in zip(
        ("generated", "reference"), result.separation.typical, samples, strict=True
    ):
        if sample.graphs is None:  # vectors
            continue
        drawings = draw_graphs([sample.graphs[row] for row in rows])
        figures = [
            f"<figure>{_svg(drawings, at)}<figcaption>{escape(sample.ids[row])}</figcaption></figure>"
            for at, row in enumerate(rows)
        ]
        parts += [f'<h2>Most typical {title} graphs</h2><div class="graphs">', *figures, "</div>"]
    return parts


def _svg(drawings: Drawings, at: int) -> str:
    """Return one drawing, with the symbols of atoms other than carbon."""
    flags, _, _, x, y, kinds, sources, targets, values = drawings.block(at, at + 1)
    points = [(20 + 260 * float(a) / SIDE, 20 + 260 * float(b) / SIDE) for a, b in zip(x, y, strict=True)]
    molecule = bool(flags[0] & MOLECULE)
    height = max((b for _, b in points), default=0) + 20
    parts = [f'<svg viewBox="0 0 300 {height:.0f}" role="img">']
    for i, j, value in zip(sources.tolist(), targets.tolist(), values.tolist(), strict=True):
        (a, b), (c, d) = points[i], points[j]
        order = value if molecule else 1
        style: dict[int, Any] = {2: ("#444", 5), 3: ("#444", 8), 4: ("#888", 4)}
        color, width = style.get(order, ("#888", 2))
        parts.append(
            f'<line x1="{a:.0f}" y1="{b:.0f}" x2="{c:.0f}" y2="{d:.0f}" stroke="{color}" '
            f'stroke-width="{width}"/>'
        )
    for (a, b), kind in zip(points, kinds.tolist(), strict=True):
        name = "" if kind == NO_KIND else drawings.kinds[kind]
        color = COLORS[kind % len(COLORS)] if name else COLORS[0]
        if not molecule:
            parts.append(f'<circle cx="{a:.0f}" cy="{b:.0f}" r="6" fill="{color}"/>')
        elif name != "C":
            parts.append(f'<circle cx="{a:.0f}" cy="{b:.0f}" r="13" fill="#fff"/>')
            text = f'x="{a:.0f}" y="{b + 6:.0f}" font-size="18" text-anchor="middle" fill="{color}"'
            parts.append(f"<text {text}>{escape(name)}</text>")
    return "".join([*parts, "</svg>"])
