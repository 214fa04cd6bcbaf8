"""Change detection in streams: false alarms, and the delay compared with a CUSUM at the same true rate."""

from functools import cache

import numpy as np

from experiments.figures import COLORS, new_figure
from experiments.sets import ORDERS_TO_3, load_graphs
from experiments.study import Table
from grnf import GRNF, Graph
from grnf.stats import ChangeDetector

TITLE = "Change detection in graph streams"
ABOUT = (
    "Graphs are embedded once (M = 512, orders 1, 2, 3), and streams are drawn from the pools without "
    "replacement: a reference, then 2,000 graphs of the same distribution (false alarms), or 200 of them "
    "and then graphs of another one (delay: graphs from the first changed one to the alarm, cut off at "
    "500). The CUSUM is that of a vector (Crosier) in 8, 16 or 32 whitened axes of the whole reference, "
    "with three slacks, and that of windows of 5 or 10 graphs (squared Mahalanobis distance of their "
    "mean). Their thresholds are quantiles of their own maxima over quiet streams, so that their true rate "
    "of false alarms is that of the detector. No user can set them so; they stand for the best possible."
)
PLACES = ("streams",)

REFERENCE, QUIET, BEFORE, AFTER = 400, 2000, 200, 500
REWIRED = {f"rewired {share} %": share / 100 for share in (1.5, 3, 6, 12, 25)}
SWAPPED = {f"swapped {share} %": share / 100 for share in (15, 40)}
BLOCKS = {f"moved {share} %": share / 100 for share in (5, 10, 20, 40)}
CUSUMS = [("vector", axes, slack) for axes in (8, 16, 32) for slack in (0.5, 1.0, 2.0)]
CUSUMS += [("window", axes, size) for axes in (8, 16, 32) for size in (5, 10)]


def powerlaw(generator, rewired=0.0, swapped=0.0):
    import networkx as nx

    g = nx.powerlaw_cluster_graph(30, 2, 0.5, seed=int(generator.integers(2**31)))
    for edge in list(g.edges):
        if generator.random() < rewired:
            free = [pair for pair in generator.integers(30, size=(20, 2)).tolist() if pair[0] != pair[1]]
            new = next(pair for pair in free if not g.has_edge(*pair))
            g.remove_edge(*edge)
            g.add_edge(*new)
    if swapped:
        count = max(1, round(swapped * g.number_of_edges() / 2))
        nx.double_edge_swap(g, count, max_tries=10_000, seed=int(generator.integers(2**31)))
    return Graph(30, list(g.edges))


def blocks(generator, moved=0.0):
    """Two communities of ten nodes; a share of the edges within goes between them."""
    half = np.arange(20) < 10
    same = np.equal.outer(half, half)
    within, between = 0.6, 0.2
    chance = np.where(same, within * (1 - moved), between + within * moved * 90 / 100)
    return Graph(20, np.argwhere(np.triu(generator.random((20, 20)) < chance, k=1)))


def laws_of(kind):
    """The changed distributions of a kind of graphs, and their parameters."""
    if kind == "NCI1":
        return {"one class only": {}}
    if kind == "powerlaw-cluster":
        rewired = {name: {"rewired": share} for name, share in REWIRED.items()}
        return rewired | {name: {"swapped": share} for name, share in SWAPPED.items()}
    return {name: {"moved": share} for name, share in BLOCKS.items()}


