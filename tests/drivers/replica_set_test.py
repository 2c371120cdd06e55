"""These tests use a replica set of one member as drivers do: discovery, sessions, retries, concerns."""
import threading
import time
import uuid

import bson
import pymongo
import pytest
from pymongo.errors import NotPrimaryError, OperationFailure, PyMongoError, WriteConcernError
from pymongo.read_concern import ReadConcern
from pymongo.write_concern import WriteConcern

from tests.support.palimpsest import Server, raw_command
from tests.support.retries import Retries
from tests.support.waiting import DEADLINE, wait_until


def member(**options):
    return Server("--replSet", "rs0", "--setParameter", "enableTestCommands=1", **options)


def direct(server, **options):
    return pymongo.MongoClient("127.0.0.1", server.port, directConnection=True, serverSelectionTimeoutMS=DEADLINE * 1000, **options)


def set_client(server, **options):
    return pymongo.MongoClient(f"mongodb://localhost:{server.port}/?replicaSet=rs0", serverSelectionTimeoutMS=DEADLINE * 1000, **options)


def refused(call, code):
    with pytest.raises((OperationFailure, NotPrimaryError)) as failure:
        call()
    assert failure.value.details["code"] == code, failure.value
    return failure.value


@pytest.fixture(scope="module")
def server():
    with member() as running:
        client = direct(running)
        client.admin.command("replSetInitiate")
        client.close()
        yield running


@pytest.fixture
def client(server):
    client = set_client(server)
    client.drop_database("t")
    yield client
    direct(server).admin.command("configureFailPoint", "failCommand", mode="off")
    client.close()


def lsid():
    return {"id": bson.Binary(uuid.uuid4().bytes, 4)}


def run(client, command, session, number):
    """A command with session and number, as a driver's retry would send it again."""
    return raw(client.primary[1], {**command, "lsid": session, "txnNumber": bson.Int64(number), "$db": "t"})


def raw(port, command):
    return raw_command("127.0.0.1", port, command)


# ---- before and after initiation --------------------------------------------------------------

def test_before_it_is_initiated_it_says_so_and_takes_no_writes():
    with member() as server:
        client = direct(server, retryWrites=False, retryReads=False)
        hello = client.admin.command("hello")
        assert hello["isreplicaset"] and not hello["isWritablePrimary"] and not hello["secondary"]
        assert hello["info"] == "Does not have a valid replica set config" and "setName" not in hello
        refused(lambda: client.admin.command("replSetGetStatus"), 94)
        refused(lambda: client.admin.command("replSetGetConfig"), 94)
        refused(lambda: client.t.c.insert_one({}), 10107)
        refused(lambda: client.t.c.find_one(), 13436)
        for config, code in [
            ({"_id": "other", "members": [{"_id": 0, "host": f"localhost:{server.port}"}]}, 93),
            ({"_id": "rs0", "members": [{"_id": 0, "host": f"localhost:{server.port + 1}"}]}, 93),
            ({"_id": "rs0", "members": []}, 93),
            ({"_id": "rs0"}, 40414),
            ({"_id": "rs0", "version": 2, "members": [{"_id": 0, "host": f"localhost:{server.port}"}]}, 103),
            ({"_id": "rs0", "members": [{"_id": 0, "host": f"localhost:{server.port}", "priority": 0}]}, 93),
            ({"_id": "rs0", "members": [{"_id": 0, "host": f"localhost:{server.port}", "votes": 2}]}, 93),
            ({"_id": "rs0", "members": [{"_id": 0, "host": f"localhost:{server.port}", "colour": 1}]}, 40415),
            ({"_id": "rs0", "members": [{"_id": 0, "host": f"localhost:{server.port}", "horizons": {"a": "b:1"}}]}, 93),
            ({"_id": "rs0", "members": [{"_id": 0, "host": f"localhost:{server.port}"}, {"_id": 1, "host": "localhost:1"}]}, 74),
        ]:
            refused(lambda: client.admin.command("replSetInitiate", config), code)
        assert client.admin.command("hello").get("setName") is None
        config = {"_id": "rs0", "members": [{"_id": 7, "host": f"localhost:{server.port}", "tags": {"dc": "east"}}], "settings": {"electionTimeoutMillis": 500}}
        client.admin.command("replSetInitiate", config)
        hello = client.admin.command("hello")
        assert hello["isWritablePrimary"] and hello["setName"] == "rs0" and hello["tags"] == {"dc": "east"}
        assert hello["hosts"] == [hello["me"]] == [hello["primary"]] == [f"localhost:{server.port}"]
        kept = client.admin.command("replSetGetConfig")["config"]
        assert kept["members"][0]["_id"] == 7 and kept["settings"]["electionTimeoutMillis"] == 500 and kept["term"] == 1
        assert client.local.system.replset.find_one()["_id"] == "rs0"
        refused(lambda: client.admin.command("replSetInitiate"), 23)
        client.close()


