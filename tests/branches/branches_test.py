"""These tests use branches as clients do: names with an `@`, and every command on them."""
import random
import threading

import pymongo
import pytest
from bson import Int64
from pymongo.errors import BulkWriteError, DuplicateKeyError

from tests.branches.conftest import by_id, check_collection, fails, log_of
from tests.support.palimpsest import Server
from tests.support.waiting import wait_until

ILLEGAL_OPERATION, NAMESPACE_NOT_FOUND, NAMESPACE_EXISTS, BAD_VALUE, QUERY_PLAN_KILLED, MAX_TIME_MS_EXPIRED = 20, 26, 48, 2, 175, 50


def test_a_branch_begins_with_what_is_there_and_goes_its_own_way(shop):
    main = shop["main"].c
    main.insert_many([{"_id": i, "a": i % 3, "s": "x" * 100} for i in range(20)])
    made = shop.create("dev")
    assert made["branch"] == "dev" and len(made["commit"]) == 64 and made["uncommitted"] is False
    dev = shop["dev"].c
    assert by_id(dev) == by_id(main)
    dev.update_one({"_id": 1}, {"$set": {"a": 100}})
    dev.insert_one({"_id": 50, "a": 1})
    dev.delete_one({"_id": 2})
    main.update_one({"_id": 3}, {"$inc": {"a": 7}})
    main.insert_one({"_id": 50, "a": "other"})
    assert dev.find_one({"_id": 1})["a"] == 100 and main.find_one({"_id": 1})["a"] == 1
    assert dev.find_one({"_id": 50})["a"] == 1 and main.find_one({"_id": 50})["a"] == "other"
    assert dev.find_one({"_id": 2}) is None and main.find_one({"_id": 2})
    assert dev.find_one({"_id": 3})["a"] == 0 and main.find_one({"_id": 3})["a"] == 7
    assert dev.count_documents({}) == dev.estimated_document_count() == 20
    assert main.count_documents({}) == main.estimated_document_count() == 21
    assert shop.names() == ["dev", "main"]
    assert shop["dev"].list_collection_names() == ["c"]


def test_what_an_index_could_answer_alone_is_each_branchs_own(shop):
    main = shop["main"].c
    main.create_index([("a", 1), ("b", 1)], name="ab")
    main.insert_many([{"_id": i, "a": i % 2, "b": i} for i in range(6)])
    asked = ({"a": 1}, {"_id": 0, "b": 1})
    stage = lambda collection: collection.find(*asked).explain()["queryPlanner"]["winningPlan"]["stage"]
    assert stage(main) == "PROJECTION_COVERED"
    shop.create("dev")
    dev = shop["dev"].c
    dev.update_one({"_id": 1}, {"$set": {"b": 1.0}})
    dev.update_one({"_id": 3}, {"$unset": {"b": 1}})
    main.update_one({"_id": 5}, {"$set": {"b": Int64(5)}})
    values = lambda collection: sorted((repr(one.get("b", "none")), type(one.get("b")).__name__) for one in collection.find(*asked))
    assert stage(main) == stage(dev) == "PROJECTION_SIMPLE"
    assert values(dev) == [("'none'", "NoneType"), ("1.0", "float"), ("5", "int")]
    assert values(main) == [("1", "int"), ("3", "int"), ("5", "Int64")]
    assert sorted(dev.distinct("b", {"a": 1})) == [1, 5] and sorted(main.distinct("b")) == list(range(6))
    assert dev.count_documents({"a": 1}) == 3


def test_what_was_deleted_before_the_first_branch_is_not_counted(shop):
    main = shop["main"].c
    main.insert_many([{"_id": i} for i in range(30)])
    main.delete_many({"_id": {"$lt": 10}})
    shop.create("dev")
    assert main.estimated_document_count() == shop["dev"].c.estimated_document_count() == 20
    shop["dev"].c.delete_one({"_id": 20})
    assert shop["dev"].c.estimated_document_count() == 19 and main.estimated_document_count() == 20


def test_main_by_its_name_and_a_branch_of_a_branch(shop):
    shop["main"].c.insert_one({"_id": 1})
    shop.create("feature/one.two")
    feature = shop["feature%2Fone%2Etwo"].c
    feature.insert_one({"_id": 2})
    by_name = shop.client[f"{shop.name}@main"].c
    by_name.insert_one({"_id": 3})
    assert sorted(by_id(shop["main"].c)) == sorted(by_id(by_name)) == [1, 3]
    assert sorted(by_id(feature)) == [1, 2]
    # Writes that aren't committed stay where they are.
    made = shop["feature%2Fone%2Etwo"].command("createBranch", "next")
    assert made["uncommitted"] is True
    assert sorted(by_id(shop["next"].c)) == [1]


