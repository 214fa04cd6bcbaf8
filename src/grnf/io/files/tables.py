"""Tables (text, Excel, Parquet, SD and .smi files): inspected once, then read as blocks of columns."""

from __future__ import annotations

import csv
import difflib
import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from itertools import chain, islice
from typing import Any, TypeVar

from grnf.errors import GraphError
from grnf.io.files.excel import OLD, PACKED
from grnf.io.files.file import File, decoded
from grnf.io.files.limits import LONGEST_LINE
from grnf.io.files.parquet import batches, open_parquet
from grnf.io.files.sdf import SDF_SUFFIXES, sdf_columns, sdf_records
from grnf.io.files.values import number as number_of

T = TypeVar("T")
SMILES_NAMES = ("smiles", "canonical_smiles", "isomeric_smiles", "smile", "smi")
SOURCE_NAMES = (
    *("source", "src", "from", "source_id", "u", "fromnodeid"),
    *("node1", "node_1", "id_1", "protein1", "gene1"),
)
TARGET_NAMES = (
    *("target", "dst", "to", "target_id", "v", "destination", "tonodeid"),
    *("node2", "node_2", "id_2", "protein2", "gene2"),
)
ID_NAMES = ("graph_id", "id", "cid", "mol_id", "molecule_id", "compound_id", "compound_cid", "chembl_id")
ENDS = ("source", "target", "src", "dst", "from", "to")
"""Names of columns that show, as those of SMILES do, that the first row has names."""

BLOCK = 1024
"""Rows that are read at a time."""
HEAD = 300
"""Rows by whose content a column of SMILES is found."""
NEARLY_ALL = 0.9
"""Share of them that must be molecules: real tables have some that RDKit refuses."""
TELLING = 0.25
"""Share of them that must be more than a short word: C, CO and CN are also classes, states and countries."""
LONGEST_TRIED = 2000
"""Characters of a text beyond which it is not tried as a molecule."""
SEPARATOR = re.compile(r"sep=[\t;,|]\Z", re.IGNORECASE)
COMMENT = re.compile(r"\s*[#%](\s|[#%]|[^\t;,|]*\Z)")
"""A line that can stand before the header. A row whose id begins with # is none."""
EXTENSION = re.compile(r"\A\|[^|]*\|")
"""Coordinates, labels and the like of CXSMILES, after the SMILES."""
LETTERS = re.compile(r"[A-Za-z]{1,4}\Z")
DECIMAL_COMMA = re.compile(r"\s*[-+]?\d*,\d+([eE][-+]?\d+)?\s*\Z")


@dataclass(frozen=True)
class Rows:
    """Some rows of a table, column by column."""

    title: str
    """The file, and what its places are: lines, rows or records."""
    places: Sequence[Any]
    columns: Mapping[str, Sequence[Any]]
    problems: dict[int, str]
    """What is wrong with rows that cannot be used. Their values are None as far as they could not be read."""

    def where(self, row: int) -> str:
        """Return the position of a row for messages."""
        return f"{self.title} {self.places[row]}"

    def __len__(self) -> int:
        return len(self.places)

    def refuse_problems(self) -> None:
        """Raise an error for the first row that cannot be used."""
        for row, why in sorted(self.problems.items()):
            raise GraphError(why, where=self.where(row))

    def part(self, start: int, stop: int) -> Rows:
        """Return the rows from `start` to before `stop`."""
        columns = {name: values[start:stop] for name, values in self.columns.items()}
        problems = {row - start: why for row, why in self.problems.items() if start <= row < stop}
        return Rows(self.title, self.places[start:stop], columns, problems)


