"""A right on one state of a database is worth nothing for the others. A user who may read and change `shop`, or one branch, or all branches,
finds out and changes nothing beyond that, by no command, and by no measure of time."""
import json
import random
import re
import statistics
import time
import uuid

import pytest
from bson import Binary, json_util
from pymongo.errors import OperationFailure

from tests.drivers.auth_test import PASSWORD, UNAUTHORIZED, Guarded

# Commands that name a state, or work on all of them, by what a user of each kind may do: m: dbOwner of shop; d: of shop@dev; s: of shop@*; b: of both shop
# and shop@*. Each is sent to shop and to shop@dev.
COMMANDS = [
    ({"find": "orders"}, "mb", "dsb"),
    ({"insert": "orders", "documents": [{}]}, "mb", "dsb"),
    ({"dropBranch": "other", "force": True}, "msb", "msb"),
    ({"dropBranch": "dev", "force": True}, "mdsb", "mdsb"),
    ({"dropBranch": "main"}, "mb", "mb"),
    ({"renameBranch": "other", "to": "second"}, "msb", "msb"),
    ({"renameBranch": "dev", "to": "second"}, "msb", "msb"),
    ({"renameBranch": "main", "to": "second"}, "mb", "mb"),
    ({"resetBranch": "main", "to": "dev", "force": True}, "b", "b"),
    ({"resetBranch": "other", "to": "main", "force": True}, "mb", "mb"),
    ({"resetBranch": "dev", "to": "dev", "force": True}, "dsb", "dsb"),
    ({"createBranch": "new"}, "mb", "sb"),
    ({"createBranch": "new", "from": "other"}, "sb", "sb"),
    ({"createTag": "new"}, "mb", "sb"),
    ({"createTag": "new", "from": "main"}, "mb", "mb"),
    ({"dropTag": "v1"}, "msb", "msb"),
    ({"purge": "orders", "_id": 1}, "mb", "mb"),
    ({"sweep": 1}, "mb", "mb"),
    ({"packCommits": 1, "refs": []}, "b", "b"),
    ({"listRemotes": 1}, "mb", "mb"),
    ({"removeRemote": "nowhere"}, "mb", "mb"),
    ({"fetch": "nowhere"}, "mb", "mb"),
    ({"pull": "nowhere"}, "mb", "b"),
    ({"push": "nowhere"}, "b", "b"),
    ({"retention": 1}, "mb", "mb"),
    ({"verify": 1}, "b", "b"),
    ({"versionStats": 1}, "b", "b"),
    ({"dedupChain": "orders", "_id": 1}, "b", "b"),
    ({"dedupAdvise": "orders"}, "b", "b"),
    ({"merge": "other"}, "b", "sb"),
    ({"merge": "main"}, "mb", "b"),
    ({"merge": "other", "into": "new", "branch": "third"}, "b", "sb"),
    ({"merge": "dev~1", "into": "new", "branch": "third"}, "b", "sb"),
    ({"diff": 1, "from": "main", "to": "dev"}, "b", "b"),
    ({"diff": 1, "from": "dev", "to": "other"}, "b", "sb"),
    ({"log": 1}, "mb", "dsb"),
    ({"rebase": "other"}, "b", "sb"),
    ({"squash": "main"}, "mb", "b"),
    ({"applyPatch": 1, "changes": [{"collection": "orders", "_id": 9, "after": {"_id": 9, "u": 9}}]}, "mb", "dsb"),
    ({"commitValidator": 1}, "mb", "mb"),
    ({"commit": 1, "bypassDocumentValidation": True}, "mb", "dsb"),
    ({"stash": 1}, "mb", "dsb"),
    ({"listStashes": 1}, "mb", "dsb"),
    ({"dropStash": 9}, "mb", "mdsb"),
    ({"stashApply": 9}, "mb", "dsb"),
    ({"stashPop": 9}, "mb", "dsb"),
    ({"blame": "orders", "_id": 1}, "mb", "dsb"),
    ({"bisect": "orders", "good": "dev", "pipeline": []}, "b", "dsb"),
    ({"bisect": "orders", "good": "dev", "pipeline": [{"$unionWith": {"coll": "orders", "db": "shop@other"}}]}, "b", "sb"),
    ({"getProof": 1, "coll": "orders", "_id": 1}, "mb", "dsb"),
    ({"aggregate": "orders", "pipeline": [{"$acrossBranches": {}}], "cursor": {}}, "b", "b"),
    ({"aggregate": "orders", "pipeline": [{"$history": {"_id": 1}}], "cursor": {}}, "b", "b"),
    ({"aggregate": "orders", "pipeline": [{"$diff": {"from": "main", "to": "other"}}], "cursor": {}}, "b", "b"),
    ({"aggregate": "orders", "pipeline": [{"$unionWith": {"coll": "orders", "db": "shop@main"}}], "cursor": {}}, "mb", "b"),
    ({"aggregate": "orders", "pipeline": [{"$lookup": {"from": {"db": "shop@other", "coll": "orders"}, "pipeline": [], "as": "x"}}], "cursor": {}}, "b", "sb"),
    # Indexes and options are the same in all states.
    ({"createIndexes": "orders", "indexes": [{"key": {"n": 1}, "name": "n"}]}, "mb", "b"),
    ({"dropIndexes": "orders", "index": "u"}, "mb", "b"),
    ({"collMod": "orders", "validationLevel": "off"}, "mb", "b"),
    ({"profile": 0}, "mb", "b"),
    ({"compact": "orders"}, "mb", "b"),
    ({"validate": "orders"}, "mb", "b"),
]
USERS = {"m": ["shop"], "d": ["shop@dev"], "s": ["shop@*"], "b": ["shop", "shop@*"]}


