"""The console of a replica set: any member can be asked, a cursor stays with its member, and what only a primary does goes to the primary."""
import threading

import pytest

from tests.console.console import Console
from tests.support.replica_set import ReplicaSet
from tests.support.waiting import DEADLINE


def patient(uri, milliseconds=DEADLINE * 1000):
    """The connection string, with the time that the console waits for members."""
    return f"{uri}{'&' if '?' in uri else '?'}serverSelectionTimeoutMS={milliseconds}"


@pytest.fixture(scope="module")
def members():
    with ReplicaSet(3) as running:
        running.client().shop.pages.insert_many({"_id": i} for i in range(300))
        running.wait_same_place()
        yield running


def test_every_member_can_be_asked(members):
    with Console(patient(members.uri)) as console:
        page = console.log_in()
        for member in members.members:
            reply = console.post("/command", {"db": "admin", "command": {"hello": 1}, "member": member.name}, page)[1]
            assert reply.get("me") == member.name, reply
            assert console.post("/command", {"db": "admin", "command": {"currentOp": 1}, "member": member.name}, page)[1]["ok"] == 1
        assert console.post("/command", {"db": "admin", "command": {"hello": 1}}, page)[1]["me"] == members.primary().name


def asked_in_vain(uri, member):
    """The reply for a member that doesn't answer. The console waits for members only as long as lets itself begin."""
    for milliseconds in (200 << tries for tries in range(9)):
        try:
            with Console(patient(uri, milliseconds)) as console:
                return console.post("/command", {"db": "admin", "command": {"hello": 1}, "member": member.name}, console.log_in())[1]
        except RuntimeError:  # no member answered it in this time
            pass
    raise AssertionError("the console doesn't begin")


def test_a_member_that_has_not_answered_yet_is_waited_for(members):
    slow = members.secondaries()[0]
    slow.hold()
    try:
        reply = asked_in_vain(members.uri, slow)
        assert (reply["codeName"], reply["errmsg"]) == ("HostUnreachable", f"the member {slow.name} doesn't answer")
        with Console(patient(members.uri)) as console:
            page = console.log_in()
            again = threading.Timer(0.5, slow.let_go)
            again.start()
            reply = console.post("/command", {"db": "admin", "command": {"hello": 1}, "member": slow.name}, page)[1]
            again.join()
            assert reply.get("me") == slow.name, reply
    finally:
        slow.let_go()


def test_a_cursor_stays_with_the_member_that_opened_it(members):
    with Console(patient(members.uri) + "&readPreference=secondary", "--write") as console:
        page = console.log_in()
        asked = lambda command, **more: console.post("/command", {"db": "shop", "command": command, **more}, page)[1]
        assert asked({"hello": 1})["me"] in [member.name for member in members.secondaries()]
        cursors = [asked({"find": "pages", "batchSize": 100}, **more)["cursor"] for more in ({}, {"member": members.primary().name})]
        for cursor in cursors:
            seen = len(cursor["firstBatch"])
            while cursor["id"]:
                cursor = console.post("/next", {"cursor": cursor["id"], "batchSize": 100}, page)[1]["cursor"]
                seen += len(cursor["nextBatch"])
            assert seen == 300
        # A secondary would refuse it.
        assert asked({"createBranch": "dev"})["ok"] == 1
