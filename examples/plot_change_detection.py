"""
Change detection in a stream
============================

`ChangeDetector` raises an alarm when a stream of graphs no longer follows the distribution of a reference.
The probability of any false alarm, however long the stream is, is at most `alpha`.
"""

import matplotlib.pyplot as plt
import networkx as nx

from grnf.stats import ChangeDetector

reference = [nx.gnp_random_graph(15, 0.2, seed=seed) for seed in range(100)]
stream = [nx.gnp_random_graph(15, 0.2, seed=1000 + seed) for seed in range(60)]
stream += [nx.gnp_random_graph(15, 0.3, seed=2000 + seed) for seed in range(60)]
detector = ChangeDetector(alpha=0.01, random_state=0).fit(reference)

evidence = []
for graph in stream:
    update = detector.update([graph])
    evidence += list(update.evidence)
    if update.alarm is not None:
        alarm = update.alarm
        print(f"change at graph 60, alarm at graph {alarm.graph}, estimated change at graph {alarm.change}")
        break

# %%
# The evidence (the logarithm of the wealth of betting strategies) grows after the change.
figure, axis = plt.subplots(figsize=(6, 3), layout="constrained")
axis.plot(evidence)
axis.axvline(60, color="0.6", linewidth=1)
axis.axhline(alarm.threshold, color="C1", linewidth=1)
axis.set(xlabel="graph", ylabel="evidence")
