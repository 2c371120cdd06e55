"""Members are killed, held up, restarted and added while clients write."""
import datetime
import itertools
import random
import socket
import uuid

import bson
import pytest
from pymongo.errors import NotPrimaryError, PyMongoError
from pymongo.write_concern import WriteConcern

from tests.support.palimpsest import raw_command, receive_raw, send_raw
from tests.support.replica_set import SCALE, Load
from tests.support.waiting import DEADLINE, wait_until


def test_members_are_killed_under_load(three):
    with Load(three) as load:
        for round in range(int(2 * SCALE)):
            load.wait_for_more()
            victim = three.primary() if round % 3 != 1 else three.secondaries()[0]
            victim.kill()
            load.wait_for_more()  # the others go on
            victim.start()
            three.wait_settled()
        load.wait_for_more()
    assert not load.errors, load.errors
    assert len(load.acknowledged) > 50
    three.check_same()
    load.check_kept()


def test_all_members_are_killed_at_once(three):
    with Load(three) as load:
        load.wait_for_more()
        for member in three.members:
            member.kill()
        for member in three.members:
            member.start()
        three.wait_settled()
        load.wait_for_more()
    three.check_same()
    load.check_kept()


def test_a_rolling_restart_shows_no_error(three):
    with Load(three) as load:
        for member in three.members:
            load.wait_for_more()
            assert member.stop() == 0
            member.start()
            three.wait_settled()
    assert not load.errors, load.errors
    three.check_same()
    load.check_kept()


def test_a_held_up_primary_shows_nothing_stale(three):
    client = three.client()
    client.t.get_collection("stale", write_concern=WriteConcern(w=3)).insert_many([{"_id": 0, "n": "old"}, {"_id": 1, "n": "old"}])

    def find(level, **more):
        return {"find": "stale", "readConcern": {"level": level}, "$db": "t", **more}

    # The read preference is "primary", except for the getMore, which only asks the member that has the cursor.
    reads = {level: find(level, filter={"_id": 1}) for level in ("linearizable", "majority")}
    reads["next batch"] = {"getMore": None, "collection": "stale", "$db": "t"}
    tries = itertools.count()

    def changed_alone():
        """A primary, held after a change that the others don't answer, and the lines to it. None if it had stepped down before the change."""
        old = three.wait_settled()
        others = [member for member in three.members if member is not old]
        lines = {how: socket.create_connection((old.host, old.port), timeout=DEADLINE) for how in reads}
        for how, line in lines.items():
            send_raw(line, find("majority", sort={"_id": 1}, batchSize=1))
            reply = receive_raw(line)
            if how == "next batch" and reply["ok"] == 1:
                reads[how]["getMore"] = bson.Int64(reply["cursor"]["id"])
        for other in others:
            other.hold()
        alone = old.direct.t.get_collection("stale", write_concern=WriteConcern(w=1))
        try:
            # An earlier try may have left its change: one that changed nothing would have no entry.
            alone.update_one({"_id": 1}, {"$set": {"n": f"changed only here {next(tries)}"}})
            old.hold()
            return old, lines
        except NotPrimaryError:
            for line in lines.values():
                line.close()
            return None
        finally:
            for other in others:
                other.let_go()

    old, lines = wait_until(changed_alone, three.tails)
    three.primary()
    client.t.stale.update_one({"_id": 1}, {"$set": {"n": "new"}}, upsert=True)
    # A member that still believes that it leads answers this first when it runs again.
    for how, line in lines.items():
        send_raw(line, reads[how])
    old.let_go()
    replies = {}
    for how, line in lines.items():
        try:
            replies[how] = receive_raw(line)
        except (EOFError, ConnectionError):  # it begins anew where it has something to take back
            pass
        line.close()
    three.check_same()
    # The others may have had the change in their sockets when they were stopped. Then the set has it, and a secondary may show
    # it.
    entries = client.local.oplog.rs.find({"ns": "t.stale", "$or": [{"o._id": 1}, {"o2._id": 1}]})
    agreed = [entry["o"]["n"] if entry["op"] == "i" else entry["o"]["diff"]["u"]["n"] for entry in entries]
    assert agreed[0] == "old" and agreed[-1] == "new", agreed
    for how, reply in replies.items():
        if reply["ok"] == 0:
            continue
        found = reply["cursor"]["nextBatch" if how == "next batch" else "firstBatch"][-1]["n"]
        assert found in (agreed if how == "next batch" else ["new"]), (how, reply)


