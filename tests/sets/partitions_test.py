"""These tests partition members, which are in network namespaces of their own."""
import bson
import pytest
from pymongo.errors import NotPrimaryError, PyMongoError
from pymongo.read_concern import ReadConcern
from pymongo.write_concern import WriteConcern

from tests.sets.branched_set_test import check_same
from tests.support.network import Network, NotPermitted
from tests.support.replica_set import Load, ReplicaSet
from tests.support.waiting import wait_until

# Some tests are about elections that don't happen: no member may take another for gone because the machine is slow.
ELECTION_TIMEOUT = 2.5


@pytest.fixture(scope="module")
def network():
    try:
        made = Network(3).__enter__()
    except NotPermitted as why:
        pytest.skip(f"network namespaces are not permitted here: {why}")
    yield made
    made.__exit__()


@pytest.fixture(scope="module")
def shared(network):
    with ReplicaSet(3, settings={"electionTimeoutMillis": int(ELECTION_TIMEOUT * 1000)}, hosts=[network.place(i) for i in range(3)]) as running:
        yield running


@pytest.fixture
def three(shared, network):
    shared.wait_settled()
    yield shared
    network.heal()
    shared.check_same()
    shared.check_nobody_failed()


def cut_off(three, network, write):
    """The primary, which did this write after it was cut off from the others. One that had stepped down by then is let back, and the next is cut
    off."""
    def written():
        old = three.wait_settled()
        at = three.members.index(old)
        network.part(at, [i for i in range(3) if i != at])
        try:
            write(old)
            return old
        except NotPrimaryError:
            network.heal()
            return None

    return wait_until(written, three.tails)


def test_a_primary_that_is_cut_off_from_the_others_steps_down_and_they_go_on(three, network):
    client = three.client()
    client.t.c.insert_one({"_id": "before"})
    old = cut_off(three, network, lambda old: old.direct.t.get_collection("c", write_concern=WriteConcern(w=1)).insert_one({"_id": "only here"}))
    wait_until(lambda: old.state() != "PRIMARY", three.tails)
    with pytest.raises(PyMongoError) as failure:
        old.direct.t.c.insert_one({})
    assert failure.value.details["code"] == 10107
    with pytest.raises(PyMongoError) as failure:
        old.direct.t.get_collection("c", read_concern=ReadConcern("linearizable")).find_one()
    assert failure.value.details["code"] == 10107
    new = three.primary()
    assert new is not old
    client.t.c.insert_one({"_id": "after"})
    # It still has the writes that only it has, and doesn't show them to a reader that asks for what the majority has.
    with pytest.raises(PyMongoError) as failure:
        old.direct.t.get_collection("c", read_concern=ReadConcern("majority")).find_one({"_id": "only here"})
    assert failure.value.details["code"] == 134
    network.heal()
    three.wait_settled()
    three.check_same()
    assert {d["_id"] for d in client.t.c.find()} == {"before", "after"}
    kept = [document for file in (old.dbpath / "rollback").rglob("*.bson") for document in bson.decode_all(file.read_bytes())]
    assert {"_id": "only here"} in kept


def test_what_a_rollback_takes_from_branches_is_in_files(three, network):
    client = three.client()
    client.rolled.c.insert_one({"_id": "first"})
    client.rolled.command("createBranch", "dev")
    three.wait_same_place()
    merged = None

    def write(old):
        nonlocal merged
        weak = WriteConcern(w=1)
        old.direct["rolled@dev"].get_collection("c", write_concern=weak).insert_one({"_id": "on dev"})
        old.direct.rolled.get_collection("c", write_concern=weak).insert_one({"_id": "on main"})
        old.direct.rolled.command("commit", 1, writeConcern={"w": 1})
        old.direct.rolled.command("createBranch", "short", writeConcern={"w": 1})
        old.direct["rolled@short"].get_collection("c", write_concern=weak).insert_one({"_id": "on short"})
        old.direct["rolled@dev"].command("commit", 1, writeConcern={"w": 1})
        merged = old.direct.rolled.command("merge", "dev", writeConcern={"w": 1})["commit"]
        old.direct.rolled.command("createTag", "merged", writeConcern={"w": 1})

    old = cut_off(three, network, write)
    wait_until(lambda: old.state() != "PRIMARY", three.tails)
    assert three.primary() is not old
    client["rolled@dev"].c.insert_one({"_id": "after"})
    network.heal()
    three.wait_settled()
    said = check_same(three, "rolled")
    assert set(said["branches"]) == {"dev", "main"} and not said["tags"] and merged not in said
    assert {one["_id"] for one in old.direct["rolled@dev"].c.find()} == {"first", "after"}
    kept = [document for file in (old.dbpath / "rollback").rglob("*.bson") for document in bson.decode_all(file.read_bytes())]
    for where in ("dev", "main", "short"):
        assert {"_id": f"on {where}"} in kept, (where, kept)


def test_a_secondary_that_comes_back_from_a_partition_disturbs_nobody(three, network):
    primary = three.primary()
    other = three.secondaries()[0]
    at = three.members.index(other)
    term = primary.command("replSetGetStatus")["term"]
    with Load(three) as load:
        network.part(at, [i for i in range(3) if i != at])
        wait_until(lambda: "primary" not in other.command("hello"), three.tails)  # it asks whether the others would elect it
        three.let_pass(2 * ELECTION_TIMEOUT, [other])
        assert other.command("replSetGetStatus")["term"] == term
        network.heal()
        three.wait_settled()
        load.wait_for_more()
        three.wait_same_place()
    assert primary.state() == "PRIMARY" and primary.command("replSetGetStatus")["term"] == term
    assert not load.errors, load.errors
    load.check_kept()


def test_a_primary_that_hears_nobody_but_is_heard_gives_up(three, network):
    old = three.primary()
    at = three.members.index(old)
    for i in range(3):
        if i != at:
            network.cut(i, at)
    wait_until(lambda: old.state() != "PRIMARY", three.tails)
    three.client().t.c.insert_one({"_id": bson.ObjectId()})
    assert three.primary() is not old


def test_a_primary_without_clients_leads_on_for_the_others(three, network):
    primary = three.primary()
    at = three.members.index(primary)
    term = primary.command("replSetGetStatus")["term"]
    network.cut(None, at)
    followers = [member for member in three.members if member is not primary]
    three.let_pass(1.5 * ELECTION_TIMEOUT, followers, still=lambda: all(member.command("hello").get("primary") == primary.name for member in followers))
    network.heal()
    three.wait_settled()
    assert primary.command("replSetGetStatus")["term"] == term
