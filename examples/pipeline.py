"""
scikit-learn pipeline
=====================

Embed, scale and classify graphs in a scikit-learn Pipeline, with parameters chosen by cross-validation.

Run it with ``python examples/pipeline.py``.
"""

# sphinx_gallery_thumbnail_path = 'figures/accuracy.svg'

import argparse

from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from grnf import GRNF
from grnf.datasets import make_delaunay


def main(n_graphs=300, n_components=512):
    graphs, y = make_delaunay(n_graphs, random_state=0)
    train, test, y_train, y_test = train_test_split(graphs, y, test_size=0.3, random_state=0, stratify=y)
    pipeline = Pipeline(
        [
            ("grnf", GRNF(n_components, random_state=0)),
            ("scale", StandardScaler(with_std=False)),
            ("classify", SVC()),
        ]
    )
    # `memory=` would keep the vectors between settings of the classifier. Here, embedding again is quick.
    search = GridSearchCV(pipeline, {"classify__C": [1, 10, 100]}, cv=3).fit(train, y_train)
    accuracy = search.score(test, y_test)
    print(f"C = {search.best_params_['classify__C']}, accuracy on {len(test)} new graphs: {accuracy:.3f}")
    return accuracy


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n-graphs", type=int, default=300)
    parser.add_argument("--n-components", type=int, default=512)
    main(**vars(parser.parse_args()))
