"""GRNF for scikit-learn: the transformer, feature views, a classifier and a regressor."""

from grnf.estimators.classifier import GRNFClassifier, GRNFRegressor
from grnf.estimators.fingerprint import JointFeatures, WLFingerprint
from grnf.estimators.reweighted import ReweightedGRNF
from grnf.estimators.streams import embed_stream, fit_stream
from grnf.estimators.transformer import GRNF
from grnf.estimators.views import FeatureViews, saved_transformer

__all__ = [
    "GRNF",
    "FeatureViews",
    "GRNFClassifier",
    "GRNFRegressor",
    "JointFeatures",
    "ReweightedGRNF",
    "WLFingerprint",
    "embed_stream",
    "fit_stream",
    "saved_transformer",
]
