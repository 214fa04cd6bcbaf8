"""
Two-sample test
===============

`two_sample_test` decides whether two samples of graphs come from the same distribution. The p-value is valid
for every sample size.
"""

import matplotlib.pyplot as plt
import networkx as nx

from grnf.stats import two_sample_test

shares = [0.0, 0.01, 0.02, 0.03, 0.05]
reference = [nx.watts_strogatz_graph(20, 4, 0.1, seed=seed) for seed in range(60)]
pvalues = []
for share in shares:
    other = [nx.watts_strogatz_graph(20, 4, 0.1 + share, seed=1000 + seed) for seed in range(60)]
    pvalues.append(two_sample_test(reference, other, random_state=0).pvalue)
    print(f"rewiring 0.1 against {0.1 + share:.2f}: p = {pvalues[-1]:.3f}")

# %%
# The p-value falls as more edges are rewired.
figure, axis = plt.subplots(figsize=(5, 3), layout="constrained")
axis.semilogy([0.1 + share for share in shares], pvalues, "o-")
axis.axhline(0.05, color="0.6", linewidth=1)
axis.set(xlabel="rewiring probability of the second sample", ylabel="p-value")
