"""Random numbers: those of features, computed from their position, and generators for everything else.

The numbers of features come from Philox4x32-10 (Salmon et al. 2011, "Parallel random numbers: as easy as
1, 2, 3"). It passes all of TestU01 and needs only 32-bit multiplications, so it runs in vector registers.
It maps a counter of four words and a key of two words to four random words. Here the key is made of the seed
and a stream, and the counter holds a position, a feature and a 64-bit channel key. Any number can therefore
be computed alone, and adding features or channels changes no other number.

The Box-Muller transform turns 128 random bits into two normal numbers of at most 9.5 in absolute value. It
uses polynomials with an error below 1e-10, and operations that IEEE 754 defines to the last bit, so that all
machines give the same numbers.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from grnf._utils.jit import exact, inlined
from grnf._utils.rules import Instance, Int, OneOf, Rule, checked
from grnf.typing import FloatArray, IntArray, Keys

SEED_RULES: tuple[Rule | str, ...] = (
    OneOf(None),
    Int(0),
    Instance("a numpy Generator or RandomState", np.random.Generator, np.random.RandomState),
)

_u64 = np.uint64

ROUNDS = 10
MULTIPLIERS = _u64(0xD2511F53), _u64(0xCD9E8D57)
KEY_STEPS = _u64(0x9E3779B9), _u64(0xBB67AE85)
"""Constants of Philox4x32."""

LOW, HALF = _u64(2**32 - 1), _u64(32)
"""The low 32 bits of a word of 64 bits, and their number."""

SIGN, FRACTION, FRACTION_BITS = _u64(2**63), _u64(2**52 - 1), _u64(52)
"""The fields of a float64."""

ONE, TWO_52 = _u64(0x3FF << 52), _u64(0x433 << 52)
"""The bits of 1.0 and of 2.0**52."""

ROOT_HALF = _u64(0x3FE6A09E667F3BCD)
"""The bits of sqrt(1/2)."""

TILE = 512
"""Numbers computed in one vectorized loop: their words stay in the first-level cache."""


def fill_normals(seed: int, stream: int, features: IntArray, keys: Keys, out: FloatArray) -> None:
    """Write standard normal numbers to `out`, which has the shape (positions, channels, features).

    A number depends on the seed, the stream, its position, the key of its channel and the number of its
    feature, and on nothing else. Features and streams are below 2^32.
    """
    words = np.empty((3, len(keys), len(features)), dtype=np.uint32)
    words[0] = features
    words[1] = (keys & LOW)[:, np.newaxis]
    words[2] = (keys >> HALF)[:, np.newaxis]
    _fill_normals(*_key(seed, stream), words.reshape(3, -1), out.reshape(len(out), -1))


def uniforms(seed: int, stream: int, features: IntArray) -> FloatArray:
    """Return a uniform number in [0, 1) for each feature."""
    x, _ = _philox(_u64(0), features.astype(np.uint64), _u64(0), _u64(0), *_key(seed, stream))
    return np.asarray((x >> _u64(11)) * 2.0**-53)


def page_generator(seed: int, page: int, stream: int = 0, channel: int = 0) -> np.random.Generator:
    """Return a numpy generator for what is not a feature. The numbers of different places never overlap."""
    key = np.random.SeedSequence(seed).generate_state(2, np.uint64)
    counter = np.array([0, channel, stream, page], dtype=np.uint64)
    return np.random.Generator(np.random.Philox(key=key, counter=counter))


def draw_seed(random_state: Any) -> int:
    """Turn a `random_state` (None, int, RandomState or Generator) into one integer seed."""
    random_state = checked(random_state, "random_state", *SEED_RULES)
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1, np.uint64)[0] >> 1)
    if isinstance(random_state, int):
        return random_state
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63 - 1))
    return int(random_state.randint(2**31 - 1))


@lru_cache(maxsize=256)
def _key(seed: int, stream: int) -> tuple[np.uint64, np.uint64]:
    first, second = np.random.SeedSequence(seed, spawn_key=(stream,)).generate_state(2, np.uint32)
    return _u64(first), _u64(second)


def _philox(c0: Any, c1: Any, c2: Any, c3: Any, k0: Any, k1: Any) -> tuple[Any, Any]:
    """Return the 128 random bits of a counter as two numbers. Arguments are 32-bit words in uint64.

    The upper halves of intermediate words hold bits without meaning, which the masks drop. NumPy runs it on
    arrays. In kernels it is inlined, since the loop around it is vectorized only then.
    """
    for _ in range(ROUNDS):
        first, second = MULTIPLIERS[0] * (c0 & LOW), MULTIPLIERS[1] * (c2 & LOW)
        c0, c1, c2, c3 = (second >> HALF) ^ c1 ^ k0, second, (first >> HALF) ^ c3 ^ k1, first
        k0, k1 = (k0 + KEY_STEPS[0]) & LOW, (k1 + KEY_STEPS[1]) & LOW
    return (c0 << HALF) | (c1 & LOW), (c2 << HALF) | (c3 & LOW)


_inlined_philox = inlined(_philox)


@exact
def _fill_normals(k0: Any, k1: Any, words: Any, out: FloatArray) -> None:
    positions, count = out.shape
    unused: FloatArray = np.empty(TILE)
    for start in range(0, count, TILE):
        stop = min(count, start + TILE)
        feature, low, high = words[0, start:stop], words[1, start:stop], words[2, start:stop]
        for position in range(0, positions, 2):
            first, second = out[position, start:stop], unused
            if position + 1 < positions:
                second = out[position + 1, start:stop]
            _fill_pairs(k0, k1, _u64(position), feature, low, high, first, second)


@exact
def _fill_pairs(
    k0: Any, k1: Any, position: Any, feature: Any, low: Any, high: Any, first: FloatArray, second: FloatArray
) -> None:
    """Write two normal numbers for each counter: a loop without branches, so it is vectorized."""
    for j in range(len(feature)):
        x, y = _inlined_philox(position, _u64(feature[j]), _u64(low[j]), _u64(high[j]), k0, k1)
        first[j], second[j] = _box_muller(x, y)


@inlined
def _box_muller(x: Any, y: Any) -> tuple[Any, Any]:
    """Return two normal numbers from 128 random bits.

    The radius is sqrt(-2 log u) with u = (x + 1/2) / 2^64. The angle lies in the first quadrant, and the two
    upper bits of y are the signs of the cosine and the sine.
    """
    # u 2^64 = m 2^e with m in [sqrt(1/2), sqrt(2)), and log m = 2 artanh(s)
    shifted = np.float64(np.float64(x) + 0.5).view(np.uint64) + (ONE - ROOT_HALF)
    e = _u64((shifted >> FRACTION_BITS) | TWO_52).view(np.float64) - (2.0**52 + 1023)
    m = _u64((shifted & FRACTION) + ROOT_HALF).view(np.float64)
    s = (m - 1.0) / (m + 1.0)
    z = s * s
    p = 0.8000076934475038 + z * (0.5707010207563262 + z * 0.4723271819829197)
    log_m_twice = s * (4.000000000016719 + z * (1.3333333049497504 + z * p))
    radius = np.sqrt((64.0 - e) * 1.3862943611198906 - log_m_twice)
    # cosine and sine of t pi/2, times sqrt(1/2), from which those of (t + 1/2) pi/2 follow
    t = _u64(((y >> _u64(10)) & FRACTION) | ONE).view(np.float64) - 1.5
    z = t * t
    p = 0.17937121408272208 + z * (-0.014750296599659405 + z * 0.0006389615334079628)
    cosine = 0.7071067811529524 + z * (-0.8723580182352189 + z * p)
    p = 0.05635116565556333 + z * (-0.003310155114670894 + z * 0.00011186875007124252)
    sine = t * (1.1107207345347856 + z * (-0.456765592788438 + z * p))
    one, other = radius * (cosine - sine), radius * (cosine + sine)
    one = _u64(np.float64(one).view(np.uint64) ^ (y & SIGN)).view(np.float64)
    other = _u64(np.float64(other).view(np.uint64) ^ ((y << _u64(1)) & SIGN)).view(np.float64)
    return one, other
