"""Channels by key: a vector does not depend on which other graphs, columns or categories there are."""

import subprocess
import sys
import textwrap

import numpy as np
import pytest

from grnf import GRNF, Graph
from grnf.graphs import GraphBatch, category_key, number_keys
from grnf.io import RawGraph
from grnf.io.encode import AttributeEncoder
from grnf.io.raw import RawBatch
from grnf.law import Gaussian, ParameterLaw


def atoms(generator, n, symbols, **columns):
    """A random graph with a column of categories."""
    edges = np.array([(i, j) for i in range(n) for j in range(i) if generator.random() < 0.3]).reshape(-1, 2)
    chosen = np.array(generator.choice(symbols, n), dtype=object)
    bonds = np.array(generator.choice(["single", "double"], len(edges)), dtype=object)
    return RawGraph(n, edges.astype(np.int64), {"symbol": chosen, **columns}, {"bond": bonds})


@pytest.fixture(scope="module")
def graphs():
    generator = np.random.default_rng(0)
    return [atoms(generator, n, list("CNOPS")) for n in (3, 5, 8, 5, 12, 1, 0)]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_vector_is_the_same_whatever_graphs_and_categories_are_around(graphs, dtype):
    close = {"rtol": 1e-4, "atol": 1e-6} if dtype == "float32" else {"rtol": 1e-11, "atol": 1e-14}
    grnf = GRNF(96, random_state=0, dtype=dtype).fit(graphs[:1])
    together = grnf.transform(graphs)
    strangers = [atoms(np.random.default_rng(1), 6, [f"x{i}" for i in range(300)]) for _ in range(20)]
    for place, graph in enumerate(graphs):
        alone = GRNF(96, random_state=0, dtype=dtype).fit_transform([graph])
        np.testing.assert_allclose(alone[0], together[place], **close)
        beside = GRNF(96, random_state=0, dtype=dtype).fit([*strangers, graph]).transform([*strangers, graph])
        np.testing.assert_allclose(beside[-1], together[place], **close)
    before = grnf.transform(strangers)
    np.testing.assert_array_equal(grnf.transform(strangers), before)
    np.testing.assert_allclose(grnf.transform(graphs), together, **close)  # more categories are kept by now


def test_columns_and_sides_tell_categories_apart():
    column = np.array(["C", "O"], dtype=object)
    edges = np.array([[0, 1]])
    kinds = [
        RawGraph(2, edges, {"symbol": column}),
        RawGraph(2, edges, {"element": column}),
        RawGraph(2, edges, {"symbol": column[::-1]}),
        RawGraph(2, edges, {"symbol": np.array(["C", "C"], dtype=object)}),
    ]
    z = [GRNF(256, random_state=0, dtype="float64").fit_transform([graph])[0] for graph in kinds]
    np.testing.assert_allclose(z[0], z[2], rtol=1e-12, atol=1e-14)  # isomorphic
    for one, other in ((0, 1), (0, 3), (1, 3)):
        assert np.linalg.norm(z[one] - z[other]) > 1e-3


def test_open_and_closed_vocabularies_give_the_same_vectors_for_known_categories(graphs):
    is_open, closed = (
        GRNF(128, random_state=3, handle_unknown=u, dtype="float64").fit(graphs) for u in ("open", "error")
    )
    np.testing.assert_allclose(is_open.transform(graphs), closed.transform(graphs), rtol=1e-10, atol=1e-12)
    assert closed.node_width_ == 5
    assert is_open.node_width_ == 0


def test_distances_have_the_law_of_one_hot_columns(graphs):
    """Open channels and unnamed one-hot matrices are two draws of one law: their estimates agree."""
    pair = graphs[2], graphs[4]
    encoder = AttributeEncoder().fit(graphs)
    one_hot = [Graph(g.n_nodes, g.edges, g.node_attr, g.edge_attr) for g in map(encoder.encode, pair)]
    estimates = [
        GRNF(20_000, random_state=seed, dtype="float64").fit(given).distance(*given)
        for seed, given in ((0, pair), (1, one_hot))
    ]
    first, second = (estimate.squared for estimate in estimates)
    assert abs(first - second) < 4 * np.hypot(*(estimate.standard_error for estimate in estimates))


