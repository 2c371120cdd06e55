"""A repair rebuilds what a database with branches has beside its documents and can be made of other tables or of the log:
entries of `_id`, which lead to versions, what commits and branches show, and hash trees."""
import random

import pytest
from pymongo.errors import OperationFailure

from tests.support.damage import damage_rows, largest_file, named
from tests.support.palimpsest import Server

CORRUPT = 301
DOCUMENTS = 3000


def fill(client):
    """Returns what each state shows, and the commits."""
    rng = random.Random(5)
    docs = client["shop"]["docs"]
    docs.insert_many({"_id": key, "text": rng.randbytes(20).hex()} for key in range(DOCUMENTS))
    client["shop"].command("createBranch", "dev")
    dev, commits = client["shop@dev"]["docs"], []
    for first in range(0, DOCUMENTS, 1000):
        dev.update_many({"_id": {"$gte": first, "$lt": first + 400}}, {"$set": {"dev": first}})
        dev.insert_many({"_id": DOCUMENTS + first + i, "text": rng.randbytes(20).hex()} for i in range(300))
        dev.delete_many({"_id": {"$gte": first + 500, "$lt": first + 520}})
        commits.append(client["shop@dev"].command("commit", 1, message=str(first))["commit"])
    docs.update_many({"_id": {"$lt": 100}}, {"$set": {"main": True}})
    commits.append(client["shop"].command("commit", 1, message="main")["commit"])
    # The rest isn't committed.
    dev.insert_many({"_id": 10_000 + i} for i in range(200))
    dev.update_many({"_id": {"$gte": 100, "$lt": 300}}, {"$set": {"pending": True}})
    dev.delete_many({"_id": {"$gte": 200, "$lt": 250}})
    docs.update_many({"_id": {"$lt": 50}}, {"$inc": {"pending": 1}})
    docs.update_many({"_id": {"$lt": 20}}, {"$inc": {"pending": 1}})
    docs.delete_many({"_id": {"$gte": 1500, "$lt": 1600}})
    states = ["shop", "shop@dev", *(f"shop@{commit[:16]}" for commit in commits)]
    return {state: {one["_id"]: one for one in client[state]["docs"].find()} for state in states}, commits


def check(client, before, commits):
    for state, documents in before.items():
        docs = client[state]["docs"]
        found = list(docs.find())
        assert {one["_id"]: one for one in found} == documents and len(found) == len(documents)
        assert docs.estimated_document_count() == len(documents)
        for key in [*range(0, DOCUMENTS, 97), *range(DOCUMENTS, DOCUMENTS + 2300, 89), 10_000, 10_199]:
            assert docs.find_one({"_id": key}) == documents.get(key)
    for commit in commits:
        assert client[f"shop@{commit[:16]}"].command("verify", 1, deep=True)["valid"]


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("kinds", [("nodes",), ("keys",), ("nodes", "keys"), ("states",), ("states", "keys"), ("pending",),
                                   ("pending", "keys"), ("pending", "states"), ("nodes", "keys", "pending")])
def test_entries_and_trees_are_made_again(kinds, missing):
    with Server("--syncdelay", "1") as server:
        with server.client() as client:
            before, commits = fill(client)
        server.stop()
        for kind in kinds:
            files = list(server.dbpath.glob(f"versions-*-{kind}.wt"))
            assert len(files) == 1
            if missing:
                files[0].unlink()
            else:
                assert damage_rows(files[0]) > 0
        server.start()
        with server.client() as client:
            if kinds != ("pending",):
                assert not client["shop@dev"].command("verify", 1, deep=True)["valid"]
            if kinds != ("nodes",):
                with pytest.raises(OperationFailure) as damaged:
                    client["shop@dev"]["docs"].find_one({"_id": 0})
                assert damaged.value.code == CORRUPT
            for state in ("shop", "shop@dev"):
                reply = client[state].command("validate", "docs", full=True)
                told = " ".join(reply["errors"])
                assert not reply["valid"] and all(f"-{kind}" in told for kind in kinds), reply
            reply = client["shop@dev"].command("validate", "docs", full=True, repair=True)
            assert reply["valid"] and reply["repaired"], reply
            assert [line for line in reply["warnings"] if line.startswith("Lost:")] == []
            check(client, before, commits)
            assert [line for line in reply["warnings"] if "may show" in line or line.startswith("Removed")] == []
            # The branches go on.
            client["shop@dev"].command("commit", 1, message="what was pending")
            assert {one["_id"]: one for one in client["shop@dev"]["docs"].find()} == before["shop@dev"]
            client["shop@dev"]["docs"].insert_many({"_id": 20_000 + i} for i in range(50))
            client["shop@dev"].command("commit", 1, message="after")
            assert client["shop@dev"].command("verify", 1, deep=True)["valid"]
            assert client["shop"].command("validate", "docs", full=True)["valid"]


