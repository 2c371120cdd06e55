"""Starts a console, and speaks its HTTP."""
import http.client
import json
import os
import re
import subprocess
import threading
import urllib.parse

from tests.support.palimpsest import BIN
from tests.support.waiting import DEADLINE


class Console:
    """`palimpsest console` on a free port. Use it as a context manager."""

    def __init__(self, uri, *arguments, env=None):
        # A desktop's browser would open where these tests run on one.
        self.env = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY")} | (env or {})
        self.command = [str(BIN / "palimpsest"), "console", "--uri", uri, *arguments]

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=self.env)
        too_late = threading.Timer(DEADLINE, self.process.kill)
        too_late.start()
        said = ""
        for line in self.process.stdout:
            said += line
            if "Ctrl-C" in line:
                break
        too_late.cancel()
        if "Ctrl-C" not in said:
            self.process.wait()
            raise RuntimeError(f"the console doesn't begin: {said}")
        self.address = re.search(r"^open (\S+)$", said, re.MULTILINE).group(1)
        parts = urllib.parse.urlsplit(self.address)
        self.host, self.port = parts.netloc, parts.port
        self.token = urllib.parse.parse_qs(parts.query)["token"][0]
        return self

    def __exit__(self, *error):
        self.process.terminate()
        try:
            self.code = self.process.wait(DEADLINE)
        finally:
            self.process.kill()

    def ask(self, method, path, headers=None, body=None):
        """(status, headers, body as text), of a request with just these headers and the console's Host."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=DEADLINE)
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name, value in {"Host": self.host, **(headers or {})}.items():
            if value is not None:
                connection.putheader(name, value)
        data = body.encode() if body is not None else b""
        if body is not None or method == "POST":
            connection.putheader("Content-Length", str(len(data)))
        connection.endheaders(data)
        reply = connection.getresponse()
        answer = reply.status, {name.lower(): value for name, value in reply.getheaders()}, reply.read().decode()
        connection.close()
        return answer

    def log_in(self):
        """The headers of a page that was let in."""
        status, headers, _ = self.ask("GET", f"/login?token={self.token}")
        assert status == 200
        cookie = {"Cookie": headers["set-cookie"].split(";")[0]}
        return {**cookie, "X-Console-Csrf": json.loads(self.ask("GET", "/session", cookie)[2])["csrf"]}

    def post(self, path, request, headers):
        status, _, body = self.ask("POST", path, headers, json.dumps(request))
        return status, json.loads(body)
