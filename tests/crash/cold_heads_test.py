"""A server is killed while it demotes heads that nobody reads and promotes those that somebody does: nothing is lost."""
import random
import threading
import time

import pytest
from pymongo.errors import PyMongoError

from tests.support.palimpsest import Server
from tests.support.revisions import words
from tests.support.waiting import wait_until

PAGES = 40
SETTINGS = ("--dedupProfile", "archive", "--syncdelay", "1", "--setParameter", "dedupDemoteAfterSecs=1",
            "--setParameter", "dedupDemotionWorthPercent=75")


class Wiki:
    """Pages that have much in common, so that the newest of each can be a delta of another's; and who writes and reads them."""

    def __init__(self, server, seed):
        self.server = server
        self.random = random.Random(seed)
        self.shared = words(self.random, 3000)
        self.texts = {}
        self.stored = {}      # _id -> acknowledged document
        self.unclear = {}     # _id -> what it may be instead, None: not there
        self.newest = {}      # page -> _id
        self.next = 1

    def version(self, page):
        text = self.texts.get(page)
        if text is None:
            text = self.shared + words(self.random, 200)
        else:
            at = self.random.randrange(len(text))
            text = text[:at] + words(self.random, 30) + text[at + self.random.randrange(40):]
        self.texts[page] = text
        return text

    def write(self, pages, page):
        """A version more, or another text for the newest one."""
        known = self.newest.get(page)
        update = known is not None and self.random.random() < 0.3
        document = {"_id": known if update else self.next, "page": page, "text": self.version(page)}
        self.unclear = {document["_id"]: document}
        if update:
            pages.replace_one({"_id": document["_id"]}, document)
        else:
            self.next += 1
            pages.insert_one(document)
        self.stored[document["_id"]] = document
        self.newest[page] = document["_id"]
        self.unclear = {}

    def load(self, pages, versions):
        for _ in range(versions):
            for page in range(PAGES):
                self.write(pages, page)

    def check(self, pages):
        """Checks the documents by a scan, which promotes nothing, and each by its _id, which does."""
        there = {document["_id"]: document for document in pages.find()}
        for key in set(self.stored) | set(self.unclear) | set(there):
            allowed = [document for document in (self.stored.get(key), self.unclear.get(key)) if document]
            if key not in self.stored:
                allowed.append(None)
            assert there.get(key) in allowed, f"{key} is not what was written"
            assert pages.find_one({"_id": key}) == there.get(key)
        for key, document in self.unclear.items():
            if key in there:
                self.stored[key] = there[key]
                self.newest[document["page"]] = max(key, self.newest.get(document["page"], 0))
        self.unclear = {}
        return len(there)

    def until_killed(self, least):
        """Writes, reads newest versions, asks for demotion; kills once `least` heads were demoted and promoted since."""
        stop = threading.Event()
        ends = []  # errors that ended a thread; before the kill there is none

        def guarded(work):
            def run():
                with self.server.client_until_killed() as client:
                    try:
                        while not stop.is_set():
                            work(client.cold)
                    except PyMongoError as error:
                        ends.append(error)
            return threading.Thread(target=run)

        generator = random.Random(self.random.random())
        read_now = list(self.newest.values())

        def read(db):
            db.pages.find_one({"_id": generator.choice(read_now)})
            time.sleep(0.002)

        # The more is written, the longer each demotion of all that is cold takes. So writes wait for these, or a slow machine
        # would have less and less of them.
        done = {"writes": 0, "compact": 0}

        def write(db):
            if done["writes"] < 100 * (done["compact"] + 1):
                self.write(db.pages, self.random.randrange(PAGES // 2))
                done["writes"] += 1
            time.sleep(0.002)

        def demote(db):
            db.command("compact", "pages")
            done["compact"] += 1

        def figures(client):
            dedup = client.cold.command("collStats", "pages")["dedup"]
            return min(dedup["demoted"], dedup["promoted"])

        threads = [guarded(write), guarded(demote)]
        [thread.start() for thread in threads]
        reader = None
        try:
            with self.server.client() as client:
                def enough():
                    # There are few enough that most have not been read for a second or two, and are cold again.
                    for _ in range(3):
                        read(client.cold)
                    time.sleep(generator.uniform(0.2, 0.5))
                    assert not ends, ends
                    return figures(client) >= least

                wait_until(enough, lambda: f"only {figures(client)} were demoted and promoted", seconds=300, pause=0)
            reader = guarded(read)
            reader.start()
            time.sleep(generator.uniform(0, 0.3))
        finally:
            self.server.kill()
            stop.set()
            [thread.join() for thread in [*threads, reader] if thread]


@pytest.mark.parametrize("seed", range(2))
def test_heads_demoted_and_promoted_when_the_server_is_killed_are_what_was_written(seed):
    with Server(*SETTINGS) as server:
        wiki = Wiki(server, seed)
        with server.client() as client:
            client.cold.create_collection("pages", dedup={"key": "page"})
            wiki.load(client.cold.pages, 4)
        for round_number in range(4):
            wiki.until_killed(least=3 + 2 * round_number)
            server.start()
            with server.client() as client:
                assert client.cold.command("validate", "pages", full=True)["valid"]
                assert wiki.check(client.cold.pages) == len(wiki.stored)
                report = client.cold.command("validate", "pages", full=True)
                assert report["valid"] and not report["errors"], report
        assert server.stop() == 0
