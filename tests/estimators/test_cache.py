import threading

import numpy as np

from grnf import Graph, GraphBatch
from grnf.estimators.cache import EmbeddingCache, graph_hashes, state_hash
from grnf.lifts import Standardize, WeisfeilerLehman
from random_graphs import cycle, random_graph


def batch_of(*graphs):
    return GraphBatch.from_graphs(graphs)


def sizes(batch):
    return np.column_stack([batch.sizes, np.diff(batch.edge_ptr)]).astype(float)


def test_computes_each_graph_once():
    cache = EmbeddingCache(10_000)
    seen = []

    def embed(batch):
        seen.append(len(batch))
        return sizes(batch)

    first = batch_of(cycle(3), cycle(4), cycle(3))
    np.testing.assert_array_equal(cache.rows(b"map", first, embed), sizes(first))
    second = batch_of(cycle(5), cycle(4))
    np.testing.assert_array_equal(cache.rows(b"map", second, embed), sizes(second))
    np.testing.assert_array_equal(cache.rows(b"map", second, embed), sizes(second))
    assert seen == [2, 1]
    assert cache.computed == 3
    cache.rows(b"other map", second, embed)
    assert seen == [2, 1, 2]
    cache.clear()
    cache.rows(b"map", second, embed)
    assert cache.computed == 2


def test_is_bounded_and_drops_what_was_not_used_lately():
    cache = EmbeddingCache(4 * 16)
    for n in range(3, 9):
        cache.rows(b"map", batch_of(cycle(n)), sizes)
        cache.rows(b"map", batch_of(cycle(3)), sizes)  # used all the time
    assert cache._bytes <= 64
    before = cache.computed
    cache.rows(b"map", batch_of(cycle(3), cycle(8)), sizes)
    assert cache.computed == before
    cache.rows(b"map", batch_of(cycle(4)), sizes)
    assert cache.computed == before + 1


def test_different_graphs_have_different_hashes():
    some = [
        Graph(2, [(0, 1)]),
        Graph(2, [(1, 0)]),
        Graph(2, [(0, 1)], directed=True),
        Graph(3, [(0, 1)]),
        Graph(2, []),
    ]
    generator = np.random.default_rng(0)
    attributed = [random_graph(generator, 4, 1, 1) for _ in range(5)]
    hashes = [*graph_hashes(batch_of(*some)), *graph_hashes(batch_of(*attributed))]
    assert len(set(hashes)) == 10
    assert graph_hashes(batch_of(some[0], some[0]))[0] == graph_hashes(batch_of(some[0]))[0]


def test_hash_of_what_was_learnt():
    data = batch_of(random_graph(np.random.default_rng(0), 5, 2))
    other = batch_of(random_graph(np.random.default_rng(1), 5, 2))
    assert state_hash(Standardize().fit(data)) == state_hash(Standardize().fit(data))
    assert state_hash(Standardize().fit(data)) != state_hash(Standardize().fit(other))
    assert state_hash(WeisfeilerLehman().fit(data)) == state_hash(WeisfeilerLehman().fit(other))
    assert state_hash(WeisfeilerLehman(2).fit(data)) != state_hash(WeisfeilerLehman(3).fit(data))


def test_threads():
    cache = EmbeddingCache(500)
    graphs = [cycle(n) for n in range(3, 23)]
    wrong = []

    def work(seed):
        for index in np.random.default_rng(seed).integers(0, 20, (50, 4)):
            part = batch_of(*(graphs[i] for i in index))
            if not np.array_equal(cache.rows(b"map", part, sizes), sizes(part)):
                wrong.append(index)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
