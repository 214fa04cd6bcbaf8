"""What `grnf classify` is to predict: which columns, which graphs have a value, classes or numbers."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import typer

from grnf.cli.columns import about_columns, described, is_smiles_table, smiles_column_of, survey_of
from grnf.cli.source import Source
from grnf.cli.tell import note
from grnf.errors import GraphError

if TYPE_CHECKING:
    from grnf.io.files.survey import Column

__all__ = ["Target", "Task", "check_folds", "chosen_columns", "made_target"]

MOST_CLASSES_OF_NUMBERS = 20
FEWEST_OF_A_CLASS = 5
"""Whole numbers are numbers, not classes, if more than so many differ and each stands for fewer graphs."""

MANY_CLASSES = 100
"""Classes beyond which neighbours decide by default, not a machine that compares classes two by two."""

MOST_NAMED = 8
"""Classes that a note names."""

NEGATIVE = frozenset(
    {"no", "n", "false", "f", "negative", "neg", "none", "control", "off", "absent", "normal"}
)
"""Words for the class that is not looked for."""


class Task(StrEnum):
    """What the labels are."""

    AUTO = "auto"
    CLASSES = "classes"
    NUMBERS = "numbers"


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
    def positive(self) -> Any:
        """Of two classes the one that is looked for: the larger, unless its name says that it is not."""
        import numpy as np

        low, high = np.unique(self.y).tolist()
        one, other = str(low).lower(), str(high).lower()
        opposite = other != one and other.endswith(one)  # as active and inactive
        return low if opposite or (other in NEGATIVE and one not in NEGATIVE) else high

    @property
    def has_many_classes(self) -> bool:
        """Whether there are more classes than a support vector machine takes."""
        import numpy as np

        return self.classes and len(np.unique(self.y)) > MANY_CLASSES

    def about(self, n_graphs: int) -> dict[str, Any]:
        """Return what a report says of it."""
        import numpy as np

        found: dict[str, Any] = {
            "task": "classes" if self.classes else "numbers",
            "graphs": len(self.rows),
            "without_value": n_graphs - len(self.rows),
        }
        if self.classes:
            values, counts = np.unique(self.y, return_counts=True)
            pairs = zip(values.tolist(), counts.tolist(), strict=True)
            found["classes"] = {str(value): count for value, count in pairs}
            found["positive_class"] = str(self.positive) if len(values) == 2 else None
        return found


def chosen_columns(source: Source, given: Sequence[str], quiet: bool) -> list[str] | None:
    """Return the columns to predict; None if graphs carry their labels themselves."""
    from grnf.io.files.survey import target_columns

    if not is_smiles_table(source):
        if given:
            raise typer.BadParameter(
                f"{source.name} is no table of SMILES: its graphs have their labels themselves",
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
                f"{source.name}: {smiles!r} is the column of SMILES; --target names what to predict"
            )
        return found
    usual, found = target_columns(columns.values(), [smiles] if smiles else [])
    if not usual and len(found) != 1:
        several = (
            f"{len(found)} of its columns may be the target" if found else "no column looks like a target"
        )
        raise GraphError(
            f"{source.name}: {several}; name it, or several, by --target. {_listing(source, columns)}"
        )
    name = (usual or found)[0]
    others = ", as one of several that may be" if len(found) > 1 else ""
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
            meant = f"; is {near[0]!r} meant?" if near else "."
            raise GraphError(f"{source.name} has no column {name!r}{meant} {_listing(source, columns)}")
    return names


def _listing(source: Source, columns: Mapping[str, Column]) -> str:
    return "\n  ".join(["It has:", *described(about_columns(source, columns))])


def made_target(name: str, labels: Sequence[Any], task: Task, source: str, quiet: bool) -> Target:
    """Return what is to be predicted, from one label per graph, None where there is none."""
    import numpy as np

    from grnf.io.files.survey import missing_or_value

    among_numbers = not any(isinstance(missing_or_value(label, True), str) for label in labels)
    values = [missing_or_value(label, among_numbers) for label in labels]
    rows = np.array([row for row, value in enumerate(values) if value is not None], dtype=np.int64)
    kept = [values[row] for row in rows]
    if not kept:
        raise GraphError(f"{source}: no graph has a label, or value of {name!r}")
    try:
        y = np.array(kept)
    except ValueError:
        y = np.empty(0)
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.ndim != 1 or len(y) != len(kept):
        raise GraphError(f"{source}: one label per graph is wanted; graphs have several, as {kept[0]!r}")
    if y.dtype == object:
        y = y.astype(str)
    number = y.dtype.kind in "fiub"
    whole = number and bool(np.all(y == np.round(y)))
    if task is Task.NUMBERS and not number:
        raise GraphError(f"{source}: the labels are no numbers, as {kept[0]!r}; --task classes takes them")
    classes = task is Task.CLASSES or (task is Task.AUTO and (whole or not number))
    if classes and number and task is Task.AUTO:
        distinct = len(np.unique(y))
        if distinct > MOST_CLASSES_OF_NUMBERS and len(y) < FEWEST_OF_A_CLASS * distinct:
            note(
                f"grnf: {name!r} has {distinct:,} different whole numbers, which are taken as numbers to "
                "predict; --task classes takes them as classes",
                quiet,
            )
            classes = False
    if classes and whole:
        y = y.astype(np.int64)
    if len(rows) < len(labels):
        note(
            f"grnf: {len(labels) - len(rows):,} of {len(labels):,} graphs have no label"
            f"{'' if name == 'y' else f' in {name!r}'} and are left out",
            quiet,
        )
    return Target(name, rows, y if classes else y.astype(np.float64), classes)


def check_folds(target: Target, folds: int, quiet: bool) -> None:
    """Refuse what cannot be cross-validated; say which classes are too rare to be in every fold."""
    import numpy as np

    y = target.y
    if len(y) < (folds if target.classes else 2 * folds):
        raise typer.BadParameter(f"{len(y)} graphs are too few for {folds} folds", param_hint="--folds")
    if not target.classes:
        return
    values, counts = np.unique(y, return_counts=True)
    if len(values) < 2:
        raise GraphError(f"all graphs have the label {values.tolist()[0]!r}; at least two classes are wanted")
    if target.has_many_classes:
        note(
            f"grnf: {len(values):,} classes are many; by default the nearest neighbours decide between them, "
            "see --estimator",
            quiet,
        )
    (rare,) = np.nonzero(counts < folds)
    if not len(rare):
        return
    rare = rare[np.argsort(counts[rare], kind="stable")]
    named = [f"{values.tolist()[row]!r} ({counts[row]})" for row in rare[:MOST_NAMED]]
    named += [f"and {len(rare) - MOST_NAMED:,} more"] if len(rare) > MOST_NAMED else []
    alone = int((counts == 1).sum())
    note(
        f"grnf: classes with fewer graphs than {folds} folds, spread as well as possible: {', '.join(named)}"
        + (f"; {alone:,} with one graph cannot be predicted, being absent from training" if alone else ""),
        quiet,
    )
