"""GRNF as a torch module: graphs in, vectors out, gradients back."""

from __future__ import annotations

import json
import math
from contextlib import nullcontext
from functools import partial
from inspect import signature
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor, nn

from grnf._utils.random import draw_seed
from grnf._utils.rules import Int, OneOf, checked
from grnf.activations import ACTIVATIONS
from grnf.basis.slot_form import check_basis
from grnf.errors import invalid
from grnf.graphs import ADJACENCY, number_keys
from grnf.graphs import edge_channels as n_edge_channels
from grnf.law import importance_weights
from grnf.law.parameters import Law, n_head_parameters, n_parameters, parameter_law
from grnf.nn.sums import Settings, feature_sums, frozen_features
from grnf.nn.tensor_graphs import Inputs, check_graphs, checked_inputs
from grnf.nn.torch_sums import Form, forms, hidden_sums, rho
from grnf.typing import Keys

REQUIRED = ("in_channels", "out_channels")


class GRNFLayer(nn.Module):
    """Graph Random Neural Features as a layer: the vectors of `grnf.GRNF`, with gradients.

    z(g) = [ sqrt(p_m / M) (psi(g; w_m) - psi(0; w_m)) ] for m = 1 .. M, where psi(g; w) is a random graph
    neural network of hidden order k with coefficients w, and 0 the null graph. With the same seed it has the
    same coefficients as `GRNF`, and gives the same numbers for the same graphs. Gradients reach the
    attributes of nodes and edges, with `trainable` the coefficients, with `learn_weights` the weights p_m.

    Parameters
    ----------
    in_channels : int
        Columns of `x`; 0 for graphs without node attributes.
    out_channels : int
        M, the number of features.
    edge_dim : int, optional
        Columns of `edge_attr`. None: edges have no attributes, and only the adjacency is used.
    orders, proposal : tuple, dict or distribution
    heads, hidden_channels : int
    hidden_activation, activation, basis : str
    stratified, adjacency_channel, normalize, center : bool
        As in `grnf.GRNF`, like those above from `orders` on.
    random_state : int, numpy Generator or RandomState, torch Generator, optional
        None takes a seed from torch, so that `torch.manual_seed` fixes it.
    trainable : bool, default=False
        Make the coefficients theta parameters. Otherwise they are buffers: saved and moved, never trained.
    learn_weights : bool, default=False
        Make the weights p_m of the features a parameter: positive, and with the mean that they begin with.
    path : "auto", "cpu" or "torch", default="auto"
        How sums are computed. "cpu": by the compiled kernels of `GRNF`; tensors on another device are copied
        to the CPU and back. "torch": by operations of torch on the device of the input, which differentiate
        twice and export. "auto": "cpu" for tensors on the CPU, "torch" for others.
    device, dtype : optional
        As in other layers of torch. With dtype=torch.float64 the coefficients are those of
        ``GRNF(dtype="float64")``; a layer that is turned by ``double()`` later keeps their rounding.

    Attributes
    ----------
    seed : int
        Defines the random coefficients.
    theta_1, theta_2, .. : Tensor, shape (hidden draws of that order, coefficients)
        All coefficients, in the order of `grnf.law.OrderDraw`; only orders that the law can draw (if they are
        without end: has drawn).
    heads_1, heads_2, .. : Tensor, shape (hidden draws of that order, heads - 1, coefficients)
        Further heads in addition to those in theta, if there are any.
    orders : Tensor, shape (out_channels,)
        The hidden order k of each feature.
    importance : Tensor, shape (out_channels,)
        p / p-bar of each feature as drawn.

    Notes
    -----
    Shapes: x (nodes, in_channels), edge_index (2, edges), edge_attr (edges, edge_dim) or (edges,),
    batch (nodes,), result (graphs, out_channels). Undirected graphs list both arcs of each edge, as in
    PyTorch Geometric; repeated arcs are summed.

    Examples
    --------
    >>> import torch
    >>> layer = GRNFLayer(2, 64, random_state=0)
    >>> x, edge_index = torch.ones(3, 2), torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    >>> layer(x, edge_index).shape
    torch.Size([1, 64])
    >>> layer(x, edge_index[:, :2], batch=torch.tensor([0, 0, 1]), batch_size=3).shape  # one empty
    torch.Size([3, 64])
    >>> layer.theta(1).shape, layer.feature_weights().shape  # coefficients of order 1
    (torch.Size([41, 69]), torch.Size([64]))
    """

    orders: Tensor
    importance: Tensor
    logits: Tensor | None

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        edge_dim: int | None = None,
        *,
        orders: Law = {1: 2 / 3, 2: 1 / 3},  # noqa: B006 never changed, as in GRNF
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
        random_state: Any = None,
        trainable: bool = False,
        learn_weights: bool = False,
        path: str = "auto",
        device: Any = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        check_basis(basis)
        self.in_channels = checked(in_channels, "in_channels", Int(0))
        self.out_channels = checked(out_channels, "out_channels", Int(1))
        self.edge_dim = checked(edge_dim, "edge_dim", Int(0), OneOf(None)) or None
        self.hidden_channels = checked(hidden_channels, "hidden_channels", Int(1))
        self.heads, self.stratified = checked(heads, "heads", Int(1)), bool(stratified)
        if self.out_channels % self.heads:
            raise invalid("out_channels", "be a multiple of heads", f"{out_channels} and {heads}")
        self.target = parameter_law(orders, self.hidden_channels, "orders", self.stratified)
        self.proposal = self.target
        if proposal is not None:
            self.proposal = parameter_law(proposal, self.hidden_channels, "proposal", self.stratified)
        self.hidden_activation, self.activation = (
            checked(name, what, OneOf(*ACTIVATIONS), "The layer has derivatives of these only")
            for what, name in (("hidden_activation", hidden_activation), ("activation", activation))
        )
        self.basis, self.adjacency_channel = basis, bool(adjacency_channel)
        self.normalize, self.center = bool(normalize), bool(center)
        self.trainable, self.learn_weights = bool(trainable), bool(learn_weights)
        self.path = checked(path, "path", OneOf("auto", "cpu", "torch"))
        self.seed = _seed(random_state)
        self._keys = _keys_by_index(self.in_channels, self.edge_dim or 0, self.adjacency_channel)
        self._make(device, dtype)
        self.reset_parameters()

    @classmethod
    def from_transformer(cls, grnf: Any, **settings: Any) -> Self:
        """Make the layer that gives the vectors of a fitted `grnf.GRNF`.

        Parameters
        ----------
        grnf : fitted GRNF
        **settings : optional
            `trainable`, `learn_weights`, `path`, `device` and `dtype`.

        Returns
        -------
        GRNFLayer

        Examples
        --------
        >>> from grnf import GRNF, Graph
        >>> grnf = GRNF(16, random_state=0).fit([Graph(2, [(0, 1)])])
        >>> GRNFLayer.from_transformer(grnf, trainable=True)
        GRNFLayer(0, 16, orders={1: 10, 2: 6}, seed=0, trainable=True)
        """
        if not hasattr(grnf, "seed_"):
            raise invalid("grnf", "be a fitted GRNF", repr(grnf), "Call fit first")
        if hasattr(grnf, "chosen_"):
            raise invalid("grnf", "have features that the layer can draw itself", "chosen features")
        shared = ("heads", "hidden_channels", "hidden_activation", "activation", "basis", "adjacency_channel")
        params = {name: getattr(grnf, name) for name in (*shared, "normalize", "center")}
        grnf.encoder_.require_closed("the layer takes numbers")
        layer = cls(
            grnf.node_width_,
            grnf.n_components_,
            grnf.edge_width_,
            orders=grnf.target_law_,
            proposal=grnf.proposal_law_,
            random_state=grnf.seed_,
            dtype=settings.pop("dtype", getattr(torch, grnf.dtype)),
            **params,
            **settings,
        )
        layer._keys = grnf.encoder_.channels(layer.adjacency_channel).all  # columns may have names there
        layer.reset_parameters()
        return layer

    def reset_parameters(self) -> None:
        """Draw the coefficients again from `seed`, and set the weights to p / p-bar."""
        draw = self.proposal.sample(
            self.out_channels // self.heads, channels=self._keys, seed=self.seed, heads=self.heads
        )
        ratio = importance_weights(self.target, self.proposal, draw)
        drawn = {group.k: group for group in draw.groups}
        with torch.no_grad():
            self.orders.copy_(torch.from_numpy(np.repeat(draw.orders, self.heads)))
            self.importance.copy_(torch.from_numpy(ratio))
            for k in {*self._orders, *drawn}:
                self._register(k)
                for name, source in (("theta", "theta"), ("heads", "more_heads"))[
                    : 1 if self.heads == 1 else 2
                ]:
                    tensor = getattr(self, f"{name}_{k}")
                    rows = torch.from_numpy(getattr(drawn[k], source)) if k in drawn else tensor[:0]
                    tensor.data = rows.to(tensor).contiguous()  # LBFGS and DDP take views
            if self.logits is not None:
                self.logits.zero_()

    def theta(self, k: int) -> Tensor:
        """Return the coefficients of the features of order k, one row per feature.

        Parameters
        ----------
        k : int

        Returns
        -------
        Tensor, shape (hidden samples of order k, coefficients)
        """
        return getattr(self, f"theta_{k}")  # type: ignore[no-any-return]

    def feature_weights(self) -> Tensor:
        """Return p_m / p-bar_m, shape (out_channels,), as learned if `learn_weights`.

        Returns
        -------
        Tensor, shape (out_channels,)
        """
        weights: Tensor = self._root_weights().square() * self.out_channels
        return weights

    def forward(
        self,
        x: Any = None,
        edge_index: Tensor | None = None,
        edge_attr: Tensor | None = None,
        batch: Tensor | None = None,
        batch_size: int | None = None,
    ) -> Tensor:
        """Embed the graphs of a batch: shape (graphs, out_channels).

        Parameters
        ----------
        x : Tensor, shape (nodes, in_channels), or None, or a PyTorch Geometric `Data` or `Batch`
            Attributes of nodes; or all of the input, as an object with x, edge_index, edge_attr (edge_weight
            comes before it) and batch.
        edge_index : Tensor of int, shape (2, edges)
        edge_attr : Tensor, shape (edges, edge_dim) or (edges,), optional
        batch : Tensor of int, shape (nodes,), optional
            The graph of each node, sorted or not. None: all nodes are of one graph.
        batch_size : int, optional
            Number of graphs. None: one more than the largest number in `batch`.

        Returns
        -------
        Tensor, shape (graphs, out_channels)

        Examples
        --------
        >>> import torch
        >>> layer = GRNFLayer(1, 32, random_state=0)
        >>> x = torch.ones(3, 1, requires_grad=True)
        >>> layer(x, torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])).sum().backward()
        >>> x.grad.shape
        torch.Size([3, 1])
        """
        given, widths = (x, edge_index, edge_attr, batch, batch_size), (self.in_channels, self.edge_dim or 0)
        inputs = checked_inputs(*given, widths=widths, like=self.importance)
        in_torch = self.path == "torch" or (self.path == "auto" and inputs.x.device.type != "cpu")
        kind = inputs.x.device.type
        mixed = torch.amp.is_autocast_available(kind)  # not on the meta device
        with torch.autocast(kind, enabled=False) if mixed else nullcontext():
            return self._torch_features(inputs) if in_torch else self._cpu_features(inputs)

    def _torch_features(self, inputs: Inputs) -> Tensor:
        """Return the features by operations of torch, sums at least in single precision."""
        check_graphs(inputs)
        dtype = torch.promote_types(inputs.x.dtype, torch.float32)
        inputs = inputs._replace(x=inputs.x.to(dtype), values=inputs.values.to(dtype))
        settings = self._settings()
        used = settings.orders
        thetas = [self.theta(k).to(dtype) for k in used]
        U = hidden_sums(inputs, thetas, [self._forms[k] for k in used], settings)
        return self._outputs(self._in_order(self._through_heads(U, used)))

    def _cpu_features(self, inputs: Inputs) -> Tensor:
        """Return the features by the compiled kernels."""
        settings = self._settings()
        order_of, thetas = self.orders[:: self.heads], [self.theta(k) for k in settings.orders]
        result = frozen_features(
            inputs,
            thetas,
            order_of,
            settings,
            rho_i=ACTIVATIONS[self.activation].function,
            null_sums=partial(self._all_null_sums, torch.float64) if self.center else None,
            weight=self._root_weights(),
        )
        if result is not None:
            return result
        sums = feature_sums(inputs, thetas, order_of, settings)
        if self.heads > 1:
            sums = self._in_order(self._through_heads(sums, settings.orders))
        return self._outputs(sums)

    def _settings(self) -> Settings:
        """Return what the sums of the orders that have features depend on."""
        kept = self.hidden_channels, self.hidden_activation, self.basis, self.normalize
        return Settings(self._used(), *kept, self.adjacency_channel, hidden=self.heads > 1)

    def _outputs(self, sums: Tensor) -> Tensor:
        """Return (rho_i(sums) - null) * weight."""
        weight = self._root_weights()
        return ((rho(self.activation, sums) - self._null(sums.dtype)) * weight).to(weight.dtype)

    def _null(self, dtype: torch.dtype) -> Tensor:
        """Return the features of the null graph, or zeros without `center`."""
        if not self.center:
            return torch.zeros_like(self.importance, dtype=dtype)
        return rho(self.activation, self._all_null_sums(dtype))

    def _all_null_sums(self, dtype: torch.dtype) -> Tensor:
        """Return the sums of the null graph, in the order of the features."""
        sums = torch.cat([self._null_sums(k).to(dtype) for k in self._used()])
        return self._in_order(sums[None])[0]

    def _used(self) -> list[int]:
        """Return the orders that have features."""
        return [k for k in self._orders if len(self.theta(k))]

    def _in_order(self, sums: Tensor) -> Tensor:
        """Bring columns that are gathered by order k into the order of the features."""
        place = torch.argsort(torch.argsort(self.orders[:: self.heads], stable=True))
        return sums.view(len(sums), len(place), self.heads)[:, place].flatten(1)

    def extra_repr(self) -> str:
        """Return the numbers of features of each order, and the settings that are not the defaults."""
        counts = {k: self.heads * len(self.theta(k)) for k in self._orders}
        text = f"{self.in_channels}, {self.out_channels}, orders={counts}, seed={self.seed}"
        for name, usual in DEFAULTS.items():
            if getattr(self, name) != usual:
                text += f", {name}={getattr(self, name)!r}"
        return text

    def _all_heads(self, k: int) -> Tensor:
        """Return theta_H and theta_0 of all heads, shape (hidden draws of order k, R, coefficients)."""
        first = self.theta(k)[:, None, -self._head_sizes[k] :]
        return first if self.heads == 1 else torch.cat([first, getattr(self, f"heads_{k}")], dim=1)

    def _through_heads(self, hidden: Tensor, orders: list[int]) -> Tensor:
        """Return theta_0 + theta_H . U of every head from the hidden sums U."""
        result, start = [], 0
        for k in orders:
            heads = self._all_heads(k).to(hidden.dtype)
            m, _, width = heads.shape
            U = hidden[:, start : start + m * (width - 1)].reshape(len(hidden), m, width - 1)
            start += m * (width - 1)
            result.append((torch.einsum("gmw,mrw->gmr", U, heads[..., :-1]) + heads[..., -1]).flatten(1))
        return torch.cat(result, dim=1)

    def _null_sums(self, k: int) -> Tensor:
        """Return the sums of the null graph at order k: it has tuples for the first partition alone."""
        heads, F_h = self._all_heads(k), self.hidden_channels
        start = 1 - 2 * self._head_sizes[k]
        hidden = rho(self.hidden_activation, self.theta(k)[:, start : start + F_h])
        return ((heads[..., :F_h] * hidden[:, None]).sum(2) + heads[..., -1]).flatten()

    def _root_weights(self) -> Tensor:
        """Return sqrt(p_m / M p-bar_m). Learned ones are p_m e^(logit_m), scaled to the mean of p_m."""
        root = self.importance.sqrt() / math.sqrt(self.out_channels)
        if self.logits is None:
            return root
        excess = torch.logsumexp(self.logits + self.importance.log(), 0) - self.importance.sum().log()
        return root * torch.exp(0.5 * (self.logits - excess))

    def _make(self, device: Any, dtype: torch.dtype | None) -> None:
        """Register all tensors, still without features: `reset_parameters` and loading fill them."""
        dtype = dtype or torch.get_default_dtype()
        if not dtype.is_floating_point:
            raise invalid("dtype", "be a floating type of torch", str(dtype))
        M, law = self.out_channels, self.proposal.orders
        self.register_buffer("orders", torch.zeros(M, dtype=torch.long, device=device))
        self.register_buffer("importance", torch.ones(M, device=device, dtype=dtype))
        logits = torch.zeros(M, device=device, dtype=dtype) if self.learn_weights else None
        self.register_parameter("logits", None if logits is None else nn.Parameter(logits))
        self._orders: list[int] = []
        self._head_sizes: dict[int, int] = {}
        self._forms: dict[int, list[Form]] = {}
        for k in () if law.full_support else range(1, 64):
            if law.probability(k) > 0:
                self._register(k)

    def _register(self, k: int) -> None:
        """Make room for features of order k, none of them yet."""
        if k in self._orders:
            return
        self._forms[k] = forms(k, self.basis)
        self._head_sizes[k] = n_head_parameters(k, self.hidden_channels)
        shapes: dict[str, tuple[int, ...]]
        shapes = {f"theta_{k}": (0, n_parameters(k, len(self._keys), self.hidden_channels))}
        if self.heads > 1:
            shapes[f"heads_{k}"] = (0, self.heads - 1, self._head_sizes[k])
        for name, shape in shapes.items():
            empty = self.importance.new_empty(shape)
            if self.trainable:
                self.register_parameter(name, nn.Parameter(empty))
            else:
                self.register_buffer(name, empty)
        self._orders = sorted([*self._orders, k])

    def get_extra_state(self) -> Tensor:
        """Return the seed and the settings that give the coefficients their meaning, as bytes of JSON."""
        settings: dict[str, Any] = {name: getattr(self, name) for name in ("seed", *STORED)}
        settings |= {"orders": repr(self.target), "proposal": repr(self.proposal)}
        return torch.tensor(list(json.dumps(settings).encode()), dtype=torch.uint8)

    def set_extra_state(self, state: Tensor) -> None:
        """Restore the seed of a saved layer."""
        self.seed = _stored_settings(state)["seed"]

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *args: Any) -> None:
        """Load a layer with the same settings and any seed, which decides how many features an order has."""
        given = state_dict.get(f"{prefix}_extra_state"), self.get_extra_state()
        other, own = (_stored_settings(state) for state in given)
        different = [name for name in other if name != "seed" and other[name] != own[name]]
        for name in different:
            args[-1].append(f"{name} must be {other[name]!r}, as in the saved layer, got {own[name]!r}")
        if different:
            return
        names = [key.removeprefix(prefix) for key in state_dict if key.startswith(f"{prefix}theta_")]
        for k in sorted(int(name.removeprefix("theta_")) for name in names):
            self._register(k)
        for name in [f"{kind}_{k}" for k in self._orders for kind in ("theta", "heads")]:
            tensor = getattr(self, name, None)
            saved = state_dict.get(prefix + name)
            if tensor is not None and saved is None and self.proposal.orders.full_support:
                state_dict[prefix + name] = tensor.data = tensor.data[:0]
            elif tensor is not None and saved is not None and saved.shape[1:] == tensor.shape[1:]:
                tensor.data = tensor.data.new_empty(saved.shape)
        super()._load_from_state_dict(state_dict, prefix, *args)


