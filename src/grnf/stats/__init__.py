"""Do two collections differ, has the stream changed, which graphs do not belong: answers that hold.

>>> from grnf.datasets import make_sbm
>>> one, two = make_sbm(40, random_state=0)[0], make_sbm(40, random_state=1)[0]
>>> two_sample_test(one, two, n_components=64).p_value > 0.05
True
"""

from grnf.stats.change_points import ChangePoint, change_points
from grnf.stats.descriptor import GraphDescriptor
from grnf.stats.evaluate import Evaluation, Score, evaluate
from grnf.stats.monitor import Alarm, ChangeDetector, Driver, Update
from grnf.stats.outliers import GRNFOutlierDetector, Judgement
from grnf.stats.two_sample import KSampleResult, TwoSampleResult, k_sample_test, two_sample_test

__all__ = [
    "Alarm",
    "ChangeDetector",
    "ChangePoint",
    "Driver",
    "Evaluation",
    "GRNFOutlierDetector",
    "GraphDescriptor",
    "Judgement",
    "KSampleResult",
    "Score",
    "TwoSampleResult",
    "Update",
    "change_points",
    "evaluate",
    "k_sample_test",
    "two_sample_test",
]
