"""Acknowledged writes survive kill -9 of the real process in the middle of real work."""
import random
import re
import shutil
import signal
import threading
import time

import pytest
from pymongo.errors import PyMongoError

from tests.support.palimpsest import Server
from tests.support.waiting import wait_until


class Workload:
    """Writers that remember what was acknowledged, and what was in flight when the server went."""

    def __init__(self, server, seed):
        self.server = server
        self.seed = seed
        self.stop = threading.Event()
        self.acknowledged = [dict() for _ in range(4)]   # _id -> text or None (deleted), per writer
        self.unclear = [dict() for _ in range(4)]        # the operation that got no answer
        self.failures = []

    def write(self, writer):
        generator = random.Random(self.seed * 100 + writer)
        words = [f"w{generator.randrange(10**6)}" for _ in range(400)]
        client = self.server.client_until_killed()
        done, count = self.acknowledged[writer], 0
        pages = client.crash.pages
        while not self.stop.is_set():
            words[generator.randrange(len(words))] = f"w{generator.randrange(10**6)}"
            text, kind = " ".join(words), generator.random()
            count += 1
            key = f"{writer}-{count}"
            known = [k for k, v in done.items() if v is not None] if kind > 0.8 else []
            if known:
                key = generator.choice(known[-50:])
            self.unclear[writer] = {key: text if not known or kind < 0.93 else None}
            try:
                if not known:
                    pages.insert_one({"_id": key, "text": text})
                elif kind < 0.93:
                    pages.update_one({"_id": key}, {"$set": {"text": text}})
                else:
                    pages.delete_one({"_id": key})
            except PyMongoError:
                break
            done.update(self.unclear[writer])
            self.unclear[writer] = {}
        client.close()

    def run(self, seconds):
        """Kills the server when some writes were acknowledged, so many seconds later."""
        threads = [threading.Thread(target=self.write, args=(writer,)) for writer in range(4)]
        [thread.start() for thread in threads]
        wait_until(lambda: sum(map(len, self.acknowledged)) > 40)
        time.sleep(seconds)
        self.server.kill()
        self.stop.set()
        [thread.join() for thread in threads]

    def check(self, client):
        stored = {d["_id"]: d["text"] for d in client.crash.pages.find()}
        checked = 0
        for done, unclear in zip(self.acknowledged, self.unclear):
            for key, text in done.items():
                allowed = {text, unclear[key]} if key in unclear else {text}
                assert stored.get(key) in allowed, f"{key} was acknowledged and is not what was written"
                checked += 1
        known = {key for done in self.acknowledged for key in done} | {key for unclear in self.unclear for key in unclear}
        assert set(stored) <= known
        return checked


def valid(client, db="crash", collection="pages"):
    report = client[db].command("validate", collection, full=True)
    assert report["valid"], report


@pytest.mark.parametrize("seed", range(5))
def test_what_was_acknowledged_survives_kill(seed):
    with Server("--syncdelay", "1") as server:
        total = 0
        for round_number in range(3):
            workload = Workload(server, seed * 10 + round_number)
            client = server.client()
            client.crash.pages.drop()
            client.crash.pages.create_index("text", name="t", sparse=True) if seed % 2 else None
            client.close()
            workload.run(random.Random(seed + round_number).uniform(0.3, 1.8))
            server.start()
            client = server.client()
            total += workload.check(client)
            valid(client)
            client.crash.after.insert_one({"round": round_number})
            assert client.crash.after.count_documents({}) == round_number + 1
            client.close()
        assert total > 100
        assert server.stop() == 0


def test_a_clean_stop_loses_nothing_and_leaves_with_zero():
    with Server() as server:
        client = server.client()
        client.clean.c.insert_many([{"_id": i, "text": f"text {i} " * 200} for i in range(1000)])
        client.close()
        assert server.stop() == 0
        server.start()
        client = server.client()
        assert client.clean.c.count_documents({}) == 1000
        assert client.clean.c.find_one({"_id": 999})["text"] == "text 999 " * 200
        valid(client, "clean", "c")


def test_a_second_server_on_the_same_directory_is_refused():
    with Server() as server:
        second = Server(dbpath=server.dbpath)
        second.start(wait=False)
        assert second.ended() == 100
        assert "DBPathInUse" in second.tail()
        assert server.client().admin.command("ping")["ok"] == 1
        shutil.rmtree(second.directory, ignore_errors=True)


def test_a_directory_of_another_version_is_refused():
    with Server() as server:
        server.client().some.c.insert_one({})
        server.stop()
        marker = server.dbpath / "palimpsest.json"
        marker.write_text(re.sub(r'"version": \d+', '"version": 999', marker.read_text()))
        server.start(wait=False)
        assert server.ended() not in (0, -signal.SIGSEGV, -signal.SIGABRT)
        assert "999" in server.tail()


def test_a_foreign_directory_is_refused():
    with Server() as server:
        server.client().some.c.insert_one({})
        server.stop()
        (server.dbpath / "palimpsest.json").unlink()
        server.start(wait=False)
        assert server.ended() not in (0, -signal.SIGSEGV, -signal.SIGABRT)
