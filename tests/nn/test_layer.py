"""The layer against GRNF and the definition: same seed, same numbers."""

from dataclasses import replace

import numpy as np
import pytest

from grnf import GRNF, Graph
from grnf.activations import ACTIVATIONS
from grnf.law import Gaussian, ParameterLaw, ShiftedPoisson
from optional import require, to_pyg

torch = require("torch")
data = require("torch_geometric.data")

from grnf.nn import GRNFLayer  # noqa: E402
from nn.layers import batch_of, covering_design, some_graphs  # noqa: E402

ORDERS = {1: 0.4, 2: 0.3, 3: 0.3}


def both(graphs, node_width, edge_width, n_features=12, dtype="float64", **settings):
    """The vectors of the layer and of GRNF."""
    settings = {"random_state": 1, **settings}
    expected = GRNF(n_features, dtype=dtype, **settings).fit(graphs).transform(graphs)
    layer = GRNFLayer(node_width, n_features, edge_width, dtype=getattr(torch, dtype), **settings)
    return layer(batch_of(graphs)).numpy(), expected


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("basis", ["indicator", "overlapping"])
@pytest.mark.parametrize("widths", [(0, 0), (2, 0), (0, 1), (2, 3)])
def test_same_numbers_as_the_transformer(widths, basis, normalize):
    graphs = some_graphs(*widths)
    found, expected = both(graphs, *widths, orders=ORDERS, basis=basis, normalize=normalize)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10)
    found, expected = both(graphs, *widths, orders=ORDERS, basis=basis, normalize=normalize, dtype="float32")
    # rounding grows with the sums, which are larger by up to n^3 without normalization
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5 if normalize else 5e-5)


@pytest.mark.parametrize("hidden_activation", list(ACTIVATIONS))
@pytest.mark.parametrize("adjacency_channel", [True, False])
def test_all_activations_and_tensors(hidden_activation, adjacency_channel):
    found, expected = both(
        some_graphs(1, 1),
        1,
        1,
        orders=ORDERS,
        hidden_activation=hidden_activation,
        adjacency_channel=adjacency_channel,
        activation="sigmoid" if adjacency_channel else "identity",
        center=not adjacency_channel,
        hidden_channels=3,
    )
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(("k", "heads", "basis", "hidden_activation"), covering_design((4,)))
def test_layer_is_engine_in_double_precision(k, heads, basis, hidden_activation):
    """The same loops: equal to the last digits for every order, activation, basis and number of heads."""
    graphs = some_graphs(1, 1)
    found, expected = both(
        graphs, 1, 1, n_features=6, orders={k: 1.0}, heads=heads, basis=basis,
        hidden_activation=hidden_activation, hidden_channels=2,
    )  # fmt: skip
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def test_stratified_orders_and_laws_without_end():
    graphs = some_graphs(1, 0, sizes=(3, 0, 5))
    for law in ({"stratified": True, "orders": ORDERS}, {"orders": ShiftedPoisson(0.5)}):
        found, expected = both(graphs, 1, 0, n_features=64, **law)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def test_weighted_and_bounded_order_maps():
    graphs = some_graphs(1, 0)
    target = ParameterLaw(ShiftedPoisson(0.5))
    proposals = [
        target.orders.restricted_to({1, 2}),
        ParameterLaw({1: 0.5, 2: 0.5}, Gaussian(1.5)),
    ]
    for proposal in proposals:
        # a seed whose weights do not collapse: that is a warning
        found, expected = both(graphs, 1, 0, orders=target, proposal=proposal, random_state=6)
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)


def test_a_row_does_not_depend_on_its_company():
    graphs = some_graphs(2, 1)
    layer = GRNFLayer(2, 8, 1, orders=ORDERS, random_state=0, dtype=torch.float64)
    together = layer(batch_of(graphs))
    alone = torch.cat([layer(to_pyg(graph)) for graph in graphs])
    torch.testing.assert_close(together, alone, rtol=1e-12, atol=1e-12)
    order = np.random.default_rng(0).permutation(len(graphs))
    mixed = layer(batch_of([graphs[i] for i in order]))
    torch.testing.assert_close(mixed, together[torch.from_numpy(order)], rtol=1e-12, atol=1e-12)


