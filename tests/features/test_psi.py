"""The definition itself, against loops over multi-indices that share nothing with it."""

from itertools import product

import numpy as np
import pytest

from grnf.basis import complies, set_partitions
from grnf.features import psi
from grnf.law import ParameterLaw
from random_graphs import random_graph


def psi_by_loops(A, w, rho_e, rho_i, normalize):
    n, k, F_h = len(A), w.k, w.hidden_channels
    u = 1 / n if normalize and n else 1.0
    total = w.invariant_bias[0]
    for i in product(range(n), repeat=k):
        hidden = np.zeros(F_h)
        for j in product(range(n), repeat=2):
            for gamma, theta in zip(set_partitions(k + 2), w.equivariant[0], strict=True):
                if complies(i + j, gamma):
                    free = len(set(gamma)) - len(set(gamma[:k]))
                    hidden += u**free * theta @ A[j]
        for gamma, bias, head in zip(set_partitions(k), w.equivariant_bias[0], w.invariant[0], strict=True):
            if complies(i, gamma):
                total += u ** len(set(gamma)) * head @ rho_e(hidden + bias)
    return rho_i(total)


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("n", [0, 1, 2, 3])
@pytest.mark.parametrize("k", [1, 2])
def test_definition_equals_loops(k, n, normalize):
    graph = random_graph(np.random.default_rng(n), n, node_width=1, edge_width=1, directed=True)
    A = graph.tensor()
    draw = ParameterLaw({k: 1.0}, hidden_channels=2).sample(3, channels=3, seed=k)
    for m in range(3):
        w = draw.feature(m)
        expected = psi_by_loops(A, w, lambda x: np.maximum(x, 0), np.tanh, normalize)
        assert psi(A, w, normalize=normalize) == pytest.approx(expected, abs=1e-12)


def test_feature_out_of_range():
    with pytest.raises(IndexError):
        ParameterLaw({1: 1.0}).sample(2, channels=1, seed=0).feature(2)
