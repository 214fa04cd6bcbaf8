"""Networks with GRNF as first layer and as readout, next to GIN with sum pooling, on the same folds."""

import time
from dataclasses import asdict, dataclass

import numpy as np
from sklearn.model_selection import train_test_split

from experiments.peer_sets import load_set
from experiments.study import Table, over_folds
from grnf import GRNFClassifier
from grnf.datasets import load_folds
from grnf.datasets.benchmarks import Fold
from grnf.io import read_tu
from grnf.lifts import Degree, Propagate, Size, Standardize, Triangles

TITLE = "GRNF as first layer and as readout of networks"
ABOUT = (
    "Four networks with the same output layers, trained with Adam. The weights of the smallest validation "
    "loss are tested. Folds of ENZYMES are those of Errica et al. MUTAG and PTC_MR have ten stratified folds "
    "with a ninth of the training part for validation. The first folds of each set are used. GRNFClassifier "
    "learns from training and validation parts together. The lifts are those of the map of GRNFClassifier. "
    "They replaced a chain with Weisfeiler-Lehman codes after that chain had been tested on the same folds."
)
PLACES = ("torch_networks",)

SETS = {"MUTAG": 5, "PTC_MR": 3, "ENZYMES": 1}
"""Folds that are used."""
LIFTS = (Standardize(rounded=True), Degree(), Triangles(), Propagate(2), Size())
MODELS = {
    "GRNF": "GRNF, frozen",
    "lifted": "GRNF with lifts, frozen",
    "readout": "GIN, GRNF readout",
    "sum": "GIN, sum pooling",
}


@dataclass(frozen=True)
class Training:
    """Settings of all networks."""

    features: int = 512
    readout: int = 128
    channels: int = 32
    hidden: int = 64
    dropout: float = 0.5
    learning_rate: float = 5e-3
    weight_decay: float = 1e-3
    batch_size: int = 32
    max_epochs: int = 50
    patience: int = 20


def settings(study):
    return {**asdict(training(study)), "folds": SETS, "lifts": [repr(lift) for lift in LIFTS], "threads": 1}


def training(study):
    return Training(max_epochs=2, patience=1) if study.quick else Training()


def run(study):
    results = {}
    for name, count in {"MUTAG": 1}.items() if study.quick else SETS.items():
        data = load_set(name, study.path())
        graphs = [graph.to_pyg() for graph in read_tu(study.path("tu", f"{name}.zip")).graphs]
        for graph, label in zip(graphs, data.y, strict=True):
            graph.x, graph.y = graph.x.float(), int(label)
        results[name] = {model: [] for model in (*MODELS, "classifier")}
        for number, fold in enumerate(folds_of(name, data, study)[:count]):
            for model, found in results[name].items():
                study.tell(f"{name}: fold {number + 1} of {count}, {model}")
                what = {"experiment": "torch_networks", "set": name, "fold": number, "model": model}
                what |= {"seed": study.seed, **settings(study)}

                def compute(model=model, fold=fold, data=data, graphs=graphs):
                    if model == "classifier":
                        return classified(data, fold, study.seed)
                    return trained(model, graphs, fold, training(study), study.seed)

                found.append(study.cached(what, compute))
    return results


def folds_of(name, data, study):
    """Return the published folds, or stratified ones."""
    if name == "ENZYMES":
        return load_folds(name, data=study.data)
    folds = []
    for rest, test in data.splits("random"):
        train, validation = train_test_split(rest, test_size=1 / 9, stratify=data.y[rest], random_state=0)
        folds.append(Fold(train, validation, test))
    return folds


def classified(data, fold, seed):
    """Fit `GRNFClassifier` on the training and validation parts of a fold."""
    known = np.concatenate([fold.train, fold.validation])
    start = time.process_time()
    model = GRNFClassifier(random_state=seed).fit(data.raw.take(known), data.y[known])
    seconds = time.process_time() - start
    return {"test": float(model.score(data.raw.take(fold.test), data.y[fold.test])), "fit": seconds}


