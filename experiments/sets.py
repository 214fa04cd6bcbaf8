"""The graphs of the experiments: the paper's synthetic sets, TU datasets, and their cached vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from experiments.authors import ORDERS, WithoutEdgeTerms, first_version_features
from experiments.study import Study
from grnf import GRNF
from grnf.datasets import load_folds, load_tu, make_delaunay, make_sbm
from grnf.datasets.benchmarks import Fold, TUDataset
from grnf.engine import Schedule
from grnf.features import Embedder, FeatureMap
from grnf.graphs import GraphBatch
from grnf.io import read_tu
from grnf.typing import FloatArray, IntArray

__all__ = [
    "CLASSES",
    "ORDERS_TO_3",
    "Benchmark",
    "load_benchmark",
    "load_graphs",
    "paper_graphs",
    "synthetic_vectors",
]

CLASSES = {"SBM": ("one community", "two communities"), "Delaunay": ("seed points", "moved seed points")}
ORDERS_TO_3 = {1: 1 / 3, 2: 1 / 3, 3: 1 / 3}
_MAKERS: dict[str, Any] = {"SBM": make_sbm, "Delaunay": make_delaunay}


def synthetic_vectors(
    name: str, n_graphs: int, n_components: int, study: Study, **settings: Any
) -> tuple[FloatArray, IntArray]:
    """Draw a synthetic set and embed it; further settings are those of GRNF."""
    study.tell(f"{name}: embedding {n_graphs} graphs")
    graphs, y = _MAKERS[name](n_graphs, random_state=study.seed)
    grnf = GRNF(n_components, random_state=study.seed, **settings)
    return np.asarray(grnf.fit_transform(graphs)), y


def load_graphs(name: str, study: Study, n_graphs: int = 0) -> tuple[GraphBatch, IntArray]:
    """Return graphs and classes: so many of a synthetic set, or all of any TU dataset."""
    if name in _MAKERS:
        graphs, y = _MAKERS[name](n_graphs, random_state=study.seed)
        return GraphBatch.from_graphs(graphs), np.asarray(y)
    found = read_tu(study.path("tu", f"{name}.zip"))
    return found.graphs, np.asarray(found.y)


@dataclass
class Benchmark:
    """A set with its folds and vectors; the graphs are read only if some vectors are not in the cache."""

    name: str
    study: Study
    folds: list[Fold]
    _loaded: TUDataset | None = None

    @property
    def y(self) -> IntArray:
        """Classes 0 .. C - 1."""
        what = {"experiment": "classes", "set": self.name}
        return np.array(self.study.cached(what, self._classes), dtype=np.int64)

    def vectors(self, n_components: int, seeds: Sequence[int], *, edge_terms: bool = True) -> FloatArray:
        """Return one set of vectors for each seed, shape (n_seeds, n_graphs, n_components).

        Without edge terms: in the overlapping basis, and with `WithoutEdgeTerms` as law.
        """
        if edge_terms:
            return self._embedded({}, n_components, seeds, _plain)
        return self._embedded(
            {"law": "overlapping, without edge terms"}, n_components, seeds, _without_edge_terms
        )

    def first_version(self, n_components: int, seeds: Sequence[int], hidden_channels: int) -> FloatArray:
        """Return features as the authors' code v0.1.0 has them, in the same shape."""
        law = {"law": "v0.1.0", "hidden_channels": hidden_channels}
        embed = partial(first_version_features, hidden_channels=hidden_channels)
        return self._embedded(law, n_components, seeds, embed)

    def _embedded(
        self, law: dict[str, Any], n_components: int, seeds: Sequence[int], embed: Callable[..., FloatArray]
    ) -> FloatArray:
        """Return the vectors of each seed; `law` tells those of different maps apart in the cache."""

        def compute(seed: int) -> FloatArray:
            self.study.tell(f"{self.name}: embedding")
            return embed(paper_graphs(self._set()), n_components, seed)

        what = {"experiment": "vectors", "set": self.name, "n_components": n_components, **law}
        return np.stack(
            [self.study.cached_array({**what, "seed": seed}, partial(compute, seed)) for seed in seeds]
        )

    def _classes(self) -> Any:
        return np.unique(self._set().y, return_inverse=True)[1].tolist()

    def _set(self) -> TUDataset:
        if self._loaded is None:
            self.study.tell(f"{self.name}: reading")
            self._loaded = load_tu(self.name, data=self.study.data)
        return self._loaded


def _plain(graphs: GraphBatch, n_components: int, seed: int) -> FloatArray:
    return np.asarray(GRNF(n_components, random_state=seed, n_jobs=-1).fit_transform(graphs))


def _without_edge_terms(graphs: GraphBatch, n_components: int, seed: int) -> FloatArray:
    law = WithoutEdgeTerms(ORDERS)
    return Embedder(FeatureMap(law, law, n_components, seed, basis="overlapping"), Schedule(n_jobs=-1))(
        graphs
    )


def load_benchmark(name: str, study: Study) -> Benchmark:
    """Load the folds of a set; its graphs are read when they are needed."""
    return Benchmark(name, study, load_folds(name, data=study.data))


def paper_graphs(found: TUDataset) -> GraphBatch:
    """Return the graphs as the paper's experiments have them: nodes without attributes get a constant 1."""
    graphs = found.graphs
    if graphs.node_width:
        return graphs
    ones = np.ones((int(graphs.node_ptr[-1]), 1))
    return replace(graphs, node_attr=ones, node_keys=None)  # type: ignore[arg-type]
