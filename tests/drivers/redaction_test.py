"""These tests check what the log must not have: values of fields where it is redacted, and secrets in any case."""
import random

import pytest

from tests.support.palimpsest import Server, raw_command

MARKER = "wisteria"


def value(random_, depth=0):
    """Any value that has the marker."""
    kinds = [lambda: MARKER, lambda: f"x {MARKER} y" * random_.randrange(1, 40), lambda: MARKER.encode()]
    if depth < 3:
        kinds += [lambda: {"a": value(random_, depth + 1)}, lambda: [value(random_, depth + 1) for _ in range(random_.randrange(1, 4))]]
    return random_.choice(kinds)()


def commands(random_):
    """Commands that a client may send, good and bad ones."""
    for _ in range(300):
        v = value(random_)
        yield random_.choice([
            {"insert": "c", "documents": [{"_id": random_.randrange(50), "u": v}, {"_id": 1, "u": v}]},
            {"find": "c", "filter": {"u": v}},
            {"find": "c", "filter": {"u": {"$in": [v, {"$nope": v}]}}},
            {"find": "c", "filter": {"$nope": v}},
            {"find": "c", "filter": {"$expr": {"$eq": ["$u", {"$literal": v}]}}},
            {"update": "c", "updates": [{"q": {"u": v}, "u": {"$set": {"u": v, "w": v}}, "upsert": True}]},
            {"update": "c", "updates": [{"q": {}, "u": {"$nope": {"u": v}}}]},
            {"update": "c", "updates": [{"q": {}, "u": {"$inc": {"u": v}}}]},
            {"delete": "c", "deletes": [{"q": {"u": v}, "limit": 1}]},
            {"aggregate": "c", "pipeline": [{"$match": {"u": v}}, {"$set": {"x": v}}], "cursor": {}},
            {"aggregate": "c", "pipeline": [{"$project": {"x": {"$add": [{"$literal": v}, 1]}}}], "cursor": {}},
            {"findAndModify": "c", "query": {"u": v}, "update": {"$set": {"u": v}}},
            {"distinct": "c", "key": "u", "query": {"u": v}},
            {"count": "c", "query": {"u": v}},
            {"explain": {"find": "c", "filter": {"u": v}}},
            {"find": "c", "comment": v},
            {"nope": v},
        ])


def test_a_redacted_log_has_no_value(seed=None):
    random_ = random.Random(seed or random.getrandbits(32))
    with Server("--redactClientLogData", "--slowms", "-1", "-vvv") as server:
        client = server.client()
        client.t.c.create_index("u", unique=True)
        sent = 0
        for command in commands(random_):
            reply = raw_command(server.host, server.port, {**command, "$db": "t"})
            sent += 1
            assert "ok" in reply
        client.t.command("profile", 1, filter={"command.filter.u": MARKER})
        text = server.log.read_text(errors="replace")
        assert text.count("Slow query") >= sent
        lines = [line for line in text.splitlines() if MARKER in line]
        assert not lines, lines[:3]


def test_a_redacted_log_warns_of_documents_without_their_values():
    with Server("--redactClientLogData") as server:
        c = server.client().t.create_collection("c", validator={"u": {"$type": "int"}}, validationAction="warn")
        c.insert_one({"_id": MARKER, "u": MARKER})
        text = server.log.read_text()
        assert '"id":20294' in text and MARKER not in text


def test_a_log_that_is_not_redacted_has_them():
    with Server("--slowms", "-1") as server:
        client = server.client()
        list(client.t.c.find({"u": MARKER}))
        assert MARKER in server.log.read_text()
        client.admin.command("setParameter", 1, redactClientLogData=True)
        list(client.t.c.find({"u": "laburnum"}))
        assert client.admin.command("getParameter", 1, redactClientLogData=1)["redactClientLogData"] is True
        assert "laburnum" not in server.log.read_text()


@pytest.mark.parametrize("command", [
    {"createUser": "ann", "pwd": MARKER, "roles": []},
    {"updateUser": "ann", "pwd": MARKER},
    {"saslStart": 1, "mechanism": "SCRAM-SHA-256", "payload": MARKER.encode()},
    {"saslContinue": 1, "conversationId": 1, "payload": MARKER.encode()},
    {"authenticate": 1, "user": "ann", "nonce": MARKER, "key": MARKER},
    {"hello": 1, "speculativeAuthenticate": {"saslStart": 1, "mechanism": "SCRAM-SHA-256", "payload": MARKER.encode(), "db": "admin"}},
])
def test_secrets_are_in_no_log_and_no_profile(command):
    with Server("--slowms", "-1", "-vvv") as server:
        client = server.client()
        client.admin.command("profile", 2)
        raw_command(server.host, server.port, {**command, "$db": "admin"})
        client.admin.command("profile", 0)
        assert MARKER not in server.log.read_text(errors="replace")
        assert "d2lzdGVyaWE" not in server.log.read_text(errors="replace")  # the same in base64
        assert MARKER not in str(list(client.admin["system.profile"].find()))
        shown = [line for line in server.log.read_text().splitlines() if "Slow query" in line and next(iter(command)) in line]
        assert shown
