"""Measures what dropping, replacing and renaming a collection of a branch costs, and prints figures. It is no test.

    python -m tests.measure.branch_collections [--documents 100000]

from the root of the checkout, with what tests/requirements.txt names; PALIMPSEST_BIN is the folder of palimpsestd. Documents of 1 KB of random
bytes with one index, committed, on a lone server. CPU time is that of all threads of the server.
"""
import argparse
import os
import random
import time

from tests.measure.branched_set import cpu_ms
from tests.support.palimpsest import Server


def step(server, what, work):
    began, cpu = time.monotonic(), cpu_ms(server)
    work()
    print(f"{what:44} {(time.monotonic() - began) * 1000:8.0f} ms  {cpu_ms(server) - cpu:8.0f} ms CPU", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--documents", type=int, default=100_000)
    documents = parser.parse_args().documents
    print(f"load {os.getloadavg()[0]:.1f}, {documents} documents")
    with Server() as server:
        client = server.client()
        main, dev = client["shop"], client["shop@dev"]
        rename = lambda one, other: client.admin.command("renameCollection", f"shop@dev.{one}", to=f"shop@dev.{other}")
        main.c.create_index("n")
        for first in range(0, documents, 10_000):
            main.c.insert_many([{"_id": i, "n": i % 1000, "text": random.randbytes(1000)} for i in range(first, min(first + 10_000, documents))])
        main.command("createBranch", "dev")
        step(server, "$out of all into another collection", lambda: dev.c.aggregate([{"$out": "d"}]))
        step(server, "commit of it", lambda: dev.command("commit", 1))
        step(server, "$out of all into itself", lambda: dev.d.aggregate([{"$set": {"again": 1}}, {"$out": "d"}]))
        step(server, "drop of it, not committed", lambda: dev.d.drop())
        dev.command("commit", 1)
        step(server, "renameCollection of what is committed", lambda: rename("c", "e"))
        step(server, "commit of it", lambda: dev.command("commit", 1))
        step(server, "drop of what is committed", lambda: dev.e.drop())
        step(server, "commit of the drop", lambda: dev.command("commit", 1))
        step(server, "merge of the drop into main", lambda: main.command("merge", "dev"))
        assert main.list_collection_names() == []
        print(f"load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
