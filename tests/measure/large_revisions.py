"""Measures what revisions of documents near the limit of 16 MB cost a server in time and memory, and prints figures. It is no test.

    python -m tests.measure.large_revisions [--megabytes 15] [--revisions 50] [--cache 0.25]

from the root of the checkout, with what tests/requirements.txt names; PALIMPSEST_BIN is the folder of palimpsestd. Revisions come in three
ways: as documents of their own (`insert`), as one document that is replaced (`update`), and as one that is replaced after each
declared snapshot (`snapshots`). `write` is the time of the slowest write, and `encode` the processor time of the server for each megabyte
written, background work included. `hops` are the deltas of the revision with most of them. `memory` is the most that the server had resident while it
wrote and encoded, and then while all was read and while `validate {full: true}` ran, which took the time under `validate`.
"""
import argparse
import os
import pathlib
import random
import time

from tests.measure.branched_set import cpu_ms
from tests.measure.crafted import KINDS, MB, idle
from tests.support.palimpsest import Server

WAYS = ("insert", "update", "snapshots")


class Memory:
    """The most memory that a process had resident since the last look, in MB."""

    def __init__(self, server):
        self.process = pathlib.Path(f"/proc/{server.process.pid}")

    def peak(self):
        lines = (self.process / "status").read_text().splitlines()
        kilobytes = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
        (self.process / "clear_refs").write_text("5")
        return kilobytes // 1024


def revise(client, way, kind, size, revisions):
    """Returns how long the slowest write took."""
    rng, collection, slowest = random.Random(2), client["large"]["c"], 0
    for revision in range(revisions):
        document = {"_id": revision if way == "insert" else 0, "n": revision, "data": KINDS[kind](rng, size)}
        began = time.monotonic()
        if way == "insert":
            collection.insert_one(document)
        else:
            collection.replace_one({"_id": 0}, document, upsert=True)
        slowest = max(slowest, time.monotonic() - began)
        if way == "snapshots":
            client.admin.command({"createSnapshot": 1, "name": f"r{revision}"})
    return slowest


def read_all(client, way, revisions):
    """Returns the most hops of a revision, as far as `explain` shows them."""
    hops = 0
    for revision in range(revisions):
        database = client[f"large@r{revision}"] if way == "snapshots" else client["large"]
        key = revision if way == "insert" else 0
        assert len(database["c"].find_one({"_id": key})["data"]) > 0
        if way == "insert":
            found = database.command("explain", {"find": "c", "filter": {"_id": key}}, verbosity="executionStats")
            hops = max(hops, found["executionStats"].get("dedupHops", 0))
    return hops


def measure(way, kind, arguments):
    with Server("--wiredTigerCacheSizeGB", str(arguments.cache)) as server, server.client() as client:
        memory, size = Memory(server), arguments.megabytes * MB
        cpu = cpu_ms(server)
        slowest = revise(client, way, kind, size, arguments.revisions)
        idle(client)
        cpu = (cpu_ms(server) - cpu) / arguments.revisions / arguments.megabytes
        writing = memory.peak()
        hops = read_all(client, way, arguments.revisions)
        reading = memory.peak()
        began = time.monotonic()
        assert client["large"].command("validate", "c", full=True)["valid"]
        took = time.monotonic() - began
        print(f"{way:10} {kind:24} {slowest * 1000:5.0f} ms {cpu:7.1f} ms {hops:5} {writing:6} {reading:6} {memory.peak():6} MB {took:7.1f} s", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--megabytes", type=int, default=15)
    parser.add_argument("--revisions", type=int, default=50)
    parser.add_argument("--cache", type=float, default=0.25, help="the server's cache, in GB")
    parser.add_argument("--kind", action="append")
    parser.add_argument("--way", action="append", choices=WAYS)
    arguments = parser.parse_args()
    print(f"load {os.getloadavg()[0]:.1f}, documents of {arguments.megabytes} MB in {arguments.revisions} revisions, "
          f"a cache of {arguments.cache} GB")
    print(f"{'way':10} {'kind':24} {'write':>8} {'encode':>10} {'hops':>5} {'memory':>24} {'validate':>9}")
    for way in arguments.way or WAYS:
        for kind in arguments.kind or ("random", "a small edit", "pieces of 256 shuffled"):
            measure(way, kind, arguments)


if __name__ == "__main__":
    main()
