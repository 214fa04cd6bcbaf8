"""Summaries of the columns of a table, and which of them can be ids or targets."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from grnf.errors import GraphError
from grnf.io.files.tables import HEAD, Table, are_molecules, cell, named_smiles, suggestion
from grnf.io.raw import ABSENT
from grnf.io.tally import MISSING_WORDS, Values

TARGET_NAMES = (
    *("y", "label", "labels", "target", "targets", "class", "classes", "activity", "active"),
    *("p_np", "exp", "expt", "outcome", "response"),
)
"""Usual names of targets, the surest first; names that begin with "measured" count too."""
MOST_TEXT_CLASSES = 100
"""Distinct texts up to which a column is taken for classes instead of names."""

ID_NAME = re.compile(
    r"(^|[\s_.-])(id|ids|cid|sid|idx|index|num|no|nr|cas|key|inchikey)\Z|[a-z0-9]ID\Z|chemblid\Z"
)


@dataclass
class Column(Values):
    """Summary of a column."""

    name: str = ""

    def add(self, value: Any, times: int = 1) -> None:
        """Count one cell."""
        super().add(cell(value), times)

    @property
    def kind(self) -> str:
        """The kind of its values: nothing, truth values, whole numbers, numbers, text or lists."""
        kinds = self.kinds - {MISSING_WORDS}
        if kinds <= {"whole numbers", "numbers"} and kinds:
            return "numbers" if "numbers" in kinds else "whole numbers"
        if kinds != self.kinds or "text" in kinds:  # words such as None are words among words
            return "text"
        return " and ".join(sorted(kinds)) or "nothing"

    @property
    def is_number(self) -> bool:
        """Whether all its values are numbers."""
        return self.kind in ("numbers", "whole numbers")

    @property
    def absent(self) -> int:
        """Number of rows without a value. Among numbers, words such as NA are none."""
        words = (count for key, count in self.counts.items() if isinstance(key, str))
        return self.missing + (sum(words) if self.is_number else 0)

    @property
    def filled(self) -> int:
        """Number of rows with a value."""
        return self.total + self.missing - self.absent

    @property
    def distinct(self) -> int:
        """Number of distinct values, up to a bound."""
        return sum(not (self.is_number and isinstance(key, str)) for key in self.counts)

    @property
    def is_id(self) -> bool:
        """Whether its values name rows: distinct texts, or consecutive whole numbers."""
        unique = self.filled > 1 and self.counts.total() == len(self.counts)
        named = bool(ID_NAME.search(self.name))
        if self.kind == "text":
            return unique or (named and not self.is_class_like)
        if self.kind != "whole numbers":
            return False
        consecutive = unique and self.numbers.high - self.numbers.low < 2 * self.filled and self.filled > 2
        return consecutive or (named and self.distinct > self.filled / 2)

    @property
    def is_class_like(self) -> bool:
        """Whether few distinct values cover many rows."""
        return self.distinct <= min(MOST_TEXT_CLASSES, self.filled / 2)

    @property
    def is_target(self) -> bool:
        """Whether its values can be predicted."""
        return self.distinct > 1 and not self.is_id and (self.is_number or self.is_class_like)

    def describe(self) -> dict[str, Any]:
        """Return the summary for a report."""
        summary: dict[str, Any] = {
            "kind": self.kind,
            "distinct": self.n_different if self.others else self.distinct,
            "missing": self.absent,
            "example": next(iter(self.counts), None),
        }
        if 1 < self.distinct <= 10 and self.is_class_like:
            summary["classes"] = self.classes()
        return summary


def survey(table: Table) -> dict[str, Column]:
    """Return a summary of each column. Rows that cannot be read are left out."""
    columns = {name: Column(name=name) for name in table.columns}
    for rows in table.blocks():
        for name, values in rows.columns.items():
            for row, value in enumerate(values):
                if row not in rows.problems:
                    columns[name].add(value)
    return columns


def _targets(columns: Iterable[Column], smiles: str | None) -> tuple[list[str], list[str]]:
    """Return columns that can be targets, other than that of SMILES: those with usual names, and all."""
    free = [
        column
        for column in columns
        if column.name != smiles and not are_molecules(islice(column.counts, HEAD))
    ]
    usual = [
        column
        for name in TARGET_NAMES
        for column in free
        if column.name.strip().lower() == name and (column.is_target or column.is_number)
    ]
    usual += [column for column in free if column.name.strip().lower().startswith("measured")]
    usual = [column for column in usual if column.distinct > 1]
    return [column.name for column in usual], [each.name for each in free if each.is_target or each in usual]


def missing_or_value(value: Any, among_numbers: bool) -> Any:
    """Return the value of a cell, None if it is missing. `among_numbers` words such as NA are missing."""
    if value is None or value != value:
        return None
    return None if among_numbers and isinstance(value, str) and value.lower() in ABSENT else value


def named_columns(table: Table | None, given: Iterable[str], smiles: str | None = None) -> list[str]:
    """Return the columns that texts name, one or several with commas each, other than the SMILES column.

    Without a table, names are not checked.
    """
    names: list[str] = []
    for text in given:
        whole = table is not None and text in table.columns
        names += [text] if whole else [name.strip() for name in text.split(",")]
    for name in names:
        if table is not None and name not in table.columns:
            problem = f"no column {name!r}{suggestion(name, table.columns)} {_available(table, smiles)}"
            raise GraphError(problem, where=str(table.file))
        if name == smiles:
            raise GraphError(f"{name!r} is the SMILES column, not a target")
    return list(dict.fromkeys(names))


def choose_target(table: Table, smiles: str | None) -> tuple[str, bool]:
    """Return the column that is the target by its name or its values, and whether others could be."""
    usual, possible = _targets(survey(table).values(), smiles)
    if usual or len(possible) == 1:
        return (usual or possible)[0], len(possible) > 1
    several = f"{len(possible)} columns can be the target" if possible else "no column looks like a target"
    problem = f"{several}. Name one or several with --target. {_available(table, smiles)}"
    raise GraphError(problem, where=str(table.file))


def describe_columns(table: Table, smiles: str | None = None) -> dict[str, dict[str, Any]]:
    """Return for each column what it holds, and what it may be: SMILES, id or target."""
    columns = survey(table)
    smiles = smiles or named_smiles(table.columns, None, table.file) or table.smiles_column()
    _, targets = _targets(columns.values(), smiles)
    report = {}
    for name, column in columns.items():
        role = "SMILES" if name == smiles else "id" if column.is_id else "target" if name in targets else None
        report[name] = {"may_be": role, **column.describe()}
    return report


def column_lines(report: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Yield the result of `describe_columns` as lines of text."""
    width = max(map(len, report), default=0)
    for name, column in report.items():
        distinct, missing = column["distinct"], column["missing"]
        parts = [column["kind"]]
        if "classes" in column:
            parts.append(", ".join(f"{value} ({count:,})" for value, count in column["classes"].items()))
        else:
            parts.append(f"{distinct:,} different" if isinstance(distinct, int) else f"{distinct} different")
            example = " ".join(str(column["example"]).split())
            parts.append(f"for example {example if len(example) <= 40 else example[:37] + '...'}")
        parts += [f"{missing:,} missing"] if missing else []
        yield f"{name:<{width}}  {column['may_be'] or '':<6}  {'; '.join(parts)}"


def _available(table: Table, smiles: str | None) -> str:
    return "\n  ".join(["Available:", *column_lines(describe_columns(table, smiles))])
