import numpy as np
import pytest

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


def clusters(kind, generator, n=240, M=30):
    """Vectors of which many are equal, or nearly so."""
    centres = generator.normal(size=(5, M))[generator.integers(0, 5, n)]
    noise = 1e-7 * generator.normal(size=(n, M))
    if kind == "copies":
        return centres
    if kind == "random":
        return generator.normal(size=(n, M))
    if kind == "near":
        return centres * (1 + noise)
    if kind == "one cluster":
        return centres[:1] * (1 + noise)
    if kind == "nested":  # copies of near vectors, nearer ones, and some far away
        near = centres[: n // 4] * (1 + noise[: n // 4])
        return np.concatenate([near, near, near * (1 + 1e-6 * noise[: n // 4]), centres[: n // 4]])
    if kind == "a line":
        return centres[:1] * (1 + 1e-4 * np.arange(n)[:, np.newaxis])
    sizes = np.where(np.arange(n) % 7, 1.0, 1e5)  # some are much longer than others
    return centres * (1 + noise) * sizes[:, np.newaxis]


KINDS = ["random", "copies", "near", "one cluster", "nested", "a line", "sizes"]


@pytest.mark.usefixtures("few_rows")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", KINDS)
def test_equal_and_nearly_equal_vectors(kind, dtype):
    Z = clusters(kind, np.random.default_rng(0)).astype(dtype)
    exact = Z.astype(np.float64)
    expected = np.sqrt(np.square(exact[:, np.newaxis] - exact).sum(axis=2))
    for D, wanted in (
        (pairwise_distances(Z), expected),
        (pairwise_distances(Z[:50], Z[50:]), expected[:50, 50:]),
        (pairwise_distances(Z[:50], exact[50:]), expected[:50, 50:]),
    ):
        np.testing.assert_allclose(D, wanted, rtol=1e-9)
        assert (D[wanted == 0] == 0).all()


def test_rows_of_nan_stay_nan():
    Z = clusters("nested", np.random.default_rng(0))
    expected = pairwise_distances(Z)
    Z[[3, 63]] = np.nan
    expected[[3, 63]] = expected[:, [3, 63]] = np.nan
    np.testing.assert_allclose(pairwise_distances(Z), expected, rtol=1e-9)
    assert np.isnan(pairwise_distances(Z[3:4], Z)).all()


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
        (lambda: pairwise_distances(np.ones((2, 3)), np.ones((2, 4))), "length 3 and 4"),
        (lambda: pairwise_kernels(np.ones((2, 3)), out=np.ones((3, 3))), r"out must have shape \(2, 2\)"),
        (lambda: distances_from_kernel(np.ones((2, 3))), "square Gram matrix"),
    ],
)
def test_bad_arguments_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
