"""GRNF for scikit-learn: with P given or fitted to a task; a classifier and a regressor behind it."""

from grnf.estimators.classifier import GRNFClassifier, GRNFRegressor
from grnf.estimators.reweighted import ReweightedGRNF
from grnf.estimators.streams import embed_stream, fit_stream
from grnf.estimators.transformer import GRNF

__all__ = [
    "GRNF",
    "GRNFClassifier",
    "GRNFRegressor",
    "ReweightedGRNF",
    "embed_stream",
    "fit_stream",
]
