"""The path in torch operations against the definition and the kernels, and what only this path can do."""

import copy

import numpy as np
import pytest

from optional import require

torch = require("torch")

from grnf.activations import ACTIVATIONS  # noqa: E402
from grnf.errors import CostWarning, GraphError  # noqa: E402
from grnf.features import psi_of_graph  # noqa: E402
from grnf.graphs import GraphBatch  # noqa: E402
from grnf.nn import GRNFLayer, torch_sums  # noqa: E402
from nn.layers import COMPILED, batch_of, covering_design, some_graphs  # noqa: E402


def layers(k, heads=1, dtype=torch.float64, out_channels=6, **settings):
    """The same layer twice: by the kernels, and by torch."""
    given = {"orders": {k: 1.0}, "hidden_channels": 2, "random_state": 1, **settings}
    made = GRNFLayer(1, out_channels, 1, heads=heads, dtype=dtype, path="cpu", **given)
    again = copy.deepcopy(made)
    again.path = "torch"
    return made, again


def inputs(sizes=(4, 0, 3, 1), dtype=torch.float64):
    """x, edge_index, edge_attr, batch, batch_size in general position, nodes of graphs mixed."""
    batch = batch_of(some_graphs(1, 1, sizes))
    order = torch.randperm(batch.num_nodes, generator=torch.Generator().manual_seed(0))
    x, attr = torch.randn(batch.num_nodes, 1, dtype=dtype), torch.randn(batch.num_edges, 1, dtype=dtype)
    arcs = torch.argsort(order)[batch.edge_index]
    return x.requires_grad_(), arcs, attr.requires_grad_(), batch.batch[order], batch.num_graphs


