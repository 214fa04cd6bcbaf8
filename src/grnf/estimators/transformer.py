"""GRNF as a scikit-learn transformer: graphs in, vectors out."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from grnf.activations import get_activation
from grnf.errors import GraphError
from grnf.estimators.inputs import Samples, encoded_samples, first_samples
from grnf.estimators.parameters import Law, memory_size, parameter_law
from grnf.estimators.state import load_state, save_state
from grnf.features import FeatureMap
from grnf.graphs import GraphBatch, null_graph
from grnf.io.encode import AttributeEncoder
from grnf.io.objects import graph_objects
from grnf.law import draw_seed
from grnf.metric import DistanceEstimate, distance, required_dimension
from grnf.metric.bounds import checked_dimension
from grnf.typing import FloatArray

__all__ = ["GRNF"]

DTYPES: dict[str, type[np.floating[Any]]] = {"float32": np.float32, "float64": np.float64}


class GRNF(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Graph Random Neural Features: z(g) = M^(-1/2) [psi(g; w_1) .. psi(g; w_M)], w_m drawn from P.

    Each feature psi is a random graph neural network of hidden order k that is invariant under permutations
    of the nodes. |z(g1) - z(g2)|^2 is an unbiased estimate of d_P(g1, g2)^2, z(g1) . z(g2) of the kernel
    kappa_P. Nothing is trained: `fit` learns only which attributes nodes and edges have. Graphs may be
    of any kind that `grnf.io.to_raw` knows: networkx, PyTorch Geometric, adjacency matrices, SMILES, ...

    Parameters
    ----------
    n_components : int or "auto", default=512
        M, the number of features. "auto" takes it from `eps` and `delta` by Hoeffding's inequality.
    orders : dict from order to probability, or law, default={1: 2/3, 2: 1/3}
        P: the law of the hidden order k, or a whole `grnf.law.ParameterLaw`. Order k sees patterns of k
        nodes; order 3 tells triangles from a 6-cycle.
    proposal : dict or law, optional
        P-bar, from which features are drawn and then weighted by sqrt(p / p-bar). None: the target itself
        (the plain map). ``law.restricted_to({1, 2})`` gives the bounded-order map.
    hidden_channels : int, default=4
        F_h.
    hidden_activation : "relu", "ramp", "sigmoid", "tanh" or "identity", default="relu"
        rho_e. Theorem 1 asks for a squashing one: ramp, sigmoid, tanh.
    activation : same choice, default="tanh"
        rho_i. Bounded ones give error bounds.
    basis : "indicator" or "overlapping", default="indicator"
        Basis of the equivariant maps: the paper's, or the authors' code.
    adjacency_channel : bool, default=True
        Keep the adjacency as an edge channel beside edge attributes, so that an edge with attribute 0 is
        still an edge. False is the paper's literal tensor.
    normalize : bool, default=True
        Means in place of sums over nodes. False is the paper's literal definition.
    center : bool, default=True
        Subtract the vector of the null graph, so that products estimate the kernel.
    eps, delta : float, optional
        Error and risk accepted on squared distances, for ``n_components="auto"``.
    dtype : "float32" or "float64", default="float32"
        Of the arithmetic and of the vectors.
    random_state : int, numpy Generator or RandomState, optional
    n_jobs : int, optional
        Number of threads; None is 1 unless in a `joblib.parallel_config`, -1 is all cores.
    unseen : "error" or "ignore", default="error"
        What `transform` does about a category (such as an atom symbol) that was not there in `fit`; "ignore"
        puts zeros in all columns of the category.
    missing : "error" or "zero", default="error"
        What to do where nodes, edges or graphs lack an attribute that others have; "zero" puts zeros.
    on_error : "raise", "nan" or "skip", default="raise"
        What to do about a sample that cannot be used: raise an error that names it, give it a row of NaN,
        or leave its row out, with a warning. `errors_` has the rows and the reasons. In `fit` bad samples
        are left out.
    max_memory : int or str, default="1GB"
        Bytes that may be used beside the graphs and their vectors, as a number or like "500MB". Work is cut
        into chunks that keep within it.

    Attributes
    ----------
    encoder_ : grnf.io.AttributeEncoder
        Which attributes of nodes and edges are used, in which order, and their categories.
    errors_ : list of (int, str)
        Row and reason of each bad sample of the last `fit` or `transform`.
    n_components_ : int
        M.
    seed_ : int
        Defines all random features; the first 512 of M = 10,000 are those of M = 512.
    node_width_, edge_width_ : int
        Numbers of node and edge attributes seen in `fit`.
    metric_guaranteed_ : bool
        Whether Theorem 1 applies: d_P is 0 for isomorphic graphs only.
    metric_reason_ : str
        Why, or why not.
    target_law_, proposal_law_ : ParameterLaw
        P and P-bar.
    largest_term_ : float
        Bound of each term (psi1 - psi2)^2 p / p-bar of a squared distance; infinite if there is none.

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
    """

    encoder_: AttributeEncoder
    errors_: list[tuple[int, str]]

    def __init__(
        self,
        n_components: int | Literal["auto"] = 512,
        *,
        orders: Law = {1: 2 / 3, 2: 1 / 3},  # noqa: B006 never changed; scikit-learn wants the value itself
        proposal: Law | None = None,
        hidden_channels: int = 4,
        hidden_activation: str = "relu",
        activation: str = "tanh",
        basis: str = "indicator",
        adjacency_channel: bool = True,
        normalize: bool = True,
        center: bool = True,
        eps: float | None = None,
        delta: float | None = None,
        dtype: str = "float32",
        random_state: Any = None,
        n_jobs: int | None = None,
        unseen: Literal["error", "ignore"] = "error",
        missing: Literal["error", "zero"] = "error",
        on_error: Literal["raise", "nan", "skip"] = "raise",
        max_memory: int | str = "1GB",
    ) -> None:
        self.n_components = n_components
        self.orders = orders
        self.proposal = proposal
        self.hidden_channels = hidden_channels
        self.hidden_activation = hidden_activation
        self.activation = activation
        self.basis = basis
        self.adjacency_channel = adjacency_channel
        self.normalize = normalize
        self.center = center
        self.eps = eps
        self.delta = delta
        self.dtype = dtype
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.unseen = unseen
        self.missing = missing
        self.on_error = on_error
        self.max_memory = max_memory

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Learn the attributes of nodes and edges, and fix the random features.

        Parameters
        ----------
        X : collection of graphs
            A list (or another iterable, or a `GraphBatch`) of graphs of any kind that `grnf.io.to_raw`
            knows, mixed or not; an array of adjacency matrices, shape (n_graphs, n, n); or a batch or data
            set of PyTorch Geometric.
        y : ignored
        """
        self._fit_samples(X)
        return self

    def transform(self, X: Any) -> FloatArray:
        """Embed graphs, seen before or not.

        Parameters
        ----------
        X : collection of graphs, as in `fit`

        Returns
        -------
        array, shape (n_graphs, n_components_)
        """
        check_is_fitted(self)
        return self._embedded(encoded_samples(X, self.encoder_, self.on_error))

    def transform_blocks(self, X: Iterable[Any], block_size: int = 1024) -> Iterator[FloatArray]:
        """Embed a stream of graphs, yielding the vectors of `block_size` graphs at a time.

        Only one block of graphs and vectors is held at once, so the stream may be longer than memory.
        `errors_` counts rows from the beginning of the stream.

        Examples
        --------
        >>> from grnf.datasets import make_sbm
        >>> graphs, _ = make_sbm(10, random_state=0)
        >>> grnf = GRNF(8, random_state=0).fit(graphs)
        >>> [Z.shape for Z in grnf.transform_blocks(iter(graphs), block_size=4)]
        [(4, 8), (4, 8), (2, 8)]
        """
        check_is_fitted(self)
        if not isinstance(block_size, (int, np.integer)) or block_size < 1:
            raise ValueError(f"block_size must be an integer >= 1; got {block_size!r}")
        stream = iter(graph_objects(X))
        errors: list[tuple[int, str]] = []
        start = 0
        while block := list(islice(stream, block_size)):
            try:
                Z = self.transform(block)
            except GraphError as error:
                raise GraphError(f"in the block that begins with graph {start}: {error}") from error
            errors += [(start + row, reason) for row, reason in self.errors_]
            self.errors_ = errors
            start += len(block)
            yield Z

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> FloatArray:  # noqa: ARG002
        """Fit, then embed the same graphs."""
        return self._embedded(self._fit_samples(X))

    def distance(self, g1: Any, g2: Any) -> DistanceEstimate:
        """Estimate d_P between two graphs of any kind, with error bars."""
        check_is_fitted(self)
        z1, z2 = self._map(encoded_samples([g1, g2], self.encoder_, "raise").batch)
        return distance(z1, z2, activation=self.activation, largest_term=self.largest_term_)

    def null_vector(self) -> FloatArray:
        """Return z(0), the vector of the null graph: zeros if `center`."""
        check_is_fitted(self)
        null = GraphBatch.from_graphs([null_graph(self.node_width_, self.edge_width_)])
        return np.asarray(self._map(null)[0])

    def with_policies(self, **policies: Any) -> Self:
        """Change what a fitted transformer does about unseen categories and missing attributes."""
        check_is_fitted(self)
        self.set_params(**policies)
        config = {**self.encoder_.to_config(), "unseen": self.unseen, "missing": self.missing}
        self.encoder_ = AttributeEncoder.from_config(config)
        return self

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted transformer as JSON: settings, widths and the seed. No pickle."""
        check_is_fitted(self)
        save_state(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read what `save` wrote: a fitted transformer that gives the same vectors."""
        params, fitted, encoder = load_state(path)
        loaded = cls(**params)._fit(**fitted)
        loaded.encoder_, loaded.errors_ = encoder, []
        return loaded

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.non_deterministic = False
        return tags

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def _fit_samples(self, X: Any) -> Samples:
        policies = AttributeEncoder(unseen=self.unseen, missing=self.missing)
        encoder, samples = first_samples(X, policies, self.on_error)
        self._fit(encoder.node_width, encoder.edge_width, draw_seed(self.random_state))
        self.encoder_, self.errors_ = encoder, samples.errors
        return samples

    def _embedded(self, samples: Samples) -> FloatArray:
        self.errors_ = samples.errors
        Z = samples.embedded(self._map, self.n_components_, DTYPES[self.dtype])
        return samples.container(Z, self)  # type: ignore[no-any-return]

    def _fit(self, node_width: int, edge_width: int, seed: int) -> Self:
        target = parameter_law(self.orders, self.hidden_channels, "orders")
        proposal = target
        if self.proposal is not None:
            proposal = parameter_law(self.proposal, self.hidden_channels, "proposal")
        if self.dtype not in DTYPES:
            raise ValueError(f"dtype must be 'float32' or 'float64'; got {self.dtype!r}")
        feature_map = FeatureMap(
            target,
            proposal,
            self._dimension(),
            seed,
            hidden_activation=get_activation(self.hidden_activation),
            activation=get_activation(self.activation),
            basis=self.basis,
            adjacency_channel=bool(self.adjacency_channel),
            normalize=bool(self.normalize),
            center=bool(self.center),
            dtype=DTYPES[self.dtype],
            max_memory=memory_size(self.max_memory),
            n_jobs=self.n_jobs,
        )
        self.node_width_, self.edge_width_, self.seed_ = node_width, edge_width, seed
        self.n_components_ = feature_map.n_components
        self.target_law_, self.proposal_law_ = target, proposal
        self.metric_guaranteed_, self.metric_reason_ = feature_map.guarantee(edge_width)
        self.largest_term_ = self._largest_term()
        self._map = feature_map
        return self

    def _dimension(self) -> int:
        if self.n_components != "auto":
            return checked_dimension(self.n_components)
        if self.eps is None or self.delta is None:
            raise ValueError(
                "n_components='auto' needs eps and delta: the error accepted on squared distances and the "
                "risk of missing it, for example eps=0.1, delta=0.05"
            )
        return required_dimension(self.eps, self.delta, activation=self.activation)

    def _largest_term(self) -> float:
        """Bound (psi1 - psi2)^2 p / p-bar, where p / p-bar depends on the order alone."""
        if self.target_law_.coefficients != self.proposal_law_.coefficients:
            return math.inf
        spread = get_activation(self.activation).spread
        target, proposal = self.target_law_.orders, self.proposal_law_.orders
        drawn = {k for k in range(1, 64) if proposal.probability(k) > 0}
        return spread**2 * max(target.probability(k) / proposal.probability(k) for k in drawn)
