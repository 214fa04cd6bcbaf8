"""P: laws on w = (k, theta_F, theta_H), draws from them, and the importance weights p / p-bar."""

from grnf.law.distributions import (
    Categorical,
    CoefficientLaw,
    Gaussian,
    OrderLaw,
    ScaleMixture,
    ShiftedPoisson,
)
from grnf.law.parameters import ParameterLaw
from grnf.law.weights import importance_weights

__all__ = [
    "Categorical",
    "CoefficientLaw",
    "Gaussian",
    "OrderLaw",
    "ParameterLaw",
    "ScaleMixture",
    "ShiftedPoisson",
    "importance_weights",
]