class Table:
    """A table whose kind, columns and first rows are known. `blocks` reads it, and opens its file again."""

    def __init__(self, file: File) -> None:
        self.file = file
        is_sdf = file.format == "sdf" or file.path.name.lower().removesuffix(".gz").endswith(SDF_SUFFIXES)
        self.kind = "parquet" if is_parquet(file) else "sdf" if is_sdf else "text"
        self.kind = "smi" if file.format == "smi" else self.kind
        self.n_rows: int | None = None
        """The number of rows, if it is known without reading them."""
        self.has_header = True
        self.lines_before = 0
        """Lines before the header or first row: empty ones, comments, and the separator of Excel."""
        self.delimiter = ""
        """What separates the fields of a text."""
        self.unnamed: set[str] = set()
        """Columns that the header leaves without a name, as the index of pandas."""
        self.head: Rows | None = None
        """The first rows, if they were read to find the columns."""
        if self.kind == "parquet":
            with file.open(recode=False) as stream:
                parquet = open_parquet(stream, str(file))
                self.columns = list(parquet.schema_arrow.names)
                self.unnamed = {name for name in self.columns if name.startswith("__index_level_")}
                self.n_rows = parquet.metadata.num_rows
        elif self.kind == "sdf":
            self.columns = sdf_columns(file)
        elif self.kind == "smi":
            self.columns = ["smiles", "graph_id"]
        else:
            self._sniff_text()

    def _sniff_text(self) -> None:
        if not self.file.is_excel and self.file.begins_with(PACKED, OLD):
            raise GraphError(
                "not a text file. The name of an Excel workbook ends in .xlsx", where=str(self.file)
            )
        records = list(islice(self._text_records(), HEAD + 1))
        line, first, problem = records[0] if records else (1, [], "")
        if problem and self.file.header is not False:
            raise GraphError(problem, where=f"{self.file}, line {line}")
        self.has_header = self.file.header if self.file.header is not None else _is_header(records)
        self.columns = [str(place + 1) for place in range(len(first))]
        if self.has_header:
            names = [field.strip() for field in first]
            self.unnamed = {f"column {place}" for place, name in enumerate(names, start=1) if not name}
            self.columns = _unique([name or f"column {place}" for place, name in enumerate(names, start=1)])
        self.head = _rows_of_records(f"{self.file}, line", records[self.has_header :], self.columns)

    def smiles_column(self, given: str | None = None) -> str:
        """Return the column of SMILES: the given one, or found by its name or by what it holds."""
        named = named_smiles(self.columns, given, self.file)
        if named is not None:
            return named
        several = self.molecule_columns()
        if len(several) == 1:
            return several[0]
        problem = f"the columns {several} all hold SMILES"
        if not several:
            problem = f"no column of SMILES among {self.columns[:20]}, by its name or by what it holds"
        raise GraphError(problem, where=str(self.file), cure="Name one by column= (--smiles-column)")

    def molecule_columns(self) -> list[str]:
        """Return the columns whose first values are nearly all molecules."""
        self.head = self.head or next(self.blocks(size=HEAD), None)
        if self.head is None:
            return []
        good = [row for row in range(len(self.head)) if row not in self.head.problems][:HEAD]
        columns = self.head.columns.items()
        return [name for name, values in columns if are_molecules(cell(values[row]) for row in good)]

    def check_names(self) -> None:
        """Refuse columns of the same name."""
        if len(set(self.columns)) < len(self.columns):
            problem = f"two columns have the same name; the header is {self.columns[:20]}"
            raise GraphError(problem, where=f"{self.file}, line 1")

    def blocks(self, columns: Collection[str] | None = None, size: int = BLOCK) -> Iterator[Rows]:
        """Yield the rows with these columns, or all. At most `size` at a time unless the file is Parquet."""
        names = [name for name in self.columns if columns is None or name in columns]
        if self.kind == "parquet":
            with self.file.open(recode=False) as stream:
                for first, batch in batches(open_parquet(stream, str(self.file)), names, self.file):
                    try:
                        given = {name: batch.column(name).to_pylist() for name in names}
                    except (ValueError, NotImplementedError, OverflowError) as error:
                        raise GraphError(str(error), where=f"{self.file}, rows from {first}") from None
                    yield Rows(f"{self.file}, row", range(first, first + batch.num_rows), given, {})
            return
        records: Iterator[tuple[Any, list[Any], str]]
        if self.kind == "sdf":
            unit, known, records = "record", names, sdf_records(self.file, names)
        elif self.kind == "smi":
            unit, known, records = "line", self.columns, _smi_records(self.file)
        else:
            unit, known = "line", self.columns
            records = islice(self._text_records(), int(self.has_header), None)
        for some in _in_chunks(records, size):
            rows = _rows_of_records(f"{self.file}, {unit}", some, known)
            yield replace(rows, columns={name: rows.columns[name] for name in names})

    def _text_records(self) -> Iterator[tuple[int, list[Any], str]]:
        """Yield line, fields and problem of each row. The first line tells the delimiter."""
        line_number, problem = 0, ""
        delimiter, begun = "," if self.file.is_excel else "", False

        def lines() -> Iterator[str]:
            nonlocal line_number, problem, delimiter, begun
            for number, line in self.file.lines_or_errors(LONGEST_LINE):
                line_number, text = number, ""
                try:
                    if isinstance(line, GraphError):
                        raise line
                    text = decoded(line)
                except GraphError as error:
                    problem = str(error)
                    text = "" if isinstance(line, GraphError) else line.decode("utf-8", "replace")
                if not begun and not problem and _is_before(text):
                    delimiter = text[-1] if SEPARATOR.match(text) else delimiter
                    self.lines_before = number
                    continue
                begun = True
                delimiter = delimiter or _delimiter(text)
                yield text + "\n"

        texts = lines()
        first = list(islice(texts, 1))
        self.delimiter = delimiter
        reader = csv.reader(chain(first, texts), delimiter=delimiter or ",", strict=True)
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
            yield line_number, fields, problem
            problem = ""


