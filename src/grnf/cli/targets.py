"""What `grnf classify` predicts: which columns, which graphs have a value, classes or numbers."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import typer

from grnf.cli.columns import about_columns, described, is_smiles_table, smiles_column_of, survey_of
from grnf.cli.source import Source
from grnf.cli.tell import note
from grnf.errors import GraphError

if TYPE_CHECKING:
    from grnf.io.files.survey import Column

__all__ = ["Target", "Task", "check_folds", "chosen_columns", "made_target"]

Task = Literal["auto", "classes", "numbers"]

MOST_CLASSES_OF_NUMBERS, FEWEST_OF_A_CLASS = 20, 5
"""Whole numbers are numbers, not classes, if more than so many differ and each has fewer graphs."""

MANY_CLASSES = 100
"""Classes beyond which nearest neighbors are the default: an SVM compares classes two by two."""

MOST_NAMED = 8
"""Classes that a note names."""

NEGATIVE = {"no", "n", "false", "f", "negative", "neg", "none", "control", "off", "absent", "normal"}
"""Names of classes that are not the positive one."""


@dataclass(frozen=True)
class Target:
    """One thing to predict.

    Parameters
    ----------
    name : str
        Its column, or y.
    rows : array of int
        Graphs that have a value.
    y : array
        Their values.
    classes : bool
        Whether these are classes, or else numbers.
    """

    name: str
    rows: Any
    y: Any
    classes: bool

    @property
    def labels(self) -> Any:
        """All classes, ascending."""
        import numpy as np

        return np.unique(self.y)

    @property
    def positive(self) -> Any:
        """Of two classes the positive one: the larger, unless its name is negative; None for several."""
        if not self.classes or len(self.labels) != 2:
            return None
        low, high = self.labels.tolist()
        one, other = str(low).lower(), str(high).lower()
        opposite = other != one and other.endswith(one)  # such as active and inactive
        return low if opposite or (other in NEGATIVE and one not in NEGATIVE) else high

    @property
    def has_many_classes(self) -> bool:
        """Whether there are too many classes for a support vector machine."""
        return self.classes and len(self.labels) > MANY_CLASSES

    def about(self, n_graphs: int) -> dict[str, Any]:
        """Return its description for a report."""
        import numpy as np

        found: dict[str, Any] = {
            "task": "classes" if self.classes else "numbers",
            "graphs": len(self.rows),
            "without_value": n_graphs - len(self.rows),
        }
        if self.classes:
            values, counts = np.unique(self.y, return_counts=True)
            found["classes"] = dict(zip(map(str, values.tolist()), counts.tolist(), strict=True))
            found["positive_class"] = None if self.positive is None else str(self.positive)
        return found


def chosen_columns(source: Source, given: Sequence[str], quiet: bool) -> list[str] | None:
    """Return the columns to predict; None if graphs have their labels themselves."""
    from grnf.io.files.survey import target_columns

    if not is_smiles_table(source):
        if given:
            raise typer.BadParameter(
                f"{source.name} is not a SMILES table: its graphs have their labels themselves",
                param_hint="--target",
            )
        return None
    columns = survey_of(source)
    if not columns:  # a folder of tables
        return list(dict.fromkeys(name for text in given for name in text.split(","))) or None
    smiles = smiles_column_of(source)[0]
    if given:
        found = list(dict.fromkeys(name for text in given for name in _named(source, columns, text)))
        if smiles in found:
            raise GraphError(
                f"{smiles!r} is the SMILES column; --target names what to predict", where=source.name
            )
        return found
    usual, found = target_columns(columns.values(), [smiles] if smiles else [])
    if not usual and len(found) != 1:
        several = (
            f"{len(found)} of its columns may be the target" if found else "no column looks like a target"
        )
        raise GraphError(
            f"{several}; name it, or several, by --target. {_listing(source, columns)}", where=source.name
        )
    name = (usual or found)[0]
    others = ", one of several that may be" if len(found) > 1 else ""
    note(f"grnf: the target is column {name!r}{others}; --target names another", quiet)
    return [name]


def _named(source: Source, columns: Mapping[str, Column], text: str) -> list[str]:
    """Return the columns that a text names: one, or several with commas between them."""
    if text in columns:
        return [text]
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in columns:
            near = difflib.get_close_matches(name, columns, 1)
            meant = f": did you mean {near[0]!r}?" if near else "."
            raise GraphError(f"no column {name!r}{meant} {_listing(source, columns)}", where=source.name)
    return names


def _listing(source: Source, columns: Mapping[str, Column]) -> str:
    return "\n  ".join(["Available:", *described(about_columns(source, columns))])


def made_target(name: str, labels: Sequence[Any], task: Task, source: str, quiet: bool) -> Target:
    """Return a target from one label per graph, None for a graph without one."""
    import numpy as np

    from grnf.io.files.survey import missing_or_value

    among_numbers = not any(isinstance(missing_or_value(label, True), str) for label in labels)
    values = [missing_or_value(label, among_numbers) for label in labels]
    rows = np.array([row for row, value in enumerate(values) if value is not None], dtype=np.int64)
    kept = [values[row] for row in rows]
    if not kept:
        raise GraphError(f"no graph has a label, or value of {name!r}", where=source)
    try:
        y = np.array(kept)
    except ValueError:
        y = np.empty(0)
    y = y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y
    if y.ndim != 1 or len(y) != len(kept):
        raise GraphError(f"graphs must have one label each, got for example {kept[0]!r}", where=source)
    y = y.astype(str) if y.dtype == object else y
    number = y.dtype.kind in "fiub"
    whole = number and bool(np.all(y == np.round(y)))
    if task == "numbers" and not number:
        raise GraphError(
            f"labels must be numbers, got for example {kept[0]!r}; --task classes takes them", where=source
        )
    classes = task == "classes" or (task == "auto" and (whole or not number))
    distinct = len(np.unique(y))
    if classes and number and task == "auto" and distinct > MOST_CLASSES_OF_NUMBERS:
        classes = len(y) >= FEWEST_OF_A_CLASS * distinct
        if not classes:
            note(
                f"grnf: {name!r} has {distinct:,} different whole numbers, which are taken as numbers to "
                "predict; --task classes takes them as classes",
                quiet,
            )
    if len(rows) < len(labels):
        note(
            f"grnf: {len(labels) - len(rows):,} of {len(labels):,} graphs have no label"
            f"{'' if name == 'y' else f' in {name!r}'} and are left out",
            quiet,
        )
    if classes:
        return Target(name, rows, y.astype(np.int64) if whole else y, True)
    return Target(name, rows, y.astype(np.float64), False)


def check_folds(target: Target, folds: int, quiet: bool) -> None:
    """Refuse a target that cannot be cross-validated; note which classes are rare."""
    import numpy as np

    n = len(target.y)
    if n < (folds if target.classes else 2 * folds):
        raise typer.BadParameter(f"{n} graphs are too few for {folds} folds", param_hint="--folds")
    if not target.classes:
        return
    values, counts = np.unique(target.y, return_counts=True)
    if len(values) < 2:
        raise GraphError(f"all graphs have the label {values.tolist()[0]!r}; at least two classes are needed")
    if target.has_many_classes:
        note(
            f"grnf: with {len(values):,} classes, the default is nearest neighbors; see --estimator",
            quiet,
        )
    rare = sorted(np.flatnonzero(counts < folds).tolist(), key=lambda row: int(counts[row]))
    if rare:
        named = [f"{values.tolist()[row]!r} ({counts[row]})" for row in rare[:MOST_NAMED]]
        named += [f"and {len(rare) - MOST_NAMED:,} more"] if len(rare) > MOST_NAMED else []
        alone = int((counts == 1).sum())
        note(
            f"grnf: classes with fewer graphs than {folds} folds, missing from some: {', '.join(named)}"
            + (f"; {alone:,} with one graph cannot be predicted" if alone else ""),
            quiet,
        )