def test_it_becomes_primary_by_itself_after_a_restart_in_a_later_term():
    with member() as server:
        direct(server).admin.command("replSetInitiate")
        client = set_client(server)
        client.t.c.insert_one({"_id": 1})
        term = client.admin.command("replSetGetStatus")["term"]
        for stop in (server.stop, server.kill):
            stop()
            server.start()
            client.t.c.insert_one({"_id": bson.ObjectId()})
            status = client.admin.command("replSetGetStatus")
            assert status["myState"] == 1 and status["term"] == term + 1
            term += 1
        entries = list(client.local.oplog.rs.find())
        assert [e["t"] for e in entries] == sorted(e["t"] for e in entries) and entries[-1]["t"] == term
        client.close()


# A member that was killed has the configuration in its log alone.
@pytest.mark.parametrize("end", [Server.stop, Server.kill])
def test_a_directory_of_another_set_is_refused(end):
    with member() as server:
        direct(server).admin.command("replSetInitiate")
        end(server)
        other = Server("--replSet", "other", dbpath=server.dbpath)
        other.start(wait=False)
        assert other.ended() == 100 and "rs0" in other.tail()


def test_a_configuration_that_was_acknowledged_survives_a_kill():
    with member() as server:
        direct(server).admin.command("replSetInitiate")
        for version in range(2, 5):
            client = direct(server)
            wait_until(lambda: client.admin.command("hello")["isWritablePrimary"])
            config = client.admin.command("replSetGetConfig")["config"]
            config["version"] = version
            config["members"][0]["tags"] = {"round": str(version)}
            client.admin.command("replSetReconfig", config)
            server.kill()
            server.start()
            found = direct(server).admin.command("replSetGetConfig")["config"]
            assert (found["version"], found["members"][0]["tags"]) == (version, {"round": str(version)})
            client.close()


def test_a_standalone_knows_no_replica_set():
    with Server() as server:
        client = server.client()
        refused(lambda: client.admin.command("replSetGetStatus"), 76)
        refused(lambda: client.admin.command("replSetInitiate"), 76)
        refused(lambda: client.admin.command("configureFailPoint", "failCommand", mode="off"), 59)
        refused(lambda: client.admin.command("getDefaultRWConcern"), 51300)
        refused(lambda: client.admin.command("setDefaultRWConcern", 1, defaultReadConcern={"level": "local"}), 51300)
        reply = raw(server.port, {"insert": "c", "documents": [{}], "lsid": lsid(), "txnNumber": bson.Int64(1), "$db": "t"})
        assert reply["code"] == 20 and "$clusterTime" not in reply
        client.close()


def test_the_driver_finds_the_set(client, server):
    client.t.c.insert_one({"_id": 1})
    assert client.primary == ("localhost", server.port) and client.secondaries == set()
    assert client.topology_description.replica_set_name == "rs0"
    assert client.admin.command("serverStatus")["repl"]["setName"] == "rs0"
    assert client.admin.command("hello")["lastWrite"]["opTime"]["t"] >= 1


# ---- reconfiguration, stepping down -------------------------------------------------------------

def test_reconfig_changes_what_one_member_can(client, server):
    config = client.admin.command("replSetGetConfig")["config"]
    refused(lambda: client.admin.command("replSetReconfig", config), 103)
    config["version"] += 1
    config["members"][0]["tags"] = {"dc": "east"}
    config["members"][0]["priority"] = 3
    config["settings"]["getLastErrorModes"] = {"anywhere": {"dc": 1}, "everywhere": {"dc": 2}}
    client.admin.command("replSetReconfig", config)
    assert client.admin.command("hello")["tags"] == {"dc": "east"} and client.admin.command("hello")["setVersion"] == config["version"]
    assert client.local.system.replset.find_one()["members"][0]["priority"] == 3
    two = {**config, "version": config["version"] + 1, "members": config["members"] + [{"_id": 1, "host": "localhost:1"}]}
    refused(lambda: client.admin.command("replSetReconfig", two), 74)
    refused(lambda: client.admin.command("replSetReconfig", {**config, "_id": "x", "version": 99}), 103)
    coll = client.t.get_collection("c", write_concern=WriteConcern(w="anywhere"))
    coll.insert_one({})
    with pytest.raises(WriteConcernError) as failure:
        client.t.get_collection("c", write_concern=WriteConcern(w="everywhere")).insert_one({})
    assert failure.value.code == 100
    with pytest.raises(WriteConcernError) as failure:
        client.t.get_collection("c", write_concern=WriteConcern(w="nowhere")).insert_one({})
    assert failure.value.code == 79
    assert client.t.c.count_documents({}) == 3  # the writes were done all the same


