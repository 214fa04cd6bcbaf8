"""Theorem 1: when d_P is a metric on graphs, zero for isomorphic ones only."""

from __future__ import annotations

from grnf.features import FeatureMap

__all__ = ["theorem_1"]


def theorem_1(of: FeatureMap, edge_width: int) -> tuple[bool, str]:
    """Whether d_P is a metric on graphs with so many edge attributes by Theorem 1, and why (not).

    Examples
    --------
    >>> from grnf.law import ParameterLaw
    >>> law = ParameterLaw({1: 0.5, 2: 0.5})
    >>> theorem_1(FeatureMap(law, law, 8, seed=0), edge_width=0)
    (False, 'the hidden activation relu is not squashing; ramp and sigmoid are')
    """
    if not of.hidden_activation.squashing:
        return (
            False,
            f"the hidden activation {of.hidden_activation.name} is not squashing; ramp and sigmoid are",
        )
    for name, law in (("target", of.target), ("proposal", of.proposal)):
        if not law.full_support:
            return False, (
                f"the {name} law {law.orders!r} does not reach every order k; ShiftedPoisson does. "
                "Graphs that differ only in larger patterns are at distance 0"
            )
    if edge_width and not of.adjacency_channel:
        return False, "without the adjacency channel an edge whose attributes are 0 is no edge"
    return True, (
        f"the law has full support, {of.hidden_activation.name} is squashing and continuous, "
        f"{of.activation.name} continuous and not constant: d_P is a metric (Theorem 1)"
    )
