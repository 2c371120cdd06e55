"""The shell, as a person would use it."""
import json
import pathlib
import shutil
import subprocess

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
