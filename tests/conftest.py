"""What tests of several folders run against: one server for a file. And the seed that their random choices come from."""
import pytest

from tests.support.palimpsest import Server
from tests.support.seeds import SEED, seed_choices


@pytest.fixture(scope="module")
def server():
    with Server() as running:
        yield running


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    seed_choices(item.nodeid)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if report.failed:
        report.sections.append(("seed", f"PALIMPSEST_TEST_SEED={SEED} repeats the random choices"))
    return report
