"""Derivatives against finite differences, and the ways to compute them against each other."""

import numpy as np
import pytest

from optional import require

torch = require("torch")

from grnf.activations import ACTIVATIONS  # noqa: E402
from grnf.engine import costs, plan, sorting  # noqa: E402
from grnf.nn import GRNFLayer, sums  # noqa: E402
from nn.layers import COMPILED, batch_of, some_graphs  # noqa: E402
from random_graphs import random_graph  # noqa: E402


def inputs(node_width=1, edge_width=1, sizes=(4, 0, 3, 1), seed=0):
    """x, edge_index, edge_attr, batch, batch_size of a few graphs in general position."""
    batch = batch_of(some_graphs(node_width, edge_width, sizes))
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(*shape, dtype=torch.float64, generator=generator, requires_grad=True)

    x, edge_attr = normal(batch.num_nodes, node_width), normal(batch.edge_index.shape[1], edge_width)
    return x, batch.edge_index, edge_attr, batch.batch, batch.num_graphs


KERNELS = sorted({*COMPILED, *((1, name) for name in ACTIVATIONS)})
"""The derivatives of all activations, in a small kernel, and all kernels with two of them."""


@pytest.mark.parametrize(("heads", "basis"), [(1, "indicator"), (2, "overlapping")])
@pytest.mark.parametrize(("k", "hidden_activation"), KERNELS)
def test_gradients_of_inputs_theta_and_weights(k, heads, hidden_activation, basis):
    normalize = (k % 2 == 0) == (heads == 1)
    x, edge_index, edge_attr, batch, n_graphs = inputs()
    layer = GRNFLayer(
        1, 2 * heads, 1, heads=heads, orders={k: 1.0}, hidden_channels=1,
        hidden_activation=hidden_activation, basis=basis, normalize=normalize, random_state=k,
        trainable=True, learn_weights=True, dtype=torch.float64,
    )  # fmt: skip
    names = [name for name, _ in layer.named_parameters()]
    assert set(names) == {f"theta_{k}", "logits", *([f"heads_{k}"] if heads > 1 else [])}

    def call(x, edge_attr, *values):
        given = dict(zip(names, values, strict=True))
        return torch.func.functional_call(layer, given, (x, edge_index, edge_attr, batch, n_graphs))

    with torch.no_grad():
        layer.logits.copy_(torch.linspace(-1.0, 0.5, 2 * heads))
    # one random combination of all entries: a fault in any derivative shows, at the cost of few evaluations
    assert torch.autograd.gradcheck(call, (x, edge_attr, *layer.parameters()), fast_mode=True, atol=1e-6)


@pytest.mark.parametrize("hidden_activation", ["relu", "tanh"])
def test_every_entry_of_the_jacobian(hidden_activation):
    x, edge_index, edge_attr, batch, n_graphs = inputs(sizes=(3, 2))
    layer = GRNFLayer(
        1, 3, 1, orders={1: 0.4, 2: 0.3, 3: 0.3}, hidden_activation=hidden_activation, random_state=0,
        dtype=torch.float64,
    )  # fmt: skip
    assert len({int(k) for k in layer.orders}) > 1
    assert torch.autograd.gradcheck(
        lambda x, edge_attr: layer(x, edge_index, edge_attr, batch, n_graphs), (x, edge_attr)
    )


