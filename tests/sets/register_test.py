"""Registers that many clients read, write and change by compare-and-set while the set has faults: one order explains all
that they saw. And a set that only grows: what was there stays there."""
import random
import threading
import time

from pymongo import ReturnDocument
from pymongo.errors import PyMongoError
from pymongo.read_concern import ReadConcern

from tests.support.linearizability import INFINITY, Operation, linearizable
from tests.support.replica_set import SCALE, ReplicaSet
from tests.support.waiting import DEADLINE, wait_until


def test_the_checker_tells_good_histories_from_bad_ones():
    write, read = (lambda v, a, b: Operation("write", a, b, v)), (lambda v, a, b: Operation("read", a, b, v))
    cas = lambda e, v, a, b, ok=True: Operation("cas", a, b, v, e, ok)
    assert linearizable([])
    assert linearizable([write(1, 0, 1), read(1, 2, 3)])
    assert not linearizable([write(1, 0, 1), read(None, 2, 3)])
    assert linearizable([write(1, 0, 5), read(None, 2, 3)])                          # not yet
    assert not linearizable([write(1, 0, 5), read(1, 1, 2), read(None, 3, 4)])       # and not back again
    assert linearizable([write(1, 0, INFINITY), read(None, 2, 3), read(1, 4, 5)])    # late
    assert linearizable([write(1, 0, INFINITY), read(None, 2, 3)])                   # or never
    assert linearizable([write(1, 0, 1), cas(1, 2, 2, 3), read(2, 4, 5)])
    assert not linearizable([write(1, 0, 1), cas(1, 2, 2, 3), cas(1, 3, 4, 5)])      # both can't
    assert linearizable([write(1, 0, 1), cas(7, 2, 2, 3, False), read(1, 4, 5)])
    assert not linearizable([write(1, 0, 1), cas(1, 2, 2, 3, False)])


class Registers:
    """Clients at random operations on registers, each key for a while. What they saw, by key."""

    def __init__(self, replica_set, clients=4):
        self.set = replica_set
        self.history = {}
        self.added, self.seen = [], []      # of the growing set: (value, acknowledged at); (begun, contents)
        self.answered = 0
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._key = 0
        self._key_operations = 0
        self._threads = [threading.Thread(target=self._run, args=(n,), daemon=True) for n in range(clients)]

    def __enter__(self):
        [thread.start() for thread in self._threads]
        return self

    def __exit__(self, *error):
        self._stop.set()
        [thread.join(DEADLINE) for thread in self._threads]

    def wait_for_more(self, count=20):
        """Waits until so many more operations were answered."""
        enough = self.answered + count
        wait_until(lambda: self.answered >= enough, self.set.tails)

    def _next_key(self):
        with self._lock:
            self._key_operations += 1
            if self._key_operations > 40:
                self._key, self._key_operations = self._key + 1, 0
            return self._key

    def _run(self, number):
        dice = random.Random(number)
        # A driver's retry of a write is the same write: its time goes from the first call to the last answer.
        client = self.set.client(socketTimeoutMS=4000, serverSelectionTimeoutMS=8000)
        registers = client.t.get_collection("registers", read_concern=ReadConcern("linearizable"))
        grown = client.t.get_collection("grown", read_concern=ReadConcern("linearizable"))
        value = 0
        while not self._stop.is_set():
            key = self._next_key()
            value += 1
            mine = number * 1_000_000 + value
            kind = dice.choice(["read", "read", "write", "cas", "grow"])
            called = time.monotonic()
            expected = None
            try:
                if kind == "grow":
                    if dice.random() < 0.7:
                        grown.insert_one({"_id": mine})
                        self.added.append((mine, time.monotonic()))
                    else:
                        contents = {d["_id"] for d in grown.find({}, {"_id": 1}).batch_size(1_000_000)}
                        self.seen.append((called, contents))
                    self.answered += 1
                    continue
                if kind == "read":
                    found = registers.find_one({"_id": key})
                    operation = ("read", found["v"] if found else None, None, True)
                elif kind == "write":
                    registers.update_one({"_id": key}, {"$set": {"v": mine}}, upsert=True)
                    operation = ("write", mine, None, True)
                else:
                    now = registers.with_options(read_concern=ReadConcern("local")).find_one({"_id": key})
                    if not now:
                        continue
                    expected = now["v"]
                    called = time.monotonic()
                    changed = registers.find_one_and_update({"_id": key, "v": expected}, {"$set": {"v": mine}}, return_document=ReturnDocument.AFTER)
                    operation = ("cas", mine, expected, changed is not None)
                returned = time.monotonic()
                self.answered += 1
            except PyMongoError:
                if kind in ("read", "grow") or (kind == "cas" and expected is None):
                    continue
                operation, returned = (kind, mine, expected, True), INFINITY
            with self._lock:
                kind, seen, wanted, succeeded = operation
                self.history.setdefault(key, []).append(Operation(kind, called, returned, seen, wanted, succeeded))

    def check(self):
        for key, history in self.history.items():
            assert linearizable(history), (key, sorted(history, key=lambda one: one.called))
        for begun, contents in self.seen:
            missing = [value for value, acknowledged in self.added if acknowledged < begun and value not in contents]
            assert not missing, missing


def test_one_order_explains_what_clients_saw_through_faults():
    dice = random.Random(7)
    with ReplicaSet(3) as three:
        with Registers(three) as registers:
            for fault in range(int(3 * SCALE)):
                registers.wait_for_more()
                primary = three.primary()
                kind = ["hold", "kill", "step"][fault % 3]
                if kind == "kill":
                    primary.kill()
                    time.sleep(1.5 + dice.random())  # the others may elect another, or not yet
                    primary.start()
                elif kind == "hold":
                    primary.hold()
                    time.sleep(2.5 + dice.random())
                    primary.let_go()
                else:
                    try:
                        primary.command("replSetStepDown", 2)
                    except PyMongoError:
                        pass  # nobody could take over just now
            three.wait_settled()
            wait_until(lambda: len(registers.history) > 3 and len(registers.added) > 10 and registers.seen, three.tails)
        registers.check()
        three.check_same()
        three.check_nobody_failed()
