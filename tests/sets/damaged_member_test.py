"""A member that can't read its data copies another member's, by itself."""
import contextlib
import json
import random
import threading

import pytest
from pymongo import WriteConcern
from pymongo.errors import OperationFailure, PyMongoError

from tests.support.damage import damage_rows, largest_file, middle_first
from tests.support.replica_set import ReplicaSet
from tests.support.waiting import wait_until

DOCUMENTS = 3000
COPIES = 7100044  # the log's line of a member that will copy
COPIED = 21163  # and of one that has


def fill(replica_set):
    rng = random.Random(3)
    collection = replica_set.client()["t"]["c"]
    for first in range(0, DOCUMENTS, 500):
        collection.insert_many({"_id": key, "text": rng.randbytes(400).hex()} for key in range(first, first + 500))
    replica_set.wait_same_place()


def damage(member, least=10, **which):
    """Pages of the largest collection that a clean end has left on the disk: each of them, if nothing else is said."""
    member.stop()
    assert damage_rows(largest_file(member), **which) >= least
    member.start()


def read_all(member):
    try:
        return sum(1 for _ in member.direct["t"]["c"].find({}, {"text": 1}))
    except PyMongoError as error:
        assert not isinstance(error, OperationFailure) or error.code in (301, 10107, 11600, 13435, 13436), error
        return 0


def copies(member):
    read_all(member)
    return bool(member.log_lines(COPIES))


def test_a_secondary_copies_the_data_anew():
    with ReplicaSet(3) as three:
        fill(three)
        member = three.secondaries()[0]
        damage(member)
        wait_until(lambda: copies(member))
        three.client()["t"]["c"].insert_one({"_id": "later"})
        wait_until(lambda: read_all(member) == DOCUMENTS + 1)
        three.wait_settled()
        three.check_same()


def test_a_primary_hands_over_before_it_copies():
    with ReplicaSet(3) as three:
        fill(three)
        member = three.primary()

        def prefer(config):
            next(one for one in config["members"] if one["host"] == member.name)["priority"] = 5
        three.reconfigure(prefer)
        damage(member)
        wait_until(lambda: member.state() == "PRIMARY")
        wait_until(lambda: copies(member))
        wait_until(lambda: read_all(member) == DOCUMENTS)
        three.wait_settled()
        three.check_same()


@pytest.mark.parametrize("arbiter", (False, True), ids=("two members", "two members and an arbiter"))
def test_a_member_copies_though_nothing_is_majority_committed_without_it(arbiter):
    with ReplicaSet([{}, {}, {"arbiterOnly": True}] if arbiter else 2) as small:
        fill(small)
        member = small.secondaries()[0]
        stop = threading.Event()

        def write():
            collection = small.client()["t"].get_collection("w", write_concern=WriteConcern(1))
            while not stop.wait(0.01):
                with contextlib.suppress(PyMongoError):
                    collection.insert_one({})

        writer = threading.Thread(target=write)
        damage(member)
        writer.start()
        try:
            wait_until(lambda: copies(member))
            wait_until(lambda: read_all(member) == DOCUMENTS, small.tails)
        finally:
            stop.set()
            writer.join()
        small.wait_settled()
        small.check_same()


def copied(member):
    """Returns what the member's log says of each copy that it has completed."""
    return [json.loads(line)["attr"] for line in member.log_lines(COPIED)]


def test_the_next_copy_takes_from_the_members_own_files_what_is_whole_there():
    with ReplicaSet(1) as one:
        fill(one)
        client = one.client()
        for _ in range(4):
            client["t"]["d"].insert_one({})
            client.admin.command("fsync")
        member = one.join(votes=0, priority=0)
        wait_until(lambda: read_all(member) == DOCUMENTS)
        one.wait_same_place()
        first, = copied(member)
        assert first["ownBytes"] < first["bytes"] // 2

        for page in middle_first(largest_file(member)):
            damage(member, least=1, keep=lambda at, pages, page=page: at != page)
            wait_until(lambda: copies(member) or read_all(member) == DOCUMENTS)
            if member.log_lines(COPIES):
                break
            # The page was one that nothing uses any more.
        wait_until(lambda: read_all(member) == DOCUMENTS and len(copied(member)) == 2)
        second = copied(member)[1]
        # A member's own log and metadata differ, and a new journal has many zeros, as every other one.
        whole = largest_file(member).stat().st_size * 9 // 10
        assert second["ownBytes"] > first["ownBytes"] + whole, (first, second)
        client["t"]["c"].insert_one({"_id": "later"})
        wait_until(lambda: read_all(member) == DOCUMENTS + 1)
        one.check_same()
