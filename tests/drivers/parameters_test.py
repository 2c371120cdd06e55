"""These tests set every parameter of dedup: live, at start, from a file, and out of its range."""
import random
import subprocess

import pytest
from pymongo.errors import OperationFailure

from tests.support.revisions import revisions, settle, words
from tests.support.palimpsest import BIN, Server
from tests.support.waiting import DEADLINE

# Each entry is name: (default, another good value, bad values).
WHOLE = {
    "dedupFeatures": (12, 8, [0, 17]),
    "dedupContentBytesMin": (128, 256, [-1, 1 << 30]),
    "dedupChunkBytes": (64, 128, [100, 8]),
    "dedupIndexBytesMax": (64 << 20, 16 << 20, [1]),
    "dedupIndexBytesPerRecord": (12, 24, [1, 5000]),
    "dedupMatchesPerFeature": (2, 4, [0, 9]),
    "dedupMetadataCacheBytes": (8 << 20, 1 << 20, [1]),
    "dedupCacheReward": (2, 0, [-1, 1001]),
    "dedupHeadReward": (2, 3, [-1, 1001]),
    "dedupSourcesTried": (4, 1, [0, 9]),
    "dedupAnchorInterval": (64, 32, [0, 48, 8192]),
    "dedupWorthPercent": (25, 60, [0, 101]),
    "dedupHopDistance": (4, 8, [0, 1]),
    "dedupHopLevelsMax": (8, 2, [0, 33]),
    "dedupReadBytesMax": (256 << 20, 16 << 20, [1 << 16, 1 << 31]),
    "dedupReadHopsMax": (4096, 64, [15, 1 << 17]),
    "dedupDecodeHopsMax": (1 << 20, 1 << 18, [(1 << 18) - 1, 1 << 25]),
    "dedupDecodeBytesMax": (4 << 30, 8 << 30, [(4 << 30) - 1, 1 << 41]),
    "dedupDecodeContentBytesMax": (32 << 20, 17 << 20, [16 << 20, 1 << 31]),
    "dedupDemotionDepthMax": (2, 0, [-1, 17]),
    "dedupDemotionWorthPercent": (60, 75, [0, 101]),
    "dedupDemoteAfterSecs": (0, 3600, [-1, 315360001]),
    "dedupSourceCacheBytes": (32 << 20, 1 << 20, [-1]),
    "dedupWriteBackCacheBytes": (8 << 20, 1 << 20, [-1]),
    "dedupGovernorWindow": (100000, 5000, [-1, 10]),
    "dedupGovernorProbe": (1000, 10, [-1, 200000]),
    "dedupSizeFilterPercentile": (40, 10, [-1, 100]),
    "dedupSizeFilterRefresh": (1000, 500, [0, 10**7]),
    "dedupQueueBytes": (32 << 20, 2 << 20, [0, 1000]),
}

# Each entry is name: (default, the other values).
WAYS = {
    "dedupSketch": ("windows", ["gearChunks", "rabinChunks"]),
    "dedupOverlap": ("keep", ["reEncode"]),
    "dedupDelta": ("resync", ["anchors"]),
    "dedupEncoding": ("hop", ["versionJumping", "backward"]),
}


@pytest.fixture
def admin(server):
    client = server.client()
    yield client.admin
    client.close()


def get(admin, name):
    return admin.command("getParameter", 1, **{name: 1})[name]


@pytest.mark.parametrize("name", sorted(WHOLE))
def test_whole_numbers(admin, name):
    default, other, bad = WHOLE[name]
    assert get(admin, name) == default
    assert admin.command("setParameter", 1, **{name: other})["was"] == default
    assert get(admin, name) == other
    for value in [*bad, "many", None, True, 1.5, float("nan"), {}, []]:
        with pytest.raises(OperationFailure) as refused:
            admin.command("setParameter", 1, **{name: value})
        assert refused.value.code == 2, (name, value)
        assert name in refused.value.details["errmsg"]
        assert get(admin, name) == other
    assert admin.command("setParameter", 1, **{name: float(default)})["was"] == other
    assert get(admin, name) == default


