"""These tests check whom the console lets in, and what it passes on."""
import json
import os
import pathlib
import socket
import subprocess

import pytest

from tests.console.console import Console
from tests.support.palimpsest import BIN, free_port
from tests.support.waiting import wait_until


@pytest.fixture(scope="module")
def data(server):
    with server.client() as client:
        client.shop.pages.insert_many({"_id": i, "n": float(i)} for i in range(500))
    return server


@pytest.fixture(scope="module")
def console(data):
    with Console(data.uri) as running:
        yield running


@pytest.fixture(scope="module")
def page(console):
    return console.log_in()


def ask(console, headers, command, db="shop", **more):
    return console.post("/command", {"db": db, "command": command, **more}, headers)


def open_cursors(client):
    return client.admin.command("serverStatus")["cursors"]["open"]["total"]


def test_only_the_token_lets_in(console):
    for path in ("/", "/console.js", "/console.css", "/session", "/nothing"):
        status, _, body = console.ask("GET", path)
        assert status == 401 and console.token not in body
    for token in ("", console.token[:-1], console.token + "0", "0" * 64):
        status, headers, _ = console.ask("GET", f"/login?token={token}")
        assert status == 401 and "set-cookie" not in headers
    status, headers, _ = console.ask("GET", f"/login?token={console.token}")
    assert status == 200
    assert headers["set-cookie"].endswith("; Path=/; HttpOnly; SameSite=Strict")


def test_a_cookie_that_was_made_up_lets_nobody_in(console, page):
    name = page["Cookie"].split("=")[0]
    for cookie in (f"{name}={'0' * 64}", f"{name}=", "session=1"):
        assert console.ask("GET", "/session", {"Cookie": cookie})[0] == 401


def test_another_host_name_gets_nothing(console, page):
    for host in ("evil.example", f"evil.example:{console.port}", "127.0.0.1", f"127.0.0.1:{console.port + 1}", None):
        assert console.ask("GET", "/session", {**page, "Host": host})[0] in (400, 403)
        assert console.ask("GET", f"/login?token={console.token}", {"Host": host})[0] in (400, 403)


def test_a_post_needs_the_pages_own_header_and_origin(console, page):
    request = {"db": "shop", "command": {"ping": 1}}
    assert console.post("/command", request, page)[0] == 200
    for changed in ({"X-Console-Csrf": None}, {"X-Console-Csrf": "0" * 64}, {"X-Console-Csrf": ""}):
        assert console.ask("POST", "/command", {**page, **changed}, json.dumps(request))[0] == 403
    for origin in ("http://evil.example", "null", f"http://127.0.0.1:{console.port + 1}"):
        assert console.ask("POST", "/command", {**page, "Origin": origin}, json.dumps(request))[0] == 403
    assert console.ask("POST", "/command", {**page, "Origin": f"http://127.0.0.1:{console.port}"}, json.dumps(request))[0] == 200
    # Another page's preflight finds nothing that permits it.
    status, headers, _ = console.ask("OPTIONS", "/command", page)
    assert status == 405 and not any(name.startswith("access-control") for name in headers)


def test_every_answer_forbids_caches_frames_and_foreign_scripts(console, page):
    for path in ("/", "/console.js", "/console.css", "/session", f"/login?token={console.token}", "/nothing"):
        _, headers, _ = console.ask("GET", path, page)
        assert headers["cache-control"] == "no-store"
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy and "script-src 'self';" in policy and "frame-ancestors 'none'" in policy and "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff" and headers["referrer-policy"] == "no-referrer"


def test_the_page_loads_nothing_from_elsewhere(console, page):
    html = console.ask("GET", "/", page)[2]
    assert "<script" in html and "//" not in html.replace("http://www.w3.org/2000/svg", "")


def test_it_listens_on_loopback_alone(console):
    with socket.socket() as probe:
        probe.connect(("127.0.0.1", console.port))
    with socket.socket() as other, pytest.raises(OSError):
        other.bind(("127.0.0.1", console.port))
    # All of 127.0.0.0/8 is this machine: what listens on every address would answer here, too.
    with socket.socket() as probe, pytest.raises(OSError):
        probe.connect(("127.0.0.2", console.port))