@pytest.mark.parametrize("hidden_activation", ["relu", "ramp"])
def test_gradients_where_rows_are_sorted(hidden_activation, monkeypatch):
    """The derivatives of sorting are those of the loop over pairs, on graphs of every size."""
    arguments = inputs(sizes=(2, 9, 0, 1, 30))
    found = []
    for switch in (10**9, 0):
        monkeypatch.setattr(costs, "SORTED_FROM", switch)
        monkeypatch.setattr(costs, "SORTED_GRADIENTS_FROM", switch)
        layer = GRNFLayer(
            1, 5, 1, orders={2: 1.0}, hidden_activation=hidden_activation, random_state=0,
            trainable=True, dtype=torch.float64,
        )  # fmt: skip
        z = layer(*arguments)
        found.append([z, *torch.autograd.grad(z.square().sum(), (arguments[0], arguments[2], layer.theta_2))])
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("hidden_activation", ["relu", "tanh"])
@pytest.mark.parametrize("directed", [False, True])
def test_equal_nodes_are_grouped_and_arcs_folded_only_where_it_is_right(hidden_activation, directed):
    """Labelled graphs: theta has the same derivatives whether those of attributes are asked for or not."""
    generator = np.random.default_rng(0)
    some = [g for n in (6, 0, 9, 2) for g in [random_graph(generator, n, 2, 1, directed)]]
    batch = batch_of(some)
    x, edge_attr = (batch.x > 0).double(), (batch.edge_attr > 0).double()
    found = []
    for of_x, of_edges in ((False, False), (True, False), (False, True), (True, True)):
        layer = GRNFLayer(
            2, 12, 1, orders={1: 0.3, 2: 0.4, 3: 0.3}, hidden_activation=hidden_activation, random_state=0,
            trainable=True, dtype=torch.float64,
        )  # fmt: skip
        given = x.clone().requires_grad_(of_x), edge_attr.clone().requires_grad_(of_edges)
        z = layer(given[0], batch.edge_index, given[1], batch.batch, batch.num_graphs)
        found.append([z.detach(), *torch.autograd.grad(z.square().sum(), list(layer.parameters()))])
    for others in found[1:]:
        for one, other in zip(found[0], others, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize("name", ["relu", "ramp"])
def test_sorting_with_ties(name):
    a = np.array([[0.0, 1.0], [0.0, -1.0], [0.5, 1.0], [0.5, 0.0]])
    b = np.array([[0.0, 0.0], [-0.5, 1.0], [0.5, 1.0], [0.5, -1.0]])
    weight = np.array([1.0, 2.0, 1.0, 3.0])
    activation, t = ACTIVATIONS[name], a[:, None] + b
    both = weight[:, None, None] * weight[None, :, None]
    found = sorting.pair_sums((0,) * activation.code, a, b, weight)
    np.testing.assert_allclose(found, (both * activation(t)).sum((0, 1)))
    derivative = (t > 0).astype(float) - ((t > 1) if name == "ramp" else 0)
    by_a, by_b = sorting.pair_masses((0,) * activation.code, a, b, weight)
    np.testing.assert_allclose(by_a, (weight[None, :, None] * derivative).sum(1))
    np.testing.assert_allclose(by_b, (weight[:, None, None] * derivative).sum(0))


@pytest.mark.parametrize("of_x", [False, True])
def test_the_way_back_reuses_the_statistics(of_x, monkeypatch):
    made, statistics = [], plan.statistics
    monkeypatch.setattr(plan, "statistics", lambda *given: made.append(given) or statistics(*given))
    x, edge_index, edge_attr, batch, n_graphs = inputs()
    layer = GRNFLayer(1, 6, 1, random_state=0, trainable=True, dtype=torch.float64)
    z = layer(x.requires_grad_(of_x), edge_index, edge_attr.detach(), batch, n_graphs)
    forward = len(made)
    first, again = (torch.autograd.grad(z.sum(), layer.theta_2, retain_graph=True)[0] for _ in range(2))
    assert 0 < forward == len(made)
    assert first.any()
    assert torch.equal(first, again)
    assert not sums._held


def test_unused_gradients_are_not_computed():
    x, edge_index, edge_attr, batch, n_graphs = inputs()
    frozen = GRNFLayer(1, 4, 1, random_state=0, dtype=torch.float64)
    assert not frozen(x.detach(), edge_index, edge_attr.detach(), batch, n_graphs).requires_grad
    z = frozen(x.detach(), edge_index, edge_attr, batch, n_graphs)
    (alone,) = torch.autograd.grad(z.sum(), edge_attr)
    z = frozen(x, edge_index, edge_attr, batch, n_graphs)
    torch.testing.assert_close(torch.autograd.grad(z.sum(), edge_attr)[0], alone)


def test_memory_does_not_hold_the_pairs():
    """A graph of 20,000 nodes has 4e8 pairs: no array of pairs could be held."""
    n = 20_000
    generator = np.random.default_rng(0)
    edge_index = torch.from_numpy(generator.integers(0, n, size=(2, 4 * n)))
    x = torch.randn(n, 1, requires_grad=True)
    layer = GRNFLayer(1, 4, 0, orders={2: 1.0}, random_state=0, trainable=True)
    layer(x, edge_index).sum().backward()
    assert torch.isfinite(x.grad).all()
    assert torch.isfinite(layer.theta_2.grad).all()
