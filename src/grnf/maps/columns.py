"""What points are colored by: labels, attributes of graphs, and what is computed of them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from grnf.io.raw import RawGraph, columns_of_graphs
from grnf.typing import FloatArray

__all__ = ["Column", "clusters", "columns_of", "in_order", "joined", "make_column"]

MOST_CATEGORIES = 16
"""Eight colors times two shapes."""

FEW = 16
"""Different whole numbers up to which a column is one of classes."""

MISSING = 255
TEXTS = ("smiles",)


@dataclass(frozen=True, eq=False)
class Column:
    """One value for each graph.

    Parameters
    ----------
    name : str
    kind : "category", "number" or "text"
        Texts stand beside a graph, and are no color.
    values : list
        As given; None where one is missing.
    meaning : str
        What the page says of it.
    """

    name: str
    kind: str
    values: list[Any]
    meaning: str = ""

    def codes(self) -> tuple[npt.NDArray[np.uint8], list[str], list[int]]:
        """Return codes of categories (255: missing), what they stand for, and how many there are of each.

        Of too many categories the rarest are put together.
        """
        texts = [None if value is None else _text(value) for value in self.values]
        counts = Counter(text for text in texts if text is not None)
        names = sorted(counts, key=in_order)
        if len(names) > MOST_CATEGORIES:
            common = {name for name, _ in counts.most_common(MOST_CATEGORIES - 1)}
            rest = f"{len(names) - len(common)} others"
            names = [*(name for name in names if name in common), rest]
            texts = [text if text is None or text in common else rest for text in texts]
        table: dict[str | None, int] = {name: code for code, name in enumerate(names)}
        codes = np.array([table.get(text, MISSING) for text in texts], np.uint8)
        return codes, names, np.bincount(codes, minlength=MISSING)[: len(names)].tolist()

    def numbers(self) -> FloatArray:
        """Return the values as numbers, NaN where one is missing."""
        return np.array([math.nan if value is None else float(value) for value in self.values], np.float64)


def make_column(name: str, values: Sequence[Any], meaning: str = "") -> Column:
    """Return a column of the kind that its values have.

    Examples
    --------
    >>> make_column("y", [0, 1, 1, None]).kind, make_column("logP", [0.5, "1.25"]).kind
    ('category', 'number')
    >>> make_column("name", [f"graph {i}" for i in range(100)]).kind
    'text'
    """
    plain = [_plain(value) for value in values]
    there = [value for value in plain if value is not None]
    different = set(there)
    if name.lower() in TEXTS:
        return Column(name, "text", plain, meaning)
    numbers = [_number(value) for value in there]
    if there and None not in numbers:
        whole = all(float(number or 0).is_integer() for number in numbers)
        if whole and len(different) <= FEW:
            return Column(name, "category", plain, meaning)
        as_numbers = [None if value is None else _number(value) for value in plain]
        return Column(name, "number", as_numbers, meaning)
    limit = max(2 * MOST_CATEGORIES, len(there) // 20)
    kind = "category" if len(different) <= limit and len(different) < max(len(there), 2) else "text"
    return Column(name, kind, plain, meaning)


def columns_of(
    graphs: Sequence[RawGraph], y: Sequence[Any] | None, more: Mapping[str, Sequence[Any]] | None
) -> list[Column]:
    """Return the columns that graphs bring: label or targets, what the user gives, what their table says."""
    n = len(graphs)
    found: dict[str, Sequence[Any]] = {}
    labels = list(y) if y is not None else [graph.y for graph in graphs]
    if len(labels) != n:
        raise ValueError(f"y has {len(labels)} entries for {n} graphs")
    width = max((len(label) for label in labels if isinstance(label, (list, tuple, np.ndarray))), default=0)
    if width:
        rows = [list(np.ravel(label)) if label is not None else [] for label in labels]
        for at in range(width):
            found[f"y[{at}]"] = [row[at] if at < len(row) else None for row in rows]
    elif any(label is not None for label in labels):
        found["label"] = labels
    for name, values in (more or {}).items():
        if len(values) != n:
            raise ValueError(f"the column {name!r} has {len(values)} entries for {n} graphs")
        found[str(name)] = list(values)
    for name, values in columns_of_graphs(graphs).items():
        if any(value is not None for value in values):
            found.setdefault(str(name), values)
    return [make_column(name, values) for name, values in found.items()]


def joined(first: list[Column], second: list[Column], n_first: int, n_second: int) -> list[Column]:
    """Put columns of equal names one below the other; values that one side lacks are None."""
    found = []
    for name in dict.fromkeys(column.name for column in [*first, *second]):
        one, two = (next((c for c in side if c.name == name), None) for side in (first, second))
        values = [*(one.values if one else [None] * n_first), *(two.values if two else [None] * n_second)]
        meaning = next(column.meaning for column in (one, two) if column)
        numbers = all(column.kind == "number" for column in (one, two) if column)
        made = Column(name, "number", values, meaning) if numbers else make_column(name, values, meaning)
        found.append(made)
    return found


def clusters(rows: FloatArray, count: int, seed: int) -> Column | None:
    """Return k-means clusters of the first 16 principal components, largest first; None for few graphs."""
    if len(rows) < 3 * count:
        return None
    from sklearn.cluster import MiniBatchKMeans
    from sklearn.decomposition import PCA

    wide = min(16, *rows.shape)
    scores = PCA(wide, svd_solver="randomized", random_state=seed).fit_transform(rows)
    found = MiniBatchKMeans(count, n_init=3, batch_size=4096, random_state=seed).fit_predict(scores)
    order = np.argsort(-np.bincount(found, minlength=count), kind="stable")
    names = np.empty(count, dtype=np.int64)
    names[order] = np.arange(1, count + 1)
    meaning = f"k-means with {count} clusters, of the vectors (not of the picture)."
    return Column("cluster", "category", names[found].tolist(), meaning)


def _plain(value: Any) -> Any:
    """Return a value in a type of Python; None for one that is missing."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or (isinstance(value, float) and not math.isfinite(value)) or value == "":
        return None
    return value if isinstance(value, (str, int, float, bool)) else str(value)


def _number(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


def _text(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)[:200]


def in_order(name: str) -> tuple[int, float, str]:
    """Sort numbers as numbers, before names."""
    number = _number(name)
    return (1, 0.0, name) if number is None else (0, number, name)
