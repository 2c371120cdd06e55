"""These tests use declared snapshots as a client does: every command that reads shows what there was."""
import concurrent.futures
import datetime
import random
import time

import bson
import pymongo
import pytest
from bson.codec_options import CodecOptions
from bson.raw_bson import RawBSONDocument
from pymongo.errors import OperationFailure

from tests.branches.conftest import by_id, fails
from tests.snapshots.conftest import snapshots
from tests.support.waiting import wait_until

BAD_VALUE, ILLEGAL_OPERATION, NAMESPACE_NOT_FOUND, NAMESPACE_EXISTS, INVALID_OPTIONS = 2, 20, 26, 48, 72
QUERY_PLAN_KILLED, SNAPSHOT_TOO_OLD, UNKNOWN_FIELD = 175, 239, 40415

RAW = CodecOptions(RawBSONDocument)


def test_a_snapshot_has_the_types_that_there_were(shop):
    now = shop.now
    now.c.create_index([("a", 1), ("b", 1)], name="ab")
    now.c.insert_many([{"_id": i, "a": 1, "b": i} for i in range(4)])
    then = shop[shop.declare("before")]
    now.c.update_one({"_id": 1}, {"$set": {"b": 1.0}})
    now.c.update_one({"_id": 2}, {"$unset": {"b": 1}})
    asked = ({"a": 1}, {"_id": 0, "b": 1})
    assert now.c.find(*asked).explain()["queryPlanner"]["winningPlan"]["stage"] == "PROJECTION_COVERED"
    assert [repr(one.get("b")) for one in now.c.find(*asked)] == ["None", "0", "1.0", "3"]
    assert [repr(one.get("b")) for one in then.c.find(*asked)] == ["0", "1", "2", "3"]
    assert sorted(then.c.distinct("b")) == [0, 1, 2, 3] and then.c.count_documents({"a": 1}) == 4


def test_everything_that_reads_shows_what_there_was(shop):
    now = shop.now
    now.c.create_index("n", name="by_n")
    now.c.insert_many([{"_id": i, "n": i % 3, "text": "words " * 20} for i in range(30)])
    now.d.insert_many([{"_id": i, "c": i} for i in range(3)])
    before = by_id(now.c)
    name = shop.declare("before")
    then = shop[name]
    now.c.update_many({"n": 1}, {"$set": {"n": 7, "text": "other"}})
    now.c.delete_many({"n": 2})
    now.c.insert_many([{"_id": i, "n": 1} for i in range(100, 110)])
    assert by_id(then.c) == before
    assert by_id(then.c, n=1) == {key: one for key, one in before.items() if one["n"] == 1}
    assert then.c.find_one({"_id": 4}) == before[4] and then.c.find_one({"_id": 105}) is None and then.c.find_one({"_id": 5}) == before[5]
    assert then.c.count_documents({}) == then.c.estimated_document_count() == 30 and then.command("count", "c")["n"] == 30
    assert sorted(then.c.distinct("n")) == [0, 1, 2]
    assert then.c.count_documents({"n": 2}) == 10 and now.c.count_documents({"n": 2}) == 0
    assert [one["_id"] for one in then.c.find({"n": {"$gte": 1}}).sort([("n", 1), ("_id", 1)]).limit(3)] == [1, 4, 7]
    assert [one["_id"] for one in then.c.find({}, batch_size=4).sort("_id", -1)] == list(range(29, -1, -1))
    plan = then.c.find({"n": 2}).explain()
    assert plan["queryPlanner"]["winningPlan"]["inputStage"]["indexName"] == "by_n"
    assert plan["executionStats"]["nReturned"] == 10
    assert list(then.c.aggregate([{"$group": {"_id": "$n", "count": {"$sum": 1}}}, {"$sort": {"_id": 1}}])) == [{"_id": n, "count": 10} for n in range(3)]
    joined = list(then.d.aggregate([{"$lookup": {"from": "c", "localField": "c", "foreignField": "_id", "as": "of"}}, {"$sort": {"_id": 1}}]))
    assert [one["of"] for one in joined] == [[before[i]] for i in range(3)]
    joined = list(now.d.aggregate([{"$lookup": {"from": {"db": "shop@before", "coll": "c"}, "localField": "c", "foreignField": "_id", "as": "of"}}, {"$sort": {"_id": 1}}]))
    assert [one["of"] for one in joined] == [[before[i]] for i in range(3)]


