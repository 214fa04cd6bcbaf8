"""
A million graphs in bounded memory
==================================

`GRNF.transform_blocks` embeds a stream of graphs of any length. Only one block is in memory at a time.
"""

import time

import matplotlib.pyplot as plt
import numpy as np

from grnf import GRNF
from grnf.datasets import make_sbm

graphs, _ = make_sbm(2_000, random_state=0)
grnf = GRNF(n_components=256, random_state=0).fit(graphs[:100])


def stream(count):
    """Yield graphs as a file, a database or a socket would."""
    for number in range(count):
        yield graphs[number % len(graphs)]


sums, done, rates, start = np.zeros(256), 0, [], time.perf_counter()
for block in grnf.transform_blocks(stream(20_000)):
    sums += block.sum(axis=0)
    done += len(block)
    rates.append((done, done / (time.perf_counter() - start)))
print(f"{done:,} graphs, {done / (time.perf_counter() - start):,.0f} per second")

# %%
# The rate does not depend on the length of the stream. On the command line, `grnf embed` does the same.
figure, axis = plt.subplots(figsize=(5, 2.8), layout="constrained")
axis.plot(*zip(*rates, strict=True), "o-")
axis.set(xlabel="graphs", ylabel="graphs per second", ylim=(0, None))
