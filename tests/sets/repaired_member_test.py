"""A member whose directory was repaired copies another member's data, because the repair may have taken documents away."""
import subprocess

import pytest
from pymongo.errors import OperationFailure

from tests.sets.damaged_member_test import DOCUMENTS, copied, fill, read_all
from tests.support.damage import damage_rows, largest_file, middle_first
from tests.support.palimpsest import BIN
from tests.support.replica_set import ReplicaSet
from tests.support.waiting import wait_until

REPAIRED = 7100092  # the log's line of a member that will copy because of a repair
KEPT = 7100093  # and of one that has nobody to copy from


def repair(member):
    command = [str(BIN / "palimpsestd"), "--repair", "--dbpath", str(member.dbpath), "--nounixsocket"]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def loses(member, page):
    """Damages a page and repairs the directory. Returns whether documents were lost: the page may be one that nothing uses any more."""
    damage_rows(largest_file(member), keep=lambda at, pages: at != page)
    done = repair(member)
    return "Lost: " in done.stdout + done.stderr


def damage_and_repair(members):
    for member in members:
        member.stop()
    for member in members:
        assert any(loses(member, page) for page in middle_first(largest_file(member)))


def test_what_a_repair_took_away_comes_back_from_another_member():
    with ReplicaSet(3) as three:
        fill(three)
        member = three.secondaries()[0]
        before = len(copied(member))
        damage_and_repair([member])
        three.client()["t"]["c"].update_many({}, {"$set": {"seen": True}})  # also of those that are lost
        member.start()
        wait_until(lambda: read_all(member) == DOCUMENTS)
        assert len(copied(member)) == before + 1
        assert len(member.log_lines(REPAIRED)) == 1
        three.wait_settled()
        three.check_same()
        # The copy has no mark.
        member.stop()
        member.start()
        three.wait_settled()
        assert len(member.log_lines(REPAIRED)) == 1


def test_a_repair_that_took_nothing_away_leaves_the_member_as_it_was():
    with ReplicaSet(3) as three:
        fill(three)
        member = three.secondaries()[0]
        before = len(copied(member))
        member.stop()
        assert repair(member).returncode == 0
        member.start()
        three.wait_settled()
        assert read_all(member) == DOCUMENTS
        assert len(copied(member)) == before
        three.check_same()


def test_a_member_whose_files_were_salvaged_copies():
    with ReplicaSet(3) as three:
        fill(three)
        member = three.secondaries()[0]
        before = len(copied(member))
        member.stop()
        history = member.dbpath / "WiredTigerHS.wt"
        history.write_bytes(bytes(history.stat().st_size))
        done = repair(member)
        assert done.returncode == 0, done.stdout
        mark = member.dbpath / "palimpsest.salvaged"
        assert mark.exists()
        member.start()
        wait_until(lambda: read_all(member) == DOCUMENTS)
        assert len(copied(member)) == before + 1
        assert len(member.log_lines(REPAIRED)) == 1
        assert not mark.exists()
        three.wait_settled()
        three.check_same()


def test_a_set_of_one_goes_on_with_what_the_repair_left():
    with ReplicaSet(1) as one:
        fill(one)
        member = one.members[0]
        damage_and_repair([member])
        member.start()
        one.wait_settled()
        left = one.client()["t"]["c"].count_documents({})
        assert 0 < left < DOCUMENTS
        assert len(member.log_lines(KEPT)) == 1 and not member.log_lines(REPAIRED)
        # Whoever joins later gets this member's data, and this member doesn't ask for theirs.
        one.join()
        member.stop()
        member.start()
        one.wait_settled()
        assert one.client()["t"]["c"].count_documents({}) == left
        assert not member.log_lines(REPAIRED)


def test_a_member_is_not_repaired():
    with ReplicaSet(1) as one:
        database = one.client()["t"]
        database["c"].insert_one({})
        for option in ("repair", "fixMultikey"):
            with pytest.raises(OperationFailure, match="can only be performed in standalone mode") as refused:
                database.command("validate", "c", **{option: True})
            assert refused.value.code == 72
        assert database.command("validate", "c")["valid"]


def test_repaired_members_wait_for_one_that_was_not():
    with ReplicaSet(3) as three:
        fill(three)
        # The one that isn't repaired stops last: what the others wrote without it, it couldn't lead without.
        damage_and_repair(three.members[:2])
        three.members[2].stop()
        for member in three.members[:2]:
            member.start(wait=False)
        for member in three.members[:2]:
            wait_until(lambda: member.log_lines(REPAIRED) and member.state() == "RECOVERING", three.tails)
            with pytest.raises(OperationFailure) as refused:
                member.command("replSetMaintenance", False)
            assert refused.value.code == 96
        three.members[2].start(wait=False)
        wait_until(lambda: all(read_all(member) == DOCUMENTS for member in three.members), three.tails)
        three.wait_settled()
        three.check_same()


def test_of_members_that_were_all_repaired_the_operator_chooses_one():
    with ReplicaSet(2) as both:
        fill(both)
        damage_and_repair(both.members)
        for member in both.members:
            member.start(wait=False)
        first, second = both.members
        wait_until(lambda: first.log_lines(REPAIRED) and first.state() == "RECOVERING", both.tails)
        config = first.command("replSetGetConfig")["config"]
        config["members"] = [one for one in config["members"] if one["host"] == first.name]
        first.command("replSetReconfig", config, force=True)
        wait_until(lambda: first.log_lines(KEPT) and first.state() == "PRIMARY", both.tails)
        assert 0 < read_all(first) < DOCUMENTS
