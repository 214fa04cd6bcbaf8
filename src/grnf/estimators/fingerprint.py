"""Vectors in which near graphs are alike: hashed Weisfeiler-Lehman (WL) labels, alone and next to GRNF.

The multiset of WL labels of a graph is the set of all pairs (label, t), t = 1 .. count. Each pair is hashed
to a vector of random signs, and these are added. Products of such sums estimate the number of pairs that two
graphs share: the histogram intersection kernel of WL labels.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from sklearn.utils.extmath import randomized_svd

from grnf._utils.arrays import principal_axes
from grnf._utils.hashing import GOLDEN, mix
from grnf._utils.jit import exact, inlined
from grnf._utils.random import SEED_RULES
from grnf._utils.rules import Bool, Int, OneOf, param
from grnf.estimators.histograms import LabelColumns, label_columns, label_pairs, random_signs, wl_labels
from grnf.estimators.transformer import GRNF, THREADS, GraphTransformer, Settings
from grnf.graphs import GraphBatch
from grnf.lifts.base import pieces
from grnf.typing import BoolArray, FloatArray, IntArray, Keys

FIT_GRAPHS = 4096
"""Graphs that the axes of `JointFeatures` are computed from."""
USUAL, DEGREES_ONLY = (3 / 4, 2 / 3), (1 / 4, 1 / 8)
"""Shares of the numbers and of the mean square length of a joint vector that come from WL labels: usually,
and if all labels start from degrees although there are continuous attributes, which they lack."""
HASHED, FEATURES = 4096, 1024
"""Columns to which labels are hashed, and features of GRNF, before both are turned to principal axes."""
OPEN_LABELS, OPEN_AXES, OPEN_WEIGHT = 2048, 64, 0.9
"""Numbers from labels and from GRNF, and share of the labels, if labels are not turned to principal axes."""
FINE = 1000
"""Marks the labels of all columns, next to those of the main column."""
SHRINKAGE = 1e-2
"""Axes of GRNF whose variance is below this share of the largest count for less."""
NOISE = 1e-10
"""Axes whose variance is below this share of the mean square length hold rounding errors only."""


@dataclass(eq=False, repr=False)
class WLFingerprint(GraphTransformer):
    """Hashed Weisfeiler-Lehman labels: unit vectors whose products estimate the share of labels in common.

    Labels of depth 0 are the categories of nodes, or degrees if there are none. Those of depth t + 1 hash the
    labels of depth t of a node and of its neighbors with the categories of the edges. If nodes have several
    columns of categories, labels start from the main one, and the combinations of all (columns of few
    different whole numbers included) are further labels. The main column is the one of most
    categories, or all columns that hold 0 and 1. There is no vocabulary, and the hashes are the same in every
    process and on every machine. Continuous attributes do not enter.

    Parameters
    ----------
    n_components : int, default=512
        Length of the vectors. The standard deviation of a product is at most n_components^(-1/2).
    depth : int, default=3
        Largest depth of the labels.
    fine_depth : int, default=0
        Largest depth of the labels that start from the combinations of all columns.
    counts : bool, default=True
        Use how often each label occurs, not only whether it does.
    handle_unknown, handle_missing, on_error : str
        As in `GRNF`.

    Attributes
    ----------
    encoder_, errors_, n_components_ : as in `GRNF`

    Examples
    --------
    >>> from grnf import WLFingerprint
    >>> meta, para, ethanol = WLFingerprint().fit_transform(["Cc1cccc(C)c1", "Cc1ccc(C)cc1", "CCO"])
    >>> print(f"{meta @ para:.2f} {meta @ ethanol:.2f}")
    0.78 0.15
    """

    n_components: int = param(512, Int(1))
    _: KW_ONLY
    depth: int = param(3, Int(0))
    fine_depth: int = param(0, Int(0))
    counts: bool = param(True, Bool())

    def _fit(self, settings: Settings, fitted: Settings, samples: Any, y: Any) -> None:  # noqa: ARG002
        if samples is None:
            self._columns = [LabelColumns(*map(tuple, columns)) for columns in fitted["columns"]]
        else:
            fine, coarse = label_columns(samples.batch)
            self._columns = [*fine, *coarse]
        self.n_components_ = settings["n_components"]
        self._embedder = self._hashed

    def _fitted_state(self) -> dict[str, Any]:
        return {**super()._fitted_state(), "columns": self._columns}

    def _hashed(self, batch: GraphBatch) -> FloatArray:
        parts = []
        for piece in pieces(batch):
            parts.append(np.empty((len(piece), self.n_components_), np.float32))
            keys, kept = self._keys(piece)
            _add_signs(piece.node_ptr, keys, kept, parts[-1])
        return np.concatenate(parts)

    def _keys(self, batch: GraphBatch) -> tuple[Keys, BoolArray]:
        """Return the pairs (label, t) of each kind of labels, one row per kind, and which of them count."""
        fine, main = self._columns[:2], self._columns[2:]
        labels = dict(enumerate(wl_labels(batch, self.depth, *main)))
        if fine != main:
            labels |= enumerate(wl_labels(batch, self.fine_depth, *fine), start=FINE)
        pairs = [label_pairs(batch, own, salt) for salt, own in labels.items()]
        keys, times = (np.stack(each) for each in zip(*pairs, strict=True))
        return keys, (times == 1) | self.counts

    def _sketch(self, batch: GraphBatch) -> sp.csr_array:
        """Return sparse rows of unit length on average: each pair adds a random sign to a random column."""
        keys, _ = self._keys(batch)
        size = 1 + len(keys) * batch.sizes
        columns, signs = random_signs(mix(keys).ravel(), self.n_components_)
        rows = np.tile(np.repeat(np.arange(len(batch)), batch.sizes), len(keys))
        values = (signs / np.sqrt(size)[rows]).astype(np.float32)
        return sp.csr_array((values, (rows, columns)), shape=(len(batch), self.n_components_))


@inlined
def _mixed(x: Any) -> Any:
    """Mix the bits of a number, as `grnf._utils.hashing.mix` does for an array."""
    z = x + np.uint64(GOLDEN)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@exact
def _add_signs(ptr: IntArray, keys: Keys, kept: BoolArray, out: FloatArray) -> None:
    """Add the random signs of the keys of each graph, and scale the sums to unit length.

    64 signs are the bits of a number. Bit p of 64 running counts of ones is a number too, so that adding 64
    signs takes a few operations. All graphs have the key 0, so that none is empty.
    """
    width = out.shape[1]
    n_words = (width + 63) // 64
    counts = np.empty((n_words, 48), np.uint64)
    for graph in range(len(ptr) - 1):
        counts[:] = 0
        n_keys = 0
        for i in range(len(keys) * (ptr[graph + 1] - ptr[graph]) + 1):
            key = np.uint64(0)
            if i:
                kind, node = (i - 1) % len(keys), ptr[graph] + (i - 1) // len(keys)
                if not kept[kind, node]:
                    continue
                key = keys[kind, node]
            n_keys += 1
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


@dataclass(eq=False, repr=False)
class JointFeatures(GraphTransformer):
    """Vectors in which near means alike: hashed Weisfeiler-Lehman labels next to whitened GRNF.

    Three quarters of the numbers are the first principal axes of the labels of `WLFingerprint`, which compare
    labeled neighborhoods. The others are the first axes of `GRNF`, divided by their standard deviations. They
    compare sizes, densities and continuous attributes. The first part has two thirds of the mean square
    length, which is 1. If there are no categories but continuous attributes, so that labels start from
    degrees alone, it has one quarter of the numbers and one eighth of the length. Mean and axes are those of
    the graphs of `fit`, so only vectors of the same fitted transformer can be compared.

    Parameters
    ----------
    n_components : int or None, default=192
        Length of the vectors. None: labels are not turned to principal axes, so that those which the graphs
        of `fit` lack make a graph as distant as others do. This suits outliers. The vectors have 2,048
        numbers from labels of depths 0 to 2 (of the main column and of the combinations of all), counted once
        each and with nine tenths of the length, and 64 numbers from GRNF.
    random_state : int, Generator or None
        Seed of the features of GRNF; the fingerprint has no random part.
    n_jobs : int, optional
        Threads, as in `GRNF`.
    handle_unknown, handle_missing, on_error : str
        As in `GRNF`.

    Attributes
    ----------
    encoder_, errors_, n_components_ : as in `GRNF`

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

    n_components: int | None = param(192, Int(1), OneOf(None))
    _: KW_ONLY
    random_state: Any = param(None, *SEED_RULES)
    n_jobs: int | None = param(None, *THREADS)

    def _fit(self, settings: Settings, fitted: Settings, samples: Any, y: Any) -> None:  # noqa: ARG002
        count = settings["n_components"]
        is_open = count is None
        open_labels = WLFingerprint(OPEN_LABELS, depth=2, fine_depth=2, counts=False)
        labels = open_labels if is_open else WLFingerprint(HASHED)
        grnf = GRNF(FEATURES, random_state=fitted["seed"], n_jobs=settings["n_jobs"])
        self._parts = labels, grnf
        for part in self._parts:
            part._fit_encoded(self.encoder_, fitted, samples, None)
        if samples is None:
            self._axes = [Axes.from_text(text) for text in fitted["axes"]]
            self._weight = float(fitted["weight"])
        else:
            rows = np.linspace(0, max(len(samples.batch) - 1, 0), min(len(samples.batch), FIT_GRAPHS))
            some = samples.batch.take(rows.astype(np.int64))
            n_numbers = some.node_attr.shape[1] + some.edge_attr.shape[1]
            from_degrees = all(own.is_empty for own in labels._columns[:2]) and n_numbers > 0
            share, self._weight = DEGREES_ONLY if from_degrees else (0, OPEN_WEIGHT) if is_open else USUAL
            n_labels = 0 if is_open else round(share * count)
            n_axes = OPEN_AXES if is_open else count - n_labels
            sketch = labels._sketch(some).toarray() if n_labels else np.zeros((1, 1))
            self._axes = [
                Axes.fitted(sketch, n_labels, self._weight, whiten=False),
                Axes.fitted(grnf._embedder(some), n_axes, 1 - self._weight, whiten=True),
            ]
        self.n_components_ = OPEN_LABELS + OPEN_AXES if is_open else count
        self._embedder = self._joint

    def _fitted_state(self) -> dict[str, Any]:
        axes, columns = [axes.to_text() for axes in self._axes], self._parts[0]._columns
        return {**super()._fitted_state(), "columns": columns, "axes": axes, "weight": self._weight}

    def _joint(self, batch: GraphBatch) -> FloatArray:
        labels, grnf = self._parts
        if self.n_components is None:
            first = np.float32(np.sqrt(self._weight)) * labels._embedder(batch)
        else:
            first = np.concatenate([self._axes[0](labels._sketch(piece)) for piece in pieces(batch)])
        return np.hstack([first, self._axes[1](grnf._embedder(batch))])


