"""The layer as a module: what torch and its users expect of one."""

import copy
import pickle

import numpy as np
import pytest

from grnf import GraphError
from grnf.law import ShiftedPoisson
from optional import require

torch = require("torch")
data = require("torch_geometric.data")

from grnf.nn import GRNFLayer  # noqa: E402
from nn.layers import batch_of, some_graphs  # noqa: E402

ORDERS = {1: 0.4, 2: 0.3, 3: 0.3}
ARCS = torch.tensor([[0, 1, 1, 2, 3, 4], [1, 0, 2, 1, 4, 3]])
BATCH = torch.tensor([0, 0, 0, 1, 1])


def test_parameters_are_buffers_unless_trainable():
    frozen = GRNFLayer(2, 8, orders=ORDERS, random_state=0)
    assert list(frozen.parameters()) == []
    assert all(tensor.is_contiguous() for tensor in frozen.buffers())  # LBFGS and DDP take views
    expected = {"theta_1", "theta_2", "theta_3", "orders", "importance", "_extra_state"}
    assert set(frozen.state_dict()) == expected
    trained = GRNFLayer(2, 8, orders=ORDERS, random_state=0, trainable=True, learn_weights=True)
    assert {name for name, _ in trained.named_parameters()} == {"theta_1", "theta_2", "theta_3", "logits"}
    assert {k: v.shape for k, v in trained.state_dict().items() if k != "logits"} == {
        k: v.shape for k, v in frozen.state_dict().items()
    }


@pytest.mark.parametrize("trainable", [False, True])
def test_state_dict_of_another_seed(trainable):
    """Another seed has other numbers of features of each order; loading makes room for them."""
    one, other = (
        GRNFLayer(1, 40, orders=ORDERS, random_state=seed, trainable=trainable, learn_weights=trainable)
        for seed in (0, 2)
    )
    assert one.theta_1.shape != other.theta_1.shape
    parameters = list(other.parameters())
    other.load_state_dict(one.state_dict())
    assert all(a is b for a, b in zip(parameters, other.parameters(), strict=True))
    x = torch.randn(5, 1)
    torch.testing.assert_close(other(x, ARCS, batch=BATCH), one(x, ARCS, batch=BATCH), rtol=0, atol=0)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("in_channels", 2), ("out_channels", 20), ("edge_dim", 1), ("heads", 2), ("orders", {1: 1.0}),
        ("activation", "erf"), ("hidden_activation", "tanh"), ("basis", "overlapping"),
        ("normalize", False), ("center", False), ("hidden_channels", 2),
    ],
)  # fmt: skip
def test_state_dict_of_another_configuration(name, value):
    settings = {"in_channels": 1, "out_channels": 40, "orders": {1: 0.5, 2: 0.5}, "random_state": 0}
    saved, other = GRNFLayer(**settings), GRNFLayer(**{**settings, "random_state": 3, name: value})
    with pytest.raises(RuntimeError, match=f"{name} must be .*, as in the saved layer"):
        torch.nn.Sequential(other).load_state_dict(torch.nn.Sequential(saved).state_dict())
    assert other.seed == 3


def test_copies_pickles_and_reset(tmp_path):
    layer = GRNFLayer(1, 8, orders=ORDERS, random_state=0, trainable=True, learn_weights=True)
    x = torch.randn(5, 1)
    z = layer(x, ARCS, batch=BATCH)
    for again in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        torch.testing.assert_close(again(x, ARCS, batch=BATCH), z, rtol=0, atol=0)
    torch.save(layer.state_dict(), tmp_path / "layer.pt")
    layer.load_state_dict(torch.load(tmp_path / "layer.pt", weights_only=True))
    with torch.no_grad():
        layer.theta_1.add_(1.0)
        layer.logits.add_(torch.arange(8.0))
    assert not torch.allclose(layer(x, ARCS, batch=BATCH), z)
    layer.reset_parameters()
    torch.testing.assert_close(layer(x, ARCS, batch=BATCH), z, rtol=0, atol=0)


def test_seeds():
    def thetas(random_state):
        return GRNFLayer(1, 4, orders={1: 1.0}, random_state=random_state).theta_1

    torch.manual_seed(0)
    first = thetas(None)
    assert not torch.equal(first, thetas(None))
    torch.manual_seed(0)
    assert torch.equal(first, thetas(None))
    assert torch.equal(thetas(torch.Generator().manual_seed(3)), thetas(torch.Generator().manual_seed(3)))
    assert torch.equal(thetas(np.random.default_rng(0)), thetas(np.random.default_rng(0)))