@pytest.mark.parametrize("direction", [1, -1])
def test_indexes_show_what_the_branch_shows(shop, direction):
    main = shop["main"].c
    main.create_index([("a", 1)])
    main.create_index([("tags", 1)])
    main.insert_many([{"_id": i, "a": i % 5, "tags": [i % 2, "t"]} for i in range(50)])
    shop.create("dev")
    dev = shop["dev"].c
    dev.update_many({"a": 1}, {"$set": {"a": 2}})
    dev.update_many({"_id": {"$lt": 5}}, {"$inc": {"n": 1}})
    dev.create_index([("n", 1)])  # for all branches
    for collection, ones, twos in [(main, 10, 10), (dev, 0, 20)]:
        for value, count in [(1, ones), (2, twos)]:
            found = list(collection.find({"a": value}).hint([("a", 1)]).sort("a", direction))
            assert len(found) == count == collection.count_documents({"a": value}) and {one["a"] for one in found} <= {value}
        assert len(list(collection.find({"tags": "t"}).hint([("tags", 1)]))) == 50
        assert [one["_id"] for one in collection.find().sort("_id", direction)] == list(range(50))[::direction]
        assert len(list(collection.find().sort("$natural", direction))) == 50
        assert collection.distinct("a") == sorted({one["a"] for one in collection.find()})
    assert dev.count_documents({"n": 1}) == 5 and main.count_documents({"n": 1}) == 0
    stage = dev.find({"a": 2}).explain()["queryPlanner"]["winningPlan"]
    assert "IXSCAN" in str(stage)
    dev.drop_index("a_1")
    assert len(list(main.find({"a": 1}))) == 10


def test_unique_indexes_hold_on_each_branch_by_itself(shop):
    main = shop["main"].c
    main.create_index("u", unique=True)
    main.create_index("p", unique=True, partialFilterExpression={"p": {"$exists": True}})
    main.insert_many([{"_id": i, "u": i} for i in range(5)])
    shop.create("dev")
    dev = shop["dev"].c
    with pytest.raises(DuplicateKeyError) as duplicate:
        dev.insert_one({"_id": 10, "u": 3})
    assert duplicate.value.details["keyPattern"] == {"u": 1} and duplicate.value.details["keyValue"] == {"u": 3}
    with pytest.raises(DuplicateKeyError):
        dev.insert_one({"_id": 3, "u": 77})
    assert dev.count_documents({}) == 5
    dev.update_one({"_id": 3}, {"$set": {"u": 33}})
    dev.insert_one({"_id": 10, "u": 3})       # free here
    with pytest.raises(DuplicateKeyError):
        main.insert_one({"_id": 10, "u": 3})  # not there
    main.insert_one({"_id": 10, "u": 33})
    with pytest.raises(DuplicateKeyError):
        dev.update_one({"_id": 10}, {"$set": {"u": 4}})
    assert dev.find_one({"_id": 10})["u"] == 3
    dev.update_one({"_id": 10}, {"$set": {"n": 1}})  # keeps its key
    dev.delete_one({"_id": 4})
    dev.update_one({"_id": 10}, {"$set": {"u": 4}})
    assert [one["u"] for one in dev.find().sort("u", 1)] == [0, 1, 2, 4, 33]
    dev.insert_many([{"_id": "p1", "u": "p1", "p": 1}, {"_id": "p2", "u": "p2", "p": 2}])
    with pytest.raises(BulkWriteError):
        dev.insert_many([{"_id": "p3", "u": "p3", "p": 3}, {"_id": "p4", "u": "p4", "p": 1}])
    assert dev.count_documents({"p": {"$exists": True}}) == 3
    assert dev.find_one({"u": 33})["_id"] == 3 and main.find_one({"u": 33})["_id"] == 10


def test_an_index_that_is_changed_goes_on_showing_what_the_branch_shows(shop):
    main = shop["main"].c
    main.create_index("u", unique=True)
    main.insert_many([{"_id": i, "u": i} for i in range(5)])
    shop.create("dev")
    dev = shop["dev"].c
    dev.update_one({"_id": 3}, {"$set": {"u": 33}})
    dev.insert_one({"_id": 10, "u": 3})
    for hidden in [True, False]:
        shop["dev"].command("collMod", "c", index={"name": "u_1", "hidden": hidden})
    assert [one["u"] for one in dev.find({"u": {"$gte": 0}}).hint([("u", 1)])] == [0, 1, 2, 3, 4, 33]
    assert [one["u"] for one in main.find({"u": {"$gte": 0}}).hint([("u", 1)])] == [0, 1, 2, 3, 4]
    with pytest.raises(DuplicateKeyError):
        dev.insert_one({"_id": 11, "u": 33})


