"""What commands read: the options of the panel Input, and the graphs or vectors of files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

import typer

from grnf._utils.files import is_pipe
from grnf._utils.words import counted
from grnf.cli.messages import progress, with_progress
from grnf.cli.options import LikeFeatures, Messages, Output, checked, require
from grnf.errors import GraphError

if TYPE_CHECKING:
    from grnf.collection import Collection
    from grnf.estimators import GRNF
    from grnf.io.files.source import Source

FIT_GRAPHS = 32_768
"""First graphs of a file, on which joint features are fitted."""
MOST_REASONS = 5
"""Graphs that cannot be used whose reasons are printed."""
CHEMISTRY = ("standardize", "stereo")
"""Options that change what of a molecule is used."""

SourceArgument = Annotated[
    list[str], "SOURCE", "Files, folders, globs or a pipe of graphs, or - for standard input."
]
OnError = Annotated[
    Literal["raise", "skip"], "A graph that cannot be used. raise: stop. skip: leave it out and report it."
]
Sample = Annotated[str, "Graphs (- for standard input), or vectors made by grnf embed."]


@dataclass(frozen=True)
class Input(Messages, panel="Input"):
    """How graphs and tables are read."""

    format: Annotated[
        str | None,
        "NAME[:OPTIONS]",
        "Input format if the file name does not show it, with reader options after a colon. "
        "Examples: edge-list:directed, matrices:array=A,y=age.",
    ] = None
    on_error: OnError = "raise"
    smiles_column: Annotated[
        str | None, "NAME", "SMILES column of a table. By default found by its name or values."
    ] = None
    id_column: Annotated[str | None, "NAME", "Id column of a SMILES table. By default found by name."] = None
    target: Annotated[
        list[str] | None, "NAME", "Label column of a SMILES table. Several: repeat it, or use commas."
    ] = None
    keep: Annotated[
        list[str] | None,
        "NAME",
        "Column of a SMILES table to keep in outputs with a row per graph. May be repeated.",
    ] = None
    standardize: Annotated[bool, "Use the largest fragment of each molecule, neutralized (salts)."] = False
    stereo: Annotated[bool, "Add stereochemistry and isotopes to the attributes of molecules."] = False
    encoding: Annotated[str | None, "NAME", "Encoding of text, such as latin-1. [default: utf-8]"] = None
    no_header: Annotated[bool, "The first row is data. Columns are called 1, 2, 3, ..."] = False
    decimal: Annotated[str, "MARK", "Decimal mark of numbers in text: . or ,"] = "."
    max_memory: Annotated[
        str | None, "SIZE", "Memory that one graph may take. Example: 4GB. [default: half]"
    ] = None
    columns: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict, init=False)
    """Columns of the graphs of each collection, by their ids: SMILES, and those to keep."""

    @property
    def molecules(self) -> tuple[str, ...]:
        """The options that change what of a molecule is used."""
        return tuple(name for name in CHEMISTRY if getattr(self, name))

    @property
    def graph_memory(self) -> int | None:
        """The bytes that one graph may take, or None for the default."""
        if self.max_memory is None:
            return None
        from grnf._utils.rules import memory_size  # loads numpy

        return int(checked(memory_size, self.max_memory, "--max-memory"))

    def check(self) -> None:
        """Refuse unknown decimal marks."""
        require(self.decimal in (".", ","), f"--decimal must be . or , got {self.decimal!r}")
        super().check()

    def with_molecules_of(self, molecules: Sequence[str], made: Path) -> Self:
        """Return the options with which the molecules of an index or model were read. Refuse others."""
        for name in self.molecules:
            require(name in molecules, f"--{name} was not used to make {made}, whose settings are fixed")
        return replace(self, **{name: name in molecules for name in CHEMISTRY})  # type: ignore[arg-type]

    @contextmanager
    def open(self, names: str | Sequence[str]) -> Iterator[Source]:
        """Find the graphs that a user names, and apply the options of tables."""
        from grnf.io.files.source import open_source

        check_format(self.format, names)
        with open_source(names, self.format) as source:
            yield self.applied(source)

    def applied(self, source: Source) -> Source:
        """Return a source with the options of tables. A SMILES column found by its values is printed."""
        from grnf.io.files.reading import file_of
        from grnf.io.files.survey import named_columns

        about: dict[str, Any] = {
            "encoding": self.encoding,
            "max_memory": self.graph_memory,
            "header": False if self.no_header else None,
            "decimal": "," if self.decimal == "," else None,
        }
        about = {name: value for name, value in about.items() if value is not None}
        file_of(source.file, source.format, about)
        options = {**source.options, **about, **dict.fromkeys(self.molecules, True)}
        if not source.is_molecules(self.smiles_column is not None):
            for name in ("smiles_column", "id_column", "keep", "target"):
                option = f"--{name.replace('_', '-')}"
                require(not getattr(self, name), f"{option} needs a SMILES table, got {source.name}")
            known = source.reader_options()
            for name in self.molecules:
                require(
                    name in known,
                    f"--{name}, or a model or index with it, needs molecules (SMILES or SD files), got "
                    f"{source.name}. Name the column of SMILES in a table with --smiles-column",
                )
            return replace(source, options=options)
        source = replace(source, options=options)
        if self.smiles_column is not None:
            options["column"] = self.smiles_column
            source = replace(source, format=source.format if source.format == "sdf" else "smiles")
        elif source.file.path.is_file():
            column, is_named = source.smiles_column()
            if column is not None and not is_named:
                self.note(f"grnf: SMILES column {column!r}, found by its content, or use --smiles-column")
                options["column"] = column
        if self.id_column is not None:
            options["graph_id"] = self.id_column
        if self.keep:
            options["keep"] = _columns_to_keep(source, self.keep)
        if self.target:
            smiles = source.smiles_column()[0] if source.table is not None else None
            names = named_columns(source.table, self.target, smiles)
            options["y"] = names[0] if len(names) == 1 else names
        return source

    def collect(self, source: Source) -> Collection:
        """Read all graphs. With ``--on-error skip``, bad ones are left out and reported."""
        import numpy as np

        from grnf.collection import Collection
        from grnf.io.raw import BadGraph

        with progress(f"reading {source.name}", self.quiet) as advance:
            items = list(with_progress(source.read(yield_bad=self.on_error == "skip"), advance))
        errors = [(row, item.reason) for row, item in enumerate(items) if isinstance(item, BadGraph)]
        graphs = [item for item in items if not isinstance(item, BadGraph)]
        rows = np.delete(np.arange(len(items)), [row for row, _ in errors])
        names = [item.graph_id for item in items]
        made = Collection(len(items), rows, errors, graphs=graphs, names=names, name=source.name)
        self.report_bad([{"graph_id": made.all_ids[row], "reason": reason} for row, reason in errors])
        self._remember(made, [graph.graph_columns for graph in graphs])
        return made

    def collection(self, name: str) -> Collection:
        """Read a file of graphs or vectors."""
        if holds_vectors(name, self.format):
            return _vectors(name)
        with self.open(name) as source:
            made = self.collect(source)
        require_graphs(len(made), len(made.errors), name)
        return made

    def collections(self, names: Sequence[str]) -> list[Collection]:
        """Read several files of graphs or vectors, of which one may be standard input."""
        require(list(names).count("-") <= 1, "standard input (-) can be read only once")
        return [self.collection(name) for name in names]

    def report_bad(self, bad: Sequence[Mapping[str, Any]]) -> None:
        """Report graphs that could not be used: how many, what was done, and the first reasons."""
        if bad:
            action = "rows of NaN" if self.on_error == "nan" else "left out"  # type: ignore[comparison-overlap]
            self.note(f"grnf: {counted(len(bad), 'graphs')} could not be used ({action}):")
        for record in bad[:MOST_REASONS]:
            self.note(f"  graph {record['graph_id']}: {record['reason']}")
        if len(bad) > MOST_REASONS:
            self.note(f"  and {len(bad) - MOST_REASONS} more")

    def _remember(self, graphs: Collection, columns: Sequence[Mapping[str, Any]]) -> None:
        """Hold the columns of graphs by their ids, and by their numbers if two have the same id."""
        known = dict(zip(graphs.unique_ids, map(dict, columns), strict=True))
        self.columns[graphs.name] = dict(zip(graphs.ids, known.values(), strict=True)) | known

    def with_columns(
        self, columns: Sequence[str], records: Iterable[dict[str, Any]], **sources: Collection
    ) -> tuple[list[str], list[dict[str, Any]]]:
        """Add the SMILES and the columns to keep to a table.

        `sources` has the collection of each column of ids. Columns of the second have the name of its column
        of ids as a prefix, such as other_smiles.
        """
        rows, names = list(records), list(columns)
        for at, (key, source) in enumerate(sources.items()):
            known = self.columns.get(source.name, {})
            has_smiles = any("smiles" in own for own in known.values())
            for name in [*(["smiles"] if has_smiles else []), *(self.keep or [])]:
                title = f"{key}_{name}" if at else name
                names.append(title)
                rows = [{**row, title: known.get(row[key], {}).get(name)} for row in rows]
        return names, rows


@dataclass(frozen=True)
class LikeInput(LikeFeatures, Input):
    """How graphs are read and embedded."""

    def as_in(self, *names: str) -> Self:
        """Return the options with which molecules were read for --like, or for vectors among some files."""
        from grnf.io.vectors import molecule_options, side_file

        files = [side_file(name) for name in names if name != "-" and holds_vectors(name, self.format)]
        for file in files if self.like is None else [self.like]:
            molecules = molecule_options(file)
            if molecules is not None:
                return self.with_molecules_of(molecules, file)
        return self

    def embed_source(self, source: Source, grnf: GRNF) -> Collection:
        """Embed the graphs block by block: only their vectors and ids are held in memory."""
        import numpy as np

        from grnf.collection import collect
        from grnf.estimators import embed_stream

        ids: list[str] = []
        bad: list[dict[str, Any]] = []
        columns: list[dict[str, Any]] = []
        blocks = []
        with progress(f"embedding {source.name}", self.quiet) as advance:
            graphs = with_progress(source.read(yield_bad=self.on_error == "skip"), advance)
            for block, failed in embed_stream(grnf, graphs, on_error=self.on_error, name=source.name):
                ids += block.ids
                bad += [{"graph_id": graph.graph_id, "reason": graph.reason} for graph in failed]
                names, own = block.columns, range(len(block.ids))
                columns += [{name: values[row] for name, values in names.items()} for row in own]
                blocks.append(block.Z)
        self.report_bad(bad)
        require_graphs(len(ids), len(bad), source.name)
        made = replace(collect(np.concatenate(blocks), name=source.name, ids=ids), transformer=grnf)
        self._remember(made, columns)
        return made

    def vectors(
        self, names: Sequence[str], space: str = "d_P", *, open_labels: bool = False
    ) -> list[Collection]:
        """Return the vectors of a file or two. Graphs are embedded with the transformer of the vectors."""
        from grnf.estimators.streams import FIRST, fit_stream

        made = {name: _vectors(name) for name in names if holds_vectors(name, self.format)}
        known = list(made)
        grnf: Any = (
            self._transformer_of_all(known) if known else self.in_space(space, open_labels=open_labels)
        )
        with ExitStack() as stack:
            sources = {name: stack.enter_context(self.open(name)) for name in names if name not in made}
            if sources and grnf is None:
                raise unknown_transformer(", ".join(names))
            if not made and space == "joint":
                grnf.on_error = "raise" if self.on_error == "raise" else "nan"
                usable = sources[names[0]].usable(self.on_error, [])
                grnf.fit([graph for *_, graph in islice(usable, FIT_GRAPHS)])
            elif sources and not hasattr(grnf, "n_components_"):
                read = (source.read(yield_bad=self.on_error == "skip") for source in sources.values())
                first = chain.from_iterable(islice(one, FIRST // len(sources)) for one in read)
                fit_stream(grnf, first, on_error=self.on_error)
            made = {name: replace(each, transformer=grnf) for name, each in made.items()}
            made |= {name: self.embed_source(source, grnf) for name, source in sources.items()}
        one, two = made[names[0]], made[names[-1]]
        if one.vectors.shape[1] != two.vectors.shape[1]:
            raise GraphError(
                f"{one.name} has vectors of length {one.vectors.shape[1]} and {two.name} of length "
                f"{two.vectors.shape[1]}",
                cure="Make both with the same transformer",
            )
        return [made[name] for name in names]

    def _transformer_of_all(self, vectors: Sequence[str]) -> GRNF | None:
        """Return the transformer that made the vectors of all files, or None if it is not known."""
        known = [one for name in vectors if (one := self.transformer_of(name)) is not None]
        if len(known) == 2 and known[0].to_json() != known[1].to_json():
            raise GraphError(f"{vectors[0]} and {vectors[1]} were made by different transformers")
        return known[0] if known else None


@dataclass(frozen=True)
class TableJob(Input, Output):
    """Options of a command that reads graphs and writes a table."""


@dataclass(frozen=True)
class VectorJob(LikeInput, TableJob):
    """Options of a command that embeds graphs and writes a table."""


def _columns_to_keep(source: Source, keep: Sequence[str]) -> list[str]:
    """Return the names of columns to keep, once each, if vectors can have them and the table has."""
    from grnf.io.files.tables import find_column, table_of
    from grnf.io.vectors.blocks import check_column_name

    names = list(dict.fromkeys(keep))
    for name in names:
        require(name != "smiles", "--keep smiles is not needed: the SMILES are always kept")
        checked(check_column_name, name, "--keep")
        if source.file.path.is_file():
            find_column(table_of(source.file).columns, name, (), "kept values", source.file)
    return names


def check_format(format: str | None, names: str | Sequence[str], option: str = "--format") -> None:
    """Refuse unknown formats and reader options, and standard input or a pipe without a format."""
    from grnf.io.files.formats import FORMATS
    from grnf.io.files.source import format_and_options

    checked(format_and_options, format, option)
    for name in [names] if isinstance(names, str) else names:
        if format is None and (name == "-" or (is_pipe(name) and not Path(name).suffix)):
            raise typer.BadParameter(
                f"{name} has no suffix. Name its format: {', '.join(FORMATS)}", param_hint=option
            )


def holds_vectors(name: str, format: str | None) -> bool:
    """Return whether a file holds vectors, by `--format vectors` or by its content."""
    from grnf.io import vectors

    return format == "vectors" or (format is None and vectors.holds_vectors(name))


def _vectors(name: str) -> Collection:
    from grnf.collection import collect
    from grnf.io.vectors import read_vectors

    vectors = read_vectors(name)
    Z = vectors.Z if vectors.Z.dtype.kind == "f" else vectors.Z.astype(float)
    return collect(Z, name=name, ids=vectors.ids)


def unknown_transformer(where: str) -> GraphError:
    """Return the error about vectors next to graphs if nothing tells how they were made."""
    return GraphError(
        "the transformer that made the vectors is not known", where=where, cure="Pass it with --like"
    )


def require_graphs(n_graphs: int, n_bad: int, where: str) -> None:
    """Refuse a source without graphs that can be used."""
    if not n_graphs:
        raise GraphError(f"there are no graphs{' that can be used' if n_bad else ''}", where=where)
