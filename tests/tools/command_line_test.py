"""The verbs of `palimpsest` against a server: what they print for people, their JSON, and their exit codes."""
import json
import os
import pty
import subprocess
import threading

import pytest

from tests.support.palimpsest import BIN
from tests.support.waiting import DEADLINE

VERBS = ("log", "diff", "apply", "branch", "merge", "stash", "snapshot", "stats", "advise", "top", "backup", "restore", "check")


def run(*arguments, code=0):
    done = subprocess.run([str(BIN / "palimpsest"), *map(str, arguments)], capture_output=True, text=True, timeout=DEADLINE)
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    return done.stdout if code == 0 or done.stdout else done.stderr


def documents(*arguments, code=0):
    return [json.loads(line) for line in run(*arguments, "--json", code=code).splitlines()]


@pytest.fixture
def shop(server, client, name):
    """A database with a branch, and what selects it."""
    db = client[name]
    db.pages.insert_many([{"_id": i, "n": i, "text": "words " * 50} for i in range(20)])
    db.command("commit", 1, message="the beginning", author="ann")
    return db, ("--uri", server.uri, "--db", name)


def on(shop, branch):
    db, (uri, address, option, name) = shop
    return db.client[f"{db.name}@{branch}"], (uri, address, option, f"{name}@{branch}")


def test_branches_are_made_listed_renamed_and_removed(shop):
    db, at = shop
    assert run("branch", *at, "dev").startswith("branch dev at ")
    assert documents("branch", *at, "next", "--from", "dev")[0]["branch"] == "next"
    table = run("branch", *at).splitlines()
    assert table[0].split() == ["branch", "commit", "time", "database"] and {line.split()[0] for line in table[1:]} == {"main", "dev", "next"}
    assert len({line.index(f"{db.name}@") for line in table[1:]}) == 1  # the columns are aligned
    run("branch", *at, "next", "--rename", "soon")
    run("branch", *at, "soon", "--delete")
    assert {one["name"] for one in documents("branch", *at)} == {"main", "dev"}
    assert "there is a branch 'dev'" in run("branch", *at, "dev", code=1)
    run("branch", *at, "--delete", code=2)  # of no branch
    run("branch", *at, "a", "--rename", "b", "--delete", code=2)


def test_log_diff_and_merge(shop):
    db, at = shop
    run("branch", *at, "dev")
    dev, at_dev = on(shop, "dev")
    dev.pages.update_one({"_id": 1}, {"$set": {"n": 100}})
    dev.pages.insert_one({"_id": 50})
    dev.pages.delete_one({"_id": 2})
    changes = run("diff", *at, "main", "dev")
    assert "+ {\"_id\": 50}" in changes and "~ 1  n: 1 -> 100" in changes and "- {\"_id\": 2" in changes
    assert sorted(one["change"] for one in documents("diff", *at, "main", "dev")) == ["delete", "insert", "update"]
    assert documents("diff", *at, "main", "dev", "--summary") == [{"collection": "pages", "inserted": 1, "updated": 1, "deleted": 1}]
    run("diff", *at, "main", "dev", "--exit-code", code=1)
    assert run("diff", *at, "main", "main", "--exit-code") == "no difference\n"
    dev.command("commit", 1, message="on dev\x1b[31m")
    log = run("log", *at_dev)
    assert "the beginning" in log and "author ann" in log and "on dev?[31m" in log and "\x1b" not in log
    assert [one["message"] for one in documents("log", *at_dev, "--limit", 1)] == ["on dev\x1b[31m"]
    assert len(run("log", *at_dev, "--oneline").splitlines()) >= 3
    assert len(documents("log", *at_dev, "--collection", "pages", "--id", "50")) == 1
    assert "no conflicts" in run("merge", *at, "dev", "--dry-run")
    assert run("merge", *at, "dev", "-m", "dev comes in").startswith("merged dev into main, at ")
    assert run("merge", *at, "dev").startswith("nothing to merge")
    assert db.pages.find_one({"_id": 1})["n"] == 100
    # A document that both changed is a conflict: nothing is merged, and it is named.
    for side in (db, dev):
        side.pages.update_one({"_id": 3}, {"$set": {"n": side.name}})
        side.command("commit", 1, message="conflict")
    text = run("merge", *at, "dev", code=3)
    assert "1 conflict" in text and "pages" in text and " n" in text
    assert documents("merge", *at, "dev", code=3)[0]["conflictCount"] == 1
    assert run("merge", *at, "dev", "--resolve", "theirs").startswith("merged")
    run("merge", *at, "nothing", code=1)
    run("merge", *at, "dev", "--mode", "wrong", code=2)