def test_every_kind_of_write(shop):
    main = shop["main"].c
    main.insert_many([{"_id": i, "n": i} for i in range(10)])
    shop.create("dev")
    before, dev = by_id(main), shop["dev"].c
    assert dev.replace_one({"_id": 0}, {"r": 1}).modified_count == 1
    assert dev.update_one({"_id": 100}, {"$set": {"x": 1}}, upsert=True).upserted_id == 100
    assert dev.find_one_and_update({"n": 5}, {"$inc": {"n": 100}}, return_document=pymongo.ReturnDocument.AFTER)["n"] == 105
    assert dev.find_one_and_delete({"n": 6})["_id"] == 6
    assert dev.update_many({"n": {"$gte": 7}}, [{"$set": {"twice": {"$multiply": ["$n", 2]}}}]).modified_count == 4
    assert dev.delete_many({"n": {"$lt": 3}}).deleted_count == 2
    dev.bulk_write([pymongo.InsertOne({"_id": "b"}), pymongo.UpdateOne({"_id": "b"}, {"$set": {"n": 1}}), pymongo.DeleteOne({"_id": 7})])
    assert {key: {field: value for field, value in one.items() if field != "_id"} for key, one in by_id(dev).items()} == {
        0: {"r": 1}, 3: {"n": 3}, 4: {"n": 4}, 5: {"n": 105, "twice": 210}, 8: {"n": 8, "twice": 16}, 9: {"n": 9, "twice": 18},
        100: {"x": 1}, "b": {"n": 1}}
    assert by_id(main) == before
    dev.aggregate([{"$match": {"n": {"$lt": 5}}}, {"$merge": {"into": "other"}}])
    assert sorted(one["n"] for one in shop["dev"].other.find()) == [1, 3, 4]
    assert shop["main"].other.count_documents({}) == 0  # it is there, and empty
    assert list(dev.aggregate([{"$group": {"_id": None, "n": {"$sum": "$n"}}}])) == [{"_id": None, "n": 1 + 3 + 4 + 105 + 8 + 9}]


@pytest.mark.parametrize("indexed", [False, True])
def test_an_update_of_many_changes_each_once(shop, indexed):
    main = shop["main"].c
    if indexed:
        main.create_index("n")
        main.create_index("k")
    main.insert_many([{"_id": i, "n": i, "k": 0} for i in range(1000)])
    shop.create("dev")
    for collection in [shop["dev"].c, main]:
        for filter in [{"n": {"$gte": 0}}, {"k": 0}]:
            assert collection.update_many(filter, {"$inc": {"n": 1}}).modified_count == 1000
        assert sum(one["n"] for one in collection.find()) == sum(range(1000)) + 2000


def test_writers_of_one_branch_meet_on_documents_alone(shop):
    shop["main"].c.create_index("k")
    shop["main"].c.insert_many([{"_id": i, "n": 0, "k": i % 2} for i in range(4)])
    shop.create("dev")

    def write(number, database):
        for i in range(60):
            assert database.c.update_one({"_id": i % 4}, {"$inc": {"n": 1}}).modified_count == 1
            assert database.c.update_one({"k": i % 2}, {"$inc": {"n": 1}}).modified_count == 1
            database.c.insert_one({"_id": f"{number}-{i}"})

    with shop.writers(4, "dev", write):
        pass
    dev = shop["dev"].c
    assert sum(one["n"] for one in dev.find({"n": {"$exists": True}})) == 4 * 60 * 2
    assert dev.count_documents({}) == 4 + 4 * 60
    assert sum(one["n"] for one in shop["main"].c.find()) == 0


def test_two_who_want_one_key(shop):
    shop["main"].c.create_index("u", unique=True)
    shop["main"].c.insert_one({"_id": 0, "u": -1})
    shop.create("dev")
    won = []

    def write(number, database):
        for i in range(50):
            try:
                database.c.insert_one({"u": i, "by": number})
                won.append(i)
            except DuplicateKeyError:
                pass

    with shop.writers(4, "dev", write):
        pass
    assert sorted(won) == list(range(50))
    assert sorted(one["u"] for one in shop["dev"].c.find()) == list(range(-1, 50))


def test_a_cursor_shows_one_moment(shop):
    main = shop["main"].c
    main.create_index("a")
    main.insert_many([{"_id": i, "a": 0} for i in range(300)])
    shop.create("dev")
    for collection in [shop["dev"].c, main]:
        for query in [collection.find({}, batch_size=10), collection.find({"a": 0}, batch_size=10).hint([("a", 1)]),
                      collection.find({"a": 0}, batch_size=10).hint([("a", 1)]).sort("a", -1)]:
            first = [next(query) for _ in range(15)]
            collection.update_many({}, {"$inc": {"n": 1}})
            collection.insert_one({"_id": "new", "a": 0})
            rest = list(query)
            assert len(first + rest) == 300 == len({one["_id"] for one in first + rest})
            collection.delete_one({"_id": "new"})


def test_cursors_when_branches_come_and_go(shop):
    main = shop["main"].c
    main.insert_many([{"_id": i, "a": 0} for i in range(100)])
    main.create_index("a")
    scan, index = main.find({}, batch_size=10), main.find({"a": 0}, batch_size=10).hint([("a", 1)])
    next(scan), next(index)
    shop.create("dev")
    fails(QUERY_PLAN_KILLED, lambda: list(scan))
    fails(QUERY_PLAN_KILLED, lambda: list(index))
    on_main, on_dev = main.find({}, batch_size=10), shop["dev"].c.find({}, batch_size=10)
    next(on_main), next(on_dev)
    shop["main"].command("dropBranch", "dev")
    assert len(list(on_main)) == 99
    fails(QUERY_PLAN_KILLED, lambda: list(on_dev))
    fails(NAMESPACE_NOT_FOUND, lambda: shop["dev"].c.find_one())
    fails(NAMESPACE_NOT_FOUND, lambda: shop["dev"].c.insert_one({}))
    shop.create("dev")  # another one
    shop["dev"].c.insert_one({"_id": "x"})
    assert shop["dev"].c.count_documents({}) == 101
    fails(ILLEGAL_OPERATION, lambda: shop["main"].command("dropBranch", "dev"))
    shop["main"].command("dropBranch", "dev", force=True)
    assert shop.names() == ["main"] and main.count_documents({}) == 100


