"""GRNF and what it shares with other transformers of graphs: parameters, fitting, distances, saving."""

from __future__ import annotations

import json
import os
import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from typing import Any, Literal, Self, TypeAlias

import numpy as np
from numba.core.errors import NumbaError
from sklearn.utils._set_output import _get_output_config, _wrap_data_with_container
from sklearn.utils.validation import check_is_fitted

from grnf._utils.estimator import GraphEstimator
from grnf._utils.files import atomic_write
from grnf._utils.random import SEED_RULES, draw_seed
from grnf._utils.rules import Bool, Instance, Int, MemorySize, OneOf, Real, checked, checked_parameters, param
from grnf._utils.saved import COUNT, NUMBER, OBJECT, TEXT, TEXTS, check_version, damaged, parse_json, validate
from grnf.activations import ACTIVATIONS, Activation
from grnf.collection import NAN_ON_ERROR, Collection, encode, fit_encode
from grnf.engine import Schedule
from grnf.errors import GrnfWarning, invalid
from grnf.estimators.streams import embed_stream
from grnf.features import Embedder, FeatureMap, HiddenSums, affordable_orders
from grnf.graphs import GraphBatch, null_graph
from grnf.io.encode import HANDLE_MISSING, HANDLE_UNKNOWN, AttributeEncoder
from grnf.law import OrderLaw, ParameterLaw
from grnf.law.parameters import LAW_RULES, Draw, Law, parameter_law
from grnf.law.weights import largest_ratio
from grnf.metric import (
    DistanceEstimate,
    KernelEstimate,
    distance,
    kernel_estimate,
    pairwise_distances,
    pairwise_kernels,
    required_dimension,
    truncation_bias,
)
from grnf.metric.bounds import theorem_1
from grnf.metric.exact import ExactMetric, upper_bounds
from grnf.metric.marginal import marginal_estimate, streamed_kernel
from grnf.metric.quasi import quasi_distances
from grnf.symmetry import compare_graphs
from grnf.typing import FloatArray, HandleMissing, HandleUnknown, IntArray, OnError

DTYPES: dict[str, type[np.floating[Any]]] = {"float32": np.float32, "float64": np.float64}
MAP_PARAMETERS = ("basis", "adjacency_channel", "normalize", "center")
"""Parameters that the feature map has under the same names."""
LAWS = {"orders", "proposal"}
"""Parameters that are distributions."""
ACTIVATION_RULES = OneOf(*ACTIVATIONS), Instance("a grnf.Activation", Activation)
THREADS = Int(1), Int(high=-1), OneOf(None)
"""Rules of `n_jobs`."""

FORMAT, VERSION = "grnf-transformer", 4
EMBEDDINGS = ("grnf-embedding", "grnf-shards")
"""Formats of the files next to vectors, which hold the transformer that made them."""
DEFAULT_KIND = "GRNF"
"""The class of a saved transformer that does not name its own."""
LARGEST = 32_000_000
"""Characters of a saved transformer."""
Settings: TypeAlias = Mapping[str, Any]

COLUMNS = [{"name": TEXT, "width?": Int(0, 2**20), "categories?": Instance("a list", list)}]
ENCODER = {
    "handle_unknown": HANDLE_UNKNOWN, "handle_missing": HANDLE_MISSING, "node": COLUMNS, "edge": COLUMNS,
    "keys?": [[Int(0, 2**64 - 1)]],
}  # fmt: skip
SCHEMA = {
    "params": OBJECT,
    "fitted": {
        "node_width": COUNT, "edge_width": COUNT, "seed": Int(0), "kept_orders?": [Int(1)],
        "chosen?": [COUNT], "weights?": [NUMBER], "radius?": NUMBER, "dropped?": NUMBER, "axes?": [TEXTS],
    },
    "encoder": ENCODER,
}  # fmt: skip
"""The schema of a saved transformer. The rules of its parameters check `params`."""
UNUSABLE = (AttributeError, IndexError, KeyError, NumbaError, OverflowError, TypeError, ValueError)
"""What values of the right types that do not fit together raise."""


