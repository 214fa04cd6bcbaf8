"""Level and power of the two-sample test, compared with histograms and a random GIN."""

import time
from types import SimpleNamespace

import numpy as np
from scipy.stats import binom, binomtest, spearmanr

from experiments.figures import COLORS, new_figure
from experiments.study import Table
from experiments.two_sample_baselines import adjacency, baselines
from experiments.two_sample_sets import SHARES, families, rewired_pools
from grnf import Graph
from grnf.datasets import make_sbm
from grnf.stats import GraphDescriptor
from grnf.stats.evaluation import in_space, sample_distances
from grnf.stats.permutation_tests import compare_samples, permutation_test
from grnf.stats.pooling import pooled_views

TITLE = "Level and power of the two-sample test"
ABOUT = (
    "For each family of graphs a pool of unchanged and pools of changed graphs are embedded once; samples "
    "are drawn from the pools without replacement. Level: both samples unchanged. All methods are "
    "permutation tests with 199 permutations at 5 %; the baselines have MMD with Gaussian kernels of three "
    "widths, aggregated in the same way. Defaults were chosen on the family powerlaw alone."
)
PLACES = ("power", "level", "cost")

OURS = "GRNF"
PERMUTATIONS = 199
DRAWS = {
    8: (1000, 1000),
    32: (1000, 1000),
    128: (1000, 1000),
    512: (1000, 50),
    1024: (1000, 50),
    2048: (1000, 10),
    4096: (1000, 4),
}
"""Graphs of each sample: draws for the level, and for the power."""
FEW = 40
"""Draws of baselines for the level from 512 graphs on."""
TICKS = (8, 32, 128, 512, 2048)
PANELS = {
    ("powerlaw", "rewired", 0.03), ("powerlaw", "swapped", 0.05), ("small world", "swapped", 0.05),
    ("SBM", "other class", 0.3), ("Delaunay", "other class", 0.3), ("NCI1", "other class", 0.3),
}  # fmt: skip
"""Changes that the figure shows: the hardest of each kind that larger samples reveal."""
AGAIN = 3000
"""Other draws for a level that lies outside of its band."""
OTHERS = ("level", "again", "seconds", "rank", "speed")
"""Keys that are not changes."""


class Found(dict):
    """Results by key; what the cache of a study holds is not measured again."""

    def __init__(self, study):
        super().__init__()
        self.study = study

    def once(self, key, make):
        """Return the result of a key; measure it if it is new."""
        if key not in self:
            self.study.tell(" ".join(map(str, key)))
            what = {"experiment": "two_sample", "key": key, "quick": self.study.quick}
            self[key] = self.study.cached(what, make)
        return self[key]


def embedded(family, graphs):
    """Vectors of all graphs of a family by method, each a dict of views, and processor seconds per 1,000."""
    descriptor = GraphDescriptor(random_state=0)
    descriptor.fit(graphs).transform_views(graphs[:64])  # compiles
    start = time.process_time()
    vectors = {OURS: descriptor.transform_views(graphs)}
    seconds = {OURS: time.process_time() - start}
    width = family.width
    matrices = [(adjacency(graph), family.attributes(graph)) for graph in graphs]
    for name, describe in baselines(width).items():
        start = time.process_time()
        vectors[name] = {name: np.array([describe(*pair) for pair in matrices])}
        seconds[name] = time.process_time() - start
    return vectors, {name: 1000 * found / len(graphs) for name, found in seconds.items()}


def sampled(random, unchanged, changed, share, n):
    """Rows of two samples: unchanged, and one in which so large a share is changed."""
    count = round(share * n)
    rows = random.permutation(unchanged)[: 2 * n - count]
    return rows[:n], np.concatenate([rows[n:], random.permutation(changed)[:count]])


def rejected(vectors, unchanged, changed, share, n, draws, seed=None):
    """Share of draws with p <= 0.05 by method, and processor seconds of a test."""
    of_baselines = min(draws, FEW) if n >= 512 and share == 0 else draws
    random = np.random.default_rng(n if seed is None else seed)
    permutations = PERMUTATIONS if n <= 512 else 99
    found, seconds = dict.fromkeys(vectors, 0), dict.fromkeys(vectors, 0.0)
    for number in range(draws):
        first, second = sampled(random, unchanged, changed, share, n)
        for name, views in vectors.items():
            if name != OURS and number >= of_baselines:
                continue
            start = time.process_time()
            how = {} if name == OURS else {"statistic": "mmd", "axes": ()}
            stacked = {view: Z[np.concatenate([first, second])] for view, Z in views.items()}
            only = frozenset({"plain", "size", "patterns"} if name == OURS else ())
            made = SimpleNamespace(axes_only_=only)
            result, *_ = permutation_test(stacked, (n, n), made, n_resamples=permutations, seed=number, **how)
            seconds[name] += time.process_time() - start
            found[name] += result.pvalue <= 0.05
    return {
        "draws": draws,
        "draws_of_baselines": of_baselines,
        "rejected": {name: found[name] / (draws if name == OURS else of_baselines) for name in found},
        "seconds": {name: seconds[name] / (draws if name == OURS else of_baselines) for name in seconds},
    }


