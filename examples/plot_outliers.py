"""
Outliers
========

`GRNFOutlierDetector` scores graphs by their distance to a reference sample, with p-values.
"""

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

from grnf.stats import GRNFOutlierDetector

reference = [nx.watts_strogatz_graph(16, 4, 0.1, seed=seed) for seed in range(300)]
normal = [nx.watts_strogatz_graph(16, 4, 0.1, seed=1000 + seed) for seed in range(40)]
odd = [nx.barabasi_albert_graph(16, 2, seed=seed) for seed in range(10)]
detector = GRNFOutlierDetector(random_state=0).fit(reference)
pvalues = detector.pvalues(normal + odd)
print(f"median p-value: {np.median(pvalues[:40]):.2f} of inliers, {np.median(pvalues[40:]):.3f} of outliers")

# %%
# p-values of inliers are spread evenly. Those of outliers are small.
figure, axis = plt.subplots(figsize=(5, 3), layout="constrained")
axis.scatter(range(40), pvalues[:40], s=18, label="small-world graphs, as in the reference")
axis.scatter(range(40, 50), pvalues[40:], s=18, label="scale-free graphs")
axis.set(xlabel="graph", ylabel="p-value", yscale="log")
axis.legend()
