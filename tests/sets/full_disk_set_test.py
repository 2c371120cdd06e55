"""Members of a set whose disks are full: they wait for room, go on by themselves when there is some, and skip nothing."""
import os
import random

import pytest
from pymongo import WriteConcern
from pymongo.errors import ConnectionFailure, OperationFailure, PyMongoError

from tests.support.palimpsest import BIN
from tests.support.replica_set import Member, ReplicaSet
from tests.support.small_disk import fill, free_bytes, seeming_disk, small_disk
from tests.support.waiting import wait_until

OUT_OF_DISK_SPACE = 14031
MB = 1 << 20
DISK_MB = 600
PAGES = 10_000
INDEXES = 20
MAJORITY = WriteConcern("majority", wtimeout=60_000)


@pytest.fixture
def disk(tmp_path):
    with small_disk(tmp_path, DISK_MB) as at:
        yield at


def own_info(member):
    """The member's infoMessage, as it shows it itself. An empty text stands also for a member that doesn't answer yet."""
    assert member.running(), f"it has ended with {member.process.poll()}\n{member.tail()}"
    try:
        status = member.command("replSetGetStatus")
    except PyMongoError:
        return ""
    return next((one["infoMessage"] for one in status["members"] if one.get("self")), "")


def space(member):
    return member.command("serverStatus")["diskSpace"]


def waits(member, what):
    if own_info(member) != f"waiting for disk space to {what}":
        return False
    return member.command("serverStatus")["repl"]["waitsForDiskSpace"]


def noise(number, size=100_000):
    return {"_id": number, "noise": random.randbytes(size)}


def leave_room(member, disk, reserves):
    """Another program takes the room that is left, but for so many of the member's reserves. Returns its file."""
    stranger = disk / "stranger"
    stranger.touch()

    def left():
        # What it has in its cache is no surprise later. Pages are written once more when everybody sees what is new in them.
        member.command("fsync")
        figures = space(member)
        if figures["unwrittenCacheBytes"] >= MB:
            return False
        too_much = free_bytes(disk) + figures["ballastBytes"] - int(reserves * figures["reserveBytes"])
        if abs(too_much) < MB:
            return True
        size = stranger.stat().st_size + too_much
        if too_much < 0:
            os.truncate(stranger, max(0, size))
        with open(stranger, "ab") as file:
            while file.tell() < size:
                file.write(b"\1" * (size - file.tell()))
        return False

    wait_until(left, lambda: f"{space(member)} {free_bytes(disk)}\n{member.tail()}")
    return stranger


def fill_for_indexes(pages):
    for first in range(0, PAGES, 1000):
        pages.insert_many([{"_id": number, "key": random.randbytes(400)} for number in range(first, first + 1000)])


def wait_for_indexes(set_, member, disk):
    """The log has indexes that the member's disk has no room for: the entry is small. Returns the file that takes the room."""
    stranger = leave_room(member, disk, 1.4)
    indexes = [{"key": {"key": 1, f"other{number}": 1}, "name": f"key{number}"} for number in range(INDEXES)]
    set_.client().t.command("createIndexes", "pages", indexes=indexes, commitQuorum=1)
    wait_until(lambda: waits(member, "apply the log"), lambda: f"{space(member)}\n{member.tail()}")
    return stranger


def change_of_each_kind(client):
    pages = client.t.pages
    pages.update_many({"_id": {"$lt": 20}}, {"$set": {"changed": 1}})
    pages.delete_many({"_id": {"$gte": 20, "$lt": 30}})
    client.t.made.insert_many(noise(number, 500) for number in range(500))
    client.t.made.create_index("noise")
    client.t.gone.insert_one({"_id": 1})
    client.t.gone.drop()

    def large(session):  # of several parts in the log
        client.t.parts.insert_many([noise(number, MB) for number in range(18)], session=session)
        pages.delete_one({"_id": 30}, session=session)

    with client.start_session() as session:
        session.with_transaction(large)
    for _ in range(7):
        client.t.counters.update_one({"_id": "n"}, {"$inc": {"n": 1}}, upsert=True)


def test_a_member_waits_for_room_to_apply_the_log(disk):
    with ReplicaSet(3, hosts=[{}, {}, {"dbpath": disk / "db", "cache_gb": 0.7}]) as three:
        member = three.members[2]
        client = three.client()
        pages = client.t.pages.with_options(write_concern=MAJORITY)
        fill_for_indexes(pages)
        three.wait_same_place()
        stranger = wait_for_indexes(three, member, disk)
        change_of_each_kind(client)
        pages.insert_one({"_id": "majority"})

        # It stays, and is read from, while the others go on.
        assert member.state() == "SECONDARY"
        assert member.direct.t.pages.count_documents({}) == PAGES
        assert own_info(three.primary()) == ""

        # It ends when it is told to, and neither that nor a crash keeps it from starting on the full disk.
        assert member.stop() == 0, member.tail()
        for end in (member.kill, None):
            member.start()
            wait_until(lambda: waits(member, "apply the log"), member.tail)
            assert member.direct.t.pages.count_documents({}) == PAGES
            assert member.direct.t.counters.find_one() is None
            if end:
                end()

        stranger.unlink()
        three.wait_same_place()
        wait_until(lambda: own_info(member) == "", member.tail)
        assert member.direct.t.pages.count_documents({}) == PAGES + 1 - 11
        assert member.direct.t.counters.find_one() == {"_id": "n", "n": 7}
        three.check_same()
        three.check_nobody_failed()
        assert member.stop() == 0


