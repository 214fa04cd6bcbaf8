import math

import numpy as np
import pytest

from grnf.metric import distance, kernel_estimate, pairwise_kernels


def test_values():
    z1, z2 = np.random.default_rng(0).normal(size=(2, 100)) / 10
    estimate = distance(z1, z2)
    terms = 100 * (z1 - z2) ** 2
    assert estimate.squared == pytest.approx(np.sum((z1 - z2) ** 2))
    assert estimate.value == pytest.approx(np.linalg.norm(z1 - z2))
    assert estimate.standard_error == pytest.approx(terms.std(ddof=1) / 10)
    assert distance(z1 - z2, np.zeros(100)) == estimate  # centred or not


def test_bernstein_interval_is_the_formula():
    estimate = distance(np.zeros(1000), np.linspace(0, 0.05, 1000))
    low, high = estimate.squared_interval(0.1, "bernstein")
    log = math.log(4 / 0.1)
    radius = math.sqrt(2 * estimate.standard_error**2 * log) + 7 * 4 * log / (3 * 999)
    assert high - estimate.squared == pytest.approx(radius)
    assert low == pytest.approx(estimate.squared - radius)
    assert estimate.interval(0.1, "bernstein") == (
        pytest.approx(math.sqrt(low)),
        pytest.approx(math.sqrt(high)),
    )


def test_interval_stays_within_what_is_possible():
    assert distance([0.0, 0.0], [0.1, 0.1]).squared_interval(0.05, "bernstein") == (0.0, 4.0)
    assert distance([0.0], [0.1]).squared_interval(0.05, "bernstein") == (0.0, 4.0)
    low, high = distance([0.0, 0.0], [0.1, 0.1]).squared_interval(0.05)
    assert 0 <= low < 0.02 < high <= 4
    assert distance(np.zeros(9), np.zeros(9)).value == 0


def test_smaller_ranges_give_shorter_intervals():
    z = np.full(400, 0.01)
    widths = [np.ptp(distance(0 * z, z, activation=a).squared_interval()) for a in ("sigmoid", "tanh")]
    assert widths[0] < widths[1]


def test_unbounded_terms_need_the_normal_interval():
    estimate = distance(np.zeros(100), np.linspace(0, 1, 100), activation="identity")
    with pytest.raises(ValueError, match="use method='clt'"):
        estimate.interval()
    assert estimate.interval(method="clt")[0] > 0
    assert "95 % interval" in f"{estimate}"


def test_format():
    assert f"{distance([0.0, 0.0], [0.3, 0.4]):.2f}" == "0.50 (95 % interval 0.14 to 2.00)"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: distance([1.0], [1.0, 2.0]), "one length; got 1 and 2"),
        (lambda: distance(np.ones((2, 2)), np.ones((2, 2))), r"z1 must be the vector of one graph"),
        (lambda: distance([np.nan], [1.0]), "z1 holds NaN"),
        (
            lambda: distance([1.0], [1.0]).interval(method="t"),
            "method must be 'betting', 'bernstein', 'clt' or None",
        ),
        (lambda: distance([1.0], [1.0]).interval(2.0), "delta must be a number strictly between 0 and 1"),
        (lambda: distance([1.0], [1.0], activation="x"), "unknown activation 'x'"),
    ],
)
def test_bad_arguments_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_heads_are_averaged_before_errors_are_estimated():
    z = np.random.default_rng(0).normal(size=12)
    estimate = distance(np.zeros(12), z, heads=3)
    terms = 12 * (z**2).reshape(4, 3).mean(axis=1)
    assert estimate.squared == pytest.approx(np.sum(z**2))
    assert estimate.standard_error == pytest.approx(terms.std(ddof=1) / 2)
    assert estimate.n_components == 4
    with pytest.raises(ValueError, match="heads must divide the length 12 of the vectors; got 5"):
        distance(np.zeros(12), z, heads=5)


def test_kernel_values_and_intervals_are_the_formulas():
    z1, z2 = np.random.default_rng(0).normal(size=(2, 100)) / 10
    estimate = kernel_estimate(z1, z2)
    terms = 100 * z1 * z2
    assert estimate.value == pytest.approx(pairwise_kernels([z1], [z2])[0, 0])
    assert estimate.standard_error == pytest.approx(terms.std(ddof=1) / 10)
    log = math.log(4 / 0.1)
    radius = math.sqrt(2 * estimate.standard_error**2 * log) + 7 * 5 * log / (3 * 99)  # range of tanh: 2
    assert estimate.interval(0.1, "bernstein") == pytest.approx(
        (max(estimate.value - radius, -1), estimate.value + radius)
    )
    radius = 5 * math.sqrt(math.log(2 / 0.1) / 200)
    low, high = estimate.interval(0.1, "hoeffding")
    assert (low, high) == pytest.approx((max(estimate.value - radius, -1), estimate.value + radius))
    assert f"{estimate:.2f}".startswith(f"{estimate.value:.2f} (95 % interval")
    assert kernel_estimate([0.1], [0.1]).interval(method="bernstein") == (-1.0, 4.0)


def test_kernel_terms_of_any_range_lie_in_the_stated_bounds():
    psi1, psi2, null = np.random.default_rng(0).uniform(-1, 1, size=(3, 10**6))
    terms = (psi1 - null) * (psi2 - null)
    assert -1 <= terms.min() < -0.95
    assert 3.8 < terms.max() <= 4


def test_kernel_heads_and_bad_arguments():
    z = np.random.default_rng(0).normal(size=(2, 12))
    terms = 12 * (z[0] * z[1]).reshape(4, 3).mean(axis=1)
    estimate = kernel_estimate(*z, heads=3)
    assert (estimate.value, estimate.n_components) == (pytest.approx(terms.mean()), 4)
    assert estimate.standard_error == pytest.approx(terms.std(ddof=1) / 2)
    with pytest.raises(ValueError, match="'bernstein', 'hoeffding', 'clt' or None; got 't'"):
        estimate.interval(method="t")
    unbounded = kernel_estimate(*z, activation="identity")
    for method in ("betting", "bernstein", "hoeffding"):
        with pytest.raises(ValueError, match=f"which the {method} interval needs: use method='clt'"):
            unbounded.interval(method=method)
    assert "95 % interval" in f"{unbounded}"
