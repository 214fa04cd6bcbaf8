"""
Distances within and between classes
====================================

This example computes the distances of all pairs in a dataset with two classes: triangulations of random
points around two groups of seed points. The histograms of pairs within a class and between classes overlap
but differ. A classifier or a two-sample test uses this difference.
"""

import matplotlib.pyplot as plt
import numpy as np

from grnf import GRNF
from grnf.datasets import make_delaunay
from grnf.metric import pairwise_distances

graphs, y = make_delaunay(200, random_state=0)
Z = GRNF(2048, random_state=0).fit_transform(graphs)
D = pairwise_distances(Z)

# %%
# Histograms of pairs within a class and between classes:
first, second = np.triu_indices(len(graphs), 1)
same = y[first] == y[second]
pairs = D[first, second]
figure, axes = plt.subplots(figsize=(6, 3.5), layout="constrained")
bins = np.linspace(0, pairs.max(), 40)
axes.hist(pairs[same], bins, density=True, alpha=0.6, label="same class")
axes.hist(pairs[~same], bins, density=True, alpha=0.6, label="other class")
axes.set(xlabel="distance", ylabel="density")
axes.legend()
print(f"mean distance, same class {pairs[same].mean():.3f}, other class {pairs[~same].mean():.3f}")
