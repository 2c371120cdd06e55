"""Most tests of drivers run against these: one server for a file, and a database of its own for each test."""
import random

import pytest


@pytest.fixture
def db(server):
    client = server.client()
    name = f"t{random.getrandbits(40):x}"
    yield client[name]
    client.drop_database(name)
    client.close()
