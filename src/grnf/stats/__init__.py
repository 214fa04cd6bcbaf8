"""Do two collections differ, has the stream changed, which graphs do not belong: answers that hold.

>>> from grnf.datasets import make_sbm
>>> one, two = make_sbm(40, random_state=0)[0], make_sbm(40, random_state=1)[0]
>>> two_sample_test(one, two, n_components=64).p_value > 0.05
True
"""

from grnf.stats.change_points import change_points
from grnf.stats.descriptor import GraphDescriptor
from grnf.stats.evaluate import Evaluation, evaluate
from grnf.stats.monitor import ChangeDetector
from grnf.stats.outliers import GRNFOutlierDetector
from grnf.stats.two_sample import KSampleResult, TwoSampleResult, k_sample_test, two_sample_test

__all__ = [
    "ChangeDetector",
    "Evaluation",
    "GRNFOutlierDetector",
    "GraphDescriptor",
    "KSampleResult",
    "TwoSampleResult",
    "change_points",
    "evaluate",
    "k_sample_test",
    "two_sample_test",
]
