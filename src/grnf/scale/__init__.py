"""Many graphs: one function from Arrow block to Arrow block, and shards of vectors on one machine or many."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grnf._utils.lazy import lazy

if TYPE_CHECKING:
    from grnf.scale.arrow_blocks import BlockEmbedder
    from grnf.scale.driver import embed

__all__ = ["BlockEmbedder", "embed"]

__getattr__ = lazy(__name__, {"BlockEmbedder": "arrow_blocks", "embed": "driver"})
