"""
Prediction intervals
====================

`GRNFRegressor` predicts a number for each graph, with an interval for the true value.
"""

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

from grnf import GRNFRegressor

rng = np.random.default_rng(0)
graphs = [nx.gnp_random_graph(14, rng.uniform(0.15, 0.5), seed=seed) for seed in range(240)]
y = np.array([nx.transitivity(graph) for graph in graphs])
model = GRNFRegressor(random_state=0).fit(graphs[:160], y[:160])
low, high = model.predict_interval(graphs[160:], confidence=0.9).T
covered = np.mean((low <= y[160:]) & (y[160:] <= high))
print(f"R2 = {model.score(graphs[160:], y[160:]):.2f}, {100 * covered:.0f} % of the values inside")

# %%
# Each bar is the interval of a graph that the model was not trained on.
figure, axis = plt.subplots(figsize=(4.5, 4), layout="constrained")
axis.vlines(y[160:], low, high, color="#9ecae1")
axis.scatter(y[160:], model.predict(graphs[160:]), s=10, zorder=2)
axis.axline((0.3, 0.3), slope=1, color="0.6", linewidth=1)
axis.set(xlabel="transitivity", ylabel="predicted, with 90 % intervals")
