"""Every page of the console in a real browser, on a set of one member."""
import os
import pathlib
import shutil
import subprocess
import threading

import pymongo
import pytest

from tests.console.console import Console
from tests.support.palimpsest import BIN, ROOT, Server
from tests.support.waiting import DEADLINE

BROWSER = os.environ.get("PALIMPSEST_BROWSER") or shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
WORDS = "a document is a text that somebody has written and that others read and change while it grows from one version to the next".split()


def fill(client):
    """Three branches, a merge, conflicts of three kinds, two snapshots."""
    db, dev, feature = client["shop"], client["shop@dev"], client["shop@feature%2Fone"]
    text = " ".join(WORDS * 12)
    db.pages.insert_many({"_id": i, "title": f"Page {i}", "lang": "en" if i % 2 == 0 or i == 11 else "de", "views": i, "body": text, "author": {"name": "ann"}} for i in range(3000))
    db.pages.create_index("lang")
    db.orders.insert_many({"total": i * 1.5} for i in range(20))
    client.admin.command("createSnapshot", 1, name="early")
    db.command("createBranch", "dev")
    for i in range(4):
        dev.pages.update_one({"_id": 100 + i}, {"$set": {"views": -i}})
        dev.command("commit", 1, message=f"dev {i}", author="ann")
        db.pages.update_one({"_id": 200 + i}, {"$set": {"views": -i}})
        db.command("commit", 1, message=f"main {i}", author="bob")
    db.command("merge", "dev", message="merge dev")
    db.command("createTag", "v1")
    db.command("createBranch", "feature/one")
    feature.orders.delete_many({"total": {"$lt": 3}})
    feature.command("commit", 1, message="fewer orders")
    db.pages.update_one({"_id": 7}, {"$set": {"title": "Seven of main", "views": 66, "body": text.replace("written", "typed", 1)}})
    db.pages.update_many({"_id": {"$in": [8, 9, 10]}}, {"$set": {"views": 66}})
    db.command("commit", 1, message="main changes", author="bob")
    dev.pages.update_one({"_id": 7}, {"$set": {"title": "Seven of dev", "views": 55}})
    dev.pages.update_many({"_id": {"$in": [8, 9]}}, {"$set": {"views": 55}})
    dev.pages.delete_many({"_id": {"$in": [10, 2000]}})
    dev.command("commit", 1, message="dev changes", author="ann")
    client.admin.command("createSnapshot", 1, name="late")
    feature.orders.insert_one({"_id": "not committed", "total": 7})


def test_pages(tmp_path):
    assert BROWSER, "there is no Chromium; scripts/test installs it"
    modules = BIN.parent / "console" / "web" / "node_modules"
    shutil.copy(ROOT / "console" / "web" / "browser" / "pages.mjs", tmp_path)
    (tmp_path / "node_modules").symlink_to(modules.resolve())
    pictures = [ROOT / "console" / "web" / "browser" / "pictures.json"]
    if os.environ.get("PALIMPSEST_SCREENSHOTS"):
        pictures.append(os.environ["PALIMPSEST_SCREENSHOTS"])
    with Server("--replSet", "rs0") as server:
        server.initiate()
        with server.client(directConnection=True) as client:
            fill(client)
            client.shop.command("addRemote", "mirror", uri=f"mongodb://127.0.0.1:{server.port}/mirror?directConnection=true")
            ended = []

            # Somebody on the page ends it.
            def run_long():
                try:
                    client.shop.pages.find_one({"$where": "function() { while (true); return true }"}, comment="to be killed")
                except pymongo.errors.OperationFailure as error:
                    ended.append(error.code)

            running = threading.Thread(target=run_long, daemon=True)
            said = ""
            with Console(server.uri, "--write") as console, Console(server.uri) as reader, subprocess.Popen(
                    ["node", tmp_path / "pages.mjs", BROWSER, console.address, reader.address, *pictures], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as browser:
                too_late = threading.Timer(5 * DEADLINE, browser.kill)
                too_late.start()
                for line in browser.stdout:
                    said += line
                    # It takes a processor for itself, so it begins only before the page that shows it.
                    if line.startswith("members:"):
                        running.start()
                browser.wait()
                too_late.cancel()
            assert browser.returncode == 0, said
            running.join(DEADLINE)
        print(said)
        assert ended == [11601]