def test_a_stepped_down_primary_refuses_writes_and_comes_back(server):
    client = direct(server, retryWrites=False)
    client.t.c.insert_one({"_id": bson.ObjectId()})
    failure = refused(lambda: client.admin.command("replSetStepDown", 60), 262)
    assert "No electable secondaries caught up" in str(failure)
    refused(lambda: client.admin.command("replSetFreeze", 10), 95)
    refused(lambda: client.admin.command("replSetStepDown", -1, force=True), 2)
    term = client.admin.command("replSetGetStatus")["term"]
    woken = []
    watched = client.admin.command("hello")["topologyVersion"]
    watcher = direct(server)

    def watch(known):
        while not woken or not woken[-1]["secondary"]:
            woken.append(watcher.admin.command("hello", topologyVersion=known, maxAwaitTimeMS=600_000))
            known = woken[-1]["topologyVersion"]
    waiting = threading.Thread(target=watch, args=(watched,))
    waits = client.admin.command("serverStatus")["connections"]["awaitingTopologyChanges"]
    waiting.start()
    wait_until(lambda: client.admin.command("serverStatus")["connections"]["awaitingTopologyChanges"] > waits)
    client.admin.command("replSetStepDown", 600, force=True)
    waiting.join(DEADLINE)
    # It accepts no writes from the beginning of the attempt on, and is a secondary at its end.
    assert woken and not any(hello["isWritablePrimary"] for hello in woken) and woken[-1]["secondary"]
    reply = raw(server.port, {"insert": "c", "documents": [{}], "$db": "t"})
    assert reply["code"] == 10107 and reply["codeName"] == "NotWritablePrimary" and "errorLabels" not in reply
    reply = raw(server.port, {"insert": "c", "documents": [{}], "lsid": lsid(), "txnNumber": bson.Int64(1), "$db": "t"})
    assert reply["code"] == 10107 and reply["errorLabels"] == ["RetryableWriteError"]
    assert raw(server.port, {"find": "c", "$db": "t"})["code"] == 13435
    assert raw(server.port, {"aggregate": "c", "pipeline": [{"$out": "d"}], "cursor": {}, "$readPreference": {"mode": "nearest"}, "$db": "t"})["code"] == 10107
    assert raw(server.port, {"find": "c", "$readPreference": {"mode": "secondary"}, "$db": "t"})["ok"] == 1
    assert client.admin.command("replSetGetStatus")["myState"] == 2
    assert client.admin.command("replSetFreeze", 0)["info"] == "unfreezing"
    through_the_set = set_client(server)  # waits for a primary
    through_the_set.t.c.insert_one({"_id": bson.ObjectId()})
    assert client.admin.command("replSetGetStatus")["term"] == term + 1
    # It leads again by itself, too, when its time is over.
    began = time.monotonic()
    client.admin.command("replSetStepDown", 2, force=True)
    through_the_set.t.c.insert_one({"_id": bson.ObjectId()})
    assert time.monotonic() - began >= 1.9
    watcher.close(), through_the_set.close(), client.close()


def test_writes_in_progress_end_before_the_member_steps_down(server):
    client = set_client(server)
    failures, done, stop = [], [], threading.Event()
    made = [0, 0, 0]  # by each writer

    def write(writer):
        retries = Retries()
        own = set_client(server, event_listeners=[retries])
        i = 0
        while not stop.is_set():
            try:
                own.t.step.insert_one({"_id": f"{writer}-{i}"})
                done.append(f"{writer}-{i}")
                made[writer] += 1
            except PyMongoError as error:
                if retries.counts(error):
                    failures.append(error)
            i += 1
        own.close()

    client.t.step.drop()
    writers = [threading.Thread(target=write, args=(n,)) for n in range(3)]
    [w.start() for w in writers]

    def more():
        # A writer that still has its one retry before it would meet two of them with one write.
        enough = [count + 4 for count in made]
        wait_until(lambda: failures or all(count >= some for count, some in zip(made, enough)))

    more()
    for _ in range(3):
        client.admin.command("replSetStepDown", 1, force=True, secondaryCatchUpPeriodSecs=0)
        more()
    stop.set()
    [w.join() for w in writers]
    assert not failures, failures[:3]  # the driver's one retry hides it
    stored = {d["_id"] for d in client.t.step.find()}
    assert stored == set(done) and len(done) > 30
    entries = list(client.local.oplog.rs.find({}, {"t": 1}))
    assert [e["t"] for e in entries] == sorted(e["t"] for e in entries)
    client.close()


# ---- times and concerns -----------------------------------------------------------------------

def test_replies_carry_the_sets_time(client):
    first = client.admin.command("ping")
    assert first["$clusterTime"]["signature"]["keyId"] == 0
    written = client.t.command("insert", "c", documents=[{"_id": 1}])
    assert written["operationTime"] > first["operationTime"]
    assert client.local.oplog.rs.find_one(sort=[("$natural", -1)])["ts"] == written["operationTime"]
    failed = raw(client.primary[1], {"nonsense": 1, "$db": "t"})
    assert failed["code"] == 59 and failed["operationTime"] >= written["operationTime"] and "$clusterTime" in failed


