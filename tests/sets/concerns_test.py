"""These tests check what a write waits for, what a read shows, and from which member."""
import itertools
import socket
import time
import uuid
from concurrent.futures import ThreadPoolExecutor

import bson
import pymongo
import pytest
from pymongo import ReadPreference
from pymongo.errors import NotPrimaryError, OperationFailure, PyMongoError, WriteConcernError
from pymongo.read_concern import ReadConcern
from pymongo.read_preferences import Nearest, Secondary
from pymongo.write_concern import WriteConcern

from tests.support.palimpsest import raw_command, receive_raw, send_raw
from tests.support.replica_set import ReplicaSet
from tests.support.waiting import DEADLINE, wait_until


@pytest.fixture(scope="module")
def three():
    plans = [{"tags": {"dc": "east", "use": "app"}}, {"tags": {"dc": "west", "use": "app"}}, {"tags": {"dc": "west", "use": "report"}}]
    with ReplicaSet(plans, settings={"getLastErrorModes": {"both": {"dc": 2}, "all": {"use": 2}}}) as running:
        yield running


@pytest.mark.parametrize("concern", [{"w": 0}, {"w": 1}, {"w": 2}, {"w": 3}, {"w": "majority"}, {"w": "both"}, {"w": "all"}, {"w": 1, "j": True},
                                     {"w": 3, "j": True, "wtimeout": 60_000}, {"w": "majority", "j": True}], ids=str)
def test_write_concerns_are_met(three, concern):
    three.client().t.get_collection("c", write_concern=WriteConcern(**concern)).insert_one({"concern": str(concern)})
    if concern["w"] == 3:
        for member in three.members:  # all have it; they learn a moment later that it is majority-committed, and show it then
            three.wait_same_place()
            assert member.direct.t.c.find_one({"concern": str(concern)}), member.name


def test_a_write_concern_of_too_many_members_is_an_error(three):
    client = three.client()
    for w, code in [(4, 100), ("nowhere", 79)]:
        with pytest.raises(WriteConcernError) as failure:
            client.t.get_collection("c", write_concern=WriteConcern(w=w, wtimeout=200)).insert_one({})
        assert failure.value.code == code
    held = three.secondaries()[0]
    held.hold()
    try:
        began = time.monotonic()
        with pytest.raises(WriteConcernError) as failure:
            client.t.get_collection("c", write_concern=WriteConcern(w=3, wtimeout=300)).insert_one({"_id": "too late"})
        assert time.monotonic() - began > 0.25
        assert failure.value.code == 64 and failure.value.details["errInfo"]["wtimeout"] is True
        assert client.t.c.find_one({"_id": "too late"})  # the write itself was done
        client.t.c.insert_one({})  # two are a majority
    finally:
        held.let_go()
    three.wait_settled()
    three.check_same()


def in_time(port, insert):
    """The reply to an insert of {_id: "in time …"} that was done within its time, which is longer in each try."""
    for milliseconds in (1000 << tries for tries in range(7)):
        reply = raw_command("127.0.0.1", port, {**insert, "documents": [{"_id": f"in time {milliseconds}"}], "maxTimeMS": milliseconds})
        if reply["ok"] == 1 or reply["code"] != 50:
            break
    return reply


def test_the_wait_for_a_concern_ends_with_the_operations_time_or_its_client(three):
    client = three.client()
    client.t.c.insert_one({})
    port = three.primary().port
    held = three.secondaries()[0]
    held.hold()
    try:
        insert = {"insert": "c", "writeConcern": {"w": 3, "wtimeout": 3_600_000}, "$db": "t"}
        reply = in_time(port, insert)
        assert reply["ok"] == 1 and reply["n"] == 1
        assert reply["writeConcernError"]["code"] == 50 and reply["writeConcernError"]["codeName"] == "MaxTimeMSExpired"
        # The smaller limit counts.
        reply = raw_command("127.0.0.1", port, {**insert, "documents": [{"_id": "later"}], "maxTimeMS": 3_600_000,
                                                "writeConcern": {"w": 3, "wtimeout": 300}})
        assert reply["writeConcernError"]["code"] == 64
        with socket.create_connection(("127.0.0.1", port), timeout=DEADLINE) as connection:
            send_raw(connection, {"hello": 1, "$db": "admin"})
            receive_raw(connection)
            send_raw(connection, {**insert, "documents": [{"_id": "left"}]})
            wait_until(lambda: client.t.c.find_one({"_id": "left"}))
            local = connection.getsockname()[1]
        log = three.primary().log
        wait_until(lambda: any(f"127.0.0.1:{local}" in line and "Connection ended" in line for line in log.read_text().splitlines()))
    finally:
        held.let_go()
    three.wait_settled()
    three.check_same()


def waiting_for_three(client, comment):
    """Returns the operation with this comment, once its document can be read: it waits for a member that is held."""
    wait_until(lambda: client.t.c.find_one({"_id": comment}))
    return wait_until(lambda: next(client.admin.aggregate([{"$currentOp": {}}, {"$match": {"command.comment": comment}}]), None))


