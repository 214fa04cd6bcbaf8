"""The laws that stand for the authors' code v0.1.0, against what that code does, written out densely."""

from itertools import product

import numpy as np
import pytest
from experiments.authors import (
    DIAGONAL_AND_ROW,
    EDGE_TERMS,
    ORDERS,
    FirstVersion,
    WithoutEdgeTerms,
    first_version_features,
)

from grnf.basis.partitions import positions
from grnf.features import Embedder, FeatureMap
from grnf.graphs import Graph, GraphBatch
from grnf.law import ParameterLaw


@pytest.fixture(scope="module")
def graphs():
    """Graphs without self-loops and with two node attributes, of 1 to 9 nodes."""
    generator = np.random.default_rng(0)
    made = []
    for n in (1, 2, 3, 5, 9):
        pairs = np.argwhere(np.triu(generator.random((n, n)) < 0.5, 1))
        made.append(Graph(n, pairs, node_attr=generator.standard_normal((n, 2))))
    return made


def dense(graph, group):
    """The features of one order as v0.1.0 computes them: tensors of all terms, each divided by n."""
    n, x = graph.n_nodes, np.asarray(graph.node_attr)
    A = np.zeros((n, n, 3))
    A[np.arange(n), np.arange(n), :2] = x
    for i, j in graph.edges:
        A[i, j, 2] = A[j, i, 2] = 1
    diagonal = A[np.arange(n), np.arange(n)] / n
    rows, columns = A.sum(axis=1) / n, A.sum(axis=0) / n
    trace, total = diagonal.sum(axis=0), A.sum(axis=(0, 1)) / n**2
    everywhere = np.ones((n, 1))
    if group.k == 1:
        parts = {
            (0, 0, 0): diagonal,
            (0, 1, 1): everywhere * trace,
            (0, 0, 1): rows,
            (0, 1, 0): columns,
            (0, 1, 2): everywhere * total,
        }
        terms = np.stack([parts[gamma] for gamma in positions(3)])
        hidden = np.einsum("enf,medf->mnd", terms, group.equivariant) + group.equivariant_bias[:, :1]
        sums = np.maximum(hidden, 0).sum(axis=1)[:, np.newaxis] / n
    else:
        on_diagonal = np.eye(n)[:, :, np.newaxis]
        down, across = [lambda v: np.repeat(v[:, np.newaxis], n, 1), lambda v: np.repeat(v[np.newaxis], n, 0)]
        parts = {
            (0, 0, 0, 0): on_diagonal * down(diagonal),
            (0, 0, 1, 1): on_diagonal * trace,
            (0, 0, 0, 1): on_diagonal * down(rows),
            (0, 0, 1, 0): on_diagonal * down(columns),
            (0, 0, 1, 2): on_diagonal * total,
            (0, 1, 2, 0): down(columns),
            (0, 1, 0, 2): down(rows),
            (0, 1, 2, 1): across(columns),
            (0, 1, 1, 2): across(rows),
            (0, 1, 0, 1): np.zeros_like(A),
            (0, 1, 1, 0): np.zeros_like(A),
            (0, 1, 0, 0): down(diagonal),
            (0, 1, 1, 1): across(diagonal),
            (0, 1, 2, 2): np.broadcast_to(trace, A.shape),
            (0, 1, 2, 3): np.broadcast_to(total, A.shape),
        }
        terms = np.stack([parts[gamma] for gamma in positions(4)])
        hidden = np.einsum("enlf,medf->mnld", terms, group.equivariant)
        hidden += on_diagonal * group.equivariant_bias[:, 0, np.newaxis, np.newaxis]
        hidden = np.maximum(hidden, 0)
        inside = np.einsum("mnnd->md", hidden)
        sums = np.stack([inside / n, (hidden.sum(axis=(1, 2)) - inside) / n**2], axis=1)
    return np.einsum("mid,mid->m", sums, group.invariant) + group.invariant_bias


def test_first_version_is_the_code_written_out(graphs):
    Z = first_version_features(GraphBatch.from_graphs(graphs), 128, seed=3, hidden_channels=4)
    keys = GraphBatch.from_graphs(graphs).channels().all
    draw = ParameterLaw(ORDERS).sample(128, channels=keys, seed=3)
    assert {group.k for group in draw.groups} == {1, 2}
    for row, graph in zip(Z, graphs, strict=True):
        for group in draw.groups:
            np.testing.assert_allclose(row[group.features], dense(graph, group), rtol=2e-5, atol=2e-5)


def test_the_laws_leave_the_draw_they_change_alone():
    plain = ParameterLaw(ORDERS)
    before = plain.sample(64, channels=3, seed=1)
    for law in (WithoutEdgeTerms(ORDERS), FirstVersion(ORDERS)):
        changed = law.sample(64, channels=3, seed=1)
        np.testing.assert_array_equal(changed.orders, before.orders)
        for one, other in zip(before.groups, changed.groups, strict=True):
            np.testing.assert_array_equal(one.invariant, other.invariant)
            if one.k == 2:
                assert not other.equivariant[:, [positions(4)[term] for term in EDGE_TERMS]].any()
            for _, row in DIAGONAL_AND_ROW[one.k]:  # the edge channel is never moved
                place = np.s_[:, positions(one.k + 2)[row], :, -1]
                np.testing.assert_array_equal(one.equivariant[place], other.equivariant[place])
    after = plain.sample(64, channels=3, seed=1)
    np.testing.assert_array_equal(after.groups[0].theta, before.groups[0].theta)


def test_without_edge_terms_order_2_sees_degrees_only():
    joined = [
        Graph(6, [(0, 1), (0, 2), (0, 3), (1, 4), (2, 5)]),
        Graph(6, [(0, 1), (0, 3), (0, 4), (1, 2), (2, 5)]),  # the same degrees, joined otherwise
    ]
    batch = GraphBatch.from_graphs(joined)
    distances = {}
    for law_class, basis in product((ParameterLaw, WithoutEdgeTerms), ("indicator", "overlapping")):
        law = law_class(ORDERS)
        z = Embedder(FeatureMap(law, law, 256, 0, basis=basis, dtype=np.float64))(batch)
        distances[law_class, basis] = np.linalg.norm(z[0] - z[1])
    assert distances.pop((WithoutEdgeTerms, "overlapping")) < 1e-12
    assert min(distances.values()) > 1e-4
