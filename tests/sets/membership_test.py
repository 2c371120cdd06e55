"""These tests check which members are in the set, in which role, and which one leads it."""
import concurrent.futures
import random
import threading

import pytest
from pymongo.errors import OperationFailure, PyMongoError, WriteConcernError
from pymongo.write_concern import WriteConcern

from tests.support.replica_set import ReplicaSet
from tests.support.waiting import wait_until

# Some tests are about elections that don't happen: no member may take another for gone because the machine is slow.
ELECTION_TIMEOUT = 2.5
SETTINGS = {"electionTimeoutMillis": int(ELECTION_TIMEOUT * 1000)}


@pytest.fixture(scope="module")
def three():
    with ReplicaSet(3, settings=SETTINGS) as running:
        yield running


def member_of(config, member):
    return next(one for one in config["members"] if one["host"] == member.name)


def test_three_members_are_initiated_and_seen_by_each_other(three):
    client = three.client()
    client.t.c.insert_one({"_id": 1})
    wait_until(lambda: len(client.secondaries) == 2)
    assert {client.primary} | client.secondaries == {("127.0.0.1", member.port) for member in three.members}
    for member in three.members:
        wait_until(lambda: all(one["health"] == 1 and one["state"] in (1, 2) for one in member.command("replSetGetStatus")["members"]))
        status = member.command("replSetGetStatus")
        assert [one["name"] for one in status["members"]] == [one.name for one in three.members]
        assert sum(one.get("self", False) for one in status["members"]) == 1
        assert status["votingMembersCount"] == 3 and status["majorityVoteCount"] == 2
        hello = member.command("hello")
        assert hello["hosts"] == [one.name for one in three.members] and hello["primary"] == three.primary().name
        # The last majority-committed write is an entry, with its own time.
        agreed = member.command("replSetGetStatus")["optimes"]
        entry = member.direct.local.oplog.rs.find_one({"ts": agreed["lastCommittedOpTime"]["ts"]})
        assert entry["wall"] == agreed["lastCommittedWallTime"] and entry["t"] == agreed["lastCommittedOpTime"]["t"]
    three.check_same()


def test_a_member_under_maintenance_is_not_read_from_and_goes_on_following(three):
    member = three.secondaries()[0]
    with pytest.raises(OperationFailure) as refused:
        member.command("replSetMaintenance", False)
    assert refused.value.code == 96
    with pytest.raises(OperationFailure) as refused:
        three.primary().command("replSetMaintenance", True)
    assert refused.value.code == 95
    member.command("replSetMaintenance", True)
    member.command("replSetMaintenance", True)
    assert member.state() == "RECOVERING"
    with pytest.raises(PyMongoError):
        member.direct.t.c.find_one()
    before = member.command("serverStatus")["opcountersRepl"]
    three.client().t.get_collection("kept", write_concern=WriteConcern(w=3)).insert_one({"_id": 1})
    after = member.command("serverStatus")["opcountersRepl"]
    assert after["insert"] >= before["insert"] + 1
    member.command("replSetMaintenance", False)
    assert member.state() == "RECOVERING"
    member.command("replSetMaintenance", False)
    wait_until(lambda: member.state() == "SECONDARY")
    assert member.direct.t.kept.find_one() == {"_id": 1}


def test_a_member_that_copies_the_data_shows_how_far_it_is(three):
    primary = three.primary()
    # A member that waits for the source looks like one that copies. The source lends its files once at a time, so a backup holds the copy up.
    backup = primary.command("createBackup", cursor={"batchSize": 1})["cursor"]
    another = three.start_another()
    three.reconfigure(lambda config: config["members"].append({"_id": 3, "host": another.name}))

    def copying():
        try:
            return [one for one in another.command("currentOp")["inprog"] if one["desc"] == "initial sync"]
        except PyMongoError:  # the member starts anew in the middle
            return []

    shown = wait_until(copying)[0]
    assert shown["active"] and shown["secs_running"] >= 0 and shown["type"] == "op" and not shown["waitingForLock"]
    status = another.command("replSetGetStatus")["initialSyncStatus"]
    assert status["failedInitialSyncAttempts"] == 0 and status["totalInitialSyncElapsedMillis"] >= 0 and status["initialSyncAttempts"] == []
    database, _, collection = backup["ns"].partition(".")
    primary.command("killCursors", collection, database=database, cursors=[backup["id"]])
    three.wait_settled()
    assert not copying()
    three.leave(another)


