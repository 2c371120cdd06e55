"""Random transactions of many clients, on one member and on three with faults: nothing happens that snapshot isolation doesn't allow.

`PALIMPSEST_SETS_SCALE=20` makes the histories, and the rows of faults, so many times longer.
"""
import collections
import random
import threading
import time

import pymongo
import pytest
from pymongo.errors import OperationFailure, PyMongoError
from pymongo.read_concern import ReadConcern
from pymongo.write_concern import WriteConcern

from tests.support.anomalies import ABORTED, COMMITTED, INFINITY, UNKNOWN, Append, Read, Transaction, Write, find_anomalies
from tests.support.network import Network, NotPermitted
from tests.support.palimpsest import Server
from tests.support.replica_set import SCALE, ReplicaSet
from tests.support.seeds import SEED
from tests.support.waiting import DEADLINE, wait_until

KEYS = 4              # that are in use at one time: few, so that transactions meet
KEY_OPERATIONS = 40   # after so many, another key comes in its place
RETRIES_SECONDS = 20  # for how long a commit without an answer is repeated


class Clients:
    """Threads that run random transactions, each with a client of its own, and write down what they saw.

    An attempt that fails is tried again as `with_transaction` would try it. Each attempt has values of its own, so that an aborted one can be
    told from that which follows it.
    """

    def __init__(self, connect, name, clients=5):
        self.connect, self.name = connect, name
        self.history = []
        self.outcomes, self.errors = collections.Counter(), collections.Counter()
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._failures = []
        self._value = 0
        self._uses = collections.Counter()
        self._keys = list(range(KEYS))
        seed = random.getrandbits(40)
        self._threads = [threading.Thread(target=self._run, args=(random.Random(f"{seed} {n}"), n), daemon=True) for n in range(clients)]

    def __enter__(self):
        print(f"PALIMPSEST_TEST_SEED={SEED}")
        [thread.start() for thread in self._threads]
        return self

    def __exit__(self, *error):
        self._stop.set()
        [thread.join(2 * DEADLINE) for thread in self._threads]

    def wait_for_more(self, count):
        """Waits until so many more were committed. Only clients that commit nothing at all for the usual deadline fail the test."""
        enough = self.outcomes[COMMITTED] + count
        while (before := self.outcomes[COMMITTED]) < enough and not self._failures:
            wait_until(lambda: self.outcomes[COMMITTED] > before or self._failures, lambda: f"{self.outcomes} {self.errors}")

    def check(self, anything_unknown=False):
        """Ends the history with a transaction that reads everything, and looks for anomalies in it."""
        assert not any(thread.is_alive() for thread in self._threads), "a client hangs"
        assert not self._failures, self._failures[0]
        with self.connect() as client, client.start_session() as session:
            everything = [(kind, key) for key in sorted(self._uses) for kind in ("read list", "read register")]
            assert self._attempt(client, session, lambda: everything, "last") == COMMITTED, self.errors
        assert anything_unknown or not self.outcomes[UNKNOWN], self.errors
        findings = find_anomalies(self.history, real_time=True)
        by_name = {one.name: one for one in self.history}
        for anomaly, what in findings.violations[:3]:
            print(anomaly, what)
            print("\n".join(f"  {by_name[name]}"[:3000] for name in dict.fromkeys(word.strip(",") for word in what.split()) if name in by_name))
        assert not findings.violations, f"{len(findings.violations)} violations in {len(self.history)} transactions, the first: {findings.violations[0]}"
        return findings.seen

    def _next_value(self):
        with self._lock:
            self._value += 1
            return self._value

    def _next_key(self, dice):
        with self._lock:
            at = dice.randrange(KEYS)
            key = self._keys[at]
            self._uses[key] += 1
            if self._uses[key] >= KEY_OPERATIONS:
                self._keys[at] = max(self._keys) + 1
                self._uses[self._keys[at]] += 0
            return key

    def _plan(self, dice):
        kinds = ["read list", "read list", "append", "append", "read register", "write register", "pause"]
        return [(kind, self._next_key(dice)) for kind in dice.choices(kinds, k=dice.randrange(2, 7))]

    def _run(self, dice, number):
        try:
            with self.connect() as client, client.start_session() as session:
                count = 0
                while not self._stop.is_set():
                    count += 1
                    if dice.random() < 0.1:
                        self._alone(client, dice, f"{number}.{count}")
                        continue
                    plan, tries = self._plan(dice), 0
                    while not self._stop.is_set() and self._attempt(client, session, lambda: plan, f"{number}.{count}.{tries}", dice) == "again":
                        tries += 1
                        time.sleep(dice.random() * 0.005)
        except BaseException as error:
            self._failures.append(error)
            raise

    def _note(self, name, operations, outcome, begun, ended=INFINITY):
        with self._lock:
            self.history.append(Transaction(name, operations, outcome, begun, ended if outcome == COMMITTED else INFINITY))
            self.outcomes[outcome] += 1

    def _count_error(self, error):
        with self._lock:
            self.errors[f"{type(error).__name__} {getattr(error, 'code', '')} {str(error)[:100]}"] += 1

    def _attempt(self, client, session, plan, name, dice=None):
        """One attempt. Returns its outcome, or "again" where the whole transaction should be tried again."""
        operations, begun = [], time.monotonic()
        session.start_transaction(ReadConcern("snapshot"), WriteConcern("majority"))
        try:
            for kind, key in plan():
                if kind == "pause":
                    time.sleep(dice.random() * 0.01)
                else:
                    # What is written down may have happened, whatever the call says.
                    self._do(client[self.name], session, kind, key, operations)
            if dice and dice.random() < 0.05:
                session.abort_transaction()
                self._note(name, operations, ABORTED, begun)
                return ABORTED
        except PyMongoError as error:  # nobody has asked to commit it
            self._count_error(error)
            if session.in_transaction:
                session.abort_transaction()
            self._note(name, operations, ABORTED, begun)
            # An upsert may find that another has made its document since: the next attempt sees it.
            return "again" if error.has_error_label("TransientTransactionError") or getattr(error, "code", None) == 11000 else ABORTED
        give_up = time.monotonic() + RETRIES_SECONDS
        while True:
            try:
                session.commit_transaction()
                self._note(name, operations, COMMITTED, begun, time.monotonic())
                return COMMITTED
            except PyMongoError as error:
                self._count_error(error)
                if error.has_error_label("UnknownTransactionCommitResult") and time.monotonic() < give_up:
                    time.sleep(0.02)
                    continue
                aborted = error.has_error_label("TransientTransactionError")
                self._note(name, operations, ABORTED if aborted else UNKNOWN, begun)
                return "again" if aborted else UNKNOWN

    def _do(self, database, session, kind, key, operations):
        if kind == "read list":
            found = database.lists.find_one({"_id": key}, session=session)
            operations.append(Read(f"l{key}", tuple(found["values"]) if found else ()))
        elif kind == "read register":
            found = database.registers.find_one({"_id": key}, session=session)
            operations.append(Read(f"r{key}", found["value"] if found else None))
        elif kind == "append":
            operations.append(Append(f"l{key}", self._next_value()))
            database.lists.update_one({"_id": key}, {"$push": {"values": operations[-1].value}}, upsert=True, session=session)
        else:
            operations.append(Write(f"r{key}", self._next_value()))
            database.registers.update_one({"_id": key}, {"$set": {"value": operations[-1].value}}, upsert=True, session=session)

    def _alone(self, client, dice, name):
        """A write in no transaction is one of its own."""
        kind, key = dice.choice(["append", "write register"]), self._next_key(dice)
        operations, begun = [], time.monotonic()
        try:
            self._do(client[self.name], None, kind, key, operations)
            self._note(name, operations, COMMITTED, begun, time.monotonic())
        except PyMongoError as error:
            self._count_error(error)
            self._note(name, operations, UNKNOWN, begun)