def test_edge_weights_come_before_other_attributes():
    arcs = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    weight, attr = torch.tensor([0.5, 0.5, 2.0, 2.0]), torch.randn(2, 2).repeat_interleave(2, 0)
    graph = data.Data(edge_index=arcs, edge_weight=weight, edge_attr=attr, num_nodes=4)
    expected = GRNF(16, random_state=0).fit([graph]).transform([graph])
    layer = GRNFLayer(0, 16, 3, random_state=0)
    np.testing.assert_allclose(layer(graph).numpy(), expected, rtol=0, atol=1e-5)


def test_from_transformer():
    graphs = some_graphs(2, 1)
    grnf = GRNF(20, orders={1: 0.5, 3: 0.5}, normalize=False, dtype="float64").fit(graphs)
    layer = GRNFLayer.from_transformer(grnf, trainable=True)
    np.testing.assert_allclose(layer(batch_of(graphs)).detach(), grnf.transform(graphs), rtol=0, atol=1e-10)
    assert layer.theta_3.requires_grad
    with pytest.raises(ValueError, match="grnf must be a fitted GRNF"):
        GRNFLayer.from_transformer(GRNF())


def test_real_graphs(shared):
    from grnf.io import read_tu

    graphs = read_tu(shared / "data" / "tu" / "ENZYMES.zip").graphs.take(np.arange(0, 600, 5))
    grnf = GRNF(64, random_state=0).fit(graphs)
    expected = grnf.transform(graphs)
    layer = GRNFLayer.from_transformer(grnf)  # columns have names there
    unnamed = [Graph(g.n_nodes, g.edges, g.node_attr) for g in replace(graphs, node_keys=None)]
    found = layer(batch_of(unnamed))
    by_index = GRNFLayer(graphs.node_width, 64, 0, random_state=0)(batch_of(unnamed))
    np.testing.assert_allclose(by_index.numpy(), GRNF(64, random_state=0).fit_transform(unnamed), atol=1e-5)
    np.testing.assert_allclose(found.numpy(), expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_in_one_go_or_step_by_step(dtype):
    """Without gradients the layer runs as the transformer does: same numbers, whatever the order of arcs."""
    layer = GRNFLayer(2, 20, 1, orders=ORDERS, random_state=0, dtype=getattr(torch, dtype))
    batch = batch_of(some_graphs(2, 1))
    frozen = layer(batch)
    assert not frozen.requires_grad
    x = batch.x.clone().requires_grad_()
    traced = layer(x, batch.edge_index, batch.edge_attr, batch.batch, batch.num_graphs)
    assert traced.requires_grad
    assert traced.dtype == frozen.dtype
    tolerance = {"rtol": 0, "atol": 1e-12 if dtype == "float64" else 1e-6}
    torch.testing.assert_close(traced.detach(), frozen, **tolerance)
    order = torch.randperm(batch.num_edges, generator=torch.Generator().manual_seed(0))
    shuffled = layer(
        batch.x, batch.edge_index[:, order], batch.edge_attr[order], batch.batch, batch.num_graphs
    )
    torch.testing.assert_close(shuffled, frozen, **tolerance)


def test_fake_tensors_have_shapes_only():
    from torch._subclasses import FakeTensorMode

    layer = GRNFLayer(2, 6, random_state=0)
    mode = FakeTensorMode(allow_non_fake_inputs=True)
    x, arcs = mode.from_tensor(torch.ones(3, 2)), mode.from_tensor(torch.tensor([[0, 1], [1, 0]]))
    with mode:
        assert layer(x, arcs).shape == (1, 6)


def test_any_layout_of_tensors():
    """Slices and transposed tensors give the same numbers as copies of them."""
    layer = GRNFLayer(2, 6, 1, random_state=0, dtype=torch.float64)
    batch = batch_of(some_graphs(2, 1))
    wide = torch.cat([batch.x, batch.x], dim=1)
    given = (wide[:, :2], batch.edge_index.T.contiguous().T, batch.edge_attr.T.contiguous().T)
    assert not given[0].is_contiguous()
    assert torch.equal(layer(*given, batch.batch, batch.num_graphs), layer(batch))