class Saved:
    """Objects with `to_json`, and with `from_json`, which makes such an object from that text."""

    def to_json(self) -> str:
        """Return the fitted object as JSON, from which `from_json` makes the same object.

        It holds the settings, the attributes of graphs, and the seed from which all coefficients follow.

        Returns
        -------
        str
        """
        raise NotImplementedError

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted object to a small JSON file that `load` reads.

        Parameters
        ----------
        path : path
            Name of the file, such as "grnf.json".
        """
        text = self.to_json()
        with atomic_write(path) as file:
            file.write(text)

    @classmethod
    def load(cls, path: str | os.PathLike[str], **policies: Any) -> Self:
        """Read what `save` wrote: a fitted object that gives the same vectors.

        Parameters
        ----------
        path : path
            The file that `save` wrote. It is checked, and nothing is unpickled.
        **policies : str, optional
            `handle_unknown` and `handle_missing` of a `GRNF`, instead of the saved ones.

        Returns
        -------
        fitted transformer
        """
        with open(path, encoding="utf-8") as file:
            try:
                text = file.read(LARGEST + 1)
            except UnicodeDecodeError as error:
                raise damaged(f"invalid JSON: {error}", path) from None
        return cls.from_json(text, os.fspath(path), **policies)

    @classmethod
    def from_json(cls, text: str, name: str = "the text", **policies: Any) -> Self:
        """Make the fitted transformer that `to_json` described.

        Parameters
        ----------
        text : str
        name : str, default="the text"
            What errors call the text.
        **policies : str, optional
            As in `load`.

        Returns
        -------
        fitted transformer
        """
        raise NotImplementedError


class GraphsToVectors(GraphEstimator):
    """What transformers and models share: `embed` returns vectors with a report, `transform` without."""

    embed: Callable[..., Collection]

    def transform(self, X: Any) -> FloatArray:
        """Return the vectors of graphs, with the index of X if it has one."""
        return with_index(self, self.embed(X))


@dataclass(eq=False, repr=False, kw_only=True)
class GraphTransformer(Saved, GraphsToVectors):
    """The base of transformers from graphs to vectors, which fix `_embedder` in their `_fit`.

    Examples
    --------
    >>> from grnf import GRNF
    >>> grnf = GRNF(64, random_state=0).fit(["CCO", "CCN"])
    >>> grnf.fit_transform(["CCO", "CCN"]).shape, grnf.transform(["CCCl"]).shape  # a new atom
    ((2, 64), (1, 64))
    >>> grnf.get_feature_names_out()[:2].tolist()
    ['grnf0', 'grnf1']
    >>> collection = grnf.embed(["CCO", "not a graph", "C"], on_error="skip")
    >>> collection.vectors.shape, collection.rows, [row for row, _ in collection.errors]
    ((2, 64), array([0, 2]), [1])
    >>> stream = (molecule for molecule in ["C", "CC", "CCC"])
    >>> [Z.shape for Z in grnf.transform_blocks(stream, block_size=2)]
    [(2, 64), (1, 64)]
    >>> import tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp()) / "grnf.json"
    >>> grnf.save(path)
    >>> loaded = GRNF.load(path, handle_missing="zero")
    >>> text = grnf.to_json()  # for a database or a message
    >>> bool((GRNF.from_json(text).transform(["CCO"]) == loaded.transform(["CCO"])).all())
    True
    """

    handle_unknown: HandleUnknown = param("open", HANDLE_UNKNOWN)
    handle_missing: HandleMissing = param("error", HANDLE_MISSING)
    on_error: OnError = param("raise", NAN_ON_ERROR)

    encoder_: AttributeEncoder = field(init=False)
    n_components_: int = field(init=False)
    _embedder: Any = field(init=False)
    """A function from a `GraphBatch` to vectors."""

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: D102
        self._fit_samples(X, y)
        return self

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> FloatArray:  # noqa: ARG002, D102
        samples = self._fit_samples(X, y).embed(self._embedder, self.n_components_, self._dtype)
        self.errors_ = samples.errors
        return with_index(self, samples)

    def embed(
        self,
        X: Any,
        *,
        on_error: OnError | None = None,
        handle_unknown: HandleUnknown | None = None,
        handle_missing: HandleMissing | None = None,
    ) -> Collection:
        """Embed graphs, and report which samples could not be used, and why.

        Parameters
        ----------
        X : collection of graphs, as in `fit`
        on_error : "raise", "nan" or "skip", optional
            Policy of this call. "skip" leaves bad graphs out. None: that of the transformer.
        handle_unknown, handle_missing : optional
            Policies of this call, instead of those of the transformer.

        Returns
        -------
        Collection
            `vectors`, the `rows` of X that they belong to, and `errors`, the rows and reasons of bad graphs.
        """
        check_is_fitted(self)
        encoder = self.encoder_.with_policies(handle_unknown, handle_missing)
        samples = encode(X, encoder, self.on_error if on_error is None else on_error)
        return replace(samples.embed(self._embedder, self.n_components_, self._dtype), transformer=self)

    def transform_blocks(self, X: Iterable[Any], block_size: int = 1024) -> Iterator[FloatArray]:
        """Embed a stream of graphs, yielding the vectors of `block_size` graphs at a time.

        Only one block is in memory at a time. `grnf.estimators.embed_stream` yields ids, labels and bad
        graphs too.

        Parameters
        ----------
        X : iterable of graphs
            Read only as far as needed, for example ``grnf.io.read_graphs(path)``.
        block_size : int, default=1024
            Graphs in a block.

        Yields
        ------
        array, shape (block_size, n_components_)
            The last one may have fewer rows.
        """
        check_is_fitted(self)
        for block, _ in embed_stream(self, X, block_size=block_size):
            yield _wrap_data_with_container("transform", block.Z, None, self)

    def to_json(self) -> str:
        """Return the fitted transformer as JSON, from which `from_json` makes the same transformer."""
        check_is_fitted(self)
        kind, params = type(self).__name__, plain_params(self)
        state = {
            "format": FORMAT,
            "version": VERSION,
            **({} if kind == DEFAULT_KIND else {"kind": kind}),
            "params": {**params, **({"random_state": self.seed_} if "random_state" in params else {})},
            "fitted": self._fitted_state(),
            "encoder": self.encoder_.to_config(),
        }
        text = json.dumps(state, indent=2, default=_plain)
        if len(text) >= LARGEST:
            cure = "Remove columns of names or ids from the graphs: each value is a category"
            raise invalid("the settings", f"have at most {LARGEST} characters", str(len(text)), cure)
        return text + "\n"

    @classmethod
    def from_json(cls, text: str, name: str = "the text", **policies: Any) -> Self:  # noqa: D102
        state = _saved_state(text, cls.__name__, name)
        validate(state, SCHEMA, name)
        try:
            fitted, params = state["fitted"], dict(state["params"])
            params |= {law: _law(params[law]) for law in LAWS & params.keys()}
            encoder = AttributeEncoder.from_config(state["encoder"]).with_policies(**policies)
            if (encoder.node_width, encoder.edge_width) != (fitted["node_width"], fitted["edge_width"]):
                raise ValueError("the columns of the encoder do not make up the widths")
            params |= {"handle_unknown": encoder.handle_unknown, "handle_missing": encoder.handle_missing}
            loaded = cls(**params)
            loaded._fit_encoded(encoder, fitted, None, None)
        except UNUSABLE as error:
            raise damaged(str(error), name) from None
        return loaded

    def _column_counts(self) -> dict[str, int]:
        return {type(self).__name__.lower(): self.n_components_}

    def _fit_samples(self, X: Any, y: Any, on_error: OnError | None = None) -> Collection:
        """Fit on graphs, with the policy of the call, and return them encoded."""
        settings = self._settings()
        encoder = AttributeEncoder(
            handle_unknown=settings["handle_unknown"], handle_missing=settings["handle_missing"]
        )
        encoder, samples = fit_encode(X, encoder, on_error or settings["on_error"])
        self._fit_encoded(encoder, {"seed": draw_seed(getattr(self, "random_state", 0))}, samples, y)
        return samples

    def _fit_encoded(
        self, encoder: AttributeEncoder, fitted: Settings, samples: Collection | None, y: Any
    ) -> None:
        """Fit on encoded graphs. Without graphs, use what `_fitted_state` returned."""
        self.encoder_, self.errors_ = encoder, [] if samples is None else samples.errors
        self.node_width_, self.edge_width_ = encoder.node_width, encoder.edge_width
        self.seed_: int = fitted["seed"]
        self._dtype: type[np.floating[Any]] = np.float32
        self._fit(self._settings(), fitted, samples, y)

    @abstractmethod
    def _fit(self, settings: Settings, fitted: Settings, samples: Collection | None, y: Any) -> None:
        """Set `_embedder` and `n_components_`, without graphs from what `_fitted_state` returned."""

    def _fitted_state(self) -> dict[str, Any]:
        return {"node_width": self.node_width_, "edge_width": self.edge_width_, "seed": self.seed_}

    def _batch(self, graphs: Any) -> GraphBatch:
        check_is_fitted(self)
        return encode(graphs, self.encoder_).batch

    def _vectors(self, graphs: Any) -> FloatArray:
        batch = self._batch(graphs)  # first, since it checks that there is an embedder
        return self._embedder(batch)  # type: ignore[no-any-return]

    def _settings(self) -> dict[str, Any]:
        """Return the parameters, checked, with distributions as `ParameterLaw`."""
        settings = checked_parameters(self)
        for name in LAWS & settings.keys():
            if settings[name] is not None:
                settings[name] = parameter_law(
                    settings[name], settings["hidden_channels"], name, settings["stratified"]
                )
        return settings


@dataclass(eq=False, repr=False, kw_only=True)
class FeatureTransformer(GraphTransformer):
    """The base of `GRNF` and `ReweightedGRNF`, which fix `_map`, the features, in their `fit`.

    Examples
    --------
    >>> from grnf import GRNF, Graph
    >>> graphs = [Graph(3, []), Graph(3, [(0, 1)])]
    >>> grnf = GRNF(64, random_state=0, center=False).fit(graphs)
    >>> print(f"{grnf.distance(*graphs):.2f}, {grnf.kernel(*graphs):.2f}")
    0.19 ± 0.02, 0.05 ± 0.02
    >>> grnf.pairwise_distances(graphs, exact=True).round(3), grnf.pairwise_kernels(graphs).shape
    (array([[0.   , 0.258],
           [0.258, 0.   ]]), (2, 2))
    >>> Z = grnf.transform(graphs) - grnf.null_vector()  # as with center=True
    """

    orders: Law = param((2 / 3, 1 / 3), *LAW_RULES)
    stratified: bool = param(False, Bool())
    hidden_channels: int = param(4, Int(1))
    hidden_activation: str | Activation = param("relu", *ACTIVATION_RULES)
    activation: str | Activation = param("tanh", *ACTIVATION_RULES)
    basis: str = param("indicator", OneOf("indicator", "overlapping"))
    adjacency_channel: bool = param(True, Bool())
    normalize: bool = param(True, Bool())
    center: bool = param(True, Bool())
    dtype: str = param("float32", OneOf(*DTYPES))
    random_state: Any = param(None, *SEED_RULES)
    n_jobs: int | None = param(None, *THREADS)
    max_memory: int | str = param("1GB", MemorySize())

    _embedder: Embedder = field(init=False)

    def distance(self, g1: Any, g2: Any) -> DistanceEstimate:
        """Estimate d_P between two graphs of any kind, with error bars.

        Parameters
        ----------
        g1, g2 : graphs
            Of any kind that `fit` takes.

        Returns
        -------
        DistanceEstimate
        """
        return distance(*self._vectors([g1, g2]), **self._precision())

    def kernel(self, g1: Any, g2: Any) -> KernelEstimate:
        """Estimate kappa_P between two graphs of any kind, with error bars.

        Parameters
        ----------
        g1, g2 : graphs
            Of any kind that `fit` takes.

        Returns
        -------
        KernelEstimate
        """
        z1, z2 = self._vectors([g1, g2]) - (0.0 if self.center else self.null_vector())
        return kernel_estimate(z1, z2, **self._precision())

    def pairwise_distances(self, X: Any, Y: Any = None, *, exact: bool = False) -> FloatArray:
        """Estimate d_P between all graphs of X, or between those of X and of Y.

        Parameters
        ----------
        X : collection of graphs, as in `fit`
        Y : collection of graphs, optional
            By default X.
        exact : bool, default=False
            Compute the distances of infinitely many hidden channels instead, without sampling. Those of a
            `ReweightedGRNF` have no sampling error anyway.

        Returns
        -------
        array, shape (n1, n2)
        """
        metric = self._exact_metric() if exact else None
        if metric is not None:
            return np.sqrt(metric.squared_distances(*self._sides(self._batch, X, Y)))
        return pairwise_distances(*self._sides(self._vectors, X, Y))

    def pairwise_kernels(self, X: Any, Y: Any = None, *, exact: bool = False) -> FloatArray:
        """Estimate kappa_P between all graphs of X, or between those of X and of Y.

        Parameters
        ----------
        X : collection of graphs, as in `fit`
        Y : collection of graphs, optional
            By default X.
        exact : bool, default=False
            Compute the kernel of infinitely many hidden channels instead, as in `pairwise_distances`.

        Returns
        -------
        array, shape (n1, n2)
        """
        metric = self._exact_metric() if exact else None
        if metric is not None:
            return metric.kernel(*self._sides(self._batch, X, Y))
        null = None if self.center else self.null_vector()
        return pairwise_kernels(*self._sides(self._vectors, X, Y), null=null)

    def _exact_metric(self) -> ExactMetric | None:
        """Return what computes distances without sampling, or None if `distance` does so."""
        return ExactMetric.of_map(self._map)

    def _sides(self, function: Callable[[Any], Any], X: Any, Y: Any) -> tuple[Any, Any]:
        return function(X), None if Y is None else function(Y)

    @property
    def random_weights_(self) -> Draw:
        """The parameters w_m of the features, drawn again from the seed with every access.

        Those of an open vocabulary are not included, since they are drawn when a category occurs.
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
        """Why Theorem 1 applies, or why not."""
        return self._theorem_1()[1]

    def _theorem_1(self) -> tuple[bool, str]:
        check_is_fitted(self)
        return theorem_1(self._map, len(self.encoder_.edge_schema_.columns))

    def null_vector(self) -> FloatArray:
        """Return z(0), the vector of the null graph: zeros if `center`.

        Returns
        -------
        array, shape (n_components_,)
        """
        check_is_fitted(self)
        null = GraphBatch.from_graphs([null_graph(self.node_width_, self.edge_width_)])  # whatever its keys
        return np.asarray(Embedder(self._map, self._embedder.schedule)(null)[0])

    @abstractmethod
    def _precision(self) -> dict[str, Any]:
        """Return the arguments of `grnf.metric.distance` for its error bars."""

    def _feature_map(
        self,
        settings: Settings,
        n_components: int,
        seed: int,
        proposal: ParameterLaw | None = None,
        **more: Any,
    ) -> FeatureMap:
        """Return the map of the parameters that all transformers have."""
        same = {name: settings[name] for name in MAP_PARAMETERS}
        for name in ("hidden_activation", "activation"):
            rho = settings[name]
            same[name] = rho if isinstance(rho, Activation) else ACTIVATIONS[rho]
        law, dtype = settings["orders"], DTYPES[settings["dtype"]]
        return FeatureMap(law, proposal or law, n_components, seed, dtype=dtype, **same, **more)

    def _fix(self, features: FeatureMap, settings: Settings) -> None:
        self.n_components_ = features.n_components
        self.proposal_law_, self._map, self._dtype = features.proposal, features, features.dtype
        self._embedder = Embedder(features, schedule_of(settings))