@pytest.mark.parametrize("end", ["killOp", "killSessions"])
def test_a_write_that_waits_for_its_concern_is_found_and_killed(three, end):
    client = three.client()
    port = three.primary().port
    lsid = {"id": bson.Binary(uuid.uuid4().bytes, 4)}
    held = three.secondaries()[0]
    held.hold()
    try:
        insert = {"insert": "c", "documents": [{"_id": end}], "writeConcern": {"w": 3}, "comment": end, "lsid": lsid, "$db": "t"}
        with ThreadPoolExecutor(1) as pool:
            reply = pool.submit(raw_command, "127.0.0.1", port, insert)
            found = waiting_for_three(client, end)
            assert found["active"] is True and found["waitingForLock"] is False and found["locks"] == {}
            assert found["op"] == "insert" and found["ns"] == "t.c" and found["lsid"]["id"] == lsid["id"]
            again = next(one for one in client.admin.command("currentOp")["inprog"] if one.get("opid") == found["opid"])
            assert again["command"]["comment"] == end and again["microsecs_running"] > found["microsecs_running"]
            # It holds nothing that keeps the member from what locks out writes.
            client.admin.command("fsync", lock=True)
            client.admin.command("fsyncUnlock")
            assert not reply.done()
            client.admin.command("killOp", op=found["opid"]) if end == "killOp" else client.admin.command("killSessions", [lsid])
            reply = reply.result()
        assert reply["ok"] == 1 and reply["n"] == 1
        error = reply["writeConcernError"]
        assert (error["code"], error["codeName"], error["errmsg"]) == (11601, "Interrupted", "operation was interrupted")
        assert not any(one.get("opid") == found["opid"] for one in client.admin.command("currentOp")["inprog"])
    finally:
        held.let_go()
    three.wait_settled()
    three.check_same()


def test_a_write_that_waits_for_its_concern_ends_at_once_when_its_client_leaves(three):
    client = three.client()
    port = three.primary().port
    held = three.secondaries()[0]
    turns = itertools.count()

    def ends_at_once():
        comment = f"left {next(turns)}"
        with socket.create_connection(("127.0.0.1", port), timeout=DEADLINE) as connection:
            began = time.monotonic()
            send_raw(connection, {"insert": "c", "documents": [{"_id": comment}], "writeConcern": {"w": 3}, "comment": comment, "$db": "t"})
            opid = waiting_for_three(client, comment)["opid"]
            time.sleep(0.1)  # the connection watches its socket only after its first look, which nothing shows
        wait_until(lambda: not any(one.get("opid") == opid for one in client.admin.command("currentOp")["inprog"]), pause=0.001)
        return time.monotonic() - began < 1.5

    held.hold()
    try:
        # The connection looks 20 ms after it began to wait, and then every two seconds. So a write that is over much
        # sooner was ended by its socket. A slow machine may take longer; then another write may be quick.
        wait_until(ends_at_once, "each write lasted until its connection looked")
    finally:
        held.let_go()
    three.wait_settled()
    three.check_same()


@pytest.mark.parametrize("mode", ["primary", "primaryPreferred", "secondary", "secondaryPreferred", "nearest"])
def test_read_preferences(three, mode):
    client = three.client(readPreference=mode, w=3)
    client.t.c.insert_one({"_id": bson.ObjectId()})
    assert client.t.c.count_documents({}) == three.client().t.c.count_documents({})
    primary = three.primary().port
    wait_until(lambda: client.primary and len(client.secondaries) == 2)
    cursor = client.t.c.find().batch_size(1)
    cursor.next()
    port = cursor.address[1]
    assert (port == primary) if mode in ("primary", "primaryPreferred") else (port != primary) if mode.startswith("secondary") else True
    cursor.close()


def test_read_preferences_with_tags(three):
    report = three.members[2]
    if report.state() == "PRIMARY":
        report.command("replSetStepDown", 5)
        three.wait_settled()
    client = three.client()
    client.t.get_collection("c", write_concern=WriteConcern(w=3)).insert_one({})
    for preference in (Secondary(tag_sets=[{"use": "report"}]), Nearest(tag_sets=[{"dc": "north"}, {"use": "report"}])):
        cursor = client.t.get_collection("c", read_preference=preference).find().batch_size(1)
        cursor.next()
        assert cursor.address[1] == report.port
        cursor.close()


@pytest.mark.parametrize("level", ["local", "available", "majority", "linearizable"])
def test_read_concerns_on_every_member(three, level):
    three.client().t.get_collection("c", write_concern=WriteConcern(w=3)).insert_one({"_id": f"level {level}"})
    three.wait_same_place()
    for member in three.members:
        read = lambda: member.direct.t.get_collection("c", read_concern=ReadConcern(level)).find_one({"_id": f"level {level}"})
        if level == "linearizable" and member.state() != "PRIMARY":
            with pytest.raises(PyMongoError) as failure:
                read()
            assert failure.value.details["code"] == 10107
        else:
            assert read(), member.name


