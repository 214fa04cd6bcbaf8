"""GRNF vectors of benchmark sets in the paper's setting, kept in the cache of the study."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from grnf import GRNF
from grnf.datasets import Fold, TUDataset, load_folds, load_tu
from grnf.engine import Schedule
from grnf.experiments.authors import ORDERS, WithoutEdgeTerms, first_version_features
from grnf.experiments.study import Study
from grnf.features import Embedder, FeatureMap
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
