"""Feature views: several transformers of the same graphs under names, and the views that models use."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils.validation import check_is_fitted

import grnf.lifts as all_lifts
from grnf._utils.random import draw_seed
from grnf._utils.rules import Int
from grnf._utils.saved import OBJECT, TEXT, check_version, damaged, validate
from grnf.collection import Collection, encode, fit_encode
from grnf.errors import GraphError, invalid
from grnf.estimators.fingerprint import JointFeatures, WLFingerprint
from grnf.estimators.histograms import Counts, LabelColumns, WLLabels
from grnf.estimators.reweighted import ReweightedGRNF
from grnf.estimators.transformer import ENCODER, GRNF, UNUSABLE, GraphsToVectors, Saved, parsed, with_index
from grnf.graphs import GraphBatch
from grnf.io.encode import AttributeEncoder
from grnf.lifts import Degree, Lift, Propagate, Size, Standardize, Triangles
from grnf.lifts.base import bare_batch
from grnf.typing import FloatArray

FORMAT, VERSION = "grnf-views", 2
SCHEMA = {
    "encoder": ENCODER, "views": OBJECT, "params": {"n_components": Int(1), "random_state": Int(0)},
}  # fmt: skip
"""The schema of saved views. Each step checks its own."""
SAVED_STEPS: dict[str, Any] = {
    **{name: getattr(all_lifts, name) for name in all_lifts.__all__},
    **{step.__name__: step for step in (Counts, WLLabels)},
}
"""Transformers that can be saved, in addition to `GRNF`."""


def model_views(grnf: GRNF) -> dict[str, Any]:
    """Return the default views of `GRNFClassifier` and `GRNFRegressor`, with the settings of their map."""
    lifts = [Standardize(rounded=True), Degree(), Triangles(), Propagate(2), Size()]
    width = {"n_components": grnf.n_components} if isinstance(grnf.n_components, int) else {}
    return {"map": make_pipeline(*lifts, clone(grnf)), "counts": Counts(), "labels": WLLabels(**width)}


def lifted_views(lifts: Any, grnf: GRNF) -> dict[str, Any]:
    """Return one GRNF map for each list of lifts. `lifts` is None, one lift, a list, or a dict of them."""
    views = dict(lifts) if isinstance(lifts, Mapping) else {"lifted" if lifts else "plain": lifts or []}
    chains = {
        str(name): chain if isinstance(chain, list | tuple) else [chain] for name, chain in views.items()
    }
    wrong = [step for chain in chains.values() for step in chain if not isinstance(step, Lift)]
    if wrong or not chains:
        requirement = "be 'auto', None, a lift of grnf.lifts, a list of lifts, or a dict of such lists"
        raise invalid("lifts", requirement, repr(wrong[0] if wrong else lifts))
    return {name: make_pipeline(*map(clone, chain), clone(grnf)) for name, chain in chains.items()}


class FeatureViews(Saved, GraphsToVectors):
    """Several feature views of a graph: transformers of graphs under names, fitted together.

    Squared distances between the vectors of `transform` are means of those in the views. ``views(graphs)``
    returns the vectors too. The first call fits.

    Parameters
    ----------
    n_components : int, default=512
        Length of the vectors in the views of "auto".
    views : "auto", transformer, or dict of transformers, default="auto"
        "auto": "map", a GRNF map of nodes with degrees, triangles and means of neighbors, and "labels", the
        Weisfeiler-Lehman labels as vectors. A transformer, such as a scikit-learn pipeline of lifts and
        `GRNF`, has `fit` and `transform` from graphs to an array.
    random_state : int, numpy Generator or RandomState, optional
        Defines the features of "auto".

    Attributes
    ----------
    views_ : dict
        Fitted transformers by the names of their views.
    encoder_ : grnf.io.AttributeEncoder
        Which attributes of nodes and edges are used.
    seed_ : int
        Defines the features of "auto".

    Examples
    --------
    >>> from grnf.datasets import make_sbm
    >>> graphs, _ = make_sbm(10, random_state=0)
    >>> views = FeatureViews(64, random_state=0).fit(graphs)
    >>> views.transform(graphs).shape == views.fit_transform(graphs).shape == (10, 128)
    True
    >>> {name: Z.shape for name, Z in views.transform_views(graphs).items()}
    {'map': (10, 64), 'labels': (10, 64)}
    >>> import tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp()) / "views.json"
    >>> views.save(path)
    >>> same = FeatureViews.load(path), FeatureViews.from_json(views.to_json())
    """

    encoder_: AttributeEncoder
    views_: dict[str, Any]

    def __init__(self, n_components: int = 512, *, views: Any = "auto", random_state: Any = None) -> None:
        self.n_components = n_components
        self.views = views
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Learn which attributes graphs have, and what the views learn."""
        self._fitted(self._start(X).batch, ())
        return self

    def transform(self, X: Any) -> FloatArray:
        """Return the vectors of all views side by side, each divided by the root of the number of views."""
        check_is_fitted(self)
        samples = encode(X, self.encoder_)
        vectors = _side_by_side(self._transformed(samples.batch))
        return with_index(self, replace(samples, vectors=vectors))

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> FloatArray:  # noqa: ARG002
        """Fit, then return the vectors of the same graphs."""
        samples = self._start(X)
        return with_index(self, replace(samples, vectors=_side_by_side(self._fitted(samples.batch))))

    def __call__(self, graphs: Any) -> FloatArray:
        """Return an array with a row for each graph. The first call fits."""
        return self.transform(graphs) if hasattr(self, "views_") else self.fit_transform(graphs)

    def transform_views(self, X: Any, names: Sequence[str] | None = None) -> dict[str, FloatArray]:
        """Return the vectors of each view, or of some views, by name.

        Parameters
        ----------
        X : collection of graphs, as in `fit`
        names : sequence of str, optional
            By default all views.

        Returns
        -------
        dict from name to array
        """
        check_is_fitted(self)
        return self._transformed(encode(X, self.encoder_).batch, names)

    def fit_transform_views(self, X: Any, names: Sequence[str] | None = None) -> dict[str, FloatArray]:
        """Fit, then return the vectors of the same graphs in each view, or in some views.

        Parameters
        ----------
        X : collection of graphs, as in `fit`
        names : sequence of str, optional
            By default all views.

        Returns
        -------
        dict from name to array
        """
        return self._fitted(self._start(X).batch, names)

    def _column_counts(self) -> dict[str, int]:
        return {name: Z.shape[1] for name, Z in self._transformed(bare_batch(self.encoder_)).items()}

    def default_views(self, batch: GraphBatch) -> dict[str, Any]:  # noqa: ARG002
        """Return the views of "auto" for some graphs."""
        views = model_views(GRNF(self.n_components, random_state=self.seed_))
        return {name: views[name] for name in ("map", "labels")}

    def protocol(self) -> dict[str, Any]:
        """Return what made the vectors, for a report: the transformers as text, and the settings.

        Returns
        -------
        dict
        """
        check_is_fitted(self)
        return {
            "views": {
                name: " -> ".join(" ".join(repr(step).split()) for step in steps_of(view))
                for name, view in self.views_.items()
            },
            "n_components": self.n_components,
            "seed": self.seed_,
        }

    def to_json(self) -> str:
        """Return the fitted views as JSON. They must consist of lifts of `grnf.lifts`, `GRNF` and "auto"."""
        check_is_fitted(self)
        state = {
            "format": FORMAT,
            "version": VERSION,
            "params": {"n_components": self.n_components, "random_state": self.seed_},
            "encoder": self.encoder_.to_config(),
            "views": {
                name: [_step_state(step) for step in steps_of(view)] for name, view in self.views_.items()
            },
        }
        return json.dumps(state) + "\n"

    @classmethod
    def from_json(cls, text: str, name: str = "the text") -> Self:  # type: ignore[override]  # noqa: D102
        state = parsed(text, name)
        check_version(state, FORMAT, VERSION, "saved feature views", name)
        validate(state, SCHEMA, name)
        try:
            if not state["views"] or not all(state["views"].values()):
                raise ValueError("a view must have a step")
            views = {name: [_step(step) for step in steps] for name, steps in state["views"].items()}
            made = {name: make_pipeline(*chain) if chain[1:] else chain[0] for name, chain in views.items()}
            loaded = cls(**state["params"], views=made)
            loaded.encoder_, loaded.views_ = AttributeEncoder.from_config(state["encoder"]), made
            loaded.seed_ = draw_seed(loaded.random_state)
            loaded.get_feature_names_out()  # raises an error if the saved arrays do not match
        except UNUSABLE as error:
            raise damaged(f"not saved views: {error}", name) from None
        return loaded

    def _start(self, X: Any) -> Collection:
        """Encode graphs, and set the views, which are still to be fitted."""
        policies = AttributeEncoder(handle_unknown="open", handle_missing="error")
        self.encoder_, samples = fit_encode(X, policies)
        self.seed_ = draw_seed(self.random_state)
        if isinstance(self.views, str) and self.views == "auto":
            self.views_ = self.default_views(samples.batch)
            return samples
        views = dict(self.views) if isinstance(self.views, Mapping) else {"given": self.views}
        wrong = [view for view in views.values() if not (hasattr(view, "fit") and hasattr(view, "transform"))]
        if wrong or not views:
            requirement = "be 'auto', a transformer of graphs with fit and transform, or a dict of them"
            cure = "Pass for example GRNF(random_state=0)"
            raise invalid("views", requirement, repr(wrong[0] if wrong else views), cure)
        self.views_ = {str(name): clone(transformer) for name, transformer in views.items()}
        return samples

    def _transformed(self, batch: GraphBatch, names: Sequence[str] | None = None) -> dict[str, FloatArray]:
        chosen = self.views_ if names is None else names
        return {name: _rows(name, self.views_[name].transform(batch), batch) for name in chosen}

    def _fitted(self, batch: GraphBatch, names: Sequence[str] | None = None) -> dict[str, FloatArray]:
        """Fit all views, and return the vectors of some."""
        vectors = {}
        for name, view in self.views_.items():
            if names is not None and name not in names:
                view.fit(batch)
                continue
            has_both = hasattr(view, "fit_transform")
            rows = view.fit_transform(batch) if has_both else view.fit(batch).transform(batch)
            vectors[name] = _rows(name, rows, batch)
        return vectors