@pytest.fixture(scope="module")
def server():
    with Guarded() as running:
        for name, databases in USERS.items():
            running.root.admin.command("createUser", name, pwd=PASSWORD, roles=[{"role": "dbOwner", "db": db} for db in databases])
        yield running


def make_shop(server):
    root = server.root
    root.drop_database("shop")
    root.shop.orders.insert_many([{"_id": i, "n": i, "u": i} for i in range(3)])
    root.shop.orders.create_index("u", name="u")
    for branch in ("dev", "other"):
        root.shop.command("createBranch", branch)
        root[f"shop@{branch}"].orders.update_one({"_id": 1}, {"$set": {"n": f"of {branch}"}})
        root[f"shop@{branch}"].command("commit", 1, message="m")
    root.shop.command("createTag", "v1", **{"from": "other"})


@pytest.fixture
def shop(server):
    make_shop(server)


@pytest.fixture(scope="module")
def users(server):
    clients = {name: server.login(name) for name in USERS}
    yield clients
    for client in clients.values():
        client.close()


@pytest.mark.parametrize("command, on_main, on_dev", COMMANDS, ids=lambda value: json.dumps(value)[:60] if isinstance(value, dict) else value)
def test_a_right_on_one_state_is_none_on_another(server, users, shop, command, on_main, on_dev):
    for db, allowed in (("shop", on_main), ("shop@dev", on_dev)):
        for name, user in users.items():
            code = 0
            try:
                user[db].command(command)
                make_shop(server)
            except OperationFailure as failure:
                code = failure.code
            assert (code != UNAUTHORIZED) == (name in allowed), f"{name} on {db}: {code}"


def test_the_first_branch_is_the_database_itself_by_whatever_name(server, shop):
    with server.login("s") as all_branches, server.login("m") as main:
        for name in ("shop@main", "shop@m%61in", "shop@%6Dain"):
            for work in (lambda: all_branches[name].orders.find_one(), lambda: all_branches[name].orders.insert_one({}),
                         lambda: all_branches[name].orders.drop(), lambda: all_branches[name].command("getProof", 1, coll="orders", _id=1)):
                with pytest.raises(OperationFailure) as failure:
                    work()
                assert failure.value.code == UNAUTHORIZED
            assert main[name].orders.find_one() == {"_id": 0, "n": 0, "u": 0}
        assert all_branches["shop@d%65v"].orders.find_one({"_id": 1})["n"] == "of dev"
    server.root.admin.command("createUser", "named", pwd=PASSWORD, roles=[{"role": "read", "db": "shop@main"}])
    with server.login("named") as named:
        assert named.shop.orders.count_documents({}) == named["shop@main"].orders.count_documents({}) == 3
        with pytest.raises(OperationFailure):
            named["shop@dev"].orders.find_one()


