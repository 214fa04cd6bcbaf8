"""P: laws on w = (k, theta_F, theta_H), draws from them, and the importance weights p / p-bar."""

from grnf.law.distributions import (
    Categorical,
    CoefficientLaw,
    Gaussian,
    OrderLaw,
    Restricted,
    ScaleMixture,
    ShiftedPoisson,
    as_order_law,
)
from grnf.law.parameters import LAW_RULES, Draw, Law, OrderDraw, ParameterLaw, parameter_law
from grnf.law.weights import (
    effective_sample_size,
    hidden_weights,
    importance_weights,
    largest_ratio,
    proposal_sample_size,
)

__all__ = [
    "LAW_RULES",
    "Categorical",
    "CoefficientLaw",
    "Draw",
    "Gaussian",
    "Law",
    "OrderDraw",
    "OrderLaw",
    "ParameterLaw",
    "Restricted",
    "ScaleMixture",
    "ShiftedPoisson",
    "as_order_law",
    "effective_sample_size",
    "hidden_weights",
    "importance_weights",
    "largest_ratio",
    "parameter_law",
    "proposal_sample_size",
]
