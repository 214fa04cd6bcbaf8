"""Vectors of several views of a graph side by side, for indexes that are to see more than plain GRNF does."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, check_memory

from grnf._utils.files import write_json
from grnf.collection import encode, fit_encode
from grnf.estimators import GRNF
from grnf.estimators.views import View, as_menu
from grnf.io import AttributeEncoder
from grnf.io.files.node_link import graph_of_line, write_json_lines
from grnf.io.objects import listed_graphs, to_raw
from grnf.lifts import Lift
from grnf.typing import FloatArray

__all__ = ["FORMAT", "GraphViews"]

FORMAT, VERSION = "grnf-views", 1
LARGEST_FILE = 32_000_000


class GraphViews(BaseEstimator):  # type: ignore[misc]
    """Views of graphs as `GRNFClassifier` has them: squared distances are means of those in each view.

    Parameters
    ----------
    n_components : int, default=512
        Features of each view.
    lifts : "recipe", None, lift, list or dict of lists, default="recipe"
        As in `GRNFClassifier`.
    random_state : int, default=0

    Attributes
    ----------
    views_ : dict
        Fitted views by their names.

    Examples
    --------
    >>> from grnf.datasets import make_sbm
    >>> from grnf.search import GraphIndex
    >>> graphs, _ = make_sbm(20, random_state=0)
    >>> index = GraphIndex(GraphViews(16)).add(graphs)
    >>> index.search(graphs[3:4], k=1).ids
    [['3']]
    """

    def __init__(self, n_components: int = 512, *, lifts: Any = "recipe", random_state: int = 0) -> None:
        self.n_components = n_components
        self.lifts = lifts
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Learn attributes, and what the lifts learn, from graphs."""
        objects = listed_graphs(X)
        self.encoder_, samples = fit_encode(objects, self._blank_encoder())
        self.example_ = to_raw(objects[0])
        self.views_ = self._made(samples.batch)
        return self

    def _blank_encoder(self) -> AttributeEncoder:
        return AttributeEncoder(unseen="open", missing="error")

    def _made(self, batch: Any) -> dict[str, View]:
        grnf = GRNF(self.n_components, random_state=self.random_state)
        return {name: View(chain, grnf, batch) for name, chain in as_menu(self.lifts).items()}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write what `load` makes the same views of: a small JSON file.

        Menus are saved by their names, so lifts that were given one by one cannot be.
        """
        check_is_fitted(self)
        if self.lifts not in ("recipe", "auto"):
            raise ValueError("only the views lifts='recipe' and lifts='auto' can be saved")
        line = io.BytesIO()
        write_json_lines(line, [self.example_])
        write_json(
            path,
            {
                "format": FORMAT,
                "version": VERSION,
                "params": self.get_params(),
                "encoder": self.encoder_.to_config(),
                "example": json.loads(line.getvalue()),
                "learnt": {
                    name: [
                        {key: value.tolist() for key, value in _learnt(lift).items()} for lift in view.lifts
                    ]
                    for name, view in self.views_.items()
                },
            },
        )

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read what `save` wrote."""
        path = Path(path)
        if path.stat().st_size > LARGEST_FILE:
            raise ValueError(f"{path} is too large for saved views")
        try:
            state = json.loads(path.read_text(encoding="utf-8"))
            if state["format"] != FORMAT or state["version"] != VERSION:
                raise ValueError(f"format {state['format']!r}, version {state['version']!r} is not known")
            views = cls(**state["params"])
            views.encoder_ = AttributeEncoder.from_config(state["encoder"])
            views.example_ = graph_of_line(json.dumps(state["example"]).encode())
            batch = encode([views.example_], views.encoder_).batch
            views.views_ = views._made(batch)  # of widths alone; what was learnt from all graphs follows
            for name, view in views.views_.items():
                for lift, values in zip(view.lifts, state["learnt"][name], strict=True):
                    for key, before in _learnt(lift).items():
                        found = np.array(values[key], dtype=before.dtype)
                        if found.shape != before.shape:
                            raise ValueError(f"{key} of {name!r} has shape {found.shape}")
                        setattr(lift, key, found)
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            raise ValueError(f"{path} is damaged, or no saved views: {error}") from None
        return views

    def transform(self, X: Any) -> FloatArray:
        """Return the vectors of all views side by side, each divided by the root of their number."""
        check_is_fitted(self)
        batch = encode(X, self.encoder_).batch
        kept = check_memory(None)
        Z = np.hstack([view.embed(batch, kept) for view in self.views_.values()])
        return np.asarray(Z / np.sqrt(len(self.views_)), dtype=np.float32)


def _learnt(lift: Lift) -> dict[str, np.ndarray[Any, Any]]:
    """Return the arrays that a lift has learnt from graphs."""
    return {
        name: value
        for name, value in vars(lift).items()
        if name.endswith("_") and not name.startswith("_") and isinstance(value, np.ndarray)
    }
