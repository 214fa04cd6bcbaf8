"""Has the stream changed, and which graphs do not belong: answers with promised rates of error."""

from grnf.stats.change_points import ChangePoint, change_points
from grnf.stats.location import Alarm, Driver
from grnf.stats.monitor import ChangeDetector, Update
from grnf.stats.outliers import GRNFOutlierDetector, Judgement

__all__ = [
    "Alarm",
    "ChangeDetector",
    "ChangePoint",
    "Driver",
    "GRNFOutlierDetector",
    "Judgement",
    "Update",
    "change_points",
]
