"""These tests use the shell as a person would."""
import json
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

from tests.support.palimpsest import ROOT, Server
from tests.support.waiting import DEADLINE, wait_until

SHELL = ROOT / "build" / "mongosh" / "node_modules" / ".bin" / "mongosh"


@pytest.fixture(scope="module")
def server():
    assert SHELL.exists() and shutil.which("node"), "scripts/test installs the shell"
    with Server("--setParameter", "branchSweepEnabled=false") as running:
        yield running


def printed(server, script, db="shell", *options):
    """Runs a script; what the shell shows of it."""
    done = subprocess.run([str(SHELL), "--quiet", "--norc", *options, server.uri + db, "--eval", script], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def shell(server, script, db="shell"):
    """Runs a script; its last expression, as a Python value."""
    shown = printed(server, script, db, "--json=relaxed")
    return json.loads(shown) if shown.strip() else None


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
    done = subprocess.run([str(SHELL), "--version"], capture_output=True, text=True, timeout=DEADLINE)
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

        def states(wanted):
            def seen():
                return shell(one, "rs.status().members.map(m => m.stateStr)", direct)

            wait_until(lambda: seen() == wanted, lambda: f"{seen()}\n{one.tail()}")

        shell(one, f"rs.initiate({{_id: 'rs0', members: [{{_id: 0, host: '{hosts[0]}'}}]}})", direct)
        states(["PRIMARY"])
        assert shell(one, f"rs.add('{hosts[1]}').ok", direct) == 1
        states(["PRIMARY", "SECONDARY"])
        assert shell(one, f"rs.add({{host: '{hosts[2]}', priority: 0, hidden: true}}).ok", direct) == 1
        states(["PRIMARY", "SECONDARY", "SECONDARY"])
        assert shell(one, "db.things.insertOne({a: 1}).acknowledged", direct) is True

        for server in (one, two):
            text = printed(server, "rs.printSecondaryReplicationInfo()", direct)
            assert text.count("source: ") == 2 and text.count("behind the primary") == 2
            assert "oplog last event time" in printed(server, "rs.printReplicationInfo()", direct)
        three.kill()
        states(["PRIMARY", "SECONDARY", "(not reachable/healthy)"])
        text = printed(one, "rs.printSecondaryReplicationInfo()", direct)
        assert text.count("behind the primary") == 1 and "'no replication info, yet.  State': '(not reachable/healthy)'" in text
        assert shell(one, f"rs.remove('{hosts[2]}').ok", direct) == 1
        states(["PRIMARY", "SECONDARY"])
        assert shell(two, "rs.conf().members.map(m => m.host)", direct) == hosts[:2]


HELPERS = f"load({json.dumps(str(ROOT / 'tools' / 'palimpsest.js'))}); "


def test_branches_have_helpers(server):
    assert shell(server, HELPERS + """
        db.dropDatabase();
        db.pages.insertMany([{_id: 1, lang: "en"}, {_id: 2, lang: "de"}, {_id: 3, o: {x: 1}}]);
        const said = {};
        said.first = db.commit("three", {author: "ann"}).changed;
        said.branch = db.branch("feature/one").branch;
        const dev = db.at("feature/one");
        said.name = dev.getName();
        dev.pages.updateOne({_id: 1}, {$set: {lang: "fr"}});
        said.status = dev.status().collections;
        said.uncommitted = dev.diff().map(one => one._id);
        dev.commit("french");
        dev.pages.deleteOne({_id: 2});
        dev.pages.updateOne({_id: 3}, {$set: {"o.x": 2}});
        dev.commit("less");
        said.log = dev.log().map(one => one.message);
        said.touching = dev.log({touching: {coll: "pages", _id: 2}}).map(one => one.message);
        said.diff = db.diff("main", "feature/one", {filter: {change: "delete"}}).map(one => one._id);
        said.fields = db.pages.diff("main", "feature/one", {fields: ["lang"]}).map(one => one._id);
        said.tag = db.tag("v1", {from: "feature/one~1"}).tag;
        said.at = db.at("v1").pages.findOne({_id: 1}).lang;
        said.tags = db.tags().map(one => one.name);
        said.merged = db.merge("feature/one").changed;
        said.again = db.merge("feature/one").changed;
        said.history = db.pages.history(1).map(one => one.document.lang);
        said.same = db.history("pages", 1).length;
        said.across = db.pages.acrossBranches({branches: ["main", "v1"]}).toArray().filter(one => one._id === 1)[0].branches;
        db.at("feature/one").pages.insertOne({_id: 9});
        said.reset = db.resetBranch("feature/one", "v1", {force: true}).branch;
        db.renameBranch("feature/one", "two");
        said.branches = db.branches().map(one => one.name);
        db.dropTag("v1");
        db.dropBranch("two");
        said.left = [db.branches().length, db.tags().length, db.versionStats().branches];
        said""", "helped") == {
            "first": True, "branch": "feature/one", "name": "helped@feature%2Fone", "status": [{"name": "pages", "inserted": 0, "modified": 1, "deleted": 0}],
            "uncommitted": [1], "log": ["less", "french", "three"], "touching": ["less", "three"], "diff": [2], "fields": [1, 2], "tag": "v1", "at": "fr", "tags": ["v1"],
            "merged": True, "again": False, "history": ["fr", "en"], "same": 2, "across": ["main", "v1"], "reset": "feature/one", "branches": ["main", "two"], "left": [1, 0, 1]}


def test_rewriting_and_blame_have_helpers(server):
    assert shell(server, HELPERS + """
        db.dropDatabase();
        db.c.insertOne({_id: 1, n: 0});
        db.branch("dev");
        const dev = db.at("dev"), said = {};
        for (const n of [1, 2, 3]) { dev.c.insertOne({_id: n + 1}); dev.commit(`${n}`); }
        db.c.updateOne({_id: 1}, {$set: {m: 1}});
        db.commit("m", {author: "ann"});
        said.squashed = dev.squash("dev~2", {message: "2 and 3"}).changed;
        const done = dev.rebase("main");
        said.rebased = [done.picked, done.branch];
        said.log = dev.log({filter: {message: {$in: ["1", "2 and 3", "m"]}}}).map(one => one.message);
        said.shown = dev.c.countDocuments();
        said.blamed = dev.blame("c", 1).filter(one => one.message === "m").map(one => one.path);
        said""", "rewritten") == {
            "squashed": True, "rebased": [2, "dev"], "log": ["2 and 3", "1", "m"], "shown": 4, "blamed": ["m"]}


def test_stashes_patches_and_validators_have_helpers(server):
    assert shell(server, HELPERS + """
        db.dropDatabase();
        db.c.insertOne({_id: 1, n: 0});
        db.branch("dev");
        const dev = db.at("dev"), said = {};
        dev.c.updateOne({_id: 1}, {$set: {n: 1}});
        said.stash = [dev.stash("aside", {author: "ann"}).stash, dev.stash().changed, dev.c.findOne({_id: 1}).n];
        said.stashes = db.stashes().map(one => one.message);
        said.applied = [dev.stashApply().changed, dev.stashPop(1).changed, db.stashes().length, dev.c.findOne({_id: 1}).n];
        said.patched = [db.applyPatch(dev.diff(undefined, undefined, {format: "jsonPatch"})).modified, db.c.findOne({_id: 1}).n];
        said.validator = db.commitValidator({c: {validator: {n: 0}}}).validators.c.validator.n;
        try { db.commit("refused"); } catch (error) { said.refused = error.code; }
        said.none = [Object.keys(db.commitValidator({}).validators).length, Object.keys(db.commitValidator().validators).length];
        dev.stash();
        said.dropped = [db.dropStash(1).dropped, db.stashes().length];
        said""", "aside") == {
            "stash": [1, False, 0], "stashes": ["aside"], "applied": [True, False, 0, 1], "patched": [1, 1], "validator": 0, "refused": 121, "none": [0, 0],
            "dropped": [1, 0]}


def test_a_merge_by_hand_and_what_goes_from_history_have_helpers(server):
    assert shell(server, HELPERS + """
        db.dropDatabase();
        db.c.insertMany([{_id: 1, n: 0}, {_id: 2, n: 0}, {_id: 3, n: 0}]);
        db.branch("dev");
        const dev = db.at("dev"), said = {};
        for (const [on, n] of [[db, 1], [dev, 2]]) { on.c.updateMany({}, {$set: {n}}); on.commit(`n is ${n}`); }
        said.waits = db.merge("dev", {resolve: "manual"}).merging;
        said.conflicts = db.listConflicts().map(one => one._id).sort();
        db.abortMerge();
        db.merge("dev", {resolve: "manual"});
        said.resolved = [db.resolveConflict("c", 1, "ours"), db.resolveConflict("c", 2, "theirs"), db.resolveConflict("c", 3, {n: 3})].map(one => one.resolved);
        said.merged = db.continueMerge({message: "by hand"}).changed;
        said.shown = db.c.find().sort({_id: 1}).toArray().map(one => one.n);
        db.c.insertOne({_id: 4});
        const added = db.commit("more").commit;
        said.reverted = [db.revert(added).changed, db.c.countDocuments()];
        said.picked = [dev.cherryPick(added).changed, dev.c.countDocuments()];
        said.retention = [db.retention({newest: 1}).newest, db.retention().newest];
        said.swept = db.sweep().commits > 0;
        said.purged = [db.purge("c", 4).versions, dev.c.countDocuments()];
        said""", "merged") == {
            "waits": True, "conflicts": [1, 2, 3], "resolved": ["ours", "theirs", "document"], "merged": True, "shown": [1, 2, 3], "reverted": [True, 3],
            "picked": [True, 4], "retention": [1, 1], "swept": True, "purged": [1, 3]}


def test_proofs_have_helpers(server, tmp_path):
    file = tmp_path / "proof"
    said = shell(server, HELPERS + f"""
        db.dropDatabase();
        db.c.insertMany([{{_id: 1, n: 0}}, {{_id: 2, n: 0}}]);
        db.commit("one");
        db.c.insertOne({{_id: "three"}});
        const commit = db.commit("two").commit, proof = db.getProof("c", "three", {{save: {json.dumps(str(file))}}});
        [proof.commit === commit, proof.present, db.getProof("c", 4).present, db.verify().valid, db.verify({{deep: true}}).collections[0].documents, commit]""", "proven")
    assert said[:-1] == [True, True, False, True, 3]
    done = subprocess.run([sys.executable, ROOT / "tools" / "verify_proof.py", "--commit", said[-1], file], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("present\n") and '_id "three"\n' in done.stdout
    text = printed(server, HELPERS + "print(db.getProof('c', 2)); print(db.verify({deep: true}))", "proven")
    assert re.sub("[0-9a-f]{12}", "<id>", re.sub("[0-9]+ bytes", "<n> bytes", text)).splitlines() == [
        "c 2 at <id>: there: <id>; a proof of <n> bytes", "commit <id> is whole", "  c: root <id>, 1 node, 3 documents read"]


def test_what_the_helpers_say_can_be_read(server):
    begin = HELPERS + "db.dropDatabase(); db.c.insertMany([{_id: 1, a: 1, o: {x: 1, y: 2}}, {_id: 2}]); db.commit('one', {author: 'ann'}); db.branch('dev'); const dev = db.at('dev'); "
    change = "dev.c.updateOne({_id: 1}, {$set: {'o.x': 5}}); dev.c.deleteOne({_id: 2}); dev.c.insertOne({_id: 3}); "
    assert "on branch dev, at " in (text := printed(server, begin + change + "dev.status()", "read")) and "c: 1 inserted, 1 modified, 1 deleted" in text
    assert printed(server, HELPERS + "db.at('dev').diff()", "read").split("\n")[:1] == ["c"]
    text = printed(server, HELPERS + "db.at('dev').diff()", "read")
    assert '  ~ 1  o.x: 1 -> 5\n' in text and '  - {"_id":2}' in text and '  + {"_id":3}' in text
    assert printed(server, HELPERS + "db.at('dev').commit('two')", "read").startswith("dev at ")
    log = printed(server, HELPERS + "db.at('dev').log()", "read")
    assert log.startswith("commit ") and "author ann" in log and log.index("    two") < log.index("    one")
    assert printed(server, HELPERS + "db.branches()", "read").split()[::4][:1] == ["dev"]
    printed(server, HELPERS + "db.c.updateOne({_id: 1}, {$set: {'o.x': 7}}); db.commit('three')", "read")
    assert printed(server, HELPERS + "db.merge('dev', {dryRun: true})", "read").split("\n")[:2] == ["1 conflict", "  c 1: o.x"]
    by_hand = ["db.merge('dev', {resolve: 'manual'})", "db.status()", "db.listConflicts()", "db.resolveConflict('c', 1, 'theirs')", "db.listConflicts()", "db.abortMerge()",
               "db.retention()", "db.retention({newest: 5, youngerThanSeconds: 60})", "db.sweep()", "db.purge('c', 3)"]
    text = printed(server, HELPERS + " ".join(f"print({one});" for one in by_hand), "read")
    assert re.sub("[0-9a-f]{12}", "<id>", text).splitlines() == [
        "1 conflict to decide", "  c 1: o.x", "on branch main, at <id>", "nothing to commit", "merge of dev waits: db.listConflicts()", "  c 1: o.x", "c 1: theirs",
        "  c 1: decided, theirs", "the branch is as it was", "all commits stay", "the newest 5 of each branch and those younger than 60 seconds stay",
        "0 commits dropped, 0 versions freed", "1 version erased"]
    assert "db.branch(name, {from})" in printed(server, HELPERS + "db.branchHelp()", "read")
    assert printed(server, HELPERS + "db.c.history(1)", "read").count("commit ") == 3


def test_snapshots_have_helpers(server):
    assert shell(server, HELPERS + """
        db.dropDatabase();
        db.c.insertMany([{_id: 1, n: 1}, {_id: 2, n: 1}]);
        const said = {made: db.snapshot("before").snapshot, second: /^s[0-9]+$/.test(db.snapshot().snapshot)};
        db.c.updateMany({}, {$set: {n: 2}});
        said.then = db.at("before").c.find().toArray().map(one => one.n);
        said.now = db.c.distinct("n");
        said.all = db.snapshots().length;
        for (const one of db.snapshots()) db.dropSnapshot(one.snapshot);
        said.left = db.snapshots().length;
        said""", "moments") == {"made": "before", "second": True, "then": [1, 1], "now": [2], "all": 2, "left": 0}


def test_a_uri_names_a_branch(server):
    shell(server, "db.dropDatabase(); db.c.insertOne({_id: 1}); db.runCommand({createBranch: 'dev'})", "uris")
    assert shell(server, "db.c.insertOne({_id: 2}); [db.getName(), db.c.countDocuments()]", "uris%40dev") == ["uris@dev", 2]
    assert shell(server, "db.c.countDocuments()", "uris") == 1


def test_the_profiler_is_set_and_looked_at(server):
    assert shell(server, """
        db.dropDatabase();
        const said = {before: db.getProfilingStatus().was};
        said.set = db.setProfilingLevel(1, {slowms: 5, sampleRate: 0.5}).was;
        const now = db.getProfilingStatus();
        said.now = [now.was, now.slowms, now.sampleRate];
        db.setProfilingLevel(0, {slowms: 100, sampleRate: 1.0});
        said
    """, "profiled") == {"before": 0, "set": 0, "now": [1, 5, 0.5]}


def logs_in(server, *options, script, db="admin"):
    """Starts the shell with these options; returns its exit code and what it shows."""
    done = subprocess.run([str(SHELL), "--quiet", "--norc", "--host", server.host, "--port", str(server.port), *options, db, "--eval", script],
                          capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout + done.stderr


def test_users_are_made_and_log_in_by_options_and_by_uri():
    with Server("--auth") as guarded:
        made = """
            db.createUser({user: "root", pwd: "s3cret", roles: ["root"]});
            db.auth("root", "s3cret");
            db.getSiblingDB("shop").createUser({user: "ann", pwd: "apple, with / and @", roles: ["readWrite", {role: "read", db: "shop@*"}]});
            db.getSiblingDB("shop").getUsers().users.map(one => one.user).join()
        """
        assert shell(guarded, made, "admin") == "ann"
        ann = ("--username", "ann", "--password", "apple, with / and @", "--authenticationDatabase", "shop")
        code, said = logs_in(guarded, *ann, db="shop", script="db.c.insertOne({_id: 1}); db.c.countDocuments()")
        assert (code, said.strip()) == (0, "1")
        for mechanism in ("SCRAM-SHA-1", "SCRAM-SHA-256"):
            code, said = logs_in(guarded, *ann, "--authenticationMechanism", mechanism, db="shop",
                                 script="db.runCommand({connectionStatus: 1}).authInfo.authenticatedUsers[0].user")
            assert (code, said.strip()) == (0, "ann")
        code, said = logs_in(guarded, *ann, script="db.getSiblingDB('other').c.findOne()")
        assert code != 0 and "not authorized on other to execute command" in said
        code, said = logs_in(guarded, "--username", "ann", "--password", "pear", "--authenticationDatabase", "shop", script="1")
        assert code != 0 and "Authentication failed" in said
        code, said = logs_in(guarded, db="shop", script="db.c.findOne()")
        assert code != 0 and "Command find requires authentication" in said
        done = subprocess.run([str(SHELL), "--quiet", "--norc", f"mongodb://root:s3cret@{guarded.host}:{guarded.port}/shop?authSource=admin", "--eval",
                               "db.getUser('ann').roles.length + db.changeUserPassword('ann', 'pear').ok + db.dropUser('ann').ok"],
                              capture_output=True, text=True, timeout=120)
        assert (done.returncode, done.stdout.strip()) == (0, "4"), done.stderr
