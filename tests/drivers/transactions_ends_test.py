"""Transactions end without their client: with a restart, their time, their session, or a step-down; and nobody waits for them in vain."""
import time
from concurrent.futures import ThreadPoolExecutor

import bson
import pytest
from pymongo.errors import OperationFailure

from tests.drivers.replica_set_test import direct, member, set_client
from tests.support.palimpsest import raw_command
from tests.support.transactions import TRANSIENT, RawSession, done, refused
from tests.support.waiting import DEADLINE, wait_until


@pytest.fixture
def parameter(client):
    """Sets a parameter, and sets it back."""
    before = {}

    def set_one(name, value):
        before.setdefault(name, client.admin.command("getParameter", 1, **{name: 1})[name])
        client.admin.command("setParameter", 1, **{name: value})

    yield set_one
    for name, value in before.items():
        client.admin.command("setParameter", 1, **{name: value})


def wait_aborted(session, *codes):
    """Until a statement says that the transaction has ended."""
    def error():
        reply = session.run({"find": "c", "limit": 1})
        return reply if reply["ok"] == 0 else None

    reply = wait_until(error, pause=0.1)
    assert reply["code"] in codes, reply
    refused(session.run({"find": "c"}), 251, TRANSIENT)
    refused(session.commit(), 251, TRANSIENT)


# ---- restarts -------------------------------------------------------------------------------------

@pytest.mark.parametrize("how", ["stop", "kill"])
def test_a_restart_keeps_what_was_committed_and_that_it_was(how):
    with member() as server:
        server.initiate()
        committed, still_open, aborted, read_only = [RawSession(server.port).start() for _ in range(4)]
        done(committed.insert("c", {"_id": 1}, {"_id": 2}))
        done(committed.update("c", {"_id": 1}, {"$set": {"n": 1}}))
        done(committed.commit(writeConcern={"w": "majority", "j": True}))
        done(still_open.insert("c", {"_id": 3}))
        done(aborted.insert("c", {"_id": 4}))
        done(aborted.abort())
        read_only.find("c")
        if how == "stop":
            assert server.stop() == 0  # an open transaction doesn't hold it up
        else:
            server.kill()
        server.start()
        with set_client(server) as client:
            assert list(client.t.c.find().sort("_id")) == [{"_id": 1, "n": 1}, {"_id": 2}]
            for _ in range(2):
                done(committed.commit(writeConcern={"w": "majority"}))
            refused(committed.abort(), 256)
            refused(committed.run({"find": "c"}), 256)
            for session in (still_open, aborted, read_only):
                refused(session.commit(), 251, TRANSIENT)
                refused(session.run({"find": "c"}), 251, TRANSIENT)
            committed.start()
            done(committed.insert("c", {"_id": 5}))
            done(committed.commit())
            committed.number = 1
            refused(committed.commit(), 225)
            assert client.t.c.count_documents({}) == 3
            assert client.local.oplog.rs.count_documents({"lsid.id": committed.lsid["id"]}) == 2


def test_a_large_transaction_is_there_after_a_restart():
    text = "x" * (1 << 20)
    with member() as server:
        server.initiate()
        session = RawSession(server.port).start()
        for i in range(20):
            done(session.insert("c", {"_id": i, "text": text}))
        done(session.commit(writeConcern={"w": "majority", "j": True}))
        server.kill()
        server.start()
        with set_client(server) as client:
            assert client.t.c.count_documents({"text": text}) == 20 and client.t.command("validate", "c", full=True)["valid"]
            done(session.commit())


# ---- time -----------------------------------------------------------------------------------------

