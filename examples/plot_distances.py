"""
Distances within and between classes
====================================

This example computes the distances of all pairs of 90 graphs. They have 20 nodes and about 40 edges each,
and come from three families: small-world, random and scale-free graphs. Dark blocks on the diagonal show
that graphs of a family are near each other.
"""

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

from grnf import GRNF
from grnf.metric import pairwise_distances

families = {
    "small world": [nx.watts_strogatz_graph(20, 4, 0.1, seed=seed) for seed in range(30)],
    "random": [nx.gnm_random_graph(20, 40, seed=seed) for seed in range(30)],
    "scale-free": [nx.barabasi_albert_graph(20, 2, seed=seed) for seed in range(30)],
}
graphs = [graph for family in families.values() for graph in family]
family = np.repeat(list(families), 30)
D = pairwise_distances(GRNF(2048, random_state=0).fit_transform(graphs))

# %%
# All distances, and the share of graphs whose nearest graph is of the same family:
figure, axes = plt.subplots(figsize=(5.2, 4.2), layout="constrained")
image = axes.imshow(D, cmap="viridis")
axes.set_xticks([15, 45, 75], families)
axes.set_yticks([15, 45, 75], families, rotation=90, va="center")
axes.grid(False)
figure.colorbar(image, label="distance")
np.fill_diagonal(D, np.inf)
print(f"nearest graph of the same family: {100 * np.mean(family == family[D.argmin(axis=1)]):.0f} %")
