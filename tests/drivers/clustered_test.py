"""These tests use clustered collections, indexes that become unique, and merged sorts as applications do, on branches too, and across a restart."""
import datetime
import random

import pymongo
import pytest
from pymongo.errors import DuplicateKeyError, OperationFailure

from tests.support.palimpsest import Server
from tests.support.waiting import wait_until

CLUSTERED = {"key": {"_id": 1}, "unique": True}


@pytest.fixture(scope="module")
def server():
    with Server("--setParameter", "ttlMonitorSleepSecs=1") as running:
        yield running


@pytest.fixture(scope="module")
def member():
    with Server("--replSet", "rs0") as running:
        running.initiate()
        yield running


def ids(cursor):
    return [document["_id"] for document in cursor]


def refused(call, code):
    with pytest.raises(OperationFailure) as failure:
        call()
    assert failure.value.code == code, failure.value
    return failure.value.details


def stages(plan):
    """The names of all stages of a plan."""
    below = [plan["inputStage"]] if "inputStage" in plan else plan.get("inputStages", [])
    return {plan["stage"]}.union(*map(stages, below))


def winning(db, command):
    return db.command("explain", command, verbosity="queryPlanner")["queryPlanner"]["winningPlan"]


def become_unique(db, name, **options):
    db.command("collMod", "c", index={"name": name, "prepareUnique": True})
    return db.command("collMod", "c", index={"name": name, "unique": True}, **options)


def test_scans_go_by_id(db):
    c = db.create_collection("c", clusteredIndex=CLUSTERED)
    numbers = list(range(300))
    random.Random(1).shuffle(numbers)
    c.insert_many([{"_id": number, "n": -number} for number in numbers])
    assert ids(c.find()) == sorted(numbers)
    assert ids(c.find().sort("_id", -1).limit(3)) == [299, 298, 297]
    assert ids(c.find({"_id": {"$gte": 10, "$lt": 15}})) == [10, 11, 12, 13, 14]
    assert ids(c.find({"_id": {"$in": [5, 1, 3]}})) == [1, 3, 5]
    assert ids(c.aggregate([{"$match": {"_id": {"$gt": 295}, "n": {"$lt": -296}}}])) == [297, 298, 299]
    plan = winning(db, {"find": "c", "filter": {"_id": {"$gt": 5}}, "sort": {"_id": 1}})
    assert plan["stage"] == "CLUSTERED_IXSCAN" and plan["minRecord"] == 5
    c.create_index("n")
    assert ids(c.find({"n": {"$gte": -2}}).sort("n", -1)) == [0, 1, 2]
    with pytest.raises(DuplicateKeyError):
        c.insert_one({"_id": 5})
    assert c.find_one_and_update({"_id": 7}, {"$set": {"n": 9}}, return_document=True) == {"_id": 7, "n": 9}
    assert c.delete_many({"_id": {"$lt": 200}}).deleted_count == 200
    c.insert_many([{"_id": key} for key in ("a", None, datetime.datetime(2020, 1, 1), {"x": 1})])
    assert ids(c.find({"_id": {"$not": {"$type": "number"}}})) == [None, "a", {"x": 1}, datetime.datetime(2020, 1, 1)]
    refused(lambda: c.drop_index("_id_"), 5979800)
    assert db.command("validate", "c", full=True)["valid"]


def test_dates_in_ids_expire(db):
    c = db.create_collection("c", clusteredIndex=CLUSTERED, expireAfterSeconds=3600)
    now = datetime.datetime.now(datetime.timezone.utc)
    kept = [now, now + datetime.timedelta(days=1)]
    c.insert_many([{"_id": now - datetime.timedelta(hours=hours)} for hours in (2, 3, 50)] + [{"_id": date} for date in kept] + [{"_id": "no date"}])
    wait_until(lambda: c.count_documents({}) == 3, "the documents have not expired")
    db.command("collMod", "c", expireAfterSeconds="off")
    c.insert_one({"_id": now - datetime.timedelta(hours=2)})
    assert "expireAfterSeconds" not in db.command("listCollections", filter={"name": "c"})["cursor"]["firstBatch"][0]["options"]


