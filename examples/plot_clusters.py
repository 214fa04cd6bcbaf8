"""
Clusters
========

`GraphClusterer` puts graphs within a radius of a central graph into one cluster (Butina).
"""

import matplotlib.pyplot as plt
import networkx as nx

from grnf.search import GraphClusterer

families = {
    "trees": [nx.random_labeled_tree(12, seed=seed) for seed in range(20)],
    "rings": [nx.watts_strogatz_graph(12, 4, 0.05, seed=seed) for seed in range(20)],
    "cliques": [nx.connected_caveman_graph(3, 4) for _ in range(20)],
}
graphs = [graph for members in families.values() for graph in members]
clusterer = GraphClusterer(radius=1.0).fit(graphs)
for start, name in zip(range(0, 60, 20), families, strict=True):
    print(f"{name}: clusters {sorted(set(clusterer.labels_[start : start + 20].tolist()))}")

# %%
# The number of members of each cluster.
figure, axis = plt.subplots(figsize=(5, 2.6), layout="constrained")
sizes = sorted((clusterer.labels_ == label).sum() for label in set(clusterer.labels_.tolist()))[::-1]
axis.bar(range(len(sizes)), sizes)
axis.set(xlabel="cluster, by size", ylabel="graphs", xticks=range(0, len(sizes), 2))
