"""A set whose members and clients log in: by a key that they share, or by certificates."""
import os
import socket

import pymongo
import pytest
from pymongo.errors import OperationFailure, PyMongoError
from pymongo.read_preferences import ReadPreference

from tests.support.certificates import Authority
from tests.support.palimpsest import raw_command
from tests.support.replica_set import Member
from tests.support.waiting import DEADLINE, wait_until

KEY, PASSWORD = "c2hhcmVkIHNlY3JldCBvZiB0aGUgc2V0", "s3cret"


def key_file(directory, text=KEY, name="key"):
    file = directory / name
    file.write_text(text)
    file.chmod(0o600)
    return file


class GuardedSet:
    """Three members, the first of which makes the set and its first user from this machine."""

    def __init__(self, arguments, **tls):
        self.tls = tls
        self.members = [Member(*arguments) for _ in range(3)]
        self.clients = []

    def __enter__(self):
        try:
            for member in self.members:
                member.tls = self.tls
                member.start()
            config = {"_id": "rs0", "members": [{"_id": i, "host": member.name} for i, member in enumerate(self.members)]}
            self.members[0].command("replSetInitiate", config)
            wait_until(lambda: self.members[0].state() == "PRIMARY", self.members[0].tail)
            self.members[0].command("createUser", "root", pwd=PASSWORD, roles=["root"], writeConcern={"w": 3})
            # A member that joins votes when it has caught up.
            wait_until(lambda: sum('"change":"votes"' in line for line in self.members[0].log_lines(7100034)) == 2, self.members[0].tail)
            # This comes after that in the set's log.
            self.login().admin.command("appendOplogNote", data={"msg": "all vote"}, writeConcern={"w": "majority"})
            return self
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *error):
        for client in self.clients:
            client.close()
        for member in self.members:
            member.close()

    def login(self, user="root", password=PASSWORD, **more):
        uri = "mongodb://" + ",".join(member.name for member in self.members) + "/?replicaSet=rs0"
        client = pymongo.MongoClient(uri, username=user, password=password, serverSelectionTimeoutMS=DEADLINE * 1000, **self.tls, **more)
        self.clients.append(client)
        return client

    def at(self, member, user="root"):
        client = pymongo.MongoClient(member.host, member.port, directConnection=True, username=user, password=PASSWORD,
                                     read_preference=ReadPreference.SECONDARY_PREFERRED, **self.tls)
        self.clients.append(client)
        return client


@pytest.fixture
def guarded(tmp_path):
    with GuardedSet(["--keyFile", str(key_file(tmp_path))]) as running:
        yield running


def test_members_log_in_with_the_key_and_users_are_everywhere(guarded):
    root = guarded.login()
    root.shop.orders.with_options(write_concern=pymongo.WriteConcern(3)).insert_one({"_id": 1})
    root.admin.command("createUser", "ann", pwd=PASSWORD, roles=[{"role": "read", "db": "shop"}], writeConcern={"w": 3})
    for member in guarded.members:
        ann = guarded.at(member, "ann")
        assert ann.shop.orders.find_one() == {"_id": 1}
        with pytest.raises(OperationFailure) as failure:
            ann.admin.command("replSetGetStatus")
        assert failure.value.code == 13
    # A member shows the others as they were at its last heartbeat.
    wait_until(lambda: sorted(m["stateStr"] for m in root.admin.command("replSetGetStatus")["members"]) ==
               ["PRIMARY", "SECONDARY", "SECONDARY"])
    # What is taken from a user is gone on every member.
    secondary = next(member for member in guarded.members if guarded.at(member).admin.command("hello")["secondary"])
    reader = guarded.at(secondary, "ann")
    assert reader.shop.orders.find_one() == {"_id": 1}
    root.admin.command("revokeRolesFromUser", "ann", roles=[{"role": "read", "db": "shop"}], writeConcern={"w": 3})

    def lost():
        try:
            reader.shop.orders.find_one()
        except OperationFailure as failure:
            return failure.code == 13
        return False
    wait_until(lost)


def test_a_fail_over_keeps_users_and_a_new_member_copies_them(guarded, tmp_path):
    root = guarded.login()
    primary = next(member for member in guarded.members if guarded.at(member).admin.command("hello").get("isWritablePrimary"))
    primary.kill()
    root.shop.orders.insert_one({"_id": 1})
    primary.start()
    with Member("--keyFile", str(key_file(tmp_path, name="key2"))) as fourth:
        config = root.admin.command("replSetGetConfig")["config"]
        config["version"] += 1
        config["members"].append({"_id": 3, "host": fourth.name})
        root.admin.command("replSetReconfig", config)
        wait_until(lambda: _state_of(guarded, fourth) == "SECONDARY", fourth.tail)
        assert guarded.at(fourth).shop.orders.find_one() == {"_id": 1}


