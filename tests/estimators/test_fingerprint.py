"""Hashed WL labels, alone and next to whitened GRNF."""

import subprocess
import sys

import numpy as np
import pytest

from grnf import GRNF, Graph, GraphError, JointFeatures, WLFingerprint
from grnf.datasets import make_sbm
from grnf.estimators.histograms import LabelColumns, label_pairs, wl_labels
from grnf.graphs import GraphBatch

MOLECULES = ["Cc1cccc(C)c1", "Cc1ccc(C)cc1", "CCO", "CCCO", "CC(=O)O", "c1ccccc1", "CCN(CC)CC", "O=C=O"]


@pytest.mark.parametrize("kind", [WLFingerprint, JointFeatures])
def test_saved_transformers_give_the_same_vectors(kind, tmp_path):
    fitted = kind().fit(MOLECULES)
    expected = fitted.transform([*MOLECULES, "CCBr"])  # no graph of fit has bromine
    fitted.save(tmp_path / "vectors.json")
    np.testing.assert_array_equal(
        kind.load(tmp_path / "vectors.json").transform([*MOLECULES, "CCBr"]), expected
    )
    again = kind.from_json(fitted.to_json())
    assert again.to_json() == fitted.to_json()
    assert expected.dtype == np.float32
    assert fitted.get_feature_names_out().shape == (expected.shape[1],)


def test_hashes_are_the_same_in_every_process():
    code = (
        "import zlib; from grnf import WLFingerprint; "
        "print(zlib.crc32(WLFingerprint(64).fit_transform(['CCO', 'CC(=O)O']).tobytes()))"
    )
    printed = {
        subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout for _ in "ab"
    }
    assert len(printed) == 1


def test_products_estimate_the_histogram_intersection_kernel():
    graphs, _ = make_sbm(12, random_state=0)
    fitted = WLFingerprint(4096).fit(graphs)
    Z = fitted.transform(graphs)
    batch = GraphBatch.from_graphs(graphs)
    columns = LabelColumns.of(batch.node_attr, batch.node_codes)
    edges = LabelColumns.of(batch.edge_attr, batch.edge_codes)
    sets = [{0} for _ in graphs]
    for depth, labels in enumerate(wl_labels(batch, 3, columns, edges)):
        keys = label_pairs(batch, labels, depth)
        for own, start, stop in zip(sets, batch.node_ptr, batch.node_ptr[1:], strict=False):
            own |= set(keys[start:stop].tolist())
    exact = [[len(a & b) / np.sqrt(len(a) * len(b)) for b in sets] for a in sets]
    np.testing.assert_allclose(np.linalg.norm(Z, axis=1), 1, rtol=1e-5)
    assert np.abs(Z @ Z.T - exact).max() < 5 / np.sqrt(4096)


def test_xylenes_differ_and_numbering_does_not():
    Z = JointFeatures().fit_transform([*MOLECULES, "c1cc(C)cc(C)c1"])
    assert np.linalg.norm(Z[0] - Z[1]) > 0.1
    assert np.linalg.norm(Z[0] - Z[-1]) < 1e-4


def test_joint_vectors_are_centered_with_equal_weights():
    graphs, _ = make_sbm(60, random_state=0)
    Z = JointFeatures(GRNF(128, random_state=0)).fit_transform(graphs).astype(np.float64)
    assert Z.shape == (60, 192)
    np.testing.assert_allclose(Z.mean(axis=0), 0, atol=1e-5)
    for part in (Z[:, :128], Z[:, 128:]):
        np.testing.assert_allclose(np.square(part).sum(axis=1).mean(), 0.5, rtol=1e-4)


@pytest.mark.parametrize(
    "graphs",
    [[Graph(0, [])], [Graph(3, [(0, 1)])], [Graph(4, [(0, 1), (1, 2)])] * 5, [Graph(0, []), Graph(1, [])]],
    ids=["empty", "one", "identical", "tiny"],
)
def test_degenerate_collections(graphs):
    fitted = JointFeatures().fit(graphs)
    Z = fitted.transform([*graphs, Graph(6, [(0, 1), (1, 2), (2, 0)])])
    assert np.isfinite(Z).all()
    assert np.abs(Z).max() < 100
    assert np.linalg.norm(Z[-1] - Z[0]) > 1e-2


def test_lengths_and_errors():
    graphs, _ = make_sbm(10, random_state=0)
    assert JointFeatures(GRNF(8, random_state=0), n_components=30).fit(graphs).n_components_ == 30
    with pytest.raises(ValueError, match="transformer must be a GRNF"):
        JointFeatures("joint").fit(graphs)
    with pytest.raises(GraphError):
        JointFeatures().fit(["not a molecule"])
