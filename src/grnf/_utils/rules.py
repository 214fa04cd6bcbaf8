"""Rules for parameters: each is defined once, and one function formats the error.

>>> checked(True, "heads", Int(1), OneOf("auto"), "More heads cost next to nothing", owner="GRNF")
Traceback (most recent call last):
ValueError: GRNF: heads must be an integer >= 1 or 'auto', got True. More heads cost next to nothing
"""

from __future__ import annotations

import math
import operator
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import Field, field
from typing import Any, TypeAlias

import numpy as np

from grnf.errors import invalid

UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}


class Rule(ABC):
    """The values that a parameter may have, described by `words`."""

    words: str

    @abstractmethod
    def take(self, value: Any) -> Any:
        """Return the value in Python's own type. Raise a TypeError or ValueError if it is not allowed."""


Table: TypeAlias = Mapping[str, Sequence[Rule | str]]
"""Rules of the parameters of a class by their names."""


class Int(Rule):
    """An integer from `low` to `high`, both included. Those of numpy are integers, True and False are not."""

    def __init__(self, low: int | None = None, high: int | None = None) -> None:
        self.low, self.high = low, high
        bounds = [f" {sign} {bound}" for sign, bound in ((">=", low), ("<=", high)) if bound is not None]
        self.words = "an integer" + " and".join(bounds)

    def take(self, value: Any) -> int:
        if isinstance(value, bool | np.bool_):
            raise TypeError
        number = operator.index(value)
        if (self.low is not None and number < self.low) or (self.high is not None and number > self.high):
            raise ValueError
        return number


class Real(Rule):
    """A finite number above 0, and below `high` if one is given."""

    def __init__(self, high: float = math.inf) -> None:
        self.high = high
        self.words = f"a number strictly between 0 and {high:g}" if high < math.inf else "a positive number"

    def take(self, value: Any) -> float:
        if isinstance(value, bool | str) or not 0 < float(value) < self.high:
            raise ValueError
        return float(value)


class Bool(Rule):
    """True or False, of Python or numpy."""

    words = "True or False"

    def take(self, value: Any) -> bool:
        if not isinstance(value, bool | np.bool_):
            raise TypeError
        return bool(value)


class OneOf(Rule):
    """One of some words, or None if that is among them."""

    def __init__(self, *choices: str | None) -> None:
        self.choices = choices
        self.words = _either([repr(choice) for choice in choices])

    def take(self, value: Any) -> Any:
        if not (value is None or isinstance(value, str)) or value not in self.choices:
            raise ValueError
        return value


class Instance(Rule):
    """An object of some types."""

    def __init__(self, words: str, *types: type) -> None:
        self.words, self.types = words, types

    def take(self, value: Any) -> Any:
        if not isinstance(value, self.types):
            raise TypeError
        return value


class MemorySize(Rule):
    """A number of bytes, given as such or like "1.5 GB"."""

    words = "a number of bytes or like '500MB', at least 1 MB"

    def take(self, value: Any) -> int:
        match = re.fullmatch(r"\s*(\d+(?:\.\d*)?)\s*([KMGT]?B)?\s*", str(value).upper())
        size = 0 if match is None else int(float(match[1]) * UNITS[match[2] or ""])
        if size < UNITS["MB"]:
            raise ValueError
        return size


def checked(
    value: Any, name: str, *rules: Rule | str, owner: str = "", error: type[ValueError] = ValueError
) -> Any:
    """Return a parameter in Python's own type, or raise an error that names the requirement.

    One of the rules must hold. A text among them is what to do about it, for the end of the message. `owner`
    is the class whose parameter it is.
    """
    for rule in rules:
        try:
            if not isinstance(rule, str):
                return rule.take(value)
        except (TypeError, ValueError):
            continue
    requirement = _either([rule.words for rule in rules if not isinstance(rule, str)])
    remedy = ". ".join(text for text in rules if isinstance(text, str))
    raise error(str(invalid(f"{owner and owner + ': '}{name}", f"be {requirement}", repr(value), remedy)))


def memory_size(value: Any) -> int:
    """Return the bytes of a `max_memory`.

    Examples
    --------
    >>> memory_size("4GB")
    4000000000
    """
    return int(checked(value, "max_memory", MemorySize()))


def param(default: Any, *rules: Rule | str) -> Any:
    """Return a field of a dataclass: a parameter with its default and its rules."""
    return field(default=default, metadata={"rules": rules})


def rules_of(kind: type) -> Table:
    """Return the rules of the parameters of a dataclass."""
    fields: Mapping[str, Field[Any]] = getattr(kind, "__dataclass_fields__", {})
    return {name: own.metadata["rules"] for name, own in fields.items() if "rules" in own.metadata}


def checked_parameters(estimator: Any) -> dict[str, Any]:
    """Return the parameters of an estimator in Python's own types, each checked by the rules of its field."""
    owner, given = type(estimator).__name__, estimator.get_params(deep=False)
    rules = rules_of(type(estimator))
    return {name: checked(given[name], name, *own, owner=owner) for name, own in rules.items()}


def _either(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"