def test_a_list_of_branches_tells_no_more_than_names_of_what_a_user_may_not_read(server, shop):
    with server.login("m") as main, server.login("d") as dev, server.login("b") as both:
        def shown(user, db, command):
            return {one["name"]: set(one) for one in user[db].command(command)["cursor"]["firstBatch"]}

        names, all_of_it = {"name", "database"}, {"name", "database", "commit", "time"}
        assert shown(main, "shop", "listBranches") == {"main": all_of_it, "dev": names, "other": names}
        assert shown(dev, "shop@dev", "listBranches") == {"main": names, "dev": all_of_it, "other": names}
        assert shown(both, "shop", "listBranches") == {"main": all_of_it, "dev": all_of_it, "other": all_of_it}
        assert shown(main, "shop", "listTags") == {"v1": names} and shown(both, "shop", "listTags") == {"v1": all_of_it}


def test_a_stash_is_for_those_who_may_read_the_branch_that_it_was_made_on(server, shop):
    root = server.root
    root["shop@other"].orders.insert_one({"_id": "aside"})
    root["shop@other"].command("stash", 1, message="secret")
    with server.login("m") as main, server.login("d") as dev, server.login("s") as all_branches:
        def shown(user, db):
            return [set(one) for one in user[db].command("listStashes", 1)["cursor"]["firstBatch"]]

        assert shown(main, "shop") == shown(dev, "shop@dev") == [{"stash", "branch"}]
        assert shown(all_branches, "shop@dev") == [{"stash", "branch", "commit", "parents", "time", "message"}]
        for user, db in ((main, "shop"), (dev, "shop@dev")):
            for command in ("stashApply", "stashPop", "dropStash"):
                assert refused(lambda: user[db].command(command, 1)) == UNAUTHORIZED
        assert all_branches["shop@dev"].command("stashPop", 1)["changed"]
        assert dev["shop@dev"].orders.find_one({"_id": "aside"}) and shown(all_branches, "shop@dev") == []


def test_validators_of_commits_and_of_patches_are_passed_by_with_the_right_for_it_alone(server, shop):
    root = server.root
    root.shop.command("commitValidator", {"orders": {"validator": {"n": {"$ne": "bad"}}}})
    root.admin.command("createRole", "commits", roles=[{"role": "readWrite", "db": "shop"}],
                       privileges=[{"resource": {"db": "shop", "collection": ""}, "actions": ["commit", "merge", "cherryPick"]}])
    root.admin.command("createUser", "committer", pwd=PASSWORD, roles=["commits"])
    validation_failed = 121
    patch = {"applyPatch": 1, "changes": [{"collection": "orders", "_id": "p", "after": {"_id": "p", "n": "bad", "u": "p"}}]}
    try:
        with server.login("committer") as user:
            assert refused(lambda: user.shop.command({**patch, "bypassDocumentValidation": True})) == UNAUTHORIZED
            user.shop.command(patch)
            assert refused(lambda: user.shop.command("commit", 1)) == validation_failed
            assert refused(lambda: user.shop.command("commit", 1, bypassDocumentValidation=True)) == UNAUTHORIZED
            assert refused(lambda: user.shop.command("merge", "main", bypassDocumentValidation=True)) == UNAUTHORIZED
            assert refused(lambda: user.shop.command("commitValidator", {})) == UNAUTHORIZED
        assert root.shop.command("commit", 1, bypassDocumentValidation=True)["changed"]
    finally:
        root.admin.command("dropUser", "committer")
        root.admin.command("dropRole", "commits")


