"""Servers that exchange commits: the class of one, the fixtures of three, and what tests of them ask again and again."""
import json
import subprocess

import bson
import pytest

from tests.branches.conftest import by_id, log_of
from tests.support.palimpsest import BIN, Server


class Site:
    """A server with the database `shop`, and its branches."""

    def __init__(self, server):
        self.server, self.client = server, server.client()

    @property
    def uri(self):
        return self.server.uri + "shop"

    def __getitem__(self, ref):
        return self.client["shop" if ref == "main" else f"shop@{ref}"]

    def log(self, ref="main"):
        return [one["commit"] for one in log_of(self[ref])]

    def head(self, ref="main"):
        return self.log(ref)[0]

    def commit(self, ref="main", message=""):
        return self[ref].command("commit", 1, message=message)["commit"]

    def roots(self, ref="main"):
        return self[ref].command("dbHash").get("roots")

    def names(self):
        return [one["name"] for one in self["main"].cursor_command("listBranches", 1)]

    def receive(self, pack, upload=bytes(16), **more):
        """The whole pack comes in one piece."""
        return self["main"].command("receivePack", bson.Binary(upload, 4), pack=pack, last=True, **more)

    def remotes(self):
        return {one["name"]: one for one in self["main"].cursor_command("listRemotes", 1)}

    def wipe(self):
        for name in self.remotes():
            self["main"].command("removeRemote", name)
        self.client.drop_database("shop")


@pytest.fixture(scope="module")
def servers():
    with Server() as hub, Server() as ann, Server() as bob:
        yield [Site(one) for one in (hub, ann, bob)]


@pytest.fixture
def team(servers):
    """`hub` has two branches; ann and bob have nothing."""
    hub, ann, bob = servers
    hub["main"].pages.insert_many([{"_id": i, "n": 0, "text": f"page {i} " * 20} for i in range(50)])
    hub["main"].authors.insert_one({"_id": "ann"})
    hub["main"].pages.create_index("n")
    hub.commit(message="begin")
    hub["main"].command("createBranch", "dev")
    hub["dev"].pages.update_one({"_id": 1}, {"$set": {"n": 1}})
    hub.commit("dev", "one")
    yield servers
    for site in servers:
        site.wipe()


def palimpsest(*arguments, code=0):
    done = subprocess.run([BIN / "palimpsest", *arguments], capture_output=True, text=True, timeout=120)
    assert done.returncode == code, done.stderr
    return done.stderr if code else json.loads(done.stdout)


def clone(source, site):
    palimpsest("clone", source.uri, site.uri)


def bundle(site, of, file, *options):
    palimpsest("bundle", "create", "--uri", site.server.uri, *options, of, file)


def unbundle(site, file, *options, code=0):
    return palimpsest("bundle", "fetch", "--uri", site.server.uri, *options, file, code=code)


def same(a, b, *refs):
    for ref in refs or ["main"]:
        assert a.log(ref) == b.log(ref), ref
        assert a.roots(ref) == b.roots(ref), ref
        assert by_id(a[ref].pages) == by_id(b[ref].pages), ref
