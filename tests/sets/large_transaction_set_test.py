"""A transaction of hundreds of megabytes reaches all members, and takes no more memory than docs/transactions.md says.

`PALIMPSEST_TRANSACTION_MB=300` makes it so large; `-s` shows what was measured.
"""
import os
import random
import time

from pymongo.write_concern import WriteConcern

from tests.support.replica_set import ReplicaSet

MEGABYTES = int(os.environ.get("PALIMPSEST_TRANSACTION_MB", "24"))
DOCUMENT = 100_000  # bytes
# All open transactions may have written 15 % of the cache, and the test has one of them.
CACHE_GB = max(0.5, MEGABYTES / 1000 / 0.15 * 1.25)


def memory(member):
    """The member's resident memory and its peak since the last time it was asked for, in megabytes."""
    fields = dict(line.split(":", 1) for line in open(f"/proc/{member.process.pid}/status") if line.startswith("Vm"))
    with open(f"/proc/{member.process.pid}/clear_refs", "w") as peak:
        peak.write("5")
    return tuple(int(fields[name].split()[0]) // 1024 for name in ("VmRSS", "VmHWM"))


def report(what, replica_set, since):
    primary = replica_set.primary()
    shown = ", ".join(f"{'primary' if member is primary else 'secondary'} {now} (peak {peak})" for member in replica_set.members
                      for now, peak in [memory(member)])
    print(f"{what}: {time.monotonic() - since:.1f} s; resident MB: {shown}")


def test_a_large_transaction_is_the_same_on_all_members():
    count = MEGABYTES * 1_000_000 // DOCUMENT
    with ReplicaSet(3, hosts=[{"cache_gb": round(CACHE_GB, 2)}] * 3) as three:
        client = three.client(w="majority")
        for name in ("one", "two"):
            client.t.create_collection(name)
        begun = time.monotonic()
        report("before", three, begun)
        with client.start_session() as session:
            session.start_transaction(write_concern=WriteConcern("majority"))
            for first in range(0, count, 100):
                documents = [{"_id": i, "text": random.randbytes(DOCUMENT // 2).hex()} for i in range(first, min(count, first + 100))]
                client.t["one" if first % 200 else "two"].insert_many(documents, session=session)
            client.t.two.update_many({"_id": {"$lt": 10}}, {"$set": {"seen": True}}, session=session)
            client.t.two.delete_one({"_id": 10}, session=session)
            report("written", three, begun)
            assert client.t.one.estimated_document_count() == 0
            begun = time.monotonic()
            session.commit_transaction()
            report("committed by the majority", three, begun)
        three.wait_same_place()
        report("on all members", three, begun)
        for member in three.members:
            there = sum(member.direct.t[name].count_documents({}) for name in ("one", "two"))
            assert there == count - 1 and member.direct.t.two.count_documents({"seen": True}) == 10, member.name
        three.check_same()
        primary = three.primary()
        chain = [entry for entry in primary.direct.local.oplog.rs.find({"o.applyOps": {"$exists": True}}, {"o.partialTxn": 1, "o.count": 1})]
        assert len(chain) >= MEGABYTES // 16 and chain[-1]["o"].get("count") == count + 11, chain[-1:]
        report("compared", three, begun)

        # A member that was killed has it all again.
        primary.kill()
        three.primary()
        primary.start()
        three.wait_settled()
        three.check_same()
        three.check_nobody_failed()
