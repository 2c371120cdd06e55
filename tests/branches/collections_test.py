"""Collections come and go on a branch by themselves: create, drop, $out."""
import threading

import pymongo
import pytest

from tests.branches.conftest import by_id, fails, log_of
from tests.support.palimpsest import Server

NAMESPACE_NOT_FOUND, NAMESPACE_EXISTS, ILLEGAL_OPERATION = 26, 48, 20


@pytest.fixture
def dev(shop):
    """Ten documents on main, with an index, and the branch dev."""
    shop["main"].c.create_index("a")
    shop["main"].c.insert_many([{"_id": i, "a": i % 3} for i in range(10)])
    shop.create("dev")
    return shop["dev"]


def status_of(database):
    return {one.pop("name"): one for one in database.command("status", 1)["collections"]}


def test_a_dropped_collection_is_gone_from_its_branch_alone(shop, dev):
    shop["main"].command("createTag", "v1")
    dev.c.insert_one({"_id": "not committed", "a": 1})
    assert dev.command("drop", "c") == {"nIndexesWas": 2, "ns": f"{dev.name}.c", "ok": 1}
    assert dev.command("drop", "c") == {"ok": 1}
    assert dev.list_collection_names() == [] and dev.command("dbStats")["collections"] == 0
    assert dev.c.count_documents({}) == 0 and dev.c.estimated_document_count() == 0 and list(dev.c.find().hint("a_1")) == []
    for command in [{"listIndexes": "c"}, {"collMod": "c", "index": {"name": "a_1", "hidden": True}}, {"dropIndexes": "c", "index": "*"},
                    {"validate": "c"}]:
        fails(NAMESPACE_NOT_FOUND, lambda: dev.command(command))
    for ref in ["main", "v1", "dev~0"]:
        assert shop[ref].list_collection_names() == ["c"] and shop[ref].c.count_documents({}) == 10
        assert sorted(shop[ref].c.index_information()) == ["_id_", "a_1"]
    assert status_of(dev) == {"c": {"dropped": True, "inserted": 0, "modified": 0, "deleted": 10}}
    assert {(one["_id"], one["change"]) for one in dev.cursor_command("diff", 1)} == {(i, "delete") for i in range(10)}


def test_a_drop_is_committed_branched_from_reset_and_taken_back(shop, dev):
    dev.c.drop()
    commit = dev.command("commit", 1)["commit"]
    assert dev.command("status", 1)["clean"] and not dev.command("commit", 1)["changed"]
    dev.command("createBranch", "next")
    for ref in ["dev", "next", commit]:
        assert shop[ref].list_collection_names() == [] and shop[ref].c.count_documents({}) == 0
    assert shop["dev~1"].c.count_documents({}) == 10
    assert [one["commit"] for one in log_of(dev, touching={"coll": "c", "_id": 3})] == [commit, log_of(shop["main"])[0]["commit"]]
    assert dev.command("verify", 1, deep=True)["valid"]
    dev.command("resetBranch", "dev", to="main")
    assert dev.list_collection_names() == ["c"] and dev.c.count_documents({"a": 1}) == 3
    dev.c.drop()
    dev.command("resetBranch", "dev", to="main", force=True)
    assert dev.c.count_documents({}) == 10
    shop["next"].command("revert", commit)
    assert by_id(shop["next"].c) == by_id(shop["main"].c) and shop["next"].list_collection_names() == ["c"]


def test_what_comes_again_has_the_indexes_and_nothing_else(shop, dev):
    dev.c.drop()
    dev.c.insert_one({"_id": 1, "a": 7})
    assert dev.list_collection_names() == ["c"] and sorted(dev.c.index_information()) == ["_id_", "a_1"]
    assert list(dev.c.find({"a": 7})) == [{"_id": 1, "a": 7}] and dev.c.count_documents({}) == 1
    assert status_of(dev) == {"c": {"inserted": 0, "modified": 1, "deleted": 9}}
    dev.command("commit", 1)
    assert dev.c.estimated_document_count() == 1
    dev.c.drop()
    dev.create_collection("c")
    fails(NAMESPACE_EXISTS, lambda: dev.command("create", "c", dedup={"enabled": False}))
    assert dev.list_collection_names() == ["c"] and dev.c.count_documents({}) == 0
    dev.c.drop()
    fails(NAMESPACE_EXISTS, lambda: dev.command("create", "c", dedup={"enabled": False}))  # main has it with others
    assert dev.list_collection_names() == []
    dev.c.create_index("b")
    assert dev.list_collection_names() == ["c"] and "b_1" in shop["main"].c.index_information()