def test_precision_and_repr():
    layer = GRNFLayer(1, 8, random_state=5, hidden_activation="ramp", trainable=True)
    assert repr(layer) == (
        "GRNFLayer(1, 8, orders={1: 5, 2: 3}, seed=5, hidden_activation='ramp', trainable=True)"
    )
    x = torch.randn(5, 1, dtype=torch.float64)
    assert layer(x, ARCS).dtype == torch.float32
    assert layer.double()(x, ARCS).dtype == torch.float64
    assert layer.orders.dtype == torch.long
    half = GRNFLayer(1, 8, random_state=5, dtype=torch.bfloat16)
    exact = GRNFLayer(1, 8, random_state=5)
    torch.testing.assert_close(
        half(x, ARCS, batch=BATCH).float(), exact(x, ARCS, batch=BATCH), rtol=0, atol=0.05
    )


def test_learned_weights_are_a_density():
    law = ShiftedPoisson(0.5)
    settings = {"orders": law, "proposal": law.restricted_to({1, 2}), "random_state": 0}
    plain, learned = GRNFLayer(0, 16, **settings), GRNFLayer(0, 16, learn_weights=True, **settings)
    x = None
    torch.testing.assert_close(learned(x, ARCS), plain(x, ARCS))
    with torch.no_grad():
        learned.logits.copy_(torch.randn(16))
    weights = learned.feature_weights()
    assert (weights > 0).all()
    torch.testing.assert_close(weights.mean(), plain.feature_weights().mean())
    expected = plain(x, ARCS) * (weights / plain.feature_weights()).sqrt()
    torch.testing.assert_close(learned(x, ARCS), expected)


def test_any_sane_input():
    layer = GRNFLayer(0, 8, 1, random_state=0)
    attr = torch.randn(6)
    z = layer(None, ARCS, attr, BATCH)
    torch.testing.assert_close(layer(None, ARCS, attr[:, None], BATCH), z)
    torch.testing.assert_close(layer(None, ARCS, attr, BATCH, batch_size=4)[:2], z)
    empty = layer(None, ARCS, attr, BATCH, batch_size=4)[2:]
    torch.testing.assert_close(empty, layer(None, ARCS[:, :0], None).expand(2, -1))
    for path in ("torch", "cpu"):
        layer.path = path
        assert layer(None, ARCS[:, :0], None, torch.empty(0, dtype=torch.long), 0).shape == (0, 8)
        assert layer(None, ARCS[:, :0], None, torch.empty(0, dtype=torch.long)).shape == (0, 8)
    order = torch.tensor([3, 1, 4, 0, 2])
    position = torch.argsort(order)
    torch.testing.assert_close(layer(None, position[ARCS], attr, BATCH[order]), z)
    assert layer(data.Data(num_nodes=3)).shape == (1, 8)
    assert GRNFLayer(1, 8)(torch.tensor([1, 2, 3, 4, 5]), ARCS.int()).shape == (1, 8)
    graphs = some_graphs(0, 1)
    assert torch.isfinite(layer(batch_of(graphs))).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"x": None}, r"x is None, but the layer has in_channels=2"),
        ({"x": torch.ones(5, 3)}, "x must have 2 columns, .* got 3. Create the layer with in_channels=3"),
        ({"x": torch.ones(5, 2, 1)}, "x must have one or two axes"),
        ({"x": torch.ones(2, 2)}, "names nodes from 0 to 4, but there are 2 nodes"),
        ({"edge_index": ARCS - 1}, "names nodes from -1 to 3"),
        ({"edge_index": ARCS.T}, "Transpose it"),
        ({"edge_index": ARCS.float()}, "must hold integers"),
        ({"edge_attr": torch.ones(6)}, "edge_attr must have 0 columns.*edge_dim=1.*edge_attr=None"),
        ({"edge_attr": torch.ones(5, 1)}, "one row per edge: 6"),
        (
            {"batch": torch.tensor([0, 0, 1, 1, 1])},
            r"edge_index\[:, 2\] = \[1, 2\] joins nodes of two graphs",
        ),
        ({"batch": BATCH[:3]}, "for each of 5 nodes"),
        ({"batch": BATCH, "batch_size": 1}, "numbers from 0 to 1, but there are 1 graphs"),
        ({"batch_size": 3}, "without batch all nodes are of one graph"),
        ({"x": data.HeteroData(), "edge_index": None}, "to_homogeneous"),
    ],
)
def test_bad_input(arguments, message):
    layer = GRNFLayer(2, 4)
    with pytest.raises(GraphError, match=message):
        layer(**{"x": torch.ones(5, 2), "edge_index": ARCS, **arguments})


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"out_channels": 0}, "out_channels must be an integer >= 1"),
        ({"in_channels": -1}, "in_channels must be an integer >= 0"),
        ({"edge_dim": -1}, "edge_dim must be an integer >= 0 or None"),
        ({"out_channels": 9, "heads": 2}, "multiple of heads"),
        ({"heads": 0}, "heads must be an integer >= 1"),
        ({"basis": "other"}, "basis must be one of"),
        ({"hidden_activation": "gelu"}, "hidden_activation must be 'identity', .*, got 'gelu'. The layer"),
        ({"random_state": "seed"}, "random_state must be"),
        ({"dtype": torch.long}, "floating type"),
    ],
)
def test_bad_settings(settings, message):
    with pytest.raises(ValueError, match=message):
        GRNFLayer(**{"in_channels": 1, "out_channels": 4, **settings})


