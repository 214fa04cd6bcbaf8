"""Lifts of the attributes themselves: encoding categories, scaling numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np

from grnf._utils.rules import Bool, Table
from grnf.graphs import GraphBatch
from grnf.io.encode import AttributeEncoder
from grnf.lifts.base import Lift
from grnf.typing import BoolArray, FloatArray, HandleMissing, HandleUnknown

__all__ = ["Encode", "Standardize", "category_columns", "indicator_columns"]

MOST_CATEGORIES = 32
"""Different whole numbers up to which a column may be one of categories."""


class Encode(Lift):
    """Encodes graphs of any kind and adds nothing: the first step, where its policies are wanted.

    Parameters
    ----------
    handle_unknown : "error" or "ignore", default="error"
        What `transform` does about a category that was not there in `fit`.
    handle_missing : "error" or "zero", default="error"
        What to do where nodes, edges or graphs lack an attribute that others have.

    Examples
    --------
    >>> from grnf.io import RawGraph
    >>> def atoms(*symbols):
    ...     return RawGraph(2, np.array([[0, 1]]), {"symbol": np.array(symbols, dtype=object)})
    >>> Encode(handle_unknown="ignore").fit([atoms("C", "O")]).transform([atoms("C", "N")]).node_attr
    array([[1., 0.],
           [0., 0.]])
    """

    def __init__(
        self, handle_unknown: HandleUnknown = "error", handle_missing: HandleMissing = "error"
    ) -> None:
        self.handle_unknown = handle_unknown
        self.handle_missing = handle_missing

    def _blank_encoder(self) -> AttributeEncoder:
        return AttributeEncoder(handle_unknown=self.handle_unknown, handle_missing=self.handle_missing)

    def _lifted(self, batch: GraphBatch) -> GraphBatch:
        return batch


class Standardize(Lift):
    """Shifts and scales attributes of nodes and edges to mean 0 and variance 1 over the graphs of `fit`.

    It changes channels in place of adding some; nothing is lost, since the map can be turned round.

    Parameters
    ----------
    indicators : bool, default=False
        Whether to scale columns that were 0 or 1 only in `fit`, as one-hot categories are, too.
    rounded : bool, default=False
        Round the scale to a power of 2, and the mean to a multiple of the scale: mean 0 and variance 1 hold
        roughly, but the folds of a cross-validation agree on them (nearly always), and so share vectors.

    Attributes
    ----------
    node_mean_, node_scale_, edge_mean_, edge_scale_ : array
        What is subtracted from each column, and what it is divided by afterwards.

    Examples
    --------
    >>> from grnf import Graph
    >>> Standardize().fit_transform([Graph(2, [], [[10.0], [30.0]])]).node_attr.ravel()
    array([-1.,  1.])
    """

    _rules: ClassVar[Table] = {"indicators": [Bool()], "rounded": [Bool()]}

    def __init__(self, indicators: bool = False, rounded: bool = False) -> None:
        self.indicators = indicators
        self.rounded = rounded

    def _fit_batch(self, batch: GraphBatch) -> None:
        self.node_mean_, self.node_scale_ = self._statistics(batch.node_attr)
        self.edge_mean_, self.edge_scale_ = self._statistics(batch.edge_attr)

    def _statistics(self, values: FloatArray) -> tuple[FloatArray, FloatArray]:
        mean, scale = np.zeros(values.shape[1]), np.ones(values.shape[1])
        if len(values) == 0:
            return mean, scale
        mean, scale = values.mean(axis=0), values.std(axis=0)
        scale[scale <= 1e-12 * np.abs(mean)] = 1.0  # a constant column, up to rounding
        if self.rounded:
            scale = 2.0 ** np.round(np.log2(scale))
            mean = np.round(mean / scale) * scale
        if not self.indicators:
            kept = indicator_columns(values)
            mean[kept], scale[kept] = 0.0, 1.0
        return mean, scale

    def _lifted(self, batch: GraphBatch) -> GraphBatch:
        return replace(
            batch,
            node_attr=(batch.node_attr - self.node_mean_) / self.node_scale_,
            edge_attr=(batch.edge_attr - self.edge_mean_) / self.edge_scale_,
        )


def indicator_columns(values: FloatArray) -> BoolArray:
    """Tell which columns hold nothing but 0 and 1."""
    return np.asarray(((values == 0) | (values == 1)).all(axis=0))


def category_columns(values: FloatArray) -> BoolArray:
    """Tell which columns of numbers may stand for categories: few different whole numbers.

    Examples
    --------
    >>> category_columns(np.array([[0.0, 6.0, 0.5], [1.0, 8.0, 2.0]]))
    array([ True,  True, False])
    """
    whole = (values == np.round(values)).all(axis=0)
    few = [
        bool(fits) and len(np.unique(column)) <= MOST_CATEGORIES
        for fits, column in zip(whole, values.T, strict=True)
    ]
    return np.array(few, dtype=np.bool_)
