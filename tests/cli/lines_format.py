"""Two formats for tests: one JSON object per line that carries all ("lines") or the structure alone ("bare").

A line {"bad": reason} is a record that cannot be read.
"""

import json
from dataclasses import replace

import numpy as np

from grnf.errors import GraphError
from grnf.io import BadGraph, RawGraph
from grnf.io.files.formats import EVERYTHING, FORMATS, Format


def read(file, *, on_error="raise"):
    with file.open() as stream:
        for index, line in enumerate(stream):
            record = json.loads(line)
            if "bad" in record:
                if on_error == "raise":
                    raise GraphError(f"{file}, line {index + 1}: {record['bad']}")
                yield BadGraph(record.get("graph_id"), index, record["bad"])
                continue
            for name in ("node_columns", "edge_columns"):
                record[name] = {key: np.array(value) for key, value in record.get(name, {}).items()}
            edges = np.array(record.pop("edges"), dtype=np.int64).reshape(-1, 2)
            yield RawGraph(edges=edges, **record)


def write(file, graphs):
    for graph in graphs:
        record = {"n_nodes": graph.n_nodes, "edges": np.asarray(graph.edges).tolist()}
        record |= {"directed": graph.directed, "graph_id": graph.graph_id}
        record["y"] = np.asarray(graph.y).tolist() if graph.y is not None else None
        for name in ("node_columns", "edge_columns"):
            columns = getattr(graph, name).items()
            record[name] = {key: np.asarray(value).tolist() for key, value in columns}
        file.write(json.dumps(record).encode() + b"\n")


def write_bare(file, graphs):
    write(file, (replace(graph, graph_id=None) for graph in graphs))


def install(patch=FORMATS.__setitem__):
    for name, writer, carries in (("lines", write, EVERYTHING), ("bare", write_bare, frozenset())):
        patch(name, Format(name, "", (f".{name}",), read, writer, carries=carries, may_be_empty=True))


def write_lines(path, records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


TRIANGLE = {"n_nodes": 3, "edges": [[0, 1], [1, 2], [2, 0]], "graph_id": "triangle", "y": "ring"}
PATH = {"n_nodes": 3, "edges": [[0, 1], [1, 2]], "graph_id": "path", "y": "tree"}
ONE_NODE = {"n_nodes": 1, "edges": [], "graph_id": "one"}
UNREADABLE = {"bad": "no such thing", "graph_id": "lost"}
IMPOSSIBLE = {"n_nodes": 2, "edges": [[0, 7]], "graph_id": "impossible"}
