"""Change streams that start at a declared snapshot, whether or not the log still reaches back to it."""
import random
import time

import pytest
from pymongo.errors import OperationFailure

from tests.support.palimpsest import Server
from tests.support.waiting import DEADLINE, wait_until


@pytest.fixture(scope="module")
def member():
    with Server("--replSet", "rs0", "--oplogSize", "1") as running:
        running.initiate()
        yield running


@pytest.fixture
def client(member):
    with member.client(directConnection=True) as connected:
        connected.drop_database("shop")
        yield connected


class Stream:
    """Drivers have no option for the start, so the commands are sent as they stand."""

    def __init__(self, database, collection, **options):
        self.database, self.name = database, collection if collection != 1 else "$cmd.aggregate"
        cursor = database.command("aggregate", collection, pipeline=[{"$changeStream": options}], cursor={"batchSize": 3})["cursor"]
        self.id, self.got, self.token = cursor["id"], cursor["firstBatch"], cursor["postBatchResumeToken"]

    def read(self, count):
        until = time.monotonic() + DEADLINE
        while len(self.got) < count:
            cursor = self.database.command("getMore", self.id, collection=self.name, batchSize=7, maxTimeMS=500)["cursor"]
            self.got += cursor["nextBatch"]
            self.token = cursor["postBatchResumeToken"]
            assert time.monotonic() < until, f"{len(self.got)} of {count} events: {self.got}"
        got, self.got = self.got[:count], self.got[count:]
        return got


def said(events):
    return [(event["operationType"], event["ns"]["coll"], event["documentKey"]["_id"]) for event in events]


def cut_log(client):
    """Writes until the log no longer reaches back to what was before."""
    oplog = client.local["oplog.rs"]
    newest = oplog.find_one(sort=[("$natural", -1)])["ts"]
    rng = random.Random(3)

    def gone():
        client.other.c.insert_many([{"text": rng.randbytes(20_000)} for _ in range(20)])
        client.other.c.delete_many({})
        return oplog.find_one()["ts"] > newest
    wait_until(gone)


def test_the_log_reaches_back(client):
    shop = client.shop
    shop.c.insert_one({"_id": 1})
    client.admin.command("createSnapshot", 1, name="near")
    shop.c.insert_one({"_id": 2})
    shop.c.update_one({"_id": 2}, {"$set": {"a": 1}})
    stream = Stream(shop, "c", startAtSnapshot="near")
    assert said(stream.read(2)) == [("insert", "c", 2), ("update", "c", 2)]
    client.admin.command("dropSnapshot", "near")


@pytest.mark.parametrize("target", ["c", 1])
def test_the_log_no_longer_reaches_back(client, target):
    shop = client.shop
    shop.c.insert_many([{"_id": at, "n": 0} for at in range(20)])
    shop.gone.insert_many([{"_id": at} for at in range(3)])
    client.admin.command("createSnapshot", 1, name="far")
    shop.c.update_many({"_id": {"$lt": 5}}, {"$set": {"n": 1}})
    shop.c.delete_many({"_id": {"$gte": 17}})
    shop.c.insert_many([{"_id": 100 + at} for at in range(4)])
    shop.gone.drop()
    shop.fresh.insert_one({"_id": "f"})
    cut_log(client)
    with pytest.raises(OperationFailure) as failure:
        shop.c.watch(start_at_operation_time=client.admin.cursor_command("listSnapshots", 1).next()["clusterTime"])
    assert failure.value.code == 286
    stream = Stream(shop, target, startAtSnapshot="far")
    wanted = [("replace", "c", at) for at in range(5)] + [("insert", "c", 100 + at) for at in range(4)] + [("delete", "c", at) for at in (17, 18, 19)]
    if target == 1:
        wanted += [("insert", "fresh", "f")] + [("delete", "gone", at) for at in range(3)]
    got = stream.read(len(wanted))
    assert sorted(said(got), key=str) == sorted(wanted, key=str)
    tokens = [event["_id"]["_data"] for event in got]
    assert tokens == sorted(set(tokens))
    with pytest.raises(OperationFailure) as failure:
        shop.command("aggregate", target, pipeline=[{"$changeStream": {"resumeAfter": got[2]["_id"]}}], cursor={})
    assert failure.value.code == 286
    # Then come the changes since.
    shop.c.insert_one({"_id": "later"})
    later = stream.read(1)
    assert said(later) == [("insert", "c", "later")] and later[0]["_id"]["_data"] > tokens[-1]
    shop.c.insert_one({"_id": "last"})
    again = Stream(shop, target, resumeAfter=later[0]["_id"])
    assert said(again.read(1)) == [("insert", "c", "last")]
    client.admin.command("dropSnapshot", "far")


def test_refusals(client):
    for options, code in (({"startAtSnapshot": "nothing"}, 26), ({"startAtSnapshot": 5}, 14), ({"startAtSnapshot": "a", "commits": True}, 72),
                          ({"startAtSnapshot": "a", "resumeAfter": {"_data": "x"}}, 40674)):
        with pytest.raises(OperationFailure) as failure:
            client.shop.command("aggregate", 1, pipeline=[{"$changeStream": options}], cursor={})
        assert failure.value.code == code
