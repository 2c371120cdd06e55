"""These tests check how members of a replica set see each other, and who is let into one."""
import bson
import pymongo
import pytest

from tests.support.palimpsest import Server
from tests.support.waiting import wait_until

SET = ("--replSet", "rs")
OTHER = {"_id", "name", "health", "state", "stateStr", "uptime", "optime", "optimeDurable", "optimeDate", "optimeDurableDate", "lastAppliedWallTime",
         "lastDurableWallTime", "lastHeartbeat", "lastHeartbeatRecv", "pingMs", "lastHeartbeatMessage", "syncSourceHost", "syncSourceId", "infoMessage",
         "configVersion", "configTerm"}
SELF = {"_id", "name", "health", "state", "stateStr", "uptime", "optime", "optimeDate", "lastAppliedWallTime", "lastDurableWallTime", "syncSourceHost",
        "syncSourceId", "infoMessage", "configVersion", "configTerm", "self", "lastHeartbeatMessage"}
ELECTED = {"electionTime", "electionDate"}


def host(server):
    return f"127.0.0.1:{server.port}"


def direct(server, **options):
    return server.client(directConnection=True, **options)


def config(*servers, **settings):
    out = {"_id": "rs", "version": 1, "members": [{"_id": i, "host": host(server)} for i, server in enumerate(servers)]}
    return {**out, "settings": settings} if settings else out


def status(server):
    with direct(server) as client:
        return client.admin.command("replSetGetStatus")


def wait_states(server, wanted):
    """Waits until the members are in these states in the eyes of `server`. Returns its status."""
    seen = None

    def there():
        nonlocal seen
        try:
            now = status(server)
            seen = [member["stateStr"] for member in now["members"]]
            return now if sorted(seen) == sorted(wanted) else None
        except pymongo.errors.PyMongoError as error:
            seen = error
            return None

    return wait_until(there, lambda: f"{seen} instead of {wanted}\n{server.tail()}", pause=0.1)


def refusal(server, document):
    with direct(server) as client, pytest.raises(pymongo.errors.OperationFailure) as error:
        client.admin.command("replSetInitiate", document)
    return error.value.code, error.value.details["errmsg"]


@pytest.fixture
def three():
    with Server(*SET) as one, Server(*SET) as two, Server(*SET) as three:
        yield one, two, three


def test_the_status_of_three_members_from_each_ones_view(three):
    with direct(three[0]) as client:
        client.admin.command("replSetInitiate", config(*three, heartbeatIntervalMillis=200, electionTimeoutMillis=60_000))
    for server in three:
        now = wait_states(server, ["PRIMARY", "SECONDARY", "SECONDARY"])
        assert now["members"][0]["stateStr"] == "PRIMARY"
        own = [member for member in now["members"] if member.get("self")]
        assert [member["name"] for member in own] == [host(server)]
        for member in now["members"]:
            fields = (SELF if member.get("self") else OTHER) | (ELECTED if member["stateStr"] == "PRIMARY" else set())
            assert set(member) == fields
            assert member["health"] == 1 and member["configVersion"] == 1
        source = ("", -1) if server is three[0] else (host(three[0]), 0)
        wait_until(lambda: (now := status(server)) and (now["syncSourceHost"], now["syncSourceId"]) == source)

    # The optimes follow; printSecondaryReplicationInfo computes the lag from them.
    with direct(three[0]) as client:
        client.t.c.insert_one({"a": 1})
    wait_until(lambda: len({(member["optime"]["ts"], member.get("optimeDurable", member["optime"])["ts"], member["optimeDate"])
                       for member in status(three[0])["members"]}) == 1)

    three[2].kill()
    down = wait_states(three[0], ["PRIMARY", "SECONDARY", "(not reachable/healthy)"])["members"][2]
    assert (down["health"], down["state"], down["uptime"], down["configVersion"]) == (0, 8, 0, -1)
    assert down["optime"] == {"ts": bson.Timestamp(0, 0), "t": -1}
    assert "Connection refused" in down["lastHeartbeatMessage"]
    three[2].start()
    wait_states(three[0], ["PRIMARY", "SECONDARY", "SECONDARY"])


def test_members_that_are_not_there_or_not_free_are_named(three):
    one, two, other = three
    other.kill()
    failed = "replSetInitiate quorum check failed because not all proposed set members responded affirmatively: "
    refused = f"{host(other)} failed with Error connecting to {host(other)} ({host(other)}) :: caused by :: Connection refused"
    assert refusal(one, config(one, two, other)) == (74, failed + refused)

    with Server() as alone:
        assert refusal(one, config(one, two, alone)) == (74, failed + f"{host(alone)} failed with not running with --replSet")
    with Server("--replSet", "another") as stranger:
        assert refusal(one, config(one, two, stranger)) == (103, f"Our set name did not match that of {host(stranger)}")
    with Server() as full:
        with full.client() as client:
            client.t.c.insert_one({"a": 1})
        assert full.stop() == 0
        full.arguments = list(SET)
        full.start()
        assert refusal(one, config(one, two, full)) == (110, f"'{host(full)}' has data already, cannot initiate set.")
    with direct(two) as client:
        client.admin.command("replSetInitiate", config(two))
    wait_states(two, ["PRIMARY"])
    code, message = refusal(one, config(two, one))
    assert code == 103 and message.startswith("Our config version of 1 is no larger than the version on " + host(two))


def test_a_heartbeat_is_answered_as_mongodb_does(three):
    with direct(three[0]) as client:
        question = {"replSetHeartbeat": "rs", "configVersion": bson.Int64(1), "from": "nowhere:1", "fromId": 7, "term": bson.Int64(1)}
        fresh = client.admin.command(question)
        assert (fresh["set"], fresh["state"], fresh["v"]) == ("rs", 0, -2)
        with pytest.raises(pymongo.errors.OperationFailure, match="Our set name of rs does not match name other") as error:
            client.admin.command({**question, "replSetHeartbeat": "other"})
        assert error.value.code == 108
        client.admin.command("replSetInitiate", config(three[0]))
        wait_states(three[0], ["PRIMARY"])
        answer = client.admin.command({**question, "configVersion": bson.Int64(0)})
        assert answer["state"] == 1 and answer["v"] == 1 and answer["config"]["members"][0]["host"] == host(three[0])
        assert "config" not in client.admin.command({**question, "configVersion": bson.Int64(1)})
        assert {"term", "primaryId", "opTime", "durableOpTime", "wallTime", "durableWallTime", "electionTime", "electable"} <= set(answer)
