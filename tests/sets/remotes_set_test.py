"""A set exchanges commits with another server: each of its members comes to the same commits."""
from tests.branches.conftest import by_id, log_of
from tests.support.palimpsest import Server
from tests.support.replica_set import ReplicaSet


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
