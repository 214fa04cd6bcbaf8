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
    "Four networks with the same output layers, trained with Adam. In each fold, the lifts (three lists "
    "of them), the learning rate with its weight decay, and the number of epochs are those of the "
    "smallest validation loss. The network is then trained again for that many epochs, on training and "
    "validation parts together, from which GRNFClassifier learns, too. Folds of ENZYMES are those of "
    "Errica et al. MUTAG and PTC_MR have ten stratified folds with a ninth of the training part for "
    "validation. The candidates were decided on validation parts of the first four folds of "
    "ENZYMES and the first five of the others. Earlier settings had been tested on two, three and five of "
    "these folds before. Vectors of frozen layers are computed once. Their seconds per epoch are those of "
    "an epoch in which the layer computes them."
)
PLACES = ("torch_networks",)

SETS = {"MUTAG": 10, "PTC_MR": 10, "ENZYMES": 4}
"""Datasets, and how many of their ten folds are used."""
LIFTS = (Standardize(rounded=True), Degree(), Triangles(), Propagate(2), Size())
CHAINS = (
    LIFTS,
    (*LIFTS, WeisfeilerLehman(dim=16, random_state=0)),
    (Standardize(), Degree(), WeisfeilerLehman(dim=128, random_state=0)),
)
MODELS = {
    "GRNF": "GRNF, frozen",
    "lifted": "GRNF with lifts, frozen",
    "readout": "GIN, GRNF readout",
    "sum": "GIN, sum pooling",
}


FROZEN = ("GRNF", "lifted")


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
    max_epochs: int = 200
    patience: int = 50


def settings(study):
    lifts = [[repr(lift) for lift in chain] for chain in CHAINS]
    return {**asdict(training(study)), "lifts": lifts, "threads": 1}


def training(study):
    return Training(max_epochs=2, patience=1) if study.quick else Training()


def run(study):
    results = {}
    for name in ["MUTAG"] if study.quick else SETS:
        data = load_set(name, study.path())
        graphs = [graph.to_pyg() for graph in read_tu(study.path("tu", f"{name}.zip")).graphs]
        for graph, label in zip(graphs, data.y, strict=True):
            graph.x, graph.y = graph.x.float(), int(label)
        results[name] = {model: [] for model in (*MODELS, "classifier")}
        folds = folds_of(name, data, study)[: 1 if study.quick else SETS[name]]
        for number, fold in enumerate(folds):
            for model, found in results[name].items():
                study.tell(f"{name}: fold {number + 1} of {len(folds)}, {model}")
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
    """Train a network on a fold with all settings; test the one with the smallest validation loss."""
    from grnf.nn import LiftTransform

    found = []
    for chain in CHAINS if model == "lifted" else ((),):
        lifted = graphs
        if chain:
            transform = LiftTransform(*chain).fit([graphs[i] for i in fold.train])
            lifted = [transform(graph.clone()) for graph in graphs]
        for rate, decay in t.rates_and_decays:
            run = Run(model, lifted, rate, decay, t, seed)
            found.append((*run.until_minimum(fold), run, len(chain)))
    loss, epochs, seconds, run, lifts = min(found, key=lambda one: one[0])
    test = run.accuracy(np.concatenate([fold.train, fold.validation]), fold.test, epochs)
    chosen = {"learning_rate": run.rate, "weight_decay": run.decay, "lifts": lifts}
    return {"test": test, "loss": loss, "epochs": epochs, "seconds_per_epoch": seconds, **chosen}


@dataclass(frozen=True, eq=False)
class Run:
    """A network with its settings, trained by Adam."""

    model: str
    graphs: list
    rate: float
    decay: float
    t: Training
    seed: int

    def until_minimum(self, fold):
        """Return the smallest validation loss, its epoch, and the seconds of an epoch."""
        import torch

        losses, seconds = [], []
        for network, inputs_of, spent in self._epochs(fold.train, self.t.max_epochs):
            with torch.no_grad():
                outputs = network(inputs_of(fold.validation))
                losses.append(
                    torch.nn.functional.cross_entropy(outputs, self._labels(fold.validation)).item()
                )
            seconds.append(spent)
            if len(losses) - np.argmin(losses) > self.t.patience:
                break
        frozen = self.model in FROZEN
        return min(losses), int(np.argmin(losses)) + 1, float(seconds[0] if frozen else np.mean(seconds))

    def accuracy(self, train, test, epochs):
        """Return the accuracy on `test` after some epochs of training."""
        for network, inputs_of, _ in self._epochs(train, epochs):
            last = network, inputs_of
        network, inputs_of = last
        return (network(inputs_of(test)).argmax(1) == self._labels(test)).double().mean().item()

    def _labels(self, rows):
        import torch

        return torch.tensor([self.graphs[row].y for row in rows])

    def _epochs(self, train, count):
        """Yield after each epoch: the network, what makes its inputs from rows, the seconds of the epoch."""
        import torch
        from torch_geometric.data import Batch

        with torch.random.fork_rng():
            torch.manual_seed(self.seed)
            torch.set_num_threads(1)
            classes = 1 + max(graph.y for graph in self.graphs)
            network = made(self.model, self.graphs[0], classes, self.t, self.seed)
            chosen = [parameter for parameter in network.parameters() if parameter.requires_grad]
            optimizer = torch.optim.Adam(chosen, self.rate, weight_decay=self.decay)

            def inputs_of(rows):
                return Batch.from_data_list([self.graphs[row] for row in rows])

            for number in range(count):
                network.train()
                start = time.process_time()
                for some in torch.randperm(len(train)).split(self.t.batch_size):
                    rows = [train[i] for i in some]
                    optimizer.zero_grad()
                    torch.nn.functional.cross_entropy(network(inputs_of(rows)), self._labels(rows)).backward()
                    optimizer.step()
                spent = time.process_time() - start
                network.eval()
                if number == 0 and self.model in FROZEN:  # the same vectors in all epochs
                    with torch.no_grad():
                        vectors = torch.cat([network.grnf(inputs_of(rows)) for rows in parts(self.graphs)])
                    network, inputs_of = torch.nn.Sequential(network.norm, network.mlp), vectors.__getitem__
                    network.eval()
                yield network, inputs_of, spent


def parts(graphs, size=256):
    """Yield the rows of the graphs in parts."""
    for start in range(0, len(graphs), size):
        yield range(start, min(start + size, len(graphs)))


def made(model, graph, n_classes, t, seed):
    """Return a network that takes a batch."""
    import torch
    from torch_geometric.nn import GIN, MLP, global_add_pool

    from grnf.nn import GRNFAggregation, GRNFEncoder

    n_in, edge_dim = graph.x.shape[1], None if graph.edge_attr is None else graph.edge_attr.shape[1]
    if model in FROZEN:
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
