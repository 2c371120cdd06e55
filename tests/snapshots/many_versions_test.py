"""These tests write documents many times, with snapshots and without: contents stay in their rows, leave them, or are dropped from history."""
from tests.branches.conftest import by_id
from tests.snapshots.conftest import snapshots

DOCUMENTS = 20


def check(shop, shown):
    for ref, then in shown.items():
        database = shop[ref]
        assert by_id(database.c) == then
        for key in range(DOCUMENTS):
            assert database.c.find_one({"_id": key}) == then.get(key)
        for g in range(3):
            found = {one["_id"] for one in database.c.find({"g": g}).hint("by_g")}
            assert found == {key for key, one in then.items() if one["g"] == g}
    if "c" in shop.now.list_collection_names():
        assert shop.now.command("validate", "c", full=True)["valid"]


def insert_all(shop):
    shop.now.c.create_index("g", name="by_g")
    shop.now.c.insert_many([{"_id": key, "g": key % 3, "n": 0, "text": "x" * 300} for key in range(DOCUMENTS)])


def test_each_of_many_snapshots_shows_what_a_document_was(shop):
    insert_all(shop)
    shown = {}
    for n in range(1, 31):
        shown[shop.declare()] = by_id(shop.now.c)
        shop.now.c.update_many({}, {"$set": {"n": n}})
        if n % 4 == 0:  # no snapshot shows what this replaces
            shop.now.c.update_many({}, {"$inc": {"g": 1}})
            shop.now.c.update_many({"g": 3}, {"$set": {"g": 0}})
        if n == 12:
            shop.now.c.replace_one({"_id": 5}, {"g": 1, "n": n, "text": "another"})
        if n == 20:
            shop.now.c.delete_many({"_id": {"$lt": 4}})
        if n == 25:
            shop.now.c.insert_one({"_id": 2, "g": 2, "n": n, "text": "again"})
    check(shop, shown)
    for ref in list(shown)[::2]:
        shop.client.admin.command("dropSnapshot", ref)
        del shown[ref]
    check(shop, shown)
    shop.now.c.update_many({}, {"$inc": {"n": 100}})
    shop.now.c.delete_many({"_id": {"$gte": 15}})
    check(shop, shown)


def test_versions_that_history_lets_go_of_stay_in_snapshots(shop):
    insert_all(shop)
    now, shown = shop.now, {}

    def write(n):
        now.c.update_many({}, {"$set": {"n": n}})

    for n in range(1, 3):
        shown[shop.declare()] = by_id(now.c)
        write(n)
    now.command("createBranch", "dev")
    for n in range(3, 6):
        write(n)
        now.command("commit", 1, message=str(n))
    now.command("dropBranch", "dev")
    for n in range(6, 9):  # pending: it changes in place
        write(n)
        shown[shop.declare()] = by_id(now.c)
    write(9)
    for n in range(9, 12):
        now.command("commit", 1, message=str(n))
        write(n + 1)
    now.command("commit", 1, message="last")
    check(shop, shown)
    now.command({"retention": {"newest": 1}})
    assert now.command("sweep", 1)["versions"] > 0
    check(shop, shown)
    now.c.delete_many({})
    now.command("commit", 1, message="gone")
    assert now.command("sweep", 1)["versions"] > 0
    check(shop, shown)
    assert len(snapshots(shop.client)) == len(shown)
