"""
Differences between two graphs
==============================

`compare` finds the edits that turn one graph into another, and bounds on the graph edit distance.
"""

import matplotlib.pyplot as plt
import networkx as nx

from grnf import compare

before = nx.krackhardt_kite_graph()
after = before.copy()
after.remove_edge(0, 3)
after.add_edges_from([(9, 6), (10, 9)])
result = compare(before, after)
print(result)

# %%
# Both graphs in one layout. Removed edges are red, added ones blue.
layout = nx.kamada_kawai_layout(nx.compose(before, after))
figure, axes = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained")
for side, (axis, graph) in enumerate(zip(axes, (before, after), strict=True)):
    marks = result.marks(side)
    colors = {"remove": "#d55e00", "add": "#56b4e9", None: "0.8"}
    kinds = [marks.get((i, j), marks.get((j, i))) for i, j in graph.edges]
    nodes = [colors[marks.get((i,))] for i in graph]
    options = {"node_size": 160, "width": 2.5, "with_labels": True, "font_size": 8}
    nx.draw(graph, layout, ax=axis, node_color=nodes, edge_color=[colors[kind] for kind in kinds], **options)
