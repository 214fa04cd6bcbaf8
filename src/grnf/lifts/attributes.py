"""Lifts of the existing attributes: categories are encoded, numbers are scaled."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from grnf._utils.rules import Bool, param
from grnf.graphs import GraphBatch
from grnf.io.encode import AttributeEncoder
from grnf.lifts.base import Lift
from grnf.typing import BoolArray, FloatArray, HandleMissing, HandleUnknown

MOST_CATEGORIES = 32
"""Different whole numbers up to which a column may be one of categories."""


@dataclass(eq=False, repr=False)
class Encode(Lift):
    """Encodes graphs of any kind and adds nothing: the first step of a pipeline, if it needs other policies.

    Parameters
    ----------
    handle_unknown : "error" or "ignore", default="error"
        What `transform` does about a category that was not there in `fit`. "ignore": zeros.
    handle_missing : "error" or "zero", default="error"
        What to do if nodes, edges or graphs lack an attribute that others have.

    Examples
    --------
    >>> from grnf.io import RawGraph
    >>> def atoms(*symbols):
    ...     return RawGraph(2, np.array([[0, 1]]), {"symbol": np.array(symbols, dtype=object)})
    >>> Encode(handle_unknown="ignore").fit([atoms("C", "O")]).transform([atoms("C", "N")]).node_attr
    array([[1., 0.],
           [0., 0.]])
    """

    handle_unknown: HandleUnknown = "error"
    handle_missing: HandleMissing = "error"

    def _blank_encoder(self) -> AttributeEncoder:
        return AttributeEncoder(handle_unknown=self.handle_unknown, handle_missing=self.handle_missing)

    def _lifted(self, batch: GraphBatch) -> GraphBatch:
        return batch


@dataclass(eq=False, repr=False)
class Standardize(Lift):
    """Shifts and scales attributes of nodes and edges to mean 0 and variance 1 over the graphs of `fit`.

    It changes channels instead of adding some. Nothing is lost, since the map is invertible.

    Parameters
    ----------
    indicators : bool, default=False
        Whether to scale also columns that had only the values 0 and 1 in `fit`, such as one-hot categories.
    rounded : bool, default=False
        Round the scale to a power of 2, and the mean to a multiple of the scale. Mean 0 and variance 1 hold
        roughly, but the folds of a cross-validation nearly always agree on them.

    Attributes
    ----------
    node_mean_, node_scale_, edge_mean_, edge_scale_ : array
        What is subtracted from each column, and then its divisor.

    Examples
    --------
    >>> from grnf import Graph
    >>> Standardize().fit_transform([Graph(2, [], [[10.0], [30.0]])]).node_attr.ravel()
    array([-1.,  1.])
    """

    indicators: bool = param(False, Bool())
    rounded: bool = param(False, Bool())

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
    """Return which columns hold only 0 and 1."""
    return np.asarray(((values == 0) | (values == 1)).all(axis=0))


def category_columns(values: FloatArray) -> BoolArray:
    """Return which columns of numbers may be categories: those of few different whole numbers."""
    whole = (values == np.round(values)).all(axis=0)
    for column in np.flatnonzero(whole):
        whole[column] = len(np.unique(values[:, column])) <= MOST_CATEGORIES
    return np.asarray(whole)


def signed_log(values: FloatArray) -> FloatArray:
    """Return sign(s) log(1 + |s|)."""
    return np.asarray(np.sign(values) * np.log1p(np.abs(values)))
