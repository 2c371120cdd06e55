"""A server is killed in and around commits: each transaction is there whole or not at all, and those that were acknowledged are there.

`PALIMPSEST_TRANSACTION_KILLS=300` kills it so many times, and at every call that changes files.
"""
import collections
import os
import random
import socket
import threading
import time
import uuid

import bson
import pytest

from tests.drivers.replica_set_test import direct, raw
from tests.support.kill_at_call import KillAtCall
from tests.support.palimpsest import Server, receive_raw, send_raw
from tests.support.transactions import TRANSIENT, RawSession
from tests.support.waiting import DEADLINE, wait_until

KILLS = int(os.environ.get("PALIMPSEST_TRANSACTION_KILLS", "6"))
ACCOUNTS, TOTAL = 20, 20 * 100
WRITERS = 4


class Writer(threading.Thread):
    """Transactions one after the other until the server goes. Each inserts marks in two databases, moves money between two accounts, counts up
    a document of its own, and sometimes makes a collection or has more than one entry of the log."""

    def __init__(self, server, session, number, dice):
        super().__init__(daemon=True)
        self.server, self.session, self.number, self.dice = server, session, number, dice
        self.marks = {}          # name -> (outcome, count of marks); the outcome is "committed", "aborted" or "unknown"
        self.made = set()        # the names of those that make a collection
        self.committed = 0
        self.failures = []
        self.pending = None      # the number of a transaction whose commit got no answer

    def run(self):
        try:
            while True:
                self.one()
        except (OSError, EOFError):
            pass
        except BaseException as error:
            self.failures.append(error)

    def one(self):
        session, name = self.session.start(), uuid.uuid4().hex
        large = self.dice.random() < 0.03
        count = 18 if large else self.dice.randrange(1, 6)
        self.marks[name] = ("aborted", count)
        text = "x" * (1 << 20) if large else "mark " * self.dice.randrange(50)
        source, target = self.dice.sample(range(ACCOUNTS), 2)
        steps = [lambda: session.update("accounts", {"_id": source}, {"$inc": {"n": -1}}),
                 lambda: session.update("accounts", {"_id": target}, {"$inc": {"n": 1}}),
                 lambda: session.update("own", {"_id": self.number}, {"$inc": {"n": 1}}, upsert=True)]
        for i in range(count):
            steps.append(lambda i=i: session.insert("marks", {"_id": f"{name} {i}", "name": name, "text": text}, db="t" if i % 2 else "t2"))
        if self.dice.random() < 0.1:
            self.made.add(name)
            steps.append(lambda: session.insert(f"made_{name}", {"_id": 1}))
        self.dice.shuffle(steps)
        for step in steps:
            reply = step()
            if reply["ok"] == 0:
                assert TRANSIENT in reply["errorLabels"], reply
                return
            assert "writeErrors" not in reply, reply
        if self.dice.random() < 0.1:
            session.abort()
            return
        self.marks[name] = ("unknown", count)
        concern = {"w": "majority"} if self.dice.random() < 0.7 else {"w": 1, "j": True}
        self.pending = name
        reply = session.commit(writeConcern=concern)
        self.settle(reply)

    def settle(self, reply):
        """The answer to the commit of the pending transaction."""
        name, self.pending = self.pending, None
        if reply["ok"] == 1:
            assert "writeConcernError" not in reply, reply
            self.marks[name] = ("committed", self.marks[name][1])
            self.committed += 1
        else:
            assert TRANSIENT in reply["errorLabels"], reply
            self.marks[name] = ("aborted", self.marks[name][1])


def check(server, writers, own_before):
    """Everything is there whole or not at all."""
    with direct(server) as client:
        there = {}
        for database in ("t", "t2"):
            for one in client[database].marks.find({}, {"name": 1}):
                there[one["name"]] = there.get(one["name"], 0) + 1
        made = {name.removeprefix("made_") for name in client.t.list_collection_names() if name.startswith("made_")}
        known, happened = set(), [0] * WRITERS
        for writer in writers:
            for name, (outcome, count) in writer.marks.items():
                known.add(name)
                allowed = {"committed": (count,), "aborted": (0,), "unknown": (0, count)}[outcome]
                assert there.get(name, 0) in allowed, f"{there.get(name, 0)} of {count} of a transaction that is {outcome}"
                if name in made and name not in there:  # the server was killed between the two (docs/transactions.md)
                    assert outcome == "unknown" and not client.t[f"made_{name}"].count_documents({}), "a part of a transaction"
                else:
                    assert (name in made) == (name in there and name in writer.made), "a collection and its transaction don't agree"
                happened[writer.number] += name in there
        assert set(there) <= known and made <= known
        assert sum(one["n"] for one in client.t.accounts.find()) == TOTAL, "half of a transfer"
        own = {one["_id"]: one["n"] for one in client.t.own.find()}
        for writer in writers:
            assert own.get(writer.number, 0) == own_before[writer.number] + happened[writer.number], "a count is not that of the transactions"
        # Those without an answer: asked again, the server says what became of them.
        for writer in writers:
            if writer.pending:
                name = writer.pending
                writer.settle(writer.session.commit(writeConcern={"w": "majority"}))
                assert (writer.marks[name][0] == "committed") == (name in there), "the answer is not what is there"
        for database, name in (("t", "marks"), ("t2", "marks"), ("t", "accounts"), ("t", "own")):
            if name in client[database].list_collection_names():
                report = client[database].command("validate", name, full=True)
                assert report["valid"] and not report["errors"], report
        return {number: own.get(number, 0) for number in range(WRITERS)}