def test_causal_sessions_read_their_writes_from_secondaries(three):
    client = three.client()
    with client.start_session(causal_consistency=True) as session:
        for i in range(100):
            client.t.causal.insert_one({"_id": i}, session=session)
            found = client.t.get_collection("causal", read_preference=ReadPreference.SECONDARY).find_one({"_id": i}, session=session)
            assert found, i


def test_secondaries_refuse_writes_and_unasked_reads(three):
    secondary = three.secondaries()[0]
    with pymongo.MongoClient(secondary.host, secondary.port, directConnection=True, retryWrites=False) as client:
        with pytest.raises(PyMongoError) as failure:
            client.t.c.insert_one({})
        assert failure.value.details["code"] == 10107
        with pytest.raises(PyMongoError) as failure:
            client.admin.command("replSetStepDown", 1)
        assert failure.value.details["code"] == 10107


def test_default_concerns_hold_for_all_members(three):
    client = three.client()
    primary = three.primary()

    def refused(code, **given):
        with pytest.raises(OperationFailure) as failure:
            client.admin.command("setDefaultRWConcern", 1, **given)
        assert failure.value.code == code, failure.value
    implicit = client.admin.command("getDefaultRWConcern")
    assert implicit["defaultReadConcern"] == {"level": "local"} and implicit["defaultReadConcernSource"] == "implicit"
    assert implicit["defaultWriteConcern"] == {"w": "majority", "wtimeout": 0} and implicit["defaultWriteConcernSource"] == "implicit"
    refused(2)
    refused(2, defaultReadConcern={"level": "linearizable"})
    refused(2, defaultReadConcern={"level": "snapshot"})
    refused(2, defaultWriteConcern={"w": 0})
    refused(100, defaultWriteConcern={"w": 9})
    refused(79, defaultWriteConcern={"w": "nowhere"})
    refused(40415, defaultWrites={"w": 1})
    with pytest.raises(OperationFailure) as failure:
        client.t.command("setDefaultRWConcern", 1, defaultReadConcern={"level": "local"})
    assert failure.value.code == 13
    with pytest.raises(NotPrimaryError):
        three.secondaries()[0].command("setDefaultRWConcern", defaultReadConcern={"level": "local"})

    client.admin.command("setDefaultRWConcern", 1, defaultReadConcern={"level": "majority"})
    made = client.admin.command("setDefaultRWConcern", 1, defaultWriteConcern={"w": 3, "wtimeout": 300})
    assert made["defaultReadConcern"] == {"level": "majority"} and made["defaultReadConcernSource"] == "global"
    assert made["defaultWriteConcern"] == {"w": 3, "wtimeout": 300} and made["defaultWriteConcernSource"] == "global"
    assert made["updateOpTime"] and made["updateWallClockTime"] and made["localUpdateWallClockTime"]
    three.wait_same_place()
    for member in three.members:
        there = member.command("getDefaultRWConcern")
        for field in ("defaultReadConcern", "defaultWriteConcern", "updateOpTime", "updateWallClockTime"):
            assert there[field] == made[field]
    held = three.secondaries()[0]
    held.hold()
    try:
        with pytest.raises(WriteConcernError) as failure:
            client.t.c.insert_one({"default": "three"})
        assert failure.value.code == 64
        client.t.get_collection("c", write_concern=WriteConcern(w=2)).insert_one({"its own": "two"})
    finally:
        held.let_go()
    refused(20, defaultWriteConcern={})
    # An empty read concern takes the default away.
    assert client.admin.command("setDefaultRWConcern", 1, defaultReadConcern={})["defaultReadConcernSource"] == "implicit"
    # The member that takes over knows it.
    primary = three.wait_settled()
    primary.command("replSetStepDown", 600)
    three.wait_settled()
    assert three.primary() is not primary
    assert three.primary().command("getDefaultRWConcern", inMemory=True)["defaultWriteConcern"] == {"w": 3, "wtimeout": 300}
    client.admin.command("setDefaultRWConcern", 1, defaultWriteConcern={"w": "majority"})
    primary.command("replSetFreeze", 0)


def test_default_concerns_that_are_set_at_once_are_both_kept(three):
    client = three.client()
    writes = [{"w": 2, "wtimeout": 0}, {"w": "majority", "wtimeout": 0}]
    with ThreadPoolExecutor(2) as pool:
        for turn in range(20):
            given = {"defaultReadConcern": {"level": ["local", "majority"][turn % 2]}, "defaultWriteConcern": writes[turn % 2]}
            for done in [pool.submit(client.admin.command, "setDefaultRWConcern", 1, **{name: given[name]}) for name in given]:
                done.result()
            now = client.admin.command("getDefaultRWConcern")
            assert {name: now[name] for name in given} == given
    client.admin.command("setDefaultRWConcern", 1, defaultReadConcern={})
