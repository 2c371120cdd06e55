"""The metrics port serves what the server counts, in the form that Prometheus reads."""
import http.client
import re
import socket
import subprocess

import pytest

from tests.support.palimpsest import BIN, ROOT, Server, free_port
from tests.support.waiting import DEADLINE, wait_until

LINE = re.compile(r'([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{((?:[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\]|\\.)*",?)*)\})? (\S+)$')


def scraped(port, path="/metrics"):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=DEADLINE)
    try:
        connection.request("GET", path)
        reply = connection.getresponse()
        return reply.status, reply.read().decode()
    finally:
        connection.close()


def metrics(port):
    """Returns {(name, labels): value} and {name: type}, and checks the text's form on the way."""
    status, text = scraped(port)
    assert status == 200
    values, types = {}, {}
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            name, kind = line.split()[2:]
            assert name not in types, name
            types[name] = kind
        elif not line.startswith("#"):
            name, labels, value = LINE.match(line).groups()
            assert (name, labels) not in values, line
            values[name, labels] = float(value)
            if name.startswith("exposer_"):  # prometheus-cpp counts its own scrapes
                continue
            family = re.sub("_(bucket|sum|count)$", "", name)
            assert name in types or types.get(family) == "histogram", line
            assert name.startswith("palimpsest_")
            assert name.endswith("_total") == (types.get(name) == "counter"), line
    return values, types


@pytest.fixture
def served():
    port = free_port()
    with Server("--metricsPort", str(port)) as server:
        yield server, port


def test_counters_and_histograms_are_what_clients_did(served):
    server, port = served
    client = server.client()
    before, _ = metrics(port)
    client.t.c.insert_many([{"_id": i} for i in range(7)])
    for i in range(5):
        client.t.c.find_one({"_id": i})
    now, types = metrics(port)

    def more(name, labels=None):
        return now[name, labels] - before.get((name, labels), 0)

    assert more("palimpsest_opcounters_total", 'type="insert"') == 7
    assert more("palimpsest_opcounters_total", 'type="query"') == 5
    assert more("palimpsest_document_inserted_total") == 7
    assert more("palimpsest_op_latency_seconds_count", 'type="read"') == 5
    assert more("palimpsest_op_latency_seconds_bucket", 'type="read",le="+Inf"') == 5
    assert types["palimpsest_op_latency_seconds"] == "histogram"
    assert types["palimpsest_mem_resident"] == "gauge" and now["palimpsest_mem_resident", None] > 0
    assert now["palimpsest_build_info", 'version="0.1.0",compatible_version="7.0.14"'] == 1
    assert now["palimpsest_disk_space_state", 'state="plenty"'] == 1
    assert any(name.startswith("palimpsest_wired_tiger_cache_") for name, _ in now)
    assert any(name.startswith("palimpsest_dedup_") and types.get(name) == "counter" for name, _ in now)
    buckets = [value for (name, labels), value in now.items() if name.endswith("_bucket") and 'type="command"' in labels]
    assert buckets == sorted(buckets)


def test_each_number_of_the_status_is_there(served):
    server, port = served
    client = server.client()
    values, _ = metrics(port)
    names = {name for name, _ in values}
    for path in ("asserts.user", "connections.current", "cursors.open.total", "dedup.storedBytes", "dedup.queue.bytes",
                 "globalLock.totalTime", "network.bytesIn", "operationMemory.peakBytes", "snapshots.declared",
                 "transactions.totalStarted"):
        value = client.admin.command("serverStatus")
        for part in path.split("."):
            value = value[part]
        name = "palimpsest_" + "_".join(re.sub("([a-z])([A-Z])", r"\1_\2", part).lower() for part in path.split("."))
        assert {name, name + "_total", re.sub("_[^_]*$", "_total", name), name.removesuffix("_total")} & names, path


def test_a_set_shows_its_members_and_a_database_its_branches():
    port = free_port()
    with Server("--replSet", "rs0", "--metricsPort", str(port)) as server:
        assert ("palimpsest_repl_state", None) not in metrics(port)[0] or metrics(port)[0]["palimpsest_repl_state", None] != 1
        server.initiate()
        with server.client() as client:
            client.shop.c.insert_one({"_id": 1})
            client.shop.command("createBranch", "dev")
        member = f'member="127.0.0.1:{server.port}"'
        wait_until(lambda: metrics(port)[0].get(("palimpsest_repl_state", None)) == 1)
        values, _ = metrics(port)
        assert values["palimpsest_repl_member_health", member] == 1 and values["palimpsest_repl_member_lag_seconds", member] == 0
        wait_until(lambda: metrics(port)[0].get(("palimpsest_versions_branches", 'database="shop"')) == 2, pause=1)


def test_bad_requests_harm_nobody(served):
    server, port = served
    assert scraped(port, "/")[0] == 404
    for request in (b"", b"\r\n\r\n", b"GET\r\n\r\n", b"GET /metrics HTTP/9.9\r\n\r\n", b"\x00\xff" * 5000, b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n",
                    b"POST /metrics HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\nx", b"GET /../../../etc/passwd HTTP/1.0\r\n\r\n"):
        with socket.create_connection(("127.0.0.1", port), timeout=DEADLINE) as connection:
            try:
                connection.sendall(request)
                connection.shutdown(socket.SHUT_WR)
                reply = connection.recv(65536)
            except OSError:  # the server closed the connection first
                continue
            assert b"root:" not in reply
    assert metrics(port)[0] and server.running()


def test_a_client_that_sends_nothing_delays_no_shutdown(served):
    server, port = served
    with socket.create_connection(("127.0.0.1", port)):
        assert metrics(port)[0]
        assert server.stop() == 0
    server.start()


def test_without_the_option_there_is_no_port_and_a_port_in_use_is_said():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        server = Server("--metricsPort", str(taken.getsockname()[1]))
        with pytest.raises(RuntimeError, match="left with 48"):
            server.start()
    for value in ("0", "65536", "http"):
        refused = subprocess.run([BIN / "palimpsestd", "--metricsPort", value], capture_output=True, text=True, timeout=DEADLINE)
        assert refused.returncode == 2 and "net.metrics.port" in refused.stderr, refused


def test_what_rules_and_dashboard_name_is_there():
    named = set()
    for path in ("prometheus/alerts.yml", "grafana/palimpsest.json"):
        named |= set(re.findall(r"palimpsest_\w+", (ROOT / "deploy" / path).read_text()))
    assert len(named) > 30
    port = free_port()
    with Server("--replSet", "rs0", "--metricsPort", str(port)) as server:
        server.initiate()
        with server.client() as client:
            client.shop.c.insert_one({"_id": 1})
            client.shop.command("createBranch", "dev")
        wait_until(lambda: ("palimpsest_versions_branches", 'database="shop"') in metrics(port)[0], pause=1)
        names = {name for name, _ in metrics(port)[0]}
    assert named <= names, named - names
