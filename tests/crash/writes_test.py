"""A server is killed in the middle of every kind of write: what was acknowledged is there, what got no answer is there whole or not at all."""
import random
import threading
import time

import pymongo
import pytest
from pymongo.errors import PyMongoError
from pymongo.write_concern import WriteConcern

from tests.support.palimpsest import Server
from tests.support.revisions import words
from tests.support.waiting import wait_until

CONCERNS = [WriteConcern(w=1, j=True), WriteConcern()]  # the default: what a stand-alone server acknowledges is in the log
GROUPS = 4
CAPPED_BYTES = 1 << 20


class Writer(threading.Thread):
    """Documents of its own. `expected` is what was acknowledged; `unclear` what a document may be instead, by the statement without an answer."""

    def __init__(self, server, number, expected, seed):
        super().__init__()
        self.server, self.number, self.expected = server, number, expected
        self.random = random.Random(seed)
        self.unclear = {}     # _id -> document or None
        self.answered = 0
        self.failures = []

    def key(self):
        return self.random.choice(list(self.expected)) if self.expected else None

    def document(self, text):
        return {"_id": f"{self.number}-{self.random.getrandbits(60):x}", "writer": self.number, "group": self.random.randrange(GROUPS),
                "n": 0, "text": text}

    def edited(self, text):
        at = self.random.randrange(len(text))
        return text[:at] + words(self.random, 20) + text[at + self.random.randrange(30):]

    def step(self, pages):
        kind = self.random.randrange(8) if len(self.expected) > 20 else 0
        key = self.key()
        old = self.expected.get(key)
        if kind <= 1:
            text = self.edited(old["text"]) if old else words(self.random, 2000)
            made = [self.document(text) for _ in range(self.random.randrange(1, 4))]
            change = {one["_id"]: one for one in made}
            if kind == 0:
                run = lambda: pages.insert_many(made)
            else:
                gone = self.key()
                change[gone] = None
                run = lambda: pages.bulk_write([*map(pymongo.InsertOne, made), pymongo.DeleteOne({"_id": gone})], ordered=False)
        elif kind == 2:
            change = {key: {**old, "text": self.edited(old["text"])}}
            run = lambda: pages.update_one({"_id": key}, {"$set": {"text": change[key]["text"]}})
        elif kind == 3:
            change = {key: {**old, "text": self.edited(old["text"]), "n": old["n"] + 7}}
            run = lambda: pages.replace_one({"_id": key}, change[key])
        elif kind == 4:  # several documents, each for itself
            group = self.random.randrange(GROUPS)
            change = {one["_id"]: {**one, "n": one["n"] + 1} for one in self.expected.values() if one["group"] == group}
            run = lambda: pages.update_many({"writer": self.number, "group": group}, {"$inc": {"n": 1}})
        elif kind == 5:
            change = {key: {**old, "n": old["n"] + 1}}
            run = lambda: self.answers(pages.find_one_and_update({"_id": key}, {"$inc": {"n": 1}}, return_document=True), change[key])
        elif kind == 6:
            change = {key: None}
            run = lambda: self.answers(pages.find_one_and_delete({"_id": key}), old)
        else:
            change = {key: None}
            run = lambda: pages.delete_one({"_id": key})
        self.unclear = change
        run()
        for one, document in change.items():
            if document is None:
                del self.expected[one]
            else:
                self.expected[one] = document
        self.unclear = {}
        self.answered += 1

    def answers(self, found, wanted):
        if found != wanted:
            self.failures.append((found, wanted))

    def run(self):
        concern = CONCERNS[self.number % len(CONCERNS)]
        with self.server.client_until_killed() as client:
            pages = client.crash.get_collection("pages", write_concern=concern)
            try:
                while True:
                    self.step(pages)
            except PyMongoError:
                pass