@pytest.mark.parametrize("form", ["lines", "jsonPatch", "json"])
def test_a_difference_is_a_file_that_applies_elsewhere(shop, tmp_path, form):
    db, at = shop
    run("branch", *at, "dev")
    run("branch", *at, "other")
    dev, at_dev = on(shop, "dev")
    other, at_other = on(shop, "other")
    dev.pages.update_one({"_id": 1}, {"$set": {"n": 100, "a/b~c": "ü"}})
    dev.pages.insert_one({"_id": 50, "n": [1, {"x": 2}]})
    dev.pages.delete_one({"_id": 2})
    patch = tmp_path / "dev.patch"
    patch.write_text(run("diff", *at, "main", "dev", *(["--json"] if form == "json" else ["--format", form])))
    assert len(patch.read_text().splitlines()) == 3
    assert run("apply", *at_other, patch, "--dry-run") == "would change on other: 1 inserted, 1 updated, 1 deleted\n"
    assert run("apply", *at_other, patch) == "changed on other: 1 inserted, 1 updated, 1 deleted\n"
    assert run("diff", *at, "dev", "other") == "no difference\n"
    # Another value where the patch changes one is a conflict, and nothing is changed.
    db.pages.update_one({"_id": 1}, {"$set": {"n": 7}})
    text = run("apply", *at, patch, code=3)
    assert "1 conflict; nothing was changed" in text and "pages" in text
    assert documents("apply", *at, patch, code=3)[0]["conflictCount"] == 1
    assert db.pages.find_one({"_id": 50}) is None
    run("apply", *at, tmp_path / "nothing", code=1)
    run("apply", *at, patch, "--resolve", "manual", code=2)


def test_stashes_are_pushed_listed_shown_applied_popped_and_dropped(shop):
    db, at = shop
    run("branch", *at, "dev")
    dev, at_dev = on(shop, "dev")
    assert run("stash", "push", *at_dev) == "all is committed on dev\n"
    dev.pages.update_one({"_id": 1}, {"$set": {"n": 100}})
    dev.pages.insert_one({"_id": 50})
    assert run("stash", "push", *at_dev, "-m", "half\x1b[31m", "--author", "ann") == "stash 1: what was not committed on dev\n"
    assert dev.pages.find_one({"_id": 1})["n"] == 1
    dev.pages.delete_one({"_id": 2})
    assert documents("stash", *at_dev, "push")[0]["stash"] == 2  # the options may come first
    table = run("stash", "list", *at).splitlines()
    assert [line.split()[0] for line in table] == ["stash", "2", "1"] and "half?[31m" in table[2] and "ann" in table[2]
    assert [one["stash"] for one in documents("stash", "list", *at)] == [2, 1]
    shown = run("stash", "show", *at, 1)
    assert shown.startswith("pages\n") and "+ {\"_id\": 50}" in shown and "~ 1  n: 1 -> 100" in shown
    assert [one["change"] for one in documents("stash", "show", *at)] == ["delete"]
    assert run("stash", "apply", *at, 1) == "stash 1 is on main\n" and db.pages.find_one({"_id": 1})["n"] == 100
    db.command("commit", 1)
    dev.pages.update_one({"_id": 1}, {"$set": {"n": 7}})
    text = run("stash", "pop", *at_dev, 1, code=3)
    assert "1 conflict; nothing was changed" in text and " n" in text
    assert documents("stash", "pop", *at_dev, 1, "--dry-run", code=3)[0]["conflictCount"] == 1
    run("stash", "pop", *at_dev, 1, "--resolve", "manual", code=2)
    assert run("stash", "pop", *at_dev, 2, "--dry-run") == "no conflicts\n"
    assert run("stash", "pop", *at_dev) == "stash 2 is on dev\n" and dev.pages.find_one({"_id": 2}) is None
    assert run("stash", "pop", *at_dev, "--resolve", "theirs") == "stash 1 is on dev\n" and dev.pages.find_one({"_id": 1})["n"] == 100
    assert run("stash", "list", *at) == "" and "no stash" in run("stash", "show", *at, code=1)
    run("stash", "push", *at_dev)
    assert run("stash", "drop", *at, 1) == "stash 1 is gone\n"
    run("stash", "drop", *at, 1, code=1)
    for wrong in ([], ["drop"], ["pop", "0"], ["push", "list"]):
        run("stash", *wrong, *at, code=2)


def test_snapshots_are_declared_listed_and_dropped(server, client):
    at = ("--uri", server.uri)
    assert run("snapshot", *at, "before").startswith("snapshot before")
    assert [one["name"] for one in documents("snapshot", *at)] == ["before"]
    assert "before" in run("snapshot", *at)
    assert run("snapshot", *at, "before", "--delete") == "snapshot before is gone\n"
    assert documents("snapshot", *at) == [] and run("snapshot", *at) == ""
    run("snapshot", *at, "before", "--delete", code=1)


def test_sizes_are_shown_by_database_and_by_collection(server, shop):
    db, at = shop
    table = run("stats", *at).splitlines()
    assert table[0].split()[:2] == ["collection", "documents"]
    row = next(line for line in table if line.startswith("pages ")).split()
    assert row[1] == "20" and row[3] in ("KB", "B")
    assert documents("stats", *at)[0]["count"] == 20
    assert db.name in run("stats", "--uri", server.uri)
    assert next(one for one in documents("stats", "--uri", server.uri) if one["db"] == db.name)["objects"] == 20


