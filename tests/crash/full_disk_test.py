"""A server on a small disk that gets full: new data is refused, everything else goes on, and new data is taken when there is room again."""
import random

import pytest
from pymongo.errors import OperationFailure, PyMongoError

from tests.support.palimpsest import Server
from tests.support.small_disk import fill, free_bytes, seeming_disk, small_disk
from tests.support.waiting import wait_until

OUT_OF_DISK_SPACE = 14031
MB = 1 << 20
DISK_MB = 300


@pytest.fixture
def disk(tmp_path):
    with small_disk(tmp_path, DISK_MB) as at:
        yield at


def insert_until_refused(collection, size=200_000, most=10_000):
    """Returns how many documents were taken."""
    for taken in range(most):
        try:
            collection.insert_one({"noise": random.randbytes(size)})
        except PyMongoError as error:
            assert getattr(error, "code", None) == OUT_OF_DISK_SPACE, error
            return taken
    raise AssertionError("the disk never got full")


def takes(collection):
    try:
        collection.insert_one({"noise": random.randbytes(200_000)})
        return True
    except OperationFailure as error:
        assert error.code == OUT_OF_DISK_SPACE, error
        return False


def space(client):
    return client.admin.command("serverStatus")["diskSpace"]


def write_down(client):
    """What the cache has yet to write gets to the disk. Pages are written once more when everybody sees what is new in them."""
    wait_until(lambda: client.admin.command("fsync") and space(client)["unwrittenCacheBytes"] < MB, lambda: str(space(client)))


