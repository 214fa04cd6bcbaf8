"""
Duplicates
==========

`duplicate_groups` finds graphs that are isomorphic, including their attributes.
"""

import matplotlib.pyplot as plt
import networkx as nx

from grnf import GRNF
from grnf.search import duplicate_groups

graphs = [nx.gnm_random_graph(6, 6, seed=seed) for seed in range(60)]
found, _ = duplicate_groups(graphs, GRNF(random_state=0))
print(f"{len(found)} groups of duplicates, the largest has {max(map(len, found))} graphs")

# %%
# Three graphs of the largest group: the same graph, with its nodes numbered differently.
largest = max(found, key=len)
figure, axes = plt.subplots(1, 3, figsize=(8, 2.6), layout="constrained")
for axis, name in zip(axes, largest, strict=False):
    nx.draw_circular(
        graphs[int(name)], ax=axis, node_size=140, with_labels=True, font_size=8, node_color="#9ecae1"
    )
    axis.set_title(f"graph {name}")
