"""Options of commands that read tables: which columns count, and how the text is to be read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from grnf.cli.options import IdColumn, Keep, SmilesColumn, checked, require
from grnf.cli.source import Source
from grnf.cli.tell import note
from grnf.errors import GraphError

if TYPE_CHECKING:
    from grnf.io.files.survey import Column

__all__ = [
    "Columns",
    "TableOptions",
    "about_columns",
    "described",
    "is_smiles_table",
    "smiles_column_of",
    "survey_of",
]

Target = Annotated[
    list[str] | None,
    typer.Option("--target", metavar="NAME", help="Column of the target in a SMILES table; may be repeated."),
]
Encoding = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Encoding of a text file, such as latin-1.", show_default="utf-8"),
]
NoHeader = Annotated[
    bool,
    typer.Option("--no-header", help="The first row of the table is data; columns are called 1, 2, 3, ..."),
]
DecimalMark = Annotated[
    str, typer.Option("--decimal", metavar="MARK", help="Decimal mark of numbers in a text table: . or ,")
]


@dataclass(frozen=True)
class Columns:
    """How a table is read."""

    panel: ClassVar[str] = "Input"

    smiles_column: SmilesColumn = None
    id_column: IdColumn = None
    encoding: Encoding = None
    no_header: NoHeader = False
    decimal: DecimalMark = "."

    def applied(self, source: Source, quiet: bool) -> Source:
        """Return a source that is read so; a SMILES column found by content is printed."""
        keep: Sequence[str] | None = getattr(self, "keep", None)
        require(self.decimal in (".", ","), f"--decimal must be . or , got {self.decimal!r}")
        about: dict[str, Any] = {} if self.encoding is None else {"encoding": self.encoding}
        about |= {"header": False} if self.no_header else {}
        about |= {"decimal": self.decimal} if self.decimal == "," else {}
        source = replace(source, options={**source.options, **about})
        if not is_smiles_table(source, self.smiles_column is not None):
            named = {
                "--smiles-column": self.smiles_column,
                "--id-column": self.id_column,
                "--keep": keep or None,
            }
            for option, given in named.items():
                require(given is None, f"{option} needs a SMILES table, got {source.name}")
            return source
        options = {**source.options}
        options |= {} if self.id_column is None else {"graph_id": self.id_column}
        options |= {"keep": _kept(source, keep)} if keep else {}
        if self.smiles_column is not None:
            format = source.format if source.format == "sdf" else "smiles"
            return replace(source, format=format, options={**options, "column": self.smiles_column})
        column, sure = smiles_column_of(source) if source.path.is_file() else (None, True)
        if column is not None and not sure:
            note(f"grnf: SMILES column {column!r}, found by its content; or use --smiles-column", quiet)
            options["column"] = column
        return replace(source, options=options)


@dataclass(frozen=True)
class TableOptions(Columns):
    """How a table is read, and what else it holds."""

    target: Target = None
    keep: Keep = None

    def applied(self, source: Source, quiet: bool) -> Source:
        """Return a source that is read so, with the target as the label of its graphs."""
        source = super().applied(source, quiet)
        if not self.target:
            return source
        if not is_smiles_table(source, self.smiles_column is not None):
            raise typer.BadParameter(f"--target needs a SMILES table, got {source.name}")
        y = self.target[0] if len(self.target) == 1 else self.target
        return replace(source, options={**source.options, "y": y})


def _kept(source: Source, keep: Sequence[str]) -> list[str]:
    """Return the names of columns to keep, once each, if vectors can have them and the table has."""
    from grnf.io.files.tables import find_column, table_of
    from grnf.io.vectors.blocks import check_column_name

    names = list(dict.fromkeys(keep))
    for name in names:
        if name == "smiles":
            raise typer.BadParameter("smiles is written in any case", param_hint="--keep")
        checked(check_column_name, name, "--keep")
        if source.path.is_file():
            find_column(table_of(source.file).columns, name, (), "kept values", source.file)
    return names


def is_smiles_table(source: Source, told: bool = False) -> bool:
    """Whether this is read as a SMILES table; `told` that there is such a column, names do not matter."""
    from grnf.io.files.formats import MOLECULES, TABLES
    from grnf.io.files.reading import format_of

    if source.format is not None and source.format not in TABLES:
        return source.format in MOLECULES
    try:
        found = format_of(source.file).name
        return found in ((*MOLECULES, "edge-table") if told else MOLECULES)
    except GraphError:
        return told and source.path.exists()  # the reader says what is wrong with it


def smiles_column_of(source: Source) -> tuple[str | None, bool]:
    """Return the column of SMILES that a reader will take, and whether its name tells."""
    from grnf.io.files.tables import named_smiles, table_of

    if "column" in source.options:
        return source.options["column"], True
    try:
        table = table_of(source.file)
    except GraphError:  # the reader says what is wrong, and perhaps only from some row on
        return None, False
    named = named_smiles(table.columns, None, source.file)
    return (table.smiles_column(), False) if named is None else (named, True)


def survey_of(source: Source) -> dict[str, Column]:
    """Return what each column of a table holds; empty for anything else than one SMILES table."""
    from grnf.io.files.survey import survey
    from grnf.io.files.tables import table_of

    return survey(table_of(source.file)) if source.path.is_file() and is_smiles_table(source) else {}


def about_columns(source: Source, columns: Mapping[str, Column] | None = None) -> dict[str, dict[str, Any]]:
    """Return for each column what it holds, and what it may be."""
    from grnf.io.files.survey import target_columns

    columns = survey_of(source) if columns is None else columns
    if not columns:
        return {}
    smiles = smiles_column_of(source)[0]
    _, targets = target_columns(columns.values(), [smiles] if smiles else [])
    report = {}
    for name, column in columns.items():
        role = "SMILES" if name == smiles else "id" if column.is_id else "target" if name in targets else None
        report[name] = {"may_be": role, **column.describe()}
    return report


def described(report: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Yield the columns as lines for people."""
    width = max(map(len, report), default=0)
    for name, column in report.items():
        distinct, missing = column["distinct"], column["missing"]
        parts = [column["kind"]]
        if "classes" in column:
            parts.append(", ".join(f"{value} ({count:,})" for value, count in column["classes"].items()))
        else:
            parts.append(f"{distinct:,} different" if isinstance(distinct, int) else f"{distinct} different")
            parts.append(f"as {_short(column['example'])}")
        parts += [f"{missing:,} missing"] if missing else []
        role = f"{column['may_be'] or '':<6}"
        yield f"{name:<{width}}  {role}  {'; '.join(parts)}"


def _short(value: Any) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= 40 else text[:37] + "..."
