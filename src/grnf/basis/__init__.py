"""Gamma(k), Bell(k), I_gamma, E_gamma: set partitions, their tensors, and the slot form they reduce to."""

from typing import Any

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
from grnf.deprecation import warn_renamed

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

_RENAMED = {
    "BlockMap": "SlotMap",
    "block_map": "slot_map",
    "block_statistics": "slot_statistics",
    "blocks": "slots",
    "n_blocks": "n_slots",
}


def __getattr__(name: str) -> Any:
    if name in _RENAMED:
        warn_renamed(f"grnf.basis.{name}", f"grnf.basis.{_RENAMED[name]}")
        return globals()[_RENAMED[name]]
    raise AttributeError(f"module 'grnf.basis' has no attribute {name!r}")
