"""TLS as clients meet it: modes, certificates that fit and don't, rotation, and bytes that are neither."""
import shutil
import socket
import ssl
import struct
import subprocess
import threading
import warnings

import bson
import pymongo
import pytest
from pymongo.errors import OperationFailure, PyMongoError, ServerSelectionTimeoutError

from tests.support.certificates import Authority
from tests.support.palimpsest import BIN, Server, raw_command, receive_raw, send_raw
from tests.support.waiting import DEADLINE, wait_until


@pytest.fixture(scope="module")
def ca(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("tls"))


@pytest.fixture(scope="module")
def files(ca):
    return {"server": ca.issue("server"), "client": ca.issue("client", "/O=Palimpsest/OU=Users/CN=ann")}


def options(ca, files, mode="requireTLS", *more):
    return ["--tlsMode", mode, "--tlsCertificateKeyFile", str(files["server"]), "--tlsCAFile", str(ca.file), *more]


@pytest.fixture(scope="module")
def server(ca, files):
    with Server(*options(ca, files)) as running:
        yield running


def connect(server, ca, certificate, **more):
    return server.client(tls=True, tlsCAFile=str(ca.file), **({"tlsCertificateKeyFile": str(certificate)} if certificate else {}),
                         **{"serverSelectionTimeoutMS": DEADLINE * 1000, **more})


def refused(server, ca, certificate, **more):
    with pytest.raises(ServerSelectionTimeoutError):
        connect(server, ca, certificate, serverSelectionTimeoutMS=1500, **more).admin.command("ping")


def has_logged(server, text):
    wait_until(lambda: text in server.log.read_text(errors="replace"), lambda: f"{text!r} is not in the log:\n{server.tail()}")


def test_documents_large_and_small_go_both_ways(server, ca, files):
    client = connect(server, ca, files["client"])
    collection = client.t.large
    collection.drop()
    documents = [{"_id": i, "text": "x" * size} for i, size in enumerate([0, 1, 16_000, 16_384, 17_000, 1 << 20, 15 << 20])]
    collection.insert_many(documents)
    assert list(collection.find().sort("_id")) == documents


@pytest.mark.parametrize("compressor", ["snappy", "zlib", "zstd"])
def test_compression_goes_inside(server, ca, files, compressor):
    client = connect(server, ca, files["client"], compressors=compressor)
    client.t.packed.replace_one({"_id": 1}, {"_id": 1, "text": "y" * 100_000}, upsert=True)
    assert client.t.packed.find_one()["text"] == "y" * 100_000


def test_many_clients_at_once(server, ca, files):
    client = connect(server, ca, files["client"], maxPoolSize=40)
    failed = []

    def work(number):
        try:
            for i in range(20):
                client.t.crowd.replace_one({"_id": number}, {"_id": number, "i": i}, upsert=True)
        except PyMongoError as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(30)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert client.t.crowd.count_documents({"i": 19}) == 30


def test_plain_connections_are_refused_where_tls_is_required(server):
    with pytest.raises((ConnectionError, EOFError)):
        raw_command(server.host, server.port, {"ping": 1, "$db": "admin"})
    has_logged(server, "The server is configured to only allow SSL connections")


def test_a_client_without_a_certificate_is_refused(server, ca):
    refused(server, ca, None)
    has_logged(server, "peer did not return a certificate")


def test_a_client_of_another_authority_is_refused(server, ca, tmp_path):
    stranger = Authority(tmp_path, "stranger").issue("client")
    refused(server, ca, stranger)
    has_logged(server, "unable to get local issuer certificate")


def test_an_expired_client_is_refused(server, ca):
    refused(server, ca, ca.issue("late", days=-1))
    has_logged(server, "certificate has expired")


def test_a_client_that_trusts_another_authority_goes_away(server, tmp_path, files):
    other = Authority(tmp_path, "other")
    refused(server, other, files["client"])
    has_logged(server, "unknown ca")


def test_status_counts_versions_and_shows_the_certificate(server, ca, files):
    client = connect(server, ca, files["client"])
    status = client.admin.command("serverStatus")
    assert set(status["transportSecurity"]) == {"1.0", "1.1", "1.2", "1.3", "unknown"}
    assert status["transportSecurity"]["1.3"] > 0
    assert status["security"]["SSLServerSubjectName"] == "CN=server,OU=Tests,O=Palimpsest"
    assert status["security"]["SSLServerHasCertificateAuthority"] is True
    before = status["transportSecurity"]["1.2"]
    context = ssl.create_default_context(cafile=str(ca.file))
    context.load_cert_chain(str(files["client"]))
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    with context.wrap_socket(socket.create_connection((server.host, server.port)), server_hostname="localhost") as old:
        send_raw(old, {"ping": 1, "$db": "admin"})
        assert receive_raw(old)["ok"] == 1
    assert client.admin.command("serverStatus")["transportSecurity"]["1.2"] == before + 1


