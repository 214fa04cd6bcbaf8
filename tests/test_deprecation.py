"""Old public names work, with a warning that tells the new ones."""

import numpy as np
import pytest

from grnf import GRNF, Graph, ReweightedGRNF, metric
from grnf.io import RawGraph
from random_graphs import cycle

GRAPHS = [cycle(3), cycle(4), Graph(2, [])]


def test_the_matrix_of_kernels():
    Z = np.array([[1.0, 0.0], [1.0, 2.0]])
    with pytest.warns(FutureWarning, match=r"grnf.metric.kernel is now grnf.metric.pairwise_k"):
        np.testing.assert_array_equal(metric.kernel(Z, null=Z[0]), metric.pairwise_kernels(Z, null=Z[0]))
    grnf = ReweightedGRNF(4, n_candidates=64, random_state=0).fit(GRAPHS, [0, 1, 0])
    with pytest.warns(FutureWarning, match="kernel_matrix is now pairwise_kernels") as told:
        K = grnf.kernel_matrix(GRAPHS, GRAPHS[:1])
    np.testing.assert_array_equal(K, grnf.pairwise_kernels(GRAPHS, GRAPHS[:1]))
    assert told[0].filename == __file__


def test_chunks_of_hidden_sums():
    grnf = GRNF(8, random_state=0).fit(GRAPHS)
    with pytest.warns(FutureWarning, match="hidden_sums_blocks is now hidden_sums_chunks"):
        (chunk,) = grnf.hidden_sums_blocks(GRAPHS)
    assert chunk.n_features == 8


def test_policies_of_a_fitted_transformer():
    carbon, strange = (
        RawGraph(1, np.empty((0, 2), int), {"symbol": np.array([s], dtype=object)}) for s in ("C", "Xe")
    )
    grnf = GRNF(4, random_state=0, unseen="error").fit([carbon])
    with pytest.warns(FutureWarning, match="with_policies is now embed"):
        lenient = grnf.with_policies(unseen="ignore")
    assert (lenient is grnf, grnf.unseen, grnf.missing) == (True, "ignore", "error")
    assert np.isfinite(grnf.transform([strange])).all()
