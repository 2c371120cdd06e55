"""These tests run $out and $merge with more documents than a batch, interrupted, and over what they read."""
import threading
import time

import pytest
from pymongo.errors import ExecutionTimeout, OperationFailure

from tests.support.palimpsest import Server

COUNT = 3000


@pytest.fixture
def db(server):
    client = server.client()
    client.drop_database("t")
    client.t.c.insert_many([{"_id": i, "group": i % 7, "text": "x" * 200} for i in range(COUNT)])
    yield client.t
    client.close()


def names(db):
    return sorted(db.list_collection_names())


def test_out_takes_batches_and_keeps_what_belongs_to_the_target(db):
    db.create_collection("d", dedup={"key": "group"})
    db.d.create_index("group")
    db.d.insert_one({"_id": "old"})
    assert list(db.c.aggregate([{"$set": {"made": True}}, {"$out": "d"}])) == []
    assert db.d.count_documents({"made": True}) == COUNT == db.d.count_documents({})
    assert "group_1" in db.d.index_information()
    assert db.command("listCollections", filter={"name": "d"})["cursor"]["firstBatch"][0]["options"] == {"dedup": {"key": "group"}}
    assert db.d.find({"group": 3}).explain()["queryPlanner"]["winningPlan"]["inputStage"]["stage"] == "IXSCAN"
    assert db.command("validate", "d", full=True)["valid"]


def test_out_to_another_database_and_over_its_own_source(db):
    db.c.aggregate([{"$match": {"group": 1}}, {"$out": {"db": "t2", "coll": "d"}}])
    assert db.client.t2.d.count_documents({}) == db.c.count_documents({"group": 1})
    db.client.drop_database("t2")
    db.c.aggregate([{"$group": {"_id": "$group", "n": {"$sum": 1}}}, {"$out": "c"}])
    assert sum(one["n"] for one in db.c.find()) == COUNT and db.c.count_documents({}) == 7


def test_out_that_fails_or_is_stopped_leaves_nothing(db):
    db.d.insert_one({"_id": "old"})
    db.d.create_index("group", unique=True)
    with pytest.raises(OperationFailure) as refused:
        db.c.aggregate([{"$out": "d"}])
    assert refused.value.code == 11000
    with pytest.raises(ExecutionTimeout):
        db.c.aggregate([{"$out": "e"}], maxTimeMS=1)
    assert names(db) == ["c", "d"] and db.d.count_documents({}) == 1


def test_out_notices_that_the_targets_indexes_changed(db):
    db.d.insert_one({"_id": 1})
    results = []

    def change():
        for i in range(60):
            db.d.create_index(f"field{i}")
            time.sleep(0.002)

    changing = threading.Thread(target=change)
    changing.start()
    for _ in range(10):
        try:
            db.c.aggregate([{"$out": "d"}])
            results.append("written")
        except OperationFailure as error:
            assert error.code in (96, 26), error
            results.append("refused")
    changing.join()
    assert results
    assert names(db) == ["c", "d"]
    assert db.command("validate", "d", full=True)["valid"]


def test_merge_in_batches_into_another_collection_and_its_own(db):
    db.d.insert_many([{"_id": i, "kept": i} for i in range(0, COUNT, 2)])
    db.c.aggregate([{"$project": {"group": 1}}, {"$merge": {"into": "d", "whenMatched": "merge"}}])
    assert db.d.count_documents({}) == COUNT
    assert db.d.count_documents({"kept": {"$exists": True}, "group": {"$exists": True}}) == COUNT // 2
    db.c.aggregate([{"$set": {"twice": {"$multiply": ["$group", 2]}}}, {"$merge": {"into": "c", "whenMatched": "replace"}}])
    assert db.c.count_documents({"twice": {"$exists": True}, "text": {"$exists": True}}) == COUNT


def test_merge_accumulates(db):
    for _ in range(3):
        db.c.aggregate([
            {"$group": {"_id": "$group", "n": {"$sum": 1}}},
            {"$merge": {"into": "sums", "whenMatched": [{"$set": {"n": {"$add": ["$n", "$$new.n"]}}}]}},
        ])
    assert sum(one["n"] for one in db.sums.find()) == 3 * COUNT


def test_many_merge_at_once(db):
    def merge():
        db.c.aggregate([{"$group": {"_id": "$group", "n": {"$sum": 1}}},
                        {"$merge": {"into": "sums", "whenMatched": [{"$set": {"n": {"$add": ["$n", "$$new.n"]}}}]}}])

    threads = [threading.Thread(target=merge) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(one["n"] for one in db.sums.find()) == 6 * COUNT


def test_what_out_had_begun_when_the_process_ended_is_gone_after_the_next_start(tmp_path):
    with Server(dbpath=tmp_path / "db") as first:
        client = first.client()
        client.t["tmp.agg_out.0123456789abcdef"].insert_one({"_id": 1})
        client.t.d.insert_one({"_id": 1})
        client.close()
        first.kill()
    with Server(dbpath=tmp_path / "db") as second:
        client = second.client()
        assert client.t.list_collection_names() == ["d"]
        client.close()
