"""A write whose answer was lost in a crash is sent again, and takes effect once."""
import random
import threading
import time
import uuid

import bson
import pytest

from tests.drivers.replica_set_test import direct, raw
from tests.support.palimpsest import Server
from tests.support.waiting import wait_until


class Writer(threading.Thread):
    """One session, one statement after the other, until its connection goes; remembers the one without an answer."""

    def __init__(self, port, number, seed):
        super().__init__()
        self.port, self.number = port, number
        self.generator = random.Random(seed * 100 + number)
        self.session = {"id": bson.Binary(uuid.uuid4().bytes, 4)}
        self.txn, self.pending, self.answered = 0, None, 0
        self.inserted, self.increments, self.last = 0, 0, None

    def next(self):
        self.txn += 1
        kind = self.generator.random()
        if kind < 0.4:
            documents = [{"writer": self.number, "n": self.inserted + i} for i in range(self.generator.randrange(1, 40))]
            return {"insert": "log", "documents": documents}
        change = {"$inc": {"n": 1}, "$set": {"text": f"{self.generator.random()}" * 20}}
        if kind < 0.7:
            return {"update": "counters", "updates": [{"q": {"_id": self.number}, "u": change, "upsert": True}]}
        return {"findAndModify": "counters", "query": {"_id": self.number}, "update": change, "upsert": True, "new": True}

    def send(self, command):
        return raw(self.port, {**command, "lsid": self.session, "txnNumber": bson.Int64(self.txn), "$db": "t"})

    def count(self, command, reply):
        assert reply["ok"] == 1 and "writeErrors" not in reply, reply
        if "insert" in command:
            assert reply["n"] == len(command["documents"])
            self.inserted += reply["n"]
        else:
            self.increments += 1
            if "findAndModify" in command:
                assert reply["value"]["n"] == self.increments, "the answer is of another run"
        self.answered += 1

    def run(self):
        while True:
            self.pending = self.next()
            try:
                reply = self.send(self.pending)
            except (OSError, EOFError):
                return
            self.count(self.pending, reply)


@pytest.mark.parametrize("seed", range(4))
def test_a_write_cut_off_by_kill_is_sent_again_and_runs_once(seed):
    with Server("--replSet", "rs0", "--syncdelay", "1") as server:
        client = direct(server)
        client.admin.command("replSetInitiate")
        client.close()
        writers = [Writer(server.port, n, seed) for n in range(4)]
        for round_number in range(3):
            if round_number:
                fresh = []
                for old in writers:  # a thread runs once: the session goes on in another
                    new = Writer(server.port, old.number, seed * 7 + round_number)
                    new.session, new.txn, new.inserted, new.increments, new.answered = old.session, old.txn, old.inserted, old.increments, old.answered
                    fresh.append(new)
                writers = fresh
            [w.start() for w in writers]
            wait_until(lambda: sum(w.answered for w in writers) > 20 * (round_number + 1) and all(w.pending for w in writers))
            time.sleep(random.Random(seed * 10 + round_number).uniform(0.2, 1.1))
            server.kill()
            [w.join() for w in writers]
            server.start()
            wait_for_primary(server)
            for writer in writers:
                for attempt in range(2):  # once would be luck
                    reply = writer.send(writer.pending)
                    if attempt == 0:
                        writer.count(writer.pending, reply)
                    else:
                        assert "retriedStmtIds" in reply or "retriedStmtId" in reply, reply
            check(server, writers)
        assert sum(w.answered for w in writers) > 50
        client = direct(server)
        for collection in ("log", "counters"):
            assert client.t.command("validate", collection, full=True)["valid"]
        client.close()


def wait_for_primary(server):
    wait_until(lambda: raw(server.port, {"hello": 1, "$db": "admin"})["isWritablePrimary"], server.tail)


def check(server, writers):
    client = direct(server)
    for writer in writers:
        numbers = sorted(d["n"] for d in client.t.log.find({"writer": writer.number}))
        assert numbers == list(range(writer.inserted)), f"writer {writer.number}: a document is missing or there twice"
        counter = client.t.counters.find_one({"_id": writer.number}) or {"n": 0}
        assert counter["n"] == writer.increments
    client.close()
