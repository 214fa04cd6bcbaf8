"""Start-up: the first call with an empty compile cache and with a warm one, imports, and the help.

Each runs in a process of its own. Calls of `GRNF().fit_transform`: seconds, and which kernels were compiled.
Imports and the help: CPU seconds of the whole process, taking turns.

Alone: python benchmarks/first_call.py, or with the number of rounds: python benchmarks/first_call.py 1
"""

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

ROUNDS = 3
ORDERS = {"cold": 2, "cold, order 3": 3}
"""States with an empty cache, and the largest order."""
MOST_SECONDS = {"cold": 10, "cold, order 3": 20, "warm": 2.5}
STARTS = {
    "python": ["-c", ""],
    "import grnf": ["-c", "import grnf"],
    "from grnf import GRNF": ["-c", "from grnf import GRNF"],
    "import numba, sklearn.svm": ["-c", "import numba, sklearn.svm"],
    "grnf --help": ["-m", "grnf", "--help"],
}


def bench_first_call(n_rounds=ROUNDS):
    """Seconds of import and of the first call on 50 undirected graphs: cold, cold with order 3, and warm."""
    rounds = {}
    for _ in range(n_rounds):
        for state, largest in ORDERS.items():
            with tempfile.TemporaryDirectory() as folder:
                rounds.setdefault(state, []).append(in_fresh_process(folder, largest))
                if state == "cold":
                    rounds.setdefault("warm", []).append(in_fresh_process(folder, largest))
    rows = {}
    for state, runs in rounds.items():
        run = sorted(runs, key=lambda run: run["first_call"])[n_rounds // 2]
        rows[state] = {
            "seconds": {key: run[key] for key in ("import", "first_call", "second_call")},
            "processor_seconds": run["processor_seconds"],
            "all_first_calls": [run["first_call"] for run in runs],
            "compiled_loops": len(run["compiled"]),
            "compiled": run["compiled"],
        }
    return rows | {"starts": starts(3 * n_rounds)}


def starts(n_rounds):
    """Return the medians of CPU seconds of processes."""
    seconds = {name: [] for name in STARTS}
    for _ in range(n_rounds):
        for name, arguments in STARTS.items():
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            seconds[name].append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return {name: round(statistics.median(values), 3) for name, values in seconds.items()}


def in_fresh_process(folder, largest):
    environment = os.environ | {"NUMBA_CACHE_DIR": folder}
    command = [sys.executable, __file__, "--child", str(largest)]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if run.returncode:
        raise RuntimeError(f"the first call failed in its process:\n{run.stderr}")
    return json.loads(run.stdout.splitlines()[-1])


def child(largest):
    """What a fresh process does, as JSON on the last line of its output."""
    start = time.perf_counter()
    from grnf import GRNF

    imported = time.perf_counter()
    from numba.core import event

    from grnf.datasets import make_sbm

    graphs, _ = make_sbm(50, random_state=0)
    compiled, stack = {}, []

    class Listener(event.Listener):
        def on_start(self, _):
            stack.append([time.perf_counter(), 0.0])

        def on_end(self, event):
            began, inner = stack.pop()
            seconds = time.perf_counter() - began
            if stack:
                stack[-1][1] += seconds
            function = event.data["dispatcher"].py_func
            if function.__module__.startswith("grnf."):
                row = compiled.setdefault(
                    f"{function.__module__}.{function.__name__}",
                    {"times": 0, "seconds": 0.0, "without_those_inside": 0.0},
                )
                row["times"] += 1
                row["seconds"] += seconds
                row["without_those_inside"] += seconds - inner

    event.register("numba:compile", Listener())
    calls, busy = [], time.process_time()  # CPU time: other load does not change it
    for _ in range(2):
        before = time.perf_counter()
        GRNF(orders=dict.fromkeys(range(1, largest + 1), 1 / largest), random_state=0).fit_transform(graphs)
        calls.append(time.perf_counter() - before)
    busy = time.process_time() - busy
    print(
        json.dumps(
            {
                "import": imported - start,
                "first_call": calls[0],
                "second_call": calls[1],
                "processor_seconds": busy,
                "compiled": dict(sorted(compiled.items(), key=lambda item: -item[1]["seconds"])),
            }
        )
    )


def show(rows):
    for name, seconds in rows["starts"].items():
        print(f"{name}: {seconds:.2f} s of CPU time")
    for state in ("cold", "cold, order 3", "warm"):
        row = rows[state]
        seconds = ", ".join(f"{key.replace('_', ' ')} {value:.2f} s" for key, value in row["seconds"].items())
        every = ", ".join(f"{value:.1f}" for value in row["all_first_calls"])
        print(
            f"{state} cache: {seconds}; {row['compiled_loops']} kernels compiled; "
            f"{row['processor_seconds']:.2f} s of CPU time (first calls: {every} s)"
        )
        for name, of in row["compiled"].items():
            print(
                f"  {of['seconds']:7.2f} s, {of['without_those_inside']:6.2f} s without those inside, "
                f"{of['times']}x {name}"
            )


if __name__ == "__main__":
    if "--child" in sys.argv:
        child(int(sys.argv[-1]))
    else:
        rows = bench_first_call(int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS)
        show(rows)
        for state, most in MOST_SECONDS.items():
            if rows[state]["seconds"]["first_call"] > most:
                print(f"the first call ({state}) takes more than {most} s")
