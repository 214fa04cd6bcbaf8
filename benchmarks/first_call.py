"""The first call on a new computer: `GRNF().fit_transform` with an empty compile cache, and with a warm one.

Each in a process of its own: seconds, and which kernels were compiled for it.

Alone: python benchmarks/first_call.py, or with the number of rounds: python benchmarks/first_call.py 1
"""

import json
import os
import subprocess
import sys
import tempfile
import time

ROUNDS = 3
MOST_SECONDS = 12


def bench_first_call(n_rounds=ROUNDS):
    """Seconds of import and of the first call on 50 undirected graphs, orders 1 and 2; cold and warm."""
    rounds = []
    for _ in range(n_rounds):
        with tempfile.TemporaryDirectory() as folder:
            rounds.append({"cold": in_fresh_process(folder), "warm": in_fresh_process(folder)})
    rounds.sort(key=lambda pair: pair["cold"]["first_call"])
    median = rounds[n_rounds // 2]
    return {
        state: {
            "seconds": {key: run[key] for key in ("import", "first_call", "second_call")},
            "processor_seconds": run["processor_seconds"],
            "all_first_calls": [pair[state]["first_call"] for pair in rounds],
            "compiled_loops": len(run["compiled"]),
            "compiled": run["compiled"],
        }
        for state, run in median.items()
    }


def in_fresh_process(folder):
    environment = os.environ | {"NUMBA_CACHE_DIR": folder}
    command = [sys.executable, __file__, "--child"]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if run.returncode:
        raise RuntimeError(f"the first call failed in its process:\n{run.stderr}")
    return json.loads(run.stdout.splitlines()[-1])


def child():
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
        GRNF(random_state=0).fit_transform(graphs)
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
    for state, row in rows.items():
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
        child()
    else:
        rows = bench_first_call(int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS)
        show(rows)
        if rows["cold"]["seconds"]["first_call"] > MOST_SECONDS:
            print(f"the first call takes more than {MOST_SECONDS} s")
