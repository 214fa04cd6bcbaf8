"""The dense part of the paper's classifier: hidden layer and output on frozen GRNF vectors, trained in torch.

Several networks are trained side by side, each with its own vectors, initial weights and l2: their products
are one batched product, and Adam treats every weight alone, so each network is what it would be by itself.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from grnf.datasets.benchmarks import Fold
from grnf.typing import FloatArray, IntArray

__all__ = ["NetworkSettings", "Trained", "train_networks"]


@dataclass(frozen=True)
class NetworkSettings:
    """How networks are trained.

    Attributes
    ----------
    hidden : int
        Neurons of the hidden layer.
    learning_rate : float
        Of Adam.
    batch_size : int
    max_steps : int
        Steps of Adam at most.
    patience : int
        Steps without a better validation accuracy after which a network stops.
    standardize : bool
        Whether columns are standardized first.
    last_of_equals : bool
        If validation accuracies are equal, take the last and restart the patience. Otherwise take the
        smallest loss.
    """

    hidden: int = 128
    learning_rate: float = 1e-3
    batch_size: int = 128
    max_steps: int = 2000
    patience: int = 500
    standardize: bool = True
    last_of_equals: bool = False


@dataclass(frozen=True)
class Trained:
    """Accuracies of one network at the epoch of its best validation accuracy."""

    validation: float
    test: float
    epoch: int


def train_networks(
    Z: FloatArray, y: IntArray, fold: Fold, l2: Sequence[float], settings: NetworkSettings, seed: int
) -> list[Trained]:
    """Train one network per entry of `l2` with early stopping on the validation part of a fold.

    Parameters
    ----------
    Z : array, shape (n_networks, n_graphs, M)
        Vectors, one set of them for each network. Standardized columns have the means and deviations of the
        training part taken away, an affine change that the first layer could make by itself, so that it
        learns in hundreds of steps instead of tens of thousands.
    y : array of int, shape (n_graphs,)
        Classes 0 .. C - 1.
    """
    torch = _torch()
    generator = torch.Generator().manual_seed(seed)
    if settings.standardize:
        Z = np.stack([_standardized(part, fold.train) for part in Z])
    X, labels = torch.from_numpy(Z), torch.from_numpy(y)
    train, validation, test = (torch.from_numpy(part) for part in (fold.train, fold.validation, fold.test))
    n_classes = int(y.max()) + 1
    layers = [
        _uniform(torch, generator, (len(l2), X.shape[2], settings.hidden), X.shape[2]),
        _uniform(torch, generator, (len(l2), 1, settings.hidden), X.shape[2]),
        _uniform(torch, generator, (len(l2), settings.hidden, n_classes), settings.hidden),
        _uniform(torch, generator, (len(l2), 1, n_classes), settings.hidden),
    ]
    decay = torch.tensor(l2, dtype=torch.float32).reshape(-1, 1, 1)
    optimizer = torch.optim.Adam(layers, lr=settings.learning_rate, fused=True)

    def logits(rows: Any) -> Any:
        hidden = torch.relu(torch.baddbmm(layers[1], X.index_select(1, rows), layers[0]))
        return torch.baddbmm(layers[3], hidden, layers[2])

    def losses(scores: Any, rows: Any) -> Any:
        targets = labels[rows].repeat(len(l2))
        each = torch.nn.functional.cross_entropy(scores.flatten(0, 1), targets, reduction="none")
        return each.reshape(len(l2), -1).mean(dim=1)

    steps = math.ceil(len(train) / settings.batch_size)
    best: list[tuple[float, float]] = [(-1.0, math.inf)] * len(l2)
    found = [Trained(0.0, 0.0, 0)] * len(l2)
    for epoch in range(1, max(1, settings.max_steps // steps) + 1):
        order = train[torch.randperm(len(train), generator=generator)]
        for rows in order.split(settings.batch_size):
            optimizer.zero_grad()
            losses(logits(rows), rows).sum().backward()
            for layer in layers:  # weight decay as Adam in torch has it, one strength for each network
                layer.grad.add_(decay * layer.detach())
            optimizer.step()
        with torch.no_grad():
            scores = logits(validation)
            accuracy, loss = _accuracy(scores, labels[validation]), losses(scores, validation)
            running = [epoch - trained.epoch <= settings.patience / steps for trained in found]
            better = [
                is_running and ((a, -b) > (kept[0], -kept[1]) or (settings.last_of_equals and a == kept[0]))
                for is_running, a, b, kept in zip(
                    running, accuracy.tolist(), loss.tolist(), best, strict=True
                )
            ]
            if any(better):
                on_test = _accuracy(logits(test), labels[test])
                for network in np.flatnonzero(better):
                    best[network] = (float(accuracy[network]), float(loss[network]))
                    found[network] = Trained(float(accuracy[network]), float(on_test[network]), epoch)
            elif not any(running):
                break
    return found


def _standardized(Z: FloatArray, train: IntArray) -> FloatArray:
    mean, deviation = Z[train].mean(axis=0), Z[train].std(axis=0)
    scale = np.where(deviation > 1e-6 * np.abs(mean).max(), deviation, 1)  # constant columns become 0
    return np.asarray((Z - mean) / scale, dtype=np.float32)


def _accuracy(scores: Any, labels: Any) -> Any:
    return (scores.argmax(dim=2) == labels).double().mean(dim=1)


def _uniform(torch: Any, generator: Any, shape: tuple[int, ...], fan_in: int) -> Any:
    """Return initial weights as `torch.nn.Linear` draws them."""
    limit = 1 / math.sqrt(fan_in)
    return ((2 * torch.rand(shape, generator=generator) - 1) * limit).requires_grad_()


def _torch() -> Any:
    try:
        import torch
    except ImportError:
        raise ImportError(
            "this experiment trains a small network in PyTorch: pip install 'grnf[torch]' brings it"
        ) from None
    return torch
