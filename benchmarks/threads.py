"""By hand or by a library: our threads beside those of joblib and of the standard library; tasks only wait.

Alone: python benchmarks/threads.py writes results/threads.json
"""

import json
import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

import measure
from joblib import Parallel, delayed

from grnf.features.workers import run

RESULTS = Path(__file__).parent / "results" / "threads.json"
WORKERS, SECONDS = 2, 0.005


def by_joblib(tasks, workers):
    Parallel(n_jobs=workers, backend="threading")(delayed(task)() for task in tasks)


def by_executor(tasks, workers):
    with ThreadPoolExecutor(workers) as pool:
        try:
            for future in as_completed([pool.submit(task) for task in tasks]):
                future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


RUNNERS = {"ours": run, "joblib": by_joblib, "concurrent.futures": by_executor}


def overhead(runner, n_tasks):
    """Milliseconds of a call beyond those that the tasks of one thread take in a row."""

    def wait():
        time.sleep(SECONDS)

    seconds = measure.compare(
        repeats=41,
        bare=lambda: [wait() for _ in range(n_tasks // WORKERS)],
        runner=lambda: runner([wait] * n_tasks, WORKERS),
    )
    return 1e3 * (seconds["runner"] - seconds["bare"])


def after(runner, fail, n_tasks=20, at=3):
    """Let task number `at` fail in some way; return what came after that."""
    begun, moment = [], []

    def task(index):
        begun.append(time.perf_counter())
        if index == at:
            moment.append(time.perf_counter())
            fail()
        time.sleep(4 * SECONDS)

    caught = "none"
    try:
        runner([lambda index=index: task(index) for index in range(n_tasks)], WORKERS)
    except BaseException as error:
        caught = type(error).__name__
    done = time.perf_counter()
    running = threading.active_count() - 1
    time.sleep(0.5)
    return {
        "raised": caught,
        "milliseconds": 1e3 * (done - moment[0]),
        "begun_after": sum(time_begun > moment[0] for time_begun in begun),
        "threads_running_when_raised": running,
    }


def interrupt():
    os.kill(os.getpid(), signal.SIGINT)


def fail():
    raise ValueError("a task that fails")


def bench_threads():
    """Threads of ours and of libraries: overhead of a call, after the first error, after Ctrl-C."""
    rows = {}
    for name, runner in RUNNERS.items():
        rows[name] = {
            "overhead_ms": {f"{n} tasks of 5 ms": overhead(runner, n) for n in (10, 20)},
            "after_an_error": after(runner, fail),
            "after_an_interrupt": after(runner, interrupt),
        }
    return rows


if __name__ == "__main__":
    rows = bench_threads()
    RESULTS.write_text(
        json.dumps({"benchmark": "threads", "what": bench_threads.__doc__, "rows": rows}, indent=2) + "\n"
    )
    print(json.dumps(rows, indent=1))