def _rows(name: str, rows: Any, batch: GraphBatch) -> FloatArray:
    Z: FloatArray = np.asarray(rows)
    if Z.ndim != 2 or len(Z) != len(batch):
        raise GraphError(f"view {name!r} must return one row per graph, got shape {Z.shape} for {len(batch)}")
    return Z


def saved_transformer(text: str, name: str = "the text") -> Any:
    """Return the transformer or the views that `to_json` made a text of."""
    state = parsed(text, name)
    validate(state, {"format": TEXT, "kind?": TEXT}, name)
    kind = "FeatureViews" if state["format"] == FORMAT else state.get("kind", "GRNF")
    for known in (GRNF, ReweightedGRNF, JointFeatures, WLFingerprint, FeatureViews):
        if kind == known.__name__:
            return known.from_json(text, name)
    raise ValueError(f"{name} holds {kind!r:.60}, which this release does not know")


def _side_by_side(views: Mapping[str, FloatArray]) -> FloatArray:
    return np.asarray(np.hstack(list(views.values())) / np.sqrt(len(views)), dtype=np.float32)


def steps_of(transformer: Any) -> list[Any]:
    """Return the steps of a pipeline, or the transformer as the only one."""
    return list(transformer.named_steps.values()) if isinstance(transformer, Pipeline) else [transformer]


