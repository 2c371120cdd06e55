"""The console of a replica set: any member can be asked, a cursor stays with its member, and what only a primary does goes to the primary."""
import pytest

from tests.console.console import Console
from tests.support.replica_set import ReplicaSet


@pytest.fixture(scope="module")
def members():
    with ReplicaSet(2) as running:
        running.client().shop.pages.insert_many({"_id": i} for i in range(300))
        running.wait_same_place()
        yield running


def test_every_member_can_be_asked(members):
    with Console(members.uri) as console:
        page = console.log_in()
        for member in members.members:
            reply = console.post("/command", {"db": "admin", "command": {"hello": 1}, "member": member.name}, page)[1]
            assert reply["me"] == member.name
            assert console.post("/command", {"db": "admin", "command": {"currentOp": 1}, "member": member.name}, page)[1]["ok"] == 1
        assert console.post("/command", {"db": "admin", "command": {"hello": 1}}, page)[1]["me"] == members.primary().name


def test_a_cursor_stays_with_the_member_that_opened_it(members):
    secondary = members.secondaries()[0]
    joint = "&" if "?" in members.uri else "?"
    with Console(members.uri + joint + "readPreference=secondary", "--write") as console:
        page = console.log_in()
        asked = lambda command, **more: console.post("/command", {"db": "shop", "command": command, **more}, page)[1]
        assert asked({"hello": 1})["me"] == secondary.name
        cursors = [asked({"find": "pages", "batchSize": 100}, **more)["cursor"] for more in ({}, {"member": members.primary().name})]
        for cursor in cursors:
            seen = len(cursor["firstBatch"])
            while cursor["id"]:
                cursor = console.post("/next", {"cursor": cursor["id"], "batchSize": 100}, page)[1]["cursor"]
                seen += len(cursor["nextBatch"])
            assert seen == 300
        # A secondary would refuse it.
        assert asked({"createBranch": "dev"})["ok"] == 1
