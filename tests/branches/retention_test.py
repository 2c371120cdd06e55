"""These tests remove from history: commits by the database's policy, and documents that are purged from all of it."""
import pytest

from tests.branches.conftest import by_id, check_collection, fails, log_of
from tests.support.palimpsest import Server
from tests.support.waiting import wait_until

BAD_VALUE, TYPE_MISMATCH, NAMESPACE_NOT_FOUND = 2, 14, 26


def ids_of(database):
    return [one["commit"] for one in log_of(database)]


@pytest.fixture
def history(shop):
    """Ten commits on main after the first two; each changes document 1, removes one and adds one. What they show, by their ids, oldest first."""
    main = shop["main"]
    main.c.create_index("a")
    main.c.create_index("u", unique=True)
    main.c.insert_many([{"_id": i, "a": i % 3, "u": i, "text": "text " * 20} for i in range(20)])
    first = main.command("commit", 1)["commit"]
    came_with = log_of(shop[f"{first}~1"])[0]["commit"]
    shown = {commit: by_id(main.c) for commit in (came_with, first)}
    for i in range(10):
        main.c.update_one({"_id": 1}, {"$set": {"a": 100 + i, "u": 100 + i}})
        main.c.delete_one({"_id": 10 + i})
        main.c.insert_one({"_id": f"new{i}", "a": 1, "u": f"new{i}"})
        shown[main.command("commit", 1)["commit"]] = by_id(main.c)
    return shop, shown


def check_shown(shop, shown):
    for commit, documents in shown.items():
        past = shop[commit].c
        assert by_id(past) == documents and past.estimated_document_count() == len(documents)
        assert {one["_id"]: one for one in past.find({"u": {"$exists": True}}).hint("u_1")} == documents


def test_old_commits_go_by_the_policy_and_the_rest_stays(history):
    shop, shown = history
    main, commits = shop["main"], list(shown)
    assert main.command("retention", 1) == {"ok": 1.0}
    assert main.command("sweep", 1)["commits"] == 0  # without a policy everything stays
    main.command("createTag", "v1", **{"from": commits[2]})
    shop.create("dev", **{"from": commits[4]})
    shop["dev"].c.insert_one({"_id": "dev", "u": "dev"})
    shop["dev"].command("commit", 1)
    before = main.command("collStats", "c")["count"], main.command("validate", "c")["nrecords"]
    for bad in [{"newest": 0}, {"youngerThanSeconds": -1}, {"oldest": 1}]:
        fails(40415 if "oldest" in bad else BAD_VALUE, lambda: main.command("retention", bad))
    for bad in ["newest", [3], True]:
        fails(TYPE_MISMATCH, lambda: main.command("retention", bad))
    assert main.command("retention", {"newest": 3})["newest"] == 3
    assert main.command("retention", 1)["newest"] == 3
    swept = main.command("sweep", 1)
    kept = {*commits[2:5], *commits[-3:]}  # the tagged one, and the newest three of dev and of main
    assert swept["commits"] == len(commits) - len(kept) and swept["versions"] > 0
    for commit in set(commits) - kept:
        assert "dropped" in str(fails(NAMESPACE_NOT_FOUND, lambda: shop[commit].c.find_one()))
        fails(NAMESPACE_NOT_FOUND, lambda: shop.create("x", **{"from": commit}))
        fails(NAMESPACE_NOT_FOUND, lambda: main.command("createTag", "x", **{"from": commit}))
    check_shown(shop, {commit: shown[commit] for commit in kept})
    assert ids_of(main) == [one for one in reversed(commits) if one in kept]
    after = main.command("collStats", "c")["count"], main.command("validate", "c")["nrecords"]
    assert after[0] == before[0] and after[1] == before[1] - swept["versions"]
    check_collection(main, "c")
    assert main.command("sweep", 1)["commits"] == 0
    # Freed space is free, and so are freed keys.
    main.c.insert_one({"_id": "again", "u": 105})
    main.c.insert_one({"_id": 10, "u": 10})
    assert main.command("commit", 1)["changed"] is True
    main.command("merge", "dev")
    assert main.c.find_one({"_id": "dev"})


def test_young_commits_stay(history):
    shop, shown = history
    main = shop["main"]
    main.command("retention", {"youngerThanSeconds": 3600})
    assert main.command("sweep", 1)["commits"] == 0
    check_shown(shop, shown)
    main.command("retention", {})
    assert main.command("retention", 1) == {"ok": 1.0}


def test_a_commit_that_waits_to_be_merged_stays(history):
    shop, shown = history
    main, commits = shop["main"], list(shown)
    shop.create("dev", **{"from": commits[5]})
    dev = shop["dev"]
    dev.c.update_one({"_id": 1}, {"$set": {"a": 7}})
    waits = dev.command("commit", 1)["commit"]
    main.command("merge", waits, resolve="manual")
    main.command("dropBranch", "dev")
    main.command("retention", {"newest": 1})
    main.command("sweep", 1)
    main.command("resolveConflict", 1, collection="c", id=1, document={"a": 8, "u": "merged"})
    main.command("continueMerge", 1)
    assert main.c.find_one({"_id": 1}) == {"_id": 1, "a": 8, "u": "merged"}
    assert main.command("sweep", 1)["commits"] > 0
    check_collection(main, "c")


