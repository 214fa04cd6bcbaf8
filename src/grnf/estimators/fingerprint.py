"""Vectors in which near graphs are alike: hashed Weisfeiler-Lehman (WL) labels, alone and next to GRNF.

The multiset of WL labels of a graph is the set of all pairs (label, t), t = 1 .. count. Each pair is hashed
to a vector of random signs, and these are added. Products of such sums estimate the number of pairs that two
graphs share: the histogram intersection kernel of WL labels.
"""

from __future__ import annotations

import base64
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.base import clone

from grnf._utils.arrays import principal_axes
from grnf._utils.hashing import GOLDEN
from grnf._utils.jit import exact, inlined
from grnf._utils.random import draw_seed
from grnf._utils.rules import Instance, Int, OneOf, Table
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
HASHED = 512
"""Length of the fingerprint before it is turned to its principal axes."""
SHRINKAGE = 1e-2
"""Axes of GRNF whose variance is below this share of the largest count for less."""
NOISE = 1e-10
"""Variances below this share of the mean square length are rounding errors."""


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
def _mixed(x: int) -> int:
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
    """Short vectors in which near graphs are alike: a `WLFingerprint` next to whitened GRNF.

    Both parts are turned to their principal axes in the graphs of `fit`, centered, and scaled to a mean
    square length of 1/2. The vectors of two collections can be compared only if the same fitted object made
    them. Distances are Euclidean. They are not estimates of d_P.

    Parameters
    ----------
    transformer : GRNF, optional
        Settings of the GRNF part; by default ``GRNF(1024, random_state=0)``.
    n_components : int, default=192
        Length of the vectors. Two thirds are axes of the fingerprint, and one third are axes of GRNF.
    depth : int, default=3
        Largest depth of the labels of the fingerprint.
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
    >>> from grnf import JointFeatures
    >>> molecules = ["Cc1cccc(C)c1", "Cc1ccc(C)cc1", "CCO", "CCCO", "CC(=O)O"]
    >>> Z = JointFeatures().fit_transform(molecules)
    >>> Z.shape, bool(abs(Z[0] - Z[1]).max() > 0.1)
    ((5, 192), True)
    """

    _rules: ClassVar[Table] = {
        **GraphTransformer._rules,
        "transformer": [Instance("a GRNF", GRNF), OneOf(None)],
        "n_components": [Int(3)],
        "depth": [Int(0)],
    }

    def __init__(
        self,
        transformer: GRNF | None = None,
        *,
        n_components: int = 192,
        depth: int = 3,
        handle_unknown: HandleUnknown = "open",
        handle_missing: HandleMissing = "error",
        on_error: OnError = "raise",
    ) -> None:
        self.transformer = transformer
        self.n_components = n_components
        self.depth = depth
        self.handle_unknown = handle_unknown
        self.handle_missing = handle_missing
        self.on_error = on_error

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn which attributes graphs have, and the axes of both parts.

        Parameters
        ----------
        X : collection of graphs, as in `GRNF.fit`
            The axes are computed from at most 4,096 of them.
        y : ignored
        """
        self._fit_samples(X, y)
        return self

    def _fit(self, settings: Settings, fitted: Settings, samples: Collection | None, y: Any) -> None:
        grnf = GRNF(1024, random_state=0) if settings["transformer"] is None else settings["transformer"]
        self._parts = [WLFingerprint(HASHED, depth=settings["depth"]), clone(grnf)]
        for place, part in enumerate(self._parts):
            seed = draw_seed(getattr(part, "random_state", 0))
            state = {**fitted, "seed": seed} if samples is not None else fitted["parts"][place]
            part._fit_encoded(self.encoder_, state, samples, y)
        if samples is None:
            self._axes = [PartAxes.of_state(state) for state in fitted["axes"]]
        else:
            batch = samples.batch
            if len(batch) > FIT_GRAPHS:
                batch = batch.take(np.linspace(0, len(batch) - 1, FIT_GRAPHS).astype(np.int64))
            n_whitened = min(
                round((1 - LABEL_SHARE) * settings["n_components"]), self._parts[1].n_components_
            )
            n_labels = min(settings["n_components"] - n_whitened, HASHED)
            self._axes = [
                PartAxes.of(part._embedder(batch), width, shrinkage)
                for part, width, shrinkage in zip(
                    self._parts, (n_labels, n_whitened), (None, SHRINKAGE), strict=True
                )
            ]
        self.n_components_ = sum(own.axes.shape[1] for own in self._axes)
        self._embedder = self._joined

    def _joined(self, batch: GraphBatch) -> FloatArray:
        parts = zip(self._parts, self._axes, strict=True)
        return np.hstack([axes(part._embedder(batch)) for part, axes in parts])

    def _fitted_state(self) -> dict[str, Any]:
        parts = [part._fitted_state() for part in self._parts]
        return {**super()._fitted_state(), "parts": parts, "axes": [own.state() for own in self._axes]}

    def _saved_params(self) -> dict[str, Any]:
        return {**super()._saved_params(), "transformer": self._parts[1]._saved_params()}


class PartAxes(NamedTuple):
    """A map z -> (z - mean) @ axes, in single precision so that a saved one is the same."""

    mean: FloatArray
    axes: FloatArray

    @classmethod
    def of(cls, Z: FloatArray, width: int, shrinkage: float | None) -> PartAxes:
        """Return the first principal axes of vectors, scaled to a mean square length of 1/2.

        With `shrinkage`, they have equal variance; those below this share of the largest count for less.
        """
        mean, variances, axes = principal_axes(Z)
        noise = NOISE * float(np.square(Z, dtype=np.float64).sum(axis=1).mean())
        kept, axes = variances[:width], axes[:, :width]
        scale = np.ones(len(kept))
        if shrinkage is not None and kept[0] > noise:
            scale = 1 / np.sqrt(kept + shrinkage * kept[0])
        square = float(np.sum(kept * scale**2))
        if kept.sum() > noise:  # else all graphs are alike, and there is no scale
            scale = scale / np.sqrt(2 * square)
        return cls(mean.astype(np.float32), (axes * scale).astype(np.float32))

    def __call__(self, Z: FloatArray) -> FloatArray:
        rows = (Z.astype(np.float64) - self.mean) @ self.axes.astype(np.float64)
        return rows.astype(np.float32)

    def state(self) -> dict[str, Any]:
        """Return the numbers as JSON can hold them."""
        content = {
            name: base64.b64encode(value.astype("<f4").tobytes()).decode()
            for name, value in self._asdict().items()
        }
        return {**content, "shape": list(self.axes.shape)}

    @classmethod
    def of_state(cls, state: Settings) -> PartAxes:
        """Return the map of a saved state."""
        mean, axes = (np.frombuffer(base64.b64decode(state[name]), "<f4") for name in ("mean", "axes"))
        made = cls(mean.astype(np.float32), axes.astype(np.float32).reshape(state["shape"]))
        if len(mean) != len(made.axes) or not all(np.isfinite(value).all() for value in made):
            raise ValueError("the axes do not match the mean, or are not finite")
        return made
