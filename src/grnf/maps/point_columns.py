"""Columns that points can be colored by: labels, attributes of graphs, and computed values."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
import numpy.typing as npt

from grnf.errors import invalid
from grnf.io.from_molecules import quiet_rdkit
from grnf.io.raw import RawGraph, columns_of_graphs
from grnf.typing import FloatArray

MOST_CATEGORIES = 20
"""Ten colors times two shapes. Different integers up to which a column is categorical, too."""

MOST_SCAFFOLDS = 20_000
"""Molecules up to which scaffolds are computed (0.3 ms each)."""

MISSING = 255
TEXTS = ("smiles",)


@dataclass(frozen=True, eq=False)
class Column:
    """One value for each graph, None if missing. `kind` is "category", "number" or "text" (no color)."""

    name: str
    kind: str
    values: list[Any]
    meaning: str = ""

    def codes(self) -> tuple[npt.NDArray[np.uint8], list[str], list[int]]:
        """Return codes of categories (255: missing), their names and counts. Rare ones are merged."""
        texts = [None if value is None else _text(value) for value in self.values]
        counts = Counter(text for text in texts if text is not None)
        names = sorted(counts, key=sort_key)
        if len(names) > MOST_CATEGORIES:
            common = {name for name, _ in counts.most_common(MOST_CATEGORIES - 1)}
            rest = f"{len(names) - len(common)} others"
            names = [*(name for name in names if name in common), rest]
            texts = [text if text is None or text in common else rest for text in texts]
        table: dict[str | None, int] = {name: code for code, name in enumerate(names)}
        codes = np.array([table.get(text, MISSING) for text in texts], np.uint8)
        return codes, names, np.bincount(codes, minlength=MISSING)[: len(names)].tolist()

    def numbers(self) -> FloatArray:
        """Return the values as numbers, NaN for missing ones."""
        return np.array([math.nan if value is None else float(value) for value in self.values], np.float64)


def make_column(name: str, values: Sequence[Any], meaning: str = "") -> Column:
    """Return a column of the kind that its values have. A label of repeated integers has classes."""
    plain = [_plain(value) for value in values]
    present = [value for value in plain if value is not None]
    numbers, different = [_number(value) for value in present], len(set(present))
    if name.lower() in TEXTS:
        kind = "text"
    elif present and None not in numbers:
        whole = all(float(number or 0).is_integer() for number in numbers)
        classes = name == "label" and all(isinstance(value, int) for value in present)
        limit = max(MOST_CATEGORIES, len(present) // 5 if classes else 0)
        kind = "category" if whole and different <= limit else "number"
    else:
        limit = max(2 * MOST_CATEGORIES, len(present) // 20)
        kind = "category" if different <= limit and different < max(len(present), 2) else "text"
    if kind == "number":
        plain = [None if value is None else _number(value) for value in plain]
    return Column(name, kind, plain, meaning)


def columns_of(
    graphs: Sequence[RawGraph], y: Sequence[Any] | None, more: Mapping[str, Sequence[Any]] | None
) -> list[Column]:
    """Return the columns of graphs: label or targets, those of the user, and those of their table."""
    n = len(graphs)
    columns: dict[str, Sequence[Any]] = {}
    labels = list(y) if y is not None else [graph.y for graph in graphs]
    if len(labels) != n:
        raise invalid("y", f"have an entry for each of the {n} graphs", str(len(labels)))
    width = max((len(label) for label in labels if isinstance(label, (list, tuple, np.ndarray))), default=0)
    if width:
        rows = [list(np.ravel(label)) if label is not None else [] for label in labels]
        for at in range(width):
            columns[f"y[{at}]"] = [row[at] if at < len(row) else None for row in rows]
    elif any(label is not None for label in labels):
        columns["label"] = labels
    for name, values in (more or {}).items():
        if len(values) != n:
            raise invalid(f"columns[{name!r}]", f"have an entry for each of the {n} graphs", str(len(values)))
        columns[str(name)] = list(values)
    for name, values in columns_of_graphs(graphs).items():
        if len({_plain(value) for value in values} - {None}) > (n > 1):  # one value for all shows nothing
            columns.setdefault(str(name), values)
    return [make_column(name, values) for name, values in columns.items()]


def guessed_ids(graphs: Sequence[RawGraph]) -> list[str] | None:
    """Return the only text column whose values are all different, for graphs without ids."""
    if any(graph.graph_id is not None for graph in graphs):
        return None
    found = [
        values
        for name, values in columns_of_graphs(graphs).items()
        if name.lower() not in TEXTS and _are_ids(values)
    ]
    return [value.strip() for value in found[0]] if len(found) == 1 else None


def _are_ids(values: Sequence[Any]) -> bool:
    """Whether these are texts, not numbers, that are all different."""
    texts = all(isinstance(value, str) and value.strip() and _number(value) is None for value in values)
    return texts and len({value.strip() for value in values}) == len(values)


def joined(first: list[Column], second: list[Column], n_first: int, n_second: int) -> list[Column]:
    """Concatenate columns of equal names. Values that one side lacks are None."""
    columns = []
    for name in dict.fromkeys(column.name for column in [*first, *second]):
        one, two = (next((c for c in side if c.name == name), None) for side in (first, second))
        values = [*(one.values if one else [None] * n_first), *(two.values if two else [None] * n_second)]
        meaning = next(column.meaning for column in (one, two) if column)
        numbers = all(column.kind == "number" for column in (one, two) if column)
        same = Column(name, "number", values, meaning)
        columns.append(same if numbers else make_column(name, values, meaning))
    return columns


def clusters(rows: FloatArray, count: int, seed: int) -> Column | None:
    """Return k-means clusters of the first 16 principal components, largest first, or None for few graphs."""
    if len(rows) < 3 * count:
        return None
    from sklearn.cluster import MiniBatchKMeans
    from sklearn.decomposition import PCA

    wide = min(16, *rows.shape)
    scores = PCA(wide, svd_solver="randomized", random_state=seed).fit_transform(rows)
    labels = MiniBatchKMeans(count, n_init=3, batch_size=4096, random_state=seed).fit_predict(scores)
    order = np.argsort(-np.bincount(labels, minlength=count), kind="stable")
    names = np.empty(count, dtype=np.int64)
    names[order] = np.arange(1, count + 1)
    meaning = f"k-means with {count} clusters, of the vectors (not of the positions)."
    return Column("cluster", "category", names[labels].tolist(), meaning)


def scaffolds(graphs: Sequence[RawGraph]) -> Column | None:
    """Return the Murcko scaffolds of molecules (RDKit). None for other graphs, or if there are too many."""
    smiles = [graph.graph_columns.get("smiles") for graph in graphs]
    if not smiles or None in smiles or len(smiles) > MOST_SCAFFOLDS or find_spec("rdkit") is None:
        return None
    from rdkit.Chem import MolFromSmiles
    from rdkit.Chem.Scaffolds import MurckoScaffold

    scaffold: Any = MurckoScaffold.MurckoScaffoldSmiles
    with quiet_rdkit():
        molecules = [MolFromSmiles(text) for text in smiles]
        names = [None if molecule is None else scaffold(mol=molecule) or "no ring" for molecule in molecules]
    return Column("scaffold", "category", names, "Murcko scaffold, computed by RDKit.")


def _plain(value: Any) -> Any:
    """Return a value in a type of Python, or None for one that is missing."""
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


def sort_key(name: str) -> tuple[int, float, str]:
    """Return a key that sorts numbers as numbers, before names."""
    number = _number(name)
    return (1, 0.0, name) if number is None else (0, number, name)
