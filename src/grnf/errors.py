"""The errors that users see. Each says what was found, where, and what to do."""

from __future__ import annotations

__all__ = ["CostWarning", "DiskFullError", "GraphError", "GrnfWarning", "OrderTooLargeError"]


class GraphError(ValueError):
    """A graph, or a collection of graphs, that cannot be used as it is."""


class DiskFullError(OSError):
    """A file that does not fit on its disk, in its quota or in the largest size that files may have."""


class CostWarning(UserWarning):
    """Work that was asked for will take very long."""


class OrderTooLargeError(ValueError):
    """A hidden order so large that one feature has more parameters than memory holds."""


class GrnfWarning(UserWarning):
    """Something in the input is not used, or not all of it."""
