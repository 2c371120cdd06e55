"""Capped collections in a database with branches: they go on by themselves, under the database's own name."""
import pymongo
import pytest

from tests.branches.conftest import fails
from tests.support.palimpsest import Server

NAMESPACE_NOT_FOUND, NAMESPACE_EXISTS, ILLEGAL_OPERATION, CAPPED_OUT = 26, 48, 20, 17152


def ids(database, name="log"):
    return [one["_id"] for one in database[name].find()]


@pytest.fixture
def logged(shop):
    """Documents, a log of the last five things that happened, and the branch dev."""
    main = shop["main"]
    main.create_collection("log", capped=True, size=100_000, max=5)
    main.log.create_index("a")
    main.log.insert_many([{"_id": i, "a": i % 2} for i in range(3)])
    main.c.insert_many([{"_id": i} for i in range(10)])
    shop.create("dev")
    return shop


def test_it_goes_on_as_without_branches(logged):
    main = logged["main"]
    tail = main.log.find(cursor_type=pymongo.CursorType.TAILABLE)
    assert [one["_id"] for one in tail] == [0, 1, 2]
    for i in range(3, 8):
        main.log.insert_one({"_id": i, "a": i % 2})
        assert [one["_id"] for one in tail] == [i] and tail.alive
    assert ids(main) == [3, 4, 5, 6, 7] and main.log.count_documents({"a": 1}) == 3
    assert main.log.find({"a": 1}).hint("a_1").explain()["queryPlanner"]["winningPlan"]["stage"] == "FETCH"
    assert main.command("collStats", "log")["capped"] and main.log.options()["max"] == 5
    assert main.command("validate", "log", full=True)["valid"]
    main.create_collection("late", capped=True, size=4096, max=2)
    fails(NAMESPACE_EXISTS, lambda: main.command("create", "late", capped=True, size=8192))
    main.late.insert_many([{"_id": i} for i in range(4)])
    assert ids(main, "late") == [2, 3]


def test_no_branch_commit_or_tag_has_one(logged):
    main, dev = logged["main"], logged["dev"]
    main.command("createTag", "v1")
    for ref in ["dev", "v1", "main~0", "dev~0"]:
        assert logged[ref].list_collection_names() == ["c"] and ids(logged[ref]) == [] and logged[ref].log.count_documents({}) == 0
        assert logged[ref].command("dbStats")["collections"] == 1
    for change in [lambda: dev.log.insert_one({"_id": "x"}), lambda: dev.log.update_one({"_id": "x"}, {"$set": {"a": 1}}, upsert=True),
                   lambda: dev.create_collection("log"), lambda: dev.log.create_index("b"), lambda: dev.create_collection("other", capped=True, size=4096),
                   lambda: list(dev.c.aggregate([{"$out": "log"}])), lambda: dev.c.rename("log", dropTarget=True)]:
        fails(ILLEGAL_OPERATION, change)
    fails(CAPPED_OUT, lambda: list(main.c.aggregate([{"$out": "log"}])))
    assert dev.command("drop", "log") == {"ok": 1} and dev.log.delete_many({}).deleted_count == 0
    assert logged.names() == ["dev", "main"]  # nothing is left of what was refused
    assert ids(main) == [0, 1, 2]


def test_what_branches_do_passes_it_by(logged):
    main, dev = logged["main"], logged["dev"]
    dev.c.insert_one({"_id": "new"})
    by_name = logged.client[f"{logged.name}@main"]
    assert by_name.list_collection_names() == ["c"] and ids(by_name) == []
    fails(ILLEGAL_OPERATION, lambda: by_name.create_collection("more", capped=True, size=4096))
    main.log.insert_one({"_id": "a"})
    assert [one["name"] for one in dev.command("status", 1)["collections"]] == ["c"] and main.command("status", 1)["clean"]
    main.command("commit", 1)
    main.log.insert_one({"_id": "b"})
    assert not main.command("commit", 1)["changed"]
    fails(NAMESPACE_NOT_FOUND, lambda: main.command("commit", 1, collections=["log"]))
    commit = dev.command("commit", 1)["commit"]
    main.command("merge", "dev")
    assert [one["_id"] for one in main.cursor_command("diff", 1, **{"from": "dev~1", "to": "dev"})] == ["new"]
    assert main.c.count_documents({}) == 11 and ids(main) == [0, 1, 2, "a", "b"]
    main.command("resetBranch", "main", to="dev~1")
    main.command("sweep", 1)
    assert ids(main) == [0, 1, 2, "a", "b"] and logged[commit].c.count_documents({}) == 11
    joined = list(dev.c.aggregate([{"$match": {"_id": 1}}, {"$lookup": {"from": {"db": logged.name, "coll": "log"}, "localField": "_id", "foreignField": "_id", "as": "l"}}]))
    assert joined == [{"_id": 1, "l": [{"_id": 1, "a": 1}]}]