@pytest.mark.parametrize("verb", ["stats", "advise"])
def test_a_database_that_is_not_there_is_an_error(server, shop, verb):
    db, at = shop
    assert run(verb, "--uri", server.uri, "--db", f"{db.name}x", code=1).endswith(f"palimpsest: there is no database '{db.name}x'\n")
    assert "no branch, tag or commit 'nowhere'" in run(verb, "--uri", server.uri, "--db", f"{db.name}@nowhere", code=1)
    run("branch", *at, "empty")
    db.client[f"{db.name}@empty"].drop_collection("pages")
    run(verb, *at[:3], f"{db.name}@empty")
    db.client.drop_database(db.name)


def test_a_number_that_is_none_is_named(shop):
    db, at = shop
    for wrong in ("a", "0", "-1", "1.5", "9" * 30):
        assert f"'{wrong}' is not a whole number above 0" in run("stash", "pop", *at, "--", wrong, code=2)
    assert "'x' is not a whole number, 0 or above" in run("log", *at, "--limit", "x", code=2)


def test_an_empty_patch_changes_nothing(shop, tmp_path):
    db, at = shop
    patch = tmp_path / "patch"
    patch.write_text(run("diff", *at, "main", "main", "--format", "jsonPatch"))
    assert patch.read_text() == ""
    assert run("apply", *at, patch) == "main has all of it already\n"


def test_advice_on_dedup(shop):
    db, at = shop
    assert documents("advise", *at)[0]["ns"] == f"{db.name}.pages"
    assert run("advise", *at, "pages", "--sample", 1000).splitlines()[1].startswith("pages ")
    run("advise", *at, "nothing", code=1)


def test_top_shows_one_interval(server, client):
    text = run("top", "--uri", server.uri, "--once", "--interval", 0.2)
    assert "operations a second" in text and "mean latency" in text and " connections" in text and "\x1b" not in text
    one = documents("top", "--uri", server.uri, "--once", "--interval", 0.2)[0]
    assert one["connections"]["current"] >= 1 and one["operationsPerSecond"]["command"] > 0
    assert set(one["latencyMicros"]) == {"reads", "writes", "commands"}


def test_top_on_a_terminal_is_written_over(server):
    screen, terminal = pty.openpty()
    process = subprocess.Popen([str(BIN / "palimpsest"), "top", "--uri", server.uri, "--interval", "0.1"], stdout=terminal, stderr=terminal)
    os.close(terminal)
    shown = b""
    while shown.count(b"\x1b[H") < 3:
        shown += os.read(screen, 65536)
    process.terminate()
    process.wait(DEADLINE)
    os.close(screen)
    assert b"operations a second" in shown


def test_every_verb_explains_itself_and_refuses_what_it_does_not_know():
    general = run("--help")
    for verb in VERBS:
        assert verb in general and "--help" in run(verb, "--help")
        run(verb, "--nonsense", code=2)
    run("nonsense", code=2)


def test_a_server_that_does_not_answer_is_an_error():
    assert "palimpsest: " in run("stats", "--uri", "mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=200", code=1)
    assert "database" in run("log", "--uri", "mongodb://127.0.0.1:1/", code=1)


def test_long_operations_show_how_far_they_are(server, client, name):
    collection = client[name].pages
    collection.insert_many([{"_id": i, "text": "x" * 200} for i in range(60_000)])
    seen = set()
    ended = threading.Event()

    def watch():
        with server.client() as other:
            while not ended.is_set():
                for one in other.admin.command("currentOp")["inprog"]:
                    if "progress" in one and one["progress"]["total"] > 0:
                        assert 0 <= one["progress"]["done"] <= one["progress"]["total"]
                        seen.add((next(iter(one["command"])), one["msg"].split(":")[0]))

    branched, dev = client[name + "b"], client[name + "b@dev"]
    branched.pages.insert_many([{"_id": i, "text": "x" * 200} for i in range(20_000)])
    branched.command("commit", 1)
    branched.command("createBranch", "dev")
    dev.pages.update_many({}, {"$set": {"seen": True}})
    dev.command("commit", 1)
    watcher = threading.Thread(target=watch)
    watcher.start()
    for wanted, work in ((("createIndexes", "Index Build"), lambda: (collection.create_index("text"), collection.drop_index("text_1"))),
                         (("reIndex", "Index Build"), lambda: client[name].command("reIndex", "pages")),
                         (("merge", "Merging documents"), lambda: branched.command("merge", "dev", dryRun=True)),
                         (("validate", "Validate"), lambda: client[name].command("validate", "pages", full=True))):
        for _ in range(50):
            work()
            if wanted in seen:
                break
        assert wanted in seen
    ended.set()
    watcher.join()
