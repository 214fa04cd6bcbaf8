"""What a channel of A is, as a 64-bit key: of numbers column and place, of a category column and name.

Random coefficients are drawn by key, so a channel has the same ones wherever it occurs, whatever the
other channels are. Every category has one, so the vocabulary is open.
"""

from __future__ import annotations

import hashlib
import numbers
from collections.abc import Hashable
from functools import lru_cache
from typing import Any, Literal, TypeAlias

import numpy as np

from grnf.errors import GraphError
from grnf.typing import Keys

Item: TypeAlias = Literal["node", "edge"]
UNNAMED = {"node": "x", "edge": "edge_attr"}
"""What the columns of numbers without a name are called, so that all converters agree."""


def _key(*words: str) -> int:
    text = "".join(f"{len(word)}:{word}" for word in words)  # lengths: no two lists of words are one text
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest())


ADJACENCY = _key("adjacency")


@lru_cache(maxsize=256)
def number_keys(item: Item, width: int, column: str | None = None) -> Keys:
    """Return the keys of the entries of a column of numbers, by default of the one without a name."""
    name = UNNAMED[item] if column is None else column
    keys = np.array([_key(item, name, "number", str(i)) for i in range(width)], dtype=np.uint64)
    keys.setflags(write=False)
    return keys


def category_key(item: Item, column: str, category: Hashable) -> int:
    """Return the key of a category of a column. A number is the same category as the text of it."""
    return _key(item, column, "category", _text(category))


def _text(category: Any) -> str:
    if isinstance(category, str):
        return str(category)
    if isinstance(category, bytes):
        return category.decode("utf-8", "replace")
    if isinstance(category, numbers.Real):
        number = float(category)
        return str(int(category)) if number.is_integer() else repr(number)  # type: ignore[call-overload]
    if isinstance(category, tuple | frozenset):
        texts = [_text(entry) for entry in category]
        return repr(texts if isinstance(category, tuple) else sorted(texts))
    if getattr(type(category), "__repr__", None) is object.__repr__:
        raise GraphError(
            f"a category must be text or a number, got {type(category).__name__}", cure="Convert it to text"
        )
    return repr(category)
