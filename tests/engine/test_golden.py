"""The overlapping basis reproduces what the authors' own code computed."""

from pathlib import Path

import numpy as np
import pytest

from grnf import Graph, GraphBatch
from grnf.activations import ACTIVATIONS
from grnf.basis import bell, positions
from grnf.engine import Engine
from grnf.law.parameters import Draw, OrderDraw, n_parameters

GOLDEN = Path(__file__).parents[1] / "data" / "authors_v0.2.0.npz"
"""Outputs of the authors' features with their weights: ReLU, before rho_i, not normalised, undirected graphs.

Keys: graph{i}_edges, graph{i}_num_nodes, graph{i}_x (attributes, for the cases Fn3 only); for Fn in {0, 3}
and k in {1, 2}: Fn{Fn}_k{k}_kernel_equiv (M, Bell(k + 2), F_h, F), _bias_equiv (1, M, Bell(k), F_h),
_kernel_inv (M, Bell(k), 1, F_h), _bias_inv (1, M, 1), _psi (graphs, M). Channels: node attributes, then the
adjacency.
"""

# The authors' operations in their order, as partitions of (output indices, node axes of A).
OPERATIONS = {
    1: ["000", "011", "001", "010", "012"],
    2: [
        *("0000", "0011", "0001", "0010", "0012"),  # on the diagonal: diagonal, trace, rows, columns, total
        *("0120", "0102", "0121", "0112"),  # along rows: columns, rows; along columns: columns, rows
        *("0101", "0110", "0100", "0111"),  # A, A transposed, diagonal along rows, along columns
        *("0122", "0123"),  # trace everywhere, total everywhere
    ],
}


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("node_width", [0, 3])
def test_authors_features(node_width, k):
    golden = np.load(GOLDEN)
    case = f"Fn{node_width}_k{k}"
    graphs = [
        Graph(
            int(golden[f"graph{i}_num_nodes"]),
            golden[f"graph{i}_edges"],
            golden[f"graph{i}_x"] if node_width else None,
        )
        for i in range(8)
    ]
    kernel = golden[f"{case}_kernel_equiv"]
    M, _, hidden, channels = kernel.shape
    ours = np.empty_like(kernel)
    for theirs, word in enumerate(OPERATIONS[k]):
        ours[:, positions(k + 2)[tuple(map(int, word))]] = kernel[:, theirs]
    parts = [
        ours,
        golden[f"{case}_bias_equiv"][0],
        golden[f"{case}_kernel_inv"][:, :, 0],
        golden[f"{case}_bias_inv"][0],
    ]
    theta = np.hstack([part.reshape(M, -1) for part in parts])
    assert theta.shape[1] == n_parameters(k, channels, hidden)
    assert len(OPERATIONS[k]) == bell(k + 2)
    draw = Draw(0, np.full(M, k), (OrderDraw(k, np.arange(M), theta, channels, hidden),))
    engine = Engine(ACTIVATIONS["relu"].code, "overlapping", False, True, np.float64)
    found = engine.sums(GraphBatch.from_graphs(graphs), draw)
    np.testing.assert_allclose(found, golden[f"{case}_psi"], rtol=1e-9)
