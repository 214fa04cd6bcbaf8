"""A map of a collection: an interactive page in one HTML file, and plain arrays to place new graphs on."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from html import escape
from importlib.resources import files
from typing import Any

import numpy as np
import numpy.typing as npt

from grnf._utils.arrays import offsets
from grnf._utils.files import atomic_write
from grnf.estimators import GRNF
from grnf.maps.drawings import Drawings
from grnf.maps.neighbors import Marks, Nearest
from grnf.maps.point_columns import Column
from grnf.typing import FloatArray

__all__ = ["GraphMap"]

FORMAT = "grnf map"
VERSION = 2
HEIGHT = 640
"""Of the page in a notebook, in pixels."""

BLOCK = 512
"""Graphs that are unpacked together, when the pointer comes to one of them."""

MISSING = 65_535


@dataclass(frozen=True, eq=False)
class GraphMap:
    """A map of a collection of graphs, made by `map_graphs`.

    A notebook displays it; `write` writes it as one HTML file.

    Attributes
    ----------
    title : str
    ids : list of str
    positions : array, shape (n, 2)
        Coordinates of the graphs, between -1 and 1.
    kept : array, shape (n,)
        Neighborhood preservation: the share of each graph's nearest graphs that are among the nearest on the
        map.
    columns : list of Column
        Values that points can be colored by.
    drawings : Drawings
    nearest : Nearest
    vectors : array, shape (n, M)
    transformer : GRNF
    space : str
    about : list of str
        Sentences about the map, for the page.
    color : str
        The column that is shown first.
    confidence : float
        Of the intervals of distances.
    marks : Marks, optional
        Nodes that make neighbors differ.
    why_no_marks : str
    """

    title: str
    ids: list[str]
    positions: FloatArray
    kept: FloatArray
    columns: list[Column]
    drawings: Drawings
    nearest: Nearest
    vectors: FloatArray
    transformer: Any
    space: str
    about: list[str] = field(default_factory=list)
    color: str = ""
    confidence: float = 0.95
    marks: Marks | None = None
    why_no_marks: str = ""

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        return f"GraphMap({self.title!r}, {len(self)} graphs)"

    def html(self) -> str:
        """Return the page."""
        return _page(self)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the page, all or nothing."""
        with atomic_write(path) as file:
            file.write(self.html())

    def _repr_html_(self) -> str:
        """Return the page in a frame that may run its script and nothing else."""
        return (
            f'<iframe srcdoc="{escape(self.html())}" sandbox="allow-scripts allow-downloads" '
            f'style="width: 100%; height: {HEIGHT}px; border: 1px solid #8884" title="{escape(self.title)}">'
            "</iframe>"
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the map as arrays (.npz), for new graphs to be placed on it: `map_graphs(new, onto=path)`."""
        if not hasattr(self.transformer, "to_json"):
            raise ValueError("only a map made by GRNF can be saved for new graphs")
        head = {
            "format": FORMAT,
            "version": VERSION,
            "title": self.title,
            "ids": self.ids,
            "kinds": self.drawings.kinds,
            "columns": [[c.name, c.kind, c.values, c.meaning] for c in self.columns],
            "space": self.space,
            "transformer": self.transformer.to_json(),
        }
        arrays = {f.name: getattr(self.drawings, f.name) for f in fields(Drawings) if f.name != "kinds"}
        with atomic_write(path, "wb") as file:
            np.savez_compressed(
                file,
                head=np.frombuffer(json.dumps(head).encode(), np.uint8),
                positions=self.positions,
                vectors=self.vectors,
                **arrays,
            )

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> GraphMap:
        """Load a saved map; neighbors are computed when graphs are added."""
        try:
            with np.load(path, allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
            head = json.loads(arrays.pop("head").tobytes())
        except FileNotFoundError:
            raise
        except (KeyError, ValueError, OSError) as error:
            raise ValueError(
                f"{path}: not a saved map: {error}. Save one with GraphMap.save or grnf map --save-layout"
            ) from None
        if head.get("format") != FORMAT or head.get("version") != VERSION:
            raise ValueError(f"{path}: not a saved map of version {VERSION}. Make it again")
        n = len(head["ids"])
        empty = np.zeros((n, 0))
        return cls(
            title=head["title"],
            ids=head["ids"],
            positions=arrays.pop("positions"),
            kept=np.ones(n),
            columns=[Column(*column) for column in head["columns"]],
            nearest=Nearest(empty.astype(np.uint32), empty, empty, empty, ""),
            vectors=arrays.pop("vectors"),
            drawings=Drawings(**arrays, kinds=head["kinds"]),
            transformer=GRNF.from_json(head["transformer"]),
            space=head["space"],
        )


def _page(graph_map: GraphMap) -> str:
    """Return the page of a map."""
    here = files("grnf.maps")
    style, script, frame = (
        here.joinpath(name).read_text(encoding="utf-8") for name in ("page.css", "map.js", "page.html")
    )
    parts, columns = dict(_parts(graph_map)), [c for c in graph_map.columns if c.kind != "text"]
    described = [_column(column) for column in columns]
    parts |= {f"c{at}": packed for at, (_, packed) in enumerate(described)}
    meta = _meta(graph_map, [about for about, _ in described])
    filled = {
        "policy": _policy(style, script),
        "title": escape(graph_map.title),
        "style": style,
        "meta": json.dumps(meta).replace("<", "\\u003c"),
        "parts": "\n".join(
            f'<script type="text/plain" id="part-{name}">{text}</script>' for name, text in parts.items()
        ),
        "script": script,
    }
    pieces = frame.split("@")  # text between two @ is a name; the frame has no other @
    return "".join(filled[piece] if at % 2 else piece for at, piece in enumerate(pieces))


def _policy(style: str, script: str) -> str:
    """Return a content security policy: this script and style by their hashes, and no request at all."""
    hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (style, script)]
    return (
        "default-src 'none'; base-uri 'none'; form-action 'none'; "
        f"style-src 'sha256-{hashes[0]}'; script-src 'sha256-{hashes[1]}'"
    )


def _meta(graph_map: GraphMap, columns: list[dict[str, Any]]) -> dict[str, Any]:
    names = [column["name"] for column in columns]
    return {
        "n": len(graph_map.ids),
        "block": BLOCK,
        "kinds": graph_map.drawings.kinds,
        "columns": columns,
        "first": names.index(graph_map.color) if graph_map.color in names else 0,
        "texts": [column.name for column in graph_map.columns if column.kind == "text"],
        "k": graph_map.nearest.rows.shape[1],
        "percent": f"{100 * graph_map.confidence:g}",
        "interval": graph_map.nearest.words,
        "marks": graph_map.marks is not None,
        "marksMeaning": "Marked: nodes without which both graphs would be nearer to each other.",
        "noMarks": graph_map.why_no_marks,
        "about": graph_map.about,
    }


def _parts(graph_map: GraphMap) -> Iterator[tuple[str, str]]:
    """Yield names and packed contents of all parts but the columns."""
    n = len(graph_map.ids)
    yield "ids", _packed(json.dumps(graph_map.ids).encode())
    whole = np.round((np.clip(graph_map.positions, -1, 1) + 1) * 32_767.5).astype(np.uint16)
    yield "points", _packed(_planes(whole[:, 0]) + _planes(whole[:, 1]))
    texts = [column.values for column in graph_map.columns if column.kind == "text"]
    near = graph_map.nearest
    k = near.rows.shape[1]
    marks = graph_map.marks
    starts = None if marks is None else offsets(marks.lengths.sum(axis=1))
    for number, start in enumerate(range(0, n, BLOCK)):
        stop = min(start + BLOCK, n)
        yield f"g{number}", _packed(b"".join(map(_planes, graph_map.drawings.block(start, stop))))
        if k:
            some = slice(start, stop)
            floats = [_rounded(values[some].ravel()) for values in (near.distances, near.low, near.high)]
            yield f"n{number}", _packed(b"".join(map(_planes, [near.rows[some].ravel(), *floats])))
        if k and marks is not None and starts is not None:
            lengths = marks.lengths[start:stop].ravel()
            levels = marks.levels[starts[start] : starts[stop]]
            yield f"m{number}", _packed(_planes(lengths) + _planes(levels))
        if texts:
            rows = [
                ["" if values[i] is None else str(values[i]) for values in texts] for i in range(start, stop)
            ]
            yield f"t{number}", _packed(json.dumps(rows, ensure_ascii=False).encode())


def _column(column: Column) -> tuple[dict[str, Any], str]:
    """Return the description of a column, and its packed values."""
    about: dict[str, Any] = {"name": column.name, "kind": column.kind, "meaning": column.meaning}
    if column.kind == "category":
        codes, names, counts = column.codes()
        return {**about, "categories": names, "counts": counts}, _packed(_planes(codes))
    values = column.numbers()
    present = values[np.isfinite(values)]
    least, most = (float(present.min()), float(present.max())) if len(present) else (0.0, 1.0)
    low, high = _ends(present, least, most)
    about |= {"low": low, "high": high, "below": low > least, "above": high < most, "base": least}
    if bool((present == np.round(present)).all()) and most - least < MISSING:
        whole = np.where(np.isfinite(values), np.nan_to_num(values) - least, MISSING).astype(np.uint16)
        return {**about, "whole": True}, _packed(_planes(whole))
    return {**about, "whole": False}, _packed(_planes(values.astype(np.float32)))


def _ends(present: FloatArray, least: float, most: float) -> tuple[float, float]:
    """Return the ends of the scale of colors: those of all values, or of nearly all if few lie far out."""
    if len(present) < 20:
        return least, most
    low, high = (float(end) for end in np.percentile(present, [1, 99]))
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
