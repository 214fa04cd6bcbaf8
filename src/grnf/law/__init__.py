"""P: laws on w = (k, theta_F, theta_H), draws from them, and the importance weights p / p-bar."""

from grnf.law.coefficients import Gaussian
from grnf.law.draw import Draw, OrderDraw
from grnf.law.orders import Categorical, OrderLaw, Restricted, ShiftedPoisson, as_order_law
from grnf.law.parameters import ParameterLaw, importance_weights
from grnf.law.streams import draw_seed

__all__ = [
    "Categorical",
    "Draw",
    "Gaussian",
    "OrderDraw",
    "OrderLaw",
    "ParameterLaw",
    "Restricted",
    "ShiftedPoisson",
    "as_order_law",
    "draw_seed",
    "importance_weights",
]
