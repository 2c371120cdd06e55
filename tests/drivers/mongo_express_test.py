"""mongo-express, a web page that looks into databases, as people start it: with root:example on a server with access control."""
import contextlib
import os
import re
import shutil
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from http.cookiejar import CookieJar

import pytest

from tests.support.palimpsest import ROOT, Server, free_port
from tests.support.waiting import DEADLINE, wait_until

BUILT = ROOT / "build" / "drivers" / "mongo_express"
PROGRAM = BUILT / "node_modules" / "mongo-express"


@pytest.fixture(scope="module")
def server():
    with Server("--auth") as running:
        with running.client() as client:
            client.admin.command("createUser", "root", pwd="example", roles=["root"])
        yield running


@pytest.fixture(scope="module")
def root(server):
    with server.client(username="root", password="example") as client:
        yield client


class Site:
    """A Site is what a browser sees of mongo-express."""

    def __init__(self, port):
        self.base = f"http://localhost:{port}/"
        self.browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))

    def get(self, path=""):
        with self.browser.open(self.base + path, timeout=DEADLINE) as answer:
            return answer.read().decode()

    def send(self, path, **form):
        """Posts a form, and returns the page that it leads to, which says what became of it."""
        with self.browser.open(self.base + path, urllib.parse.urlencode(form).encode(), timeout=DEADLINE) as answer:
            return answer.read().decode()


@contextlib.contextmanager
def started(server, credentials):
    if not shutil.which("node") or not (BUILT / ".complete").exists():
        pytest.skip("no mongo-express here: scripts/test installs it where there is npm")
    port = free_port()
    environment = {**os.environ, "ME_CONFIG_MONGODB_URL": f"mongodb://{credentials}@{server.host}:{server.port}/", "ME_CONFIG_MONGODB_ENABLE_ADMIN": "true",
                   "ME_CONFIG_SITE_COOKIESECRET": "a", "ME_CONFIG_SITE_SESSIONSECRET": "b", "PORT": str(port)}
    log = server.directory / f"mongo-express-{port}"
    with open(log, "wb") as out:
        program = subprocess.Popen(["node", "app.js"], cwd=PROGRAM, env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
    try:
        yield Site(port), program, log
    finally:
        program.kill()
        program.wait()


def test_documents_are_made_changed_and_removed(server, root):
    with started(server, "root:example") as (site, program, log):
        def answers():
            assert program.poll() is None, log.read_text(errors="replace")
            with contextlib.suppress(urllib.error.URLError):
                return "admin" in site.get()

        wait_until(answers, lambda: log.read_text(errors="replace"))
        front = site.get()
        assert "MongoDB Version" in front and "7.0" in front
        assert "Database" in site.send("", database="shop")
        assert "shop" in site.get()
        assert "Collection created!" in site.send("db/shop", collection="pages")
        assert "pages" in site.get("db/shop")

        page = site.send("db/shop/pages", document='{_id: "a", title: "first", when: ISODate("2024-01-02T03:04:05Z"), n: NumberLong(7)}')
        assert "Document added!" in page and "first" in page
        assert "Document added!" in site.send("db/shop/pages", document='{title: "second"}')
        stored = root.shop.pages.find_one({"_id": "a"})
        assert stored["title"] == "first" and stored["n"] == 7 and stored["when"].year == 2024

        one = "db/shop/pages/" + urllib.parse.quote('"a"')
        assert "first" in site.get(one)
        assert "Document updated!" in site.send(one, _method="put", document='{title: "edited", tags: ["x"]}')
        assert root.shop.pages.find_one({"_id": "a"}) == {"_id": "a", "title": "edited", "tags": ["x"]}

        assert "Index created!" in site.send("db/shop/addIndex/pages", index='{title: 1}')
        assert "title_1" in root.shop.pages.index_information()
        found = site.get("db/shop/pages?" + urllib.parse.urlencode({"query": '{title: "edited"}', "projection": ""}))
        assert "edited" in found and "second" not in found
        assert re.search(r'"title": ?"second"', site.get("db/shop/export/pages"))

        other = root.shop.pages.find_one({"title": "second"})["_id"]
        assert "Document deleted!" in site.send("db/shop/pages/" + urllib.parse.quote(f'"{other}"'), _method="delete")
        assert [one["_id"] for one in root.shop.pages.find()] == ["a"]
        site.send("db/shop/pages", _method="delete")
        assert "pages" not in root.shop.list_collection_names()
        assert not [line for line in log.read_text(errors="replace").splitlines() if "MongoServerError" in line]


def test_a_wrong_password_ends_it(server):
    with started(server, "root:exempel") as (_, program, log):
        assert program.wait(60) != 0
        assert "Authentication failed" in log.read_text(errors="replace")
