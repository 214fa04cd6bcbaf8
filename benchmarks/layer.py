"""CPU time of a training step of the torch layer, next to a dense implementation in torch and a GIN."""

import time

import measure
import numpy as np
import straightforward
import torch
from torch import nn
from torch_geometric.data import Batch, Data
from torch_geometric.nn import GIN, global_add_pool

from grnf import GRNF
from grnf.law import ParameterLaw
from grnf.nn import GRNFLayer

N_GRAPHS, M, REPEATS = 128, 512, 9


class Dense(nn.Module):
    """What a good engineer would write in an afternoon: `straightforward.py` with tensors, graph by graph."""

    def __init__(self, draw, trainable):
        super().__init__()
        self.groups = draw.groups
        for group in draw.groups:
            parts = {
                "equivariant": group.equivariant,
                "bias": group.equivariant_bias,
                "head": group.invariant,
                "last": group.invariant_bias,
            }
            for name, values in parts.items():
                values = torch.from_numpy(np.ascontiguousarray(values)).float()
                self.register_parameter(f"{name}_{group.k}", nn.Parameter(values, requires_grad=trainable))

    def forward(self, tensors):
        null = tensors[0].new_zeros(1, 1, tensors[0].shape[2])
        psi = torch.stack([self.psi(A) for A in tensors])
        return (psi - self.psi(null)) * M**-0.5

    def psi(self, A):
        n = len(A)
        D = A.diagonal().T
        R, C = (A.sum(1) - D) / n, (A.sum(0) - D) / n
        d, S = D.sum(0), A.sum((0, 1)) - D.sum(0)
        one = torch.stack([D, R, C, (d - D) / n, (S - n * R - n * C) / n**2], dim=1)
        result = A.new_empty(M)
        for group in self.groups:
            theta, bias, head, last = (
                getattr(self, f"{name}_{group.k}") for name in ("equivariant", "bias", "head", "last")
            )
            hidden = torch.relu(one.flatten(1) @ columns(theta[:, :5]) + bias[:, 0].flatten()).sum(0) / n
            sums = (hidden.view(len(head), -1) * head[:, 0]).sum(1)
            if group.k == 2:
                hidden = torch.relu(
                    two_blocks(A, D, R, C, d, S).flatten(1) @ columns(theta[:, 5:]) + bias[:, 1].flatten()
                )
                hidden = (hidden.sum(0) - hidden[:: n + 1].sum(0)) / n**2
                sums = sums + (hidden.view(len(head), -1) * head[:, 1]).sum(1)
            result = result.index_copy(0, torch.from_numpy(group.features), sums + last)
        return torch.tanh(result)


def two_blocks(A, D, R, C, d, S):
    """The ten basis elements on pairs, shape (n^2, 10, F), in the order of `straightforward.py`."""
    n, _, F = A.shape
    back = A.transpose(0, 1)
    i, j = (slice(None), None), (None, slice(None))
    terms = [
        D[i],
        A,
        R[i] - A / n,
        back,
        D[j],
        R[j] - back / n,
        C[i] - back / n,
        C[j] - A / n,
        (d - D[i] - D[j]) / n,
        (S - n * (R[i] + R[j] + C[i] + C[j]) + A + back) / n**2,
    ]
    return torch.stack([term.expand(n, n, F) for term in terms], dim=2).view(n * n, len(terms), F)


def columns(theta):
    return theta.permute(1, 3, 0, 2).reshape(theta.shape[1] * theta.shape[3], -1)


class WithGIN(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.gin = GIN(channels, 64, num_layers=5)

    def forward(self, batch):
        return global_add_pool(self.gin(batch.x, batch.edge_index), batch.batch, batch.num_graphs)


def as_data(graph):
    edges = torch.from_numpy(graph.edges.copy()).T
    loops = edges[0] == edges[1]
    arcs = torch.cat([edges, edges[:, ~loops].flip(0)], dim=1)
    x = None if graph.node_attr is None else torch.from_numpy(graph.node_attr.copy()).float()
    return Data(x=x, edge_index=arcs, num_nodes=graph.n_nodes)


def bench_layer():
    torch.set_num_threads(1)
    torch.manual_seed(0)
    graphs = measure.load("ENZYMES")
    graphs = graphs.take(np.random.default_rng(0).permutation(len(graphs))[:N_GRAPHS])
    batch = Batch.from_data_list([as_data(graph) for graph in graphs])
    tensors = [torch.from_numpy(graph.tensor()).float() for graph in graphs]
    channels, labels = graphs.node_width, torch.randint(6, (N_GRAPHS,))
    draw = ParameterLaw({1: 2 / 3, 2: 1 / 3}).sample(M, channels=graphs.channels().all, seed=0)
    grnf = GRNF(M, random_state=0).fit(graphs)
    models = {
        "layer, frozen": (GRNFLayer.from_transformer(grnf), batch, M),
        "layer, trainable": (GRNFLayer.from_transformer(grnf, trainable=True), batch, M),
        "dense, frozen": (Dense(draw, trainable=False), tensors, M),
        "dense, trainable": (Dense(draw, trainable=True), tensors, M),
        "GIN": (WithGIN(channels), batch, 64),
    }
    steps = {name: training_step(*parts, labels) for name, parts in models.items()}
    with torch.no_grad():
        ours, dense = models["layer, frozen"][0](batch), models["dense, frozen"][0](tensors)
    seconds = measure.compare(REPEATS, time.process_time, **steps)
    forward = compare_with_engine()
    exact = straightforward.embed([A.double().numpy() for A in tensors[:8]], draw)
    null = straightforward.embed([np.zeros((1, 1, channels + 1))], draw)
    return {
        "graphs": N_GRAPHS,
        "nodes": batch.num_nodes,
        "torch": torch.__version__,
        "seconds": seconds,
        "times_faster_than_dense": {
            kind: seconds[f"dense, {kind}"] / seconds[f"layer, {kind}"] for kind in ("frozen", "trainable")
        },
        "frozen_forward_over_transform": forward,
        "over_GIN": {kind: seconds[f"layer, {kind}"] / seconds["GIN"] for kind in ("frozen", "trainable")},
        "peak_memory_mb": {name: measure.peak_memory(step) for name, step in steps.items()},
        "largest_difference": {
            "from dense": float((ours - dense).abs().max()),
            "from double precision": float(
                np.abs(ours[:8].numpy() * M**0.5 - (exact - null)).max() * M**-0.5
            ),
        },
    }


def compare_with_engine():
    """The frozen layer forward on a batch, over `GRNF.transform` of the same graphs, one thread."""
    ratios = {}
    for name in ("ENZYMES", "NCI1", "IMDB-BINARY"):
        graphs = measure.load(name)
        graphs = graphs.take(np.random.default_rng(0).permutation(len(graphs))[:512])
        batch = Batch.from_data_list([as_data(graph) for graph in graphs])
        grnf = GRNF(M, random_state=0).fit(graphs)
        layer = GRNFLayer.from_transformer(grnf)
        calls = {"transform": lambda: grnf.transform(graphs), "layer": lambda: layer(batch)}
        seconds = measure.compare(15, time.process_time, **calls)
        ratios[name] = seconds["layer"] / seconds["transform"]
    return ratios


def training_step(model, inputs, width, labels):
    head = nn.Linear(width, 6)
    optimizer = torch.optim.Adam(
        [p for p in (*model.parameters(), *head.parameters()) if p.requires_grad], lr=1e-4
    )

    def step():
        optimizer.zero_grad()
        nn.functional.cross_entropy(head(model(inputs)), labels).backward()
        optimizer.step()

    return step