class Axes(NamedTuple):
    """z -> (z - mean) A, in single precision. Columns of A beyond the width of z are zero."""

    mean: FloatArray
    matrix: FloatArray

    @classmethod
    def fitted(cls, Z: FloatArray, count: int, weight: float, *, whiten: bool) -> Self:
        """Fit principal axes, of equal variance if whitened. `weight` is the mean square length then."""
        if not len(Z):
            Z = np.zeros((1, Z.shape[1]))
        if whiten:
            mean, variances, axes = principal_axes(Z)
        else:
            mean = Z.mean(axis=0)
            kept = max(1, min(count, *Z.shape))
            _, lengths, turned = randomized_svd(Z - mean, kept, n_iter=3, random_state=0)
            variances, axes = lengths**2 / len(Z), (turned * Z.any(axis=0)).T
        variances, axes = variances[:count], axes[:, :count]
        noise = NOISE * np.square(Z, dtype=np.float64).sum(axis=1).mean()
        if variances.max(initial=0) > noise:  # else all graphs are the same
            if whiten:
                scale = np.sqrt(variances + SHRINKAGE * variances[0])
                variances, axes = variances / scale**2, axes / scale
            axes = axes * np.sqrt(weight / variances.sum())
        matrix = np.zeros((Z.shape[1], count), np.float32)
        matrix[:, : axes.shape[1]] = axes
        return cls(mean.astype(np.float32), matrix)

    def __call__(self, Z: FloatArray | sp.csr_array) -> FloatArray:
        """Return moved and turned rows."""
        moved = Z @ self.matrix - self.mean @ self.matrix if sp.issparse(Z) else (Z - self.mean) @ self.matrix
        return np.asarray(moved, dtype=np.float32)

    def compact(self) -> list[Any]:
        """Return the width, the rows of the matrix that are not 0 with their means, and its columns."""
        rows = np.flatnonzero(self.matrix.any(axis=1) | (self.mean != 0))
        columns = np.flatnonzero(self.matrix.any(axis=0))
        return [self.matrix.shape, rows, self.mean[rows], columns, self.matrix[np.ix_(rows, columns)]]

    @classmethod
    def of_compact(cls, shape: Any, rows: Any, mean: Any, columns: Any, values: Any) -> Self:
        """Return what `compact` made parts of."""
        mean_of_all = np.zeros(Int(1, HASHED).take(shape[0]), np.float32)
        matrix = np.zeros((len(mean_of_all), Int(0, HASHED).take(shape[1])), np.float32)
        mean_of_all[rows], matrix[np.ix_(rows, columns)] = mean, values
        return cls(mean_of_all, matrix)

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
