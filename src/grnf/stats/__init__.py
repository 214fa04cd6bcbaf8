"""Do two collections of graphs differ, and is a generator of graphs any good: answers that hold.

>>> from grnf.datasets import make_sbm
>>> one, two = make_sbm(40, random_state=0)[0], make_sbm(40, random_state=1)[0]
>>> two_sample_test(one, two, n_components=64).p_value > 0.05
True
"""

from grnf.stats.descriptor import GraphDescriptor
from grnf.stats.evaluate import Evaluation, Score, evaluate
from grnf.stats.two_sample import KSampleResult, TwoSampleResult, k_sample_test, two_sample_test

__all__ = [
    "Evaluation",
    "GraphDescriptor",
    "KSampleResult",
    "Score",
    "TwoSampleResult",
    "evaluate",
    "k_sample_test",
    "two_sample_test",
]
