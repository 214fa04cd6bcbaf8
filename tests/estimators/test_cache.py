import pickle
import threading

import joblib
import numpy as np
import pytest
from sklearn.base import clone

import grnf.lifts
from grnf import GRNF, Graph, GraphBatch
from grnf.estimators.cache import EmbeddingCache, embedded_once, graph_hashes
from grnf.estimators.views import View
from grnf.io import AttributeEncoder, RawGraph
from grnf.law import Categorical, Gaussian, ParameterLaw, ScaleMixture, ShiftedPoisson
from grnf.lifts import Degree, Lift, NodeLift, Standardize, WeisfeilerLehman
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


def test_a_copy_is_empty():
    cache = EmbeddingCache(10_000)
    cache.rows("map", batch_of(cycle(3)), sizes)
    copy = pickle.loads(pickle.dumps(cache))
    assert (copy.max_bytes, copy.computed, len(copy._rows)) == (10_000, 0, 0)


def test_joblib_keeps_whole_batches(tmp_path):
    seen = []

    def embed(batch):
        seen.append(len(batch))
        return sizes(batch)

    two, one = batch_of(cycle(3), cycle(4)), batch_of(cycle(4))
    for location, expected in ((tmp_path, [2, 1, 2]), (None, [2, 1, 2, 2, 2])):
        memory = joblib.Memory(location, verbose=0)
        for key, batch in (("map", two), ("map", one), ("other map", two), ("map", two), ("map", two)):
            np.testing.assert_array_equal(embedded_once(memory, key, batch, embed)[:, 0], batch.sizes)
        assert seen[:3] == [2, 1, 2]
        assert len(seen) == len(expected)
        seen.clear()


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


DATA = batch_of(
    random_graph(np.random.default_rng(0), 5, 2, 1), random_graph(np.random.default_rng(1), 4, 2, 1)
)


def key(grnf=None, lifts=(), data=DATA):
    return View(lifts, GRNF(8, random_state=0) if grnf is None else grnf, data).key


def test_key_of_what_was_learnt():
    other = batch_of(random_graph(np.random.default_rng(2), 5, 2, 1))
    assert key(lifts=[Standardize()]) == key(lifts=[Standardize()])
    assert key(lifts=[Standardize()]) != key(lifts=[Standardize()], data=other)
    assert key(lifts=[WeisfeilerLehman()]) == key(lifts=[WeisfeilerLehman()], data=other)


LAWS = [
    {1: 0.5, 2: 0.5},
    {1: 0.5 + 1e-10, 2: 0.5 - 1e-10},
    Categorical({1: 0.5, 3: 0.5}),
    ShiftedPoisson(0.5),
    ShiftedPoisson(0.5 + 1e-10),
    ShiftedPoisson(0.5).restricted_to({1, 2}),
    ShiftedPoisson(0.5 + 1e-10).restricted_to({1, 2}),
    ShiftedPoisson(0.5).restricted_to({1, 2, 3}),
    *(
        ParameterLaw({1: 0.5, 2: 0.5}, coefficients, stratified=stratified)
        for stratified in (False, True)
        for coefficients in (
            Gaussian(1.0),
            Gaussian(1.0 + 1e-10),
            ScaleMixture({1.0: 0.5, 2.0: 0.5}),
            ScaleMixture({1.0: 0.5, 2.0 + 1e-10: 0.5}),
            ScaleMixture({1.0: 0.5 + 1e-10, 2.0: 0.5 - 1e-10}),
        )
    ),
]

CHANGED = {
    "n_components": [16, 24],
    "orders": LAWS,
    "proposal": LAWS[:8],
    "heads": [2, 4],
    "stratified": [True],
    "hidden_channels": [2],
    "hidden_activation": ["ramp", "tanh"],
    "activation": ["sigmoid", "relu"],
    "basis": ["overlapping"],
    "adjacency_channel": [False],
    "normalize": [False],
    "center": [False],
    "eps": [0.1, 0.1 + 1e-10],
    "delta": [0.1, 0.1 + 1e-10],
    "dtype": ["float64"],
    "random_state": [1, 2],
    "unseen": ["ignore"],
    "missing": ["zero"],
    "max_seconds_per_graph": [1.0, 2.0],
}