def without_noise(reply):
    """A reply as text, less what differs from run to run: ids, times, ports."""
    text = json_util.dumps(reply, sort_keys=True)
    text = re.sub(r'"\$(oid|uuid|date)": "[^"]*"|"\$binary": \{[^}]*\}|"\$timestamp": \{[^}]*\}', "…", text)
    return re.sub(r'"(commit|proof|md5|host|port|time|roots?|hash)": ("[^"]*"|\d+)|"[0-9a-f]{64}"', "…", text)


# Those of `shop` that show how much is stored, in all states together, are left out: docs/security.md says so.
LOOKS = [{"listBranches": 1}, {"listTags": 1}, {"log": 1}, {"status": 1}, {"listCollections": 1}, {"listIndexes": "orders"}, {"count": "orders"},
         {"find": "secret"}, {"distinct": "orders", "key": "n"}, {"collStats": "secret"}, {"listIndexes": "secret"}, {"retention": 1},
         {"verify": 1}, {"versionStats": 1}, {"dedupAdvise": "orders"}, {"dedupChain": "orders", "_id": 1}, {"getProof": 1, "coll": "orders", "_id": 1},
         {"diff": 1, "from": "main", "to": "dev"}, {"merge": "dev"},
         {"aggregate": "secret", "pipeline": [{"$indexStats": {}}], "cursor": {}}, {"aggregate": "orders", "pipeline": [{"$acrossBranches": {}}], "cursor": {}},
         {"aggregate": "orders", "pipeline": [{"$lookup": {"from": {"db": "shop@dev", "coll": "secret"}, "pipeline": [], "as": "x"}}], "cursor": {}},
         {"aggregate": "orders", "pipeline": [{"$unionWith": {"db": "shop@dev", "coll": "secret"}}], "cursor": {}},
         {"explain": {"find": "orders", "filter": {"n": "of dev"}}, "verbosity": "queryPlanner"},
         {"insert": "orders", "documents": [{"_id": "s1", "u": 901}]}, {"find": "orders"}]


def refused(work):
    with pytest.raises(OperationFailure) as failure:
        work()
    return failure.value.code


LEAK = [{"$unionWith": {"db": "secret", "coll": "c"}}]


def test_a_view_of_what_a_user_may_not_read_does_not_come_with_commits(server, shop):
    root = server.root
    root.secret.c.replace_one({"_id": "secret"}, {"_id": "secret"}, upsert=True)
    root.shop.command("create", "leak", viewOn="orders", pipeline=LEAK)
    head = bytes.fromhex(root.shop.command("commit", 1)["commit"])
    pack = b"".join(one["pack"] for one in root.shop.cursor_command("packCommits", 1) if "pack" in one)
    root.drop_database("shop")
    request = {"receivePack": Binary.from_uuid(uuid.uuid4()), "offset": 0, "pack": pack, "last": True, "refs": [{"branch": "main", "commit": head}]}
    with server.login("m") as main:
        assert refused(lambda: main.shop.command(request)) == UNAUTHORIZED
        assert "leak" not in main.shop.list_collection_names()
        root.shop.command({**request, "receivePack": Binary.from_uuid(uuid.uuid4())})
        assert main.shop.leak.count_documents({}) == 4