def with_index(estimator: Any, samples: Collection) -> FloatArray:
    """Return vectors, as a dataframe with the index of the graphs if `set_output` asks for pandas."""
    if samples.index is None or _get_output_config("transform", estimator)["dense"] != "pandas":
        return samples.vectors
    import pandas as pd  # type: ignore[import-untyped, unused-ignore]

    return pd.DataFrame(samples.vectors, index=pd.Index(samples.index))  # type: ignore[no-any-return]


def schedule_of(settings: Settings) -> Schedule:
    """Return the bounds of memory and threads."""
    return Schedule(settings["max_memory"], settings["n_jobs"])


def plain_params(transformer: Any) -> dict[str, Any]:
    """Return the parameters of a transformer with distributions and activations as plain values."""
    params: dict[str, Any] = transformer.get_params(deep=False)
    for name in ("hidden_activation", "activation"):
        if isinstance(params.get(name), Activation):
            if ACTIVATIONS.get(params[name].name) != params[name]:
                raise ValueError(
                    f"{name}={params[name].name} cannot be saved, because a file holds only the names of "
                    "built-in activations. Use one of these, or pickle the transformer"
                )
            params[name] = params[name].name
    for name in LAWS & params.keys():
        law = params[name]
        if isinstance(law, ParameterLaw):
            params[name] = {"law": "parameters", **law.to_config()}
        elif law is not None:
            params[name] = ParameterLaw(law).to_config()["orders"]
    return params


