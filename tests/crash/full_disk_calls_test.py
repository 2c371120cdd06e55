"""The disk is full at one call that takes room, at whichever: the server goes on or ends, and what was acknowledged is there afterwards.

`PALIMPSEST_FULL_DISK_RUNS=200` tries more calls than a usual run.
"""
import os
import random

import pytest
from pymongo.errors import PyMongoError
from pymongo.write_concern import WriteConcern

from tests.support.palimpsest import BIN, Server

RUNS = int(os.environ.get("PALIMPSEST_FULL_DISK_RUNS") or 6)
WRITES = 150


def attempt(write):
    try:
        write()
        return True
    except PyMongoError:
        return False


@pytest.mark.parametrize("lasts", [1, 40, 10**9], ids=["once", "for_a_while", "for_good"])
def test_a_call_that_finds_the_disk_full_loses_nothing_acknowledged(tmp_path, lasts):
    for run in range(max(1, RUNS // 3)):
        first = random.randrange(1, 600)
        folder = tmp_path / f"{lasts}-{run}"
        failures = folder / "failures"
        (folder / "db").mkdir(parents=True)
        env = {**os.environ, "LD_PRELOAD": str(BIN / "full_disk_calls.so"), "FULL_DISK_UNDER": str(folder / "db"),
               "FULL_DISK_FIRST": str(first), "FULL_DISK_COUNT": str(lasts), "FULL_DISK_LOG": str(failures)}
        server = Server("--wiredTigerCacheSizeGB", "0.25", "--syncdelay", "1", dbpath=folder / "db", env=env)
        story = lambda: f"call {first}, {lasts} times:\n{failures.read_text() if failures.exists() else 'none failed'}\n{server.tail()}"
        with_all = {}
        unclear = set()
        try:
            started = True
            try:
                server.start()
            except RuntimeError:
                started = False  # it ended at the start, and said why
            if started:
                client = server.client_until_killed()
                pages = client.full.get_collection("pages", write_concern=WriteConcern(w=1, j=True))
                for number in range(WRITES):
                    if not server.running():
                        break
                    document = {"_id": number, "text": random.randbytes(random.randrange(100, 20_000))}
                    if attempt(lambda: pages.insert_one(document)):
                        with_all[number] = document["text"]
                    else:
                        unclear.add(number)
                    if number % 10 == 9:
                        gone = random.choice(list(with_all) or [number])
                        if attempt(lambda: pages.delete_one({"_id": gone})):
                            with_all.pop(gone, None)
                        else:
                            unclear.add(gone)
                    if number % 40 == 39:
                        attempt(lambda: client.admin.command("fsync"))
                client.close()
            if server.running():
                server.stop() if random.random() < 0.5 else server.kill()
            else:
                assert server.ended() not in (0, -11, -6), story()
            # The disk has room again.
            server.env = None
            server.start()
            pages = server.client().full.pages
            there = {page["_id"]: page["text"] for page in pages.find()}
            for number, text in with_all.items():
                assert number in unclear or there.get(number) == text, f"{number} is lost\n{story()}"
            for number in there:
                assert number in with_all or number in unclear, f"{number} came back\n{story()}"
            if there:
                assert pages.database.command("validate", "pages", full=True)["valid"], story()
            server.kill()
        finally:
            server.__exit__()