def test_dropped_renamed_and_created_anew(logged):
    main, dev = logged["main"], logged["dev"]
    main.log.rename("logs")
    assert ids(main, "logs") == [0, 1, 2] and ids(main) == []
    dev.log.insert_one({"_id": "a branch's own"})
    fails(NAMESPACE_EXISTS, lambda: main.create_collection("log", capped=True, size=4096))  # dev has another one of the name
    fails(ILLEGAL_OPERATION, lambda: main.logs.rename("log", dropTarget=True))
    main.create_collection("other", capped=True, size=4096)
    main.logs.rename("other", dropTarget=True)
    assert ids(main, "other") == [0, 1, 2] and sorted(main.other.index_information()) == ["_id_", "a_1"]
    assert sorted(main.list_collection_names()) == ["c", "other"] and sorted(dev.list_collection_names()) == ["c", "log"]
    elsewhere = logged.client[logged.name + "k"]
    logged.client.admin.command("renameCollection", f"{logged.name}.other", to=f"{elsewhere.name}.other")
    assert ids(elsewhere, "other") == [0, 1, 2] and main.list_collection_names() == ["c"]
    logged.client.admin.command("renameCollection", f"{elsewhere.name}.other", to=f"{logged.name}.back")
    fails(ILLEGAL_OPERATION, lambda: logged.client.admin.command("renameCollection", f"{logged.name}.back", to=f"{logged.name}@dev.back"))
    main.back.drop()
    assert main.list_collection_names() == ["c"]
    main.back.insert_one({"_id": 1})  # of that name, with branches
    main.command("commit", 1)
    assert logged["main~0"].list_collection_names() == ["back", "c"]


def test_snapshots_have_it_under_the_databases_name(logged):
    client, main = logged.client, logged["main"]
    client.admin.command("createSnapshot", 1, name=f"of-{logged.name}")
    main.log.insert_many([{"_id": i, "a": 1} for i in range(3, 8)])
    then = client[f"{logged.name}@of-{logged.name}"]
    assert sorted(then.list_collection_names()) == ["c", "log"] and ids(then) == [0, 1, 2] and then.log.count_documents({"a": 1}) == 1
    branch = client[f"{logged.name}@dev@of-{logged.name}"]
    assert branch.list_collection_names() == ["c"] and ids(branch) == []
    client.drop_database(logged.name)
    assert ids(then) == [0, 1, 2] and then.c.count_documents({}) == 10 and ids(main) == []
    client.admin.command("dropSnapshot", f"of-{logged.name}")


def test_a_database_of_nothing_else_can_have_branches_and_keeps_both_over_a_restart():
    with Server() as running:
        running.client().alone.create_collection("log", capped=True, size=4096, max=3)
        running.client().alone.command("createBranch", "dev")
        running.client().alone.log.insert_many([{"_id": i} for i in range(5)])
        running.client()["alone@dev"].c.insert_one({"_id": 1})
        running.stop()
        running.start()
        client = running.client()
        assert ids(client.alone) == [2, 3, 4] and client.alone.list_collection_names() == ["log"]
        assert client["alone@dev"].list_collection_names() == ["c"] and ids(client["alone@dev"]) == []
        fails(ILLEGAL_OPERATION, lambda: client["alone@dev"].log.insert_one({}))
        client.alone.log.insert_one({"_id": 5})
        client["alone@dev"].command("commit", 1)
        client.alone.command("merge", "dev")
        assert ids(client.alone) == [3, 4, 5] and ids(client.alone, "c") == [1]