def parsed(text: str, name: str) -> Any:
    """Return the content of JSON, or raise a ValueError if it is too large or invalid."""
    if len(text) > LARGEST:
        raise ValueError(f"{name} is too large for a saved transformer")
    return parse_json(text, name)


def _saved_state(text: str, kind: str, name: str) -> dict[str, Any]:
    """Return the state of a transformer of that class."""
    state = parsed(text, name)
    if isinstance(state, dict) and state.get("format") in EMBEDDINGS:
        state = state.get("transformer")
    state = check_version(state, FORMAT, VERSION, "a saved transformer", name)
    saved = state.get("kind", DEFAULT_KIND)
    if saved != kind:
        raise ValueError(f"{name} holds a {saved}, not a {kind}: load it with {saved}.load")
    return state


def _law(config: Mapping[str, Any] | None) -> OrderLaw | ParameterLaw | None:
    if config is None:
        return None
    return (ParameterLaw if config.get("law") == "parameters" else OrderLaw).from_config(config)


def _plain(value: Any) -> Any:
    """Turn numpy numbers into what JSON has."""
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"cannot save a parameter of type {type(value).__name__}")


ZERO, MOST_COMPARED = 1e-6, 100
"""Distance that rounding can cause, and nodes up to which graphs at this distance are compared."""
COLLAPSED = 0.1
"""Effective sample size, as a share of M, below which `fit` warns."""