def clear(client):
    """Empties what grows. The accounts and counts stay."""
    for database in ("t", "t2"):
        client[database].marks.drop()
        client[database].create_collection("marks")
    for name in client.t.list_collection_names():
        if name.startswith("made_"):
            client.t[name].drop()


@pytest.mark.parametrize("part", range(2))
def test_a_server_that_is_killed_keeps_whole_transactions(part):
    with Server("--replSet", "rs0", "--syncdelay", "1", "--setParameter", "enableTestCommands=1") as server:
        server.initiate()
        with direct(server) as client:
            client.t.accounts.insert_many([{"_id": i, "n": 100} for i in range(ACCOUNTS)])
            client.t.own.create_index("n")
            clear(client)
            client.t.marks.create_index("name"), client.t2.marks.create_index("name")
        sessions, own, committed = [RawSession(server.port) for _ in range(WRITERS)], {number: 0 for number in range(WRITERS)}, 0
        for _ in range(max(1, KILLS // 2)):
            writers = [Writer(server, session, number, random.Random(random.getrandbits(40))) for number, session in enumerate(sessions)]
            [one.start() for one in writers]
            wait_until(lambda: sum(one.committed for one in writers) > 15 or any(one.failures for one in writers), server.tail)
            time.sleep(random.random() * random.choice([0.02, 0.3, 1.2]))
            server.kill()
            [one.join(DEADLINE) for one in writers]
            assert not any(one.failures for one in writers), [one.failures for one in writers]
            server.start()
            wait_until(lambda: raw(server.port, {"hello": 1, "$db": "admin"})["isWritablePrimary"], server.tail)
            own = check(server, writers, own)
            committed += sum(one.committed for one in writers)
            with direct(server) as client:
                clear(client)
        assert committed > 15
        assert server.stop() == 0


@pytest.mark.parametrize("size, seconds", [(20_000, 0.02), (1 << 20, 0.6)], ids=["one entry of the log", "several entries of the log"])
def test_a_server_is_killed_in_a_commit(size, seconds):
    """The commit is on its way when the server goes, at every distance from its arrival. Checkpoints come in between."""
    with Server("--replSet", "rs0", "--syncdelay", "1", "--setParameter", "enableTestCommands=1") as server:
        server.initiate()
        with direct(server) as client:
            client.t.create_collection("c"), client.t2.create_collection("c")
        outcomes = set()
        for turn in range(max(4, KILLS)):
            session = RawSession(server.port).start()
            for i in range(20):
                reply = session.insert("c", {"_id": f"{turn} {i}", "text": "x" * size}, db="t" if i % 2 else "t2")
                assert reply["ok"] == 1, reply
            with socket.create_connection((server.host, server.port), timeout=DEADLINE) as line:
                send_raw(line, {"commitTransaction": 1, "lsid": session.lsid, "txnNumber": bson.Int64(session.number), "autocommit": False,
                                "writeConcern": {"w": "majority"}, "$db": "admin"})
                time.sleep(random.random() * seconds)
                answered = False
                if turn % 4 == 3:
                    answered = receive_raw(line)["ok"] == 1
                server.kill()
            server.start()
            wait_until(lambda: raw(server.port, {"hello": 1, "$db": "admin"})["isWritablePrimary"], server.tail)
            with direct(server) as client:
                there = sum(client[database].c.count_documents({"_id": {"$regex": f"^{turn} "}}) for database in ("t", "t2"))
            assert there in ((20,) if answered else (0, 20)), there
            reply = session.commit(writeConcern={"w": "majority"})
            assert (reply["ok"] == 1) == (there == 20), reply
            if there == 0:
                assert reply["code"] == 251 and TRANSIENT in reply["errorLabels"], reply
            outcomes.add(there)
            with direct(server) as client:
                client.t.c.delete_many({}), client.t2.c.delete_many({})
        assert 20 in outcomes


def all_of(session, kind, name):
    """The statements of a transaction; returns what is there when it took effect, as (database, collection, count)."""
    steps = [("t", "c", {"_id": f"{name} one"}), ("t2", "c", {"_id": f"{name} two"})]
    if kind == "several entries of the log":
        steps += [("t", "c", {"_id": f"{name} {i}", "text": random.randbytes(1 << 20).hex()}) for i in range(9)]
    if kind == "new collections":
        steps += [(database, f"made {name}", {"_id": f"{name} made"}) for database in ("t", "t2")]
    for database, collection, document in steps:
        reply = session.insert(collection, document, db=database)
        assert reply["ok"] == 1 and "writeErrors" not in reply, reply
    reply = session.update("c", {"_id": "count"}, {"$inc": {"n": 1}})
    assert reply["ok"] == 1 and reply["nModified"] == 1, reply
    return steps


@pytest.mark.parametrize("kind, step", [("one entry of the log", 1), ("several entries of the log", 6), ("new collections", 30), ("a checkpoint meanwhile", 20)])
def test_a_commit_is_whole_at_whichever_call_the_server_is_killed(kind, step, tmp_path):
    """kill -9 leaves what was given to the kernel, so that the calls that change files are all the moments there are."""
    dbpath = tmp_path / "db"
    dbpath.mkdir()
    kills = KillAtCall(tmp_path, dbpath)
    every_call = KILLS >= 100
    struck, outcomes = [], set()
    with Server("--replSet", "rs0", "--syncdelay", "3600", "--setParameter", "enableTestCommands=1", dbpath=dbpath, env=kills.env) as server:
        server.initiate()
        with direct(server) as client:
            client.t.c.insert_one({"_id": "count", "n": 0}), client.t2.create_collection("c")
        count, number = 0, 0
        while True:
            number += 1 if every_call else random.randint(1, step)
            passed = True
            for half in (False, True) if every_call else (random.random() < 0.5,):
                name = f"{number} {half}"
                session = RawSession(server.port).start()
                steps = all_of(session, kind, name)
                concern = random.choice([{"w": "majority"}, {"w": 1, "j": True}])
                checkpoint = threading.Thread(target=attempt, args=[lambda: raw(server.port, {"fsync": 1, "$db": "admin"})])
                kills.arm(number, half)
                if kind == "a checkpoint meanwhile":
                    checkpoint.start()
                answered = attempt(lambda: session.commit(writeConcern=concern))
                if checkpoint.ident:
                    checkpoint.join()
                kills.disarm()
                if kills.struck:
                    struck.append(kills.struck)
                    passed = False
                    server.ended()
                    if random.random() < 0.3:  # and once more, while it recovers
                        kills.arm(random.randrange(1, 60))
                        server.start(wait=False)
                        wait_until(lambda: kills.struck or listens(server), server.tail)
                        kills.disarm()
                        server.kill()
                    server.start()
                    wait_until(lambda: raw(server.port, {"hello": 1, "$db": "admin"})["isWritablePrimary"], server.tail)
                with direct(server) as client:
                    there = [client[database][collection].count_documents({"_id": document["_id"]}) for database, collection, document in steps]
                    made = [f"made {name}" in client[database].list_collection_names() for database in ("t", "t2")]
                    now = client.t.c.find_one({"_id": "count"})["n"]
                story = f"{kills.struck!r}, half: {half}, call {number}: {there} {made} {count} {now} {answered}"
                assert len(set(there)) == 1 and now - count == there[0], story
                if kind != "new collections":
                    assert not any(made), story
                elif there[0]:
                    assert all(made), story
                if answered:
                    assert answered["ok"] == 1 and there[0] == 1, story
                again = session.commit(writeConcern={"w": "majority"})
                assert (again["ok"] == 1) == (there[0] == 1), (again, story)
                count = now
                outcomes.add(there[0])
            if passed:
                break
        with direct(server) as client:
            for database in ("t", "t2"):
                for collection in client[database].list_collection_names():
                    report = client[database].command("validate", collection, full=True)
                    assert report["valid"] and not report["errors"], report
        print(f"{kind}: killed {len(struck)} times, the last at call {number - 1} of a commit: {collections.Counter(one.split()[0] for one in struck)}")
        assert 1 in outcomes and struck
        assert server.stop() == 0


def attempt(call):
    """Returns what the call returns, or None if the server was gone before it answered."""
    try:
        return call()
    except (OSError, EOFError):
        return None


def listens(server):
    if not server.running():
        return True
    return attempt(lambda: socket.create_connection((server.host, server.port), timeout=1).close() or True)