def test_a_commit_can_be_read_and_not_written(shop):
    shop["main"].c.insert_one({"_id": 1})
    commit = shop.create("dev")["commit"]
    shop["main"].c.insert_one({"_id": 2})
    for ref in [commit[:8], commit[:20], commit]:
        past = shop[ref].c
        assert [one["_id"] for one in past.find()] == [1] and past.find_one({"_id": 2}) is None and past.estimated_document_count() == 1
    for write in [lambda: past.insert_one({}), lambda: past.update_one({"_id": 1}, {"$set": {"a": 1}}), lambda: past.delete_many({}),
                  lambda: past.create_index("a"), lambda: shop[commit].create_collection("d"), lambda: shop[commit].other.insert_one({})]:
        fails(ILLEGAL_OPERATION, write)
    assert "c" in shop[commit].list_collection_names()
    fails(NAMESPACE_NOT_FOUND, lambda: shop["00000000"].c.find_one())
    fails(NAMESPACE_NOT_FOUND, lambda: shop[commit[:8] + "~1"].c.find_one())
    fails(BAD_VALUE, lambda: shop["dev~x"].c.find_one())


def test_what_is_refused(shop):
    fails(NAMESPACE_NOT_FOUND, lambda: shop.create("dev"))  # there is no such database
    shop["main"].c.insert_one({"_id": 1})
    fails(NAMESPACE_NOT_FOUND, lambda: shop["dev"].c.insert_one({}))
    fails(NAMESPACE_NOT_FOUND, lambda: shop["main"].command("listBranches"))
    for name in ["", "a b", "a~1", "3f9a2c1b", "-x", "a@b", "x" * 101]:
        fails(BAD_VALUE, lambda: shop.create(name))
    for ref in ["nowhere", "main~1"]:
        fails(NAMESPACE_NOT_FOUND, lambda: shop.create("dev", **{"from": ref}))
        fails(NAMESPACE_NOT_FOUND, lambda: shop[ref].command("createBranch", "dev"))
        fails(NAMESPACE_NOT_FOUND, lambda: shop[ref].command("commit", 1))
    fails(NAMESPACE_EXISTS, lambda: shop.create("main"))
    fails(NAMESPACE_NOT_FOUND, lambda: shop["main"].command("listBranches"))  # no trace of it
    shop.create("dev")
    fails(NAMESPACE_EXISTS, lambda: shop.create("dev"))
    fails(NAMESPACE_EXISTS, lambda: shop.create("main"))
    fails(NAMESPACE_NOT_FOUND, lambda: shop.create("x", **{"from": "nowhere"}))
    fails(NAMESPACE_NOT_FOUND, lambda: shop["main"].command("dropBranch", "nowhere"))
    fails(ILLEGAL_OPERATION, lambda: shop["main"].command("dropBranch", "main"))
    for name in ["s1", "s42", "20261120T101500Z"]:  # a snapshot
        fails(BAD_VALUE, lambda: shop.create(name))
        fails(BAD_VALUE, lambda: shop["main"].command("createTag", name))
        fails(BAD_VALUE, lambda: shop["main"].command("renameBranch", "dev", to=name))
        fails(BAD_VALUE, lambda: shop["main"].command("merge", "dev", into="new", branch=name))
    for ref in ["main", "dev"]:
        database = shop[ref]
        for other in [shop.name + "k", f"{shop.name}@{'dev' if ref == 'main' else 'main'}"]:
            fails(ILLEGAL_OPERATION, lambda: shop.client.admin.command("renameCollection", f"{database.name}.c", to=f"{other}.d"))
    fails(ILLEGAL_OPERATION, lambda: shop.client.drop_database(f"{shop.name}@dev"))
    assert shop["main"].list_collection_names() == ["c"] and shop["dev"].c.count_documents({}) == 1
    for name in ["admin", "local", "config"]:
        fails(ILLEGAL_OPERATION, lambda: shop.client[name].command("createBranch", "dev"))


def test_lists_and_collections_of_all_branches(shop):
    shop["main"].c.insert_one({"_id": 1})
    shop.create("dev")
    admin = shop.client.admin
    assert shop.name in shop.client.list_database_names()
    assert not [name for name in shop.client.list_database_names() if "@" in name]
    named = {one["name"] for one in admin.command("listDatabases", branches=True, nameOnly=True)["databases"]}
    assert {shop.name, f"{shop.name}@dev"} <= named and f"{shop.name}@main" not in named
    shop["dev"].create_collection("made")
    shop["dev"].made.create_index("a")
    shop["dev"].made.insert_one({"_id": 1, "a": 1})
    assert "made" not in shop["main"].list_collection_names() and shop["main"].made.count_documents({}) == 0
    shop["main"].made.insert_one({"_id": 1, "a": 2})
    assert "made" in shop["main"].list_collection_names() and "a_1" in shop["main"].made.index_information()
    assert shop["dev"].made.find_one({"a": 1}) and not shop["dev"].made.find_one({"a": 2})
    assert shop["dev"].command("dbStats")["collections"] == 2
    assert shop["dev"].command("collStats", "made")["count"] == 1