def _state_of(guarded, member):
    try:
        return {1: "PRIMARY", 2: "SECONDARY"}.get(guarded.at(member).admin.command("replSetGetStatus")["myState"])
    except PyMongoError:
        return None


def test_a_server_with_another_key_is_no_member(guarded, tmp_path):
    root = guarded.login()
    with Member("--keyFile", str(key_file(tmp_path, "YW5vdGhlciBrZXk", "other"))) as stranger:
        config = root.admin.command("replSetGetConfig")["config"]
        config["version"] += 1
        config["members"].append({"_id": 3, "host": stranger.name, "votes": 0, "priority": 0})
        with pytest.raises(OperationFailure):
            root.admin.command("replSetReconfig", config)
            # A reconfiguration may go through without that member's answer; then it never gets data.
            wait_until(lambda: stranger.log_lines(5286307), stranger.tail)
            raise OperationFailure("it logged nobody in", 13)
        root.shop.orders.insert_one({"_id": 1})
        with pymongo.MongoClient(stranger.host, stranger.port, directConnection=True) as client:
            with pytest.raises(OperationFailure):
                client.shop.orders.find_one()


def test_strangers_can_not_speak_as_members(guarded):
    member = guarded.members[0]
    for command in ({"replSetHeartbeat": "rs0", "configVersion": 1, "term": 1, "$db": "admin"},
                    {"_initialSyncBegin": 1, "$db": "admin"}, {"_initialSyncRead": 1, "$db": "admin"}):
        assert raw_command(member.host, member.port, command)["code"] == 13
    with socket.create_connection((member.host, member.port), timeout=DEADLINE) as connection:
        connection.sendall(b"PRF1" + bytes(200))
        assert connection.recv(100) == b""


def test_the_key_changes_while_the_set_runs(tmp_path):
    """Each member in turn takes both keys, then sends the new one, then knows no other."""
    file = key_file(tmp_path)
    with GuardedSet(["--keyFile", str(file)]) as guarded:
        new = "dGhlIG5ldyBrZXkgb2YgdGhlIHNldA"
        for text in (f"- {KEY}\n- {new}\n", f"- {new}\n- {KEY}\n", new):
            file.write_text(text)
            for member in guarded.members:
                assert member.stop() == 0
                member.start()
                wait_until(lambda: _state_of(guarded, member) is not None, member.tail)
        root = guarded.login()
        root.shop.orders.with_options(write_concern=pymongo.WriteConcern(3)).insert_one({"_id": 1})


@pytest.mark.parametrize("mode", ["x509", "sendX509"])
def test_members_log_in_with_certificates(tmp_path, mode):
    ca = Authority(tmp_path)
    certificate = ca.issue("member", "/O=Palimpsest/OU=Data/CN=member")
    other = ca.issue("other", "/O=Palimpsest/OU=Users/CN=other")
    arguments = ["--tlsMode", "requireTLS", "--tlsCertificateKeyFile", str(certificate), "--tlsCAFile", str(ca.file), "--clusterAuthMode", mode]
    with GuardedSet(arguments, tls=True, tlsCAFile=str(ca.file), tlsCertificateKeyFile=str(other)) as guarded:
        root = guarded.login()
        root.shop.orders.with_options(write_concern=pymongo.WriteConcern(3)).insert_one({"_id": 1})
        # A certificate of another organization is a user's, if anybody's.
        with pytest.raises(OperationFailure):
            pymongo.MongoClient(guarded.members[0].host, guarded.members[0].port, directConnection=True, tls=True, tlsCAFile=str(ca.file),
                                tlsCertificateKeyFile=str(other), authMechanism="MONGODB-X509").shop.orders.find_one()


def test_a_set_with_access_control_needs_a_key(tmp_path):
    for arguments, why in ((["--auth"], "keyFile is required"), (["--keyFile", str(tmp_path / "none")], "No such file"),
                           (["--keyFile", str(key_file(tmp_path, "abc", "short"))], "must have between 6 and 1024"),
                           (["--keyFile", str(key_file(tmp_path, "abc!defg", "odd"))], "invalid char")):
        member = Member(*arguments)
        try:
            with pytest.raises(RuntimeError) as left:
                member.start()
            assert why in str(left.value)
        finally:
            member.close()
    open_file = key_file(tmp_path, KEY, "open")
    os.chmod(open_file, 0o644)
    member = Member("--keyFile", str(open_file))
    try:
        with pytest.raises(RuntimeError) as left:
            member.start()
        assert "too open" in str(left.value)
    finally:
        member.close()
