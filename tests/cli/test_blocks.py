"""From streams of graphs to streams of vectors."""

import itertools

import numpy as np
import pytest

from grnf import GRNF, Graph, GraphError
from grnf.cli.blocks import embed_blocks
from grnf.cli.fit import fit
from grnf.io import BadGraph, RawGraph


def ring(n):
    return RawGraph(n, np.array([(i, (i + 1) % n) for i in range(n)]), graph_id=f"ring{n}")


IMPOSSIBLE = RawGraph(2, np.array([[0, 9]]), graph_id="impossible")


def embed(items, **options):
    grnf = GRNF(4, random_state=0).fit([Graph(0, [])])
    return embed_blocks(grnf, items, **{"block_size": 3, "on_error": "raise", **options})


def test_an_endless_stream_is_read_block_by_block():
    taken = []

    def endless():
        for n in itertools.count(3):
            taken.append(n)
            yield ring(n)

    found = list(itertools.islice(embed(endless()), 4))
    assert [block.Z.shape for block, _ in found] == [(3, 4)] * 4
    assert len(taken) == 12


@pytest.mark.parametrize("block_size", [1, 2, 5, 100])
def test_blocks_do_not_change_the_vectors(block_size):
    graphs = [ring(n) for n in range(3, 10)]
    (whole, _), *_ = embed(graphs, block_size=100)
    found = np.concatenate([block.Z for block, _ in embed(graphs, block_size=block_size)])
    np.testing.assert_array_equal(found, whole.Z)


def test_bad_graphs_anywhere():
    items = [IMPOSSIBLE, ring(3), BadGraph(None, 2, "cut off"), ring(4), IMPOSSIBLE]
    with pytest.raises(GraphError):
        list(embed(items))
    blocks = list(embed(items, on_error="nan", start=10))
    assert [block.ids for block, _ in blocks] == [["impossible", "ring3", "12"], ["ring4", "impossible"]]
    bad = [record for _, failed in blocks for record in failed]
    assert [record["index"] for record in bad] == [10, 12, 14]
    assert bad[1] == {"index": 12, "row": 12, "graph_id": "12", "reason": "cut off"}
    rows = np.concatenate([block.Z for block, _ in blocks])
    assert np.isnan(rows[:, 0]).tolist() == [True, False, True, False, True]
    (left, _), _ = embed(items, on_error="skip")
    assert left.ids == ["ring3"]


def test_a_bad_graph_is_named():
    with pytest.raises(GraphError, match="graph impossible: "):
        list(embed([ring(3), ring(4), ring(5), IMPOSSIBLE]))


def test_nothing_to_fit_on():
    for items in ([], [BadGraph(None, 0, "cut off")], [IMPOSSIBLE]):
        with pytest.raises(GraphError, match="no graph that can be used"):
            fit(GRNF(4), items, "nan")


def test_fit_sees_all_graphs_and_holds_few(monkeypatch):
    """As good as a fit on all: every attribute and category is shown, and no graph twice over."""
    held = []
    monkeypatch.setattr(GRNF, "fit", lambda self, graphs: held.extend(graphs))

    def stream():
        for n in range(2000):
            kinds = np.array(["rare" if n == 1234 else "common"] * 3, dtype=object)
            yield RawGraph(3, np.array([[0, 1]]), {"kind": kinds, "x": np.zeros((3, 2))}, graph_id=str(n))
        yield RawGraph(3, np.array([[0, 1]]), edge_columns={"weight": np.ones(1)}, graph_id="weighted")

    fit(GRNF(4, random_state=0), stream())
    assert [graph.graph_id for graph in held] == ["0", "1234", "weighted"]


def test_a_block_of_bad_graphs_alone_has_no_rows():
    items = [ring(3), ring(3), ring(3), IMPOSSIBLE, IMPOSSIBLE, IMPOSSIBLE]
    assert [block.Z.shape for block, _ in embed(items, on_error="skip")] == [(3, 4), (0, 4)]
