import json
import pickle

import networkx as nx
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from grnf import GRNF, Graph, GRNFClassifier, GrnfWarning, ReweightedGRNF
from grnf._utils.rules import rules_of
from grnf.features.psi import psi
from grnf.law import Gaussian, ParameterLaw, ScaleMixture, ShiftedPoisson, importance_weights
from grnf.metric import distance, required_dimension
from grnf.testing import check_graph_transformer
from random_graphs import cycle, random_graph


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"dtype": "float64", "center": False, "basis": "overlapping"},
        {"orders": ShiftedPoisson(0.3).restricted_to({1, 2, 3}), "hidden_activation": "sigmoid"},
        {"orders": ParameterLaw({1: 1.0}), "proposal": ParameterLaw({1: 1.0}, Gaussian(1.1))},
        {"n_jobs": 2, "normalize": False, "dtype": "float64"},
        {"heads": 4, "stratified": True, "activation": "erf"},
    ],
)
def test_scikit_learn_contract(settings):
    check_graph_transformer(GRNF(40, random_state=0, **settings))
    with pytest.raises(NotFittedError):
        GRNF(8, **settings).distance(cycle(3), cycle(4))


@pytest.mark.parametrize("heads", [1, 4])
def test_auto_takes_the_number_of_hidden_draws_from_eps_and_delta(heads):
    grnf = GRNF("auto", eps=0.5, delta=0.1, activation="sigmoid", heads=heads).fit([cycle(3)])
    needed = required_dimension(0.5, 0.1, activation="sigmoid")
    assert grnf.n_components_ == heads * needed
    assert grnf.transform([cycle(3)]).shape == (1, grnf.n_components_)
    assert len(grnf.get_feature_names_out()) == grnf.n_components_
    assert grnf.distance(cycle(3), cycle(4)).n_components == needed


