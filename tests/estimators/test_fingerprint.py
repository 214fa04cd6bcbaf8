"""Hashed WL labels and joint vectors: what they estimate, and what they tell apart."""

import subprocess
import sys
import time
from itertools import pairwise

import numpy as np
import pytest

from grnf import GRNF, Graph, JointFeatures, WLFingerprint
from grnf.datasets import make_delaunay, make_sbm
from grnf.estimators import saved_transformer
from grnf.estimators.histograms import label_pairs, wl_labels
from grnf.graphs import GraphBatch
from optional import require
from random_graphs import random_graph

XYLENES = ["Cc1cccc(C)c1", "Cc1ccc(C)cc1"]
SMILES = [*XYLENES, "CCO", "CCCO", "CC(=O)O", "c1ccccc1", "C[N+](C)(C)C", "CC(=O)Oc1ccccc1C(=O)O"]
PRINT = """
import hashlib
from grnf import WLFingerprint
Z = WLFingerprint(64).fit_transform(["CCO", "c1ccccc1O"])
print(hashlib.sha256(Z.astype("<f4").tobytes()).hexdigest())
"""


def labelled(n_graphs=30, seed=0):
    generator = np.random.default_rng(seed)
    batch = [random_graph(generator, n, 1, 0, False) for n in generator.integers(0, 12, n_graphs)]
    return [Graph(g.n_nodes, g.edges, (g.node_attr > 0).astype(float)) for g in batch]


def test_products_estimate_the_share_of_labels_in_common():
    graphs = labelled()
    wide = WLFingerprint(2**15, depth=2).fit(graphs)
    batch = wide._batch(graphs)
    keys = np.stack(
        [label_pairs(batch, own, t)[0] for t, own in enumerate(wl_labels(batch, 2, *wide._columns[:2]))]
    )
    sets = [{0, *keys[:, a:b].ravel().tolist()} for a, b in pairwise(batch.node_ptr)]
    shared = np.array([[len(a & b) for b in sets] for a in sets], dtype=float)
    size = np.sqrt(np.diagonal(shared))
    Z = wide.transform(graphs)
    np.testing.assert_allclose(np.linalg.norm(Z, axis=1), 1, rtol=1e-6)
    assert np.abs(Z @ Z.T - shared / np.outer(size, size)).max() < 6 * 2**-7.5