def test_tls_1_1_is_not_spoken(server, ca):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_ciphers("ALL:@SECLEVEL=0")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1
    with pytest.raises((ssl.SSLError, ConnectionError)):
        context.wrap_socket(socket.create_connection((server.host, server.port)))


@pytest.mark.parametrize("start", [b"\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00" + bytes(20), b"\x16\x03" + b"\xff" * 40, b"\x16" * 64,
                                   b"GET / HTTP/1.1\r\n\r\n", bytes(64)])
def test_bytes_that_are_no_handshake_end_their_connection_alone(server, ca, files, start):
    with socket.create_connection((server.host, server.port), timeout=DEADLINE) as connection:
        connection.sendall(start)
        connection.settimeout(DEADLINE)
        try:
            while connection.recv(4096):
                pass
        except ConnectionError:
            pass
    assert connect(server, ca, files["client"]).admin.command("ping")["ok"] == 1


def test_a_handshake_that_never_ends_is_ended(server):
    with socket.create_connection((server.host, server.port), timeout=DEADLINE) as connection:
        connection.sendall(b"\x16\x03\x01")
        connection.settimeout(30)
        assert connection.recv(1) == b""


def test_an_operation_ends_when_its_client_hangs_up(server, ca, files):
    context = ssl.create_default_context(cafile=str(ca.file))
    context.load_cert_chain(str(files["client"]))
    client = connect(server, ca, files["client"])
    client.t.one.replace_one({"_id": 1}, {"_id": 1}, upsert=True)
    connection = context.wrap_socket(socket.create_connection((server.host, server.port)), server_hostname="localhost")
    many = {"$range": [0, 10_000]}
    slow = {"aggregate": "one", "cursor": {}, "$db": "t", "comment": "hangs up",
            "pipeline": [{"$set": {"a": many}}, {"$unwind": "$a"}, {"$set": {"b": many}}, {"$unwind": "$b"}, {"$group": {"_id": None, "n": {"$sum": 1}}}]}
    send_raw(connection, slow)

    def running():
        return [op for op in client.admin.command("currentOp")["inprog"] if op.get("command", {}).get("comment") == "hangs up"]

    wait_until(running, "the operation doesn't run")
    connection.close()
    wait_until(lambda: not running(), "the operation goes on without its client")


@pytest.mark.parametrize("mode", ["allowTLS", "preferTLS"])
def test_both_kinds_of_connections_come_in_by_one_port(ca, files, mode):
    with Server(*options(ca, files, mode)) as server:
        assert server.client().admin.command("ping")["ok"] == 1
        assert connect(server, ca, files["client"]).admin.command("ping")["ok"] == 1
        # A message whose length looks like the start of a handshake.
        pad = 0x10316 - len(bson.encode({"ping": 1, "$db": "admin", "comment": ""})) - 21
        body = bson.encode({"ping": 1, "$db": "admin", "comment": "c" * pad})
        message = struct.pack("<iiiiI", 21 + len(body), 1, 0, 2013, 0) + b"\0" + body
        assert message[:2] == b"\x16\x03"
        with socket.create_connection((server.host, server.port), timeout=DEADLINE) as connection:
            connection.sendall(message)
            assert receive_raw(connection)["ok"] == 1


def test_clients_may_lack_a_certificate_where_that_is_allowed(ca, files):
    with Server(*options(ca, files, "requireTLS", "--tlsAllowConnectionsWithoutCertificates")) as server:
        assert connect(server, ca, None).admin.command("ping")["ok"] == 1
        refused(server, ca, ca.issue("late2", days=-1))


def test_invalid_certificates_pass_where_that_is_allowed(ca, files):
    with Server(*options(ca, files, "requireTLS", "--tlsAllowInvalidCertificates")) as server:
        assert connect(server, ca, ca.issue("late3", days=-1)).admin.command("ping")["ok"] == 1
        has_logged(server, "certificate has expired")


def test_a_revoked_certificate_is_refused(ca, files):
    gone = ca.issue("gone")
    ca.revoke(gone)
    with Server(*options(ca, files, "requireTLS", "--tlsCRLFile", str(ca.revocations()))) as server:
        assert connect(server, ca, files["client"]).admin.command("ping")["ok"] == 1
        refused(server, ca, gone)
        has_logged(server, "certificate revoked")


def test_clients_may_come_from_another_authority_than_servers(ca, files, tmp_path):
    clients = Authority(tmp_path, "clients")
    with Server(*options(ca, files, "requireTLS", "--tlsClusterCAFile", str(clients.file))) as server:
        assert connect(server, ca, clients.issue("client")).admin.command("ping")["ok"] == 1
        refused(server, ca, files["client"])