def test_a_transaction_lives_as_long_as_the_parameter_says(client, raw, parameter, pool):
    assert client.admin.command("getParameter", 1, transactionLifetimeLimitSeconds=1)["transactionLifetimeLimitSeconds"] == 60
    for value in (0, -1):
        with pytest.raises(OperationFailure) as failure:
            client.admin.command("setParameter", 1, transactionLifetimeLimitSeconds=value)
        assert failure.value.code == 2
    client.t.c.insert_one({"_id": 1, "n": 0})
    begun = time.monotonic()
    session = raw().start()
    done(session.update("c", {"_id": 1}, {"$set": {"n": "session"}}))
    parameter("transactionLifetimeLimitSeconds", 1)  # it holds for transactions that are open, too
    waiting = pool.submit(client.t.c.update_one, {"_id": 1}, {"$inc": {"n": 1}})
    drop = pool.submit(client.t.c.create_index, "n")
    waiting.result(DEADLINE), drop.result(DEADLINE)
    assert time.monotonic() - begun > 0.9
    refused(session.run({"find": "c"}), 251, TRANSIENT)
    refused(session.commit(), 251, TRANSIENT)
    assert client.t.c.find_one() == {"_id": 1, "n": 1}
    # Statements don't lengthen it.
    parameter("transactionLifetimeLimitSeconds", 60)
    session.start()
    session.find("c")
    parameter("transactionLifetimeLimitSeconds", 1)
    wait_aborted(session, 251, 290)


def test_a_statement_that_runs_ends_with_its_transactions_time(client, raw, parameter):
    client.t.c.insert_many([{"_id": i} for i in range(2000)])
    parameter("transactionLifetimeLimitSeconds", 1)
    slow = {"$expr": {"$gt": [{"$reduce": {"input": {"$range": [0, 1_000_000]}, "initialValue": 0, "in": {"$add": ["$$value", "$$this"]}}}, -1]}}
    session = raw().start()
    reply = session.run({"find": "c", "filter": slow, "limit": 2000, "batchSize": 2000})
    assert reply["ok"] == 0 and reply["code"] in (251, 290), reply
    refused(session.commit(), 251, TRANSIENT)


def test_a_statement_does_not_wait_behind_a_change_of_the_schema(client, raw, parameter, pool):
    assert client.admin.command("getParameter", 1, maxTransactionLockRequestTimeoutMillis=1)["maxTransactionLockRequestTimeoutMillis"] == 5
    client.t.c.insert_one({"_id": 1})
    took = None

    def tried(other):
        """The answer to a statement that meets the change; None, and no transaction, while the change isn't there."""
        nonlocal took
        begun = time.monotonic()
        reply = other.start().insert("c", {"_id": bson.ObjectId()})
        took = time.monotonic() - begun
        if reply["ok"] == 0:
            return reply
        other.abort()
        return None

    for limit, waits in ((5, 0), (300, 0.28)):
        holder, other = raw().start(), raw()
        done(holder.insert("c", {"_id": bson.ObjectId()}))
        drop = pool.submit(client.t.c.drop)
        parameter("maxTransactionLockRequestTimeoutMillis", limit)
        refused(wait_until(lambda: tried(other)), 24, TRANSIENT)
        parameter("maxTransactionLockRequestTimeoutMillis", -1)  # what is to succeed may wait
        assert took >= waits
        refused(other.commit(), 251, TRANSIENT)
        assert not drop.done()
        done(holder.insert("c", {"_id": bson.ObjectId()}))
        done(holder.commit())
        drop.result(DEADLINE)
        assert client.t.list_collection_names() == []
        done(other.start().insert("c", {"_id": 1}))
        done(other.commit())
    # With -1 it waits as long as others do.
    parameter("maxTransactionLockRequestTimeoutMillis", 5)
    holder, other = raw().start(), raw()
    done(holder.insert("c", {"_id": "holder"}))
    index = pool.submit(client.t.c.create_index, "n")
    refused(wait_until(lambda: tried(other)), 24, TRANSIENT)
    parameter("maxTransactionLockRequestTimeoutMillis", -1)
    behind = pool.submit(other.start().insert, "c", {"_id": "other"})
    wait_until(lambda: any(one["waitingForLock"] for one in client.admin.command("currentOp", {"lsid.id": other.lsid["id"]})["inprog"]))
    assert not behind.done() and not index.done()
    done(holder.commit())
    index.result(DEADLINE)
    if behind.result(DEADLINE)["ok"] == 1:
        done(other.commit())
    else:
        refused(behind.result(), 246, TRANSIENT)  # its snapshot was older than the index
    assert "n_1" in client.t.c.index_information()