def test_expressions_know_the_sets_time(client):
    t = client.t
    t.c.insert_many([{"_id": i} for i in range(3)])
    before = t.command("ping")["$clusterTime"]["clusterTime"]
    first, second, third = t.c.aggregate([{"$project": {"time": "$$CLUSTER_TIME"}}, {"$match": {"$expr": {"$eq": ["$time", "$$CLUSTER_TIME"]}}}], batchSize=1)
    assert first["time"] == second["time"] == third["time"]
    reply = t.command("find", "c", filter={"$expr": {"$gte": ["$$CLUSTER_TIME", before]}}, projection={"time": "$$CLUSTER_TIME"})
    assert [before <= one["time"] <= reply["$clusterTime"]["clusterTime"] for one in reply["cursor"]["firstBatch"]] == [True] * 3
    t.c.update_one({"_id": 0}, [{"$set": {"time": "$$CLUSTER_TIME"}}])
    assert t.c.find_one({"_id": 0})["time"] >= before
    # Those of a cursor's later batches are of the time when it was opened.
    cursor = t.c.aggregate([{"$lookup": {"from": "c", "as": "now", "pipeline": [{"$match": {"$expr": {"$eq": ["$_id", 1]}}}, {"$project": {"time": "$$CLUSTER_TIME"}}]}}], batchSize=1)
    times = []
    for one in cursor:
        times.append(one["now"][0]["time"])
        t.d.insert_one({})
    assert times == times[:1] * 3


def test_after_cluster_time_waits_and_refuses_what_is_to_come(client):
    time_now = client.t.command("insert", "c", documents=[{"_id": 1}])["operationTime"]
    later = bson.Timestamp(time_now.time + 1000, 1)
    port = client.primary[1]
    find = {"find": "c", "$db": "t"}
    assert raw(port, {**find, "readConcern": {"afterClusterTime": time_now}})["cursor"]["firstBatch"] == [{"_id": 1}]
    assert raw(port, {**find, "readConcern": {"afterClusterTime": later}})["code"] == 72
    # When its time is gossiped, the write is known to have come.
    gossip = {"clusterTime": later, "signature": {"hash": b"\0" * 20, "keyId": bson.Int64(0)}}
    reply = raw(port, {**find, "readConcern": {"afterClusterTime": later}, "$clusterTime": gossip})
    assert reply["ok"] == 1 and reply["$clusterTime"]["clusterTime"] >= later
    assert client.t.command("insert", "c", documents=[{"_id": 2}])["operationTime"] > later
    too_far = {**gossip, "clusterTime": bson.Timestamp(2**32 - 1, 1)}
    assert raw(port, {**find, "$clusterTime": too_far})["code"] == 205
    for concern, code in [({"level": "linearizable", "afterClusterTime": later}, 72), ({"atClusterTime": later}, 72), ({"level": "nonsense"}, 2),
                          ({"afterClusterTime": bson.Timestamp(0, 0)}, 72), ({"afterClusterTime": 5}, 14), ({"level": "snapshot", "atClusterTime": bson.Timestamp(5, 1)}, 239)]:
        assert raw(port, {**find, "readConcern": concern})["code"] == code, concern
    assert raw(port, {"insert": "c", "documents": [{}], "readConcern": {"level": "majority"}, "$db": "t"})["code"] == 72


@pytest.mark.parametrize("level", ["local", "available", "majority", "linearizable"])
def test_read_concerns(client, level):
    client.t.c.insert_one({"_id": 1})
    coll = client.t.get_collection("c", read_concern=ReadConcern(level))
    assert coll.find_one() == {"_id": 1} and coll.count_documents({}) == 1 and coll.distinct("_id") == [1]


def test_a_snapshot_is_one_moment_for_a_cursor_and_its_getmores(client):
    client.t.s.insert_many([{"_id": i, "round": 0} for i in range(500)])
    concern = {"level": "snapshot"}
    first = client.t.command("find", "s", batchSize=10, sort={"_id": 1}, readConcern=concern)["cursor"]
    client.t.s.update_many({}, {"$set": {"round": 1}})
    client.t.s.delete_many({"_id": {"$gte": 400}})
    client.t.s.insert_one({"_id": 1000, "round": 1})
    got, at = first["firstBatch"], first["atClusterTime"]
    cursor = first
    while cursor["id"]:
        cursor = client.t.command("getMore", cursor["id"], collection="s", batchSize=100)["cursor"]
        assert cursor["atClusterTime"] == at
        got += cursor["nextBatch"]
    assert got == [{"_id": i, "round": 0} for i in range(500)]
    rounds = client.t.command("distinct", "s", key="round", readConcern=concern)
    assert rounds["values"] == [1] and rounds["atClusterTime"] > at
    counted = client.t.command("aggregate", "s", pipeline=[{"$group": {"_id": "$round", "n": {"$sum": 1}}}], cursor={}, readConcern=concern)
    assert counted["cursor"]["firstBatch"] == [{"_id": 1, "n": 401}]
    refused(lambda: client.t.command("count", "s", readConcern=concern), 72)
    with client.start_session(snapshot=True) as session:
        assert client.t.s.find_one({"_id": 1000}, session=session)
        client.t.s.delete_one({"_id": 1000})
        assert len(list(client.t.s.find({}, session=session, batch_size=100))) == 401
        assert client.t.s.find_one({"_id": 1000}) is None
    client.t.s.drop()


def test_causally_consistent_sessions_read_their_writes(client):
    with client.start_session(causal_consistency=True) as session:
        for i in range(50):
            client.t.c.insert_one({"_id": i}, session=session)
            assert client.t.c.find_one({"_id": i}, session=session)
        assert session.operation_time is not None and session.cluster_time is not None


