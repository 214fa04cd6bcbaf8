"""A law as users give it: a dict, a law of the order, or a whole law."""

from __future__ import annotations

from collections.abc import Mapping

from grnf.law.coefficients import Gaussian
from grnf.law.orders import OrderLaw, as_order_law
from grnf.law.parameters import ParameterLaw

__all__ = ["Law", "parameter_law"]

Law = OrderLaw | ParameterLaw | Mapping[int, float]


def parameter_law(law: Law, hidden_channels: int, name: str, stratified: bool = False) -> ParameterLaw:
    """Return the whole law that `law` stands for; `name` is what users call it.

    Examples
    --------
    >>> parameter_law({1: 1.0}, 4, "orders")
    ParameterLaw(Categorical({1: 1}), Gaussian(1), hidden_channels=4)
    """
    if not isinstance(law, ParameterLaw):
        return ParameterLaw(as_order_law(law), Gaussian(), hidden_channels, stratified)
    if law.hidden_channels != hidden_channels:
        raise ValueError(
            f"{name} is a law with {law.hidden_channels} hidden channels, "
            f"but hidden_channels={hidden_channels}"
        )
    return ParameterLaw(law.orders, law.coefficients, hidden_channels, law.stratified or stratified)
