"""`grnf compare`: what is different between two graphs, as edits, with bounds on the edit distance."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from grnf.cli.graph_input import Input
from grnf.cli.options import Output, Run, check_new, require
from grnf.errors import GraphError

if TYPE_CHECKING:
    from grnf.io import RawGraph

__all__ = ["compare"]

COLUMNS = ("item", "operation", "first", "second", "cost", "text")


def compare(
    first: Annotated[str, Argument(help="File with a graph or several, or a SMILES string.")],
    second: Annotated[
        str,
        Argument(help="File or SMILES string to compare with. If ID follows, the id of a graph in FIRST."),
    ],
    other: Annotated[str | None, Argument(metavar="ID", help="Id of a second graph in FIRST.")] = None,
    *,
    first_id: Annotated[str | None, Option(metavar="ID", help="Graph of the first file.")] = None,
    second_id: Annotated[str | None, Option(metavar="ID", help="Graph of the second file.")] = None,
    attribute: Annotated[
        list[str] | None,
        Option(metavar="NAME", help="Compare this attribute only. May be repeated.", show_default="all"),
    ] = None,
    tolerance: Annotated[float, Option(min=0, help="Numbers that differ by less are equal.")] = 1e-9,
    costs: Annotated[
        Path | None,
        Option(
            help="JSON file of costs: node_substitution, node_deletion, node_insertion, edge_....",
            show_default="1 each",
        ),
    ] = None,
    time_limit: Annotated[
        float, Option(metavar="SECONDS", min=0, help="Time of the exact search. 0: bounds only.")
    ] = 1.0,
    picture: Annotated[
        Path | None, Option(help="Figure of both graphs with marked differences: .png, .svg or .pdf.")
    ] = None,
    out: Output,
    reading: Input,
    run: Run,
) -> None:
    """Find the edits that turn one graph into another.

    Give two files, one file and the ids of two of its graphs, or two SMILES strings. Prints the graph edit
    distance, or bounds on it, the distance d, and a correspondence of nodes as a list of edits. Columns of
    the table: item, operation, first, second (nodes in both graphs), cost, text.

    Examples:
      grnf compare molecules.csv aspirin caffeine
      grnf compare "CC(=O)C" "CC(=N)C" --picture difference.png
    """
    check_new("--picture", picture, (".png", ".svg", ".pdf"), out.force)
    out.check()
    names, ids = [first, second], [first_id, second_id]
    if other is not None:
        require(ids == [None, None], "give FILE ID ID, or two files with --first-id and --second-id")
        names, ids = [first, first], [second, other]
    graphs = _graphs(names, ids, reading, run)
    from grnf.edits import compare as compare_graphs

    with run.threads():
        result = compare_graphs(
            *graphs,
            costs=None if costs is None else _costs(costs),
            attributes=attribute,
            tolerance=tolerance,
            time_limit=time_limit,
        )
    if picture is not None:
        from grnf.maps.drawings import draw_comparison

        draw_comparison(
            picture, graphs, result, [graph_id or name for graph_id, name in zip(ids, names, strict=True)]
        )
    if out.output != "-":
        out.write(COLUMNS, (edit.record() for edit in result.edits), as_json=False)
        summary = {key: value for key, value in result.to_dict().items() if key not in ("edits", "mapping")}
        out.summarize(summary, run, result.summary())
    elif run.as_json:
        typer.echo(json.dumps(result.to_dict()))
    else:
        typer.echo(str(result))


def _graphs(names: list[str], ids: list[str | None], reading: Input, run: Run) -> list[RawGraph]:
    """Return the two graphs of files, or of SMILES strings if there are no such files."""
    made, read = [], {}
    for name, graph_id, option in zip(names, ids, ("--first-id", "--second-id"), strict=True):
        if name != "-" and not Path(name).exists():
            made.append(_molecule(name, reading))
            continue
        if name not in read:
            read[name] = reading.collection(name, run)
        made.append(_selected(read[name], graph_id, option))
    return made


def _molecule(text: str, reading: Input) -> RawGraph:
    """Return the graph of a SMILES string."""
    from grnf.io.from_molecules import batch_from_smiles

    batch = batch_from_smiles([text], standardize=reading.standardize, stereo=reading.stereo)
    if batch.bad:
        raise GraphError("there is no such file, and it is not a valid SMILES string", where=text)
    return batch[0]


def _costs(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise GraphError(f"invalid JSON: {error}", where=str(path)) from None


def _selected(collection: Any, graph_id: str | None, option: str) -> RawGraph:
    """Return the only graph of a file, or the one with that id."""
    if collection.graphs is None:
        raise GraphError("expected graphs, got vectors", where=collection.name)
    ids = collection.ids
    if graph_id is None and len(ids) != 1:
        first = ", ".join(ids[:3])
        raise GraphError(
            f"expected one graph, found {len(ids)}",
            where=collection.name,
            cure=f"Select one with {option} ID (first ids: {first})",
        )
    if graph_id is not None and graph_id not in ids:
        raise GraphError(f"there is no graph with the id {graph_id!r}", where=collection.name)
    graph: RawGraph = collection.graphs[0 if graph_id is None else ids.index(graph_id)]
    return graph
