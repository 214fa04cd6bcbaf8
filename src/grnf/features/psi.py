"""psi(g; w) by definition: dense tensors, any order, nothing clever. The oracle of all engines.

    psi(g; w) = rho_i( H_k( rho_e( F_{2,k}(A; theta_F) ); theta_H ) )
    F_{2,k}(A)[i] = sum_gamma theta_gamma sum_jj' E_gamma[i, j, j'] A[j, j'] + sum_gamma b_gamma I_gamma[i]
    H_k(T) = theta_0 + sum_gamma theta_gamma . sum_i I_gamma[i] T[i]

Normalized: every index that is summed over is divided by n, so E_gamma by n per block of gamma without an
output index, I_gamma in H_k by n per block of gamma.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from grnf.activations import Activation, get_activation
from grnf.basis import indicator_tensor, overlapping_tensor, set_partitions
from grnf.basis.partitions import n_slots
from grnf.basis.slot_form import check_basis
from grnf.graphs import Graph
from grnf.law.parameters import Draw, OrderDraw
from grnf.typing import FloatArray


def equivariant(A: FloatArray, w: OrderDraw, basis: str, normalize: bool) -> FloatArray:
    """F_{2,k}(A; theta_F): from shape (n, n, F) to shape (n, .., n, F_h) with k node axes."""
    check_basis(basis)
    n, k = len(A), w.k
    compliance = indicator_tensor if basis == "indicator" else overlapping_tensor
    result = np.zeros((n**k, w.hidden_channels))
    for gamma, theta in zip(set_partitions(k + 2), w.equivariant[0], strict=True):
        E = compliance(gamma, n).reshape(n**k, n * n)
        free = n_slots(gamma) - n_slots(gamma[:k])
        scale = float(n) ** -free if normalize and n else 1.0
        result += scale * (E @ A.reshape(n * n, A.shape[2])) @ theta.T
    for gamma, bias in zip(set_partitions(k), w.equivariant_bias[0], strict=True):
        result += np.outer(indicator_tensor(gamma, n), bias)
    return result.reshape((n,) * k + (w.hidden_channels,))


def invariant(T: FloatArray, w: OrderDraw, normalize: bool) -> float:
    """H_k(T; theta_H): from shape (n, .., n, F_h) with k node axes to a number."""
    n = T.shape[0]
    result = float(w.invariant_bias[0])
    for gamma, theta in zip(set_partitions(w.k), w.invariant[0], strict=True):
        scale = float(n) ** -n_slots(gamma) if normalize and n else 1.0
        result += scale * float(T[indicator_tensor(gamma, n)].sum(axis=0) @ theta)
    return result


def psi(
    A: FloatArray,
    w: OrderDraw,
    *,
    hidden_activation: str | Activation = "relu",
    activation: str | Activation = "tanh",
    basis: str = "indicator",
    normalize: bool = False,
) -> float:
    """Return psi(g; w) for the dense tensor A of shape (n, n, F) and one feature w."""
    T = get_activation(hidden_activation)(equivariant(A, w, basis, normalize))
    return float(get_activation(activation)(invariant(T, w, normalize)))


def psi_of_graph(graph: Graph, draw: Draw, *, adjacency_channel: bool = True, **settings: Any) -> FloatArray:
    """Return psi(g; w_1) .. psi(g; w_M) by definition. Settings as in `psi`."""
    A = graph.tensor(adjacency_channel)
    return np.array([psi(A, draw.feature(m), **settings) for m in range(len(draw))])