def test_deterministic_mode_and_threads():
    batch = batch_of(some_graphs(1, 1, sizes=(30, 20, 5)))
    threads = torch.get_num_threads()
    found = []
    try:
        torch.use_deterministic_algorithms(True)
        for count in (1, 3, 3):
            torch.set_num_threads(count)
            layer = GRNFLayer(1, 40, 1, orders=ORDERS, random_state=0, trainable=True)
            z = layer(batch)
            found.append((z, *torch.autograd.grad(z.square().sum(), list(layer.parameters()))))
    finally:
        torch.set_num_threads(threads)
        torch.use_deterministic_algorithms(False)
    for one, three, again in zip(*found, strict=True):
        torch.testing.assert_close(three, again, rtol=0, atol=0)
        torch.testing.assert_close(one, three, rtol=1e-5, atol=1e-6)


@pytest.mark.slow
def test_compiles_as_one_graph():
    layer = GRNFLayer(1, 6, 1, orders={2: 1.0}, random_state=0, trainable=True)
    compiled = torch.compile(layer, backend="aot_eager", fullgraph=True)
    for sizes in ((6, 4, 0), (3, 5, 2, 1)):  # other sizes, other shapes
        batch = batch_of(some_graphs(1, 1, sizes))
        x, attr = batch.x.float().requires_grad_(), batch.edge_attr.float().requires_grad_()
        arguments = (x, batch.edge_index, attr, batch.batch, batch.num_graphs)
        wanted = [x, attr, *layer.parameters()]
        expected, found = layer(*arguments), compiled(*arguments)
        torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6)
        for one, other in zip(
            torch.autograd.grad(found.square().sum(), wanted),
            torch.autograd.grad(expected.square().sum(), wanted),
            strict=True,
        ):
            torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-6)


E = torch.tensor([[0, 1], [1, 0]])


@pytest.mark.parametrize(
    ("x", "edge_index", "message", "warm"),
    [
        (torch.ones(2, 3), E, "x must have 2 columns, .* got 3. Create the layer with in_channels=3", False),
        (torch.ones(2, 3), E, "x must have 2 columns, .* got 3. Create the layer with in_channels=3", True),
        (None, E, "x is None, but the layer has in_channels=2", False),
        (torch.ones(2, 2), torch.cat([E, E[:1]]), r"got torch.int64 of shape \(3, 2\). Transpose it", False),
    ],
    ids=["width", "width after other sizes", "none", "transposed"],
)
def test_wrong_inputs_are_named_under_compile(x, edge_index, message, warm):
    torch._dynamo.reset()
    layer = GRNFLayer(2, 4, random_state=0)
    compiled = torch.compile(layer, backend="eager", fullgraph=True)
    if warm:  # sizes that vary become symbols
        for n in (2, 3):
            compiled(torch.ones(n, 2), E, None, torch.zeros(n, dtype=torch.long), 1)
    batch = torch.zeros(2, dtype=torch.long)
    with pytest.raises(AssertionError, match=message):
        compiled(x, edge_index, None, batch, 1)
    with pytest.raises(GraphError, match=message):
        layer(x, edge_index, None, batch, 1)


@pytest.mark.parametrize("seed", [0, 7, 2**70])
def test_the_seed_is_part_of_the_state(seed):
    layer, other = GRNFLayer(1, 8, random_state=seed), GRNFLayer(1, 8, random_state=1)
    other.load_state_dict(layer.state_dict())
    assert other.seed == seed
    other.reset_parameters()
    for name, tensor in layer.state_dict().items():
        torch.testing.assert_close(other.state_dict()[name], tensor)
