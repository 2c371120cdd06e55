"""A random history, and consumers that rebuild the collections from change streams through kills and fail-overs: nothing is lost, and nothing
comes twice.

`PALIMPSEST_SETS_SCALE=20` makes the rows of faults so many times longer.
"""
import random
import threading

import bson
import pytest
from pymongo.errors import ConnectionFailure, OperationFailure, PyMongoError
from pymongo.read_preferences import ReadPreference
from pymongo.write_concern import WriteConcern

from tests.support.replica_set import SCALE, ReplicaSet
from tests.support.seeds import SEED
from tests.support.waiting import DEADLINE, wait_until

FAULTS = max(1, round(4 * SCALE))
COLLECTIONS = ("a", "b")


class Writer:
    """Writes at random, in and outside of transactions, until it is told to stop."""

    def __init__(self, replica_set, seed):
        self.client = replica_set.client(retryWrites=True)
        self.db = self.client.get_database("t", write_concern=WriteConcern("majority"))
        self.rng = random.Random(seed)
        self.made = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *error):
        self._stop.set()
        self._thread.join(2 * DEADLINE)
        assert not self._thread.is_alive()
        self.client.close()

    def _run(self):
        while not self._stop.is_set():
            try:
                if self.rng.random() < 0.2:
                    with self.client.start_session() as session:
                        session.with_transaction(lambda session: [self._change(session) for _ in range(3)])
                else:
                    self._change(None)
                self.made += 1
            except PyMongoError:
                pass  # it may have been made or not: the streams say which

    def _change(self, session):
        collection = self.db[self.rng.choice(COLLECTIONS)]
        key = {"_id": self.rng.randrange(30)}
        kind = self.rng.randrange(4)
        if kind == 0:
            collection.update_one(key, {"$set": {"n": self.rng.random(), f"f{self.rng.randrange(5)}": self.rng.randrange(9)}}, upsert=True, session=session)
        elif kind == 1:
            collection.update_one(key, {"$push": {"list": self.rng.randrange(9)}, "$unset": {f"f{self.rng.randrange(5)}": ""}}, session=session)
        elif kind == 2:
            collection.replace_one(key, {"text": "x" * self.rng.randrange(2000)}, upsert=True, session=session)
        else:
            collection.delete_one(key, session=session)


def set_path(document, path, value):
    *levels, last = path.split(".")
    for level in levels:
        document = document[int(level) if isinstance(document, list) else level]
    if isinstance(document, list):
        at = int(last)
        document.extend([None] * (at + 1 - len(document)))
        document[at] = value
    else:
        document[last] = value


class Consumer:
    """Rebuilds the collections from a stream that it resumes itself, from the last event or the last batch's token."""

    def __init__(self, client, start, name):
        self.client, self.name = client, name
        self.token = None
        self.start = start
        self.documents = {collection: {} for collection in COLLECTIONS}
        self.tokens = []
        self.resumes = 0
        self.failure = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        try:
            while not self._stop.is_set():
                self._read()
        except Exception as error:  # pylint: disable=broad-except
            self.failure = error

    def _read(self):
        options = {"resume_after": self.token} if self.token else {"start_at_operation_time": self.start}
        try:
            with self.client.t.watch(max_await_time_ms=500, **options) as stream:
                self.resumes += 1
                for _ in range(random.Random(self.resumes).randrange(20, 200)):  # it opens the stream anew now and then
                    if self._stop.is_set():
                        return
                    event = stream.try_next()
                    if event is not None:
                        self._apply(event)
                    self.token = stream.resume_token
        except (ConnectionFailure, OperationFailure) as error:
            assert not isinstance(error, OperationFailure) or error.code not in (260, 280, 286, 50), error

    def _apply(self, event):
        token = event["_id"]["_data"]
        assert not self.tokens or token > self.tokens[-1], f"{token} comes after {self.tokens[-1]}"
        self.tokens.append(token)
        documents, key = self.documents[event["ns"]["coll"]], event["documentKey"]["_id"]
        kind = event["operationType"]
        if kind == "insert":
            assert key not in documents, event
            documents[key] = event["fullDocument"]
        elif kind == "replace":
            assert key in documents, event
            documents[key] = event["fullDocument"]
        elif kind == "delete":
            documents.pop(key)
        else:
            document = documents[key]
            for cut in event["updateDescription"]["truncatedArrays"]:
                del document[cut["field"]][cut["newSize"]:]
            for path, value in event["updateDescription"]["updatedFields"].items():
                set_path(document, path, value)
            for path in event["updateDescription"]["removedFields"]:
                document.pop(path)

    def wait_same(self, db):
        wanted = {collection: {one["_id"]: one for one in db[collection].find()} for collection in COLLECTIONS}

        def same():
            assert self.failure is None, (self.name, self.failure)
            return self.documents == wanted
        wait_until(same, lambda: f"{self.name}: {len(self.tokens)} events, {self.resumes} resumes")

    def stop(self):
        self._stop.set()
        self._thread.join(2 * DEADLINE)
        assert not self._thread.is_alive() and self.failure is None, self.failure


