"""These tests merge, cherry-pick and revert: where the result goes, who decides conflicts, and merges that wait for a decision."""
import pathlib
import re
import threading

import pymongo
import pytest
from bson import Int64
from pymongo.errors import OperationFailure

from tests.branches.conftest import by_id, fails, log_of
from tests.support.palimpsest import Server

BAD_VALUE, NO_SUCH_KEY, ILLEGAL_OPERATION, NAMESPACE_NOT_FOUND, NAMESPACE_EXISTS, MAX_TIME_MS_EXPIRED, IMMUTABLE_FIELD, OPERATION_FAILED = 2, 4, 20, 26, 48, 50, 66, 96
EXCEEDED_MEMORY_LIMIT = 146


def conflicts_of(database):
    return list(database.cursor_command("listConflicts", 1))


def resident_mb(server):
    return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{server.process.pid}/status").read_text())[1]) // 1024


def add_to_d(main, dev):
    """A conflict in another collection."""
    for database, n in [(main, 1), (dev, 2)]:
        database.d.insert_one({"_id": 1, "n": n})
        database.command("commit", 1)


@pytest.fixture
def parted(shop):
    """main and dev have changed `n` of the documents 0 to 3; dev alone changed 4 and added "new", and removed 5."""
    main = shop["main"]
    main.c.insert_many([{"_id": i, "n": 0, "name": f"d{i}"} for i in range(6)])
    shop.create("dev")
    dev = shop["dev"]
    main.c.update_many({"_id": {"$lt": 4}}, {"$inc": {"n": 1}})
    dev.c.update_many({"_id": {"$lt": 5}}, {"$inc": {"n": 10}})
    dev.c.insert_one({"_id": "new", "n": 10})
    dev.c.delete_one({"_id": 5})
    main.command("commit", 1), dev.command("commit", 1)
    return shop


def test_a_merge_into_both_leaves_the_two_branches_at_one_commit(parted):
    main, dev = parted["main"], parted["dev"]
    done = main.command("merge", "dev", resolve="ours", into="both")
    assert done["changed"] is True and done["branch"] == "main"
    assert log_of(dev)[0]["commit"] == log_of(main)[0]["commit"] == done["commit"]
    assert by_id(main.c) == by_id(dev.c) and dev.c.find_one({"_id": 0})["n"] == 1 and dev.c.find_one({"_id": "new"})
    # Each branch goes its own way from there.
    dev.c.update_one({"_id": 0}, {"$set": {"n": 100}})
    assert main.c.find_one({"_id": 0})["n"] == 1
    dev.command("commit", 1)
    main.command("merge", "dev")
    assert main.c.find_one({"_id": 0})["n"] == 100
    # If there is nothing to merge, the other branch still moves to the same commit.
    main.c.insert_one({"_id": "later"})
    main.command("commit", 1)
    assert main.command("merge", "dev", into="both")["changed"] is True
    assert dev.c.find_one({"_id": "later"}) and log_of(dev)[0]["commit"] == log_of(main)[0]["commit"]
    assert main.command("merge", "dev", into="both")["changed"] is False
    parted["main"].command("createTag", "v1", **{"from": "dev"})
    fails(BAD_VALUE, lambda: main.command("merge", "v1", into="both"))
    dev.c.insert_one({"_id": "open"})
    main.c.insert_one({"_id": "more"})
    main.command("commit", 1)
    fails(ILLEGAL_OPERATION, lambda: main.command("merge", "dev", into="both"))


def test_a_merge_into_both_meets_the_other_branch_s_writers_on_documents_alone(parted):
    def write(number, database):
        for i in range(40):
            database.other.update_one({"_id": number}, {"$inc": {"n": 1}}, upsert=True)
            database.command("commit", 1)

    with parted.writers(2, "dev", write):
        merged = 0
        while merged < 10:
            try:
                parted["main"].command("merge", "dev", resolve="ours", into="both")
                merged += 1
            except OperationFailure as failure:
                assert failure.code == ILLEGAL_OPERATION, failure  # something is not committed on dev
    assert {one["_id"]: one["n"] for one in parted["dev"].other.find()} == {0: 40, 1: 40}