def test_a_tree_that_names_a_document_which_nobody_has_stays_damaged():
    with Server("--syncdelay", "1") as server:
        with server.client() as client:
            _, commits = fill(client)
            # The second commit of dev is the first that has it.
            client["shop"].command("purge", "docs", _id=DOCUMENTS + 1000)
            for commit, purged in zip(commits, [0, 1, 1, 0]):
                collection, = client[f"shop@{commit[:16]}"].command("verify", 1, deep=True)["collections"]
                assert collection["purged"] == purged
        server.stop()
        nodes, = server.dbpath.glob("versions-*-nodes.wt")
        nodes.unlink()
        server.start()
        with server.client() as client:
            reply = client["shop"].command("validate", "docs", repair=True)
            assert reply["valid"], reply
            damaged = [line for line in reply["warnings"] if line.startswith("The hash tree of commit ")]
            assert [[commit in line for line in damaged] for commit in commits] == [
                [False, False], [True, False], [False, True], [False, False]]
            for commit, is_whole in zip(commits, [True, False, False, True]):
                assert client[f"shop@{commit[:16]}"].command("verify", 1, deep=True)["valid"] == is_whole
            # The branch goes on with a tree of what is left, also behind a commit that changes nothing of the collection.
            client["shop@dev"]["others"].insert_one({"_id": 1})
            client["shop@dev"].command("commit", 1, message="others")
            assert client["shop@dev"].command("verify", 1, deep=True)["valid"]
            docs = client["shop@dev"]["docs"]
            documents = list(docs.find())
            docs.insert_one({"_id": "after"})
            client["shop@dev"].command("commit", 1, message="after")
            reply = client["shop@dev"].command("verify", 1, deep=True)
            assert reply["valid"] and reply["collections"][0]["purged"] == 0
            assert list(docs.find()) == [*documents, {"_id": "after"}]
            again = client["shop"].command("validate", "docs", repair=True)
            assert [line for line in again["warnings"] if line.startswith("The hash tree of commit ")] == damaged
            assert client["shop@dev"].command("verify", 1, deep=True)["valid"]


def test_a_branch_whose_commit_is_lost_goes_on_from_another_one():
    with Server("--syncdelay", "1") as server:
        with server.client() as client:
            before, commits = fill(client)
            first = list(client["shop"].cursor_command("log", 1))[-1]["commit"]
        server.stop()
        # Without trees nothing says what the commits behind the first one show.
        for kind in ("states", "nodes"):
            next(server.dbpath.glob(f"versions-*-{kind}.wt")).unlink()
        server.start()
        with server.client() as client:
            reply = client["shop"].command("validate", "docs", repair=True)
            lost = [line for line in reply["warnings"] if line.startswith("Lost: the state of commit ")]
            assert {line.split()[5].rstrip(";") for line in lost} == set(commits)
            for state in before:
                with pytest.raises(OperationFailure) as damaged:
                    list(client[state]["docs"].find())
                assert damaged.value.code == CORRUPT
            for branch in ("main", "dev"):
                client["shop"].command("resetBranch", branch, to=first, force=True)
            for name in ("shop", "shop@dev", f"shop@{first[:16]}"):
                docs = client[name]["docs"]
                assert {one["_id"] for one in docs.find()} == set(range(DOCUMENTS))
                assert docs.estimated_document_count() == DOCUMENTS
            for name in ("shop", "shop@dev"):
                client[name]["docs"].insert_one({"_id": "after"})
                client[name].command("commit", 1, message="after")
                assert client[name].command("verify", 1, deep=True)["valid"]


