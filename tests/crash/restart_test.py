"""A server starts anew in place: it keeps its process, data and port, and still ends on a signal."""
import os
import pathlib
import signal
import time

import pymongo
import pytest

from tests.support.palimpsest import Server
from tests.support.waiting import wait_until

PARAMETERS = ("--setParameter", "enableTestCommands=1")


def image(client):
    return client.admin.command("hello")["topologyVersion"]["processId"]


def serves_another(server, before):
    """Whether an image serves that isn't `before`."""
    try:
        with server.client(serverSelectionTimeoutMS=500) as client:
            return image(client) != before
    except pymongo.errors.PyMongoError:
        return False


def restart(server, reason="a test", forked=False):
    """Asks for it, and waits until a new image serves. `forked`: the process is no child of this one."""
    with server.client() as client:
        before = image(client)
        client.admin.command("restartInPlace", reason=reason)

    def new_image():
        assert forked or server.process.poll() is None, server.tail()
        return serves_another(server, before)

    wait_until(new_image, lambda: f"no new image:\n{server.tail()}")


def test_the_same_process_serves_its_data_again_and_ends_in_order():
    with Server(*PARAMETERS) as server:
        pid = server.process.pid
        with server.client() as client:
            client.t.c.insert_many([{"_id": i} for i in range(1000)])
        for again in range(3):
            restart(server, f"reason {again}")
            assert server.process.pid == pid and server.process.poll() is None
            assert (server.dbpath / "mongod.lock").read_text() == f"{pid}\n"
            assert pathlib.Path(f"/proc/{pid}/comm").read_text() == "palimpsestd\n"
            with server.client() as client:
                assert client.t.c.count_documents({}) == 1000 + again
                client.t.c.insert_one({"_id": f"after {again}"})
                assert client.admin.command("getCmdLineOpts")["argv"][1:3] == ["--dbpath", str(server.dbpath)]
        text = server.log.read_text()
        assert [f'"reason":"reason {i}"' in text for i in range(3)] == [True] * 3
        assert "Detected unclean shutdown" not in text
        assert server.stop() == 0


def test_a_log_file_is_gone_on_with_and_nothing_leaks():
    server = Server()
    log = server.directory / "mongod.log"
    server.arguments = [*PARAMETERS, "--logpath", str(log)]
    with server:
        restart(server)
        first = len(os.listdir(f"/proc/{server.process.pid}/fd"))
        for _ in range(3):
            restart(server)
        wait_until(lambda: len(os.listdir(f"/proc/{server.process.pid}/fd")) <= first + 2)
        assert log.read_text().count("Waiting for connections") == 5
        assert len(list(log.parent.glob("mongod.log*"))) == 1
        assert server.stop() == 0


def test_a_server_that_wants_to_start_anew_for_ever_ends_and_says_why():
    # On a busy machine the first restarts may be more than a minute ago when the last one comes.
    assert any(ends_after_restarts() for _ in range(10))


def ends_after_restarts():
    """Returns whether the sixth restart is refused: those of the last minute, four and a real one here, come in the environment."""
    earlier = ",".join([str(int(time.clock_gettime(time.CLOCK_BOOTTIME)))] * 4)
    with Server(*PARAMETERS, env={**os.environ, "PALIMPSEST_RESTARTS": earlier}) as server:
        restart(server)
        with server.client() as client:
            before = image(client)
            client.admin.command("restartInPlace")
        wait_until(lambda: server.process.poll() is not None or serves_another(server, before), server.tail)
        if server.process.poll() is None:
            return False
        assert server.ended() == 100
        assert "started anew 5 times within 60 s" in server.tail()
        assert (server.dbpath / "mongod.lock").read_text() == ""
        return True


@pytest.mark.parametrize("delay", [0, 0.005, 0.03, 0.1])
def test_a_signal_to_end_while_it_starts_anew_ends_it(delay):
    with Server(*PARAMETERS) as server:
        with server.client() as client:
            client.admin.command("restartInPlace")
        time.sleep(delay)
        server.process.send_signal(signal.SIGTERM)
        assert server.ended() == 0


def test_in_the_background_it_stays_there():
    with Server() as server:
        assert server.stop() == 0
        server.arguments = [*PARAMETERS, "--fork", "--logpath", str(server.directory / "fork.log")]
        server.start(wait=False)
        assert server.ended() == 0
        pid = int((server.dbpath / "mongod.lock").read_text())
        try:
            with server.client() as client:
                client.t.c.insert_one({"_id": 1})
            restart(server, forked=True)
            assert int((server.dbpath / "mongod.lock").read_text()) == pid
            with server.client() as client:
                assert client.t.c.count_documents({}) == 1
        finally:
            os.kill(pid, signal.SIGTERM)
        wait_until(lambda: not pathlib.Path(f"/proc/{pid}").exists())


def test_without_test_commands_there_is_no_such_command():
    with Server() as server, server.client() as client:
        with pytest.raises(pymongo.errors.OperationFailure, match="no such command"):
            client.admin.command("restartInPlace")
