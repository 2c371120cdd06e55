"""These tests drop databases that had branches: snapshots go on showing what they did, until they are dropped too."""
import pymongo

from tests.branches.conftest import by_id, fails
from tests.snapshots.conftest import Shop, snapshots
from tests.support.palimpsest import Server
from tests.support.waiting import wait_until

NAMESPACE_NOT_FOUND, ILLEGAL_OPERATION = 26, 20


def shown(shop, refs):
    """Returns the documents and indexes by ref and collection, after a check of what an index and reads by _id find."""
    out = {}
    for ref in refs:
        database = shop[ref]
        out[ref] = {name: (by_id(database[name]), sorted(database[name].index_information())) for name in sorted(database.list_collection_names())}
        for name, (documents, indexes) in out[ref].items():
            assert database[name].estimated_document_count() == database[name].count_documents({}) == len(documents)
            if "by_n" in indexes:
                by_n = [one["_id"] for one in database[name].find({"n": {"$gte": 1}}).hint("by_n")]
                assert sorted(by_n, key=str) == sorted((key for key, one in documents.items() if one["n"] >= 1), key=str)
            for key, one in documents.items():
                assert database[name].find_one({"_id": key}) == one
    return out


def write_some(shop, round):
    """A database with branches; returns a snapshot from before the first branch and one from then."""
    now = shop.now
    now.c.create_index("n", name="by_n")
    now.c.insert_many([{"_id": i, "n": i % 3, "round": round} for i in range(30)])
    before = shop.declare()
    now.command("createBranch", "dev")
    dev = shop["dev"]
    dev.c.update_many({"n": 0}, {"$inc": {"n": 10}})
    dev.c.delete_one({"_id": 1})
    dev.command("commit", 1, message="one")
    dev.c.insert_one({"_id": "pending", "n": 1, "round": round})
    dev.only.insert_one({"_id": 1})
    now.c.delete_many({"n": 2})
    later = shop.declare()
    dev.c.update_many({}, {"$set": {"n": 5}})
    dev.only.drop()
    now.command("createTag", "w")
    return before, later


def files(server):
    return {one.name for one in server.dbpath.rglob("*.wt") if one.name.startswith(("versions-db", "records-", "index-")) or one.name.endswith("-keys.wt")}


def wait_for_files(server, due):
    wait_until(lambda: files(server) == due, lambda: files(server) ^ due, pause=0.1)


def test_what_was_dropped_is_shown_until_its_snapshots_are_dropped():
    with Server() as server:
        with pymongo.MongoClient(server.uri) as client:
            at_first = files(server)
            shop, due = Shop(client), {}
            for round in range(3):
                before, later = write_some(shop, round)
                refs = [before, f"main@{before}", later, f"main@{later}", f"dev@{later}"]
                due |= shown(shop, refs)
                assert due[before]["c"][0] == {i: {"_id": i, "n": i % 3, "round": round} for i in range(30)}
                assert sorted(due[f"dev@{later}"]) == ["c", "only"] and due[f"dev@{later}"]["c"][0]["pending"]["round"] == round
                cursor = shop[f"dev@{later}"].c.find({}, batch_size=2)
                first = next(cursor)
                client.drop_database("shop")
                assert [first, *cursor] == list(due[f"dev@{later}"]["c"][0].values())
                none = shop.declare()
                assert shown(shop, due) == due and shop[none].list_collection_names() == []
                for unknown in (f"dev@{before}", f"w@{later}", f"dev@{none}"):
                    fails(NAMESPACE_NOT_FOUND, lambda: shop[unknown].c.find_one())
                fails(ILLEGAL_OPERATION, lambda: shop[f"dev@{later}"].c.insert_one({}))
                assert "shop" not in client.list_database_names()
            shop.now.c.insert_one({"_id": "new"})  # and without branches
            across = {"$acrossSnapshots": {"pipeline": [{"$count": "n"}]}}
            assert [one["n"] for one in shop.now.c.aggregate([across])] == [30, 20] * 3
        for kill in (False, True):
            server.kill() if kill else server.stop()
            server.start()
            with pymongo.MongoClient(server.uri) as client:
                shop = Shop(client)
                assert shown(shop, due) == due and by_id(shop.now.c) == {"new": {"_id": "new"}}
        with pymongo.MongoClient(server.uri) as client:
            shop = Shop(client)
            client.drop_database("shop")
            assert shown(shop, due) == due
            for one in snapshots(client):
                client.admin.command("dropSnapshot", one["snapshot"])
                for ref in [ref for ref in due if ref.split("@")[-1] == one["snapshot"]]:
                    del due[ref]
                assert shown(shop, due) == due
            wait_for_files(server, at_first)