@pytest.mark.parametrize("concern", [WriteConcern(w=1), WriteConcern(w=1, j=True), WriteConcern(w="majority"), WriteConcern(w="majority", j=True, wtimeout=60_000), WriteConcern(w=0)])
def test_write_concerns_of_one(client, concern):
    client.t.get_collection("c", write_concern=concern).insert_one({"_id": 1})
    assert wait_until(client.t.c.find_one) == {"_id": 1}


def test_a_concern_that_can_never_be_met_is_an_error_beside_the_write(client):
    reply = raw(client.primary[1], {"insert": "c", "documents": [{"_id": 1}], "writeConcern": {"w": 2, "wtimeout": 100}, "$db": "t"})
    assert reply["ok"] == 1 and reply["n"] == 1
    error = reply["writeConcernError"]
    assert error["code"] == 100 and error["codeName"] == "UnsatisfiableWriteConcern" and error["errInfo"]["writeConcern"]["w"] == 2
    assert raw(client.primary[1], {"insert": "c", "documents": [{}], "writeConcern": {"w": 51}, "$db": "t"})["code"] == 9


# ---- retryable writes ---------------------------------------------------------------------------

def test_a_retried_insert_runs_once(client):
    session, command = lsid(), {"insert": "c", "documents": [{"n": 1}, {"n": 2}, {"n": 3}]}
    first = run(client, command, session, 1)
    assert first["n"] == 3 and "retriedStmtIds" not in first
    again = run(client, command, session, 1)
    assert again["n"] == 3 and again["retriedStmtIds"] == [0, 1, 2]
    assert client.t.c.count_documents({}) == 3
    more = run(client, {"insert": "c", "documents": [{"n": 1}, {"n": 9}], "stmtIds": [2, 5]}, session, 1)
    assert more["n"] == 2 and more["retriedStmtIds"] == [2] and client.t.c.count_documents({}) == 4
    entries = list(client.local.oplog.rs.find({"lsid.id": session["id"]}))
    assert [e["stmtId"] for e in entries] == [0, 1, 2, 5] and all(e["txnNumber"] == 1 for e in entries)
    assert entries[0]["prevOpTime"] == {"ts": bson.Timestamp(0, 0), "t": -1}
    assert [e["prevOpTime"]["ts"] for e in entries[1:]] == [e["ts"] for e in entries[:-1]]
    record = client.config.transactions.find_one({"_id.id": session["id"]})
    assert record["txnNum"] == 1 and record["lastWriteOpTime"]["ts"] == entries[-1]["ts"]


def test_retried_updates_and_deletes_run_once(client):
    session = lsid()
    client.t.c.insert_many([{"_id": 1, "n": 0}, {"_id": 2, "n": 0}])
    update = {"update": "c", "updates": [{"q": {"_id": 1}, "u": {"$inc": {"n": 1}}}, {"q": {"_id": 9}, "u": {"$inc": {"n": 1}}, "upsert": True}]}
    first, again = run(client, update, session, 1), run(client, update, session, 1)
    for reply in (first, again):
        assert reply["n"] == 2 and reply["nModified"] == 1 and reply["upserted"] == [{"index": 1, "_id": 9}]
    assert again["retriedStmtIds"] == [0, 1]
    assert [d["n"] for d in client.t.c.find().sort("_id")] == [1, 0, 1]
    delete = {"delete": "c", "deletes": [{"q": {"n": {"$gte": 0}}, "limit": 1}]}
    assert run(client, delete, session, 2)["n"] == 1 and run(client, delete, session, 2)["n"] == 1
    assert client.t.c.count_documents({}) == 2
    reply = run(client, {"update": "c", "updates": [{"q": {}, "u": {"$inc": {"n": 1}}, "multi": True}]}, session, 3)
    assert reply["code"] == 72 and "multi=true" in reply["errmsg"]
    reply = run(client, {"delete": "c", "deletes": [{"q": {}, "limit": 0}]}, session, 3)
    assert reply["code"] == 72 and "limit=0" in reply["errmsg"]


@pytest.mark.parametrize("new", [False, True])
def test_a_retried_find_and_modify_answers_the_same(client, new):
    session = lsid()
    client.t.c.insert_one({"_id": 1, "n": 0, "text": "x" * 500})
    command = {"findAndModify": "c", "query": {"_id": 1}, "update": {"$inc": {"n": 1}}, "new": new, "fields": {"n": 1}}
    first, again = run(client, command, session, 1), run(client, command, session, 1)
    assert first["value"] == again["value"] == {"_id": 1, "n": int(new)} and first["lastErrorObject"] == again["lastErrorObject"]
    assert again["retriedStmtId"] == 0 and client.t.c.find_one()["n"] == 1
    image = client.config.image_collection.find_one({"_id.id": session["id"]})
    assert image["imageKind"] == ("postImage" if new else "preImage") and image["image"]["n"] == int(new)
    assert run(client, {"findAndModify": "c", "query": {"_id": 1}, "remove": True}, session, 1)["code"] == 40606
    upsert = {"findAndModify": "c", "query": {"_id": 5}, "update": {"$set": {"a": 1}}, "upsert": True, "new": new}
    first, again = run(client, upsert, session, 2), run(client, upsert, session, 2)
    assert first["value"] == again["value"] == ({"_id": 5, "a": 1} if new else None)
    assert first["lastErrorObject"] == again["lastErrorObject"] == {"n": 1, "updatedExisting": False, "upserted": 5}
    remove = {"findAndModify": "c", "query": {"_id": 1}, "remove": True}
    first, again = run(client, remove, session, 3), run(client, remove, session, 3)
    assert first["value"] == again["value"] and first["value"]["n"] == 1 and first["lastErrorObject"] == again["lastErrorObject"] == {"n": 1}


