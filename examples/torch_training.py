"""
Training with PyTorch
=====================

Train GRNF coefficients and weights in PyTorch, with PyTorch Geometric loaders.

Run it with ``python examples/torch_training.py``.
"""

# sphinx_gallery_thumbnail_path = 'figures/synthetic.svg'

import argparse

import torch
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader

from grnf.datasets import make_delaunay
from grnf.nn import GRNFLayer


def as_data(graph, label):
    """Convert a graph to PyTorch Geometric, which lists both arcs of each edge."""
    edges = torch.from_numpy(graph.edges.copy()).T
    x = torch.from_numpy(graph.node_attr.copy()).float()
    return Data(x=x, edge_index=torch.cat([edges, edges.flip(0)], dim=1), y=torch.tensor([int(label)]))


def accuracy(model, loader):
    model.eval()
    with torch.no_grad():
        right = sum(int((model(batch).argmax(1) == batch.y).sum()) for batch in loader)
    return right / len(loader.dataset)


def main(n_graphs=300, n_features=64, epochs=8):
    torch.manual_seed(0)
    graphs, labels = make_delaunay(n_graphs, random_state=0)
    data = [as_data(graph, label) for graph, label in zip(graphs, labels, strict=True)]
    split = 2 * n_graphs // 3
    train = DataLoader(data[:split], batch_size=32, shuffle=True)
    test = DataLoader(data[split:], batch_size=64)
    model = torch.nn.Sequential(
        GRNFLayer(2, n_features, random_state=0, trainable=True, learn_weights=True),
        torch.nn.Linear(n_features, 2),
    )
    print(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for epoch in range(1, epochs + 1):
        model.train()
        total = 0.0
        for batch in train:
            loss = torch.nn.functional.cross_entropy(model(batch), batch.y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * batch.num_graphs
        print(f"epoch {epoch}: loss {total / split:.3f}, accuracy on new graphs {accuracy(model, test):.3f}")
    return accuracy(model, test)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n-graphs", type=int, default=300)
    parser.add_argument("--n-features", type=int, default=64)
    parser.add_argument("--epochs", type=int, default=8)
    main(**vars(parser.parse_args()))