def test_contents_that_were_kept_say_what_reading_them_took(shop):
    own = random.Random(1)
    shop.now.c.insert_many([{"_id": i, "n": 0, "text": own.randbytes(600).hex()} for i in range(20)])
    shop.declare("first")
    for n in range(1, 10):
        shop.now.c.update_many({}, {"$set": {"n": n}})
        shop.declare()
    then = shop["first"].c
    assert [one["n"] for one in then.find()] == [0] * 20
    for filter in ({}, {"_id": 7}):
        stats = then.find(filter).explain()["executionStats"]
        # The content is never far from one that is whole.
        assert 0 < stats["dedupHops"] <= 3 * stats["nReturned"]
    hops = [then.find(filter).explain()["executionStats"]["dedupHops"] for filter in ({}, {"n": 0})]
    assert hops[0] == hops[1]  # to match one decodes no more than to give it out


def test_the_catalog_is_as_it_was(shop):
    now = shop.now
    now.c.insert_many([{"_id": i, "a": i, "b": -i} for i in range(20)])
    now.c.create_index("a")
    now.gone.insert_one({"_id": 1, "here": True})
    first = shop.declare()
    now.c.create_index("b")
    now.c.drop_index("a_1")
    now.new.insert_one({"_id": 1})
    now.gone.drop()
    second = shop.declare()
    now.c.rename("other")
    now.gone.insert_one({"_id": 2})
    now.other.drop_index("b_1")
    now.other.update_many({}, {"$inc": {"a": 100, "b": 100}})
    now.command("collMod", "new", dedup={"enabled": False})
    then, later = shop[first], shop[second]
    assert sorted(then.list_collection_names()) == ["c", "gone"] and sorted(later.list_collection_names()) == ["c", "new"]
    assert sorted(then.c.index_information()) == ["_id_", "a_1"] and sorted(later.c.index_information()) == ["_id_", "b_1"]
    assert list(then.gone.find()) == [{"_id": 1, "here": True}] and list(later.gone.find()) == []
    assert [one["_id"] for one in then.c.find({"a": {"$gt": 15}}).sort("a", 1).hint("a_1")] == [16, 17, 18, 19]
    assert [one["_id"] for one in later.c.find({"b": {"$lt": -15}}).sort("b", -1).hint("b_1")] == [16, 17, 18, 19]
    assert [one["options"] for one in later.list_collections() if one["name"] == "new"] == [{}]
    shop.client.drop_database("shop")
    assert by_id(later.c)[7] == {"_id": 7, "a": 7, "b": -7} and then.c.count_documents({}) == 20


def test_an_index_is_dropped_while_a_cursor_over_a_snapshot_walks_it(shop):
    now = shop.now
    now.c.create_index("a")
    now.c.insert_many([{"_id": i, "a": i} for i in range(200)])
    shop.declare("walked")
    then = shop["walked"]
    command = {"find": "c", "filter": {"a": {"$gte": 0}}, "hint": "a_1", "batchSize": 10}
    cursors = [(direction, then.command({**command, "sort": {"a": direction}})["cursor"]) for direction in (1, -1)]
    now.c.drop_index("a_1")
    now.c.update_many({}, {"$set": {"a": -1}})
    for direction, cursor in cursors:
        rest = then.command("getMore", cursor["id"], collection="c")["cursor"]["nextBatch"]
        assert [one["_id"] for one in cursor["firstBatch"] + rest] == list(range(200))[::direction]


