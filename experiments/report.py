"""The report: one HTML file that needs nothing else, pictures inside."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

from experiments.study import Table

__all__ = ["Section", "page"]

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #222; max-width: 62rem; margin: 2rem auto;
  padding: 0 1rem; }
h1, h2 { line-height: 1.2; } h2 { margin-top: 3rem; border-bottom: 1px solid #ccc; padding-bottom: .3rem; }
img { max-width: 100%; height: auto; display: block; margin: 1rem 0; }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-size: .85rem; margin: 1rem 0; }
caption { text-align: left; font-weight: 600; padding-bottom: .3rem; }
th, td { padding: .25rem .6rem; text-align: right; border-bottom: 1px solid #ddd; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; } .small { color: #555; font-size: .85rem; }
"""


@dataclass(frozen=True)
class Section:
    """The part of the report about one experiment."""

    name: str
    title: str
    about: str
    picture: bytes
    tables: list[Table]
    seconds: float


def page(
    sections: list[Section],
    settings: Mapping[str, Any],
    versions: Mapping[str, str],
    maps: Mapping[str, str] | None = None,
) -> str:
    """Return the report as HTML; `maps` are pages in the same folder, by the name of their dataset."""
    return "\n".join(_lines(sections, settings, versions, maps or {})) + "\n"


def _lines(
    sections: list[Section], settings: Mapping[str, Any], versions: Mapping[str, str], maps: Mapping[str, str]
) -> Iterator[str]:
    title = "Graph Random Neural Features: the paper's experiments, reproduced"
    yield '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>"
    yield (
        "<p>D. Zambon, C. Alippi, L. Livi, <i>Graph Random Neural Features for Distance-Preserving Graph "
        "Representations</i>, ICML 2020. Made by <code>python -m experiments all</code>.</p>"
    )
    if settings.get("quick"):
        yield "<p><b>A quick run: small versions of the experiments. The numbers mean little.</b></p>"
    yield "<ul>"
    for section in sections:
        yield f'<li><a href="#{section.name}">{escape(section.title)}</a> ({_time(section.seconds)})</li>'
    yield "</ul>"
    for section in sections:
        yield f'<h2 id="{section.name}">{escape(section.title)}</h2>\n<p>{escape(section.about)}</p>'
        source = base64.b64encode(section.picture).decode("ascii")
        yield f'<img alt="{escape(section.title)}" src="data:image/png;base64,{source}">'
        for table in section.tables:
            yield from _table(table)
        yield (
            f'<p class="small">{_time(section.seconds)}; the same alone: '
            f"<code>python -m experiments {section.name}</code></p>"
        )
    if maps:
        links = ", ".join(f'<a href="{escape(path)}">{escape(name)}</a>' for name, path in maps.items())
        yield '<h2 id="maps">Maps of the sets</h2>'
        yield f"<p>Each graph is a point, and is drawn where you point at it: {links}.</p>"
    yield "<h2>Settings and versions</h2>\n<p>" + _pairs(settings) + "</p>\n<p>" + _pairs(versions) + "</p>"
    yield f"<p>Time of all: {_time(sum(section.seconds for section in sections))}.</p>\n</body>\n</html>"


def _table(table: Table) -> Iterator[str]:
    yield f'<div class="wide"><table><caption>{escape(table.title)}</caption>'
    yield "<tr>" + "".join(f"<th>{escape(cell)}</th>" for cell in table.header) + "</tr>"
    for row in table.rows:
        yield "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>"
    yield "</table></div>"
    if table.note:
        yield f"<p>{escape(table.note)}</p>"


def _pairs(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{escape(str(name))} {escape(str(value))}" for name, value in values.items())


def _time(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.1f} min"