def test_what_all_members_acknowledged_shows_on_all(three):
    for journal in (None, True):
        everywhere = three.client().t.get_collection("everywhere", write_concern=WriteConcern(w=3, j=journal))
        for n in range(100):
            written = everywhere.insert_one({"n": n}).inserted_id
            assert all(member.direct.t.everywhere.find_one({"_id": written}) for member in three.members)


def test_notes_in_the_log_and_what_became_of_the_configuration(three):
    primary, secondary = three.primary(), three.secondaries()[0]
    wait_until(lambda: primary.command("replSetGetConfig", commitmentStatus=True)["commitmentStatus"])
    with pytest.raises(PyMongoError) as refused:
        secondary.command("replSetGetConfig", commitmentStatus=True)
    assert refused.value.details["code"] == 10107
    noted = primary.command("appendOplogNote", data={"from": "the test"})
    assert primary.direct.local.oplog.rs.find_one({"ts": noted["operationTime"]})["o"] == {"from": "the test"}
    with pytest.raises(PyMongoError) as refused:
        secondary.command("appendOplogNote", data={"from": "the test"})
    assert refused.value.details["code"] == 10107
    three.check_same()


def test_members_are_added_in_every_role_and_removed(three):
    plain = three.start_another()
    three.client().t.c.insert_many([{"n": i} for i in range(100)])
    three.reconfigure(lambda c: c["members"].append({"_id": 10, "host": plain.name, "hidden": True, "priority": 0, "votes": 0, "tags": {"use": "report"}}))
    three.wait_settled()
    assert plain.name not in three.primary().command("hello")["hosts"] and plain.command("hello")["hidden"]
    three.wait_same_place()
    assert plain.direct.t.c.count_documents({"n": {"$exists": True}}) == 100
    three.check_same()
    assert three.primary().command("replSetGetStatus")["votingMembersCount"] == 3

    def shown(config):
        member_of(config, plain).update(hidden=False, votes=1)
    three.reconfigure(shown)
    wait_until(lambda: plain.name in (three.primary().command("hello").get("passives") or []))
    three.reconfigure(without(plain))
    wait_until(lambda: plain.state() == "REMOVED")
    hello = plain.command("hello")
    assert "hosts" not in hello and not hello["secondary"] and not hello["isWritablePrimary"]
    with pytest.raises(PyMongoError):
        plain.direct.t.c.insert_one({})

    three.reconfigure(lambda c: c["members"].append({"_id": 10, "host": plain.name}))
    three.wait_settled()
    three.check_same()
    three.reconfigure(without(plain))
    three.members.remove(plain)
    plain.close()
    arbiter = three.start_another()
    three.reconfigure(lambda c: c["members"].append({"_id": 12, "host": arbiter.name, "arbiterOnly": True}))
    wait_until(lambda: arbiter.state() == "ARBITER")
    assert arbiter.name in three.primary().command("hello")["arbiters"] and arbiter.command("hello")["arbiterOnly"]
    with pytest.raises(PyMongoError):
        arbiter.direct.t.c.find_one()

    three.reconfigure(without(arbiter))
    three.members.remove(arbiter)
    arbiter.close()
    three.check_same()
    three.check_nobody_failed()


