"""What notebooks show of results, as HTML in which names are only text."""

import numpy as np
import pytest

from grnf import GRNF, GRNFClassifier
from grnf.datasets import make_sbm
from grnf.search import GraphIndex
from grnf.stats import GRNFOutlierDetector, evaluate, two_sample_test

GRAPHS, _ = make_sbm(24, random_state=0)
Z = GRNF(16, random_state=0).fit_transform(GRAPHS)
NAMES = [f"<b>{row}</b>" for row in range(24)]


def index():
    return GraphIndex().add(Z, NAMES)


SHOWN = {
    "index": (index, "<td>24</td><td>16</td>"),
    "hits": (lambda: index().search(Z[:3], 2), "&lt;b&gt;0&lt;/b&gt;"),
    "test": (lambda: two_sample_test(Z[:12], Z[12:], n_resamples=19, random_state=0), "p = "),
    "evaluation": (lambda: evaluate(Z[:12], Z[12:], n_resamples=19, random_state=0), "energy"),
    "outliers": (lambda: GRNFOutlierDetector().fit_detect(Z), "outliers among 24 graphs"),
    "estimator": (lambda: GRNFClassifier(n_components=64), "n_components"),
}


@pytest.mark.parametrize("name", SHOWN)
def test_a_notebook_shows_a_table(name):
    make, part = SHOWN[name]
    page = make()._repr_html_()
    assert part in page
    assert "<b>0</b>" not in page
    assert page.count("<table") == page.count("</table>") >= 1


def test_long_tables_are_cut():
    page = index().search(np.repeat(Z, 2, axis=0), 1)._repr_html_()
    assert page.count("<tr>") == 1 + 20 + 1
    assert "<td>...</td>" in page