def test_a_member_that_waits_for_room_leaves_the_lead_to_others(disk):
    with ReplicaSet([{"priority": 2}, {"priority": 1}, {"priority": 1}], hosts=[{}, {}, {"dbpath": disk / "db", "cache_gb": 0.7}]) as three:
        first, second, member = three.members
        pages = three.client().t.pages.with_options(write_concern=MAJORITY)
        fill_for_indexes(pages)
        three.wait_same_place()
        wait_until(lambda: first.state() == "PRIMARY", three.tails)
        stranger = wait_for_indexes(three, member, disk)
        first.kill()
        wait_until(lambda: second.state() == "PRIMARY", three.tails)
        pages.insert_one({"_id": "majority"})  # the member's log is one of the two
        assert member.state() == "SECONDARY"
        stranger.unlink()
        wait_until(lambda: own_info(member) == "" and member.direct.t.pages.count_documents({}) == PAGES + 1, three.tails)
        first.start()
        three.wait_settled()
        three.check_same()
        three.check_nobody_failed()


def test_a_copy_of_anothers_data_waits_for_room(disk):
    with ReplicaSet(2) as two:
        pages = two.client().t.pages.with_options(write_concern=MAJORITY)
        for first in range(0, 1000, 50):
            pages.insert_many([noise(number) for number in range(first, first + 50)])
        two.primary().command("fsync")
        member = Member(dbpath=disk / "db", cache_gb=0.7)
        two.members.append(member)
        member.start()
        with open(disk / "stranger", "wb") as stranger:
            stranger.write(b"\1" * (450 * MB))
        two.reconfigure(lambda config: config["members"].append({"_id": 2, "host": member.name}))

        def copy_status():
            return member.command("replSetGetStatus").get("initialSyncStatus", {})

        for end in (member.stop, member.kill, None):
            wait_until(lambda: waits(member, "copy another member's data"), member.tail)
            status = copy_status()
            assert status["waitsForDiskSpace"] and status["failedInitialSyncAttempts"] == 0
            assert status["diskSpaceNeeded"] > 100 * MB > status["diskSpaceFree"] > 0
            assert member.state() == "STARTUP2"
            assert not list((disk / "db" / "_sync").glob("*.wt"))
            pages.insert_one({})
            if end:
                assert end() in (0, None)
                member.start()

        (disk / "stranger").unlink()
        two.wait_settled()
        wait_until(lambda: own_info(member) == "", member.tail)
        two.check_same()
        two.check_nobody_failed()


def test_a_disk_that_gets_full_in_the_midst_of_a_copy(tmp_path):
    copies, failures, is_full = tmp_path / "db" / "_sync", tmp_path / "failures", tmp_path / "full"
    copies.mkdir(parents=True)
    env = {**os.environ, "LD_PRELOAD": str(BIN / "full_disk_calls.so"), "FULL_DISK_UNDER": str(copies), "FULL_DISK_LOG": str(failures),
           "FULL_DISK_FIRST": str(random.randint(1, 10)), "FULL_DISK_COUNT": str(10**9), "FULL_DISK_WHILE": str(is_full)}
    with ReplicaSet(2) as two:
        pages = two.client().t.pages.with_options(write_concern=MAJORITY)
        pages.insert_many([noise(number) for number in range(200)])
        member = Member(dbpath=tmp_path / "db", env=env)
        two.members.append(member)
        member.start()
        is_full.touch()
        two.reconfigure(lambda config: config["members"].append({"_id": 2, "host": member.name}))
        wait_until(lambda: member.log_lines(7100055), two.tails)
        assert failures.read_text() and member.state() == "STARTUP2"
        pages.insert_one({"_id": "meanwhile"})
        is_full.unlink()
        two.wait_settled()
        wait_until(lambda: own_info(member) == "" and member.direct.t.pages.count_documents({}) == 201, two.tails)
        assert not member.log_lines(21200)  # a failed attempt
        two.check_same()
        two.check_nobody_failed()


def refused(write):
    try:
        write()
        return False
    except OperationFailure as error:
        assert error.code == OUT_OF_DISK_SPACE, error
        return True


def done(write):
    """Returns whether the write was done. It wasn't, as far as is known, if the primary had no room, or another member leads since."""
    try:
        write()
        return True
    except (OperationFailure, ConnectionFailure) as error:
        assert isinstance(error, ConnectionFailure) or error.code in (OUT_OF_DISK_SPACE, 189, 10107, 11602), error
        return False