class CappedWriter(threading.Thread):
    """Counts up in a capped collection."""

    def __init__(self, server, number):
        super().__init__()
        self.server, self.acknowledged = server, number

    def run(self):
        generator = random.Random(self.acknowledged)
        with self.server.client_until_killed() as client:
            try:
                while True:
                    client.crash.capped.insert_one({"_id": self.acknowledged + 1, "text": words(generator, 3000)})
                    self.acknowledged += 1
            except PyMongoError:
                pass


class IndexBuilder(threading.Thread):
    """Indexes come and go while documents are written."""

    def __init__(self, server):
        super().__init__()
        self.server = server
        self.built = 0

    def run(self):
        with self.server.client_until_killed() as client:
            try:
                while True:
                    for keys, name in (([("group", 1), ("n", -1)], "group"), ([("text", 1)], "text")):
                        client.crash.pages.create_index(keys, name=name)
                        self.built += 1
                    client.crash.pages.drop_index("group")
                    client.crash.pages.drop_index("text")
            except PyMongoError:
                pass


def check_pages(pages, writers):
    stored = {document["_id"]: document for document in pages.find()}
    known = set()
    for writer in writers:
        assert not writer.failures
        for key in set(writer.expected) | set(writer.unclear):
            allowed = [writer.expected.get(key)] + ([writer.unclear[key]] if key in writer.unclear else [])
            assert stored.get(key) in allowed, f"{key} is {stored.get(key)}, not one of {allowed}"
            if key in stored:
                writer.expected[key] = stored[key]
            else:
                writer.expected.pop(key, None)
        known |= set(writer.expected)
    assert set(stored) == known
    indexes = pages.index_information()
    assert set(indexes) <= {"_id_", "group", "text"}
    for document in stored.values():
        if "text" in indexes:
            assert document["_id"] in [one["_id"] for one in pages.find({"text": document["text"]}, {"_id": 1}).hint("text")]
    if "group" in indexes:
        found = list(pages.find({"group": {"$gte": 0}}, {"_id": 1}).hint("group"))
        assert sorted(one["_id"] for one in found) == sorted(stored)
    return len(stored)


def check_capped(capped, acknowledged):
    numbers = [one["_id"] for one in capped.find({}, {"_id": 1})]
    assert numbers == list(range(numbers[0], numbers[-1] + 1)), "in the order of insertion, without a gap"
    assert numbers[-1] in (acknowledged, acknowledged + 1)
    assert len(numbers) >= CAPPED_BYTES // 2 // 3100 or numbers[0] == 1
    return numbers[-1]


@pytest.mark.parametrize("seed", range(2))
def test_writes_of_every_kind_survive_kill_as_acknowledged(seed):
    generator = random.Random(seed)
    with Server("--syncdelay", "1") as server:
        with server.client() as client:
            client.crash.create_collection("capped", capped=True, size=CAPPED_BYTES)
            client.crash.pages.create_index("writer")
            client.crash.pages.drop_index("writer_1")
        expected, counted, answered, built = [{} for _ in range(4)], 0, 0, 0
        for _ in range(4):
            writers = [Writer(server, number, expected[number], generator.getrandbits(40)) for number in range(4)]
            capped, builder = CappedWriter(server, counted), IndexBuilder(server)
            threads = [*writers, capped, builder]
            [thread.start() for thread in threads]
            wait_until(lambda: sum(writer.answered for writer in writers) > 20 and builder.built > 0 and capped.acknowledged > counted + 3)
            time.sleep(generator.uniform(0.5, 2.5))
            server.kill()
            [thread.join() for thread in threads]
            server.start()
            with server.client() as client:
                for name in ("pages", "capped"):
                    report = client.crash.command("validate", name, full=True)
                    assert report["valid"] and not report["errors"], report
                check_pages(client.crash.pages, writers)
                counted = check_capped(client.crash.capped, capped.acknowledged)
                # A build can begin again, whether the index is left over or not.
                for name in set(client.crash.pages.index_information()) - {"_id_"}:
                    client.crash.pages.drop_index(name)
            answered += sum(writer.answered for writer in writers)
            built += builder.built
        assert answered > 50 and built > 0 and counted > 10
        assert server.stop() == 0
