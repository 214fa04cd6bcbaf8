import numpy as np
import pytest
from scipy.spatial.distance import cdist

from grnf.metric import (
    distances_from_kernel,
    kernel_from_distances,
    pairwise,
    pairwise_distances,
    pairwise_kernels,
)


@pytest.fixture(params=[np.float32, np.float64])
def vectors(request):
    generator = np.random.default_rng(0)
    Z = generator.normal(size=(50, 30)) / 10
    Z[7] = Z[3]
    Z[8] = Z[3] + 1e-9
    return Z.astype(request.param)


@pytest.fixture(params=[2**25, 2000])
def few_rows(request, monkeypatch):
    monkeypatch.setattr(pairwise, "BYTES_OF_ROWS", request.param)


@pytest.mark.usefixtures("few_rows")
def test_pairwise_distances(vectors):
    expected = cdist(vectors.astype(float), vectors.astype(float))
    D = pairwise_distances(vectors)
    np.testing.assert_allclose(D, expected, rtol=1e-9, atol=1e-15)
    assert D[3, 7] == 0
    assert (np.diag(D) == 0).all()
    np.testing.assert_allclose(pairwise_distances(vectors[:4], vectors[4:]), expected[:4, 4:], rtol=1e-9)


@pytest.mark.usefixtures("few_rows")
def test_kernel(vectors):
    Z = vectors.astype(float)
    np.testing.assert_allclose(pairwise_kernels(vectors), Z @ Z.T, atol=1e-15)
    centred = Z - Z[0]
    np.testing.assert_allclose(pairwise_kernels(vectors, null=vectors[0]), centred @ centred.T, atol=1e-14)


def test_identities_between_distance_and_kernel(vectors):
    D, K = pairwise_distances(vectors), pairwise_kernels(vectors)
    np.testing.assert_allclose(distances_from_kernel(K), D, atol=1e-7)
    to_null = np.linalg.norm(vectors.astype(float), axis=1)
    np.testing.assert_allclose(kernel_from_distances(D, to_null), K, atol=1e-12)
    np.testing.assert_allclose(kernel_from_distances(D[:, :9], to_null, to_null[:9]), K[:, :9], atol=1e-12)


def test_results_can_go_to_a_memory_map(vectors, tmp_path):
    out = np.lib.format.open_memmap(tmp_path / "D.npy", "w+", np.float64, (50, 50))
    assert pairwise_distances(vectors, out=out) is out
    np.testing.assert_array_equal(out, pairwise_distances(vectors))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: pairwise_distances([1.0, 2.0]), "Z1 must be vectors"),
        (lambda: pairwise_distances(np.ones((2, 3)), np.ones((2, 4))), "length 3 and Z2 of length 4"),
        (lambda: pairwise_kernels(np.ones((2, 3)), out=np.ones((3, 3))), r"out must have shape \(2, 2\)"),
        (lambda: distances_from_kernel(np.ones((2, 3))), "square Gram matrix"),
    ],
)
def test_bad_arguments_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
