"""Gamma(k), Bell(k), I_gamma, E_gamma: set partitions, their tensors, and the block form they reduce to."""

from grnf.basis.blocks import BASES, BlockMap, block_map, block_statistics, check_basis
from grnf.basis.partitions import (
    bell,
    blocks,
    complies,
    n_blocks,
    pattern,
    positions,
    set_partitions,
    stirling,
)
from grnf.basis.tensors import indicator_tensor, overlapping_tensor

__all__ = [
    "BASES",
    "BlockMap",
    "bell",
    "block_map",
    "block_statistics",
    "blocks",
    "check_basis",
    "complies",
    "indicator_tensor",
    "n_blocks",
    "overlapping_tensor",
    "pattern",
    "positions",
    "set_partitions",
    "stirling",
]
