"""These tests make unique indexes when the database has branches already."""
import threading

import pymongo
import pytest
from pymongo.errors import DuplicateKeyError, OperationFailure

from tests.branches.conftest import by_id, check_collection, fails
from tests.support.palimpsest import Server

DUPLICATE_KEY, OPERATION_FAILED = 11000, 96


def commit(database):
    return database.command("commit", 1)["commit"]


@pytest.fixture
def twice_once(shop):
    """Commits a state of main that shows two documents with `u: 7`, then one that doesn't. Returns the id of the first commit."""
    main = shop["main"]
    main.c.insert_many([{"_id": 1, "u": 7}, {"_id": 2, "u": 7}, {"_id": 3, "u": 8}])
    shop.create("dev")
    main.c.insert_one({"_id": 4, "u": 9})
    twice = commit(main)
    for branch in ["main", "dev"]:
        shop[branch].c.update_one({"_id": 2}, {"$set": {"u": 70}})
        commit(shop[branch])
    return twice


def test_one_that_is_made_on_a_branch_holds_on_all(shop):
    main, dev = shop["main"], shop["dev"]
    main.c.insert_many([{"_id": i, "u": i} for i in range(5)])
    shop.create("dev")
    dev.c.update_one({"_id": 3}, {"$set": {"u": 33}})
    dev.c.create_index("u", unique=True)
    with pytest.raises(DuplicateKeyError):
        main.c.insert_one({"_id": 10, "u": 3})
    dev.c.insert_one({"_id": 10, "u": 3})
    with pytest.raises(DuplicateKeyError):
        dev.c.update_one({"_id": 1}, {"$set": {"u": 33}})
    main.c.update_one({"_id": 1}, {"$set": {"u": 33}})
    assert [one["_id"] for one in dev.c.find({"u": {"$gte": 0}}).hint("u_1")] == [0, 1, 2, 10, 4, 3]
    check_collection(main, "c")
    dev.c.drop_index("u_1")
    main.c.insert_one({"_id": 10, "u": 3})
    with pytest.raises(DuplicateKeyError) as refused:
        dev.c.create_index("u", unique=True)
    assert f"collection: {shop.name}.c " in refused.value.details["errmsg"]


def test_two_documents_of_one_branch_with_one_key_refuse_it_by_the_name_of_the_branch(shop):
    main, dev = shop["main"], shop["feature%2Fone"]
    main.c.insert_many([{"_id": i, "a": i, "b": -i} for i in range(20)])
    shop.create("feature/one")
    dev.c.insert_one({"_id": 20, "a": 5, "b": -5})
    for database in [main, dev]:
        with pytest.raises(DuplicateKeyError) as refused:
            database.c.create_index([("a", 1), ("b", -1)], unique=True)
        assert refused.value.details["keyPattern"] == {"a": 1, "b": -1} and refused.value.details["keyValue"] == {"a": 5, "b": -5}
        assert refused.value.details["errmsg"].endswith(
            f"E11000 duplicate key error collection: {dev.name}.c index: a_1_b_-1 dup key: {{ a: 5, b: -5 }}")
        assert set(database.c.index_information()) == {"_id_"}
    # The branch that was asked is named before others.
    main.c.update_one({"_id": 7}, {"$set": {"a": 5, "b": -5}})
    with pytest.raises(DuplicateKeyError) as refused:
        main.c.create_index([("a", 1), ("b", -1)], unique=True)
    assert f"collection: {main.name}.c " in refused.value.details["errmsg"]
    main.c.delete_one({"_id": 7}), dev.c.delete_one({"_id": 5})
    dev.c.create_index([("a", 1), ("b", -1)], unique=True)


def test_old_commits_show_what_they_had_by_an_index_that_is_younger(shop, twice_once):
    main = shop["main"]
    main.c.create_index("u", unique=True)
    past = shop[twice_once[:16]].c
    for found in [past.find({"u": 7}).hint("u_1"), past.find({"u": 7})]:
        assert sorted(one["_id"] for one in found) == [1, 2]
    assert [one["u"] for one in past.find().sort("u", 1)] == [7, 7, 8, 9]
    assert [one["_id"] for one in main.c.find({"u": 7})] == [1]
    check_collection(main, "c")


