"""What a good engineer would write in an afternoon: the definition with dense numpy arrays, graph by graph.

Orders 1 and 2, indicator basis, normalised, ReLU and tanh. Every basis element becomes an array of shape
(n, n, F), all features are one matrix product, activations are arrays of shape (n, n, channels).
"""

import numpy as np


def embed(tensors, draw):
    """psi(g; w_m) for dense tensors A of shape (n, n, F) and a draw of features of orders 1 and 2."""
    return np.array([_psi(A, draw) for A in tensors])


def _psi(A, draw):
    n = len(A)
    D = np.einsum("iif->if", A)
    R, C = (A.sum(1) - D) / n, (A.sum(0) - D) / n
    d, S = D.sum(0), A.sum((0, 1)) - D.sum(0)
    # one block: both axes of A on i; one of them free; both free and equal; both free and different
    free = (S - n * R - n * C) / n**2
    one = np.stack([D, R, C, (d - D) / n, free], axis=1)
    result = np.empty(len(draw))
    for group in draw.groups:
        heads = group.invariant
        if group.k == 1:
            hidden = one.reshape(n, -1) @ _columns(group.equivariant, range(5))
            hidden = np.maximum(hidden + group.equivariant_bias[:, 0].reshape(-1), 0).sum(0) / n
            sums = np.einsum("mh,mh->m", hidden.reshape(len(heads), -1), heads[:, 0])
        else:
            # partitions (0,0,a,b) come first, then (0,1,a,b): see grnf.basis.set_partitions(4)
            hidden = one.reshape(n, -1) @ _columns(group.equivariant, range(5))
            hidden = np.maximum(hidden + group.equivariant_bias[:, 0].reshape(-1), 0).sum(0) / n
            sums = np.einsum("mh,mh->m", hidden.reshape(len(heads), -1), heads[:, 0])
            two = _two_blocks(A, D, R, C, d, S)
            hidden = two.reshape(n * n, -1) @ _columns(group.equivariant, range(5, 15))
            hidden = np.maximum(hidden + group.equivariant_bias[:, 1].reshape(-1), 0)
            hidden = (hidden.sum(0) - hidden[:: n + 1].sum(0)) / n**2
            sums += np.einsum("mh,mh->m", hidden.reshape(len(heads), -1), heads[:, 1])
        result[group.features] = sums + group.invariant_bias
    return np.tanh(result)


def _two_blocks(A, D, R, C, d, S):
    """The ten basis elements on pairs i != j, in the order of the partitions (0,1,a,b)."""
    n, _, F = A.shape
    i, j = (slice(None), None), (None, slice(None))
    back = A.transpose(1, 0, 2)
    terms = [
        D[i],  # 0100
        A,  # 0101
        R[i] - A / n,  # 0102
        back,  # 0110
        D[j],  # 0111
        R[j] - back / n,  # 0112
        C[i] - back / n,  # 0120
        C[j] - A / n,  # 0121
        (d - D[i] - D[j]) / n,  # 0122
        (S - n * (R[i] + R[j] + C[i] + C[j]) + A + back) / n**2,  # 0123
    ]
    return np.stack([np.broadcast_to(term, (n, n, F)) for term in terms], axis=2)


def _columns(theta, terms):
    """theta_F as a matrix: (terms x F, features x F_h)."""
    some = theta[:, list(terms)]
    return np.ascontiguousarray(some.transpose(1, 3, 0, 2).reshape(some.shape[1] * some.shape[3], -1))