def test_a_snapshot_is_read_only(shop):
    shop.now.c.insert_one({"_id": 1})
    shop.now.c.create_index("b")
    then = shop[shop.declare("v")]
    for write in [lambda: then.c.insert_one({"_id": 2}), lambda: then.c.update_one({"_id": 1}, {"$set": {"a": 1}}), lambda: then.c.delete_one({"_id": 1}),
                  lambda: then.c.drop(), lambda: then.new.insert_one({}), lambda: then.c.create_index("a"), lambda: then.c.drop_index("b_1"),
                  lambda: then.create_collection("d"), lambda: then.c.find_one_and_update({"_id": 1}, {"$set": {"a": 1}}), lambda: then.command("dropDatabase"),
                  lambda: list(shop.now.c.aggregate([{"$merge": {"into": {"db": "shop@v", "coll": "c"}}}]))]:
        fails(ILLEGAL_OPERATION, write)
    # Writes are refused also where the collection doesn't exist, and where there is nothing to change.
    for write in [lambda: then.nothing.delete_one({}), lambda: then.nothing.update_one({}, {"$set": {"a": 1}}), lambda: then.nothing.find_one_and_delete({}),
                  lambda: then.command("collMod", "c"), lambda: then.command("compact", "c"), lambda: then.command("collMod", "nothing"),
                  lambda: then.nothing.drop_index("b_1"), lambda: then.c.drop_index("nothing"), lambda: then.command("purge", "c", id=1)]:
        fails(ILLEGAL_OPERATION, write)
    for write in [lambda: then.c.insert_one({}), lambda: then.c.delete_one({}), lambda: then.c.create_index("a"), lambda: then.command("collMod", "c", dedup={"enabled": False})]:
        with pytest.raises(OperationFailure, match="a snapshot is read-only"):
            write()
    with pytest.raises(pymongo.errors.BulkWriteError) as refused:
        then.c.insert_many([{}, {}], ordered=False)
    assert [(one["index"], one["code"]) for one in refused.value.details["writeErrors"]] == [(0, ILLEGAL_OPERATION), (1, ILLEGAL_OPERATION)]
    assert list(then.c.find()) == [{"_id": 1}]


def test_sizes_are_those_of_then(shop):
    now = shop.now
    now.c.insert_many([{"_id": i, "text": "x" * 100 * i} for i in range(1, 21)])
    said = ("size", "count", "avgObjSize")
    figures = lambda database: ([database.command("collStats", "c")[field] for field in said], [database.command("dbStats")[field] for field in ("objects", "dataSize", "avgObjSize")],
                                database.command("dataSize", f"{database.name}.c")["size"], list(database.c.aggregate([{"$collStats": {"storageStats": {}}}]))[0]["storageStats"]["size"])
    before = figures(now)
    then = shop[shop.declare()]
    now.c.update_many({"_id": {"$gt": 5}}, {"$set": {"text": ""}})
    now.c.delete_many({"_id": {"$gt": 15}})
    now.c.insert_many([{"_id": i} for i in range(100, 200)])
    assert figures(then) == before != figures(now)
    now.command("purge", "c", id=20)
    assert then.command("collStats", "c")["count"] == 19 and then.command("collStats", "c")["size"] == before[0][0] - len(bson.encode({"_id": 20, "text": "x" * 2000}))


