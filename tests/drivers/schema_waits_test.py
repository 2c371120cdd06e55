"""Changes of the schema wait for those who read, and stop waiting when their time is over or somebody kills them."""
import threading
import time

import pytest
from pymongo.errors import OperationFailure

from tests.support.waiting import DEADLINE, wait_until

# These are a thousand million additions for each document.
LONG = {"$expr": {"$gt": [{"$size": {"$map": {"input": {"$range": [0, 100_000]},
                                              "in": {"$size": {"$map": {"input": {"$range": [0, 10_000]}, "in": {"$add": ["$$this", 1]}}}}}}}, -1]}}


@pytest.fixture
def busy(server):
    """A database with a reader that holds its collection for as long as the test runs."""
    with server.client() as client:
        database = client["waits"]
        database["c"].insert_many({"_id": i, "a": i} for i in range(50))
        database["c"].create_index("a", name="a")

        def read():
            with server.client() as reader:
                try:
                    while True:
                        list(reader["waits"]["c"].find(LONG, comment="the reader"))
                except OperationFailure:
                    pass

        thread = threading.Thread(target=read)
        thread.start()
        wait_until(lambda: running(client, "the reader"))
        yield database
        while thread.is_alive():
            for op in running(client, "the reader"):
                client.admin.command("killOp", 1, op=op["opid"])
            thread.join(0.1)
        client.drop_database("waits")


def running(client, comment):
    return [op for op in client.admin.command("currentOp")["inprog"] if op.get("command", {}).get("comment") == comment]


CHANGES = {
    "drop": {"drop": "c"},
    "dropDatabase": {"dropDatabase": 1},
    "rename": {"renameCollection": "waits.c", "to": "waits.d"},
    "createIndexes": {"createIndexes": "c", "indexes": [{"key": {"b": 1}, "name": "b"}]},
    "dropIndexes": {"dropIndexes": "c", "index": "a"},
    "collMod": {"collMod": "c", "index": {"name": "a", "hidden": True}},
    "convertToCapped": {"convertToCapped": "c", "size": 100_000},
    "createBranch": {"createBranch": "dev"},
    "validate": {"validate": "c"},
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_that_waits_ends_with_its_time(busy, name):
    database = busy.client["admin"] if name == "rename" else busy
    begun = time.monotonic()
    with pytest.raises(OperationFailure) as failure:
        database.command({**CHANGES[name], "maxTimeMS": 200})
    assert failure.value.code == 50
    assert time.monotonic() - begun < DEADLINE
    assert busy["c"].count_documents({}) == 50
    assert [one["name"] for one in busy["c"].list_indexes()] == ["_id_", "a"]


@pytest.mark.parametrize("name", ["drop", "createBranch"])
def test_a_change_that_waits_can_be_killed(busy, server, name):
    failed = []

    def change():
        with server.client() as client:
            try:
                client["waits"].command({**CHANGES[name], "comment": "the change"})
            except OperationFailure as error:
                failed.append(error.code)

    thread = threading.Thread(target=change)
    thread.start()
    wait_until(lambda: running(busy.client, "the change"))
    for op in running(busy.client, "the change"):
        busy.client.admin.command("killOp", 1, op=op["opid"])
    thread.join()
    assert failed == [11601]
    assert busy["c"].count_documents({}) == 50


def test_readers_one_after_the_other_let_a_change_in(server):
    """Each of them is short, and some are always there."""
    with server.client() as client:
        collection = client["waits"]["often"]
        collection.insert_many({"_id": i} for i in range(2000))
        ended = threading.Event()

        def read():
            with server.client() as reader:
                while not ended.is_set():
                    list(reader["waits"]["often"].aggregate([{"$match": {"x": None}}, {"$count": "n"}]))

        threads = [threading.Thread(target=read) for _ in range(6)]
        for thread in threads:
            thread.start()
        try:
            for number in range(10):
                collection.create_index(f"f{number}", maxTimeMS=600_000)
        finally:
            ended.set()
            for thread in threads:
                thread.join()
        client.drop_database("waits")