def test_a_merge_into_a_new_branch_leaves_the_others_as_they_are(parted):
    main, dev = parted["main"], parted["dev"]
    before = by_id(main.c), by_id(dev.c)
    fails(BAD_VALUE, lambda: main.command("merge", "dev", into="new"))
    fails(BAD_VALUE, lambda: main.command("merge", "dev", branch="both"))
    fails(NAMESPACE_EXISTS, lambda: main.command("merge", "dev", into="new", branch="dev", resolve="theirs"))
    fails(OPERATION_FAILED, lambda: main.command("merge", "dev", into="new", branch="both"))
    assert "both" not in parted.names()
    main.c.insert_one({"_id": "not committed"})
    done = main.command("merge", "dev", into="new", branch="both", resolve="theirs")
    assert done["branch"] == "both" and log_of(parted["both"])[0]["commit"] == done["commit"]
    assert parted["both"].c.find_one({"_id": 0})["n"] == 10 and not parted["both"].c.find_one({"_id": "not committed"})
    main.c.delete_one({"_id": "not committed"})
    assert (by_id(main.c), by_id(dev.c)) == before
    # A state that can't be written to can begin a merge into a new branch.
    tried = parted["main~1"].command("merge", "dev", into="new", branch="again", resolve="theirs")
    assert tried["branch"] == "again" and parted["again"].c.count_documents({}) == parted["both"].c.count_documents({})


def test_conflicts_by_a_pipeline_and_collection_by_collection(parted):
    main, dev = parted["main"], parted["dev"]
    add_to_d(main, dev)
    fails(OPERATION_FAILED, lambda: main.command("merge", "dev", collections={"c": {"resolve": "ours"}}))
    fails(NAMESPACE_NOT_FOUND, lambda: main.command("merge", "dev", collections={"e": {"resolve": "ours"}}))
    fails(BAD_VALUE, lambda: main.command("merge", "dev", collections={"c": {"resolve": "mine"}}))
    fails(IMMUTABLE_FIELD, lambda: main.command("merge", "dev", resolve=[{"$set": {"_id": 7}}]))
    fails(40324, lambda: main.command("merge", "dev", resolve=[{"$nothing": 1}]))
    stages = [{"$set": {"n": {"$max": ["$$ours.n", "$$theirs.n"]}, "was": "$$base.n"}}]
    main.command("merge", "dev", resolve=stages, collections={"d": {"resolve": "theirs"}})
    assert main.c.find_one({"_id": 0}) == {"_id": 0, "n": 10, "name": "d0", "was": 0}
    assert main.d.find_one() == {"_id": 1, "n": 2}
    assert main.c.find_one({"_id": "new"}) == {"_id": "new", "n": 10}


def test_a_pipeline_sees_a_document_that_is_not_there_as_null(parted):
    main, dev = parted["main"], parted["dev"]
    main.c.delete_one({"_id": 0})
    main.command("commit", 1)
    main.command("merge", "dev", resolve=[{"$set": {"ours": "$$ours", "n": "$$theirs.n"}}])
    assert main.c.find_one({"_id": 0}) == {"_id": 0, "ours": None, "n": 10}