def _step_state(step: Any) -> dict[str, Any]:
    """Return the class, the parameters and the fitted attributes of a transformer as JSON can hold them."""
    kind = type(step).__name__
    if isinstance(step, GRNF):
        return {"class": kind, "transformer": json.loads(step.to_json())}
    if SAVED_STEPS.get(kind) is not type(step):
        raise ValueError(f"views with a step {kind} cannot be saved: it is not a lift of grnf.lifts or GRNF")
    fitted = {name: value for name, value in vars(step).items() if name.endswith("_")}
    return {
        "class": kind,
        "params": step.get_params(),
        "fitted": {name: _plain(value) for name, value in fitted.items()},
    }


def _step(state: Mapping[str, Any]) -> Any:
    if state["class"] == "GRNF":
        return GRNF.from_json(json.dumps(state["transformer"]))
    step = SAVED_STEPS[state["class"]](**state["params"])
    for name, value in state["fitted"].items():
        setattr(step, name, _restored(value))
    return step


def _plain(value: Any) -> Any:
    """Return a fitted attribute as JSON can hold it."""
    if isinstance(value, AttributeEncoder):
        return {"encoder": value.to_config()}
    if isinstance(value, LabelColumns):
        return {"columns": value._asdict()}
    if isinstance(value, np.ndarray):
        return {"array": value.tolist(), "dtype": value.dtype.name}
    return [_plain(entry) for entry in value] if isinstance(value, list) else value


def _restored(value: Any) -> Any:
    if isinstance(value, list):
        return [_restored(entry) for entry in value]
    if not isinstance(value, Mapping):
        return value
    if "encoder" in value:
        return AttributeEncoder.from_config(value["encoder"])
    if "columns" in value:
        return LabelColumns(**{name: tuple(columns) for name, columns in value["columns"].items()})
    array = np.array(value["array"], dtype=value["dtype"])
    if array.dtype.kind not in "biuf":
        raise ValueError(f"an array must have numbers, got {array.dtype}")
    return array