def test_effective_sample_size_is_that_of_the_weights():
    some = [Graph(3, [(0, 1)], [1.0, 2.0, 3.0])]
    assert GRNF(50).fit(some).ess_ == 50
    assert GRNF(50, orders=ShiftedPoisson(0.5), proposal={1: 1.0}).fit(some).ess_ == pytest.approx(50)
    for proposal in (
        ParameterLaw({1: 0.3, 2: 0.7}),
        ParameterLaw({1: 0.3, 2: 0.7}, ScaleMixture({1: 0.9, 2: 0.1})),
    ):
        grnf = GRNF(200, proposal=proposal, heads=2, random_state=0).fit(some)
        draw = proposal.sample(100, channels=grnf.encoder_.channels().all, seed=0, heads=2)
        weights = importance_weights(grnf.target_law_, proposal, draw)
        assert grnf.ess_ == pytest.approx(weights.sum() ** 2 / np.square(weights).sum())
        assert grnf.ess_ < 200


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"heads": 3, "stratified": True},
        {"proposal": {1: 0.2, 2: 0.8}, "adjacency_channel": False},
        {"orders": ShiftedPoisson(0.3).restricted_to({1, 2, 3}), "hidden_channels": 2},
    ],
)
def test_what_was_drawn_is_visible(settings):
    """The parameters that are shown give the vectors by definition."""
    graph = Graph(4, [(0, 1), (1, 2), (2, 3)], [1.0, 2.0, 3.0, 4.0], [0.5, 0.0, 1.0])
    grnf = GRNF(12, random_state=3, dtype="float64", center=False, **settings).fit([graph])
    before, size = dict(vars(grnf)), len(pickle.dumps(grnf))
    draw, heads = grnf.random_weights_, settings.get("heads", 1)
    assert (len(draw), draw.n_heads) == (12 // heads, heads)
    np.testing.assert_array_equal(np.repeat(draw.orders, heads), grnf.orders_)
    A = graph.tensor(grnf.adjacency_channel)
    features = [psi(A, draw.feature(m, r), normalize=True) for m in range(len(draw)) for r in range(heads)]
    weights = importance_weights(grnf.target_law_, grnf.proposal_law_, draw)
    expected = np.sqrt(weights / 12) * features
    np.testing.assert_allclose(grnf.transform([graph])[0], expected, rtol=1e-9, atol=1e-12)
    assert (dict(vars(grnf)), len(pickle.dumps(grnf))) == (before, size)
    assert not hasattr(clone(grnf), "random_weights_")


def test_a_collapsed_proposal_is_told():
    far = ParameterLaw({1: 1.0}, Gaussian(2.0))
    with pytest.warns(GrnfWarning, match=r"effective sample size of the .* features is"):
        GRNF(256, orders={1: 1.0}, proposal=far, random_state=0).fit([cycle(3)])


def test_same_seed_same_bits_other_seed_other_vectors():
    some = [cycle(4), cycle(7)]
    a, b, c = (GRNF(64, random_state=s).fit_transform(some) for s in (1, 1, 2))
    np.testing.assert_array_equal(a, b)
    assert not np.allclose(a, c)
    generators = [GRNF(64, random_state=np.random.default_rng(0)).fit_transform(some) for _ in range(2)]
    np.testing.assert_array_equal(*generators)
    unset = GRNF(16).fit(some)
    np.testing.assert_array_equal(unset.transform(some), unset.transform(some))


def test_kernels_of_all_pairs_are_those_of_the_vectors():
    some = [cycle(n) for n in (3, 4, 6)]
    for center in (True, False):
        grnf = GRNF(64, random_state=0, center=center).fit(some)
        K = grnf.pairwise_kernels(some, some[:2])
        assert K.shape == (3, 2)
        assert K[2, 1] == pytest.approx(float(grnf.kernel(some[2], some[1])))
        np.testing.assert_allclose(grnf.pairwise_kernels(some)[:, :2], K, rtol=1e-12)
        D = grnf.pairwise_distances(some, some[:2])
        assert D[2, 1] == pytest.approx(grnf.distance(some[2], some[1]).value, rel=1e-4)
        np.testing.assert_allclose(grnf.pairwise_distances(some)[:, :2], D, atol=1e-3)


def test_distance_with_error_bars():
    grnf = GRNF(2048, random_state=0).fit([cycle(3)])
    estimate = grnf.distance(cycle(3), cycle(6))
    z1, z2 = grnf.transform([cycle(3), cycle(6)])
    assert estimate == distance(z1, z2)
    bounded = GRNF(64, orders=ShiftedPoisson(0.5), proposal=ShiftedPoisson(0.5).restricted_to({1, 2}))
    assert bounded.fit([cycle(3)]).distance(cycle(3), cycle(4)).largest_term == pytest.approx(
        4 * ShiftedPoisson(0.5).mass({1, 2})
    )
    weighted = GRNF(64, proposal=ParameterLaw({1: 0.5, 2: 0.5}, Gaussian(1.1))).fit([cycle(3)])
    with pytest.raises(ValueError, match="method must be 'clt'"):
        weighted.distance(cycle(3), cycle(4)).interval()


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"random_state": None},
        {"random_state": np.random.default_rng(0)},
        {"n_components": "auto", "eps": 0.9, "delta": 0.5},
        {"n_components": np.int64(7), "orders": ShiftedPoisson(0.1), "proposal": {1: 0.5, 2: 0.5}},
        {"orders": ParameterLaw({1: 1.0}, Gaussian(2.0))},
        {"proposal": ShiftedPoisson(0.5).restricted_to({1, 2})},
        {"heads": 3, "stratified": True, "handle_missing": "zero", "on_error": "nan"},
        {"proposal": ParameterLaw({1: 0.5, 2: 0.5}, ScaleMixture({1.0: 0.5, 1.5: 0.5}), stratified=True)},
    ],
)
def test_save_and_load(settings, tmp_path):
    some = [Graph(2, [(0, 1)], [1.0, 2.0], [3.0]), Graph(3, [(0, 2)], [1.0, 0.0, 2.0], [1.0])]
    grnf = GRNF(**{"n_components": 48, "random_state": 5, **settings}).fit(some)
    grnf.save(tmp_path / "grnf.json")
    again = GRNF.load(tmp_path / "grnf.json")
    np.testing.assert_array_equal(again.transform(some), grnf.transform(some))
    assert json.loads((tmp_path / "grnf.json").read_text())["fitted"]["seed"] == grnf.seed_
    again.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_text() == (tmp_path / "grnf.json").read_text()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["again.json", "grnf.json"]


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ("{", "invalid JSON"),
        ([], "is not a saved transformer"),
        ({"version": 99}, "version 99 of the format.*this release reads version 4. Update grnf"),
        ({"version": 2}, "version 2 of the format .*Make the file again"),
        ({"version": 4}, "is damaged"),
        (
            {
                "version": 4,
                "params": {"orders": {"law": "x"}, "proposal": None},
                "fitted": {"node_width": 0, "edge_width": 0, "seed": 0},
            },
            "encoder is missing",
        ),
        (" " * 32_000_001, "too large"),
    ],
)
def test_load_refuses_what_is_not_a_saved_transformer(state, message, tmp_path):
    state = {"format": "grnf-transformer", **state} if isinstance(state, dict) else state
    (tmp_path / "x.json").write_text(state if isinstance(state, str) else json.dumps(state))
    with pytest.raises(ValueError, match=message):
        GRNF.load(tmp_path / "x.json")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_components": 0}, "GRNF: n_components must be an integer >= 1 or 'auto', got 0. required_dim"),
        ({"n_components": "auto"}, "eps must be .* n_components='auto', got None"),
        ({"n_components": "auto", "eps": 1, "delta": 0.1, "activation": "relu"}, "be bounded, got 'relu'"),
        ({"orders": 2}, r"write \{k: 1.0\}"),
        ({"proposal": {1: 0.5}}, "must sum to 1"),
        ({"orders": ParameterLaw({1: 1.0}, hidden_channels=3)}, "must be 3, as in orders"),
        ({"hidden_activation": "swish"}, "must be 'identity', .* 'erf' or a grnf.Activation, got 'swish'"),
        ({"random_state": -1}, "random_state must be None, an integer >= 0 or a numpy Generator"),
        ({"n_jobs": 0}, "n_jobs must be an integer >= 1, an integer <= -1 or None, got 0"),
        ({"on_error": ["nan"]}, r"on_error must be 'raise' or 'nan', got \['nan'\]"),
        ({"heads": 3, "n_components": 64}, "n_components must be a multiple of heads"),
    ],
)
def test_bad_parameters_are_refused_at_fit(settings, message):
    grnf = GRNF(**settings)
    with pytest.raises(ValueError, match=message):
        grnf.fit([cycle(3)])