def test_a_merge_waits_until_somebody_has_decided(parted):
    main, dev = parted["main"], parted["dev"]
    before, head = by_id(main.c), log_of(main)[0]["commit"]
    stopped = main.command("merge", "dev", resolve="manual", message="by hand", author="me")
    assert stopped["merging"] is True and stopped["changed"] is False and stopped["conflictCount"] == 4 and stopped["commit"] == head
    assert by_id(main.c) == before and main.command("status")["clean"] is True
    assert main.command("status")["merging"] == {"kind": "merge", "from": "dev", "commit": log_of(dev)[0]["commit"]}
    for command in ["merge", "cherryPick", "revert"]:
        fails(ILLEGAL_OPERATION, lambda: main.command(command, "dev"))
    listed = {one["_id"]: one for one in conflicts_of(main)}
    assert sorted(listed) == [0, 1, 2, 3]
    assert listed[1] == {"collection": "c", "_id": 1, "paths": ["n"], "base": {"_id": 1, "n": 0, "name": "d1"}, "ours": {"_id": 1, "n": 1, "name": "d1"},
                         "theirs": {"_id": 1, "n": 10, "name": "d1"}}
    resolve = lambda **given: main.command("resolveConflict", 1, collection="c", **given)
    resolve(id=0, take="ours"), resolve(id=1, take="theirs"), resolve(id=2, take="base")
    assert len(fails(OPERATION_FAILED, lambda: main.command("continueMerge", 1)).details["conflicts"]) == 1
    resolve(id=3, document={"n": 3})
    resolve(id="new", take="ours")    # no conflict, but the merge adds it
    fails(NO_SUCH_KEY, lambda: resolve(id="nothing", take="ours"))
    fails(NO_SUCH_KEY, lambda: main.command("resolveConflict", 1, collection="x", id=1, take="ours"))
    fails(BAD_VALUE, lambda: resolve(id=3, take="mine"))
    fails(BAD_VALUE, lambda: resolve(id=3, take="ours", document={}))
    fails(BAD_VALUE, lambda: resolve(id=3, document={"_id": 4}))
    assert {one["_id"]: one["resolved"] for one in conflicts_of(main)} == {0: "ours", 1: "theirs", 2: "base", 3: "document", "new": "ours"}
    assert by_id(main.c) == before
    done = main.command("continueMerge", 1, author="you")
    assert done["changed"] is True and "merging" not in main.command("status")
    newest = log_of(main)[0]
    assert newest["message"] == "by hand" and newest["author"] == "you" and len(newest["parents"]) == 2
    assert {key: one["n"] for key, one in by_id(main.c).items()} == {0: 1, 1: 10, 2: 0, 3: 3, 4: 10}
    assert main.command("merge", "dev")["changed"] is False
    fails(ILLEGAL_OPERATION, lambda: main.command("continueMerge", 1))
    fails(ILLEGAL_OPERATION, lambda: main.command("abortMerge", 1))
    fails(ILLEGAL_OPERATION, lambda: conflicts_of(main))
    fails(ILLEGAL_OPERATION, lambda: resolve(id=3, take="ours"))


def test_the_branch_goes_on_while_a_merge_waits_and_a_decision_is_about_what_it_was_about(parted):
    main, dev = parted["main"], parted["dev"]
    main.command("merge", "dev", resolve="manual")
    for i in range(4):
        main.command("resolveConflict", 1, collection="c", id=i, take="theirs")
    main.c.update_one({"_id": 0}, {"$set": {"n": 77}})
    main.c.insert_one({"_id": "mine"})
    fails(ILLEGAL_OPERATION, lambda: main.command("continueMerge", 1))  # something is not committed
    main.command("commit", 1)
    assert [(one["_id"], "resolved" in one) for one in conflicts_of(main)][:1] == [(0, False)]
    assert [one["_id"] for one in fails(OPERATION_FAILED, lambda: main.command("continueMerge", 1)).details["conflicts"]] == [0]
    main.command("resolveConflict", 1, collection="c", id=0, take="ours")
    # Commits that the other branch makes meanwhile belong to the next merge.
    dev.c.insert_one({"_id": "late"})
    dev.command("commit", 1)
    main.command("continueMerge", 1)
    assert {key: one.get("n") for key, one in by_id(main.c).items()} == {0: 77, 1: 10, 2: 10, 3: 10, 4: 10, "new": 10, "mine": None}


def test_a_document_that_is_decided_keeps_its_id(shop):
    main = shop["main"]
    main.c.insert_one({"_id": Int64(7), "n": 0})
    shop.create("dev")
    for ref, n in [("main", 1), ("dev", 2)]:
        shop[ref].c.update_one({"_id": 7}, {"$set": {"n": n}})
        shop[ref].command("commit", 1)
    main.command("merge", "dev", resolve="manual")
    fails(BAD_VALUE, lambda: main.command("resolveConflict", 1, collection="c", id=7, document={"_id": 8, "n": 3}))
    main.command("resolveConflict", 1, collection="c", id=7, document={"_id": 7.0, "n": 3})
    main.command("continueMerge", 1)
    merged = main.c.find_one({"n": 3})
    assert merged["_id"] == 7 and type(merged["_id"]) is Int64