@pytest.mark.parametrize("name", sorted(WAYS))
def test_ways_to_do_it(admin, name):
    default, others = WAYS[name]
    before = default
    assert get(admin, name) == default
    for other in [*others, default]:
        assert admin.command("setParameter", 1, **{name: other})["was"] == before
        assert get(admin, name) == other
        before = other
    for value in ["", "Hop", "none", 1, True, None, {}, []]:
        with pytest.raises(OperationFailure) as refused:
            admin.command("setParameter", 1, **{name: value})
        assert refused.value.code == 2 and name in refused.value.details["errmsg"]
        assert get(admin, name) == default


def test_the_published_index_has_no_limit_a_record(admin):
    with pytest.raises(OperationFailure) as refused:
        admin.command("setParameter", 1, dedupIndexLayout="published")
    assert refused.value.code == 2 and "dedupIndexBytesPerRecord" in refused.value.details["errmsg"]
    admin.command("setParameter", 1, dedupIndexBytesPerRecord=0)
    admin.command("setParameter", 1, dedupIndexLayout="published")
    assert get(admin, "dedupIndexLayout") == "published"
    with pytest.raises(OperationFailure):
        admin.command("setParameter", 1, dedupIndexBytesPerRecord=12)
    admin.command("setParameter", 1, dedupIndexLayout="twoSlots")
    admin.command("setParameter", 1, dedupIndexBytesPerRecord=12)


@pytest.mark.parametrize("way", [{}, {"dedupSketch": "rabinChunks"}, {"dedupDelta": "anchors"}, {"dedupEncoding": "backward"},
                                 {"dedupEncoding": "versionJumping"}, {"dedupOverlap": "reEncode"}], ids=str)
def test_whatever_the_way_documents_read_back(server, admin, way):
    db = server.client()["ways" + "".join(way.values())]
    documents = revisions(5, 2, 120)
    for name, value in way.items():
        admin.command("setParameter", 1, **{name: value})
    try:
        db.c.insert_many(documents)
        settle(db.client)
        shown = db.command({"dedupChain": "c", "id": 60, "limit": 1})
    finally:
        for name in way:
            admin.command("setParameter", 1, **{name: WAYS[name][0]})
    assert list(db.c.find().sort("_id")) == documents
    assert db.command("validate", "c", full=True)["valid"]
    assert db.command("collStats", "c")["dedup"]["deltas"] > 80
    if way.get("dedupEncoding") == "backward":
        assert shown["hopBases"] == 0 and shown["hops"]["max"] >= shown["n"] - 10
    if way.get("dedupEncoding") == "versionJumping":
        assert shown["heads"] > shown["n"] / 8


def test_whether_the_newest_of_a_lineage_may_be_demoted(admin):
    assert get(admin, "dedupDemoteLineages") is False
    admin.command("setParameter", 1, dedupDemoteLineages=True)
    assert get(admin, "dedupDemoteLineages") is True
    for value in ["yes", None, {}, []]:
        with pytest.raises(OperationFailure) as refused:
            admin.command("setParameter", 1, dedupDemoteLineages=value)
        assert refused.value.code == 2
    admin.command("setParameter", 1, dedupDemoteLineages=False)


def test_the_governors_ratio(admin):
    assert get(admin, "dedupGovernorRatio") == pytest.approx(1.1)
    admin.command("setParameter", 1, dedupGovernorRatio=1.5)
    assert get(admin, "dedupGovernorRatio") == pytest.approx(1.5)
    for value in [0.5, 2000, "1.2", float("inf")]:
        with pytest.raises(OperationFailure) as refused:
            admin.command("setParameter", 1, dedupGovernorRatio=value)
        assert refused.value.code == 2
    admin.command("setParameter", 1, dedupGovernorRatio=1.1)


@pytest.mark.parametrize("name", ["dedupEnabled", "dedupSizeFilterAlways"])
def test_switches(admin, name):
    before = get(admin, name)
    assert isinstance(before, bool)
    admin.command("setParameter", 1, **{name: not before})
    assert get(admin, name) is not before
    for value in ["yes", None, []]:
        with pytest.raises(OperationFailure) as refused:
            admin.command("setParameter", 1, **{name: value})
        assert refused.value.code == 2
    admin.command("setParameter", 1, **{name: before})


