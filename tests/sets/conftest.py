"""The tests of a file share three members, and leave them as they found them."""
import pytest

from tests.support.replica_set import ReplicaSet


@pytest.fixture(scope="module")
def shared():
    with ReplicaSet(3) as running:
        yield running


@pytest.fixture
def three(shared):
    shared.wait_settled()
    yield shared
    shared.check_nobody_failed()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """A test that failed is shown with the states of the members and the ends of their logs."""
    report = yield
    running = item.funcargs.get("three")
    if report.failed and running is not None:
        report.sections.append(("members", f"{running.states()}\n{running.tails()}"))
    return report
