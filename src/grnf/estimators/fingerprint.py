"""Vectors in which near graphs are alike: hashed Weisfeiler-Lehman (WL) labels, alone and next to GRNF.

The multiset of WL labels of a graph is the set of all pairs (label, t), t = 1 .. count. Each pair is hashed
to a vector of random signs, and these are added. Products of such sums estimate the number of pairs that two
graphs share: the histogram intersection kernel of WL labels.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from grnf._utils.arrays import principal_axes
from grnf._utils.hashing import GOLDEN
from grnf._utils.jit import exact, inlined
from grnf._utils.random import SEED_RULES
from grnf._utils.rules import Int, OneOf, Table
from grnf.collection import Collection
from grnf.estimators.histograms import LabelColumns, label_pairs, wl_labels
from grnf.estimators.transformer import GRNF, GraphTransformer, Settings
from grnf.graphs import GraphBatch
from grnf.lifts.base import pieces
from grnf.typing import FloatArray, HandleMissing, HandleUnknown, IntArray, Keys, OnError

__all__ = ["JointFeatures", "WLFingerprint"]

FIT_GRAPHS = 4096
"""Graphs that the axes of `JointFeatures` are computed from."""
LABEL_SHARE = 2 / 3
"""Share of the numbers of a joint vector that come from the fingerprint."""
HASHED, FEATURES = 512, 1024
"""Lengths of the fingerprint and of the vectors of GRNF before they are turned to their principal axes."""
SHRINKAGE = 1e-2
"""Axes of GRNF whose variance is below this share of the largest count for less."""
NOISE = 1e-10
"""Axes whose variance is below this share of the mean square length hold rounding errors only."""


class WLFingerprint(GraphTransformer):
    """Hashed Weisfeiler-Lehman labels: unit vectors whose products estimate the share of labels in common.

    Labels of depth 0 are the categories of nodes (columns of few different whole numbers included), or
    degrees if there are none. Those of depth t + 1 hash the labels of depth t of a node and of its neighbors
    with the categories of the edges. There is no vocabulary, and the hashes are the same in every process and
    on every machine. Continuous attributes do not enter.

    Parameters
    ----------
    n_components : int, default=512
        Length of the vectors. The standard deviation of a product is at most n_components^(-1/2).
    depth : int, default=3
        Largest depth of the labels.
    handle_unknown, handle_missing, on_error
        As in `GRNF`.

    Attributes
    ----------
    encoder_ : grnf.io.AttributeEncoder
        Which attributes of nodes and edges are used.
    errors_ : list of (int, str)
        Row and reason of each bad graph of `fit` or `fit_transform`.
    n_components_ : int

    Examples
    --------
    >>> from grnf import WLFingerprint
    >>> meta, para, ethanol = WLFingerprint().fit_transform(["Cc1cccc(C)c1", "Cc1ccc(C)cc1", "CCO"])
    >>> print(f"{meta @ para:.2f} {meta @ ethanol:.2f}")
    0.53 0.16
    """

    _rules: ClassVar[Table] = {**GraphTransformer._rules, "n_components": [Int(1)], "depth": [Int(0)]}

    def __init__(
        self,
        n_components: int = 512,
        *,
        depth: int = 3,
        handle_unknown: HandleUnknown = "open",
        handle_missing: HandleMissing = "error",
        on_error: OnError = "raise",
    ) -> None:
        self.n_components = n_components
        self.depth = depth
        self.handle_unknown = handle_unknown
        self.handle_missing = handle_missing
        self.on_error = on_error

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn which attributes are categories.

        Parameters
        ----------
        X : collection of graphs, as in `GRNF.fit`
        y : ignored
        """
        self._fit_samples(X, y)
        return self

    def _fit(
        self,
        settings: Settings,
        fitted: Settings,
        samples: Collection | None,
        y: Any,  # noqa: ARG002
    ) -> None:
        if samples is None:
            self._columns = [LabelColumns(*map(tuple, columns)) for columns in fitted["columns"]]
        else:
            batch = samples.batch
            self._columns = [
                LabelColumns.of(batch.node_attr, batch.node_codes),
                LabelColumns.of(batch.edge_attr, batch.edge_codes),
            ]
        self.n_components_ = settings["n_components"]
        self._embedder = self._hashed

    def _fitted_state(self) -> dict[str, Any]:
        return {**super()._fitted_state(), "columns": self._columns}

    def _hashed(self, batch: GraphBatch) -> FloatArray:
        parts = []
        for piece in pieces(batch):
            labels = wl_labels(piece, self.depth, *self._columns)
            keys = np.stack([label_pairs(piece, label, depth) for depth, label in enumerate(labels)])
            parts.append(np.empty((len(piece), self.n_components_), np.float32))
            _add_signs(piece.node_ptr, keys, parts[-1])
        return np.concatenate(parts)