@pytest.mark.parametrize("options", [(), ("--nodedup",)], ids=["dedup", "nodedup"])
def test_a_full_disk_takes_deletes_compact_and_drops_and_then_new_data_again(disk, options):
    with Server("--wiredTigerCacheSizeGB", "0.25", *options, dbpath=disk / "db") as server:
        client = server.client(retryWrites=False)
        assert space(client)["state"] == "plenty"
        reserve = space(client)["reserveBytes"]
        assert reserve <= 20 * MB
        pages = client.full.pages
        taken = insert_until_refused(pages)
        # It is really full: what is free is the reserve, or what is just short of letting writes in again.
        assert free_bytes(disk) <= 2 * reserve
        assert taken * 200_000 > (DISK_MB - 100) * MB
        status = space(client)
        assert status["state"] in ("full", "low") and status["operationsRefused"] > 0

        # Reads and everything that frees space go on, and nothing that works in the background takes the reserve.
        assert pages.count_documents({}) == taken
        client.admin.command("fsync")
        client.full.command("compact", "pages")
        assert space(client)["ballastBytes"] >= reserve // 4  # a checkpoint may have used a part
        half = [page["_id"] for page in pages.find({}, {"_id": 1}).limit(taken // 2)]
        assert pages.delete_many({"_id": {"$in": half}}).deleted_count == len(half)
        client.admin.command("fsync")
        client.full.command("compact", "pages")
        wait_until(lambda: takes(pages), server.tail)
        assert insert_until_refused(pages) * 200_000 > 50 * MB

        assert pages.delete_many({}).deleted_count > 0
        wait_until(lambda: takes(client.full.others), server.tail)  # without compact: the ends of the files are free
        insert_until_refused(client.full.others)
        client.full.drop_collection("others")
        client.full.drop_collection("pages")
        wait_until(lambda: takes(client.full.third), server.tail)
        wait_until(lambda: space(client)["state"] == "plenty", server.tail)
        assert space(client)["ballastBytes"] == reserve // 2
        assert server.stop() == 0


def test_deletes_and_drops_go_on_when_another_program_takes_all_room(disk):
    with Server("--wiredTigerCacheSizeGB", "0.25", dbpath=disk / "db") as server:
        client = server.client(retryWrites=False)
        pages = client.full.pages
        pages.insert_many([{"_id": number, "text": random.randbytes(2000)} for number in range(20_000)])
        # Otherwise the server packs the rows once nobody writes, and the other program takes the room that this needs.
        client.full.command("compact", "pages")
        write_down(client)
        ballast = space(client)["ballastBytes"]
        stranger = fill(disk)
        wait_until(lambda: space(client)["state"] in ("full", "critical"), lambda: f"{space(client)}\n{server.tail()}")
        assert not takes(pages)
        assert pages.delete_many({"_id": {"$lt": 1000}}).deleted_count == 1000
        client.admin.command("fsync")
        assert pages.count_documents({}) == 19_000
        with pytest.raises(OperationFailure) as refused:
            pages.create_index("text")
        assert refused.value.code == OUT_OF_DISK_SPACE

        # A crash on the full disk: the next start finds room in the ballast.
        server.kill()
        server.start()
        client = server.client(retryWrites=False)
        pages = client.full.pages
        assert pages.count_documents({}) == 19_000
        client.full.drop_collection("pages")
        client.admin.command("fsync")

        stranger.unlink()
        wait_until(lambda: takes(client.full.others), server.tail)
        wait_until(lambda: space(client)["ballastBytes"] == ballast, server.tail)
        assert server.stop() == 0


def leave_room(client, disk, room):
    """Another program leaves so much room, with the ballast. Returns its file."""
    write_down(client)
    stranger = disk / "stranger"
    with open(stranger, "wb", buffering=0) as file:
        while (left := free_bytes(disk) + space(client)["ballastBytes"] - room) > 0:
            file.write(b"\1" * min(left, MB))
    return stranger


@pytest.mark.parametrize("options", [(), ("--replSet", "rs0")], ids=["standalone", "member"])
def test_a_large_document_needs_room_for_itself_beside_the_reserve(disk, options):
    with Server("--wiredTigerCacheSizeGB", "0.25", *options, dbpath=disk / "db") as server:
        if options:
            server.initiate()
        client = server.client(retryWrites=False)
        pages = client.full.pages
        pages.insert_many([{"_id": number, "noise": random.randbytes(1000)} for number in range(100)])
        stranger = leave_room(client, disk, 3 * space(client)["reserveBytes"] // 2)
        for _ in range(3):
            with pytest.raises(OperationFailure) as refused:
                pages.insert_one({"noise": random.randbytes(15 * MB)})
            assert refused.value.code == OUT_OF_DISK_SPACE
        with pytest.raises(OperationFailure) as refused:
            pages.update_one({"_id": 0}, {"$set": {"noise": random.randbytes(15 * MB)}})
        assert refused.value.code == OUT_OF_DISK_SPACE
        assert pages.count_documents({}) == 100
        assert takes(pages)  # for a small document there is room

        if options:
            with client.start_session() as session, pytest.raises(OperationFailure) as refused:
                with session.start_transaction():
                    for number in range(1000, 1030):
                        pages.insert_one({"_id": number, "noise": random.randbytes(MB)}, session=session)
            assert refused.value.code == OUT_OF_DISK_SPACE
            assert pages.count_documents({}) == 101
        assert space(client)["ballastReleases"] == 0
        stranger.unlink()
        wait_until(lambda: takes(pages), server.tail)
        pages.insert_one({"noise": random.randbytes(15 * MB)})
        assert server.stop() == 0


def test_a_drop_frees_a_members_full_disk_though_its_log_names_the_documents(disk):
    """The log would have no room for what it names: it begins behind it, and streams that would need it are told so."""
    seems_free = disk / "free"
    with Server("--replSet", "rs0", "--wiredTigerCacheSizeGB", "0.25", dbpath=disk / "db", env=seeming_disk(disk, seems_free)) as server:
        server.initiate()
        client = server.client(retryWrites=False)
        start = client.admin.command("ping")["operationTime"]
        insert_until_refused(client.full.pages)
        # A checkpoint, and the log that gives way, may have brought room meanwhile, in which the log would take in what is dropped.
        def seems_full():
            figures = space(client)
            # A part of the ballast may be gone.
            seems_free.write_text(str(max(0, 3 * figures["reserveBytes"] // 4 - figures["ballastBytes"])))
            return figures["state"] == "full"

        wait_until(seems_full, server.tail)
        client.full.drop_collection("pages")
        wait_until(lambda: client.admin.command("fsync") and free_bytes(disk) > DISK_MB // 2 * MB, server.tail)
        seems_free.unlink()
        wait_until(lambda: takes(client.full.others), server.tail)
        with pytest.raises(OperationFailure) as refused:
            client.full.watch(start_at_operation_time=start)
        assert refused.value.code == 286
        with client.full.watch() as stream:
            client.full.others.insert_one({"_id": 1})
            assert next(stream)["documentKey"] == {"_id": 1}
        client.close()
        assert server.stop() == 0
        assert not any("records-" in path.name and path.stat().st_size > 50 * MB for path in (disk / "db").iterdir())


def test_sorts_and_groups_that_spill_give_way_and_leave_nothing(disk):
    with Server("--wiredTigerCacheSizeGB", "0.25", dbpath=disk / "db") as server:
        client = server.client(retryWrites=False)
        pages = client.full.pages
        for first in range(0, 40, 10):
            pages.insert_many([{"_id": number, "half": number % 2, "text": "x" * 4_000_000} for number in range(first, first + 10)])
        client.admin.command("fsync")
        wait_until(lambda: len(list((disk / "db" / "journal").iterdir())) <= 2, server.tail)
        with open(disk / "stranger", "wb") as stranger:
            while free_bytes(disk) > 60 * MB:
                stranger.write(b"\1" * MB)
                stranger.flush()
        for pipeline in ([{"$sort": {"half": 1, "text": -1}}],
                         [{"$group": {"_id": "$_id", "text": {"$push": "$text"}}}]):
            with pytest.raises(OperationFailure) as refused:
                list(pages.aggregate(pipeline, allowDiskUse=True))
            assert refused.value.code == OUT_OF_DISK_SPACE
        assert list((disk / "db" / "_tmp").iterdir()) == []
        wait_until(lambda: free_bytes(disk) > 45 * MB, server.tail)
        assert takes(pages)


def test_a_merge_of_branches_looks_at_the_room_on_the_disk(disk):
    with Server("--wiredTigerCacheSizeGB", "0.25", dbpath=disk / "db") as server:
        client = server.client(retryWrites=False)
        client.full.pages.insert_many([{"_id": number, "text": random.randbytes(300)} for number in range(1000)])
        client.full.command("commit", 1)
        client.full.command("createBranch", "dev")
        client["full@dev"].pages.update_many({}, {"$set": {"more": "x" * 100}})
        client["full@dev"].command("commit", 1)
        stranger = fill(disk)
        wait_until(lambda: space(client)["state"] in ("full", "critical"), server.tail)
        with pytest.raises(OperationFailure) as refused:
            client.full.command("merge", "dev")
        assert refused.value.code == OUT_OF_DISK_SPACE
        stranger.unlink()
        wait_until(lambda: space(client)["state"] in ("plenty", "low"), server.tail)
        client.full.command("merge", "dev")
        assert client.full.pages.count_documents({"more": {"$exists": True}}) == 1000
