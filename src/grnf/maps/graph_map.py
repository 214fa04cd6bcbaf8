"""A map of a collection: as an interactive page, and as plain arrays to place new graphs on."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field, fields
from html import escape
from typing import Any

import numpy as np

from grnf._utils.files import atomic_write
from grnf.maps.columns import Column
from grnf.maps.drawings import Drawings
from grnf.maps.neighbors import Marks, Nearest
from grnf.maps.page import page
from grnf.typing import FloatArray

__all__ = ["GraphMap"]

FORMAT = "grnf map"
VERSION = 2
HEIGHT = 640


@dataclass(frozen=True, eq=False)
class GraphMap:
    """A map of a collection of graphs, made by `grnf.map_graphs`.

    In a notebook it shows itself; `write` makes a page of it that needs nothing else.

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
        What points can be colored by.
    drawings : Drawings
    nearest : Nearest
    vectors : array, shape (n, M)
    transformer : GRNF
    space : str
    about : list of str
        What the page states about itself.
    color : str
        The column that is shown first.
    delta : float
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
    delta: float = 0.05
    marks: Marks | None = None
    why_no_marks: str = ""

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        return f"GraphMap({self.title!r}, {len(self)} graphs)"

    def html(self) -> str:
        """Return the page."""
        return page(self)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the page, all or nothing."""
        with atomic_write(path) as file:
            file.write(self.html())

    def _repr_html_(self) -> str:
        """Show the page in a notebook, in a frame of its own that may run its script and nothing else."""
        return (
            f'<iframe srcdoc="{escape(self.html())}" sandbox="allow-scripts allow-downloads" '
            f'style="width: 100%; height: {HEIGHT}px; border: 1px solid #8884" title="{escape(self.title)}">'
            "</iframe>"
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the map as arrays (.npz); `grnf.map_graphs(new, onto=path)` places new graphs on it."""
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
    def open(cls, path: str | os.PathLike[str]) -> GraphMap:
        """Open a map that `save` wrote; neighbors are found when graphs are added."""
        try:
            with np.load(path, allow_pickle=False) as found:
                arrays = {name: found[name] for name in found.files}
            head = json.loads(arrays.pop("head").tobytes())
        except (KeyError, ValueError, OSError) as error:
            if isinstance(error, FileNotFoundError):
                raise
            raise ValueError(
                f"{path}: not a saved map: {error}. Save one with GraphMap.save or grnf map --save-layout"
            ) from None
        if head.get("format") != FORMAT or head.get("version") != VERSION:
            raise ValueError(f"{path}: not a saved map of version {VERSION}. Make it again")
        from grnf.estimators import GRNF

        n = len(head["ids"])
        nothing = np.zeros((n, 0))
        return cls(
            title=head["title"],
            ids=head["ids"],
            positions=arrays.pop("positions"),
            kept=np.ones(n),
            columns=[Column(*column) for column in head["columns"]],
            nearest=Nearest(nothing.astype(np.uint32), nothing, nothing, nothing, ""),
            vectors=arrays.pop("vectors"),
            drawings=Drawings(**arrays, kinds=head["kinds"]),
            transformer=GRNF.from_json(head["transformer"]),
            space=head["space"],
        )