def test_a_dropped_database_leaves_nothing(shop):
    for _ in range(2):
        shop["main"].c.insert_one({"_id": 1})
        shop.create("dev")
        shop["dev"].c.insert_one({"_id": 2})
        shop.client.drop_database(shop.name)
        fails(NAMESPACE_NOT_FOUND, lambda: shop["dev"].c.find_one())
        assert shop["main"].list_collection_names() == []


def test_branches_survive_the_process(tmp_path):
    for ended in ["kill", "stop"]:
        with Server(dbpath=tmp_path / ended) as server:
            db, dev = server.client()["shop"], server.client()["shop@dev"]
            db.c.create_index("a")
            db.c.insert_many([{"_id": i, "a": i % 3} for i in range(100)])
            db.command("createBranch", "dev")
            dev.c.update_many({"a": 1}, {"$set": {"a": 7}})
            dev.late.insert_one({"_id": 1})
            db.c.delete_many({"a": 2})
            dev.c.with_options(write_concern=pymongo.WriteConcern(j=True)).insert_one({"_id": "last", "a": 7})
            getattr(server, ended)()
            server.start()
            db, dev = server.client()["shop"], server.client()["shop@dev"]
            assert dev.c.count_documents({"a": 7}) == 34 and dev.c.count_documents({}) == 101 and db.c.count_documents({}) == 67
            dev.c.insert_one({"_id": "after", "a": 7})
            dev.c.update_many({}, {"$inc": {"n": 1}})
            db.late.insert_one({"_id": 1})
            assert dev.c.count_documents({"a": 7}) == 35 and dev.late.count_documents({}) == 1 and db.late.count_documents({}) == 1
            for name in ["c", "late"]:
                check_collection(db, name)
            db.client.drop_database("shop")
            server.stop()
            server.start()
            assert server.client()["shop"].list_collection_names() == []
            left = lambda: [one.name for one in (tmp_path / ended).glob("versions-*") if not one.name.startswith("versions-databases")]
            wait_until(lambda: not left(), left)


def test_commits_and_what_they_show(shop):
    main = shop["main"]
    main.c.insert_many([{"_id": i} for i in range(3)])
    first = main.command("commit", 1, message="three")  # the first commit makes it a database with branches
    assert first["changed"] is True and first["branch"] == "main"
    assert main.command("commit", 1)["changed"] is False
    shop.create("dev")
    dev = shop["dev"]
    dev.c.insert_one({"_id": 10})
    dev.c.update_one({"_id": 1}, {"$set": {"a": 1}})
    dev.c.delete_one({"_id": 2})
    dev.d.insert_one({"_id": 1})
    status = dev.command("status")
    assert status["branch"] == "dev" and status["clean"] is False and status["readOnly"] is False and status["commit"] == first["commit"]
    assert sorted(status["collections"], key=lambda one: one["name"]) == [
        {"name": "c", "inserted": 1, "modified": 1, "deleted": 1}, {"name": "d", "created": True, "inserted": 1, "modified": 0, "deleted": 0}]
    assert all(type(count) is int for one in status["collections"] for field, count in one.items() if field not in ("name", "created"))  # as MongoDB gives what fits
    assert main.command("status")["clean"] is True
    second = dev.command("commit", 1, message="changed", author="me")
    assert second["commit"] != first["commit"] and dev.command("status")["clean"] is True
    dev.c.update_one({"_id": 1}, {"$set": {"a": 2}})
    third = dev.command("commit", 1, message="again")
    # The database's first commit is two: one for the documents that it came with, and one for what proves them. The log shows
    # them as one.
    assert [one["message"] for one in log_of(dev)] == ["again", "changed", "three"]
    assert [one["commit"] for one in log_of(dev, cursor={"batchSize": 1})] == [third["commit"], second["commit"], first["commit"]]
    assert log_of(dev, limit=1)[0]["parents"] == [second["commit"]]
    assert log_of(shop["dev~1"])[0]["author"] == "me" and [one["commit"] for one in log_of(main)] == [first["commit"]]
    for ref, documents in [("dev", 2), ("dev~0", 2), ("dev~1", 1), ("dev^", 1), ("dev~2", None), (second["commit"][:12], 1), (first["commit"], None)]:
        past = shop[ref]
        one = past.c.find_one({"_id": 1})
        assert one == ({"_id": 1, "a": documents} if documents else {"_id": 1}), ref
        assert past.c.count_documents({}) == past.c.estimated_document_count() == 3
        assert past.d.count_documents({}) == (1 if documents else 0)
    for ref in ["dev~1", "dev^", "dev~0", second["commit"]]:
        fails(ILLEGAL_OPERATION, lambda: shop[ref].c.insert_one({}))
        fails(ILLEGAL_OPERATION, lambda: shop[ref].command("commit", 1))
        assert shop[ref].command("status")["readOnly"] is True
    fails(NAMESPACE_NOT_FOUND, lambda: shop["dev~4"].c.find_one())
    fails(NAMESPACE_NOT_FOUND, lambda: shop["dev^2"].c.find_one())
    shop.create("old", **{"from": "dev~1"})
    assert shop["old"].c.find_one({"_id": 1})["a"] == 1
    shop["main"].command("dropBranch", "dev")
    assert shop[third["commit"]].c.find_one({"_id": 1})["a"] == 2  # commits stay


