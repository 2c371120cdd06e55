"""Tests of branches run against these: one server for a file, and a database of its own for each test."""
import concurrent.futures
import contextlib
import random

import pymongo
import pytest
from pymongo.errors import OperationFailure


def fails(code, work):
    with pytest.raises(OperationFailure) as failure:
        work()
    assert failure.value.code == code, failure.value
    return failure.value


def by_id(collection, **filter):
    return {one["_id"]: one for one in collection.find(filter)}


def log_of(database, **arguments):
    return list(database.cursor_command("log", 1, **arguments))


def check_collection(database, name):
    """Every index says what the documents say, on all branches at once, and counts are what there is."""
    report = database.command("validate", name, full=True)
    said = [one for one in report["warnings"] if "actively in use" not in one]
    assert report["valid"] and not report["errors"] and not said, report


class Branched:
    """A database and its branches, by their names."""

    def __init__(self, client):
        self.client = client
        self.name = f"t{random.getrandbits(40):x}"

    def __getitem__(self, ref):
        return self.client[self.name if ref == "main" else f"{self.name}@{ref}"]

    def create(self, branch, **arguments):
        return self["main"].command("createBranch", branch, **arguments)

    def names(self):
        return [one["name"] for one in self["main"].command("listBranches")["cursor"]["firstBatch"]]

    @contextlib.contextmanager
    def writers(self, count, branch, write):
        """`write(number, database)` in as many threads, each with a client of its own. Waits for all, and fails with what one of them did."""
        def run(number):
            with pymongo.MongoClient(*self.client.address) as client:
                write(number, client[f"{self.name}@{branch}"])

        with concurrent.futures.ThreadPoolExecutor(count) as pool:
            running = [pool.submit(run, number) for number in range(count)]
            yield running
            for one in running:
                one.result()

    def check(self):
        somewhere = {}
        try:
            refs = [name.replace(".", "%2E").replace("/", "%2F") for name in self.names()]
        except OperationFailure:  # it has no branches
            refs = ["main"]
        for ref in refs:
            somewhere |= {collection: ref for collection in self[ref].list_collection_names()}
        for collection, ref in somewhere.items():
            check_collection(self[ref], collection)


@pytest.fixture
def shop(server):
    client = server.client()
    database = Branched(client)
    yield database
    database.check()
    client.drop_database(database.name)
    client.close()


@pytest.fixture
def key_for_two(shop):
    """main has added "m" and dev "d" with one key of a unique index on `u`; dev has changed document 1's, too."""
    main = shop["main"]
    main.c.create_index("u", unique=True)
    main.c.insert_many([{"_id": i, "u": i} for i in range(4)])
    shop.create("dev")
    dev = shop["dev"]
    main.c.insert_one({"_id": "m", "u": 100})
    dev.c.insert_one({"_id": "d", "u": 100})
    dev.c.update_one({"_id": 1}, {"$set": {"u": 50}})
    main.command("commit", 1), dev.command("commit", 1)
    return shop
