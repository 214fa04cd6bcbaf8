"""Derivatives against finite differences, and the two ways to compute them against each other."""

import numpy as np
import pytest

from guests import guest

torch = guest("torch")

from grnf.activations import ACTIVATIONS  # noqa: E402
from grnf.nn import GRNFLayer, dense, loops, sorting  # noqa: E402
from grnf.nn.layout import Layout  # noqa: E402
from grnf.nn.rho import rho  # noqa: E402
from nn.layers import batch_of, some_graphs  # noqa: E402


def inputs(node_width=1, edge_width=1, sizes=(4, 0, 3, 1), seed=0):
    """x, edge_index, edge_attr, batch, batch_size of a few graphs in general position."""
    batch = batch_of(some_graphs(node_width, edge_width, sizes))
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(*shape, dtype=torch.float64, generator=generator, requires_grad=True)

    x, edge_attr = normal(batch.num_nodes, node_width), normal(batch.edge_index.shape[1], edge_width)
    return x, batch.edge_index, edge_attr, batch.batch, batch.num_graphs


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("basis", ["indicator", "overlapping"])
@pytest.mark.parametrize("hidden_activation", ["relu", "ramp", "sigmoid", "tanh"])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_gradients_of_inputs_theta_and_weights(k, hidden_activation, basis, normalize):
    x, edge_index, edge_attr, batch, n_graphs = inputs()
    layer = GRNFLayer(
        2, 1, 1, orders={k: 1.0}, hidden_channels=1, hidden_activation=hidden_activation, basis=basis,
        normalize=normalize, random_state=k, trainable=True, learn_weights=True, dtype=torch.float64,
    )  # fmt: skip
    names = [name for name, _ in layer.named_parameters()]
    assert names == [f"theta_{k}", "logits"]

    def call(x, edge_attr, theta, logits):
        values = {names[0]: theta, "logits": logits}
        return torch.func.functional_call(layer, values, (x, edge_index, edge_attr, batch, n_graphs))

    with torch.no_grad():
        layer.logits.copy_(torch.tensor([0.5, -1.0]))
    # one random combination of all entries: a fault in any derivative shows, at the cost of few evaluations
    assert torch.autograd.gradcheck(
        call, (x, edge_attr, getattr(layer, names[0]), layer.logits), fast_mode=True, atol=1e-6
    )


@pytest.mark.parametrize("hidden_activation", ["relu", "tanh"])
def test_every_entry_of_the_jacobian(hidden_activation):
    x, edge_index, edge_attr, batch, n_graphs = inputs(sizes=(3, 2))
    layer = GRNFLayer(
        3, 1, 1, orders={1: 0.4, 2: 0.3, 3: 0.3}, hidden_activation=hidden_activation, random_state=0,
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
        monkeypatch.setattr(loops, "SORTED_FROM", switch)
        layer = GRNFLayer(
            5, 1, 1, orders={2: 1.0}, hidden_activation=hidden_activation, random_state=0,
            trainable=True, dtype=torch.float64,
        )  # fmt: skip
        z = layer(*arguments)
        found.append([z, *torch.autograd.grad(z.square().sum(), (arguments[0], arguments[2], layer.theta_2))])
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("hidden_activation", list(ACTIVATIONS))
@pytest.mark.parametrize("B", [1, 2, 3])
def test_loops_and_tables_agree(B, hidden_activation, monkeypatch):
    """What runs on the processor and what runs elsewhere: the same sums, the same derivatives."""
    monkeypatch.setattr(dense, "TABLE_ENTRIES", 500)  # several tables per graph
    monkeypatch.setattr(dense, "SORTED_FROM", 9)
    monkeypatch.setattr(loops, "TABLE_BYTES", 5000)
    generator = torch.Generator().manual_seed(B)
    sizes = torch.tensor([3, 0, 7, 1, 2, 12])
    ptr = torch.cat([torch.zeros(1, dtype=torch.long), sizes.cumsum(0)])
    pairs = torch.tensor([[0, 1], [1, 2], [3, 4], [3, 8], [5, 9], [11, 12], [13, 20], [14, 15]])
    layout = Layout(ptr, torch.repeat_interleave(torch.arange(6), sizes), pairs)

    def normal(*shape):
        return torch.randn(*shape, dtype=torch.float64, generator=generator)

    code, h = ACTIVATIONS[hidden_activation].code, 5
    rows = [normal(len(layout.graph_of), h) for _ in range(B)]
    edges = [normal(2 * len(pairs), h) for _ in range(B * (B - 1) // 2)]
    dU = normal(6, h)
    results = []
    for core in (loops, dense):
        at = core.numbers(layout)
        copies = [[part.clone() for part in parts] for parts in (rows, edges)]
        U = core.sums_of(code, *copies, at)
        copies = [[part.clone() for part in parts] for parts in (rows, edges)]
        d_rows, d_edges = core.slopes_of(code, *copies, at, dU)
        results.append([U, *d_rows, *d_edges])
    for one, other in zip(*results, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("name", ["relu", "ramp"])
def test_sorting_with_ties(name):
    code = ACTIVATIONS[name].code
    a = torch.tensor([[0.0, 1.0], [0.0, -1.0], [0.5, 1.0], [0.5, 0.0]], dtype=torch.float64)
    b = torch.tensor([[0.0, 0.0], [-0.5, 1.0], [0.5, 1.0], [0.5, -1.0]], dtype=torch.float64)
    terms = rho(code, a[:, None] + b)
    expected = terms.sum((0, 1)) - torch.einsum("iih->h", terms)
    torch.testing.assert_close(sorting.pair_sums(code, a, b), expected)


def test_unused_gradients_are_not_computed():
    x, edge_index, edge_attr, batch, n_graphs = inputs()
    frozen = GRNFLayer(4, 1, 1, random_state=0, dtype=torch.float64)
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
    layer = GRNFLayer(4, 1, 0, orders={2: 1.0}, random_state=0, trainable=True)
    layer(x, edge_index).sum().backward()
    assert torch.isfinite(x.grad).all()
    assert torch.isfinite(layer.theta_2.grad).all()
