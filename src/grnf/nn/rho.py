"""The activations of `grnf.activations` on tensors, and their derivatives."""

from __future__ import annotations

import torch
from torch import Tensor

from grnf.engine.rows import ERF, RAMP, RELU, SIGMOID, TANH

__all__ = ["rho", "slope"]


def rho(code: int, x: Tensor) -> Tensor:
    """Apply the activation with that code entry by entry."""
    if code == RELU:
        return torch.relu(x)
    if code == RAMP:
        return x.clamp(0.0, 1.0)
    if code == SIGMOID:
        return torch.sigmoid(x)
    if code == TANH:
        return torch.tanh(x)
    if code == ERF:
        return torch.erf(x)
    return x


def slope(code: int, y: Tensor) -> Tensor:
    """Return rho'(x), given y = rho(x), for the hidden activations of the layer."""
    if code == RELU:
        return (y > 0).to(y.dtype)
    if code == RAMP:
        return ((y > 0) & (y < 1)).to(y.dtype)
    if code == SIGMOID:
        return y * (1 - y)
    if code == TANH:
        return 1 - y * y
    return torch.ones_like(y)