def test_a_member_comes_back_under_another_id(three):
    plain = three.start_another()
    three.reconfigure(lambda c: c["members"].append({"_id": 20, "host": plain.name}))
    three.wait_settled()
    three.client().t.c.insert_one({"_id": "before"})
    three.wait_same_place()
    for another in (21, 22):
        three.reconfigure(without(plain))
        wait_until(lambda: plain.state() == "REMOVED")
        three.client().t.c.insert_one({"away": another})
        if another == 22:  # a member that was removed remembers it
            plain.stop()
            plain.start()
            wait_until(lambda: plain.state() == "REMOVED")
        three.reconfigure(lambda c: c["members"].append({"_id": another, "host": plain.name}))
        wait_until(lambda: plain.state() == "SECONDARY")
        three.wait_settled()
        three.check_same()
        wait_until(lambda: any(one["name"] == plain.name and one["_id"] == another for one in plain.command("replSetGetStatus")["members"]))
    # It votes: with it, three of four do.
    wait_until(lambda: any('"member":23,"change":"votes"' in line for member in three.members for line in member.log_lines(7100034)), three.tails)
    three.wait_membership()
    other = three.secondaries()[0]
    if other is plain:
        other = three.secondaries()[1]
    other.hold()
    try:
        three.client().t.c.insert_one({"_id": "with its vote"})
    finally:
        other.let_go()
    three.reconfigure(without(plain))
    wait_until(lambda: plain.state() == "REMOVED")
    # An arbiter has no data, so the member is added as another one, and later as itself again.
    three.reconfigure(lambda c: c["members"].append({"_id": 23, "host": plain.name, "arbiterOnly": True}))
    wait_until(lambda: plain.state() == "ARBITER")
    three.reconfigure(without(plain))
    wait_until(lambda: plain.state() == "REMOVED")
    three.reconfigure(lambda c: c["members"].append({"_id": 24, "host": plain.name}))
    wait_until(lambda: plain.state() == "SECONDARY")
    three.check_same()
    three.reconfigure(without(plain))
    wait_until(lambda: plain.state() == "REMOVED")
    three.members.remove(plain)
    plain.close()
    three.check_nobody_failed()


def without(member):
    def change(config):
        config["members"] = [one for one in config["members"] if one["host"] != member.name]
    return change


def test_the_member_with_the_highest_priority_takes_over(three):
    primary = three.primary()
    heir = three.secondaries()[0]
    three.reconfigure(lambda config: member_of(config, heir).update(priority=5))
    wait_until(lambda: heir.state() == "PRIMARY")
    # A member that may not lead never does.
    never = next(member for member in three.members if member not in (primary, heir))

    def change(config):
        member_of(config, heir).update(priority=1)
        member_of(config, never).update(priority=0)
    three.reconfigure(change)
    three.wait_settled()
    heir.command("replSetStepDown", 600)
    wait_until(lambda: primary.state() == "PRIMARY")
    three.wait_settled()
    three.reconfigure(lambda config: member_of(config, never).update(priority=1))
    assert heir.command("replSetFreeze", 0)["ok"] == 1
    three.check_same()


def test_a_member_of_priority_0_that_alone_has_the_newest_writes_hands_them_on():
    """The one that may be primary lacks them, and can't be elected by the one that has them."""
    with ReplicaSet([{"priority": 2}, {}, {"priority": 0, "hidden": True}], settings={"electionTimeoutMillis": 1000}) as three:
        leader, lagging, hidden = three.members
        wait_until(lambda: leader.state() == "PRIMARY")
        three.wait_same_place()
        lagging.hold()
        acknowledged = three.client().t.get_collection("c", write_concern=WriteConcern("majority"))
        acknowledged.insert_many([{"_id": number} for number in range(100)])
        leader.kill()
        lagging.let_go()
        wait_until(lambda: lagging.state() == "PRIMARY", lambda: f"{lagging.state()} {hidden.state()}\n{three.tails()}")
        assert hidden.state() == "SECONDARY"
        assert sorted(one["_id"] for one in lagging.direct.t.c.find()) == list(range(100))
        wait_until(lambda: hidden.command("hello").get("primary") == lagging.name)
        leader.start()
        wait_until(lambda: leader.state() == "PRIMARY")  # it has the higher priority
        three.wait_same_place()
        three.check_same()


def test_a_member_that_stepped_down_or_is_frozen_does_not_stand(three):
    primary = three.wait_settled()
    others = three.secondaries()
    assert others[0].command("replSetFreeze", 600)["ok"] == 1
    primary.command("replSetStepDown", 600)
    wait_until(lambda: others[1].state() == "PRIMARY")
    for member in three.members:
        if member.state() == "SECONDARY":
            member.command("replSetFreeze", 0)


