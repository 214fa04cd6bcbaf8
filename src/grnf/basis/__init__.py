"""Gamma(k), Bell(k), I_gamma, E_gamma: set partitions, their tensors, and the slot form they reduce to."""

from grnf.basis.partitions import (
    bell,
    complies,
    n_slots,
    pattern,
    positions,
    set_partitions,
    slots,
    stirling,
)
from grnf.basis.slot_form import BASES, SlotMap, check_basis, slot_map, slot_statistics
from grnf.basis.tensors import indicator_tensor, overlapping_tensor

__all__ = [
    "BASES",
    "SlotMap",
    "bell",
    "check_basis",
    "complies",
    "indicator_tensor",
    "n_slots",
    "overlapping_tensor",
    "pattern",
    "positions",
    "set_partitions",
    "slot_map",
    "slot_statistics",
    "slots",
    "stirling",
]
