"""These tests run $out and $merge with more documents than a batch, interrupted, and over what they read."""
import contextlib
import datetime
import threading
import time
import uuid

import bson
import pytest
from pymongo.errors import ExecutionTimeout, OperationFailure, PyMongoError

from tests.support.palimpsest import Server, raw_command
from tests.support.waiting import wait_until

COUNT = 3000
NOT_FOUND, CHANGED = 26, 125
KILLED = "the server was killed"
FAIL_POINT = "outWaitAfterTempCollectionCreation"


@pytest.fixture
def db(server):
    client = server.client()
    client.drop_database("t")
    client.t.c.insert_many([{"_id": i, "group": i % 7, "text": "x" * 200} for i in range(COUNT)])
    yield client.t
    client.close()


def names(db):
    return sorted(name for name in db.list_collection_names() if name != "system.views")


def branches(db):
    return sorted(one["name"] for one in db.command("listBranches", 1)["cursor"]["firstBatch"] if one["name"] != "main")


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
            assert error.code in (CHANGED, NOT_FOUND), error
            results.append("refused")
    changing.join()
    assert results
    assert names(db) == ["c", "d"]
    assert db.command("validate", "d", full=True)["valid"]


@pytest.fixture(scope="module")
def stoppable():
    """A server on which $out can be held up."""
    with Server("--setParameter", "enableTestCommands=1") as running:
        yield running


@contextlib.contextmanager
def held_up(client, pipeline, begun=names):
    """Runs the pipeline on t.c, and the block while it has begun its collection. Afterwards the list has its error, if it failed."""
    failures = []
    client.admin.command("configureFailPoint", FAIL_POINT, mode="alwaysOn")

    def run():
        try:
            client.t.c.aggregate(pipeline)
        except PyMongoError as error:
            failures.append(error)

    running = threading.Thread(target=run)
    running.start()
    try:
        wait_until(lambda: any("tmp.agg_out." in name for name in begun(client.t)), lambda: failures)
        yield failures
    finally:
        if KILLED not in failures:
            client.admin.command("configureFailPoint", FAIL_POINT, mode="off")
        running.join()


CHANGES = {
    "validator": (lambda db: db.command("collMod", "d", validator={"a": 1}), "collection options"),
    "new index": (lambda db: db.d.create_index("b"), "indexes"),
    "no index": (lambda db: db.d.drop_index("a_1"), "indexes"),
    "hidden index": (lambda db: db.command("collMod", "d", index={"name": "a_1", "hidden": True}), "indexes"),
    "other index of the name": (lambda db: (db.d.drop_index("a_1"), db.d.create_index([("a", -1)], name="a_1")), "indexes"),
    "dropped": (lambda db: db.d.drop(), "indexes"),
    "nothing": (lambda db: db.d.insert_one({"_id": "late"}), None),
}


@pytest.mark.parametrize("change", CHANGES)
def test_out_does_not_undo_what_others_change_in_the_target(stoppable, change):
    make, what = CHANGES[change]
    with stoppable.client() as client:
        client.drop_database("t")
        client.t.c.insert_one({"_id": "new"})
        client.t.d.insert_one({"_id": "old"})
        client.t.d.create_index("a")
        with held_up(client, [{"$out": "d"}]) as failures:
            make(client.t)
            before = client.t.d.index_information(), client.t.command("listCollections")["cursor"]["firstBatch"]
        if what is None:
            assert not failures and [d["_id"] for d in client.t.d.find()] == ["new"]
            return
        assert failures[0].code == CHANGED and f"{what} of target collection t.d changed during processing" in str(failures[0])
        assert client.t.d.index_information() == before[0]
        assert [one for one in before[1] if "tmp." not in one["name"]] == client.t.command("listCollections")["cursor"]["firstBatch"]
        assert [d["_id"] for d in client.t.d.find()] == ([] if change == "dropped" else ["old"])


def test_out_does_not_replace_a_collection_that_came_meanwhile(stoppable):
    with stoppable.client() as client:
        client.drop_database("t")
        client.t.c.insert_one({"_id": "new"})
        with held_up(client, [{"$out": "d"}]) as failures:
            client.t.d.insert_one({"_id": "other"})
        assert failures[0].code == CHANGED
        assert [d["_id"] for d in client.t.d.find()] == ["other"]


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