def test_a_document_is_purged_without_branches(shop):
    now = shop.now
    now.c.create_index("n")
    now.c.insert_many([{"_id": i, "n": i % 3, "text": f"{i} words " * 40} for i in range(12)])
    now.create_collection("capped", capped=True, size=1 << 20)
    now.capped.insert_many([{"_id": i} for i in range(5)])
    refs = []
    for round in range(12):
        refs.append(shop.declare())
        now.c.update_many({"_id": {"$in": [1, 2, 3]}}, {"$inc": {"n": 1}, "$set": {"round": round}})
        if round == 6:
            now.c.delete_one({"_id": 3})
    shown = {ref: by_id(shop[ref].c) for ref in [*refs, None]}
    purged = [2, 3, 7]
    # The purge counts what each change overwrote, and the document where it is there.
    assert [now.command("purge", "c", id=id)["versions"] for id in purged] == [13, 7, 1]
    assert [now.command("purge", "c", id=id)["versions"] for id in [*purged, 100]] == [0] * 4
    for ref, before in shown.items():
        due = {id: one for id, one in before.items() if id not in purged}
        collection = shop[ref].c
        assert by_id(collection) == due and collection.estimated_document_count() == len(due)
        for id in purged:
            assert collection.find_one({"_id": id}) is None
        for n in range(15):
            assert by_id(collection, n=n) == {id: one for id, one in due.items() if one["n"] == n}
    now.c.insert_one({"_id": 2, "n": 0, "again": True})
    assert now.c.find_one({"_id": 2})["again"] and shop[refs[0]].c.find_one({"_id": 2}) is None
    assert now.command("purge", "capped", id=3)["versions"] == 1
    assert sorted(by_id(now.capped)) == sorted(by_id(shop[refs[0]].capped)) == [0, 1, 2, 4]
    fails(NAMESPACE_NOT_FOUND, lambda: now.command("purge", "nothing", id=1))
    fails(NAMESPACE_NOT_FOUND, lambda: shop["dev"].command("purge", "c", id=1))
    fails(ILLEGAL_OPERATION, lambda: shop.client.local.command("purge", "oplog.rs", id=1))
    now.command("createBranch", "dev")
    after = shop.declare()
    assert now.command("purge", "c", id=2)["versions"] == 1 and now.command("purge", "c", id=1)["versions"] == 13
    assert now.command("purge", "capped", id=4)["versions"] == 1
    for ref in [*refs, after, f"dev@{after}", "dev", None]:
        assert not {1, 2, 3, 7} & by_id(shop[ref].c).keys()
    assert sorted(by_id(now.capped)) == sorted(by_id(shop[after].capped)) == [0, 1, 2]
    for one in ("c", "capped"):
        assert now.command("validate", one, full=True)["valid"]


def test_branches_are_not_worked_with_through_a_snapshot(shop):
    shop.now.c.insert_one({"_id": 1})
    before = shop.declare()
    shop.now.command("createBranch", "dev")
    later = shop.declare()
    for ref in (before, later, f"dev@{later}"):
        assert shop[ref].command("dbHash")["collections"] == shop.now.command("dbHash")["collections"]
        for command in ({"commit": 1}, {"status": 1}, {"log": 1}, {"dropBranch": "dev", "force": True}):
            fails(ILLEGAL_OPERATION, lambda: shop[ref].command(command))
    assert [one["name"] for one in shop.now.cursor_command("listBranches")] == ["dev", "main"]