def test_numbers_of_numpy_are_numbers():
    settings = {"n_components": np.int64(8), "heads": np.int32(2), "hidden_channels": np.uint8(3)}
    flags = {"normalize": np.True_, "center": np.False_, "stratified": np.False_, "n_jobs": np.int64(1)}
    Z = GRNF(**settings, **flags, random_state=np.int64(5)).fit_transform([cycle(3)])
    expected = GRNF(8, heads=2, hidden_channels=3, center=False, random_state=5).fit_transform([cycle(3)])
    np.testing.assert_array_equal(Z, expected)


@pytest.mark.parametrize("kind", [GRNF, ReweightedGRNF])
def test_every_parameter_has_a_rule(kind):
    assert set(rules_of(kind)) == set(kind().get_params())
    for name in rules_of(kind):
        with pytest.raises(ValueError, match=f"^{kind.__name__}: {name} must be .*, got <object"):
            kind(**{name: object()}).fit([cycle(3), cycle(4)], [0, 1])


def test_orders_that_cost_too_much_are_left_out_with_a_word(tmp_path):
    generator, law = np.random.default_rng(0), ShiftedPoisson(0.5)
    graphs = [random_graph(generator, 30, 2, 0, False, 0.1) for _ in range(4)]
    settings = {"n_components": 512, "orders": law, "random_state": 0}
    with pytest.warns(GrnfWarning, match="orders above 2 would take more than max_seconds_per_graph=0.001"):
        cut = GRNF(**settings, max_seconds_per_graph=0.001).fit(graphs)
    assert cut.orders_.max() == 2
    assert cut.truncation_bias_ == pytest.approx(4 * (1 - law.mass({1, 2})))
    by_hand = GRNF(**settings, proposal=law.restricted_to({1, 2})).fit(graphs)
    np.testing.assert_array_equal(cut.transform(graphs), by_hand.transform(graphs))
    assert by_hand.truncation_bias_ == cut.truncation_bias_
    cut.save(tmp_path / "cut.json")
    np.testing.assert_array_equal(GRNF.load(tmp_path / "cut.json").transform(graphs), cut.transform(graphs))
    rich = GRNF(**settings, max_seconds_per_graph=1e6).fit(graphs)  # warnings are errors here
    assert rich.truncation_bias_ == 0
    assert (rich.orders_ == GRNF(**settings).fit(graphs).orders_).all()
    with pytest.raises(ValueError, match="max_seconds_per_graph"):
        GRNF(max_seconds_per_graph=0).fit(graphs)


def test_an_attribute_that_is_always_none_is_left_out_without_a_warning():
    """Warnings are errors in tests."""
    graphs, bare = ([nx.path_graph(n) for n in (3, 4, 5, 6)] for _ in range(2))
    for graph, other in zip(graphs, bare, strict=True):
        nx.set_node_attributes(graph, dict.fromkeys(graph), "name")
        nx.set_edge_attributes(graph, None, "kind")
        for one in (graph, other):
            nx.set_node_attributes(one, {v: float(v) for v in one}, "charge")
    for model in (GRNF(8, random_state=0), GRNFClassifier(8, random_state=0)):
        Z = model.fit(graphs, [0, 1, 0, 1]).transform(graphs)
        np.testing.assert_array_equal(model.transform(bare), Z)
        np.testing.assert_array_equal(model.fit(bare, [0, 1, 0, 1]).transform(bare), Z)
