"""On every member, after kills, checkpoints and an initial sync, streams find all that dropped collections had, and images of merges."""
import random

import bson
import pytest
from pymongo.read_preferences import ReadPreference

from tests.support.replica_set import ReplicaSet
from tests.support.seeds import SEED
from tests.support.waiting import wait_until


@pytest.fixture(scope="module")
def three():
    with ReplicaSet(3) as running:
        yield running


def fill(collection, count=60):
    """Inserts, updates of both forms, replacements and removals: contents that the log names, and such that it has."""
    rng = random.Random(f"{SEED} {collection.name}")
    collection.insert_many([{"_id": i, "text": rng.randbytes(300).hex()} for i in range(count)])
    for i in range(0, count, 3):
        collection.update_one({"_id": i}, {"$set": {"n": i}})
    for i in range(1, count, 4):
        collection.replace_one({"_id": i}, {"text": rng.randbytes(200).hex()})
    collection.delete_many({"_id": {"$mod": [7, 5]}})


def read(client, start, count=None):
    """The events of the database since `start`: so many, or up to the last."""
    found = []
    with client.gone.watch(start_at_operation_time=start, full_document_before_change="whenAvailable", max_await_time_ms=200) as stream:
        while count is None or len(found) < count:
            event = stream.try_next()
            if event is None and count is None:
                return found
            if event is not None:
                found.append(event)
    return found


def wait_gone(three):
    """Until each member has tables for the collections that are there, and no others."""
    def tables(member):
        return len(list(member.dbpath.glob("records-*.wt")))

    def collections(member):
        return sum(one["type"] == "collection" and one["name"] != "oplog.rs"
                   for name in member.direct.list_database_names() for one in member.direct[name].list_collections())

    def gone():
        for member in three.members:
            member.command("fsync")
        return all(tables(member) == collections(member) for member in three.members)
    wait_until(gone, lambda: f"{[(tables(member), collections(member)) for member in three.members]}")


def drop_all(client):
    """Every way in which a collection goes, and capped documents that are pushed out."""
    database = client.gone
    images = {"changeStreamPreAndPostImages": {"enabled": True}}
    database.create_collection("dropped", **images)
    fill(database.dropped)
    database.dropped.drop()
    for name in ("renamed", "replaced", "kept", "output"):
        fill(database[name])
    database.renamed.rename("replaced", dropTarget=True)
    database.kept.aggregate([{"$match": {"_id": {"$lt": 5}}}, {"$out": "output"}])
    database.create_collection("capped", capped=True, size=4096, max=5, **images)
    for i in range(12):
        database.capped.insert_one({"_id": i})


def test_streams_reach_back_behind_drops(three):
    client = three.client(w="majority")
    client.gone.create_collection("before")
    now = client.admin.command("ping")["operationTime"]
    start = bson.Timestamp(now.time, now.inc + 1)
    drop_all(client)
    expected = read(client, start)
    assert {event["operationType"] for event in expected} >= {"insert", "update", "replace", "delete", "drop", "rename"}
    pushed_out = [event for event in expected if event["ns"]["coll"] == "capped" and event["operationType"] == "delete"]
    assert [event["fullDocumentBeforeChange"] for event in pushed_out] == [{"_id": i} for i in range(7)]

    # The log is taking the contents in, or will be once the member runs again.
    primary = three.primary()
    primary.kill()
    primary.start()
    three.wait_settled()
    for name in ("replaced", "kept", "output", "capped"):
        client.gone[name].drop()
    fill(client.gone.last)
    client.gone.last.drop()
    more = read(client, start)
    assert more[:len(expected)] == expected
    wait_gone(three)
    for member in three.members:
        assert read(member.direct, start, len(more)) == more
    for member in three.members:
        member.kill()
    for member in three.members:
        member.start(wait=False)
    three.wait_settled()
    for member in three.members:
        assert read(member.direct, start, len(more)) == more
    entries = client.local["oplog.rs"].count_documents({"ns": {"$regex": "^gone[.]"}, "op": {"$in": ["i", "u", "d"]}})
    assert entries == sum(event["operationType"] in ("insert", "update", "replace", "delete") for event in more)

    another = three.join()
    assert read(another.direct, start, len(more)) == more
    three.check_nobody_failed()


def test_a_stream_that_is_open_goes_on_through_drops(three):
    client = three.client(w="majority", read_preference=ReadPreference.SECONDARY)
    with client.gone.watch(max_await_time_ms=200) as stream:
        fill(client.gone.read, 20)
        client.gone.read.drop()
        fill(client.gone.read, 10)
        client.drop_database("gone")
        kinds = []
        wait_until(lambda: (event := stream.try_next()) and kinds.append(event["operationType"]) or kinds[-1:] == ["invalidate"])
    assert kinds[-3:] == ["drop", "dropDatabase", "invalidate"] and kinds.count("insert") == 30


def test_merges_keep_images(three):
    client = three.client(w="majority")
    database = client.merged
    images = {"changeStreamPreAndPostImages": {"enabled": True}}
    database.create_collection("c", **images)
    text = random.Random(SEED).randbytes(400).hex()
    database.c.insert_many([{"_id": i, "text": text, "n": 0} for i in range(8)])
    database.command("createBranch", "dev")
    client["merged@dev"].c.update_many({"_id": {"$lt": 4}}, {"$set": {"n": 1}})
    client["merged@dev"].c.delete_one({"_id": 4})
    client["merged@dev"].c.replace_one({"_id": 5}, {"text": "anew"})
    client["merged@dev"].c.insert_one({"_id": 9})
    database.c.update_one({"_id": 7}, {"$set": {"n": 7}})  # so that the merge is no fast-forward
    client["merged@dev"].command("commit", 1, message="dev")
    database.command("commit", 1, message="main")
    now = client.admin.command("ping")["operationTime"]
    start = bson.Timestamp(now.time, now.inc + 1)
    client["merged"].command("merge", "dev")
    database.c.update_one({"_id": 0}, {"$set": {"n": 2}})  # in a record that the merge made

    def check(reader, name, before, after):
        with reader[name].c.watch(start_at_operation_time=start, full_document="required", full_document_before_change="required",
                                  max_await_time_ms=200) as stream:
            found = {}
            wait_until(lambda: (event := stream.try_next()) and found.setdefault(event["documentKey"]["_id"], event) and len(found) == len(before))
        assert {key: event.get("fullDocumentBeforeChange") for key, event in found.items()} == before
        assert {key: event.get("fullDocument") for key, event in found.items()} == after

    old = {i: {"_id": i, "text": text, "n": 0} for i in range(6)}
    new = {**{i: {"_id": i, "text": text, "n": 1} for i in range(4)}, 4: None, 5: {"_id": 5, "text": "anew"}, 9: {"_id": 9}}
    for member in three.members:
        check(member.direct, "merged", {**old, 9: None}, new)
    three.check_nobody_failed()
