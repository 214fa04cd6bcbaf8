"""Files in ranges hold the graphs of the whole file; several inputs are read as one."""

import gzip

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grnf import Graph, GraphError
from grnf.io import read_blocks, read_graphs, write_graphs
from grnf.io.files import ranges
from grnf.io.files.ranges import ranges_of, read_range
from optional import require

pa = require("pyarrow")
pq = require("pyarrow.parquet")

GRAPHS = [Graph(n, [(0, 1)]) for n in range(2, 13)]


def read_all(path, size):
    cut = ranges_of(path, size)
    graphs = [graph for each in cut for block in read_range(each) for graph in block]
    for each in cut:
        assert sum(len(block) for block in read_range(each)) == each.count
    assert [each.first for each in cut] == list(range(0, max(len(graphs), 1), size))
    return graphs


@pytest.mark.parametrize("size", [1, 3, 4, 11, 100])
@pytest.mark.parametrize("suffix", [".g6", ".g6.gz", ".s6", ".jsonl", ".jsonl.gz", ".parquet"])
def test_ranges_hold_the_graphs_of_the_file(tmp_path, suffix, size):
    path = tmp_path / f"graphs{suffix}"
    write_graphs(path, GRAPHS, lossy=True)
    graphs = read_all(path, size)
    assert [graph.n_nodes for graph in graphs] == [graph.n_nodes for graph in read_graphs(path)]


@given(
    st.lists(
        st.sampled_from(["CO,a", '"CC","a ""b"" c"', 'CN,"two\nlines"', "", "CCO,", "C,d\r"]), max_size=12
    ),
    st.integers(1, 5),
    st.sampled_from(["\n", ""]),
    st.integers(3, 40),
)
def test_tables_with_quotes_and_blank_lines(tmp_path_factory, rows, size, end, chunk):
    require("rdkit")
    path = tmp_path_factory.mktemp("tables") / "table.csv"
    path.write_text("\n".join(["smiles,graph_id", "CCCC,first", *rows]) + end, newline="")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranges, "CHUNK", chunk)
        graphs = read_all(path, size)
    whole = list(read_graphs(path))
    assert [graph.graph_id for graph in graphs] == [graph.graph_id for graph in whole]
    assert [graph.n_nodes for graph in graphs] == [graph.n_nodes for graph in whole]


def test_row_groups_need_not_be_ranges(tmp_path):
    require("rdkit")
    table = pa.table({"smiles": ["C" * n for n in range(1, 21)]})
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=3)
    for size in (1, 2, 3, 7, 20, 50):
        assert [graph.n_nodes for graph in read_all(tmp_path / "a.parquet", size)] == list(range(1, 21))


def test_errors_tell_the_line_of_the_file(tmp_path):
    path = tmp_path / "a.g6.gz"
    lines = ["Bw"] * 10
    lines[7] = "x y"
    path.write_bytes(gzip.compress("\n".join(lines).encode()))
    with pytest.raises(GraphError, match=r"a\.g6\.gz, line 8: "):
        list(read_range(ranges_of(path, 5)[1]))


def test_formats_that_cannot_be_cut_are_one_range(tmp_path):
    write_graphs(tmp_path / "a.npz", GRAPHS)
    (whole,) = ranges_of(tmp_path / "a.npz", 2)
    assert whole.count is None
    assert sum(map(len, read_range(whole))) == len(GRAPHS)


def test_several_inputs(tmp_path):
    for name, count in (("b", 2), ("a", 3)):
        write_graphs(tmp_path / f"{name}.g6", GRAPHS[:count])
    names = ["a", "a:1", "a:2", "b", "b:1"]
    assert [graph.graph_id for graph in read_graphs(tmp_path / "*.g6")] == names
    assert [graph.graph_id for block in read_blocks(str(tmp_path / "*.g6")) for graph in block] == names
    both = [tmp_path / "b.g6", tmp_path / "a.g6"]
    assert [graph.graph_id for graph in read_graphs(both)] == [*names[3:], *names[:3]]
    assert [graph.graph_id for graph in read_graphs(tmp_path)] == names
    (tmp_path / "b.g6").write_text("Bw\nx y\n")
    bad = [graph for graph in read_graphs(tmp_path / "?.g6", on_error="yield") if hasattr(graph, "reason")]
    assert [(graph.graph_id, graph.index) for graph in bad] == [("b:1", 4)]
    (tmp_path / "inner").mkdir()
    write_graphs(tmp_path / "inner" / "a.g6", GRAPHS[:1])
    found = [graph.graph_id for graph in read_graphs([tmp_path / "a.g6", tmp_path / "inner" / "a.g6"])]
    assert len(set(found)) == 4
    with pytest.raises(GraphError, match="no file matches"):
        read_graphs(tmp_path / "*.gml")
    with pytest.raises(GraphError, match="must be given once, got it 2 times"):
        read_graphs([tmp_path / "a.g6", tmp_path / "a.g6"])


def test_a_name_that_is_a_glob_may_be_a_file(tmp_path):
    write_graphs(tmp_path / "a[1].g6", GRAPHS[:2])
    assert [graph.graph_id for graph in read_graphs(tmp_path / "a[1].g6")] == [None, None]
    np.testing.assert_array_equal(next(iter(read_graphs(tmp_path / "a[1].g6"))).edges, [[0, 1]])
