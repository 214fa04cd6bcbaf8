"""GRNF as a scikit-learn transformer: graphs in, vectors out."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from grnf._utils.rules import Int, OneOf, Real, Table, checked
from grnf.errors import GrnfWarning
from grnf.estimators.base import GraphTransformer, Settings
from grnf.features import Embedder, HiddenSums, affordable_orders
from grnf.law import LAW_RULES, Law, largest_ratio
from grnf.metric import DistanceEstimate, required_dimension, truncation_bias
from grnf.metric.marginal import marginal_estimate, streamed_kernel
from grnf.typing import FloatArray, Missing, OnError, Unseen

__all__ = ["GRNF"]

COLLAPSED = 0.1
"""Effective sample size, as a share of M, below which a warning comes."""

HIGHEST = 64
"""The highest order that a proposal is asked about."""


class GRNF(GraphTransformer):
    """Graph Random Neural Features: z(g) = M^(-1/2) [psi(g; w_1) .. psi(g; w_M)], w_m drawn from P.

    Each feature psi is a random graph neural network of hidden order k that is invariant under permutations
    of the nodes. |z(g1) - z(g2)|^2 is an unbiased estimate of d_P(g1, g2)^2, z(g1) . z(g2) of the kernel
    kappa_P. Nothing is trained: `fit` learns only which attributes nodes and edges have. Graphs may be
    of any kind that `grnf.io.to_raw` knows: networkx, PyTorch Geometric, adjacency matrices, SMILES, ...

    Parameters
    ----------
    n_components : int or "auto", default=512
        M, the number of features. "auto" takes it from `eps` and `delta` by Hoeffding's inequality, for the
        independent terms: with R heads it is R times as many.
    orders : tuple, dict from order to probability, or law, default=(2/3, 1/3)
        P: the probabilities of the hidden orders k = 1, 2, .., or those in a dict, or a distribution of
        `grnf.law`: of k, or of all parameters. Order k sees patterns of k nodes; order 3 distinguishes two
        triangles from a 6-cycle.
    proposal : dict or law, optional
        P-bar, from which features are drawn and then weighted by sqrt(p / p-bar). None: the target itself
        (the plain map). ``law.restricted_to({1, 2})`` gives the bounded-order map.
    heads : int, default=1
        R: the M features are M / R hidden draws (k, theta_F) with R heads (theta_H, theta_0) each, one after
        the other. The hidden sums cost most of the time and the heads next to nothing, so 4 to 16 heads give
        more precise distances in the same time; `n_components` must be a multiple. Estimates stay unbiased;
        error bars count hidden draws.
    stratified : bool, default=False
        Spread the orders evenly over the features, in place of drawing each by itself.
    hidden_channels : int, default=4
        F_h.
    hidden_activation : "relu", "ramp", "sigmoid", "tanh", "erf" or "identity", default="relu"
        rho_e. Theorem 1 asks for a squashing one: ramp, sigmoid, tanh, erf.
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
    unseen : "open", "error" or "ignore", default="open"
        "open": every category (such as an atom symbol) is a channel of its own, whose coefficients follow
        from its name and the seed, so it does not matter which ones were there in `fit`. The others close the
        vocabulary in `fit`: a new category is then an error, or has zeros in all channels.
    missing : "error" or "zero", default="error"
        What to do where nodes, edges or graphs lack an attribute that others have; "zero" puts zeros.
    on_error : "raise", "nan" or "skip", default="raise"
        What to do about a sample that cannot be used: raise an error that names it, give it a row of NaN,
        or leave its row out, with a warning. `embed` returns the rows and the reasons. In `fit` bad samples
        are left out; `errors_` has theirs.
    max_seconds_per_graph : float, optional
        What all features of a graph may cost, as estimated in `fit` for one thread from the graphs there: the
        highest orders are left out until they do (the bounded-order map), with a warning that says which.
        Squared distances are then low by at most `truncation_bias_`. None: nothing is left out, and very
        long work is warned of.
    max_memory : int or str, default="1GB"
        Bytes that may be used beside the graphs and their vectors, as a number or like "500MB". Work is cut
        into chunks that keep within it.

    Attributes
    ----------
    encoder_ : grnf.io.AttributeEncoder
        Which attributes of nodes and edges are used, in which order, and their categories.
    errors_ : list of (int, str)
        Row and reason of each bad sample of `fit` or `fit_transform`. No other call changes the transformer;
        `embed` returns vectors and reasons together.
    n_components_ : int
        M.
    seed_ : int
        Defines all random features; the first 512 of M = 10,000 are those of M = 512.
    node_width_, edge_width_ : int
        Numbers of node and edge attributes seen in `fit`; categories of an open vocabulary are not counted.
    metric_guaranteed_ : bool
        Whether Theorem 1 applies: d_P is 0 for isomorphic graphs only.
    metric_reason_ : str
        Why, or why not.
    target_law_, proposal_law_ : ParameterLaw
        P and P-bar.
    orders_ : array of int, shape (n_components_,)
        The hidden order k of each feature.
    random_weights_ : grnf.law.Draw
        The parameters of the features: M / R hidden draws with R heads each. They follow from `seed_`, so
        they are drawn again with every access, and never saved.
    ess_ : float
        Effective sample size (sum w)^2 / sum w^2 of the weights w = p / p-bar: M where p-bar = p. `fit` warns
        when it falls below a tenth of M.
    truncation_bias_ : float
        By how much expected squared distances may lie below d_P^2, since the proposal lacks orders of the
        target; 0 if it has all.
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

    _rules: ClassVar[Table] = {
        **GraphTransformer._rules,
        "n_components": [Int(1), OneOf("auto"), "required_dimension of grnf.metric takes it from an error"],
        "proposal": [*LAW_RULES, OneOf(None)],
        "heads": [Int(1)],
        "max_seconds_per_graph": [Real(), OneOf(None)],
        "eps": [Real(), OneOf(None)],
        "delta": [Real(1), OneOf(None)],
    }

    def __init__(
        self,
        n_components: int | Literal["auto"] = 512,
        *,
        orders: Law = (2 / 3, 1 / 3),
        proposal: Law | None = None,
        heads: int = 1,
        stratified: bool = False,
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
        unseen: Unseen = "open",
        missing: Missing = "error",
        on_error: OnError = "raise",
        max_seconds_per_graph: float | None = None,
        max_memory: int | str = "1GB",
    ) -> None:
        self.n_components = n_components
        self.orders = orders
        self.proposal = proposal
        self.heads = heads
        self.stratified = stratified
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
        self.max_seconds_per_graph = max_seconds_per_graph
        self.max_memory = max_memory

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the attributes of nodes and edges, and fix the random features.

        Parameters
        ----------
        X : collection of graphs
            A list (or another iterable, or a `GraphBatch`) of graphs of any kind that `grnf.io.to_raw`
            knows, mixed or not; an array of adjacency matrices, shape (n_graphs, n, n); a batch or data set
            of PyTorch Geometric; or a dataframe of edges with the columns graph_id, source, target, alone
            or as (edges, nodes).
        y : ignored
        """
        self._fit_samples(X, y)
        return self

    def distance(self, g1: Any, g2: Any, *, marginal: bool = False) -> DistanceEstimate:
        """Estimate d_P between two graphs of any kind, with error bars.

        Parameters
        ----------
        g1, g2 : graphs
        marginal : bool, default=False
            Integrate theta_H and theta_0 out, see `grnf.metric.marginal_distance`: more precise.
        """
        if marginal:
            return marginal_estimate(self.hidden_sums([g1, g2]), self.activation)
        return super().distance(g1, g2)

    def features(self, X: Any, start: int, stop: int) -> FloatArray:
        """Return the features start .. stop - 1 of the sequence whose first M `transform` uses.

        Each is psi (p / p-bar)^(1/2), not divided by M^(1/2): the mean of their squared differences between
        two graphs estimates d_P^2.

        Parameters
        ----------
        X : collection of graphs, as in `fit`
        start, stop : int
            Multiples of `heads`.

        Examples
        --------
        >>> from grnf import GRNF, Graph
        >>> grnf = GRNF(64, random_state=0, dtype="float64").fit([Graph(2, [])])
        >>> path = [Graph(3, [(0, 1), (1, 2)])]
        >>> bool(abs(8 * grnf.transform(path)[:, 32:] - grnf.features(path, 32, 64)).max() < 1e-12)
        True
        """
        check_is_fitted(self)
        heads = self._map.heads
        start, stop = checked(start, "start", Int(0)), checked(stop, "stop", Int(1))
        if start % heads or stop % heads or stop <= start:
            raise ValueError(f"start < stop must be multiples of heads={heads}; got {start} and {stop}")
        chosen = np.arange(start // heads, stop // heads)
        some = replace(self._map, n_components=stop - start, chosen=chosen)
        Z = Embedder(some, self._embedder.schedule)(self._batch(X))
        return np.asarray(np.sqrt(stop - start) * Z, dtype=np.float64)

    def hidden_sums(self, X: Any) -> HiddenSums:
        """Return the sums U that theta_H multiplies, for every graph and hidden draw.

        Their size is that of about 5 float64 vectors per graph at the default law; `hidden_sums_chunks` gives
        some hidden draws at a time.

        Parameters
        ----------
        X : collection of graphs, as in `fit`
        """
        return HiddenSums.joined(list(self.hidden_sums_chunks(X)))

    def hidden_sums_chunks(self, X: Any) -> Iterator[HiddenSums]:
        """Yield the hidden sums of all graphs, so many hidden draws at a time as `max_memory` allows."""
        return self._embedder.hidden_sums(self._batch(X))

    def marginal_kernel(self, X: Any, Y: Any = None) -> FloatArray:
        """Estimate kappa_P between all graphs with theta_H and theta_0 integrated out, shape (n1, n2).

        See `grnf.metric.marginal_kernel`. Memory stays within `max_memory` beside the graphs and the result.

        Examples
        --------
        >>> from grnf.datasets import make_sbm
        >>> graphs, _ = make_sbm(10, random_state=0)
        >>> GRNF(random_state=0).fit(graphs).marginal_kernel(graphs).shape
        (10, 10)
        """
        first = self._batch(X)
        if Y is None:
            return streamed_kernel(self._embedder.hidden_sums(first), None, self.activation)
        second = self._batch(Y)
        return streamed_kernel(
            self._embedder.hidden_sums(first, beside=len(second)),
            self._embedder.hidden_sums(second, beside=len(first)),
            self.activation,
        )

    @property
    def truncation_bias_(self) -> float:
        """By how much expected squared distances may lie below d_P^2, for want of orders in the proposal."""
        check_is_fitted(self)
        law = self.proposal_law_.orders
        if law.full_support or self.target_law_.orders == law:
            return 0.0
        kept = [k for k in range(1, HIGHEST + 1) if law.probability(k) > 0]
        return truncation_bias(self.target_law_.orders, kept, activation=self.activation)

    def _fitted_state(self) -> dict[str, Any]:
        kept = {} if self._kept_orders is None else {"kept_orders": self._kept_orders}
        return {**super()._fitted_state(), **kept}

    @property
    def largest_term_(self) -> float:
        """Bound of each term (psi1 - psi2)^2 p / p-bar of a squared distance; infinite if there is none."""
        check_is_fitted(self)
        return self._map.activation.spread**2 * largest_ratio(self.target_law_, self.proposal_law_)

    def _precision(self) -> dict[str, Any]:
        return {"activation": self.activation, "largest_term": self.largest_term_, "heads": self._map.heads}

    def _fit(self, settings: Settings, fitted: Settings, samples: Any, y: Any) -> None:  # noqa: ARG002
        more = {"proposal": settings["proposal"], "heads": settings["heads"]}
        features = self._feature_map(settings, _dimension(settings), fitted["seed"], **more)
        kept = fitted.get("kept_orders")
        if samples is not None and settings["max_seconds_per_graph"] is not None:
            kept = affordable_orders(features, samples.batch, settings["max_seconds_per_graph"])
        if kept is not None:
            features = replace(features, proposal=features.proposal.restricted_to(kept))
        self._fix(features, settings, fitted)
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
            self.encoder_.require_closed("a proposal with another law of coefficients weighs all of them")
        self.ess_ = self._embedder.effective_sample_size(
            self.encoder_.channels(features.adjacency_channel).all
        )
        if self.ess_ < COLLAPSED * self.n_components_:
            warnings.warn(
                f"the {self.n_components_} features are worth {self.ess_:.3g} (effective sample size): the "
                f"proposal {self.proposal_law_!r} is far from the target {self.target_law_!r}. Give the "
                "scale of the target some mass, as in grnf.law.ScaleMixture({1.0: 0.5, 2.0: 0.5}), or come "
                "closer to its orders",
                GrnfWarning,
                stacklevel=4,
            )


def _dimension(settings: Settings) -> int:
    """Return M, as given or by the error and risk accepted."""
    if settings["n_components"] != "auto":
        return int(settings["n_components"])
    if settings["eps"] is None or settings["delta"] is None:
        raise ValueError(
            "n_components='auto' needs eps and delta: the error accepted on squared distances and the "
            "risk of missing it, for example eps=0.1, delta=0.05"
        )
    return settings["heads"] * required_dimension(  # type: ignore[no-any-return]
        settings["eps"], settings["delta"], activation=settings["activation"]
    )