def test_saved_and_loaded(graphs, tmp_path):
    grnf = GRNF(32, random_state=0).fit(graphs)
    grnf.save(tmp_path / "grnf.json")
    again = GRNF.load(tmp_path / "grnf.json")
    new = [atoms(np.random.default_rng(5), 5, ["Xe", "C"])]
    np.testing.assert_array_equal(again.transform([*graphs, *new]), grnf.transform([*graphs, *new]))
    with pytest.raises(ValueError, match=r"Fit again with handle_unknown='error'"):
        GRNF.load(tmp_path / "grnf.json", handle_unknown="error")


def test_a_proposal_with_another_law_of_coefficients_wants_a_closed_vocabulary(graphs):
    law = ParameterLaw({1: 0.5, 2: 0.5}, Gaussian(1.0))
    wider = ParameterLaw({1: 0.5, 2: 0.5}, Gaussian(1.01))
    with pytest.raises(ValueError, match="'symbol' must have a closed vocabulary"):
        GRNF(8, orders=law, proposal=wider, random_state=0).fit(graphs)
    assert GRNF(8, orders=law, proposal=wider, random_state=0, handle_unknown="ignore").fit(graphs).ess_ > 0


def test_encoded_batches_keep_what_their_channels_are(graphs):
    raws = RawBatch.of(graphs)
    batch, rows, errors = AttributeEncoder(handle_unknown="open").fit(raws).encode_batch(raws)
    assert rows == list(range(len(graphs)))
    assert errors == []
    grnf = GRNF(48, random_state=0, dtype="float64").fit(graphs)
    Z = grnf.transform(graphs)
    again = GRNF(48, random_state=0, dtype="float64").fit(batch)
    np.testing.assert_array_equal(again.transform(batch), Z)
    listed = GRNF(48, random_state=0, dtype="float64").fit_transform(list(batch))  # Graph records with keys
    np.testing.assert_allclose(listed, Z, rtol=1e-10, atol=1e-12)
    assert category_key("node", "symbol", "C") in batch.node_codes.keys
    other = GraphBatch(
        np.array([0, 2]), np.array([0, 0]), np.empty((0, 2), np.int64), np.ones((2, 1)), np.empty((0, 0)),
        np.zeros(1, bool), node_keys=number_keys("node", 1, "charge"),
    )  # fmt: skip
    with pytest.raises(ValueError, match="another encoder"):
        GRNF(8, random_state=0).fit([Graph(2, [], [[1.0], [2.0]])]).transform(other)


def test_a_bad_graph_among_many_is_named_and_the_others_are_encoded(graphs):
    bad = RawGraph(2, np.array([[0, 5]]), {"symbol": np.array(["C", "O"], dtype=object)})
    worse = RawGraph(2, np.array([[0, 1]]), {"symbol": np.array([1.0, 2.0])}, {"bond": np.array(["a"])})
    grnf = GRNF(16, random_state=0).fit(graphs)
    embedding = grnf.embed([*graphs, bad, *graphs, worse], on_error="skip")
    assert [row for row, _ in embedding.errors] == [7, 15]
    assert "names a node outside" in embedding.errors[0][1]
    assert "must hold categories, as in fit, got numbers" in embedding.errors[1][1]
    np.testing.assert_array_equal(embedding.vectors[:7], grnf.transform(graphs))


MANY = """
import numpy as np
from grnf import GRNF
from grnf.io import RawGraph
rng = np.random.default_rng(0)
def graph(start):
    labels = np.array([f"label {i}" for i in range(start, start + 10)], dtype=object)
    edges = np.column_stack([np.arange(9), np.arange(1, 10)])
    return RawGraph(10, edges, {"label": labels})
graphs = [graph(10 * i) for i in range(10_000)]  # 100,000 categories
Z = GRNF(16, random_state=0).fit_transform(graphs)
alone = GRNF(16, random_state=0).fit_transform(graphs[5_000:5_001])
assert np.allclose(Z[5_000], alone[0], rtol=1e-4, atol=1e-6)
assert len(np.unique(Z.round(6), axis=0)) == len(Z)
import pathlib, resource
status = pathlib.Path("/proc/self/status")  # getrusage would begin with the peak of the parent
lines = status.read_text().splitlines() if status.exists() else []
peaks = [int(line.split()[1]) for line in lines if line.startswith("VmHWM")]
print(*peaks or [resource.getrusage(resource.RUSAGE_SELF).ru_maxrss])
"""


@pytest.mark.slow
def test_100_000_categories_in_bounded_memory():
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(MANY)], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    scale = 1 if sys.platform == "darwin" else 1024
    assert int(run.stdout) * scale < 1.5e9
