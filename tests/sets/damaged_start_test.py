"""A member whose own configuration is damaged starts from its copy, or says what to do."""
import contextlib
import subprocess

from tests.support.damage import damage_rows
from tests.support.palimpsest import BIN
from tests.support.replica_set import ReplicaSet
from tests.support.waiting import wait_until

RESTORED = 7100065  # the log's line about the copy of a member's own document


def record_tables(member):
    return {int(path.stem.split("-")[1]) for path in member.dbpath.glob("records-*.wt")}


@contextlib.contextmanager
def one_member():
    """A set of one member, and the number of its collection local.system.replset, which is the first that the set makes."""
    one = ReplicaSet(1)
    member = one.members[0]
    try:
        member.start(wait=False)
        member.wait_listening()
        before = record_tables(member)
        member.command("replSetInitiate", {"_id": "rs0", "members": [{"_id": 0, "host": member.name}]})
        wait_until(lambda: member.state() == "PRIMARY")
        yield one, member, min(record_tables(member) - before)
    finally:
        one.__exit__()


def damage(member, table):
    assert damage_rows(member.dbpath / f"{table}.wt") > 0, table


def same_set(config, other):
    """A member that is elected anew writes its term down."""
    return all(config[name] == other[name] for name in ("_id", "members", "settings"))


def write_log_state(member):
    """What a checkpoint holds is written down after it, and is in the file after the next one."""
    for key in range(2):
        member.direct["t"]["c"].insert_one({"of": key})
        member.command("fsync")


def start_as_primary(member):
    member.start()
    wait_until(lambda: member.state() == "PRIMARY")


def test_a_damaged_configuration_is_restored_from_its_copy():
    with one_member() as (one, member, table):
        one.client()["t"]["c"].insert_one({"_id": 1})
        before = one.config()
        for again in range(1, 3):
            assert member.stop() == 0
            damage(member, f"records-{table}")
            known = record_tables(member)
            start_as_primary(member)
            assert len(member.log_lines(RESTORED)) == again
            assert same_set(one.config(), before)
            assert member.direct["local"]["system.replset"].find_one()["_id"] == "rs0"
            assert one.client()["t"]["c"].count_documents({}) == 1
            table = min(record_tables(member) - known)
        # A configuration that comes later is written to both, and a damaged copy is made anew.
        one.reconfigure(lambda config: config["settings"].update(electionTimeoutMillis=7000))
        assert member.stop() == 0
        damage(member, "local-documents")
        start_as_primary(member)
        assert len(member.log_lines(RESTORED)) == 3
        assert member.stop() == 0
        damage(member, f"records-{table}")
        start_as_primary(member)
        assert one.config()["settings"]["electionTimeoutMillis"] == 7000


def test_a_repair_restores_the_configuration_from_its_copy():
    with one_member() as (one, member, table):
        one.client()["t"]["c"].insert_one({"_id": 1})
        before = one.config()
        assert member.stop() == 0
        damage(member, f"records-{table}")
        done = subprocess.run([str(BIN / "palimpsestd"), "--repair", "--dbpath", str(member.dbpath), "--nounixsocket"],
                              capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stdout
        assert f'"id":{RESTORED}' in done.stdout
        start_as_primary(member)
        assert member.log_lines(RESTORED) == []
        assert same_set(one.config(), before)
        assert one.client()["t"]["c"].count_documents({}) == 1


def test_a_member_without_a_readable_configuration_says_what_to_do():
    with one_member() as (_, member, table):
        assert member.stop() == 0
        damage(member, f"records-{table}")
        damage(member, "local-documents")
        member.start(wait=False)
        assert member.ended() == 14
        assert "local.system.replset is damaged, and so is its copy: empty the data directory" in member.tail(20)


def test_a_member_whose_part_of_the_log_is_damaged_says_what_to_do():
    with one_member() as (_, member, _table):
        assert member.stop() == 0
        damage(member, "raft_log")
        member.start(wait=False)
        assert member.ended() == 14
        assert "the set's log of this member is damaged: empty the data directory" in member.tail(20)


def test_a_member_whose_part_of_the_log_is_damaged_says_so_after_a_crash():
    with one_member() as (one, member, _table):
        docs = one.client()["t"]["c"]
        docs.insert_many({"_id": key, "text": "x" * 1000} for key in range(500))
        member.command("fsync")
        docs.insert_many({"_id": key, "text": "x" * 1000} for key in range(500, 600))
        member.kill()
        damage(member, "raft_log")
        for _ in range(2):
            member.start(wait=False)
            assert member.ended() == 14
            assert "the set's log of this member is damaged: empty the data directory" in member.tail(20)


def test_a_member_starts_without_one_copy_of_what_its_checkpoints_hold():
    with one_member() as (_, member, _table):
        member.direct["t"]["c"].insert_many({"_id": key} for key in range(100))
        for table in ("log_state", "log_state_copy"):
            write_log_state(member)
            assert member.stop() == 0
            damage(member, table)
            start_as_primary(member)
            assert member.direct["t"]["c"].count_documents({"_id": {"$type": "int"}}) == 100
        write_log_state(member)
        assert member.stop() == 0
        damage(member, "log_state")
        damage(member, "log_state_copy")
        member.start(wait=False)
        assert member.ended() == 14
        assert "the table log_state is damaged, and there is no sound copy" in member.tail(20)