def test_without_an_authority_nobody_is_checked_and_a_warning_says_so(ca, files):
    with Server("--tlsMode", "requireTLS", "--tlsCertificateKeyFile", str(files["server"])) as server:
        client = connect(server, ca, None)
        assert any("no CA file was given" in line for line in client.admin.command("getLog", "startupWarnings")["log"])


def test_a_protocol_can_be_disabled(ca, files):
    with Server(*options(ca, files, "requireTLS", "--tlsDisabledProtocols", "TLS1_0,TLS1_1,TLS1_3")) as server:
        client = connect(server, ca, files["client"])
        client.admin.command("ping")
        counts = client.admin.command("serverStatus")["transportSecurity"]
        assert counts["1.2"] > 0 and counts["1.3"] == 0


def test_certificates_are_rotated_while_the_server_runs(ca, files, tmp_path):
    own = tmp_path / "own.pem"
    shutil.copy(files["server"], own)
    with Server(*options(ca, {"server": own})) as server:
        client = connect(server, ca, files["client"])
        shutil.copy(ca.issue("second"), own)
        assert client.admin.command("rotateCertificates", message="by hand")["ok"] == 1
        assert client.admin.command("serverStatus")["security"]["SSLServerSubjectName"].startswith("CN=second")
        assert connect(server, ca, files["client"]).admin.command("ping")["ok"] == 1
        for bad in ("no certificate", files["server"].read_text().split("-----BEGIN PRIVATE")[0], ca.issue("late4", days=-1).read_text()):
            own.write_text(bad)
            with pytest.raises(OperationFailure) as failure:
                client.admin.command("rotateCertificates")
            assert failure.value.code == 140
        assert client.admin.command("serverStatus")["security"]["SSLServerSubjectName"].startswith("CN=second")
        assert connect(server, ca, files["client"]).admin.command("ping")["ok"] == 1


def test_without_tls_there_is_nothing_to_rotate():
    with Server() as server:
        with pytest.raises(OperationFailure) as failure:
            server.client().admin.command("rotateCertificates")
        assert failure.value.code == 115
        status = server.client().admin.command("serverStatus")
        assert status["transportSecurity"]["1.3"] == 0


def test_a_password_opens_the_key_and_is_not_shown(ca, files):
    locked = ca.issue("locked", password="open sesame")
    arguments = options(ca, {"server": locked}, "requireTLS", "--tlsCertificateKeyFilePassword", "open sesame")
    with Server(*arguments) as server:
        client = connect(server, ca, files["client"])
        shown = client.admin.command("getCmdLineOpts")
        assert shown["parsed"]["net"]["tls"]["certificateKeyFilePassword"] == "<password>"
        assert shown["parsed"]["net"]["tls"]["mode"] == "requireTLS"
        assert "open sesame" not in str(shown)
        assert "open sesame" not in server.log.read_text()


def test_the_tools_take_tls_from_their_uri(server, ca, files):
    uri = f"mongodb://localhost:{server.port}/?tls=true&tlsCAFile={ca.file}&tlsCertificateKeyFile={files['client']}"
    load = subprocess.run([BIN / "palimpsest", "replay", "synthetic:boards", "--records", "200", "--quiet", "--db", "boards", "--uri", uri],
                          capture_output=True, timeout=DEADLINE)
    assert load.returncode == 0, load.stderr
    assert connect(server, ca, files["client"]).boards.list_collection_names()


@pytest.mark.parametrize("change, code, text", [
    (lambda ca, files: ["--tlsMode", "requireTLS"], 2, "need tlsCertificateKeyFile"),
    (lambda ca, files: ["--tlsCAFile", str(ca.file)], 2, "need to enable TLS"),
    (lambda ca, files: ["--tlsMode", "sometimes"], 2, "unsupported value for tlsMode"),
    (lambda ca, files: options(ca, {"server": "/nowhere.pem"}), 1, "InvalidSSLConfiguration"),
    (lambda ca, files: options(ca, {"server": ca.issue("late5", days=-1)}), 1, "expired or not yet valid"),
    (lambda ca, files: options(ca, {"server": ca.issue("locked2", password="x")}), 1, "the private key can't be read"),
    (lambda ca, files: options(ca, files, "requireTLS", "--tlsDisabledProtocols", "TLS1_2,TLS1_3"), 2, "All valid TLS modes disabled"),
])
def test_settings_that_can_not_work_end_the_start(ca, files, change, code, text):
    server = Server(*change(ca, files))
    try:
        server.start(wait=False)
        assert server.ended() == code
        assert text in server.tail()
    finally:
        server.__exit__()
