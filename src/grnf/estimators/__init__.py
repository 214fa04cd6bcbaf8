"""GRNF for scikit-learn: drawn from a law P, or with P fitted to a task."""

from grnf.estimators.reweighted import ReweightedGRNF
from grnf.estimators.transformer import GRNF

__all__ = ["GRNF", "ReweightedGRNF"]
