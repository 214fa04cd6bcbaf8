"""An index of graphs: exact nearest neighbors and radius searches in a fraction of the time of a scan."""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np

from grnf._utils.result_tables import html_table, write_table
from grnf._utils.rules import Bool, Int, OneOf, Real, checked, param, rules_of
from grnf._utils.running import progress
from grnf.collection import Collection, vectors_of
from grnf.errors import GraphError, invalid
from grnf.estimators import JointFeatures
from grnf.io.raw import RawGraph
from grnf.metric import distance
from grnf.metric.estimate import distance_errors
from grnf.search.certified import certify
from grnf.search.segments import IndexState, Neighbors, Segments, load_index, save_index
from grnf.search.self_join import SelfJoin
from grnf.search.whitening import SHRINKAGE, SPACES, SpaceMap, checked_radius, space_map, unchanged
from grnf.typing import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Hits:
    """Graphs near each query.

    Parameters
    ----------
    queries : list of str
        Names of the queries.
    ids : list of lists of str
        Names of the hits of each query, nearest first.
    rows : list of arrays of int
        Their numbers in the order in which they were added to the index, from 0.
    distances : list of arrays
    standard_errors : list of arrays, optional
        Those of the distances as estimates of d_P, if they are.
    intervals : list of arrays of shape (n, 2), optional
        Each contains d_P with the given confidence.
    status : list of lists of str, optional
        For certified results: "certain" for a graph that is among the nearest under d_P, "tied" for one that
        may be.
    components : list of int, optional
        For certified results: number of features that each query needed.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> molecules = ["CCO", "CCCO", "CCN"]
    >>> hits = GraphIndex().add(molecules, ids=molecules).search(["OCC"], n_neighbors=2, ids=["query"])
    >>> [(row["query"], row["rank"], row["id"]) for row in hits.records()]
    [('query', 1, 'CCO'), ('query', 2, 'CCCO')]
    >>> hits.write(Path(tempfile.mkdtemp()) / "hits.csv")
    """

    queries: list[str]
    ids: list[list[str]]
    rows: list[IntArray]
    distances: list[FloatArray]
    standard_errors: list[FloatArray] | None = None
    intervals: list[FloatArray] | None = None
    status: list[list[str]] | None = None
    components: list[int] | None = None

    def __len__(self) -> int:
        return len(self.queries)

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield each hit as a row of a table, with the values of `columns`.

        Yields
        ------
        dict
        """
        for row, query in enumerate(self.queries):
            for rank, name in enumerate(self.ids[row]):
                values: list[Any] = [query, rank + 1, name, float(self.distances[row][rank])]
                for known in (self.standard_errors, self.intervals, self.status):
                    values += [] if known is None else np.ravel(known[row][rank]).tolist()
                yield dict(zip(self.columns, values, strict=True))

    @property
    def columns(self) -> list[str]:
        """Names of the columns: query, rank, id, distance, and standard_error, low, high, status if known."""
        names = ["query", "rank", "id", "distance"]
        names += [] if self.standard_errors is None else ["standard_error"]
        names += [] if self.intervals is None else ["low", "high"]
        return names + ([] if self.status is None else ["status"])

    def _repr_html_(self) -> str:
        return html_table(self.columns, self.records(), f"Hits of {len(self):,} queries")

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the table as .csv, .json (a list of objects) or .parquet, all or nothing.

        Parameters
        ----------
        path : path
        """
        write_table(path, self.columns, self.records())


