import numpy as np
import pytest

from grnf import GRNF, Graph, GraphError, GrnfWarning
from grnf.io import to_raw
from grnf.io.objects import iter_raw
from optional import require, to_pyg
from random_graphs import cycle

torch = require("torch")
data = require("torch_geometric.data")


def test_both_arcs_are_one_undirected_edge_only_if_their_attributes_agree():
    arcs = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    raw = to_raw(data.Data(edge_index=arcs, edge_attr=torch.tensor([1.0, 1.0, 2.0, 2.0]), num_nodes=3))
    assert (raw.directed, raw.edges.tolist()) == (False, [[0, 1], [1, 2]])
    assert raw.edge_columns["edge_attr"].tolist() == [1.0, 2.0]
    raw = to_raw(data.Data(edge_index=arcs, edge_attr=torch.tensor([1.0, 1.0, 2.0, 3.0]), num_nodes=3))
    assert (raw.directed, len(raw.edges)) == (True, 4)


def test_last_nodes_without_edges_count():
    arcs = torch.tensor([[0, 1], [1, 0]])
    assert to_raw(data.Data(edge_index=arcs, num_nodes=5)).n_nodes == 5
    assert to_raw(data.Data(edge_index=arcs, x=torch.ones(4, 1))).n_nodes == 4
    assert to_raw(data.Data(x=torch.ones(4, 1))).n_nodes == 4


def test_targets_weights_and_narrow_types():
    raw = to_raw(
        data.Data(
            x=torch.ones(2, 1, dtype=torch.bfloat16, requires_grad=True),
            edge_index=torch.tensor([[0, 1], [1, 0]]),
            edge_weight=torch.tensor([0.5, 0.5], dtype=torch.float16),
            y=torch.tensor([1]),
        )
    )
    assert raw.y == 1
    assert raw.edge_columns["weight"].tolist() == [0.5]
    assert raw.node_columns["x"].dtype == np.float64
    assert to_raw(data.Data(num_nodes=1, y=torch.tensor([1.0, 2.0]))).y.tolist() == [1.0, 2.0]


def test_batches_and_data_sets_are_collections():
    class Rings(data.InMemoryDataset):
        def __init__(self):
            super().__init__(None)
            self.data, self.slices = self.collate([to_pyg(cycle(n)) for n in (3, 4, 5)])

    batch = data.Batch.from_data_list([to_pyg(cycle(3)), to_pyg(Graph(2, [])), to_pyg(cycle(4))])
    assert [raw.n_nodes for raw in iter_raw(batch)] == [3, 2, 4]
    assert [raw.n_nodes for raw in iter_raw(Rings())] == [3, 4, 5]
    assert [raw.n_nodes for raw in iter_raw(Rings()[1:])] == [4, 5]


def test_a_loader_is_a_collection_of_the_graphs_in_its_batches():
    loader = require("torch_geometric.loader").DataLoader
    graphs = [to_pyg(cycle(n)) for n in range(3, 10)]
    grnf = GRNF(8, random_state=0).fit(loader(graphs, batch_size=3))
    Z = grnf.transform(graphs)
    np.testing.assert_array_equal(grnf.transform(loader(graphs, batch_size=3)), Z)
    with pytest.warns(GrnfWarning, match=r"shuffles.*shuffle=False"):
        shuffled = grnf.transform(loader(graphs, batch_size=3, shuffle=True))
    np.testing.assert_array_equal(np.sort(shuffled, axis=0), np.sort(Z, axis=0))


def test_what_is_not_used_is_said():
    graph = data.Data(x=torch.ones(2, 1), pos=torch.ones(2, 3), edge_index=torch.tensor([[0], [1]]))
    with pytest.warns(GrnfWarning, match="the attributes pos are not used"):
        to_raw(graph)


def test_a_tensor_is_an_adjacency_matrix():
    assert to_raw(torch.eye(3)).edges.tolist() == [[0, 0], [1, 1], [2, 2]]
    assert [raw.n_nodes for raw in iter_raw(torch.zeros(2, 3, 3))] == [3, 3]
    sparse = torch.tensor([[0.0, 2.0], [2.0, 0.0]]).to_sparse()
    assert to_raw(sparse).node_columns == {}
    assert to_raw(sparse).edge_columns["weight"].tolist() == [2.0]


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (lambda: data.HeteroData(), r"several types of nodes .* to_homogeneous\(\)"),
        (lambda: data.Batch.from_data_list([data.Data(num_nodes=1)]), "must be one graph, got a Batch"),
        (lambda: data.Data(num_nodes=1, adj_t=torch.eye(1)), "has adj_t but no edge_index"),
        (lambda: data.Data(x=torch.ones(2, 1), num_nodes=3), "x must have one row per node"),
        (lambda: data.Data(edge_index=torch.zeros(3, 2, dtype=torch.long), num_nodes=1), "transpose it"),
    ],
)
def test_bad_data(graph, message):
    with pytest.raises(GraphError, match=message):
        to_raw(graph())
