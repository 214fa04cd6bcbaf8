"""Fitted random forests as plain arrays, which can be stored without pickle and predict the same."""

from __future__ import annotations

from typing import Any

import numpy as np

from grnf._utils.arrays import offsets
from grnf.errors import invalid
from grnf.typing import FloatArray, IntArray

__all__ = ["ForestArrays"]


class ForestArrays:
    """The nodes of all trees of a fitted forest of scikit-learn, one after the other.

    The next node in a tree is `left` if x[feature] <= threshold, otherwise `right`. Leaves have -1.
    `values` has the mean target of each node, or the shares of `classes_`.
    """

    def __init__(self, forest: Any) -> None:
        trees = [tree.tree_ for tree in forest.estimators_]
        self.first = offsets([tree.node_count for tree in trees])
        self.left, self.right, self.feature, self.threshold = (
            np.concatenate([getattr(tree, name) for tree in trees])
            for name in ("children_left", "children_right", "feature", "threshold")
        )
        self.values = np.concatenate([tree.value[:, 0, :] for tree in trees])
        self.n_features = forest.n_features_in_
        if hasattr(forest, "classes_"):
            self.classes_ = forest.classes_

    def check(self) -> None:
        """Refuse arrays of a file that do not fit together. Every step of a tree must lead further."""
        count = len(self.left)
        sizes = {len(values) for values in (self.right, self.feature, self.threshold, self.values)}
        kinds = {array.dtype.kind for array in (self.first, self.left, self.right, self.feature)}
        if sizes != {count} or kinds != {"i"} or self.values.ndim != 2 or self.first.ndim != 1:
            raise ValueError("the trees do not fit together")
        if self.first[0] != 0 or self.first[-1] != count or (np.diff(self.first) < 1).any():
            raise ValueError("the trees do not fit together")
        place = np.arange(count) - np.repeat(self.first[:-1], np.diff(self.first))
        size = np.repeat(np.diff(self.first), np.diff(self.first))
        inner = self.left >= 0
        for child in (self.left, self.right):
            if (inner & ((child <= place) | (child >= size))).any():
                raise ValueError("a branch of a tree leads nowhere")
        if (inner & ((self.feature < 0) | (self.feature >= self.n_features))).any():
            raise ValueError("a tree uses an unknown feature")
        if hasattr(self, "classes_") and self.values.shape[1] != len(self.classes_):
            raise ValueError("the trees do not fit to the classes")

    def _mean(self, X: FloatArray) -> FloatArray:
        """Return the mean over trees of the values in the leaves of each row."""
        X = np.asarray(X, dtype=np.float32)
        if X.shape[1] != self.n_features:
            raise invalid("X", f"have {self.n_features} columns", str(X.shape[1]))
        total, rows = np.zeros((len(X), self.values.shape[1])), np.arange(len(X))
        for start in self.first[:-1]:
            node: IntArray = np.full(len(X), start)
            while (inner := self.left[node] >= 0).any():
                goes_left = X[rows, self.feature[node]] <= self.threshold[node]
                node = np.where(inner, start + np.where(goes_left, self.left[node], self.right[node]), node)
            total += self.values[node]
        return total / (len(self.first) - 1)

    def predict(self, X: FloatArray) -> Any:
        """Return the class or the number of each row."""
        found = self._mean(X)
        return self.classes_[found.argmax(axis=1)] if hasattr(self, "classes_") else found[:, 0]

    def __getattr__(self, name: str) -> Any:
        if name == "predict_proba" and "classes_" in self.__dict__:
            return self._mean
        raise AttributeError(name)