def test_tags(shop):
    main = shop["main"]
    main.c.insert_one({"_id": 1})
    commit = main.command("commit", 1)["commit"]
    assert main.command("createTag", "v1.0") == {"tag": "v1.0", "commit": commit, "ok": 1.0}
    main.c.insert_one({"_id": 2})
    shop["main"].command("commit", 1)
    assert shop["v1%2E0"].c.count_documents({}) == 1 and main.c.count_documents({}) == 2
    fails(ILLEGAL_OPERATION, lambda: shop["v1%2E0"].c.insert_one({}))
    assert [(one["name"], one["commit"]) for one in main.cursor_command("listTags", 1)] == [("v1.0", commit)]
    main.command("createTag", "v0", **{"from": "main~1"})
    assert shop["v0"].c.count_documents({}) == 1
    shop.create("dev", **{"from": "v1.0"})
    assert shop["dev"].c.count_documents({}) == 1
    # A name has one meaning.
    fails(NAMESPACE_EXISTS, lambda: main.command("createTag", "v0"))
    fails(NAMESPACE_EXISTS, lambda: main.command("createTag", "dev"))
    fails(NAMESPACE_EXISTS, lambda: shop.create("v0"))
    fails(ILLEGAL_OPERATION, lambda: main.command("dropBranch", "v0"))
    fails(NAMESPACE_NOT_FOUND, lambda: main.command("dropTag", "dev"))
    main.command("dropTag", "v0")
    fails(NAMESPACE_NOT_FOUND, lambda: shop["v0"].c.find_one())


def test_reset_and_rename(shop):
    main = shop["main"]
    main.c.create_index("u", unique=True)
    main.c.insert_many([{"_id": i, "u": i} for i in range(5)])
    main.command("commit", 1)
    main.c.update_many({}, {"$inc": {"u": 100}})
    last = main.command("commit", 1)["commit"]
    main.c.insert_one({"_id": "lost", "u": 1})
    fails(ILLEGAL_OPERATION, lambda: main.command("resetBranch", "main", to="main~1"))
    main.command("resetBranch", "main", to="main~1", force=True)
    assert [one["u"] for one in main.c.find().sort("u", 1)] == [0, 1, 2, 3, 4] and main.c.estimated_document_count() == 5
    with pytest.raises(DuplicateKeyError):
        main.c.insert_one({"_id": 9, "u": 4})
    main.c.insert_one({"_id": 9, "u": 104})
    assert main.command("commit", 1)["changed"]
    assert len(log_of(main)) == 2 and last not in [one["commit"] for one in log_of(main)]
    main.command("resetBranch", "main", to=last)
    assert main.c.count_documents({"u": {"$gte": 100}}) == 5
    shop.create("dev")
    shop["dev"].c.delete_one({"_id": 0})
    shop["main"].command("renameBranch", "dev", to="next")
    assert shop["next"].c.count_documents({}) == 4
    fails(NAMESPACE_NOT_FOUND, lambda: shop["dev"].c.find_one())
    fails(ILLEGAL_OPERATION, lambda: main.command("renameBranch", "main", to="x"))
    fails(NAMESPACE_EXISTS, lambda: main.command("renameBranch", "next", to="main"))
    fails(NAMESPACE_NOT_FOUND, lambda: main.command("resetBranch", "next", to="nowhere", force=True))


def test_commits_beside_writers(shop):
    shop["main"].c.insert_many([{"_id": i, "n": 0} for i in range(8)])
    shop.create("dev")

    def write(number, database):
        for i in range(100):
            database.c.update_one({"_id": (i + number) % 8}, {"$inc": {"n": 1}})
            database.c.insert_one({"_id": f"{number}-{i}"})
            if i % 3 == 0:
                database.c.delete_one({"_id": f"{number}-{i}"})

    with shop.writers(3, "dev", write) as running:
        while not all(one.done() for one in running):
            shop["dev"].command("commit", 1)
    shop["dev"].command("commit", 1)
    assert shop["dev"].command("status")["clean"]
    for ref in ["dev", "dev~0"]:
        dev = shop[ref].c
        assert sum(one["n"] for one in dev.find({"n": {"$exists": True}})) == 300
        assert dev.count_documents({}) == dev.estimated_document_count() == 8 + 3 * (100 - 34)
    # Each commit shows one moment: no document was ever there twice.
    for one in log_of(shop["dev"], limit=20):
        ids = [document["_id"] for document in shop[one["commit"]].c.find()]
        assert len(ids) == len(set(ids))