SERIES = {"timeField": "at", "metaField": "of"}


@pytest.mark.parametrize("kind", ["collection", "series", "branch"])
def test_what_out_had_begun_when_the_process_ended_is_gone_after_the_next_start(tmp_path, kind):
    target = {"db": "t", "coll": "d", "timeseries": SERIES} if kind == "series" else "d"
    with Server("--setParameter", "enableTestCommands=1", dbpath=tmp_path / "db") as first, first.client_until_killed() as client:
        client.t.c.insert_one({"_id": 1, "at": datetime.datetime(2026, 1, 1), "of": 1})
        if kind == "branch":
            client.t.command("createBranch", "dev")
        begun = branches if kind == "branch" else names
        with held_up(client, [{"$out": target}], begun=begun) as failures:
            first.kill()
            failures.append(KILLED)
    with Server(dbpath=tmp_path / "db") as second, second.client() as client:
        assert names(client.t) == ["c"]
        if kind == "branch":
            assert branches(client.t) == ["dev"]
        assert client.t.c.count_documents({}) == 1


def test_merge_into_the_collection_that_is_joined_ends(db):
    """What it writes isn't among what it joins."""
    db.d.insert_many({"_id": number, "v": number} for number in range(1200))
    db.c.delete_many({})
    db.c.insert_one({})
    join = [{"$lookup": {"from": "d", "pipeline": [], "as": "x"}}, {"$unwind": "$x"}]
    db.c.aggregate([*join, {"$project": {"_id": 0, "v": "$x.v"}}, {"$merge": "d"}], maxTimeMS=120_000)
    assert db.d.count_documents({}) == 2400
    db.c.aggregate([{"$match": {"_id": None}}, {"$unionWith": {"coll": "c", "pipeline": join}}, {"$project": {"_id": 0, "v": "$x.v"}}, {"$merge": "d"}],
                   maxTimeMS=120_000)
    assert db.d.count_documents({}) == 4800


def test_no_client_gives_a_branch_a_name_that_the_server_drops(db):
    """What has it is dropped at the next start, with no regard to who made it."""
    invalid, name = 73, "tmp.agg_out.0123456789abcdef"
    db.d.insert_one({"_id": 1})
    db.command("createBranch", "dev")
    for command in ({"createBranch": name}, {"renameBranch": "dev", "to": name}, {"merge": "dev", "into": "new", "branch": name}):
        with pytest.raises(OperationFailure) as refused:
            db.command(command)
        assert refused.value.code == invalid, (command, refused.value)
    upload = bson.Binary(uuid.uuid4().bytes, 4)
    head = bytes.fromhex(db.command("createBranch", "other")["commit"])
    with pytest.raises(OperationFailure) as refused:
        db.command("receivePack", upload, refs=[{"branch": name, "commit": head}])
    assert refused.value.code == invalid
    assert names(db) == ["c", "d"] and branches(db) == ["dev", "other"]


def test_a_start_drops_only_collections_that_out_left(tmp_path):
    """Tools restore what they dumped while a $out ran."""
    left, kept = "tmp.agg_out.0123456789abcdef", ["tmp.agg_out.report", "tmp.agg_out.0123456789abcdef0", "tmp.agg_out.0123456789ABCDEF"]
    with Server(dbpath=tmp_path) as server:
        db = server.client().t
        for name in (left, *kept):
            db[name].insert_one({"_id": 1})
            db[name].create_index("a")
        db.create_collection("tmp.agg_out.fedcba9876543210", timeseries=SERIES)
        assert server.stop() == 0
        server.start()
        assert names(server.client().t) == sorted(kept)


def test_a_log_has_what_out_filled(db):
    """mongorestore --oplogReplay sends the entries as they are."""
    name = "tmp.agg_out.0123456789abcdef"
    db.client.admin.command("applyOps", [{"op": "c", "ns": f"{db.name}.$cmd", "o": {"create": name}},
                                         {"op": "i", "ns": f"{db.name}.{name}", "o": {"_id": 1}},
                                         {"op": "c", "ns": f"{db.name}.$cmd",
                                          "o": {"renameCollection": f"{db.name}.{name}", "to": f"{db.name}.d"}}])
    assert db.d.find_one() == {"_id": 1} and names(db) == ["c", "d"]