def check_members(replica_set):
    replica_set.check_same()
    replica_set.check_nobody_failed()


# ---- one member -----------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def alone():
    with Server("--replSet", "rs0", "--setParameter", "enableTestCommands=1") as server:
        server.initiate()
        yield server


def connecting(server):
    return lambda: pymongo.MongoClient(server.uri, directConnection=False, replicaSet="rs0", serverSelectionTimeoutMS=DEADLINE * 1000,
                                       w="majority", heartbeatFrequencyMS=500)


def test_transactions_on_one_member_are_isolated(alone):
    with Clients(connecting(alone), "histories") as clients:
        clients.wait_for_more(int(400 * SCALE))
    seen = clients.check()
    assert clients.outcomes[ABORTED], "nobody conflicted"
    assert SCALE <= 1 or seen["write skew"], "the clients were never so close that snapshot isolation shows"


def test_transactions_are_isolated_while_the_server_is_killed(alone):
    with Clients(connecting(alone), "killed") as clients:
        for _ in range(int(2 * SCALE)):
            clients.wait_for_more(80)
            time.sleep(random.random() * 0.3)
            alone.kill()
            alone.start()
        clients.wait_for_more(80)
    clients.check(anything_unknown=True)


def test_write_skew_is_allowed_and_a_lost_update_is_not(alone):
    with connecting(alone)() as client:
        database = client.constructed
        database.lists.insert_many([{"_id": "x", "values": []}, {"_id": "y", "values": []}])
        with client.start_session() as one, client.start_session() as other:
            history = []
            for session in (one, other):
                session.start_transaction(ReadConcern("snapshot"), WriteConcern("majority"))
            for session, key, value in ((one, "x", 1), (other, "y", 2)):
                reads = [Read(name, tuple(database.lists.find_one({"_id": name}, session=session)["values"])) for name in ("x", "y")]
                history.append([*reads, Append(key, value)])
            for session, key, value in ((one, "x", 1), (other, "y", 2)):
                database.lists.update_one({"_id": key}, {"$push": {"values": value}}, session=session)
            for session in (one, other):
                session.commit_transaction()
        after = [Read(name, tuple(database.lists.find_one({"_id": name})["values"])) for name in ("x", "y")]
        findings = find_anomalies([Transaction(str(number), operations) for number, operations in enumerate([*history, after])])
        assert not findings.violations and findings.seen == {"write skew": 1, "G2-item": 1} and after == [Read("x", (1,)), Read("y", (2,))]

        for first_commits in (True, False):
            with client.start_session() as one, client.start_session() as other:
                for session in (one, other):
                    session.start_transaction(ReadConcern("snapshot"), WriteConcern("majority"))
                    assert database.lists.find_one({"_id": "x"}, session=session)
                database.lists.update_one({"_id": "x"}, {"$push": {"values": 3}}, session=one)
                if first_commits:
                    one.commit_transaction()
                with pytest.raises(OperationFailure) as failure:
                    database.lists.update_one({"_id": "x"}, {"$push": {"values": 4}}, session=other)
                assert failure.value.code == 112 and failure.value.has_error_label("TransientTransactionError")
                other.abort_transaction()
                if not first_commits:
                    one.commit_transaction()
        assert database.lists.find_one({"_id": "x"})["values"] == [1, 3, 3]


