"""
Precision and number of features
================================

Every distance is an estimate of d_P, with a confidence interval that holds for every M. Four times the
features halve the error.
"""

import matplotlib.pyplot as plt
import numpy as np

from grnf import GRNF, Graph

square = Graph(4, [(0, 1), (1, 2), (2, 3), (3, 0)])
star = Graph(4, [(0, 1), (0, 2), (0, 3)])
sizes = 2 ** np.arange(6, 15)
estimates = [GRNF(int(M), random_state=0).fit([square]).distance(square, star) for M in sizes]

# %%
# The 95 % intervals by betting, which hold for every M, and by the normal approximation:
figure, axes = plt.subplots(figsize=(6, 3.5), layout="constrained")
for method, color in (("betting", "C0"), ("clt", "C1")):
    low, high = np.array([estimate.interval(0.95, method=method) for estimate in estimates]).T
    axes.fill_between(sizes, low, high, alpha=0.3, color=color, label={"clt": "normal"}.get(method, method))
axes.plot(sizes, [estimate.value for estimate in estimates], "k.-", label="estimate")
axes.set(xscale="log", xlabel="M", ylabel="distance", ylim=(0, None))
axes.legend()
print(f"M = {sizes[-1]:,}: {estimates[-1]:.3f}")
