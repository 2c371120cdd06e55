"""Tests of declared snapshots run against this: one server for a file, without databases and snapshots at the beginning of each test."""
import pymongo
import pytest


@pytest.fixture
def shop(server):
    with pymongo.MongoClient(server.uri) as client:
        for name in client.list_database_names():
            if name not in ("admin", "config", "local"):
                client.drop_database(name)
        for one in snapshots(client):
            client.admin.command("dropSnapshot", one["snapshot"])
        yield Shop(client)


def snapshots(client):
    return list(client.admin.cursor_command("listSnapshots", 1))


class Shop:
    def __init__(self, client):
        self.client = client

    def __getitem__(self, ref):
        return self.client[f"shop@{ref}" if ref else "shop"]

    @property
    def now(self):
        return self.client["shop"]

    def declare(self, name=None):
        return self.client.admin.command("createSnapshot", 1, **({"name": name} if name else {}))["snapshot"]
