"""Scores as a table for a terminal, a paper or a page."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from grnf._utils.rules import OneOf, checked

__all__ = ["FORMATS", "Row", "table"]

FORMATS = ("text", "markdown", "latex", "html", "csv")
HEADER = ("score", "better", "value", "95 % interval", "reference halves")


class Row(NamedTuple):
    """A score by its name."""

    name: str
    better: str
    value: float
    low: float
    high: float
    baseline: float | None


def table(rows: Sequence[Row], notes: Sequence[str], format: str = "text") -> str:
    r"""Return the scores as a table, notes below it.

    Examples
    --------
    >>> print(table([Row("novelty", "higher", 0.5, 0.4, 0.6, None)], ["10 graphs"], "markdown"))
    | score | better | value | 95 % interval | reference halves |
    |---|---|---|---|---|
    | novelty | higher | 0.500 | 0.400 to 0.600 |  |
    <BLANKLINE>
    10 graphs
    """
    checked(format, "format", OneOf(*FORMATS))
    if format == "csv":
        lines = ["score,better,value,low,high,reference_halves"]
        for row in rows:
            numbers = ["" if value is None else f"{value:.9g}" for value in row[2:]]
            lines.append(",".join([row.name, row.better, *numbers]))
        return "\n".join(lines) + "\n"
    cells = [
        [
            row.name,
            row.better,
            _text(row.value),
            f"{_text(row.low)} to {_text(row.high)}",
            "" if row.baseline is None else _text(row.baseline),
        ]
        for row in rows
    ]
    return {"text": _plain, "markdown": _markdown, "latex": _latex, "html": _html}[format](cells, notes)


def _text(value: float) -> str:
    return f"{value:.3f}" if 1e-3 <= abs(value) < 1e4 or value == 0 else f"{value:.2e}"


def _plain(cells: list[list[str]], notes: Sequence[str]) -> str:
    lines = [list(HEADER), *cells]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEADER))]
    shown = [
        "  ".join(
            text.ljust(width) if column < 2 else text.rjust(width)
            for column, (text, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]
    return "\n".join([*shown, "", *notes])


def _markdown(cells: list[list[str]], notes: Sequence[str]) -> str:
    lines = ["| " + " | ".join(HEADER) + " |", "|---" * len(HEADER) + "|"]
    lines += ["| " + " | ".join(line) + " |" for line in cells]
    return "\n".join([*lines, "", *notes])


def _latex(cells: list[list[str]], notes: Sequence[str]) -> str:
    lines = [r"\begin{tabular}{llrrr}", r"\hline", _latex_line(HEADER), r"\hline"]
    lines += [_latex_line(line) for line in cells]
    lines += [r"\hline", r"\end{tabular}", *("% " + note for note in notes)]
    return "\n".join(lines)


def _latex_line(cells: Sequence[str]) -> str:
    marks = {"MMD^2": "MMD$^2$", "Frechet distance": r"Fr\'echet distance"}
    return " & ".join(marks.get(text, text.replace("%", r"\%")) for text in cells) + r" \\"


def _html(cells: list[list[str]], notes: Sequence[str]) -> str:
    def line(texts: Sequence[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(text)}</{tag}>" for text in texts) + "</tr>"

    body = "\n".join(line(texts, "td") for texts in cells)
    below = "\n".join(f"<p>{escape(note)}</p>" for note in notes)
    style = "table{border-collapse:collapse;font-family:sans-serif}td,th{padding:2px 10px;text-align:left}"
    return "\n".join(
        [
            '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>Evaluation</title>',
            f"<style>{style}</style></head>\n<body><table>",
            f"<thead>{line(HEADER, 'th')}</thead>\n<tbody>\n{body}\n</tbody></table>",
            f"{below}\n</body></html>",
        ]
    )
