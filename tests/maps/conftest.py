"""One thread: small problems gain nothing from threads, which wait for each other on a busy machine."""

import pytest
from threadpoolctl import threadpool_limits


@pytest.fixture(autouse=True)
def one_thread():
    with threadpool_limits(1):
        yield
