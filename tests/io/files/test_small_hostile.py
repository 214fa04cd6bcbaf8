"""Small files that once took gigabytes or minutes: each is read or refused within 1 GB and 20 s of CPU."""

import gzip
import io
import resource
import signal
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest

MEMORY, SECONDS = 2**30, 20


def column(cell, count):
    return "".join(f'<row r="{row}">{cell.format(row=row)}</row>' for row in range(1, count + 1))


def npy(shape, descr="<f8", data=b""):
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": descr, "fortran_order": False, "shape": shape})
    return file.getvalue() + data


def matlab(count):
    """Return a MATLAB file with a packed variable of zeros."""
    name = struct.pack("<II", 0x10001, ord("a"))
    body = struct.pack("<IIII", 6, 8, 6, 0) + struct.pack("<IIII", 5, 8, count, count) + name
    body += struct.pack("<II", 9, 8 * count * count) + bytes(8 * count * count)
    data = zlib.compress(struct.pack("<II", 14, len(body)) + body)
    return b"MATLAB 5.0".ljust(124) + b"\x00\x01IM" + struct.pack("<II", 15, len(data)) + data


def npz_claims(n_nodes):
    from grnf import Graph
    from grnf.io import write_graphs

    path = Path("claims.npz")
    write_graphs(path, [Graph(1, [])])
    with np.load(path) as file:
        arrays = dict(file)
    arrays["num_nodes"] = np.array([n_nodes])
    np.savez(path, **arrays)
    return path.read_bytes()


def parquet(columns):
    import pyarrow as pa
    from pyarrow import parquet

    file = io.BytesIO()
    parquet.write_table(pa.table(columns), file)
    return file.getvalue()


def damaged_page():
    data = bytearray(parquet({"smiles": [f"{'C' * (1 + n % 40)}O" for n in range(5000)]}))
    data[40:3000] = bytes(reversed(data[40:3000]))
    return bytes(data)


KEYS = ", ".join(f'{{"id": {n}, "k{n}": 1}}' for n in range(20_000))
DEFAULTS = "".join(f"node [k{n}=1];" for n in range(5000))
NODES = ";".join(f"n{n}" for n in range(5000))
RINGS = "C%10" + "C" * 50 + "%10"


