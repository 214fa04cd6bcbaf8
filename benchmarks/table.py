"""The table of speeds in the documents, from the stored results."""

import json
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent / "docs"))
import pages  # noqa: E402 beside the documents that it fills


def rows(name):
    return json.loads((HERE / "results" / f"{name}.json").read_text())["rows"]


def _orders(found):
    lines = []
    for name, row in found.items():
        if "times_faster" in row:
            what, value = "by types of tuples, times faster than tuple by tuple", f"{row['times_faster']:.0f}"
        elif "graphs_per_second" in row:
            what, value = (
                f"{row['components']} features: graphs per second",
                f"{row['graphs_per_second']:,.0f}",
            )
        elif "over_orders_1_and_2_half_each" in row:
            what = "a third each, M = 512: time over orders 1 and 2, half each; by the default law"
            half, default = row["over_orders_1_and_2_half_each"], row["over_orders_1_and_2_by_default"]
            value = f"{half:.1f}; {default:.1f}"
        else:
            what, value = "64 features: seconds", f"{row['seconds']:.2f}"
        lines.append(f"| {name}, {what}; error | {value}; {row['error_against_definition']:.0e} |")
    return lines


def table():
    lines = [
        (
            "| data set, M = 512, one thread | graphs per second | node by node / bound | grouped / bound "
            "| grouping gains | peak memory | error |"
        ),
        "|---|---|---|---|---|---|---|",
    ]
    for name, row in rows("bound").items():
        lines.append(
            f"| {name} | {row['graphs_per_second']:,.0f} | {row['node_by_node_over_bound']:.2f} "
            f"| {row['grouped_over_bound']:.2f} | {row['gain_of_grouping']:.1f}x "
            f"| {row['peak_memory_mb']:.0f} MB | {row['error_against_definition']:.0e} |"
        )
    lines += ["", "| measured in one run | |", "|---|---|"]
    for name, row in rows("afternoon").items():
        lines.append(
            f"| {name}: times faster than dense numpy, both on all cores | {row['times_faster']:.0f} |"
        )
    for name, row in rows("authors").items():
        lines.append(
            f"| {name}, labels only: times faster than the authors' code, 2 threads each, taking turns "
            f"| {row['times_faster']:.0f} |"
        )
    first = rows("first_call")
    lines.append(
        f"| the first call with an empty compile cache; in a later process: seconds "
        f"| {first['cold']['seconds']['first_call']:.1f}; {first['warm']['seconds']['first_call']:.2f} |"
    )
    for name, row in rows("growth_nodes").items():
        lines.append(
            f"| one sparse graph, {name}, 10^4 to 10^6 nodes: exponent of time "
            f"| {row['exponent_from_10^4']:.2f} |"
        )
        lines.append(f"| the same, 10^6 nodes, M = 64: seconds; peak memory | {row['seconds'][-1]:.1f}; "
                     f"{row['peak_memory_mb'][-1]:.0f} MB |")  # fmt: skip
    growth = rows("growth_features")
    for name, label in (("M", "512 to 32,768 features"), ("graphs", "600 to 38,400 graphs")):
        memory = growth[name]["peak_memory_mb_beside_vectors"]
        lines.append(
            f"| {label}: exponent of time; memory beside the vectors, first and last "
            f"| {growth[name]['exponent']:.2f}; {memory[0]:.0f} and {memory[-1]:.0f} MB |"
        )
    for name, row in rows("workers").items():
        lines.append(
            f"| {name}: 2 workers against 1; the bare loop over pairs in 2 threads against 1 "
            f"| {row['times_faster']:.2f}x; {row['bare_loop_times_faster']:.2f}x |"
        )
    for name, row in rows("triples").items():
        lines.append(
            f"| {name}, order 3 tuple by tuple: time over the bare triple loop "
            f"| {row['node_by_node_over_bare_loop']:.2f} |"
        )
    lines += _orders(rows("orders"))
    layer = rows("layer")
    for kind in ("frozen", "trainable"):
        lines.append(
            f"| `GRNFLayer`, {kind}, a training step on 128 ENZYMES graphs: times faster than dense torch; "
            f"time over that of GIN "
            f"| {layer['times_faster_than_dense'][kind]:.1f}; {layer['over_GIN'][kind]:.2f} |"
        )
    forward = layer["frozen_forward_over_transform"]
    lines.append(
        f"| `GRNFLayer`, frozen, forward over `GRNF.transform` of the same 512 graphs: {', '.join(forward)} "
        f"| {', '.join(f'{ratio:.2f}' for ratio in forward.values())} |"
    )
    lines += ["", "| readers and converters, one core, in one run | |", "|---|---|"]
    for name, row in rows("converters").items():
        if "over_loops" in row:
            lines.append(f"| {name}: over the loops alone | {row['over_loops']:.2f} |")
        elif "over_bound" in row:
            what = "RDKit's parsing" if "SMILES" in name else "a bare Python walk over nodes and edges"
            lines.append(f"| {name}: over {what} plus the loops | {row['over_bound']:.2f} |")
        elif "times_faster" in row:
            lines.append(f"| {name}: times faster than one | {row['times_faster']:.2f} |")
        else:
            lines.append(
                f"| {name}: seconds; peak memory | {row['seconds']:.0f}; {row['peak_memory_mb']:,.0f} MB |"
            )
    return "\n".join(lines)


def before_after():
    lines = ["| before and after, taking turns in one run | ms before | ms after | after / before |"]
    lines.append("|---|---|---|---|")
    for name, row in rows("before_after").items():
        before, after = (1e3 * row["seconds"][when] for when in ("before", "after"))
        lines.append(f"| {name} | {before:.1f} | {after:.1f} | {row['after_over_before']:.2f} |")
    return "\n".join(lines)


def write_table():
    pages.fill("benchmarks", table())
    pages.fill("before-after", before_after())
    print(table())


if __name__ == "__main__":
    write_table()