def _in_chunks(records: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield records some at a time. If reading breaks off, first those before."""
    chunk: list[T] = []
    try:
        for record in records:
            chunk.append(record)
            if len(chunk) == size:
                yield chunk
                chunk = []
    except GraphError:
        if chunk:
            yield chunk
        raise
    if chunk:
        yield chunk


def _rows_of_records(title: str, records: Iterable[tuple[Any, list[Any], str]], names: Sequence[str]) -> Rows:
    """Put records (place, fields, problem) together as columns. Empty lines are left out."""
    places: list[Any] = []
    rows: list[list[Any]] = []
    problems: dict[int, str] = {}
    for place, fields, problem in records:
        if not fields and not problem:
            continue
        if len(fields) != len(names):
            problem = problem or f"{len(fields)} fields for the {len(names)} columns of the header"
            fields = [*fields[: len(names)], *[None] * (len(names) - len(fields))]
        if problem:
            problems[len(rows)] = problem
        places.append(place)
        rows.append(fields)
    columns: Iterable[Any] = zip(*rows, strict=True) if rows else [()] * len(names)
    return Rows(title, places, dict(zip(names, columns, strict=True)), problems)


def _unique(names: Iterable[str]) -> list[str]:
    """Return names of columns as pandas has them: a repeated one with a number, as in a, a.1."""
    columns: dict[str, int] = {}
    for name in names:
        new = name
        while new in columns:
            columns[name] += 1
            new = f"{name}.{columns[name]}"
        columns[new] = 0
    return list(columns)


def table_of(file: File) -> Table:
    """Return the table of a file, which is inspected once."""
    if file.sniffed is None or (file.format == "smi") != (file.sniffed.kind == "smi"):
        file.sniffed = Table(file)
    return file.sniffed  # type: ignore[no-any-return]


def is_smi_header(line: bytes) -> bool:
    """Whether one of the first lines of a .smi file is a comment, or has names of columns, SMILES first."""
    text = line.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")
    words = text.lower().split()
    return bool(words) and (words[0].startswith("#") or words[0] in SMILES_NAMES)


def _smi_records(file: File) -> Iterator[tuple[int, list[Any], str]]:
    """Yield line, SMILES and name, and problem of each line of a .smi file."""
    last = 0  # line of the header
    for number, line in file.lines_or_errors(LONGEST_LINE):
        try:
            if isinstance(line, GraphError):
                raise line
            if number == last + 1 and is_smi_header(line):
                last = number
            elif line.strip():
                smiles, *rest = decoded(line).split(None, 1) or [""]
                name = EXTENSION.sub("", rest[0]).strip().partition("\t")[0] if rest else None
                yield number, [smiles, name or None], ""
        except GraphError as error:
            yield number, [None, None], str(error)


def is_parquet(file: File) -> bool:
    """Tell Parquet from text by its suffix or its first letters."""
    name = file.path.name.lower().removesuffix(".gz")
    return name.endswith((".parquet", ".pq")) or file.begins_with(b"PAR1")


def _is_before(line: str) -> bool:
    """Whether a line before the header is empty, a comment without names of columns, or Excel's separator."""
    if not COMMENT.match(line):
        return not line.strip() or bool(SEPARATOR.match(line))
    names = {name.strip("#% ").lower() for name in re.split(r"[\t;,|]", line)}
    return not names & {*SMILES_NAMES, *ENDS, *ID_NAMES}


def _delimiter(line: str) -> str:
    """Return what separates the fields of the first line. A blank and | begin an extension of CXSMILES."""
    if "|" in line and " |" not in line and not any(mark in line for mark in "\t;,"):
        return "|"
    return max("\t;,", key=line.count)


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


def usual_column(names: Iterable[str], usual: Sequence[str]) -> str | None:
    """Return the first column with one of these names, the surest first. "Compound ID" is compound_id."""
    lower = {name.strip().lower().replace(" ", "_"): name for name in reversed(list(names))}
    return next((lower[name] for name in usual if name in lower), None)


def find_column(
    names: Collection[str], given: str | None, usual: Sequence[str], role: str, file: File | str
) -> str:
    """Return the column that was asked for, or the first whose name is usual for this role."""
    if given is not None:
        if given not in names:
            problem = f"no column {given!r}{suggestion(given, names)} Available: {list(names)[:20]}"
            raise GraphError(problem, where=str(file))
        return given
    column = usual_column(names, usual)
    if column is None:
        problem = f"no column of {role} among {list(names)[:20]}"
        cure = f"Call it {usual[0]!r}, or name it by an option"
        raise GraphError(problem, where=str(file), cure=cure)
    return column


def suggestion(given: str, names: Iterable[str]) -> str:
    """Return a question with the name that is most similar, whatever its case, or a period without any."""
    lower = {name.lower(): name for name in names}
    near = difflib.get_close_matches(given.lower(), lower, 1)
    return f": did you mean {lower[near[0]]!r}?" if near else "."


def named_smiles(names: Sequence[str], given: str | None, file: File | str) -> str | None:
    """Return the column of SMILES by its name, as given or as usual, or None if names do not tell."""
    if given is not None:
        return find_column(names, given, (), "SMILES", file)
    alike = [name for name in names if "smiles" in name.lower()]
    return usual_column(names, SMILES_NAMES) or (alike[0] if len(alike) == 1 else None)


def cell(value: Any) -> Any:
    """Return the value of a cell: text that is a number as that number, empty text as None.

    Dates, decimals and the like count as the text that they print as.
    """
    if value is None or isinstance(value, (bool, int, float, list, dict)):
        return value
    return number_of(str(value).strip())


def are_molecules(values: Iterable[Any]) -> bool:
    """Whether nearly all values are valid SMILES, and some of them more than a short word."""
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
    """Whether RDKit reads a text. What follows a space it takes for a name, so that words would pass."""
    if find_spec("rdkit") is None or not text or text.split()[1:] or len(text) > LONGEST_TRIED:
        return False
    from rdkit import Chem, rdBase

    with rdBase.BlockLogs():
        try:
            return Chem.MolFromSmiles(text) is not None
        except (RuntimeError, ValueError):
            return False
