"""Starts, stops, kills and inspects a real server for Python tests."""
import os
import pathlib
import random
import shutil
import signal
import socket
import struct
import subprocess
import tempfile

import bson
import pymongo

from tests.support.waiting import DEADLINE, wait_until

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BIN = pathlib.Path(os.environ.get("PALIMPSEST_BIN", ROOT / "build" / "release" / "bin"))


_claims = []


def free_port():
    """A port for as long as this process lives, also while its server is down: tests run beside each other.

    It lies below those that the system gives to outgoing connections. The claim on it is the name of an abstract socket, which
    goes with the process.
    """
    for _ in range(1000):
        port = random.SystemRandom().randrange(10_000, 32_000)
        claim = socket.socket(socket.AF_UNIX)
        try:
            claim.bind(f"\0palimpsest-test-port-{port}")
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", port))
        except OSError:
            claim.close()
            continue
        _claims.append(claim)
        return port
    raise RuntimeError("no port is free")


def raw_command(host, port, command, sequence=None):
    """The reply to a command that is sent as it stands: a driver would put in sessions and numbers of its own."""
    with socket.create_connection((host, port), timeout=DEADLINE) as connection:
        send_raw(connection, command, sequence)
        return receive_raw(connection)


def send_raw(connection, command, sequence=None):
    """`sequence`: a field's name and the bytes of its documents, which go beside the body, as drivers send many."""
    sections = b"\0" + bson.encode(command)
    if sequence:
        name, documents = sequence
        content = name.encode() + b"\0" + b"".join(documents)
        sections += b"\1" + struct.pack("<i", 4 + len(content)) + content
    connection.sendall(struct.pack("<iiiiI", 16 + 4 + len(sections), 1, 0, 2013, 0) + sections)


def receive_raw(connection):
    data = b""
    while len(data) < 4 or len(data) < struct.unpack("<i", data[:4])[0]:
        part = connection.recv(65536)
        if not part:
            raise EOFError("closed")
        data += part
    return bson.decode(data[21:])


class Server:
    """palimpsestd with a data directory of its own.

    Use it as a context manager: it is stopped, and its directory removed, on the way out. `host` is where it listens, and
    `before` what stands in front of its command (`ip netns exec NAME`, say).
    """

    def __init__(self, *arguments, dbpath=None, port=None, env=None, host="127.0.0.1", before=()):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="palimpsest-test-"))
        self.dbpath = pathlib.Path(dbpath) if dbpath else self.directory / "db"
        self.dbpath.mkdir(parents=True, exist_ok=True)
        self.log = self.directory / "log"
        self.host = host
        self.port = port or free_port()
        self.before = list(before)
        self.arguments = list(arguments)
        self.env = env
        self.process = None

    @property
    def uri(self):
        return f"mongodb://{self.host}:{self.port}/"

    def start(self, wait=True):
        command = [*self.before, str(BIN / "palimpsestd"), "--dbpath", str(self.dbpath), "--port", str(self.port),
                   "--bind_ip", self.host, "--nounixsocket", *self._open(), *self.arguments]
        with open(self.log, "ab") as out:
            self.process = subprocess.Popen(command, stdout=out, stderr=out, env=self.env)
        if wait:
            self.wait_listening()
        return self

    def _open(self):
        """Returns the options that let a server without access control listen on another interface than loopback, as tests in network namespaces do."""
        return [] if self.host.startswith("127.") or self.host == "0.0.0.0" or {"--auth", "--keyFile"} & set(self.arguments) else ["--noauth"]

    def wait_listening(self):
        def listens():
            if self.process.poll() is not None:
                raise RuntimeError(f"the server left with {self.process.returncode}:\n{self.tail()}")
            try:
                socket.create_connection((self.host, self.port), timeout=1).close()
                return True
            except OSError:
                return False

        wait_until(listens, lambda: f"the server does not listen:\n{self.tail()}")

    def stop(self):
        """SIGTERM; returns the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.ended()

    def ended(self):
        """Waits until the process ends by itself. Returns its exit code."""
        return self.process.wait(DEADLINE)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def hold(self):
        """Stops the process until let_go(). A signal alone takes effect some time later on a busy machine: until then threads go on."""
        self.process.send_signal(signal.SIGSTOP)

        def stopped():
            try:
                states = {(task / "stat").read_text().rpartition(")")[2].split()[0]
                          for task in pathlib.Path(f"/proc/{self.process.pid}/task").iterdir()}
            except (FileNotFoundError, ProcessLookupError):  # a thread ended
                return False
            return states == {"T"}

        wait_until(stopped, "threads go on", pause=0.001)

    def let_go(self):
        self.process.send_signal(signal.SIGCONT)

    def running(self):
        return self.process is not None and self.process.poll() is None

    def tail(self, lines=40):
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])

    def client(self, **options):
        return pymongo.MongoClient(self.uri, **{"serverSelectionTimeoutMS": DEADLINE * 1000, **options})

    def client_until_killed(self, **options):
        """A client without retries that waits for the server at first and, once the server is gone, gives up at once."""
        client = self.client(serverSelectionTimeoutMS=500, retryWrites=False, retryReads=False, **options)

        def answers():
            try:
                return client.admin.command("ping")
            except pymongo.errors.PyMongoError:
                return not self.running()

        wait_until(answers, self.tail)
        return client

    def initiate(self):
        """Makes a set of this one member, which was started with `--replSet rs0`, and waits until it is primary."""
        with self.client(directConnection=True) as client:
            client.admin.command("replSetInitiate", {"_id": "rs0", "members": [{"_id": 0, "host": f"{self.host}:{self.port}"}]})
            wait_until(lambda: client.admin.command("hello")["isWritablePrimary"], lambda: f"no primary:\n{self.tail()}")

    def __enter__(self):
        return self.start()

    def __exit__(self, *error):
        if any(error) and self.process:  # the log goes with the directory, and whoever looks into the failure wants it
            print(f"---- {self.host}:{self.port}, {'which runs' if self.running() else f'which has ended with {self.process.poll()}'}\n{self.tail(60)}")
        if self.running():
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.directory, ignore_errors=True)