def test_an_index_over_arrays_of_a_dropped_collection_after_a_restart():
    """The server knows which of its fields have arrays as long as a snapshot shows it."""
    with Server() as server:
        with pymongo.MongoClient(server.uri) as client:
            shop = Shop(client)
            shop.now.c.insert_many([{"_id": 47, "v": [1, 4]}, {"_id": 12, "v": 2}])
            shop.now.c.create_index("v")
            shop.now.c.create_index([("n", 1), ("v", 1)])
            shop.now.d.insert_many([{"_id": i, "n": i} for i in range(9)])
            shop.now.d.create_index("n")
            then = shop.declare()
            shop.now.d.drop_index("n_1")
            shop.now.c.drop()
        for kill in (False, True):
            server.kill() if kill else server.stop()
            server.start()
            with pymongo.MongoClient(server.uri) as client:
                old = Shop(client)[then].c
                assert [one["_id"] for one in old.find({"v": {"$gt": 0}})] == [47, 12] and old.count_documents({"v": {"$gt": 0}}) == 2
                assert [one["_id"] for one in old.find({"$and": [{"v": {"$gt": 3}}, {"v": {"$lt": 2}}]})] == [47]
                assert [one["_id"] for one in old.find().sort("v", 1)] == [47, 12]
                plan = old.find({"n": {"$gt": 1}}).hint("n_1_v_1").explain()["queryPlanner"]["winningPlan"]["inputStage"]
                assert plan["multiKeyPaths"] == {"n": [], "v": ["v"]} and plan["isMultiKey"]
                plan = Shop(client)[then].d.find({"n": {"$gte": 2, "$lt": 5}}).hint("n_1").explain()
                assert plan["queryPlanner"]["winningPlan"]["inputStage"]["indexBounds"] == {"n": ["[2, 5)"]} and plan["executionStats"]["totalKeysExamined"] <= 4


def test_a_pipeline_across_snapshots_of_a_branch_that_was_dropped(shop):
    shop.now.c.insert_one({"_id": 1})
    shop.declare()
    shop.now.command("createBranch", "dev")
    shop["dev"].c.insert_one({"_id": 2})
    then = shop.declare()
    shop["dev"].c.insert_one({"_id": 3})
    shop.now.command("dropBranch", "dev", force=True)
    across = [{"$acrossSnapshots": {"pipeline": [{"$count": "n"}]}}]
    assert [(one["snapshot"]["snapshot"], one["n"]) for one in shop["dev"].c.aggregate(across)] == [(then, 2)]
    fails(NAMESPACE_NOT_FOUND, lambda: list(shop["never"].c.aggregate(across)))


def test_killed_when_it_was_dropped():
    with Server() as server:
        at_first, due = files(server), {}
        for round in range(3):
            with pymongo.MongoClient(server.uri) as client:
                shop = Shop(client)
                before, later = write_some(shop, round)
                due |= shown(shop, [before, later, f"dev@{later}"])
                client.drop_database("shop")
            server.kill()
            server.start()
            with pymongo.MongoClient(server.uri) as client:
                assert shown(Shop(client), due) == due
        with pymongo.MongoClient(server.uri) as client:
            for one in snapshots(client):
                client.admin.command("dropSnapshot", one["snapshot"])
        server.kill()
        server.start()
        wait_for_files(server, at_first)