@pytest.fixture(scope="module")
def three():
    with ReplicaSet(3) as running:
        yield running


@pytest.mark.parametrize("fault", ["kill", "step down"])
def test_consumers_rebuild_the_collections(three, fault):
    print(f"PALIMPSEST_TEST_SEED={SEED}")
    rng = random.Random(f"{SEED} {fault}")
    clients = [three.client(), three.client(read_preference=ReadPreference.SECONDARY_PREFERRED)]
    db = clients[0].get_database("t", write_concern=WriteConcern("majority"))
    for collection in COLLECTIONS:
        db[collection].drop()
        db.create_collection(collection)
    start = clients[0].admin.command("ping")["operationTime"]
    start = bson.Timestamp(start.time, start.inc + 1)
    consumers = [Consumer(client, start, name) for client, name in zip(clients, ("primary", "secondary"))]
    with Writer(three, rng.random()) as writer:
        for _ in range(FAULTS):
            before = writer.made
            wait_until(lambda: writer.made > before + 60)
            primary = three.primary()
            if fault == "kill":
                primary.kill()
                primary.start()
            else:
                with three.client() as client:
                    try:
                        client.admin.command("replSetStepDown", 5, force=True)
                    except PyMongoError:
                        pass
            three.wait_settled()
        before = writer.made
        wait_until(lambda: writer.made > before + 30)
    for consumer in consumers:
        consumer.wait_same(db)
        consumer.stop()
        assert consumer.resumes > FAULTS
    assert consumers[0].tokens == consumers[1].tokens
    three.check_nobody_failed()
    for client in clients:
        client.close()


@pytest.fixture(scope="module")
def steady():
    """A set whose primary leads on while the others are held."""
    with ReplicaSet(3, settings={"electionTimeoutMillis": 600_000}) as running:
        yield running


def test_documents_are_looked_up_as_the_majority_has_them(steady):
    """What the primary alone has is no stream's, not even where an event of before looks its document up."""
    primary = steady.primary()
    others = [member for member in steady.members if member is not primary]
    with primary.client(directConnection=True) as client:
        collection = client.t.get_collection("looked", write_concern=WriteConcern(1))
        majority = client.t.get_collection("looked", write_concern=WriteConcern("majority"))
        majority.insert_one({"_id": 0, "n": 0})
        with collection.watch(full_document="updateLookup", max_await_time_ms=300) as stream:
            majority.update_one({"_id": 0}, {"$set": {"n": 1}})
            for member in others:
                member.hold()
            try:
                collection.update_one({"_id": 0}, {"$set": {"n": 2}})
                found = []
                wait_until(lambda: found.append(stream.try_next()) or found[-1])
                assert found[-1]["fullDocument"] == {"_id": 0, "n": 1}
            finally:
                for member in others:
                    member.let_go()
            wait_until(lambda: found.append(stream.try_next()) or found[-1])
            assert found[-1]["fullDocument"] == {"_id": 0, "n": 2}
    steady.wait_settled()


def test_events_wait_for_the_majority(steady):
    """What the primary alone has is in no stream."""
    primary = steady.primary()
    others = [member for member in steady.members if member is not primary]
    with primary.client(directConnection=True) as client:
        collection = client.t.get_collection("alone", write_concern=WriteConcern(1))
        collection.insert_one({"_id": 0})
        with collection.watch(max_await_time_ms=300) as stream:
            for member in others:
                member.hold()
            try:
                collection.insert_one({"_id": 1})
                assert stream.try_next() is None
            finally:
                for member in others:
                    member.let_go()
            found = []
            wait_until(lambda: found.append(stream.try_next()) or found[-1])
            assert found[-1]["documentKey"] == {"_id": 1}
    steady.wait_settled()
