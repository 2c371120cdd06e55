"""Tests of several folders run against these: one server for a file, and the seed that their random choices come from.

A test that is skipped fails.
"""
import os

import pytest

from tests.support.palimpsest import Server
from tests.support.seeds import SEED, seed_choices


@pytest.fixture(scope="module")
def server():
    # A pass of the sweeper would take what a test counts.
    with Server("--setParameter", "branchSweepEnabled=false") as running:
        yield running


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    seed_choices(item.nodeid)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """A suite that skips what it can't do here would pass without having tested anything."""
    report = yield
    if report.skipped and not hasattr(report, "wasxfail") and not os.environ.get("PALIMPSEST_MAY_SKIP"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        report.outcome = "failed"
        report.longrepr = f"{reason}\nA skipped test is a failure; the environment variable PALIMPSEST_MAY_SKIP=1 permits it."
    elif report.failed:
        report.sections.append(("seed", f"PALIMPSEST_TEST_SEED={SEED} repeats the random choices"))
    return report


def pytest_collection_modifyitems(config, items):
    """Tests of minutes run only where more than a usual run is asked for."""
    from tests.support.replica_set import SCALE

    long_runs = [item for item in items if SCALE <= 1 and item.get_closest_marker("long_run")]
    config.hook.pytest_deselected(items=long_runs)
    items[:] = [item for item in items if item not in long_runs]


def pytest_configure(config):
    config.addinivalue_line("markers", "long_run: takes minutes, and runs where PALIMPSEST_SETS_SCALE is above 1")
