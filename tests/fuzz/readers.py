"""What the fuzz tests share: a small valid file of each format, damage, and the promise that readers keep."""

import tempfile
from pathlib import Path

import numpy as np

from grnf import GraphError
from grnf.io import FORMATS, BadGraph, RawGraph, read_graphs, write_graphs

TU = {
    "A": "1, 2\n2, 1\n3, 3\n",
    "graph_indicator": "1\n1\n2\n",
    "graph_labels": "1\n-1\n",
    "node_labels": "7\n5\n5\n",
    "node_attributes": "0.5, 1\n1, 2\n2, 3\n",
}
TEXTS = {
    "smiles": "SMILES,y\nCCO,1\nc1ccccc1,2\n",
    "smi": "CCO ethanol\nC\n",
    "sdf": (
        "methanol\n\n\n  2  1  0  0  0  0  0  0  0  0999 V2000\n"
        "    0.0000    0.0000    0.0000 C   0  0\n    1.0000    0.0000    0.0000 O   0  0\n"
        "  1  2  1  0\nM  END\n> <y>\n1.5\n\n$$$$\n"
    ),
    "dot": 'digraph g { a [x=1]; "b" -> {c <d>} [w=.5] }\nstrict graph { node [y=2] 1 -- 2 // end\n}\n',
    "matrices": "# weights\n,a,b,c\na,0,0.5,0\nb,0.5,0,2\nc,0,2,1\n",
    "edge-table": "graph_id,source,target,weight\na,1,2,0.5\na,2,3,1\nb,1,1,x\n",
}


PIECES = b"0 -1 99999999999999999999 nan 1e999 \" ' [ ] { } < /> , ; : = % # & \x7f".split()
PIECES += [b"", b"\n", b"\x00", b"\xff" * 4, b"\xef\xbb\xbf", b"\xff\xfe"]


def example():
    texts = np.array(["C", None, "ü<&"], dtype=object)
    columns = {"element": texts, "charge": np.array([1, 2, 3]), "x": np.array([[0.5, np.nan]] * 3)}
    return RawGraph(3, np.array([[0, 1], [1, 2]]), columns, {"weight": np.array([1.0, 2.5])}, False, "g", 1)


def valid_bytes(name):
    """Return a valid file of a format."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        if name in TEXTS:
            return TEXTS[name].encode()
        if name == "tu":
            import zipfile

            with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
                for part, text in TU.items():
                    archive.writestr(f"DS_{part}.txt", text)
        elif name == "graph6-npy":
            with path.open("wb") as file:
                np.save(file, np.array(["Bw", "C~", "DQc"]))
        else:
            graph = example()
            if name == "digraph6":
                graph = RawGraph(3, graph.edges, directed=True)
            several = [graph] if FORMATS[name].one_graph else [graph, graph]
            write_graphs(path, several, format=name, lossy=True)
        return path.read_bytes()


def damaged(data, chance):
    """Return bytes with pieces changed, cut out, doubled or put in."""
    data = bytearray(data)
    for _ in range(chance.randint(1, 5)):
        start = chance.randint(0, len(data))
        stop = min(len(data), start + chance.choice([0, 1, 1, 2, 4, 12, 60]))
        kind = chance.random()
        if kind < 0.3:
            data[start:stop] = chance.randbytes(chance.randint(0, 4))
        elif kind < 0.5:
            data[start:stop] = data[start:stop] * chance.choice([2, 3, 50])
        elif kind < 0.6:
            del data[start:]
        else:
            data[start:stop] = chance.choice(PIECES)
    return bytes(data)


def read_all(name, data, folder):
    """Read bytes as a format: graphs, or an error of ours, but nothing else."""
    path = Path(folder) / f"file{FORMATS[name].suffixes[0]}"
    path.write_bytes(data)
    for on_error in ("raise", "yield"):
        try:
            for index, graph in enumerate(read_graphs(path, format=name, on_error=on_error)):
                if isinstance(graph, BadGraph):
                    assert graph.index == index
                else:
                    assert isinstance(graph, RawGraph)
                    assert len(graph.edges) == 0 or graph.edges.max() < graph.n_nodes
        except GraphError:
            pass