def test_commands_are_answered_in_extended_json(console, page):
    status, reply = ask(console, page, {"find": "pages", "projection": {"n": 1}, "batchSize": 1}, texts={"filter": "{_id: {$gt: 7}}"})
    assert status == 200 and reply["cursor"]["firstBatch"] == [{"_id": 8, "n": 8.0}]
    reply = ask(console, page, {"find": "pages", "filter": {"_id": 7}}, json="canonical")[1]
    assert reply["cursor"]["firstBatch"] == [{"_id": {"$numberInt": "7"}, "n": {"$numberDouble": "7.0"}}]


def test_answers_are_sent_as_they_are(console, page):
    """To compress a batch takes longer than to send it."""
    for path in ("/", "/console.js", "/console.css", "/session"):
        assert "content-encoding" not in console.ask("GET", path, {**page, "Accept-Encoding": "gzip, br"})[1]
    request = json.dumps({"db": "shop", "command": {"find": "pages", "batchSize": 500}})
    assert "content-encoding" not in console.ask("POST", "/command", {**page, "Accept-Encoding": "gzip, br"}, request)[1]


def test_the_servers_refusals_come_with_code_and_name(console, page):
    status, reply = ask(console, page, {"aggregate": "pages", "pipeline": [{"$nothing": 1}], "cursor": {}})
    assert status == 200 and reply["ok"] == 0 and reply["code"] == 40324 and reply["codeName"] and "$nothing" in reply["errmsg"]


def test_documents_come_in_batches(console, page):
    reply = ask(console, page, {"find": "pages", "sort": {"_id": 1}, "batchSize": 200})[1]
    handle, seen = reply["cursor"]["id"], len(reply["cursor"]["firstBatch"])
    assert handle and seen == 200
    while handle:
        cursor = console.post("/next", {"cursor": handle, "batchSize": 150}, page)[1]["cursor"]
        assert len(cursor["nextBatch"]) <= 150
        handle, seen = cursor["id"], seen + len(cursor["nextBatch"])
    assert seen == 500
    for size in (0, -1, 1001):
        assert console.post("/next", {"cursor": "x", "batchSize": size}, page)[0] == 400


def test_a_closed_cursor_is_gone(console, page, data):
    with data.client() as client:
        before = open_cursors(client)
        handle = ask(console, page, {"find": "pages", "batchSize": 1})[1]["cursor"]["id"]
        assert open_cursors(client) == before + 1
        assert console.post("/close", {"cursor": handle}, page)[0] == 200
        assert console.post("/next", {"cursor": handle}, page)[1]["code"] == 43
        assert open_cursors(client) == before


def test_more_cursors_than_it_keeps_close_the_oldest(console, page, data):
    handles = [ask(console, page, {"find": "pages", "batchSize": 1})[1]["cursor"]["id"] for _ in range(40)]
    with data.client() as client:
        assert open_cursors(client) == 32
    assert console.post("/next", {"cursor": handles[0]}, page)[1]["code"] == 43
    assert console.post("/next", {"cursor": handles[-1]}, page)[1]["ok"] == 1
    for handle in handles:
        console.post("/close", {"cursor": handle}, page)


@pytest.mark.parametrize("command", [
    {"insert": "pages", "documents": [{"_id": "x"}]}, {"delete": "pages", "deletes": []}, {"shutdown": 1}, {"dropDatabase": 1}, {"getMore": 1},
    {"aggregate": "pages", "pipeline": [{"$out": "y"}], "cursor": {}}, {"find": "pages", "tailable": True}, {"find": "pages", "batchSize": 5000},
])
def test_what_is_not_in_the_list_is_refused(console, page, command):
    status, reply = ask(console, page, command)
    assert status == 400 and reply["ok"] == 0 and reply["code"] in (2, 59)


