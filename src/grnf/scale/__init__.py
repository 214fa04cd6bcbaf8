"""Many graphs: one function from Arrow block to Arrow block, and shards of vectors on one machine or many."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from grnf.scale.arrow_blocks import BlockEmbedder
    from grnf.scale.driver import embed

__all__ = ["BlockEmbedder", "embed"]

_HOMES = {"BlockEmbedder": "arrow_blocks", "embed": "driver"}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f"grnf.scale.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'grnf.scale' has no attribute {name!r}")
