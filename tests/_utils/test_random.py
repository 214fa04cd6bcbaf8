"""Random numbers of features: Philox as published, normal, independent, and the same on every machine."""

import math
import os
import subprocess
import sys

import numpy as np
import pytest
from scipy import stats

from grnf._utils.random import _box_muller, _philox, fill_normals, uniforms

KEYS = np.array([0, 1, 2, 2**32, 2**64 - 1], dtype=np.uint64)


def normals(count, keys, features, seed=0, stream=0):
    """Numbers by position, channel and feature."""
    out = np.empty((count, len(keys), len(features)))
    fill_normals(seed, stream, np.asarray(features), np.asarray(keys, np.uint64), out)
    return out


def assert_uncorrelated(x, y, bound=4.5):
    """The correlations of the numbers and of their squares are those of independent numbers."""
    for one, other in ((x, y), (x**2, y**2), (x, y**2), (np.sign(x), np.sign(y))):
        found = np.corrcoef(one.ravel(), other.ravel())[0, 1]
        assert abs(found) < bound / np.sqrt(one.size)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ((0, 0, 0, 0, 0, 0), 0x6627E8D5_E169C58D_BC57AC4C_9B00DBD8),
        ((0xFFFFFFFF,) * 6, 0x408F276D_41C83B0E_A20BC7C6_6D5451FD),
        (
            (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344, 0xA4093822, 0x299F31D0),
            0xD16CFE09_94FDCCEB_5001E420_24126EA1,
        ),
    ],
)
def test_philox_gives_the_numbers_of_its_authors(words, expected):
    """The known answers of Random123 for philox4x32 with 10 rounds."""
    high, low = _philox(*(np.array([word], np.uint64) for word in words))
    assert (int(high[0]) << 64) | int(low[0]) == expected


@pytest.mark.parametrize("bits", [64, 40, 20, 8, 0])
def test_box_muller_is_accurate_to_the_end_of_the_tail(bits):
    """Compared with the logarithm, cosine and sine of the standard library; the farthest number is 9.49."""
    generator = np.random.default_rng(0)
    for _ in range(200):
        x, y = int(generator.integers(2**64 - 1, dtype=np.uint64)) >> (64 - bits), generator.bytes(8)
        y = int.from_bytes(y, "little")
        radius = math.sqrt(-2 * math.log((x + 0.5) / 2**64))
        angle = math.pi / 2 * (y % 2**62) / 2**62
        one = radius * math.cos(angle) * (-1 if y >> 63 else 1)
        other = radius * math.sin(angle) * (-1 if y >> 62 & 1 else 1)
        found = _box_muller.py_func(np.uint64(x), np.uint64(y))
        np.testing.assert_allclose(found, [one, other], rtol=0, atol=1e-9)
    assert math.hypot(*_box_muller.py_func(np.uint64(0), np.uint64(y))) == pytest.approx(
        math.sqrt(130 * math.log(2))
    )
    assert _box_muller.py_func(np.uint64(2**64 - 1), np.uint64(y)) == (0, 0)


def test_counter_holds_position_feature_and_channel():
    key = np.random.SeedSequence(3, spawn_key=(2,)).generate_state(2, np.uint32)
    found = normals(7, KEYS, range(3), seed=3, stream=2)
    for position in (0, 2, 6):
        for channel, name in enumerate(KEYS.tolist()):
            words = (position, 1, name % 2**32, name >> 32, *key.tolist())
            x, y = _philox(*(np.array([word], np.uint64) for word in words))
            expected = _box_muller.py_func(x[0], y[0])
            pair = found[position : position + 2, channel, 1]
            np.testing.assert_array_equal(pair, expected[: len(pair)])


PRINT = """
import hashlib, numpy as np
from grnf._utils.random import fill_normals, uniforms
out = np.empty((9, 3, 1001))
fill_normals(5, 1, np.arange(1001), np.array([0, 7, 2**63], np.uint64), out)
print(hashlib.sha256(out.tobytes() + uniforms(5, 2, np.arange(1001)).tobytes()).hexdigest())
"""


@pytest.mark.slow
def test_every_machine_gives_the_same_bits(tmp_path):
    """With all instructions of this machine, and with the common ones alone: short vectors, no FMA."""
    plain = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}
    found = set()
    for number, settings in enumerate(({}, plain)):
        settings = {**os.environ, **settings, "NUMBA_CACHE_DIR": str(tmp_path / str(number))}
        run = subprocess.run(
            [sys.executable, "-c", PRINT], env=settings, capture_output=True, text=True, check=True
        )
        found.add(run.stdout.strip())
    assert found == {"8e3577bb70e279c39f03f29976174cc167c5bb09777b4678701da4f4a5652695"}