def test_a_branch_does_not_begin_or_go_on_where_two_documents_have_one_key(shop, twice_once):
    main = shop["main"]
    main.c.create_index("u", unique=True)
    main.command("createTag", "twice", **{"from": twice_once})

    def refused(work):
        failure = fails(DUPLICATE_KEY, work)
        assert failure.details["keyPattern"] == {"u": 1} and failure.details["keyValue"] == {"u": 7}
        assert f"collection: {shop.name}@{twice_once[:16]}.c index: u_1 dup key: {{ u: 7 }}" in failure.details["errmsg"]

    main.c.insert_one({"_id": "pending", "u": "pending"})
    refused(lambda: shop.create("old", **{"from": twice_once[:16]}))
    refused(lambda: shop.create("old", **{"from": "twice"}))
    refused(lambda: main.command("resetBranch", "main", to="twice", force=True))
    refused(lambda: main.command("resetBranch", "dev", to="main~1"))
    assert shop.names() == ["dev", "main"] and main.c.find_one({"_id": "pending"})
    shop.create("new")
    main.command("resetBranch", "dev", to="main")
    main.c.drop_index("u_1")
    shop.create("old", **{"from": "twice"})
    with pytest.raises(DuplicateKeyError) as failure:
        main.c.create_index("u", unique=True)
    assert f"{shop.name}@old.c " in failure.value.details["errmsg"]


def test_what_is_pending_counts_and_a_branch_of_what_is_committed_may_have_to_wait_for_a_commit(shop):
    main, dev = shop["main"], shop["dev"]
    main.c.insert_many([{"_id": 1, "u": 7}, {"_id": 2, "u": 7}])
    shop.create("dev")
    main.c.delete_one({"_id": 2})
    dev.c.delete_one({"_id": 1})
    main.c.create_index("u", unique=True)
    fails(DUPLICATE_KEY, lambda: shop.create("more"))
    fails(DUPLICATE_KEY, lambda: main.command("resetBranch", "main", to="main", force=True))
    commit(main)
    shop.create("more")
    main.command("dropBranch", "dev", force=True)
    assert by_id(shop["more"].c) == by_id(main.c) == {1: {"_id": 1, "u": 7}}


def test_what_merges_apply_from_before_the_index_is_a_conflict(shop, twice_once):
    main, dev = shop["main"], shop["dev"]
    main.c.create_index("u", unique=True)

    def refused(database, command, commit):
        failure = fails(OPERATION_FAILED, lambda: database.command(command, commit))
        conflict, = failure.details["conflicts"]
        assert conflict["index"] == "u_1" and conflict["key"] == {"u": 7} and {conflict["_id"], conflict["other"]["_id"]} == {1, 2}

    refused(main, "revert", "main")
    refused(dev, "revert", "dev")
    dev.c.update_one({"_id": 2}, {"$set": {"u": 71}})
    dev.c.insert_one({"_id": "pick", "u": 9})
    picked = commit(dev)
    failure = fails(OPERATION_FAILED, lambda: main.command("cherryPick", picked, resolve="theirs"))
    assert [one["key"] for one in failure.details["conflicts"]] == [{"u": 9}]
    assert main.command("merge", "dev", dryRun=True, resolve="theirs")["conflictCount"] == 1
    failure = fails(OPERATION_FAILED, lambda: main.command("merge", "dev", resolve="theirs", into="new", branch="both"))
    assert failure.details["conflictCount"] == 1 and shop.names() == ["dev", "main"]
    # A commit that shows two may be merged if the merge applies none of them.
    dev.c.delete_one({"_id": "pick"})
    commit(dev)
    dev.command("merge", twice_once)
    assert {key: one["u"] for key, one in by_id(dev.c).items()} == {1: 7, 2: 71, 3: 8, 4: 9}