# ---- three members --------------------------------------------------------------------------------

def joining(replica_set):
    return lambda: pymongo.MongoClient(replica_set.uri, serverSelectionTimeoutMS=DEADLINE * 1000, heartbeatFrequencyMS=500, socketTimeoutMS=10_000, w="majority")


def test_transactions_are_isolated_while_primaries_are_killed(three):
    with Clients(joining(three), "killed") as clients:
        for _ in range(int(2 * SCALE)):
            clients.wait_for_more(60)
            time.sleep(random.random() * 0.3)
            primary = three.primary()
            primary.kill()
            if random.random() < 0.5:
                clients.wait_for_more(30)  # the others go on
            primary.start()
        three.wait_settled()
        clients.wait_for_more(60)
    clients.check(anything_unknown=True)
    check_members(three)


def test_transactions_are_isolated_while_primaries_step_down_or_hang(three):
    with Clients(joining(three), "handed") as clients:
        for turn in range(int(2 * SCALE)):
            clients.wait_for_more(60)
            primary = three.wait_settled()
            if turn % 2 == 0:
                try:
                    primary.command("replSetStepDown", 2)
                except PyMongoError:
                    pass  # nobody could take over just now
            else:
                primary.hold()
                time.sleep(1.5 + random.random())
                primary.let_go()
        three.wait_settled()
        clients.wait_for_more(60)
    clients.check(anything_unknown=True)
    check_members(three)


def test_a_secondary_begins_no_transaction(three):
    secondary = three.secondaries()[0]
    with secondary.direct.start_session() as session:
        session.start_transaction()
        with pytest.raises(PyMongoError) as failure:
            secondary.direct.t.c.insert_one({}, session=session)
        assert failure.value.details["code"] == 10107 and failure.value.has_error_label("TransientTransactionError")


def test_a_commit_whose_answer_was_lost_is_repeated_at_the_next_primary(three):
    client = three.client()
    client.t.create_collection("repeated")
    with client.start_session() as committed, client.start_session() as still_open:
        for session in (committed, still_open):
            session.start_transaction(write_concern=WriteConcern("majority"))
        client.t.repeated.insert_one({"_id": "committed"}, session=committed)
        client.t.repeated.insert_one({"_id": "open"}, session=still_open)
        committed.commit_transaction()
        primary = three.primary()
        primary.kill()

        def commits_again():
            try:
                committed.commit_transaction()
                return True
            except PyMongoError as error:
                assert error.has_error_label("UnknownTransactionCommitResult"), error
                return False

        wait_until(commits_again)
        with pytest.raises(OperationFailure) as failure:
            client.t.repeated.insert_one({"_id": "more"}, session=still_open)
        assert failure.value.code == 251 and failure.value.has_error_label("TransientTransactionError")
        still_open.abort_transaction()
        assert [one["_id"] for one in client.t.repeated.find()] == ["committed"]
        primary.start()
    three.wait_settled()
    check_members(three)


@pytest.fixture(scope="module")
def network():
    try:
        made = Network(3).__enter__()
    except NotPermitted as why:
        pytest.skip(f"network namespaces are not permitted here: {why}")
    yield made
    made.__exit__()


def test_transactions_are_isolated_through_partitions(network):
    with ReplicaSet(3, hosts=[network.place(i) for i in range(3)]) as replica_set:
        try:
            with Clients(joining(replica_set), "parted") as clients:
                for turn in range(int(2 * SCALE)):
                    clients.wait_for_more(60)
                    primary = replica_set.members.index(replica_set.wait_settled())
                    others = [i for i in range(3) if i != primary]
                    if turn % 2 == 0:
                        network.part(primary, others)  # the clients reach it, and it reaches nobody
                    else:
                        network.cut(random.choice(others), primary)
                    time.sleep(1.5 + random.random())
                    network.heal()
                replica_set.wait_settled()
                clients.wait_for_more(60)
        finally:
            network.heal()
        clients.check(anything_unknown=True)
        check_members(replica_set)
