"""The arithmetic bound: the same numbers of multiply-adds and of pair (triple) terms, and nothing else."""

import threading

import numba
import numpy as np
from threadpoolctl import threadpool_limits

TILE = 512


def products(rows, columns, channels, density):
    """One matrix product of these shapes in single precision on one thread, in pieces that fit the cache."""
    step = 512
    X = np.ones((step, columns), np.float32)
    W = np.ones((columns, channels), np.float32)
    out = np.empty((step, channels), np.float32)
    with threadpool_limits(1):
        for _ in range(max(1, round(rows * density / step))):
            np.dot(X, W, out=out)


@numba.njit(nogil=True, fastmath={"contract"})
def pair_terms(sizes, channels):
    """Acc += max(a_i + b_j, 0) for all pairs of every graph and every channel: an add, a maximum, an add."""
    largest = sizes.max()
    a = np.ones((largest, TILE), np.float32)
    b = np.zeros((largest, TILE), np.float32)
    acc = np.zeros(TILE, np.float32)
    zero = np.float32(0)
    for start in range(0, channels, TILE):
        width = min(TILE, channels - start)
        for n in sizes:
            for i in range(n):
                for j in range(n):
                    for h in range(width):
                        acc[h] += max(a[i, h] + b[j, h], zero)
    return acc[0]


@numba.njit(nogil=True, fastmath={"contract"})
def triple_terms(sizes, channels, tile):
    """Acc += max(a_ij + b_k, 0) for all triples of every graph and every channel."""
    largest = sizes.max()
    a = np.ones((largest, tile), np.float32)
    b = np.zeros((largest, tile), np.float32)
    row = np.zeros(tile, np.float32)
    acc = np.zeros(tile, np.float32)
    zero = np.float32(0)
    for start in range(0, channels, tile):
        width = min(tile, channels - start)
        for n in sizes:
            for i in range(n):
                for j in range(n):
                    for h in range(width):
                        row[h] = a[i, h] + a[j, h]
                    for k in range(n):
                        for h in range(width):
                            acc[h] += max(row[h] + b[k, h], zero)
    return acc[0]


def in_threads(loop, arguments):
    """Run a loop once for each tuple of arguments, each in a thread of its own."""
    threads = [threading.Thread(target=loop, args=some) for some in arguments]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
