"""The tables of the documentation about speed, search, duplicates, sizes and failures, from results."""

import json
import sys

import install_size
from measure import ROOT, stored

sys.path.append(str(ROOT / "docs"))
import pages


def rows(name):
    return stored(name)["rows"]


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
            what = "a third each, M = 512: time over orders 1 and 2, half each; by the default orders"
            half, default = row["over_orders_1_and_2_half_each"], row["over_orders_1_and_2_by_default"]
            value = f"{half:.1f}; {default:.1f}"
        else:
            what, value = "64 features: seconds", f"{row['seconds']:.2f}"
        lines.append(f"| {name}, {what}; error | {value}; {row['error_against_definition']:.0e} |")
    return lines


def speed():
    lines = [
        (
            "| dataset, M = 512, one thread | graphs per second | node by node / bound | grouped / bound "
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
    lines += ["", "| measured in one run | value |", "|---|---|"]
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
    if "starts" in first:
        lines.append(
            "| the same with order 3, with an empty compile cache: seconds "
            f"| {first['cold, order 3']['seconds']['first_call']:.1f} |"
        )
        starts = {name: seconds - first["starts"]["python"] for name, seconds in first["starts"].items()}
        lines.append(
            "| `import grnf`, `grnf --help`: CPU seconds "
            f"| {starts['import grnf']:.2f}, {starts['grnf --help']:.2f} |"
        )
        lines.append(
            "| `from grnf import GRNF`: time relative to `import numba, sklearn.svm` "
            f"| {starts['from grnf import GRNF'] / starts['import numba, sklearn.svm']:.2f} |"
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
            f"| {label}: exponent of time; memory in addition to the vectors, first and last "
            f"| {growth[name]['exponent']:.2f}; {memory[0]:.0f} and {memory[-1]:.0f} MB |"
        )
    for name, row in rows("workers").items():
        lines.append(
            f"| {name}: 2 workers against 1; a plain sum over pairs, 2 threads against 1 "
            f"| {row['times_faster']:.2f}x; {row['bare_loop_times_faster']:.2f}x |"
        )
    for name, row in rows("triples").items():
        lines.append(
            f"| {name}, order 3 tuple by tuple: time relative to a plain sum over triples "
            f"| {row['node_by_node_over_bare_loop']:.2f} |"
        )
    lines += _orders(rows("orders"))
    layer = rows("layer")
    for kind in ("frozen", "trainable"):
        lines.append(
            f"| `GRNFLayer`, {kind}, a training step on 128 ENZYMES graphs: times faster than dense torch; "
            f"time relative to GIN "
            f"| {layer['times_faster_than_dense'][kind]:.1f}; {layer['over_GIN'][kind]:.2f} |"
        )
    forward = layer["frozen_forward_over_transform"]
    lines.append(
        f"| `GRNFLayer`, frozen, forward relative to `GRNF.transform` of the same 512 graphs: "
        f"{', '.join(forward)} "
        f"| {', '.join(f'{ratio:.2f}' for ratio in forward.values())} |"
    )
    lines += ["", "| readers and converters, one core, in one run | value |", "|---|---|"]
    for name, row in rows("converters").items():
        if "over_loops" in row:
            lines.append(f"| {name}: time relative to embedding alone | {row['over_loops']:.2f} |")
        elif "over_bound" in row:
            what = "RDKit's parsing" if "SMILES" in name else "a plain Python pass over nodes and edges"
            lines.append(f"| {name}: time relative to {what} plus embedding | {row['over_bound']:.2f} |")
        elif "times_faster" in row:
            lines.append(f"| {name}: times faster than one | {row['times_faster']:.2f} |")
        else:
            lines.append(
                f"| {name}: seconds; peak memory | {row['seconds']:.0f}; {row['peak_memory_mb']:,.0f} MB |"
            )
    return lines


def exact():
    heads = ["exact: seconds", "M = 512: seconds", "exact: µs per pair", "M = 512: µs per pair"]
    lines = [f"| Gram matrix, one core | {' | '.join(heads)} |", "|---|---|---|---|---|"]
    for name, row in rows("exact").items():
        cells = [f"{row['seconds'][key]:.2f}" for key in ("exact", "vectors")]
        cells += [f"{row['microseconds_per_pair'][key]:.2f}" for key in ("exact", "vectors")]
        lines.append(f"| {name} ({row['graphs']:,} graphs) | {' | '.join(cells)} |")
    return lines


def before_and_after():
    lines = ["| before and after, taking turns in one run | ms before | ms after | after / before |"]
    lines.append("|---|---|---|---|")
    for name, row in rows("before_after").items():
        before, after = (1e3 * row["seconds"][when] for when in ("before", "after"))
        lines.append(f"| {name} | {before:.1f} | {after:.1f} | {row['after_over_before']:.2f} |")
    return lines


def intervals():
    found = stored("intervals")["by_M"]
    lines = [
        "| coverage in %, length relative to d_P^2 | betting | empirical Bernstein | normal |",
        "|---|---|---|---|",
    ]
    for M, row in found.items():
        cells = [
            f"{100 * row['coverage'][method]:.0f}, {row['length_over_truth'][method]:.2f}"
            for method in ("betting", "bernstein", "clt")
        ]
        lines.append(f"| M = {int(M):,} ({row['repetitions']} times) | {' | '.join(cells)} |")
    return lines


def search():
    found = stored("search")
    n, M = found["vectors"]
    about = found["index"]
    lines = [
        f"Among {n:,} molecules (MOSES), M = {M}, {found['queries']} queries, 2 cores, in one run",
        "(`python benchmarks/search.py`, `benchmarks/results/search.json`):",
        "",
        (
            "| ms per query | one at a time: median, 99 % | relative to grnf "
            "| all at once | relative to grnf | recall |"
        ),
        "|---|---|---|---|---|---|",
    ]
    for k in ("k=10", "k=1000"):
        for name, row in found[k].items():
            lines.append(
                f"| {k}, {name} | {row['median_ms']:.2f}, {row['p99_ms']:.1f} | {row['over_grnf']:.1f} "
                f"| {row['at_once_ms']:.2f} | {row['at_once_over_grnf']:.1f} | {row.get('recall', 1):.3f} |"
            )
    if "tanimoto" in found:
        row = found["tanimoto"]
        lines.append(
            f"| RDKit, Tanimoto among {row['molecules']:,} | {row['median_ms']:.2f}, {row['p99_ms']:.1f} "
            "| | | | |"
        )
    lines += [
        "",
        f"Building the index from vectors took {about['build_seconds']:.0f} s and",
        f"{about['build_peak_over_vectors']} times their memory. Its folder is",
        f"{about['disk_over_vectors']} times as large as the vectors, and it opened in",
        f"{about['open_seconds']} s. After the queries for k = 10, it held",
        f"{about['opened_over_vectors']} of their memory.",
    ]
    return lines


def duplicates():
    lines = [
        "Duplicates in the TU datasets, with equal labels and attributes (`python benchmarks/duplicates.py`,",
        "`benchmarks/results/duplicates.json`):",
        "",
        "| | graphs | redundant | groups | groups with several classes |",
        "|---|---|---|---|---|",
    ]
    for name, row in rows("duplicates").items():
        if row["groups"]:
            lines.append(
                f"| {name} | {row['graphs']:,} | {row['superfluous']:,} | {row['groups']:,} "
                f"| {row['groups of several classes']:,} |"
            )
    without = [name for name, row in rows("duplicates").items() if not row["groups"]]
    return [*lines, "", f"No duplicates in {', '.join(without)}."]


def copies():
    """One sentence for the README."""
    found = rows("duplicates")
    graphs, superfluous = (sum(row[what] for row in found.values()) for what in ("graphs", "superfluous"))
    most = max(found, key=lambda name: found[name]["superfluous"] / found[name]["graphs"])
    share = 100 * found[most]["superfluous"] / found[most]["graphs"]
    return [
        f"Duplicates (`grnf dedup`, `python benchmarks/duplicates.py`): {superfluous:,} of the {graphs:,}",
        f"graphs in {len(found)} TU datasets are redundant copies of another graph in the same dataset.",
        f"In {most}, {share:.0f} % of all graphs are ([all counts](docs/results/scale.md)).",
    ]


def failures():
    """The counts of `make faults`, `make fuzz` and `make soak`."""
    faults, fuzz, soak = (stored(name) for name in ("faults", "fuzz", "soak"))
    kills = json.loads((ROOT / "experiments" / "results" / "kills.json").read_text())["results"]
    done = {name: part["done"] for name, part in soak["parts"].items()}
    growth = max(
        part["megabytes"]["at_the_end"] - part["megabytes"]["at_a_tenth"] for part in soak["parts"].values()
    )
    rows = {
        "`make faults`": (
            "`benchmarks/results/faults.json`",
            f"{faults['faults']:,} faults in {len(faults['commands'])} commands",
            f"{faults['problems']} problems",
        ),
        "`make fuzz`": (
            "`benchmarks/results/fuzz.json`",
            (
                f"{sum(fuzz['cases'].values()):,} cases of {len(fuzz['cases'])} kinds in "
                f"{60 * fuzz['cpu_hours']:.1f} CPU minutes"
            ),
            f"{fuzz['last_run']['problems']} problems in the last {fuzz['last_run']['cases']:,} cases",
        ),
        "`make soak`": (
            "`benchmarks/results/soak.json`",
            (
                f"{done['embed']:,} graphs, {done['transforms']:,} transforms, {done['updates']:,} updates, "
                f"{done['threads']['threads']} threads"
            ),
            f"results equal, memory grew by at most {growth:.1f} MB",
        ),
        "`python -m experiments kills`": (
            "`experiments/results/kills.json`",
            f"{kills['kills']} kills",
            f"{kills['lost']} shards lost",
        ),
    }
    lines = [f"| {command} | {' | '.join(cells)} |" for command, cells in rows.items()]
    return ["| command | stored in | run | result |", "|---|---|---|---|", *lines]


def readers():
    """Readers of files before and after they use libraries."""
    found = stored("readers")
    lines = [
        f"| file of {found['megabytes']:g} MB | seconds before | after | MB of memory before | after |",
        "|---|---|---|---|---|",
    ]
    for name, row in found["read"].items():
        before, after = (row.get(version, {}) for version in ("before", "after"))
        if "error" in after:
            raise ValueError(f"{name}: {after['error']}")
        cells = [before.get("cpu"), after["cpu"], before.get("peak_mb"), after["peak_mb"]]
        missing = "not read" if before else ""
        texts = [missing if cell is None else f"{cell:.1f}" for cell in cells[:2]]
        texts += ["" if cell is None else f"{cell:.0f}" for cell in cells[2:]]
        lines.append(f"| {name} | {' | '.join(texts)} |")
    lines += ["", "| code | lines before | lines after |", "|---|---|---|"]
    lines += [f"| {title} | {row['before']:,} | {row['after']:,} |" for title, row in found["lines"].items()]
    total = {version: sum(row[version] for row in found["lines"].values()) for version in ("before", "after")}
    return [*lines, f"| all | {total['before']:,} | {total['after']:,} |"]


PLACES = {
    "benchmarks": speed,
    "exact-speed": exact,
    "before-after": before_and_after,
    "intervals": intervals,
    "search": search,
    "duplicates": duplicates,
    "copies": copies,
    "failures": failures,
    "readers": readers,
    "install": install_size.table,
}
"""Mark in the documentation -> the lines between."""


def main():
    for place, lines in PLACES.items():
        pages.fill(place, "\n".join(lines()))


if __name__ == "__main__":
    main()