def test_schemas_times_and_sizes_follow_through_a_fail_over(three):
    client = three.client()
    database = client.schema
    database.create_collection("capped", capped=True, size=40960, max=50)
    database.timed.create_index("at", expireAfterSeconds=50)
    database.plain.insert_many([{"_id": i, "n": i % 7, "text": f"text {i}"} for i in range(300)])
    database.plain.create_index([("n", 1), ("text", -1)], name="both", unique=False)
    database.plain.create_index("text", name="unique", unique=True, partialFilterExpression={"n": {"$gt": 2}})
    database.going.insert_one({})
    database.going.drop()
    database.named.insert_many([{"_id": i} for i in range(20)])
    database.named.rename("renamed")
    database.command("collMod", "timed", index={"keyPattern": {"at": 1}, "expireAfterSeconds": 100})
    database.capped.insert_many([{"_id": i, "text": "x" * 100} for i in range(200)])
    old = three.primary()
    old.kill()
    database.capped.insert_many([{"_id": i, "text": "y" * 100} for i in range(1000, 1100)])
    database.plain.drop_index("both")
    database.plain.update_many({"n": 3}, {"$set": {"seen": True}})
    database.plain.delete_many({"n": 4})
    client.gone.c.insert_one({})
    client.drop_database("gone")
    old.start()
    three.check_same()
    for member in three.members:
        own = member.direct.schema
        assert set(own.plain.index_information()) == {"_id_", "unique"} and "renamed" in own.list_collection_names()
        assert "named" not in own.list_collection_names() and "going" not in own.list_collection_names()
        assert own.capped.count_documents({}) == 50
        options = {one["name"]: one["options"] for one in own.list_collections()}
        assert options["capped"]["max"] == 50 and own.timed.index_information()["at_1"]["expireAfterSeconds"] == 100
        assert "gone" not in member.direct.list_database_names()


def test_a_retried_statement_runs_once_across_a_fail_over(three):
    client = three.client()
    client.t.retried.insert_one({"_id": 1, "n": 0})
    session = {"id": bson.Binary(uuid.uuid4().bytes, 4)}
    commands = [
        {"insert": "retried", "documents": [{"a": 1}, {"a": 2}]},
        {"update": "retried", "updates": [{"q": {"_id": 1}, "u": {"$inc": {"n": 1}}}]},
        {"findAndModify": "retried", "query": {"_id": 1}, "update": {"$inc": {"n": 10}}, "new": True},
        {"delete": "retried", "deletes": [{"q": {"a": 1}, "limit": 1}]},
    ]

    def run(member, number, command):
        return raw_command(member.host, member.port, {**command, "lsid": session, "txnNumber": bson.Int64(number), "$db": "t"})
    old = three.primary()
    first = []
    for number, command in enumerate(commands):
        first.append(run(old, number, command))
        if number < len(commands) - 1:
            assert run(old, number, command).get("value") == first[-1].get("value")
    old.kill()
    new = three.primary()
    again = run(new, len(commands) - 1, commands[-1])
    assert again["n"] == first[-1]["n"] == 1 and again["retriedStmtIds"] == [0]
    assert run(new, 0, commands[0])["code"] == 225
    assert client.t.retried.find_one({"_id": 1})["n"] == 11 and client.t.retried.count_documents({}) == 2
    old.start()
    three.check_same()


def test_a_member_joins_while_writes_go_on(three):
    with Load(three) as load:
        fourth = three.join()
        load.wait_for_more()
    assert not load.errors, load.errors
    three.check_same()
    load.check_kept()

    three.leave(fourth)


@pytest.mark.long_run
def test_expired_documents_go_on_all_members(three):
    client = three.client()
    client.t.timed.create_index("at", expireAfterSeconds=0)
    client.t.timed.insert_many([{"at": datetime.datetime(2020, 1, 1)} for _ in range(20)])
    wait_until(lambda: client.t.timed.count_documents({}) == 0, seconds=300, pause=1)  # the monitor comes by once a minute
    three.check_same()


@pytest.mark.long_run
def test_a_member_that_is_away_for_longer_than_the_log_copies_anew(three):
    away = three.secondaries()[0]
    away.kill()
    client = three.client()
    copied = len(away.log_lines(21163))  # when it joined
    for i in range(330):  # the log is kept for members that lag up to 256 MB
        client.t.big.insert_one({"_id": i, "data": random.randbytes(1 << 20)})
    for member in three.members:
        if member is not away:
            member.command("fsync")
    # The thread that shortens the log every five seconds writes an entry when nobody has written for ten: with the second one it has been there.
    primary = three.primary()
    late = primary.command("replSetGetStatus")["date"] + datetime.timedelta(seconds=10)
    wait_until(lambda: primary.direct.local.oplog.rs.count_documents({"op": "n", "wall": {"$gte": late}}) >= 2, three.tails)
    away.start()
    # It shows itself as a secondary until the primary tells it that its log is too old.
    wait_until(lambda: len(away.log_lines(21163)) > copied, lambda: f"it was not copied\n{three.tails()}")
    three.wait_settled()
    three.check_same()


@pytest.mark.long_run
def test_many_fail_overs_leave_no_threads_and_connections_behind(three):
    three.wait_settled()
    client = three.client()
    client.t.c.insert_one({})
    before = None
    for i in range(int(10 * SCALE)):
        try:
            three.wait_settled().command("replSetStepDown", 1)
        except PyMongoError:
            pass
        three.wait_settled()
        client.t.c.insert_one({})
        if i == 2:
            before = [(member.threads(), member.descriptors()) for member in three.members]
    for (threads, descriptors), member in zip(before, three.members):
        wait_until(lambda: member.threads() <= threads + 4 and member.descriptors() <= descriptors + 10,
                   lambda: (member.name, before, member.threads(), member.descriptors()))
    three.check_same()
