"""Which columns of a table of SMILES a command reads, and what the others hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import typer

from grnf.cli.options import checked
from grnf.cli.source import Source
from grnf.cli.tell import note
from grnf.errors import GraphError

if TYPE_CHECKING:
    from grnf.io.files.streams import Source as File
    from grnf.io.files.survey import Column

__all__ = [
    "about_columns",
    "described",
    "file_of",
    "is_smiles_table",
    "smiles_column_of",
    "survey_of",
    "with_columns",
]


def with_columns(
    source: Source,
    smiles_column: str | None,
    id_column: str | None,
    quiet: bool,
    keep: Sequence[str] | None = None,
) -> Source:
    """Return a source that reads these columns of a table of SMILES; a column found by content is said."""
    if not is_smiles_table(source, smiles_column is not None):
        named = {"--smiles-column": smiles_column, "--id-column": id_column, "--keep": keep or None}
        for option, given in named.items():
            if given is not None:
                raise typer.BadParameter(f"{source.name} is no table of SMILES", param_hint=option)
        return source
    options = {**source.options}
    if id_column is not None:
        options["graph_id"] = id_column
    if keep:
        options["keep"] = _kept(source, keep)
    if smiles_column is not None:
        format = source.format if source.format == "sdf" else "smiles"
        return replace(source, format=format, options={**options, "column": smiles_column})
    if source.path.is_file():
        column, sure = smiles_column_of(source)
        if column is not None and not sure:
            note(
                f"grnf: the SMILES are taken from column {column!r}, by what it holds; "
                "--smiles-column names another",
                quiet,
            )
            options["column"] = column
    return replace(source, options=options)


def _kept(source: Source, keep: Sequence[str]) -> list[str]:
    """Return the names of columns to keep, once each, if vectors can have them and the table has."""
    from grnf.io.files.tables import find_column, table_columns
    from grnf.io.vectors.blocks import check_column_name

    names = list(dict.fromkeys(keep))
    for name in names:
        if name == "smiles":
            raise typer.BadParameter("smiles is written in any case", param_hint="--keep")
        checked(check_column_name, name, "--keep")
    if source.path.is_file():
        file = file_of(source)
        there = table_columns(file)
        file.name = source.name
        for name in names:
            find_column(there, name, (), "kept values", file)
    return names


def file_of(source: Source) -> File:
    """Return the file of a source, with what was said about its format."""
    from grnf.io.files.streams import Source as File

    file = File(source.path) if source.file is None else source.file
    file.format = source.format
    return file


def is_smiles_table(source: Source, told: bool = False) -> bool:
    """Whether this is read as a table of SMILES; `told` that there is such a column, names do not matter."""
    from grnf.io.files.formats import MOLECULES, TABLES
    from grnf.io.files.registry import format_of

    if source.format is not None and source.format not in TABLES:
        return source.format in MOLECULES
    try:
        found = format_of(file_of(source), source.format).name
        return found in ((*MOLECULES, "edge-table") if told else MOLECULES)
    except GraphError:
        return told and source.path.exists()  # what is wrong with it, if anything, the reader says


def smiles_column_of(source: Source) -> tuple[str | None, bool]:
    """Return the column of SMILES that a reader will take, and whether its name tells."""
    from grnf.io.files.survey import first_rows, named_smiles, smiles_by_content

    if "column" in source.options:
        return source.options["column"], True
    file = file_of(source)
    try:
        names, rows = first_rows(file)
    except GraphError:  # what is wrong with the file the reader says, and perhaps only from some row on
        return None, False
    named = named_smiles(names, None, file)
    file.name = source.name
    return (smiles_by_content(names, rows, file), False) if named is None else (named, True)


def survey_of(source: Source) -> dict[str, Column]:
    """Return what each column of a table holds; empty for anything else than one table of SMILES."""
    from grnf.io.files.survey import survey

    return survey(file_of(source)) if source.path.is_file() and is_smiles_table(source) else {}


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
