"""The slot form: a basis is nothing but a linear map theta_F -> (alpha, beta, c).

Take a partition pi of the k output indices into B slots, and a distinct node v_p for each slot. On the
tuples that comply with pi the affine equivariant map F_{2,k} is, for each hidden channel,

    t_pi(v) = sum_{p,q} alpha_pq . A[v_p, v_q] + sum_p (rho_p . R[v_p] + kappa_p . C[v_p])
              + c_d . d + c_S . S + bias_pi

with D_i = A_ii, R_i = sum_j A_ij, C_i = sum_j A_ji, d = sum_i D_i, S = sum_ij A_ij: B^2 + 2B + 2 statistics,
listed by `slot_statistics`. (alpha_pp multiplies D[v_p] and is beta's first part in the paper's letters.)

Normalized maps divide every index that is summed over by n. With u = 1/n (and u = 1 for the literal
definition) all coefficients are polynomials of degree 2 in u, so `slot_map` returns three matrices.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from grnf.basis.partitions import Partition, n_slots, positions, set_partitions
from grnf.errors import invalid
from grnf.typing import FloatArray, IntArray

BASES = ("indicator", "overlapping")


def slot_statistics(n: int) -> list[tuple[str, int, int]]:
    """Return the statistics of the slot form with n slots, in the order of the rows of `slot_map`."""
    pairs = [("A", p, q) for p in range(n) for q in range(n)]
    return [
        *pairs,
        *(("R", p, 0) for p in range(n)),
        *(("C", p, 0) for p in range(n)),
        ("d", 0, 0),
        ("S", 0, 0),
    ]


@dataclass(frozen=True, eq=False)
class SlotMap:
    """The linear map from theta_F to the coefficients of the slot form, on the tuples of a partition.

    `columns` are the positions in Gamma(k + 2) of the theta that contribute, `matrices`, of shape
    (3, B^2 + 2B + 2, columns), the coefficients of u^0, u^1, u^2, of each statistic, in each of them.
    """

    columns: IntArray
    matrices: FloatArray


@lru_cache(maxsize=4096)
def slot_map(pi: Partition, basis: str) -> SlotMap:
    """Return the linear map theta_F -> (alpha, beta, c) on the tuples that comply with pi.

    In the paper's indicator basis a free index runs over the nodes not in the tuple, and E_gamma contributes
    on the tuples that comply with its restriction to the output. In the overlapping basis (Maron et al. 2019,
    and the authors' code) free indices run over all nodes, and E_gamma contributes wherever the equalities
    that it asks for hold.
    """
    check_basis(basis)
    n = n_slots(pi)
    row = {statistic: i for i, statistic in enumerate(slot_statistics(n))}
    columns: list[int] = []
    parts: list[FloatArray] = []
    for column, gamma in _candidates(pi, basis):
        slots = _slots(gamma, pi)
        if slots is None:
            continue
        part = np.zeros((3, len(row)))
        terms = _indicator_terms if basis == "indicator" else _overlapping_terms
        for power, statistic, value in terms(*slots, equal=gamma[-1] == gamma[-2], n=n):
            part[power, row[statistic]] += value
        columns.append(column)
        parts.append(part)
    matrices = np.stack(parts, axis=-1)
    matrices.setflags(write=False)
    return SlotMap(np.array(columns, dtype=np.int64), matrices)


def check_basis(basis: str) -> None:
    """Raise a ValueError unless the basis is one of `BASES`."""
    if basis not in BASES:
        raise invalid("basis", f"be one of {', '.join(map(repr, BASES))}", repr(basis))


def _candidates(pi: Partition, basis: str) -> Iterator[tuple[int, Partition]]:
    """Yield the gamma in Gamma(k + 2), with their positions, that may be non-zero on tuples of pi."""
    k = len(pi)
    if basis == "overlapping":
        yield from enumerate(set_partitions(k + 2))
        return
    position = positions(k + 2)
    for first in range(n_slots(pi) + 1):
        longer = (*pi, first)
        for second in range(n_slots(longer) + 1):
            gamma = (*longer, second)
            yield position[gamma], gamma


def _slots(gamma: Partition, pi: Partition) -> tuple[int | None, int | None] | None:
    """Where the two node axes of A land: a slot of pi, or None for a free (summed) index.

    Returns None when gamma is zero on the tuples that comply with pi.
    """
    k = len(pi)
    slot_of: dict[int, int] = {}
    for item in range(k):
        if slot_of.setdefault(gamma[item], pi[item]) != pi[item]:
            return None  # gamma asks for an equality that pi does not have
    return slot_of.get(gamma[k]), slot_of.get(gamma[k + 1])


Term = tuple[int, tuple[str, int, int], float]


def _overlapping_terms(a: int | None, b: int | None, *, equal: bool, n: int) -> list[Term]:  # noqa: ARG001
    if a is not None and b is not None:
        return [(0, ("A", a, b), 1.0)]
    if a is not None:
        return [(1, ("R", a, 0), 1.0)]
    if b is not None:
        return [(1, ("C", b, 0), 1.0)]
    return [(1, ("d", 0, 0), 1.0)] if equal else [(2, ("S", 0, 0), 1.0)]


def _indicator_terms(a: int | None, b: int | None, *, equal: bool, n: int) -> list[Term]:
    """Take away from each free sum of the overlapping basis what falls on the nodes of the tuple."""
    terms = _overlapping_terms(a, b, equal=equal, n=n)
    every = range(n)
    if a is not None and b is not None:
        return terms
    if a is not None:  # sum over j not in v of A[v_a, j]
        return terms + [(1, ("A", a, q), -1.0) for q in every]
    if b is not None:
        return terms + [(1, ("A", p, b), -1.0) for p in every]
    if equal:  # sum over j not in v of A[j, j]
        return terms + [(1, ("A", p, p), -1.0) for p in every]
    # sum over i != j, neither in v, of A[i, j]: inclusion and exclusion
    terms += [(2, ("d", 0, 0), -1.0)]
    terms += [(2, (axis, p, 0), -1.0) for axis in "RC" for p in every]
    terms += [(2, ("A", p, q), 2.0 if p == q else 1.0) for p in every for q in every]
    return terms