def test_sparse_partial_and_multikey_ones(shop):
    main, dev = shop["main"], shop["dev"]
    main.c.insert_many([{"_id": i} for i in range(3)] + [{"_id": "a", "s": 1, "p": 1, "m": [1, 2]}, {"_id": "b", "s": 2, "p": 1, "n": 1, "m": [3, 3]}])
    shop.create("dev")
    dev.c.update_one({"_id": 0}, {"$set": {"s": 5, "m": [7, 8]}})
    with pytest.raises(DuplicateKeyError) as refused:
        main.c.create_index("s", unique=True)
    assert refused.value.details["keyValue"] == {"s": None}
    dev.c.create_index("s", unique=True, sparse=True)
    dev.c.create_index("p", unique=True, partialFilterExpression={"n": {"$exists": True}})
    main.c.create_index("m", unique=True, sparse=True)
    with pytest.raises(DuplicateKeyError):
        main.c.insert_one({"_id": "c", "s": 2})
    with pytest.raises(DuplicateKeyError):
        dev.c.insert_one({"_id": "c", "p": 1, "n": 2})
    dev.c.insert_one({"_id": "c", "p": 1})
    with pytest.raises(DuplicateKeyError):
        dev.c.update_one({"_id": "c"}, {"$set": {"m": [9, 8]}})
    with pytest.raises(DuplicateKeyError):
        dev.c.insert_one({"_id": "d", "m": 1})
    main.c.insert_one({"_id": "d", "m": [7, 9]})
    assert [one["_id"] for one in main.c.find({"m": 7})] == ["d"] and [one["_id"] for one in dev.c.find({"m": 7})] == [0]
    dev.c.drop_index("m_1")
    dev.c.insert_one({"_id": "e", "m": [8, 3]})
    with pytest.raises(DuplicateKeyError) as refused:
        main.c.create_index("m", unique=True, sparse=True)
    assert refused.value.details["keyValue"]["m"] in (3, 8)


def test_writers_go_on_while_one_is_made_and_meet_it_or_prevent_it(shop):
    main = shop["main"]
    main.c.insert_many([{"_id": i, "u": i} for i in range(3000)])
    shop.create("dev")
    over = threading.Event()

    def write(number, database):
        at = 0
        while not over.is_set():
            at += 1
            try:
                database.c.insert_one({"_id": f"{number} {at}", "u": 10_000 + at})
            except DuplicateKeyError:
                database.c.delete_one({"u": 10_000 + at})
            if number == 3 and at % 10 == 0:
                database.command("commit", 1)

    with shop.writers(4, "dev", write):
        try:
            for _ in range(5):
                try:
                    main.c.create_index("u", unique=True)
                except DuplicateKeyError as refused:
                    assert f"{shop.name}@dev.c " in refused.details["errmsg"]
                    # From now on it can be made, unless another writer is quicker.
                    seen = set()
                    for one in list(shop["dev"].c.find({"u": {"$gte": 10_000}})):
                        if one["u"] in seen:
                            shop["dev"].c.delete_one({"_id": one["_id"]})
                        seen.add(one["u"])
                    continue
                found = [one["u"] for one in shop["dev"].c.find()]
                assert len(found) == len(set(found))
                main.c.drop_index("u_1")
        finally:
            over.set()


def test_what_is_known_of_old_commits_outlives_a_kill(tmp_path):
    with Server(dbpath=str(tmp_path)) as server:
        client = server.client()
        client.t.c.insert_many([{"_id": 1, "u": 7}, {"_id": 2, "u": 7}])
        client.t.command("createBranch", "dev")
        for name in ["t", "t@dev"]:
            client[name].c.update_one({"_id": 2}, {"$set": {"u": 8}})
            client[name].command("commit", 1)
        client["t@dev"].c.create_index("u", unique=True)
        server.kill()
        server.start()
        client = server.client()
        fails(DUPLICATE_KEY, lambda: client.t.command("createBranch", "old", **{"from": "main~1"}))
        client.t.command("createBranch", "new")
        with pytest.raises(DuplicateKeyError):
            client["t@new"].c.insert_one({"_id": 3, "u": 7})
        check_collection(client.t, "c")


def test_a_collection_is_replaced_where_only_what_is_pending_keeps_to_a_unique_index(shop):
    main = shop["main"]
    main.c.insert_many([{"_id": 1, "u": 1}, {"_id": 2, "u": 1}])
    main.d.insert_one({"_id": 1})
    shop.create("dev")
    for ref in ["main", "dev"]:
        shop[ref].c.delete_one({"_id": 2})
    main.c.create_index("u", unique=True)
    fails(DUPLICATE_KEY, lambda: shop.create("third", **{"from": "dev"}))
    for ref in ["main", "dev"]:
        list(shop[ref].c.aggregate([{"$set": {"a": 1}}, {"$out": "d"}]))
        assert list(shop[ref].d.find()) == [{"_id": 1, "u": 1, "a": 1}]
        list(shop[ref].c.aggregate([{"$set": {"a": 2}}, {"$out": "c"}]))
        assert list(shop[ref].c.find()) == [{"_id": 1, "u": 1, "a": 2}]
        shop[ref].d.rename("e")
        assert sorted(shop[ref].list_collection_names()) == ["c", "e"]
        shop[ref].command("commit", 1)
        assert shop[ref].command("verify", 1, deep=True)["valid"]
    shop.create("third", **{"from": "dev"})