# ---- sessions -------------------------------------------------------------------------------------

@pytest.mark.parametrize("name", ["killSessions", "killAllSessions", "killAllSessionsByPattern", "endSessions"])
def test_a_transaction_ends_with_its_session(client, raw, name):
    client.t.c.insert_one({"_id": 1})
    session = raw().start()
    done(session.update("c", {"_id": 1}, {"$set": {"n": 1}}))
    value = {"killSessions": [session.lsid], "endSessions": [session.lsid], "killAllSessions": [], "killAllSessionsByPattern": [{"lsid": session.lsid}]}
    done(raw_command("127.0.0.1", client.primary[1], {name: value[name], "$db": "admin"}))
    wait_aborted(session, 251)
    client.t.c.update_one({"_id": 1}, {"$set": {"n": 2}})
    assert client.t.c.find_one() == {"_id": 1, "n": 2}
    session.start()
    done(session.update("c", {"_id": 1}, {"$set": {"n": 3}}))
    done(session.commit())
    assert client.t.c.find_one() == {"_id": 1, "n": 3}


def test_a_driver_that_ends_a_session_aborts_its_transaction(client):
    session = client.start_session()
    session.start_transaction()
    client.t.c.insert_one({"_id": 1}, session=session)
    session.end_session()
    client.t.c.insert_one({"_id": 1})
    assert client.admin.command("serverStatus")["transactions"]["currentOpen"] == 0


def test_many_open_transactions_hold_up_nobody_else(client, raw):
    client.t.c.insert_many([{"_id": i} for i in range(200)])
    sessions = [raw().start() for _ in range(200)]
    with ThreadPoolExecutor(8) as threads:
        for reply in threads.map(lambda i: sessions[i].update("c", {"_id": i}, {"$set": {"n": i}}), range(200)):
            done(reply)
        assert client.admin.command("serverStatus")["transactions"]["currentOpen"] == 200
        client.t.d.insert_one({"_id": 1})
        assert client.t.c.count_documents({"n": {"$exists": True}}) == 0
        for reply in threads.map(RawSession.commit, sessions):
            done(reply)
    assert client.t.c.count_documents({"n": {"$exists": True}}) == 200


# ---- the member's state ---------------------------------------------------------------------------

def test_a_step_down_aborts_open_transactions():
    with member() as server:
        server.initiate()
        admin = direct(server, retryWrites=False).admin
        committed, still_open = RawSession(server.port).start(), RawSession(server.port).start()
        done(committed.insert("c", {"_id": 1}))
        done(committed.commit())
        done(still_open.insert("c", {"_id": 2}))
        admin.command("replSetStepDown", 600, force=True)
        refused(still_open.run({"find": "c"}), 10107, TRANSIENT)
        refused(still_open.insert("c", {"_id": 3}), 10107, TRANSIENT)
        refused(still_open.commit(), 10107, "RetryableWriteError")
        refused(RawSession(server.port).start().run({"find": "c"}), 10107, TRANSIENT)
        admin.command("replSetFreeze", 0)
        wait_until(lambda: admin.command("hello")["isWritablePrimary"], server.tail)
        refused(still_open.run({"find": "c"}), 251, TRANSIENT)
        refused(still_open.commit(), 251, TRANSIENT)
        done(committed.commit())
        with set_client(server) as client:
            client.t.c.insert_one({"_id": 2})
            assert client.t.c.count_documents({}) == 2
