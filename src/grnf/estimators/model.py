"""What the classifier and the regressor share: graphs to vectors by several views, then an estimator."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Mapping
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, check_memory, column_or_1d

from grnf._utils.threads import blas_threads, n_workers
from grnf.collection import Collection, encode, fit_encode, warn_skipped
from grnf.deprecation import UNSET, parameter, warn_renamed
from grnf.errors import GraphError, GrnfWarning
from grnf.estimators.base import DTYPES
from grnf.estimators.cache import EmbeddingCache
from grnf.estimators.described import Described
from grnf.estimators.final import chosen, fitted_estimator, is_blend
from grnf.estimators.histograms import ColourSets, Counts
from grnf.estimators.transformer import GRNF
from grnf.estimators.views import View, as_menu
from grnf.graphs import GraphBatch
from grnf.io.encode import AttributeEncoder
from grnf.typing import FloatArray

__all__ = ["GraphModel"]

FEATURES, FEATURES_OF_VIEWS = 512, 1024
"""Of the map of the recipe; of each view where others are asked for."""

MOST_BYTES = 500_000_000
"""Of vectors that a model and its clones keep."""


class GraphModel(BaseEstimator):  # type: ignore[misc]
    """Lifts, GRNF and an estimator behind one `fit` and `predict`."""

    encoder_: AttributeEncoder
    errors_: list[tuple[int, str]]
    _classify = False

    def __init__(
        self,
        n_components: int | None = None,
        *,
        lifts: Any = "auto",
        orders: Any = {1: 2 / 3, 2: 1 / 3},  # noqa: B006 never changed; scikit-learn wants the value itself
        grnf_params: Mapping[str, Any] | None = None,
        estimator: Any = "auto",
        C: Any = None,
        gamma: Any = None,
        cv: Any = None,
        scoring: str | None = None,
        random_state: int = 0,
        n_jobs: int | None = None,
        unseen: Literal["open", "error", "ignore"] | None = None,
        missing: Literal["error", "zero"] = "error",
        on_error: Literal["raise", "nan", "skip"] = "raise",
        memory: Any = True,
        cache: Any = UNSET,
        head: Any = UNSET,
    ) -> None:
        self.n_components = n_components
        self.lifts = lifts
        self.orders = orders
        self.grnf_params = grnf_params
        self.estimator = estimator
        self.C = C
        self.gamma = gamma
        self.cv = cv
        self.scoring = scoring
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.unseen = unseen
        self.missing = missing
        self.on_error = on_error
        self.memory = memory
        self.cache = cache
        self.head = head

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from graphs and their labels.

        Parameters
        ----------
        X : collection of graphs
            Of any kind that `GRNF` takes.
        y : array-like, shape (n_graphs,)
            Classes, or numbers.
        """
        menu = as_menu(self.lifts)
        unseen = self.unseen or ("open" if self._counts_too() else "ignore")
        policies = AttributeEncoder(unseen=unseen, missing=self.missing)
        encoder, samples = fit_encode(X, policies, self.on_error)
        labels = self._checked_labels(y, samples.n_rows)
        grnf = GRNF(
            self._width(),
            orders=self.orders,
            random_state=self.random_state,
            n_jobs=self.n_jobs,
            **dict(self.grnf_params or {}),
        )
        self.encoder_, self.errors_ = encoder, samples.errors
        if samples.errors:
            labels = labels[samples.rows]
            row, reason = samples.errors[0]
            warnings.warn(
                f"{len(samples.errors)} of {samples.n_rows} samples are left out; row {row}: {reason}. "
                "All reasons are in errors_",
                GrnfWarning,
                stacklevel=2,
            )
        memory = parameter(self, "cache", "memory")
        memory = os.fspath(memory) if isinstance(memory, os.PathLike) else memory
        self._memory = self._kept() if memory is True else check_memory(memory or None)
        start = time.perf_counter()
        self.views_ = {name: View(chain, grnf, samples.batch) for name, chain in menu.items()}
        if self._counts_too():
            self.counts_, self.colours_ = Counts().fit(samples.batch), ColourSets().fit(samples.batch)
        estimator = parameter(self, "head", "estimator")
        self._described = self._counts_too() and is_blend(estimator)
        seen = self._seen(samples.batch)
        embedded = time.perf_counter()
        self.seed_ = next(iter(self.views_.values())).grnf.seed_
        with blas_threads(n_workers(self.n_jobs)):
            self.estimator_ = fitted_estimator(
                estimator,
                seen,
                labels,
                classify=self._classify,
                views=self._widths(sketch=not self._described),
                C=self.C,
                gamma=self.gamma,
                cv=self.cv,
                scoring=self.scoring,
                random_state=self.seed_ % 2**32,
            )
        for name in ("best_params_", "best_score_", "best_index_", "cv_results_"):
            self.__dict__.pop(name, None)  # of an earlier fit
            if hasattr(self.estimator_, "best_params_"):
                setattr(self, name, getattr(self.estimator_, name))
        self.__dict__.setdefault("cv_results_", {})
        self.seconds_ = {"embed": embedded - start, "train": time.perf_counter() - embedded}
        return self

    def transform(self, X: Any) -> FloatArray:
        """Return the vectors of all views side by side.

        In the default recipe: of the map, counts, and a sketch of colours (`n_components` columns), which is
        what estimators of your own see; the machine of the recipe compares colours exactly.
        Rows of samples that cannot be used are NaN or left out, as `on_error` says.
        """
        return self._vectors_of(X).vectors

    def embed(self, X: Any, on_error: Literal["raise", "nan", "skip"] | None = None) -> Any:
        """Return the vectors with a report: which samples cannot be used, and why.

        Parameters
        ----------
        X : collection of graphs, as in `fit`
        on_error : "raise", "nan" or "skip"
            What to do about samples that cannot be used. Until 0.2, a call without it is `transform`.

        Returns
        -------
        Collection
        """
        if on_error is None:
            warn_renamed("embed(X) without on_error, for vectors alone,", "transform(X)")
            return self.transform(X)
        return self._embedding(X, on_error)

    @property
    def head_(self) -> Any:
        """The old name of `estimator_`."""
        warn_renamed("head_", "estimator_")
        return self.estimator_

    @property
    def selected_(self) -> dict[str, Any]:
        """The old name of `best_params_`, with `best_score_` as "score"; empty if nothing was chosen."""
        warn_renamed("selected_", "best_params_ and best_score_")
        check_is_fitted(self)
        return chosen(self)

    def _embedding(self, X: Any, on_error: str) -> Collection:
        check_is_fitted(self)
        return self._embedded(encode(X, self.encoder_, on_error), self._embed, sketch=True)

    def _embedded(self, samples: Collection, embed: Any, sketch: bool) -> Collection:
        width = sum(self._widths(sketch))
        return samples.embed(embed, width, DTYPES[next(iter(self.views_.values())).grnf.dtype])

    def _vectors_of(self, X: Any) -> Collection:
        """Embed as `on_error` of the model says; samples that are left out are named in a warning."""
        embedding = self._embedding(X, self.on_error)
        self._warn(embedding)
        return embedding

    def _warn(self, embedding: Collection) -> None:
        where = 'embed(X, on_error="skip").errors'
        warn_skipped(embedding.skipped, len(embedding.rows), where, stacklevel=5)

    def _embed(self, batch: GraphBatch) -> FloatArray:
        """Return the vectors of all views; in the recipe with counts, and colours as a sketch."""
        numbers = self._numbers(batch)
        if not self._counts_too():
            return numbers
        return np.hstack([numbers, self.colours_.rows(batch).sketch(self._width())])

    def _numbers(self, batch: GraphBatch) -> FloatArray:
        parts = [view.embed(batch, self._memory) for view in self.views_.values()]
        return np.hstack([*parts, self.counts_.rows(batch)] if self._counts_too() else parts)

    def _seen(self, batch: GraphBatch) -> Any:
        """Return good graphs as the estimator sees them."""
        if not self._described:
            return self._embed(batch)
        return Described(self._numbers(batch), self.colours_.rows(batch))

    def _counts_too(self) -> bool:
        """Whether the views are those of the recipe: a map, counts and colours."""
        return isinstance(self.lifts, str) and self.lifts == "auto"

    def _width(self) -> Any:
        """Return the number of features of each view."""
        if self.n_components is None:
            return FEATURES if self._counts_too() else FEATURES_OF_VIEWS
        return self.n_components

    def _widths(self, sketch: bool) -> list[int]:
        """Return how many columns each view has."""
        widths = [view.grnf.n_components_ for view in self.views_.values()]
        if self._counts_too():
            widths.append(self.counts_.width)
            widths += [self._width()] if sketch else []
        return widths

    def _kept(self) -> EmbeddingCache:
        """Return the vectors that this model and its clones have at hand."""
        return self.__dict__.setdefault("_vectors", EmbeddingCache(MOST_BYTES))  # type: ignore[no-any-return]

    def _answers(self, X: Any, method: str) -> npt.NDArray[Any]:
        """Ask the estimator about the good samples, and put NaN (None for names) in the place of bad ones."""
        embedding, seen = self._judged(X)
        good = np.asarray(np.isfinite(embedding.vectors).all(axis=1))
        if not good.any():
            reason = embedding.errors[0][1]
            raise GraphError(f"none of the {len(good)} samples can be used; row 0: {reason}")
        with blas_threads(n_workers(self.n_jobs)):
            answers = np.asarray(getattr(self.estimator_, method)(seen(good)))
        if good.all():
            return answers
        number = answers.dtype.kind in "fiub"
        nothing, kind = (np.nan, float) if number else (None, object)
        full = np.full((len(good), *answers.shape[1:]), nothing, dtype=kind)
        full[good] = answers
        return full

    def _judged(self, X: Any) -> tuple[Collection, Any]:
        """Return the vectors of samples, and what gives the estimator's sight of some of them."""
        check_is_fitted(self)
        if not self._described:
            embedding = self._vectors_of(X)
            return embedding, lambda good: embedding.vectors[good]
        samples = encode(X, self.encoder_, self.on_error)
        place = {row: index for index, row in enumerate(samples.rows)}
        embedding = self._embedded(samples, self._numbers, sketch=False)
        self._warn(embedding)

        def seen(good: Any) -> Described:
            members = [place[row] for row in embedding.rows[good].tolist()]
            whole = len(members) == len(samples.batch)
            batch = samples.batch if whole else samples.batch.take(members)
            return Described(embedding.vectors[good], self.colours_.rows(batch))

        return embedding, seen

    def _checked_labels(self, y: Any, count: int) -> npt.NDArray[Any]:
        if y is None:
            raise ValueError(f"{type(self).__name__}.fit needs y, one label per graph")
        labels = column_or_1d(y)
        if len(labels) != count:
            raise ValueError(f"y must have one label per graph, shape ({count},); got shape {labels.shape}")
        return np.asarray(labels)

    def __sklearn_clone__(self) -> Any:
        copy = super().__sklearn_clone__()
        copy._vectors = self._kept()  # so that the clones of a grid search embed each graph once
        return copy

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.target_tags.required = True
        return tags