def test_a_merge_makes_no_document_that_is_too_large(shop):
    main = shop["main"]
    main.c.insert_one({"_id": 1, "n": 0})
    shop.create("dev")
    dev = shop["dev"]
    for database, name in [(main, "a"), (dev, "b")]:
        database.c.update_one({"_id": 1}, {"$set": {name: "x" * 9_000_000}})
        database.command("commit", 1)
    failure = fails(OPERATION_FAILED, lambda: main.command("merge", "dev"))
    assert failure.details["conflicts"] == [{"collection": "c", "_id": 1}]
    fails(OPERATION_FAILED, lambda: main.command("merge", "dev", resolve="ours"))
    both = {"$set": {"b": "$$theirs.b"}}
    fails(BAD_VALUE, lambda: main.command("merge", "dev", mode="documentDivergent", resolve=[both]))
    assert "b" not in main.c.find_one({"_id": 1})
    assert main.command("merge", "dev", resolve="manual")["conflictCount"] == 1
    main.command("resolveConflict", 1, collection="c", id=1, take="theirs")
    assert main.command("continueMerge", 1)["changed"] is True
    assert len(main.c.find_one({"_id": 1})["b"]) == 9_000_000


def test_a_merge_that_needs_more_memory_than_its_operation_may_have_changes_nothing(shop):
    main, admin = shop["main"], shop.client.admin
    main.c.insert_many([{"_id": i, "a": 0, "b": 0, "text": "x" * 2_000_000} for i in range(12)])
    main.command("commit", 1)
    shop.create("dev")
    dev = shop["dev"]
    main.c.update_many({}, {"$set": {"a": 1}}), dev.c.update_many({}, {"$set": {"b": 2}})
    main.command("commit", 1), dev.command("commit", 1)
    # The fields of both sides make 24 MB of documents.
    before = log_of(main)
    was = admin.command("setParameter", 1, operationMemoryLimitBytes=16 << 20)["was"]
    try:
        fails(EXCEEDED_MEMORY_LIMIT, lambda: main.command("merge", "dev"))
        fails(EXCEEDED_MEMORY_LIMIT, lambda: main.command("merge", "dev", dryRun=True))
        fails(EXCEEDED_MEMORY_LIMIT, lambda: main.command("cherryPick", "dev", resolve="manual"))
    finally:
        admin.command("setParameter", 1, operationMemoryLimitBytes=was)
    assert log_of(main) == before and main.c.count_documents({"a": 1, "b": 0}) == 12
    fails(ILLEGAL_OPERATION, lambda: main.command("continueMerge", 1))
    assert main.command("merge", "dev")["changed"] is True
    assert main.c.count_documents({"a": 1, "b": 2}) == 12


def test_of_conflicts_that_no_reply_can_hold_the_first_are_shown(shop):
    main, name, count = shop["main"], "x" * 1_000_000, 3

    def document(number, value):
        return {"_id": number, name: {f"f{i}": value for i in range(12)}}

    main.c.insert_many([document(number, 0) for number in range(count)])
    main.command("commit", 1)
    shop.create("dev")
    dev = shop["dev"]
    for database, value in [(main, 1), (dev, 2)]:
        for number in range(count):
            database.c.replace_one({"_id": number}, document(number, value))
        database.command("commit", 1)

    def check(shown):  # each has paths of 12 MB
        assert shown["conflictCount"] == count and len(shown["conflicts"]) == 1
        assert shown["conflicts"][0]["paths"] == [name + ".f0"] and shown["conflicts"][0]["morePaths"] is True

    check(main.command("merge", "dev", dryRun=True))
    check(fails(OPERATION_FAILED, lambda: main.command("merge", "dev")).details)
    check(main.command("merge", "dev", resolve="manual"))
    listed = conflicts_of(main)
    assert sorted(one["_id"] for one in listed) == [*range(count)] and all(one["morePaths"] for one in listed)
    main.command("abortMerge", 1)


