"""Laws and seeds as users give them: the rules, and the whole law that a dict or a law of the order means."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from grnf.law.coefficients import Gaussian
from grnf.law.orders import OrderLaw, as_order_law
from grnf.law.parameters import ParameterLaw
from grnf.rules import Instance, Int, OneOf, Rule

__all__ = ["LAW_RULES", "SEED_RULES", "Law", "parameter_law"]

Law = OrderLaw | ParameterLaw | Mapping[int, float]

LAW_RULES: tuple[Rule | str, ...] = (
    Instance("a dict {order: probability} or a law of grnf.law", OrderLaw, ParameterLaw, Mapping),
    "For one order k alone write {k: 1.0}",
)
SEED_RULES: tuple[Rule | str, ...] = (
    OneOf(None),
    Int(0),
    Instance("a numpy Generator or RandomState", np.random.Generator, np.random.RandomState),
)


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
