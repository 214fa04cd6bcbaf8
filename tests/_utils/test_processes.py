"""Tasks shared among processes."""

import gc
import os
import time

import pytest

from grnf._utils.processes import in_processes


def slow_square(number):
    time.sleep(0.02)
    return number * number


def who(number):
    return os.getpid()


@pytest.mark.parametrize("n_jobs", [None, 1, 2])
def test_results_come_in_order(n_jobs):
    assert list(in_processes(slow_square, range(9), n_jobs)) == [n * n for n in range(9)]


def test_other_processes_do_the_work():
    assert os.getpid() not in set(in_processes(who, range(4), 2))


@pytest.mark.parametrize("taken", [0, 1, 5])
def test_a_reader_may_leave_early(taken):
    # Warnings are errors here, and joblib warns of results that are thrown away.
    asked = []

    def tasks():
        for number in range(1000):
            asked.append(number)
            yield number

    results = in_processes(slow_square, tasks(), 2)
    assert [next(results) for _ in range(taken)] == [n * n for n in range(taken)]
    results.close()
    del results
    gc.collect()
    assert len(asked) < 50
    assert list(in_processes(slow_square, range(3), 2)) == [0, 1, 4]


def test_an_error_of_a_task_comes_through():
    with pytest.raises(TypeError, match=r"unsupported operand|can't multiply"):
        list(in_processes(slow_square, [1, "a", 2], 2))