def test_an_aborted_merge_leaves_nothing(parted):
    main = parted["main"]
    before = by_id(main.c)
    main.command("merge", "dev", resolve="manual")
    main.command("resolveConflict", 1, collection="c", id=0, take="theirs")
    main.command("abortMerge", 1)
    assert by_id(main.c) == before and "merging" not in main.command("status")
    main.command("merge", "dev", resolve="manual")
    assert not [one for one in conflicts_of(main) if "resolved" in one]
    main.command("resetBranch", "main", to="main")  # ends it, too
    assert "merging" not in main.command("status")
    parted.create("other", **{"from": "main"})
    parted["other"].command("merge", "dev", resolve="manual")
    main.command("renameBranch", "other", to="next")
    assert parted["next"].command("status")["merging"]["from"] == "dev" and len(conflicts_of(parted["next"])) == 4
    main.command("dropBranch", "next")


def test_a_unique_key_that_two_want_is_decided_by_hand(key_for_two):
    main, dev = key_for_two["main"], key_for_two["dev"]
    dev.c.insert_one({"_id": "e", "u": 101})
    dev.command("commit", 1)
    assert main.command("merge", "dev", resolve="manual")["conflictCount"] == 1
    conflict, = conflicts_of(main)
    assert conflict == {"collection": "c", "_id": "d", "index": "u_1", "key": {"u": 100}, "other": {"_id": "m"}, "theirs": {"_id": "d", "u": 100}}
    main.command("resolveConflict", 1, collection="c", id="d", document={"u": 101})
    conflict, = conflicts_of(main)[:-1]
    assert conflict["key"] == {"u": 101}
    main.command("resolveConflict", 1, collection="c", id="d", document={"u": 102})
    main.command("resolveConflict", 1, collection="c", id=1, take="ours")
    main.command("continueMerge", 1)
    assert {one["_id"]: one["u"] for one in main.c.find({"u": {"$gte": 0}}).hint("u_1")} == {0: 0, 1: 1, 2: 2, 3: 3, "m": 100, "d": 102, "e": 101}


def test_manual_of_one_collection_and_not_of_another(parted):
    main, dev = parted["main"], parted["dev"]
    add_to_d(main, dev)
    fails(OPERATION_FAILED, lambda: main.command("merge", "dev", collections={"c": {"resolve": "manual"}}))
    assert "merging" not in main.command("status")
    main.command("merge", "dev", into="new", branch="made", resolve="theirs", collections={"c": {"resolve": "manual"}})
    assert "merging" not in main.command("status")
    made = parted["made"]
    assert made.command("status")["merging"]["from"] == "dev" and len(conflicts_of(made)) == 4
    for i in range(4):
        made.command("resolveConflict", 1, collection="c", id=i, take="ours")
    made.command("continueMerge", 1)
    assert made.d.find_one()["n"] == 2 and made.c.find_one({"_id": 0})["n"] == 1 and made.c.find_one({"_id": 4})["n"] == 10


def test_a_waiting_merge_into_both_wants_the_other_branch_where_it_was(parted):
    main, dev = parted["main"], parted["dev"]
    main.command("merge", "dev", resolve="manual", into="both")
    for i in range(4):
        main.command("resolveConflict", 1, collection="c", id=i, take="theirs")
    dev.c.insert_one({"_id": "late"})
    dev.command("commit", 1)
    fails(ILLEGAL_OPERATION, lambda: main.command("continueMerge", 1))
    dev.command("resetBranch", "dev", to="dev~1")
    main.command("continueMerge", 1)
    assert log_of(main)[0]["commit"] == log_of(dev)[0]["commit"]


def test_one_commit_is_picked(parted):
    main, dev = parted["main"], parted["dev"]
    dev.c.update_one({"_id": 5}, {"$set": {"name": "other"}}, upsert=True)
    dev.c.insert_one({"_id": "picked"})
    picked = dev.command("commit", 1, message="picked", author="them")["commit"]
    dev.c.insert_one({"_id": "more"})
    dev.command("commit", 1)
    tried = main.command("cherryPick", picked, dryRun=True)
    assert tried["conflictCount"] == 1 and tried["conflicts"][0]["_id"] == 5
    fails(OPERATION_FAILED, lambda: main.command("cherryPick", picked))
    done = main.command("cherryPick", picked, resolve="theirs")
    assert done["changed"] is True and main.c.find_one({"_id": "picked"}) and not main.c.find_one({"_id": "more"}) and not main.c.find_one({"_id": "new"})
    newest = log_of(main)[0]
    assert newest["message"] == "picked" and newest["author"] == "them" and len(newest["parents"]) == 1
    assert main.command("cherryPick", picked, resolve="ours")["changed"] is False
    fails(ILLEGAL_OPERATION, lambda: main.command("cherryPick", log_of(main)[-1]["commit"]))  # the first changed nothing
    fails(40415, lambda: main.command("cherryPick", picked, into="both"))