@pytest.mark.parametrize("command", [
    {"clusteredIndex": {"key": {"a": 1}, "unique": True}}, {"clusteredIndex": {"key": {"_id": 1}}}, {"clusteredIndex": {"key": {"_id": -1}, "unique": True}},
    {"clusteredIndex": {"key": {"_id": 1}, "unique": False}}, {"clusteredIndex": CLUSTERED, "capped": True, "size": 4096}, {"expireAfterSeconds": 5},
    {"clusteredIndex": 7}, {"clusteredIndex": {**CLUSTERED, "other": 1}},
])
def test_wrong_clustered_collections_are_refused(db, command):
    with pytest.raises(OperationFailure):
        db.command("create", "c", **command)
    assert db.list_collection_names() == []


def test_an_index_becomes_unique(db):
    db.c.insert_many([{"_id": number, "a": number % 50, "b": [number, number + 1000]} for number in range(100)])
    db.c.create_index("a", name="a")
    db.c.create_index("b", name="b")
    refused(lambda: db.command("collMod", "c", index={"name": "a", "unique": True}), 72)
    db.command("collMod", "c", index={"name": "a", "prepareUnique": True})
    with pytest.raises(DuplicateKeyError):
        db.c.insert_one({"a": 3})
    details = refused(lambda: db.command("collMod", "c", index={"name": "a", "unique": True}), 359)
    assert details["violations"] == [{"ids": [number, number + 50]} for number in range(50)]
    db.c.delete_many({"_id": {"$gte": 50}})
    assert db.command("collMod", "c", index={"name": "a", "unique": True}, dryRun=True)["ok"] == 1
    assert db.command("collMod", "c", index={"name": "a", "unique": True})["unique_new"] is True
    assert become_unique(db, "b")["unique_new"] is True
    shown = {index["name"]: index for index in db.c.list_indexes()}
    assert shown["a"]["unique"] is True and "prepareUnique" not in shown["a"] and shown["b"]["unique"] is True
    for double in ({"a": 3}, {"a": 99, "b": 1003}):
        with pytest.raises(DuplicateKeyError):
            db.c.insert_one(double)
    assert ids(db.c.find({"a": {"$lt": 3}}).hint("a")) == [0, 1, 2] and ids(db.c.find({"b": 1007}).hint("b")) == [7]
    db.c.update_one({"_id": 1}, {"$set": {"a": 77}})
    db.c.delete_one({"_id": 2})
    db.c.insert_one({"_id": 100, "a": 1})
    assert ids(db.c.find({"a": {"$in": [1, 2, 77]}}).hint("a")) == [100, 1]
    assert db.command("validate", "c", full=True)["valid"]


def test_an_index_of_branches_becomes_unique(db):
    db.c.insert_many([{"_id": number, "a": number} for number in range(10)])
    db.c.create_index("a", name="a")
    db.command("createSnapshot", "before")
    db.command("createBranch", "dev")
    dev, before = db.client[db.name + "@dev"], db.client[db.name + "@before"]
    try:
        db.c.insert_one({"_id": 10, "a": 50})
        dev.c.insert_many([{"_id": 11, "a": 50}, {"_id": 12, "a": 3}])
        db.command("collMod", "c", index={"name": "a", "prepareUnique": True})
        with pytest.raises(OperationFailure):
            db.command("collMod", "c", index={"name": "a", "unique": True})
        assert "unique" not in list(db.c.list_indexes())[1]
        assert ids(dev.c.find({"a": 3}).hint("a")) == [3, 12]
        dev.c.delete_one({"_id": 12})
        assert db.command("collMod", "c", index={"name": "a", "unique": True})["unique_new"] is True
        for branch in (db, dev):
            assert ids(branch.c.find({"a": {"$gte": 9}}).hint("a")) == [9, 10 if branch is db else 11]
            with pytest.raises(DuplicateKeyError):
                branch.c.insert_one({"_id": 20, "a": 50})
            assert list(branch.c.list_indexes())[1]["unique"] is True
        db.c.insert_one({"_id": 30, "a": 60})
        dev.c.insert_one({"_id": 31, "a": 60})
        dev.c.delete_one({"a": 5})
        assert ids(before.c.find({"a": {"$gt": 7}})) == [8, 9]
        assert db.c.count_documents({"a": 5}) == 1 and dev.c.count_documents({"a": 5}) == 0
        assert db.command("validate", "c", full=True)["valid"]
    finally:
        db.command("dropBranch", "dev", force=True)
        db.command("dropSnapshot", "before")


