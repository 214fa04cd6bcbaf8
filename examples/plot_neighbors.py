"""
Nearest neighbors
=================

An index finds the nearest graphs of a dataset exactly, with a confidence interval for each distance.
"""

import matplotlib.pyplot as plt
import networkx as nx

from grnf import GRNF
from grnf.search import GraphIndex

graphs = [nx.powerlaw_cluster_graph(14, 2, p, seed=seed) for seed in range(40) for p in (0.1, 0.9)]
index = GraphIndex(GRNF(4096, orders={1: 0.3, 2: 0.3, 3: 0.4}, random_state=0), keep_graphs=True).add(graphs)
hits = index.search(graphs[:1], n_neighbors=4, confidence=0.95)

# %%
# The first graph is the query itself. Below each graph are the distance and its 95 % interval.
figure, axes = plt.subplots(1, 4, figsize=(9, 2.8), layout="constrained")
for axis, hit in zip(axes, hits.records(), strict=True):
    graph = graphs[int(hit["id"])]
    layout = nx.spring_layout(graph, seed=0)
    nx.draw(graph, layout, ax=axis, node_size=40, width=0.8, node_color="C0", edge_color="0.6")
    axis.set_title(f"{hit['distance']:.3f}\n{hit['low']:.3f} to {hit['high']:.3f}", y=-0.25, fontsize=9)
    print(f"graph {hit['id']}: distance {hit['distance']:.3f}")
