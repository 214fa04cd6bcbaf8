"""Shared by the benchmarks: medians, interleaved comparisons, peak memory, real data."""

import ctypes
import gc
import os
import threading
import time
from contextlib import suppress
from pathlib import Path

import numpy as np

from grnf.io import read_tu

DATA = Path(os.environ.get("GRNF_SHARED", Path(__file__).parents[2] / "shared")) / "data"
PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


def load(name):
    """Graphs of a TU set, with the node labels only where the paper uses only them."""
    return read_tu(DATA / "tu" / f"{name}.zip", node_attributes=name != "PROTEINS_full").graphs


def compare(repeats=5, **calls):
    """Median seconds of each call, the calls taking turns so that a noisy moment hits all of them."""
    times = {name: [] for name in calls}
    for call in calls.values():
        call()
    for _ in range(repeats):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            times[name].append(time.perf_counter() - start)
    return {name: float(np.median(values)) for name, values in times.items()}


def peak_memory(call):
    """Megabytes that a call takes at its peak beyond what was there, sampled every few milliseconds."""
    statm = Path("/proc/self/statm")
    if not statm.exists():
        return None

    def resident():
        return int(statm.read_text().split()[1]) * PAGE / 1e6

    gc.collect()
    with suppress(OSError, AttributeError):
        ctypes.CDLL("libc.so.6").malloc_trim(0)  # give back what was freed, or it would hide new use
    before, peak, done = resident(), [0.0], threading.Event()

    def watch():
        while not done.wait(0.004):
            peak[0] = max(peak[0], resident() - before)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        call()
    finally:
        done.set()
        thread.join()
    return round(max(peak[0], resident() - before), 1)


def exponent(sizes, seconds):
    """Slope of log(seconds) over log(sizes)."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])