def test_old_numbers_and_wrong_ones_are_refused(client):
    session, insert = lsid(), {"insert": "c", "documents": [{}]}
    assert run(client, insert, session, 5)["n"] == 1
    assert run(client, insert, session, 4)["code"] == 225
    assert run(client, insert, session, -1)["code"] == 72
    port = client.primary[1]
    assert raw(port, {**insert, "lsid": session, "txnNumber": 6, "$db": "t"})["code"] == 14
    assert raw(port, {**insert, "txnNumber": bson.Int64(6), "$db": "t"})["code"] == 72
    assert raw(port, {"find": "c", "lsid": session, "txnNumber": bson.Int64(6), "$db": "t"})["code"] == 50768
    assert raw(port, {**insert, "lsid": {"id": "x"}, "txnNumber": bson.Int64(6), "$db": "t"})["code"] == 207
    for wrong in ({"autocommit": True}, {"startTransaction": True}, {"autocommit": False, "startTransaction": False}):
        assert raw(port, {**insert, "lsid": session, "txnNumber": bson.Int64(6), **wrong, "$db": "t"})["code"] == 72
    assert run(client, {**insert, "stmtIds": [1, 2]}, session, 6)["code"] == 16


def test_statement_ids_are_ints_and_one_for_each_statement(client):
    session = lsid()
    update, remove = {"q": {}, "u": {"$set": {"a": 1}}}, {"q": {}, "limit": 1}
    commands = ({"insert": "c", "documents": [{}, {}]}, {"update": "c", "updates": [update, update]}, {"delete": "c", "deletes": [remove, remove]},
                {"findAndModify": "c", "query": {}, "update": {"a": 1}})
    for command in commands:
        for wrong in ("x", bson.Int64(1), 1.5, {}, True):
            assert run(client, {**command, "stmtId": wrong}, session, 1)["code"] == 14
    for command in commands[:3]:
        assert run(client, {**command, "stmtIds": [1, "x"]}, session, 1)["code"] == 14
        assert run(client, {**command, "stmtIds": 5}, session, 1)["code"] == 14
        assert run(client, {**command, "stmtIds": [1]}, session, 1)["code"] == 16
        assert run(client, {**command, "stmtIds": [1, 2], "stmtId": 1}, session, 1)["code"] == 72
        assert run(client, {**command, "stmtId": 2**31 - 1}, session, 1)["code"] == 15
    assert run(client, {"insert": "c", "documents": [{}, {}], "stmtId": 2**31 - 2}, session, 1)["n"] == 2
    assert client.t.c.count_documents({}) == 2


def test_commands_fail_as_wholes_when_the_log_can_not_say_what_was_executed():
    session, info = lsid(), [{"ns": "t.c"}]
    insert = {"insert": "c", "documents": [{"_id": 1, "n": 0}]}
    with member() as server:
        with direct(server) as client:
            client.admin.command("replSetInitiate")
            wait_until(lambda: client.admin.command("hello")["isWritablePrimary"])
            assert raw(server.port, {**insert, "lsid": session, "txnNumber": bson.Int64(1), "$db": "t"})["n"] == 1
            # This makes the log look as if it were cut behind the session's last write.
            changed = client.config.transactions.update_one({}, {"$set": {"lastWriteOpTime.ts": bson.Timestamp(5, 1)}})
            assert changed.modified_count == 1
        server.stop()
        server.start()
        with direct(server) as client:
            wait_until(lambda: client.admin.command("hello")["isWritablePrimary"])
            update = {"update": "c", "updates": [{"q": {"_id": 1}, "u": {"$inc": {"n": 1}}}]}
            for command in (update, {"delete": "c", "deletes": [{"q": {"_id": 1}, "limit": 1}]}, {"insert": "c", "documents": [{"_id": 2}]},
                            {"bulkWrite": 1, "ops": [{"update": 0, "filter": {"_id": 1}, "updateMods": {"$inc": {"n": 1}}}], "nsInfo": info},
                            {"bulkWrite": 1, "ops": [{"delete": 0, "filter": {"_id": 1}}], "nsInfo": info},
                            {"bulkWrite": 1, "ops": [{"insert": 0, "document": {"_id": 3}}], "nsInfo": info}):
                db = "admin" if "bulkWrite" in command else "t"
                reply = raw(server.port, {**command, "stmtId": 5, "ordered": False, "lsid": session, "txnNumber": bson.Int64(1), "$db": db})
                assert (reply["ok"], reply.get("code")) == (0, 217), (command, reply)
            assert list(client.t.c.find()) == [{"_id": 1, "n": 0}]
            assert raw(server.port, {**update, "lsid": session, "txnNumber": bson.Int64(2), "$db": "t"})["nModified"] == 1


