"""readConcern {level: "snapshot", atClusterTime}: databases are read under their own names, as of a declared snapshot."""
import bson

from tests.branches.conftest import by_id, fails

NOT_IN_A_SET, INVALID_OPTIONS, NAMESPACE_NOT_FOUND, KILLED, TOO_OLD = 123, 72, 26, 175, 239


def declare(shop, **name):
    return shop.client.admin.command("createSnapshot", 1, **name)


def at(time):
    return {"readConcern": {"level": "snapshot", "atClusterTime": time}}


def read(database, collection, time, batch=1000, **find):
    """All batches of a find."""
    cursor = database.command("find", collection, batchSize=batch, **find, **at(time))["cursor"]
    documents = cursor["firstBatch"]
    while True:
        assert cursor["ns"] == f"{database.name}.{collection}" and cursor["atClusterTime"] == time
        if not cursor["id"]:
            return documents
        cursor = database.command("getMore", cursor["id"], collection=collection, batchSize=batch)["cursor"]
        documents += cursor["nextBatch"]


def run(database, collection, time, *pipeline):
    cursor = database.command("aggregate", collection, pipeline=list(pipeline), cursor={}, **at(time))["cursor"]
    assert cursor["id"] == 0 and cursor["ns"] == f"{database.name}.{collection}" and cursor["atClusterTime"] == time
    return cursor["firstBatch"]


def test_reads_are_as_of_the_snapshot(shop):
    now, other = shop.now, shop.client["other"]
    now.c.create_index("n", name="by_n")
    now.c.insert_many([{"_id": i, "n": i % 3} for i in range(30)])
    other.d.insert_many([{"_id": i, "c": i} for i in range(3)])
    before = by_id(now.c)
    first = declare(shop, name="first")["clusterTime"]
    cursor = now.command("find", "c", batchSize=4, sort={"_id": 1}, **at(first))["cursor"]
    now.c.update_many({"n": 1}, {"$set": {"n": 7}})
    now.c.delete_many({"n": 2})
    now.c.drop_index("by_n")
    other.d.drop()
    second = declare(shop)["clusterTime"]
    now.c.drop()
    now.c.insert_one({"_id": 1, "n": 100})
    rest = now.command("getMore", cursor["id"], collection="c")["cursor"]
    assert cursor["firstBatch"] + rest["nextBatch"] == list(before.values()) and rest["atClusterTime"] == first
    for batch in (3, 1000):
        assert {one["_id"]: one for one in read(now, "c", first, batch)} == before
        assert len(read(now, "c", second, batch)) == 20
    assert [one["_id"] for one in read(now, "c", first, filter={"n": 1}, hint="by_n", limit=3)] == [1, 4, 7]
    fails(2, lambda: read(now, "c", second, filter={"n": 7}, hint="by_n"))
    counts = {"$group": {"_id": "$n", "count": {"$sum": 1}}}, {"$sort": {"_id": 1}}
    assert run(now, "c", first, *counts) == [{"_id": n, "count": 10} for n in range(3)]
    assert run(now, "c", second, *counts) == [{"_id": 0, "count": 10}, {"_id": 7, "count": 10}]
    distinct = now.command("distinct", "c", key="n", **at(second))
    assert sorted(distinct["values"]) == [0, 7] and distinct["atClusterTime"] == second
    lookup = {"$lookup": {"from": {"db": "other", "coll": "d"}, "localField": "_id", "foreignField": "c", "as": "of"}}, {"$match": {"of": {"$ne": []}}}, {"$count": "n"}
    assert run(now, "c", first, *lookup) == [{"n": 3}] and run(now, "c", second, *lookup) == []
    assert run(now, "none", first, {"$unionWith": "c"}, {"$count": "n"}) == [{"n": 30}]
    uuid = [one for one in shop["first"].list_collections() if one["name"] == "c"][0]["info"]["uuid"]
    assert len(read(now, "c", first, collectionUUID=uuid)) == 30
    # A name of a snapshot shows that snapshot.
    assert {one["_id"]: one for one in read(shop["first"], "c", second)} == before and len(read(shop["main@first"], "c", second)) == 30
    assert run(now, "none", second, {"$unionWith": {"db": "shop@first", "coll": "c"}}, {"$count": "n"}) == [{"n": 30}]
    assert list(now.c.find()) == [{"_id": 1, "n": 100}]
    now.command("aggregate", "c", pipeline=[{"$match": {"n": 0}}, {"$out": "copied"}], cursor={}, **at(first))
    assert now.copied.count_documents({}) == 10


def test_a_branch_at_a_time(shop):
    now = shop.now
    now.c.insert_many([{"_id": i} for i in range(3)])
    before = declare(shop)["clusterTime"]
    now.command("createBranch", "dev")
    shop["dev"].c.insert_many([{"_id": i, "dev": True} for i in range(10, 20)])
    then = by_id(shop["dev"].c)
    time = declare(shop)["clusterTime"]
    shop["dev"].c.delete_many({})
    shop["dev"].command("commit", 1, message="empty")
    assert {one["_id"]: one for one in read(shop["dev"], "c", time, batch=3)} == then
    assert len(read(now, "c", time)) == len(read(shop["main"], "c", before)) == 3
    fails(NAMESPACE_NOT_FOUND, lambda: read(shop["dev"], "c", before))
    for stage in ({"$acrossSnapshots": {"pipeline": []}}, {"$acrossBranches": {}}, {"$collStats": {"count": {}}}, {"$indexStats": {}}):
        fails(INVALID_OPTIONS, lambda: run(shop["dev"], "c", time, stage))
    assert run(now, "c", time, {"$limit": 1}, {"$lookup": {"from": "c", "pipeline": [{"$count": "n"}], "as": "of"}})[0]["of"] == [{"n": 3}]


def test_no_time_but_that_of_a_snapshot(shop):
    now = shop.now
    now.c.insert_one({"_id": 1})
    one = declare(shop)
    now.c.update_one({"_id": 1}, {"$inc": {"n": 1}})
    other = declare(shop)
    now.c.update_one({"_id": 1}, {"$inc": {"n": 1}})
    time = one["clusterTime"]
    assert time < other["clusterTime"]
    for near in (bson.Timestamp(time.time, time.inc - 1), bson.Timestamp(time.time, time.inc + 1), bson.Timestamp(1, 1)):
        fails(TOO_OLD, lambda: read(now, "c", near))
    fails(INVALID_OPTIONS, lambda: read(now, "c", bson.Timestamp(time.time + 1000, 1)))
    fails(INVALID_OPTIONS, lambda: read(shop.client["local"], "c", time))
    fails(INVALID_OPTIONS, lambda: now.command("count", "c", **at(time)))
    fails(NOT_IN_A_SET, lambda: now.command("find", "c", readConcern={"level": "snapshot"}))
    now.c.insert_many([{"_id": i} for i in range(2, 100)])
    last = declare(shop)
    cursor = now.command("find", "c", batchSize=2, **at(last["clusterTime"]))["cursor"]
    for gone in (one, last):
        shop.client.admin.command("dropSnapshot", gone["snapshot"])
        fails(TOO_OLD, lambda: read(now, "c", gone["clusterTime"]))
    fails(KILLED, lambda: now.command("getMore", cursor["id"], collection="c"))
    assert read(now, "c", other["clusterTime"]) == [{"_id": 1, "n": 1}]
