"""Two-sample tests, evaluation of generators, change detection and outlier detection for graphs.

>>> from grnf.datasets import make_sbm
>>> one, two = make_sbm(40, random_state=0)[0], make_sbm(40, random_state=1)[0]
>>> two_sample_test(one, two, n_components=64, random_state=0).pvalue > 0.05
True
"""

from grnf.stats.change_detection import ChangeDetector, ChangePoint, change_points
from grnf.stats.descriptor import GraphDescriptor
from grnf.stats.evaluation import Evaluation, evaluate
from grnf.stats.outliers import GRNFOutlierDetector, OutlierReport
from grnf.stats.permutation_tests import PermutationTestResult, k_sample_test, two_sample_test

__all__ = [
    "ChangeDetector",
    "ChangePoint",
    "Evaluation",
    "GRNFOutlierDetector",
    "GraphDescriptor",
    "OutlierReport",
    "PermutationTestResult",
    "change_points",
    "evaluate",
    "k_sample_test",
    "two_sample_test",
]
