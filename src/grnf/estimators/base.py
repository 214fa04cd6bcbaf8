"""What all transformers of graphs share: graphs in, vectors out, and their form as JSON."""

from __future__ import annotations

import json
import os
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils._set_output import _get_output_config, _wrap_data_with_container
from sklearn.utils.validation import check_is_fitted

from grnf._utils.files import atomic_write
from grnf._utils.random import SEED_RULES, draw_seed
from grnf._utils.rules import Bool, Int, MemorySize, OneOf, Table, checked_parameters
from grnf.activations import ACTIVATIONS
from grnf.collection import ON_ERROR, Collection, encode, fit_encode, warn_skipped
from grnf.engine import Schedule
from grnf.estimators.difference import Difference, difference
from grnf.estimators.streams import embed_stream
from grnf.features import Embedder, FeatureMap
from grnf.graphs import GraphBatch, null_graph
from grnf.io.encode import MISSING, UNSEEN, AttributeEncoder
from grnf.io.objects import to_raw
from grnf.law import LAW_RULES, Draw, OrderLaw, ParameterLaw, parameter_law
from grnf.metric import DistanceEstimate, KernelEstimate, distance, kernel_estimate, pairwise_kernels
from grnf.metric.guarantee import theorem_1
from grnf.typing import FloatArray, IntArray, Missing, OnError, Unseen

__all__ = ["DTYPES", "GraphTransformer", "Saved", "Settings", "parsed", "plain_params", "schedule_of"]

DTYPES: dict[str, type[np.floating[Any]]] = {"float32": np.float32, "float64": np.float64}
MAP_PARAMETERS = ("basis", "adjacency_channel", "normalize", "center")
"""Parameters that the feature map has under the same names."""
LAWS = {"orders", "proposal"}
"""Parameters that are distributions."""

FORMAT, VERSION = "grnf-transformer", 3
EMBEDDINGS = ("grnf-embedding", "grnf-shards")
"""Formats of the files next to vectors, which hold the transformer that made them."""
DEFAULT_KIND = "GRNF"
"""The class of a saved transformer that does not name its own."""
LARGEST = 32_000_000
"""Characters of a saved transformer."""
Settings: TypeAlias = Mapping[str, Any]