def diff_of(database, **arguments):
    return {(one["collection"], one["_id"]): one for one in database.cursor_command("diff", 1, **arguments)}


def test_differences(shop):
    main = shop["main"]
    main.c.insert_many([{"_id": i, "a": 0} for i in range(20)])
    shop.create("dev")
    dev = shop["dev"]
    dev.c.update_one({"_id": 1}, {"$set": {"a": 1}})
    dev.c.delete_one({"_id": 2})
    dev.c.insert_one({"_id": 30})
    dev.d.insert_one({"_id": "x"})
    found = diff_of(dev)
    assert found == {
        ("c", 1): {"collection": "c", "_id": 1, "change": "update", "before": {"_id": 1, "a": 0}, "after": {"_id": 1, "a": 1}},
        ("c", 2): {"collection": "c", "_id": 2, "change": "delete", "before": {"_id": 2, "a": 0}},
        ("c", 30): {"collection": "c", "_id": 30, "change": "insert", "after": {"_id": 30}},
        ("d", "x"): {"collection": "d", "_id": "x", "change": "insert", "after": {"_id": "x"}}}
    dev.command("commit", 1)
    assert diff_of(dev) == {} and diff_of(dev, **{"from": "dev~1"}) == found == diff_of(main, **{"from": "main", "to": "dev"}, cursor={"batchSize": 1})
    assert set(diff_of(dev, **{"from": "main"}, collection="d")) == {("d", "x")}
    assert set(diff_of(dev, **{"from": "main"}, filter={"change": "update"})) == {("c", 1)}
    back = diff_of(main, **{"from": "dev"})
    assert back[("c", 1)]["after"] == {"_id": 1, "a": 0} and back[("c", 2)]["change"] == "insert" and back[("c", 30)]["change"] == "delete"
    main.c.update_one({"_id": 5}, {"$set": {"a": 5}})  # not committed, and still seen
    assert set(diff_of(main, **{"from": "dev"})) == set(found) | {("c", 5)}
    fails(NAMESPACE_NOT_FOUND, lambda: diff_of(main, to="nowhere"))


@pytest.mark.parametrize("change", [lambda c: c.update_many({}, {"$inc": {"n": 1}}), lambda c: c.delete_many({})])
def test_a_difference_stops_when_its_time_is_up(shop, change):
    shop["main"].c.insert_many([{"_id": i, "text": "x" * 200} for i in range(5000)])
    shop.create("dev")
    change(shop["dev"].c)
    fails(MAX_TIME_MS_EXPIRED, lambda: diff_of(shop["dev"], filter={"change": "insert"}, maxTimeMS=1))


def test_merges_field_by_field(shop):
    main = shop["main"]
    main.c.create_index("a")
    main.c.create_index("both.x")
    main.c.insert_many([{"_id": i, "a": 0, "b": 0, "both": {"x": 0, "y": 0}} for i in range(6)])
    shop.create("dev")
    dev = shop["dev"]
    dev.c.update_one({"_id": 0}, {"$set": {"a": 1}})
    dev.c.update_one({"_id": 1}, {"$set": {"both.x": 1}})
    dev.c.delete_one({"_id": 2})
    dev.c.insert_one({"_id": "dev", "a": 7})
    main.c.update_one({"_id": 1}, {"$set": {"both.y": 2, "b": 3}})
    main.c.update_one({"_id": 3}, {"$set": {"a": 9}})
    dev.command("commit", 1)
    fails(ILLEGAL_OPERATION, lambda: main.command("merge", "dev"))  # main has changes that are not committed
    main.command("commit", 1)
    tried = main.command("merge", "dev", dryRun=True)
    assert tried["changed"] is True and tried["conflictCount"] == 0 and main.c.find_one({"_id": 0})["a"] == 0
    done = main.command("merge", "dev", message="dev is done")
    assert done["changed"] is True and done["touchedByBoth"] == 1 and type(done["touchedByBoth"]) is int
    assert by_id(main.c) == {0: {"_id": 0, "a": 1, "b": 0, "both": {"x": 0, "y": 0}}, 1: {"_id": 1, "a": 0, "b": 3, "both": {"x": 1, "y": 2}},
                             3: {"_id": 3, "a": 9, "b": 0, "both": {"x": 0, "y": 0}}, 4: {"_id": 4, "a": 0, "b": 0, "both": {"x": 0, "y": 0}},
                             5: {"_id": 5, "a": 0, "b": 0, "both": {"x": 0, "y": 0}}, "dev": {"_id": "dev", "a": 7}}
    assert [one["_id"] for one in main.c.find({"both.x": 1}).hint([("both.x", 1)])] == [1]
    assert sorted(one["a"] for one in main.c.find({"a": {"$gt": 0}}).hint([("a", 1)])) == [1, 7, 9]
    assert main.c.estimated_document_count() == 6
    newest = log_of(main)[0]
    assert newest["message"] == "dev is done" and len(newest["parents"]) == 2
    assert shop["main^2"].c.find_one({"_id": 1})["b"] == 0
    assert main.command("merge", "dev")["changed"] is False
    assert dev.command("merge", "main")["changed"] is True and by_id(dev.c) == by_id(main.c)
    main.c.update_one({"_id": 1}, {"$inc": {"b": 1}})
    main.c.delete_one({"_id": "dev"})