def test_a_drop_is_merged_as_the_removal_of_all_documents(shop, dev):
    main = shop["main"]
    dev.c.drop()
    dev.other.insert_one({"_id": 1})
    dev.command("commit", 1)
    main.c.update_one({"_id": 4}, {"$set": {"a": 9}})
    main.command("commit", 1)
    refused = fails(96, lambda: main.command("merge", "dev"))
    assert refused.details["conflicts"] == [{"collection": "c", "_id": 4}]
    assert main.c.count_documents({}) == 10 and "other" not in main.list_collection_names()
    main.command("merge", "dev", resolve="ours")
    assert by_id(main.c) == {4: {"_id": 4, "a": 9}} and sorted(main.list_collection_names()) == ["c", "other"]
    main.c.drop()
    main.command("commit", 1)
    assert dev.command("merge", "main")["changed"]
    assert dev.list_collection_names() == ["other"]


def test_what_nobody_has_any_more_goes(shop, dev):
    dev.temporary.insert_many([{"_id": i} for i in range(5)])
    dev.temporary.drop()
    dev.kept.insert_one({"_id": 1})
    dev.command("commit", 1)
    dev.kept.drop()
    dev.command("commit", 1)
    names = lambda: {one["name"] for one in dev.command("versionStats", 1)["collections"]}
    assert names() == {"c", "kept"}
    dev.command("retention", {"newest": 1})
    dev.command("sweep", 1)
    assert names() == {"c"}
    dev.kept.insert_one({"_id": 2})
    assert list(dev.kept.find()) == [{"_id": 2}] and shop["main"].list_collection_names() == ["c"]


def test_out_replaces_the_documents_of_one_branch(shop, dev):
    dev.c.insert_one({"_id": "not committed", "a": 1})
    dev.c.aggregate([{"$match": {"a": 1}}, {"$set": {"b": 1}}, {"$out": "c"}])
    assert by_id(dev.c) == {key: {"_id": key, "a": 1, "b": 1} for key in [1, 4, 7, "not committed"]}
    assert dev.c.count_documents({"a": 1}) == 4 and sorted(dev.c.index_information()) == ["_id_", "a_1"]
    assert shop["main"].c.count_documents({"b": 1}) == 0 and shop["main"].c.count_documents({}) == 10
    assert status_of(dev) == {"c": {"inserted": 1, "modified": 3, "deleted": 7}}
    assert shop.names() == ["dev", "main"]
    dev.command("commit", 1)
    shop["main"].c.aggregate([{"$match": {"a": 2}}, {"$out": {"db": dev.name, "coll": "made"}}])
    assert {one["_id"] for one in dev.made.find()} == {2, 5, 8} and shop["main"].list_collection_names() == ["c"]
    dev.c.aggregate([{"$match": {"a": 100}}, {"$out": "made"}])
    assert dev.made.count_documents({}) == 0 and sorted(dev.list_collection_names()) == ["c", "made"]
    shop["main"].c.aggregate([{"$out": "c"}])
    assert shop["main"].c.count_documents({}) == 10
    shop["main"].command("commit", 1)
    assert shop["main"].command("merge", "dev", resolve="theirs")["changed"]
    assert by_id(shop["main"].c) == by_id(dev.c)


def test_out_that_fails_changes_nothing(shop, dev):
    before = by_id(dev.c)
    fails(11000, lambda: dev.c.aggregate([{"$set": {"_id": 1}}, {"$out": "c"}]))
    fails(ILLEGAL_OPERATION, lambda: dev.c.aggregate([{"$out": {"db": shop["dev~0"].name, "coll": "c"}}]))
    fails(NAMESPACE_NOT_FOUND, lambda: dev.c.aggregate([{"$out": {"db": shop["nowhere"].name, "coll": "c"}}]))
    assert by_id(dev.c) == before and shop.names() == ["dev", "main"] and dev.command("status", 1)["clean"]