def test_names(shop):
    shop.now.c.insert_one({"_id": 1})
    start = datetime.datetime.now(datetime.timezone.utc)
    named = shop.client.admin.command("createSnapshot", 1, name="before/it")
    assert named["name"] == named["snapshot"] == "before/it" and named["time"].tzinfo is None
    by_value = shop.client.admin.command("createSnapshot", "before_too")
    assert by_value["name"] == by_value["snapshot"] == "before_too"
    shop.client.admin.command("dropSnapshot", "before_too")
    fails(INVALID_OPTIONS, lambda: shop.client.admin.command("createSnapshot", "one", name="other"))
    fails(BAD_VALUE, lambda: shop.client.admin.command("createSnapshot", "s7"))
    bare = shop.declare()
    assert bare == f"s{named['number'] + 2}"
    assert [one["snapshot"] for one in snapshots(shop.client)] == ["before/it", bare]
    assert list(shop["before%2Fit"].c.find()) == [{"_id": 1}] and list(shop[f"s{named['number']}"].c.find()) == [{"_id": 1}]
    for bad in ["s7", "20261120T101500Z", "", "a b", "3f9a2c1b", "a@b"]:
        fails(BAD_VALUE, lambda: shop.client.admin.command("createSnapshot", 1, name=bad))
    fails(NAMESPACE_EXISTS, lambda: shop.declare("before/it"))
    fails(UNKNOWN_FIELD, lambda: shop.client.admin.command("createSnapshot", 1, of="shop"))
    for unknown in ["s999", "other", "s0"]:
        fails(NAMESPACE_NOT_FOUND, lambda: shop[unknown].c.find_one())
        fails(NAMESPACE_NOT_FOUND, lambda: shop.client.admin.command("dropSnapshot", unknown))
    declared = datetime.datetime.now(datetime.timezone.utc)
    # A name by time shows what the second began with.
    wait_until(lambda: datetime.datetime.now(datetime.timezone.utc).replace(microsecond=0) > declared)
    shop.now.c.insert_one({"_id": 2})
    later = datetime.datetime.now(datetime.timezone.utc)
    assert list(shop[later.strftime("%Y%m%dT%H%M%SZ")].c.find()) == [{"_id": 1}]
    early = start - datetime.timedelta(seconds=5)
    fails(SNAPSHOT_TOO_OLD, lambda: shop[early.strftime("%Y%m%dT%H%M%SZ")].c.find_one())
    fails(BAD_VALUE, lambda: shop["20261399T101500Z"].c.find_one())


def test_dropped_snapshots_give_their_space_back(shop):
    now = shop.now
    now.c.create_index("n")
    now.c.insert_many([{"_id": i, "n": i, "text": f"{i} " * 200} for i in range(200)])
    names = []
    for round in range(4):
        names.append(shop.declare())
        now.c.update_many({}, {"$inc": {"n": 1000}})
    first = shop[names[0]]
    cursor = first.c.find({}, batch_size=10)
    next(cursor)
    shop.client.admin.command("dropSnapshot", names[0])
    fails(175, lambda: list(cursor))  # QueryPlanKilled
    fails(NAMESPACE_NOT_FOUND, lambda: first.c.find_one())
    for number, name in enumerate(names[1:], 1):
        assert [one["n"] for one in shop[name].c.find().sort("_id", 1)] == [i + 1000 * number for i in range(200)]
        assert shop[name].c.count_documents({"n": {"$lt": 1000 * number + 50}}) == 50
    for name in names[1:]:
        shop.client.admin.command("dropSnapshot", name)
    wait_until(lambda: now.command("validate", "c", full=True)["valid"]
               and shop.client.admin.command("serverStatus")["snapshots"]["waitToBeSwept"] == 0, lambda: now.command("collStats", "c"))
    report = now.command("validate", "c", full=True)
    assert report["valid"] and not report["errors"], report


