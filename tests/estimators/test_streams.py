"""From streams of graphs to streams of vectors."""

import itertools

import numpy as np
import pytest

from grnf import GRNF, Graph, GraphError
from grnf.estimators import embed_stream, fit_stream
from grnf.io import BadGraph, RawGraph
from optional import require
from random_graphs import cycle

nx = require("networkx")


def ring(n):
    return RawGraph(n, np.array([(i, (i + 1) % n) for i in range(n)]), graph_id=f"ring{n}", y=n % 2)


def labelled(*symbols):
    return RawGraph(len(symbols), np.empty((0, 2), int), {"symbol": np.array(symbols, dtype=object)})


IMPOSSIBLE = RawGraph(2, np.array([[0, 9]]), graph_id="impossible")


def embed(items, **options):
    grnf = GRNF(4, random_state=0).fit([Graph(0, [])])
    return embed_stream(grnf, items, **{"block_size": 3, **options})


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
    ((whole, _),) = embed(graphs, block_size=100)
    blocks = [block for block, _ in embed(graphs, block_size=block_size)]
    np.testing.assert_array_equal(np.concatenate([block.Z for block in blocks]), whole.Z)
    assert [y for block in blocks for y in block.y] == whole.y == [n % 2 for n in range(3, 10)]


def test_bad_graphs_anywhere():
    items = [IMPOSSIBLE, ring(3), BadGraph(None, 2, "cut off"), ring(4), IMPOSSIBLE]
    with pytest.raises(GraphError, match="graph impossible: "):
        list(embed([ring(3), ring(4), ring(5), IMPOSSIBLE]))
    blocks = list(embed(items, on_error="nan", start=10))
    assert [block.ids for block, _ in blocks] == [["impossible", "ring3", "12"], ["ring4", "impossible"]]
    bad = [found for _, failed in blocks for found in failed]
    assert [found.index for found in bad] == [10, 12, 14]
    assert bad[1] == BadGraph("12", 12, "cut off")
    rows = np.concatenate([block.Z for block, _ in blocks])
    assert np.isnan(rows[:, 0]).tolist() == [True, False, True, False, True]
    (left, bad), (right, more) = embed(items, on_error="skip", start=10)
    assert (left.ids, left.y, right.ids) == (["ring3"], [1], ["ring4"])
    assert [found.index for found in bad + more] == [10, 12, 14]
    ((block, _),) = embed([IMPOSSIBLE] * 2, on_error="skip")
    assert block.Z.shape == (0, 4)


def test_policies_belong_to_the_call():
    grnf = fit_stream(GRNF(4, random_state=0, handle_unknown="error"), [labelled("C", "O")])
    before = dict(vars(grnf))
    strange = [labelled("C"), labelled("N")]
    ((block, _),) = embed_stream(grnf, strange, on_error="skip")
    assert block.ids == ["0"]
    ((block, bad),) = embed_stream(grnf, strange, handle_unknown="ignore")
    assert (block.ids, bad) == (["0", "1"], [])
    with pytest.raises(GraphError, match="graph 1: the node column 'symbol' has the value 'N'"):
        next(embed_stream(grnf, strange, on_error="raise"))
    assert vars(grnf) == before


def test_nothing_to_fit_on():
    with pytest.raises(GraphError, match=r"no graph that can be used$"):
        fit_stream(GRNF(4), [])
    for items, reason in (([BadGraph(None, 0, "cut off")], "cut off"), ([IMPOSSIBLE], "outside 0 .. 1")):
        with pytest.raises(GraphError, match=f"no graph that can be used: .*{reason}"):
            fit_stream(GRNF(4), items, on_error="nan")


def test_fit_sees_all_graphs_and_holds_few(monkeypatch):
    """As good as a fit on all: every attribute and category is shown, and no graph twice over."""
    held = []
    monkeypatch.setattr(GRNF, "_fit_samples", lambda self, graphs, *_: held.extend(graphs))

    def stream():
        for n in range(2000):
            kinds = np.array(["rare" if n == 1234 else "common"] * 3, dtype=object)
            yield RawGraph(3, np.array([[0, 1]]), {"kind": kinds, "x": np.zeros((3, 2))}, graph_id=str(n))
        yield RawGraph(3, np.array([[0, 1]]), edge_columns={"weight": np.ones(1)}, graph_id="weighted")

    fit_stream(GRNF(4, random_state=0, handle_unknown="error"), stream())
    assert [graph.graph_id for graph in held] == ["0", "1234", "weighted"]
    held.clear()
    read = iter(stream())
    fit_stream(GRNF(4, random_state=0), read)  # names and kinds of columns are all that there is to learn
    assert [graph.graph_id for graph in held] == ["0"]
    assert int(next(read).graph_id) < 1100


def test_streams_may_hold_graphs_of_any_kind():
    graphs = [nx.path_graph(3), nx.cycle_graph(4), nx.empty_graph(2)]
    for graph, kind in zip(graphs, "abb", strict=True):
        nx.set_node_attributes(graph, kind, "kind")
    grnf = fit_stream(GRNF(4, random_state=0), iter(graphs))
    assert grnf.encoder_.to_config() == GRNF(4).fit(graphs).encoder_.to_config()
    blocks = [block for block, _ in embed_stream(grnf, iter(graphs), block_size=2)]
    assert [block.ids for block in blocks] == [["0", "1"], ["2"]]
    np.testing.assert_array_equal(np.concatenate([block.Z for block in blocks]), grnf.transform(graphs))


def test_transform_blocks_is_the_same_stream():
    samples = [cycle(3), None, cycle(4), cycle(5), None, cycle(6)]
    grnf = GRNF(8, random_state=0, on_error="nan").fit([cycle(3)])
    blocks = list(grnf.transform_blocks(iter(samples), block_size=2))
    np.testing.assert_allclose(np.concatenate(blocks), grnf.transform(samples), rtol=1e-5, atol=1e-7)
    assert grnf.errors_ == []
    with pytest.raises(ValueError, match="block_size must be an integer >= 1"):
        next(grnf.transform_blocks(samples, block_size=0))
    grnf.set_params(on_error="raise")
    with pytest.raises(GraphError, match=r"graph 4: .* cannot be converted to a graph"):
        list(grnf.transform_blocks(samples[2:4] * 2 + samples[4:], block_size=2))


def test_blocks_are_dataframes_where_those_are_wanted():
    require("pandas")
    grnf = GRNF(4, random_state=0).fit([cycle(3)]).set_output(transform="pandas")
    for table in grnf.transform_blocks([cycle(3), cycle(4), cycle(5)], block_size=2):
        assert table.columns.tolist() == ["grnf0", "grnf1", "grnf2", "grnf3"]
