"""The server is killed while writers write and snapshots come and go: every snapshot that was acknowledged shows what there was."""
import random
import threading

import pymongo
from pymongo.errors import OperationFailure, PyMongoError

from tests.support.palimpsest import Server
from tests.support.waiting import wait_until

ROUNDS = 4


def contents(database):
    return {one["_id"]: one for one in database.c.find()}


def work(server, seed, state, stop):
    """One document collection, one writer: `state` is what was acknowledged, and what may have happened beyond it."""
    draw = random.Random(seed)
    client = server.client_until_killed()
    try:
        while not stop.is_set():
            key, kind = draw.randrange(80), draw.randrange(20)
            if kind == 0:
                made = client.admin.command("createSnapshot", 1)["snapshot"]
                state["snapshots"][made] = dict(state["now"])
            elif kind == 1 and len(state["snapshots"]) > 4:
                name = draw.choice(list(state["snapshots"]))
                shown = state["snapshots"].pop(name)
                client.admin.command("dropSnapshot", name)
            else:
                after = dict(state["now"])
                if key in after and draw.random() < 0.3:
                    del after[key]
                    change = lambda: client.shop.c.delete_one({"_id": key})
                else:
                    after[key] = {"_id": key, "n": draw.randrange(9), "text": "text " * draw.randrange(100)}
                    change = lambda: client.shop.c.replace_one({"_id": key}, after[key], upsert=True)
                state["maybe"] = after
                change()
                state["now"] = after
    except (PyMongoError, OperationFailure):
        pass
    finally:
        client.close()


def test_killed_in_the_middle():
    with Server() as server:
        with pymongo.MongoClient(server.uri) as client:
            client.shop.c.create_index("n")
        state = {"now": {}, "maybe": {}, "snapshots": {}}
        for round in range(ROUNDS):
            stop = threading.Event()
            thread = threading.Thread(target=work, args=(server, round, state, stop))
            thread.start()
            wait_until(lambda: len(state["snapshots"]) > round)
            thread.join(1 + round / 2)
            server.kill()
            stop.set()
            thread.join()
            server.start()
            with pymongo.MongoClient(server.uri) as client:
                found = contents(client.shop)
                assert found in (state["now"], state["maybe"])
                state["now"] = state["maybe"] = found
                there = {one["snapshot"] for one in client.admin.cursor_command("listSnapshots", 1)}
                for name, shown in state["snapshots"].items():
                    assert name in there and contents(client[f"shop@{name}"]) == shown
                    for n in range(9):
                        assert {one["_id"] for one in client[f"shop@{name}"].c.find({"n": n}).hint("n_1")} == {key for key, one in shown.items() if one["n"] == n}
                report = client.shop.command("validate", "c", full=True)
                assert report["valid"] and not report["errors"], report
        assert len(state["snapshots"]) > 3