def run_family(family, found, quick):
    """Level and power at all sizes, up to one at which GRNF and the best baseline always reject."""
    keys = [(family.name, *change) for change in [*family.changes, ("level", 0.0)]]  # what takes long is last
    pools_of = {8: (40, 20)} if quick else family.pools
    prepared = {}

    def ready(n):
        base, other = pools_of[n]
        if (base, other) not in prepared:
            graphs, pools = family.make(base, other)
            vectors, seconds = embedded(family, graphs)
            prepared[base, other] = vectors, pools, seconds
        return prepared[base, other]

    for key in keys:
        _, change, share = key
        for n, (_, other) in pools_of.items():
            level, power = (10, 5) if quick else DRAWS[n]
            null = change == "level"
            if not (null or other):
                continue

            def measure(n=n, null=null, change=change, share=share, draws=level if null else power):
                vectors, pools, _ = ready(n)
                changed = pools[None if null else (change, share)]
                mixed = 0.0 if null else family.mixture(share)
                return rejected(vectors, pools[None], changed, mixed, n, draws)

            done = found.once((*key, n), measure)["rejected"]
            full = done[OURS] == 1 and max(done.values()) == 1
            if not null and full and n < 4096 and n >= 32:
                break
            if null and n < 512 and not quick and not _within(done[OURS], level):

                def again(n=n):
                    vectors, pools, _ = ready(n)
                    return rejected(vectors, pools[None], pools[None], 0.0, n, AGAIN, seed=1000 + n)

                found.once((family.name, "again", 0.0, n), again)
    first = next(iter(pools_of))
    found.once((family.name, "seconds", 0.0, 0), lambda: {"seconds": ready(first)[2]})


def rank_correlations(found, quick):
    """Spearman correlation of a score with the share of rewired edges, over draws of 64 + 64 graphs."""

    def measure():
        shares = SHARES[::5] if quick else SHARES
        family, graphs, pools = rewired_pools(shares, 16 if quick else 160)
        vectors, _ = embedded(family, graphs)
        random, n, draws = np.random.default_rng(0), (8 if quick else 64), (2 if quick else 20)
        ranks = {name: [] for name in vectors}
        for _ in range(draws):
            rows = {share: random.permutation(pools[share])[:n] for share in shares}
            first = random.permutation(pools[None])[:n]
            for name, views in vectors.items():
                scores = [score(name, views, rows[share], first) for share in shares]
                ranks[name].append(float(spearmanr(shares, scores)[0]))
        return {"correlation": {name: float(np.mean(values)) for name, values in ranks.items()}}

    found.once(("rewired", "rank", 0.0, 64), measure)


def speed(found, quick):
    """Processor seconds of a whole test with effect and witnesses, vectors made already, 999 permutations."""

    def measure():
        n = 50 if quick else 1000
        graphs = make_sbm(2 * n, random_state=0)[0]
        descriptor = GraphDescriptor(random_state=0)
        samples, pooled = pooled_views([graphs[:n], graphs[n:]], ["X", "Y"], descriptor)
        start = time.process_time()
        compare_samples(samples, pooled, descriptor)
        return {"n": n, "permutations": 999, "seconds": {OURS: time.process_time() - start}}

    found.once(("SBM", "speed", 0.0, 1000), measure)


def score(name, views, rows, reference):
    samples = [{view: Z[some] for view, Z in views.items()} for some in (rows, reference)]
    X, Y = in_space(*samples, "whitened" if name == OURS else "plain")
    return sample_distances(X, Y, 10, 0)["energy" if name == OURS else "mmd2"].value


def power_table(found):
    rows = []
    for (family, change, share, n), record in found.items():
        if change in OTHERS:
            continue
        done = record["rejected"]
        best = max((value, name) for name, value in done.items() if name != OURS)
        cells = [f"{100 * done[name]:.0f}" for name in done]
        rows.append(
            [
                _title(family, change, share),
                str(n),
                str(record["draws"]),
                *cells,
                f"{100 * (done[OURS] - best[0]):+.0f}",
            ]
        )
    names = list(next(iter(_levels(found).values()))["rejected"])
    return Table("Rejections in percent at level 5 %", ["change", "n", "draws", *names, "GRNF - best"], rows)


def _levels(found):
    return {key: record for key, record in found.items() if key[1] in ("level", "again")}


def _band(draws):
    """What 95 % of tests of exact level show in so many draws."""
    return [binom.ppf(side, draws, 0.05) / draws for side in (0.025, 0.975)]


def _within(share, draws):
    low, high = _band(draws)
    return low <= share <= high


def level_table(found):
    rows = []
    for (family, what, _, n), record in _levels(found).items():
        done, draws = record["rejected"], record["draws"]
        low, high = (100 * end for end in _band(draws))
        band = f"{low:.1f} to {high:.1f}"
        name = family + (", other draws" if what == "again" else "")
        rows.append([name, str(n), str(draws), band, *[f"{100 * value:.1f}" for value in done.values()]])
    names = list(next(iter(_levels(found).values()))["rejected"])
    return Table(
        "Rejections in percent where nothing differs", ["family", "n", "draws", "band", *names], rows
    )


