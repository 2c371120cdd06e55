"""Measures what it costs to take back documents that aren't committed, behind a history of many, and prints figures. It is no test.

    python -m tests.measure.forced_reset [--documents 40000] [--rounds 6]

from the root of the checkout, with what tests/requirements.txt names; PALIMPSEST_BIN is the folder of palimpsestd. Every document of a branch, of
about 1 KB, is changed and committed so many times, then changed once more; the branch is reset, changed again, and dropped. CPU time is that of all
threads of the server.
"""
import argparse
import os
import random
import time

from tests.measure.branched_set import cpu_ms
from tests.support.palimpsest import Server


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=40000)
    parser.add_argument("--rounds", type=int, default=6)
    given = parser.parse_args()
    print(f"load {os.getloadavg()[0]:.1f}; {given.documents} documents, {given.rounds} commits")
    with Server() as server, server.client() as client:
        own = random.Random(1)
        words = [own.randbytes(6).hex() for _ in range(2000)]
        main, dev = client.shop, client["shop@dev"]
        main.c.create_index("n")
        for first in range(0, given.documents, 4000):
            main.c.insert_many([{"_id": i, "n": i, "text": " ".join(own.choices(words, k=75))} for i in range(first, min(given.documents, first + 4000))])
        main.command("createBranch", "dev")
        for _ in range(given.rounds):
            dev.c.update_many({}, {"$inc": {"n": 1}})
            dev.command("commit", 1)
        for what, arguments in [("resetBranch", {"to": "dev"}), ("dropBranch", {})]:
            dev.c.update_many({}, {"$inc": {"n": 1}})
            cpu, began = cpu_ms(server), time.monotonic()
            main.command(what, "dev", force=True, **arguments)
            print(f"{what:12} {time.monotonic() - began:8.2f} s  {(cpu_ms(server) - cpu) / 1000:8.2f} s CPU", flush=True)
    print(f"load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