def test_a_number_depends_on_its_place_alone():
    whole = normals(8, KEYS, range(700), seed=5, stream=1)
    for count, channels, features in [
        (1, [4, 0], [699, 3]),
        (5, [2], range(100, 650)),
        (8, [], [1]),
        (7, [1, 3], [0]),
    ]:
        part = normals(count, KEYS[channels], features, seed=5, stream=1)
        np.testing.assert_array_equal(part, whole[:count][:, channels][:, :, list(features)])
    few = uniforms(5, 1, np.array([3, 900]))
    np.testing.assert_array_equal(few, uniforms(5, 1, np.arange(1000))[[3, 900]])


SAMPLE = normals(20, range(50), range(2000), seed=1)  # 2 million numbers


def test_moments_are_those_of_the_normal_distribution():
    z = SAMPLE.ravel()
    for power, (mean, variance) in {1: (0, 1), 2: (1, 2), 3: (0, 15), 4: (3, 96), 6: (15, 10170)}.items():
        assert np.mean(z**power) == pytest.approx(mean, abs=4 * math.sqrt(variance / z.size))


def test_distribution_is_normal():
    z = SAMPLE.ravel()
    assert stats.kstest(z, "norm").pvalue > 0.001
    edges = np.concatenate([[-np.inf], stats.norm.ppf(np.arange(1, 1000) / 1000), [np.inf]])
    counts, _ = np.histogram(z, edges)
    assert stats.chisquare(counts).pvalue > 0.001
    for values in (SAMPLE[0], SAMPLE[1], SAMPLE[:, 7], SAMPLE[:, :, 11]):
        assert stats.kstest(values.ravel(), "norm").pvalue > 0.001


def test_tails_are_those_of_the_normal_distribution():
    """Frequencies beyond 3, 4 and 5 in 100 million numbers; the farthest are as far as they should be."""
    beyond, largest, count = np.zeros(3), 0.0, 0
    for seed in range(10):
        z = np.abs(normals(100, range(100), range(1000), seed=seed))
        beyond += [np.count_nonzero(z > limit) for limit in (3, 4, 5)]
        largest, count = max(largest, z.max()), count + z.size
    expected = count * 2 * stats.norm.sf([3, 4, 5])
    assert (np.abs(beyond - expected) < 4 * np.sqrt(expected)).all()
    assert 5.3 < largest < 7


@pytest.mark.parametrize("lag", [1, 2, 3, 7])
def test_neighbors_are_independent(lag):
    """Neighbors by position, channel and feature, the two numbers of a pair among them."""
    assert_uncorrelated(SAMPLE[lag:], SAMPLE[:-lag])
    assert_uncorrelated(SAMPLE[:, lag:], SAMPLE[:, :-lag])
    assert_uncorrelated(SAMPLE[:, :, lag:], SAMPLE[:, :, :-lag])


def test_seeds_streams_and_distant_keys_are_independent():
    one = normals(20, range(10), range(1000))
    for other in (
        normals(20, range(10), range(1000), seed=1),
        normals(20, range(10), range(1000), seed=2**32),
        normals(20, range(10), range(1000), stream=1),
        normals(20, np.arange(10, dtype=np.uint64) << np.uint64(32), range(1, 1001)),
        normals(20, range(10), 2**31 + np.arange(1000)),
        normals(20, np.arange(10, dtype=np.uint64) + np.uint64(2**63), range(1000)),
    ):
        assert_uncorrelated(one, other)
    seeds = np.array([normals(2, [0], range(50), seed=seed).ravel() for seed in range(2000)])
    assert_uncorrelated(seeds[1:], seeds[:-1])
    assert stats.kstest(seeds.ravel(), "norm").pvalue > 0.001


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_pairs_of_neighbors_fill_the_square(axis):
    """Two neighbors along each axis are uniform on a grid of 32 x 32 cells."""
    u = stats.norm.cdf(np.moveaxis(SAMPLE, axis, 0))
    pairs = (u[:-1:2].ravel(), u[1::2].ravel())
    counts, _, _ = np.histogram2d(*pairs, bins=32, range=[[0, 1], [0, 1]])
    assert stats.chisquare(counts.ravel()).pvalue > 0.001


def test_uniform_numbers():
    u = uniforms(0, 0, np.arange(1_000_000))
    assert u.min() >= 0
    assert u.max() < 1
    assert stats.kstest(u, "uniform").pvalue > 0.001
    counts, _, _ = np.histogram2d(u[:-1:2], u[1::2], bins=32, range=[[0, 1], [0, 1]])
    assert stats.chisquare(counts.ravel()).pvalue > 0.001
    assert_uncorrelated(u[1:] - 0.5, u[:-1] - 0.5)