def trained(model, graphs, fold, t, seed):
    """Train one network on a fold; test it at the epoch of the smallest validation loss."""
    import torch
    from torch_geometric.loader import DataLoader

    from grnf.nn import LiftTransform

    if model == "lifted":
        transform = LiftTransform(*LIFTS).fit([graphs[i] for i in fold.train])
        graphs = [transform(graph) for graph in graphs]
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        torch.set_num_threads(1)
        parts = {part: [graphs[i] for i in getattr(fold, part)] for part in ("train", "validation", "test")}
        loader = DataLoader(parts["train"], batch_size=t.batch_size, shuffle=True)
        whole = {part: next(iter(DataLoader(parts[part], len(parts[part])))) for part in parts}
        n_classes = 1 + max(graph.y for graph in graphs)
        network = made(model, graphs[0], n_classes, t, seed)
        wanted = [parameter for parameter in network.parameters() if parameter.requires_grad]
        optimizer = torch.optim.Adam(wanted, t.learning_rate, weight_decay=t.weight_decay)
        lowest, best_epoch, test, seconds = np.inf, 0, 0.0, 0.0
        for epoch in range(t.max_epochs):
            network.train()
            start = time.process_time()
            for batch in loader:
                optimizer.zero_grad()
                torch.nn.functional.cross_entropy(network(batch), batch.y).backward()
                optimizer.step()
            seconds += time.process_time() - start
            network.eval()
            with torch.no_grad():
                loss = torch.nn.functional.cross_entropy(
                    network(whole["validation"]), whole["validation"].y
                ).item()
                if loss < lowest:
                    lowest, best_epoch = loss, epoch
                    right = network(whole["test"]).argmax(1) == whole["test"].y
                    test = right.double().mean().item()
            if epoch - best_epoch >= t.patience:
                break
    return {"test": test, "epochs": epoch + 1, "seconds_per_epoch": seconds / (epoch + 1)}


def made(model, graph, n_classes, t, seed):
    """Return a network that takes a batch."""
    import torch
    from torch_geometric.nn import GIN, MLP, global_add_pool

    from grnf.nn import GRNFAggregation, GRNFEncoder

    n_in, edge_dim = graph.x.shape[1], None if graph.edge_attr is None else graph.edge_attr.shape[1]
    if model in ("GRNF", "lifted"):
        given = {"n_features": t.features, "edge_dim": edge_dim, "dropout": t.dropout, "random_state": seed}
        return GRNFEncoder(n_in, t.hidden, n_classes, **given)

    class WithGIN(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.gin = GIN(n_in, t.channels, num_layers=2, norm="batch_norm")
            self.readout = None
            if model == "readout":
                self.readout = GRNFAggregation(t.channels, t.readout, trainable=True, random_state=seed)
            width = t.readout if model == "readout" else t.channels
            self.norm = torch.nn.BatchNorm1d(width, eps=1e-8)
            self.mlp = MLP([width, t.hidden, n_classes], dropout=t.dropout, norm=None)

        def forward(self, batch):
            h = self.gin(batch.x, batch.edge_index)
            if self.readout is None:
                pooled = global_add_pool(h, batch.batch, batch.num_graphs)
            else:
                pooled = self.readout(h, batch.batch, dim_size=batch.num_graphs, edge_index=batch.edge_index)
            return self.mlp(self.norm(pooled))

    return WithGIN()


def tables(results):
    """Accuracy and seconds per epoch of each network."""
    header = ["", *(f"{name} (folds: {len(found['sum'])})" for name, found in results.items())]
    accuracies, seconds = [], []
    for model, title in {**MODELS, "classifier": "`GRNFClassifier`"}.items():
        accuracies.append([title, *(_accuracy(found[model]) for found in results.values())])
        if model in MODELS:
            each = [
                np.mean([fold["seconds_per_epoch"] for fold in found[model]]) for found in results.values()
            ]
            seconds.append([title, *(f"{one:.2f}" for one in each)])
    return [
        Table("Test accuracy in percent, mean ± standard deviation over folds", header, accuracies),
        Table("CPU seconds per training epoch", ["", *results], seconds),
    ]


def _accuracy(folds):
    """Return the mean, and the deviation if there are several folds."""
    found = over_folds(folds)
    return f"{found['mean']:.1f}" + (f" ± {found['std']:.1f}" if len(folds) > 1 else "")
