"""These tests choose hash trees of commits by a collection's option: posTree, patriciaTrie, bucketTree; and what is there before the first branch."""
import hashlib

import bson
import pytest
from pymongo.errors import OperationFailure

from tests.branches.conftest import by_id, fails, log_of
from tests.branches.dump_test import dump, restore
from tests.branches.proofs_test import ask, proof_of, verifiers  # noqa: F401, fixtures
from tests.branches.team import palimpsest
from tests.support.palimpsest import Server

BAD_VALUE = 2
TREES = [{"tree": "posTree"}, {"tree": "patriciaTrie"}, {"tree": "bucketTree", "buckets": 60}, {"tree": "bucketTree"}]


def roots(database):
    return database.command("dbHash", 1)["roots"]


def options(database, name="c"):
    return next(one["options"] for one in database.list_collections() if one["name"] == name)


@pytest.mark.parametrize("tree", TREES)
def test_commits_prove_verify_merge_and_differ_with_each_tree(shop, ask, tree):
    main = shop["main"]
    main.create_collection("c", commits=tree)
    main.plain.insert_many([{"_id": i} for i in range(30)])
    main.c.insert_many([{"_id": i, "a": 0, "b": 0} for i in range(300)])
    shop.create("dev")
    dev = shop["dev"]
    assert options(main) == options(dev) == {"commits": tree} and options(main, "plain") == {}
    main.c.update_many({"_id": {"$mod": [3, 0]}}, {"$set": {"a": 1}})
    dev.c.update_many({"_id": {"$mod": [2, 0]}}, {"$set": {"b": 1}})
    dev.c.delete_many({"_id": {"$gte": 290}})
    dev.c.insert_many([{"_id": f"d{i}"} for i in range(20)])
    ours, theirs = main.command("commit", 1)["commit"], dev.command("commit", 1)["commit"]
    merged = main.command("merge", "dev", mode="fieldDivergent", resolve="theirs")["commit"]
    for ref, commit in [("main", merged), ("main~1", ours), ("dev", theirs)]:
        shown = by_id(shop[ref].c)
        assert shop[ref].command("verify", 1, deep=True)["valid"] and commit == shop[ref].command("verify", 1)["commit"]
        for id in [0, 6, 7, 289, 295, "d3", "d30", -1]:
            said = proof_of(shop[ref], id)
            answer, content = ask(commit, said["proof"])
            assert answer["says"] == ("present" if id in shown else "absent") and said["present"] is (id in shown)
            assert (bson.decode(content) if content else None) == shown.get(id)
    # A flipped bit is found.
    proof = proof_of(main, 6)["proof"]
    for bit in range(0, len(proof) * 8, 1 + len(proof) // 3):
        damaged = bytearray(proof)
        damaged[bit // 8] ^= 1 << bit % 8
        answer = ask(merged, bytes(damaged))
        assert answer is None or answer[0]["_id"] != "6", bit
    # The same documents, written in another order elsewhere, have the same root.
    elsewhere = shop.client[f"{shop.name}x"]
    elsewhere.create_collection("c", commits=tree)
    elsewhere.c.insert_many([one for _, one in sorted(by_id(main.c).items(), key=lambda one: hashlib.md5(str(one[0]).encode()).digest())])
    elsewhere.command("commit", 1)
    assert roots(elsewhere)["c"] == roots(main)["c"]
    shop.client.drop_database(elsewhere.name)
    # Nodes that only dropped commits had are removed, and the others are still proven.
    main.command("retention", {"newest": 1})
    main.command("sweep", 1)
    assert main.command("verify", 1, deep=True)["valid"] and ask(merged, proof_of(main, 6)["proof"])


def test_another_tree_comes_with_the_next_commit_that_changes_the_collection(shop, ask):
    main = shop["main"]
    main.c.insert_many([{"_id": i, "n": i} for i in range(200)])
    main.other.insert_one({"_id": 1})
    shop.create("dev")
    main.command("commit", 1)
    before = roots(main)
    for tree in [*TREES[1:], {}]:
        main.command("collMod", "c", commits=tree)
        assert options(main)["commits"] == tree
        assert main.command("commit", 1)["changed"] is False and roots(main)["c"] == before["c"]
        # A commit of another collection leaves it as it is.
        main.other.update_one({"_id": 1}, {"$inc": {"n": 1}})
        main.command("commit", 1)
        assert roots(main)["c"] == before["c"]
        main.c.update_one({"_id": 5}, {"$inc": {"n": 1}})
        commit = main.command("commit", 1)["commit"]
        main.c.update_one({"_id": 5}, {"$inc": {"n": -1}})
        last = main.command("commit", 1)["commit"]
        assert roots(main)["c"] != before["c"] or tree == {}
        before = roots(main)
        for one in [commit, last]:
            assert shop[one].command("verify", 1, deep=True)["valid"]
            assert ask(one, proof_of(shop[one], 5)["proof"])[0]["says"] == "present"
    # A branch from before has a root with its own next commit; equal documents have equal roots again.
    shop["dev"].c.insert_one({"_id": "d"})
    shop["dev"].c.delete_one({"_id": "d"})
    shop["dev"].c.update_one({"_id": 7}, {"$set": {"n": 7}})
    shop["dev"].command("commit", 1)
    assert roots(shop["dev"])["c"] == roots(main)["c"]
    fails(BAD_VALUE, lambda: main.command("collMod", "c", commits={"tree": "mvmbTree"}))
    fails(BAD_VALUE, lambda: main.create_collection("m", commits={"tree": "mvmbTree"}))


@pytest.mark.parametrize("before", TREES[:3])
@pytest.mark.parametrize("after", TREES[:3])
def test_a_commit_that_makes_a_tree_anew_and_changes_nothing_travels(shop, before, after):
    main = shop["main"]
    main.create_collection("c", commits=before)
    main.other.insert_one({"_id": 1})
    main.c.insert_many([{"_id": i, "n": 1} for i in range(200)])
    main.command("commit", 1)
    main.c.update_one({"_id": 5}, {"$set": {"n": 3}})
    main.command("commit", 1)
    main.command("collMod", "c", commits=after)
    main.c.update_one({"_id": 5}, {"$set": {"n": 2}})
    main.c.update_one({"_id": 5}, {"$set": {"n": 3}})
    # The commit also has so many documents that they are written in parts.
    main.other.insert_many([{"_id": i} for i in range(2, 6_002)])
    main.command("commit", 1)
    with Server() as server:
        palimpsest("clone", f"mongodb://{shop.client.address[0]}:{shop.client.address[1]}/{main.name}", server.uri + main.name)
        there = server.client()[main.name]
        assert log_of(there) == log_of(main) and roots(there) == roots(main)
        assert there.command("verify", 1, deep=True)["valid"] is True
        there.c.insert_one({"_id": "there"})
        there.command("commit", 1)
        assert there.command("push", "origin")["change"] == "moved"
        assert roots(there) == roots(main)


def test_a_tree_that_a_merge_begins_with_is_made_before_it(shop):
    main, dev = shop["main"], shop["dev"]
    main.c.insert_many([{"_id": i, "n": i} for i in range(200)])
    shop.create("dev")
    dev.c.update_one({"_id": 5}, {"$set": {"n": "dev"}})
    dev.c.insert_one({"_id": "dev"})
    dev.command("commit", 1)
    log = {"op": "c", "ns": f"{shop.name}.$cmd", "$or": [{"o.makeTree": 1}, {"o.merge": {"$exists": True}}]}
    said = lambda: [next(iter(entry["o"])) for entry in shop.client.local["oplog.rs"].find(log)]
    before = said()
    # No tree is made where writes are pending, because no merge overwrites those.
    main.c.update_one({"_id": 5}, {"$set": {"n": "main"}})
    main.command("collMod", "c", commits={"tree": "bucketTree", "buckets": 60})
    with pytest.raises(OperationFailure):
        main.command("merge", "dev")
    assert said() == before
    main.c.update_one({"_id": 5}, {"$set": {"n": 5}})
    main.command("commit", 1)
    before = said()
    main.command("collMod", "c", commits={"tree": "patriciaTrie"})
    main.command("merge", "dev", into="new", branch="both")
    assert said() == [*before, "makeTree", "merge"] and shop["both"].c.find_one({"_id": 5})["n"] == "dev"
    main.command("merge", "dev")
    assert said() == [*before, "makeTree", "merge", "merge"] and roots(main) == roots(shop["both"])
    # The same holds for a merge that waits for a decision.
    for database, n in [(main, "ours"), (dev, "theirs")]:
        database.c.update_one({"_id": 9}, {"$set": {"n": n}})
        database.command("commit", 1)
    before = said()
    assert main.command("merge", "dev", resolve="manual")["merging"]
    main.command("collMod", "c", commits={"tree": "bucketTree", "buckets": 7})
    main.command("resolveConflict", 1, collection="c", _id=9, take="theirs")
    main.command("continueMerge", 1)
    assert said() == [*before, "makeTree", "merge"]
    assert main.c.find_one({"_id": 9})["n"] == "theirs" and main.command("verify", 1, deep=True)["valid"]


def test_an_id_that_is_too_long_for_a_trie_is_refused_with_the_commit_until_there_is_another_tree(shop):
    main = shop["main"]
    main.create_collection("c", commits={"tree": "patriciaTrie"})
    main.c.insert_one({"_id": "x" * 2000})
    shop.create("dev")
    error = fails(BAD_VALUE, lambda: main.command("commit", 1))
    assert "patriciaTrie" in str(error)
    main.command("collMod", "c", commits={"tree": "bucketTree"})
    assert main.command("commit", 1)["changed"] and proof_of(main, "x" * 2000)["present"]


def test_a_database_s_first_explicit_commit_proves_what_is_in_it(shop, ask):
    main = shop["main"]
    main.c.insert_many([{"_id": i} for i in range(100)])
    main.create_collection("trie", commits={"tree": "patriciaTrie"})
    main.trie.insert_many([{"_id": i} for i in range(100)])
    said = main.command("commit", 1, message="all there is", author="ann")
    assert said["changed"]
    for name in ["c", "trie"]:
        assert ask(said["commit"], proof_of(main, 42, name)["proof"])[0]["says"] == "present"
        assert ask(said["commit"], proof_of(main, 142, name)["proof"])[0]["says"] == "absent"
    log = list(main.cursor_command("log", 1))
    # The log shows the two that it made as one.
    assert [(one["message"], one["author"]) for one in log] == [("all there is", "ann")] and log[0]["commit"] == said["commit"]
    assert main.command("commit", 1)["changed"] is False


def test_after_a_first_branch_a_commit_says_what_was_there_though_nothing_was_written(shop, ask):
    main = shop["main"]
    main.c.insert_many([{"_id": i} for i in range(100)])
    shop.create("dev")
    assert roots(main) == {}
    said = shop["dev"].command("commit", 1)
    assert said["changed"] and ask(said["commit"], proof_of(shop["dev"], 42)["proof"])[0]["says"] == "present"
    main.command("commit", 1)
    assert roots(main) == roots(shop["dev"]) != {}
    assert list(main.cursor_command("diff", 1, **{"from": "main", "to": "dev"})) == []


def test_the_option_and_what_commits_prove_is_there_after_a_crash_and_in_a_dump(tmp_path, ask):
    with Server(dbpath=tmp_path / "db") as server:
        shop = server.client()["shop"]
        for tree in TREES:
            name = f"c{TREES.index(tree)}"
            shop.create_collection(name, commits=tree)
            shop[name].insert_many([{"_id": i} for i in range(50)])
        shop.command("commit", 1)
        shop.command("collMod", "c0", commits=TREES[1], writeConcern={"w": 1, "j": True})
        shop.c0.insert_one({"_id": "x"})
        commit = shop.command("commit", 1, writeConcern={"w": 1, "j": True})["commit"]
        server.kill()
        server.start()
        client = server.client()
        shop = client["shop"]
        assert options(shop, "c0") == {"commits": TREES[1]} and options(shop, "c2") == {"commits": TREES[2]}
        for name in ["c0", "c1", "c2", "c3"]:
            assert ask(commit, proof_of(shop, 7, name)["proof"])[0]["says"] == "present"
        assert shop.command("verify", 1, deep=True)["valid"]
        restore(client["again"], dump(shop))
        client["again"].command("commit", 1)
        assert roots(client["again"]) == roots(shop) and options(client["again"], "c3") == {"commits": TREES[3]}
