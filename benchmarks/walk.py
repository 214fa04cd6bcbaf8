"""The walk of one call through the package: files, and frames on the way to the compiled loop.

python benchmarks/walk.py prints what GRNF().fit_transform(networkx graphs) passes through, once loaded.
"""

import os
import sys
from pathlib import Path

import networkx as nx

import grnf
from grnf import GRNF

HOME = Path(grnf.__file__).parent


def walk():
    """Return the files in which some function runs, in the order of the walk, and the frames to the loop."""
    graphs = [nx.cycle_graph(n) for n in (3, 4, 5)]
    GRNF(8, random_state=0).fit_transform(graphs)  # loads and compiles
    files, stacks = {}, []

    def note(frame, event, _):
        if event != "call" or not frame.f_code.co_filename.startswith(str(HOME)):
            return
        files.setdefault(os.path.relpath(frame.f_code.co_filename, HOME))
        names = []
        while frame is not None:
            if frame.f_code.co_filename.startswith(str(HOME)):
                path = os.path.relpath(frame.f_code.co_filename, HOME)
                names.append(f"{path}: {frame.f_code.co_qualname if sys.version_info >= (3, 11) else ''}")
            frame = frame.f_back
        if names[0].endswith("piece_sums"):  # what calls the loop
            stacks.append(names[::-1])

    sys.setprofile(note)
    try:
        GRNF(8, random_state=0).fit_transform(graphs)
    finally:
        sys.setprofile(None)
    return list(files), max(stacks, key=len)


if __name__ == "__main__":
    files, stack = walk()
    print(f"{len(files)} files:", *files, sep="\n  ")
    print(f"{len(stack)} frames, then the compiled loop:", *stack, sep="\n  ")
