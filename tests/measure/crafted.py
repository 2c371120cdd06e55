"""Measures what documents that are made to be hard for dedup cost, and prints figures. It is no test.

    python -m tests.measure.crafted [--megabytes 15] [--revisions 50]

from the root of the checkout, with what tests/requirements.txt names; PALIMPSEST_BIN is the folder of palimpsestd. Each kind of document is
inserted in so many revisions; beside it stand random bytes of the same size, which have nothing in common. `write` is the time of the slowest
write, `encode` the processor time of the server for each megabyte written, background work included, and `stored` what is on the disk
for each byte written, after `compact`.
"""
import argparse
import os
import random
import time

from tests.measure.branched_set import cpu_ms
from tests.support.palimpsest import Server
from tests.support.waiting import wait_until

MB = 1 << 20


def periodic(rng, size, period):
    piece = rng.randbytes(period)
    return (piece * (size // period + 1))[:size]


def shuffled(rng, size, piece):
    """The same pieces in another order each time: many short matches, none that goes on."""
    pieces = [random.Random(i).randbytes(piece) for i in range(size // piece)]
    rng.shuffle(pieces)
    return b"".join(pieces)


def edited(rng, size, base={}):
    """A small change somewhere in the middle."""
    data = bytearray(base.setdefault(size, rng.randbytes(size)))
    at = rng.randrange(size - 64)
    data[at:at + 64] = rng.randbytes(64)
    base[size] = bytes(data)
    return base[size]


KINDS = {
    "random": lambda rng, size: rng.randbytes(size),
    "a small edit": edited,
    "zeros": lambda rng, size: bytes(size - 8) + rng.randbytes(8),
    "period 1, a byte each": lambda rng, size: bytes([rng.randrange(256)]) * size,
    "period 7": lambda rng, size: periodic(rng, size, 7),
    "period 64": lambda rng, size: periodic(random.Random(1), size - 8, 64) + rng.randbytes(8),
    "period 4096": lambda rng, size: periodic(random.Random(1), size - 8, 4096) + rng.randbytes(8),
    "pieces of 32 shuffled": lambda rng, size: shuffled(rng, size, 32),
    "pieces of 256 shuffled": lambda rng, size: shuffled(rng, size, 256),
    "two letters": lambda rng, size: bytes(rng.choices(b"ab", k=size)),
}


def idle(client):
    """Dedup has nothing left to do."""
    def done():
        dedup = client.admin.command("serverStatus")["dedup"]
        return dedup["queue"]["records"] == 0 and dedup["queue"]["collectionsBehind"] == 0 and dedup["writeBack"]["records"] == 0
    wait_until(done, seconds=600, pause=0.2)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--megabytes", type=int, default=15)
    parser.add_argument("--revisions", type=int, default=50)
    parser.add_argument("--kind", action="append")
    arguments = parser.parse_args()
    size = arguments.megabytes * MB
    print(f"load {os.getloadavg()[0]:.1f}, documents of {arguments.megabytes} MB in {arguments.revisions} revisions")
    print(f"{'kind':24} {'write':>8} {'encode':>10} {'stored':>8}")
    for kind in arguments.kind or KINDS:
        rng = random.Random(2)
        with Server() as server, server.client() as client:
            collection = client["crafted"]["c"]
            cpu, slowest = cpu_ms(server), 0
            for revision in range(arguments.revisions):
                document = {"_id": revision, "data": KINDS[kind](rng, size)}
                began = time.monotonic()
                collection.insert_one(document)
                slowest = max(slowest, time.monotonic() - began)
            idle(client)
            cpu = cpu_ms(server) - cpu
            client.admin.command("fsync", 1)
            client["crafted"].command("compact", "c", force=True)
            written = arguments.revisions * arguments.megabytes
            stored = sum(path.stat().st_size for path in server.dbpath.glob("*.wt"))
            print(f"{kind:24} {slowest * 1000:5.0f} ms {cpu / written:7.1f} ms {stored / written / MB:7.3f}x", flush=True)


if __name__ == "__main__":
    main()