def test_writing_needs_the_option(console, page, data):
    status, reply = ask(console, page, {"createBranch": "dev"})
    assert status == 403 and reply["code"] == 13 and "--write" in reply["errmsg"]
    with Console(data.uri, "--write") as writing:
        headers = writing.log_in()
        assert json.loads(writing.ask("GET", "/session", headers)[2])["writes"] is True
        assert ask(writing, headers, {"createBranch": "dev"})[1]["ok"] == 1
        # Another console's cookie and header are worth nothing here.
        assert writing.ask("POST", "/command", page, json.dumps({"db": "shop", "command": {"dropBranch": "dev"}}))[0] == 401
        assert ask(writing, headers, {"dropBranch": "dev"})[1]["ok"] == 1
        assert ask(writing, headers, {"insert": "pages", "documents": []})[0] == 400
    assert writing.code == 0


@pytest.mark.parametrize("body", ["", "{", "[]", "\0", '{"db": "shop"}', '{"db": "shop", "command": 1}', '{"db": 1, "command": {"ping": 1}}',
                                  '{"db": "shop", "command": {}}', '{"db": "", "command": {"ping": 1}}', '{"db": "shop", "command": {"ping": 1}, "texts": 1}',
                                  '{"db": "shop", "command": {"find": "pages"}, "texts": {"filter": 1}}', '{"db": "shop", "command": {"find": "pages"}, "texts": {"find": "1"}}',
                                  '{"a": ' * 500 + "1" + "}" * 500])
def test_bodies_that_are_no_request_are_refused(console, page, body):
    status, _, reply = console.ask("POST", "/command", page, body)
    assert status == 400 and json.loads(reply)["ok"] == 0


def test_a_member_that_isnt_there_is_said(console, page):
    assert ask(console, page, {"ping": 1}, member="elsewhere:1")[1]["codeName"] == "NodeNotFound"


def test_a_server_that_isnt_there_is_said_at_once(data):
    port = free_port()
    ended = subprocess.run([BIN / "palimpsest", "console", "--no-open", "--uri", f"mongodb://127.0.0.1:{port}/?serverSelectionTimeoutMS=200"],
                           capture_output=True, text=True, timeout=120)
    assert ended.returncode == 1 and str(port) in ended.stderr
    ended = subprocess.run([BIN / "palimpsest", "console", "--no-open", "--uri", "http://x"], capture_output=True, text=True, timeout=120)
    assert ended.returncode == 1 and "connection string" in ended.stderr


def test_the_browser_gets_a_file_that_nobody_else_can_read(data, tmp_path):
    """The list of processes shows everybody what a program was started with."""
    opened = tmp_path / "opened"
    program = tmp_path / "xdg-open"
    program.write_text(f'#!/bin/sh\n{{ echo "$1"; stat -c %a "$1" "$(dirname "$1")"; cat "$1"; }} > {opened}.new\nmv {opened}.new {opened}\n')
    program.chmod(0o755)
    environment = {"DISPLAY": ":0", "XDG_RUNTIME_DIR": str(tmp_path), "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    with Console(data.uri, env=environment) as running:
        wait_until(opened.exists, "nothing was opened")
        path, mode, folder_mode, content = opened.read_text().split("\n", 3)
        assert (mode, folder_mode) == ("600", "700")
        assert running.address in content and running.token not in path
    assert not pathlib.Path(path).exists() and not pathlib.Path(path).parent.exists()


def test_the_server_is_also_taken_from_the_environment(data):
    environment = {**os.environ, "PALIMPSEST_URI": "mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=200"}
    ended = subprocess.run([BIN / "palimpsest", "console", "--no-open"], capture_output=True, text=True, timeout=120, env=environment)
    assert ended.returncode == 1 and "127.0.0.1:1" in ended.stderr


def test_a_port_that_is_taken_is_said(console, data):
    ended = subprocess.run([BIN / "palimpsest", "console", "--no-open", "--uri", data.uri, "--port", str(console.port)], capture_output=True, text=True, timeout=120)
    assert ended.returncode == 1 and "--port" in ended.stderr
