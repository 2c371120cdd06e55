"""Change streams of branches and of commits."""
import time

import pytest
from pymongo.errors import OperationFailure

from tests.branches.conftest import Branched
from tests.support.palimpsest import Server
from tests.support.streams import events
from tests.support.waiting import DEADLINE


@pytest.fixture(scope="module")
def server():
    with Server("--replSet", "rs0") as member:
        member.initiate()
        yield member


@pytest.fixture
def shop(server):
    with server.client(directConnection=True) as client:
        database = Branched(client)
        database["main"].c.insert_many([{"_id": i, "n": 0} for i in range(5)])
        database.create("dev")
        yield database
        database.check()
        client.drop_database(database.name)


def kinds(got):
    return [(event["operationType"], event.get("documentKey", {}).get("_id")) for event in got]


def test_each_branch_has_its_own_events(shop):
    main, dev = shop["main"], shop["dev"]
    with main.c.watch() as of_main, dev.c.watch() as of_dev, dev.watch(full_document="updateLookup") as all_of_dev, shop.client.watch() as everything:
        main.c.insert_one({"_id": "m"})
        dev.c.update_one({"_id": 1}, {"$set": {"n": 7}})
        dev.c.delete_one({"_id": 2})
        dev.d.insert_one({"_id": "d"})
        assert kinds(events(of_main, 1)) == [("insert", "m")]
        assert kinds(events(of_dev, 2)) == [("update", 1), ("delete", 2)]
        update, delete, insert = events(all_of_dev, 3)
        assert update["ns"] == {"db": dev.name, "coll": "c"} and update["fullDocument"] == {"_id": 1, "n": 7}
        assert insert["ns"] == {"db": dev.name, "coll": "d"}
        # A stream of all databases shows them under their own names alone.
        assert kinds(events(everything, 1)) == [("insert", "m")] and everything.try_next() is None
        with dev.watch(resume_after=update["_id"]) as again:
            assert kinds(events(again, 2)) == [("delete", 2), ("insert", "d")]


def test_a_merge_comes_as_the_changes_it_makes(shop):
    main, dev = shop["main"], shop["dev"]
    dev.c.update_one({"_id": 1}, {"$set": {"n": 7}})
    dev.c.delete_one({"_id": 2})
    dev.c.insert_one({"_id": "new"})
    dev.command("commit", 1, message="three changes")
    with main.c.watch() as stream:
        main.command("merge", "dev")
        assert sorted(kinds(events(stream, 3)), key=str) == sorted([("update", 1), ("delete", 2), ("insert", "new")], key=str)


@pytest.mark.parametrize("end", ["drop", "rename", "reset"])
def test_a_branchs_end_ends_its_streams(shop, end):
    main, dev = shop["main"], shop["dev"]
    dev.command("commit", 1, message="first")
    with dev.watch() as stream, dev.c.watch() as one, main.watch() as of_main:
        if end == "drop":
            main.command("dropBranch", "dev")
        elif end == "rename":
            main.command("renameBranch", "dev", to="next")
        else:
            main.command("resetBranch", "dev", to="main")
        wanted = {"drop": ["dropDatabase", "invalidate"], "rename": ["dropDatabase", "invalidate"], "reset": ["invalidate"]}[end]
        assert [event["operationType"] for event in events(stream, len(wanted))] == wanted
        wanted = ["drop", "invalidate"] if end != "reset" else ["invalidate"]
        assert [event["operationType"] for event in events(one, len(wanted))] == wanted
        main.c.insert_one({"_id": "still"})
        assert kinds(events(of_main, 1)) == [("insert", "still")]


def test_collections_of_branches_come_and_go(shop):
    main, dev = shop["main"], shop["dev"]
    with dev.watch(show_expanded_events=True) as of_dev, main.watch() as of_main:
        dev.create_collection("fresh")
        dev.c.drop()
        create, drop = events(of_dev, 2)
        assert (create["operationType"], create["ns"]) == ("create", {"db": dev.name, "coll": "fresh"})
        assert (drop["operationType"], drop["ns"]) == ("drop", {"db": dev.name, "coll": "c"})
        main.c.insert_one({"_id": "still"})
        assert kinds(events(of_main, 1)) == [("insert", "still")]


def test_a_collection_that_no_other_branch_has(shop):
    """Its drop takes it away altogether."""
    dev = shop["dev"]
    dev.fresh.insert_one({"_id": 1})
    with dev.watch() as of_dev, dev.fresh.watch() as of_fresh:
        dev.fresh.drop()
        drop, = events(of_dev, 1)
        assert (drop["operationType"], drop["ns"]) == ("drop", {"db": dev.name, "coll": "fresh"})
        assert [event["operationType"] for event in events(of_fresh, 2)] == ["drop", "invalidate"]


def test_commits(shop):
    main, dev = shop["main"], shop["dev"]
    commits = [{"$changeStream": {"commits": True}}]

    def open_stream(database):
        return database.command("aggregate", 1, pipeline=commits, cursor={})["cursor"]["id"]

    def read(database, cursor, count):
        got = []
        until = time.monotonic() + DEADLINE
        while len(got) < count and time.monotonic() < until:
            got += database.command("getMore", cursor, collection="$cmd.aggregate", maxTimeMS=500)["cursor"]["nextBatch"]
        assert len(got) == count
        return got
    of_all, of_dev = open_stream(main), open_stream(dev)
    dev.c.update_one({"_id": 1}, {"$set": {"n": 7}})
    dev.c.insert_many([{"_id": "a"}, {"_id": "b"}])
    made = dev.command("commit", 1, message="work", author="ann")
    main.c.delete_one({"_id": 4})
    main.command("commit", 1, message="less")
    main.command("merge", "dev", message="together")
    first, second, merge = read(main, of_all, 3)
    assert (first["operationType"], first["branch"], first["message"], first["author"]) == ("commit", "dev", "work", "ann")
    assert first["commit"] == made["commit"] and first["ns"] == {"db": dev.name}
    assert first["difference"] == {"inserted": 2, "updated": 1, "deleted": 0}
    assert (second["branch"], second["message"], second["difference"]) == ("main", "less", {"inserted": 0, "updated": 0, "deleted": 1})
    assert (merge["operationType"], merge["message"]) == ("merge", "together")
    assert merge["difference"] == {"inserted": 2, "updated": 1, "deleted": 0} and len(merge["parents"]) == 2
    assert [event["commit"] for event in read(dev, of_dev, 1)] == [first["commit"]]
    resumed = main.command("aggregate", 1, pipeline=[{"$changeStream": {"commits": True, "resumeAfter": first["_id"]}}], cursor={})["cursor"]
    rest = resumed["firstBatch"] + (read(main, resumed["id"], 2 - len(resumed["firstBatch"])) if len(resumed["firstBatch"]) < 2 else [])
    assert [event["commit"] for event in rest] == [second["commit"], merge["commit"]]
    with pytest.raises(OperationFailure) as failure:
        main.command("aggregate", "c", pipeline=commits, cursor={})
    assert failure.value.code == 72


def test_a_snapshot_cannot_be_watched(shop):
    shop.client.admin.command("createSnapshot", 1, name="before")
    with pytest.raises(OperationFailure):
        shop.client[shop.name + "@before"].c.watch()
