"""A set exchanges commits with another server: each of its members comes to the same commits."""
import datetime

import bson

from tests.branches.conftest import by_id, log_of
from tests.support.palimpsest import Server
from tests.support.replica_set import ReplicaSet
from tests.support.waiting import wait_until


def commits(database):
    return [one["commit"] for one in log_of(database)]


def test_all_members_of_a_set_have_what_it_fetched_and_what_was_pushed_to_it():
    with Server() as alone, ReplicaSet() as replica_set, alone.client() as lone, replica_set.client() as client:
        lone.shop.pages.create_index("n")
        lone.shop.pages.insert_many([{"_id": i, "n": i, "text": "text " * 20} for i in range(200)])
        lone.shop.command("commit", 1)
        lone.shop.many.insert_many([{"_id": i, "text": f"{i} " * 10} for i in range(6_000)])
        lone.shop.command("commit", 1)
        lone.shop.command("createBranch", "dev")
        lone["shop@dev"].pages.update_many({"_id": {"$lt": 20}}, {"$set": {"dev": True}})
        lone["shop@dev"].command("commit", 1)
        lone.shop.pages.update_many({"_id": {"$gte": 10, "$lt": 30}}, {"$inc": {"n": 1}})
        lone.shop.command("commit", 1)
        lone.shop.command("merge", "dev")
        lone.shop.command("purge", "pages", id=3)
        lone.shop.pages.delete_one({"_id": 4})
        lone.shop.command("commit", 1)

        client.shop.command("addRemote", "origin", uri=alone.uri + "shop")
        assert client.shop.command("fetch", "origin")["made"] > 5
        client.shop.command("pull", "origin")
        client.shop.pages.insert_one({"_id": "of the set"})
        client.shop.command("commit", 1)
        assert client.shop.command("push", "origin")["change"] == "moved"
        lone.shop.pages.delete_one({"_id": "of the set"})
        lone.shop.command("commit", 1)
        lone.shop.command("addRemote", "set", uri=replica_set.uri.replace("/?", "/shop?"))
        assert lone.shop.command("push", "set")["change"] == "moved"

        replica_set.wait_same_place()
        for member in replica_set.members:
            assert commits(member.direct.shop) == commits(lone.shop), member.name
            assert by_id(member.direct.shop.pages) == by_id(lone.shop.pages)
            assert commits(member.direct["shop@origin%2Fdev"]) == commits(lone["shop@dev"])
        replica_set.check_same()


def test_all_members_of_a_set_merge_what_was_purged_before_it_came():
    with Server() as alone, ReplicaSet() as replica_set, alone.client() as lone, replica_set.client() as client:
        lone.shop.pages.insert_many([{"_id": i, "n": i} for i in range(20)])
        lone.shop.command("commit", 1)
        lone.shop.pages.update_one({"_id": 3}, {"$set": {"n": 30}})
        lone.shop.command("commit", 1)
        lone.shop.command("purge", "pages", id=3)
        named = commits(lone.shop)[0]
        lone.shop.pages.update_one({"_id": 4}, {"$set": {"n": 40}})
        lone.shop.command("commit", 1)

        client.shop.command("addRemote", "origin", uri=alone.uri + "shop")
        client.shop.command("fetch", "origin")
        client.shop.command("createBranch", "mine", **{"from": named})
        client["shop@mine"].pages.update_one({"_id": 5}, {"$set": {"n": 50}})
        client["shop@mine"].command("commit", 1)
        client["shop@mine"].command("merge", "origin/main")
        client.shop.command("createBranch", "other", **{"from": named})
        client["shop@other"].authors.insert_one({"_id": 1})
        client["shop@other"].command("commit", 1)
        client["shop@other"].command("merge", "origin/main")
        replica_set.wait_same_place()
        for member in replica_set.members:
            for branch in ("mine", "other"):
                database = member.direct[f"shop@{branch}"]
                assert commits(database) == commits(client[f"shop@{branch}"]), member.name
                assert database.pages.find_one({"_id": 3}) is None and database.pages.find_one({"_id": 4})["n"] == 40
                assert database.command("verify", 1, deep=True)["valid"] is True
        replica_set.check_same()