def test_a_pipeline_across_snapshots(shop):
    now = shop.now
    now.c.insert_many([{"_id": i, "n": 0} for i in range(10)])
    names = []
    for round in range(40):
        names.append(shop.declare())
        now.c.update_many({"_id": {"$lt": round % 5 + 1}}, {"$inc": {"n": 1}})
    due, n = [], [0] * 10
    for round in range(40):
        due.append(sum(n))
        for i in range(round % 5 + 1):
            n[i] += 1
    stage = {"$acrossSnapshots": {"pipeline": [{"$group": {"_id": None, "sum": {"$sum": "$n"}}}]}}
    found = list(now.c.aggregate([stage]))
    assert [one["sum"] for one in found] == due and [one["snapshot"]["snapshot"] for one in found] == names
    part = {"$acrossSnapshots": {"from": names[10], "to": names[19], "pipeline": [{"$match": {"n": {"$gt": 5}}}], "as": "at.it"}}
    found = list(now.c.aggregate([part, {"$group": {"_id": "$at.it.number", "count": {"$sum": 1}}}, {"$sort": {"_id": 1}}]))
    assert len(found) == 10 and all(one["count"] > 0 for one in found)
    documents = list(now.c.aggregate([{"$acrossSnapshots": {"pipeline": []}}], batchSize=7))
    assert len(documents) == 400
    fails(BAD_VALUE, lambda: list(now.c.aggregate([{"$acrossSnapshots": {"from": names[3], "to": names[2], "pipeline": []}}])))
    fails(BAD_VALUE, lambda: list(now.c.aggregate([stage], hint="nothing")))
    assert list(now.c.aggregate([stage], hint="_id_")) == list(now.c.aggregate([stage]))
    for unknown in ("nothing", ""):
        fails(NAMESPACE_NOT_FOUND, lambda: list(now.c.aggregate([{"$acrossSnapshots": {"from": unknown, "pipeline": []}}])))
    # A snapshot that is dropped before it is read isn't left out unnoticed.
    cursor = now.c.aggregate([{"$acrossSnapshots": {"from": names[0], "to": names[2], "pipeline": []}}], batchSize=2)
    next(cursor)
    shop.client.admin.command("dropSnapshot", names[1])
    fails(QUERY_PLAN_KILLED, lambda: list(cursor))
    fails(UNKNOWN_FIELD, lambda: list(now.c.aggregate([{"$acrossSnapshots": {"map": []}}])))
    with pytest.raises(OperationFailure):
        list(now.c.aggregate([{"$match": {}}, stage]))


def test_progress_across_snapshots(shop):
    now = shop.now
    now.c.insert_one({"_id": 0})
    shop.declare()
    now.c.insert_many([{"_id": i} for i in range(1, 300)])
    shop.declare(), shop.declare()

    def progress(**of):
        """Returns what $currentOp says of an operation, or of a cursor that waits."""
        for one in shop.client.admin.aggregate([{"$currentOp": {"idleCursors": True}}]):
            if "progress" in one and of.items() <= {**one.get("command", {}), **one.get("cursor", {})}.items():
                return one["msg"], one["progress"]["done"], one["progress"]["total"], one
        return None

    cursor = now.command("aggregate", "c", pipeline=[{"$acrossSnapshots": {"pipeline": []}}], cursor={"batchSize": 2})["cursor"]
    assert progress(cursorId=cursor["id"])[:3] == ("Reading snapshots: 1/3 33%", 1, 3)
    now.command("getMore", cursor["id"], collection="c", batchSize=300)
    assert progress(cursorId=cursor["id"])[:3] == ("Reading snapshots: 2/3 66%", 2, 3)
    assert len(now.command("getMore", cursor["id"], collection="c")["cursor"]["nextBatch"]) == 299

    # 300 documents are joined with each other four times: the operation ends because it is killed.
    endless = [{"$lookup": {"from": "c", "pipeline": [], "as": f"of{i}"}} for i in range(4)] + [{"$unwind": f"$of{i}"} for i in range(4)] + [{"$count": "n"}]
    with concurrent.futures.ThreadPoolExecutor() as pool:
        running = pool.submit(lambda: list(now.c.aggregate([{"$acrossSnapshots": {"pipeline": endless}}], comment="endless")))


        def reading():
            assert not running.done()
            shown = progress(comment="endless")
            return shown if shown and shown[1] else None

        found = wait_until(reading)
        assert found[:3] == ("Reading snapshots: 1/3 33%", 1, 3) and found[3]["planSummary"] == "ACROSS_SNAPSHOTS"
        shop.client.admin.command("killOp", 1, op=found[3]["opid"])
        fails(11601, running.result)