@pytest.mark.parametrize(("k", "heads", "basis", "hidden_activation"), covering_design((1, 2, 3, 4)))
def test_the_definition_in_torch(k, heads, basis, hidden_activation, monkeypatch):
    monkeypatch.setattr(torch_sums, "ENTRIES", 4000)  # many steps
    graphs = some_graphs(1, 1, (4, 0, 3, 1) if k < 4 else (3, 1))
    settings = {
        "basis": basis,
        "hidden_activation": hidden_activation,
        "normalize": heads == 1,
        "adjacency_channel": basis == "indicator",
    }
    layer = layers(k, heads, center=False, **settings)[1]
    channels = GraphBatch.from_graphs(graphs).channels(settings["adjacency_channel"]).all
    draw = layer.proposal.sample(6 // heads, channels=channels, seed=1, heads=heads)
    expected = np.stack([psi_of_graph(graph, draw, **settings) for graph in graphs]) / np.sqrt(6)
    first = layer(batch_of(graphs)).numpy()[:, ::heads]  # the definition has one head
    np.testing.assert_allclose(first, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("heads", [1, 3])
@pytest.mark.parametrize(("k", "hidden_activation"), COMPILED)
def test_both_paths_agree(k, heads, hidden_activation, monkeypatch):
    """Numbers and derivatives, for nodes in any order."""
    monkeypatch.setattr(torch_sums, "ENTRIES", 4000)
    torch.manual_seed(k)
    given = inputs((5, 0, 3, 1, 2) if k < 4 else (4, 0, 1))
    basis = "indicator" if (heads == 1) == (hidden_activation == "relu") else "overlapping"
    found = []
    for layer in layers(
        k, heads, basis=basis, hidden_activation=hidden_activation, normalize=heads == 1, trainable=True
    ):
        z = layer(*given)
        wanted = (given[0], given[2], *layer.parameters())
        found.append([z, *torch.autograd.grad(z.square().sum(), wanted)])
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("name", list(ACTIVATIONS))
def test_twice_differentiable(name):
    torch.manual_seed(0)
    x, arcs, attr, batch, n_graphs = inputs((3, 2))
    _, layer = layers(2, out_channels=2, hidden_activation=name, trainable=True)

    def call(x, attr, theta):
        given = {"theta_2": theta}
        return torch.func.functional_call(layer, given, (x, arcs, attr, batch, n_graphs))

    given = (x, attr, layer.theta_2)
    assert torch.autograd.gradcheck(call, given, fast_mode=True)
    assert torch.autograd.gradgradcheck(call, given, fast_mode=True)


def test_kernels_have_first_derivatives_only():
    x, arcs, attr, batch, n_graphs = inputs((3, 2))
    layer, _ = layers(2, out_channels=2)
    (d,) = torch.autograd.grad(layer(x, arcs, attr, batch, n_graphs).sum(), x, create_graph=True)
    with pytest.raises(GraphError, match="have no second derivatives"):
        d.sum().backward()


def test_function_transforms():
    """vmap over attributes, and derivatives of torch.func, are those of single calls."""
    torch.manual_seed(0)
    x, arcs, attr, batch, n_graphs = (one.detach() if torch.is_tensor(one) else one for one in inputs((3, 2)))
    for name in ("relu", "tanh"):
        _, layer = layers(2, hidden_activation=name)

        def energy(x, layer=layer):
            return layer(x, arcs, attr, batch, n_graphs).square().sum()

        several = torch.stack([x, -x, 2 * x])
        found = torch.func.vmap(torch.func.grad(energy))(several)
        expected = [torch.autograd.grad(energy(one), one)[0] for one in several.requires_grad_().unbind()]
        torch.testing.assert_close(found, torch.stack(expected))
        hessian = torch.func.jacrev(torch.func.grad(energy))(x)
        torch.testing.assert_close(hessian, torch.autograd.functional.hessian(energy, x))


def test_shapes_on_the_meta_device():
    for k, name in ((1, "relu"), (2, "relu"), (2, "tanh"), (3, "ramp")):
        layer = layers(k, 3, hidden_activation=name)[1].to("meta")
        layer.path = "auto"
        x, arcs, attr, batch, n_graphs = inputs((3, 2), torch.float64)
        given = (one.detach().to("meta") for one in (x, arcs, attr, batch))
        z = layer(*given, n_graphs)
        assert z.shape == (n_graphs, 6)
        assert z.is_meta


def test_sums_of_mixed_precision_are_single():
    x, arcs, attr, batch, n_graphs = inputs((30, 20), torch.float32)
    for layer in layers(2, 3, torch.float32):
        expected = layer(x, arcs, attr, batch, n_graphs)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            found = layer(x, arcs, attr, batch, n_graphs)
        assert found.dtype == torch.float32
        assert torch.equal(found, expected)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The .grad attribute")
@pytest.mark.parametrize("name", ["relu", "ramp", "tanh"])
def test_compiles_and_exports(name):
    kernels, layer = layers(2, hidden_activation=name, trainable=True)
    compiled = torch.compile(layer, backend="aot_eager", fullgraph=name != "tanh")
    given = inputs((4, 3))
    found, expected = (one(*given) for one in (compiled, kernels))
    torch.testing.assert_close(found, expected)
    found, expected = (torch.autograd.grad(z.square().sum(), given[0])[0] for z in (found, expected))
    torch.testing.assert_close(found, expected)
    dynamic = {}
    if name != "tanh":
        nodes, edges = torch.export.Dim("nodes", min=2), torch.export.Dim("edges", min=3)
        rows = {"x": {0: nodes}, "edge_index": {1: edges}, "edge_attr": {0: edges}, "batch": {0: nodes}}
        dynamic = {"dynamic_shapes": {**rows, "batch_size": None}}
    names = ("x", "edge_index", "edge_attr", "batch", "batch_size")
    exported = torch.export.export(layer, (), dict(zip(names, given, strict=True)), **dynamic).module()
    for sizes in ((4, 3), (6, 2))[: 1 if name == "tanh" else 2]:
        given = inputs(sizes)
        torch.testing.assert_close(
            exported(**dict(zip(names, given, strict=True))), kernels(*given), rtol=1e-10, atol=1e-10
        )


def test_cost_and_bad_graphs():
    _, layer = layers(3)
    x, arcs, attr, batch, n_graphs = inputs((4, 3))
    with pytest.raises(GraphError, match="names nodes from"):
        layer(x, arcs + 5, attr, batch, n_graphs)
    with pytest.raises(GraphError, match="joins nodes of two graphs"):
        layer(x, arcs, attr, torch.arange(len(x)), len(x))
    with pytest.raises(GraphError, match="but there are 1 graphs"):
        layer(x, arcs, attr, batch, 1)
    with pytest.warns(CostWarning, match="order 3 in torch operations sums"):
        torch_sums.warn_of_cost(
            torch.tensor([5000]), [torch_sums.forms(k, "indicator") for k in (1, 3)], [2, 2]
        )


def test_memory_does_not_hold_the_pairs_in_torch():
    """A graph of 20,000 nodes has 4e8 pairs: no array of pairs could be held."""
    n = 20_000
    x = torch.randn(n, 1, requires_grad=True)
    layer = GRNFLayer(1, 2, orders={2: 1.0}, hidden_channels=1, random_state=0, trainable=True, path="torch")
    layer(x, torch.randint(n, (2, 4 * n))).sum().backward()
    assert torch.isfinite(x.grad).all()
