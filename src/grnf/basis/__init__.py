"""Gamma(k), Bell(k), I_gamma, E_gamma: set partitions, their tensors, and the slot form they reduce to."""

from grnf.basis.partitions import bell, set_partitions
from grnf.basis.tensors import indicator_tensor, overlapping_tensor

__all__ = [
    "bell",
    "indicator_tensor",
    "overlapping_tensor",
    "set_partitions",
]