def test_a_better_member_that_is_frozen_does_not_hold_up_writes(three):
    primary = three.wait_settled()
    better = three.secondaries()[0]
    assert better.command("replSetFreeze", 600)["ok"] == 1
    three.reconfigure(lambda config: member_of(config, better).update(priority=5))
    # This is long enough for the primary to look for a better member several times.
    three.let_pass(5, still=lambda: primary.command("hello")["isWritablePrimary"])
    assert better.command("replSetFreeze", 0)["ok"] == 1
    wait_until(lambda: better.state() == "PRIMARY")
    three.reconfigure(lambda config: member_of(config, better).update(priority=1))
    three.wait_settled()


def test_a_step_down_waits_for_a_frozen_member_and_lets_clients_write_meanwhile(three):
    primary = three.wait_settled()
    others = three.secondaries()
    for member in others:
        assert member.command("replSetFreeze", 600)["ok"] == 1

    def step_down():
        with primary.client(directConnection=True) as own:
            own.admin.command("replSetStepDown", 600, secondaryCatchUpPeriodSecs=300)

    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(step_down)
        running = {"aggregate": 1, "pipeline": [{"$currentOp": {}}, {"$match": {"command.replSetStepDown": 600}}], "cursor": {}}
        wait_until(lambda: waiting.done() or primary.direct.admin.command(running)["cursor"]["firstBatch"])
        for _ in range(10):
            primary.direct.t.meanwhile.insert_one({})
        assert not waiting.done()
        for member in others:
            member.command("replSetFreeze", 0)
        waiting.result()
    wait_until(lambda: any(member.state() == "PRIMARY" for member in others))
    primary.command("replSetFreeze", 0)
    three.check_same()


def test_a_step_down_with_frozen_members_alone_leaves_no_primary_until_one_stands(three):
    primary = three.wait_settled()
    others = three.secondaries()
    for member in others:
        assert member.command("replSetFreeze", 600)["ok"] == 1
    primary.direct.t.get_collection("frozen").insert_one({"_id": "before"})
    three.wait_same_place()
    primary.command("replSetStepDown", 600, secondaryCatchUpPeriodSecs=1)
    wait_until(lambda: primary.state() == "SECONDARY")
    three.let_pass(2 * ELECTION_TIMEOUT, still=lambda: [member.state() for member in three.members] == ["SECONDARY"] * 3)
    others[1].command("replSetFreeze", 0)
    wait_until(lambda: others[1].state() == "PRIMARY")
    others[1].direct.t.frozen.insert_one({"_id": "after"})
    for member in (primary, others[0]):
        member.command("replSetFreeze", 0)
    three.check_same()


def test_the_error_of_a_write_that_a_step_down_interrupts_has_a_newer_topology_version(three):
    primary = three.wait_settled()
    for first in range(0, 100_000, 10_000):
        primary.direct.t.many.insert_many([{"_id": i, "n": 0} for i in range(first, first + 10_000)])
    known = primary.command("hello")["topologyVersion"]["counter"]
    failure, hellos, ended = [], [], threading.Event()

    def write():
        try:
            while True:
                primary.direct.t.many.update_many({}, {"$inc": {"n": 1}})
        except PyMongoError as error:
            failure.append(error)

    def look():
        while not ended.is_set():
            hellos.append(primary.command("hello"))
    writer, looker = threading.Thread(target=write), threading.Thread(target=look)
    writer.start()
    running = {"aggregate": 1, "pipeline": [{"$currentOp": {}}, {"$match": {"op": "update", "ns": "t.many"}}], "cursor": {}}
    wait_until(lambda: primary.direct.admin.command(running)["cursor"]["firstBatch"])
    looker.start()
    wait_until(lambda: any(hello["isWritablePrimary"] for hello in hellos))
    primary.command("replSetStepDown", 600)
    wait_until(lambda: primary.state() == "SECONDARY")
    ended.set()
    writer.join()
    looker.join()
    # A driver that knows this version already would continue to take this member for the primary.
    reported = failure[0].details["topologyVersion"]["counter"]
    assert failure[0].details["code"] == 11602 and reported > known
    assert not [hello for hello in hellos if hello["topologyVersion"]["counter"] >= reported and hello["isWritablePrimary"]]
    assert [hello for hello in hellos if hello["isWritablePrimary"]] and not primary.command("hello")["isWritablePrimary"]
    primary.command("replSetFreeze", 0)


