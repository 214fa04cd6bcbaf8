"""
Map of a dataset
================

`map_graphs` lays out a dataset by similarity. Its `write` method writes one interactive HTML page. Here we
draw its positions.
"""

import matplotlib.pyplot as plt

from grnf import map_graphs
from grnf.datasets import make_delaunay

graphs, y = make_delaunay(200, random_state=0)
made = map_graphs(graphs, y, differences=False, random_state=0)
print(f"neighborhood preservation: {made.kept.mean():.2f}")

# %%
# Points of the same class form groups, although the map does not use the classes.
figure, axis = plt.subplots(figsize=(5, 4.2), layout="constrained")
for label in sorted(set(y.tolist())):
    axis.scatter(*made.positions[y == label].T, s=14, label=f"class {label}")
axis.set_axis_off()
axis.legend()