@inlined
def _mixed(x: Any) -> Any:
    """Mix the bits of a number, as `grnf._utils.hashing.mix` does for an array."""
    z = x + np.uint64(GOLDEN)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@exact
def _add_signs(ptr: IntArray, keys: Keys, out: FloatArray) -> None:
    """Add the random signs of the keys of each graph, and scale the sums to unit length.

    64 signs are the bits of a number. Bit p of 64 running counts of ones is a number too, so that adding 64
    signs takes a few operations. All graphs have the key 0, so that none is empty.
    """
    width = out.shape[1]
    n_words = (width + 63) // 64
    counts = np.empty((n_words, 48), np.uint64)
    for graph in range(len(ptr) - 1):
        counts[:] = 0
        n_keys = len(keys) * (ptr[graph + 1] - ptr[graph]) + 1
        for i in range(n_keys):
            key = np.uint64(0)
            if i:
                key = keys[(i - 1) % len(keys), ptr[graph] + (i - 1) // len(keys)]
            for word in range(n_words):
                key += np.uint64(GOLDEN)
                carry = _mixed(key)
                place = 0
                while carry:
                    before = counts[word, place]
                    counts[word, place] = before ^ carry
                    carry &= before
                    place += 1
        n_places = 0
        while n_keys >> n_places:
            n_places += 1
        square = 0
        for column in range(width):
            ones = 0
            for place in range(n_places):
                ones += int((counts[column // 64, place] >> np.uint64(column % 64)) & np.uint64(1)) << place
            total = 2 * ones - n_keys
            square += total * total
            out[graph, column] = total
        length = np.sqrt(np.float64(max(square, 1)))
        for column in range(width):
            out[graph, column] = out[graph, column] / length


class JointFeatures(GraphTransformer):
    """Vectors in which near means alike: hashed Weisfeiler-Lehman labels next to whitened GRNF.

    Two thirds of the numbers are the first principal axes of a `WLFingerprint`, which compares labeled
    neighborhoods. One third are the first axes of `GRNF`, divided by their standard deviations, which compare
    sizes, densities and continuous attributes. Each part has half of the mean square length, which is 1. Mean
    and axes are those of the graphs of `fit`, so only vectors of the same fitted transformer can be compared.

    Parameters
    ----------
    n_components : int, default=192
        Length of the vectors.
    random_state : int, Generator or None
        Seed of the features of GRNF; the fingerprint has no random part.
    n_jobs : int, optional
        Threads, as in `GRNF`.
    handle_unknown, handle_missing, on_error
        As in `GRNF`.

    Attributes
    ----------
    encoder_ : grnf.io.AttributeEncoder
        Which attributes of nodes and edges are used.
    errors_ : list of (int, str)
        Row and reason of each bad graph of `fit` or `fit_transform`.
    n_components_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from grnf import JointFeatures
    >>> smiles = ["Cc1cccc(C)c1", "Cc1ccc(C)cc1", "CCO", "CCCO", "CC(=O)O"]
    >>> Z = JointFeatures(random_state=0).fit_transform(smiles)
    >>> D = np.linalg.norm(Z[:, np.newaxis] - Z, axis=2)
    >>> Z.shape, bool(0 < D[0, 1] < D[0, 2])
    ((5, 192), True)
    """

    _rules: ClassVar[Table] = {
        **GraphTransformer._rules,
        "n_components": [Int(1)],
        "random_state": SEED_RULES,
        "n_jobs": [Int(1), Int(high=-1), OneOf(None)],
    }

    def __init__(
        self,
        n_components: int = 192,
        *,
        random_state: Any = None,
        n_jobs: int | None = None,
        handle_unknown: HandleUnknown = "open",
        handle_missing: HandleMissing = "error",
        on_error: OnError = "raise",
    ) -> None:
        self.n_components = n_components
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.handle_unknown = handle_unknown
        self.handle_missing = handle_missing
        self.on_error = on_error

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn which attributes there are, and the axes.

        Parameters
        ----------
        X : collection of graphs, as in `GRNF.fit`
        y : ignored
        """
        self._fit_samples(X, y)
        return self

    def _fit(
        self,
        settings: Settings,
        fitted: Settings,
        samples: Collection | None,
        y: Any,  # noqa: ARG002
    ) -> None:
        count = settings["n_components"]
        n_labels = round(LABEL_SHARE * count)
        labels = WLFingerprint(HASHED)
        grnf = GRNF(FEATURES, random_state=fitted["seed"], n_jobs=settings["n_jobs"])
        self._parts: list[GraphTransformer] = [labels, grnf]
        for part in self._parts:
            part._fit_encoded(self.encoder_, {**fitted, "columns": fitted.get("columns")}, samples, None)
        if samples is None:
            self._axes = [_Axes.from_text(text) for text in fitted["axes"]]
        else:
            rows = np.linspace(0, max(len(samples.batch) - 1, 0), min(len(samples.batch), FIT_GRAPHS))
            some = samples.batch.take(rows.astype(np.int64))
            self._axes = [
                _Axes.fitted(labels._embedder(some), n_labels, whiten=False),
                _Axes.fitted(grnf._embedder(some), count - n_labels, whiten=True),
            ]
        self.n_components_ = count
        self._embedder = self._joint

    def _fitted_state(self) -> dict[str, Any]:
        axes = [axes.to_text() for axes in self._axes]
        return {**super()._fitted_state(), "columns": self._parts[0]._fitted_state()["columns"], "axes": axes}

    def _joint(self, batch: GraphBatch) -> FloatArray:
        return np.hstack(
            [axes(part._embedder(batch)) for part, axes in zip(self._parts, self._axes, strict=True)]
        )


class _Axes(NamedTuple):
    """z -> (z - mean) A, in single precision; columns of A beyond the width of z are zero."""

    mean: FloatArray
    matrix: FloatArray

    @classmethod
    def fitted(cls, Z: FloatArray, count: int, *, whiten: bool) -> Self:
        """Fit `count` principal axes to vectors, of equal variance if whitened, of mean square length 1/2."""
        if not len(Z):
            Z = np.zeros((1, Z.shape[1]))
        mean, variances, axes = principal_axes(Z)
        variances, axes = variances[:count], axes[:, :count]
        noise = NOISE * np.square(Z, dtype=np.float64).sum(axis=1).mean()
        if variances.max(initial=0) > noise:  # else all graphs are the same
            if whiten:
                scale = np.sqrt(variances + SHRINKAGE * variances[0])
                variances, axes = variances / scale**2, axes / scale
            axes = axes * np.sqrt(0.5 / variances.sum())
        matrix = np.zeros((Z.shape[1], count), np.float32)
        matrix[:, : axes.shape[1]] = axes
        return cls(mean.astype(np.float32), matrix)

    def __call__(self, Z: FloatArray) -> FloatArray:
        return np.asarray((Z - self.mean) @ self.matrix, dtype=np.float32)

    def to_text(self) -> list[str]:
        """Return the bytes of mean and matrix, in little endian order, as text."""
        return [base64.b64encode(np.asarray(x, "<f4").tobytes()).decode("ascii") for x in self]

    @classmethod
    def from_text(cls, texts: Sequence[str]) -> Self:
        """Return what `to_text` made a text of."""
        mean, matrix = (np.frombuffer(base64.b64decode(text, validate=True), "<f4") for text in texts)
        if (
            not len(mean)
            or len(matrix) % len(mean)
            or not (np.isfinite(mean).all() and np.isfinite(matrix).all())
        ):
            raise ValueError("the axes do not fit together")
        return cls(mean.astype(np.float32), matrix.astype(np.float32).reshape(len(mean), -1))