def test_readers_see_all_of_out_or_nothing_of_it(shop, dev):
    dev.c.insert_many([{"_id": i, "round": 0} for i in range(100, 1100)])
    dev.c.delete_many({"_id": {"$lt": 100}})
    seen, done = set(), threading.Event()

    def read():
        with pymongo.MongoClient(*shop.client.address) as client:
            while not done.is_set():
                rounds = [one["round"] for one in client[dev.name].c.find()]
                seen.add((len(rounds), len(set(rounds))))

    reader = threading.Thread(target=read)
    reader.start()
    for _ in range(5):
        dev.c.aggregate([{"$set": {"round": {"$add": ["$round", 1]}}}, {"$out": "c"}])
    done.set()
    reader.join()
    assert seen == {(1000, 1)} and dev.c.count_documents({"round": 5}) == 1000


def test_a_collection_is_renamed_on_one_branch(shop, dev):
    rename = lambda one, other, **how: shop.client.admin.command("renameCollection", f"{dev.name}.{one}", to=f"{dev.name}.{other}", **how)
    dev.c.insert_one({"_id": "not committed", "a": 1})
    before = by_id(dev.c)
    rename("c", "d")
    assert dev.list_collection_names() == ["d"] and by_id(dev.d) == before and dev.c.count_documents({}) == 0
    assert sorted(dev.d.index_information()) == ["_id_", "a_1"] and len(list(dev.d.find({"a": 1}).hint("a_1"))) == 4
    assert shop["main"].list_collection_names() == ["c"] and shop["dev~0"].list_collection_names() == ["c"]
    dev.command("commit", 1)
    assert dev.list_collection_names() == ["d"] and shop.names() == ["dev", "main"]
    dev.e.insert_one({"_id": "other"})
    fails(NAMESPACE_NOT_FOUND, lambda: rename("c", "f"))
    fails(NAMESPACE_EXISTS, lambda: rename("e", "d"))
    fails(ILLEGAL_OPERATION, lambda: rename("e", "e"))
    fails(ILLEGAL_OPERATION, lambda: shop.client.admin.command("renameCollection", f"{shop['dev~0'].name}.d", to=f"{shop['dev~0'].name}.e"))
    assert by_id(dev.d) == before and shop.names() == ["dev", "main"]
    rename("e", "d", dropTarget=True)
    assert dev.list_collection_names() == ["d"] and list(dev.d.find()) == [{"_id": "other"}]
    rename("d", "c")
    assert list(dev.c.find()) == [{"_id": "other"}] and shop["main"].c.count_documents({}) == 10


def test_collections_of_branches_survive_a_kill(tmp_path):
    with Server(dbpath=tmp_path) as server:
        db, dev = server.client()["shop"], server.client()["shop@dev"]
        db.c.insert_many([{"_id": i, "a": i % 3} for i in range(2000)])
        db.d.insert_one({"_id": 1})
        db.command("createBranch", "dev")
        dev.c.drop()
        dev.d.drop()
        dev.command("commit", 1)
        dev.d.insert_one({"_id": 2})
        dev.empty.insert_one({"_id": 1})
        dev.empty.delete_many({})
        db.d.drop()
        # The last document takes longer than the test.
        numbers = {"$range": [0, {"$cond": [{"$eq": ["$_id", 1999]}, 100_000, 1]}]}
        text = {"$size": {"$map": {"input": numbers, "in": {"$size": {"$map": {"input": numbers, "in": {"$add": ["$$this", 1]}}}}}}}
        out = lambda: server.client()["shop"].c.aggregate([{"$set": {"text": text}}, {"$out": {"db": "shop@dev", "coll": "c"}}])
        running = threading.Thread(target=lambda: pytest.raises(pymongo.errors.PyMongoError, out))
        running.start()
        while not any(name.startswith("tmp.agg_out.") for name in [one["name"] for one in db.cursor_command("listBranches", 1)]):
            assert running.is_alive()
        server.kill()
        running.join()
        server.start()
        db, dev = server.client()["shop"], server.client()["shop@dev"]
        assert [one["name"] for one in db.cursor_command("listBranches", 1)] == ["dev", "main"]
        assert db.list_collection_names() == ["c"] and sorted(dev.list_collection_names()) == ["d", "empty"]
        assert by_id(dev.d) == {2: {"_id": 2}} and dev.c.count_documents({}) == 0 and db.c.count_documents({}) == 2000
        assert db.command("validate", "c", full=True)["valid"]
