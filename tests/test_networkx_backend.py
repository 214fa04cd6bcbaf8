"""The networkx backend, by the tests that networkx has for these functions, and what it declines."""

import os
import subprocess
import sys
from importlib.metadata import entry_points

import pytest

from grnf import networkx_backend
from optional import require

nx = require("networkx")

TESTS = (
    "networkx.algorithms.tests.test_similarity",
    "networkx.algorithms.isomorphism.tests.test_isomorphism",
)


@pytest.mark.slow
def test_networkx_tests_pass():
    if "grnf" not in entry_points(group="networkx.backends").names:
        pytest.skip("the entry point is not installed: pip install --editable .")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull, "--pyargs"]
    done = subprocess.run(
        [*command, *TESTS],
        env=os.environ | {"NETWORKX_TEST_BACKEND": "grnf", "NETWORKX_FALLBACK_TO_NX": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert " passed" in done.stdout


@pytest.mark.parametrize(
    ("name", "graphs", "options", "reason"),
    [
        ("graph_edit_distance", (nx.path_graph(3), nx.path_graph(4)), {}, None),
        ("graph_edit_distance", (nx.path_graph(3), nx.path_graph(101)), {}, "at most 100 nodes"),
        ("graph_edit_distance", (nx.path_graph(3), nx.Graph([(0, 0)])), {}, "self-loops"),
        ("graph_edit_distance", (nx.path_graph(3), nx.MultiGraph()), {}, "parallel edges"),
        ("graph_edit_distance", (nx.path_graph(3), nx.path_graph(3)), {"roots": (0, 0)}, "roots"),
        ("is_isomorphic", (nx.path_graph(3), nx.path_graph(3)), {"edge_match": max}, "edge_match"),
        ("is_isomorphic", (nx.Graph(), nx.DiGraph()), {}, "both graphs must be directed"),
        (
            "graph_edit_distance",
            (nx.complete_graph(30), nx.complete_graph(30)),
            {"edge_match": max},
            "at most 500 edges",
        ),
    ],
)
def test_calls_of_another_meaning_are_declined(name, graphs, options, reason):
    answer = networkx_backend.can_run(name, graphs, options)
    assert answer is True if reason is None else reason in answer


def test_upper_bound_timeout_and_equal_results():
    g, h = nx.gnp_random_graph(6, 0.5, seed=1), nx.gnp_random_graph(7, 0.4, seed=2)
    found = networkx_backend.graph_edit_distance(g, h)
    assert found == nx.graph_edit_distance(g, h)
    assert networkx_backend.graph_edit_distance(g, h, upper_bound=found - 1) is None
    assert networkx_backend.graph_edit_distance(g, h, timeout=1e-9) >= found
    regular = [nx.random_regular_graph(3, 20, seed=s) for s in (1, 2)]
    assert networkx_backend.is_isomorphic(*regular) == nx.is_isomorphic(*regular)
    assert networkx_backend.is_isomorphic(g, g)
