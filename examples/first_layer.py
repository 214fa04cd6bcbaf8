"""
GRNF and GIN as first layers
============================

Train a network with GRNF as its first layer, which is not trained, and one with GIN.

The data are two classes of Delaunay triangulations. Nodes have their coordinates as attributes. Both networks
use the same loaders, the same output layers and the same number of epochs.

Run it with ``python examples/first_layer.py``.
"""

# sphinx_gallery_thumbnail_path = 'figures/table1.svg'

import argparse
import time

import torch
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GIN, global_add_pool

from grnf.datasets import make_delaunay
from grnf.nn import GRNFLayer


def as_data(graph, label):
    """Convert a graph to PyTorch Geometric, which lists both arcs of each edge."""
    edges = torch.from_numpy(graph.edges.copy()).T
    x = torch.from_numpy(graph.node_attr.copy()).float()
    return Data(x=x, edge_index=torch.cat([edges, edges.flip(0)], dim=1), y=torch.tensor([int(label)]))


def head(width):
    return torch.nn.Sequential(torch.nn.Linear(width, 32), torch.nn.ReLU(), torch.nn.Linear(32, 2))


class WithGRNF(torch.nn.Module):
    def __init__(self, n_features=256):
        super().__init__()
        self.grnf = GRNFLayer(2, n_features, random_state=0)
        self.norm = torch.nn.BatchNorm1d(n_features)
        self.head = head(n_features)

    def forward(self, batch):
        return self.head(self.norm(self.grnf(batch)))


class WithGIN(torch.nn.Module):
    def __init__(self, channels=32, num_layers=3):
        super().__init__()
        self.gin = GIN(2, channels, num_layers, norm="batch_norm")
        self.head = head(channels)

    def forward(self, batch):
        nodes = self.gin(batch.x, batch.edge_index)
        return self.head(global_add_pool(nodes, batch.batch, batch.num_graphs))


def train(model, loader, epochs):
    optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=0.005)
    model.train()
    for _ in range(epochs):
        for batch in loader:
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(batch), batch.y).backward()
            optimizer.step()


def accuracy(model, loader):
    model.eval()
    with torch.no_grad():
        right = sum(int((model(batch).argmax(1) == batch.y).sum()) for batch in loader)
    return right / len(loader.dataset)


def main(n_graphs=300, epochs=30):
    graphs, labels = make_delaunay(n_graphs, random_state=0)
    data = [as_data(graph, label) for graph, label in zip(graphs, labels, strict=True)]
    split = 2 * n_graphs // 3
    found = {}
    for name, make in (("GRNF", WithGRNF), ("GIN", WithGIN)):
        torch.manual_seed(0)
        model = make()
        start = time.perf_counter()
        train(model, DataLoader(data[:split], batch_size=32, shuffle=True), epochs)
        seconds = time.perf_counter() - start
        found[name] = accuracy(model, DataLoader(data[split:], batch_size=64))
        trained = sum(p.numel() for p in model.parameters() if p.requires_grad)
        print(
            f"{name:4}: accuracy {found[name]:.3f}, {trained} trained parameters, {seconds:.1f} s of training"
        )
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n-graphs", type=int, default=300)
    parser.add_argument("--epochs", type=int, default=30)
    main(**vars(parser.parse_args()))
