"""The tables about search, copies and intervals in the documents, from the stored results."""

import json

from table import HERE, pages


def stored(name):
    return json.loads((HERE / "results" / f"{name}.json").read_text())


def intervals():
    found = stored("intervals")["by_M"]
    lines = [
        "| coverage in %, length over d_P^2 | betting | empirical Bernstein | normal |",
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
        "| ms per query | one at a time: median, 99 % | over grnf | all at once | over grnf | recall |",
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
        f"{about['build_peak_over_vectors']} times their memory, its folder is",
        f"{about['disk_over_vectors']} times as large, it opens in {about['open_seconds']} s, and after",
        f"the queries for k = 10 it held {about['opened_over_vectors']} of their memory.",
    ]
    return lines


def duplicates():
    lines = [
        "Copies in the TU sets, labels and attributes respected (`python benchmarks/duplicates.py`,",
        "`benchmarks/results/duplicates.json`):",
        "",
        "| | graphs | superfluous | groups | of several classes |",
        "|---|---|---|---|---|",
    ]
    for name, row in stored("duplicates").items():
        if row["groups"]:
            lines.append(
                f"| {name} | {row['graphs']:,} | {row['superfluous']:,} | {row['groups']:,} "
                f"| {row['groups of several classes']:,} |"
            )
    without = [name for name, row in stored("duplicates").items() if not row["groups"]]
    return [*lines, "", f"None in {', '.join(without)}."]


def copies():
    """One sentence for the README."""
    rows = stored("duplicates")
    graphs, superfluous = (sum(row[what] for row in rows.values()) for what in ("graphs", "superfluous"))
    most = max(rows, key=lambda name: rows[name]["superfluous"] / rows[name]["graphs"])
    share = 100 * rows[most]["superfluous"] / rows[most]["graphs"]
    return [
        f"Copies (`grnf dedup`, `python benchmarks/duplicates.py`): {superfluous:,} of the {graphs:,} graphs",
        f"of {len(rows)} TU sets are copies of another one in their set, in {most} {share:.0f} %",
        "([all counts](docs/guides/search.md)).",
    ]


if __name__ == "__main__":
    for table in (intervals, search, duplicates):
        if (HERE / "results" / f"{table.__name__}.json").exists():
            pages.fill(table.__name__, "\n".join(table()))
    pages.fill("copies", "\n".join(copies()))
