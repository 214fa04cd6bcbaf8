"""An atlas: a map of a collection, as a page for people and as plain arrays to place new graphs on."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, fields, replace
from html import escape
from typing import Any

import numpy as np

from grnf._utils.files import atomic_write
from grnf.atlas.columns import Column
from grnf.atlas.drawings import Drawings
from grnf.atlas.neighbours import Marks, Nearest
from grnf.atlas.page import page
from grnf.typing import FloatArray

__all__ = ["Atlas"]

FORMAT = "grnf map"
VERSION = 1
HEIGHT = 640


@dataclass(frozen=True, eq=False)
class Atlas:
    """A map of a collection of graphs, made by `grnf.map`.

    In a notebook it shows itself; `write` makes a page of it that needs nothing else.

    Attributes
    ----------
    title : str
    ids : list of str
    places : array, shape (n, 2)
        Where the graphs are, between -1 and 1.
    kept : array, shape (n,)
        The share of each graph's nearest graphs that are among the nearest on the map: how honest the map is
        there.
    columns : list of Column
        What points can be coloured by.
    drawings : Drawings
    nearest : Nearest
    marks : Marks, optional
        Nodes that make neighbours differ.
    why_no_marks : str
    about : list of str
        What the page says of itself.
    colour : str
        The column that is shown first.
    delta : float
    vectors : array, shape (n, M)
    transformer : GRNF
    space : str
    """

    title: str
    ids: list[str]
    places: FloatArray
    kept: FloatArray
    columns: list[Column]
    drawings: Drawings
    nearest: Nearest
    marks: Marks | None
    why_no_marks: str
    about: list[str]
    colour: str
    delta: float
    vectors: FloatArray
    transformer: Any
    space: str

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        return f"Atlas({self.title!r}, {len(self)} graphs)"

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
        """Write the map as arrays (.npz), for new graphs to be placed on it: `grnf.map(new, onto=path)`."""
        head: dict[str, Any] = {
            "format": FORMAT,
            "version": VERSION,
            "title": self.title,
            "ids": self.ids,
            "kinds": self.drawings.kinds,
            "columns": [[c.name, c.kind, c.values, c.meaning] for c in self.columns],
            "space": self.space,
            "transformer": _state(self.transformer),
        }
        arrays = {f.name: getattr(self.drawings, f.name) for f in fields(Drawings) if f.name != "kinds"}
        with atomic_write(path, "wb") as file:
            np.savez_compressed(
                file,
                head=np.frombuffer(json.dumps(head).encode(), np.uint8),
                places=self.places,
                vectors=self.vectors,
                **arrays,
            )

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Atlas:
        """Open what `save` wrote: places, vectors, drawings; neighbours are found when graphs are added."""
        try:
            with np.load(path, allow_pickle=False) as found:
                arrays = {name: found[name] for name in found.files}
            head = json.loads(arrays.pop("head").tobytes())
        except (KeyError, ValueError, OSError) as error:
            if isinstance(error, FileNotFoundError):
                raise
            raise ValueError(
                f"{path} is no map that was saved for placing graphs on it (.npz, by `save` or "
                f"grnf map --save-layout): {error}"
            ) from None
        if head.get("format") != FORMAT or head.get("version") != VERSION:
            raise ValueError(f"{path} is no map of version {VERSION}; make it again")
        n = len(head["ids"])
        nothing = np.zeros((n, 0))
        places, vectors = arrays.pop("places"), arrays.pop("vectors")
        return cls(
            head["title"],
            head["ids"],
            places,
            np.ones(n),
            [Column(*column) for column in head["columns"]],
            Drawings(**arrays, kinds=head["kinds"]),
            Nearest(nothing.astype(np.uint32), nothing, nothing, nothing, ""),
            None,
            "",
            [],
            "",
            0.05,
            vectors,
            _restored(head["transformer"]),
            head["space"],
        )

    def titled(self, title: str) -> Atlas:
        """Return the same map under another title."""
        return replace(self, title=title)


def _state(transformer: Any) -> Any:
    """Return the state of a transformer in plain values."""
    if not hasattr(transformer, "to_json"):
        raise ValueError("only a map made by GRNF can be saved for new graphs")
    return json.loads(transformer.to_json())


def _restored(state: Any) -> Any:
    from grnf.estimators import GRNF

    return GRNF.from_json(json.dumps(state))