def pools(kind, counts, n_changes, M, study):
    """Vectors of quiet graphs, and of each changed distribution."""
    generator = np.random.default_rng(0)
    grnf = GRNF(M, orders=ORDERS_TO_3, random_state=0)
    if kind == "NCI1":
        batch, y = load_graphs("NCI1", study)
        vectors = grnf.fit_transform(batch).astype(float)
        order = generator.permutation(len(y))
        quiet, others = np.split(order, [2 * len(y) // 3])  # no graph is in both
        return {"quiet": vectors[quiet], "one class only": vectors[others[y[others] == y.max()]]}
    make = powerlaw if kind == "powerlaw-cluster" else blocks
    quiet = [make(generator) for _ in range(counts[0])]
    found = {"quiet": grnf.fit_transform(quiet).astype(float)}
    for name, law in list(laws_of(kind).items())[:n_changes]:
        changed = [make(generator, **law) for _ in range(counts[1])]
        found[name] = grnf.transform(changed).astype(float)
    return found


def drawn(found, change, number, before, after):
    """A reference and a stream of vectors."""
    generator = np.random.default_rng([number, len(change)])
    quiet, other = found["quiet"], found[change]
    chosen = generator.permutation(len(quiet))[: REFERENCE + before]
    rest = generator.permutation(len(other))[:after]
    return quiet[chosen[:REFERENCE]], np.concatenate([quiet[chosen[REFERENCE:]], other[rest]])


def whitened(reference, stream):
    mean = reference.mean(axis=0)
    variances, axes = np.linalg.eigh(np.cov(reference.T, bias=True))
    variances, axes = variances[::-1][:32], axes[:, ::-1][:, :32]
    return (stream - mean) @ (axes / np.sqrt(variances + 1e-9 * variances[0]))


def cusum(rows, kind, axes, parameter):
    """Statistics of several streams after each graph, shape (streams, graphs)."""
    rows = rows[:, :, :axes]
    found = np.zeros(rows.shape[:2])
    if kind == "vector":
        total = np.zeros((len(rows), axes))
        for t in range(rows.shape[1]):
            total += rows[:, t]
            length = np.maximum(np.linalg.norm(total, axis=1), 1e-300)
            total *= np.maximum(0, 1 - parameter / length)[:, None]
            found[:, t] = np.maximum(length - parameter, 0)
        return found
    size, total = parameter, np.zeros(len(rows))
    for t in range(rows.shape[1]):
        if (t + 1) % size == 0:
            far = size * (rows[:, t + 1 - size : t + 1].mean(axis=1) ** 2).sum(axis=1)
            total = np.maximum(0, total + far - axes - 2 * np.sqrt(2 * axes))
        found[:, t] = total
    return found


def first(over):
    """Graphs until something holds for the first time; None if never."""
    return int(np.argmax(over)) + 1 if over.any() else None


def quiet_streams(found, numbers, length, **parameters):
    evidence, rows = [], []
    for number in numbers:
        reference, stream = drawn(found, "quiet", number, length, 0)
        detector = ChangeDetector(random_state=number, **parameters).fit(reference)
        detector.update(stream)
        evidence.append(detector.evidence_)
        rows.append(whitened(reference, stream) if not parameters else None)
    largest = {} if parameters else {str(c): cusum(np.array(rows), *c).max(axis=1).tolist() for c in CUSUMS}
    return {"evidence": evidence, "cusum": largest}


def changed_streams(found, change, numbers, length):
    answers, rows = [], []
    for number in numbers:
        reference, stream = drawn(found, change, number, BEFORE, length)
        detector = ChangeDetector(random_state=number).fit(reference)
        for start in range(0, len(stream), 100):
            if detector.alarm_ is None:
                detector.update(stream[start : start + 100])
        alarm = detector.alarm_
        answers.append(
            alarm
            and [
                alarm.graph - BEFORE + 1,
                alarm.change - BEFORE,
                *(np.array(alarm.interval) - BEFORE).tolist(),
            ]
        )
        rows.append(whitened(reference, stream))
    paths = {str(c): np.round(cusum(np.array(rows), *c)[:, BEFORE:], 4) for c in CUSUMS}
    # only new maxima after the change matter: where each statistic first passes any threshold
    climbs = {name: [_climb(path) for path in found] for name, found in paths.items()}
    return {"alarms": answers, "cusum": climbs}


def _climb(path):
    """The records of a path, as (graphs, value)."""
    best, kept = 0.0, []
    for t, value in enumerate(path.tolist()):
        if value > best:
            best = value
            kept.append([t + 1, value])
    return kept


def joined(pieces, name):
    return [entry for piece in pieces for entry in piece[name]]


def alarms_and_delays(kind, found, pieces, sizes):
    """False alarms and delays of one kind of graphs; `pieces(what, count, measure)` measures and caches."""
    length, after = sizes["length"], sizes["after"]
    quiet = pieces("quiet", sizes["quiet"], lambda numbers: quiet_streams(found(), numbers, length))
    evidence = np.array(joined(quiet, "evidence"))
    result = {"streams": len(evidence), "length": length, "false_alarms": {}}
    for alpha in (0.01, 0.05, 0.1, 0.2):
        result["false_alarms"][str(alpha)] = float((evidence >= np.log(1 / alpha)).mean())
    if sizes["mean_time"]:
        timed = pieces(
            "mean_time",
            sizes["mean_time"],
            lambda numbers: quiet_streams(found(), numbers, length, mean_time=20_000),
        )
        over = np.array(joined(timed, "evidence")) >= np.log(40_000)
        result["mean_time_20000"] = {"streams": len(over), "false_alarms": float(over.mean())}
    rate = max(result["false_alarms"]["0.05"], 1 / len(evidence))
    largest = {str(c): np.concatenate([piece["cusum"][str(c)] for piece in quiet]) for c in CUSUMS}
    thresholds = {name: float(np.quantile(values, 1 - rate)) for name, values in largest.items()}
    result |= {"rate": rate, "delays": {}}
    for change in list(laws_of(kind))[: sizes["changes"]]:
        changed = pieces(
            change,
            sizes["changed"],
            lambda numbers: changed_streams(found(), change, numbers, after),
        )
        result["delays"][change] = delays(changed, thresholds, after)
    return result


def delays(pieces, thresholds, most):
    alarms = joined(pieces, "alarms")
    true = [alarm for alarm in alarms if alarm is not None and alarm[0] > 0]
    ours = [alarm[0] if alarm is not None else most for alarm in alarms if alarm is None or alarm[0] > 0]
    baselines = {}
    for name, threshold in thresholds.items():
        paths = [path for piece in pieces for path in piece["cusum"][name]]
        baselines[name] = float(
            np.mean([next((t for t, value in path if value >= threshold), most) for path in paths])
        )
    best = min(baselines, key=baselines.get)
    return {
        "delay": float(np.mean(ours)),
        "delay_error": float(np.std(ours) / np.sqrt(len(ours))),
        "found": float(np.mean([alarm is not None for alarm in alarms])),
        "cusum": baselines[str(("vector", 16, 1.0))],
        "window": min(value for name, value in baselines.items() if "window" in name),
        "best": baselines[best],
        "best_cusum": best,
        "change_error": float(np.median([abs(alarm[1]) for alarm in true])) if true else None,
        "covered": float(np.mean([alarm[2] <= 0 <= alarm[3] for alarm in true])) if true else None,
    }


def tables(results):
    alphas = ["0.01", "0.05", "0.1", "0.2"]
    promise = [
        [kind, f"{found['streams']:,}", *(f"{found['false_alarms'][a]:.3f}" for a in alphas), _by_time(found)]
        for kind, found in results.items()
    ]
    rows = [
        [
            kind,
            change,
            f"{row['delay']:.1f} ± {row['delay_error']:.1f}",
            f"{100 * row['found']:.0f}",
            f"{row['best']:.1f}",
            f"{row['delay'] / row['best']:.2f}",
            f"{row['cusum']:.1f}",
            f"{row['window']:.1f}",
            "" if row["change_error"] is None else f"{row['change_error']:.0f}",
            "" if row["covered"] is None else f"{100 * row['covered']:.0f}",
        ]
        for kind, found in results.items()
        for change, row in found["delays"].items()
    ]
    head = ["graphs", "change", "delay", "found, %", "best CUSUM", "ratio", "CUSUM, 16 axes, slack 1"]
    head.append("best of windows")
    by_alpha = ["graphs", "streams", *alphas, "mean_time=20000"]
    return [
        Table("Share of quiet streams with a false alarm, by alpha", by_alpha, promise),
        Table("Delay in graphs", [*head, "error of the time, median", "interval covers it, %"], rows),
    ]


def _by_time(found):
    """The share of alarms where a mean time between them was asked for, of so many streams."""
    asked = found.get("mean_time_20000")
    return f"{asked['false_alarms']:.3f} of {asked['streams']}" if asked else ""


def draw(results):
    """Draw delays against the size of the change, and those of single changes."""
    kinds = {"powerlaw-cluster": "rewired", "block model": "moved"}
    figure, all_axes = new_figure(12, 4.3, 3, sharey=True, width_ratios=[1, 1, 0.75])
    methods = (
        ("delay", "ChangeDetector, alpha = 0.05 (± standard error)", "o-"),
        ("best", "best of 15 CUSUMs, chosen in hindsight", "s--"),
        ("cusum", "CUSUM, 16 axes, slack 1", "^:"),
    )
    colors = dict(zip(("delay", "best", "cusum"), COLORS, strict=False))
    single = []
    for axes, (kind, what) in zip(all_axes[:2], kinds.items(), strict=True):
        found = results.get(kind, {"delays": {}})["delays"]
        swept = {float(name.split()[1]): row for name, row in found.items() if name.startswith(what)}
        single += [(kind, name, row) for name, row in found.items() if not name.startswith(what)]
        for name, label, style in methods:
            errors = [row["delay_error"] if name == "delay" else 0 for row in swept.values()]
            values = [row[name] for row in swept.values()]
            axes.errorbar(list(swept), values, errors, fmt=style, capsize=3, label=label)
        axes.set(xscale="log", xlabel=f"edges {what}, %", title=f"{kind} graphs")
        axes.set_xticks(list(swept), [f"{value:g}" for value in swept])
    last = all_axes[-1]
    single += [("NCI1", *item) for item in results.get("NCI1", {"delays": {}})["delays"].items()]
    for shift, (name, _, style) in zip((-0.15, 0, 0.15), methods, strict=True):
        for place, (_, _, row) in enumerate(single):
            error = row["delay_error"] if name == "delay" else 0
            look = {"color": colors[name], "fmt": style[0], "capsize": 3}
            last.errorbar(place + shift, row[name], error, **look)
    last.set_xticks(
        range(len(single)), [f"{kind}\n{name}".replace("-", "-\n") for kind, name, _ in single], fontsize=8
    )
    last.set(title="other changes", xlim=(-0.5, max(len(single), 1) - 0.5))
    ticks = [2, 5, 10, 20, 50, 100, 200, 500]
    all_axes[0].set(yscale="log", ylabel="mean delay, graphs (at most 500)")
    all_axes[0].set_yticks(ticks, map(str, ticks))
    for axes in all_axes:
        axes.minorticks_off()
    handles = all_axes[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower center", ncols=3, fontsize=9, frameon=False)
    return figure


def settings(study):
    names = ("quiet", "length", "changed", "after", "mean_time", "chunk", "changes")
    counts, kinds = (1000, QUIET, 75, AFTER, 100, 25, None), ("powerlaw-cluster", "block model", "NCI1")
    M, pool = 512, [6000, 1500]
    if study.quick:
        counts, kinds, M, pool = (6, 60, 6, 40, 6, 6, 2), kinds[:1], 64, [600, 60]
    return {
        "M": M,
        "orders": [1, 2, 3],
        "reference": REFERENCE,
        "before": BEFORE,
        "pools": pool,
        "sizes": {kind: dict(zip(names, counts, strict=True)) for kind in kinds},
    }


def run(study):
    given = settings(study)
    results = {}
    for kind, sizes in given["sizes"].items():
        found = cache(lambda: pools(kind, given["pools"], sizes["changes"], given["M"], study))

        def pieces(what, count, measure):
            done, chunk = [], sizes["chunk"]
            for start in range(0, count, chunk):
                study.tell(f"{kind}: {what}, {start} of {count}")
                key = {"experiment": "streams", "kind": kind, "what": what, "start": start, **sizes}
                done.append(study.cached(key, lambda: measure(range(start, start + chunk))))
            return done

        results[kind] = alarms_and_delays(kind, found, pieces, sizes)
    return results
