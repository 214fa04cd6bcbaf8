"""The model, the aggregation and the transform against the layer and the lifts that they are made of."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from grnf import GRNF, GraphError
from grnf.lifts import Degree, Distance, Encode, Propagate, Size, Standardize, WeisfeilerLehman
from nn.layers import batch_of, some_graphs
from optional import require

torch = require("torch")
data = require("torch_geometric.data")

from grnf.nn import GRNFAggregation, GRNFEncoder, GRNFLayer, LiftTransform  # noqa: E402

CHAINS = [
    (Degree(), Size()),
    (Standardize(), Propagate(2)),
    (WeisfeilerLehman(2, dim=4, random_state=0),),
    (Distance(),),
]


@pytest.mark.parametrize("lifts", CHAINS, ids=lambda chain: type(chain[0]).__name__)
def test_the_layer_sees_what_the_pipeline_sees(lifts):
    given = [graph.to_pyg() for graph in some_graphs(2, 1, (3, 1, 6))]
    pipeline = make_pipeline(*lifts, GRNF(16, random_state=0)).fit(given)
    transform = LiftTransform(*lifts).fit(given)
    batch = data.Batch.from_data_list([transform(one) for one in given])
    layer = GRNFLayer.from_transformer(pipeline[-1])
    np.testing.assert_allclose(layer(batch).numpy(), pipeline.transform(given), rtol=0, atol=1e-5)
    assert given[0].x.shape[1] == 2  # a transform does not change its input


def test_integer_codes():
    arcs = torch.tensor([[0, 1], [1, 0]])
    train = data.Data(x=torch.tensor([[6, 1], [8, 0]]), edge_index=arcs, edge_attr=torch.tensor([2, 2]), y=1)
    new = data.Data(x=torch.tensor([[8, 1], [7, 1]]), edge_index=arcs, edge_attr=torch.tensor([2, 3]), y=0)
    numbers = LiftTransform(Encode()).fit([train])(new)
    assert numbers.x.tolist() == [[8, 1], [7, 1]]
    codes = LiftTransform(Encode(), categorical=True).fit([train])(new)
    assert codes.x.tolist() == [[0, 1, 0, 1], [0, 0, 0, 1]]  # 7 was not there
    assert codes.edge_attr.tolist() == [[1.0], [0.0]]
    assert codes.y == 0
    both = data.Batch.from_data_list([train, new])
    lifted = LiftTransform(Size()).fit([train, new])
    assert torch.equal(lifted(both).x, torch.cat([lifted(graph).x for graph in (train, new)]))
    with pytest.raises(GraphError, match="such as dim=16"):
        LiftTransform(WeisfeilerLehman()).fit([train])
    with pytest.raises(ValueError, match="not fitted"):
        LiftTransform(Degree())(train)


def test_aggregation():
    batch = batch_of(some_graphs(2, 0, (3, 2, 4)))
    x = batch.x.float()
    aggregation = GRNFAggregation(2, 8, random_state=0)
    z = aggregation(x, batch.batch, dim_size=batch.num_graphs)
    torch.testing.assert_close(z, aggregation.grnf(x, None, None, batch.batch, batch.num_graphs))
    torch.testing.assert_close(aggregation(x, ptr=batch.ptr), z)
    order = torch.randperm(len(x))
    torch.testing.assert_close(aggregation(x[order], batch.batch[order]), z)
    with_edges = aggregation(x, batch.batch, edge_index=batch.edge_index)
    torch.testing.assert_close(with_edges, aggregation.grnf(x, batch.edge_index, None, batch.batch))
    assert not torch.allclose(with_edges, z)
    torch.testing.assert_close(aggregation(x), aggregation.grnf(x))


def test_encoder():
    batch = batch_of(some_graphs(2, 1, (3, 2, 4)))
    model = GRNFEncoder(2, 8, 3, 3, n_features=16, edge_dim=1, random_state=0, trainable=True)
    z = model(batch)
    assert z.shape == (batch.num_graphs, 3)
    z.sum().backward()
    assert all(parameter.grad is not None for parameter in model.parameters())
    again = GRNFEncoder(2, 8, 3, 3, n_features=16, edge_dim=1, random_state=1, trainable=True)
    again.load_state_dict(model.state_dict())
    model.eval()
    again.eval()
    torch.testing.assert_close(again(batch), model(batch))
    model.reset_parameters()
    assert not torch.allclose(again(batch), model(batch))
