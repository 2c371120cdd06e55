"""Tests of tools run against these: one server for a file, and names of databases that are free."""
import random

import pytest


@pytest.fixture
def client(server):
    with server.client() as client:
        yield client
        for name in client.list_database_names():
            if name not in ("admin", "config", "local"):
                client.drop_database(name)


@pytest.fixture
def name():
    return f"t{random.getrandbits(40):x}"