def test_all_are_listed_with_their_details(admin):
    everything = admin.command("getParameter", "*")
    for name in [*WHOLE, *WAYS, "dedupIndexLayout", "dedupEnabled", "dedupGovernorRatio", "dedupSizeFilterAlways"]:
        assert name in everything
        shown = admin.command({"getParameter": {"showDetails": True}, name: 1})[name]
        assert shown == {"value": everything[name], "settableAtRuntime": True, "settableAtStartup": True}
    with pytest.raises(OperationFailure) as refused:
        admin.command("setParameter", 1, dedupNoSuchThing=1)
    assert refused.value.code == 72


def test_a_changed_hop_distance_shows_in_the_chains_made_from_then_on(server, admin):
    db = server.client().hops
    admin.command("setParameter", 1, dedupHopDistance=16)
    try:
        db.wide.insert_many(revisions(1, 1, 120))
        settle(db.client)
        wide = db.command({"dedupChain": "wide", "id": 0, "limit": 1})
        admin.command("setParameter", 1, dedupHopDistance=4)
        db.narrow.insert_many(revisions(1, 1, 120))
        settle(db.client)
        narrow = db.command({"dedupChain": "narrow", "id": 0, "limit": 1})
    finally:
        admin.command("setParameter", 1, dedupHopDistance=4)
    assert narrow["hopBases"] > 2 * wide["hopBases"]
    assert narrow["hops"]["max"] < wide["hops"]["max"]
    assert db.command("validate", "narrow", full=True)["valid"]


def test_what_counts_as_worth_it_can_be_raised(server, admin):
    db = server.client().worth
    admin.command("setParameter", 1, dedupWorthPercent=1)
    try:
        db.c.insert_many(revisions(2, 2, 60, length=600))
        settle(db.client)
        dedup = db.command("dbStats")["dedup"]
    finally:
        admin.command("setParameter", 1, dedupWorthPercent=25)
    assert dedup["deltas"] == dedup["writeBacks"] == 0
    db.d.insert_many(revisions(2, 2, 60, length=600))
    settle(db.client)
    assert db.command("collStats", "d")["dedup"]["deltas"] > 40


def test_the_governor_says_what_it_does_and_why(server, admin):
    db = server.client().governed
    admin.command("setParameter", 1, dedupGovernorProbe=0)
    admin.command("setParameter", 1, dedupGovernorWindow=200)
    try:
        rng = random.Random(3)
        db.c.insert_many([{"_id": i, "text": words(rng, 600)} for i in range(250)])
        settle(db.client)
        governor = db.command("dbStats")["dedup"]["governor"]
        assert governor["enabled"] is False, governor
        assert governor["reason"] == "the last window saved too little"
        assert 1 <= governor["ratioJudged"] < 1.1
        server_wide = admin.command("serverStatus")["dedup"]["databases"]["governed"]
        assert server_wide["enabled"] is False
    finally:
        admin.command("setParameter", 1, dedupGovernorWindow=100000)
        admin.command("setParameter", 1, dedupGovernorProbe=1000)


def test_at_start_from_the_command_line_and_from_a_file(tmp_path):
    config = tmp_path / "config.yaml"
    config.write_text("setParameter:\n  dedupHopDistance: 8\n  dedupGovernorRatio: 1.25\n  dedupEnabled: false\n")
    with Server("--setParameter", "dedupFeatures=6", "--setParameter", "dedupEncoding=backward", "--config", str(config)) as running:
        client = running.client()
        assert get(client.admin, "dedupHopDistance") == 8
        assert get(client.admin, "dedupGovernorRatio") == 1.25
        assert get(client.admin, "dedupEnabled") is False
        assert get(client.admin, "dedupFeatures") == 6
        assert get(client.admin, "dedupEncoding") == "backward"
        client.close()


@pytest.mark.parametrize("given", ["dedupFeatures=99", "dedupFeatures=few", "dedupHopDistance=1", "dedupEncoding=none", "dedupNone=1"])
def test_a_bad_value_at_start_ends_the_start(tmp_path, given):
    ended = subprocess.run([str(BIN / "palimpsestd"), "--dbpath", str(tmp_path), "--port", "0", "--nounixsocket", "--setParameter", given],
                           capture_output=True, text=True, timeout=DEADLINE)
    assert ended.returncode == 2, ended
    assert given.split("=")[0] in ended.stdout + ended.stderr
