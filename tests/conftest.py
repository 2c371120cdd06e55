"""What tests of several folders run against: one server for a file."""
import pytest

from tests.support.palimpsest import Server


@pytest.fixture(scope="module")
def server():
    with Server() as running:
        yield running
