"""Cells of text tables: texts that may stand for numbers, which only the whole column can tell."""

from __future__ import annotations

import re

__all__ = ["ABSENT", "Cell"]

ABSENT = frozenset({"na", "n/a", "#n/a", "nan", "null", "none", "nil", "?", "-", "."})
"""How a missing number is spelled."""

WHOLE = re.compile(r"[-+]?(0|[1-9][0-9]*)")
NUMBER = re.compile(r"[-+]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?")


class Cell(str):
    """The text of a cell as it stands in the table.

    A text that a number would not give back, such as a code with zeros before it, is no number.

    Examples
    --------
    >>> Cell("12").number(), Cell(" 1.50").number(), Cell("007").number(), Cell("NA").is_absent
    (12, 1.5, None, True)
    """

    __slots__ = ()

    def number(self) -> int | float | None:
        """Return the number that it stands for, None if it stands for none."""
        text = self.strip()
        if WHOLE.fullmatch(text):
            return int(text) if len(text) < 20 else None  # beyond 64 bits it is a code
        return float(text) if NUMBER.fullmatch(text) else None

    @property
    def is_absent(self) -> bool:
        """Whether it is a word for a missing number."""
        return self.strip().lower() in ABSENT
