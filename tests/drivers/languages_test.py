"""These tests use a replica set of three through the official drivers of other languages: discovery, read preference, causal sessions,
bulk writes, write concerns, transactions, and writes that go on while the primary is stepped down and killed. Mongoose uses transactions on a set of one member.

Each program does everything itself and says `ask kill HOST` (start, pause, continue) where it wants a member touched.
"""
import contextlib
import os
import shutil
import subprocess
import threading

import pytest

from tests.support.palimpsest import ROOT, Server
from tests.support.seeds import SEED
from tests.support.waiting import DEADLINE, wait_until

BUILT = ROOT / "build" / "drivers"
SOURCES = ROOT / "tests" / "drivers"


@contextlib.contextmanager
def three_members():
    with contextlib.ExitStack() as stack:
        members = {}
        for _ in range(3):
            server = stack.enter_context(Server("--replSet", "rs", "--wiredTigerCacheSizeGB", "0.25"))
            members[f"127.0.0.1:{server.port}"] = server
        config = {"_id": "rs", "members": [{"_id": i, "host": host, "tags": {"n": str(i)}} for i, host in enumerate(members)],
                  "settings": {"electionTimeoutMillis": 5000, "heartbeatIntervalMillis": 200}}
        first = next(iter(members.values()))
        with first.client(directConnection=True) as client:
            client.admin.command("replSetInitiate", config)
            wait_until(lambda: sorted(m["stateStr"] for m in client.admin.command("replSetGetStatus")["members"]) == ["PRIMARY", "SECONDARY", "SECONDARY"],
                       first.tail, pause=0.1)
        yield members


def node(program="set.mjs"):
    modules = BUILT / "node"
    if not shutil.which("node") or not (modules / ".complete").exists():
        pytest.skip("no Node driver here: scripts/test installs it where there is npm")
    return ["node", str(SOURCES / "node" / program)], {"DRIVER_MODULES": str(modules / "node_modules")}


def java():
    classes = BUILT / "java"
    if not shutil.which("java") or not (classes / ".complete").exists():
        pytest.skip("no Java driver here: scripts/test fetches it where there is a JDK (Debian: default-jdk-headless)")
    return ["java", "-cp", f"{classes}:{classes}/*", "ReplicaSetProgram"], {}


def go():
    program = BUILT / "go" / "set"
    if not (BUILT / "go" / ".complete").exists():
        pytest.skip("no Go driver here: scripts/test builds the program where there is Go (Debian: golang-go)")
    return [str(program)], {}


@pytest.mark.parametrize("language", [node, java, go], ids=lambda each: each.__name__)
def test_a_driver_finds_its_way_through_a_set(language):
    command, environment = language()
    with three_members() as members:
        does = {
            "kill": lambda member: member.kill(),
            "start": lambda member: member.start(),
            "pause": lambda member: member.hold(),
            "continue": lambda member: member.let_go(),
        }
        program = subprocess.Popen([*command, f"mongodb://{next(iter(members))}/?replicaSet=rs"], text=True, stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env={**os.environ, **environment})
        alarm = threading.Timer(4 * DEADLINE, program.kill)
        alarm.start()
        said = []
        try:
            for line in program.stdout:
                said.append(line)
                word, _, rest = line.strip().partition(" ")
                if word == "ask":
                    what, host = rest.split()
                    does[what](members[host])
                    program.stdin.write("done\n")
                    program.stdin.flush()
            code = program.wait(DEADLINE)
        finally:
            alarm.cancel()
            program.kill()
        logs = "\n".join(member.tail(8) for member in members.values())
        assert code == 0 and said[-1].strip() == "passed", "".join(said[-60:]) + logs


@pytest.mark.parametrize("program", ["mongoose", "prisma_like"])
def test_libraries_above_the_driver_have_transactions(one_member, program):
    command, environment = node(f"{program}.mjs")
    run = subprocess.run([*command, f"mongodb://{one_member.host}:{one_member.port}/{program}?replicaSet=rs0"], text=True, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, env={**os.environ, **environment, "PALIMPSEST_TEST_SEED": str(SEED)}, timeout=4 * DEADLINE)
    assert run.returncode == 0 and run.stdout.strip().endswith("passed"), run.stdout[-5000:] + one_member.tail()