def test_the_background_drops_them_too(tmp_path):
    with Server("--setParameter", "branchSweepSleepSecs=1", "--setParameter", "branchSweepCommits=2", dbpath=tmp_path) as server:
        shop = server.client()["shop"]
        for i in range(8):
            shop.c.update_one({"_id": 1}, {"$set": {"n": i}}, upsert=True)
            shop.command("commit", 1)
        shop.command("retention", {"newest": 2})
        wait_until(lambda: len(ids_of(shop)) <= 2, lambda: ids_of(shop))
        assert len(ids_of(shop)) == 2 and shop.c.find_one()["n"] == 7
        check_collection(shop, "c")
        server.stop()
        server.start()
        shop = server.client()["shop"]
        assert shop.command("retention", 1)["newest"] == 2 and server.client()[f"shop@{ids_of(shop)[1]}"].c.find_one()["n"] == 6
        check_collection(shop, "c")


def test_a_purged_document_is_nowhere(history):
    shop, shown = history
    main = shop["main"]
    shop.create("dev")
    shop["dev"].c.update_one({"_id": 1}, {"$set": {"u": "dev"}})
    shop["dev"].c.update_one({"_id": 2}, {"$set": {"u": "dev2"}})
    fails(NAMESPACE_NOT_FOUND, lambda: main.command("purge", "nothing", id=1))
    fails(40414, lambda: main.command("purge", "c"))
    ids = ids_of(main)
    assert main.command("purge", "c", id=1)["versions"] == 12
    assert main.command("purge", "c", id=15)["versions"] == 1
    assert main.command("purge", "c", id=1)["versions"] == 0
    assert ids_of(main) == ids
    check_shown(shop, {commit: {key: one for key, one in documents.items() if key not in (1, 15)} for commit, documents in shown.items()})
    for ref in ["main", "dev"]:
        assert shop[ref].c.find_one({"_id": 1}) is None and not list(shop[ref].c.find({"u": {"$in": ["dev", 109]}}))
        assert shop[ref].c.estimated_document_count() == shop[ref].c.count_documents({})
    check_collection(main, "c")
    assert list(shop.client.local["oplog.rs"].find({"ns": f"{shop.name}.c"}))  # its entries can be read still
    # The document may come again, as another one.
    main.c.insert_one({"_id": 1, "u": 1})
    assert main.command("commit", 1)["changed"] and shop["dev"].command("commit", 1)["changed"]
    main.command("merge", "dev", resolve="theirs")
    assert main.c.find_one({"_id": 2})["u"] == "dev2"
    check_collection(main, "c")


def test_both_branches_of_a_merge_can_have_what_was_purged_behind_them(shop):
    main = shop["main"]
    main.c.insert_many([{"_id": i, "n": 0} for i in range(5)])
    main.command("createBranch", "dev")
    dev = shop["dev"]
    main.c.update_many({}, {"$set": {"n": 1}})
    main.command("commit", 1)
    main.command({"purge": "c", "id": 2})
    dev.c.insert_one({"_id": "of dev"})
    dev.command("commit", 1)
    assert main.command("merge", "dev", into="both")["changed"]
    assert by_id(main.c) == by_id(dev.c) == {**{i: {"_id": i, "n": 1} for i in (0, 1, 3, 4)}, "of dev": {"_id": "of dev"}}
    for database in (main, dev):
        assert database.c.estimated_document_count() == 5


def test_a_commit_of_some_collections(shop):
    main = shop["main"]
    main.a.insert_one({"_id": 1})
    fails(NAMESPACE_NOT_FOUND, lambda: main.command("commit", 1, collections=["a"]))  # a first commit is of everything
    assert main.command("commit", 1)["changed"] is True
    for name in ["a", "b", "c"]:
        main[name].insert_one({"_id": 2})
    fails(BAD_VALUE, lambda: main.command("commit", 1, collections=[]))
    fails(NAMESPACE_NOT_FOUND, lambda: main.command("commit", 1, collections=["a", "d"]))
    fails(TYPE_MISMATCH, lambda: main.command("commit", 1, collections=[1]))
    done = main.command("commit", 1, collections=["a", "b"])
    assert done["changed"] is True and [one["name"] for one in main.command("status")["collections"]] == ["c"]
    past = shop[done["commit"]]
    assert (past.a.count_documents({}), past.b.count_documents({}), past.c.count_documents({})) == (2, 1, 0)
    assert main.command("commit", 1, collections=["a"])["changed"] is False
    assert main.command("commit", 1)["changed"] is True and main.command("status")["clean"] is True
    assert shop["main~0"].c.count_documents({}) == 1