class Saved:
    """Objects with `to_json`, and with `_of_text`, which makes such an object from that text."""

    def to_json(self) -> str:
        """Return the fitted object as JSON, from which `from_json` makes the same object."""
        raise NotImplementedError

    @classmethod
    def _of_text(cls, text: str, name: str, **policies: Any) -> Self:
        """Make the object; `name` is what errors call the text."""
        raise NotImplementedError

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted object to a small JSON file that `load` reads."""
        text = self.to_json()
        with atomic_write(path) as file:
            file.write(text)

    @classmethod
    def load(cls, path: str | os.PathLike[str], **policies: Any) -> Self:
        """Read what `save` wrote: a fitted object that gives the same vectors.

        Parameters
        ----------
        path : path
        **policies : optional
            `unseen` and `missing` of a `GRNF`, instead of the saved ones.
        """
        with open(path, encoding="utf-8") as file:
            try:
                text = file.read(LARGEST + 1)
            except UnicodeDecodeError as error:
                raise ValueError(f"{os.fspath(path)} is not JSON: {error}") from None
        return cls._of_text(text, os.fspath(path), **policies)

    @classmethod
    def from_json(cls, text: str, **policies: Any) -> Self:
        """Return the fitted object that `to_json` described; parameters are those of `load`."""
        return cls._of_text(text, "the text", **policies)


class GraphTransformer(Saved, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """The base of `GRNF` and `ReweightedGRNF`, which fix `_map`, the features, in their `fit`."""

    encoder_: AttributeEncoder
    errors_: list[tuple[int, str]]
    node_width_: int
    edge_width_: int
    seed_: int
    n_components_: int
    proposal_law_: ParameterLaw
    center: bool
    on_error: OnError
    random_state: Any
    _map: FeatureMap
    _embedder: Embedder
    _rules: ClassVar[Table] = {
        "orders": LAW_RULES,
        "stratified": [Bool()],
        "hidden_channels": [Int(1)],
        "hidden_activation": [OneOf(*ACTIVATIONS)],
        "activation": [OneOf(*ACTIVATIONS)],
        "basis": [OneOf("indicator", "overlapping")],
        "adjacency_channel": [Bool()],
        "normalize": [Bool()],
        "center": [Bool()],
        "dtype": [OneOf(*DTYPES)],
        "random_state": SEED_RULES,
        "n_jobs": [Int(1), Int(high=-1), OneOf(None)],
        "unseen": [UNSEEN],
        "missing": [MISSING],
        "on_error": [ON_ERROR],
        "max_memory": [MemorySize()],
    }

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> FloatArray:  # noqa: ARG002
        """Fit, then embed the same graphs. `errors_` has the bad ones."""
        found = self._fit_samples(X, y).embed(self._embedder, self.n_components_, self._map.dtype)
        self.errors_ = found.errors
        return self._container(found, "errors_")

    def transform(self, X: Any) -> FloatArray:
        """Embed graphs, seen before or not.

        The transformer is not changed, so threads may share it. `embed` returns a report with the vectors.

        Parameters
        ----------
        X : collection of graphs, as in `fit`

        Returns
        -------
        array, shape (n_graphs, n_components_)
        """
        return self._container(self.embed(X), "embed(X).errors")

    def embed(
        self,
        X: Any,
        *,
        on_error: OnError | None = None,
        unseen: Unseen | None = None,
        missing: Missing | None = None,
    ) -> Collection:
        """Embed graphs, and report which samples could not be used, and why.

        Parameters
        ----------
        X : collection of graphs, as in `fit`
        on_error, unseen, missing : optional
            Policies of this call, in place of those of the transformer.

        Returns
        -------
        Collection
            `vectors`, the `rows` of X that they belong to, and `errors`, the rows and reasons of bad graphs.

        Examples
        --------
        >>> from grnf import GRNF, Graph
        >>> grnf = GRNF(8, random_state=0).fit([Graph(2, [(0, 1)])])
        >>> found = grnf.embed([Graph(3, []), "no graph", Graph(1, [])], on_error="skip")
        >>> found.vectors.shape, found.rows, [row for row, _ in found.errors]
        ((2, 8), array([0, 2]), [1])
        """
        check_is_fitted(self)
        encoder = self.encoder_.with_policies(unseen, missing)
        found = encode(X, encoder, self.on_error if on_error is None else on_error)
        return replace(found.embed(self._embedder, self.n_components_, self._map.dtype), transformer=self)

    def _container(self, found: Collection, where: str) -> FloatArray:
        """Return the vectors, or the dataframe that `set_output` asked for; warn of graphs left out.

        scikit-learn would give the dataframe the index of all graphs that went in.
        """
        warn_skipped(found.skipped, len(found), where, stacklevel=5)
        if found.index is None or _get_output_config("transform", self)["dense"] != "pandas":
            return found.vectors
        import pandas as pd  # type: ignore[import-untyped, unused-ignore]

        return pd.DataFrame(found.vectors, index=pd.Index(found.index)[found.rows])  # type: ignore[no-any-return]

    def transform_blocks(self, X: Iterable[Any], block_size: int = 1024) -> Iterator[FloatArray]:
        """Embed a stream of graphs, yielding the vectors of `block_size` graphs at a time.

        Only one block of graphs and vectors is held at once, so the stream may be longer than memory.
        `grnf.estimators.embed_stream` yields names, labels and bad graphs with the vectors.

        Examples
        --------
        >>> from grnf import GRNF
        >>> from grnf.datasets import make_sbm
        >>> graphs, _ = make_sbm(10, random_state=0)
        >>> grnf = GRNF(8, random_state=0).fit(graphs)
        >>> [Z.shape for Z in grnf.transform_blocks(iter(graphs), block_size=4)]
        [(4, 8), (4, 8), (2, 8)]
        """
        check_is_fitted(self)
        for block, bad in embed_stream(self, X, block_size=block_size):
            if self.on_error == "skip":
                errors = [(graph.index, graph.reason) for graph in bad]
                warn_skipped(errors, len(block.Z), "embed_stream", stacklevel=3)
            yield _wrap_data_with_container("transform", block.Z, None, self)

    def distance(self, g1: Any, g2: Any) -> DistanceEstimate:
        """Estimate d_P between two graphs of any kind, with error bars."""
        z1, z2 = self._vectors([g1, g2])
        return distance(z1, z2, **self._precision())

    def difference(self, g1: Any, g2: Any) -> Difference:
        """Say where two graphs differ: what each node and edge adds to d_P^2, by leaving it out.

        Examples
        --------
        >>> from grnf import GRNF, Graph
        >>> path, paw = Graph(3, [(0, 1), (1, 2)]), Graph(4, [(0, 1), (1, 2), (2, 0), (2, 3)])
        >>> found = GRNF(256, random_state=0).fit([paw]).difference(path, paw)
        >>> found.nodes[1].shape, found.edges[1].shape
        ((4,), (4,))
        """
        return difference(self.transform, to_raw(g1), to_raw(g2), self._precision())

    def kernel(self, g1: Any, g2: Any) -> KernelEstimate:
        """Estimate kappa_P between two graphs of any kind, with error bars."""
        z1, z2 = self._vectors([g1, g2]) - (0.0 if self.center else self.null_vector())
        return kernel_estimate(z1, z2, **self._precision())

    def pairwise_kernels(self, X: Any, Y: Any = None) -> FloatArray:
        """Estimate kappa_P between all graphs of X, and of Y where it is given: shape (n1, n2)."""
        first, second = self._vectors(X), None if Y is None else self._vectors(Y)
        return pairwise_kernels(first, second, null=None if self.center else self.null_vector())

    @property
    def random_weights_(self) -> Draw:
        """The parameters w_m of the features, drawn again from the seed with every access.

        Those of the channels that all graphs have: of numbers, the adjacency, and categories of a closed
        vocabulary. Those of other categories are drawn when they come.
        """
        check_is_fitted(self)
        return self._map.draw(self.encoder_.channels(self._map.adjacency_channel).all)

    @property
    def orders_(self) -> IntArray:
        """The hidden order k of each feature."""
        check_is_fitted(self)
        return np.repeat(self._map.hidden_orders(), self._map.heads)

    @property
    def metric_guaranteed_(self) -> bool:
        """Whether Theorem 1 applies: d_P is 0 for isomorphic graphs only."""
        return self._theorem_1()[0]

    @property
    def metric_reason_(self) -> str:
        """Why it does, or why not."""
        return self._theorem_1()[1]

    def _theorem_1(self) -> tuple[bool, str]:
        check_is_fitted(self)
        return theorem_1(self._map, len(self.encoder_.edge_schema_.columns))

    def null_vector(self) -> FloatArray:
        """Return z(0), the vector of the null graph: zeros if `center`."""
        check_is_fitted(self)
        null = GraphBatch.from_graphs([null_graph(self.node_width_, self.edge_width_)])  # whatever its keys
        return np.asarray(Embedder(self._map, self._embedder.schedule)(null)[0])

    def to_json(self) -> str:
        """Return the fitted transformer as JSON, from which `from_json` makes the same transformer.

        It holds the settings, the attributes of graphs, and the seed from which all coefficients follow.
        """
        check_is_fitted(self)
        kind = type(self).__name__
        state = {
            "format": FORMAT,
            "version": VERSION,
            **({} if kind == DEFAULT_KIND else {"kind": kind}),
            "params": {**plain_params(self), "random_state": self.seed_},
            "fitted": self._fitted_state(),
            "encoder": self.encoder_.to_config(),
        }
        text = json.dumps(state, indent=2, default=_plain)
        if len(text) >= LARGEST:
            raise ValueError(
                f"the settings take {len(text)} characters, too many to save: columns of names or ids, which "
                "give one category each, should be removed from the graphs"
            )
        return text + "\n"

    @classmethod
    def _of_text(  # type: ignore[override]
        cls, text: str, name: str, *, unseen: Unseen | None = None, missing: Missing | None = None
    ) -> Self:
        state = _saved_state(text, cls.__name__, name)
        try:
            fitted = dict(state["fitted"])
            fitted |= {key: int(fitted[key]) for key in ("node_width", "edge_width", "seed")}
            params = dict(state["params"])
            params |= {law: _law(params[law]) for law in LAWS & params.keys()}
            encoder = AttributeEncoder.from_config(state["encoder"]).with_policies(unseen, missing)
            if (encoder.node_width, encoder.edge_width) != (fitted["node_width"], fitted["edge_width"]):
                raise ValueError("the columns of the encoder do not make up the widths")
            loaded = cls(**{**params, "unseen": encoder.unseen, "missing": encoder.missing})
            loaded.encoder_, loaded.errors_ = encoder, []
            loaded._fit(loaded._settings(), fitted, None, None)
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{name} is damaged: {error}") from None
        return loaded

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.non_deterministic = False
        return tags

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def _fit_samples(self, X: Any, y: Any, on_error: OnError | None = None) -> Collection:
        """Fit on graphs, with the policy of the call, and return them encoded."""
        settings = self._settings()
        encoder = AttributeEncoder(unseen=settings["unseen"], missing=settings["missing"])
        encoder, found = fit_encode(X, encoder, on_error or settings["on_error"])
        fitted = {"node_width": encoder.node_width, "edge_width": encoder.edge_width}
        self.encoder_, self.errors_ = encoder, found.errors
        self._fit(settings, {**fitted, "seed": draw_seed(self.random_state)}, found, y)
        return found

    @abstractmethod
    def _fit(self, settings: Settings, fitted: Settings, samples: Collection | None, y: Any) -> None:
        """Fix the features by way of `_fix`; without graphs, from what `_fitted_state` returned."""

    def _fitted_state(self) -> dict[str, Any]:
        return {"node_width": self.node_width_, "edge_width": self.edge_width_, "seed": self.seed_}

    @abstractmethod
    def _precision(self) -> dict[str, Any]:
        """Return what `grnf.metric.distance` must know of the features for its error bars."""

    def _batch(self, graphs: Any) -> GraphBatch:
        check_is_fitted(self)
        return encode(graphs, self.encoder_).batch

    def _vectors(self, graphs: Any) -> FloatArray:
        return self._embedder(self._batch(graphs))

    def _settings(self) -> dict[str, Any]:
        """Return the parameters, checked, with the laws that they stand for."""
        settings = checked_parameters(self, self._rules)
        for name in LAWS & settings.keys():
            if settings[name] is not None:
                law = parameter_law(settings[name], settings["hidden_channels"], name, settings["stratified"])
                settings[name] = law
        return settings

    def _feature_map(
        self,
        settings: Settings,
        n_components: int,
        seed: int,
        proposal: ParameterLaw | None = None,
        **more: Any,
    ) -> FeatureMap:
        """Return the map that the parameters which all transformers have ask for."""
        return FeatureMap(
            settings["orders"],
            proposal or settings["orders"],
            n_components,
            seed,
            hidden_activation=ACTIVATIONS[settings["hidden_activation"]],
            activation=ACTIVATIONS[settings["activation"]],
            dtype=DTYPES[settings["dtype"]],
            **{name: settings[name] for name in MAP_PARAMETERS},
            **more,
        )

    def _fix(self, features: FeatureMap, settings: Settings, fitted: Settings) -> None:
        self.node_width_, self.edge_width_ = fitted["node_width"], fitted["edge_width"]
        self.n_components_, self.seed_ = features.n_components, fitted["seed"]
        self.proposal_law_, self._map = features.proposal, features
        self._embedder = Embedder(features, schedule_of(settings))


def schedule_of(settings: Settings) -> Schedule:
    """Return how the parameters which all transformers have want the work to be done."""
    return Schedule(settings["max_memory"], settings["n_jobs"])


def plain_params(transformer: Any) -> dict[str, Any]:
    """Return the parameters of a transformer with distributions as plain values."""
    params: dict[str, Any] = transformer.get_params(deep=False)
    for name in LAWS & {name for name, value in params.items() if value is not None}:
        law = params[name]
        if isinstance(law, ParameterLaw):
            params[name] = {"law": "parameters", **law.to_config()}
        else:
            params[name] = ParameterLaw(law).to_config()["orders"]
    return params


def parsed(text: str, name: str) -> Any:
    """Return what JSON holds, or raise a ValueError if it is too large, or not JSON."""
    if len(text) > LARGEST:
        raise ValueError(f"{name} is too large for a saved transformer")
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{name} is not JSON: {error}") from None


def _saved_state(text: str, kind: str, name: str) -> dict[str, Any]:
    """Return the state of a transformer of that class."""
    state = parsed(text, name)
    if isinstance(state, dict) and state.get("format") in EMBEDDINGS:
        state = state.get("transformer")
    if not isinstance(state, dict) or state.get("format") != FORMAT:
        raise ValueError(f"{name} is not a saved transformer: its 'format' is not {FORMAT!r}")
    if state.get("version") != VERSION:
        raise ValueError(
            f"{name} has version {state.get('version')!r} of the format; this release reads {VERSION}. "
            "Fit and save the transformer again"
        )
    found = state.get("kind", DEFAULT_KIND)
    if found != kind:
        raise ValueError(f"{name} holds a {found}, not a {kind}: load it with {found}.load")
    return state


def _law(config: Mapping[str, Any] | None) -> OrderLaw | ParameterLaw | None:
    if config is None:
        return None
    if config.get("law") == "parameters":
        return ParameterLaw.from_config(config)
    return OrderLaw.from_config(config)


def _plain(value: Any) -> Any:
    """Turn numpy numbers into what JSON has."""
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"cannot save a parameter of type {type(value).__name__}")