@dataclass(eq=False, repr=False)
class GraphIndex:
    """An index of graphs or vectors, for exact search of nearest neighbors.

    Every result is exact: the graphs whose vectors are nearest, with distances in double precision. Bounds
    from a few principal axes (`grnf.search.scan`) exclude almost all others.

    Parameters
    ----------
    transformer : JointFeatures, GRNF or another object with `transform`, optional
        Makes vectors of graphs. It is fitted on the first graphs that are added if it is not yet. By default
        ``JointFeatures(random_state=0)``, in which near graphs are alike. GRNF makes the distance an estimate
        of d_P.
    space : "plain" or "whitened", default="plain"
        The distance. "plain": |z - z'|, with GRNF the estimate of d_P. "whitened": all principal directions
        of the first collection have equal variance. No guarantee about d_P comes with it.
    shrinkage : float, default=0.01
        For "whitened": directions whose variance is below this share of the largest count for less.
    keep_graphs : bool, default=False
        Keep the graphs in addition to their vectors, for `graph` and certified results.
    n_jobs : int, optional
        Threads that share several queries; as in `GRNF`.

    Attributes
    ----------
    n_components_ : int
        Length of the vectors; 0 while the index is empty.
    sources_ : tuple of str
        Checksums of the inputs that `grnf index` added, so that a repeated command adds nothing twice.
    molecules_ : tuple of str
        Options with which `grnf index` read molecules: "standardize", "stereo". `grnf search` uses them too.

    Examples
    --------
    >>> from grnf import GRNF
    >>> from grnf.datasets import make_sbm
    >>> graphs, _ = make_sbm(50, random_state=0)
    >>> index = GraphIndex(GRNF(64, random_state=0)).add(graphs)  # distances that estimate d_P
    >>> hits = index.search(graphs[:2], n_neighbors=3)
    >>> [names[0] for names in hits.ids], hits.distances[0].shape
    (['0', '1'], (3,))
    >>> index.remove(["3", "7"]).compact().ids[:4]
    ['0', '1', '2', '4']
    >>> index.row("0").shape
    (64,)

    Saved to a folder, and with the graphs and their columns:

    >>> import tempfile
    >>> folder = tempfile.mkdtemp() + "/molecules.index"
    >>> names = ["ethanol", "propanol", "amine"]
    >>> GraphIndex(keep_graphs=True).add(["CCO", "CCCO", "CCN"], ids=names).save(folder)
    >>> index = GraphIndex.load(folder)
    >>> index.graph("ethanol").node_columns["symbol"], index.columns(["ethanol"])
    (array(['C', 'C', 'O'], dtype=object), [{'smiles': 'CCO'}])
    >>> index.within(["OCC"], 1e-4).ids
    [['ethanol']]
    """

    transformer: Any = None
    _: KW_ONLY
    space: str = param("plain", OneOf(*SPACES))
    shrinkage: float = param(SHRINKAGE, Real())
    keep_graphs: bool = param(False, Bool())
    n_jobs: int | None = None

    def __post_init__(self) -> None:
        for name, rules in rules_of(GraphIndex).items():
            setattr(self, name, checked(getattr(self, name), name, *rules, owner="GraphIndex"))
        self.n_components_ = 0
        self._space_map: SpaceMap = unchanged
        self._segments = Segments()
        self._path: Path | None = None
        self._checksum = ""
        self.sources_: tuple[str, ...] = ()
        self.molecules_: tuple[str, ...] = ()

    def add(self, X: Any, ids: Sequence[str] | None = None) -> Self:
        """Add graphs, or vectors.

        Parameters
        ----------
        X : collection of graphs of any kind, or array of vectors, shape (n, M)
            The SMILES and kept columns of graphs in a list are stored, see `columns`.
        ids : sequence of str, optional
            Names of the graphs; by default their own, or their row numbers.

        Returns
        -------
        self : GraphIndex
        """
        transformer = self.transformer
        if transformer is None and not self.n_components_:
            transformer = JointFeatures(random_state=0, n_jobs=self.n_jobs)
        options: dict[str, Any] = {"ids": ids, "keep_graphs": self.keep_graphs, "width": self.n_components_}
        collection = vectors_of(X, transformer, **options)
        if self.keep_graphs and collection.graphs is None:
            raise GraphError("keep_graphs=True needs graphs, got vectors")
        names = replace(collection, start=self._segments.next_number).ids
        known = self._segments.find(names) >= 0
        if known.any():
            raise GraphError(
                f"the id {names[int(np.argmax(known))]!r} is in the index already",
                cure="Remove it first, or pass another id",
            )
        if not self.n_components_:
            self.transformer = collection.transformer or self.transformer
            self._space_map = space_map(self.space, collection.vectors, self.shrinkage)
            self.n_components_ = collection.vectors.shape[1]
        rows = self._space_map(collection.vectors)
        if self._segments.parts:
            rows = rows.astype(self._segments.parts[0].rows.dtype, copy=False)
        graphs = collection.graphs if self.keep_graphs else None
        columns = list(map(_columns_of, X)) if isinstance(X, list) else ["{}"] * len(rows)
        self._segments.add(rows, names, graphs, columns)
        return self

    def remove(self, ids: Sequence[str]) -> Self:
        """Remove graphs by their ids; none of them if one id is absent.

        Parameters
        ----------
        ids : sequence of str

        Returns
        -------
        self : GraphIndex
        """
        if isinstance(ids, str):
            raise GraphError(f"ids must be a list of str, got {ids!r}")
        self._segments.remove(list(ids))
        self.sources_ = ()
        return self

    def compact(self) -> Self:
        """Merge all segments into one, without the removed graphs.

        Returns
        -------
        self : GraphIndex
        """
        self._segments.compact()
        return self

    def __len__(self) -> int:
        return len(self._segments)

    def __contains__(self, name: str) -> bool:
        return bool(self._segments.find([name])[0] >= 0)

    @property
    def ids(self) -> list[str]:
        """Names of the graphs, in the order in which they were added."""
        return self._segments.names()

    def graph(self, name: str) -> RawGraph:
        """Return a graph by its id, if graphs are kept.

        Parameters
        ----------
        name : str

        Returns
        -------
        RawGraph
        """
        return self._segments.graph(int(self._segments.positions([name])[0]))

    def columns(self, names: Sequence[str]) -> list[dict[str, Any]]:
        """Return the columns of graphs by their ids, such as SMILES, as far as the graphs had some.

        Parameters
        ----------
        names : sequence of str

        Returns
        -------
        list of dict
        """
        found = (self._segments.at(int(position)) for position in self._segments.positions(names))
        return [json.loads(segment.columns_at(np.array([place]))[0]) for segment, place in found]

    def row(self, name: str) -> FloatArray:
        """Return the row of a graph by its id: its vector, after the map of the space.

        Parameters
        ----------
        name : str

        Returns
        -------
        array, shape (n_components_,)
        """
        return self._segments.row(int(self._segments.positions([name])[0]))

    def __repr__(self) -> str:
        source = type(self.transformer).__name__ if self.transformer is not None else "vectors"
        return f"GraphIndex({len(self)} graphs, {self.n_components_} numbers each, {source}, {self.space})"

    def _repr_html_(self) -> str:
        made = "given vectors" if self.transformer is None else repr(self.transformer)
        values = {"graphs": len(self), "features": self.n_components_, "vectors": made, "space": self.space}
        return html_table(values, [values], "GraphIndex")

    def kneighbors(
        self, X: Any, n_neighbors: int = 5, return_distance: bool = True
    ) -> tuple[FloatArray, IntArray] | IntArray:
        """Return distances and rows of the nearest graphs, as `sklearn.neighbors.NearestNeighbors` does.

        Parameters
        ----------
        X : collection of graphs of any kind, or array of vectors
        n_neighbors : int, default=5
            At most the number of graphs in the index.
        return_distance : bool, default=True
            Return only rows if False.

        Returns
        -------
        distances : array, shape (n_queries, n_neighbors)
        rows : array of int, shape (n_queries, n_neighbors)
            Numbers of the graphs in the order in which they were added, from 0, removed graphs included.

        Examples
        --------
        >>> distances, rows = GraphIndex().add(np.eye(3)).kneighbors(np.eye(3)[1:], n_neighbors=1)
        >>> rows
        array([[1],
               [2]])
        """
        if checked(n_neighbors, "n_neighbors", Int(1)) > len(self) > 0:
            raise invalid("n_neighbors", f"be at most {len(self)} (graphs)", str(n_neighbors))
        hits = self.search(X, n_neighbors)
        rows = np.array(hits.rows)
        return (np.array(hits.distances), rows) if return_distance else rows

    def search(
        self,
        X: Any,
        n_neighbors: int = 10,
        *,
        ids: Sequence[str] | None = None,
        others: bool = False,
        confidence: float | None = None,
        certified: bool = False,
        max_components: int = 2**16,
        time_limit: float | None = None,
    ) -> Hits:
        """Return the nearest graphs of each query, or all if they are fewer than `n_neighbors`.

        Of graphs at equal distances those that were added first come first.

        Parameters
        ----------
        X : collection of graphs of any kind, or array of vectors
            Queries.
        n_neighbors : int, default=10
        ids : sequence of str, optional
            Names of the queries.
        others : bool, default=False
            Leave out the graph that has the id of the query.
        confidence : float, optional
            Add an interval to each distance that contains d_P with this probability. It is shorter if the
            index keeps its graphs and the queries are graphs, which bounds d_P from above.
        certified : bool, default=False
            Return the nearest graphs under d_P itself, with probability `confidence` (0.95 by default) for
            each query: more features are drawn for graphs that are still undecided, up to `max_components`.
            Graphs that are undecided then have the status "tied", and all of them are returned. This needs a
            plain index that keeps its graphs, and graphs as queries.
        max_components : int, default=65536
            For `certified`.
        time_limit : float, optional
            For `certified`: seconds after which no more features are drawn. Graphs that are undecided then
            are "tied".

        Returns
        -------
        Hits

        Examples
        --------
        >>> from grnf import GRNF
        >>> molecules = ["CCO", "CCCO", "CCN", "c1ccccc1"]
        >>> index = GraphIndex(GRNF(1024, random_state=0), keep_graphs=True).add(molecules, ids=molecules)
        >>> hits = index.search(["CCCCO"], n_neighbors=2, confidence=0.95)
        >>> hits.ids[0], hits.distances[0].round(2), hits.intervals[0].round(2).tolist()
        (['CCCO', 'CCO'], array([0.12, 0.26]), [[0.09, 0.17], [0.21, 0.32]])
        >>> index.search(["CCCCO"], n_neighbors=1, certified=True).status
        [['certain']]
        """
        n_neighbors = checked(n_neighbors, "n_neighbors", Int(1))
        queries = self._queries(
            X, ids, confidence, certified or (confidence is not None and self.keep_graphs)
        )
        if certified:
            most = checked(max_components, "max_components", Int(1))
            checked(time_limit, "time_limit", Real(), OneOf(None))
            deadline = math.inf if time_limit is None else time.monotonic() + time_limit
            return self._certified(queries, n_neighbors, confidence or 0.95, most, others, deadline)
        count = min(n_neighbors + others, len(self))
        neighbors = self._segments.nearest(self._space_map(queries.vectors), count, self.n_jobs)
        return self._hits(queries, neighbors, others, confidence, n_neighbors)

    def within(
        self,
        X: Any,
        radius: float,
        *,
        ids: Sequence[str] | None = None,
        others: bool = False,
        confidence: float | None = None,
    ) -> Hits:
        """Return all graphs up to a distance of each query, nearest first.

        Parameters
        ----------
        X : collection of graphs of any kind, or array of vectors
            Queries.
        radius : float
            0 finds equal vectors. Those of isomorphic graphs may differ by rounding.
        ids : sequence of str, optional
        others : bool, default=False
        confidence : float, optional
            As in `search`.

        Returns
        -------
        Hits
        """
        radius = checked_radius(radius)
        queries = self._queries(X, ids, confidence, confidence is not None and self.keep_graphs)
        neighbors = self._segments.within(self._space_map(queries.vectors), radius, self.n_jobs)
        return self._hits(queries, neighbors, others, confidence, None)

    def self_join(self) -> tuple[list[str], SelfJoin]:
        """Return the names of all graphs, and what compares all of them with each other.

        Returns
        -------
        names : list of str
        join : SelfJoin
            With the methods `pairs` and `nearest`.

        Examples
        --------
        >>> names, join = GraphIndex().add(np.array([[0.0], [1.0], [3.0]])).self_join()
        >>> first, second, distances = join.pairs(1.5)  # all pairs up to a distance
        >>> [(names[i], names[j]) for i, j in zip(first, second)]
        [('0', '1')]
        >>> distances, rows = join.nearest(1)  # the nearest other graph of each
        """
        alive = [(part, np.flatnonzero(part.alive)) for part in self._segments.parts]
        order = np.argsort(np.concatenate([part.numbers[own] for part, own in alive]))
        rows = np.concatenate([part.rows[own] for part, own in alive])
        return self.ids, SelfJoin(rows[order], self.n_jobs)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the index as a folder (its format: `grnf.search.segments`).

        The folder that it was loaded from, or saved to, gets only the changes. Another index in that folder
        is not overwritten, nor are changes that another program made meanwhile.

        Parameters
        ----------
        path : path
            Name of the folder.
        """
        if not len(self):
            raise GraphError("the index is empty", cure="Add graphs before you save it")
        settings = {name: getattr(self, name) for name in ("space", "shrinkage", "keep_graphs")}
        settings["n_components"] = self.n_components_
        content = self._space_map, self._segments, self.transformer
        state = IndexState(settings, *content, self._checksum, self.sources_, self.molecules_)
        saved = save_index(state, Path(path), self._path)
        self._segments, self._checksum, self._path = saved.segments, saved.checksum, Path(path).resolve()

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        transformer: Any = None,
        n_jobs: int | None = None,
        verify: bool = False,
    ) -> Self:
        """Load a saved index; rows and graphs stay on disk until they are used.

        Parameters
        ----------
        path : path
        transformer : optional
            Instead of the saved one; needed if that could not be saved (it is not a GRNF).
        n_jobs : int, optional
        verify : bool, default=False
            Check the rows and graphs against their checksums too, which reads all of them.

        Returns
        -------
        GraphIndex
        """
        state = load_index(Path(path), verify)
        settings = dict(state.settings)
        width = settings.pop("n_components")
        index = cls(state.transformer if transformer is None else transformer, n_jobs=n_jobs, **settings)
        index.n_components_, index._space_map, index._segments = width, state.space_map, state.segments
        index._path, index._checksum = Path(path).resolve(), state.checksum
        index.sources_, index.molecules_ = state.sources, state.molecules
        return index

    def _queries(
        self, X: Any, ids: Sequence[str] | None, confidence: float | None, keep_graphs: bool = False
    ) -> Collection:
        if not len(self):
            raise GraphError("the index is empty", cure="Add graphs first")
        if confidence is not None:
            checked(confidence, "confidence", Real(1))
            self._precision()
        options: dict[str, Any] = {"ids": ids, "keep_graphs": keep_graphs, "width": self.n_components_}
        return vectors_of(X, self.transformer, name="queries", **options)

    def _hits(
        self, queries: Collection, neighbors: list[Neighbors], others: bool, level: float | None, most: Any
    ) -> Hits:
        estimates = self.space == "plain" and hasattr(self.transformer, "_precision")
        precision = self._precision() if estimates else {}
        known: Any = [] if estimates else None, None if level is None else []
        hits = Hits(queries.ids, [], [], [], *known)
        for at, (z, (positions, far)) in enumerate(zip(queries.vectors, neighbors, strict=True)):
            names, numbers = self._segments.names_and_numbers(positions)
            if others:
                keep = [i for i, name in enumerate(names) if name != queries.ids[at]][:most]
                names, numbers = [names[i] for i in keep], numbers[keep]
                positions, far = positions[keep], far[keep]
            hits.ids.append(names)
            hits.rows.append(numbers)
            hits.distances.append(far)
            if hits.standard_errors is None:
                continue
            vectors = np.array([self._segments.row(p) for p in positions]).reshape(-1, len(z))
            settings = precision.get("heads", 1), precision.get("exact", False)
            hits.standard_errors.append(distance_errors(vectors, z, *settings))
            if level is not None and hits.intervals is not None:
                bounds = self._upper_bounds(queries, at, positions)
                found = map(partial(distance, z, **precision), vectors)
                ends = [
                    replace(d, upper=partial(float, bound)).interval(level)
                    for d, bound in zip(found, bounds, strict=True)
                ]
                hits.intervals.append(np.array(ends).reshape(-1, 2))
        return hits

    def _upper_bounds(self, queries: Collection, at: int, positions: IntArray) -> FloatArray:
        """Return what d_P^2 of a query and each hit is at most, infinite without graphs."""
        known = self.keep_graphs and queries.graphs is not None and hasattr(self.transformer, "_upper_bounds")
        if not (known and len(positions)):
            return np.full(len(positions), np.inf)
        graphs = [self._segments.graph(int(position)) for position in positions]
        return np.asarray(self.transformer._upper_bounds([queries.graphs[at]], graphs)[0])

    def _precision(self) -> dict[str, Any]:
        """Return the properties of the features that intervals need."""
        if self.space != "plain" or not hasattr(self.transformer, "_precision"):
            raise GraphError(
                f"intervals are about d_P, and this index ({self.space}) does not estimate it or does not "
                "have its GRNF",
                cure="Make the index with GraphIndex(GRNF()) or grnf index --space d_P",
            )
        return dict(self.transformer._precision())

    def _certified(
        self,
        queries: Collection,
        n_neighbors: int,
        confidence: float,
        most: int,
        others: bool,
        deadline: float,
    ) -> Hits:
        if not self.keep_graphs or queries.graphs is None:
            raise GraphError(
                "certified results need the graphs, since more features are drawn for them",
                cure="Build the index with keep_graphs=True, and pass graphs as queries",
            )
        if not np.isfinite(self._precision()["largest_term"]):
            raise GraphError("certified results need bounded terms: a bounded activation and weights")
        own = self._segments.find(queries.ids) if others else np.full(len(queries), -1)
        results = []
        with progress(len(queries), "certified search") as advance:
            for z, graph, left in zip(queries.vectors, queries.graphs, own, strict=True):
                query, limits = (self._segments, self.transformer, z, graph), (most, int(left), deadline)
                results.append(certify(*query, n_neighbors, 1 - confidence, *limits))
                advance(1)
        positions, distances, errors, status, components = map(list, zip(*results, strict=True))
        named = [self._segments.names_and_numbers(some) for some in positions]
        ids, rows = [names for names, _ in named], [numbers for _, numbers in named]
        return Hits(queries.ids, ids, rows, distances, errors, None, status, components)


def _columns_of(graph: Any) -> str:
    """Return the columns of a graph as texts, such as its SMILES, in a JSON object."""
    columns = {"smiles": graph} if isinstance(graph, str) else getattr(graph, "graph_columns", {})
    return json.dumps({name: None if value is None else str(value) for name, value in columns.items()})
