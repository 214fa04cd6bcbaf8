"""Compiled kernels for U_1, U_2, ..., U_B and their derivatives: arrays in, arrays out, no checks."""

from grnf.engine.coefficients import Channels, Coefficients, theta_gradients
from grnf.engine.plan import Engine
from grnf.engine.schedule import Piece, Schedule

__all__ = ["Channels", "Coefficients", "Engine", "Piece", "Schedule", "theta_gradients"]
