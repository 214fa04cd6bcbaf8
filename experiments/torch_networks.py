"""Networks with GRNF as first layer and as readout, next to GIN with sum pooling, on the same folds."""

import time
from dataclasses import asdict, dataclass

import numpy as np
from sklearn.model_selection import train_test_split

from experiments.baseline_sets import load_set
from experiments.study import Table, over_folds
from grnf import GRNFClassifier
from grnf.datasets import load_folds
from grnf.datasets.benchmarks import Fold
from grnf.io import read_tu
from grnf.lifts import Degree, Propagate, Size, Standardize, Triangles, WeisfeilerLehman

TITLE = "GRNF as first layer and as readout of networks"
ABOUT = (
    "Four networks with the same output layers, trained with Adam. In each fold, the lifts (with or without "
    "Weisfeiler-Lehman labels), the learning rate with its weight decay, and the epoch are those of the "
    "smallest validation loss. Folds of ENZYMES are those of Errica et al. MUTAG and PTC_MR have ten "
    "stratified folds with a ninth of the training part for validation. The first folds of each set are "
    "used. GRNFClassifier learns from training and validation parts together. The number of features and "
    "what there is to choose from were decided on validation parts of the first two folds of ENZYMES and the "
    "first three of PTC_MR. Vectors of frozen layers are computed once. Their seconds per epoch are those of "
    "an epoch in which the layer computes them."
)
PLACES = ("torch_networks",)

SETS = {"MUTAG": 5, "PTC_MR": 3, "ENZYMES": 2}
"""Folds that are used."""
LIFTS = (Standardize(rounded=True), Degree(), Triangles(), Propagate(2), Size())
CHAINS = (LIFTS, (*LIFTS, WeisfeilerLehman(dim=16, random_state=0)))
MODELS = {
    "GRNF": "GRNF, frozen",
    "lifted": "GRNF with lifts, frozen",
    "readout": "GIN, GRNF readout",
    "sum": "GIN, sum pooling",
}


@dataclass(frozen=True)
class Training:
    """Settings of all networks."""

    features: int = 2048
    readout: int = 128
    channels: int = 32
    hidden: int = 64
    dropout: float = 0.5
    rates_and_decays: tuple[tuple[float, float], ...] = ((5e-3, 1e-3), (1e-3, 1e-2))
    batch_size: int = 32
    max_epochs: int = 100
    patience: int = 20


def settings(study):
    lifts = [[repr(lift) for lift in chain] for chain in CHAINS]
    return {**asdict(training(study)), "folds": SETS, "lifts": lifts, "threads": 1}


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
                what |= {"seed": study.seed, **settings(study), "folds": None}  # more folds resume

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
    """Train a network on a fold with all settings; test the one with the smallest validation loss."""
    from grnf.nn import LiftTransform

    found = []
    for chain in CHAINS if model == "lifted" else ((),):
        lifted = graphs
        if chain:
            transform = LiftTransform(*chain).fit([graphs[i] for i in fold.train])
            lifted = [transform(graph.clone()) for graph in graphs]
        for rate, decay in t.rates_and_decays:
            result = trained_once(model, lifted, fold, t, seed, rate, decay)
            found.append({**result, "learning_rate": rate, "weight_decay": decay, "lifts": len(chain)})
    return min(found, key=lambda one: one["loss"])


def trained_once(model, graphs, fold, t, seed, rate, decay):
    """Train until the validation loss does not fall any more; test at its minimum."""
    import torch
    from torch_geometric.data import Batch

    parts = {part: [graphs[i] for i in getattr(fold, part)] for part in ("train", "validation", "test")}
    y = {part: torch.tensor([graph.y for graph in some]) for part, some in parts.items()}
    inputs = {part: Batch.from_data_list(some) for part, some in parts.items()}
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        torch.set_num_threads(1)
        network = made(model, graphs[0], 1 + max(graph.y for graph in graphs), t, seed)
        chosen = [parameter for parameter in network.parameters() if parameter.requires_grad]
        optimizer = torch.optim.Adam(chosen, rate, weight_decay=decay)

        def epoch(batch_of):
            network.train()
            start = time.process_time()
            for some in torch.randperm(len(y["train"])).split(t.batch_size):
                optimizer.zero_grad()
                torch.nn.functional.cross_entropy(network(batch_of(some)), y["train"][some]).backward()
                optimizer.step()
            return time.process_time() - start

        def graphs_of(some):
            return Batch.from_data_list([parts["train"][i] for i in some])

        seconds, batch_of = [epoch(graphs_of)], graphs_of
        frozen = model in ("GRNF", "lifted")
        if frozen:  # the same vectors in all epochs
            with torch.no_grad():
                inputs = {part: network.grnf(batch) for part, batch in inputs.items()}
            network, batch_of = torch.nn.Sequential(network.norm, network.mlp), inputs["train"].__getitem__
        lowest, best_epoch, test = np.inf, 0, 0.0
        for number in range(1, t.max_epochs + 1):
            network.eval()
            with torch.no_grad():
                outputs = network(inputs["validation"])
                loss = torch.nn.functional.cross_entropy(outputs, y["validation"]).item()
                if loss < lowest:
                    lowest, best_epoch = loss, number
                    right = network(inputs["test"]).argmax(1) == y["test"]
                    test = right.double().mean().item()
            if number - best_epoch >= t.patience:
                break
            spent = epoch(batch_of)
            seconds += [] if frozen else [spent]
    return {"test": test, "loss": lowest, "epochs": number, "seconds_per_epoch": float(np.mean(seconds))}


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