def test_a_write_whose_members_did_not_answer_before_a_step_down_says_so(three):
    primary = three.wait_settled()
    held = three.secondaries()[0]
    held.hold()
    known = primary.command("hello")["topologyVersion"]["counter"]
    reply = []
    waiting = {"insert": "waits", "documents": [{"_id": 1}], "writeConcern": {"w": 3}}
    writer = threading.Thread(target=lambda: reply.append(primary.direct.t.command(waiting)))
    writer.start()
    wait_until(lambda: primary.direct.t.waits.count_documents({}) == 1)
    primary.command("replSetStepDown", 600)
    writer.join()
    held.let_go()
    assert reply[0]["n"] == 1 and reply[0]["writeConcernError"]["code"] == 189 and reply[0]["topologyVersion"]["counter"] > known
    three.wait_settled()
    primary.command("replSetFreeze", 0)


def test_configurations_that_cannot_be_are_refused(three):
    config = three.config()
    primary = three.primary()

    def refused(change, code):
        wrong = {**config, "version": config["version"] + 1, "members": [dict(one) for one in config["members"]]}
        change(wrong)
        with pytest.raises(OperationFailure) as failure:
            primary.command("replSetReconfig", wrong)
        assert failure.value.code == code, failure.value
    refused(lambda c: c.update(version=config["version"]), 103)
    refused(lambda c: c["members"].append({"_id": 9, "host": config["members"][0]["host"]}), 93)
    refused(lambda c: c["members"][1].update(_id=0), 93)
    refused(lambda c: [one.update(votes=0, priority=0) for one in c["members"]], 93)
    secondary = three.secondaries()[0]
    with pytest.raises(PyMongoError) as failure:
        secondary.command("replSetReconfig", {**config, "version": config["version"] + 1})
    assert failure.value.details["code"] == 10107


def test_five_members_go_on_without_two():
    with ReplicaSet(5) as five:
        client = five.client(retryWrites=True)
        client.t.c.insert_one({"_id": 0})
        primary = five.primary()
        other = five.secondaries()[0]
        primary.kill()
        other.kill()
        client.t.c.insert_one({"_id": 1})
        assert client.t.c.count_documents({}) == 2
        primary.start()
        other.start()
        five.check_same()
        five.check_nobody_failed()


def test_one_of_two_and_an_arbiter_lead_on_but_commit_nothing_by_majority():
    with ReplicaSet([{}, {}, {"arbiterOnly": True}], settings=SETTINGS) as small:
        client = small.client()
        client.t.c.insert_one({"_id": 0})
        primary, secondary = small.primary(), small.secondaries()[0]
        secondary.kill()
        small.let_pass(2.5 * ELECTION_TIMEOUT, still=lambda: primary.state() == "PRIMARY")
        client.t.get_collection("c", write_concern=WriteConcern(w=1)).insert_one({"_id": 1})
        # The arbiter has no data, so two members are a majority of those with data.
        with pytest.raises(WriteConcernError) as failure:
            client.t.get_collection("c", write_concern=WriteConcern(w=2, wtimeout=300)).insert_one({"_id": 2})
        assert failure.value.code == 64 and failure.value.details["errInfo"]["wtimeout"] is True
        secondary.start()
        small.wait_settled()
        client.t.c.insert_one({"_id": 3})
        small.check_same()
        primary.kill()
        new = small.primary()
        assert new is secondary
        client.t.get_collection("c", write_concern=WriteConcern(w=1)).insert_one({"_id": 5})
        primary.start()
        small.wait_settled()
        client.t.c.insert_one({"_id": 6})  # it is majority-committed again
        small.check_same()
        assert client.t.c.count_documents({}) == 6
        small.check_nobody_failed()


def count(member):
    try:
        return member.direct.t.c.count_documents({})
    except PyMongoError:
        return None