DEFAULTS: dict[str, Any] = {
    name: parameter.default
    for name, parameter in signature(GRNFLayer).parameters.items()
    if name not in (*REQUIRED, "orders", "proposal", "random_state", "device", "dtype")
}
"""Settings that `repr` shows only if they differ."""

STORED = (*REQUIRED, *(name for name in DEFAULTS if name not in ("trainable", "learn_weights", "path")))
"""Settings that a saved layer and the layer that loads it must have in common."""


def _stored_settings(state: Tensor | None) -> dict[str, Any]:
    return {} if state is None else json.loads(bytes(state.tolist()))


def _seed(random_state: Any) -> int:
    """Return a seed. Without a `random_state`, or with a generator of torch, torch draws it."""
    if random_state is None or isinstance(random_state, torch.Generator):
        return int(torch.randint(2**62, (), generator=random_state))
    return draw_seed(random_state)


def _keys_by_index(node_width: int, edge_width: int, adjacency_channel: bool) -> Keys:
    """Return the keys of the channels: columns of x, the adjacency, columns of edge_attr, as for `GRNF`."""
    adjacency = [ADJACENCY] * (n_edge_channels(edge_width, adjacency_channel) - edge_width)
    parts = number_keys("node", node_width), np.array(adjacency, np.uint64), number_keys("edge", edge_width)
    return np.concatenate(parts)