def test_snapshots_by_schedule(server, shop):
    parameters = shop.client.admin
    shop.now.c.insert_one({"_id": 1})
    for bad in ["1x", "h", "-1h", "0s"]:
        fails(BAD_VALUE, lambda: parameters.command("setParameter", 1, snapshotEvery=bad))
    try:
        parameters.command("setParameter", 1, snapshotEvery="1s", snapshotKeepNewest=2)
        assert parameters.command("getParameter", 1, snapshotEvery=1)["snapshotEvery"] == "1s"
        kept = shop.declare("kept")

        def made():
            seen = [one["snapshot"] for one in snapshots(shop.client)]
            return seen if len(seen) >= 3 and kept not in seen[-2:] and int(seen[-1][1:]) >= 4 else None

        assert kept in wait_until(made)
    finally:
        parameters.command("setParameter", 1, snapshotEvery="", snapshotKeepNewest=0)
    parameters.command("setParameter", 1, snapshotEveryTransactions=5)
    try:
        count = len(snapshots(shop.client))

        def made_one_more():
            shop.now.c.update_one({"_id": 1}, {"$inc": {"n": 1}})
            return len(snapshots(shop.client)) > count

        wait_until(made_one_more, pause=0)
    finally:
        parameters.command("setParameter", 1, snapshotEveryTransactions=0)


def test_branches_are_as_they_were(shop):
    now = shop.now
    now.c.create_index("n", name="by_n")
    now.c.insert_many([{"_id": i, "n": i % 3} for i in range(9)])
    before = shop.declare("before-branches")
    now.command("createBranch", "dev")
    dev = shop["dev"]
    now.c.update_many({"n": 0}, {"$set": {"n": 10}})
    dev.c.delete_one({"_id": 1})
    dev.c.insert_one({"_id": 20, "n": 2})
    dev.command("commit", 1, message="one")
    dev.c.update_one({"_id": 20}, {"$set": {"n": 7}})
    dev.c.insert_one({"_id": 21, "n": 2})
    dev.d.insert_one({"_id": 1, "of": 20})
    then = {ref: by_id(shop[ref].c) for ref in ("main", "dev")}
    name = shop.declare()
    now.c.delete_many({})
    now.command("commit", 1, message="empty")
    dev.c.update_one({"_id": 21}, {"$set": {"n": 8}})
    dev.c.delete_one({"_id": 20})
    dev.d.delete_many({})
    dev.command("commit", 1, message="two")
    dev.command("createIndexes", "c", indexes=[{"key": {"later": 1}, "name": "later"}])
    for retention in ({"newest": 1}, {}):
        now.command("retention", retention)
        now.command("sweep", 1)
    now.command("renameBranch", "dev", to="other")
    now.command("dropBranch", "other", force=True)
    main, past = shop[name], shop[f"dev@{name}"]
    assert by_id(main.c) == by_id(shop[f"main@{name}"].c) == then["main"] and by_id(past.c) == then["dev"]
    assert by_id(shop[before].c) == {i: {"_id": i, "n": i % 3} for i in range(9)}
    assert past.c.count_documents({"n": 2}) == len([one for one in then["dev"].values() if one["n"] == 2])
    assert past.c.find_one({"_id": 20}) == {"_id": 20, "n": 7} and past.c.find_one({"_id": 1}) is None and main.c.find_one({"_id": 1}) == {"_id": 1, "n": 1}
    assert past.c.find({"n": 2}).explain()["queryPlanner"]["winningPlan"]["inputStage"]["indexName"] == "by_n"
    assert sorted(past.list_collection_names()) == ["c", "d"] and sorted(past.c.index_information()) == ["_id_", "by_n"]
    assert past.c.estimated_document_count() == len(then["dev"]) and sorted(past.c.distinct("n")) == sorted({one["n"] for one in then["dev"].values()})
    lookup = {"$lookup": {"from": {"db": f"shop@dev@{name}", "coll": "c"}, "localField": "of", "foreignField": "_id", "as": "of"}}
    assert list(past.d.aggregate([lookup])) == [{"_id": 1, "of": [{"_id": 20, "n": 7}]}]
    across = [{"$acrossSnapshots": {"pipeline": [{"$count": "n"}]}}]
    assert [one["n"] for one in shop[f"dev@{name}"].c.aggregate(across)] == [len(then["dev"])]
    assert [one["n"] for one in now.c.aggregate(across)] == [9, 9]
    when = datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%dT%H%M%SZ")
    assert by_id(shop[f"dev@{when}"].c) == then["dev"]
    for unknown in [f"other@{name}", f"dev@{before}", "dev@none", "none@none"]:
        fails(NAMESPACE_NOT_FOUND, lambda: shop[unknown].c.find_one())
    fails(BAD_VALUE, lambda: shop[f"dev~1@{name}"].c.find_one())
    fails(ILLEGAL_OPERATION, lambda: past.c.insert_one({"_id": 1}))
    fails(ILLEGAL_OPERATION, lambda: list(shop["main~1"].c.aggregate(across)))
    assert now.command("purge", "c", id=20)["versions"] > 0
    assert past.c.find_one({"_id": 20}) is None and past.c.count_documents({}) == len(then["dev"]) - 1 == past.c.estimated_document_count()
    assert past.c.count_documents({"n": 7}) == 0 and now.command("validate", "c")["valid"]
    for one in (before, name):
        shop.client.admin.command("dropSnapshot", one)
    fails(NAMESPACE_NOT_FOUND, lambda: past.c.find_one())