def force(member, members):
    """A forced configuration of these alone, once the member takes it: it may still believe that others are there."""
    config = member.command("replSetGetConfig")["config"]
    names = [one.name for one in members]
    config["members"] = [one for one in config["members"] if one["host"] in names]

    def taken():
        try:
            return member.command("replSetReconfig", config, force=True)
        except OperationFailure as failure:
            if "primary" not in str(failure):
                raise
            return None

    return wait_until(taken, member.tail, pause=0.2)


def test_a_member_without_its_majority_goes_on_by_force():
    with ReplicaSet(5) as five:
        client = five.client()
        client.t.c.insert_one({"_id": 0})
        five.wait_same_place()
        behind, ahead = five.secondaries()[:2]
        behind.hold()
        # This is more than can be on its way to a member that is stopped.
        client.t.c.insert_many([{"_id": i, "pad": random.randbytes(60_000)} for i in range(1, 200)])
        # The majority that acknowledged this may be the primary and the two other members.
        wait_until(lambda: count(ahead) == 200)
        lost = [member for member in five.members if member not in (behind, ahead)]
        for member in lost:
            member.kill()
        behind.let_go()
        # No member votes for one that has less.
        with pytest.raises(OperationFailure) as failure:
            force(behind, [behind, ahead])
        assert failure.value.code == 103 and f"{ahead.name} has more of the log" in str(failure.value)
        force(ahead, [behind, ahead])
        wait_until(lambda: ahead.state() == "PRIMARY")
        # The other member copies the data, and doesn't ask for writes that only its own set had.
        wait_until(lambda: count(behind) == count(ahead) == 200, lambda: f"{count(behind)} and {count(ahead)} documents; {behind.tail()}")
        config = ahead.command("replSetGetConfig")["config"]
        assert [one["host"] for one in config["members"]] == [one.name for one in five.members if one in (behind, ahead)]
        assert config["version"] > 10_000 and config["term"] > 10_000
        survivors = five.client()
        survivors.t.c.insert_one({"_id": "after"})
        five.check_same()
        # Members that come back have no vote, and no data of the set,
        for member in lost:
            member.start()
        for member in lost:
            wait_until(lambda: member.state() == "REMOVED")
        leads = wait_until(lambda: [member for member in (ahead, behind) if member.state() == "PRIMARY"])[0]
        # until they are added again, as copies.
        config = leads.command("replSetGetConfig")["config"]
        leads.command("replSetReconfig", {**config, "version": config["version"] + 1,
                                          "members": config["members"] + [{"_id": 30, "host": lost[0].name}]})
        wait_until(lambda: count(lost[0]) == 201)
        five.wait_same_place([ahead, behind, lost[0]])
        five.check_nobody_failed()


def test_a_forced_configuration_outlasts_those_that_the_log_has():
    with ReplicaSet(3) as three:
        first, lost = three.primary(), three.secondaries()
        client = three.client()
        for priority in (2, 3, 4):
            three.reconfigure(lambda config: member_of(config, first).update(priority=priority))
            client.t.get_collection("c", write_concern=WriteConcern(w=3)).insert_one({"_id": priority})
        for member in lost:
            member.kill()
        wait_until(lambda: first.state() == "SECONDARY")
        force(first, [first])
        wait_until(lambda: first.state() == "PRIMARY")
        # It has applied its log again by then, with the entries of former configurations.
        client.t.c.insert_one({"_id": "alone"})
        config = first.command("replSetGetConfig")["config"]
        assert [one["host"] for one in config["members"]] == [first.name] and config["version"] > 10_000
        assert first.direct.t.c.count_documents({}) == 4
        first.kill()
        first.start()
        wait_until(lambda: first.state() == "PRIMARY")
        assert first.command("replSetGetConfig")["config"]["members"] == config["members"]


def test_a_secondary_that_has_a_primary_takes_no_force(three):
    secondary = three.secondaries()[0]
    config = three.config()
    config["version"] += 1
    wait_until(lambda: any(one["state"] == 1 for one in secondary.command("replSetGetStatus")["members"]))
    with pytest.raises(OperationFailure) as failure:
        secondary.command("replSetReconfig", config, force=True)
    assert failure.value.code == 103 and "is primary; reconfigure there" in str(failure.value)
