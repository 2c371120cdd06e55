"""Three members that the tests of a file share, and leave as they found them."""
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
    """What failed is shown with what the members were at, and said last."""
    report = yield
    running = item.funcargs.get("three")
    if report.failed and running is not None:
        report.sections.append(("members", f"{running.states()}\n{running.tails()}"))
    return report
