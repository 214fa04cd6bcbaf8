"""M(eps, delta): how many features an error needs, and what M features are good for.

The estimate of d_P^2 (or kappa_P) is a mean of M independent terms. With rho_i in [low, high] and
s = high - low:

    distance terms (psi1 - psi2)^2 lie in [0, s^2]
    kernel terms xi1 xi2, xi = psi - psi(0), lie in [-s^2 / 4, s^2]

    "hoeffding"  M >= length^2 ln(2 / delta) / (2 eps^2), length of those intervals, valid for every M
    "chebyshev"  M >= V / (delta eps^2), with the paper's V: 16 C^4 for the distance (E psi^4 <= C^4,
                 C = max |rho_i|, 16 for tanh and sigmoid: Theorem 2), s^4 for the kernel (1 for the sigmoid)
    "clt"        M >= (z sigma / eps)^2, z the normal quantile at 1 - delta / 2: the true number for large M
                 if the variance of the terms is given, by default the largest that the range allows

For all pairs among N graphs at once delta is divided by their number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from scipy.stats import norm

from grnf._utils.rules import Int, OneOf, Real, checked
from grnf.activations import Activation, get_activation
from grnf.errors import invalid
from grnf.features import FeatureMap
from grnf.law import OrderLaw

BOUNDS: dict[str, tuple[Callable[[float, float], float], Callable[[float, int, float], float]]] = {
    "hoeffding": (
        lambda c, delta: c * math.log(2 / delta) / 2,
        lambda c, M, eps: 2 * math.exp(-2 * M * eps**2 / c),
    ),
    "chebyshev": (lambda c, delta: c / delta, lambda c, M, eps: c / (M * eps**2)),
    "clt": (
        lambda c, delta: c * float(norm.isf(delta / 2)) ** 2,
        lambda c, M, eps: 2 * float(norm.sf(eps * math.sqrt(M / c))),
    ),
}
"""For each bound M eps^2 by the constant and delta, and delta by the constant, M and eps, for one pair."""


def required_dimension(
    eps: float,
    delta: float,
    *,
    bound: str = "hoeffding",
    quantity: str = "distance",
    activation: str | Activation = "tanh",
    n_graphs: int | None = None,
    variance: float | None = None,
) -> int:
    """Return the number of features M with P(|estimate - truth| >= eps) <= delta.

    Parameters
    ----------
    eps : float
        Error accepted on the squared distance (or on the kernel).
    delta : float
        Risk accepted, in (0, 1).
    bound : "hoeffding", "chebyshev" or "clt"
    quantity : "distance" or "kernel"
        What is estimated: d_P^2 or kappa_P.
    activation : str, default="tanh"
        The outer activation rho_i, whose range gives the constants.
    n_graphs : int, optional
        Ask for all pairs among so many graphs at once.
    variance : float, optional
        Variance of a term, for "chebyshev" and "clt", instead of the largest possible one.

    Returns
    -------
    int

    Examples
    --------
    >>> required_dimension(0.1, 0.05)
    2952
    >>> required_dimension(0.1, 0.05, bound="chebyshev")  # Theorem 2 of the paper
    32000
    """
    eps, delta = checked(eps, "eps", Real()), checked(delta, "delta", Real(1))
    constant, n_pairs = _constant(bound, quantity, activation, n_graphs, variance)
    M = BOUNDS[bound][0](constant, delta / n_pairs) / eps**2
    return max(1, math.ceil(M * (1 - 1e-12)))  # 16 / (0.05 * 0.1**2) is a hair over 32000


def error_bound(
    n_components: int,
    delta: float,
    *,
    bound: str = "hoeffding",
    quantity: str = "distance",
    activation: str | Activation = "tanh",
    n_graphs: int | None = None,
    variance: float | None = None,
) -> float:
    """Return the error eps that M features keep with probability 1 - delta: `required_dimension` inverted.

    Parameters
    ----------
    n_components : int
        M.
    delta : float
        Risk accepted, in (0, 1).
    bound : "hoeffding", "chebyshev" or "clt"
    quantity : "distance" or "kernel"
    activation : str, default="tanh"
    n_graphs : int, optional
    variance : float, optional
        As in `required_dimension`.

    Returns
    -------
    float
        Error of the squared distance (or of the kernel).

    Examples
    --------
    >>> round(error_bound(2952, 0.05), 4)
    0.1
    """
    M, delta = checked(n_components, "n_components", Int(1)), checked(delta, "delta", Real(1))
    constant, n_pairs = _constant(bound, quantity, activation, n_graphs, variance)
    return math.sqrt(BOUNDS[bound][0](constant, delta / n_pairs) / M)


def failure_probability(
    n_components: int,
    eps: float,
    *,
    bound: str = "hoeffding",
    quantity: str = "distance",
    activation: str | Activation = "tanh",
    n_graphs: int | None = None,
    variance: float | None = None,
) -> float:
    """Return the risk delta that M features miss the truth by eps or more: `required_dimension` inverted."""
    M, eps = checked(n_components, "n_components", Int(1)), checked(eps, "eps", Real())
    constant, n_pairs = _constant(bound, quantity, activation, n_graphs, variance)
    return min(1.0, n_pairs * BOUNDS[bound][1](constant, M, eps))


def truncation_bias(orders: OrderLaw, kept: Iterable[int], *, activation: str | Activation = "tanh") -> float:
    """Return how far below d_P^2 the expected square of the bounded-order distance may lie.

    The features left out have probability 1 - P(K), and each would add at most (high - low)^2: 4 C^2 for an
    activation between -C and C.

    Parameters
    ----------
    orders : OrderLaw
        p(k).
    kept : iterable of int
        K, the orders that are used.
    activation : str, default="tanh"
        The outer activation rho_i.

    Returns
    -------
    float

    Examples
    --------
    >>> from grnf.law import ShiftedPoisson
    >>> round(truncation_bias(ShiftedPoisson(0.5), {1, 2, 3}), 4)
    0.0576
    """
    return get_activation(activation).spread ** 2 * max(0.0, 1 - orders.mass(kept))


def _constant(
    bound: str, quantity: str, activation: str | Activation, n_graphs: int | None, variance: float | None
) -> tuple[float, int]:
    """Return the constant of a bound, and the number of pairs among which delta is divided."""
    rho = get_activation(activation)
    checked(bound, "bound", OneOf(*BOUNDS))
    checked(quantity, "quantity", OneOf("distance", "kernel"))
    if variance is not None:
        if bound == "hoeffding":
            raise invalid("bound", "be 'chebyshev' or 'clt' if the variance is given", repr(bound))
        variance = checked(variance, "variance", Real())
    if not rho.bounded and variance is None:
        cure = "Use tanh, sigmoid or ramp, or pass the variance and bound='chebyshev' or 'clt'"
        raise invalid("activation", "be bounded", repr(rho.name), cure)
    length = rho.spread**2 * (1.0 if quantity == "distance" else 1.25)
    paper = 16 * rho.largest**4 if quantity == "distance" else rho.spread**4
    worst = {"hoeffding": length**2, "chebyshev": paper, "clt": length**2 / 4}[bound]
    N = 0 if n_graphs is None else int(checked(n_graphs, "n_graphs", Int(2)))
    n_pairs = N * (N - 1) // 2 if quantity == "distance" else N * (N + 1) // 2
    return worst if variance is None else variance, max(1, n_pairs)


def theorem_1(of: FeatureMap, edge_width: int) -> tuple[bool, str]:
    """Whether d_P is a metric on graphs with so many edge attributes by Theorem 1, and why (not).

    The paper asks for a squashing hidden activation. ReLU works too: ramp(x) = relu(x) - relu(x - 1) is
    squashing, and the shift is a change of the bias, so what separates graphs with the ramp does with ReLU.
    """
    rho = of.hidden_activation
    if not rho.squashing and rho.name != "relu":
        return False, f"the hidden activation {rho.name} is neither squashing nor relu"
    for name, law in (("target", of.target), ("proposal", of.proposal)):
        if not law.full_support:
            return False, (
                f"the {name} distribution {law.orders!r} does not reach every order k. ShiftedPoisson does. "
                "Graphs that differ only in larger patterns are at distance 0"
            )
    if edge_width and not of.adjacency_channel:
        return False, "without the adjacency channel, an edge whose attributes are 0 does not count"
    squashing = rho.name if rho.squashing else "a difference of shifts of relu"
    return True, (
        f"the distribution has full support, {squashing} is squashing, and {of.activation.name} is "
        "continuous and not constant: d_P is a metric (Theorem 1)"
    )