def test_one_commit_is_taken_back(parted):
    main = parted["main"]
    before = by_id(main.c)
    main.c.update_many({}, {"$set": {"x": 1}})
    main.c.delete_one({"_id": 3})
    main.c.insert_one({"_id": "added"})
    main.command("commit", 1, message="wrong")
    main.c.update_one({"_id": 0}, {"$set": {"x": 2}})
    main.c.insert_one({"_id": "kept"})
    main.command("commit", 1)
    stopped = main.command("revert", "main~1", resolve="manual")
    assert [one["_id"] for one in stopped["conflicts"]] == [0] and main.command("status")["merging"]["kind"] == "revert"
    main.command("resolveConflict", 1, collection="c", id=0, take="theirs")
    main.command("continueMerge", 1)
    assert by_id(main.c) == before | {"kept": {"_id": "kept"}}
    assert log_of(main)[0]["message"] == "revert of wrong" and len(log_of(main)[0]["parents"]) == 1


def test_a_merge_stops_when_its_time_is_up_and_when_it_is_killed(shop):
    main = shop["main"]
    main.c.insert_many([{"_id": i, "n": 0} for i in range(2000)])
    shop.create("dev")
    for ref in ["main", "dev"]:
        shop[ref].c.update_many({}, {"$set": {ref: 1}})
        shop[ref].command("commit", 1)
    fails(MAX_TIME_MS_EXPIRED, lambda: main.command("merge", "dev", maxTimeMS=1))
    assert main.c.count_documents({"dev": 1}) == 0
    done = threading.Event()

    def kill():
        with pymongo.MongoClient(*shop.client.address) as client:
            while not done.is_set():
                for one in client.admin.aggregate([{"$currentOp": {}}, {"$match": {"command.merge": "dev"}}]):
                    client.admin.command("killOp", 1, op=one["opid"])
                done.wait(0.001)

    killer = threading.Thread(target=kill)
    killer.start()
    killed = None
    try:
        for _ in range(50):  # one may be done before it is killed
            main.command("merge", "dev")
            main.command("resetBranch", "main", to="main~1")
    except OperationFailure as failure:
        killed = failure
    finally:
        done.set()
        killer.join()
    assert killed and killed.code == 11601, killed
    assert main.c.count_documents({"dev": 1}) == 0


def test_a_waiting_merge_survives_the_process(tmp_path):
    with Server(dbpath=tmp_path) as server:
        shop = server.client()["shop"]
        shop.c.insert_many([{"_id": i, "n": 0} for i in range(3)])
        shop.command("createBranch", "dev")
        server.client()["shop@dev"].c.update_many({}, {"$set": {"n": 2}})
        shop.c.update_many({}, {"$set": {"n": 1}})
        for name in ["shop", "shop@dev"]:
            server.client()[name].command("commit", 1)
        shop.command("merge", "dev", resolve="manual", message="kept")
        shop.command("resolveConflict", 1, collection="c", id=0, take="theirs", writeConcern={"w": 1, "j": True})
        server.kill()
        server.start()
        shop = server.client()["shop"]
        assert {one["_id"]: one.get("resolved") for one in conflicts_of(shop)} == {0: "theirs", 1: None, 2: None}
        for i in [1, 2]:
            shop.command("resolveConflict", 1, collection="c", id=i, take="ours")
        shop.command("continueMerge", 1)
        assert [one["n"] for one in shop.c.find().sort("_id", 1)] == [2, 1, 1] and log_of(shop)[0]["message"] == "kept"


