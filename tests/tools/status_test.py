"""mongostat and mongotop must work: every field that they make a column of is there, in a type that they take, and counts what happened."""
import pytest

from tests.support.palimpsest import Server
from tests.support.replica_set import ReplicaSet
from tests.tools.conversations import connect, stat_row, status, top


@pytest.fixture(params=["standalone", "set"], scope="module")
def running(request):
    if request.param == "standalone":
        with Server() as server, server.client() as client:
            yield client, None
    else:
        with ReplicaSet(1) as replica_set:
            yield replica_set.client(), "rs0"


def work(collection):
    collection.insert_many([{"_id": i} for i in range(30)])
    for i in range(20):
        collection.update_one({"_id": i}, {"$set": {"a": i}})
        collection.find_one({"_id": i})
    collection.delete_many({"_id": {"$gte": 25}})
    list(collection.find(batch_size=5))


def test_a_row_of_mongostat_says_what_happened(running):
    client, name = running
    assert connect(client) == ("set" if name else "standalone")
    before = status(client)
    work(client.shop.stat)
    row = stat_row(before, status(client))
    assert row["insert"] == 30 and row["update"] == 20 and row["delete"] == 1 and row["query"] >= 21 and row["getmore"] >= 4 and row["command"] >= 1
    assert 0 <= row["dirty"] <= row["used"] < 100 and row["vsize"] >= row["res"] > 0 and row["flushes"] >= 0
    assert row["qr"] == row["qw"] == 0 and row["ar"] >= 0 and row["aw"] >= 0 and row["net_in"] > 0 and row["net_out"] > 0 and row["conn"] >= 1
    assert row["set"] == name


def test_checkpoints_are_flushes(running):
    client, _ = running
    before = status(client)
    client.shop.stat.insert_one({})
    client.admin.command("fsync")
    assert stat_row(before, status(client))["flushes"] >= 1


def test_a_row_of_mongotop_says_where_the_time_went(running):
    client, _ = running
    client.shop.first.insert_one({})
    before = top(client)
    work(client.shop.top)
    list(client["shop"]["top"].aggregate([{"$group": {"_id": "$a"}}]))
    after = top(client)
    of = {part: tuple(now - then for now, then in zip(after["shop.top"][part], before.get("shop.top", {}).get(part, (0, 0)))) for part in ("total", "read", "write")}
    assert of["write"][1] >= 22 and of["read"][1] >= 21 and of["total"][1] >= of["read"][1] + of["write"][1]
    assert of["total"][0] >= of["read"][0] + of["write"][0] > 0
    assert after["shop.first"] == before["shop.first"]