def test_a_failed_statement_may_be_retried_and_the_others_are_not_run_again(client):
    session = lsid()
    client.t.c.insert_one({"_id": 2})
    command = {"insert": "c", "documents": [{"_id": 1}, {"_id": 2}, {"_id": 3}]}
    first = run(client, command, session, 1)
    assert first["n"] == 1 and first["writeErrors"][0]["index"] == 1
    client.t.c.delete_one({"_id": 2})
    again = run(client, command, session, 1)
    assert again["n"] == 3 and again["retriedStmtIds"] == [0] and client.t.c.count_documents({}) == 3
    client.t.c.delete_many({})
    client.t.c.insert_one({"_id": 2})
    unordered = run(client, {**command, "ordered": False}, session, 2)
    assert unordered["n"] == 2 and [e["index"] for e in unordered["writeErrors"]] == [1]
    unordered = run(client, {**command, "ordered": False}, session, 2)
    assert unordered["n"] == 2 and unordered["retriedStmtIds"] == [0, 2] and [e["index"] for e in unordered["writeErrors"]] == [1]


def test_the_same_statement_from_two_connections_at_once_runs_once(client):
    for number in range(20):
        session, command = lsid(), {"update": "c", "updates": [{"q": {"_id": number}, "u": {"$inc": {"n": 1}}, "upsert": True}]}
        threads = [threading.Thread(target=run, args=(client, command, session, 1)) for _ in range(4)]
        [t.start() for t in threads]
        [t.join() for t in threads]
        assert client.t.c.find_one({"_id": number})["n"] == 1


@pytest.mark.parametrize("data", [{"errorCode": 10107}, {"errorCode": 91}, {"errorCode": 11600}, {"closeConnection": True}])
def test_drivers_retry_what_failed_before_it_ran(server, client, data):
    client.admin.command("configureFailPoint", "failCommand", mode={"times": 1}, data={"failCommands": ["insert", "update"], **data})
    # An error about the member's state carries the topologyVersion that the driver knows: it doesn't wait for its monitor's next
    # answer, which is ten minutes away here. One of a shutdown carries none, as a mongod's doesn't, and the monitor has to say first
    # that the member is back.
    with set_client(server, heartbeatFrequencyMS=500 if data.get("errorCode") in (91, 11600) else 600_000) as writer:
        writer.t.c.find_one()
        writer.t.c.insert_one({"_id": 1})
    assert client.t.c.count_documents({}) == 1


def test_errors_of_a_shutdown_clear_the_pool_and_those_of_a_state_do_not(server, client):
    for code, carries in ((91, False), (11600, False), (10107, True), (11602, True), (189, True)):
        client.admin.command("configureFailPoint", "failCommand", mode={"times": 1}, data={"failCommands": ["insert"], "errorCode": code})
        assert ("topologyVersion" in raw(server.port, {"insert": "c", "documents": [{}], "$db": "t"})) == carries


def test_drivers_retry_what_ran_though_the_answer_was_lost(client):
    fail_point = {"configureFailPoint": "onPrimaryTransactionalWrite", "mode": {"times": 1}}
    client.t.c.insert_one({"_id": 1, "n": 0})
    for write in (lambda: client.t.c.update_one({"_id": 1}, {"$inc": {"n": 1}}), lambda: client.t.c.insert_one({"_id": bson.ObjectId()}),
                  lambda: client.t.c.find_one_and_update({"_id": 1}, {"$inc": {"n": 1}}),
                  lambda: client.t.c.bulk_write([pymongo.UpdateOne({"_id": 1}, {"$inc": {"n": 1}}), pymongo.InsertOne({})])):
        client.admin.command(fail_point)
        write()
        assert client.admin.command("configureFailPoint", "onPrimaryTransactionalWrite", mode="off")["count"] >= 1
    assert client.t.c.find_one({"_id": 1})["n"] == 3 and client.t.c.count_documents({}) == 3
    client.admin.command(fail_point)
    session, command = lsid(), {"insert": "c", "documents": [{}]}
    with pytest.raises((EOFError, ConnectionError)):
        run(client, command, session, 1)
    assert client.t.c.count_documents({}) == 4  # done, though nobody got a reply
    assert run(client, command, session, 1)["retriedStmtIds"] == [0] and client.t.c.count_documents({}) == 4


def test_write_concern_errors_of_fail_points_carry_labels(client):
    client.admin.command("configureFailPoint", "failCommand", mode={"times": 1},
                         data={"failCommands": ["insert"], "writeConcernError": {"code": 91, "errmsg": "going"}})
    reply = run(client, {"insert": "c", "documents": [{}]}, lsid(), 1)
    assert reply["ok"] == 1 and reply["writeConcernError"]["code"] == 91 and reply["errorLabels"] == ["RetryableWriteError"]


