"""Has the stream changed, and which graphs do not belong: answers with promised rates of error."""

from grnf.stats.monitor import ChangeDetector, Update

__all__ = ["ChangeDetector", "Update"]
