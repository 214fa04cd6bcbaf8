"""Two formats for tests: one JSON object per line that carries all ("lines") or the structure alone ("bare").

A line {"bad": reason} is a record that cannot be read.
"""

import json
from itertools import islice
from pathlib import Path
from types import SimpleNamespace

import numpy as np


def read_graphs(path, *, format=None, on_error="raise"):
    from grnf.errors import GraphError
    from grnf.io import BadGraph, RawGraph

    with open(path) as file:
        for index, line in enumerate(file):
            record = json.loads(line)
            if "bad" in record:
                if on_error == "raise":
                    raise GraphError(f"{path}, line {index + 1}: {record['bad']}")
                yield BadGraph(record.get("graph_id"), index, record["bad"])
                continue
            for name in ("node_columns", "edge_columns"):
                record[name] = {key: np.array(value) for key, value in record.get(name, {}).items()}
            edges = np.array(record.pop("edges"), dtype=np.int64).reshape(-1, 2)
            yield RawGraph(edges=edges, **record)


def read_blocks(path, *, format=None, on_error="raise", block_size=1024, n_jobs=None):
    stream = read_graphs(path, format=format, on_error=on_error)
    while block := list(islice(stream, block_size)):
        yield block


def write_graphs(path, graphs, *, format=None, lossy=False):
    bare = format == "bare" or str(path).endswith(".bare")
    count = 0
    with open(path, "w") as file:
        for graph in graphs:
            record = {"n_nodes": graph.n_nodes, "edges": np.asarray(graph.edges).tolist()}
            if not bare:
                record |= {"directed": graph.directed, "graph_id": graph.graph_id}
                record["y"] = np.asarray(graph.y).tolist() if graph.y is not None else None
                for name in ("node_columns", "edge_columns"):
                    columns = getattr(graph, name).items()
                    record[name] = {key: np.asarray(value).tolist() for key, value in columns}
            file.write(json.dumps(record) + "\n")
            count += 1
    return count


def blocks_of(source, entry, *, on_error, block_size, n_jobs, options):
    return read_blocks(source.path, on_error=on_error, block_size=block_size)


def install(patch=setattr):
    import grnf.io
    import grnf.io.files.formats
    import grnf.io.files.reading
    import grnf.scale.run_inputs

    patch(grnf.scale.run_inputs, "format_of", lambda source, format=None: format)
    patch(grnf.scale.run_inputs, "blocks_of", blocks_of)

    formats = dict.fromkeys(["lines", "bare"], SimpleNamespace(reorder=None))
    for module in (grnf.io, grnf.io.files.formats):
        patch(module, "FORMATS", formats)
    for module in (grnf.io, grnf.io.files.reading):
        patch(module, "read_graphs", read_graphs)
    patch(grnf.io, "guess_format", lambda path: Path(path).suffix[1:])
    patch(grnf.io, "read_blocks", read_blocks)
    patch(grnf.io, "write_graphs", write_graphs)


def write_lines(path, records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


TRIANGLE = {"n_nodes": 3, "edges": [[0, 1], [1, 2], [2, 0]], "graph_id": "triangle", "y": "ring"}
PATH = {"n_nodes": 3, "edges": [[0, 1], [1, 2]], "graph_id": "path", "y": "tree"}
ONE_NODE = {"n_nodes": 1, "edges": [], "graph_id": "one"}
UNREADABLE = {"bad": "no such thing", "graph_id": "lost"}
IMPOSSIBLE = {"n_nodes": 2, "edges": [[0, 7]], "graph_id": "impossible"}
