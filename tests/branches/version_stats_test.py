"""These tests check versionStats: figures of branches, commits and versions."""
from tests.branches.conftest import fails

TYPE_MISMATCH, NAMESPACE_NOT_FOUND, UNKNOWN_FIELD = 14, 26, 40415


def test_what_there_is_is_counted(shop):
    main = shop["main"]
    main.c.insert_many([{"_id": i, "s": "x" * 100} for i in range(20)])
    main.d.insert_one({"_id": 1})
    fails(NAMESPACE_NOT_FOUND, lambda: main.command("versionStats", 1))
    shop.create("dev")
    shop["dev"].c.update_many({"_id": {"$lt": 5}}, {"$set": {"a": 1}})
    shop["dev"].command("commit", 1)
    shop["dev"].c.update_one({"_id": 7}, {"$set": {"a": 1}})
    shop["dev"].c.insert_one({"_id": 77})
    shop["dev"].c.delete_one({"_id": 8})
    main.d.delete_one({"_id": 1})
    main.command("createTag", "v1")
    shop.create("same")
    found = main.command("versionStats", 1, perBranch=True)
    assert found["db"] == shop.name and found["layout"] == "hybrid"
    assert (found["branches"], found["tags"], found["commits"], found["droppedCommits"]) == (3, 1, 2, 0)
    assert sorted(found["collections"], key=lambda one: one["name"]) == [{"name": "c", "versions": 27, "onMain": 20}, {"name": "d", "versions": 1, "onMain": 0}]
    assert found["versions"] == 28
    assert {"commits", "ids", "branches", "keys", "pending", "states"} <= set(found["bytes"])
    assert sum(found["bytes"].values()) == found["totalBytes"] > 0
    assert found["perBranch"] == [{"name": "dev", "documents": 21, "shared": 13, "own": 8, "uncommitted": 4},
                                  {"name": "main", "documents": 20, "shared": 20, "own": 0, "uncommitted": 1},
                                  {"name": "same", "documents": 21, "shared": 20, "own": 1, "uncommitted": 0}]
    for one in found["perBranch"]:
        database = shop[one["name"]]
        assert one["documents"] == database.c.count_documents({}) + database.d.count_documents({})
    on_branch = shop["dev"].command("versionStats", 1)
    assert "perBranch" not in on_branch and on_branch["versions"] == 28
    fails(NAMESPACE_NOT_FOUND, lambda: shop["nowhere"].command("versionStats", 1))
    fails(TYPE_MISMATCH, lambda: main.command("versionStats", 1, perBranch=1))
    fails(UNKNOWN_FIELD, lambda: main.command("versionStats", 1, x=1))


def test_what_branches_share_is_exact_behind_a_drop_a_merge_back_and_a_purge(shop):
    main = shop["main"]
    main.c.insert_many([{"_id": i} for i in range(20)])
    main.c.delete_many({"_id": {"$lt": 5}})
    shop.create("dev")
    main.c.drop()
    main.command("commit", 1)
    shop["dev"].c.update_one({"_id": 7}, {"$set": {"a": 1}})
    shop["dev"].command("commit", 1)
    main.command("merge", "dev", resolve="theirs")
    assert list(main.c.find()) == [{"_id": 7, "a": 1}]

    def shares(branch):
        found = {one["name"]: one for one in main.command("versionStats", 1, perBranch=True)["perBranch"]}[branch]
        return found["documents"], found["shared"], found["own"]

    assert shares("dev") == (15, 1, 14) and shares("main") == (1, 1, 0)
    main.command({"purge": "c", "id": 9})
    assert shares("dev") == (14, 1, 13)
    main.command({"purge": "c", "id": 7})
    assert shares("dev") == (13, 0, 13) and shares("main") == (0, 0, 0)
