"""GRNF vectors of benchmark sets in the paper's setting, kept in the cache of the study."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from grnf import GRNF
from grnf.datasets import Fold, TUDataset, load_folds, load_tu
from grnf.experiments.authors import ORDERS, WithoutEdgeTerms, first_version_features
from grnf.experiments.study import Study
from grnf.features import FeatureMap
from grnf.graphs import GraphBatch
from grnf.typing import FloatArray, IntArray

__all__ = ["Benchmark", "load_benchmark", "paper_graphs"]


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
        return np.stack([self._embedded(n_components, seed, edge_terms) for seed in seeds])

    def first_version(self, n_components: int, seeds: Sequence[int], hidden_channels: int) -> FloatArray:
        """Return features as the authors' code v0.1.0 has them, in the same shape."""
        what = {"experiment": "vectors", "set": self.name, "n_components": n_components, "law": "v0.1.0"}

        def embedded(seed: int) -> FloatArray:
            def embed() -> FloatArray:
                self.study.tell(f"{self.name}: embedding")
                return first_version_features(paper_graphs(self._set()), n_components, seed, hidden_channels)

            return self.study.cached_array({**what, "seed": seed, "hidden_channels": hidden_channels}, embed)

        return np.stack([embedded(seed) for seed in seeds])

    def _embedded(self, n_components: int, seed: int, edge_terms: bool) -> FloatArray:
        what = {"experiment": "vectors", "set": self.name, "n_components": n_components, "seed": seed}
        if not edge_terms:
            what["law"] = "overlapping, without edge terms"
        return self.study.cached_array(what, lambda: self._embed(n_components, seed, edge_terms))

    def _embed(self, n_components: int, seed: int, edge_terms: bool) -> FloatArray:
        self.study.tell(f"{self.name}: embedding")
        graphs = paper_graphs(self._set())
        if edge_terms:
            return np.asarray(GRNF(n_components, random_state=seed, n_jobs=-1).fit_transform(graphs))
        law = WithoutEdgeTerms(ORDERS)
        return FeatureMap(law, law, n_components, seed, basis="overlapping", n_jobs=-1)(graphs)

    def _classes(self) -> Any:
        return np.unique(self._set().y, return_inverse=True)[1].tolist()

    def _set(self) -> TUDataset:
        if self._loaded is None:
            self.study.tell(f"{self.name}: reading")
            self._loaded = load_tu(self.name, data=self.study.data)
        return self._loaded


def load_benchmark(name: str, study: Study) -> Benchmark:
    """Load the folds of a set; its graphs are read when they are needed."""
    return Benchmark(name, study, load_folds(name, data=study.data))


def paper_graphs(found: TUDataset) -> GraphBatch:
    """Return the graphs as the paper's experiments have them: nodes without attributes get a constant 1."""
    graphs = found.graphs
    if graphs.node_width:
        return graphs
    return replace(graphs, node_attr=np.ones((int(graphs.node_ptr[-1]), 1)))
