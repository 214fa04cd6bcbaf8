"""A GIN of PyTorch Geometric trained on the folds of a benchmark set, to compare what it costs."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np

from grnf.graphs import Graph, GraphBatch

__all__ = ["SETTINGS", "gin_fold"]

SETTINGS = {
    "layers": 5,
    "channels": 64,
    "dropout": 0.5,
    "learning_rate": 1e-3,
    "batch_size": 32,
    "max_epochs": 200,
    "patience": 50,
}


def gin_fold(graphs: GraphBatch, y: Any, fold: Any, seed: int, max_epochs: int) -> dict[str, Any] | None:
    """Train on one fold with one set of settings; None where torch or PyTorch Geometric is absent.

    The weights of the best validation accuracy are tested, as in the protocol of Errica et al. without its
    search over settings: a whole grid would take as many times longer as it has points.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # torch_geometric still asks for torch.jit
            import torch
            from torch_geometric.data import Data
            from torch_geometric.loader import DataLoader
            from torch_geometric.nn import GIN, global_add_pool  # noqa: F401 used by _model
    except ImportError:
        return None
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        classes, labels = np.unique(y, return_inverse=True)
        loaders = {
            part: DataLoader(
                [_data(torch, Data, graphs[int(i)], int(labels[i])) for i in getattr(fold, part)],
                batch_size=int(SETTINGS["batch_size"]),
                shuffle=part == "train",
            )
            for part in ("train", "validation", "test")
        }
        start = time.perf_counter()
        model = _model(torch, max(graphs.node_width, 1), len(classes))
        optimizer = torch.optim.Adam(model.parameters(), lr=SETTINGS["learning_rate"])
        best, test, best_epoch = -1.0, 0.0, 0
        for epoch in range(max_epochs):
            model.train()
            for batch in loaders["train"]:
                optimizer.zero_grad()
                loss: Any = torch.nn.functional.cross_entropy(model(batch), batch.y)
                loss.backward()
                optimizer.step()
            accuracy = _accuracy(torch, model, loaders["validation"])
            if accuracy > best:
                best, best_epoch = accuracy, epoch
                test = _accuracy(torch, model, loaders["test"])
            if epoch - best_epoch >= SETTINGS["patience"]:
                break
    return {"test": test, "epochs": epoch + 1, "seconds": time.perf_counter() - start}


def _data(torch: Any, data: Any, graph: Graph, label: int) -> Any:
    edges = torch.from_numpy(graph.edges.copy()).T
    arcs = torch.cat([edges, edges[:, edges[0] != edges[1]].flip(0)], dim=1)
    x = np.ones((graph.n_nodes, 1)) if graph.node_attr is None else graph.node_attr.copy()
    return data(x=torch.from_numpy(x).float(), edge_index=arcs, y=label)


def _model(torch: Any, n_in: int, n_classes: int) -> Any:
    from torch_geometric.nn import GIN, global_add_pool

    class Network(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            channels = int(SETTINGS["channels"])
            self.gin = GIN(n_in, channels, int(SETTINGS["layers"]), dropout=SETTINGS["dropout"], norm="batch")
            self.output = torch.nn.Linear(channels, n_classes)

        def forward(self, batch: Any) -> Any:
            hidden = self.gin(batch.x, batch.edge_index)
            return self.output(global_add_pool(hidden, batch.batch, batch.num_graphs))

    return Network()


def _accuracy(torch: Any, model: Any, loader: Any) -> float:
    model.eval()
    right = count = 0
    with torch.no_grad():
        for batch in loader:
            right += int((model(batch).argmax(1) == batch.y).sum())
            count += batch.num_graphs
    return right / count
