"""The shell, as a person would use it."""
import json
import pathlib
import shutil
import subprocess
import time

import pytest

from tests.support.palimpsest import ROOT, Server

SHELL = ROOT / "build" / "mongosh" / "node_modules" / ".bin" / "mongosh"


@pytest.fixture(scope="module")
def server():
    assert SHELL.exists() and shutil.which("node"), "scripts/test installs the shell"
    with Server() as running:
        yield running


def shell(server, script, db="shell"):
    """Runs a script; its last expression, as a Python value."""
    done = subprocess.run([str(SHELL), "--quiet", "--norc", "--json=relaxed", server.uri + db, "--eval", script],
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout) if done.stdout.strip() else None


def test_it_connects_and_shows_what_there_is(server):
    assert shell(server, "db.hello().isWritablePrimary") is True
    assert shell(server, "db.version()").startswith("7.0")
    shell(server, "db.things.insertOne({a: 1}).acknowledged")
    assert "shell" in [d["name"] for d in shell(server, "db.adminCommand({listDatabases: 1}).databases")]
    assert "things" in shell(server, "db.getCollectionNames()")


def test_a_session_of_everyday_work(server):
    assert shell(server, """
        db.books.drop();
        db.books.insertMany([{_id: 1, title: 'a', stars: 3}, {_id: 2, title: 'b', stars: 5}, {_id: 3, title: 'c', stars: 5}]);
        db.books.createIndex({stars: -1});
        db.books.updateOne({_id: 1}, {$inc: {stars: 1}, $push: {tags: 'x'}});
        db.books.deleteOne({_id: 3});
        db.books.find({stars: {$gte: 4}}).sort({_id: 1}).toArray()
    """) == [{"_id": 1, "title": "a", "stars": 4, "tags": ["x"]}, {"_id": 2, "title": "b", "stars": 5}]
    assert shell(server, "db.books.aggregate([{$group: {_id: null, n: {$sum: '$stars'}}}]).toArray()") == [{"_id": None, "n": 9}]
    plan = shell(server, "db.books.find({stars: 5}).explain('executionStats')")
    assert plan["queryPlanner"]["winningPlan"]["stage"] == "FETCH"
    assert plan["queryPlanner"]["winningPlan"]["inputStage"]["indexName"] == "stars_-1"
    assert plan["executionStats"]["nReturned"] == 1
    assert [i["name"] for i in shell(server, "db.books.getIndexes()")] == ["_id_", "stars_-1"]
    assert shell(server, "db.books.countDocuments()") == 2
    assert shell(server, "db.books.stats().count") == 2


def test_an_error_reads_as_mongodbs(server):
    done = subprocess.run([str(SHELL), "--quiet", "--norc", server.uri + "shell", "--eval",
                           "db.c.drop(); db.c.insertOne({_id: 1}); db.c.insertOne({_id: 1})"], capture_output=True, text=True, timeout=120)
    assert done.returncode != 0
    assert "E11000 duplicate key error collection: shell.c index: _id_ dup key: { _id: 1 }" in done.stdout + done.stderr


def test_the_pinned_shell_is_the_one_that_runs():
    pinned = json.loads(pathlib.Path(ROOT, "tests/drivers/mongosh/package.json").read_text())["dependencies"]["mongosh"]
    done = subprocess.run([str(SHELL), "--version"], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == pinned


def test_a_replica_set_is_made_and_looked_at():
    with Server("--replSet", "rs0") as member:
        made = shell(member, "rs.initiate()", "?directConnection=true")
        assert made["ok"] == 1 and made["me"].endswith(f":{member.port}")
        assert shell(member, "db.hello().isWritablePrimary") is True
        assert shell(member, "rs.status().members.map(m => m.stateStr)") == ["PRIMARY"]
        assert shell(member, "rs.conf().members.length") == 1
        assert shell(member, "db.things.insertOne({a: 1}).acknowledged") is True
        config = shell(member, "let c = rs.conf(); c.members[0].tags = {dc: 'east'}; c.members[0].priority = 2; rs.reconfig(c).ok")
        assert config == 1
        assert shell(member, "rs.conf().members[0].tags.dc") == "east"
        info = shell(member, "db.getReplicationInfo()")
        assert info["logSizeMB"] > 0 and info["usedMB"] >= 0 and info["tFirst"]
        shell(member, "rs.printReplicationInfo()")
        shell(member, "rs.printSecondaryReplicationInfo()")
        assert shell(member, "try { rs.stepDown() } catch (e) { e.code }") == 262
        assert shell(member, "try { rs.freeze(5) } catch (e) { e.code }") == 95
        assert shell(member, """
            const session = db.getMongo().startSession({causalConsistency: true});
            const things = session.getDatabase('shell').things;
            things.insertOne({b: 1}); things.find({b: 1}).count()
        """) == 1
        assert shell(member, "db.adminCommand({replSetStepDown: 1, force: true}).ok") == 1


def test_members_are_added_looked_at_and_removed():
    direct = "?directConnection=true"
    with Server("--replSet", "rs0") as one, Server("--replSet", "rs0") as two, Server("--replSet", "rs0") as three:
        hosts = [f"127.0.0.1:{server.port}" for server in (one, two, three)]

        def states(wanted, seconds=40):
            end = time.monotonic() + seconds
            while (seen := shell(one, "rs.status().members.map(m => m.stateStr)", direct)) != wanted:
                assert time.monotonic() < end, f"{seen}\n{one.tail()}"

        shell(one, f"rs.initiate({{_id: 'rs0', members: [{{_id: 0, host: '{hosts[0]}'}}]}})", direct)
        states(["PRIMARY"])
        assert shell(one, f"rs.add('{hosts[1]}').ok", direct) == 1
        states(["PRIMARY", "SECONDARY"])
        assert shell(one, f"rs.add({{host: '{hosts[2]}', priority: 0, hidden: true}}).ok", direct) == 1
        states(["PRIMARY", "SECONDARY", "SECONDARY"])
        assert shell(one, "db.things.insertOne({a: 1}).acknowledged", direct) is True

        def printed(server, script):
            done = subprocess.run([str(SHELL), "--quiet", "--norc", server.uri + direct, "--eval", script], capture_output=True, text=True, timeout=120)
            assert done.returncode == 0, done.stdout + done.stderr
            return done.stdout

        for server in (one, two):
            text = printed(server, "rs.printSecondaryReplicationInfo()")
            assert text.count("source: ") == 2 and text.count("behind the primary") == 2
            assert "oplog last event time" in printed(server, "rs.printReplicationInfo()")
        three.kill()
        states(["PRIMARY", "SECONDARY", "(not reachable/healthy)"])
        text = printed(one, "rs.printSecondaryReplicationInfo()")
        assert text.count("behind the primary") == 1 and "'no replication info, yet.  State': '(not reachable/healthy)'" in text
        assert shell(one, f"rs.remove('{hosts[2]}').ok", direct) == 1
        states(["PRIMARY", "SECONDARY"])
        assert shell(two, "rs.conf().members.map(m => m.host)", direct) == hosts[:2]
