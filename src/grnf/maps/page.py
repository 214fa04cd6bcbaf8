"""The page of a map: one HTML file that asks for nothing else, heavy parts packed inside."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from collections.abc import Iterator
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from grnf.typing import FloatArray

if TYPE_CHECKING:
    from grnf.maps.columns import Column
    from grnf.maps.graph_map import GraphMap

__all__ = ["page", "policy"]

BLOCK = 512
"""Graphs that are unpacked together, when the pointer comes to one of them."""

MISSING = 65_535


def page(made: GraphMap) -> str:
    """Return the page of a map."""
    here = files("grnf.maps")
    style, script, frame = (
        here.joinpath(name).read_text(encoding="utf-8") for name in ("page.css", "map.js", "page.html")
    )
    parts, columns = dict(_parts(made)), [c for c in made.columns if c.kind != "text"]
    described = [_column(column) for column in columns]
    parts |= {f"c{at}": packed for at, (_, packed) in enumerate(described)}
    meta = _meta(made, [about for about, _ in described])
    filled = {
        "policy": policy(style, script),
        "title": escape(made.title),
        "style": style,
        "meta": json.dumps(meta).replace("<", "\\u003c"),
        "parts": "\n".join(
            f'<script type="text/plain" id="part-{name}">{text}</script>' for name, text in parts.items()
        ),
        "script": script,
    }
    pieces = frame.split("@")  # text between two @ is a name; the frame has no other @
    return "".join(filled[piece] if at % 2 else piece for at, piece in enumerate(pieces))


def policy(style: str, script: str) -> str:
    """Return a content security policy: our script and style by their hashes, and no request at all.

    Examples
    --------
    >>> policy("", "")[:40]
    "default-src 'none'; base-uri 'none'; for"
    """
    hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (style, script)]
    return (
        "default-src 'none'; base-uri 'none'; form-action 'none'; "
        f"style-src 'sha256-{hashes[0]}'; script-src 'sha256-{hashes[1]}'"
    )


def _meta(made: GraphMap, columns: list[dict[str, Any]]) -> dict[str, Any]:
    names = [column["name"] for column in columns]
    return {
        "n": len(made.ids),
        "block": BLOCK,
        "kinds": made.drawings.kinds,
        "columns": columns,
        "first": names.index(made.color) if made.color in names else 0,
        "texts": [column.name for column in made.columns if column.kind == "text"],
        "k": made.nearest.places.shape[1],
        "percent": f"{100 * (1 - made.delta):g}",
        "interval": made.nearest.words,
        "marks": made.marks is not None,
        "marksMeaning": "Marked: nodes without which both graphs would be nearer to each other.",
        "noMarks": made.why_no_marks,
        "about": made.about,
    }


def _parts(made: GraphMap) -> Iterator[tuple[str, str]]:
    """Yield names and packed contents of all parts but the columns."""
    n = len(made.ids)
    yield "ids", _packed(json.dumps(made.ids).encode())
    whole = np.round((np.clip(made.positions, -1, 1) + 1) * 32_767.5).astype(np.uint16)
    yield "points", _packed(_planes(whole[:, 0]) + _planes(whole[:, 1]))
    texts = [column.values for column in made.columns if column.kind == "text"]
    near = made.nearest
    k = near.places.shape[1]
    starts = None if made.marks is None else np.cumsum([0, *made.marks.lengths.sum(axis=1).tolist()])
    for number, start in enumerate(range(0, n, BLOCK)):
        stop = min(start + BLOCK, n)
        yield f"g{number}", _packed(b"".join(map(_planes, made.drawings.block(start, stop))))
        if k:
            some = slice(start, stop)
            floats = [_rounded(values[some].ravel()) for values in (near.distances, near.low, near.high)]
            yield f"n{number}", _packed(b"".join(map(_planes, [near.places[some].ravel(), *floats])))
        if k and made.marks is not None and starts is not None:
            lengths = made.marks.lengths[start:stop].ravel()
            levels = made.marks.levels[starts[start] : starts[stop]]
            yield f"m{number}", _packed(_planes(lengths) + _planes(levels))
        if texts:
            rows = [
                ["" if values[i] is None else str(values[i]) for values in texts] for i in range(start, stop)
            ]
            yield f"t{number}", _packed(json.dumps(rows, ensure_ascii=False).encode())


def _column(column: Column) -> tuple[dict[str, Any], str]:
    """Return what the page knows of a column, and its packed values."""
    about: dict[str, Any] = {"name": column.name, "kind": column.kind, "meaning": column.meaning}
    if column.kind == "category":
        codes, names, counts = column.codes()
        return {**about, "categories": names, "counts": counts}, _packed(_planes(codes))
    values = column.numbers()
    there = values[np.isfinite(values)]
    least, most = (float(there.min()), float(there.max())) if len(there) else (0.0, 1.0)
    low, high = _ends(there, least, most)
    about |= {"low": low, "high": high, "below": low > least, "above": high < most, "base": least}
    if bool((there == np.round(there)).all()) and most - least < MISSING:
        whole = np.where(np.isfinite(values), np.nan_to_num(values) - least, MISSING).astype(np.uint16)
        return {**about, "whole": True}, _packed(_planes(whole))
    return {**about, "whole": False}, _packed(_planes(values.astype(np.float32)))


def _ends(there: FloatArray, least: float, most: float) -> tuple[float, float]:
    """Return the ends of the scale of colors: those of all values, or of nearly all if few lie far out."""
    if len(there) < 20:
        return least, most
    low, high = (float(end) for end in np.percentile(there, [1, 99]))
    reach = 1.0 * (high - low)
    return (low if least < low - reach else least), (high if most > high + reach else most)


def _planes(array: npt.NDArray[Any]) -> bytes:
    """Return numbers as bytes: all first bytes, all second bytes, ... of little-endian numbers."""
    array = np.ascontiguousarray(array)
    array = array.astype(array.dtype.newbyteorder("<"), copy=False)
    return array.view(np.uint8).reshape(-1, array.dtype.itemsize).T.tobytes()


def _rounded(values: FloatArray) -> npt.NDArray[np.float32]:
    """Round to about three and a half digits, which pack well."""
    bits = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32)
    return ((bits + np.uint32(0x800)) & np.uint32(0xFFFFF000)).view(np.float32)


def _packed(content: bytes) -> str:
    return base64.b64encode(gzip.compress(content, 9, mtime=0)).decode("ascii")