def other_tables(found):
    rank = next(record["correlation"] for key, record in found.items() if key[1] == "rank")
    names = list(rank)
    cost = {key[0]: record["seconds"] for key, record in found.items() if key[1] == "seconds"}
    tests = {n: record["seconds"] for (family, what, _, n), record in found.items()
             if what == "level" and family == "SBM"}  # fmt: skip
    rows = [["rank correlation with the share of rewired edges", *[f"{rank[name]:.3f}" for name in names]]]
    rows += [
        [f"seconds to describe 1,000 graphs, {family}", *[f"{values[name]:.2f}" for name in names]]
        for family, values in cost.items()
    ]
    rows += [
        [f"seconds of a test, {n:,} + {n:,} graphs", *[f"{values[name]:.3f}" for name in names]]
        for n, values in tests.items()
    ]
    whole = found["SBM", "speed", 0.0, 1000]["seconds"][OURS]
    rows.append(
        ["seconds of a whole test, 1,000 + 1,000 graphs, 999 permutations", f"{whole:.1f}", *[""] * 4]
    )
    return Table("Rank correlation and time", ["", *names], rows)


def by_key(results):
    """The stored list of results, by key."""
    return {tuple(record["key"]): record for record in results}


def tables(results):
    found = by_key(results)
    return [power_table(found), level_table(found), other_tables(found)]


def draw(results):
    """Draw the share of rejections against the size of the samples: six changes, and the mean of all."""
    found = by_key(results)
    changes = list(dict.fromkeys(key[:3] for key in found if key[1] not in OTHERS))
    shown = [key for key in changes if key in PANELS] or changes[:6]
    everywhere = [n for n in TICKS if all((*change, n) in found for change in changes)]
    panels = [
        (_title(*change), [change], sorted(key[3] for key in found if key[:3] == change)) for change in shown
    ]
    panels.append((f"mean of all {len(changes)} changes", changes, everywhere))
    figure, axes = new_figure(11.2, 4.8, 4, 2, sharex=True, sharey=True)
    names = list(next(iter(_levels(found).values()))["rejected"])
    colors = dict(zip(names, ["black", *COLORS[:4]], strict=True))
    for ax, (title, averaged, sizes) in zip(axes, panels, strict=False):
        for name in reversed(names):
            values, ends = _rejections(found, averaged, sizes, name)
            look = {"color": colors[name], "lw": 2.2 if name == OURS else 1}
            ax.errorbar(sizes, values, yerr=ends, fmt="o-", ms=3, elinewidth=1, capsize=2, label=name, **look)
        ax.axhline(5, color="grey", lw=0.6, ls=":")
        ax.set_xscale("log", base=2)
        ax.set_xticks(TICKS, labels=map(str, TICKS))
        ax.tick_params(labelsize=8)
        ax.set_title(title, fontsize=9)
        ax.set_ylim(-4, 104)
    for ax in axes[len(panels) :]:
        ax.set_axis_off()
        ax.set_title("", loc="left")
        handles, labels = axes[0].get_legend_handles_labels()
        ax.legend(handles[::-1], labels[::-1], loc="center", frameon=False, fontsize=9)
    for ax in axes[::4]:
        ax.set_ylabel("rejected, %", fontsize=9)
    for ax in axes[3:7]:  # nothing is below them
        ax.set_xlabel("graphs in each sample", fontsize=9)
        ax.tick_params(labelbottom=True)
    return figure


def _title(family, change, share):
    return f"{family}: {change}" + (f" {100 * share:g} %" if share else "")


def _rejections(found, changes, sizes, name):
    """Return the mean share over changes in percent for each size, and the ends of its 95 % interval."""
    values, ends = [], []
    for n in sizes:
        shares = np.array([found[*change, n]["rejected"][name] for change in changes])
        draws = np.array([found[*change, n]["draws"] for change in changes])
        values.append(100 * shares.mean())
        if len(changes) == 1:
            interval = binomtest(round(shares[0] * draws[0]), int(draws[0])).proportion_ci(method="wilson")
            low, high = 100 * interval.low, 100 * interval.high
        else:
            error = 196 * np.sqrt((shares * (1 - shares) / draws).sum()) / len(changes)
            low, high = values[-1] - error, values[-1] + error
        ends.append((max(0, values[-1] - low), max(0, high - values[-1])))
    return values, np.transpose(ends)


def settings(_study):
    return {
        "permutations": PERMUTATIONS,
        "permutations above 512 graphs": 99,
        "draws": {str(n): draws for n, draws in DRAWS.items()},
        "views": list(GraphDescriptor(random_state=0).fit([Graph(2, [(0, 1)])]).views_),
    }


def run(study):
    found = Found(study)
    known = families(study.path("tu"))
    for family in known:
        if not study.quick or family.name == "SBM":
            run_family(family, found, study.quick)
    rank_correlations(found, study.quick)
    speed(found, study.quick)
    order = [family.name for family in known] + ["rewired"]
    ordered = sorted(found.items(), key=lambda item: order.index(item[0][0]))
    return [{"key": list(key), **record} for key, record in ordered]