def test_all_members_of_a_set_have_a_shallow_history_and_then_the_rest_of_it():
    with Server() as alone, ReplicaSet() as replica_set, alone.client() as lone, replica_set.client() as client:
        lone.shop.pages.insert_many([{"_id": i, "n": i, "text": "text " * 20} for i in range(200)])
        lone.shop.command("commit", 1)
        lone.shop.many.insert_many([{"_id": i, "text": f"{i} " * 10} for i in range(6_000)])
        lone.shop.command("commit", 1)
        lone.shop.command("createBranch", "dev")
        for i in range(4):
            lone["shop@dev"].pages.update_one({"_id": i}, {"$set": {"dev": True}})
            lone["shop@dev"].command("commit", 1)
            lone.shop.pages.update_many({"_id": {"$gte": 10 + i, "$lt": 30}}, {"$inc": {"n": 1}})
            lone.shop.command("commit", 1)
        lone.shop.command("merge", "dev")

        client.shop.command("addRemote", "origin", uri=alone.uri + "shop")
        client.shop.command("fetch", "origin", depth=2)
        client.shop.pages.insert_one({"_id": "of the set"})
        client.shop.command("commit", 1)
        assert client.shop.command("push", "origin")["change"] == "moved"
        replica_set.wait_same_place()
        for member in replica_set.members:
            shown = commits(member.direct.shop)
            assert 0 < len(shown) < len(commits(lone.shop)) and shown[0] == commits(lone.shop)[0]
            assert by_id(member.direct.shop.pages) == by_id(lone.shop.pages)
            assert member.direct.shop.command("versionStats")["shallow"] > 0

        client.shop.command("fetch", "origin", unshallow=True)
        replica_set.wait_same_place()
        for member in replica_set.members:
            assert commits(member.direct.shop) == commits(lone.shop), member.name
            for commit in commits(lone.shop):
                assert by_id(member.direct[f"shop@{commit}"].pages) == by_id(lone[f"shop@{commit}"].pages)
            assert commits(member.direct["shop@origin%2Fdev"]) == commits(lone["shop@dev"])
            assert "shallow" not in member.direct.shop.command("versionStats")
        replica_set.check_same()


def test_nothing_expires_where_another_member_leads_between_two_packs_of_a_push():
    with Server("--setParameter", "ttlMonitorEnabled=false") as alone, ReplicaSet(3, "--setParameter", "ttlMonitorSleepSecs=1") as replica_set, \
            alone.client() as lone, replica_set.client() as client:
        lone.shop.sessions.create_index("at", expireAfterSeconds=3600)
        lone.shop.sessions.insert_many([{"_id": i, "at": datetime.datetime(2020, 1, 1)} for i in range(100)])
        lone.shop.command("commit", 1)
        lone.shop.command("createTag", "v1")
        lone.shop.sessions.insert_one({"_id": "new"})
        lone.shop.command("commit", 1)
        first, head = (bytes.fromhex(commits(lone[state])[0]) for state in ("shop@v1", "shop"))

        def receive(upload, ref, have, **more):
            pieces = lone.shop.cursor_command("packCommits", 1, refs=[ref], have=have)
            pack = b"".join(one["pack"] for one in pieces if "pack" in one)
            return client.shop.command("receivePack", bson.Binary(bytes([upload] * 16), 4), pack=pack, last=True, **more)

        receive(1, "v1", [])
        replica_set.wait_same_place()
        before = replica_set.primary()
        before.command("replSetStepDown", 60, secondaryCatchUpPeriodSecs=30)
        leads = replica_set.wait_settled()
        assert leads is not before
        passes = lambda: leads.command("serverStatus")["metrics"]["ttl"]["passes"]
        seen = passes()
        wait_until(lambda: passes() > seen + 1)
        assert client.shop.sessions.count_documents({}) == 100
        assert receive(2, "main", [first], refs=[{"branch": "main", "commit": head}])["refs"][0]["change"] == "moved"
        wait_until(lambda: [one["_id"] for one in client.shop.sessions.find()] == ["new"])
        replica_set.wait_same_place()
        replica_set.check_same()
