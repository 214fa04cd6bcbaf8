"""Tables of rows, text, Excel, Parquet and SD files alike: looked at once, and then read."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from importlib.util import find_spec
from itertools import islice
from typing import Any, NamedTuple

from grnf.errors import GraphError
from grnf.io.files.excel import OLD, PACKED
from grnf.io.files.file import File, decoded
from grnf.io.files.limits import LONGEST_LINE
from grnf.io.files.parquet import batches, open_parquet
from grnf.io.files.sdf import SDF_SUFFIXES, sdf_columns, sdf_rows
from grnf.io.files.values import number

__all__ = [
    "SMILES_NAMES",
    "Row",
    "Table",
    "are_molecules",
    "cell",
    "find_column",
    "is_parquet",
    "named_smiles",
    "table_of",
]

SMILES_NAMES = ("smiles", "canonical_smiles", "isomeric_smiles", "smile")
ID_NAMES = ("graph_id", "id", "cid", "mol_id", "molecule_id", "compound_id", "compound_cid", "chembl_id")
ENDS = ("source", "target", "src", "dst", "from", "to")
"""Names of columns that show, as those of SMILES do, that the first row has names."""

HEAD = 300
"""Rows by whose content a column of SMILES is found."""
NEARLY_ALL = 0.9
"""Share of them that must be molecules: real tables have some that RDKit refuses."""
TELLING = 0.25
"""Share of them that must be more than a short word: C, CO and CN are also classes, states and countries."""
LONGEST_LOOKED_AT = 2000
"""Characters of a text beyond which it is not tried as a molecule."""
LETTERS = re.compile(r"[A-Za-z]{1,4}\Z")
DECIMAL_COMMA = re.compile(r"\s*[-+]?\d*,\d+([eE][-+]?\d+)?\s*\Z")


class Row(NamedTuple):
    """One row: where it stands, its values by column name, and what is wrong with it, if anything."""

    where: str
    values: dict[str, Any]
    problem: str = ""


class Table:
    r"""A table of which kind, columns and first rows are known; `rows` reads it.

    Parameters
    ----------
    file : File
        One that can be opened more than once.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp()) / "two.csv"
    >>> _ = path.write_text("CID;SMILES\n7;CCO\n9;c1ccccc1\n")
    >>> table = Table(File(path))
    >>> table.columns, table.smiles_column(), table.id_column(), len(table.head)
    (['CID', 'SMILES'], 'SMILES', 'CID', 2)
    """

    def __init__(self, file: File) -> None:
        self.file = file
        is_sdf = file.format == "sdf" or file.path.name.lower().removesuffix(".gz").endswith(SDF_SUFFIXES)
        self.kind = "parquet" if is_parquet(file) else "sdf" if is_sdf else "text"
        self.n_rows: int | None = None
        """How many rows there are, if that is known without reading them."""
        self.has_header = True
        self.head: list[Row] = []
        """The first rows that can be read."""
        if self.kind == "parquet":
            with file.open_seekable() as stream:
                opened = open_parquet(stream, str(file))
                self.columns = list(opened.schema_arrow.names)
                self.n_rows = opened.metadata.num_rows
        elif self.kind == "sdf":
            self.columns = sdf_columns(file)
        else:
            self._sniff_text()

    def _sniff_text(self) -> None:
        if not self.file.is_excel and self.file.begins_with(PACKED, OLD):
            raise GraphError("not a text; an Excel workbook ends in .xlsx", where=str(self.file))
        rows = list(islice(self._fields(), HEAD + 1))
        line, first, problem = rows[0] if rows else (1, [], "")
        if problem and self.file.header is not False:
            raise GraphError(problem, where=f"{self.file}, line {line}")
        self.has_header = self.file.header if self.file.header is not None else _is_header(rows)
        self.columns = [str(place + 1) for place in range(len(first))]
        if self.has_header:
            self.columns = [field.strip() for field in first]
        made = (self._row(*row, range(len(self.columns))) for row in rows[self.has_header :])
        self.head = [row for row in made if row is not None and not row.problem]

    def smiles_column(self, given: str | None = None) -> str:
        """Return the column of SMILES: the given one, or found by its name or by what it holds."""
        found = named_smiles(self.columns, given, self.file)
        if found is not None:
            return found
        several = self.molecule_columns()
        if len(several) == 1:
            return several[0]
        problem = f"the columns {several} all hold SMILES"
        if not several:
            problem = f"no column of SMILES among {self.columns[:20]}, by its name or by what it holds"
        raise GraphError(problem, where=str(self.file), cure="Name one by column= (--smiles-column)")

    def molecule_columns(self) -> list[str]:
        """Return the columns whose first values are nearly all molecules."""
        if not self.head:
            self.head = [row for row in islice(self.rows(), HEAD) if not row.problem]
        values = {name: [cell(row.values.get(name)) for row in self.head] for name in self.columns}
        return [name for name, own in values.items() if are_molecules(own)]

    def id_column(self, given: str | None = None) -> str | None:
        """Return the column of the names of graphs: the given one, or one that is called as usual."""
        if given is not None:
            return find_column(self.columns, given, (), "ids", self.file)
        lower = {name.strip().lower(): name for name in reversed(self.columns)}
        return next((lower[usual] for usual in ID_NAMES if usual in lower), None)

    def check_names(self) -> None:
        """Refuse columns of the same name."""
        if len(set(self.columns)) < len(self.columns):
            problem = f"two columns have the same name; the header is {self.columns[:20]}"
            raise GraphError(problem, where=f"{self.file}, line 1")

    def rows(self, columns: Collection[str] | None = None) -> Iterator[Row]:
        """Yield rows one after another, with these columns, or all."""
        kept = [name for name in self.columns if columns is None or name in columns]
        if self.kind == "parquet":
            yield from self._parquet_rows(kept)
            return
        if self.kind == "sdf":
            yield from (Row(*row) for row in sdf_rows(self.file, kept))
            return
        self.check_names()
        places = [self.columns.index(name) for name in kept]
        for row in islice(self._fields(), int(self.has_header), None):
            if (made := self._row(*row, places)) is not None:
                yield made

    def _row(self, line: int, fields: list[Any], problem: str, places: Iterable[int]) -> Row | None:
        if not fields and not problem:
            return None
        if len(fields) != len(self.columns):
            problem = problem or f"{len(fields)} fields for the {len(self.columns)} columns of the header"
            fields = [*fields, *[None] * (len(self.columns) - len(fields))]
        return Row(
            f"{self.file}, line {line}", {self.columns[place]: fields[place] for place in places}, problem
        )

    def _fields(self) -> Iterator[tuple[int, list[Any], str]]:
        """Yield line, fields and problem of each row; the first tells tab, semicolon and comma apart."""
        current, problem = 0, ""
        delimiter = ""

        def lines() -> Iterator[str]:
            nonlocal current, problem, delimiter
            for place, line in self.file.lines_or_errors(LONGEST_LINE):
                current, text = place, ""
                try:
                    if isinstance(line, GraphError):
                        raise line
                    text = decoded(line)
                except GraphError as error:
                    problem = str(error)
                    text = "" if isinstance(line, GraphError) else line.decode("utf-8", "replace")
                delimiter = delimiter or max("\t;,", key=text.count)
                yield text + "\n"

        texts = lines()
        first = next(texts, None)
        if first is None:
            return

        def all_lines() -> Iterator[str]:
            yield first
            yield from texts

        reader = csv.reader(all_lines(), delimiter=delimiter, strict=True)
        while True:
            try:
                fields = next(reader, None)
            except csv.Error as error:  # the reader continues with the next line
                fields, problem = [], str(error)
            if fields is None:
                return
            if self.file.decimal == ",":
                fields = [
                    field.replace(",", ".") if DECIMAL_COMMA.match(field) else field for field in fields
                ]
            yield current, fields, problem
            problem = ""

    def _parquet_rows(self, kept: list[str]) -> Iterator[Row]:
        with self.file.open_seekable() as stream:
            count = 0 if self.file.rows is None else self.file.rows[0]
            for batch in batches(open_parquet(stream, str(self.file)), kept, self.file):
                try:
                    rows = batch.to_pylist()
                except (ValueError, NotImplementedError, OverflowError) as error:
                    raise GraphError(str(error), where=f"{self.file}, rows from {count}") from None
                for values in rows:
                    yield Row(f"{self.file}, row {count}", values)
                    count += 1


def table_of(file: File) -> Table:
    """Return the table that a file is; it is looked at once."""
    if file.sniffed is None:
        file.sniffed = Table(file)
    return file.sniffed  # type: ignore[no-any-return]


def is_parquet(file: File) -> bool:
    """Tell Parquet from text by its suffix or its first letters."""
    return file.path.suffix.lower() in (".parquet", ".pq") or file.begins_with(b"PAR1")


def _is_header(rows: Sequence[tuple[int, list[Any], str]]) -> bool:
    """Whether the first row has names: not if it holds a molecule where the rows below do."""
    first = [field.strip() for field in rows[0][1]] if rows else []
    names = [name.lower() for name in first]
    if set(names) & {*ENDS, *ID_NAMES} or any("smiles" in name for name in names):
        return True
    below = [fields for _, fields, problem in rows[1:] if len(fields) == len(first) and not problem]
    for place, name in enumerate(first):
        values = [cell(fields[place]) for fields in below]
        if _is_molecule(name) and (are_molecules(values) or are_molecules([name, *values])):
            return False
    return True


def find_column(
    names: Collection[str], given: str | None, usual: Sequence[str], role: str, file: File | str
) -> str:
    """Return the column that was asked for, or the first whose name is usual for this role.

    Examples
    --------
    >>> find_column(["ID", "Smiles"], None, ["smiles"], "SMILES", "file.csv")
    'Smiles'
    """
    if given is not None:
        if given not in names:
            raise GraphError(f"there is no column {given!r}; there are {list(names)[:20]}", where=str(file))
        return given
    for wanted in usual:
        for name in names:
            if name.strip().lower() == wanted:
                return name
    raise GraphError(
        f"no column of {role} among {list(names)[:20]}",
        where=str(file),
        cure=f"Call it {usual[0]!r}, or name it by an option",
    )


def named_smiles(names: Sequence[str], given: str | None, file: File | str) -> str | None:
    """Return the column of SMILES by its name: as given, or as usual; None if names do not tell."""
    if given is not None:
        return find_column(names, given, (), "SMILES", file)
    lower = {name: name.strip().lower() for name in names}
    for usual in SMILES_NAMES:
        for name in names:
            if lower[name] == usual:
                return name
    alike = [name for name in names if "smiles" in lower[name]]
    return alike[0] if len(alike) == 1 else None


def cell(value: Any) -> Any:
    """Return the value of a cell: text that is a number as that number, empty text as None.

    Dates, decimals and the like count as the text that they print as.

    Examples
    --------
    >>> cell(" 1.5"), cell(""), cell(True), cell("C")
    (1.5, None, True, 'C')
    """
    if value is None or isinstance(value, (bool, int, float, list, dict)):
        return value
    return number(str(value).strip())


def are_molecules(values: Iterable[Any]) -> bool:
    """Whether nearly all values are valid SMILES, and some of them more than a short word.

    Examples
    --------
    >>> are_molecules(["CC(=O)O", "c1ccccc1"]), are_molecules(["CO", "CN"]), are_molecules(["1", "2"])
    (True, False, False)
    """
    filled = [value for value in values if value is not None and value == value]
    texts = {value.strip() for value in filled if isinstance(value, str)}
    if not texts or sum(isinstance(value, str) for value in filled) < NEARLY_ALL * len(filled):
        return False
    good = telling = 0
    allowed = len(texts) - math.ceil(NEARLY_ALL * len(texts))
    for done, text in enumerate(texts):
        if done - good > allowed:
            return False
        valid = _is_molecule(text)
        good += valid
        telling += valid and not LETTERS.match(text)
    return len(texts) - good <= allowed and telling >= TELLING * len(texts)


def _is_molecule(text: str) -> bool:
    """Whether RDKit reads a text; what follows a space it takes for a name, so that words would pass."""
    if find_spec("rdkit") is None or not text or text.split()[1:] or len(text) > LONGEST_LOOKED_AT:
        return False
    from rdkit import Chem, rdBase

    with rdBase.BlockLogs():
        try:
            return Chem.MolFromSmiles(text) is not None
        except (RuntimeError, ValueError):
            return False
