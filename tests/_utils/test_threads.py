"""How many threads there are, in processes of every kind."""

import multiprocessing
import warnings

import joblib

from grnf import GRNF, Graph
from grnf._utils.running import n_workers

GRAPH = Graph(3, [(0, 1), (1, 2)])


def vectors(n_jobs):
    warnings.simplefilter("error")
    return GRNF(4, random_state=0, n_jobs=n_jobs).fit_transform([GRAPH]).tolist(), n_workers(n_jobs)


def test_threads_inside_a_process_pool_without_a_warning():
    """A pool's processes are daemons, in which joblib starts no processes and warns of it."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        found = pool.map_async(vectors, [2, None]).get(timeout=120)
    assert found == [vectors(2), vectors(None)]
    assert [threads for _, threads in found] == [2, 1]


def test_joblib_may_give_the_number():
    with joblib.parallel_config(n_jobs=3):
        assert n_workers(None) == 3
