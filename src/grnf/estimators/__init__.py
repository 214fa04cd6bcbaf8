"""GRNF as scikit-learn estimators: the transformer, and a classifier and a regressor behind it."""

from grnf.estimators.classifier import GRNFClassifier, GRNFRegressor
from grnf.estimators.transformer import GRNF

__all__ = ["GRNF", "GRNFClassifier", "GRNFRegressor"]
