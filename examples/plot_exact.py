"""
Three distances of one pair
===========================

The exact distance needs no sampling. It belongs to infinitely many hidden channels. The distance of the paper
has four. It is estimated by random features, with the output weights integrated out, or by quasi-Monte Carlo.
"""

# %%
# Two random graphs with two blocks each, and the exact distance.
import matplotlib.pyplot as plt
import numpy as np

from grnf import GRNF, GraphBatch
from grnf.datasets import make_sbm
from grnf.law import ParameterLaw
from grnf.metric import exact_distance, marginal_distance
from grnf.metric.exact import ExactMetric
from grnf.metric.quasi import quasi_distances

orders = {1: 2 / 3, 2: 1 / 3}
g, h = make_sbm(2, random_state=0)[0]
exact = exact_distance(g, h).squared
print(f"exact squared distance, infinitely many hidden channels: {exact:.6f}")

# %%
# Estimates for four hidden channels, from 64 to 4,096 hidden samples, with their standard errors.
batch, metric = GraphBatch.from_graphs([g, h]), ExactMetric(ParameterLaw(orders))
sizes = [64, 128, 256, 512, 1024, 2048, 4096]
rows = {"random features": [], "output weights integrated out": [], "quasi-Monte Carlo": []}
for size in sizes:
    grnf = GRNF(size, orders=orders, random_state=1).fit([g, h])
    estimate = grnf.distance(g, h)
    rows["random features"].append((estimate.squared, estimate.standard_error))
    D, error = marginal_distance(grnf.hidden_sums([g, h]), return_error=True)
    rows["output weights integrated out"].append((D[0, 1] ** 2, error[0, 1]))
    quasi = quasi_distances(metric, batch, n_hidden=size, seed=1)
    rows["quasi-Monte Carlo"].append((quasi.values[0, 1], quasi.standard_errors[0, 1]))

# %%
# The estimates close in on the distance of four hidden channels, which is near the exact one but not equal.
figure, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
axes.axhline(1e3 * exact, color="black", linewidth=1, label="exact, infinitely many hidden channels")
for index, (name, values) in enumerate(rows.items()):
    value, error = 1e3 * np.array(values).T
    shift = 1.06 ** (index - 1)
    axes.errorbar(shift * np.array(sizes), value, 2 * error, fmt="o", markersize=4, capsize=2, label=name)
axes.set_xscale("log", base=2)
axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
axes.set(xlabel="hidden samples", ylabel="squared distance (1e-3), ± 2 standard errors")
axes.legend(frameon=False)
plt.show()
