"""An index of graphs: the k nearest and all within a radius, exactly, in a fraction of the time of a scan."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from grnf._utils.rules import Bool, Int, OneOf, Real, checked
from grnf.collection import Collection, vectors_of
from grnf.errors import GraphError
from grnf.io.raw import RawGraph
from grnf.metric import distance
from grnf.search.certified import certify
from grnf.search.hits import Hits
from grnf.search.segments import Found, Segments
from grnf.search.store import IndexState, load_index, save_index
from grnf.search.whitening import SHRINKAGE, SPACES, SpaceMap, space_map, unchanged
from grnf.typing import FloatArray, IntArray

__all__ = ["GraphIndex"]


class GraphIndex:
    """Vectors of graphs in an order that lets a search look at few of them, and miss none.

    Every answer is exact: the graphs whose vectors are nearest, with distances in double precision. Bounds
    from a few principal axes (`grnf.search.sketch`) rule almost all others out.

    Parameters
    ----------
    transformer : GRNF or another object with `transform`, optional
        Makes vectors of graphs. It is fitted on the first graphs that are added if it is not yet. Without
        one the index takes vectors only.
    space : "plain" or "whitened", default="plain"
        What near means. "plain": |z - z'|, the estimate of d_P. "whitened": all principal directions of the
        first collection count alike, which finds what is similar in detail and not in size or density alone;
        no guarantee about d_P comes with it.
    shrinkage : float, default=0.01
        For "whitened": directions whose variance is below this share of the largest count for less.
    keep_graphs : bool, default=False
        Keep the graphs beside their vectors, for `graph` and certified answers.
    n_jobs : int, optional
        Threads that share several queries; as in `GRNF`.

    Attributes
    ----------
    n_components_ : int
        Length of the vectors; 0 while the index is empty.

    Examples
    --------
    >>> from grnf import GRNF
    >>> from grnf.datasets import make_sbm
    >>> graphs, _ = make_sbm(50, random_state=0)
    >>> index = GraphIndex(GRNF(64, random_state=0)).add(graphs)
    >>> hits = index.search(graphs[:2], k=3)
    >>> [found[0] for found in hits.ids], hits.distances[0].shape
    (['0', '1'], (3,))
    """

    def __init__(
        self,
        transformer: Any = None,
        *,
        space: str = "plain",
        shrinkage: float = SHRINKAGE,
        keep_graphs: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        self.transformer = transformer
        self.space = checked(space, "space", OneOf(*SPACES), owner="GraphIndex")
        self.shrinkage = checked(shrinkage, "shrinkage", Real(), owner="GraphIndex")
        self.keep_graphs = checked(keep_graphs, "keep_graphs", Bool(), owner="GraphIndex")
        self.n_jobs = n_jobs
        self.n_components_ = 0
        self._space_map: SpaceMap = unchanged
        self._segments = Segments()
        self._path: Path | None = None
        self._checksum = ""

    # ---- what is in it

    def add(self, X: Any, ids: Sequence[str] | None = None) -> Self:
        """Add graphs, or vectors.

        Parameters
        ----------
        X : collection of graphs of any kind, or array of vectors, shape (n, M)
        ids : sequence of str, optional
            What they are called; by default as the graphs call themselves, or by their number.
        """
        given = vectors_of(X, self.transformer, ids=ids, keep_graphs=self.keep_graphs)
        if self.keep_graphs and given.graphs is None:
            raise GraphError("keep_graphs=True needs graphs, got vectors")
        self._check_width(given)
        names = replace(given, start=self._segments.next_number).ids
        taken = self._segments.find(names)
        if (taken >= 0).any():
            name = names[int(np.argmax(taken >= 0))]
            raise GraphError(
                f"the id {name!r} is in the index already", cure="Remove it first, or pass another id"
            )
        if not self.n_components_:
            self.transformer = self.transformer if given.transformer is None else given.transformer
            self._space_map = space_map(self.space, given.vectors, self.shrinkage)
            self.n_components_ = given.vectors.shape[1]
        rows = self._space_map(given.vectors)
        if self._segments.parts:
            rows = rows.astype(self._segments.parts[0].rows.dtype, copy=False)
        self._segments.add(rows, names, given.graphs if self.keep_graphs else None)
        return self

    def remove(self, ids: Sequence[str]) -> Self:
        """Remove graphs by their ids; all or none, if one is not there."""
        if isinstance(ids, str):
            raise GraphError(f"ids must be a list of str, got {ids!r}")
        self._segments.remove(list(ids))
        return self

    def compact(self) -> Self:
        """Make one segment of all, and forget what was removed."""
        self._segments.compact()
        return self

    def __len__(self) -> int:
        return len(self._segments)

    def __contains__(self, name: str) -> bool:
        return bool(self._segments.find([name])[0] >= 0)

    @property
    def ids(self) -> list[str]:
        """What the graphs are called, in the order in which they were added."""
        return self._segments.names()

    def graph(self, name: str) -> RawGraph:
        """Return a graph by its id, if graphs are kept."""
        return self._segments.graph(int(self._segments.places([name])[0]))

    def row(self, name: str) -> FloatArray:
        """Return the row of a graph by its id: its vector, after the map of the index."""
        return self._segments.row(int(self._segments.places([name])[0]))

    def __repr__(self) -> str:
        made = type(self.transformer).__name__ if self.transformer is not None else "vectors"
        return f"GraphIndex({len(self)} graphs, {self.n_components_} numbers each, {made}, {self.space})"

    # ---- search

    def search(
        self,
        X: Any,
        k: int = 10,
        *,
        ids: Sequence[str] | None = None,
        others: bool = False,
        interval: float | None = None,
        certified: bool = False,
        delta: float = 0.05,
        max_components: int = 2**16,
    ) -> Hits:
        """Return the k nearest graphs of each query, or all there are if they are fewer.

        Of graphs at equal distances those that were added first come first.

        Parameters
        ----------
        X : collection of graphs of any kind, or array of vectors
            Queries.
        k : int, default=10
        ids : sequence of str, optional
            What the queries are called.
        others : bool, default=False
            Leave out the graph that has the id of the query.
        interval : float, optional
            Add an interval to each distance that fails to hold d_P with this probability.
        certified : bool, default=False
            Return the k nearest under d_P itself, with probability 1 - `delta` for each query: more features
            are drawn for graphs that are still in doubt, up to `max_components`. What is in doubt then is
            called tied, and all that are tied for a place are returned. Wants a plain index that keeps its
            graphs, and graphs as queries.
        delta, max_components
            For `certified`.
        """
        k = checked(k, "k", Int(1))
        given = self._queries(X, ids, interval, certified)
        if certified:
            checked(delta, "delta", Real(1))
            checked(max_components, "max_components", Int(1))
            return self._certified(given, k, delta, max_components, others)
        wanted = min(k + others, len(self))
        found = self._segments.nearest(self._space_map(given.vectors), wanted, self.n_jobs)
        return self._hits(given, found, others, interval, k)

    def within(
        self,
        X: Any,
        radius: float,
        *,
        ids: Sequence[str] | None = None,
        others: bool = False,
        interval: float | None = None,
    ) -> Hits:
        """Return all graphs up to a distance of each query, nearest first.

        Parameters are those of `search`; a radius of 0 finds vectors that are equal.
        """
        if not 0 <= radius < np.inf:
            raise ValueError(f"radius must be a number >= 0; got {radius!r}")
        given = self._queries(X, ids, interval)
        found = self._segments.within(self._space_map(given.vectors), float(radius), self.n_jobs)
        return self._hits(given, found, others, interval, None)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the index as a folder (its format: `grnf.search.store`).

        To the folder that it was opened from, or saved to, go only the changes; another index that is there
        is not written over, nor are changes that another program has made since.
        """
        if not len(self):
            raise GraphError("the index is empty", cure="Add graphs before you save it")
        settings = {
            "space": self.space,
            "shrinkage": self.shrinkage,
            "n_components": self.n_components_,
            "keep_graphs": self.keep_graphs,
        }
        state = IndexState(settings, self._space_map, self._segments, self.transformer, self._checksum)
        saved = save_index(state, Path(path), self._path)
        self._segments, self._checksum, self._path = saved.segments, saved.checksum, Path(path).resolve()

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        transformer: Any = None,
        n_jobs: int | None = None,
        verify: bool = False,
    ) -> Self:
        """Open a saved index; rows and graphs stay on disk until they are looked at.

        Parameters
        ----------
        path : path
        transformer : optional
            In place of the saved one; wanted where it could not be saved (it is no GRNF).
        n_jobs : int, optional
        verify : bool, default=False
            Check the rows and graphs against their checksums too, which reads all of them.
        """
        found = load_index(Path(path), verify)
        settings = dict(found.settings)
        width = settings.pop("n_components")
        index = cls(found.transformer if transformer is None else transformer, n_jobs=n_jobs, **settings)
        index.n_components_, index._space_map, index._segments = width, found.space_map, found.segments
        index._path, index._checksum = Path(path).resolve(), found.checksum
        return index

    # ---- within

    def _queries(
        self, X: Any, ids: Sequence[str] | None, interval: float | None, keep_graphs: bool = False
    ) -> Collection:
        if not len(self):
            raise GraphError("the index is empty", cure="Add graphs first")
        if interval is not None:
            checked(interval, "interval", Real(1))
            self._precision()
        given = vectors_of(X, self.transformer, name="queries", ids=ids, keep_graphs=keep_graphs)
        self._check_width(given)
        return given

    def _hits(
        self, given: Collection, found: list[Found], others: bool, interval: float | None, most: int | None
    ) -> Hits:
        queries, ids, distances, bars = given.ids, [], [], []
        for row, (places, far) in enumerate(found):
            names = self._segments.names_at(places)
            keep = [i for i, name in enumerate(names) if not (others and name == queries[row])][:most]
            ids.append([names[i] for i in keep])
            distances.append(far[keep])
            if interval is not None:
                bars.append(self._intervals(given.vectors[row], places[keep], interval))
        return Hits(queries, ids, distances, bars if interval is not None else None)

    def _intervals(self, z: FloatArray, places: IntArray, delta: float) -> FloatArray:
        precision = self._precision()
        ends = [distance(z, self._segments.row(int(place)), **precision).interval(delta) for place in places]
        return np.array(ends).reshape(-1, 2)

    def _precision(self) -> dict[str, Any]:
        """Return what intervals must know of the features."""
        if self.space != "plain" or not hasattr(self.transformer, "_precision"):
            raise GraphError(
                f"intervals are about d_P, and this index ({self.space}) does not estimate it or does not "
                "know its GRNF",
                cure="Use space='plain' with the transformer that made the vectors",
            )
        return dict(self.transformer._precision())

    def _certified(self, given: Collection, k: int, delta: float, most: int, others: bool) -> Hits:
        if not self.keep_graphs or given.graphs is None:
            raise GraphError(
                "certified results need the graphs, since more features are drawn for them",
                cure="Build the index with keep_graphs=True, and pass graphs as queries",
            )
        if not np.isfinite(self._precision()["largest_term"]):
            raise GraphError("certified results need bounded terms: a bounded activation and weights")
        names = given.ids
        own = self._segments.find(names) if others else np.full(len(names), -1)
        found = [
            certify(self._segments, self.transformer, z, graph, k, delta, most, int(place))
            for z, graph, place in zip(given.vectors, given.graphs, own, strict=True)
        ]
        ids, distances, status, components = (list(column) for column in zip(*found, strict=True))
        return Hits(names, ids, distances, None, status, components)

    def _check_width(self, given: Collection) -> None:
        width = given.vectors.shape[1]
        if self.n_components_ and width != self.n_components_:
            raise GraphError(
                f"vectors have length {width}, and those of the index have length {self.n_components_}",
                where=given.title,
                cure="Make all vectors with the same transformer",
            )