def test_conversions_outlive_a_kill(member):
    client = lambda: pymongo.MongoClient(member.host, member.port, directConnection=True)
    with client() as one:
        one.drop_database("t")
        wait_until(lambda: one.admin.command("hello")["isWritablePrimary"])
        one.t.c.insert_many([{"_id": number, "a": number} for number in range(20)])
        one.t.c.create_index("a", name="a")
        become_unique(one.t, "a")
        logged = [entry["o"] for entry in one.local["oplog.rs"].find({"ns": "t.$cmd", "o.collMod": "c"})]
        assert [entry["index"] for entry in logged][-2:] == [{"name": "a", "prepareUnique": True}, {"name": "a", "unique": True}]
        one.t.create_collection("k", clusteredIndex=CLUSTERED)
        one.t.k.insert_many([{"_id": 3}, {"_id": 1}, {"_id": 2}])
        before = list(one.t.c.list_indexes())
    member.kill()
    member.start()
    with client() as one:
        wait_until(lambda: one.admin.command("hello")["isWritablePrimary"])
        assert list(one.t.c.list_indexes()) == before and before[1]["unique"] is True
        with pytest.raises(DuplicateKeyError):
            one.t.c.insert_one({"a": 7})
        assert ids(one.t.c.find({"a": {"$gt": 17}}).hint("a")) == [18, 19]
        assert ids(one.t.k.find()) == [1, 2, 3]
        assert one.t.command("validate", "c", full=True)["valid"] and one.t.command("validate", "k", full=True)["valid"]


@pytest.mark.parametrize("seed", range(2))
def test_merged_sorts_are_sorted(db, seed):
    """A query whose sorted scans are merged finds what it finds without an index, in the same order of the sort's keys."""
    choose = random.Random(seed)
    arrays = seed % 2
    value = lambda: [choose.randrange(6) for _ in range(choose.randrange(3))] if arrays and choose.randrange(4) == 0 else choose.choice([0, 1, 2, 3, 4, None])
    documents = [{"_id": number, "a": value(), "b": value(), "s": choose.randrange(20), "t": choose.randrange(3)}
                 for number in range(150)]
    db.c.insert_many(documents)
    db.plain.insert_many(documents)
    for keys in (["a", "s"], ["b", "s", "t"], ["a", "s", "b"]):
        try:
            db.c.create_index([(key, choose.choice([1, -1])) for key in keys])
        except OperationFailure as error:
            assert error.code == 171  # two arrays
    merged = 0
    for _ in range(40):
        some = lambda: {"$in": choose.sample(range(5), choose.randrange(1, 4))}
        query = choose.choice([lambda: {"a": some()}, lambda: {"b": some()}, lambda: {"$or": [{"a": choose.randrange(5)}, {"b": choose.randrange(5)}]},
                               lambda: {"$or": [{"a": some()}, {"b": 1, "s": {"$gt": 4}}]}, lambda: {"a": some(), "s": {"$lt": 15}}])()
        sort = choose.choice([[("s", 1)], [("s", -1)], [("s", 1), ("t", 1)], [("s", -1), ("t", -1)]])
        merged += "SORT_MERGE" in stages(winning(db, {"find": "c", "filter": query, "sort": dict(sort)}))
        found, plain = list(db.c.find(query).sort(sort)), list(db.plain.find(query).sort(sort))
        keys = lambda rows: [[row[name] for name, _ in sort] for row in rows]
        assert keys(found) == keys(plain), (query, sort)
        assert sorted(ids(found)) == sorted(ids(plain)), (query, sort)
        limit = choose.randrange(1, 20)
        assert keys(db.c.find(query).sort(sort).limit(limit)) == keys(plain)[:limit], (query, sort)
    assert arrays or merged > 3
