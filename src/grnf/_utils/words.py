"""Words of messages."""

from __future__ import annotations

import re


def counted(count: int, things: str) -> str:
    """Return a count with what is counted. For 1, its first plural becomes a singular.

    Examples
    --------
    >>> counted(1234, "graphs"), counted(1, "queries"), counted(1, "redundant graphs")
    ('1,234 graphs', '1 query', '1 redundant graph')
    """
    one = re.sub(r"(?:(ie)|(?<!s))s\b", lambda end: "y" if end[1] else "", things, count=1)
    return f"{count:,} {one if count == 1 else things}"