def test_collections_are_on_a_branch_as_they_were(shop):
    now = shop.now
    now.c.insert_many([{"_id": i} for i in range(3)])
    now.command("createBranch", "dev")
    dev = shop["dev"]
    dev.only.insert_one({"_id": 1, "here": True})
    both = shop.declare("both")
    dev.only.drop()
    dev.c.drop()
    none = shop.declare("none")
    dev.c.insert_one({"_id": 100})
    anew = shop.declare("anew")
    list(dev.c.aggregate([{"$set": {"_id": 200}}, {"$out": "c"}]))
    dev.command("commit", 1, message="another c")
    now.command("sweep", 1)
    assert dev.list_collection_names() == ["c"] and by_id(dev.c) == {200: {"_id": 200}}
    for name, expected in ((both, {"c": [0, 1, 2], "only": [1]}), (none, {}), (anew, {"c": [100]})):
        then = shop[f"dev@{name}"]
        assert {one: sorted(by_id(then[one])) for one in then.list_collection_names()} == expected, name
        assert shop[name].list_collection_names() == ["c"] and sorted(by_id(shop[name].c)) == [0, 1, 2]
    assert [one["snapshot"]["snapshot"] for one in dev.c.aggregate([{"$acrossSnapshots": {"pipeline": [{"$limit": 1}]}}])] == [both, anew]
    for one in (both, none, anew):
        shop.client.admin.command("dropSnapshot", one)
    assert now.c.count_documents({}) == 3 and now.command("validate", "c", full=True)["valid"]


def test_dump_tools_read_a_snapshot(shop):
    now = shop.now
    now.c.insert_many([{"_id": i, "a": i % 3} for i in range(50)])
    now.c.create_index([("a", 1), ("_id", -1)])
    now.create_collection("empty")
    due = sorted(one.raw for one in now.get_collection("c", codec_options=RAW).find())
    then = shop[shop.declare()]
    now.c.delete_many({"a": 1})
    now.c.drop_indexes()
    now.empty.drop()
    listed = {one["name"]: one for one in then.list_collections(filter={"name": {"$not": {"$regex": r"^system\.(?!js$)"}}})}
    assert sorted(listed) == ["c", "empty"] and [one["name"] for one in then.c.list_indexes()] == ["_id_", "a_1__id_-1"]
    raw = then.get_collection("c", codec_options=RAW)
    assert sorted(one.raw for one in raw.find({}, no_cursor_timeout=True, batch_size=7).hint([("_id", 1)])) == due
    assert then.command("collStats", "c")["count"] == raw.estimated_document_count() == 50
    assert then.command("dbStats")["objects"] == 50 and "shop" in shop.client.list_database_names()
    assert not [name for name in shop.client.list_database_names() if "@" in name]