def test_a_branch_whose_log_is_lost_keeps_what_was_written_on_it():
    with Server("--syncdelay", "1") as server:
        with server.client() as client:
            before, _ = fill(client)
        server.stop()
        next(server.dbpath.glob("versions-*-pending.wt")).unlink()
        assert damage_rows(next(server.dbpath.glob("oplog*.wt"))) > 0
        server.start()
        with server.client() as client:
            reply = client["shop"].command("validate", "docs", full=True, repair=True)
            assert reply["valid"], reply
            for branch, removed in ("shop", range(1500, 1600)), ("shop@dev", range(200, 250)):
                found = {one["_id"]: one for one in client[branch]["docs"].find()}
                assert {key: found.pop(key)["_id"] for key in removed} == {key: key for key in removed}
                assert found == before[branch]
                assert client[branch]["docs"].estimated_document_count() == len(found) + len(removed)
            told = [line for line in reply["warnings"] if "may show documents again that were removed" in line]
            assert ["branch main" in line for line in told] == [False, True]
            for branch in ("shop", "shop@dev"):
                client[branch].command("commit", 1, message="after")
                assert client[branch].command("verify", 1, deep=True)["valid"]
            assert client["shop"].command("validate", "docs", full=True)["valid"]


@pytest.mark.parametrize("kinds", [("pending",), ("pending", "keys")])
def test_what_was_purged_is_known_again(kinds):
    with Server("--syncdelay", "1") as server:
        with server.client() as client:
            states, commits = fill(client)
            for key in (5, 700, DOCUMENTS + 1000, 10_003):  # the last one is in no commit
                client["shop"].command("purge", "docs", _id=key)

            def shown():
                checked = [client[f"shop@{commit[:16]}"].command("verify", 1, deep=True) for commit in commits]
                assert [one["valid"] for one in checked] == [True] * len(commits), checked
                docs = {state: client[state]["docs"] for state in states}
                return ([one["collections"][0]["purged"] for one in checked],
                        {state: ({one["_id"]: one for one in of.find()}, of.estimated_document_count()) for state, of in docs.items()})

            before = shown()
            assert before[0] == [2, 3, 3, 2]
        server.stop()
        for kind in kinds:
            next(server.dbpath.glob(f"versions-*-{kind}.wt")).unlink()
        server.start()
        with server.client() as client:
            reply = client["shop"].command("validate", "docs", full=True, repair=True)
            assert reply["valid"], reply
            lost = {line.split(" (record")[0] for line in reply["warnings"] if line.startswith("Lost")}
            # A lost document would look alike where its entry is lost, too. What the first commit alone has is in no tree.
            unsure = [5, 700, DOCUMENTS + 1000] if "keys" in kinds else []
            first = {line for line in lost if line.startswith("Lost: record ")}
            assert len(first) == (1 if unsure else 0)
            assert lost - first == {f"Lost, unless it was purged: document {{ _id: {key} }}" for key in unsure}
            assert shown() == before
            client["shop@dev"].command("commit", 1, message="after")
            reply = client["shop@dev"].command("verify", 1, deep=True)
            assert reply["valid"] and reply["collections"][0]["purged"] == 0
            assert client["shop"].command("validate", "docs", full=True)["valid"]


def test_a_lost_document_is_not_taken_for_one_that_was_purged():
    with Server("--syncdelay", "1") as server:
        with server.client() as client:
            states, commits = fill(client)
            purged = {5, 700, DOCUMENTS + 1000}
            for key in purged:
                client["shop"].command("purge", "docs", _id=key)
        server.stop()
        next(server.dbpath.glob("versions-*-pending.wt")).unlink()
        assert damage_rows(largest_file(server), keep=lambda at, pages: pages.index(at) % 5 == 0) > 0
        server.start()
        with server.client() as client:
            reply = client["shop"].command("validate", "docs", full=True, repair=True)
            assert reply["valid"], reply
            lost = named(reply["warnings"], "Lost: document")
            assert lost and not lost & purged
            assert [line for line in reply["warnings"] if line.startswith("Lost: record ")] == []
            for state, documents in states.items():
                found = {one["_id"]: one for one in client[state]["docs"].find()}
                assert found.items() <= documents.items()
                assert documents.keys() - found.keys() <= lost | purged, state
            for commit in commits:
                assert client[f"shop@{commit[:16]}"].command("verify", 1, deep=True)["valid"]