@pytest.mark.slow
def test_equal_in_every_process():
    require("rdkit")
    run = subprocess.run([sys.executable, "-c", PRINT], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "6ec762e0a7ac2d4947985a45431d568c5e76343b9b9f70e892be6947f1b753b1"


@pytest.mark.parametrize(
    "transformer", [WLFingerprint(96), JointFeatures(96, random_state=0), JointFeatures(None, random_state=0)]
)
def test_order_and_company_change_nothing(transformer):
    graphs = labelled()
    Z = transformer.fit_transform(graphs)
    generator = np.random.default_rng(1)
    permuted = [graph.permuted(generator.permutation(graph.n_nodes)) for graph in graphs]
    np.testing.assert_allclose(transformer.transform(permuted), Z, atol=2e-5)
    np.testing.assert_allclose(transformer.transform(graphs[3:5]), Z[3:5], atol=1e-6)
    np.testing.assert_array_equal(saved_transformer(transformer.to_json()).transform(graphs), Z)
    assert list(transformer.get_feature_names_out()[:1]) == [f"{type(transformer).__name__.lower()}0"]


def test_joint_vectors_are_centered_and_scaled():
    graphs, _ = make_sbm(60, random_state=0)
    joint = JointFeatures(random_state=0)
    Z = joint.fit_transform(graphs)
    assert Z.shape == (60, 192)
    np.testing.assert_allclose(Z.mean(axis=0), 0, atol=1e-5)
    for part, weight in ((Z[:, :128], 2 / 3), (Z[:, 128:], 1 / 3)):
        np.testing.assert_allclose(np.square(part).sum(axis=1).mean(), weight, rtol=1e-4)


def test_labels_count_less_if_there_are_only_continuous_attributes():
    graphs, _ = make_delaunay(60, random_state=0)
    joint = JointFeatures(random_state=0)
    Z = joint.fit_transform(graphs)
    moved = Graph(graphs[0].n_nodes, graphs[0].edges, graphs[0].node_attr + 1)
    assert np.linalg.norm(joint.transform([moved]) - Z[0]) > 0.1
    for part, weight in ((Z[:, :48], 1 / 8), (Z[:, 48:], 7 / 8)):
        np.testing.assert_allclose(np.square(part).sum(axis=1).mean(), weight, rtol=1e-4)
    with_kinds = [Graph(g.n_nodes, g.edges, np.c_[g.node_attr, np.arange(g.n_nodes) % 2]) for g in graphs]
    Z = JointFeatures(random_state=0).fit_transform(with_kinds)
    np.testing.assert_allclose(np.square(Z[:, 128:]).sum(axis=1).mean(), 1 / 3, rtol=1e-4)


def test_main_column_and_combinations():
    """Labels start from the main column; combinations of all columns are further labels of depth 0."""
    kinds = [[0, 0, 1], [1, 0, 0]]
    graphs = [Graph(3, [(0, 1), (1, 2)], np.c_[np.eye(3)[own], [0, 2, 5]]) for own in kinds]
    fingerprint = WLFingerprint(depth=2).fit(graphs)
    keys, kept = fingerprint._keys(fingerprint._batch(graphs))
    assert keys.shape == (4, 6)
    assert kept.all()
    _, kept = WLFingerprint(depth=2, counts=False).fit(graphs)._keys(fingerprint._batch(graphs))
    assert kept.sum(axis=1).tolist() == [4, 6, 6, 6]
    keys, _ = WLFingerprint(depth=2, fine_depth=1).fit(graphs)._keys(fingerprint._batch(graphs))
    assert keys.shape == (5, 6)


def test_labels_that_fit_did_not_find_make_graphs_distant():
    """Without principal axes of the labels."""
    require("rdkit")
    known, new = ["CCO", "CCCO", "CCCCO", "CC(C)O", "CCC(C)O"], ["CCCCCO", "FC(F)(F)S(=O)(=O)Br"]
    unknown = JointFeatures(random_state=0).fit(known).transform(["CCBr", "CCI"])
    assert np.linalg.norm(unknown[0] - unknown[1]) > 0.1
    joint = JointFeatures(None, random_state=0).fit(known)
    D = np.linalg.norm(joint.transform(new)[:, np.newaxis] - joint.transform(known), axis=2).min(axis=1)
    assert D[1] > 1.5 * D[0]
    assert joint.n_components_ == 2112


@pytest.mark.parametrize(
    "graphs",
    [[Graph(3, [[0, 1]])], [Graph(0, [])] * 3, [Graph(2, [[0, 1]])] * 4, [Graph(0, []), Graph(4, [[0, 1]])]],
)
@pytest.mark.parametrize("n_components", [1, 5, 192, 2000])
def test_few_and_equal_graphs(graphs, n_components):
    joint = JointFeatures(n_components, random_state=0)
    assert joint.fit_transform(graphs).shape == (len(graphs), n_components)
    Z = joint.transform([Graph(5, [[0, 1], [1, 2]]), Graph(0, [])])
    assert np.isfinite(Z).all()
    assert n_components < 100 or np.linalg.norm(Z[0] - Z[1]) > 1e-3


def test_rounding_errors_of_copies_are_not_scaled_up():
    generator = np.random.default_rng(0)
    graph = random_graph(generator, 30, 2, 0, False)
    copies = [graph.permuted(generator.permutation(30)) for _ in range(20)]
    Z = JointFeatures(random_state=0).fit_transform(copies)
    assert np.abs(Z - Z[0]).max() < 1e-4


def test_molecules():
    require("rdkit")
    joint = JointFeatures(16, random_state=0, on_error="nan").fit(SMILES)
    Z = joint.transform(["CCO", "not a molecule"])
    assert np.isfinite(Z[0]).all()
    assert np.isnan(Z[1]).all()
    Z = JointFeatures(random_state=0).fit_transform(SMILES)
    D = np.linalg.norm(Z[:, np.newaxis] - Z, axis=2)
    assert 0.05 < D[0, 1] == D[0, 1:].min()  # the nearest of meta-xylene is para-xylene
    with pytest.raises(ValueError, match="n_components must be an integer >= 1 or None, got 0"):
        JointFeatures(0).fit(SMILES)


def test_as_fast_as_512_features():
    """CPU time, the smallest of several runs in turn."""
    graphs = [random_graph(np.random.default_rng(i), 25, 1, 0, False) for i in range(300)]
    transformers = [one.fit(graphs) for one in (WLFingerprint(512), GRNF(512, random_state=0))]
    batch, times = GraphBatch.from_graphs(graphs), []
    for _ in range(6):  # the first one compiles
        clocks = [time.process_time()]
        for transformer in transformers:
            transformer.transform(batch)
            clocks.append(time.process_time())
        times.append(np.diff(clocks))
    fingerprint, grnf = np.min(times, axis=0)
    assert fingerprint < grnf
