"""GRNF for scikit-learn: the transformer, feature views, a classifier and a regressor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grnf._utils.lazy import lazy

if TYPE_CHECKING:
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

# Names are loaded when they are first used: the classifier needs half of scikit-learn.
__getattr__ = lazy(
    __name__,
    {
        "GRNF": "transformer",
        "FeatureViews": "views",
        "GRNFClassifier": "classifier",
        "GRNFRegressor": "classifier",
        "JointFeatures": "fingerprint",
        "ReweightedGRNF": "reweighted",
        "WLFingerprint": "fingerprint",
        "embed_stream": "streams",
        "fit_stream": "streams",
        "saved_transformer": "views",
    },
)