@pytest.mark.filterwarnings("ignore:the 8 features are worth")
@pytest.mark.parametrize("name", GRNF().get_params())
def test_parameters_of_the_map_that_differ_have_keys_that_differ(name):
    plain = {"n_components": 8, "random_state": 0}
    if name in ("n_jobs", "max_memory", "on_error"):  # they change no vector
        values = {"n_jobs": 2, "max_memory": "2GB", "on_error": "nan"}
        assert key(GRNF(**plain, **{name: values[name]})) == key()
        return
    models = [GRNF(**{**plain, name: value}) for value in CHANGED[name]]
    found = [key(model) for model in models]
    assert len({*found, key()}) == len(models) + 1
    assert [key(clone(model)) for model in models] == found


LIFTS = [lift for lift in map(vars(grnf.lifts).get, grnf.lifts.__all__) if lift not in (Lift, NodeLift)]
OTHERS = {
    "unseen": ["ignore"],
    "missing": ["zero"],
    "indicators": [True],
    "rounded": [True],
    "log": [False],
    "direction": ["in", "out"],
    "kind": ["mean", "count", "sum"],
    "hops": [1, 3],
    "depth": [1, 4],
    "dim": [4, 16],
    "limit": [100, 200],
    "columns": ["all"],
    "seed": [1, 2],
    "steps": [2, 3],
    "cutoff": [1, 2],
    "pairs": ["all"],
}


@pytest.mark.parametrize("make", LIFTS)
def test_lifts_that_differ_have_keys_that_differ(make):
    found = [key(), key(lifts=[make()]), key(lifts=[make(), Degree()]), key(lifts=[Degree(), make()])]
    for name, default in make().get_params().items():
        for value in OTHERS[name]:
            lift = make(**{name: value})
            try:
                lift.fit(DATA)
            except ValueError:  # kinds that another lift has
                continue
            if value != default:
                found.append(key(lifts=[lift]))
    assert len(set(found)) == len(found) - (make is Degree)  # Degree twice is the same either way


class Constant(NodeLift):
    """Adds a number, an array or whatever it is given."""

    def __init__(self, value=0.0):
        self.value = value

    def _columns(self, batch):
        return np.zeros((len(batch.node_attr), 1))


def test_keys_by_content():
    values = [
        *(0.1, 0.1 + 1e-12, "0.1", None, (0.1,), {"a": 1}, {"a": 2}),
        *(np.arange(2000.0), np.arange(2000.0) + 1e-9, np.arange(2000), np.arange(2000.0).reshape(2, -1)),
        *(np.array(["a", 1], dtype=object), np.array(["a", 2], dtype=object), [np.zeros(3)], [np.zeros(4)]),
    ]
    keys = [key(lifts=[Constant(value)]) for value in values]
    assert len(set(keys)) == len(values)
    assert [key(lifts=[Constant(pickle.loads(pickle.dumps(value)))]) for value in values] == keys


def test_another_class_of_the_same_name_is_another_lift():
    def made():
        made_here = type("Constant", (Constant,), {"__module__": __name__, "__qualname__": "Constant"})
        globals()["Constant"] = made_here  # as in a notebook whose cell is run again
        return made_here()

    first = Constant
    try:
        assert key(lifts=[made()]) != key(lifts=[made()])
    finally:
        globals()["Constant"] = first


def test_what_cannot_be_pickled_is_not_kept():
    lift = Constant(lambda: None)
    cache = EmbeddingCache(10_000)
    view = View([lift], GRNF(8, random_state=0), DATA)
    assert view.key is None
    np.testing.assert_array_equal(view.embed(DATA, cache), view.embed(DATA, cache))
    assert cache.computed == 0


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


def test_the_same_numbers_under_other_names_are_other_graphs():
    numbers = [np.array([1.0, 2.0]), np.array([1.0, 3.0])]
    edges = np.array([[0, 1]])
    given = [
        RawGraph(2, edges, {"charge": numbers[0]}),
        RawGraph(2, edges, {"mass": numbers[0]}),
        RawGraph(2, edges, {"charge": numbers[1]}),
        RawGraph(2, edges, {"kind": np.array(["a", "b"], dtype=object)}),
        RawGraph(2, edges, {"kind": np.array(["a", "c"], dtype=object)}),
        RawGraph(2, edges, {"kind": np.array(["a", "b"], dtype=object)}, {"weight": np.array([2.0])}),
    ]
    hashes = [
        graph_hashes(AttributeEncoder(unseen=unseen).fit([raw]).encode_batch([raw])[0])[0]
        for raw in given
        for unseen in ("open", "error")
    ]
    assert len(set(hashes)) == 9  # numbers are the same with either policy
