"""Copies in the TU sets of the shared folder: python benchmarks/duplicates.py [NAME ...]."""

import sys
import time

from measure import DATA, store, stored

from grnf import GRNF
from grnf.io import read_graphs
from grnf.search import duplicate_groups


def count(path):
    graphs = list(read_graphs(path))
    start = time.perf_counter()
    groups, undecided = duplicate_groups(
        graphs, GRNF(128, random_state=0), ids=[str(i) for i in range(len(graphs))]
    )
    labels = [graph.y for graph in graphs]
    return {
        "graphs": len(graphs),
        "groups": len(groups),
        "superfluous": sum(len(group) - 1 for group in groups),
        "largest": max(map(len, groups), default=1),
        "groups of several classes": sum(len({labels[int(name)] for name in group}) > 1 for group in groups),
        "undecided pairs": len(undecided),
        "seconds": round(time.perf_counter() - start, 1),
    }


if __name__ == "__main__":
    found = stored("duplicates")["rows"]
    for path in sorted((DATA / "tu").glob("*.zip"), key=lambda path: path.stat().st_size):
        if not sys.argv[1:] or path.stem in sys.argv[1:]:
            found[path.stem] = count(path)
            print(path.stem, found[path.stem], flush=True)
            store("duplicates", {"rows": dict(sorted(found.items()))})