def test_a_view_of_what_a_user_may_not_read_is_not_made_by_a_merge(server, shop):
    root = server.root
    root.shop.command("create", "few", viewOn="orders", pipeline=[])
    root.shop.command("commit", 1)
    root.shop.command("createBranch", "views")
    for db, n in (("shop", 1), ("shop@views", 2)):
        root[db].command("collMod", "few", viewOn="orders", pipeline=[{"$limit": n}])
        root[db].command("commit", 1)
    with server.login("b") as both:
        stages = [{"$set": {"pipeline": {"$literal": LEAK}}}]
        assert refused(lambda: both.shop.command("merge", "views", resolve=stages)) == 96
        assert refused(lambda: both.shop.command("merge", "views", collections={"system.views": {"resolve": stages}})) == 2
        assert both.shop.command("merge", "views", resolve="manual")["merging"]
        decide = {"resolveConflict": 1, "collection": "system.views", "id": "shop.few"}
        assert refused(lambda: both.shop.command({**decide, "document": {"viewOn": "orders", "pipeline": LEAK}})) == UNAUTHORIZED
        assert refused(lambda: both.shop.command({**decide, "document": {"viewOn": "orders"}})) == 182
        both.shop.command({**decide, "document": {"viewOn": "orders", "pipeline": [{"$limit": 3}]}})
        both.shop.command("continueMerge", 1)
        assert both.shop.few.count_documents({}) == 3


def test_replies_are_the_same_whatever_a_branch_holds(server):
    """The same commands in two worlds that differ in what `shop@dev` holds alone: its user's replies don't differ."""
    def world(fill):
        root = server.root
        root.drop_database("shop")
        root.shop.orders.insert_many([{"_id": i, "n": i, "u": i} for i in range(50)])
        root.shop.command("commit", 1, message="first")
        root.shop.command("createBranch", "dev")
        fill(root["shop@dev"])
        replies = {}
        with server.login("m") as main:
            for command in LOOKS:
                try:
                    replies[json.dumps(command)] = without_noise(main.shop.command(command))
                except OperationFailure as failure:
                    replies[json.dumps(command)] = without_noise({key: value for key, value in failure.details.items() if key != "errmsg"})
        return replies

    def much(dev):
        dev.orders.insert_many([{"_id": f"s{i}", "n": "of dev", "u": 900 + i, "text": "secret " * 200} for i in range(100)])
        dev.orders.delete_many({"_id": {"$lt": 20}})
        dev.secret.insert_one({"_id": 1})
        dev.command("commit", 1, message="much")

    empty, full = world(lambda dev: None), world(much)
    differ = [command for command in empty if empty[command] != full[command]]
    assert not differ, "\n".join(f"{command}\n  {empty[command][:400]}\n  {full[command][:400]}" for command in differ)


def test_times_of_refusals_tell_nothing(server):
    """How long a refusal takes doesn't depend on what the branch holds: two medians of 400 in a random order are nearer to each other than half of
    them. One of several runs must show that, since the machine has other things to do; a difference that can be seen is seen in all of them."""
    root = server.root
    root.drop_database("shop")
    root.shop.orders.insert_many([{"_id": i} for i in range(10)])
    for branch, count in (("small", 1), ("large", 5000)):
        root.shop.command("createBranch", branch)
        root[f"shop@{branch}"].orders.insert_many([{"_id": f"x{i}", "t": "x" * 500} for i in range(count)])

    def find(branch):
        return {"find": "orders", "filter": {"t": {"$regex": "y$"}}}, f"shop@{branch}"

    def lookup(branch):
        stage = {"$lookup": {"from": {"db": f"shop@{branch}", "coll": "orders"}, "pipeline": [{"$match": {"t": {"$regex": "y$"}}}], "as": "x"}}
        return {"aggregate": "orders", "pipeline": [stage], "cursor": {}}, "shop"

    def compare(branch):
        return {"diff": 1, "from": "main", "to": branch}, "shop"

    with server.login("m") as main:
        def median_us(make, runs=400):
            taken = {"small": [], "large": []}
            order = ["small", "large"] * runs
            random.shuffle(order)
            for branch in order:
                command, db = make(branch)
                begun = time.perf_counter_ns()
                with pytest.raises(OperationFailure):
                    main[db].command(command)
                taken[branch].append((time.perf_counter_ns() - begun) / 1000)
            return [statistics.median(taken[branch]) for branch in ("small", "large")]

        for make in (find, lookup, compare):
            seen = []
            for _ in range(5):
                small, large = median_us(make)
                seen.append((small, large))
                if abs(small - large) < min(small, large) / 2:
                    break
            else:
                raise AssertionError(f"{make.__name__}: {seen}")