def hostile():
    """Return small files that claim, unpack to, or multiply to much more."""
    from workbooks import packed, workbook

    sizes = b"~~" + bytes([63 + (10**8 >> 6 * place & 63) for place in reversed(range(6))])
    million = '<c r="A{row}" t="inlineStr"><is><t></t></is></c>'
    return {
        "shared.xlsx": workbook(
            column('<c r="A{row}" t="s"><v>0</v></c>', 2000), f"<si><t>{'x' * 2**24}</t></si>"
        ),
        "shared_twice.xlsx": workbook(
            column("<c r='A{row}' t='s' ><v>1</v></c>", 60_000), f"<si/><si><t>{'x' * 2**17}</t></si>"
        ),
        "empty_strings.xlsx": workbook(column(million, 200_000)),
        "empty_shared.xlsx": workbook(column('<c r="A{row}"><v>1</v></c>', 2), "<si><t/></si>" * 3_300_000),
        "far_cell.xlsx": workbook('<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>'),
        "formula.xlsx": workbook(column(f'<c r="A{{row}}" t="str"><v>{"x" * 10**5}</v></c>', 1500)),
        "nodes.json": b'{"edge_index": [[0], [1]], "num_nodes": 100000000}',
        "nodes.jsonl": b'{"edge_index": [[0], [1]], "num_nodes": 100000000}\n',
        "keys.json": f'{{"nodes": [{KEYS}], "edges": []}}'.encode(),
        "keys.jsonl": f'{{"nodes": [{KEYS}], "edges": []}}'.encode(),
        "nested.json": b"[" * 10**6,
        "digits.json": f'{{"nodes": [{{"id": 0, "x": {"9" * 100_000}}}], "edges": []}}'.encode(),
        "digits.edgelist": b"a b " + b"9" * 100_000 + b"\n",
        "digits.csv": b"source,target,w\na,b," + b"9" * 100_000 + b"\n" + b"9" * 100_000 + b",,\n",
        "digits.dot": b"graph { a [x=" + b"9" * 100_000 + b"] }",
        "digits.gml": b"graph [ node [ id 0 x " + b"9" * 100_000 + b" ] ]",
        "digits.mtx": b"%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 " + b"9" * 100_000 + b"\n",
        "digits.graphml": b'<graphml><key id="x" attr.type="int"/><graph><node id="a"><data key="x">'
        + b"9" * 100_000 + b"</data></node></graph></graphml>",
        "digits.smi": b"C" + b"9" * 9000 + b"\n",
        "nodes.s6": b":" + sizes + b"~",
        "nodes.g6": sizes,
        "nodes.d6": b"&" + sizes,
        "nodes.edgelist": b"# grnf: 100000000 nodes\n0 1\n",
        "chain.smi": b"C" * 99_000,
        "rings.smi": (RINGS * 300).encode(),
        "branches.smi": (b"C(" * 9000) + b"C" + b")" * 9000,
        "many_atoms.csv": b"smiles\n" + b"CCO\n" * 10 + b"C" * 99_000 + b"\n",
        "defaults.dot": f"graph {{ {DEFAULTS} {NODES} }}".encode(),
        "product.dot": f"graph {{ {{{NODES}}} -- {{{NODES}}} }}".encode(),
        "deep.dot": b"graph {" + b"{" * 10**5,
        "bomb.g6.gz": gzip.compress(b"\n" * 10**7, 9),
        "bomb.csv.gz": gzip.compress(b"smiles\n" + b"\n" * 10**7, 9),
        "bomb.graphml.gz": gzip.compress(b"<graphml>" + b" " * 10**7, 9),
        "bomb.jsonl.gz": gzip.compress(b" " * 10**8, 1),
        "keys.graphml": (
            "<graphml>"
            + "".join(f'<key id="k{n}" for="node"><default>1</default></key>' for n in range(3000))
            + "<graph>" + "".join(f'<node id="{n}"/>' for n in range(20_000)) + "</graph></graphml>"
        ).encode(),
        "entities.graphml": b'<!DOCTYPE x [<!ENTITY a "' + b"x" * 10**5 + b'">]><graphml>' + b"&a;" * 10**4,
        "many.gml": b"graph [" + b"node [ id 1 ]" * 10**5,
        "deep.gml": b"graph [" + b"a [" * 10**5,
        "claims.mtx": b"%%MatrixMarket matrix coordinate real general\n100000000 100000000 1\n1 1 1\n",
        "zeros.mat": matlab(1500),
        "claims.npy": npy((10**5, 10**5), data=b"0" * 100),
        "no_entries.npy": npy((10**9, 0, 0)),
        "claims.npz": npz_claims(2**31 - 1),
        "indicator.zip": packed({"DS_graph_indicator.txt": "1000000\n", "DS_A.txt": "1, 1\n"}),
        "spaces.zip": packed({"DS_graph_indicator.txt": "1\n" + " " * 10**7, "DS_A.txt": "1, 1\n"}),
        "nodes.parquet": parquet({"edge_index": [[[0], [1]]], "num_nodes": [10**8]}),
        "repeated.parquet": parquet({"smiles": ["C" * 9_900] * 40}),
        "damaged_page.parquet": damaged_page(),
        "columns.csv": b",".join(b"%d" % n for n in range(10**5)) + b"\nC" * 10,
        "lines.sdf": b"\n" * 10**6,
        "counts.sdf": b"x\n\n\n999999999  0  0  0  0  0  0  0  0  0999 V2000\nM  END\n$$$$\n",
    }  # fmt: skip


def read(folder):
    """Read all files; a file that takes too much CPU ends the process."""
    import pyarrow as pa  # noqa: F401
    import rdkit.Chem  # noqa: F401
    import scipy.io  # noqa: F401

    from grnf import GraphError
    from grnf.io import BadGraph, read_graphs

    list(read_graphs(folder / "warm.csv"))
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY, size + MEMORY))
    for path in sorted(folder.iterdir()):
        sys.stdout.write(f"{path.name} ")
        sys.stdout.flush()
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        reasons = []
        try:
            for graph in read_graphs(path, on_error="yield", max_memory=MEMORY // 2):
                reasons += [graph.reason] if isinstance(graph, BadGraph) else []
        except GraphError as error:
            reasons.append(str(error))
        assert all("\n" not in reason and len(reason) < 1000 for reason in reasons), reasons[-1]
        sys.stdout.write("ok\n")


@pytest.mark.slow
def test_small_files_take_little_memory_and_time(tmp_path, monkeypatch):
    for library in ("pyarrow", "rdkit", "python_calamine", "ijson", "networkx"):
        pytest.importorskip(library)
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "files"
    folder.mkdir()
    files = hostile()
    for name, data in files.items():
        (folder / name).write_bytes(data if isinstance(data, bytes) else data.encode())
    (folder / "warm.csv").write_text("smiles\nCCO\n")
    result = subprocess.run(
        [sys.executable, __file__, str(folder)], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, (result.stdout[-60:], result.stderr[-2000:])
    assert result.stdout.split().count("ok") == len(files) + 1


if __name__ == "__main__":
    read(Path(sys.argv[1]))