def test_conflicts_merge_nothing(shop):
    main = shop["main"]
    main.c.insert_many([{"_id": i, "n": 5, "tags": ["a"]} for i in range(4)])
    shop.create("dev")
    dev = shop["dev"]
    for database, by in [(main, 1), (dev, 2)]:
        database.c.update_one({"_id": 0}, {"$inc": {"n": by}})
        database.c.update_one({"_id": 1}, {"$push": {"tags": f"t{by}"}})
        database.c.insert_one({"_id": f"only{by}"})
    main.c.delete_one({"_id": 2})
    dev.c.update_one({"_id": 2}, {"$set": {"n": 0}})
    main.command("commit", 1), dev.command("commit", 1)
    before = by_id(main.c)
    conflicts = fails(96, lambda: main.command("merge", "dev")).details["conflicts"]
    assert {one["_id"]: one.get("paths") for one in conflicts} == {0: ["n"], 1: ["tags"], 2: None}
    assert main.command("merge", "dev", dryRun=True)["conflictCount"] == 3
    assert by_id(main.c) == before and len(log_of(main)) == 2 and main.command("status")["clean"]
    fails(BAD_VALUE, lambda: main.command("merge", "dev", resolve="mine"))
    fails(BAD_VALUE, lambda: main.command("merge", "dev", paths={"n": "add"}))
    fails(NAMESPACE_NOT_FOUND, lambda: main.command("merge", "nowhere"))
    main.command("merge", "dev", resolve="theirs", paths={"n": "sum", "tags": "union"})
    assert main.c.find_one({"_id": 0})["n"] == 8 and sorted(main.c.find_one({"_id": 1})["tags"]) == ["a", "t1", "t2"]
    assert main.c.find_one({"_id": 2})["n"] == 0 and main.c.count_documents({}) == 6


def test_a_merge_that_breaks_a_unique_index_is_a_conflict(key_for_two):
    main, dev = key_for_two["main"], key_for_two["dev"]
    conflict, = fails(96, lambda: main.command("merge", "dev")).details["conflicts"]
    assert conflict == {"collection": "c", "_id": "d", "index": "u_1", "key": {"u": 100}, "other": {"_id": "m"}}
    assert main.c.find_one({"_id": 1})["u"] == 1 and main.c.count_documents({}) == 5
    dev.c.update_one({"_id": "d"}, {"$set": {"u": 101}})
    dev.command("commit", 1)
    main.command("merge", "dev")
    assert [one["u"] for one in main.c.find().sort("u", 1)] == [0, 2, 3, 50, 100, 101]
    with pytest.raises(DuplicateKeyError):
        main.c.insert_one({"_id": "x", "u": 50})
    main.c.insert_one({"_id": "x", "u": 1})


@pytest.mark.parametrize("into, other", [("main", "dev"), ("dev", "main")])
def test_two_documents_that_came_with_a_merge_and_want_one_key_are_one_conflict(shop, into, other):
    shop["main"].c.create_index("u", unique=True)
    shop["main"].c.insert_one({"_id": 1, "u": 1, "n": 0})
    shop.create("dev")
    shop[into].c.update_one({"_id": 1}, {"$set": {"u": 50}})
    shop[other].c.update_one({"_id": 1}, {"$inc": {"n": 1}})
    shop[other].c.insert_one({"_id": "new", "u": 50})
    shop[into].command("commit", 1), shop[other].command("commit", 1)
    tried = shop[into].command("merge", other, dryRun=True)
    assert tried["conflictCount"] == 1, tried
    assert {tried["conflicts"][0]["_id"], tried["conflicts"][0]["other"]["_id"]} == {1, "new"}


def test_a_commit_of_much_comes_to_its_end_beside_writers_who_change_what_it_commits(shop):
    """Writers are quicker than it is: sooner or later they wait for it."""
    main = shop["main"]
    main.d.insert_one({})
    shop.create("dev")
    dev = shop["dev"]
    for first in range(0, 20_000, 1000):
        dev.c.insert_many([{"_id": i, "n": 0, "text": f"text {i} " * 20} for i in range(first, first + 1000)])
    over, written = threading.Event(), [0] * 4

    def write(number, database):
        while not over.is_set():
            key = random.randrange(20_000) if number % 2 else number
            database.c.update_one({"_id": key}, {"$inc": {"n": 1}})
            written[number] += 1

    with shop.writers(4, "dev", write):
        try:
            commits = [dev.command("commit", 1, maxTimeMS=300_000)["changed"] for _ in range(3)]
        finally:
            over.set()
    assert commits[0]  # others may have found nobody that was quick enough
    assert sum(one["n"] for one in dev.c.find()) == sum(written)
    dev.command("commit", 1)
    assert dev.command("verify", 1, deep=True)["valid"] and main.c.count_documents({}) == 0
