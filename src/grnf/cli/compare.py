"""`grnf compare`: what is different between two graphs, as edits, with bounds on the edit distance."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from grnf.cli.graph_input import TableJob
from grnf.cli.options import check_new, require
from grnf.errors import GraphError

if TYPE_CHECKING:
    from grnf.io import RawGraph

COLUMNS = ("item", "operation", "first", "second", "cost", "text")


def compare(
    first: Annotated[str, "File with a graph or several, or a SMILES string."],
    second: Annotated[
        str, "File or SMILES string to compare with. If ID follows, the id of a graph in FIRST."
    ],
    other: Annotated[str | None, "ID", "Id of a second graph in FIRST."] = None,
    *,
    first_id: Annotated[str | None, "ID", "Graph of the first file."] = None,
    second_id: Annotated[str | None, "ID", "Graph of the second file."] = None,
    attribute: Annotated[
        list[str] | None, "NAME", "Compare this attribute only. May be repeated. [default: all]"
    ] = None,
    tolerance: Annotated[float, "Numbers that differ by less are equal.", {"min": 0}] = 1e-9,
    costs: Annotated[
        Path | None,
        "JSON file of costs: node_substitution, node_deletion, node_insertion, edge_.... [default: 1 each]",
    ] = None,
    time_limit: Annotated[float, "SECONDS", "Time of the exact search. 0: bounds only.", {"min": 0}] = 1.0,
    picture: Annotated[
        Path | None, "Figure of both graphs with marked differences: .png, .svg or .pdf."
    ] = None,
    job: TableJob,
) -> None:
    """Find the edits that turn one graph into another.

    Give two files, one file and the ids of two of its graphs, or two SMILES strings. Prints the graph edit
    distance, or bounds on it, the distance d, and a correspondence of nodes as a list of edits. Columns of
    the table: item, operation, first, second (nodes in both graphs), cost, text.

    Examples:
      grnf compare molecules.csv aspirin caffeine
      grnf compare "CC(=O)C" "CC(=N)C" --picture difference.png
    """
    check_new("--picture", picture, (".png", ".svg", ".pdf"), job.force)
    names, ids = [first, second], [first_id, second_id]
    if other is not None:
        require(ids == [None, None], "give FILE ID ID, or two files with --first-id and --second-id")
        names, ids = [first, first], [second, other]
    graphs = _graphs(names, ids, job)
    from grnf.edits import compare as compare_graphs

    result = compare_graphs(
        *graphs,
        costs=None if costs is None else _costs(costs),
        attributes=attribute,
        tolerance=tolerance,
        time_limit=time_limit,
    )
    if picture is not None:
        from grnf.maps.drawings import draw_comparison

        titles = [graph_id or name for graph_id, name in zip(ids, names, strict=True)]
        draw_comparison(picture, graphs, result, titles)
    if job.output != "-":
        job.write(COLUMNS, (edit.record() for edit in result.edits))
        summary = {key: value for key, value in result.to_dict().items() if key not in ("edits", "mapping")}
        job.summarize(summary, result.summary())
    else:
        typer.echo(json.dumps(result.to_dict()) if job.as_json else str(result))


def _graphs(names: list[str], ids: list[str | None], job: TableJob) -> list[RawGraph]:
    """Return the two graphs of files, or of SMILES strings if there are no such files."""
    from grnf.io.from_molecules import batch_from_smiles

    made, read = [], {}
    for name, graph_id, option in zip(names, ids, ("--first-id", "--second-id"), strict=True):
        if name == "-" or Path(name).exists():
            if name not in read:
                read[name] = job.collection(name)
            made.append(_selected(read[name], graph_id, option))
            continue
        batch = batch_from_smiles([name], standardize=job.standardize, stereo=job.stereo)
        if batch.bad:
            raise GraphError("there is no such file, and it is not a valid SMILES string", where=name)
        made.append(batch[0])
    return made


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
