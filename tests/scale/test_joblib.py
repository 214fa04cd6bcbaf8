"""`joblib.parallel_config("dask")` sends the work of estimators to a cluster."""

import os

import numpy as np
from joblib import parallel_config
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from grnf import GRNF
from grnf.datasets import make_sbm


def test_cross_validation_on_a_cluster(client):
    graphs, y = make_sbm(40, random_state=0)
    model = make_pipeline(GRNF(32, random_state=0), LogisticRegression())
    here = cross_val_score(model, graphs, y, cv=3)
    with client.as_current(), parallel_config("dask"):
        there = cross_val_score(model, graphs, y, cv=3)
        processes = cross_val_score(model, graphs, y, cv=3, scoring=lambda *_: os.getpid())
    np.testing.assert_array_equal(here, there)
    assert os.getpid() not in processes


def test_a_transformer_inside_such_a_config(client):
    graphs, _ = make_sbm(10, random_state=0)
    grnf = GRNF(16, random_state=0).fit(graphs)
    with client.as_current(), parallel_config("dask"):
        np.testing.assert_array_equal(grnf.transform(graphs), GRNF(16, random_state=0).fit_transform(graphs))