def test_conflicts_are_read_one_after_another_as_they_were(tmp_path):
    count, text = 60, "x" * 2_000_000
    with Server("--wiredTigerCacheSizeGB", "0.25", dbpath=tmp_path) as server:
        shop, dev = server.client()["shop"], server.client()["shop@dev"]
        for i in range(count):
            shop.c.insert_one({"_id": i, "n": 0, "text": text})
        shop.command("createBranch", "dev")
        shop.c.update_many({}, {"$set": {"n": 1}}), dev.c.update_many({}, {"$set": {"n": 2}})
        shop.command("commit", 1), dev.command("commit", 1)
        shop.command("merge", "dev", resolve="manual")
        for i in range(2):
            shop.command("resolveConflict", 1, collection="c", id=i, document={"n": "both", "text": text})
        list(shop.c.find()), list(dev.c.find())  # the cache has what it can hold

        def numbers(one):
            return [one[side]["n"] for side in ("base", "ours", "theirs")]

        before = resident_mb(server)
        cursor = shop.cursor_command("listConflicts", 1, cursor={"batchSize": 1})
        first = cursor.next()
        assert resident_mb(server) - before < 150, "the documents of all conflicts have 360 MB"
        shop.command("abortMerge", 1)
        shop.c.update_many({}, {"$set": {"n": 5}})
        shop.command("commit", 1)
        every = [first, *cursor]
        assert sorted(one["_id"] for one in every[:-2]) == [*range(2, count)] and [one["_id"] for one in every[-2:]] == [0, 1]
        assert all(numbers(one) == [0, 1, 2] for one in every)
        assert [one.get("document", {}).get("n") for one in every[-2:]] == ["both"] * 2


def test_documents_that_no_reply_can_hold_are_left_out_of_conflicts(parted):
    main, dev = parted["main"], parted["dev"]
    for database, letter in ((main, "m"), (dev, "d")):
        database.c.update_many({"_id": {"$in": [0, 1]}}, {"$set": {"text": letter * 3_000_000}})
        database.command("commit", 1)
    main.command("merge", "dev", resolve="manual")
    main.command("resolveConflict", 1, collection="c", id=0, document={"text": "b" * 10_000_000})
    found = {one["_id"]: one for one in conflicts_of(main)}
    assert found[0] == {"collection": "c", "_id": 0, "resolved": "document", "tooLarge": True}
    assert found[1]["theirs"]["text"] == "d" * 3_000_000 and "tooLarge" not in found[1]
    main.command("abortMerge", 1)


def test_a_rebase_whose_picks_are_made_survives_the_process(tmp_path):
    with Server(dbpath=tmp_path) as server:
        client = server.client()
        main, dev, rebased = client["shop"], client["shop@dev"], client["shop@rebase%2Fdev"]
        main.c.insert_many([{"_id": i, "n": 0} for i in range(3)])
        main.command("createBranch", "dev")
        for n, database in ((1, main), (2, dev)):
            database.c.update_one({"_id": 1}, {"$set": {"n": n}})
            database.c.insert_one({"_id": f"by {n}"})
            database.command("commit", 1, message=f"by {n}")
        dev.c.update_one({"_id": 1}, {"$set": {"n": 3}})
        dev.command("commit", 1, message="three")
        dev.command("rebase", "main", resolve="manual")
        rebased.command("resolveConflict", 1, collection="c", id=1, document={"n": 2})
        dev.c.insert_one({"_id": "meanwhile"})
        fails(ILLEGAL_OPERATION, lambda: rebased.command("continueMerge", 1))
        picked = log_of(rebased)[0]["commit"]
        client.other.with_options(write_concern=pymongo.WriteConcern(1, j=True)).c.insert_one({})  # the picks are kept, too
        server.kill()
        server.start()
        assert log_of(rebased)[0]["commit"] == picked and [one["message"] for one in log_of(dev)][:2] == ["three", "by 2"]
        main.command("resetBranch", "dev", to="dev", force=True)
        done = rebased.command("continueMerge", 1)
        assert (done["branch"], done["commit"], done["changed"], done["picked"]) == ("dev", picked, True, 0)
        assert [one["message"] for one in log_of(dev)][:3] == ["three", "by 2", "by 1"] and dev.c.find_one({"_id": 1})["n"] == 3
        assert [one["name"] for one in main.cursor_command("listBranches", 1)] == ["dev", "main"]
