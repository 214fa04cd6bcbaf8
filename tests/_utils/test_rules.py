"""Rules for parameters: what they take, and how errors are worded."""

import numpy as np
import pytest

from grnf._utils.rules import Bool, Instance, Int, MemorySize, OneOf, Real, checked
from grnf.errors import GraphError


@pytest.mark.parametrize(
    ("rule", "value", "taken"),
    [
        (Int(1), 3, 3),
        (Int(1), np.int64(3), 3),
        (Int(1), np.uint8(1), 1),
        (Int(0, 5), 5, 5),
        (Int(high=-1), -1, -1),
        (Int(), np.array(7), 7),
        (Real(), 2, 2.0),
        (Real(), np.float32(0.5), 0.5),
        (Real(1), 0.25, 0.25),
        (Bool(), np.True_, True),
        (OneOf("a", None), None, None),
        (OneOf("a", "b"), "b", "b"),
        (Instance("a list", list), [1], [1]),
        (MemorySize(), "2mb", 2_000_000),
    ],
)
def test_what_rules_take_comes_in_pythons_own_type(rule, value, taken):
    found = checked(value, "x", rule)
    assert found == taken
    assert type(found) is type(taken)


@pytest.mark.parametrize(
    ("rule", "words", "values"),
    [
        (Int(1), "an integer >= 1", [0, True, np.True_, 1.0, "1", None, np.array([1]), [1]]),
        (Int(0, 5), "an integer >= 0 and <= 5", [-1, 6, False]),
        (Int(high=-1), "an integer <= -1", [0]),
        (Real(), "a positive number", [0, -1.0, np.nan, np.inf, True, "0.5", None, [1.0], 1j]),
        (Real(1), "a number strictly between 0 and 1", [0, 1, 1.5]),
        (Bool(), "True or False", [0, 1, "True", None]),
        (OneOf("a", "b", None), "'a', 'b' or None", ["c", 0, ["a"], np.array(["a", "b"])]),
        (MemorySize(), "a number of bytes or like '500MB', at least 1 MB", ["1KB", "lots", True, None, -1]),
    ],
)
def test_what_rules_refuse_and_say(rule, words, values):
    for value in values:
        with pytest.raises(ValueError) as refused:  # noqa: PT011 the text is compared below
            checked(value, "x", rule)
        assert str(refused.value) == f"x must be {words}, got {value!r}"


def test_one_of_several_rules_a_remedy_and_the_kind_of_error():
    rules = (Int(1), OneOf("auto"), "Take 1")
    assert checked("auto", "n", *rules) == "auto"
    with pytest.raises(GraphError, match=r"^Map: n must be an integer >= 1 or 'auto', got 0\. Take 1$"):
        checked(0, "n", *rules, owner="Map", error=GraphError)
