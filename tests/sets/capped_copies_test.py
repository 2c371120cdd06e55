"""Collections that become capped: on a set every member ends up with the same; what a crash cuts short leaves nothing behind."""
import threading
import time

import pytest
from pymongo.errors import NotPrimaryError, OperationFailure, PyMongoError
from pymongo.read_preferences import ReadPreference
from pymongo.write_concern import WriteConcern

from tests.support.palimpsest import Server

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


def test_what_a_crash_cuts_short_leaves_the_collection_as_it_was(tmp_path):
    with Server(dbpath=tmp_path) as server:
        client = server.client()
        for _ in range(20):
            fill(client.t.c, 2000, first=client.t.c.estimated_document_count(), size=2000)
        client.t.c.create_index("text")
        count = client.t.c.count_documents({})

        def convert():
            try:
                server.client().t.command("convertToCapped", "c", size=1 << 30)
            except PyMongoError:
                pass

        thread = threading.Thread(target=convert)
        thread.start()
        end = time.monotonic() + 20
        while time.monotonic() < end and not any(name.startswith("tmp.") for name in client.t.list_collection_names()):
            time.sleep(0.001)
        server.kill()
        thread.join()
        server.start()
        client = server.client()
        assert client.t.list_collection_names() == ["c"]
        assert client.t.c.count_documents({}) == count
        assert client.t.command("validate", "c", full=True)["valid"]
        if "capped" not in client.t.c.options():
            assert sorted(client.t.c.index_information()) == ["_id_", "text_1"]
        client.t.command("convertToCapped", "c", size=1 << 30)
        assert client.t.c.options()["capped"] and client.t.c.count_documents({}) == count


def test_rebuilding_indexes_may_be_cut_short(tmp_path):
    with Server(dbpath=tmp_path) as server:
        client = server.client()
        for _ in range(20):
            fill(client.t.c, 2000, first=client.t.c.estimated_document_count(), size=200)
        client.t.c.create_index("text")
        count = client.t.c.count_documents({})

        def rebuild():
            try:
                server.client().t.command("reIndex", "c")
            except PyMongoError:
                pass

        for pause in (0.02, 0.1, 0.3):
            thread = threading.Thread(target=rebuild)
            thread.start()
            time.sleep(pause)
            server.kill()
            thread.join()
            server.start()
            client = server.client()
            report = client.t.command("validate", "c", full=True)
            assert report["valid"] and report["nIndexes"] == 2 and report["nrecords"] == count, report
        reply = client.t.command("reIndex", "c")
        assert reply["nIndexes"] == reply["nIndexesWas"] == 2
        assert client.t.command("validate", "c", full=True)["valid"]