HIGHEST = 64
"""The highest order of a proposal that is considered."""


@dataclass(eq=False, repr=False)
class GRNF(FeatureTransformer):
    """Graph Random Neural Features (GRNF): a transformer from graphs to vectors.

    The vector of a graph is z(g) = M^(-1/2) [psi(g; w_1), ..., psi(g; w_M)], with w_m drawn from P. Each
    feature psi is a random graph neural network of hidden order k, invariant under permutations of the
    nodes. |z(g1) - z(g2)|^2 is an unbiased estimate of d_P(g1, g2)^2, and z(g1) . z(g2) of the kernel
    kappa_P. Nothing is trained: `fit` learns only which attributes nodes and edges have. Graphs may be of any
    kind that `grnf.io.to_raw` accepts: networkx, PyTorch Geometric, adjacency matrices, SMILES and others.

    Parameters
    ----------
    n_components : int or "auto", default=512
        M, the number of features. "auto" takes it from `eps` and `delta` by Hoeffding's inequality, for the
        independent terms: with R heads it is R times as many.
    orders : tuple, dict from order to probability, or distribution, default=(2/3, 1/3)
        P: the probabilities of the hidden orders k = 1, 2, .., or those in a dict, or a distribution of
        `grnf.law`: of k, or of all parameters. Order k sees patterns of k nodes; order 3 distinguishes two
        triangles from a 6-cycle.
    proposal : dict or distribution, optional
        P-bar, from which features are drawn and then weighted by sqrt(p / p-bar). None: the target itself
        (the plain map). ``law.restricted_to({1, 2})`` gives the bounded-order map.
    heads : int, default=1
        R: the M features are M / R hidden samples (k, theta_F) with R output heads (theta_H, theta_0) each.
        Hidden sums take most of the time, so 4 to 16 heads give more precise distances in the same time.
        `n_components` must be a multiple. Estimates stay unbiased; error bars count hidden samples.
    stratified : bool, default=False
        Spread the orders evenly over the features instead of drawing each independently.
    hidden_channels : int, default=4
        F_h.
    hidden_activation : "relu", "ramp", "sigmoid", "tanh", "erf" or "identity", default="relu"
        rho_e. Theorem 1 holds for all of them but identity.
    activation : same choice, default="tanh"
        rho_i. Bounded ones give error bounds.
    basis : "indicator" or "overlapping", default="indicator"
        Basis of the equivariant maps: the paper's, or the authors' code.
    adjacency_channel : bool, default=True
        Keep the adjacency as an edge channel in addition to edge attributes, so that an edge with attribute 0
        is still an edge. False is the paper's literal tensor.
    normalize : bool, default=True
        Use means instead of sums over nodes. False is the paper's literal definition.
    center : bool, default=True
        Subtract the vector of the null graph, so that products estimate the kernel.
    eps : float, optional
        Accepted error of squared distances, for ``n_components="auto"``.
    delta : float, default=0.05
        Accepted probability of a larger error, for ``n_components="auto"``.
    dtype : "float32" or "float64", default="float32"
        Of the arithmetic and of the vectors.
    random_state : int, numpy Generator or RandomState, optional
    n_jobs : int, optional
        Number of threads; None is 1 unless in a `joblib.parallel_config`, -1 is all cores.
    handle_unknown : "open", "error" or "ignore", default="open"
        "open": every category (such as an atom symbol) is a channel of its own, whose coefficients follow
        from its name and the seed, so it does not matter which ones were there in `fit`. The others close the
        vocabulary in `fit`: a new category is then an error, or has zeros in all channels.
    handle_missing : "error" or "zero", default="error"
        What to do if nodes, edges or graphs lack an attribute that others have; "zero" fills with zeros.
    on_error : "raise" or "nan", default="raise"
        What to do about a graph that cannot be used: raise an error that names it, or return a row of NaN.
        With "nan", `fit` leaves bad graphs out; `errors_` has their rows and reasons. To leave rows out of
        the result, use ``embed(X, on_error="skip")``.
    max_seconds_per_graph : float, optional
        Most time for all features of a graph, as `fit` estimates it for one thread. The highest orders are
        left out until the time suffices (the bounded-order map), with a warning. Squared distances are then
        low by at most `truncation_bias_`. None: all orders are used, and a warning announces very long work.
    max_memory : int or str, default="1GB"
        Bytes used in addition to the graphs and their vectors, as a number or text like "500MB".

    Attributes
    ----------
    encoder_ : grnf.io.AttributeEncoder
        Which attributes of nodes and edges are used, in which order, and their categories.
    errors_ : list of (int, str)
        Row and reason of each bad graph of `fit` or `fit_transform`. No other call changes the transformer;
        `embed` returns vectors and reasons together.
    n_components_ : int
        M.
    seed_ : int
        Defines all random features; the first 512 of M = 10,000 are those of M = 512.
    node_width_, edge_width_ : int
        Numbers of node and edge attributes seen in `fit`; categories of an open vocabulary are not counted.
    target_law_, proposal_law_ : ParameterLaw
        P and P-bar.
    ess_ : float
        Effective sample size (sum w)^2 / sum w^2 of the weights w = p / p-bar: M if p-bar = p. `fit` warns
        if it is below a tenth of M.

    Examples
    --------
    >>> from grnf import GRNF, Graph
    >>> triangle = Graph(3, [(0, 1), (1, 2), (2, 0)])
    >>> path = Graph(3, [(0, 1), (1, 2)])
    >>> grnf = GRNF(n_components=256, random_state=0).fit([triangle, path])
    >>> grnf.transform([triangle, path]).shape
    (2, 256)
    >>> bool(grnf.distance(triangle, triangle.permuted([2, 0, 1])).value < 1e-6)
    True
    >>> more = grnf.features([path], 256, 512)  # the next features
    >>> from grnf.metric import marginal_distance
    >>> D = marginal_distance(grnf.hidden_sums([triangle, path]))
    >>> [len(chunk) for chunk in grnf.hidden_sums_chunks([triangle, path])]  # graphs in each
    [2]
    >>> grnf.marginal_kernel([triangle, path]).shape
    (2, 2)
    >>> GRNF(n_components=-1).check_params()
    Traceback (most recent call last):
    ...
    ValueError: ...
    """

    n_components: int | Literal["auto"] = param(
        512, Int(1), OneOf("auto"), "required_dimension of grnf.metric takes it from an error"
    )
    _: KW_ONLY
    proposal: Law | None = param(None, *LAW_RULES, OneOf(None))
    heads: int = param(1, Int(1))
    eps: float | None = param(None, Real(), OneOf(None))
    delta: float = param(0.05, Real(1))
    max_seconds_per_graph: float | None = param(None, Real(), OneOf(None))

    def distance(
        self,
        g1: Any,
        g2: Any,
        *,
        exact: bool = False,
        precision: Literal["features", "marginal", "quasi"] = "features",
    ) -> DistanceEstimate:
        """Estimate d_P between two graphs of any kind, with its standard error.

        A `GrnfWarning` states if the distance is 0 and the graphs, of up to 100 nodes, are not isomorphic.

        Parameters
        ----------
        g1, g2 : graphs
            Of any kind that `fit` takes.
        exact : bool, default=False
            Compute the distance of infinitely many hidden channels instead, without sampling; see
            `grnf.metric.exact_distances`. Orders above 3 are left out.
        precision : "features", "marginal" or "quasi", default="features"
            How d_P is estimated. "features": from the vectors. "marginal": theta_H and theta_0 integrated
            out, see `grnf.metric.marginal_distance`. "quasi": in addition, theta_F by quasi-Monte Carlo with
            control variates, with about a tenth of the variance of "marginal" at 1,024 hidden samples.

        Returns
        -------
        DistanceEstimate

        Examples
        --------
        >>> from grnf import GRNF, Graph
        >>> path, star = Graph(4, [(0, 1), (1, 2), (2, 3)]), Graph(4, [(0, 1), (0, 2), (0, 3)])
        >>> grnf = GRNF(512, random_state=0).fit([path, star])
        >>> for precision in ("features", "marginal", "quasi"):
        ...     print(f"{grnf.distance(path, star, precision=precision):.4f}")
        0.0415 ± 0.0044
        0.0384 ± 0.0014
        0.0360 ± 0.0004
        >>> print(f"{grnf.distance(path, star, exact=True):.4f}")
        0.0339
        """
        checked(precision, "precision", OneOf("features", "marginal", "quasi"))
        if exact or precision == "quasi":
            metric, pair = ExactMetric.of_map(self._map), (self._batch([g1]), self._batch([g2]))
            if exact:
                squared = float(metric.squared_distances(*pair)[0, 0])
                upper = partial(float, squared + metric.truncation)
                return DistanceEstimate(squared, 0.0, 1, np.inf, exact=True, upper=upper)
            quasi = quasi_distances(metric, *pair, n_hidden=self._map.n_hidden, seed=self.seed_)
            squared, error = float(quasi.values[0, 0]), float(quasi.standard_errors[0, 0])
            return DistanceEstimate(squared, error, quasi.n_replicates, np.inf)
        if precision == "marginal":
            return marginal_estimate(self.hidden_sums([g1, g2]), self.activation)
        estimate = super().distance(g1, g2)
        if estimate.value < ZERO and self._are_different(g1, g2):
            warnings.warn(
                "the distance is 0, but the graphs are not isomorphic. A larger order, for example "
                "orders={1: 1/3, 2: 1/3, 3: 1/3}, or Individualize may distinguish them",
                GrnfWarning,
                stacklevel=2,
            )
        return replace(estimate, upper=partial(self._upper_bound, g1, g2))

    def _are_different(self, g1: Any, g2: Any) -> bool:
        """Return whether two graphs of at most 100 nodes are certainly not isomorphic."""
        batch = self._batch([g1, g2])
        return batch.sizes.max() <= MOST_COMPARED and compare_graphs(batch[0], batch[1]) == "different"

    def _upper_bound(self, g1: Any, g2: Any) -> float:
        return float(self._upper_bounds([g1], [g2])[0, 0])

    def _upper_bounds(self, X: Any, Y: Any) -> FloatArray:
        """Return what d_P^2 of all pairs is at most, infinite if it is not known."""
        return upper_bounds(self._map, self._batch(X), self._batch(Y))

    def features(self, X: Any, start: int, stop: int) -> FloatArray:
        """Return the features start .. stop - 1 of the sequence whose first M `transform` uses.

        Each is psi (p / p-bar)^(1/2), not divided by M^(1/2): the mean of their squared differences between
        two graphs estimates d_P^2.

        Parameters
        ----------
        X : collection of graphs, as in `fit`
        start, stop : int
            Multiples of `heads`.

        Returns
        -------
        array, shape (n_graphs, stop - start)
        """
        check_is_fitted(self)
        heads = self._map.heads
        start, stop = checked(start, "start", Int(0)), checked(stop, "stop", Int(1))
        if start % heads or stop % heads or stop <= start:
            raise invalid("start < stop", f"be multiples of heads={heads}", f"{start} and {stop}")
        chosen = np.arange(start // heads, stop // heads)
        some = replace(self._map, n_components=stop - start, chosen=chosen)
        Z = Embedder(some, self._embedder.schedule)(self._batch(X))
        return np.asarray(np.sqrt(stop - start) * Z, dtype=np.float64)

    def hidden_sums(self, X: Any) -> HiddenSums:
        """Return the sums U that theta_H multiplies, for every graph and hidden sample.

        They need about the memory of 5 float64 vectors per graph; see also `hidden_sums_chunks`.

        Parameters
        ----------
        X : collection of graphs, as in `fit`

        Returns
        -------
        HiddenSums
            What `grnf.metric.marginal_kernel` and `grnf.metric.marginal_distance` take.
        """
        return HiddenSums.joined(list(self.hidden_sums_chunks(X)))

    def hidden_sums_chunks(self, X: Any) -> Iterator[HiddenSums]:
        """Yield the hidden sums of all graphs, as many hidden samples at a time as `max_memory` allows.

        Parameters
        ----------
        X : collection of graphs, as in `fit`

        Yields
        ------
        HiddenSums
            Of all graphs, and some of the hidden samples.
        """
        return self._embedder.hidden_sums(self._batch(X))

    def marginal_kernel(self, X: Any, Y: Any = None) -> FloatArray:
        """Estimate kappa_P between all graphs with theta_H and theta_0 integrated out, shape (n1, n2).

        See `grnf.metric.marginal_kernel`. It needs `max_memory` in addition to the graphs and the result.

        Parameters
        ----------
        X : collection of graphs, as in `fit`
        Y : collection of graphs, optional
            By default X.

        Returns
        -------
        array, shape (n1, n2)
        """
        first = self._batch(X)
        if Y is None:
            return streamed_kernel(((U, None) for U in self._embedder.hidden_sums(first)), self.activation)
        second = self._batch(Y)
        sides = (
            self._embedder.hidden_sums(own, with_graphs=len(other))
            for own, other in ((first, second), (second, first))
        )
        return streamed_kernel(zip(*sides, strict=True), self.activation)

    @property
    def truncation_bias_(self) -> float:
        """By how much expected squared distances may lie below d_P^2, if the proposal lacks orders."""
        check_is_fitted(self)
        law = self.proposal_law_.orders
        if law.full_support or self.target_law_.orders == law:
            return 0.0
        kept = [k for k in range(1, HIGHEST + 1) if law.probability(k) > 0]
        return truncation_bias(self.target_law_.orders, kept, activation=self.activation)

    @property
    def largest_term_(self) -> float:
        """Bound of each term (psi1 - psi2)^2 p / p-bar of a squared distance; infinite if there is none."""
        check_is_fitted(self)
        return self._map.activation.spread**2 * largest_ratio(self.target_law_, self.proposal_law_)

    def _fitted_state(self) -> dict[str, Any]:
        kept = {} if self._kept_orders is None else {"kept_orders": self._kept_orders}
        return {**super()._fitted_state(), **kept}

    def _precision(self) -> dict[str, Any]:
        return {"activation": self.activation, "largest_term": self.largest_term_, "heads": self._map.heads}

    def check_params(self) -> None:
        """Raise a ValueError if `fit` would refuse the parameters for any graphs.

        Raises
        ------
        ValueError
            With the parameter, the values that it can have, and the value that it has.
        """
        self._planned(self._settings(), 0)

    def _planned(self, settings: Settings, seed: int) -> FeatureMap:
        n_components = settings["n_components"]
        if n_components == "auto":
            if settings["eps"] is None:
                requirement = "be the accepted error of squared distances if n_components='auto'"
                raise invalid("eps", requirement, "None", "Set it, for example eps=0.1")
            risk, activation = settings["delta"], settings["activation"]
            needed = required_dimension(settings["eps"], risk, activation=activation)
            n_components = settings["heads"] * needed
        proposal, heads = settings["proposal"], settings["heads"]
        return self._feature_map(settings, n_components, seed, proposal=proposal, heads=heads)

    def _fit(self, settings: Settings, fitted: Settings, samples: Any, y: Any) -> None:  # noqa: ARG002
        features = self._planned(settings, fitted["seed"])
        kept = fitted.get("kept_orders")
        if samples is not None and settings["max_seconds_per_graph"] is not None:
            kept = affordable_orders(features, samples.batch, settings["max_seconds_per_graph"])
        if kept is not None:
            features = replace(features, proposal=features.proposal.restricted_to(kept))
        self._fix(features, settings)
        self.target_law_, self._kept_orders = features.target, kept
        if samples is not None and kept is not None:
            warnings.warn(
                f"orders above {max(kept)} would take more than max_seconds_per_graph="
                f"{settings['max_seconds_per_graph']:g} and are left out: expected squared distances are low "
                f"by at most {self.truncation_bias_:.3g} (truncation_bias_)",
                GrnfWarning,
                stacklevel=4,
            )
        if features.target.coefficients != features.proposal.coefficients:
            self.encoder_.require_closed("a proposal with other coefficients weighs all of them")
        self.ess_ = self._embedder.effective_sample_size(
            self.encoder_.channels(features.adjacency_channel).all
        )
        if self.ess_ < COLLAPSED * self.n_components_:
            warnings.warn(
                f"the effective sample size of the {self.n_components_} features is {self.ess_:.3g}: the "
                f"proposal {self.proposal_law_!r} is far from the target {self.target_law_!r}. Include the "
                "scale of the target, for example grnf.law.ScaleMixture({1.0: 0.5, 2.0: 0.5}), or its orders",
                GrnfWarning,
                stacklevel=4,
            )
