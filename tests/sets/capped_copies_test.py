"""Collections that become capped: on a set every member ends up with the same; what a crash cuts short leaves nothing behind."""
import itertools
import threading
import time

import pytest
from pymongo.errors import NotPrimaryError, OperationFailure, PyMongoError
from pymongo.read_preferences import ReadPreference
from pymongo.write_concern import WriteConcern

from tests.support.palimpsest import Server
from tests.support.waiting import wait_until

MAJORITY = WriteConcern("majority")
SECONDARY_PREFERRED = ReadPreference.SECONDARY_PREFERRED


def fill(collection, count, first=0, size=500):
    collection.insert_many([{"_id": i, "text": "x" * size} for i in range(first, first + count)])


def refused(call, code):
    with pytest.raises((OperationFailure, NotPrimaryError)) as failure:
        call()
    assert failure.value.details["code"] == code, failure.value


def test_every_member_has_the_same_capped_collection(three):
    client = three.client()
    client.drop_database("shop")
    shop = client.get_database("shop", write_concern=MAJORITY)
    fill(shop.c, 2000)
    shop.c.create_index("text")
    shop.command("convertToCapped", "c", size=100_000, writeConcern={"w": "majority"})
    assert shop.command("listCollections")["cursor"]["firstBatch"][0]["options"] == {"capped": True, "size": 100_096}
    left = [one["_id"] for one in shop.c.find({}, {"_id": 1})]
    assert left == list(range(2000 - len(left), 2000)) and 150 < len(left) < 200
    assert list(shop.c.index_information()) == ["_id_"]
    shop.command("cloneCollectionAsCapped", "c", toCollection="d", size=50_000, writeConcern={"w": "majority"})
    fill(shop.c, 100, first=2000)
    three.check_same()
    for member in three.secondaries():
        refused(lambda: member.direct.shop.command("convertToCapped", "c", size=4096), 10107)
        refused(lambda: member.direct.shop.command("cloneCollectionAsCapped", "c", toCollection="e", size=4096), 10107)
        refused(lambda: member.direct.shop.command("reIndex", "c", read_preference=SECONDARY_PREFERRED), 20)
    refused(lambda: shop.command("reIndex", "c"), 20)
    client.close()


def test_writers_lose_nothing_while_it_happens(three):
    client = three.client()
    client.drop_database("shop")
    shop = client.get_database("shop", write_concern=MAJORITY)
    fill(shop.c, 500)
    done, acknowledged = threading.Event(), []

    def write():
        own = three.client()
        number = 1_000_000
        while not done.is_set():
            own.get_database("shop", write_concern=MAJORITY).c.insert_one({"_id": number})
            acknowledged.append(number)
            number += 1
        own.close()

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(5):
            shop.command("convertToCapped", "c", size=50_000_000, writeConcern={"w": "majority"})
    finally:
        done.set()
        writer.join()
    assert acknowledged
    assert {one["_id"] for one in shop.c.find({}, {"_id": 1})} == {*range(500), *acknowledged}
    three.check_same()
    client.close()


def cut_short(server, command, begun):
    """Kills the server once `begun()` is true of `command`, and starts it again. Returns whether the command wasn't over by then."""
    answers = []

    def run():
        with server.client() as own:
            try:
                answers.append(own.t.command(command))
            except PyMongoError:
                pass

    thread = threading.Thread(target=run)
    thread.start()
    while thread.is_alive() and not begun():
        time.sleep(0.001)
    server.kill()
    thread.join()
    server.start()
    return not answers


def test_what_a_crash_cuts_short_leaves_the_collection_as_it_was(tmp_path):
    with Server(dbpath=tmp_path) as server, server.client() as client:
        convert = {"convertToCapped": "c", "size": 1 << 30}

        def cut():
            if client.t.list_collection_names():  # by a try that came too late
                client.t.c.drop()
            for begin in range(0, 40_000, 2000):
                fill(client.t.c, 2000, first=begin, size=2000)
            client.t.c.create_index("text")
            return cut_short(server, convert, lambda: any(name.startswith("tmp.") for name in client.t.list_collection_names()))

        wait_until(cut, "each conversion was over before it was seen")
        assert client.t.list_collection_names() == ["c"]
        assert client.t.c.count_documents({}) == 40_000
        assert client.t.command("validate", "c", full=True)["valid"]
        assert "capped" not in client.t.c.options() and sorted(client.t.c.index_information()) == ["_id_", "text_1"]
        client.t.command(convert)
        assert client.t.c.options()["capped"] and client.t.c.count_documents({}) == 40_000


def test_rebuilding_indexes_may_be_cut_short(tmp_path):
    with Server(dbpath=tmp_path) as server, server.client() as client:
        for begin in range(0, 40_000, 2000):
            fill(client.t.c, 2000, first=begin, size=200)
        client.t.c.create_index("text")
        began = time.monotonic()
        reply = client.t.command("reIndex", "c")
        whole = time.monotonic() - began
        assert reply["nIndexes"] == reply["nIndexesWas"] == 2
        shares = itertools.chain((0, 0.3, 0.6), itertools.repeat(0))  # of the time that it takes on this machine
        cut = []

        def cut_at_each_share():
            share = next(shares)

            def begun():
                if not any("reIndex" in one.get("command", {}) for one in client.admin.command("currentOp")["inprog"]):
                    return False
                time.sleep(share * whole)
                return True

            cut.append(cut_short(server, {"reIndex": "c"}, begun))
            report = client.t.command("validate", "c", full=True)
            assert report["valid"] and report["nIndexes"] == 2 and report["nrecords"] == 40_000, report
            return len(cut) >= 3 and any(cut)  # under load a try may come too late

        wait_until(cut_at_each_share, "each reIndex was over before the server was killed")
        assert client.t.command("reIndex", "c")["nIndexes"] == 2
        assert client.t.command("validate", "c", full=True)["valid"]
