"""What commands read: the options of the panel Input, and the graphs or vectors of files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

import typer
from typer import Argument, Option

from grnf._utils.files import is_pipe
from grnf.cli.messages import progress, report_bad, with_progress
from grnf.cli.options import LikeFeatures, Messages, checked, require
from grnf.errors import GraphError

if TYPE_CHECKING:
    from grnf.collection import Collection
    from grnf.estimators import GRNF
    from grnf.io.files.source import Source

__all__ = [
    "Input",
    "OnError",
    "Sample",
    "SourceArgument",
    "check_format",
    "holds_vectors",
    "require_graphs",
]


FIT_GRAPHS = 32_768
"""First graphs of a file, on which joint features are fitted."""
SourceArgument = Annotated[
    list[str],
    Argument(metavar="SOURCE", help="Files, folders, globs or a pipe of graphs, or - for standard input."),
]
OnError = Annotated[
    Literal["raise", "skip"],
    Option(help="A graph that cannot be used. raise: stop. skip: leave it out and report it."),
]
Sample = Annotated[str, Argument(help="Graphs (- for standard input), or vectors made by grnf embed.")]


@dataclass(frozen=True)
class Input:
    """How graphs and tables are read."""

    panel: ClassVar[str] = "Input"

    format: Annotated[
        str | None,
        Option(
            metavar="NAME[:OPTIONS]",
            help="Input format if the file name does not show it, with reader options after a colon. "
            "Examples: edge-list:directed, matrices:array=A,y=age.",
        ),
    ] = None
    on_error: OnError = "raise"
    smiles_column: Annotated[
        str | None,
        Option(metavar="NAME", help="SMILES column of a table. By default found by its name or values."),
    ] = None
    id_column: Annotated[
        str | None,
        Option(metavar="NAME", help="Id column of a SMILES table. By default found by its name."),
    ] = None
    target: Annotated[
        list[str] | None,
        Option(metavar="NAME", help="Label column of a SMILES table. Several: repeat it, or use commas."),
    ] = None
    keep: Annotated[
        list[str] | None,
        Option(
            metavar="NAME",
            help="Column of a SMILES table to keep in outputs with a row per graph. May be repeated.",
        ),
    ] = None
    standardize: Annotated[
        bool,
        Option("--standardize", help="Use the largest fragment of each molecule, neutralized (salts)."),
    ] = False
    stereo: Annotated[
        bool,
        Option("--stereo", help="Add stereochemistry and isotopes to the attributes of molecules."),
    ] = False
    encoding: Annotated[
        str | None,
        Option(metavar="NAME", help="Encoding of text, such as latin-1.", show_default="utf-8"),
    ] = None
    no_header: Annotated[
        bool, Option("--no-header", help="The first row is data. Columns are called 1, 2, 3, ...")
    ] = False
    decimal: Annotated[
        str, Option("--decimal", metavar="MARK", help="Decimal mark of numbers in text: . or ,")
    ] = "."
    max_memory: Annotated[
        str | None,
        Option(metavar="SIZE", help="Memory that one graph may take. Example: 4GB.", show_default="half"),
    ] = None
    columns: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict, init=False)
    """Columns that each source has for its graphs, by their ids: SMILES, and those to keep."""
    titles: dict[str, str] = field(default_factory=dict, init=False)
    """Names of the sources, by what the user calls them, such as - for standard input."""

    @property
    def molecules(self) -> tuple[str, ...]:
        """The options that change what of a molecule is used."""
        return tuple(name for name in ("standardize", "stereo") if getattr(self, name))

    @property
    def graph_memory(self) -> int | None:
        """The bytes that one graph may take, or None for the default."""
        if self.max_memory is None:
            return None
        from grnf._utils.rules import memory_size  # loads numpy

        return int(checked(memory_size, self.max_memory, "--max-memory"))

    def like(self, molecules: Sequence[str], index: Path) -> Self:
        """Return the options with which the molecules of an index were read. Refuse others."""
        for name in self.molecules:
            require(name in molecules, f"--{name} was not used to make {index}, whose settings are fixed")
        return replace(self, standardize="standardize" in molecules, stereo="stereo" in molecules)

    def as_in(self, features: LikeFeatures, *names: str) -> Self:
        """Return the options with which molecules were read for --like, or for vectors among some files."""
        from grnf.io.vectors import molecule_options, side_file

        files = [side_file(name) for name in names if name != "-" and holds_vectors(name, self.format)]
        for file in files if features.like is None else [features.like]:
            molecules = molecule_options(file)
            if molecules is not None:
                return self.like(molecules, file)
        return self

    @contextmanager
    def open(self, names: str | Sequence[str], run: Messages) -> Iterator[Source]:
        """Find the graphs that a user names, and apply the options of tables."""
        from grnf.io.files.source import open_source

        check_format(self.format, names)
        with open_source(names, self.format) as source:
            if isinstance(names, str):
                self.titles[names] = source.name
            yield self.applied(source, run)

    def applied(self, source: Source, run: Messages) -> Source:
        """Return a source with the options of tables. A SMILES column found by its values is printed."""
        from grnf.io.files.reading import file_of
        from grnf.io.files.survey import named_columns

        require(self.decimal in (".", ","), f"--decimal must be . or , got {self.decimal!r}")
        about: dict[str, Any] = {} if self.encoding is None else {"encoding": self.encoding}
        about |= {"header": False} if self.no_header else {}
        about |= {"decimal": ","} if self.decimal == "," else {}
        about |= {} if self.max_memory is None else {"max_memory": self.graph_memory}
        file_of(source.file, source.format, about)
        source = replace(source, options={**source.options, **about})
        given = {
            "--smiles-column": self.smiles_column,
            "--id-column": self.id_column,
            "--keep": self.keep,
            "--target": self.target,
        }
        chemistry = {"standardize": self.standardize, "stereo": self.stereo}
        if not source.is_molecules(self.smiles_column is not None):
            for option, value in given.items():
                require(not value, f"{option} needs a SMILES table, got {source.name}")
            chemistry = {name: True for name, on in chemistry.items() if on}
            known = source.reader_options()
            for name in chemistry:
                require(name in known, f"--{name} needs molecules (SMILES or SD files), got {source.name}")
            return replace(source, options={**source.options, **chemistry})
        options = {**source.options, **{name: True for name, on in chemistry.items() if on}}
        if self.smiles_column is not None:
            options["column"] = self.smiles_column
            source = replace(source, format=source.format if source.format == "sdf" else "smiles")
        elif source.file.path.is_file():
            column, is_named = source.smiles_column()
            if column is not None and not is_named:
                run.note(f"grnf: SMILES column {column!r}, found by its content, or use --smiles-column")
                options["column"] = column
        source = replace(source, options=options)
        if self.id_column is not None:
            options["graph_id"] = self.id_column
        if self.keep:
            options["keep"] = _columns_to_keep(source, self.keep)
        if self.target:
            smiles = source.smiles_column()[0] if source.table is not None else None
            names = named_columns(source.table, self.target, smiles)
            options["y"] = names[0] if len(names) == 1 else names
        return source

    def collect(self, source: Source, run: Messages, **options: Any) -> Collection:
        """Read all graphs. With ``--on-error skip``, bad ones are left out and reported."""
        import numpy as np

        from grnf.collection import Collection
        from grnf.io.raw import BadGraph

        graphs, rows, names, errors = [], [], [], []
        with progress(f"reading {source.name}", run.quiet) as advance:
            items = source.read(yield_bad=self.on_error == "skip", **options)
            for row, item in enumerate(with_progress(items, advance)):
                names.append(item.graph_id)
                if isinstance(item, BadGraph):
                    errors.append((row, item.reason))
                else:
                    graphs.append(item)
                    rows.append(row)
        made = Collection(
            len(names), np.array(rows, np.int64), errors, graphs=graphs, names=names, name=source.name
        )
        bad = [{"graph_id": made.all_ids[row], "reason": reason} for row, reason in errors]
        report_bad(bad, self.on_error, run.quiet)
        self._remember(source.name, made, [graph.graph_columns for graph in graphs])
        return made

    def embed(self, source: Source, grnf: GRNF, run: Messages) -> Collection:
        """Embed the graphs block by block: only their vectors and ids are held in memory."""
        import numpy as np

        from grnf.collection import collect
        from grnf.estimators import embed_stream

        ids: list[str] = []
        bad: list[dict[str, Any]] = []
        columns: list[dict[str, Any]] = []
        blocks = []
        with progress(f"embedding {source.name}", run.quiet) as advance:
            graphs = with_progress(source.read(yield_bad=self.on_error == "skip"), advance)
            for block, failed in embed_stream(grnf, graphs, on_error="skip"):
                if failed and self.on_error == "raise":
                    raise GraphError(failed[0].reason, index=failed[0].index, where=source.name)
                ids += block.ids
                bad += [{"graph_id": graph.graph_id, "reason": graph.reason} for graph in failed]
                columns += _rows_of(block.columns, len(block.ids))
                blocks.append(block.Z)
        report_bad(bad, self.on_error, run.quiet)
        require_graphs(len(ids), len(bad), source.name)
        made = replace(collect(np.concatenate(blocks), name=source.name, ids=ids), transformer=grnf)
        self._remember(source.name, made, columns)
        return made

    def collection(self, name: str, run: Messages) -> Collection:
        """Read a file of graphs or vectors."""
        if holds_vectors(name, self.format):
            return _vectors(name)
        with self.open(name, run) as source:
            made = self.collect(source, run)
        require_graphs(len(made), len(made.errors), name)
        return made

    def collections(self, names: Sequence[str], run: Messages) -> list[Collection]:
        """Read several files of graphs or vectors, of which one may be standard input."""
        require(list(names).count("-") <= 1, "standard input (-) can be read only once")
        return [self.collection(name, run) for name in names]

    def vectors(
        self,
        names: Sequence[str],
        features: LikeFeatures,
        run: Messages,
        space: str = "d_P",
        *,
        open_labels: bool = False,
    ) -> list[Collection]:
        """Return the vectors of a file or two. Graphs are embedded with the transformer of the vectors."""
        from grnf.estimators.streams import FIRST, fit_stream

        vectors = {name: _vectors(name) for name in names if holds_vectors(name, self.format)}
        grnf: Any = _transformer(list(vectors), features)
        if not vectors:
            grnf = features.in_space(space, open_labels=open_labels)
        with ExitStack() as stack:
            sources = {
                name: stack.enter_context(self.open(name, run)) for name in names if name not in vectors
            }
            if sources and grnf is None:
                raise GraphError(
                    "the transformer that made the vectors is not known",
                    where=", ".join(names),
                    cure="Pass it with --like",
                )
            if not vectors and space == "joint":
                grnf.on_error = "raise" if self.on_error == "raise" else "nan"
                usable = sources[names[0]].usable(self.on_error, [])
                grnf.fit([graph for *_, graph in islice(usable, FIT_GRAPHS)])
            if sources and not hasattr(grnf, "n_components_"):
                read = (source.read(yield_bad=self.on_error == "skip") for source in sources.values())
                first = chain.from_iterable(islice(one, FIRST // len(sources)) for one in read)
                fit_stream(grnf, first, on_error=self.on_error)
            made = {name: self.embed(source, grnf, run) for name, source in sources.items()}
        made |= {name: replace(each, transformer=grnf) for name, each in vectors.items()}
        one, two = made[names[0]], made[names[-1]]
        if one.vectors.shape[1] != two.vectors.shape[1]:
            raise GraphError(
                f"{one.name} has vectors of length {one.vectors.shape[1]} and {two.name} of length "
                f"{two.vectors.shape[1]}",
                cure="Make both with the same transformer",
            )
        return [made[name] for name in names]

    def _remember(self, name: str, graphs: Collection, columns: Sequence[Mapping[str, Any]]) -> None:
        """Hold the columns of graphs by their ids, and by their numbers if two have the same id."""
        rows = [dict(row) for row in columns]
        known = dict(zip(graphs.unique_ids, rows, strict=True))
        self.columns[name] = dict(zip(graphs.ids, rows, strict=True)) | known

    def with_columns(
        self, columns: Sequence[str], records: Iterable[dict[str, Any]], **keys: str
    ) -> tuple[list[str], list[dict[str, Any]]]:
        """Add the SMILES and the columns to keep to a table.

        `keys` has what the user calls the source of each column of ids. Columns of the second source have the
        name of its column of ids as a prefix, such as other_smiles.
        """
        rows, names = list(records), list(columns)
        for at, (key, source) in enumerate(keys.items()):
            known = self.columns.get(self.titles.get(source, source), {})
            has_smiles = any("smiles" in own for own in known.values())
            for name in [*(["smiles"] if has_smiles else []), *(self.keep or [])]:
                title = f"{key}_{name}" if at else name
                names.append(title)
                rows = [{**row, title: known.get(row[key], {}).get(name)} for row in rows]
        return names, rows


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


def _transformer(vectors: Sequence[str], features: LikeFeatures) -> GRNF | None:
    """Return the transformer of the vectors among the files, or the one with the given settings."""
    known = [one for name in vectors if (one := features.transformer_of(name)) is not None]
    if len(known) == 2 and known[0].to_json() != known[1].to_json():
        raise GraphError(f"{vectors[0]} and {vectors[1]} were made by different transformers")
    return known[0] if known else None


def _rows_of(columns: Mapping[str, Sequence[Any]], count: int) -> list[dict[str, Any]]:
    return [{name: values[row] for name, values in columns.items()} for row in range(count)]


def require_graphs(n_graphs: int, n_bad: int, where: str) -> None:
    """Refuse a source without graphs that can be used."""
    if not n_graphs:
        raise GraphError(f"there are no graphs{' that can be used' if n_bad else ''}", where=where)