@pytest.mark.parametrize("all_room", [False, True], ids=["some room", "no room"])
def test_a_primary_on_a_full_disk_refuses_new_data_and_goes_on(disk, all_room):
    hosts = [{"dbpath": disk / "db", "cache_gb": 0.7}, {}, {}]
    with ReplicaSet(3, settings={"electionTimeoutMillis": 60_000}, hosts=hosts) as three:
        primary = three.members[0]
        client = three.client(retryWrites=False)
        pages, others = (client.t[name].with_options(write_concern=MAJORITY) for name in ("pages", "others"))
        # While the others lag, a checkpoint writes all these pages anew, and the log's. Twice 4 MB leave more than half of the reserve.
        pages.insert_many([noise(number, 2000) for number in range(2000)])
        others.insert_one({"_id": 0})
        three.wait_same_place()
        strangers = [leave_room(primary, disk, 0.9)]
        wait_until(lambda: space(primary)["state"] == "full", primary.tail)
        if all_room:
            primary.command("fsync")  # what the cache has yet to write may need more than the reserve
            strangers.append(fill(disk, "another"))
        term = primary.command("replSetGetStatus")["term"]
        if all_room:
            # The last room may be too little for any write. Then another member leads.
            wait_until(lambda: done(lambda: pages.delete_many({"_id": {"$lt": 1000}})), three.tails)
            wait_until(lambda: done(lambda: pages.update_many({"_id": {"$lt": 1500}}, {"$unset": {"noise": 1}})), three.tails)
        else:
            assert refused(lambda: others.insert_one(noise(-1)))
            assert pages.delete_many({"_id": {"$lt": 1000}}).deleted_count == 1000
            assert pages.update_many({"_id": {"$lt": 1500}}, {"$unset": {"noise": 1}}).modified_count == 500
            leave_room(primary, disk, 0.9)  # again: a checkpoint may have brought the room of the journal's old files
            wait_until(lambda: space(primary)["state"] in ("full", "critical"), primary.tail)
            assert own_info(primary) == "" and space(primary)["state"] in ("full", "critical")
            assert primary.state() == "PRIMARY" and primary.command("replSetGetStatus")["term"] == term
        assert pages.count_documents({}) == pages.count_documents({"_id": {"$gte": 1000}}) == 1000
        assert pages.count_documents({"noise": {"$exists": False}}) == 500

        for stranger in strangers:
            stranger.unlink()
        wait_until(lambda: done(lambda: others.update_one({"_id": 1}, {"$set": {"new": "x" * 10_000}}, upsert=True)), three.tails)
        three.wait_same_place()
        three.check_same()
        three.check_nobody_failed()


def test_a_primary_without_room_for_any_write_leaves_the_lead_to_others(tmp_path):
    """Its disk only seems to be full: when it really is, a journal that has no room ends the process."""
    seems_free = tmp_path / "free"
    with ReplicaSet([{"priority": 2}, {}, {}], hosts=[{"dbpath": tmp_path / "db", "env": seeming_disk(tmp_path, seems_free)}, {}, {}]) as three:
        first = three.members[0]
        wait_until(lambda: first.state() == "PRIMARY", three.tails)
        pages = three.client().t.pages.with_options(write_concern=MAJORITY)
        pages.insert_one({"_id": 0})
        seems_free.write_text("0")
        wait_until(lambda: first.state() == "SECONDARY", three.tails)
        assert space(first)["state"] == "exhausted"
        pages.insert_one({"_id": 1})
        wait_until(lambda: waits(first, "write the log"), three.tails)

        seems_free.unlink()
        wait_until(lambda: first.state() == "PRIMARY", three.tails)
        pages.insert_one({"_id": 2})
        three.wait_same_place()
        three.check_same()
        three.check_nobody_failed()


def test_a_primary_without_room_for_any_write_leads_on_where_nobody_could_be_elected(tmp_path):
    seems_free = tmp_path / "free"
    with ReplicaSet([{"priority": 2}, {}], hosts=[{"dbpath": tmp_path / "db", "env": seeming_disk(tmp_path, seems_free)}, {}]) as two:
        first = two.members[0]
        wait_until(lambda: first.state() == "PRIMARY", two.tails)
        client = two.client(retryWrites=False)
        client.t.pages.insert_one({"_id": 0})
        seems_free.write_text("0")
        wait_until(lambda: space(first)["state"] == "exhausted", two.tails)
        assert refused(lambda: client.t.pages.delete_one({"_id": 0}))
        seems_free.unlink()
        wait_until(lambda: not refused(lambda: client.t.pages.insert_one({"_id": 1})), two.tails)
        assert not first.log_lines(7100035) and first.command("replSetGetStatus")["term"] == two.members[1].command("replSetGetStatus")["term"]
        two.check_same()
        two.check_nobody_failed()