def test_a_failed_command_waits_for_its_write_concern_too(server, client):
    client.t.c.insert_one({"_id": 1})
    concern = {"writeConcern": {"w": 2, "wtimeout": 1}}
    for command, code in (({"create": "c", "capped": True, "size": 4096}, 48), ({"renameCollection": "t.c", "to": "t.c"}, 20),
                          ({"findAndModify": "c", "query": {"_id": 1}, "update": {"$set": {"_id": 2}}}, 66)):
        reply = raw(server.port, {**command, **concern, "$db": "admin" if "renameCollection" in command else "t"})
        assert reply["ok"] == 0 and reply["code"] == code and reply["writeConcernError"]["code"] == 100, reply
    # The reply has none where the command was refused before it ran, nor where the client didn't ask for it.
    assert "writeConcernError" not in raw(server.port, {"create": "c", "nonsense": 1, **concern, "$db": "t"})
    assert "writeConcernError" not in raw(server.port, {"create": "c", "capped": True, "size": 4096, "$db": "t"})
    assert "writeConcernError" not in raw(server.port, {"create": "c", "capped": True, "size": 4096, "writeConcern": {"w": 0}, "$db": "t"})


def test_indexes_may_wait_for_a_quorum(server, client):
    def build(quorum, field="a"):
        return raw(server.port, {"createIndexes": "c", "indexes": [{"key": {field: 1}, "name": field}], "commitQuorum": quorum, "$db": "t"})

    for number, quorum in enumerate(("majority", "votingMembers", 1, bson.Int64(1), 0, 1.0)):
        assert build(quorum, f"f{number}")["numIndexesAfter"] == number + 2
        assert build(quorum, f"f{number}")["note"] == "all indexes already exist"
    assert build(None)["ok"] == 1
    for quorum, code in ((2, 278), ("nonsense", 79), ("", 9), (-1, 9), (51, 9), (float("nan"), 9), ([], 9), (True, 9), ("x" * 100_000, 79)):
        assert build(quorum, "other")["code"] == code, quorum
    assert "other" not in client.t.c.index_information()


def test_the_quorum_of_a_build_that_is_over_cant_be_changed(server, client):
    def change(names, quorum="majority", collection="c"):
        return raw(server.port, {"setIndexCommitQuorum": collection, "indexNames": names, "commitQuorum": quorum, "$db": "t"})

    client.t.c.create_index("a", name="a")
    assert change(["a"])["code"] == change(["none"])["code"] == 27
    assert "Cannot find an index build on collection 't.c'" in change(["a"])["errmsg"]
    assert change([])["code"] == 27 and change(["a"], collection="none")["code"] == 26
    for quorum, code in ((2, 278), ("nonsense", 79), ("", 9), (-1, 9)):
        assert change(["a"], quorum)["code"] == code, quorum


# ---- sessions -----------------------------------------------------------------------------------

def test_sessions_are_written_down_and_struck_out(client):
    session = client.start_session()
    identifier = session.session_id["id"]
    client.t.c.insert_one({}, session=session)
    client.admin.command("refreshLogicalSessionCacheNow")
    assert client.config["system.sessions"].find_one({"_id.id": identifier})
    assert client.config["system.sessions"].index_information()["lsidTTLIndex"]["expireAfterSeconds"] == 1800
    raw(client.primary[1], {"endSessions": [{"id": identifier}], "$db": "admin"})
    client.admin.command("refreshLogicalSessionCacheNow")
    assert client.config["system.sessions"].find_one({"_id.id": identifier}) is None


def test_cursors_go_with_their_session(client):
    client.t.c.insert_many([{} for _ in range(300)])
    for command in ({"killSessions": 1}, {"endSessions": 1}, {"killAllSessions": []}, {"killAllSessionsByPattern": 1}):
        session, port = lsid(), client.primary[1]
        cursor = raw(port, {"find": "c", "batchSize": 2, "lsid": session, "$db": "t"})["cursor"]["id"]
        name = next(iter(command))
        value = [session] if name in ("killSessions", "endSessions") else [] if name == "killAllSessions" else [{"lsid": session}]
        assert raw(port, {name: value, "$db": "admin"})["ok"] == 1
        assert raw(port, {"getMore": bson.Int64(cursor), "collection": "c", "lsid": session, "$db": "t"})["code"] == 43


def test_sessions_are_listed(client):
    session = client.start_session()
    client.t.c.insert_one({}, session=session)
    listed = {s["_id"]["id"] for s in client.admin.aggregate([{"$listLocalSessions": {}}])}
    assert session.session_id["id"] in listed
    refused(lambda: list(client.t.c.aggregate([{"$listLocalSessions": {}}])), 73)
    refused(lambda: list(client.admin.aggregate([{"$listLocalSessions": {"nonsense": 1}}])), 40415)


def test_how_long_sessions_last_is_a_parameter():
    with Server("--replSet", "rs0", "--setParameter", "enableTestCommands=1", "--setParameter", "localLogicalSessionTimeoutMinutes=1") as server:
        client = direct(server)
        client.admin.command("replSetInitiate")
        assert client.admin.command("hello")["logicalSessionTimeoutMinutes"] == 1
        assert raw(server.port, {"startSession": 1, "$db": "admin"})["timeoutMinutes"] == 1
        client.close()
